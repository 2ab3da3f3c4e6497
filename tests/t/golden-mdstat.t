#!/bin/bash
# SPDX-License-Identifier: MIT
# `rebuildgate parse` over texts written from the kernel's grammar: NAME.mdstat must give NAME.json, byte for byte. After
# them its options, and the real texts of public reports where they are there ($REBUILDGATE_SHARED, default ../shared).
set -u
build=${BUILD:-build} shared=${REBUILDGATE_SHARED:-../shared}
parse=("$build/rebuildgate" parse)
unset PROXMOX_OUTPUT_FORMAT
n=0
result() { # result STATUS NAME [OUTPUT]
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; printf '%s\n' "${3-}" | head -40 | sed 's/^/# /'; fi
}
tmp=$(mktemp -d); trap 'rm -rf "$tmp"' EXIT

for text in tests/golden/mdstat/*.mdstat; do
	"${parse[@]}" --output-format json-pretty "$text" >"$tmp/said"; status=$?
	want=3; grep -q '"format": "mdstat"' "${text%.mdstat}.json" && want=0
	out=$(diff -u "${text%.mdstat}.json" "$tmp/said"; [ "$status" -eq "$want" ] || echo "exit status $status, want $want")
	[ -z "$out" ]; result $? "$(basename "$text" .mdstat)" "$out"
done

text=tests/golden/mdstat/synology-8-bays.mdstat
"${parse[@]}" --output-format json "$text" >"$tmp/file"; "${parse[@]}" --output-format json - <"$text" >"$tmp/stdin"
cmp -s "$tmp/file" "$tmp/stdin" && [ -s "$tmp/file" ]; result $? "stdin reads as a file does"
PROXMOX_OUTPUT_FORMAT=json "${parse[@]}" "$text" >"$tmp/env"
cmp -s "$tmp/file" "$tmp/env"; result $? "PROXMOX_OUTPUT_FORMAT sets the format"
"${parse[@]}" "$text" | grep -q 'empty slots are normal'; result $? "text is for people"
out=$("${parse[@]}" --vendor generic "$text" | awk '$1 == "md0" {print $5}')
[ "$out" = degraded ]; result $? "--vendor generic knows no empty slots" "$out"

usage() { # usage NAME SENTENCE ARGUMENT...
	local name=$1 sentence=$2 out; shift 2
	out=$("${parse[@]}" "$@" 2>&1 >"$tmp/said"); local status=$?
	[ "$status" -eq 2 ] && [ "$(wc -l <<<"$out")" -eq 1 ] && [[ $out == *"$sentence"* ]] && [ ! -s "$tmp/said" ]
	result $? "$name: exit status 2 and one sentence" "$status $out"
}
usage "no file" "name one file"
usage "two files" "name one file" "$text" "$text"
usage "a file that is not there" "cannot open 'tests/nothing'" tests/nothing
usage "a folder" "cannot read 'tests'" tests
usage "an unknown vendor" "vendor 'qnapp'" --vendor qnapp "$text"
usage "an unknown format" "'yaml'" --output-format yaml "$text"

yes 'md0 : active raid1 a[0] b[1]' | head -c 300000 | "${parse[@]}" - >"$tmp/said"; status=$?
[ $status -eq 3 ] && grep -q 'longer than 256 KiB' "$tmp/said"; result $? "more than 256 KiB is no reading" "$(cat "$tmp/said")"
head -c 200000 /dev/urandom | "${parse[@]}" --output-format json - >"$tmp/said"; status=$?
[ $status -eq 3 ] && grep -q '"arrays":\[\]' "$tmp/said"; result $? "noise is no reading" "$(cat "$tmp/said")"

if [ -f "$shared/fixtures/check_mdstat.py" ]; then
	out=$(python3 "$shared/fixtures/check_mdstat.py" "$build/rebuildgate" -v); result $? "real texts: ${out##*$'\n'}" "$out"
else
	n=$((n + 1)); echo "ok $n - real texts # SKIP no $shared/fixtures (set REBUILDGATE_SHARED)"
fi
echo "1..$n"
