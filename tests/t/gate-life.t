#!/bin/bash
# SPDX-License-Identifier: MIT
# The daemon's life: its options, systemd's protocol, a reload good and bad, an end, a restart, a sudden death.

# shellcheck source=tests/t/gate-lib.sh
. tests/t/gate-lib.sh

sleep 1000 &
WORKER=$!
STARTED+=("$WORKER")
W=$(worker "$WORKER")
fresh

# --- options ----------------------------------------------------------------------------------------
run() {
	"$BUILD/rebuildgated" "$@" </dev/null >"$OUT" 2>&1
	STATUS=$?
}
run --version
ok '--version' grep -q '^rebuildgated [0-9]' "$OUT"
run --check --config "$CONF"
ok '--check of a good configuration' status_is 0
ok 'says so' grep -q "good: policy 'test' with 2 rules, 1 NAS, 1 storage, 0 servers" "$OUT"
ok 'and nothing else' test "$(wc -l <"$OUT")" = 1
secret() { # PATTERN: --check is good all the same, and tells of one file
	run --check --config "$CONF"
	[ "$STATUS" = 0 ] && grep -q '^[^ ]*: good: ' "$OUT" && grep -Eq "$1" "$OUT" && [ "$(wc -l <"$OUT")" = 2 ]
}
conf_write "pbs = ( { name = \"pbs1\"; url = \"https://127.0.0.1:9\"; token_file = \"$SCRATCH/pbs.token\"; } );"
TOKEN="^$CONF: pbs 'pbs1': token_file: .*$SCRATCH/pbs.token"
ok '--check tells of a token file that is not there' secret "$TOKEN' does not exist"
: >"$SCRATCH/pbs.token"
chmod 644 "$SCRATCH/pbs.token"
ok 'that others may read' secret "$TOKEN' has mode 0644, .*chmod 0600"
chmod 600 "$SCRATCH/pbs.token"
ok 'that is empty' secret "$TOKEN' has 0 bytes: that is no key and no token"
echo 'root@pam!gate' >"$SCRATCH/pbs.token"
ok 'that holds no token' secret "$TOKEN'?: .*token"
echo 'root@pam!gate:secret' >"$SCRATCH/pbs.token"
run --check --config "$CONF"
ok 'of a good one nothing' eval 'status_is 0 && [ "$(wc -l <"$OUT")" = 1 ]'
if [ "$(id -u)" = 0 ] && chown nobody "$(dirname "$DB")"; then
	asan=${ASAN_OPTIONS:-}
	export ASAN_OPTIONS="$asan${asan:+:}detect_leaks=0" # it cannot look after a process that has become another user's
	ok 'root looks as the user that the gate runs as' secret "$TOKEN' cannot be read by user $(id -u nobody), as which this runs"
	chown nobody "$SCRATCH/pbs.token"
	run --check --config "$CONF"
	ok 'whose file is good' eval 'status_is 0 && [ "$(wc -l <"$OUT")" = 1 ]'
	chown root "$(dirname "$DB")" "$SCRATCH/pbs.token"
	export ASAN_OPTIONS="$asan"
else
	ok 'root looks as the user that the gate runs as # SKIP needs root' true
	ok 'whose file is good # SKIP needs root' true
fi
conf_write
mkdir "$SCRATCH/conf.d"
echo "nas = ( { name = \"far\"; host = \"127.0.0.1\"; key_file = \"$SCRATCH/none\"; } );" >"$SCRATCH/conf.d/far.conf"
ok 'of a key' secret "^$CONF: NAS 'far': key_file: .*$SCRATCH/none' does not exist"
echo 'nas = ( { name = "far"; host = "127.0.0.1"; key_file = "credential:key"; } );' >"$SCRATCH/conf.d/far.conf"
run --check --config "$CONF"
ok 'a credential is looked at only where there are some' eval 'status_is 0 && [ "$(wc -l <"$OUT")" = 1 ]'
ok 'as in the unit' eval 'CREDENTIALS_DIRECTORY=$SCRATCH/none secret "NAS .far.: key_file: .*$SCRATCH/none/key. does not exist"'
rm -r "$SCRATCH/conf.d"
fresh
run --nonsense
ok 'a wrong option is refused' status_is 2
run --config "$CONF" word
ok 'so is a word' status_is 2
conf_write 'pol = "10s"; silence = 5;'
policy_write 'fallback = "go";'
run --check --config "$CONF"
ok '--check of a bad one' status_is 2
ok 'says all of it at once: the settings' grep -q "rebuildgate.conf:[0-9]*: .*pol" "$OUT"
ok 'each with its line' grep -q "rebuildgate.conf:[0-9]*: .*silence" "$OUT"
SOCKET_GROUP=nobody-has-this-group conf_write
run --check --config "$CONF"
ok 'a group that does not exist is wrong' grep -q "socket_group: there is no group" "$OUT"
ok 'and the policy is checked with it' grep -q "policy.conf:[0-9]*: .*fallback" "$OUT"
run --config "$CONF"
ok 'with it the gate does not start' status_is 2
run --config "$SCRATCH/none.conf"
ok 'nor without a file' status_is 2
fresh
ok 'a probe looks by the file' eval 'printf L | "$BUILD/rebuildgated" --probe nas1 --config "$CONF" 2>&1 | grep -qa "md2 : active"'
ok 'or by what it is told' eval 'printf L | "$BUILD/rebuildgated" --probe x via=local root="$NAS" deadline_ms=1000 | grep -qa "md2 : active"'
run --probe x via=local root
ok 'wrong words to a probe are refused' status_is 2

# --- systemd ------------------------------------------------------------------------------------------
python3 - "$SCRATCH/notify" >"$SCRATCH/told" <<'PY' &
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
while True:
    print(s.recv(4096).decode().replace("\n", " "), flush=True)
PY
STARTED+=("$!")
wait_for 10 test -S "$SCRATCH/notify"
export NOTIFY_SOCKET=$SCRATCH/notify WATCHDOG_USEC=600000
gate_start
unset NOTIFY_SOCKET WATCHDOG_USEC
ok 'it says that it is ready' wait_for 10 grep -q '^READY=1' "$SCRATCH/told"
ok 'and feeds the watchdog' wait_for 10 grep -q '^WATCHDOG=1' "$SCRATCH/told"

# --- a reload -------------------------------------------------------------------------------------------
nas_rebuild
wait_for 15 operation_is recovery
ask "$W"
ok 'a job is held' is 'a["act"]' hold
T=$(get 'a["ticket"]')
api GET /v1/policy
HASH=$(get 'a["hash"]')
policy_write 'rules = 5'
kill -HUP "$GATE_PID"
ok 'a bad policy is refused' wait_for 10 logged 'is refused, the one before stays'
ok 'with its errors' logged 'policy.conf:[0-9]+: '
ok 'systemd is told of the reload' grep -Eq '^RELOADING=1 MONOTONIC_USEC=[0-9]+' "$SCRATCH/told"
ok 'and of its end' wait_for 10 grep -q '^READY=1 STATUS=The last reload was refused' "$SCRATCH/told"
api GET /v1/policy
ok 'the old policy stays' is 'a["hash"]' "$HASH"
later "$SCRATCH/answer" "$W, \"ticket\": $T, \"wait_ms\": 25000"
cat >"$POLICY" <<'TEXT'
name = "other";
rules = ( { name = "slow"; when = { operation = "recovery"; }; verdict = "throttle"; } );
TEXT
mkdir -p "$SCRATCH/conf.d"
conf_write
cat >"$SCRATCH/conf.d/more.conf" <<TEXT
nas = ( { name = "nas2"; via = "local"; root = "$SCRATCH/nothing"; } );
storages = ( { name = "second"; nas = "nas2"; } );
socket = "$SCRATCH/other-sock";
TEXT
kill -HUP "$GATE_PID"
ok 'a good one is taken' wait_for 10 logged 'loaded anew policy=other'
ok 'what needs a restart is said' logged 'at a restart only: socket'
ok 'who waits is decided anew' wait_for 10 test -s "$SCRATCH/answer"
ok 'by the new policy' test "$(get 'a["rule"]' "$SCRATCH/answer")" = slow
ok 'which the record has' test "$(query 'SELECT count(*) FROM policies')" = 2
api GET /v1/status
ok 'a NAS of conf.d is watched' is 'len(a["nas"])' 2
ok 'the other one was not looked at anew from the start' is 'a["nas"][0]["arrays"][0]["operation"]' recovery
rm "$SCRATCH/conf.d/more.conf"
policy_write
kill -HUP "$GATE_PID"
ok 'and is gone with its file' wait_for 10 eval 'api GET /v1/nas; is "len(a[\"nas\"])" 1'
api POST /v1/report "{\"ticket\": $T, $W, \"phase\": \"job-end\"}"

# --- an end with a held job ---------------------------------------------------------------------------
wait_for 15 operation_is recovery
ask "$W"
T=$(get 'a["ticket"]')
ok 'a job is held again' is 'a["act"]' hold
later "$SCRATCH/ended" "$W, \"ticket\": $T, \"wait_ms\": 25000"
wait_for 10 eval 'api GET /metrics; grep -qE "^rebuildgate_connections [2-9]" "$OUT"'
BEFORE=$(date +%s%N)
gate_kill TERM
AFTER=$(date +%s%N)
ok 'SIGTERM ends it' test "$GATE_STATUS" = 0
ok 'within 2 s' test $((AFTER - BEFORE)) -lt 2000000000
ok 'who waits is answered' wait_for 5 test -s "$SCRATCH/ended"
ok 'with the hold that it has' test "$(get 'a["act"]' "$SCRATCH/ended")" = hold
ok 'systemd is told' grep -q '^STOPPING=1' "$SCRATCH/told"
ok 'the socket is gone' test ! -e "$SOCK"
gate_start
ok 'a restart takes the ticket up' ticket_is "$T" held
HELD=$(get 'a["tickets"][0]["held_ms"]')
ok 'with its time' test "$HELD" -gt 0
ask "$W, \"ticket\": $T, \"held_ms\": 5, \"wait_ms\": 100"
ok 'its hook asks on' is 'a["ticket"]' "$T"
ok 'and is held' is 'a["act"]' hold
DECISIONS=$(query "SELECT count(*) FROM decisions WHERE ticket = $T")

# --- a sudden death -------------------------------------------------------------------------------------
gate_kill KILL
ok 'after a sudden death the socket is left' test -S "$SOCK"
gate_start
ok 'which is no hindrance' answers
ok 'the ticket is there' ticket_is "$T" held
wait_for 10 operation_is recovery
ask "$W, \"ticket\": $T, \"wait_ms\": 100"
ok 'the hold goes on' is 'a["act"]' hold
ok 'by its rule, not by a blind start' is 'a["rule"]' rebuild
ok 'and no new decision was needed' test "$(query "SELECT count(*) FROM decisions WHERE ticket = $T")" = "$DECISIONS"
gate_spawn_second() {
	"$BUILD/rebuildgated" --config "$CONF" </dev/null >"$OUT" 2>&1
}
gate_spawn_second
ok 'a second daemon does not start' test $? = 1
ok 'nor take the socket away' answers
gate_kill TERM
kill "$WORKER"
wait "$WORKER" 2>/dev/null
gate_start
ok 'a job whose process ended meanwhile is not held on' wait_for 10 ticket_is "$T" withdrawn

# --- another boot -----------------------------------------------------------------------------------------
ask '"worker": {"pid": 1, "start_ticks": 5, "boot_id": "00000000-0000-0000-0000-000000000000"}'
T=$(get 'a["ticket"]')
ok 'a job with another boot id is held' is 'a["act"]' hold
gate_kill KILL
gate_start
ok 'at a start it is lost: its machine has started anew' wait_for 10 ticket_is "$T" lost
ask '"node": "pve2", "worker": {"pid": 1, "start_ticks": 5, "boot_id": "00000000-0000-0000-0000-000000000000"}'
T=$(get 'a["ticket"]')
gate_kill KILL
gate_start
ok 'that of another node is kept' ticket_is "$T" held

# --- a lost database ----------------------------------------------------------------------------------------
gate_kill TERM
rm -rf "$SCRATCH/db"
mkdir "$SCRATCH/db"
gate_start
wait_for 15 operation_is recovery
ask '"node": "pve2", "ticket": 41, "held_ms": 3600000, "wait_ms": 100, "worker": {"pid": 1, "start_ticks": 5, "boot_id": "0"}'
ok 'a gate that does not know the ticket takes it up' is 'a["ticket"]' 41
ok 'with the time that it was held' is 'a["held_ms"] >= 3600000' true
ok 'which counts against its end' is 'a["ends_in_ms"] <= 7 * 3600000' true

# --- socket activation --------------------------------------------------------------------------------------
gate_kill TERM
if command -v systemd-socket-activate >/dev/null; then
	systemd-socket-activate -l "$SOCK" "$BUILD/rebuildgated" --config "$CONF" </dev/null >>"$LOG" 2>&1 &
	GATE_PID=$!
	wait_for 10 test -S "$SOCK"
	ok 'a socket of systemd is taken' wait_for 20 answers
	gate_kill TERM
	ok 'and left in its place' test -S "$SOCK"
fi
done_testing
