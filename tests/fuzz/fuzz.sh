#!/bin/bash
# SPDX-License-Identifier: MIT
# Builds each tests/fuzz/fuzz_NAME.c with libFuzzer, AddressSanitizer and UndefinedBehaviorSanitizer and runs it from its corpus.
# usage: [SECONDS=60] tests/fuzz/fuzz.sh [NAME...]
#
# What it finds stays in build/fuzz-clang: found/NAME (new inputs), crash-* (each with the command that replays it).
# tests/fuzz/fuzz.sh --merge NAME adds to the corpus what reaches something new.
set -eu
cd "$(dirname "$0")/../.."
# bash keeps SECONDS for itself: the caller's value is in the environment that this process was started with.
each=$(tr '\0' '\n' </proc/$$/environ | sed -n 's/^SECONDS=//p')
each=${each:-60}
merge=
[ "${1-}" = --merge ] && { merge=1; shift; }
b=build/fuzz-clang
command -v clang >/dev/null || { echo "fuzz: needs clang"; exit 1; }

make --no-print-directory B="$b" CC=clang COV= HARDEN=-fPIE \
	SANFLAGS='-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all' "$b/librebuildgate.a" >/dev/null
libs=$(pkg-config --libs jansson libcurl libssh libconfig sqlite3 libmicrohttpd libsystemd libssl libcrypto)
mapfile -t names < <(if [ $# -gt 0 ]; then printf '%s\n' "$@"; else for f in tests/fuzz/fuzz_*.c; do f=${f##*/fuzz_}; echo "${f%.c}"; done; fi)
status=0
for name in "${names[@]}"; do
	# shellcheck disable=SC2086
	clang -std=gnu17 -D_GNU_SOURCE -Isrc -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
		-o "$b/$name" "tests/fuzz/fuzz_$name.c" "$b/librebuildgate.a" $libs
	mkdir -p "$b/found/$name" "tests/fuzz/corpus/$name"
	dict=()
	[ -f "tests/fuzz/$name.dict" ] && dict=("-dict=tests/fuzz/$name.dict")
	if [ -n "$merge" ]; then
		"$b/$name" -merge=1 -max_len=4096 "tests/fuzz/corpus/$name" "$b/found/$name" 2>&1 | tail -1
		continue
	fi
	seeds=("$b/found/$name" "tests/fuzz/corpus/$name")
	[ -d "tests/golden/$name" ] && seeds+=("tests/golden/$name")
	echo "== $name, $each s"
	"$b/$name" -max_total_time="$each" -max_len=4096 -timeout=10 -rss_limit_mb=1024 "${dict[@]}" \
		-artifact_prefix="$b/crash-$name-" -print_final_stats=1 "${seeds[@]}" >"$b/$name.log" 2>&1 || {
		status=1
		tail -40 "$b/$name.log"
		echo "fuzz: $name failed; replay with $b/$name $b/crash-$name-*"
	}
	grep -E 'number_of_executed_units|new_units_added' "$b/$name.log" || true
done
exit $status
