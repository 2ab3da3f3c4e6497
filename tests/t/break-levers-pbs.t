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

done_testing
