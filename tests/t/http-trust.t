#!/bin/bash
# SPDX-License-Identifier: MIT
# Whom a call trusts: real TLS on loopback, by fingerprint, by authority, by the system. What must not be sent is looked
# for in what the server received.
set -u
BUILD=${BUILD:-build}
CALL=$BUILD/tools/api-call
# shellcheck source=tests/fakes/fakelib.sh
. tests/fakes/fakelib.sh
lacks=$(fake_lacks)
[ -z "$lacks" ] || { echo "1..0 # SKIP $lacks"; exit 0; }
[ -x "$CALL" ] || { echo "Bail out! no $CALL: make tools"; exit 1; }
DIR=$(mktemp -d)
trap 'fake_stop_all; rm -rf "$DIR"' EXIT
TEST=0
GOT=

ok() {
	local name=$1
	shift
	TEST=$((TEST + 1))
	if "$@"; then
		echo "ok $TEST - $name"
	else
		echo "not ok $TEST - $name"
		printf '# failed: %s\n# got: %s\n' "$*" "${GOT:0:600}"
	fi
}

# call KIND ARGUMENTS...: as the daemon would, with that server's token.
call() {
	local kind=$1
	shift
	GOT=$(printf 'gate@%s!rg=S3cret-%%;x\n' "$kind" | "$CALL" -t "$kind" "$@" 2>&1)
}
# shellcheck disable=SC2053 # a pattern
got() { [[ $GOT == $1 ]]; }
# A handshake was tried and failed; neither a request nor the secret arrived.
nothing_sent() { [ "$(fake_calls "$1" .tls)" -gt 0 ] && [ "$(fake_calls "$1" .method)" -eq 0 ] && ! grep -q S3cret "$1/log"; }
forget() { : >"$1/log"; }
# Within what it was given and a generous slack.
ended_within() {
	local start=$SECONDS limit=$1
	shift
	"$@"
	[ $((SECONDS - start)) -le "$limit" ]
}

mkdir "$DIR/pbs" "$DIR/pve" "$DIR/other"
fake_cert "$DIR/other" && OTHER=$FAKE_PRINT && fake_cert "$DIR/pve" && PVE_PRINT=$FAKE_PRINT && fake_cert "$DIR/pbs" && PRINT=$FAKE_PRINT
cat >"$DIR/pbs/state.json" <<'END'
{"tokens": {"gate@pbs!rg": {"secret": "S3cret-%;x", "privs": {"/": ["Sys.Audit"]}}}, "datastores": {}}
END
cat >"$DIR/pve/state.json" <<'END'
{"tokens": {"gate@pve!rg": {"secret": "S3cret-%;x", "privs": {"/": ["Sys.Audit"]}}}}
END
fake_start pve "$DIR/pve" && PVE=$FAKE_URL
fake_start pbs "$DIR/pbs" && PBS=$FAKE_URL PBS_PORT=$FAKE_PORT
RULES=$PBS/api2/json/admin/traffic-control
TASKS=$PVE/api2/json/cluster/tasks

call pbs -f "$PRINT" GET "$RULES"
ok "the right fingerprint is trusted, and the token arrives as it is" got '200 {"data": \[\]*'
call pve -f "$PVE_PRINT" GET "$TASKS"
ok "so for a cluster" got '200 {"data": \[\]*'
call pbs -f "${PRINT,,}" GET "$RULES"
ok "small letters are the same fingerprint" got '200 *'
call pbs -f "$OTHER" -f "$PVE_PRINT" -f "$PRINT" GET "$RULES"
ok "any of several is enough" got '200 *'
call pbs -f "$PRINT" GET "https://localhost:$PBS_PORT/api2/json/admin/traffic-control"
ok "the name does not matter then" got '200 *'

forget "$DIR/pbs"
call pbs -f "$OTHER" GET "$RULES"
ok "another fingerprint is refused, and what was seen is said" got "denied: *the certificate is none of the configured ones: its fingerprint is $PRINT"
ok "and nothing was sent" nothing_sent "$DIR/pbs"
call pbs -f "$OTHER" -f "$PVE_PRINT" POST "$PBS/api2/json/config/traffic-control" name=abc
ok "none of several is as none" got "denied: *none of the configured ones: *"
ok "and nothing was sent then" nothing_sent "$DIR/pbs"
call pbs -f "$OTHER" -c "$DIR/pbs/cert.pem" GET "$RULES"
ok "an authority's word does not help against the fingerprint" got "denied: *none of the configured ones: *"
ok "nor was anything sent" nothing_sent "$DIR/pbs"

call pbs -c "$DIR/pbs/cert.pem" GET "$RULES"
ok "an authority's file is trusted" got '200 *'
forget "$DIR/pbs"
call pbs -c "$DIR/other/cert.pem" GET "$RULES"
ok "another authority's is not" got 'denied: *'
call pbs -c "$DIR/none.pem" GET "$RULES"
ok "a file that is not there is not nothing" got 'denied: *'
call pbs GET "$RULES"
ok "the system does not trust what signed itself" got 'denied: *'
ok "then it is said what would be right" got "denied: *self*signed certificate*; compare its SHA-256 with what the server itself shows (pvenode cert info, proxmox-backup-manager cert info), then set fingerprints = \[ \"$PRINT\" \]"
call pbs -c "$DIR/pbs/cert.pem" GET "https://127.0.0.1:1/api2/json/admin/traffic-control"
ok "but not where no certificate was seen" eval '! got "*fingerprints*"'
ok "nothing was sent to any of them" nothing_sent "$DIR/pbs"
call pbs -c "$DIR/pbs/cert.pem" GET "https://127.0.0.2:$PBS_PORT/api2/json/admin/traffic-control"
ok "where nobody listens nobody is" got 'gone: *'
call pbs -f "$PRINT" GET "http://127.0.0.1:$PBS_PORT/api2/json/admin/traffic-control"
ok "a fingerprint asks for https" got 'invalid: *must be https*'

fake_edit "$DIR/pbs" 'fault("traffic-control", status=301, body="elsewhere", times=1)'
forget "$DIR/pbs"
call pbs -f "$PRINT" GET "$RULES"
ok "a redirect is not followed" got 'protocol: *elsewhere (301)*'
ok "one request was all" [ "$(fake_calls "$DIR/pbs" .method)" -eq 1 ]

fake_edit "$DIR/pbs" 'fault("traffic-control", hang=20, times=1)'
ok "no answer ends at the deadline" ended_within 10 call pbs -d 700 -f "$PRINT" GET "$RULES"
ok "and is said" got 'timeout: *'
fake_edit "$DIR/pbs" 'fault("traffic-control", drip=1, times=1)'
ok "an answer that drips ends at the deadline" ended_within 10 call pbs -d 1500 -f "$PRINT" GET "$RULES"
ok "and that is said" got 'timeout: *'
fake_edit "$DIR/pbs" 'fault("traffic-control", close=True, times=1)'
call pbs -f "$PRINT" GET "$RULES"
ok "a server that hangs up is gone" got 'gone: *'
fake_edit "$DIR/pbs" 'fault("traffic-control", cut=5, times=1)'
call pbs -f "$PRINT" GET "$RULES"
ok "half an answer is none" got 'gone: *'
fake_edit "$DIR/pbs" 'fault("traffic-control", status=200, body="x" * 5000, times=2)'
call pbs -m 4096 -f "$PRINT" GET "$RULES"
ok "an answer that is too large is refused" got 'limit: *'
call pbs -m 5000 -f "$PRINT" GET "$RULES"
ok "one that just fits is not" got '200 xxxx*'
call pbs -f "$PRINT" GET "$RULES"
ok "and the server is as it was" got '200 {"data": \[\]*'

# A server that is slow to speak TLS at all: it takes the connection and is stopped.
kill -STOP "$FAKE_PID"
ok "a server that does not even shake hands ends at the deadline" ended_within 10 call pbs -d 700 -f "$PRINT" GET "$RULES"
ok "and times out" got 'timeout: *'
kill -CONT "$FAKE_PID"
fake_stop "$FAKE_PID"
call pbs -f "$PRINT" GET "$RULES"
ok "a server that is not there is gone" got 'gone: *Connection refused*'

# The certificate is renewed under the same address.
cp "$DIR/other/cert.pem" "$DIR/other/key.pem" "$DIR/pbs/"
forget "$DIR/pbs"
fake_start pbs "$DIR/pbs"
call pbs -f "$PRINT" GET "$FAKE_URL/api2/json/admin/traffic-control"
ok "a renewed certificate is another one" got "denied: *fingerprint is $OTHER"
ok "it gets nothing" nothing_sent "$DIR/pbs"
call pbs -f "$PRINT" -f "$OTHER" GET "$FAKE_URL/api2/json/admin/traffic-control"
ok "unless it was named beforehand" got '200 *'

printf 'root@pam!t' >"$DIR/token"
GOT=$("$CALL" -t pbs -f "$OTHER" GET "$FAKE_URL/x" <"$DIR/token" 2>&1)
ok "a token that is none makes no call" got '*the token is not*'
echo "1..$TEST"
