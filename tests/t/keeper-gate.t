#!/bin/bash
# SPDX-License-Identifier: MIT
# The real daemon, hook and keeper together: a disk fails while a VM is backed up, its block jobs are limited, and free again
# when the rebuild ends.

# shellcheck source=tests/t/gate-lib.sh
. tests/t/gate-lib.sh

FAKES=$(realpath tests/fakes)
NODE=$SCRATCH/node
TASK=$SCRATCH/task.log
QEMU=$SCRATCH/qemu
mkdir -p "$NODE/run" "$NODE/etc/pve" "$NODE/var/lib/pve-manager/jobs" "$NODE/var/run/qemu-server" "$QEMU"

jobs_are() { # FIELD VALUE...
	local field=$1
	shift
	[ "$(jq -c "[.[].$field]" "$QEMU/jobs" 2>/dev/null)" = "[$(IFS=,; echo "$*")]" ]
}
lever_is() { # FILTER VALUE: of GET /v1/levers
	api GET /v1/levers
	[ "$(get "$1")" = "$2" ]
}
keeper_gone() { flock -n "$NODE/run/rebuildgate-hook/keepers/100.lock" true; }

fresh
cat >"$POLICY" <<'TEXT'
name = "test";
defaults = { settle = "0"; release_interval = "0"; recheck = "1s"; };
rules = ( { name = "rebuild"; when = { role = "data"; operation = ["recovery"]; }; verdict = "hold"; running = "throttle"; rate = "3 MB/s"; } );
TEXT
gate_start
printf 'gate = "%s";\nhooks_dir = "";\nhooks_early_dir = "";\n' "$SOCK" >"$NODE/hook.conf"
echo '{"jobs": [{"device": "drive-scsi0", "len": 400000000000, "speed": 9000000}, {"device": "drive-scsi1", "len": 1000000, "speed": 9000000}]}' \
	>"$QEMU/script"
python3 "$FAKES/qmp.py" serve "$NODE/var/run/qemu-server/100.qmp" "$QEMU" >"$QEMU/out" 2>&1 </dev/null &
STARTED+=("$!")
wait_for 20 test -e "$QEMU/ready"
: >"$TASK"
perl "$FAKES/vzdump.pl" run --hook "$BUILD/rebuildgate-vzdump" --log "$TASK" --pidfile "$SCRATCH/pid" --storage backup \
	--copy "$SCRATCH/copied" --env "REBUILDGATE_HOOK_CONF=$NODE/hook.conf" --env "REBUILDGATE_HOOK_ROOT=$NODE" \
	--guest 100:qemu:snapshot:web &
JOB=$!
STARTED+=("$JOB")
touch "$QEMU/begin"
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
