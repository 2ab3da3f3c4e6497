#!/bin/bash
# SPDX-License-Identifier: MIT
# The two forms of the look's command print the same, whichever shell a NAS has. Paths below /proc and /sys are turned to a
# folder, because this machine need not have the md driver.
set -u
BUILD=$(realpath "${BUILD:-build}")
scratch=$(mktemp -d "${TMPDIR:-/tmp}/rg-look.XXXXXX"); trap 'rm -rf "$scratch"' EXIT
n=0
ok() { n=$((n + 1)); if "${@:2}"; then echo "ok $n - $1"; else echo "not ok $n - $1"; fi; }

root=$scratch/nas
mkdir -p "$root/proc" "$root/sys/block/md2/md" "$root/sys/block/md127/md"
cat >"$root/proc/mdstat" <<'TEXT'
Personalities : [raid1] [raid6] [raid5] [raid4] 
md127 : active (auto-read-only) raid1 sdg1[1] sdf1[0]
      1048512 blocks super 1.2 [2/2] [UU]
      	resync=PENDING
      bitmap: 0/1 pages [0KB], 65536KB chunk, file: /a * b

md2 : active raid6 sde1[5] sdd1[3](W) sdc1[2](F) sdb1[1] sda1[0]
      5855836608 blocks super 1.2 level 6, 64k chunk, algorithm 2 [5/4] [UU_UU]
      [========>............]  recovery = 40.0% (780778200/1951945536) finish=527.0min speed=37000K/sec
      
unused devices: <none>
TEXT
printf '   9       2 md2 1 0 2 0 3 0 4 0 0 0 0\n' >"$root/proc/diskstats"
echo '0.52 0.40 0.30 1/200 4242' >"$root/proc/loadavg"
echo recover >"$root/sys/block/md2/md/sync_action"
echo 1 >"$root/sys/block/md2/md/degraded"
echo '1000 (system)' >"$root/sys/block/md2/md/sync_speed_min"
echo '200000 (local)' >"$root/sys/block/md2/md/sync_speed_max"
echo idle >"$root/sys/block/md127/md/sync_action"

look_text() { "$BUILD/tools/look-command" "$@" | sed "s#/proc/#$root/proc/#g; s#/sys/#$root/sys/#g"; }
# shellcheck disable=SC2034 # used by eval
plain=$(look_text) forced=$(look_text forced)
ok 'the forced form has no double quote and no backslash' eval '! "$BUILD/tools/look-command" forced | grep -q "[\"\\]"'
ok 'the plain form reads everything' eval 'dash -c "$plain" >"$scratch/want" 2>&1 && grep -q "^sync_speed_max=200000 (local)$" "$scratch/want" && tail -n 1 "$scratch/want" | grep -qx "#rg end"'
for shell in 'dash' 'bash' 'bash --posix' 'busybox ash'; do
	if ! command -v "${shell%% *}" >/dev/null; then
		n=$((n + 1)); echo "ok $n - $shell prints the same # SKIP no ${shell%% *} here"; continue
	fi
	ok "$shell runs the plain form" eval '$shell -c "$plain" 2>&1 | cmp -s - "$scratch/want"'
	ok "$shell runs the forced form" eval '$shell -c "$forced" 2>&1 | cmp - "$scratch/want"'
done
ok 'what it prints begins with mdstat, byte for byte' eval 'head -c "$(stat -c %s "$root/proc/mdstat")" "$scratch/want" | cmp -s - "$root/proc/mdstat"'
rm "$root/proc/mdstat"
ok 'without /proc/mdstat the forced form fails' eval '! dash -c "$forced" >/dev/null 2>&1'
echo "1..$n"
