#!/bin/bash
# SPDX-License-Identifier: MIT
# Disks that seek cost what a spindle costs, and a rebuild on them feels it; streams over the network reach the array.
# shellcheck disable=SC1091 source=tests/rig/tap.sh
. tests/rig/tap.sh
export RIG_DISKS=5 RIG_DISK_MIB=1400

# Milliseconds that a load on the first disk takes.
took() { # read|write [key=value...]
	local what=$1
	shift
	rig_load "$what" direct vda span=320 "$@" | sed -n 's/^bytes=[0-9]* ms=//p'
}

# Milliseconds that a stream of so many MiB takes onto the array until it is on disk.
stream_took() { # MODE MIB
	rig_stream_start it "$(rig_sink_port "$1")" "total=$2"
	rig_stream_wait it >"$(rig_dir)/it" && sed 's/.* ms=\([0-9]*\) .*/\1/' "$(rig_dir)/it"
}

# done_at: the machine's uptime in ms and the KiB that md has done.
done_at() {
	rig_ssh 'cat /proc/uptime /proc/mdstat' </dev/null |
		awk 'NR == 1 { ms = $1 * 1000 } match($0, /\([0-9]+\//) { print ms, substr($0, RSTART + 1, RLENGTH - 2); exit }'
}

# KiB/s that md gets done over so many seconds.
pace() { # SECONDS
	local ms done_kib ms_then then_kib
	read -r ms_then then_kib < <(done_at)
	sleep "$1"
	read -r ms done_kib < <(done_at)
	echo $(((done_kib - then_kib) * 1000 / (ms - ms_then)))
}

# The middle one of an odd number of numbers.
median() {
	printf '%s\n' "$@" | sort -n | sed -n "$((($# + 1) / 2))p"
}

between() { # LEAST VALUE MOST
	[ "$1" -le "$2" ] && [ "$2" -le "$3" ]
}

rig_nas plain
must rig_start
sequential=$(took read total=16)
random=$(took read total=16 order=random block=64)
ok "a plain disk takes random reads about as fast as sequential ones ($random and $sequential ms for 16 MiB)" \
	[ "$random" -lt $((sequential * 3 / 2)) ]
rig_stop

rig_nas spindle
export RIG_DISKS_KIND=seek
must rig_start
sequential=$(took read total=16)
random=$(took read total=16 order=random block=64)
ok "16 MiB in sequence take at least what the platter needs ($sequential ms)" [ "$sequential" -ge 780 ]
ok "and at random at least a jump for each 64 KiB more ($random ms)" [ "$random" -ge 2600 ]
ok "which is more than twice as long" [ "$random" -gt $((sequential * 2)) ]
cached=$(took write total=6)
ok "writes are answered from the disk's cache ($cached ms for 6 MiB)" [ "$cached" -lt 280 ]
flushed=$(rig_ssh 'load write buffered /dev/vda total=6 span=320' </dev/null | sed -n 's/^bytes=[0-9]* ms=//p')
ok "a flush waits for the platter ($flushed ms)" [ "$flushed" -ge 280 ]
random=$(took write total=24 order=random block=64)
ok "the cache hides no jump for long ($random ms for 24 MiB at random)" [ "$random" -ge 1200 ]

must rig_make_raid6
must rig_sink_start
rig_stream_start one "$(rig_sink_port buffered)" total=5
rig_stream_start two "$(rig_sink_port direct)" total=3
like "a stream through the page cache arrives whole" "$(rig_stream_wait one)" '^bytes=5242880 ms=[0-9]+ written=5242880$'
like "and a direct one beside it" "$(rig_stream_wait two)" '^bytes=3145728 ms=[0-9]+ written=3145728$'
sectors=$(rig_ssh "awk '\$3 == \"md2\" {print \$10}' /proc/diskstats" </dev/null)
ok "they were written to the array ($sectors sectors)" [ "$sectors" -ge $((8 * 2048)) ]
direct=$(stream_took direct 16)
dsync=$(stream_took dsync 16)
ok "a client that flushes each block waits for it ($dsync ms against $direct)" [ "$dsync" -gt "$direct" ]
rig_stream_start endless "$(rig_sink_port buffered)" rate=2000
sleep 3
read -r bytes _ < <(rig_stream_moved endless)
ok "a stream keeps its pace ($bytes bytes in 3 s)" between 2000000 "$bytes" 9000000
like "and ends when told" "$(rig_stream_stop endless)" '^bytes=([0-9]+) ms=[0-9]+ written=\1$'

until [ "$(rig_sysfs array_state)" = clean ]; do sleep 0.2; done
must rig_restart
like "a power cut leaves what was written" "$(rig_mdstat)" '^md2 : active raid6'
must rig_sink_start

must rig_fail_and_readd vdc
must rig_wait_mdstat 'recovery = ' 20
sleep 2
# In turns, and the middle ones: others compute on this machine too.
idles=() besides=()
for _ in 1 2 3 4 5; do
	idles+=("$(pace 3)")
	rig_stream_start trickle "$(rig_sink_port direct)" rate=1000
	sleep 1
	besides+=("$(pace 4)")
	must rig_stream_stop trickle >/dev/null
	sleep 1
done
idle=$(median "${idles[@]}")
share=$(($(median "${besides[@]}") * 100 / idle))
ok "beside 1 MB/s of synchronous writes a rebuild keeps most of its pace and loses some ($share %: ${besides[*]} of ${idles[*]})" \
	between 50 "$share" 96
rig_stream_start flood "$(rig_sink_port buffered)"
sleep 4
beside=$(pace 5)
must rig_stream_stop flood >/dev/null
share=$((beside * 100 / idle))
ok "beside a flood next to nothing is left ($share %)" between 0 "$share" 25
is "it is the same rebuild" "$(rig_sysfs sync_action)" recover

pid=$(cat "$(rig_dir)/hdd.pid")
rig_stop
ok "disks end with their machine" eval '! grep -qa hdd "/proc/$pid/cmdline"'
tap_done
