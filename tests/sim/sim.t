#!/bin/bash
# SPDX-License-Identifier: MIT
# The simulation: each scenario, then random ones with the invariants that they must hold.
# SIM_COUNT (2000) and SIM_SEED (1) may be given; both processors are used where there are two.
set -u
sim=${BUILD:-build}/sim/sim
count=${SIM_COUNT:-2000} seed=${SIM_SEED:-1}
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
n=0

"$sim" tests/sim/scenarios/*.sim >"$scratch/scenarios" 2>&1 &
first=$!
"$sim" --random $((count / 2)) --seed "$seed" >"$scratch/random-1" 2>&1 &
second=$!
"$sim" --random $((count - count / 2)) --seed $((seed + count / 2)) >"$scratch/random-2" 2>&1
dead=$?
wait "$second" || dead=$?
wait "$first" || dead=$?

# Both halves have the same lines: one result of them each.
while IFS= read -r line; do
	case $line in
	'#'*) echo "$line" ;;
	'ok '* | 'not ok '*)
		n=$((n + 1))
		echo "${line%% [0-9]*} $n - ${line#* - }"
		;;
	esac
done <"$scratch/scenarios"
grep -h '^#' "$scratch/random-1" "$scratch/random-2"
results() { grep -E '^(not )?ok ' "$1"; }
while IFS=$'\t' read -r one two; do
	n=$((n + 1))
	name=${one#* - }
	name=${name%% (*}
	if [[ $one == ok* && $two == ok* && ${two#* - } == "$name"* ]]; then
		echo "ok $n - random: $name"
	else
		echo "not ok $n - random: $name"
	fi
done < <(paste <(results "$scratch/random-1") <(results "$scratch/random-2"))

# What died printed no last line.
n=$((n + 1))
plans=$(cat "$scratch/scenarios" "$scratch/random-1" "$scratch/random-2" | grep -c '^1\.\.')
if [ "$plans" -eq 3 ] && [ "$dead" -le 1 ]; then
	echo "ok $n - random: $count scenarios from seed $seed on, all run to their end"
else
	echo "not ok $n - random: $count scenarios from seed $seed on, all run to their end"
	tail -n 40 "$scratch/scenarios" "$scratch/random-1" "$scratch/random-2" | sed 's/^/# /'
fi
echo "1..$n"
