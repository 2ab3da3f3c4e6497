#!/bin/bash
# SPDX-License-Identifier: MIT
# The real daemon, hook and keeper together: a disk fails while a VM is backed up, its block jobs are limited, and free again
# when the rebuild ends.

# shellcheck source=tests/t/gate-lib.sh
. tests/t/gate-lib.sh

# shellcheck source=tests/t/node-lib.sh
. tests/t/node-lib.sh

fresh
cat >"$POLICY" <<'TEXT'
name = "test";
defaults = { settle = "0"; release_interval = "0"; recheck = "1s"; };
rules = ( { name = "rebuild"; when = { role = "data"; operation = ["recovery"]; }; verdict = "hold"; running = "throttle"; rate = "3 MB/s"; } );
TEXT
gate_start
guest_start
backup_start
ok 'while all is well the jobs are left alone' wait_for 20 jobs_are speed 9000000 9000000
ok 'and the data is copied' wait_for 20 grep -q 'copying data of 100' "$TASK"

nas_rebuild
ok 'a disk fails: they are limited' wait_for 30 jobs_are speed 3000000 3000000
ok 'the gate knows it is in force' wait_for 20 lever_is \
	'[(l["target"], l["set"]) for l in a["levers"] if l["lever"] == "block-jobs"]' "[('pve1/100', True)]"
nas_idle
ok 'the rebuild ends: they are as before' wait_for 90 jobs_are speed 9000000 9000000
ok 'nothing was paused for good' jobs_are status '"running"' '"created"'

nas_rebuild
ok 'another one: limited again' wait_for 30 jobs_are speed 3000000 3000000
gate_kill KILL
gate_start
ok 'a daemon that died and is back goes on with it' wait_for 30 lever_is \
	'[l["target"] for l in a["levers"] if l["lever"] == "block-jobs" and l["set"]]' "['pve1/100']"
ok 'nothing changed meanwhile' jobs_are speed 3000000 3000000
touch "$SCRATCH/copied"
wait "$JOB"
ok 'the backup goes well' test $? -eq 0
ok 'its keeper goes' wait_for 20 keeper_gone
ok 'with its own speed for what is left' jobs_are speed 9000000 9000000
ok 'and the gate knows' wait_for 20 lever_is '[l for l in a["levers"] if l["lever"] == "block-jobs" and l["set"]]' '[]'

done_testing
