#!/bin/bash
# SPDX-License-Identifier: MIT
# `make bench-rebuild`: what a rebuild keeps and what a backup gets, on one rig in one run; on plain disks and on disks that seek,
# with a writer behind a page cache (one stream) and with a synchronous one (four streams, each with one block outstanding). The backup's path is a backup server's (tests/fakes/pbs.py).
#
#   steady   a fixed traffic-control limit                slices   full speed for a while, then a rest, by the same rule
#   lever 4  sync_speed_min and stripe_cache_size by hand, the writer at full speed
#   gate     what rebuildgate does by itself with protect = "80%", over = "60s"
# and then when rebuild and backup are both done: without a gate, held, throttled.
#
# Under 60 minutes (it says at its start what to expect). QUICK=1: a few points on disks that seek, no race, 12 minutes. KINDS and
# WRITERS choose; the table is printed and, with the picture, in build/bench-rebuild.{txt,svg}; the log from which both are made
# is build/bench-rebuild.log (python3 tests/bench/curve.py LOG SVG makes them again).
set -euo pipefail
cd "$(dirname "$0")/../.."
B=$(realpath "${BUILD:-build}")
QUICK=${QUICK:-}
KINDS=${KINDS:-$([ -n "$QUICK" ] && echo seek || echo "plain seek")}
WRITERS=${WRITERS:-buffered direct}
export RIG_BPS=${RIG_BPS:-20000000} RIG_DISKS=5 RIG_DISK_MIB=${DISK_MIB:-16384}
backup_mib=${MIB:-120} race_mib=${RACE_MIB:-600} race_lead=20
declare -A streams=([buffered]=1 [direct]=4)
LOG=$B/bench-rebuild.log

# shellcheck source=tests/rig/lib.sh
. tests/rig/lib.sh
# shellcheck source=tests/rig/pbslib.sh
. tests/rig/pbslib.sh
reason=$(rig_available) || { echo "no virtual machine can be started here: $reason"; exit 1; }
bash tests/deps.sh rig
work=$(mktemp -d "${TMPDIR:-/tmp}/rebuildgate-bench.XXXXXX")
gate='' sampler=''
end() {
	trap '' INT TERM
	for pid in $sampler $gate; do kill "$pid" 2>/dev/null || true; done
	pbs_end
	rig_cleanup
	rm -rf "$work"
}
trap end EXIT

say() { printf '%s %s\n' "$(date +%H:%M:%S)" "$*"; }

# --- the log: samples "S MS DONE_KIB WRITTEN_KIB" by the NAS's clock, and marks "M MS WORDS" ----------------------------

sampler_start() {
	# shellcheck disable=SC2016 # expanded in the NAS
	RIG_SSH_TIMEOUT=36000 rig_ssh 'while read -r up _ </proc/uptime; do
			cat /proc/mdstat /proc/diskstats | awk -v up="$up" "
				/^md2 / { mine = 1 }
				mine && match(\$0, /\([0-9]+\//) { done = substr(\$0, RSTART + 1, RLENGTH - 2); mine = 0 }
				\$3 == \"md2\" { written = \$10 }
				END { printf \"S %.0f %d %d\n\", up * 1000, done, written / 2 }" || exit
			sleep 1
		done' </dev/null >>"$LOG" &
	sampler=$!
}

sampler_stop() {
	kill "$sampler" 2>/dev/null || true
	wait "$sampler" 2>/dev/null || true
	sampler=
}

mark() {
	local up
	up=$(rig_ssh 'read -r up _ </proc/uptime; echo $up' </dev/null)
	awk -v up="$up" -v words="$*" 'BEGIN { printf "M %.0f %s\n", up * 1000, words }' >>"$LOG"
}

sent() { rig_stream_moved backup | cut -d ' ' -f 1; }

# --- segments --------------------------------------------------------------------------------------------------------

# The rebuild goes on for SECONDS more, from its start if need be.
ensure() {
	local left
	left=$(rig_mdstat | awk 'match($0, /\([0-9]+\/[0-9]+\)/) { split(substr($0, RSTART + 1, RLENGTH - 2), n, "/"); print n[2] - n[1] }')
	[ "${left:-0}" -lt $(($1 * RIG_BPS / 1024)) ] || return 0
	rig_action idle
	rig_fail vdc 2>/dev/null || true
	rig_add vdc
	sleep 25 # past what the streams write to
}

idle() { # SECONDS
	mark begin idle - 0
	sleep "$1"
	mark end 0
}

# A stream at FAMILY SETTING for so long. What counts ends when all of it is on disk.
segment() { # FAMILY SETTING SECONDS
	ensure $(($3 + 40))
	mark begin "$1" "$writer" "$2"
	rig_stream_start backup "$port" "streams=${streams[$writer]}"
	"during_$1" "$2" "$3"
	[ "$1" != slices ] || pbs_limit none
	rig_stream_stop backup >"$work/backup" || { cat "$work/backup"; false; }
	mark end "$(sent)"
	pbs_limit none
	sleep 3
	idle "$idle_s"
}

during_steady() { # BYTES/S SECONDS
	sleep "$2"
}

steady() { # BYTES/S SECONDS
	pbs_limit "$1"
	segment steady "$1" "$2"
}

during_slices() { # SLICE/REST SECONDS
	local slice=${1%/*} rest=${1#*/} until=$((SECONDS + $2))
	while [ "$SECONDS" -lt "$until" ]; do
		pbs_limit none
		sleep "$slice"
		pbs_limit 65536
		sleep "$rest"
	done
}

slices() { # SLICE/REST CYCLES
	local slice=${1%/*} rest=${1#*/}
	segment slices "$1" $(((slice + rest) * $2 - 1))
}

during_lever4() { sleep "$2"; }

lever4() { # KIB/S:PAGES SECONDS
	rig_ssh "echo ${1%:*} >/sys/block/md2/md/sync_speed_min; echo ${1#*:} >/sys/block/md2/md/stripe_cache_size" </dev/null
	segment lever4 "$1" "$2"
	rig_ssh "echo system >/sys/block/md2/md/sync_speed_min; echo 256 >/sys/block/md2/md/stripe_cache_size" </dev/null
}

# --- the gate --------------------------------------------------------------------------------------------------------

gate_start() { # RULE
	cat >"$work/policy.conf" <<-TEXT
	name = "bench";
	defaults = { settle = "2s"; release_interval = "1s"; over = "60s"; };
	rules = ( { name = "rebuild"; when = { operation = ["recovery"]; }; $1 } );
	TEXT
	cat >"$work/gate.conf" <<-TEXT
	socket = "$work/sock"; socket_group = "$(id -gn)"; database = "$work/record.db"; spill = "$work/spill";
	policy = "$work/policy.conf"; poll = "2s"; idle_poll = "2s"; task_poll = "2s";
	nas = ( { name = "nas1"; via = "ssh"; host = "127.0.0.1"; port = $(rig_port); user = "watch"; key_file = "$work/key";
		known_hosts = "$work/known_hosts"; } );
	pbs = ( $(pbs_entry) );
	storages = ( { name = "store1"; nas = "nas1"; pbs = "pbs1"; datastore = "store1"; } );
	TEXT
	"$B/rebuildgated" --config "$work/gate.conf" 2>>"$B/bench-rebuild.journal" &
	gate=$!
	for _ in $(seq 100); do
		"$B/rebuildgate" --socket "$work/sock" status >/dev/null 2>&1 && return
		sleep 0.1
	done
	echo "no gate: $(tail -n 1 "$B/bench-rebuild.journal")"
	return 1
}

# What the rebuild does undisturbed is known: without that the gate would measure it before all else.
gate_knows() {
	for _ in $(seq 120); do
		curl -s -m 5 --unix-socket "$work/sock" http://gate/v1/nas | jq -e '.nas[0].arrays[] | .baseline != null' >/dev/null && return
		sleep 1
	done
	echo "the gate has no baseline after two minutes of undisturbed rebuild"
	return 1
}

gate_stop() {
	kill "$gate"
	wait "$gate" || true
	gate=
}

# The backup's command runs behind the gate, as a job of its own.
behind_gate() {
	RIG_STREAM_BY=("$B/rebuildgate" --socket "$work/sock" run --storage store1 --)
	"$@"
	RIG_STREAM_BY=()
}

during_gate() {
	local until=$((SECONDS + $2))
	while [ "$SECONDS" -lt "$until" ]; do
		sleep 5
		"$B/rebuildgate" --socket "$work/sock" levers 2>&1 | sed "s/^/L $SECONDS /" >>"$B/bench-rebuild.levers" || true
	done
}

throttled='verdict = "throttle"; protect = "80%"; running = "throttle"; without_lever = "hold"; too_slow = "allow";'

# A gate watches for days: it has seen the rebuild undisturbed before the backup begins.
by_gate() { # SECONDS
	ensure $(($1 + 90))
	gate_start "$throttled"
	idle "$watch_s"
	gate_knows
	behind_gate segment gate 80% "$1"
	gate_stop
}

# --- the race: one rebuild, and one backup of $backup_mib MiB that begins $race_lead s after it ----------------------------

race() { # alone|ungated|held|throttled
	local rebuild backup=0 began
	rig_action idle
	rig_fail vdc
	began=$(date +%s%N)
	rig_add vdc
	sleep "$race_lead"
	case $1 in
	alone) ;;
	ungated) rig_stream_start backup "$port" "streams=${streams[$writer]}" "total=$backup_mib" ;;
	*) behind_gate rig_stream_start backup "$port" "streams=${streams[$writer]}" "total=$backup_mib" ;;
	esac
	(
		rig_ssh 'until grep -q "\[5/5\]" /proc/mdstat && ! grep -qE "recovery|resync" /proc/mdstat; do sleep 0.2; done' </dev/null
		date +%s%N >"$work/rebuilt"
	) &
	rebuild=$!
	if [ "$1" != alone ]; then
		rig_stream_wait backup >"$work/backup" || { cat "$work/backup"; false; }
		backup=$(($(date +%s%N) - began))
	fi
	wait "$rebuild"
	rebuild=$(($(cat "$work/rebuilt") - began))
	echo "R $kind $writer $1 $((rebuild / 1000000)) $((backup / 1000000))" >>"$LOG"
	say "$kind $writer $1: rebuild $((rebuild / 1000000000)) s, backup $((backup / 1000000000)) s"
}

# The gate watches while the rebuild is alone, and keeps what it learned for the races after it.
races() {
	rig_sink_stop
	rig_mdadm "echo idle >/sys/block/md2/md/sync_action; sleep 1; mdadm --quiet --stop /dev/md2"
	rig_make_raid6 "$race_mib"
	rig_sink_start
	writer=-
	gate_start "$throttled"
	race alone
	gate_stop
	for writer in $WRITERS; do
		port=$(pbs_port "$writer")
		raced || continue
		race ungated
		gate_start 'verdict = "hold"; max_hold = "1h";'
		race held
		gate_stop
		gate_start "$throttled"
		race throttled
		gate_stop
	done
}

# --- all of it -------------------------------------------------------------------------------------------------------

# Settings around what facts about both kinds of disks suggest for 80 %: limits in 100 kB/s for disks of 20 MB/s, slices and rests
# in seconds (the first pair more than once), floors in parts of a disk's rate (more than it has: md never yields).
declare -A limits=([seek-direct]="10 5 30" [seek-buffered]="60 30 100" [plain-direct]="60 40 90" [plain-buffered]="90 60 130")
declare -A pairs=([seek]="10/30 15/25 6/34" [plain]="8/32 15/25 5/35")
floors="65 1000"
# The gate is watched for more than two of the periods that a server allows which takes 5 s to act.
idle_s=8 steady_s=22 cycles=2 lever4_s=15 watch_s=20 gate_s=210 seek_gate_s=300
if [ -n "$QUICK" ]; then
	cycles=1 floors='' seek_gate_s=210
	for each in "${!limits[@]}"; do limits[$each]=${limits[$each]%% *}; done
	for each in "${!pairs[@]}"; do pairs[$each]=${pairs[$each]%% *}; done
fi

# Disks that seek are where slices shall show what they are worth: three periods.
gate_seconds() {
	if [ "$kind" = seek ]; then echo "$seek_gate_s"; else echo "$gate_s"; fi
}

raced() {
	[ -z "$QUICK" ] && [ "$kind-$writer" != plain-direct ]
}

curve() {
	local each n=$cycles
	say "$kind disks, $writer writer"
	idle "$idle_s"
	for each in ${limits[$kind-$writer]}; do
		steady $((each * RIG_BPS / 200)) "$steady_s"
	done
	for each in ${pairs[$kind]}; do
		slices "$each" "$n"
		n=1
	done
	for each in $floors; do
		lever4 "$((RIG_BPS * each / 100 / 1024)):4096" "$lever4_s"
	done
	by_gate "$(gate_seconds)"
}

# What is going to be measured goes into the log: curve.py misses what is not there then.
plan() {
	for kind in $KINDS; do
		for writer in $WRITERS; do
			echo "P curve $kind $writer"
			[ -z "$QUICK" ] || continue
			if raced; then
				echo "P race $kind $writer"
			else
				echo "P unraced $kind $writer it would not fit into the hour"
			fi
		done
	done
}

# Seconds that all of it takes: after each segment comes writing out (7 s) and an idle one; a curve begins with a new rebuild.
estimate() {
	local each n turn=$((idle_s + 7)) race_s=$((race_mib * 1048576 / RIG_BPS + 8)) sum=0
	for kind in $KINDS; do
		sum=$((sum + 40))
		[ -n "$QUICK" ] || sum=$((sum + race_s + 20))
		for writer in $WRITERS; do
			sum=$((sum + 30 + idle_s + watch_s + 3 + $(gate_seconds) + turn))
			for each in ${limits[$kind-$writer]}; do sum=$((sum + steady_s + turn)); done
			n=$cycles
			for each in ${pairs[$kind]}; do
				sum=$((sum + (${each%/*} + ${each#*/}) * n + turn))
				n=1
			done
			for each in $floors; do sum=$((sum + lever4_s + turn)); done
			# Ungated about half as long again as alone; held a little longer than alone; throttled about twice.
			! raced || sum=$((sum + race_s * 9 / 2))
		done
	done
	echo "$sum"
}

say "about $(($(estimate) / 60)) minutes"
rig_build
: >"$LOG"
: >"$B/bench-rebuild.journal"
: >"$B/bench-rebuild.levers"
echo "C $RIG_BPS ${RIG_SEEK_MS:-8} $backup_mib $race_mib $race_lead" >>"$LOG"
plan >>"$LOG"
for kind in $KINDS; do
	rig_nas "$kind"
	RIG_DISKS_KIND=$kind rig_start
	rig_known_hosts "$work/known_hosts"
	cp "$(rig_key)" "$work/key"
	chmod 600 "$work/key"
	rm -f "$work"/record.db*
	rig_make_raid6
	rig_sink_start
	# shellcheck disable=SC2086 # a list of words
	pbs_start "$work/pbs-$kind" $WRITERS
	sampler_start
	mark machine "$kind"
	for writer in $WRITERS; do
		port=$(pbs_port "$writer")
		ensure $((RIG_DISK_MIB * 1024 / (RIG_BPS / 1024) * 8 / 10))
		curve
	done
	sampler_stop
	[ -n "$QUICK" ] || races
	pbs_end
	rig_stop
done
say "done in $((SECONDS / 60)) min $((SECONDS % 60)) s"
status=0
python3 tests/bench/curve.py "$LOG" "$B/bench-rebuild.svg" >"$B/bench-rebuild.txt" || status=$?
cat "$B/bench-rebuild.txt"
exit "$status"
