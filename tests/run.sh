#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs test programs that print TAP and counts. usage: tests/run.sh [-v] PROGRAM...
#
# A program is a unit test (built with cmocka) or a script NAME.t; each runs from the root of the repository with
# $BUILD naming the build folder. Shown are failures with what was printed around them, and skips with their reason. A program that
# dies, prints no plan, or prints fewer results than planned has failed once more. Exits 1 when anything failed.
# Counts are added to the file $COUNTS, if set, as "PASSED FAILED SKIPPED"; else the closing line is printed here.
set -u
verbose=
[ "${1-}" = -v ] && { verbose=1; shift; }
export BUILD=${BUILD:-build} CMOCKA_MESSAGE_OUTPUT=TAP
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:abort_on_error=0} UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
passed=0 failed=0 skipped=0
out=$(mktemp); trap 'rm -f "$out"' EXIT

for program in "$@"; do
	name=${program##*/}
	timeout -k 10 "${TEST_TIMEOUT:-600}" "./${program#./}" >"$out" 2>&1 </dev/null
	status=$?
	ok=$(grep -cE '^ok ' "$out"); not_ok=$(grep -cE '^not ok ' "$out"); skip=$(grep -ciE '^ok .*# *skip' "$out")
	whole=$(sed -nE 's/^1\.\.0 *# *(skip|SKIP) *//p' "$out" | head -1)
	plan=$(awk 'match($0, /^1\.\.[0-9]+/) {sum += substr($0, 4, RLENGTH - 3); n++} END {if (n) print sum}' "$out")
	extra=0 why=
	if [ -n "$whole" ]; then
		skip=1 ok=1
	elif [ -z "$plan" ]; then
		extra=1 why="printed no plan, exit status $status"
	elif [ $((ok + not_ok)) -ne "$plan" ]; then
		extra=1 why="planned $plan results, printed $((ok + not_ok)), exit status $status"
	elif [ "$status" -ne 0 ] && [ "$not_ok" -eq 0 ]; then
		extra=1 why="exit status $status after its last result"
	fi
	passed=$((passed + ok - skip)) failed=$((failed + not_ok + extra)) skipped=$((skipped + skip))
	if [ $((not_ok + extra)) -gt 0 ]; then
		echo "FAILED $name${why:+: $why}"
		sed 's/^/    /' "$out" | tail -n 80
	else
		echo "ok     $name ($((ok - skip)))"
		[ -n "$verbose" ] && sed 's/^/    /' "$out"
	fi
	[ -n "$whole" ] && echo "SKIPPED $name: $whole"
	grep -iE '^ok .*# *skip' "$out" | sed "s/^/SKIPPED $name: /"
done
if [ -n "${COUNTS-}" ]; then
	echo "$passed $failed $skipped" >>"$COUNTS"
else
	echo "$passed passed, $failed failed$([ "$skipped" -gt 0 ] && echo ", $skipped skipped")"
fi
[ "$failed" -eq 0 ]
