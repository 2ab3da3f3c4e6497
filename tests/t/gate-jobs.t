#!/bin/bash
# SPDX-License-Identifier: MIT
# What jobs ask and are told: go, held, let go, expired, lost; and what the record says of it.

# shellcheck source=tests/t/gate-lib.sh
. tests/t/gate-lib.sh

sleep 1000 &
WORKER=$!
STARTED+=("$WORKER")
W=$(worker "$WORKER")

# --- an array at rest -----------------------------------------------------------------------------
fresh
gate_start
ask "$W"
ok 'an idle array lets a job go' is 'a["act"]' allow
ok 'by no rule' is 'a["step"]' 6
ok 'it is recorded before it is answered' is 'a["recorded"]' true
ok 'the decision has an id' is 'a["decision"]' 1
ok 'which the database has' test "$(query 'SELECT act FROM decisions WHERE id = 1')" = allow
ok 'and the journal' logged 'decision=1 ticket=1 verdict=allow .*storage=backup'
api POST /v1/report "{\"ticket\": 1, $W, \"phase\": \"job-start\"}"
ok 'a report is taken' status_is 200
ok 'the job runs then' ticket_is 1 running
api POST /v1/report "{\"ticket\": 1, $W, \"phase\": \"backup-start\", \"guest\": 101, \"guest_type\": \"qemu\", \"hostname\": \"web\"}"
ok 'its guest is told' is 'a' '{}'
ok 'and recorded' test "$(query 'SELECT outcome FROM guests WHERE ticket = 1 AND guest = 101')" = running
api POST /v1/report "{\"ticket\": 1, $W, \"phase\": \"backup-end\", \"guest\": 101, \"target\": \"/dump/a.vma\"}"
ok 'with its end' test "$(query 'SELECT outcome FROM guests WHERE ticket = 1 AND guest = 101')" = "done"
api POST /v1/report "{\"ticket\": 1, $W, \"phase\": \"job-end\"}"
ok 'and ends' ticket_is 1 ended

# --- a rebuild ------------------------------------------------------------------------------------
nas_rebuild 40
ok 'a rebuild is seen' wait_for 15 operation_is recovery
ask "$W"
ok 'a rebuild holds' is 'a["act"]' hold
ok 'by its rule' is 'a["rule"]' rebuild
ok 'with its array' is 'a["array"]' md2
ok 'and its facts' is 'a["facts"]["operation"]' recovery
ok 'the first answer comes at once' is 'a["ticket"]' 2
ok 'it says how long at most' is '0 < a["ends_in_ms"] <= 8 * 3600000' true
ok 'and what comes then' is 'a["then"]' throttle
api GET /v1/check?storage=backup
ok 'check says the same' is 'a["act"]' hold
ok 'and records nothing' test "$(query 'SELECT count(*) FROM decisions WHERE client = '"'check'")" = 0
api GET /v1/status
ok 'status shows the ticket' is 'a["tickets"][0]["state"]' held
ok 'and the storage' is 'a["storages"][0]["act"]' hold
ask "$W, \"ticket\": 2, \"wait_ms\": 300"
ok 'asked again, it is still held when the time is over' is 'a["act"]' hold
ok 'on the same ticket' is 'a["ticket"]' 2
ask "$W"
ok 'a hook that forgot its ticket gets it back' is 'a["ticket"]' 2
later "$SCRATCH/answer" "$W, \"ticket\": 2, \"wait_ms\": 25000"
nas_idle
ok 'who waits is answered when the rebuild is done' wait_for 20 test -s "$SCRATCH/answer"
ok 'with go' test "$(get 'a["act"]' "$SCRATCH/answer")" = allow
ok 'and a new decision' test "$(get 'a["decision"]' "$SCRATCH/answer")" -gt 2
ok 'the time held is told' test "$(get 'a["held_ms"] > 0' "$SCRATCH/answer")" = true

# --- an operator ----------------------------------------------------------------------------------
nas_rebuild 50
wait_for 15 operation_is recovery
sleep 1000 &
OTHER=$!
STARTED+=("$OTHER")
V=$(worker "$OTHER")
ask "$V"
T=$(get 'a["ticket"]')
ok 'another job is held' is 'a["act"]' hold
api POST "/v1/tickets/$T/release" '{"reason": "  "}'
ok 'a release needs a reason' status_is 400
later "$SCRATCH/released" "$V, \"ticket\": $T, \"wait_ms\": 25000"
api POST "/v1/tickets/$T/release" '{"reason": "the boss wants it"}'
ok 'with one it is taken' status_is 200
ok 'and who waits is answered' wait_for 10 test -s "$SCRATCH/released"
ok 'with go' test "$(get 'a["act"]' "$SCRATCH/released")" = allow
ok 'and by whom' test "$(get 'a["released_by"]' "$SCRATCH/released")" = root
api POST "/v1/tickets/$T/release" '{"reason": "again"}'
ok 'what is not held cannot be released' status_is 409
api POST /v1/tickets/999/release '{"reason": "none"}'
ok 'nor what is not there' status_is 404
api POST /v1/withdraw "{\"ticket\": $T, $V}"
ok 'a released job may give up before it starts' status_is 200
ok 'and is withdrawn' ticket_is "$T" withdrawn

UNTIL=$(($(date +%s) * 1000 + 3600000))
ask "$V"
T=$(get 'a["ticket"]')
later "$SCRATCH/overridden" "$V, \"ticket\": $T, \"wait_ms\": 25000"
api POST /v1/overrides "{\"verdict\": \"allow\", \"storage\": \"backup\", \"until_utc_ms\": $UNTIL, \"reason\": \"3 a.m.\"}"
ok 'an override is taken' status_is 200
ID=$(get 'a["id"]')
ok 'it names who made it' is 'a["by"]' root
ok 'and lets held jobs go' wait_for 10 test -s "$SCRATCH/overridden"
ok 'at step 2' test "$(get 'a["step"]' "$SCRATCH/overridden")" = 2
api GET /v1/overrides
ok 'it is listed' is 'a["overrides"][0]["reason"]' '3 a.m.'
api DELETE "/v1/overrides/$ID"
ok 'it can be cancelled' status_is 200
api DELETE "/v1/overrides/$ID"
ok 'once' status_is 404
api GET /v1/overrides
ok 'then it is not in force' is 'len(a["overrides"])' 0
api GET '/v1/overrides?all=1'
ok 'but remembered' is 'a["overrides"][0]["cancelled_by"]' root
api POST /v1/overrides '{"verdict": "allow", "until_utc_ms": 1000, "reason": "past"}'
ok 'an override that is over is refused' status_is 400
api POST /v1/overrides "{\"verdict\": \"allow\", \"until_utc_ms\": $UNTIL}"
ok 'so is one without a reason' status_is 400
api POST /v1/overrides "{\"verdict\": \"maybe\", \"until_utc_ms\": $UNTIL, \"reason\": \"x\"}"
ok 'or without a verdict that we know' status_is 400

# --- processes that end -----------------------------------------------------------------------------
api GET /v1/check?storage=backup
sleep 1000 &
THIRD=$!
STARTED+=("$THIRD")
X=$(worker "$THIRD")
ask "$X"
T3=$(get 'a["ticket"]')
ok 'a third job is held' is 'a["act"]' hold
kill "$THIRD"
wait "$THIRD" 2>/dev/null
ok 'when its process ends it is withdrawn' wait_for 10 ticket_is "$T3" withdrawn
api POST /v1/report "{\"ticket\": $T, $V, \"phase\": \"job-start\"}"
ok 'the second job runs' ticket_is "$T" running
kill "$OTHER"
wait "$OTHER" 2>/dev/null
ok 'when its process ends without a word it is lost' wait_for 10 ticket_is "$T" lost
ok 'which the record has an event of' test "$(query "SELECT count(*) FROM ticket_events WHERE ticket = $T AND after = 'lost'")" = 1
ask "\"worker\": {\"pid\": $THIRD, \"start_ticks\": 1, \"boot_id\": \"$(cat /proc/sys/kernel/random/boot_id)\"}"
T4=$(get 'a["ticket"]')
ok 'a process that is gone before it asked holds nothing' wait_for 10 ticket_is "$T4" withdrawn

# --- reports of unknown jobs ------------------------------------------------------------------------
api POST /v1/report '{"ticket": 0, "worker": {"pid": 7, "start_ticks": 9, "boot_id": "another"}, "phase": "backup-start", "guest": 200, "storage": "backup", "node": "pve2"}'
ok 'a report of an unknown job is taken' status_is 200
api GET /v1/tickets
ok 'and makes its ticket' is 'a["tickets"][-1]["node"]' pve2
ok 'as running' is 'a["tickets"][-1]["state"]' running
T5=$(get 'a["tickets"][-1]["ticket"]')
api POST /v1/report '{"ticket": 0, "worker": {"pid": 7, "start_ticks": 9, "boot_id": "another"}, "phase": "job-abort"}'
ok 'which its abort ends' ticket_is "$T5" ended
ok 'with its guest' test "$(query "SELECT outcome FROM guests WHERE ticket = $T5")" = aborted

# --- inside a job -----------------------------------------------------------------------------------
ask "$W, \"ticket\": 2, \"phase\": \"job-start\""
ok 'a rebuild inside a job makes it wait there first' is 'a["act"]' hold
ok 'for the recheck at most' is 'a["ends_in_ms"] <= 1000' true
ask "$W, \"ticket\": 2, \"phase\": \"job-start\", \"wait_ms\": 20000"
ok 'then it goes on' is 'a["act"]' allow
api POST /v1/report "{\"ticket\": 2, $W, \"phase\": \"job-end\"}"

# --- a hold that expires ------------------------------------------------------------------------------
gate_kill TERM
MAX_HOLD=3s policy_write
gate_start
ask "$W"
T=$(get 'a["ticket"]')
ok 'a hold' is 'a["act"]' hold
ask "$W, \"ticket\": $T, \"wait_ms\": 20000"
ok 'ends when its time is over' is 'a["verdict"]' throttle
ok 'and its keepers slow it: a lever is there' is 'a["act"]' throttle
api POST /v1/report "{\"ticket\": $T, $W, \"phase\": \"job-end\"}"

# --- the log ------------------------------------------------------------------------------------------
api GET '/v1/log?limit=2'
ok 'the log comes in pages' is 'len(a["decisions"])' 2
NEXT=$(get 'a["next"]')
FIRST=$(get 'a["decisions"][1]["id"]')
api GET "/v1/log?limit=2&before=$NEXT"
ok 'the next one goes on' is "a['decisions'][0]['id'] < $FIRST" true
api GET '/v1/log?verdict=hold&storage=backup'
ok 'it can be filtered' is 'all(d["verdict"] == "hold" for d in a["decisions"]) and len(a["decisions"]) > 2' true
api GET '/v1/log?after=0&limit=3'
ok 'and followed' is '[d["id"] for d in a["decisions"]]' '[1, 2, 3]'
api GET '/v1/log?since=x'
ok 'a filter that is none is refused' status_is 400
api GET '/v1/log?verdict=perhaps'
ok 'so is a verdict that is none' status_is 400
api GET /v1/log/stats
ok 'it can be counted' is 'a["verdicts"]["hold"] > 2' true
api GET /v1/decisions/2
ok 'a decision can be had whole' is 'a["inputs"]["facts"]["arrays"][0]["operation"]' recovery
ok 'with the policy that it was made by' is '"rebuild" in a["policy_text"]' true
api GET /v1/decisions/99999
ok 'one that is not there cannot' status_is 404
api GET /v1/policy
ok 'the policy is told' is 'a["name"]' test
HASH=$(get 'a["hash"]')
ok 'its hash is that of its text' test "$(get 'a["text"]' | head -c -1 | sha256sum | cut -d' ' -f1)" = "$HASH"
api GET /metrics
ok 'metrics name NAS and array' grep -q '^rebuildgate_md_missing_disks{nas="nas1",md="md2"} 1$' "$OUT"
ok 'and count decisions' grep -Eq '^rebuildgate_decisions_total\{verdict="hold"\} [1-9]' "$OUT"
gate_kill TERM
ok 'SIGTERM ends it well' test "$GATE_STATUS" = 0
ok 'the head is in the journal' logged "The record's head decision=[1-9][0-9]* hash=[0-9a-f]{64}"
if [ -x "$BUILD/rebuildgate" ]; then
	ok 'the chain verifies' eval '"$BUILD/rebuildgate" log verify --database "$DB" >"$OUT" 2>&1'
fi
done_testing
