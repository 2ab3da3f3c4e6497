#!/bin/bash
# SPDX-License-Identifier: MIT
# A keeper and its guard are killed at once while their guest is slowed: the gate says so, once, with the command that frees the guest.

# shellcheck source=tests/t/gate-lib.sh
. tests/t/gate-lib.sh
# shellcheck source=tests/t/node-lib.sh
. tests/t/node-lib.sh

COMMAND='/usr/libexec/rebuildgate/rebuildgate-vzdump --put-back'
UNIT=packaging/systemd/rebuildgate-put-back.service

# Whom notices go to: each is a line.
cat >"$SCRATCH/target.py" <<'PY'
import http.server, os, sys
class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        with open(sys.argv[1] + "/notices", "ab") as f:
            f.write(self.rfile.read(int(self.headers["Content-Length"])) + b"\n")
        self.send_response(204)
        self.end_headers()
    def log_message(self, *args):
        pass
web = http.server.HTTPServer(("127.0.0.1", 0), Hook)
open(sys.argv[1] + "/port.new", "w").write(str(web.server_address[1]))
os.rename(sys.argv[1] + "/port.new", sys.argv[1] + "/port")
web.serve_forever()
PY
python3 "$SCRATCH/target.py" "$SCRATCH" &
STARTED+=("$!")
wait_for 20 test -s "$SCRATCH/port" || skip_all 'cannot listen on loopback'
noticed() { [ "$(grep -c '"event":"keeper"' "$SCRATCH/notices" 2>/dev/null)" = "$1" ]; }
errors() { [ "$(grep -c "$COMMAND ticket=" "$LOG")" = "$1" ]; }
command_says() { "$BUILD/rebuildgate" --socket "$SOCK" "$1" | grep -qE -- "$2"; }
last() { query "SELECT put_back FROM lever_actions WHERE lever = 'block-jobs' AND target = 'pve1/100' ORDER BY id DESC LIMIT 1"; }

fresh
conf_write "notify = { webhooks = ( { url = \"http://127.0.0.1:$(cat "$SCRATCH/port")/\"; } ); };"
cat >"$POLICY" <<'TEXT'
name = "test";
defaults = { settle = "0"; release_interval = "0"; recheck = "1s"; };
rules = ( { name = "rebuild"; when = { role = "data"; operation = ["recovery"]; }; verdict = "hold"; running = "throttle"; rate = "3 MB/s"; } );
TEXT
gate_start
guest_start
backup_start
ok 'a backup copies' wait_for 20 grep -q 'copying data of 100' "$TASK"
nas_rebuild
ok 'a disk fails: the block jobs are limited' wait_for 30 jobs_are speed 3000000 3000000
# One that ends well is no news.
kill -TERM "$(keepers | head -1)"
ok 'a keeper that ends well frees its guest' wait_for 20 jobs_are speed 9000000 9000000
ok 'and is gone' wait_for 20 keeper_gone
sleep 5
ok 'that is no error' errors 0
touch "$SCRATCH/copied"
wait "$JOB"
rm -f "$SCRATCH/copied" "$QEMU/begin"

nas_idle
wait_for 20 operation_is idle
backup_start
ok 'the next backup copies' wait_for 20 grep -q 'copying data of 100' "$TASK"
nas_rebuild
ok 'it is limited' wait_for 30 jobs_are speed 3000000 3000000
wait_for 20 lever_is '[l["path"] for l in a["levers"] if l["lever"] == "block-jobs" and l["set"]]' "['limit']"
# shellcheck disable=SC2046 # both at once
kill -KILL $(keepers)
ok 'keeper and guard are killed at once' wait_for 10 keeper_gone
ok 'the gate says so, as an error, with guest, node and command' wait_for 120 logged \
	"The backup of guest 100 on node 'pve1' stands at limit 3.0 MB/s: .*run there, as root: $COMMAND ticket=[0-9]+ storage=backup node=pve1"
ok 'the jobs are still slow' jobs_are speed 3000000 3000000
ok 'a notice goes out' wait_for 20 noticed 1
ok 'with the same' grep -qF "\"command\":\"$COMMAND\"" "$SCRATCH/notices"
ok 'levers say it' wait_for 10 lever_is '[(l["target"], l["set"], l["usable"], l["until_utc_ms"]) for l in a["levers"] if l["lever"] == "block-jobs"]' "[('pve1/100', True, False, None)]"
ok 'for people as well' command_says levers "run there, as root:"
ok 'with the command' command_says levers "--put-back"
ok 'in status too' command_says status "--put-back"
api GET /v1/status
ok 'the job: nothing slows it as the rebuild needs it' is 'a["tickets"][0]["lever"]["by"], a["tickets"][0]["lever"]["text"]' "(None, 'guest 100 is as slow as its keeper left it, which is dead')"
ok 'the record does not say that it is back' test "$(last)" = 0
ok 'nor that it is another' test "$(query "SELECT after FROM lever_actions WHERE lever = 'block-jobs' ORDER BY id DESC LIMIT 1")" = 'limit 3.0 MB/s'
sleep 5
ok 'all of it once' errors 1
ok 'the notice too' noticed 1

ok 'the unit of systemd runs that command' grep -qxF "ExecStart=$COMMAND" "$UNIT"
env -i "${HOOK_ENV[@]}" "$BUILD/rebuildgate-vzdump" --put-back >"$OUT"
ok 'it is run' test $? = 0
ok 'it says what it did' grep -qx 'guest 100: its block jobs run at their own speed again (0 paused, 2 limited before)' "$OUT"
ok 'they do' jobs_are speed 9000000 9000000
ok 'the record knows it' test "$(last)" = 1
ok 'nothing is moved any more' lever_is '[l for l in a["levers"] if l["set"]]' '[]'
ok 'what is left is said: no keeper' lever_is '[l["trouble"][:41] for l in a["levers"]]' "['guest 100 has no keeper, or none any more']"
touch "$SCRATCH/copied"
wait "$JOB"
ok 'the backup goes well' test $? -eq 0
ok 'then that is over, too' wait_for 20 lever_is 'a["levers"]' '[]'
ok 'no more was said' errors 1

# The worker is killed as well: QEMU goes on alone, and the job's ticket is lost. The next hook of the node frees the guest.
rm -f "$SCRATCH/copied" "$QEMU/begin"
nas_idle
wait_for 20 operation_is idle
backup_start
wait_for 20 grep -q 'copying data of 100' "$TASK"
nas_rebuild
ok 'another backup is limited' wait_for 30 jobs_are speed 3000000 3000000
wait_for 20 lever_is '[l["path"] for l in a["levers"] if l["lever"] == "block-jobs" and l["set"]]' "['limit']"
# shellcheck disable=SC2046 # all at once
kill -KILL -- $(keepers) "-$(cat "$SCRATCH/pid")"
wait "$JOB" 2>/dev/null
ok 'its worker is killed too: the job is lost' wait_for 30 logged ' lost: '
ok 'that its guest is slow is said all the same' wait_for 120 errors 2
ok 'levers say it' wait_for 10 command_says levers "run there, as root:"
gate_kill TERM
gate_start
ok 'the next gate says so by the record' logged 'The keeper of pve1/100 is dead and left it slowed'
sleep 75 # it takes keepers of a gate before it that ask nobody as having freed their guests
ok 'and does not record that it is back' test "$(last)" = 0
perl "$FAKES/vzdump.pl" run --hook "$BUILD/rebuildgate-vzdump" --log "$SCRATCH/other.log" --pidfile "$SCRATCH/pid" --storage backup \
	--env "${HOOK_ENV[0]}" --env "${HOOK_ENV[1]}" >/dev/null 2>&1 &
STARTED+=("$!")
ok 'the next job, held though it is, frees it' wait_for 30 jobs_are speed 9000000 9000000
ok 'and tells the gate' wait_for 20 lever_is '[l for l in a["levers"] if l["set"]]' '[]'
ok 'which records it' test "$(last)" = 1
kill -KILL -- "-$(cat "$SCRATCH/pid")"

done_testing
