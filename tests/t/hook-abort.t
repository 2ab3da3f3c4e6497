#!/bin/bash
# SPDX-License-Identifier: MIT
# Stop, Ctrl-C, killed parents, readers that go away: the hook ends, gives its ticket back, and no
# further guest is started.

# shellcheck source=tests/fakes/hooklib.sh
. tests/fakes/hooklib.sh

hold_job() {
	fresh
	conf 'wait_for_gate = "60s";' 'if_gate_down = "allow";'
	gate_start "$(held never)"
	job --storage nas --guest 101:qemu:snapshot:web --guest 102:qemu:snapshot:db
	wait_for 20 called /v1/ask '"wait_ms": 25000'
}
ms() { echo $(($(date +%s%N) / 1000000)); }

# --- the Stop button during a hold ------------------------------------------------------------------
hold_job
pid=$(worker)
start=$(ms)
said=$(perl "$FAKES/vzdump.pl" stop "$pid")
job_wait
took=$(($(ms) - start))
ok 'Stop ends a held job' status_is 1
ok 'without SIGKILL' test -z "$said"
ok 'and soon' test "$took" -lt 4000
ok 'the ticket is given back' wait_for 10 called /v1/withdraw "\"ticket\": 17, \"worker\": \{\"pid\": $pid"
ok 'once' call_count /v1/withdraw . 1
ok 'nothing of the job runs on' wait_for 10 group_gone "$pid"
ok 'vzdump says that it was interrupted' logged 'TASK ERROR: command .* failed: interrupted by signal'

# --- the hook alone gets SIGTERM -------------------------------------------------------------------
# Ends within a second: measured from the signal to the end of the process.
signal_hook() {
	fresh
	conf 'wait_for_gate = "60s";' 'if_gate_down = "allow";'
	gate_start "$1"
	env -i STOREID=nas REBUILDGATE_HOOK_CONF="$NODE/hook.conf" REBUILDGATE_HOOK_ROOT="$NODE" \
		"$HOOK" job-init >"$LOG" 2>&1 </dev/null &
	hook=$!
	wait_for 20 called /v1/ask "$2"
	start=$(ms)
	kill -"$3" "$hook"
	wait "$hook"
	STATUS=$?
	took=$(($(ms) - start))
}
signal_hook "$(held never)" '"wait_ms": 25000' TERM
ok 'SIGTERM ends the hook with a failure' status_is 1
ok "within a second ($took ms)" test "$took" -lt 3000
ok 'after it withdrew' called /v1/withdraw '"ticket": 17'
signal_hook "$(held never)" '"wait_ms": 25000' INT
ok 'SIGINT as well' called /v1/withdraw '"ticket": 17'
signal_hook '{"hang": true}' '.' TERM
ok 'also while the gate hangs' status_is 1
ok "within a second ($took ms)" test "$took" -lt 3000

# --- the outer hook is killed -------------------------------------------------------------------------
signal_hook "$(held never)" '"wait_ms": 25000' KILL
ok 'the inner hook withdraws when the outer one is killed' wait_for 10 called /v1/withdraw '"ticket": 17'

# --- the worker is killed ------------------------------------------------------------------------------
hold_job
pid=$(worker)
kill -KILL "$pid"
job_wait
ok 'a killed worker ends the hook' wait_for 10 group_gone "$pid"
ok 'which withdraws' called /v1/withdraw "\"pid\": $pid"

# --- vzdump --stop: only the worker is interrupted; it lives on and nobody reads the hook's output --------
fresh
conf 'wait_for_gate = "60s";' 'if_gate_down = "allow";'
gate_start "$(answer allow)" "$(answer allow)" "$(held never)"
job --storage nas --guest 101:qemu:snapshot:web --guest 102:qemu:snapshot:db --guest 103:qemu:snapshot:mx
pid=$(worker)
wait_for 20 called /v1/ask '"phase": "backup-start".*"wait_ms": 25000'
kill -TERM "$pid"
job_wait
ok 'vzdump goes on to the next guest' logged 'Starting Backup of VM 102'
ok 'the hook fails it at once' logged 'VM 102 failed - command .*backup-start.* failed: exit code 1'
ok 'and the one after' logged 'VM 103 failed'
ok 'no data is copied' not_logged 'copying data'
ok 'the hook of the first one noticed' wait_for 10 group_gone "$pid"
ok 'the gate was not asked for them' not_called /v1/ask '"guest": 10[23]'

# --- Stop while a guest's hook waits ---------------------------------------------------------------------
fresh
conf 'wait_for_gate = "60s";' 'if_gate_down = "allow";'
gate_start "$(answer allow)" "$(answer allow)" "$(held never)"
job --storage nas --guest 101:qemu:snapshot:web --guest 102:qemu:snapshot:db
pid=$(worker)
wait_for 20 called /v1/ask '"phase": "backup-start".*"wait_ms": 25000'
said=$(perl "$FAKES/vzdump.pl" stop "$pid")
job_wait
ok 'Stop inside a guest drains the job' logged 'VM 102 failed - command'
ok 'before SIGKILL' test -z "$said"
ok 'no data is copied' not_logged 'copying data'
ok 'the abort is told at the end' called /v1/report '"phase": "job-end"'

# --- the memory of an abort -------------------------------------------------------------------------------
fresh
conf 'if_gate_down = "allow";' 'wait_for_gate = "0";'
ticks=$(sed 's/^.*) //' /proc/$$/stat | cut -d' ' -f20)
mkdir -p "$NODE/run/rebuildgate-hook/aborted"
chmod 700 "$NODE/run/rebuildgate-hook"
remember() { echo "$2" >"$NODE/run/rebuildgate-hook/aborted/$1"; }
boot=$(cat /proc/sys/kernel/random/boot_id)
export STOREID=nas
remember "$$-$ticks" "$boot"
call backup-start snapshot 101
ok 'a guest of an aborted job fails without the daemon' status_is 1
call pre-restart stop 101
ok 'a phase that may not fail does not' status_is 0
remember "$$-$ticks" "00000000-0000-0000-0000-000000000000"
call backup-start snapshot 101
ok 'an abort of another boot is none' status_is 0
rm "$NODE/run/rebuildgate-hook/aborted/$$-$ticks"
remember "$$-$((ticks + 1))" "$boot"
call backup-start snapshot 101
ok 'nor is one of another process with this pid' status_is 0
remember "1999999999-5" "$boot"
remember "rubbish" "x"
remember "$$-$ticks" "$boot"
call job-init
ok 'old entries are cleaned up' test "$(ls "$NODE/run/rebuildgate-hook/aborted")" = "$$-$ticks"
chmod 777 "$NODE/run/rebuildgate-hook"
call backup-start snapshot 101
ok 'a folder that others may write is not believed' status_is 0
unset STOREID

# --- stdout closed -------------------------------------------------------------------------------------------
fresh
conf 'wait_for_gate = "60s";' 'if_gate_down = "allow";'
gate_start "$(held never)"
mkfifo "$SCRATCH/out"
env -i STOREID=nas REBUILDGATE_HOOK_CONF="$NODE/hook.conf" REBUILDGATE_HOOK_ROOT="$NODE" \
	"$HOOK" job-init >"$SCRATCH/out" 2>/dev/null </dev/null &
hook=$!
exec 7<"$SCRATCH/out"
wait_for 20 called /v1/ask '"wait_ms": 25000'
exec 7<&-
wait "$hook"
STATUS=$?
rm "$SCRATCH/out"
ok 'a hook whose output nobody reads any more ends' status_is 1
ok 'and withdraws' called /v1/withdraw '"ticket": 17'

done_testing
