#!/bin/bash
# SPDX-License-Identifier: MIT
# `rebuildgate run` and `rebuildgate wait`: the gate for any command.

# shellcheck source=tests/fakes/hooklib.sh
. tests/fakes/hooklib.sh

RG=$BUILD/rebuildgate
# rg ARGS: output in $LOG, exit status in $STATUS.
rg() {
	timeout 60 "$RG" --socket "$SOCK" "$@" >"$SCRATCH/stdout" 2>"$LOG" </dev/null
	STATUS=$?
}
# In the background, with $RG_PID.
rg_start() {
	"$RG" --socket "$SOCK" "$@" >"$SCRATCH/stdout" 2>"$LOG" </dev/null &
	RG_PID=$!
}
rg_wait() {
	wait "$RG_PID"
	STATUS=$?
}

fresh
gate_start "$(answer allow)"
rg run --storage nas -- sh -c 'echo "$1"; exit 9' x 'a  b'
ok 'a command runs with its arguments as they are' test "$(cat "$SCRATCH/stdout")" = 'a  b'
ok 'its exit status is ours' status_is 9
ok 'an open gate is silent' test ! -s "$LOG"
ok 'the gate is asked for it' called /v1/ask '"client": "run", "phase": "job-init", "storage": "nas"'
ok 'by the name of the command only' called /v1/ask '"command": "sh"'
ok 'it knows the process' called /v1/ask '"worker": \{"pid": [1-9][0-9]*, "start_ticks": [1-9][0-9]*'
ok 'the start is told' called /v1/report '"ticket": 17, "phase": "job-start"'
ok 'and the end, with the status' called /v1/report '"phase": "run-end".*"exit_status": 9'
rg run --storage nas -- sh -c 'kill -9 $$'
ok 'a killed command is 128 and the signal' status_is 137
rg run --storage nas -- "$SCRATCH/not-there"
ok 'a command that is not there is 127' status_is 127
ok 'and said' logged "not-there' cannot be run"

fresh
gate_start "$(held go)" "$(answer allow '"held_ms": 4000')"
rg_start run --storage nas -- touch "$SCRATCH/ran"
ok 'a held command says so' wait_for 20 logged '^rebuildgate: held: md2 on nas1'
ok 'and does not run' test ! -e "$SCRATCH/ran"
touch "$GATE/go"
rg_wait
ok 'until the gate lets it' test -e "$SCRATCH/ran"
ok 'status' status_is 0
ok 'with a line' logged '^rebuildgate: go after a hold of 4s'

fresh
gate_start "$(held go)"
rg run --storage nas --timeout 1s -- touch "$SCRATCH/ran2"
ok '--timeout while held: 75' status_is 75
ok 'the ticket is given back' called /v1/withdraw '"ticket": 17'
ok 'nothing ran' test ! -e "$SCRATCH/ran2"
rg wait nas --timeout 0
ok 'wait --timeout 0 only asks: 75' status_is 75

fresh
gate_start "$(answer deny)"
rg run --storage nas -- touch "$SCRATCH/ran2"
ok 'denied: 77' status_is 77
ok 'said' logged '^rebuildgate: DENIED'
rg wait nas
ok 'wait, denied: 77' status_is 77
ok 'nothing ran' test ! -e "$SCRATCH/ran2"

fresh
rg run --storage nas --if-gate-down deny --wait-for-gate 0 -- touch "$SCRATCH/ran2"
ok 'no gate, deny: 69' status_is 69
ok 'nothing ran' test ! -e "$SCRATCH/ran2"
rg run --storage nas --if-gate-down=allow --wait-for-gate 500ms -- touch "$SCRATCH/ran3"
ok 'no gate, allow: it runs' test -e "$SCRATCH/ran3"
ok 'loudly' logged 'UNGATED'
rg wait nas --wait-for-gate 0
ok 'wait without a gate: 69' status_is 69
rg wait nas --timeout 500ms
ok 'also when its time is over first' status_is 69

fresh
gate_start '{"status": 403, "body": "{\"error\": {\"kind\": \"denied\", \"text\": \"only root may ask\"}}"}'
rg run --storage nas --if-gate-down allow -- touch "$SCRATCH/ran2"
ok 'a gate that refuses us is not a gate that is away: 77' status_is 77
ok 'with its sentence, once' log_count 'only root may ask' 1
ok 'nothing ran' test ! -e "$SCRATCH/ran2"

fresh
gate_start "$(answer allow)"
rg wait nas
ok 'wait: 0 when a job may go' status_is 0
# The gate ends a wait with its last answer; a report would make a second ticket.
ok 'nothing is left to report' not_called /v1/report .
ok 'asked as wait' called /v1/ask '"client": "wait"'

for args in 'run' 'run --storage nas' 'run --storage nas --' 'run -- true' 'run --storage nas true' 'wait' 'wait a b' \
	'wait nas --timeout soon' 'run --storage nas --if-gate-down maybe -- true' 'wait nas --nonsense'; do
	# shellcheck disable=SC2086
	rg $args
	ok "usage: $args" status_is 2
done

# --- signals --------------------------------------------------------------------------------------------
fresh
gate_start "$(held never)"
rg_start run --storage nas -- touch "$SCRATCH/ran2"
wait_for 20 called /v1/ask '"wait_ms": 25000'
kill -TERM "$RG_PID"
rg_wait
ok 'SIGTERM while held: 143' status_is 143
ok 'withdrawn' called /v1/withdraw '"ticket": 17'

fresh
gate_start "$(answer allow)"
rg_start run --storage nas -- bash -c 'trap "echo got; exit 4" TERM; touch '"$SCRATCH"'/up; while :; do sleep 0.05; done'
wait_for 20 test -e "$SCRATCH/up"
kill -TERM "$RG_PID"
rg_wait
ok 'signals are passed on to the command' test "$(cat "$SCRATCH/stdout")" = got
ok 'which ends as it likes' status_is 4
ok 'and that is told' called /v1/report '"exit_status": 4'

done_testing
