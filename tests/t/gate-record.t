#!/bin/bash
# SPDX-License-Identifier: MIT
# A record that cannot be written: answered by if_record_fails, kept aside, taken in later; never a wrong or a late answer.

# shellcheck source=tests/t/gate-lib.sh
. tests/t/gate-lib.sh

[ "$(id -u)" = 0 ] || skip_all 'needs root, to mount a small file system'
mkdir "$SCRATCH/small"
mount -t tmpfs -o size=3m,mode=755 none "$SCRATCH/small" 2>/dev/null || skip_all 'cannot mount a tmpfs here'
MOUNTED+=("$SCRATCH/small")

record_is() {
	api GET /v1/status
	[ "$(get 'a["gate"]["record"]["ok"]')" = "$1" ]
}

fill() {
	head -c 4m /dev/zero >"$(dirname "$DB")/ballast" 2>/dev/null
	# SQLite may still grow into what its own files hold: ask until it cannot.
	while record_is true; do
		ask "\"job_id\": \"$(printf 'x%.0s' {1..40})\""
	done
}

ticket_gone() {
	api GET /v1/tickets
	[ "$(get "any(t['ticket'] == $1 for t in a['tickets'])")" = false ]
}

DB=$SCRATCH/small/db/rebuildgate.db
fresh
nas_rebuild
gate_start
wait_for 15 operation_is recovery

# --- full -------------------------------------------------------------------------------------------
sleep 1000 &
W1=$!
STARTED+=("$W1")
HELD=$(worker "$W1")
ask "$HELD"
T=$(get 'a["ticket"]')
ok 'a job is held while all is well' is 'a["act"]' hold
ok 'and recorded' is 'a["recorded"]' true
fill
ok 'the disk is full' record_is false
ok 'status says why' is '"full" in a["gate"]["record"]["text"]' true
ok 'the journal says it' logged 'The record cannot be written: .*if_record_fails \(allow\)'
sleep 1000 &
W2=$!
STARTED+=("$W2")
NEW=$(worker "$W2")
ask "$NEW"
ok 'a new job is answered by if_record_fails' is 'a["act"]' allow
ok 'though the policy says hold' is 'a["verdict"]' hold
ok 'and is told that it is not recorded' is 'a["recorded"]' false
ok 'loudly' is 'a["reasons"][0]["code"]' record_failed
T2=$(get 'a["ticket"]')
ok 'its ticket is let go' ticket_is "$T2" released
ask "$HELD, \"ticket\": $T, \"wait_ms\": 200"
ok 'what was held and recorded before is held on' is 'a["act"]' hold
api GET /v1/status
ok 'what could not be recorded waits aside' is 'a["gate"]["record"]["spilled"] > 0' true
ok 'and nothing is lost' is 'a["gate"]["record"]["lost"]' 0
UNTIL=$(($(date +%s) * 1000 + 3600000))
api POST /v1/overrides "{\"verdict\": \"deny\", \"node\": \"pve9\", \"until_utc_ms\": $UNTIL, \"reason\": \"full or not\"}"
ok 'an operator may overrule all the same' status_is 200
OVERRIDE=$(get 'a["id"]')
rm "$SCRATCH/small/db/ballast"
ok 'with room again it works again, by itself' wait_for 30 record_is true
ok 'and says so' wait_for 10 logged 'The record can be written again'
ok 'what waited is taken in' wait_for 20 eval 'api GET /v1/status; is "a[\"gate\"][\"record\"][\"spilled\"]" 0'
ok 'the decision too' test "$(query "SELECT count(*) FROM decisions WHERE ticket = $T2 AND verdict = 'hold'")" = 1
ok 'and the release that followed' test "$(query "SELECT count(*) FROM decisions WHERE ticket = $T2 AND verdict = 'allow'")" = 1
ok 'and the override' test "$(query "SELECT reason FROM overrides WHERE id = $OVERRIDE")" = 'full or not'
ask "$HELD, \"ticket\": $T, \"wait_ms\": 200"
ok 'the held job is held on' is 'a["act"]' hold
if [ -x "$BUILD/rebuildgate" ]; then
	ok 'the chain verifies' eval '"$BUILD/rebuildgate" log verify --database "$DB" >"$OUT" 2>&1'
fi

# --- full, and the configuration says deny ------------------------------------------------------------
gate_kill TERM
conf_write 'if_record_fails = "deny";'
gate_start
wait_for 15 operation_is recovery
fill
sleep 1000 &
W3=$!
STARTED+=("$W3")
ask "$(worker "$W3")"
ok 'with deny a job is turned away' is 'a["act"]' deny
T3=$(get 'a["ticket"]')
ok 'and its ticket is over' ticket_gone "$T3"
gate_kill KILL
rm "$SCRATCH/small/db/ballast"
gate_start
ok 'what waited aside outlives a sudden death' wait_for 20 eval 'test "$(query "SELECT count(*) FROM decisions WHERE ticket = $T3")" -ge 1'
ok 'in the order of asking' test "$(query 'SELECT count(*) FROM decisions a JOIN decisions b ON a.id < b.id AND a.time_utc_ms > b.time_utc_ms')" = 0

# --- unwritable at the start ---------------------------------------------------------------------------
gate_kill TERM
mount -o remount,ro "$SCRATCH/small"
conf_write
gate_start
ok 'a gate whose record cannot be written starts' answers
sleep 1000 &
W4=$!
STARTED+=("$W4")
ask "$(worker "$W4")"
ok 'and answers by if_record_fails' is 'a["act"]' allow
ok 'saying that nothing is recorded' is 'a["recorded"]' false
ok 'which is in the journal whole' logged 'Not recorded anywhere but here: \{.*"op":"decision"'
mount -o remount,rw "$SCRATCH/small"
ok 'once it can be written it is' wait_for 30 record_is true
sleep 1000 &
W5=$!
STARTED+=("$W5")
ask "$(worker "$W5")"
ok 'with the policy that it was decided by' test "$(query "SELECT count(*) FROM decisions d JOIN policies p ON p.hash = d.policy WHERE d.id = $(get 'a["decision"]')")" = 1
done_testing
