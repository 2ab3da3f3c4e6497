#!/bin/bash
# SPDX-License-Identifier: MIT
# The daemon throttles through a backup server: one rule of ours there, recorded before it is made, renewed, removed; and what it does when
# the server refuses, is away, or forgets.

# shellcheck source=tests/t/gate-lib.sh
. tests/t/gate-lib.sh

PBS=$SCRATCH/pbs
mkdir "$PBS"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=pbs -keyout "$PBS/key.pem" -out "$PBS/cert.pem" 2>/dev/null ||
	skip_all 'cannot make a certificate'
PRINT=$(openssl x509 -in "$PBS/cert.pem" -noout -fingerprint -sha256 | sed 's/.*=//')

pbs_state() {
	rm -f "$PBS/state.json" "$PBS/log"
	cat >"$PBS/state.json" <<-'TEXT'
	{"tokens": {"gate@pbs!rg": {"secret": "s3cret", "privs": {"/": ["Sys.Audit", "Sys.Modify"], "/system/tasks": ["Sys.Audit", "Sys.Modify"], "/datastore/store1": ["Datastore.Audit"], "/datastore/store3": ["Datastore.Audit"]}}},
	 "datastores": {"store1": {"namespaces": {"": []}}, "store2": {"namespaces": {"": []}}, "store3": {"namespaces": {"": []}}, "unseen": {"namespaces": {"": []}}}}
	TEXT
}
pbs_start() {
	rm -f "$PBS/ready"
	python3 tests/fakes/pbs.py --state "$PBS" --listen "127.0.0.1:${PBS_PORT:-0}" --cert "$PBS/cert.pem" --key "$PBS/key.pem" "$@" >"$PBS/out" 2>&1 </dev/null &
	PBS_PID=$!
	STARTED+=("$PBS_PID")
	wait_for 20 test -s "$PBS/ready" || { echo 'Bail out! the fake backup server does not start'; cat "$PBS/out"; exit 1; }
	PBS_PORT=$(head -n 1 "$PBS/ready" | cut -d' ' -f1)
}
pbs_stop() {
	kill "$PBS_PID" 2>/dev/null
	wait "$PBS_PID" 2>/dev/null
}
pbs() { python3 tests/fakes/proxmox.py "$PBS" "$1"; }
quiet() { "$@" >/dev/null 2>&1; } # what a wait says on its way is no news
ours() { pbs 'len([n for n, r in state.get("rules", {}).items() if n != "theirs"])'; }
rate() { pbs '[r.get("rate-in") for n, r in state.get("rules", {}).items() if n != "theirs"]'; }
rules_are() { [ "$(ours)" = "$1" ] || { echo "# $(ours) rules"; return 1; }; }
rate_is() { [[ "$(rate)" == *"$1"* ]] || { echo "# $(rate)"; return 1; }; }

rules() {
	cat >"$POLICY" <<-TEXT
	name = "test";
	defaults = { settle = "0"; release_interval = "0"; recheck = "1s"; max_running = 9; };
	rules = ( { name = "rebuild"; when = { role = "data"; operation = ["recovery"]; }; $1 } );
	TEXT
}

conf() {
	conf_write "pbs = ( { name = \"pbs1\"; url = \"https://127.0.0.1:$PBS_PORT\"; token_file = \"$SCRATCH/token\"; fingerprints = [\"$PRINT\"]; } );"
	python3 - "$CONF" "$NAS" <<-'PY'
	import sys
	text = open(sys.argv[1]).read()
	text = text.replace('{ name = "backup"; nas = "nas1"; }', '{ name = "backup"; nas = "nas1"; pbs = "pbs1"; datastore = "store1"; }, { name = "other"; nas = "nas1"; pbs = "pbs1"; datastore = "store2"; }')
	text = text.replace('poll = "1s";\n', 'poll = "1s";\ntask_poll = "2s";\n', 1)
	open(sys.argv[1], "w").write(text)
	PY
}

begin() { # RULE [ARGUMENT...]: a gate, a backup server, all is well
	local rule=$1
	shift
	gate_kill TERM
	[ -z "${PBS_PID:-}" ] || pbs_stop
	fresh
	pbs_state
	pbs_start "$@"
	rules "$rule"
	conf
	gate_start
	answers || { echo 'Bail out! the gate does not start'; exit 1; }
}

job() {
	local who
	sleep 1000 &
	STARTED+=("$!")
	who=$(worker "$!")
	W=$who
	ask "$who${1:+, $1}"
	T=$(get 'a["ticket"]')
}
end() { api POST /v1/report "{\"ticket\": $T, $W, \"phase\": \"job-end\"}"; }
lever_is() {
	api GET /v1/levers
	is "next(l for l in a['levers'] if l['lever'] == 'traffic-control')$1" "$2"
}
is_back() {
	[ "$(query "SELECT put_back FROM lever_actions WHERE lever = 'traffic-control' ORDER BY id DESC LIMIT 1")" = 1 ]
}

printf 'gate@pbs!rg:s3cret\n' >"$SCRATCH/token"
chmod 600 "$SCRATCH/token"

# --- a rule of ours -----------------------------------------------------------------------------------
begin 'verdict = "throttle"; running = "throttle"; rate = "10 MB/s";'
ok 'the lever is seen before it is needed' wait_for 20 quiet lever_is '["usable"]' true
job '"guest_type": "lxc", "n_qemu": 0'
ok 'a container onto a backup server is let go' is 'a["act"]' allow
nas_rebuild
ok 'a disk fails: a rule of ours is made there' wait_for 15 quiet rules_are 1
ok 'with the rate' rate_is 10000000
ok 'before it was made it stood in the record' test "$(python3 - "$PBS/log" "$(query "SELECT min(time_utc) FROM lever_actions WHERE lever = 'traffic-control' AND put_back = 0" 2>/dev/null)" "$DB" <<'PY'
import json, sqlite3, sys
made = [json.loads(l) for l in open(sys.argv[1])]
made = [e["time"] for e in made if e.get("method") in ("POST", "PUT") and "traffic-control" in e.get("path", "")]
db = sqlite3.connect(sys.argv[3])
column = [r[1] for r in db.execute("PRAGMA table_info(lever_actions)") if r[1].startswith("time")][0]
first = db.execute("SELECT min(%s) FROM lever_actions WHERE lever = 'traffic-control' AND put_back = 0" % column).fetchone()[0]
print("yes" if made and first is not None and first / 1000 <= min(made) + 0.002 else "no: %s %s" % (first, made))
PY
)" = yes
ok 'levers show it' wait_for 20 quiet lever_is '["set"]' true
ok 'and which other datastores it touches, of its storages and of those that the token sees there' wait_for 20 quiet lever_is '["touches"]' "['store2', 'store3', 'any other datastore of this server']"
R=$(pbs 'task("reader", "store3:vm/101/6A5B4C3D")')
ok 'a restore from one that is no storage here asks through the same rule' wait_for 20 quiet lever_is '["touches"][-1]' 'what a restore from store3 asks for'
ok 'and does not free it' rules_are 1
pbs "finish(r'$R', 'OK')" >/dev/null
ok 'until it ends' wait_for 20 quiet lever_is '["touches"][-1]' 'any other datastore of this server'
ok 'for these the server is asked once' test "$(grep -c '"/api2/json/admin/datastore"' "$PBS/log")" = 1
ok 'and when it lapses by itself: within two hours' lever_is '["until_utc_ms"] / 1000 - __import__("time").time() > 0 and a["levers"][0]["until_utc_ms"] / 1000 - __import__("time").time() < 7200' true
api GET /v1/status
ok 'the ticket says what slows it' is 'a["tickets"][0]["lever"]["by"]' traffic-control
pbs 'state.get("rules", {}).clear()' >/dev/null
ok 'forgotten there, it is made again' wait_for 30 quiet rules_are 1
ok 'and that is said' logged 'was removed by somebody else'
api POST /v1/levers/reset '{"reason": "test", "for_ms": 600000}'
ok 'a reset removes it' wait_for 20 quiet rules_are 0
ok 'and so says the record' wait_for 10 quiet is_back
api POST /v1/levers/reset '{"reason": "test"}'
ok 'a reset for no time lets it come again' wait_for 40 quiet rules_are 1
pbs 'task("reader", "store1:vm/101/6A5B4C3D")' >/dev/null
ok 'a restore reads: the rule goes' wait_for 20 quiet rules_are 0
ok 'the journal says why' logged 'A restore reads from NAS'
pbs '[finish(t["upid"], "OK") for t in list(state["tasks"])] and None' >/dev/null
ok 'the restore is done: it comes again' wait_for 30 quiet rules_are 1
nas_idle
ok 'the rebuild ends: the rule is removed in the end' wait_for 120 quiet rules_are 0
ok 'and the record says that it is back' wait_for 10 quiet is_back
nas_rebuild
ok 'the array fails again: it is made again' wait_for 20 quiet rules_are 1
gate_kill TERM
ok 'a gate that ends removes it' rules_are 0
ok 'within a few seconds, and well' test "$GATE_STATUS" = 0

# --- a gate that is killed ----------------------------------------------------------------------------
gate_start
ok 'the next gate takes the job up and throttles it' wait_for 20 quiet rules_are 1
gate_kill KILL
ok 'killed, its rule stays' rules_are 1
nas_idle
gate_start
ok 'the next start removes it' wait_for 20 quiet rules_are 0
ok 'the journal says so' logged 'left traffic-control of pbs1 moved'
ok 'and the record' wait_for 10 quiet is_back
nas_rebuild
wait_for 20 quiet rules_are 1
gate_kill KILL
"$BUILD/rebuildgated" --put-back --config "$CONF" >"$OUT" 2>&1
ok 'put-back, without a gate, succeeds' test $? = 0
ok 'and removes it' rules_are 0
ok 'in the record as well' is_back
"$BUILD/rebuildgated" --put-back --config "$CONF" >"$OUT" 2>&1
ok 'with nothing moved it has nothing to do' test "$?:$(wc -l <"$OUT")" = 0:0
gate_start
wait_for 20 quiet rules_are 1
gate_kill KILL
pbs_stop
"$BUILD/rebuildgated" --put-back --config "$CONF" >"$OUT" 2>&1
ok 'with the server away it fails' test $? = 1
ok 'and says what is still moved' grep -q 'traffic-control of pbs1 is still moved' "$OUT"
pbs_start
"$BUILD/rebuildgated" --put-back --config "$CONF" >"$OUT" 2>&1
ok 'with the server back it succeeds' test $? = 0
ok 'there too' rules_are 0

# --- a server that refuses, and one that is away ------------------------------------------------------
begin 'verdict = "throttle"; rate = "10 MB/s"; without_lever = "allow";'
pbs 'state["tokens"]["gate@pbs!rg"]["privs"].update({"/": ["Sys.Audit"]})' >/dev/null
wait_for 20 quiet lever_is '["usable"]' true
nas_rebuild
wait_for 10 operation_is recovery
job '"guest_type": "lxc", "n_qemu": 0'
ok 'a job asks' is 'a["act"]' throttle
ok 'the server refuses: said in status' wait_for 20 quiet lever_is '["trouble"] is not None' true
ok 'and in the journal' logged "traffic-control.*pbs1.*Sys.Modify|traffic-control.*pbs1"
ok 'once' test "$(grep -c "Lever traffic-control on 'pbs1': " "$LOG")" = 1
ok 'it is not counted on any more' lever_is '["usable"]' false
at_full_speed() { logged "T$T goes at full speed"; }
ok 'the job goes on at full speed' wait_for 10 quiet at_full_speed
job '"guest_type": "lxc", "n_qemu": 0'
ok 'the next job has no lever' is 'a["act"]' allow
pbs 'state["tokens"]["gate@pbs!rg"]["privs"].update({"/": ["Sys.Audit", "Sys.Modify"]})' >/dev/null
ok 'with the privilege it is tried again' wait_for 100 quiet rules_are 1
pbs_stop
ok 'the server goes away: said' wait_for 60 quiet lever_is '["trouble"] is not None' true
pbs_start
ok 'it is back: all is well' wait_for 100 quiet lever_is '["usable"]' true
gate_kill TERM
ok 'and the rule goes with the gate' rules_are 0

# --- how late a change acts -----------------------------------------------------------------------------
coproc FLOW { exec python3 tests/fakes/flow.py; }
# shellcheck disable=SC2153
STARTED+=("$FLOW_PID")
read -r SINK <&"${FLOW[0]}"
begin 'verdict = "throttle"; rate = "20 MB/s";' --stream "0:127.0.0.1:$SINK"
# A connection looks its rule up again each second: sooner than a server promises.
pbs 'state.update(lookup_seconds=1)' >/dev/null
wait_for 20 quiet lever_is '["usable"]' true
nas_rebuild
wait_for 10 operation_is recovery
job '"guest_type": "lxc", "n_qemu": 0'
ok 'a rule is made' wait_for 20 quiet rules_are 1
echo "connect $(sed -n '2s/ .*//p' "$PBS/ready")" >&"${FLOW[1]}"
read -r <&"${FLOW[0]}"
ok 'before anything was seen it is assumed' lever_is '["delay_measured"]' false
ok 'as what the server promises, and its calls' lever_is '["delay_ms"] >= 6000' true
through() { # BYTES_S: that is set, in force, and what passes fits
	lever_is "['settled'] and abs(next(l for l in a['levers'] if l['lever'] == 'traffic-control')['moved'] - $1) < $1 / 3" true
}
to() { # RATE BYTES_S
	rules "verdict = \"throttle\"; rate = \"$1\";"
	kill -HUP "$GATE_PID"
	wait_for 10 rate_is "$2" && wait_for 30 quiet through "$2"
}
quiet wait_for 20 through 20000000
for RATE in 2 20 2 20; do
	ok "$RATE MB/s: in force where what passes is that" quiet to "$RATE MB/s" "${RATE}000000"
done
ok 'it is measured' lever_is '["delay_measured"]' true
DELAY=$(get 'next(l for l in a["levers"] if l["lever"] == "traffic-control")["delay_ms"]')
ok 'and this server is sooner than promised' test "$DELAY" -lt 5000
ok 'the text says the same' quiet eval 'REBUILDGATE_SOCKET=$SOCK "$BUILD/rebuildgate" levers >"$OUT" 2>&1; grep -E "^traffic-control +pbs1 .* $(((DELAY + 99) / 100 / 10))[.]$(((DELAY + 99) / 100 % 10)) s$" "$OUT"'
pbs 'fault(".", delay=3)' >/dev/null
ok 'it answers slowly' quiet to '2 MB/s' 2000000
api GET /v1/levers
SLOW=$(get 'next(l for l in a["levers"] if l["lever"] == "traffic-control")["delay_ms"]')
ok 'then a change acts later' test "$SLOW" -gt $((DELAY > 3000 ? DELAY : 3000)) -a "$SLOW" -le 10000
echo "# a quick server: $DELAY ms, a slow one: $SLOW ms"
pbs 'state.update(faults=[])' >/dev/null
gate_kill TERM
ok 'and the rule goes with the gate, there too' rules_are 0
done_testing
