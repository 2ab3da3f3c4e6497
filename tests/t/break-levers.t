#!/bin/bash
# SPDX-License-Identifier: MIT
# Where the levers were broken once: what hurt, and that it no longer does.

# shellcheck source=tests/fakes/keeperlib.sh
. tests/fakes/keeperlib.sh

# --- QEMU does not answer for longer than a keeper and its guard are patient ---------------------------
# Its main loop hangs (an image on an NFS server that is away), while a pause is set: the guest's writes wait for the copy.
fresh_node
qemu_start 100 '{"jobs": [{"device": "drive-scsi0", "len": 400000000000, "speed": 9000000}]}'
keep rest 0 60000
qemu_begin 100
backup --guest 100:qemu:snapshot:web
wait_for 20 jobs_are 100 status '"paused"'
kill -STOP "${QEMU_PIDS[0]}"
kill -KILL "$(keeper_of 100)"
ok 'a QEMU that hangs while its job is paused: the guard says so' wait_for 90 journal 'guest 100: the keeper was killed by signal 9; its block jobs could not be put back yet'
ok 'and stays' test -n "$(keepers 100)"
ok 'with its note' has_note 100
ok 'the gate is told that it is still to be put back' wait_for 20 told '"path": "rest", .*"ending": true'
kill -CONT "${QEMU_PIDS[0]}"
ok 'QEMU answers again: the guest goes on within seconds' wait_for 20 jobs_are 100 status '"running"'
ok 'at its own speed' jobs_are 100 speed 9000000
ok 'that is said' journal 'guest 100: its block jobs run at their own speed again'
ok 'to the gate as well' wait_for 20 told '"path": "free", .*"ending": true'
ok 'and the guard goes' wait_for 20 no_keeper 100
ok 'nothing is remembered' no_note 100
copied 100
job_wait
ok 'the backup goes well' status_is 0

done_testing
