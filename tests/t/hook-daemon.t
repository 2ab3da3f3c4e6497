#!/bin/bash
# SPDX-License-Identifier: MIT
# The real hook and the real daemon, with a NAS that is a folder: held by a rebuild, let go by its end.

# shellcheck source=tests/t/gate-lib.sh
. tests/t/gate-lib.sh

RG=$BUILD/rebuildgate
FAKES=$(realpath tests/fakes)
TASK=$SCRATCH/task.log
NODE=$SCRATCH/node
JOB=

job() {
	mkdir -p "$NODE/run" "$NODE/etc/pve" "$NODE/var/lib/pve-manager/jobs"
	printf 'gate = "%s";\nwait_for_gate = "60s";\nif_gate_down = "deny";\nhooks_dir = "";\nhooks_early_dir = "";\n' \
		"$SOCK" >"$NODE/hook.conf"
	rm -f "$SCRATCH/pid" "$TASK"
	: >"$TASK"
	perl "$FAKES/vzdump.pl" run --hook "$BUILD/rebuildgate-vzdump" --log "$TASK" --pidfile "$SCRATCH/pid" \
		--env "REBUILDGATE_HOOK_CONF=$NODE/hook.conf" --env "REBUILDGATE_HOOK_ROOT=$NODE" "$@" &
	JOB=$!
	STARTED+=("$JOB")
}
job_wait() {
	wait "$JOB"
	RESULT=$?
}
task() { grep -qE -- "$1" "$TASK"; }
no_task() { ! grep -qE -- "$1" "$TASK"; }
result() {
	[ "$RESULT" -eq "$1" ] && return 0
	sed 's/^/# task: /' "$TASK"
	return 1
}
# ticket N: its state, also once it has ended.
state() {
	api GET '/v1/tickets?all=1'
	get "[t['state'] for t in a['tickets'] if t['ticket'] == $1][0]"
}
in_state() { [ "$(state "$1")" = "$2" ]; }

# A change of operation counts from the second reading on.
sees() {
	api GET /v1/status
	[ "$(get "a['nas'][0]['arrays'][0]['operation']")" = "$1" ]
}

# --- an idle NAS --------------------------------------------------------------------------------------
fresh
gate_start
job --storage backup --guest 101:qemu:snapshot:web --guest 102:lxc:stop:db
job_wait
ok 'an idle NAS lets a job run' result 0
ok 'one line of ours' test "$(grep -c 'rebuildgate: ' "$TASK")" -eq 1
ok 'its ticket has ended' wait_for 10 in_state 1 ended

# --- a rebuild, a killed daemon, a released job ----------------------------------------------------------
nas_rebuild 41
wait_for 20 sees recovery
job --storage backup --guest 101:qemu:snapshot:web
ok 'a rebuild holds the next one' wait_for 20 task 'rebuildgate: held: .*md2'
ok 'with its percentage' task '40[.]9 %'
ok 'and the command that lets it go' task 'release T2 --reason'
sleep 1
gate_kill KILL
ok 'a killed daemon is missed' wait_for 20 task 'WARNING: no gate'
ok 'the job is still held' no_task 'lock taken'
gate_start
ok 'it comes back and knows the ticket' wait_for 20 task 'the gate is back, this job is its ticket T2'
ok 'which is held' wait_for 10 in_state 2 held
nas_idle
job_wait
ok 'the end of the rebuild lets the job go' result 0
ok 'with a line' task 'rebuildgate: go after a hold of'
ok 'its ticket has ended' wait_for 10 in_state 2 ended

# --- an operator lets it go ------------------------------------------------------------------------------
nas_rebuild 42
wait_for 20 sees recovery
job --storage backup --guest 101:qemu:snapshot:web
wait_for 20 task 'rebuildgate: held: '
"$RG" --socket "$SOCK" release T3 --reason 'needed now' >"$SCRATCH/said" 2>&1
ok 'release says what it did' test $? -eq 0
job_wait
ok 'and the job runs' result 0
ok 'naming who' task 'released by '

# --- stopped while held ------------------------------------------------------------------------------------
job --storage backup --guest 101:qemu:snapshot:web
wait_for 20 task 'rebuildgate: held: '
perl "$FAKES/vzdump.pl" stop "$(cat "$SCRATCH/pid")"
job_wait
ok 'Stop ends a held job' result 1
ok 'and its ticket is withdrawn' wait_for 10 in_state 4 withdrawn

job --storage backup --guest 101:qemu:snapshot:web
wait_for 20 task 'rebuildgate: held: '
kill -KILL "$(cat "$SCRATCH/pid")"
job_wait
gone() { in_state 5 withdrawn || in_state 5 lost; }
ok 'so is that of a killed one' wait_for 10 gone

# --- another database: the hook brings its hold along ----------------------------------------------------------
job --storage backup --guest 101:qemu:snapshot:web
wait_for 20 task 'rebuildgate: held: '
gate_kill KILL
rm -rf "$SCRATCH/db"
conf_write
gate_start
ok 'a gate with a new database takes the hold up' wait_for 20 task 'the gate is back, this job is its ticket T'
nas_idle
job_wait
ok 'and lets it go' result 0

# --- a rebuild that starts inside a running job ------------------------------------------------------------------
fresh
gate_start
job --storage backup --copy "$SCRATCH/copied" --guest 101:qemu:snapshot:web --guest 102:qemu:snapshot:db
wait_for 20 task 'copying data of 101'
nas_rebuild 1
wait_for 20 sees recovery
touch "$SCRATCH/copied"
job_wait
rm -f "$SCRATCH/copied"
ok 'a rebuild that begins between two guests: the rest goes on, as mid_job says' result 0
ok 'after a wait that the log names' task 'rebuildgate: held: '

# --- no array behind the storage ---------------------------------------------------------------------------------
job --storage other --guest 101:qemu:snapshot:web
job_wait
ok 'a storage that is mapped to nothing passes' result 0
ok 'with a warning' task 'rebuildgate: WARNING: '

# --- run and wait ------------------------------------------------------------------------------------------------
"$RG" --socket "$SOCK" wait backup --timeout 1s 2>"$SCRATCH/said"
ok 'wait is held: 75' test $? -eq 75
nas_idle
"$RG" --socket "$SOCK" run --storage backup --timeout 30s -- sh -c 'exit 6' 2>"$SCRATCH/said"
ok 'run runs its command when the rebuild is over' test $? -eq 6

done_testing
