#!/bin/bash
# SPDX-License-Identifier: MIT
# The throttle on a real rebuild: a stream through a backup server's traffic control onto the array, the daemon's rule there, and
# all that can go wrong with it: it dies with the lever set, the server refuses, vanishes or forgets, a second disk fails,
# somebody restores.
# shellcheck disable=SC1091 source=tests/rig/tap.sh
. tests/rig/tap.sh
# shellcheck disable=SC1091 source=tests/rig/gatelib.sh
. tests/rig/gatelib.sh
# shellcheck disable=SC1091 source=tests/rig/pbslib.sh
. tests/rig/pbslib.sh
export RIG_DISKS=5 RIG_DISK_MIB=4000 RIG_DISKS_KIND=seek
NAS_STORAGE='pbs = "pbs1"; datastore = "store1";'
POLL=2s

RULE='name = "rebuild"; when = { operation = ["recovery"]; }; verdict = "throttle"; running = "throttle"; without_lever = "hold"; too_slow = "allow";'

# pbs_rate: what the gate's rule lets in, bytes/s; nothing where there is none.
pbs_rate() {
	pbs_rules | sed -n 's/^rebuildgate-[^ ]* \([0-9]*\) B$/\1/p'
}

lever_set() { [ -n "$(pbs_rate)" ]; }
lever_free() { [ -z "$(pbs_rules)" ]; }

# rate_is BYTES: the rule stands at that rate, as far as dividing it among jobs leaves no rest.
rate_is() {
	local rate
	rate=$(pbs_rate)
	[ -n "$rate" ] && [ "$rate" -le "$1" ] && [ "$rate" -gt $(($1 - 10)) ] || { pbs_rules && return 1; }
}

sent() { rig_stream_moved backup | cut -d ' ' -f 1; }

# sent_in SECONDS: KiB that the stream moves meanwhile.
sent_in() {
	local before
	before=$(sent)
	sleep "$1"
	echo $((($(sent) - before) / 1024))
}

# readings_until_set: how many readings there are from the first that shows the rebuild, which counts as one, until the lever is
# set. Asked from before the rebuild begins: the last reading without it has a number. One that ends between the lever's move and
# our look at it counts too; the one that was under way when the disk failed counts only if it shows the rebuild.
readings_until_set() {
	local before after shows=no without='' end=$((SECONDS + PATIENCE))
	while [ "$SECONDS" -lt "$end" ]; do
		before=$(looks)
		operation_is recovery >/dev/null && shows=yes || shows=no
		after=$(looks)
		[ "$before" = "$after" ] || continue
		[ "$shows" = no ] || break
		without=$after
		sleep 0.1
	done
	[ "$shows" = yes ] && [ -n "$without" ] || { echo "no reading without the rebuild and then one with it" && return 1; }
	wait_until lever_set && echo $(($(looks) - without))
}

# lists_until_free SINCE: how many lists of tasks the server has given out that show what began then (Unix time), until the rule
# was removed. By the server's own log, so there is none under way.
lists_until_free() {
	wait_until lever_free || return
	jq -rn --argjson since "$1" 'reduce (inputs | select(.time > $since)) as $r ({n: 0};
		if .done then . elif $r.method == "DELETE" and ($r.path | test("traffic-control/")) then .done = true
		elif $r.method == "GET" and ($r.path | test("/tasks$")) then .n += 1 else . end) | select(.done) | .n' "$PBS_DIR/log"
}

# may PRIVILEGES: what the gate's token may on /.
may() {
	pbs_state "state['tokens']['$PBS_TOKEN']['privs']['/'] = [\"$1\"]"
}

lever_says() { # JQ
	holds_true /v1/levers ".levers[] | select(.lever == \"traffic-control\") | $1"
}

# streaming: a job that writes through the server, until stream_ends.
streaming() {
	rig_stream_start backup "$(pbs_port buffered)"
	wait_until eval '[ "$(sent)" -gt 4000000 ]'
}

stream_ends() {
	rig_stream_stop backup >/dev/null
}

trap 'pbs_end; gate_cleanup' EXIT
must rig_start
must rig_make_raid6
# Less than half of what these disks can do: the rebuild is steady then, however busy this machine is.
must slow 5000
must rig_sink_start
must pbs_start "$GATE/pbs" buffered
cp "$PBS_DIR/token" "$GATE/pbs.token"

# --- a disk fails while a stream is running ---------------------------------------------------------------------------
policy_rules "{ $RULE protect = \"80%\"; over = \"60s\"; }"
gate_new "pbs = ( $(pbs_entry) ); task_poll = \"2s\";"
ok "an array at rest is seen" wait_until operation_is idle
job web --guest 101:lxc:snapshot:web --copy "$GATE/copy"
ok "a job goes at once" job_said web 'copying data of 101'
must streaming
ok "no lever is set for it" lever_free
open=$(sent_in 4)
must rig_fail vdc
must look_goes_by 1
(sleep 1 && rig_add vdc) >"$GATE/added" 2>&1 &
adding=$!
n=$(readings_until_set)
wait "$adding"
is "a disk fails and a new one is there" "$?" 0
ok "the lever is set within two readings ($n)" eval '[ "$n" -ge 1 ] && [ "$n" -le 2 ]'
ok "what is moved is in the record, with what it was before" \
	recorded "SELECT 1 FROM lever_actions WHERE lever = 'traffic-control' AND target = 'pbs1' AND put_back = 0 AND before = 'none'"
ok "the journal says whom it touches" journal 'The traffic to .pbs1. stands under our traffic-control rule'
ok "levers show it" wait_until lever_says '.set and .usable'
sleep 6
throttled=$(sent_in 6)
ok "the stream feels it ($open KiB in 4 s before, $throttled in 6 s now)" [ "$throttled" -lt $((open / 2)) ]
ok "the rebuild moves" eval 'a=$(rig_done_kib); sleep 3; [ "$(rig_done_kib)" -gt "$a" ]'
like "the rule lapses by itself" "$(pbs_state 'json.dumps(state["rules"])' 2>/dev/null || pbs_state 'str(state["rules"])')" 'timeframe'

# --- the daemon is killed with the lever set -----------------------------------------------------------------------------
gate_end KILL
ok "a killed gate leaves its rule there" lever_set
gate_start
ok "the next one finds it and goes on" eval 'wait_until lever_says .set && lever_set'
gate_end KILL
"$BUILD/rebuildgated" --put-back --config "$CONF" >"$GATE/put-back" 2>&1
ok "without a gate, put-back removes it" lever_free
gate_start
ok "a gate that comes back sets it again" wait_until lever_set
gate_end TERM
ok "one that ends puts it back" lever_free
ok "and says so in the record" \
	[ "$(record "SELECT put_back FROM lever_actions WHERE target = 'pbs1' ORDER BY id DESC LIMIT 1")" = 1 ]

# --- the server ----------------------------------------------------------------------------------------------------------
policy_rules "{ $RULE rate = \"4 MB/s\"; }"
gate_start
ok "a rule's own rate is the limit" wait_until rate_is 4000000
pbs_state 'state["rules"].clear()'
ok "a server that forgets the rule has it again" wait_until rate_is 4000000
may 'Sys.Audit'
pbs_state 'state["rules"].clear()'
ok "one that refuses: the lever is in trouble, and says why" wait_until lever_says '(.trouble | length > 10) and (.usable | not)'
ok "the journal too" wait_until journal 'Lever traffic-control on .pbs1.: .*(403|permission)'
job late --guest 102:lxc:snapshot:late
ok "a job that nothing else can slow is held, as the rule says" job_said late 'rebuildgate: held'
may 'Sys.Audit", "Sys.Modify'
ok "when it may again, it does" wait_until rate_is 4000000
ok "and says so" wait_until journal 'Lever traffic-control on .pbs1. works again'
ok "the held job goes, throttled" job_said late 'rebuildgate: go.*throttle'
job_wait late
pbs_end
ok "a server that vanishes is trouble" wait_until lever_says '.trouble | length > 10'
rig_stream_wait backup >/dev/null
must pbs_again
must streaming
ok "when it is back, its rule is taken up again" eval 'wait_until lever_says .usable && wait_until rate_is 4000000'

# --- a second disk fails -----------------------------------------------------------------------------------------------------
# What the rebuild does undisturbed is known, so that the controller needs not measure it first; the stream's jumps leave it less
# than is protected. Slices are what a new controller begins with, for three periods at least.
stream_ends
ok "what the rebuild does undisturbed is known" wait_until holds_true /v1/nas '.nas[0].arrays[] | .baseline != null'
must streaming
policy_rules "{ $RULE protect = \"80%\"; over = \"60s\"; }"
kill -HUP "$GATE_PID"
ok "the array is steered by measuring" wait_until holds_true /v1/levers '.arrays[] | .protect_ppm == 800000 and .path != "free"'
PATIENCE=240
ok "it comes to rest between slices" wait_until holds_true /v1/levers '.arrays[] | .way == "slices" and .path == "rest"'
PATIENCE=120
must rig_mdadm "mdadm /dev/md2 --quiet --fail /dev/vdd"
is "a second disk fails while it slices" "$(says /v1/levers '.arrays[0].way')" slices
ok "no redundancy is left" wait_until holds_true /v1/nas '.nas[0].arrays[] | .redundancy_left == 0'
ok "the rebuild goes on" rig_wait_mdstat 'recovery = ' 30
ok "and so does the throttle: the path is closed again" \
	wait_until eval 'lever_set && holds_true /v1/levers ".arrays[] | .jobs >= 1 and (.path == \"rest\" or .path == \"limit\")"'

# --- a restore ---------------------------------------------------------------------------------------------------------------
must wait_until holds_true /v1/levers '.arrays[] | .path == "rest" or .path == "limit"'
must wait_until lever_set
read -r upid since < <(pbs_state '"%s %.3f" % (task("reader", "store1:vm/101"), time())')
n=$(lists_until_free "$since")
ok "a restore frees the lever within two lists of tasks ($n)" eval '[ "$n" -ge 1 ] && [ "$n" -le 2 ]'
ok "the journal says why" journal '[Rr]estore'
job waits --guest 103:lxc:snapshot:waits
ok "a job that has not begun waits for it" job_said waits 'rebuildgate: held: .*restore'
pbs_state "finish(r'$upid')"
ok "it is done: the job goes" job_said waits 'rebuildgate: go'
ok "and the lever is set again" wait_until lever_set
job_wait waits

# --- the end of the rebuild ------------------------------------------------------------------------------------------------------
must fast
must rig_wait_idle 400
ok "the rebuild ends: the lever is free" wait_until lever_free
open=$(sent_in 6)
ok "and the stream is ($open KiB in 6 s)" [ "$open" -gt $((throttled * 2)) ]
stream_ends
touch "$GATE/copy"
job_wait web
is "the job ends well" "${ENDED[web]}" 0
ok "and what was moved is put back, by the record" \
	[ "$(record "SELECT put_back FROM lever_actions WHERE target = 'pbs1' ORDER BY id DESC LIMIT 1")" = 1 ]
ok "the record verifies, and decides the same again" proven
tap_done
