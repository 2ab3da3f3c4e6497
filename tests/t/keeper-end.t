#!/bin/bash
# SPDX-License-Identifier: MIT
# Whatever becomes of a keeper, its vzdump and its gate: no block job stays paused or slow.

# shellcheck source=tests/fakes/keeperlib.sh
. tests/fakes/keeperlib.sh

ONE='{"jobs": [{"device": "drive-scsi0", "len": 400000000000, "speed": 9000000}]}'

# A backup under way whose keeper holds a pause.
paused() {
	fresh_node
	qemu_start 100 "$ONE"
	keep rest 0 "${1:-60000}"
	qemu_begin 100
	backup --guest 100:qemu:snapshot:web
	wait_for 20 jobs_are 100 status '"paused"'
}
runs() { jobs_are 100 status '"running"' && jobs_are 100 speed 9000000; }
finish() {
	copied 100
	[ -z "$JOB_PID" ] || job_wait
	wait_for 20 no_keeper 100
}

paused 2000
at=$(offset 100)
ok 'a pause ends after its longest time, although the gate wants to rest' wait_for 20 runs
ok 'and says so' wait_for 20 told '"path": "free", .*"trouble": "a rest is longer than the longest pause of 2s'
ok 'it moves' wait_for 20 moves_on 100 "$at"
ok 'then there is another' wait_for 20 jobs_are 100 status '"paused"'
ok 'none was longer than that' python3 - "$QEMU/100/log" <<'PY'
import json, sys
since, longest, shortest = {}, 0, 99
for line in map(json.loads, open(sys.argv[1], encoding="utf-8")):
    name, at = line["command"], line["time"]
    if name == "block-job-pause":
        shortest = min(shortest, at - since.get("block-job-resume", 0))
    elif name == "block-job-resume":
        longest = max(longest, at - since["block-job-pause"])
    since[name] = at
print(f"# longest pause {longest:.2f} s, shortest time between two {shortest:.2f} s")
sys.exit(not (1 < longest < 5 and shortest > 1))
PY
finish

paused 3000
keep_line '{"hang": true}'
ok 'a gate that hangs makes no pause longer' wait_for 20 runs
finish

paused
kill -KILL "$(keeper_of 100)"
ok 'a killed keeper: the guard resumes within seconds' wait_for 10 runs
ok 'it says so' journal 'guest 100: the keeper was killed by signal 9; its block jobs run at their own speed again'
ok 'to the gate as well' wait_for 10 told '"ending": true, "trouble": "the keeper was killed by signal 9'
ok 'and goes' wait_for 20 no_keeper 100
ok 'nothing is remembered' no_note 100
finish
ok 'the backup goes well' status_is 0

paused
kill -KILL "$(guard_of 100)"
ok 'a killed guard: the keeper resumes' wait_for 10 runs
ok 'and goes' wait_for 20 no_keeper 100
finish

paused
kill -TERM "$(keeper_of 100)"
ok 'SIGTERM to the keeper' wait_for 10 runs
ok 'both go' wait_for 20 no_keeper 100
finish

paused
kill -KILL "$(worker)"
ok 'the vzdump worker dies' wait_for 10 runs
ok 'the keeper as well' wait_for 20 no_keeper 100
ok 'and says so' journal "guest 100: vzdump's worker has ended; its block jobs run at their own speed again"
finish

paused
perl "$FAKES/vzdump.pl" stop "$(worker)"
ok 'the Stop button' wait_for 10 runs
ok 'ends it' wait_for 20 no_keeper 100
finish

paused
keep limit 1000000
wait_for 20 jobs_are 100 speed 1000000
keep rest 0 60000
wait_for 20 jobs_are 100 status '"paused"'
# shellcheck disable=SC2046 # both at once
kill -KILL $(keepers 100)
ok 'guard and keeper killed at once: the note stays' has_note 100
ok 'and the pause' jobs_are 100 status '"paused"'
perl "$FAKES/vzdump.pl" run --hook "$HOOK" --log "$SCRATCH/other.log" --storage nas --env "REBUILDGATE_HOOK_CONF=$NODE/hook.conf" \
	--env "REBUILDGATE_HOOK_ROOT=$NODE"
ok 'until the next job begins on the node: its hook puts things back' runs
ok 'and forgets it' no_note 100
finish

paused
# shellcheck disable=SC2046
kill -KILL $(keepers 100)
finish
ok 'likewise at the end of this guest' runs
ok 'and forgets it' no_note 100

# A keeper that does not go by itself: its worker lives on, and its guest is backed up by another job.
paused
FIRST=$(guard_of 100)
cp "$SCRATCH/pid" "$SCRATCH/first-pid"
FIRST_JOB=$JOB_PID
keep limit 2000000
job --storage nas --copy "$SCRATCH/copied-later" --guest 100:qemu:snapshot:web
# shellcheck disable=SC2317 # called by wait_for
another() { [ "$(guard_of 100)" != "$FIRST" ] && has_keeper 100; }
ok 'a newer backup of the same guest replaces the keeper' wait_for 30 another
ok 'and sets what the gate wants' wait_for 20 jobs_are 100 speed 2000000
ok 'what was before is what it gives back' test "$(sed -n 2p "$NODE/run/rebuildgate-hook/keepers/100")" = '9000000 0 drive-scsi0'
touch "$SCRATCH/copied-later"
job_wait
ok 'it ends' wait_for 20 no_keeper 100
ok 'everything is as it was' runs
kill -KILL -- "-$(cat "$SCRATCH/first-pid")"
wait "$FIRST_JOB" 2>/dev/null

# QEMU goes away: the guest was shut down.
paused
kill -KILL "${QEMU_PIDS[0]}"
wait "${QEMU_PIDS[0]}" 2>/dev/null
ok 'QEMU is gone: so is the keeper' wait_for 30 no_keeper 100
ok 'nothing is remembered' no_note 100
finish

done_testing
