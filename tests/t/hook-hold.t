#!/bin/bash
# SPDX-License-Identifier: MIT
# A whole job of vzdump's with the hook: what it is asked, told and let do.

# shellcheck source=tests/fakes/hooklib.sh
. tests/fakes/hooklib.sh

# --- an open gate -------------------------------------------------------------------------------
fresh
gate_start "$(answer allow)"
run_job --storage nas --dir --guest 101:qemu:snapshot:web --guest 102:lxc:stop:db --guest 103:qemu:stopped:
ok 'an open gate lets the whole job run' status_is 0
ok 'the task is well' logged '^TASK OK$'
ok 'one line says why, with the decision' log_count '^INFO: rebuildgate: go: md2 on nas1 .*decision 412' 1
ok 'and no other line is ours' log_count '^INFO: rebuildgate' 1
ok 'asked once before the lock' call_count /v1/ask '"phase": "job-init"' 1
ok 'asked again under the lock' call_count /v1/ask '"phase": "job-start"' 1
ok 'and for each guest' call_count /v1/ask '"phase": "backup-start"' 3
ok 'the storage is named' called /v1/ask '"storage": "nas"'
ok 'the node is the task'"'"'s' called /v1/ask '"node": "pve1"'
ok 'the task is known by its id' called /v1/ask '"upid": "UPID:pve1:[0-9A-F:]*:vzdump::root@pam:"'
pid=$(cat "$SCRATCH/pid")
ok 'the worker is vzdump'"'"'s, not the hook' called /v1/ask "\"worker\": {\"pid\": $pid, \"start_ticks\": [1-9][0-9]*, \"boot_id\": \"[0-9a-f-]{36}\"}"
ok 'a guest is asked for with type and mode' called /v1/ask '"phase": "backup-start".*"guest": 102, "guest_type": "lxc", "mode": "stop"'
ok 'later questions carry the ticket' call_count /v1/ask '"phase": "job-init".*"ticket": 0' 1
ok 'of the job' call_count /v1/ask '"ticket": 17' 4
for phase in job-start backup-start pre-stop pre-restart post-restart backup-end log-end job-end; do
	ok "$phase is reported" called /v1/report "\"ticket\": 17, \"phase\": \"$phase\""
done
ok 'with name and target' called /v1/report '"phase": "backup-end".*"guest": 101|"hostname": "web"'
ok 'target' called /v1/report '"target": "/mnt/pve/nas/dump/vzdump-lxc-102.vma"'
ok 'a guest without a name has none' not_called /v1/report '"guest": 103.*hostname'
ok 'nothing is remembered after the job' test -z "$(ls "$NODE/run/rebuildgate-hook/jobs")"

# --- a hold -------------------------------------------------------------------------------------
fresh
gate_start "$(held go)" "$(answer allow '"held_ms": 3000, "released_by": "alice"')"
job --storage nas --guest 101:qemu:snapshot:web
ok 'a held job says so' wait_for 20 logged '^INFO: rebuildgate: held: '
line=$(grep 'held: ' "$LOG")
has() { [[ $line == *"$1"* ]]; }
ok 'with the array' has 'md2 on nas1'
ok 'the percentage' has '41.3 %'
ok 'the expected end' has 'expected to be over at 20'
ok 'the latest end' has 'ends at the latest at 20'
ok 'what comes then' has 'then the job goes on throttled'
ok 'how to let it go, and where' has 'on gatehost: rebuildgate release T17 --reason'
ok 'it is asked about again, and waits there' wait_for 20 called /v1/ask '"ticket": 17.*"wait_ms": 25000'
ok 'no lock is taken meanwhile' not_logged 'lock taken'
touch "$GATE/go"
job_wait
ok 'the release lets it run' status_is 0
ok 'and is said' logged '^INFO: rebuildgate: go after a hold of .*released by alice'
ok 'a job of one guest tells it' called /v1/ask '"phase": "job-init".*"guests": \[101\]'

# --- denied -------------------------------------------------------------------------------------
fresh
gate_start "$(answer deny)"
run_job --storage nas --guest 101:qemu:snapshot:web
ok 'a denied job fails' status_is 1
ok 'before it took the lock' not_logged 'lock taken'
ok 'with vzdump'"'"'s own sentence' logged "^TASK ERROR: command '.* job-init' failed: exit code 1"
ok 'and ours' logged '^INFO: rebuildgate: DENIED: md2 on nas1'

# --- denied for the rest ------------------------------------------------------------------------
fresh
gate_start "$(answer allow)" "$(answer allow)" "$(answer allow)" "$(answer deny)"
run_job --storage nas --guest 101:qemu:snapshot:web --guest 102:qemu:snapshot:db
ok 'a guest is denied inside a running job' logged 'ERROR: Backup of VM 102 failed - command .* exit code 1'
ok 'the one before is backed up' logged 'copying data of 101'
ok 'the denied one is not' not_logged 'copying data of 102'
ok 'its backup-abort is told' called /v1/report '"phase": "backup-abort"'

# --- held inside a running job ------------------------------------------------------------------
fresh
gate_start "$(answer allow)" "$(answer allow)" "$(held go)" "$(answer throttle)"
job --storage nas --guest 101:qemu:snapshot:web
ok 'a wait inside the job is said' wait_for 20 logged 'rebuildgate: held: '
touch "$GATE/go"
job_wait
ok 'and it goes on' logged 'rebuildgate: go, throttled'
ok 'to the end' status_is 0

# --- what was told already ----------------------------------------------------------------------
fresh
gate_start "$(answer allow '"held_ms": 44000')"
run_job --storage nas --guest 101:qemu:snapshot:web --guest 102:qemu:snapshot:db
ok 'the hold before the job is told once' log_count 'rebuildgate: go after a hold of' 1
ok 'and nothing more inside the job' log_count '^INFO: rebuildgate: ' 1
slow='{"answer": {"ticket": 17, "decision": 9, "act": "allow", "verdict": "throttle", "step": 7, "reasons": [{"code": "mid-job", "text": "it is not held any longer"}, {"code": "no-lever", "text": "no lever is set up"}], "recorded": true}}'
fresh
gate_start "$(answer allow)" "$(answer allow)" "$(answer allow)" "$slow" "$slow" "$slow" "$(answer allow)"
run_job --storage nas --guest 101:qemu:snapshot:a --guest 102:qemu:snapshot:b --guest 103:qemu:snapshot:c --guest 104:qemu:snapshot:d --guest 105:qemu:snapshot:e
ok 'another verdict inside the job is told' log_count 'rebuildgate: go: it is not held any longer' 1
ok 'with its warning' log_count 'rebuildgate: WARNING: no lever is set up' 1
ok 'and that it is over' log_count 'rebuildgate: go: md2 on nas1 ' 2
ok 'each once for all the guests' log_count '^INFO: rebuildgate: ' 4

# --- throttle without a lever, unmapped, unrecorded ------------------------------------------------
fresh
gate_start '{"answer": {"ticket": 17, "decision": 0, "act": "allow", "verdict": "throttle", "step": 5, "reasons": [{"code": "rule", "text": "md2 is in resync"}, {"code": "no-lever", "text": "no lever is set up"}], "recorded": false}}'
run_job --storage nas
ok 'without a lever there is a warning' log_count 'WARNING: no lever is set up' 1
ok 'an unrecorded decision is a warning' logged 'WARNING: the gate could not record'

# --- no storage -----------------------------------------------------------------------------------
fresh
gate_start "$(answer deny)"
run_job --dumpdir /mnt/backup --guest 101:qemu:snapshot:web
ok 'a job with a dumpdir is not gated' status_is 0
ok 'one line says so' log_count 'rebuildgate: .*dumpdir.* not gated' 1
ok 'the gate is not bothered' test ! -e "$GATE/log"

# --- a scheduled job ------------------------------------------------------------------------------
fresh
printf 'vzdump: nightly\n\tschedule daily\n\tstorage nas\n\tall 1\n\texclude 103\n' >"$NODE/etc/pve/jobs.cfg"
cat >"$NODE/etc/pve/.vmlist" <<'VMLIST'
{"version": 7, "ids": {"103": {"node": "pve1", "type": "qemu", "version": 1}, "102": {"node": "pve1", "type": "lxc", "version": 2},
"101": {"node": "pve1", "type": "qemu", "version": 3}, "200": {"node": "pve2", "type": "qemu", "version": 4}}}
VMLIST
gate_start "$(answer allow)"
run_job --storage nas --job nightly --root "$NODE" --state-delay 0.3 --guest 101:qemu:snapshot:web --guest 102:lxc:snapshot:ct
ok 'a scheduled job is found by its task' called /v1/ask '"job_id": "nightly"'
next=$(date -d 'tomorrow 00:00' +%s)
ok 'and its next start by its schedule' called /v1/ask "\"next_start_utc_ms\": ${next}000"
ok 'its guests on this node as well' called /v1/ask '"phase": "job-init".*"guests": \[101, 102\].*"n_qemu": 1'

done_testing
