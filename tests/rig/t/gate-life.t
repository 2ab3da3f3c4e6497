#!/bin/bash
# SPDX-License-Identifier: MIT
# The daemon ends, dies, and cannot write while real jobs wait for it; jobs are stopped and killed while they are held.
# shellcheck disable=SC1091 source=tests/rig/tap.sh
. tests/rig/tap.sh
# shellcheck disable=SC1091 source=tests/rig/gatelib.sh
. tests/rig/gatelib.sh
export RIG_DISK_MIB=96

must rig_start

# --- a restart, and a sudden death, with a job that is held -------------------------------------------------------------------
must rig_rebuilding
policy_shipped
gate_new
must wait_until operation_is recovery
job web --guest 101:qemu:snapshot:web
ok "a job is held" job_said web 'rebuildgate: held: '
before=$(date +%s%N)
gate_end TERM
after=$(date +%s%N)
is "the daemon ends well" "$GATE_STATUS" 0
ok "soon ($(((after - before) / 1000000)) ms)" [ $(((after - before) / 1000000)) -lt 4000 ]
ok "the job says that it has no gate" job_said web 'rebuildgate: WARNING: no gate: '
ok "and waits" eval '[ "$(kill -0 "${JOB[web]}"; echo $?)" = 0 ] && job_not_said web "lock taken"'
gate_start
ok "with a new daemon it says that it is back" job_said web 'rebuildgate: the gate is back, this job is its ticket T1'
ok "the job is held on" ticket_is web held
ok "from its first question on" holds_true /v1/status '.tickets[0] | .ticket == 1 and .held_ms > 1000'
gate_end KILL
is "the daemon is killed" "$GATE_STATUS" 137
ok "the job waits again" wait_until eval '[ "$(job_lines web "WARNING: no gate: ")" = 2 ]'
gate_start
ok "and has its gate again" wait_until eval '[ "$(job_lines web "the gate is back, this job is its ticket T1")" = 2 ]'
ok "the job is held on" ticket_is web held
is "it never was anything else" "$(record "SELECT group_concat(DISTINCT act) FROM decisions WHERE ticket = 1")" hold

# --- a job that is killed, and one that is stopped ----------------------------------------------------------------------------
job killed --node pve1 --guest 102:qemu:snapshot:db
ok "a second job is held" job_said killed 'rebuildgate: held: '
ticket=$(ticket_of killed)
kill -KILL "$(job_worker killed)"
job_wait killed
gone() {
	holds_true '/v1/tickets?all=1' "[.tickets[] | select(.ticket == $1)][-1].state == \"withdrawn\""
}
ok "when its worker is killed its ticket is withdrawn" wait_until gone "$ticket"
ok "nothing of it goes on" job_not_said killed 'lock taken'
job stopped --guest 103:qemu:snapshot:mx --guest 104:qemu:snapshot:ns
ok "a third job is held" job_said stopped 'rebuildgate: held: '
ticket=$(ticket_of stopped)
is "the Stop button ends it before vzdump would kill it" "$(perl tests/fakes/vzdump.pl stop "$(job_worker stopped)")" ""
job_wait stopped
is "with a failure" "${ENDED[stopped]}" 1
ok "its ticket is withdrawn" wait_until gone "$ticket"
ok "no guest is touched" job_not_said stopped 'lock taken|Starting Backup'
ok "the first job is held all the while" eval 'ticket_is web held && job_not_said web "lock taken"'
must fast
job_wait web
is "and runs when the rebuild is over" "${ENDED[web]}" 0
ok "held from before the first restart to the end" recorded "SELECT 1 FROM tickets WHERE id = 1 AND state = 'ended' AND held_ms > 3000"
ok "the record verifies and decides the same again" proven

# --- a record that cannot be written ------------------------------------------------------------------------------------------
record_is() {
	holds_true /v1/status ".gate.record.ok == $1"
}

# fill: the record's disk is full, and the gate has noticed.
fill() {
	head -c 8m /dev/zero >"$GATE/small/ballast" 2>/dev/null
	wait_until eval 'gate override add deny --node pve9 --for 1h --reason "fills the disk, line by line" >/dev/null
		gate override cancel "$(record "SELECT max(id) FROM overrides")" >/dev/null; record_is false'
}

mkdir "$GATE/small"
if ! mount -t tmpfs -o size=4m,mode=755 none "$GATE/small" 2>/dev/null; then
	echo "ok $((TAP_N += 1)) - a full disk # SKIP cannot mount a tmpfs here"
	tap_done
	exit
fi
MOUNTED+=("$GATE/small")
DB=$GATE/small/record.db
gate_end TERM
must rig_clear
must rig_rebuilding
gate_new
must wait_until operation_is recovery
job before --guest 101:qemu:snapshot:web
ok "a job is held while there is room" job_said before 'rebuildgate: held: '
ok "then the disk is full" fill
ok "which the journal says" journal 'The record cannot be written: .*if_record_fails \(allow\)'
job full --node pve2 --guest 102:qemu:snapshot:db
job_wait full
is "a new job is let go as if_record_fails says, rebuild or not" "${ENDED[full]} $(rig_sysfs sync_action)" "0 recover"
ok "its log says that nothing could be recorded" job_said full 'rebuildgate: WARNING: the gate could not record this decision'
ok "and why it went" job_said full 'rebuildgate: go.*if_record_fails'
ok "what could not be written is kept aside" holds_true /v1/status '.gate.record | .spilled > 0 and .lost == 0'
ok "the job that was held and recorded is held on" eval 'job_not_said before "lock taken" && ticket_is before held'
rm "$GATE/small/ballast"
ok "with room again the record goes on by itself" wait_until record_is true
ok "and takes in what waited" wait_until holds_true /v1/status '.gate.record.spilled == 0'
ok "the job's decisions too" recorded "SELECT 1 FROM decisions WHERE node = 'pve2' AND phase = 'job-init' AND verdict = 'hold'"
is "none is missing" "$(record 'SELECT max(id) - count(*) FROM decisions')" 0
ok "the record verifies and decides the same again" proven
gate_end TERM
gate_conf "$(nas_entry)" 'if_record_fails = "deny";'
gate_start
must wait_until operation_is recovery
ok "full again, and the configuration says deny" fill
job denied --node pve3 --guest 103:qemu:snapshot:mx
job_wait denied
is "then a new job fails" "${ENDED[denied]}" 1
ok "before the lock" job_not_said denied 'lock taken'
ok "in clear words" job_said denied 'rebuildgate: DENIED.*if_record_fails'
gate_end KILL
rm "$GATE/small/ballast"
gate_conf "$(nas_entry)"
gate_start
ok "what waited aside outlives a sudden death" wait_until recorded "SELECT 1 FROM decisions WHERE node = 'pve3' AND verdict = 'hold'"
ok "the first job of all is still held" wait_until eval 'ticket_is before held && job_not_said before "lock taken"'
must fast
job_wait before
is "and ends well when the rebuild is over" "${ENDED[before]}" 0
must slow
must rig_fail_and_readd vdd
ok "another rebuild" wait_until operation_is recovery
gate_end TERM
mount -o remount,ro "$GATE/small"
gate_start
ok "a daemon whose record cannot be written starts, and says so" wait_until record_is false
job readonly --node pve4 --guest 104:qemu:snapshot:ns
job_wait readonly
is "its jobs go as if_record_fails says" "${ENDED[readonly]} $(rig_sysfs sync_action)" "0 recover"
ok "with a warning" job_said readonly 'rebuildgate: WARNING: the gate could not record this decision'
ok "the journal has what was decided" journal 'Not recorded anywhere but here: \{.*"op":"decision"'
mount -o remount,rw "$GATE/small"
ok "when it can be written again it is" wait_until record_is true
job after --guest 105:qemu:snapshot:web
ok "and holds jobs again" job_said after 'rebuildgate: held: '
must fast
job_wait after
is "until the rebuild is over" "${ENDED[after]}" 0
ok "the record verifies and decides the same again" proven
tap_done
