#!/bin/bash
# SPDX-License-Identifier: MIT
# Notices: one for each event, by webhook and mail, never a storm, and never in a hook's way.

# shellcheck source=tests/t/gate-lib.sh
. tests/t/gate-lib.sh

# A webhook's target and a mail server: each notice is a line in its file. The mode file says what the target does.
cat >"$SCRATCH/targets.py" <<'PY'
import http.server, json, socketserver, sys, threading, time
scratch = sys.argv[1]
def mode():
    try:
        return open(scratch + "/mode").read().strip()
    except OSError:
        return ""
class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if mode() == "hang":
            time.sleep(60)
            return
        if mode() == "refuse":
            open(scratch + "/refused", "a").write("x\n")
            self.send_response(500)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        open(scratch + "/hooks", "a").write(body.decode() + "\n")
        self.send_response(204)
        self.end_headers()
    def log_message(self, *args):
        pass
class Mail(socketserver.StreamRequestHandler):
    def handle(self):
        def say(text):
            self.wfile.write(text.encode() + b"\r\n")
        say("220 here")
        text, data = [], False
        for line in self.rfile:
            line = line.decode().rstrip("\r\n")
            if data:
                if line == ".":
                    open(scratch + "/mails", "a").write("\n".join(text) + "\n--\n")
                    text, data = [], False
                    say("250 taken")
                else:
                    text.append(line)
                continue
            word = line.split(" ")[0].upper()
            if word in ("MAIL", "RCPT"):
                text.append(line)
            if word == "DATA":
                data = True
                say("354 go on")
            elif word == "QUIT":
                say("221 bye")
                return
            else:
                say("250 good")
class Web(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
class Smtp(socketserver.ThreadingMixIn, socketserver.TCPServer):
    daemon_threads = True
web = Web(("127.0.0.1", 0), Hook)
smtp = Smtp(("127.0.0.1", 0), Mail)
threading.Thread(target=web.serve_forever, daemon=True).start()
open(scratch + "/ports.new", "w").write("WEB=%d\nSMTP=%d\n" % (web.server_address[1], smtp.server_address[1]))
import os
os.rename(scratch + "/ports.new", scratch + "/ports")
smtp.serve_forever()
PY
python3 "$SCRATCH/targets.py" "$SCRATCH" &
STARTED+=("$!")
wait_for 20 test -s "$SCRATCH/ports" || skip_all 'cannot listen on loopback'
# shellcheck disable=SC1091
. "$SCRATCH/ports"

notified() {
	grep -c "\"event\":\"$1\"" "$SCRATCH/hooks" 2>/dev/null | grep -qx "$2"
}

metric_is() {
	api GET /metrics
	grep -qx "rebuildgate_$1 $2" "$OUT"
}

job() {
	sleep 1000 &
	JOB=$!
	STARTED+=("$JOB")
	W=$(worker "$JOB")
	ask "$W"
	T=$(get 'a["ticket"]')
}

targets() {
	echo "notify = { $1
		webhooks = ( { url = \"http://127.0.0.1:$WEB/notice\"; } );
		smtp = ( { url = \"smtp://127.0.0.1:$SMTP\"; from = \"gate@example.org\"; to = [\"admin@example.org\", \"night@example.org\"]; } ); };"
}

fresh
conf_write "$(targets '')"
gate_start
ok 'at rest nothing is told' metric_is notices_sent_total 0
nas_rebuild
wait_for 15 operation_is recovery
job
ok 'a hold that begins is told' wait_for 20 notified hold 1
ok 'with its ticket' grep -q "\"about\":\"T$T\"" "$SCRATCH/hooks"
ok 'and its reason' grep -q 'md2 on nas1 is in recovery' "$SCRATCH/hooks"
ok 'as JSON' python3 -c "import json,sys; [json.loads(l) for l in open('$SCRATCH/hooks')]"
ok 'and by mail' wait_for 20 grep -q "^Subject: T$T is held" "$SCRATCH/mails"
ok 'to everybody' test "$(grep -c '^RCPT TO:<\(admin\|night\)@example.org>' "$SCRATCH/mails")" = 2
ok 'with the details' grep -q '^rule: rebuild' "$SCRATCH/mails"
nas_rebuild 41
wait_for 10 eval 'api GET /v1/status; is "a[\"nas\"][0][\"arrays\"][0][\"progress_ppm\"] > 405000" true >/dev/null'
ok 'that it goes on is not told again' notified hold 1
nas_gone
ok 'that the NAS is blind is told' wait_for 20 notified blind 1
nas_rebuild 42
ok 'and that it is seen again' wait_for 30 notified sees 1
for _ in 1 2 3; do
	nas_gone
	api POST /v1/nas/nas1/look
	nas_rebuild 42
	api POST /v1/nas/nas1/look
done
ok 'a NAS that flaps is told once' notified blind 1
ok 'both ways' notified sees 1
ok 'the others are counted' eval 'api GET /metrics; grep -Eq "^rebuildgate_notices_dropped_total [1-9]" "$OUT"'
api POST /v1/report "{\"ticket\": $T, $W, \"phase\": \"job-start\"}"
kill "$JOB"
wait "$JOB" 2>/dev/null
ok 'a job that is lost is told' wait_for 20 notified lost 1

# --- a target that does not take it -----------------------------------------------------------------
echo refuse >"$SCRATCH/mode"
job
ok 'one target that fails hinders no other' wait_for 20 grep -q "^Subject: T$T is held" "$SCRATCH/mails"
ok 'the first try fails' wait_for 20 test -s "$SCRATCH/refused"
ok 'and was not taken' eval '! grep -q "\"about\":\"T$T\"" "$SCRATCH/hooks"'
: >"$SCRATCH/mode"
ok 'it is tried again' wait_for 60 grep -q "\"about\":\"T$T\"" "$SCRATCH/hooks"
echo hang >"$SCRATCH/mode"
job
ok 'a target that hangs delays no answer' is 'a["act"]' hold
ask "$W, \"ticket\": $T"
ok 'nor the next' status_is 200
BEFORE=$(date +%s)
gate_kill TERM
ok 'nor the end' test $(($(date +%s) - BEFORE)) -le 3
: >"$SCRATCH/mode"

# --- a storm ----------------------------------------------------------------------------------------
rm -f "$SCRATCH/hooks" "$SCRATCH/mails"
conf_write "$(targets 'max_per_hour = 3;')"
gate_start
wait_for 15 operation_is recovery
for i in 1 2 3 4 5 6; do
	ask "\"worker\": {\"pid\": 1, \"start_ticks\": $i, \"boot_id\": \"x\"}, \"node\": \"pve$i\""
done
ok 'each target gets so many in an hour' wait_for 20 notified hold 3
ok 'the rest is counted' wait_for 10 metric_is notices_dropped_total 6
ok 'and no more come' notified hold 3

# --- expired, and a record that fails ------------------------------------------------------------------
gate_kill TERM
rm -f "$SCRATCH/hooks" "$SCRATCH/mails"
rm -rf "$SCRATCH/db"
conf_write "$(targets '')"
MAX_HOLD=2s policy_write
gate_start
wait_for 15 operation_is recovery
job
ok 'a hold that expires is told' wait_for 30 notified expired 1
done_testing
