#!/bin/bash
# SPDX-License-Identifier: MIT
# The door: who may do what, and what nobody may do to it.

# shellcheck source=tests/t/gate-lib.sh
. tests/t/gate-lib.sh

[ "$(id -u)" = 0 ] || skip_all 'needs root, to be somebody else'

# Accounts by number alone: a stranger, a looker (in the socket's group) and an operator (in both groups).
STRANGER=65533
LOOKER=65532
OPERATOR=65531
LOOK_GROUP=$(getent group games | cut -d: -f3)
OVERRIDE_GROUP=$(getent group operator | cut -d: -f3)
[ -n "$LOOK_GROUP" ] && [ -n "$OVERRIDE_GROUP" ] || skip_all 'needs the groups games and operator'

# api_as UID GROUPS METHOD PATH [BODY]
api_as() {
	local uid=$1 groups=$2 args=()
	[ -n "$groups" ] && args=(--groups "$groups") || args=(--clear-groups)
	: >"$OUT"
	chmod 666 "$OUT"
	STATUS=$(setpriv --reuid "$uid" --regid "$uid" "${args[@]}" curl -s -m 20 --unix-socket "$SOCK" -X "$3" \
		-o "$OUT" -w '%{http_code}' ${5:+--data-binary "$5"} "http://gate$4")
}

SOCKET_GROUP=games
fresh
conf_write 'override_group = "operator";'
gate_start

# --- the socket -------------------------------------------------------------------------------------
ok 'the socket has its mode' test "$(stat -c %a "$SOCK")" = 660
ok 'and its group' test "$(stat -c %G "$SOCK")" = games
ok 'no temporary name is left' test ! -e "$SOCK.new"

# --- roles ------------------------------------------------------------------------------------------
api_as $STRANGER '' GET /v1/version
ok 'a stranger cannot even connect' status_is 000
api_as $LOOKER "$LOOK_GROUP" GET /v1/status
ok 'a member of socket_group may look' status_is 200
api_as $LOOKER "$LOOK_GROUP" POST /v1/ask "$(ask_body)"
ok 'but does not speak for jobs' status_is 403
ok 'and is told so' is 'a["error"]["kind"]' denied
api_as $LOOKER "$LOOK_GROUP" POST /v1/nas/nas1/look ''
ok 'nor has a NAS looked at' status_is 403
UNTIL=$(($(date +%s) * 1000 + 3600000))
api_as $LOOKER "$LOOK_GROUP" POST /v1/overrides "{\"verdict\": \"deny\", \"until_utc_ms\": $UNTIL, \"reason\": \"x\"}"
ok 'nor overrules' status_is 403
api_as $OPERATOR "$LOOK_GROUP,$OVERRIDE_GROUP" POST /v1/overrides "{\"verdict\": \"deny\", \"until_utc_ms\": $UNTIL, \"reason\": \"x\", \"by\": \"root\"}"
ok 'a member of override_group does, by a second group' status_is 200
ok 'under the name that the kernel says' is 'a["by"]' "uid $OPERATOR"
ID=$(get 'a["id"]')
ask
ok 'which then counts' is 'a["act"]' deny
api_as $OPERATOR "$LOOK_GROUP,$OVERRIDE_GROUP" POST /v1/ask "$(ask_body)"
ok 'but is no hook' status_is 403
api_as $OPERATOR "$LOOK_GROUP,$OVERRIDE_GROUP" DELETE "/v1/overrides/$ID"
ok 'and may cancel it' status_is 200
api_as $OPERATOR "$LOOK_GROUP,$OVERRIDE_GROUP" POST /v1/nas/nas1/look ''
ok 'and have a NAS looked at' status_is 200
ok 'which answers with the NAS' is 'a["sensor"]' ok

# --- wrong requests ---------------------------------------------------------------------------------
api GET /v1/nothing
ok 'an unknown call is not found' status_is 404
api PUT /v1/status
ok 'a wrong method is refused' status_is 400
api POST /v1/ask '{'
ok 'a broken body is refused' status_is 400
ok 'with a sentence' is '"body is wrong" in a["error"]["text"]' true
api POST /v1/ask '[]'
ok 'a body that is no object too' status_is 400
api POST /v1/ask
ok 'or none' status_is 400
for body in '"client": "me"' '"phase": "pre-stop"' '"storage": 5' '"storage": ""' '"wait_ms": 25001' '"wait_ms": -1' \
	'"ticket": "T1"' '"worker": {"pid": "x"}' '"worker": 7' '"client": "run", "phase": "backup-start"' '"client": "check"' \
	'"guests": [0]' '"held_ms": 1.5' "\"upid\": \"$(printf 'x%.0s' {1..200})\""; do
	ask "$body"
	ok "wrong: $(echo "$body" | cut -c 1-40)" status_is 400
done
api POST /v1/report '{"phase": "job-end"}'
ok 'a report of nobody is refused' status_is 400
api GET /v1/check
ok 'a check of nothing is refused' status_is 400
api POST /v1/nas/nowhere/look
ok 'a NAS that is not there is not found' status_is 404
api POST /v1/nas/nas1/forget '{"array": "md99"}'
ok 'nor an array that is not' status_is 404
api POST /v1/tickets/1x/release '{"reason": "x"}'
ok 'a ticket that is no number is refused' status_is 400
api POST '/v1/tickets/1%2F2/release' '{"reason": "x"}'
ok 'a slash in a name is no way to another call' status_is 404
api GET '/v1/check?storage=%00%ff%27;drop'
ok 'odd bytes in a query harm nobody' test "$STATUS" = 200 -o "$STATUS" = 400

# --- limits -----------------------------------------------------------------------------------------
head -c 65600 /dev/zero | tr '\0' ' ' >"$SCRATCH/large"
api POST /v1/ask "@$SCRATCH/large"
ok 'a body over 64 KiB is refused' status_is 413
: >"$OUT"
STATUS=$(curl -s -m 20 --unix-socket "$SOCK" -X POST -H 'Transfer-Encoding: chunked' -H 'Expect:' -o "$OUT" \
	-w '%{http_code}' --data-binary "@$SCRATCH/large" http://gate/v1/ask)
ok 'also without saying so beforehand' status_is 413
{
	ask_body | tr -d '\n'
	head -c 65000 /dev/zero | tr '\0' ' '
} >"$SCRATCH/fits"
api POST /v1/ask "@$SCRATCH/fits"
ok 'one that fits is read' status_is 200
api GET "/v1/$(printf 'x%.0s' {1..5000})"
ok 'a long path is not found' status_is 404
api GET "/$(printf 'x%.0s' {1..40000})"
ok 'a header that is too large is refused' test "$STATUS" -ge 400

# A request that drips is cut after 10 s, however busily it drips, and harms no other.
python3 - "$SOCK" >"$SCRATCH/slow" <<'PY' &
import socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
t = time.monotonic()
try:
    s.sendall(b"GET /v1/version HTTP/1.1\r\nHost: x\r\nX: ")
    while time.monotonic() - t < 40:
        s.sendall(b"a")
        time.sleep(0.2)
    print("never")
except OSError:
    took = time.monotonic() - t
    print("cut" if 8 < took < 20 else "at %.1f" % took)
PY
SLOW=$!
STARTED+=("$SLOW")
ask
ok 'others are answered meanwhile' status_is 200
# A flood of connections by one looker leaves room for root, and is told.
cat >"$SCRATCH/flood.py" <<'PY'
import os, socket, sys
os.setgroups([int(sys.argv[3])])
os.setgid(int(sys.argv[2]))
os.setuid(int(sys.argv[2]))
all = []
refused = 0
for i in range(100):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(5)
    try:
        s.connect(sys.argv[1])
        s.sendall(b"GET /v1/version HTTP/1.1\r\nHost: x\r\n")
    except OSError:
        pass
    all.append(s)
for s in all:
    s.settimeout(0.2)
    try:
        data = s.recv(4096)
        refused += b" 429 " in data
    except OSError:
        pass
print(refused, flush=True)
sys.stdin.read()
PY
mkfifo "$SCRATCH/hold"
python3 "$SCRATCH/flood.py" "$SOCK" $LOOKER "$LOOK_GROUP" <"$SCRATCH/hold" >"$SCRATCH/refused" &
STARTED+=("$!")
exec 9>"$SCRATCH/hold"
ok 'a flood is refused but for its share' wait_for 40 grep -q '^92$' "$SCRATCH/refused"
ask
ok 'and root is answered meanwhile' status_is 200
api_as $STRANGER "$LOOK_GROUP" GET /v1/version
ok 'so is another looker' status_is 200
exec 9>&-
ok 'who drips is cut at its deadline' wait_for 40 grep -q '^cut$' "$SCRATCH/slow"
api GET /metrics
ok 'no connection is left behind' wait_for 20 eval 'api GET /metrics; grep -qE "^rebuildgate_connections [12]$" "$OUT"'
ok 'the gate still lives' kill -0 "$GATE_PID"
done_testing
