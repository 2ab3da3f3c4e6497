#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs test programs that print TAP and counts. usage: tests/run.sh [-v] [-j N] PROGRAM...   (N at a time; 1 unless said)
#
# A program is a unit test (built with cmocka) or a script NAME.t; each runs from the root of the repository with
# $BUILD naming the build folder. Shown are failures with what was printed around them, and skips with their reason. A program that
# dies, prints no plan, or prints fewer results than planned has failed once more. Exits 1 when anything failed.
# Counts are added to the file $COUNTS, if set, as "PASSED FAILED SKIPPED"; else the closing line is printed here.
set -u
verbose="" jobs=1
[ "${1-}" = -v ] && { verbose=1; shift; }
[ "${1-}" = -j ] && { jobs=$2; shift 2; }
export BUILD=${BUILD:-build} CMOCKA_MESSAGE_OUTPUT=TAP
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:abort_on_error=0} UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT

# run NUMBER PROGRAM: runs it; what is to be said is in $dir/NUMBER.said, "PASSED FAILED SKIPPED" in $dir/NUMBER.counts.
run() {
	local out=$dir/$1 name=${2##*/} status ok not_ok skip whole plan extra=0 why=
	timeout -k 10 "${TEST_TIMEOUT:-600}" "./${2#./}" >"$out" 2>&1 </dev/null
	status=$?
	ok=$(grep -cE '^ok ' "$out"); not_ok=$(grep -cE '^not ok ' "$out"); skip=$(grep -ciE '^ok .*# *skip' "$out")
	whole=$(sed -nE 's/^1\.\.0 *# *(skip|SKIP) *//p' "$out" | head -1)
	plan=$(awk 'match($0, /^1\.\.[0-9]+/) {sum += substr($0, 4, RLENGTH - 3); n++} END {if (n) print sum}' "$out")
	if [ -n "$whole" ]; then
		skip=1 ok=1
	elif [ -z "$plan" ]; then
		extra=1 why="printed no plan, exit status $status"
	elif [ $((ok + not_ok)) -ne "$plan" ]; then
		extra=1 why="planned $plan results, printed $((ok + not_ok)), exit status $status"
	elif [ "$status" -ne 0 ] && [ "$not_ok" -eq 0 ]; then
		extra=1 why="exit status $status after its last result"
	fi
	echo "$((ok - skip)) $((not_ok + extra)) $skip" >"$out.counts"
	{
		if [ $((not_ok + extra)) -gt 0 ]; then
			echo "FAILED $name${why:+: $why}"
			[ "$(wc -l <"$out")" -le 80 ] || grep -A 3 '^not ok' "$out" | sed 's/^/    /' | head -n 40
			sed 's/^/    /' "$out" | tail -n 80
		else
			echo "ok     $name ($((ok - skip)))"
			[ -n "$verbose" ] && sed 's/^/    /' "$out"
		fi
		[ -n "$whole" ] && echo "SKIPPED $name: $whole"
		grep -iE '^ok .*# *skip' "$out" | sed "s/^/SKIPPED $name: /"
	} >"$out.said"
	rm -f "$out"
	flock "$dir" cat "$out.said"
}

running=0 number=0
for program in "$@"; do
	[ "$running" -lt "$jobs" ] || { wait -n; running=$((running - 1)); }
	number=$((number + 1)) running=$((running + 1))
	run "$number" "$program" &
done
wait
counts=$(find "$dir" -name '*.counts' -exec cat {} + | awk '{p += $1; f += $2; s += $3; n++} END {print p + 0, f + 0, s + 0, n + 0}')
read -r passed failed skipped told <<<"$counts"
# One that was killed before it could tell has failed.
failed=$((failed + number - told))
if [ -n "${COUNTS-}" ]; then
	echo "$passed $failed $skipped" >>"$COUNTS"
else
	echo "$passed passed, $failed failed$([ "$skipped" -gt 0 ] && echo ", $skipped skipped")"
fi
[ "$failed" -eq 0 ]
