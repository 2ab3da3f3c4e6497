#!/bin/bash
# SPDX-License-Identifier: MIT
# A busy daemon is killed with -9 at random points, KILLS times (200): the record is whole, whatever was answered is in it, and
# every job that was held is let go in the end. The NAS is a folder here whose array rebuilds and is done by turns.
# shellcheck disable=SC1091 source=tests/t/gate-lib.sh
. tests/t/gate-lib.sh

KILLS=${KILLS:-200}
PATIENCE=${PATIENCE:-240}
WORK=$SCRATCH/work
mkdir -p "$WORK/etc/pve" "$WORK/run" "$WORK/var/lib/pve-manager/jobs"
gate() {
	"$BUILD/rebuildgate" --socket "$SOCK" "$@"
}

# --- askers: each asks, is held or not, runs, ends, and asks again until $WORK/stop is there ---------------------------------
# What they were answered goes to $WORK/NAME.answers as "DECISION TICKET"; what went wrong to $WORK/NAME.wrong.
rounds() { # NAME COMMAND...
	local name=$1 n=0
	shift
	while [ ! -e "$WORK/stop" ]; do
		"$@" "$name" >>"$WORK/$name.log" 2>&1 || echo "round $n of $name: exit status $?" >>"$WORK/$name.wrong"
		n=$((n + 1))
	done
	echo "$n" >"$WORK/$name.rounds"
	sed -nE 's/.*\[decision ([0-9]+), T([0-9]+)\].*/\1 \2/p' "$WORK/$name.log" >>"$WORK/$name.answers"
	sed -nE 's/.*release T([0-9]+) .*\[decision ([0-9]+)\].*/\2 \1/p' "$WORK/$name.log" >>"$WORK/$name.answers"
}

# Any command behind the gate.
run_client() {
	gate run --storage backup --wait-for-gate 10min --if-gate-down deny -- sleep 0.1
}

# A whole vzdump job.
vzdump_client() {
	perl tests/fakes/vzdump.pl run --hook "$BUILD/rebuildgate-vzdump" --log "$WORK/$1.log" --storage backup --node "$1" \
		--guest 101:qemu:snapshot:a --guest 102:lxc:snapshot:b \
		--env "REBUILDGATE_HOOK_CONF=$WORK/hook.conf" --env "REBUILDGATE_HOOK_ROOT=$WORK"
}

# The API, asked as fast as it answers: each answer is noted as it comes, also those that say hold.
api_client() {
	local out=$WORK/$1.out me=$BASHPID worker ticket=0 told act='' decision
	worker=$(worker "$me")
	while [ "$act" != allow ]; do
		ask_body "$worker, \"client\": \"run\", \"node\": \"$1\", \"ticket\": $ticket, \"wait_ms\": 700" >"$out.body"
		: >"$out"
		curl -s -m 10 --unix-socket "$SOCK" -o "$out" --data-binary "@$out.body" http://gate/v1/ask || continue
		read -r act told decision <<<"$(jq -r 'select(.decision > 0) | "\(.act) \(.ticket) \(.decision)"' "$out" 2>/dev/null)"
		[ -n "$act" ] || continue
		ticket=$told
		echo "$decision $ticket" >>"$WORK/$1.answers"
	done
	curl -s -m 10 --unix-socket "$SOCK" -o /dev/null http://gate/v1/report \
		--data-binary "{\"ticket\": $ticket, $worker, \"phase\": \"run-end\", \"exit_status\": 0}"
	return 0
}

fresh
cat >"$POLICY" <<'TEXT'
name = "kill";
defaults = { settle = "0"; release_interval = "0"; recheck = "2min"; max_running = 8; };
rules = ( { name = "rebuild"; when = { operation = "recovery"; }; verdict = "hold"; max_hold = "8h"; mid_job = "allow"; } );
TEXT
printf 'gate = "%s"; hooks_dir = ""; hooks_early_dir = ""; wait_for_gate = "10min"; if_gate_down = "deny";\n' "$SOCK" >"$WORK/hook.conf"
gate_start
ASKERS=()
for name in run1 run2; do
	rounds "$name" run_client &
	ASKERS+=("$!")
done
for name in dump1 dump2; do
	rounds "$name" vzdump_client &
	ASKERS+=("$!")
done
for name in api1 api2; do
	rounds "$name" api_client &
	ASKERS+=("$!")
done
STARTED+=("${ASKERS[@]}")

# --- the kills -------------------------------------------------------------------------------------------------------------
# At a random point: every third while it starts, else in the middle of its work.
for ((kills = 0; kills < KILLS; kills++)); do
	case $((kills % 8)) in
	0) nas_rebuild $((kills % 90)) ;;
	4) nas_idle ;;
	esac
	sleep "0.$(printf %03d $((RANDOM % (kills % 3 ? 900 : 90))))"
	gate_kill KILL
	[ "$GATE_STATUS" = 137 ] || echo "# ended by itself with $GATE_STATUS before kill $kills"
	gate_spawn
done
up=$(grep -c 'The gate is open' "$LOG")
ok "killed $KILLS times, $up times at work" [ "$up" -gt $((KILLS / 2)) ]
ok 'then it answers' wait_for 60 answers
nas_rebuild 50
ok 'and sees' wait_for 60 operation_is recovery

# --- the end: each asker finishes its round ------------------------------------------------------------------------------------
held() {
	api GET /v1/tickets
	[ "$(get 'sum(t["state"] == "held" for t in a["tickets"])')" -ge "$1" ]
}
ok 'jobs are held' wait_for 60 held 4
touch "$WORK/stop"
nas_idle
askers_gone() {
	! kill -0 "${ASKERS[@]}" 2>/dev/null
}
ok 'every job that is held is let go' wait_for "$PATIENCE" askers_gone
ok 'no job failed or went without the gate' eval '! cat "$WORK"/*.wrong 2>/dev/null && ! grep -hE "UNGATED|ungated$|DENIED" "$WORK"/*.log'
for name in run1 run2 dump1 dump2 api1 api2; do
	ok "$name did $(cat "$WORK/$name.rounds") rounds" [ "$(cat "$WORK/$name.rounds")" -ge 3 ]
done
ok 'nothing is left' wait_for 30 eval 'api GET /v1/tickets; is "len(a[\"tickets\"])" 0'

# --- the record ------------------------------------------------------------------------------------------------------------
sort -u "$WORK"/*.answers >"$WORK/answers"
ok "what was answered, $(wc -l <"$WORK/answers") times, is in the record" test -s "$WORK/answers"
missing=$(sqlite3 -readonly "$DB" 'SELECT id, ticket FROM decisions' | tr '|' ' ' | sort | comm -13 - "$WORK/answers")
ok 'all of it, with its ticket' test -z "$missing"
[ -z "$missing" ] || sed 's/^/# missing: /' <<<"$missing"
lost=$(query "SELECT ticket, before, after, why FROM ticket_events WHERE before = 'held' AND after IN ('withdrawn', 'lost')")
ok 'no job was lost while it was held' test -z "$lost"
[ -z "$lost" ] || sed 's/^/# lost: /' <<<"$lost"
ok 'holds were among them' test "$(query "SELECT count(DISTINCT ticket) FROM decisions WHERE act = 'hold'")" -ge 10
ok 'no id was given twice or skipped' test "$(query 'SELECT max(id) - min(id) + 1 - count(*) FROM decisions')" = 0
ok 'the daemon never had to do without its record' eval '! logged "record cannot be written"'
gate_kill TERM
ok 'the chain verifies' gate log verify --database "$DB"
again=$(gate replay --database "$DB")
ok "all is decided the same again: ${again##*$'\n'}" grep -Eq '^([0-9]+) decisions, \1 identical' <<<"$again"
done_testing
