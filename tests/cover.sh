#!/bin/sh
# SPDX-License-Identifier: MIT
# Line and branch coverage of src/core by its own unit tests; fails below 100 % of either.
# tests/cover.sh [BUILD]: builds into BUILD (default build/cov).
set -eu

cd "$(dirname "$0")/.."
build=${1:-build/cov}
tests="policy match decide decide_ends ticket ticket_job chain sight pace steer steer_edges steer_limit steer_grip steer_sim steer_recorded break_steer break_strangled"

# Only what the core needs: no third-party library has a part in it.
shared=
for source in src/core/*.c src/md/*.c src/base/units.c src/base/when.c src/base/err.c; do
	shared="$shared $build/${source%.c}.o"
done
own=
for name in $tests; do
	own="$own $build/tests/unit/test_$name.o"
done
# shellcheck disable=SC2086 # lists
make -s CC=gcc COV=1 B="$build" $shared $own

# Counts of an earlier run would make a line look covered that no test reaches any more.
find "$build" -name '*.gcda' -delete
for name in $tests; do
	# shellcheck disable=SC2086 # a list
	gcc --coverage -o "$build/test_$name" "$build/tests/unit/test_$name.o" $shared -lcmocka
	if ! "$build/test_$name" >"$build/test_$name.log" 2>&1; then
		cat "$build/test_$name.log"
		echo "cover: test_$name failed" >&2
		exit 1
	fi
done

echo "src/core by: $tests"
report() {
	gcovr --root . --filter 'src/core/' --object-directory "$build" "$@" "$build"
}
if ! report --print-summary --fail-under-line 100 --fail-under-branch 100; then
	report --branches # which ones
	exit 1
fi
