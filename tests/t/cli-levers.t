#!/bin/bash
# SPDX-License-Identifier: MIT
# `levers` and `levers reset`: what is moved, as text and as JSON, with a gate and without one.

# shellcheck source=tests/t/cli-lib.sh
. tests/t/cli-lib.sh

# keep PATH RATE [MEMBERS]: the keeper of guest 101 asks, with that in force.
keep() {
	api POST /v1/keep "$(printf '{"ticket": %s, %s, "node": "pve1", "storage": "backup", "guest": 101, "fleecing": false, "path": "%s", "rate": %s, "n_jobs": 1, "moved": 20000000, "ending": false, "trouble": "%s"}' \
		"$T" "$W" "$1" "$2" "${3:-}")"
	[ "$(get 'a["path"]')" = limit ]
}

fresh
ok 'without a gate it says so' eval 'rg levers; exits 69'
ok 'and where a reset leads then' eval 'rg levers reset --reason x; exits 69 && grep -q "rebuildgated --put-back" "$ERR"'
cat >"$POLICY" <<-TEXT
name = "test";
rules = ( { name = "rebuild"; when = { operation = "recovery"; }; verdict = "throttle"; rate = "10 MB/s"; } );
TEXT
nas_rebuild
gate_start
rg levers
ok 'nothing is moved' exits 0
ok 'and it says so' says '^no lever is set up$'
sleep 1000 &
STARTED+=("$!")
W=$(worker "$!")
ask "$W"
T=$(get 'a["ticket"]')
api POST /v1/report "{\"ticket\": $T, $W, \"phase\": \"backup-start\", \"guest\": 101, \"guest_type\": \"qemu\", \"storage\": \"backup\", \"node\": \"pve1\"}"
keep free 0
keep limit 10000000
rg levers
ok 'a steered array' says '^nas1/md2 +1 +limit 10 MB/s '
ok 'with the reason below it' says '^    [^ ]'
ok 'its lever: where it stands, since when, until when, how soon a change acts' says '^block-jobs +pve1/101 +limit 10 MB/s +[-0-9]+ [0-9:]+ +[-0-9]+ [0-9:]+ +[0-9]+[.][0-9] s'
rg levers --output-format json
ok 'a delay of the lever as JSON' j '.levers[0] | "\(.delay_ms > 0) \(.delay_measured|type)"' 'true boolean'
ok 'the same as JSON' j '.levers[0] | "\(.lever) \(.target) \(.set) \(.path) \(.rate)"' 'block-jobs pve1/101 true limit 10000000'
rg status
ok 'status shows it' says '^block-jobs +pve1/101 +limit 10 MB/s'
rg levers --actions 5
ok 'what was done, newest first' says '^[-0-9]+ [0-9:]+ +block-jobs +pve1/101 +free +limit 10 MB/s +T[0-9]+$'
ok 'a count is a number' mistake '--actions' levers --actions many
ok 'a reset needs a reason' mistake 'say why' levers reset
ok 'and a span that is one' mistake '--for' levers reset --reason x --for soon
rg levers reset --reason 'disk swap' --for 2h
ok 'a reset' exits 0
ok 'says what it puts back' says '^block-jobs on pve1/101: '
keep limit 10000000
ok 'the keeper is told' test "$(get 'a["path"]')" = free
keep free 0
rg levers
ok 'for how long nothing is moved' says '^no lever is moved before [-0-9]+ [0-9:]+$'
rg levers --actions 5
ok 'the record has it put back' says '^[-0-9]+ [0-9:]+ +block-jobs +pve1/101 +free +put back'
if [ "$(id -u)" = 0 ]; then
	rg_as 12345 '' levers reset --reason x
	ok 'somebody else may not' test "$CODE" -ne 0
else
	skip 1 'needs root to be somebody else'
fi
rg levers reset --reason again --others
ok "what other gates have moved may be put back too" eval "exits 0 && says '^what other gates have moved on a NAS is put back too'"
rg levers reset --reason again
ok 'which is not done unasked' eval 'exits 0 && ! says "other gates"'
ok 'nothing is left to put back' says '^no lever was moved$'
limited() { keep limit 10000000; }
ok 'after a reset for no time it is limited again where that is needed' wait_for 30 limited
gate_kill KILL
rg levers --database "$DB"
ok 'a gate that is gone: the record tells what stands' says '^block-jobs +pve1/101 +limit 10 MB/s'
done_testing
