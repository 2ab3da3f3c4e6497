#!/bin/bash
# SPDX-License-Identifier: MIT
# A NAS that dies, hangs, or shows another host key while a job is held: what was known counts on, what was not seen is never
# taken for idle, and the gate sees again by itself, or by an operator's word where only he can know.
# shellcheck disable=SC1091 source=tests/rig/tap.sh
. tests/rig/tap.sh
# shellcheck disable=SC1091 source=tests/rig/gatelib.sh
. tests/rig/gatelib.sh
export RIG_DISK_MIB=96

look() {
	gate nas look nas1
}

# held_still NAME: after some more looks.
held_still() {
	look_goes_by 2 && ticket_is "$1" held && job_not_said "$1" 'lock taken'
}

# went_whole NAME: it is let go, and nothing is missing then.
went_whole() {
	job_said "$1" 'rebuildgate: go after a hold of ' && rig_mdstat | grep -F '[5/5] [UUUUU]'
}

must rig_start

# --- one login --------------------------------------------------------------------------------------------------------
must rig_rebuilding
policy_shipped
gate_new
for _ in $(seq 20); do
	look >/dev/null
done
ok "twenty looks and more have been taken" eval '[ "$(looks)" -ge 20 ]'
is "over one SSH login" "$(rig_logins watch)" 1
is "which the gate counts as well" "$(api /metrics | awk '/^rebuildgate_nas_logins_total/ { print $NF }')" 1
ok "the user without privileges sees all there is" wait_until holds_true /v1/nas '.nas[0] | .load_x100 != null and
	(.arrays[0] | .operation == "recovery" and .client_write != null and .sync_speed_max != null)'
is "and has no way to disturb" "$(rig_ssh_as watch 'echo idle >/sys/block/md2/md/sync_action' 2>&1 | grep -c 'Permission denied\|can.t create')" 1

# --- a key that can do one thing only ------------------------------------------------------------------------------------
before=$(rig_logins watch)
gate_end TERM
gate_conf "$(nas_entry mdstat)"
gate_start
ok "a login with the forced command sees the rebuild" wait_until operation_is recovery
ok "with fewer facts" holds_true /v1/nas '.nas[0] | .load_x100 == null and (.arrays[0] | .client_write == null and .sync_speed_max == null and .missing == 1)'
job forced --guest 101:qemu:snapshot:web
ok "a job is held all the same" job_said forced 'rebuildgate: held: .*md2 on nas1 is in recovery'
for _ in $(seq 5); do
	look >/dev/null
done
is "by one login of that user" "$(rig_logins mdstat) $(rig_logins watch)" "1 $before"
must fast
job_wait forced
is "until the rebuild is over" "${ENDED[forced]}" 0
ok "the record verifies and decides the same again" proven

# --- the line that `nas authorized-key` prints, in a NAS's authorized_keys ----------------------------------------------------
gate_end TERM
gate_conf "$(nas_entry)"
cp "$(rig_key).pub" "$GATE/key.pub"
"$BUILD/rebuildgate" nas authorized-key nas1 --config "$CONF" >"$GATE/line"
is "it is one line" "$(wc -l <"$GATE/line")" 1
rig_ssh 'cat >/home/watch/.ssh/authorized_keys' <"$GATE/line"
must rig_clear
must rig_rebuilding
gate_start
ok "Dropbear takes it, and the rebuild is seen" wait_until operation_is recovery
ok "with all facts" wait_until holds_true /v1/nas '.nas[0] | .sensor == "ok" and .load_x100 != null and (.arrays[0] | .client_write != null and .sync_speed_max != null)'
is "the key can do nothing else" "$(rig_ssh_as watch 'echo owned' | tail -n 1)" '#rg end'
rig_ssh 'cp /root/.ssh/authorized_keys /home/watch/.ssh/authorized_keys' </dev/null

# --- the NAS dies and comes back -------------------------------------------------------------------------------------------
gate_end TERM
must rig_clear
must rig_rebuilding
gate_new
must wait_until operation_is recovery
job web --guest 101:qemu:snapshot:web
ok "a job is held" job_said web 'rebuildgate: held: .*md2 on nas1 is in recovery'
must rig_kill
ok "the NAS is gone, and the gate knows" wait_until eval 'sensor_is refused || sensor_is unreachable'
ok "which is said in the journal" wait_until journal "NAS 'nas1' cannot be seen: "
ok "and in the task log" job_said web 'rebuildgate: held for .*, now: .*nas1'
ok "a rebuild that nobody sees goes on as far as the gate knows" recorded "SELECT 1 FROM decisions
	WHERE phase = 'job-init' AND step = 4 AND act = 'hold' AND rule = 'rebuild' AND decision LIKE '%\"blind-hold-goes-on\"%'"
job blind --node pve2 --guest 102:qemu:snapshot:db
ok "a job that asks now is held as well" job_said blind 'rebuildgate: held: '
ok "nobody is let go" held_still web
must rig_restart
ok "it comes back, and is seen again without anybody's help" wait_until sensor_is ok
ok "which is said" wait_until journal "NAS 'nas1' is seen again"
ok "the record knows that it was not seen" recorded "SELECT 1 FROM readings WHERE sensor IN ('refused', 'unreachable')"
ok "and that it is seen again" recorded "SELECT 1 FROM readings WHERE sensor = 'ok' AND id > (SELECT max(id) FROM readings WHERE sensor <> 'ok')"
must fast
ok "the first job goes when the rebuild is over" went_whole web
job_wait web
job_wait blind
is "both end well" "${ENDED[web]} ${ENDED[blind]}" "0 0"
is "in the order in which they asked" "$(record "SELECT group_concat(ticket) FROM (SELECT ticket FROM decisions WHERE phase = 'job-init' AND act = 'allow' ORDER BY id)")" "1,2"
ok "the record verifies and decides the same again" proven

# --- the NAS hangs, or the link is cut -----------------------------------------------------------------------------------------
gate_end TERM
must rig_clear
must rig_rebuilding
gate_new 'look_deadline = "2s";'
must wait_until operation_is recovery
job web --guest 101:qemu:snapshot:web
ok "a job is held" job_said web 'rebuildgate: held: .*md2 on nas1 is in recovery'
must rig_pause
ok "a NAS that answers nothing is silent" wait_until sensor_is silent
ok "in words" holds_true /v1/nas '.nas[0].sensor_text | length > 10'
ok "each look ends by its deadline: there are more of them" look_goes_by 2
like "none took much longer than that" "$(api /metrics | awk '/^rebuildgate_nas_look_milliseconds/ { print $NF < 8000 ? "good" : $NF }')" '^good$'
ok "the job is held on" held_still web
ok "the daemon answers others meanwhile" holds_true /v1/version '.version != null'
must rig_resume
ok "when it answers again it is seen again, by itself" wait_until sensor_is ok
ok "the rebuild that went on is" wait_until operation_is recovery
ok "and the job held" held_still web
ok "the record knows that it was silent" recorded "SELECT 1 FROM readings WHERE sensor = 'silent'"
must fast
ok "until nothing is missing" went_whole web
job_wait web
is "then it ends well" "${ENDED[web]}" 0
ok "the record verifies and decides the same again" proven

# --- another host key -------------------------------------------------------------------------------------------------------
gate_end TERM
must rig_clear
must rig_rebuilding
gate_new
must wait_until operation_is recovery
job web --guest 101:qemu:snapshot:web
ok "a job is held" job_said web 'rebuildgate: held: .*md2 on nas1 is in recovery'
before=$(rig_logins watch)
RIG_HOSTKEY=2 must rig_restart
ok "another host key is refused" wait_until sensor_is host-key
like "with both fingerprints, and what to do" "$(says /v1/nas '.nas[0].sensor_text')" \
	'^host key changed: known is SHA256:[^ ]+, offered was SHA256:[^ ]+; nothing was sent.*rebuildgate nas trust --replace nas1'
ok "an operator's look is refused too" eval 'look; [ $? = 1 ]'
is "nobody has logged in since" "$(rig_logins watch)" "$before"
ok "nor does the gate try again soon" holds_true /v1/nas '.nas[0].next_look_ms > 600000'
ok "the job is held on" eval 'ticket_is web held && job_not_said web "lock taken"'
print=$(ssh-keygen -lf "$RIG_CACHE/host2.pub" | cut -d' ' -f2)
other=$(ssh-keygen -lf "$RIG_CACHE/host1.pub" | cut -d' ' -f2)
trust() {
	gate nas trust nas1 --config "$CONF" "$@"
}
refused() {
	trust "$@"
	[ $? = 77 ]
}
ok "a wrong fingerprint is not trusted" refused --replace --fingerprint "$other"
ok "nor is the right one in place of another, unless that is said" eval "! trust --fingerprint '$print'"
ok "still nobody has logged in" eval '[ "$(rig_logins watch)" = "$before" ] && ! look'
ok "with both said it is" trust --replace --fingerprint "$print"
ok "and the next look sees again" look
is "over one more login" "$(rig_logins watch)" $((before + 1))
must fast
ok "the job goes when nothing is missing" went_whole web
job_wait web
is "and ends well" "${ENDED[web]}" 0
ok "the record knows why it was not seen" recorded "SELECT 1 FROM readings WHERE sensor = 'host-key'"
ok "it verifies and decides the same again" proven
tap_done
