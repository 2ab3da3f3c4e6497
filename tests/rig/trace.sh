#!/bin/bash
# SPDX-License-Identifier: MIT
# Records what a rebuild does beside a backup, second by second: what the simulation of the controller is held against.
# tests/golden/steer/README.md tells the format.
#
# usage: trace.sh [KIND-MODE...]     (plain|seek - buffered|direct; all four unless named; STEER names the target folder)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck disable=SC1091 source=tests/rig/lib.sh
. tests/rig/lib.sh

target=${STEER:-tests/golden/steer}
phase=
sent=0

# One reading, by the NAS's own clock: its uptime in ms, KiB done, KiB that clients wrote and read since boot.
reading() {
	# shellcheck disable=SC2016 # expanded in the NAS
	rig_ssh 'read -r up idle </proc/uptime; cat /proc/mdstat /proc/diskstats | awk -v up="$up" "
		/^md2 / { mine = 1 }
		mine && match(\$0, /\([0-9]+\//) { done = substr(\$0, RSTART + 1, RLENGTH - 2); mine = 0 }
		\$3 == \"md2\" { read = \$6; written = \$10 }
		END { print int(up * 1000 + 0.5), done + 0, int(written / 2), int(read / 2) }"' </dev/null
}

# follow SECONDS: a reading each 2 s.
follow() {
	local now end=$((SECONDS + $1)) bytes=0
	while [ "$SECONDS" -lt "$end" ]; do
		now=$(reading)
		read -r bytes _ < <(rig_stream_moved it 2>/dev/null) || bytes=0
		echo "$now $(((sent + bytes) / 1024)) $phase" >>"$file"
		sleep 1.9
	done
}

# beside PHASE SECONDS KEY=VALUE...: a stream for so long, then 10 s without.
beside() {
	local seconds=$2
	phase=$1
	shift 2
	rig_stream_start it "$port" "$@"
	follow "$seconds"
	phase=stopping
	kill -TERM "${RIG_STREAMS[it]}"
	follow 10
	rig_stream_wait it >/dev/null
	read -r bytes _ < <(rig_stream_moved it)
	sent=$((sent + bytes))
	rm "$RIG_SCRATCH/stream.it"
	phase=idle
	follow 8
}

record() {
	local kind=${1%-*} mode=${1#*-}
	file=$target/$1.txt
	RIG_DISKS_KIND=$kind rig_start
	rig_make_raid6
	rig_sink_start
	port=$(rig_sink_port "$mode")
	sent=0
	{
		echo "# RAID 6 of 5 disks, $kind, $((RIG_BPS / 1000)) KB/s each; the backup writes $mode"
		echo "# ms done_kib written_kib read_kib sent_kib phase"
	} >"$file"
	rig_fail_and_readd vdc
	sleep 3
	phase=idle
	follow 20
	for part in 5 20 40; do
		beside "steady-$((RIG_BPS * part / 100000))" 30 rate=$((RIG_BPS * part / 100 / 1024))
	done
	beside slices-8-32 80 slice=8 rest=32
	beside full 16
	rig_stop
	printf '%-16s %3d readings\n' "$1" "$(grep -c '^[0-9]' "$file")"
}

rig_build
mkdir -p "$target"
# Slow disks, so that it is they that limit and not this machine's processor; a jump costs what 160 KB of transfer do.
export RIG_BPS=${RIG_BPS:-6000000} RIG_SEEK_MS=${RIG_SEEK_MS:-27} RIG_DISK_CACHE_KIB=${RIG_DISK_CACHE_KIB:-2400}
export RIG_DISKS=5 RIG_DISK_MIB=4096
[ $# -gt 0 ] || set -- seek-buffered seek-direct plain-buffered plain-direct
for each in "$@"; do
	record "$each"
done
