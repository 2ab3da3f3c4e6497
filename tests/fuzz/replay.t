#!/bin/bash
# SPDX-License-Identifier: MIT
# Each fuzz target reads each file of its corpus, and of the golden texts, once. $BUILD/fuzz/NAME: see `make fuzz-replay`.
set -u
build=${BUILD:-build}
n=0
for source in tests/fuzz/fuzz_*.c; do
	name=${source##*/fuzz_}; name=${name%.c}
	folders=("tests/fuzz/corpus/$name")
	[ -d "tests/golden/$name" ] && folders+=("tests/golden/$name")
	[ "$name" = mdstat ] && folders+=(tests/golden/readings)
	n=$((n + 1))
	if out=$("$build/fuzz/$name" "${folders[@]}" 2>&1); then
		echo "ok $n - $name: $out"
	else
		echo "not ok $n - $name"; tail -40 <<<"$out" | sed 's/^/# /'
	fi
done
echo "1..$n"
