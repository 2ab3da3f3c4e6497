#!/bin/bash
# SPDX-License-Identifier: MIT
# A keeper beside a real backup job of a real QEMU: what it sets acts on what is copied. No machine boots: QEMU only has disks.

if ! command -v qemu-system-x86_64 >/dev/null; then
	echo "1..0 # SKIP there is no qemu-system-x86_64"
	exit 0
fi
# shellcheck source=tests/fakes/keeperlib.sh
. tests/fakes/keeperlib.sh

MIB=1048576
OWN=$((8 * MIB)) # the job's own limit, as vzdump's bwlimit
DISKS=$SCRATCH/disks
mkdir -p "$DISKS"
SOCKET=$NODE/var/run/qemu-server/100.qmp

# A QEMU with two disks that have data everywhere.
vm_start() {
	local disk
	rm -f "$DISKS"/*
	for disk in a b; do
		head -c $((320 * MIB)) /dev/urandom >"$DISKS/$disk"
		truncate -s $((320 * MIB)) "$DISKS/$disk-copy" "$DISKS/$disk-fleece"
	done
	qemu-system-x86_64 -machine none -nodefaults -display none -qmp "unix:$SOCKET,server=on,wait=off" \
		-blockdev "driver=raw,node-name=a,file.driver=file,file.filename=$DISKS/a" \
		-blockdev "driver=raw,node-name=b,file.driver=file,file.filename=$DISKS/b" \
		-blockdev "driver=raw,node-name=a-copy,file.driver=file,file.filename=$DISKS/a-copy" \
		-blockdev "driver=raw,node-name=b-copy,file.driver=file,file.filename=$DISKS/b-copy" \
		-blockdev "driver=raw,node-name=a-fleece,file.driver=file,file.filename=$DISKS/a-fleece" \
		>"$SCRATCH/qemu.out" 2>&1 </dev/null &
	QEMU_PIDS+=($!)
	wait_for 30 test -S "$SOCKET" || echo "Bail out! QEMU does not start: $(cat "$SCRATCH/qemu.out")"
}

vm_ask() { python3 "$FAKES/qmp.py" ask "$SOCKET" "$@"; }
# vm_job JOB SOURCE SPEED: what vzdump's backup starts.
vm_job() {
	vm_ask "{\"execute\": \"blockdev-backup\", \"arguments\": {\"job-id\": \"$1\", \"device\": \"$2\",
		\"target\": \"${1#drive-}-copy\", \"sync\": \"full\", \"speed\": $3}}" >/dev/null
}
vm_jobs() { vm_ask '{"execute": "query-block-jobs"}'; }
# vm_is FIELD VALUE...: as in keeperlib's jobs_are, by QEMU's own word.
vm_is() {
	local field=$1
	shift
	[ "$(vm_jobs | jq -c "[sort_by(.device)[].$field]")" = "[$(IFS=,; echo "$*")]" ]
}
# pace SECONDS: bytes/s that all jobs copy.
pace() {
	local first now
	first="$(vm_jobs | jq 'map(.offset) | add') $(date +%s%N)"
	sleep "$1"
	now="$(vm_jobs | jq 'map(.offset) | add') $(date +%s%N)"
	awk -v a="$first" -v b="$now" 'BEGIN {split(a, x); split(b, y); printf "%d\n", (y[1] - x[1]) / (y[2] - x[2]) * 1e9}'
}
between() { echo "# $3 bytes/s, wanted $1 to $2"; [ "$3" -ge "$1" ] && [ "$3" -le "$2" ]; }

fresh_node
vm_start
keep limit $((2 * MIB))
backup --guest 100:qemu:snapshot:web
ok 'the keeper waits for the backup' wait_for 20 told '"n_jobs": 0'
vm_job drive-a a $OWN
ok 'QEMU has the limit' wait_for 20 vm_is speed $((2 * MIB))
ok 'and copies by it' between $((MIB * 3 / 2)) $((MIB * 5 / 2)) "$(pace 5)"
ok 'the gate is told as much' wait_for 20 told '"path": "limit", "rate": 2097152, "n_jobs": 1, "moved": (1[6-9]|2[0-4])[0-9]{5},'
keep limit $((4 * MIB))
ok 'more' wait_for 20 vm_is speed $((4 * MIB))
ok 'is more' between $((MIB * 3)) $((MIB * 5)) "$(pace 5)"
keep limit $((100 * MIB))
ok 'never more than its own limit' wait_for 20 vm_is speed $OWN
keep rest 0 60000
ok 'a rest pauses' wait_for 20 vm_is status '"paused"'
ok 'nothing is copied' between 0 0 "$(pace 3)"
ok 'the gate is told' wait_for 20 told '"path": "rest", "rate": 0, "n_jobs": 1, "moved": 0'
keep open
ok 'open: it runs' wait_for 20 vm_is status '"running"'
ok 'by its own limit' between $((MIB * 6)) $((MIB * 10)) "$(pace 3)"

keep rest 0 60000
wait_for 20 vm_is status '"paused"'
kill -KILL "$(keeper_of 100)"
ok 'the keeper is killed in a pause: the guard resumes' wait_for 10 vm_is status '"running"'
ok 'with its own limit' vm_is speed $OWN
ok 'and goes' wait_for 20 no_keeper 100
ok 'the copy comes to its end' wait_for 90 vm_is device
ok 'and is good' cmp "$DISKS/a" "$DISKS/a-copy"
copied 100
job_wait

# Two jobs at the same time, without a limit of their own, and a graph with fleecing.
fresh_node
vm_start
vm_ask '{"execute": "blockdev-add", "arguments": {"driver": "copy-before-write", "node-name": "cbw", "file": "a", "target": "a-fleece"}}' \
	'{"execute": "blockdev-add", "arguments": {"driver": "snapshot-access", "node-name": "access", "file": "cbw"}}' >/dev/null
keep limit $((4 * MIB))
backup --guest 100:qemu:snapshot:web
wait_for 20 told '"n_jobs": 0'
vm_job drive-a access $OWN
vm_job drive-b b $OWN
ok 'two jobs share the limit' wait_for 20 vm_is speed $((2 * MIB)) $((2 * MIB))
ok 'together' between $((MIB * 3)) $((MIB * 5)) "$(pace 5)"
ok 'fleecing is seen' wait_for 20 told '"fleecing": true'
keep rest 0 60000
ok 'both rest' wait_for 20 vm_is status '"paused"' '"paused"'
keep free
ok 'free: both run' wait_for 20 vm_is status '"running"' '"running"'
ok 'as before' vm_is speed $OWN $OWN
ok 'the copies come to their end' wait_for 90 vm_is device
ok 'and are good' cmp "$DISKS/a" "$DISKS/a-copy"
ok 'both' cmp "$DISKS/b" "$DISKS/b-copy"
ok 'the keeper ends with them' wait_for 20 no_keeper 100
copied 100
job_wait
ok 'the backup goes well' status_is 0

done_testing
