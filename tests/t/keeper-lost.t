#!/bin/bash
# SPDX-License-Identifier: MIT
# What takes its time: a keeper without a gate, and one that hangs.

# shellcheck source=tests/fakes/keeperlib.sh
. tests/fakes/keeperlib.sh

fresh_node
qemu_start 100 '{"jobs": [{"device": "drive-scsi0", "len": 400000000000, "speed": 9000000}]}'
qemu_start 101 '{"jobs": [{"device": "drive-scsi0", "len": 400000000000, "speed": 9000000}], "fleecing": true}'
qemu_begin 100
qemu_begin 101

# Two workers; guest 101's keeper stops in the middle of a pause.
keep rest 0 600000
backup --guest 101:qemu:snapshot:db
OTHER_JOB=$JOB_PID
wait_for 20 jobs_are 101 status '"paused"'
OTHER_WORKER=$(worker)
kill -STOP "$(keeper_of 101)"
STOPPED=$SECONDS

keep limit 1000000
backup --guest 100:qemu:snapshot:web
wait_for 20 jobs_are 100 speed 1000000
keep_line '{"status": 503, "body": "{\"error\": {\"code\": \"busy\", \"text\": \"not now\"}}"}'
LOST=$SECONDS
sleep 5
ok 'a gate that is away for a moment changes nothing' jobs_are 100 speed 1000000
keep limit 2000000
ok 'nor is it held against it' wait_for 20 jobs_are 100 speed 2000000
gate_stop
LOST=$SECONDS
sleep 30
ok 'half a minute without a gate: what is set stays' jobs_are 100 speed 2000000

ok 'a keeper that hangs: its guard resumes' wait_for 60 jobs_are 101 status '"running"'
ok 'within a minute' test $((SECONDS - STOPPED)) -lt 60
ok 'and gives its speed back' jobs_are 101 speed 9000000
ok 'and says so' journal 'guest 101: the keeper was killed by signal 9'
ok 'and goes' wait_for 20 no_keeper 101

ok 'a minute without a gate: everything is put back' wait_for 60 jobs_are 100 speed 9000000
ok 'not before' test $((SECONDS - LOST)) -ge 59
ok 'the keeper says why' journal '<28>.*guest 100: no gate for a minute \(.*\), the backup goes on unslowed to its end, also when the gate is back; its block jobs run at their own speed again'
ok 'and goes' wait_for 20 no_keeper 100
ok 'the backup goes on' logged 'copying data of 100'
copied 100
copied 101
job_wait
ok 'to its end' status_is 0
wait "$OTHER_JOB"
ok 'the other too' test $? -eq 0
ok 'its worker has ended' group_gone "$OTHER_WORKER"

# A pause's end is known to the guard: it waits 5 s longer for a keeper, and not as long as without a pause (45 s), nor
# as long as for one that was told to end (20 s).
hang() { # MAX_PAUSE_MS: a keeper that stops as soon as it has paused
	fresh_node
	qemu_start 100 '{"jobs": [{"device": "drive-scsi0", "len": 400000000000, "speed": 9000000}]}'
	keep rest 0 "$1"
	qemu_begin 100
	backup --guest 100:qemu:snapshot:web
	wait_for 20 jobs_are 100 status '"paused"'
	kill -STOP "$(keeper_of 100)"
	STOPPED=$SECONDS
	ok 'a keeper hangs in a pause' jobs_are 100 status '"paused"'
}
back() { # LESS_THAN_S
	wait_for "$1" jobs_are 100 status '"running"'
	ok "its guard ends the pause (seen after $((SECONDS - STOPPED)) s)" jobs_are 100 status '"running"'
	ok 'soon after its longest time' test $((SECONDS - STOPPED)) -lt "$1"
	ok 'with its speed' jobs_are 100 speed 9000000
	copied 100
	job_wait
	ok 'the keeper is gone' wait_for 20 no_keeper 100
}
hang 10000
back 30

hang 4000
kill -TERM "$(guard_of 100)"
back 18

done_testing
