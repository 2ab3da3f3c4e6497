#!/bin/bash
# SPDX-License-Identifier: MIT
# Lever 2 with the real daemon and a backup server as strict as the real one: one rule of ours, made, changed, read back, renewed,
# put back; a server that refuses, vanishes, forgets; rules of others.

# shellcheck source=tests/t/gate-lib.sh
. tests/t/gate-lib.sh
# shellcheck source=tests/t/servers-lib.sh
. tests/t/servers-lib.sh

NAME=rebuildgate-pve1

# throttle [SETTINGS]: a rebuild throttles to a fixed rate, so that what is set is known.
throttle() {
	cat >"$POLICY" <<-TEXT
	name = "test";
	defaults = { settle = "0"; release_interval = "0"; };
	rules = ( { name = "rebuild"; when = { role = "data"; operation = ["recovery"]; };
	            verdict = "throttle"; rate = "${1:-20 MB/s}"; without_lever = "hold"; } );
	TEXT
}

servers_conf() {
	conf_write "$(pbs_conf "$1") task_poll = \"2s\";"
	sed -i 's/name = "backup"; nas = "nas1";/name = "backup"; nas = "nas1"; pbs = "pbs1"; datastore = "store";/' "$CONF"
}

rule_is() {
	state_is "$PBS" "state['rules'].get('$NAME', {}).get('$1')" "$2"
}

no_rule() {
	state_is "$PBS" "'$NAME' in state['rules']" false
}

job_runs() {
	sleep 1000 &
	JOB=$!
	STARTED+=("$JOB")
	W=$(worker "$JOB")
	ask "$W, \"guests\": [100], \"n_qemu\": 0"
	ACT=$(get 'a["act"]')
	T=$(get 'a["ticket"]')
	api POST /v1/report "{\"ticket\": $T, $W, \"phase\": \"job-start\", \"storage\": \"backup\", \"node\": \"pve1\"}"
}

job_ends() {
	api POST /v1/report "{\"ticket\": $T, $W, \"phase\": \"job-end\", \"storage\": \"backup\", \"node\": \"pve1\"}"
	kill "$JOB" 2>/dev/null
	wait "$JOB" 2>/dev/null
}

moved() {
	query "SELECT count(*) FROM lever_actions WHERE lever = 'traffic-control' AND $1"
}

moved_least() {
	[ "$(moved "$1")" -ge "$2" ]
}

# --- found at the start -----------------------------------------------------------------------------
pbs_new
edit "$PBS" "state['utc_offset'] = 7200" # its zone counts, not ours
edit "$PBS" "state['rules']['$NAME'] = {'network': ['0.0.0.0/0', '::/0'], 'rate-in': '64 KiB', 'comment': 'rebuildgate on pve1: an earlier gate; until 04:00'}
state['rules']['lunch'] = {'network': ['10.1.0.0/16'], 'rate-in': '50 MB', 'comment': 'rebuildgate on pve1: not a name of ours'}"
server_start pbs
fresh
throttle
servers_conf ''
gate_start
ok 'a rule that an earlier gate left is removed at the start' wait_for 20 no_rule
ok 'and recorded as put back' moved_least "put_back AND target = 'pbs1'" 1
ok 'a rule that is not ours stays' state_is "$PBS" "state['rules']['lunch']['rate-in']" '50 MB'
ok 'nothing is set while nothing is throttled' test "$(asked "$PBS" '^POST')" = 0
ok 'what may be done here is known by the list of the configuration' asked_least "$PBS" '^GET /api2/json/config/traffic-control 200' 1
ok 'the token is in no line of the journal' eval '! grep -q s3cret "$LOG"'

# --- set, read back ---------------------------------------------------------------------------------
nas_rebuild
wait_for 15 operation_is recovery
job_runs
ok 'a job through the server is throttled' test "$ACT" = throttle
ok 'our rule is made' wait_for 20 rule_is rate-in '20000000 B'
ok 'for all connections' rule_is network '["0.0.0.0/0", "::/0"]'
ok 'it never slows a restore' rule_is rate-out ''
ok 'its comment says which gate' eval 'edit "$PBS" "state[\"rules\"][\"$NAME\"][\"comment\"]" | grep -q "^rebuildgate on pve1: .*; until [0-9][0-9]:[0-9][0-9]"'
ok 'its time is now in the zone of the server, and ends within two hours' python3 - "$PBS/state.json" "$NAME" <<'PY'
import json, sys, time
frames = json.load(open(sys.argv[1]))["rules"][sys.argv[2]]["timeframe"]
days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
now = time.gmtime(time.time() + 7200)
minute = now.tm_wday * 1440 + now.tm_hour * 60 + now.tm_min
ends, inside = [], False
for frame in frames:
    day, span = frame.split(" ")
    a, b = [int(t.split(":")[0]) * 60 + int(t.split(":")[1]) + days.index(day) * 1440 for t in span.split("-")]
    inside = inside or a <= minute < b
    ends.append((b - minute) % 10080)
sys.exit(0 if inside and max(ends) <= 120 and len(frames) <= 2 else 1)
PY
ok 'it was recorded before it was made' moved_least "NOT put_back AND after LIKE '%20000000%' AND before = 'none'" 1
ok 'it is read back, with what passes' wait_for 20 asked_least "$PBS" '^GET /api2/json/admin/traffic-control 200' 2
ok 'the journal says that it is for all clients of that server' logged 'for all clients of that server'

# --- changed ----------------------------------------------------------------------------------------
throttle '30 MB/s'
kill -HUP "$GATE_PID"
ok 'another rate is set' wait_for 20 rule_is rate-in '30000000 B'
ok 'with the digest of what was read' eval 'python3 - "$PBS/log" <<PY
import json, sys
puts = [json.loads(l) for l in open("$PBS/log") if "\"PUT\"" in l]
sys.exit(0 if puts and all("digest=" in p["form"] for p in puts) else 1)
PY'

# --- answers that are none --------------------------------------------------------------------------------
edit "$PBS" "fault('^PUT', status=400, body='detected modified configuration - file changed by other user? Try again.', times=1)"
throttle '40 MB/s'
kill -HUP "$GATE_PID"
ok 'a change that lost against another one is made again' wait_for 20 rule_is rate-in '40000000 B'
edit "$PBS" "fault('^GET .*traffic-control', status=200, body='<html>', times=1)"
wait_for 20 state_is "$PBS" "len(state['faults'])" 0
sleep 3
ok 'one answer that is none changes nothing' rule_is rate-in '40000000 B'
edit "$PBS" "fault('^GET .*traffic-control', status=200, body='<html>', times=4)"
ok 'some in a row are told' wait_for 40 logged "Lever traffic-control on 'pbs1': the traffic-control rules"
ok 'and got over' wait_for 60 logged "Lever traffic-control on 'pbs1' works again"
ok 'then it is as it was' wait_for 30 rule_is rate-in '40000000 B'
edit "$PBS" "fault('^(PUT|GET .*traffic-control)', hang=3, times=2)"
throttle '30 MB/s'
kill -HUP "$GATE_PID"
sleep 1
ok 'a server that hangs does not hang the gate' test "$(curl -s -o /dev/null -w '%{http_code}' -m 1 --unix-socket "$SOCK" http://gate/v1/status)" = 200
ok 'and is tried again' wait_for 40 rule_is rate-in '30000000 B'

# --- somebody else ------------------------------------------------------------------------------------
edit "$PBS" "state['rules'].pop('$NAME') and None"
ok 'a rule that the server forgot is set again' wait_for 20 rule_is rate-in '30000000 B'
ok 'and that is told' logged 'was removed by somebody else, it is set again'
ok 'a more specific rule of another is warned of' wait_for 20 logged "The traffic-control rule 'lunch' on 'pbs1' is more specific than ours"
ok 'once' test "$(grep -c "rule 'lunch' on 'pbs1' is more" "$LOG")" = 1
ok 'and shown' wait_for 20 levers_are 'any("lunch" in str(p) for p in [a])' true
edit "$PBS" "state['rules']['all'] = {'network': ['0.0.0.0/0'], 'rate-in': '25 MB'}"
ok 'beside a rule for all ours is more specific' wait_for 20 rule_is network '["0.0.0.0/1", "128.0.0.0/1", "::/1", "8000::/1"]'
ok 'and never lifts its rate' rule_is rate-in '25000000 B'
edit "$PBS" "state['rules'].pop('all') and None"
ok 'alone again it is what it was' wait_for 20 rule_is rate-in '30000000 B'

# --- refused, away ----------------------------------------------------------------------------------
edit "$PBS" "state['tokens']['gate@pbs!rg']['privs']['/'] = []"
ok 'a privilege that is missing is named' wait_for 30 logged "Lever traffic-control on 'pbs1': .*the token lacks"
edit "$PBS" "state['tokens']['gate@pbs!rg']['privs']['/'] = ['Sys.Audit', 'Sys.Modify']"
gate_kill TERM
ok 'at the end the rule is removed' no_rule
ok 'and recorded as put back: nothing is moved any more' test "$(query "SELECT put_back FROM lever_actions WHERE lever = 'traffic-control' ORDER BY id DESC LIMIT 1")" = 1

gate_start
wait_for 15 operation_is recovery
ok 'after a restart a running job is throttled again' wait_for 30 rule_is rate-in '30000000 B'
gate_kill KILL
ok 'a gate that is killed leaves it there' rule_is rate-in '30000000 B'
edit "$PBS" "state['rules']['$NAME']['rate-in'] = '64 KiB'"
# The record still says that something is moved, until the next gate has it as it shall be.
ok 'and the record says so' test "$(query "SELECT put_back FROM lever_actions WHERE lever = 'traffic-control' ORDER BY id DESC LIMIT 1")" = 0
gate_start
wait_for 15 operation_is recovery
ok 'the next one sets it right' wait_for 30 rule_is rate-in '30000000 B'

server_stop "$PBS_PID"
ok 'a server that vanishes is told once' wait_for 30 logged "The API of 'pbs1' cannot be used"
ok 'and the gate still answers' answers
server_start pbs
ok 'it is used again once it is back' wait_for 90 logged "The API of 'pbs1' answers again"
job_ends
ok 'the last job has ended: the rule goes' wait_for 60 no_rule
ok 'nothing of it is left but what was there before' state_is "$PBS" "sorted(state['rules'])" '["lunch"]'

ok 'and the record says so too' test "$(query "SELECT put_back FROM lever_actions WHERE lever = 'traffic-control' ORDER BY id DESC LIMIT 1")" = 1

# --- nothing is set, and something is wrong all the same --------------------------------------------
LEVER="next(l for l in a['levers'] if l['lever'] == 'traffic-control')"
SERVER="next(s for s in a['servers'] if s['name'] == 'pbs1')"
text_says() {
	REBUILDGATE_SOCKET=$SOCK "$BUILD/rebuildgate" "$1" >"$SCRATCH/text" 2>&1
	grep -qE -- "$2" "$SCRATCH/text"
}
ok 'all is well: its lever has no trouble' wait_for 20 levers_are "${LEVER}['trouble']" null
server_stop "$PBS_PID"
ok 'a server that fails while nothing is set: its lever says so' wait_for 30 levers_are "'cannot connect' in (${LEVER}['trouble'] or '')" true
ok 'also as text' wait_for 5 text_says levers '^    .*cannot connect'
ok 'and in status' wait_for 5 text_says status '^ *traffic-control +pbs1 +free'
server_start pbs
ok 'it is back, and the trouble gone' wait_for 90 levers_are "${LEVER}['trouble']" null
edit "$PBS" "state['datastores'].update(moved=state['datastores'].pop('store')) and None"
sed -i 's/datastore = "store"/datastore = "gone"/' "$CONF"
gate_kill TERM
gate_start
ok 'a datastore that is not there is a trouble of its server' wait_for 60 levers_are "${SERVER}['text']" "there is no datastore 'gone', which storage 'backup' names"
ok 'which can be used all the same' levers_are "${SERVER}['ok']" true
ok 'in the text of levers' text_says levers "^backup server pbs1: there is no datastore 'gone', which storage 'backup' names"
ok 'and of status' text_says status "backup server pbs1: there is no datastore 'gone'"
sed -i 's/datastore = "gone"/datastore = "moved"/' "$CONF"
kill -HUP "$GATE_PID"
ok 'another one is named that is: the trouble is gone' wait_for 30 levers_are "${SERVER}['text']" null
edit "$PBS" "state['datastores'].update(store=state['datastores'].pop('moved')) and None"
servers_conf ''
kill -HUP "$GATE_PID"

# --- a job that never asked ---------------------------------------------------------------------------
UPID=$(edit "$PBS" "task('backup', 'store:vm/200')")
ok 'a job that never asked is seen' wait_for 30 logged 'A backup of store:vm/200 by .* never asked'
sleep 3
ok 'by a rule that leaves running jobs alone it is left alone' no_rule
throttle '30 MB/s"; running = "throttle'
kill -HUP "$GATE_PID"
ok 'else it is throttled through its server' wait_for 20 rule_is rate-in '30000000 B'
ok 'and that is said, once' test "$(wait_for 20 logged 'UPID.*is throttled: by a rule on backup server' && grep -c 'is throttled: by a rule on backup server .pbs1. ticket=0' "$LOG")" = 1
edit "$PBS" "finish(r'$UPID')" >/dev/null
ok 'when it ends the rule goes' wait_for 60 no_rule
throttle '30 MB/s'
kill -HUP "$GATE_PID"

# --- a gate that is gone for good -----------------------------------------------------------------------
job_runs
wait_for 20 rule_is rate-in '30000000 B'
gate_kill KILL
"$BUILD/rebuildgated" --config "$CONF" --put-back >>"$LOG" 2>&1
ok 'without a gate it is put back as well' test $? = 0
ok 'so that it is gone' no_rule
kill "$JOB"
gate_start

# --- narrowed --------------------------------------------------------------------------------------------
wait_for 60 no_rule
servers_conf 'networks = ["192.0.2.0/24", "2001:db8::/32"];'
kill -HUP "$GATE_PID"
wait_for 15 operation_is recovery
job_runs
ok 'networks narrow the rule' wait_for 30 rule_is network '["192.0.2.0/24", "2001:db8::/32"]'
ok 'and the journal says for whom it is' wait_for 10 logged 'It is for clients in 192.0.2.0/24, 2001:db8::/32'
servers_conf ''
kill -HUP "$GATE_PID"
ok 'a reload without them widens it' wait_for 30 rule_is network '["0.0.0.0/0", "::/0"]'
job_ends

# --- not allowed ------------------------------------------------------------------------------------
gate_kill TERM
servers_conf 'throttle = false;'
gate_start
wait_for 15 operation_is recovery
job_runs
ok 'a server that may not be throttled is no lever' test "$ACT" = hold
sleep 3
ok 'and gets no rule' no_rule
kill "$JOB"

# --- a certificate, a token ---------------------------------------------------------------------------
gate_kill TERM
FINGERPRINT=${FINGERPRINT//[0-9]/9}
servers_conf ''
BEFORE=$(asked "$PBS" '.')
gate_start
ok 'another certificate than the one that was named is not trusted' wait_for 20 logged "The API of 'pbs1' cannot be used: .*certificate"
sed -i 's/fingerprints = [^;]*;//' "$CONF"
gate_kill TERM
gate_start
ok 'none that was named, and one that signed itself: the setting that would be right is said' wait_for 20 logged "The API of 'pbs1' cannot be used: .*set fingerprints = ..[0-9A-F:]*"
ok 'and is sent nothing' test "$(asked "$PBS" '.')" = "$BEFORE"
gate_kill TERM
FINGERPRINT=$(openssl x509 -in "$SCRATCH/server.crt" -noout -fingerprint -sha256 | sed 's/.*=//')
servers_conf ''
chmod 644 "$SCRATCH/pbs.token"
gate_start
ok 'a token that others can read is not used' wait_for 20 logged "The API of 'pbs1' cannot be used: .*pbs.token"
gate_kill TERM
chmod 600 "$SCRATCH/pbs.token"
token "$SCRATCH/pbs.token" "$PBS_TOKEN:wrong"
: >"$LOG"
gate_start
ok 'a token that is refused is told' wait_for 20 logged 'refuses the token'
ok 'and not tried again and again' test "$(asked "$PBS" ' 401$')" -le 3
done_testing
