#!/bin/bash
# SPDX-License-Identifier: MIT
# How the daemon watches a NAS: each failure has its reason, an ask waits for one look and causes no storm of them, a dead
# or stuck probe is replaced.

# shellcheck source=tests/t/gate-lib.sh
. tests/t/gate-lib.sh

metric() {
	api GET /metrics
	sed -n "s/^rebuildgate_$1{nas=\"nas1\"} //p" "$OUT"
}

probe_pid() {
	pgrep -P "$GATE_PID" -f -- '--probe nas1'
}

job() {
	sleep 1000 &
	JOB=$!
	STARTED+=("$JOB")
	W=$(worker "$JOB")
	ask "$W"
	T=$(get 'a["ticket"]')
}

fresh
gate_start

# --- seeing and not seeing ---------------------------------------------------------------------------
ok 'it is seen' wait_for 10 sensor_is ok
nas_gone
ok 'a NAS that cannot be read is blind' wait_for 10 sensor_is exit-status
ok 'with a sentence' is 'len(a["nas"][0]["sensor_text"]) > 10' true
ok 'and since when' is 'a["nas"][0]["blind_ms"] >= 0' true
ok 'its last facts are kept' is 'a["nas"][0]["arrays"][0]["name"]' md2
job
ok 'unknown is not idle: a job is held' is 'a["act"]' hold
ok 'by the rule for the blind' is 'a["rule"]' blind
ok 'for what is left of the one budget' is '0 < a["ends_in_ms"] <= 30 * 60000' true
nas_idle
ok 'it is seen again by itself' wait_for 30 sensor_is ok
ask "$W, \"ticket\": $T, \"wait_ms\": 20000"
ok 'and the job goes' is 'a["act"]' allow
ok 'the end of an outage is written down' eval '! logged "The record cannot be written"'
api POST /v1/report "{\"ticket\": $T, $W, \"phase\": \"job-end\"}"

nas_rebuild
wait_for 15 operation_is recovery
job
ok 'a rebuild holds' is 'a["rule"]' rebuild
nas_gone
wait_for 10 eval '! sensor_is ok'
ask "$W, \"ticket\": $T, \"wait_ms\": 3000"
api GET /v1/tickets
ok 'blind, the hold that was goes on' is 'a["tickets"][0]["act"]' hold
ok 'by its own rule' is 'a["tickets"][0]["rule"]' rebuild
api GET /v1/nas
before=$(get 'a["nas"][0]["blind_ms"]')
gate_kill KILL
gate_start
wait_for 15 sensor_is exit-status
api GET /v1/nas
after=$(get 'a["nas"][0]["blind_ms"]')
ok "a restart is no new outage ($before ms, then $after ms)" [ "$after" -ge "$before" ]
api GET '/v1/check?storage=backup'
ok 'what was known last is known after a restart too: the rebuild holds' is 'a["rule"]' rebuild
ok 'in step 4' is 'a["step"]' 4
api POST /v1/withdraw "{\"ticket\": $T, $W}"

# --- what is no reading ------------------------------------------------------------------------------
echo 'sbName=/boot/config/super.dat
mdState=STARTED' | nas_write
ok 'what is not understood is its own reason' wait_for 60 sensor_is not-understood
head -c 400000 /dev/zero | tr '\0' 'x' | nas_write
api POST /v1/nas/nas1/look
ok 'too much output too' is 'a["sensor"]' too-much-output
: | nas_write
api POST /v1/nas/nas1/look
ok 'an empty text is no reading' is 'a["sensor"] != "ok"' true
ok 'never "no arrays"' is 'len(a["arrays"])' 1
rm -f "$NAS/proc/mdstat"
mkfifo "$NAS/proc/mdstat"
api POST /v1/nas/nas1/look
ok 'a read that hangs ends at its deadline' is 'a["sensor"]' deadline
rm -f "$NAS/proc/mdstat"
nas_idle
api POST /v1/nas/nas1/look
ok 'an operator'"'"'s look sees again at once' is 'a["sensor"]' ok
wait_for 10 operation_is idle

# --- the probe's process -----------------------------------------------------------------------------
PID=$(probe_pid)
ok 'one process looks' test "$(echo "$PID" | wc -w)" = 1
kill -KILL "$PID"
wait_for 20 eval 'test -n "$(probe_pid)" && test "$(probe_pid)" != "$PID"'
ok 'one that was killed between two looks is replaced' test "$(probe_pid)" != "$PID"
ok 'which is no failure' sensor_is ok
ok 'nothing is left of it' eval '! kill -0 "$PID" 2>/dev/null'
PID=$(probe_pid)
kill -STOP "$PID"
ok 'one that is stuck makes the NAS blind' wait_for 30 logged 'did not end within its deadline.*sensor=deadline'
ok 'and is killed' wait_for 10 eval '! kill -0 "$PID" 2>/dev/null'
ok 'the next look sees again' wait_for 40 sensor_is ok
ok 'by another process' test "$(probe_pid)" != "$PID"

# --- pauses -------------------------------------------------------------------------------------------
nas_gone
wait_for 20 eval '! sensor_is ok'
wait_for 40 eval 'api GET /v1/nas; is "a[\"nas\"][0][\"next_look_ms\"] > 3000" true >/dev/null'
ok 'the pause after failures grows' is 'a["nas"][0]["next_look_ms"] > 3000' true
LOOKS=$(metric nas_looks_total)
for _ in 1 2 3 4 5 6; do
	api GET /v1/check?storage=backup
done
ok 'which no number of asks shortens' test "$(metric nas_looks_total)" = "$LOOKS"
nas_idle
api POST /v1/nas/nas1/look
ok 'but an operator does' is 'a["sensor"]' ok

# --- a rebuild that began since the last look ---------------------------------------------------------------
nas_idle
wait_for 20 operation_is idle
gate_kill TERM
conf_write 'stale_after = "10min";'
sed -i 's/idle_poll = "1s"/idle_poll = "5min"/; s/poll = "1s"/poll = "30s"/' "$CONF"
gate_start
wait_for 10 operation_is idle
sleep 1 # until the reading is not fresh any more
nas_rebuild
job
ok 'the first job that asks after a rebuild began is held: one look alone is not believed, nor passed over' is 'a["rule"]' rebuild
api POST /v1/withdraw "{\"ticket\": $T, $W}"
gate_kill TERM
conf_write
nas_idle
gate_start
wait_for 10 operation_is idle

# --- one look for all who wait ---------------------------------------------------------------------------
gate_kill TERM
conf_write
sed -i 's/idle_poll = "1s"/idle_poll = "1h"/; s/fresh = .*/fresh = "1min"; stale_after = "2h";/' "$CONF"
gate_start
wait_for 10 sensor_is ok
LOOKS=$(metric nas_looks_total)
for _ in 1 2 3 4 5; do
	api GET /v1/check?storage=backup
done
ok 'a fresh reading needs no look' test "$(metric nas_looks_total)" = "$LOOKS"
gate_kill TERM
sed -i 's/fresh = "1min"/fresh = "0"/' "$CONF"
gate_start
wait_for 10 sensor_is ok
rm "$NAS/proc/mdstat"
mkfifo "$NAS/proc/mdstat"
LOOKS=$(metric nas_looks_total)
CHECKS=()
for i in 1 2 3 4 5; do
	curl -s -m 20 -o "$SCRATCH/check$i" --unix-socket "$SOCK" http://gate/v1/check?storage=backup &
	CHECKS+=("$!")
done
wait "${CHECKS[@]}"
ok 'five who find an old one share a look' test "$(metric nas_looks_total)" = $((LOOKS + 1))
ok 'and are answered though it failed' test "$(get 'a["rule"]' "$SCRATCH/check5")" = blind

# --- patience ---------------------------------------------------------------------------------------------
gate_kill TERM
rm -f "$NAS/proc/mdstat"
nas_idle
echo secret >"$SCRATCH/key"
chmod 644 "$SCRATCH/key"
conf_write
cat >"$SCRATCH/ssh" <<TEXT
nas = ( { name = "nas1"; host = "127.0.0.1"; port = 9; key_file = "$SCRATCH/key"; known_hosts = "$SCRATCH/known_hosts"; } );
TEXT
sed -i "/^nas = /{
	r $SCRATCH/ssh
	d
}" "$CONF"
gate_start
ok 'a key file that others can read is no key' wait_for 15 eval 'sensor_is auth || sensor_is refused'
api GET /v1/nas
SENSOR=$(get 'a["nas"][0]["sensor"]')
if [ "$SENSOR" = auth ]; then
	ok 'the next look is after 15 minutes' is '800000 < a["nas"][0]["next_look_ms"] <= 900000' true
fi
chmod 600 "$SCRATCH/key"
rm -f "$SCRATCH/key"
api POST /v1/nas/nas1/look
ok 'an operator'"'"'s look comes at once' status_is 200
gate_kill TERM
conf_write

# --- arrays that go ---------------------------------------------------------------------------------------
gate_start
wait_for 10 operation_is idle
nas_write <<'TEXT'
Personalities : [raid6] [raid5] [raid4] 
unused devices: <none>
TEXT
ok 'an array that is gone is a fault' wait_for 15 eval 'api GET /v1/nas; is "a[\"nas\"][0][\"arrays\"][0][\"health\"]" absent >/dev/null'
gate_kill KILL
gate_start
ok 'also after a restart' wait_for 15 eval 'api GET /v1/nas; is "a[\"nas\"][0][\"arrays\"][0][\"health\"]" absent >/dev/null'
api POST /v1/nas/nas1/forget '{"array": "md2"}'
ok 'until it is forgotten' status_is 200
api GET /v1/nas
ok 'then it is no more' is 'len(a["nas"][0]["arrays"])' 0
done_testing
