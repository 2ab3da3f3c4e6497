#!/bin/bash
# SPDX-License-Identifier: MIT
# The replay of a recording is what a demonstration without a virtual machine rests on: its files are the readings'.
set -u
tool=${BUILD:-build}/tools/replay-nas
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
n=0
ok() { # NAME CMD...
	local name=$1
	shift
	n=$((n + 1))
	if "$@" >"$scratch/out" 2>&1; then
		echo "ok $n - $name"
	else
		echo "not ok $n - $name"
		sed 's/^/# /' "$scratch/out"
	fi
}

cat >"$scratch/recording" <<'RECORDING'
@1000
Personalities : [raid1]
md7 : active raid1 b[1] a[0]
      100 blocks [2/2] [UU]

unused devices: <none>
#rg diskstats
   9       7 md7 1 0 8 0 0 0 0 0 0 0 0 0 0
#rg loadavg
0.10 0.00 0.00 1/61 124
#rg md md7
sync_action=idle
degraded=0
#rg end
@1500
Personalities : [raid1]
unused devices: <none>
#rg diskstats
#rg loadavg
0.20 0.00 0.00 1/61 125
#rg end
RECORDING

head -n 14 "$scratch/recording" >"$scratch/first"
ok "plays one reading" "$tool" "$scratch/first" "$scratch/nas"
sed -n 2,6p "$scratch/recording" >"$scratch/wanted"
ok "mdstat is the text before the first mark" cmp "$scratch/wanted" "$scratch/nas/proc/mdstat"
ok "diskstats is its section" grep -qx '   9       7 md7 1 0 8 0 0 0 0 0 0 0 0 0 0' "$scratch/nas/proc/diskstats"
ok "loadavg too" grep -qx '0.10 0.00 0.00 1/61 124' "$scratch/nas/proc/loadavg"
ok "an attribute is a file" [ "$(cat "$scratch/nas/sys/block/md7/md/sync_action")" = idle ]
ok "nothing is left half written" eval '[ -z "$(find "$scratch/nas" -name "*.part")" ]'

ok "plays on to the next reading, faster when told" "$tool" --speed 50 "$scratch/recording" "$scratch/nas"
ok "whose mdstat is there" eval '! grep -q md7 "$scratch/nas/proc/mdstat"'
ok "and what the reading does not have is gone" [ ! -e "$scratch/nas/sys/block/md7/md/sync_action" ]

printf 'Personalities :\n' >"$scratch/other"
ok "refuses a text that is no recording" eval '! "$tool" "$scratch/other" "$scratch/nas"'
ok "and one whose time goes back" eval 'printf "@5\nx\n@4\ny\n" >"$scratch/back"; ! "$tool" "$scratch/back" "$scratch/nas"'
ok "and a speed that is none" eval '"$tool" --speed 0 "$scratch/first" "$scratch/nas"; [ $? = 2 ]'
ok "plays a whole recorded rebuild" eval '"$tool" --speed 1000 tests/golden/readings/rebuild.txt "$scratch/real" >"$scratch/said" && grep -qx ready "$scratch/said"'
ok "to its end" grep -q "\[UUUUU\]" "$scratch/real/proc/mdstat"
echo "1..$n"
