#!/bin/bash
# SPDX-License-Identifier: MIT
# What an adversary found about the daemon: held jobs that it forgot while it did not run itself, held jobs that it never
# looked at again.

# shellcheck source=tests/t/gate-lib.sh
. tests/t/gate-lib.sh

sleep 1000 &
WORKER=$!
STARTED+=("$WORKER")
W=$(worker "$WORKER")

# --- the gate (or the whole machine) stands still for longer than `silence` ----------------------------
fresh
conf_write 'silence = "5s";'
nas_rebuild
gate_start
wait_for 15 operation_is recovery
ask "$W"
T=$(get 'a["ticket"]')
later "$SCRATCH/waited" "$W, \"ticket\": $T, \"wait_ms\": 1000"
wait_for 10 eval 'api GET /v1/tickets; is "len(a[\"tickets\"])" 1 >/dev/null'
kill -STOP "$GATE_PID"
sleep 8
kill -CONT "$GATE_PID"
ok 'a hook that could not ask meanwhile is answered' wait_for 10 test -s "$SCRATCH/waited"
ok 'and held on' test "$(get 'a["act"]' "$SCRATCH/waited")" = hold
ask "$W, \"ticket\": $T"
ok 'under its ticket' is 'a["ticket"]' "$T"
ok 'nobody was withdrawn' eval '! logged withdrawn'
ok 'one that is silent while the gate runs is' wait_for 20 ticket_is "$T" withdrawn

# --- a ticket that ends while its hook waits: it asks anew, it does not go ungated -----------------------------
ask "$W"
T=$(get 'a["ticket"]')
later "$SCRATCH/over" "$W, \"ticket\": $T, \"wait_ms\": 20000"
sleep 0.5
api POST /v1/withdraw "{\"ticket\": $T}"
ok 'a ticket is withdrawn from below its hook' status_is 200
ok 'which is told' wait_for 10 test -s "$SCRATCH/over"
# 409 and 400 are refusals, after which a hook does as if_gate_down says at once (src/client/client.c).
ok 'but not that it is refused' test "$(get 'a["error"]["kind"]' "$SCRATCH/over")" = failed

# --- the NAS leaves the configuration while jobs are held for it ----------------------------------------------
fresh
nas_rebuild
gate_start
wait_for 15 operation_is recovery
ask "$W"
T=$(get 'a["ticket"]')
ok 'a job is held' is 'a["act"]' hold
later "$SCRATCH/gone" "$W, \"ticket\": $T, \"wait_ms\": 25000"
sed -i 's/^\s*nas = .*/nas = ( { name = "nas2"; via = "local"; root = "\/nowhere"; } );/; s/^\s*storages = .*/storages = ( );/' "$CONF"
kill -HUP "$GATE_PID"
ok 'its NAS is removed, its storage mapped to nothing' wait_for 10 logged 'loaded anew'
ok 'it is let go, not held to its last hour' wait_for 10 ticket_is "$T" released
ok 'and told' wait_for 10 test "$(get 'a["step"]' "$SCRATCH/gone")" = 3

fresh
nas_rebuild
gate_start
wait_for 15 operation_is recovery
ask "$W"
T=$(get 'a["ticket"]')
mkdir "$SCRATCH/other"
cp -r "$NAS/proc" "$SCRATCH/other/"
sed -i "s#^\\s*nas = .*#nas = ( { name = \"nas2\"; via = \"local\"; root = \"$SCRATCH/other\"; } );#; s/nas = \"nas1\"/nas = \"nas2\"/" "$CONF"
kill -HUP "$GATE_PID"
ok 'a NAS that is renamed' wait_for 15 eval 'ask "$W, \"ticket\": $T"; is "a[\"nas\"]" nas2'
ok 'still holds' is 'a["act"]' hold
ok 'the same ticket' is 'a["ticket"]' "$T"
NAS=$SCRATCH/other
nas_idle
ok 'and lets it go when its rebuild is done' wait_for 20 ticket_is "$T" released

# At a start as well: the record knows a job for a NAS that the file no longer does.
fresh
nas_rebuild
gate_start
wait_for 15 operation_is recovery
ask "$W"
T=$(get 'a["ticket"]')
gate_kill KILL
sed -i 's/^\s*nas = .*/nas = ( { name = "nas2"; via = "local"; root = "\/nowhere"; } );/; s/^\s*storages = .*/storages = ( );/' "$CONF"
gate_start
ok 'so it does after a restart' wait_for 20 ticket_is "$T" released

# --- the spill is broken: the record works without it, and so does the gate ---------------------------------------
fresh
mkdir -p "$SCRATCH/db"
head -c 1048576 /dev/urandom >"$DB-spill"
before=$(sha256sum <"$DB-spill")
gate_start
ok 'a spill that is none is no reason not to start' answers
ok 'it is told' logged 'There is no spill: .*db-spill.*: this is no spill'
ask "$W"
ok 'jobs are recorded' is 'a["recorded"]' true
ok 'and the file, whosever it is, is left alone' test "$(sha256sum <"$DB-spill")" = "$before"

# --- a NAS that says what would move a terminal ------------------------------------------------------------------------
fresh
nas_rebuild
sed -i "s/^md2 /$(printf 'md2\033[31m%%n')%s /" "$NAS/proc/mdstat"
gate_start
wait_for 15 operation_is recovery
ask "$W"
ok 'an array with an odd name holds' is 'a["act"]' hold
api GET /metrics
ok 'its name reaches no terminal as it is: metrics' eval '! grep -qa "[[:cntrl:]]" "$OUT"'
ok 'nor by the journal' eval '! grep -qa "[[:cntrl:]]" "$LOG"'
if [ -x "$BUILD/rebuildgate" ]; then
	for verb in status tickets log 'explain 1' 'nas list' 'check backup'; do
		# shellcheck disable=SC2086
		REBUILDGATE_SOCKET=$SOCK "$BUILD/rebuildgate" $verb >"$SCRATCH/shown" 2>&1
		ok "nor by $verb" eval 'grep -q . "$SCRATCH/shown" && ! grep -qaP "[\x00-\x08\x0b-\x1f\x7f]" "$SCRATCH/shown"'
	done
fi

done_testing
