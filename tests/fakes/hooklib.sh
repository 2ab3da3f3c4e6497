# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What the hook's tests share. Source it from the root of the repository; the hook's programs come from $BUILD.

set -u
BUILD=$(realpath "${BUILD:-build}")
FAKES=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
SCRATCH=$(mktemp -d "${TMPDIR:-/tmp}/rg-hook.XXXXXX")
# A worker's folder for what stands under /run, /etc and /var on a node.
NODE=$SCRATCH/node
GATE=$SCRATCH/gate
SOCK=$SCRATCH/sock
LOG=$SCRATCH/task.log
HOOK=$BUILD/rebuildgate-vzdump
GATE_PID=
JOB_PID=
TEST=0

cleanup() {
	[ -n "$JOB_PID" ] && kill -KILL "$JOB_PID" 2>/dev/null
	if [ -s "$SCRATCH/pid" ]; then
		kill -KILL -- "-$(cat "$SCRATCH/pid")" 2>/dev/null
	fi
	gate_stop
	rm -rf "$SCRATCH"
}
trap cleanup EXIT

# ok NAME COMMAND...: one TAP line; on failure with the task log.
ok() {
	local name=$1
	shift
	TEST=$((TEST + 1))
	if "$@"; then
		echo "ok $TEST - $name"
	else
		echo "not ok $TEST - $name"
		echo "# failed: $*"
		sed 's/^/# /' "$LOG" 2>/dev/null
	fi
}

skip() {
	TEST=$((TEST + 1))
	echo "ok $TEST - $1 # SKIP $2"
}

# wait_for SECONDS COMMAND...: until it succeeds.
wait_for() {
	local end=$((SECONDS + $1))
	shift
	until "$@" 2>/dev/null; do
		[ "$SECONDS" -ge "$end" ] && return 1
		sleep 0.05
	done
}

logged() { grep -qE -- "$1" "$LOG"; }
not_logged() { ! grep -qE -- "$1" "$LOG"; }
# How many lines of the task log match.
log_count() { [ "$(grep -cE -- "$1" "$LOG")" -eq "$2" ]; }

# conf [LINE...]: the hook's configuration; later lines replace what is set by default here.
conf() {
	mkdir -p "$NODE"
	{
		echo "gate = \"$SOCK\";"
		echo "hooks_dir = \"$NODE/hooks.d\";"
		echo "hooks_early_dir = \"$NODE/hooks-early.d\";"
		printf '%s\n' "$@"
	} >"$NODE/hook.conf"
}

# A new scratch for each case: log, calls, memory.
fresh() {
	gate_stop
	rm -rf "$NODE" "$GATE" "$LOG" "$SOCK" "$SCRATCH/pid"
	mkdir -p "$NODE/run" "$NODE/etc/pve" "$NODE/var/lib/pve-manager/jobs" "$GATE"
	: >"$LOG"
	conf 'wait_for_gate = "2s";' 'if_gate_down = "allow";'
}

# gate_start LINE...: a gate that answers so, see gate.py.
gate_start() {
	gate_stop
	printf '%s\n' "$@" >"$GATE/answers"
	rm -f "$GATE/ready"
	python3 "$FAKES/gate.py" "$SOCK" "$GATE" >"$GATE/out" 2>&1 </dev/null &
	GATE_PID=$!
	wait_for 20 test -e "$GATE/ready" || echo "Bail out! the fake gate does not start: $(cat "$GATE/out")"
}

# As kill -9 of the daemon: the socket's file stays.
gate_stop() {
	[ -n "$GATE_PID" ] || return 0
	kill -KILL "$GATE_PID" 2>/dev/null
	wait "$GATE_PID" 2>/dev/null
	GATE_PID=
}

# answer ACT [MEMBERS]: the line of an answer.
answer() {
	local act=$1 more=${2:-}
	printf '{"answer": {"ticket": 17, "decision": 412, "act": "%s", "verdict": "%s", "would_be": "%s", "step": 5, ' \
		"$act" "$act" "$act"
	printf '"rule": "rebuild", "nas": "nas1", "array": "md2", "reasons": [{"code": "rule", "text": "%s"}], ' \
		"${REASON:-md2 on nas1 is in recovery, 41.3 % done}"
	printf '"held_ms": 0, "ends_in_ms": null, "then": null, "node": "gatehost", "recorded": true%s}%s}\n' \
		"${more:+, $more}" "${UNTIL:+, \"until\": \"$UNTIL\"}"
}

# held UNTIL [MEMBERS]: a hold that lasts until the file $GATE/UNTIL is there.
held() {
	local UNTIL=$1 more=${2:-}
	answer hold "\"ends_in_ms\": 28800000, \"then\": \"throttle\", \"expected_ms\": 7200000${more:+, $more}"
}

# What the gate was asked: calls PATH prints the bodies, one a line.
calls() {
	python3 - "$GATE/log" "$1" <<'PY'
import json, sys
try:
    lines = open(sys.argv[1], encoding="utf-8").read().splitlines()
except FileNotFoundError:
    lines = []
for line in map(json.loads, lines):
    if line["path"] == sys.argv[2]:
        print(json.dumps(line["body"]))
PY
}
called() { calls "$1" | grep -E -- "$2" >/dev/null; }
not_called() { ! called "$@"; }
call_count() { [ "$(calls "$1" | grep -cE -- "$2")" -eq "$3" ]; }

# job OPTIONS...: runs a job as vzdump would, in the background; then job_wait.
job() {
	rm -f "$SCRATCH/pid"
	perl "$FAKES/vzdump.pl" run --hook "$HOOK" --log "$LOG" --pidfile "$SCRATCH/pid" \
		--env "REBUILDGATE_HOOK_CONF=$NODE/hook.conf" --env "REBUILDGATE_HOOK_ROOT=$NODE" "$@" &
	JOB_PID=$!
}
# Its exit status in $STATUS.
job_wait() {
	wait "$JOB_PID"
	STATUS=$?
	JOB_PID=
}
run_job() {
	job "$@"
	job_wait
}
worker() {
	wait_for 20 test -s "$SCRATCH/pid"
	cat "$SCRATCH/pid"
}
job_gone() { ! kill -0 "$JOB_PID" 2>/dev/null; }

# Whether a process of this group still runs (zombies do not).
group_alive() {
	perl -e 'for (glob("/proc/[0-9]*/stat")) {
		open(my $fh, "<", $_) or next;
		my $stat = <$fh> // next;
		exit 0 if $stat =~ /^.*\) (\S) \d+ (\d+) / && $1 ne "Z" && $2 == $ARGV[0];
	} exit 1' "$1"
}
group_gone() { ! group_alive "$1"; }

# call PHASE [MODE VMID]: the hook alone, from a parent that lives on; output in $LOG, status in $STATUS.
call() {
	env -i LC_ALL=C ${STOREID:+STOREID="$STOREID"} REBUILDGATE_HOOK_CONF="$NODE/hook.conf" REBUILDGATE_HOOK_ROOT="$NODE" \
		"$HOOK" "$@" >>"$LOG" 2>&1 </dev/null
	STATUS=$?
}
status_is() { [ "$STATUS" -eq "$1" ]; }

# Whether no process has this script in its command line.
not_running() { ! grep -lsq -- "$1" /proc/[0-9]*/cmdline; }

done_testing() { echo "1..$TEST"; }
