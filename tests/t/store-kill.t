#!/bin/bash
# SPDX-License-Identifier: MIT
# kill -9 at any point leaves a record whose chain verifies and in which no answered decision is missing: while the
# database is written, while it is locked and batches go to the spill, while they are taken in, and while old rows go.
# STORE_KILLS sets how often (30).
set -u

BUILD=${BUILD:-build}
KILLS=${STORE_KILLS:-30}
WRITER=$BUILD/tools/store-writer
COMMAND=$BUILD/rebuildgate
for program in "$WRITER" "$COMMAND"; do
	if [ ! -x "$program" ]; then
		echo "Bail out! no $program: make all tools"
		exit 1
	fi
done

DIR=$(mktemp -d)
PID=
N=0
FAILED=0

cleanup() {
	[ -n "$PID" ] && kill -KILL "$PID" 2>/dev/null
	rm -rf "$DIR"
}
trap cleanup EXIT

ok() { # STATUS NAME
	N=$((N + 1))
	if [ "$1" = 0 ]; then
		echo "ok $N - $2"
	else
		echo "not ok $N - $2"
		FAILED=1
	fi
}

# Waits until the file has so many lines, so that a kill meets work.
wait_lines() { # FILE LEAST
	local i
	for ((i = 0; i < 600; i++)); do
		[ "$(wc -l <"$1")" -ge "$2" ] && return 0
		kill -0 "$PID" 2>/dev/null || return 1
		sleep 0.02
	done
	return 1
}

bad=0
answered=0
for ((round = 0; round < KILLS; round++)); do
	"$WRITER" write "$DIR/record.db" 100000 policy/protect-rebuild.conf >"$DIR/round" 2>"$DIR/err" &
	PID=$!
	if ! wait_lines "$DIR/round" 1; then
		echo "# round $round: nothing was written: $(cat "$DIR/err")"
		bad=1
		break
	fi
	sleep "0.0$((RANDOM % 100))"
	{ kill -KILL "$PID" && wait "$PID"; } 2>/dev/null
	PID=
	cat "$DIR/round" >>"$DIR/ids" # each id is one write(2) of a whole line
	answered=$((answered + $(wc -l <"$DIR/round")))
	if [ $((round % 2)) = 0 ]; then
		# The chain as the kill left it, before anything repairs or takes in.
		if ! "$COMMAND" log verify --database "$DIR/record.db" >"$DIR/verify" 2>&1; then
			echo "# round $round: $(tr '\n' ' ' <"$DIR/verify")"
			bad=1
		fi
	fi
done
ok $bad "the chain verifies after each of $KILLS kills ($answered decisions answered)"

"$WRITER" check "$DIR/record.db" "$DIR/ids" >"$DIR/check" 2>&1
ok $? "no answered decision is missing ($(tail -n 1 "$DIR/check"))"

"$COMMAND" log verify --database "$DIR/record.db" >"$DIR/verify" 2>&1
ok $? "the chain verifies with what was spilled taken in ($(head -n 1 "$DIR/verify"))"

[ "$(sort "$DIR/ids" | uniq -d | wc -l)" = 0 ]
ok $? "no id was given twice"

"$COMMAND" replay --database "$DIR/record.db" >"$DIR/replay" 2>&1
ok $? "all decide the same again ($(head -n 1 "$DIR/replay"))"

echo "1..$N"
exit $FAILED
