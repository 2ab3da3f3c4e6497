#!/bin/bash
# SPDX-License-Identifier: MIT
# The hook and a gate that is not there, goes away, comes back, or talks nonsense.

# shellcheck source=tests/fakes/hooklib.sh
. tests/fakes/hooklib.sh

# --- absent from the start ------------------------------------------------------------------------
fresh
conf 'wait_for_gate = "1s";' 'if_gate_down = "allow";'
run_job --storage nas --guest 101:qemu:snapshot:web
ok 'without a gate the job goes on' status_is 0
ok 'loudly' logged 'rebuildgate: WARNING: no gate.*goes on UNGATED'
ok 'what will happen is said first' logged "WARNING: no gate: cannot connect to '.*'.*waiting for it for 1s at most, then the job goes on ungated"

fresh
conf 'wait_for_gate = "1s";' 'if_gate_down = "deny";'
run_job --storage nas --guest 101:qemu:snapshot:web
ok 'or fails, where that is configured' status_is 1
ok 'before the lock' not_logged 'lock taken'
ok 'and says why' logged 'WARNING: no gate.*the job fails \(if_gate_down = deny\)'

fresh
conf 'wait_for_gate = "60s";' 'if_gate_down = "deny";'
job --storage nas --guest 101:qemu:snapshot:web
wait_for 20 logged 'no gate: '
gate_start "$(answer allow)"
job_wait
ok 'a gate that comes in time is asked' status_is 0
ok 'and its coming is said' logged 'rebuildgate: the gate is back'

# --- goes away inside the job -----------------------------------------------------------------------
fresh
conf 'wait_for_gate = "1s";' 'if_gate_down = "deny";'
gate_start "$(answer allow)"
job --storage nas --guest 101:qemu:snapshot:web --guest 102:lxc:stop:db --copy "$SCRATCH/copied"
wait_for 20 logged 'copying data of 101'
gate_stop
touch "$SCRATCH/copied"
job_wait
rm -f "$SCRATCH/copied"
ok 'phases that end a backup never fail without a gate' not_logged 'VM 101 failed'
ok 'the next guest does, where that is configured' logged 'VM 102 failed - command .*backup-start.* exit code 1'
ok 'its aborting phases still pass' not_logged '^WARN'

# Each phase by itself.
for phase in 'pre-stop stop 101' 'pre-restart stop 101' 'post-restart stop 101' 'backup-end stop 101' \
	'backup-abort stop 101' 'log-end stop 101' job-end job-abort another-phase; do
	# shellcheck disable=SC2086
	STOREID=nas call $phase
	ok "${phase%% *} exits 0 without a gate" status_is 0
done
for phase in job-init job-start 'backup-start stop 101'; do
	# shellcheck disable=SC2086
	STOREID=nas call $phase
	ok "${phase%% *} fails without a gate, as configured" status_is 1
done

# --- dies during a hold, comes back -----------------------------------------------------------------
fresh
conf 'wait_for_gate = "60s";' 'if_gate_down = "deny";'
gate_start "$(held never)"
job --storage nas --guest 101:qemu:snapshot:web
wait_for 20 called /v1/ask '"wait_ms": 25000'
gate_stop
ok 'a gate that dies during a hold is missed' wait_for 20 logged 'WARNING: no gate'
ok 'the job stays held' not_logged 'lock taken'
: >"$GATE/log"
gate_start "$(held go)" "$(answer allow)"
ok 'one that comes back knows the ticket' wait_for 20 called /v1/ask '"ticket": 17'
ok 'and is told the time held' called /v1/ask '"ticket": 17, "held_ms": [1-9]'
touch "$GATE/go"
job_wait
ok 'the hold ends as the gate says' status_is 0

# --- another gate, which does not know the ticket -----------------------------------------------------
fresh
conf 'wait_for_gate = "60s";' 'if_gate_down = "deny";'
gate_start "$(held never)"
job --storage nas --guest 101:qemu:snapshot:web
wait_for 20 called /v1/ask '"wait_ms": 25000'
gate_stop
gate_start "$(held go | sed 's/"ticket": 17/"ticket": 3/')" "$(answer allow | sed 's/"ticket": 17/"ticket": 3/')"
ok 'another gate takes the hold up as its own ticket' wait_for 20 logged 'the gate is back, this job is its ticket T3'
ok 'with the command for that one' logged 'release T3 '
touch "$GATE/go"
job_wait
ok 'and lets it go' status_is 0
ok 'the later phases name the new ticket' called /v1/report '"ticket": 3, "phase": "job-end"'

# --- the hold's end comes without a gate ----------------------------------------------------------------
fresh
conf 'wait_for_gate = "60s";' 'if_gate_down = "deny";'
gate_start "$(held never | sed 's/28800000/3000/')"
job --storage nas --guest 101:qemu:snapshot:web
wait_for 20 called /v1/ask '"wait_ms": 25000'
gate_stop
ok 'the hold'"'"'s own end comes before the wait for a gate' wait_for 20 logged "no gate, and the hold's time is over.*goes on ungated"
kill -TERM -- "-$(worker)" 2>/dev/null
job_wait

fresh
conf 'wait_for_gate = "1s";' 'if_gate_down = "allow";'
gate_start "$(held never)"
job --storage nas --guest 101:qemu:snapshot:web
wait_for 20 called /v1/ask '"wait_ms": 25000'
gate_stop
job_wait
ok 'a long hold without a gate ends after wait_for_gate' status_is 0
ok 'ungated' logged 'WARNING: no gate after a hold of .*UNGATED'

# --- nonsense -----------------------------------------------------------------------------------------
nonsense() {
	fresh
	conf 'wait_for_gate = "700ms";' 'if_gate_down = "deny";'
	gate_start "$2"
	run_job --storage nas --guest 101:qemu:snapshot:web
	ok "$1 is no verdict: as if_gate_down says" status_is 1
	ok "$1: the line says what it was" logged "WARNING: no (gate|verdict): $3"
}
nonsense 'an error 500' '{"status": 500, "body": "oops"}' 'the gate answered with status 500'
nonsense 'a refusal' '{"status": 403, "body": "{\"error\": {\"kind\": \"denied\", \"text\": \"this is not for you\"}}"}' 'the gate says: this is not for you'
nonsense 'text that is not HTTP' '{"raw": "hello there\r\n"}' "'.*sock'"
nonsense 'text that is not JSON' '{"status": 200, "body": "<html>"}' "the gate's answer is not understood"
nonsense 'an unknown verdict' '{"answer": {"act": "maybe", "verdict": "maybe", "reasons": []}}' "the gate's answer is not understood"
nonsense 'a closed connection' '{"close": true}' "'.*sock'"

fresh
conf 'wait_for_gate = "1s";' 'if_gate_down = "allow";'
gate_start '{"hang": true}'
run_job --storage nas
ok 'a gate that hangs is given up' status_is 0
ok 'with a line' logged 'UNGATED'

fresh
gate_start "$(answer allow)"
touch "$GATE/hang-others"
run_job --storage nas --guest 101:lxc:stop:db
ok 'a gate that hangs at reports delays only' status_is 0

# --- the configuration -----------------------------------------------------------------------------------
fresh
gate_start "$(answer allow)"
conf 'if_gate_dwon = "deny";'
run_job --storage nas
ok 'a mistake in hook.conf is said' logged 'WARNING: .*hook.conf:4: '
ok 'and does not stop the job' status_is 0

done_testing
