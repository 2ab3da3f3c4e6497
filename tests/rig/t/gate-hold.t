#!/bin/bash
# SPDX-License-Identifier: MIT
# What md does on a real NAS, and what real jobs get for it: a rebuild from its beginning to its end, one that starts inside
# a job, checks, a reshape, a frozen rebuild, a new disk that fails; overrides, releases and holds that expire.
# shellcheck disable=SC1091 source=tests/rig/tap.sh
. tests/rig/tap.sh
# shellcheck disable=SC1091 source=tests/rig/gatelib.sh
. tests/rig/gatelib.sh
export RIG_DISK_MIB=96

# case_new: empty disks, a gate with a new record, the shipped policy.
case_new() {
	gate_end TERM
	must rig_clear
	policy_shipped
}

must rig_start

# --- a hold until the rebuild ends ------------------------------------------------------------------------------------
case_new
must rig_rebuilding
gate_new
ok "a rebuild is seen" wait_until operation_is recovery
ok "check says what a job would get" eval 'gate check nas; [ $? = 75 ]'
job web --guest 101:qemu:snapshot:web --guest 102:lxc:snapshot:mail
ok "a job that asks meanwhile is held" job_said web '^INFO: rebuildgate: held: .*md2 on nas1 is in recovery'
ok "its line says until when at most, and what then" \
	job_said web 'held: .*ends at the latest at .*\(in 7h 59min\), then the job goes on throttled'
ok "and how to let it go" job_said web "held: .*as root on pve1: rebuildgate release T1 --reason .*\\[decision 1\\]"
ok "vzdump's lock is not taken" job_not_said web 'lock taken'
ok "status shows the job" holds_true /v1/status '.tickets[0] | .state == "held" and .rule == "rebuild" and .then == "throttle"'
ok "and that the storage holds" holds_true /v1/status '.storages[0] | .act == "hold" and .array == "md2"'
must slow 4000
ok "the rebuild's own rate shows" wait_until holds_true /v1/status '.nas[0].arrays[0] | .rate > 100000 and .remaining_ms > 0'
before=$(says /v1/status '.nas[0].arrays[0].progress_ppm')
ok "and its progress" wait_until holds_true /v1/status ".nas[0].arrays[0].progress_ppm > $before"
is "one decision so far: looks are none" "$(record 'SELECT count(*) FROM decisions')" 1
is "the rebuild still runs" "$(rig_sysfs sync_action)" recover
must fast
ok "the job goes on when it is done" job_said web 'rebuildgate: go after a hold of '
like "and the array is whole then" "$(rig_mdstat)" '\[5/5\] \[UUUUU\]'
job_wait web
is "the job ends well" "${ENDED[web]}" 0
ok "with both guests" eval '[ "$(job_lines web "^INFO: copying data of 10[12]$")" = 2 ]'
is "the record has it: held by the rule, then by settle, then let go before the lock" \
	"$(record "SELECT group_concat(act || step || ifnull(rule, ''), ' ') FROM (SELECT * FROM decisions WHERE phase = 'job-init' ORDER BY id)")" \
	"hold5rebuild hold7rebuild allow6"
ok "settle was kept" recorded "SELECT 1 FROM decisions a JOIN decisions h ON h.id = a.id - 1
	WHERE a.id = 3 AND a.time_utc_ms - h.time_utc_ms >= 3000"
is "what is said again inside the job needs no line" "$(job_lines web '^INFO: rebuildgate: ')" 3
is "each guest's outcome too" "$(record "SELECT group_concat(guest || outcome, ' ') FROM guests")" "101done 102done"
is "the log shows the same ids as the task log" "$(gate log --output-format json | jq -c '[.[] | select(.phase == "job-init") | .id] | sort')" "[1,2,3]"
like "explain tells why it was held" "$(gate explain 1)" "hold.*rule 'rebuild': md2 on nas1 is in recovery"
like "and why it was let go" "$(gate explain 3)" "rule 'rebuild' on md2: operation is idle"
ok "the record verifies and decides the same again" proven

# --- a rebuild that starts between two guests of a running job --------------------------------------------------------
case_new
must rig_make_raid6
gate_new
ok "an array at rest is seen" wait_until operation_is idle
job web --guest 101:qemu:snapshot:web --guest 102:qemu:snapshot:db --copy "$GATE/copy"
ok "a job on an array at rest goes at once" job_said web 'rebuildgate: go: '
ok "and copies its first guest" job_said web 'copying data of 101'
must slow
must rig_fail_and_readd vdc
ok "a rebuild that starts meanwhile is seen" wait_until operation_is recovery
touch "$GATE/copy"
ok "before the next guest the job waits" job_said web 'rebuildgate: held: .*md2 on nas1 is in recovery.* then the job goes on throttled'
ok "within its recheck" recorded "SELECT 1 FROM decisions WHERE phase = 'backup-start' AND guest = 102 AND act = 'hold' AND rule = 'rebuild'"
job_wait web
is "and goes on though the rebuild does" "${ENDED[web]} $(rig_sysfs sync_action)" "0 recover"
ok "throttled, for a virtual machine has a lever" \
	recorded "SELECT 1 FROM decisions WHERE phase = 'backup-start' AND guest = 102 AND verdict = 'throttle' AND act = 'throttle' AND step = 7"
ok "that is said" job_said web 'rebuildgate: go, throttled after a hold of .*\(mid_job\): throttle'
ok "without a warning that nothing could throttle it" job_not_said web 'no lever is set up'
ok "at the array at rest no guest needed a line" eval '[ "$(job_lines web "^INFO: rebuildgate: ")" = 3 ]'
rm "$GATE/copy"
job late --guest 103:qemu:snapshot:mx
ok "a job that asks now is held" job_said late 'rebuildgate: held: '
must fast
job_wait late
is "and goes when it is over" "${ENDED[late]}" 0
ok "the record verifies and decides the same again" proven

# --- a check ----------------------------------------------------------------------------------------------------------
case_new
must rig_make_raid6
must slow
must rig_check
gate_new
ok "a check is seen" wait_until operation_is check
job web --guest 101:qemu:snapshot:web
job_wait web
is "a job runs beside it" "${ENDED[web]} $(rig_sysfs sync_action)" "0 check"
ok "with the rule's note" job_said web "rebuildgate: go: .*md2 on nas1 is in check.*; a check or repair runs as well: both take longer"
ok "recorded too" recorded "SELECT 1 FROM decisions WHERE phase = 'job-init' AND rule = 'check or repair' AND decision LIKE '%both take longer%'"
policy_rules '{ name = "no backup beside a check"; when = { operation = "check"; }; verdict = "hold"; max_hold = "1h"; }'
kill -HUP "$GATE_PID"
ok "another policy is taken" wait_until journal 'loaded anew policy=rig'
job strict --guest 101:qemu:snapshot:web
ok "it may hold for a check" job_said strict 'rebuildgate: held: .*md2 on nas1 is in check'
must fast
job_wait strict
is "until that is over" "${ENDED[strict]}" 0
is "both policies are in the record" "$(record 'SELECT count(*) FROM policies')" 2
ok "which decides the same again under each" proven

# --- a reshape --------------------------------------------------------------------------------------------------------
case_new
must rig_make_raid6
must slow 1000
must rig_reshape vdf
gate_new
ok "a reshape is seen" wait_until operation_is reshape
ok "in which nothing is missing" holds_true /v1/nas '.nas[0].arrays[0] | .missing == 0 and .redundancy_left == 2'
job web --guest 101:qemu:snapshot:web
ok "it holds" job_said web 'rebuildgate: held: .*md2 on nas1 is in reshape'
must fast
job_wait web
is "until it ends" "${ENDED[web]}" 0
like "with all six disks" "$(rig_mdstat)" '\[6/6\] \[UUUUUU\]'
ok "the record verifies and decides the same again" proven

# --- a frozen rebuild, which goes on, and whose new disk fails in turn ---------------------------------------------------
case_new
must rig_rebuilding
must rig_freeze
gate_new
ok "a frozen rebuild is seen, though mdstat shows none" wait_until operation_is frozen
job web --guest 101:qemu:snapshot:web
ok "it holds" job_said web 'rebuildgate: held: .*md2 on nas1 is .*frozen'
must rig_unfreeze
ok "unfrozen it goes on" wait_until operation_is recovery
ok "which the task log says" job_said web 'rebuildgate: held for .*, now: .*md2 on nas1 is in recovery'
must look_goes_by 3
ok "the job is held on" eval 'ticket_is web held && job_not_said web "lock taken"'
must rig_fail vdc
ok "the new disk fails: degraded, and nothing rebuilds" wait_until holds_true /v1/nas '.nas[0].arrays[0] | .operation == "idle" and .health == "degraded"'
job_wait web
is "then the job goes" "${ENDED[web]}" 0
ok "and is told to replace the disk" job_said web 'rebuildgate: go after a hold of .*; a disk is missing and no rebuild runs: replace the disk'
ok "by the rule for it" recorded "SELECT 1 FROM decisions WHERE phase = 'job-init' AND act = 'allow'
	AND rule = 'degraded, not rebuilding' AND decision LIKE '%replace the disk%'"
must slow
must rig_add vdf
ok "another new disk" wait_until operation_is recovery
job again --guest 101:qemu:snapshot:web
ok "holds again" job_said again 'rebuildgate: held: .*md2 on nas1 is in recovery'
must fast
job_wait again
is "until its rebuild ends" "${ENDED[again]}" 0
ok "the record verifies and decides the same again" proven

# --- an operator ------------------------------------------------------------------------------------------------------
case_new
must rig_rebuilding
gate_new
ok "a rebuild" wait_until operation_is recovery
job web --guest 101:qemu:snapshot:web
ok "a job is held" job_said web 'rebuildgate: held: '
ok "an override is made" gate override add allow --storage nas --for 1h --reason "the tape is full"
job_wait web
is "and lets the held job go" "${ENDED[web]} $(rig_sysfs sync_action)" "0 recover"
ok "the task log says why" job_said web 'rebuildgate: go(| after a hold of .*): override 1 by .*: the tape is full'
ok "the record who and why" recorded "SELECT 1 FROM decisions d JOIN overrides o ON o.id = d.override
	WHERE d.phase = 'job-init' AND d.step = 2 AND d.act = 'allow' AND o.reason = 'the tape is full' AND o.by = '$(id -un)'"
ok "cancelled" gate override cancel 1
job db --guest 102:qemu:snapshot:db
job mx --node pve2 --guest 103:qemu:snapshot:mx
ok "it holds nothing open" job_said db 'rebuildgate: held: '
ok "for nobody" job_said mx 'rebuildgate: held: '
ticket=$(ticket_of db)
ok "one job is released by hand" gate release "T$ticket" --reason "the boss waits"
job_wait db
is "and goes" "${ENDED[db]} $(rig_sysfs sync_action)" "0 recover"
ok "which its log tells" job_said db "rebuildgate: go(| after a hold of .*), released by $(id -un): "
ok "alone" eval 'ticket_is mx held && job_not_said mx "lock taken"'
must fast
job_wait mx
is "the other one goes when the rebuild is over" "${ENDED[mx]}" 0
ok "the record verifies and decides the same again" proven

# --- a hold whose time is over --------------------------------------------------------------------------------------------
# expiry WORD: a hold of 6 s at most that becomes WORD.
expiry() {
	policy_rules "{ name = \"rebuild\"; when = { operation = \"recovery\"; }; verdict = \"hold\"; max_hold = \"6s\"; on_expiry = \"$1\"; mid_job = \"allow\"; recheck = \"0\"; }"
}
case_new
must rig_rebuilding
for word in allow throttle deny; do
	expiry "$word"
	gate_new
	must wait_until operation_is recovery
	job web --guest 101:qemu:snapshot:web
	ok "$word: a job is held" job_said web "rebuildgate: held: .*ends at the latest at .*\\(in [456]s\\), then the job "
	job_wait web
	ok "$word: for as long as it may be" recorded "SELECT 1 FROM decisions WHERE phase = 'job-init' AND verdict = '$word'
		AND step = 7 AND held_ms >= 6000 AND decision LIKE '%expired%'"
	is "$word: the rebuild goes on" "$(rig_sysfs sync_action)" recover
	if [ "$word" = deny ]; then
		is "deny: the job fails" "${ENDED[web]}" 1
		ok "deny: before the lock" job_not_said web 'lock taken'
		ok "deny: in clear words" job_said web 'rebuildgate: DENIED after a hold of '
	else
		is "$word: then the job runs" "${ENDED[web]}" 0
		is "$word: and is not held again inside" "$(record "SELECT count(*) FROM decisions WHERE phase <> 'job-init' AND act = 'hold'")" 0
	fi
	ok "$word: the record verifies and decides the same again" proven
done
tap_done
