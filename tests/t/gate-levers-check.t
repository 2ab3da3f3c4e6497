#!/bin/bash
# SPDX-License-Identifier: MIT
# A check that gives way (lever 5): only where the policy acts and the settings allow it; and one that takes over from a recovery while levers
# are set. A guest whose keeper is gone is left to the NAS's floor.

# shellcheck source=tests/t/gate-lib.sh
. tests/t/gate-lib.sh
# shellcheck source=tests/t/levers-lib.sh
. tests/t/levers-lib.sh
# shellcheck source=tests/t/nas-lib.sh
. tests/t/nas-lib.sh

T_a=''
W_a='' # job()

policy() { # [SETTINGS]: a recovery is protected, checks are in no rule
	cat >"$POLICY" <<-TEXT
	name = "test"; ${1:-}
	defaults = { settle = "0"; release_interval = "0"; recheck = "1s"; max_running = 9; };
	rules = ( { name = "rebuild"; when = { role = "data"; operation = ["recovery"]; }; verdict = "throttle"; running = "throttle"; protect = "50%"; over = "1min"; } );
	TEXT
}
reload() { kill -HUP "$GATE_PID"; }
looks() { api GET /metrics; sed -n 's/^rebuildgate_nas_looks_total{nas="nas1"} //p' "$OUT"; }
# looked N: so many more looks have ended.
looked() {
	local from
	from=$(looks)
	# shellcheck disable=SC2317 # called by wait_for
	enough() { [ "$(looks)" -ge $((from + $1)) ]; }
	wait_for 60 enough "$1"
}
ordered() { query "SELECT count(*) FROM lever_actions WHERE lever = 'check'"; }
back() { [ "$(query "SELECT put_back FROM lever_actions WHERE lever = '$1' ORDER BY id DESC LIMIT 1")" = 1 ]; }
by_is() { # WORD: what slows the first job
	api GET /v1/status
	[ "$(get 'a["tickets"][0]["lever"]["by"]')" = "$1" ]
}
begin() { # PAUSE_CHECK [POLICY'S SETTINGS]: a gate from new, while nothing goes on
	gate_kill TERM
	rm -rf "$SCRATCH/db" "$LOG"
	does idle 0 0
	policy "${2:-}"
	nas_conf "$1"
	gate_start
	wait_for 20 quiet operation_is idle
}

# --- a policy that only observes, or is off ---------------------------------------------------------------
for off in 'observe = true;' 'enabled = false;'; do
	begin true "$off"
	does check 40000 0
	ok "${off%;}: a check is seen" wait_for 20 quiet operation_is check
	job a
	ok 'a job goes' is 'a["act"]' allow
	ok 'looks go by' looked 5
	ok 'the check goes on' action_is check
	ok 'nothing was ordered' test "$(ordered)" = 0
	policy
	reload
	ok 'the policy acts: the check rests' wait_for 30 action_is idle
	policy "$off"
	reload
	ok 'and goes on once it acts no more, while the job still runs' wait_for 60 action_is check
	ok 'so says the record' wait_for 20 back check
	end a
done

# --- a check that takes over from a recovery ----------------------------------------------------------------
begin false
does recovery 40000 0
ok 'a recovery is seen, and what it does undisturbed' wait_for 120 quiet knows
job a
guest a 101
does recovery 30000 20000
ok 'the floor is set for a job' wait_for 60 quiet floor_set
does recovery 10000 20000
ok 'where that is not enough its keeper is told to slow it' wait_for 120 quiet keeps a 101 limit rest
does check 10000 20000
ok 'the recovery is done, a check takes over: the keeper is free' wait_for 60 quiet keeps a 101 free
ok 'and so is the floor' wait_for 30 floor_free
ok 'in the record' wait_for 20 back block-jobs
ok 'as well' wait_for 20 back sync-speed
looked 5
ok 'without pause_check the check goes on beside the job' action_is check
ok 'nothing was ordered of it' test "$(ordered)" = 0
end a

begin true
does recovery 40000 0
wait_for 120 quiet knows
job a
guest a 101
does recovery 30000 20000
ok 'with pause_check: the floor is set' wait_for 60 quiet floor_set
does check 30000 20000
ok 'a check takes over: the floor is freed' wait_for 30 floor_free
ok 'and the check rests instead' wait_for 30 action_is idle
ok 'the keeper is free' wait_for 60 quiet keeps a 101 free
end a
ok 'the job is done: the check goes on' wait_for 60 action_is check
ok 'in the record' wait_for 20 back check
ok 'the floor too' back sync-speed

# --- a keeper that is gone ------------------------------------------------------------------------------------
begin false
does recovery 40000 0
wait_for 120 quiet knows
job a
# As its hook does in backup-start.
ask "$W_a, \"ticket\": $T_a, \"phase\": \"backup-start\", \"guest\": 101, \"guest_type\": \"qemu\""
guest a 101
keep a 101
does recovery 30000 20000
ok 'a guest with a keeper: that counts as its lever' wait_for 20 by_is block-jobs
ok 'it is free, the floor is tried first' wait_for 60 quiet floor_set
gate_kill KILL
"$BUILD/rebuildgated" --put-back --config "$CONF" >"$OUT" 2>&1
ok 'one lever stands, and put-back says so' grep -q '1 lever stands where a gate left it, it is put back' "$OUT"
does recovery 40000 0
gate_start
ok 'its keeper does not ask the next gate: the NAS alone reaches it' wait_for 120 quiet by_is sync-speed
wait_for 120 quiet knows
does recovery 30000 20000
ok 'its floor is set' wait_for 60 quiet floor_set
api GET /v1/levers
ok 'levers say that it has no keeper' is '[(l["target"], l["usable"]) for l in a["levers"] if l["lever"] == "block-jobs"]' "[('pve1/101', False)]"
end a
ok 'the job ends: the floor is free' wait_for 60 quiet floor_free
gate_kill TERM

done_testing
