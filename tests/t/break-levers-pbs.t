#!/bin/bash
# SPDX-License-Identifier: MIT
# Where the rule on a backup server was broken once: what hurt, and that it no longer does.

# shellcheck source=tests/t/gate-lib.sh
. tests/t/gate-lib.sh
# shellcheck source=tests/t/servers-lib.sh
. tests/t/servers-lib.sh

NAME=rebuildgate-pve1

cat >"$POLICY" <<'TEXT'
name = "test";
defaults = { settle = "0"; release_interval = "0"; };
rules = ( { name = "rebuild"; when = { role = "data"; operation = ["recovery"]; };
            verdict = "throttle"; rate = "20 MB/s"; without_lever = "hold"; } );
TEXT

servers_conf() { # SETTINGS
	conf_write "$(pbs_conf "${1:-}") task_poll = \"2s\";"
	sed -i 's/name = "backup"; nas = "nas1";/name = "backup"; nas = "nas1"; pbs = "pbs1"; datastore = "store";/' "$CONF"
}
# The server is in the configuration no more.
without_server() {
	conf_write
}
rule() { state_is "$PBS" "'$NAME' in state['rules']" true; }
no_rule() { state_is "$PBS" "'$NAME' in state['rules']" false; }
back() { [ "$(query "SELECT put_back FROM lever_actions WHERE lever = 'traffic-control' ORDER BY id DESC LIMIT 1")" = 1 ]; }
reload() { kill -HUP "$GATE_PID"; }

nas_rebuild
pbs_new
server_start pbs
servers_conf
gate_start
levers_usable() { levers_are "next(l for l in a['levers'] if l['lever'] == 'traffic-control')['usable']" true; }
ok 'the lever is seen' wait_for 20 levers_usable
sleep 1000 &
STARTED+=("$!")
ask "$(worker "$!"), \"guests\": [100], \"n_qemu\": 0"
ok 'a job writes, our rule is set' wait_for 20 rule

# A rule recurs each week at its time: one that nobody deletes throttles for good.
without_server
reload
ok 'its server goes from the configuration: the rule is deleted all the same' wait_for 20 no_rule
ok 'and the record says so' wait_for 10 back

servers_conf
reload
ok 'it comes back, and is used again' wait_for 20 rule
gate_kill KILL
servers_conf 'throttle = false;'
gate_start
ok 'killed, and no longer to throttle: what it left goes' wait_for 20 no_rule
ok 'also in the record' wait_for 10 back

servers_conf
reload
wait_for 20 rule
gate_kill KILL
without_server
gate_start
ok 'killed, and the server no longer there: that is told' logged "'pbs1', which is not configured any more: it acts again each week"
gate_kill TERM
BEGAN=$SECONDS
ok 'what nobody can put back does not fail the end of the unit' "$BUILD/rebuildgated" --config "$CONF" --put-back
ok 'nor does it last' test $((SECONDS - BEGAN)) -lt 5
servers_conf
ok 'configured again' "$BUILD/rebuildgated" --config "$CONF" --put-back
ok 'it goes' no_rule
ok 'and the record says so' back

gate_start
wait_for 20 rule
gate_kill KILL
without_server
gate_start
api POST /v1/levers/reset '{"reason": "deleted there by hand"}'
ok 'at a reset what is where nobody looks after it is the operator'"'"'s' back
gate_kill TERM
servers_conf
gate_start
wait_for 20 rule
gate_kill TERM

# --- its address is another one: the rule stays at the old one, not at the new one ---------------------------
OTHER=$SCRATCH/other
other_start() {
	rm -f "$OTHER/ready"
	python3 tests/fakes/pbs.py --state "$OTHER" --listen "127.0.0.1:${OTHER_PORT:-0}" --cert "$SCRATCH/server.pem" </dev/null >>"$OTHER/out" 2>&1 &
	OTHER_PID=$!
	STARTED+=("$OTHER_PID")
	wait_for 20 test -s "$OTHER/ready" || { echo 'Bail out! the other server does not start'; exit 1; }
	OTHER_PORT=$(sed -n '1s/ .*//p' "$OTHER/ready")
}
other_conf() {
	servers_conf
	sed -i "s|https://127.0.0.1:$PBS_PORT|https://127.0.0.1:$OTHER_PORT|" "$CONF"
}
other_rule() { state_is "$OTHER" "'$NAME' in state['rules']" true; }
other_no_rule() { state_is "$OTHER" "'$NAME' in state['rules']" false; }
last() { # TARGET: whether the record has it put back
	query "SELECT put_back FROM lever_actions WHERE lever = 'traffic-control' AND target = '$1' ORDER BY id DESC LIMIT 1"
}
last_is() { [ "$(last "$1")" = "$2" ] || { echo "# $1: '$(last "$1")'" >"$SCRATCH/said"; return 1; }; }
trouble_has() { # TARGET TEXT: a lever says that
	levers_are "[l['target'] for l in a['levers'] if l['target'] == '$1' and '$2' in l['trouble']]" "['$1']"
}

mkdir "$OTHER"
cp "$PBS/state.json" "$OTHER/state.json"
other_start
FIRST="pbs1 at https://127.0.0.1:$PBS_PORT" SECOND="pbs1 at https://127.0.0.1:$OTHER_PORT"
gate_start
ok 'the rule is set' wait_for 20 rule
other_conf
reload
ok 'the address is changed: the rule goes from the old one' wait_for 20 no_rule
ok 'and comes to the new one' wait_for 20 other_rule
ok 'the record has the old one put back' wait_for 10 last_is "$FIRST" 1
ok 'and the new one moved' wait_for 10 last_is pbs1 0
ok 'nothing of the old one is shown any more' wait_for 10 levers_are "[l['target'] for l in a['levers'] if l['lever'] == 'traffic-control']" "['pbs1']"
levers_asks() { levers_are "[s['url'] for s in a['servers']]" "['https://127.0.0.1:$OTHER_PORT']"; }
ok 'nor is it a server any more' wait_for 10 levers_asks
BEFORE=$(asked "$PBS" .)
wait_for 30 asked_least "$OTHER" . $(($(asked "$OTHER" .) + 3))
ok 'nor is it asked' test "$(asked "$PBS" .)" = "$BEFORE"

server_stop "$OTHER_PID"
servers_conf
reload
ok 'changed back while the server at that address is away: that is told' wait_for 40 logged "Our traffic-control rule on '$SECOND' could not be removed.*acts again each week"
ok 'the first one has its rule meanwhile' wait_for 20 rule
ok 'the record says who has it' last_is pbs1 0
ok 'and who still has it' last_is "$SECOND" 0
ok 'with the reason' test "$(query "SELECT count(*) FROM lever_actions WHERE target = '$SECOND' AND why LIKE '%could not be removed%each week%'")" = 1
ok 'and levers show it' wait_for 10 trouble_has "$SECOND" 'could not be removed'
other_start
ok 'back again, its rule goes' wait_for 90 other_no_rule
ok 'also in the record' wait_for 10 last_is "$SECOND" 1
ok 'and where it is used it stays' rule

# A server that answers slowly delays neither the gate nor the other one's rule for long.
edit "$PBS" "fault('.', delay=5, times=2)"
other_conf
reload
sleep 0.5
ok 'the old one is slow: the gate answers' answers
ok 'the rule goes from it' wait_for 40 no_rule
ok 'the other one has it' wait_for 20 other_rule
servers_conf
reload
wait_for 20 other_no_rule
wait_for 20 rule

# The token file is the new server's by now: its token is not for the old one.
token "$SCRATCH/pbs.token" "$PBS_TOKEN:another"
edit "$OTHER" "state['tokens']['$PBS_TOKEN'].update(secret='another')" >/dev/null
other_conf
reload
ok 'another token in the file: the rule at the old address stays, told' wait_for 40 logged "rule on '$FIRST' could not be removed.*is not the one that was used there"
ok 'and the new one has its own' wait_for 20 other_rule
token "$SCRATCH/pbs.token" "$PBS_TOKEN:s3cret"
edit "$OTHER" "state['tokens']['$PBS_TOKEN'].update(secret='s3cret')" >/dev/null
servers_conf
reload
wait_for 40 other_no_rule
wait_for 20 rule

server_stop "$PBS_PID"
without_server
reload
ok 'taken out while it is away: that is told' wait_for 40 logged "Our traffic-control rule on 'pbs1' could not be removed.*acts again each week"
ok 'and recorded' wait_for 10 last_is pbs1 0
gate_kill TERM
ok 'the gate ends: what stays is told as it is' logged "traffic-control rule on 'pbs1' may still be there.*acts again each week"
server_start pbs
servers_conf
gate_start
wait_for 20 rule
gate_kill KILL
other_conf
gate_start
ok 'changed while no gate runs: the next one tells where its rule is' wait_for 10 logged "our traffic-control rule is on '$FIRST', which is not configured any more"
ok 'the new one has its own' wait_for 20 other_rule
ok 'and the record knows both' eval 'wait_for 10 last_is "$FIRST" 0 && last_is pbs1 0'
ok 'the old one is not asked: its token may be none of its own' rule
servers_conf
reload
ok 'configured with that address again, it is ours again' wait_for 20 last_is "$FIRST" 1
ok 'and goes with the gate' eval 'wait_for 20 other_no_rule && gate_kill TERM && no_rule'
ok 'nothing is left moved' test "$(last pbs1)$(last "$FIRST")$(last "$SECOND")" = 111
done_testing
