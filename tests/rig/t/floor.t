#!/bin/bash
# SPDX-License-Identifier: MIT
# hooks/nas-levers on a real md, as the forced command of a key on Dropbear, under busybox: the floor under a rebuild, the
# stripe cache, a check that rests; and that all of it is undone by itself. The key's line is that of `nas levers-key`.
# shellcheck disable=SC1091 source=tests/rig/tap.sh
. tests/rig/tap.sh
SCRATCH=$(mktemp -d)
trap 'rig_cleanup; rm -rf "$SCRATCH"' EXIT
PATIENCE=120
BUILD=${BUILD:-build}
[ -x "$BUILD/rebuildgate" ] || { echo "Bail out! no programs in $BUILD: make" && exit 1; }

wait_until() {
	local end=$((SECONDS + PATIENCE))
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$end" ] || { echo "not within $PATIENCE s: $*" && return 1; }
		sleep 0.3
	done
}

# order WORDS...: with the levers' key, in a login of its own.
order() {
	rig_ssh_options
	RIG_SSH_OPTIONS[3]=$SCRATCH/levers
	timeout 60 ssh "${RIG_SSH_OPTIONS[@]}" -o ControlPath=none root@127.0.0.1 "$*" </dev/null
}

install_levers() {
	ssh-keygen -q -t ed25519 -N '' -C rebuildgate-levers -f "$SCRATCH/levers"
	cat >"$SCRATCH/gate.conf" <<-CONF
		nas = ( { name = "nas1"; host = "127.0.0.1"; port = $(rig_port); known_hosts = "$SCRATCH/known_hosts";
			levers = { key_file = "$SCRATCH/levers"; }; } );
	CONF
	rig_known_hosts "$SCRATCH/known_hosts"
	rig_ssh 'mkdir -p /usr/local/sbin && cat >/usr/local/sbin/nas-levers && chmod 755 /usr/local/sbin/nas-levers' <hooks/nas-levers &&
		"$BUILD/rebuildgate" nas levers-key nas1 --config "$SCRATCH/gate.conf" >"$SCRATCH/line" &&
		rig_ssh 'cat >>/root/.ssh/authorized_keys' <"$SCRATCH/line"
}

# KiB that md gets done in so many seconds.
pace() {
	local before
	before=$(rig_done_kib)
	sleep "$1"
	echo $(($(rig_done_kib) - before))
}
speed_is() { [ "$(rig_sysfs sync_speed_min)" = "$1" ]; }
action_is() { [ "$(rig_sysfs sync_action)" = "$1" ]; }
done_beyond() { [ "$(rig_done_kib)" -gt "$1" ]; }
shells() { # of nas-levers, on the NAS
	rig_ssh 'ps' </dev/null | grep -c '[n]as-levers'
}
value() { # KEY ANSWER
	printf '%s\n' "$2" | tr ' ' '\n' | sed -n "s/^$1=//p"
}

must rig_start
must rig_make_raid6
must install_levers

# --- what the key can do, and nothing else ---------------------------------------------------------------------------------
like "Dropbear passes the order on" "$(order look md2)" \
	'^ok array=md2 level=raid6 disks=5 memory_kib=[0-9]+ speed_min=1000 speed_min_kind=system stripe_cache=256 operation=idle$'
like "no other command" "$(order 'cat /etc/passwd')" '^error '
like "nor one behind an order" "$(order 'look md2; echo owned')" '^error '
like "nor an array that is none" "$(order floor md7 5000 - 60)" '^error there is no array md7 here'
like "nothing to pause" "$(order pause md2 60)" "^error md2 is in 'idle'"

before=$(rig_logins root)
answer=$(printf '%s\n' 'look md2' 'pause md2 60' moved | "$BUILD/rebuildgated" --config "$SCRATCH/gate.conf" --order nas1)
is "the gate's own child gives three orders" "$(cut -d' ' -f1,2 <<<"$answer" | tr '\n' ' ')" "ok array=md2 error md2 ok moved=- "
is "over one login" "$(rig_logins root)" $((before + 1))

# --- the floor, on a rebuild -------------------------------------------------------------------------------------------------
must rig_fail_and_readd vdc
must rig_wait_mdstat 'recovery = ' 20
like "a recovery is never paused" "$(order pause md2 60)" "^error md2 is in 'recover': only check and repair"
is "it runs on" "$(rig_sysfs sync_action)" recover
must rig_writer_start
sleep 2
ungated=$(pace 5)
answer=$(order floor md2 200000 4096 600)
like "the floor and the cache are set" "$answer" 'speed_min=200000 speed_min_kind=local stripe_cache=4096 operation=recover undo_s=(600|59[0-9])$'
is "in sysfs" "$(rig_sysfs sync_speed_min) $(rig_sysfs stripe_cache_size)" "200000 (local) 4096"
is "one keeper, and the login has ended" "$(shells)" 1
sleep 2
floored=$(pace 5)
must rig_writer_stop >/dev/null
ok "md yields less to the writer ($ungated to $floored KiB in 5 s)" [ "$floored" -gt $((ungated + ungated / 4)) ]
answer=$(order free md2)
like "freed" "$answer" 'speed_min=1000 speed_min_kind=system stripe_cache=256 operation='
is "as it was" "$(rig_sysfs sync_speed_min) $(rig_sysfs stripe_cache_size)" "1000 (system) 256"
must rig_wait_idle 300

# --- undone by itself --------------------------------------------------------------------------------------------------------
must rig_speed_limit 3000
must rig_fail_and_readd vdd
rig_ssh 'echo 1500 >/sys/block/md2/md/sync_speed_min' </dev/null
like "never above speed_limit_max" "$(order floor md2 200000 512 10)" 'speed_min=3000 speed_min_kind=local stripe_cache=512 operation=recover'
ok "nobody renews: the earlier local value comes back" wait_until speed_is "1500 (local)"
is "and the cache" "$(rig_sysfs stripe_cache_size)" 256
is "while the rebuild runs on" "$(rig_sysfs sync_action)" recover
ok "the keeper ends" wait_until eval '[ "$(shells)" = 0 ]'
order floor md2 2500 - 10 >/dev/null
must rig_ssh 'for p in /proc/[0-9]*; do tr "\0" " " <$p/cmdline 2>/dev/null | grep -q "sbin/nas-level*rs" && kill -9 ${p#/proc/}; done; true' </dev/null
is "its keeper was killed" "$(shells)" 0
sleep 11
is "nothing happens by itself then" "$(rig_sysfs sync_speed_min)" "2500 (local)"
like "the next order puts back first" "$(order look md2)" 'speed_min=1500 speed_min_kind=local '
rig_ssh 'echo system >/sys/block/md2/md/sync_speed_min' </dev/null
must rig_speed_limit 200000
must rig_wait_idle 300

# --- a check rests -------------------------------------------------------------------------------------------------------------
must rig_speed_limit 6000
must rig_check
must wait_until done_beyond 40000
answer=$(order pause md2 600)
like "a check is interrupted" "$answer" 'operation=idle paused_at=[1-9][0-9]* undo_s=(600|59[0-9])$'
at=$(value paused_at "$answer")
ok "not long before where it was ($at sectors)" [ "$at" -ge 78000 ]
is "at a whole chunk" $((at % 1024)) 0
is "it is idle" "$(rig_sysfs sync_action)" idle
like "nothing runs in mdstat" "$(rig_mdstat)" '\[5/5\] \[UUUUU\]'
answer=$(order resume md2)
like "it goes on" "$answer" 'operation=check$'
is "from where it was" "$(rig_sysfs sync_min)" "$at"
ok "as md counts" wait_until done_beyond $((at / 2))
order pause md2 10 >/dev/null
is "once more it rests" "$(rig_sysfs sync_action)" idle
ok "nobody resumes: the NAS does" wait_until action_is check
ok "from where it was then" eval '[ "$(rig_sysfs sync_min)" -ge '"$at"' ]'
is "nothing is moved any more" "$(order moved)" "ok moved=-"

order pause md2 600 >/dev/null
must rig_fail vde
must rig_add vde
like "a disk fails meanwhile: its recovery goes first" "$(order resume md2)" 'operation=recover paused_at=[1-9][0-9]* undo_s=0$'
must rig_speed_limit 200000
ok "and the check goes on after it, by itself" wait_until action_is check
must rig_wait_idle 300
is "it runs to its end, and the kernel forgets where it rested" "$(rig_sysfs sync_min) $(rig_sysfs last_sync_action)" "0 check"
ok "no keeper is left" wait_until eval '[ "$(shells)" = 0 ]'
tap_done
