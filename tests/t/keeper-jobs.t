#!/bin/bash
# SPDX-License-Identifier: MIT
# A keeper beside a VM's backup: what it sets, when it comes and when it goes.

# shellcheck source=tests/fakes/keeperlib.sh
. tests/fakes/keeperlib.sh

MB=1000000
TWO='{"jobs": [{"device": "drive-scsi0", "len": 4000000000, "pace": 20000000}, {"device": "drive-scsi1", "len": 100000000}]}'

fresh_node
qemu_start 100 "$TWO"
keep limit $MB
backup --guest 100:qemu:snapshot:web
ok 'a VM that is let go gets a keeper, and its guard' wait_for 20 has_keeper 100
ok 'vzdump does not wait for it' wait_for 20 logged 'copying data of 100'
ok 'it asks before there is anything to set' wait_for 20 told '"guest": 100, .*"path": "free", .*"n_jobs": 0'
ok 'nothing is set yet' not_sent 100 block-job-set-speed
qemu_begin 100
ok 'a limit is set on every job, those to come as well' wait_for 20 jobs_are 100 speed $MB $MB
ok 'it is written down' has_note 100
ok 'the gate is told what is in force' wait_for 20 told '"path": "limit", "rate": 1000000, "n_jobs": 2'
ok 'and how much moves' wait_for 20 told '"moved": (9[0-9]{5}|10[0-9]{5}),'
ok 'not what all will read, while one is yet to begin' eval 'told "\"n_jobs\": 2, .*\"total\": null" && ! told "\"n_jobs\": 2, .*\"total\": [0-9]"'
ok 'with ticket, worker, node and storage' told \
	"\"ticket\": 17, \"worker\": \\{\"pid\": $(worker), .*\"node\": \"pve1\", \"storage\": \"nas\""
ok 'without fleecing' told '"fleecing": false'
ok 'what is set is set once' test "$(commands 100 block-job-set-speed)" -eq 2
keep limit 2000000
ok 'another limit follows' wait_for 20 jobs_are 100 speed 2000000 2000000
keep rest 0 60000
ok 'a rest pauses' wait_for 20 jobs_are 100 status '"paused"' '"created"'
at=$(offset 100)
ok 'and is told' wait_for 20 told '"path": "rest"'
ok 'nothing moves' test "$(offset 100)" -eq "$at"
keep open
ok 'open resumes' wait_for 20 jobs_are 100 status '"running"' '"created"'
ok 'without a limit' wait_for 20 jobs_are 100 speed 0 0
ok 'and is told' wait_for 20 told '"path": "open"'
ok 'the note is gone' wait_for 20 no_note 100
keep limit $MB
ok 'once more' wait_for 20 jobs_are 100 speed $MB $MB
ok 'it has nothing of vzdump open' test -z "$(for pid in $(keepers 100); do
	readlink /proc/"$pid"/fd/[012] | grep -v /dev/null
	for fd in /proc/"$pid"/fd/*; do readlink "$fd"; done | grep -F "$LOG"
done)"
ok 'it is in no group of vzdump' test -z "$(for pid in $(keepers 100); do ps -o pgid= -p "$pid"; done | grep -w "$(worker)")"
copied 100
job_wait
ok 'the backup goes well' status_is 0
ok 'the end of the backup ends it' wait_for 20 no_keeper 100
ok 'jobs that are still there get their speed back' jobs_are 100 speed 0 0
ok 'the gate hears the last word' told '"path": "free", .*"ending": true'
ok 'the journal has what was set' journal '<29>rebuildgate-keeper\[[0-9]+\]: guest 100: its block jobs are limited to 1.0 MB/s, for ticket T17: md2 keeps 80 %'
ok 'and the end' journal 'guest 100: told to end; its block jobs run at their own speed again'
ok 'nothing is remembered' no_note 100

fresh_node
qemu_start 100 "$TWO"
qemu_start 101 '{"jobs": [{"device": "drive-virtio0", "len": 4000000000}]}'
keep limit $MB
backup --guest 100:qemu:snapshot:web --guest 101:qemu:snapshot:db
qemu_begin 100
ok 'two guests: the first' wait_for 20 jobs_are 100 speed $MB $MB
ok 'the second has no keeper yet' no_keeper 101
qemu_end 100
ok 'its keeper ends with the backup, before any hook says so' wait_for 20 no_keeper 100
ok 'and says so' journal 'guest 100: the backup is over'
qemu_begin 101
copied 100
ok 'then the second' wait_for 20 jobs_are 101 speed $MB
ok 'what it will read is told' wait_for 20 told '"guest": 101, .*"total": 4000000000'
ok 'one keeper each' test -z "$(keepers 100)"
copied 101
job_wait
ok 'the job goes well' status_is 0
ok 'no keeper is left' wait_for 20 no_keeper 101

fresh_node
keep limit $MB
qemu_start 100 "$TWO"
qemu_begin 100
backup --guest 100:lxc:snapshot:ct
ok 'a container has no keeper' wait_for 20 logged 'copying data of 100'
ok 'none' no_keeper 100
copied 100
job_wait
ok 'the gate is not asked by one' not_called /v1/keep .
ok 'no QEMU is spoken to' test ! -e "$QEMU/100/log"

fresh_node
conf 'keeper = false;'
qemu_start 100 "$TWO"
backup --guest 100:qemu:snapshot:web
ok 'keeper = false: none' wait_for 20 logged 'copying data of 100'
ok 'none' no_keeper 100
copied 100
job_wait

fresh_node
gate_stop
qemu_start 100 "$TWO"
backup --guest 100:qemu:snapshot:web
ok 'a job without a ticket has none' wait_for 20 logged 'copying data of 100'
ok 'none' no_keeper 100
copied 100
job_wait

fresh_node
keep free 0 15000 1000
qemu_start 100 '{"jobs": [{"device": "drive-scsi0", "len": 4000000000, "speed": 5000000}]}'
qemu_begin 100
backup --guest 100:qemu:snapshot:web
ok 'a path that is free' wait_for 20 told '"path": "free", .*"n_jobs": 1'
ok 'is asked for again' wait_for 20 asked 3
copied 100
job_wait
ok 'it ends' wait_for 20 no_keeper 100
ok 'nothing was touched' not_sent 100 'block-job-[a-z-]*'
ok 'and says so' journal 'guest 100: told to end; nothing was set'

fresh_node
keep limit 20000000
qemu_start 100 '{"jobs": [{"device": "drive-scsi0", "len": 4000000000, "speed": 5000000}], "fleecing": true,
	"others": [{"device": "mirror0", "type": "mirror", "len": 1, "offset": 0, "speed": 0, "paused": false, "status": "ready"}]}'
qemu_begin 100
backup --guest 100:qemu:snapshot:web
ok 'a job with a limit of its own: it is in force' wait_for 20 told '"path": "limit", "rate": 20000000'
ok 'and not raised' not_sent 100 block-job-set-speed
ok 'fleecing is told' told '"fleecing": true'
keep limit 3000000
ok 'less is set' wait_for 20 jobs_are 100 speed 3000000
keep limit 20000000
ok 'more is not' wait_for 20 jobs_are 100 speed 5000000
keep rest 0 60000
ok 'a rest' wait_for 20 jobs_are 100 status '"paused"'
copied 100
job_wait
ok 'the end' wait_for 20 no_keeper 100
ok 'gives back exactly what it was' jobs_are 100 speed 5000000
ok 'and resumes' jobs_are 100 status '"running"'
ok 'other jobs are not touched' not_sent 100 '.*mirror0'

fresh_node
keep limit $MB
qemu_start 100 "$TWO"
qemu_begin 100
python3 "$FAKES/qmp.py" hold "$NODE/var/run/qemu-server/100.qmp" 6 >"$SCRATCH/held" &
HOLDER=$!
wait_for 20 test -s "$SCRATCH/held"
backup --guest 100:qemu:snapshot:web
ok 'a QEMU that serves another client: that is told' wait_for 20 told '"trouble": ".*(serves another|does not answer)'
ok 'and tried again' wait_for 20 jobs_are 100 speed $MB $MB
wait "$HOLDER"
copied 100
job_wait
ok 'it ends' wait_for 20 no_keeper 100

fresh_node
keep rest 0 60000
qemu_start 100 '{"jobs": [{"device": "drive-scsi0", "len": 4000000000}], "refuse": ["block-job-pause"]}'
qemu_begin 100
backup --guest 100:qemu:snapshot:web
ok 'where a pause is refused a rest is 64 KiB/s' wait_for 20 jobs_are 100 speed 65536
ok 'that counts as a rest' wait_for 20 told '"path": "rest"'
copied 100
job_wait
ok 'it ends' wait_for 20 no_keeper 100
ok 'and gives back' jobs_are 100 speed 0

done_testing
