#!/bin/bash
# SPDX-License-Identifier: MIT
# What the command makes of answers that a real gate gives in bad times only: each is played by a socket that says what it is told.

# shellcheck source=tests/t/cli-lib.sh
. tests/t/cli-lib.sh

cat >"$SCRATCH/player.py" <<'PY'
import http.server, os, re, socketserver, sys
scratch, path = sys.argv[1], sys.argv[2]
class Player(http.server.BaseHTTPRequestHandler):
    def play(self):
        after = re.search("after=([0-9]+)", self.path)
        name = scratch + "/answer" + ("." + after.group(1) if after else "")
        status, body = int(open(scratch + "/status-code").read()), open(name if os.path.exists(name) else scratch + "/answer", "rb").read()
        if status == 0:
            self.close_connection = True
            return
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    do_GET = do_POST = do_DELETE = play
    def address_string(self):
        return "local"
    def log_message(self, *args):
        pass
class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
server = Server(path + ".new", Player)
os.rename(path + ".new", path)
server.serve_forever()
PY
answer() {
	echo "${1:-200}" >"$SCRATCH/status-code"
	cat >"$SCRATCH/answer"
}
echo '{}' | answer
python3 "$SCRATCH/player.py" "$SCRATCH" "$SOCK" &
STARTED+=($!)
wait_for 20 test -S "$SOCK" || skip_all 'no socket'

# status [JQ]: a status, changed by a jq filter.
status() {
	jq "${1:-.}" <<'TEXT' | answer
{"gate": {"node": "pve1", "version": "9.9.9", "pid": 1, "started_utc_ms": 1796000000000, "policy": "p", "policy_hash": "0", "enabled": true,
  "observe": false, "record": {"ok": true, "spilled": 0, "lost": 0, "text": null}, "notices": {"failed": 0, "failed_utc_ms": null, "text": null}},
 "nas": [{"name": "nas1", "sensor": "ok", "sensor_text": null, "age_ms": 4200, "blind_ms": null, "load_x100": 207, "next_look_ms": 1, "arrays": [
  {"name": "md2", "role": "data", "level": "raid6", "operation": "recovery", "sync_state": "running", "health": "degraded", "empty_slots": false,
   "done": false, "raid_disks": 5, "missing": 1, "redundancy_left": 1, "progress_ppm": 413000, "remaining_ms": 11520000, "rate": 16000000,
   "kernel_rate": 31000000, "baseline": 37000000, "rate_of_baseline_ppm": 432000, "stalled_ms": 0, "client_read": 1000000, "client_write": 88000000,
   "sync_speed_min": null, "sync_speed_max": null, "operation_ms": 7200000, "calm_ms": null}]}],
 "storages": [], "tickets": [], "overrides": []}
TEXT
	rg status
}

# --- an array in trouble --------------------------------------------------------------------------
status
ok 'operation, progress, own rate, share of baseline, time left, redundancy' \
	says '^  md2 +data +raid6 +degraded +recovery +41.3 % +16 MB/s +43.2 % +3h 12min +1 disk$'
ok 'what is missing, since when, what is usual, and what clients do' \
	says '^      1 of 5 disks missing; recovery for 2h; usually 37 MB/s here; clients write 88 MB/s; clients read 1.0 MB/s$'
ok "the reading's age and the load" says '^NAS nas1: ok, read 4s ago, load 2.07$'
ok 'nothing is wrong with the gate' eval 'says "record ok$" && says_not "RECORD|NOTICE|SPILL"'
status '.nas[0].arrays[0] |= (.sync_state = "delayed" | .operation = "resync" | .rate = null | .remaining_ms = null | .rate_of_baseline_ppm = null)'
ok 'a resync that waits for another' says '^  md2 .* resync \(delayed\) +41.3 % +- +- +- +1 disk$'
status '.nas[0].arrays[0] |= (.stalled_ms = 600000 | .rate = 0)'
ok 'one that does not move' says 'NOT MOVED for 10min'
status '.nas[0].arrays[0] |= (.redundancy_left = 0)'
ok 'no disk may be lost' says ' 0 disks$'
status '.nas[0] |= (.sensor = "host-key-changed" | .sensor_text = "the host key changed" | .blind_ms = 5400000 | .arrays = [])'
ok 'a blind NAS: why, how long, and how old what is known' \
	eval 'says "^NAS nas1: BLIND \(host-key-changed\) for 1h 30min, read 4s ago" && says "^  the host key changed$"'
status '.nas = []'
ok 'nothing configured' eval 'says "^no NAS is configured" && says "^no storage is configured"'

# --- the gate in trouble --------------------------------------------------------------------------
status '.gate.record |= (.ok = false | .text = "database or disk is full" | .spilled = 1)'
ok 'the record fails' eval 'says "^RECORD FAILS: database or disk is full$" && says_not "record ok"'
ok 'one step is in the spill' says '^1 step in the spill file, to be taken in later$'
status '.gate.record |= (.text = "no room for the spill" | .lost = 2)'
ok 'no spill, and what was lost' eval 'says "record ok$" && says "^NO SPILL FILE: no room" && says "^2 steps not recorded since the start: see the journal$"'
status '.gate.notices |= (.failed = 3 | .failed_utc_ms = 1796000460000 | .text = "webhook: The target answered with status 500")'
ok 'a notice that nobody took' says '^A NOTICE WAS NOT TAKEN at 20[-0-9]+ [0-9]+:[0-9]+: webhook: The target answered with status 500$'
status '.overrides = [{"id": 7, "verdict": "allow", "storage": "s", "until_utc_ms": 1796000460000, "by": "root", "reason": "a\u001b[2Jb\nc"}]'
ok 'what somebody wrote stays on its line and moves no cursor' says '^      a \[2Jb c$'
status '.storages = [{"name": "s", "nas": "nas1", "arrays": ["md2", "md3"], "act": "allow", "verdict": "throttle", "would_be": "throttle", "rule": "r", "reasons": []}]'
ok 'a throttle without a lever' says '^s +nas1 +md2,md3 +throttle \(acts as allow\) +r$'

# --- an answer that is none -----------------------------------------------------------------------
# answered CODE STATUS TEXT: the answer is TEXT with STATUS; the exit status is CODE, in one sentence.
answered() {
	answer "$2" <<<"$3"
	rg status
	exits "$1" && wrong "$4"
}
ok 'refused' answered 77 403 '{"error": {"kind": "denied", "text": "Not for you"}}' 'the gate says: Not for you'
ok 'wrong' answered 2 400 '{"error": {"kind": "invalid", "text": "No"}}' 'the gate says: No'
ok 'not there' answered 1 404 '{"error": {"kind": "notfound", "text": "Nothing"}}' 'the gate says: Nothing'
ok 'too much at once' answered 1 503 '{"error": {"kind": "busy", "text": "Later"}}' 'the gate says: Later'
ok 'another server' answered 1 200 '<html>' 'the gate.s answer is not understood'
ok 'one that fails' answered 1 500 'oops' 'the gate answered with status 500'
ok 'nobody speaks' answered 69 0 '' 'the gate is away'
answer <<<'[]'
rg log
ok 'an answer of another shape' eval 'exits 1 && wrong "not understood"'
answer <<<'{"decisions": 7, "next": null}'
rg log
ok 'members of other types are nothing' eval 'exits 0 && [ ! -s "$OUT" ]'
answer <<<'{"decisions": [{"id": "x", "reasons": 3}], "next": null}'
rg log --output-format csv
ok 'nor do they crash anything' exits 0
# The gate cuts a page when its time is over, also where nothing matched so far.
echo '{"decisions": [], "next": 700}' >"$SCRATCH/answer.0"
echo '{"decisions": [{"id": 900, "time_utc_ms": 0, "reasons": []}], "next": 950}' >"$SCRATCH/answer.700"
echo '{"decisions": [{"id": 960, "time_utc_ms": 0, "reasons": []}], "next": null}' >"$SCRATCH/answer.950"
rg log --since -1h --output-format json
ok 'a page that was cut is gone on with' j 'map(.id) | tojson' '[900,960]'
rg explain 1
ok 'explain as well' eval 'exits 1 || exits 2'
done_testing
