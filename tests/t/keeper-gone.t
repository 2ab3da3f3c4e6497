#!/bin/bash
# SPDX-License-Identifier: MIT
# A gate that is away for a minute: the keeper frees its guest and ends for good. The gate that comes back says what that means, and the job falls
# over to the backup server's rule as soon as that works.

# shellcheck source=tests/t/gate-lib.sh
. tests/t/gate-lib.sh
# shellcheck source=tests/t/node-lib.sh
. tests/t/node-lib.sh
# shellcheck source=tests/t/servers-lib.sh
. tests/t/servers-lib.sh

by_is() { # WORD: what slows the job
	api GET /v1/status
	[ "$(get 'a["tickets"][0]["lever"]["by"]')" = "$1" ]
}
command_says() { "$BUILD/rebuildgate" --socket "$SOCK" "$1" | grep -qE -- "$2"; }
rules_are() { [ "$(edit "$PBS" 'len(state.get("rules", {}))')" = "$1" ]; }

fresh
pbs_new 'state["tokens"]["gate@pbs!rg"]["privs"]["/"] = ["Sys.Audit"]'
server_start pbs
conf_write "$(pbs_conf '')"
sed -i 's/{ name = "backup"; nas = "nas1"; }/{ name = "backup"; nas = "nas1"; pbs = "pbs1"; datastore = "store"; }/' "$CONF"
cat >"$POLICY" <<'TEXT'
name = "test";
defaults = { settle = "0"; release_interval = "0"; recheck = "1s"; };
rules = ( { name = "rebuild"; when = { role = "data"; operation = ["recovery"]; }; verdict = "hold"; running = "throttle"; rate = "3 MB/s"; } );
TEXT
gate_start
guest_start
backup_start
ok 'a backup copies' wait_for 20 grep -q 'copying data of 100' "$TASK"
nas_rebuild
ok 'the backup server refuses its rule: the keeper is the lever' wait_for 40 by_is block-jobs
ok 'it limits' wait_for 20 jobs_are speed 3000000 3000000
gate_kill KILL
ok 'without a gate the keeper frees its guest' wait_for 100 jobs_are speed 9000000 9000000
ok 'and ends' wait_for 20 keeper_gone
gate_start
ok 'the gate is back: at first a keeper may still ask' wait_for 40 by_is block-jobs
ok 'then nothing slows the job' wait_for 120 by_is null
ok 'the journal says why' wait_for 20 logged "T1 goes at full speed: guest 100 has no keeper \\(any more\\); backup server 'pbs1': .*the token lacks the privilege.* ticket=1"
api GET /v1/status
ok 'so does the ticket' is 'a["tickets"][0]["lever"]["text"][:52]' "guest 100 has no keeper (any more); backup server 'p"
ok 'and the levers' lever_is '[(l["target"], l["set"], l["usable"], l["ticket"]) for l in a["levers"] if l["lever"] == "block-jobs"]' "[('pve1/100', False, False, 1)]"
ok 'for people' command_says levers 'nothing can slow it until its'
ok 'in status too' command_says status 'nothing can slow it until its'
ok 'as what it may need, not as an error' wait_for 20 logged 'The keeper of pve1/100 does not ask this gate: .*should that backup not move, as root on pve1: /usr/libexec/rebuildgate/rebuildgate-vzdump --put-back ticket=1'
ok 'once' test "$(grep -c -- '--put-back' "$LOG")" = 1
ok 'no rule stands on the backup server' rules_are 0
ok 'the guest is left alone' jobs_are speed 9000000 9000000
edit "$PBS" 'state["tokens"]["gate@pbs!rg"]["privs"].update({"/": ["Sys.Audit", "Sys.Modify"]})' >/dev/null
ok 'the backup server allows its rule: the job falls over to that' wait_for 150 by_is traffic-control
ok 'it stands there' wait_for 20 rules_are 1
ok 'nothing is said of a keeper any more' lever_is '[l for l in a["levers"] if l["lever"] == "block-jobs"]' '[]'
touch "$SCRATCH/copied"
wait "$JOB"
ok 'the backup goes well' test $? -eq 0
ok 'the rule goes' wait_for 60 rules_are 0

done_testing
