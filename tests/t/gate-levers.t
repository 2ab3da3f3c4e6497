#!/bin/bash
# SPDX-License-Identifier: MIT
# The daemon throttles: which jobs, by which path, told within two readings, recorded before it is done, and put back.

# shellcheck source=tests/t/gate-lib.sh
. tests/t/gate-lib.sh
# shellcheck source=tests/t/levers-lib.sh
. tests/t/levers-lib.sh

# rules TEXT: the rules of the policy.
rules() {
	cat >"$POLICY" <<-TEXT
	name = "test";
	defaults = { settle = "0"; release_interval = "0"; recheck = "1s"; max_running = 9; };
	rules = ( $1 );
	TEXT
}

T_a='' T_b='' # job()
REBUILD='name = "rebuild"; when = { role = "data"; operation = ["recovery"]; };'

moved() { query "SELECT count(*) FROM lever_actions WHERE put_back = 0 AND lever LIKE '$1' AND target LIKE '$2'"; }
back() { query "SELECT count(*) FROM lever_actions WHERE put_back = 1 AND lever LIKE '$1' AND target LIKE '$2'"; }
at_least() { [ "$1" -ge "$2" ] || { echo "# $1 is less than $2"; return 1; }; }
is_moved() { at_least "$(moved "$@")" 1; }
is_back() { at_least "$(back "$@")" 1; }
lever_is() { # FILTER VALUE: of GET /v1/levers
	api GET /v1/levers
	is "$1" "$2"
}

# --- a rule's own rate, divided ---------------------------------------------------------------------
fresh
rules "{ $REBUILD verdict = \"throttle\"; rate = \"10 MB/s\"; max_pause = \"1h\"; }"
nas_rebuild
gate_start
job a
ok 'a job asks while a rebuild runs: throttle, for it has a lever' is 'a["act"]' throttle
guest a 101
ok 'its keeper is told the limit' keeps a 101 limit
ok 'all of it' is 'a["rate"]' 10000000
ok 'and no longer pause than a keeper makes' is 'a["max_pause_ms"]' 60000
ok 'with the reason' is 'len(a["reason"]) > 10' true
ok 'it is in the record, with what it was before' test "$(query "SELECT before || '/' || ticket FROM lever_actions WHERE lever = 'block-jobs' AND target = 'pve1/101' AND put_back = 0")" = "free/$T_a"
keep a 101 '"fleecing": true'
ok 'with fleecing too' is 'a["max_pause_ms"]' 600000
job b
guest b 102
keep b 102
keep a 101
ok 'of two guests each gets half' is 'a["rate"]' 5000000
keep b 102
ok 'the other one too' is 'a["rate"]' 5000000
api GET /v1/levers?actions=10
ok 'levers: the array is steered' is 'a["arrays"][0]["nas"] + "/" + a["arrays"][0]["array"] + " " + a["arrays"][0]["path"]' 'nas1/md2 limit'
ok 'for two jobs' is 'a["arrays"][0]["jobs"]' 2
ok 'each keeper is a lever that is set' is 'sorted((l["lever"], l["target"], l["set"]) for l in a["levers"])' "[('block-jobs', 'pve1/101', True), ('block-jobs', 'pve1/102', True)]"
ok 'it expires by itself' is 'a["levers"][0]["until_utc_ms"] > a["levers"][0]["since_utc_ms"]' true
ok 'the last actions are shown' is 'a["actions"][0]["lever"]' block-jobs
api GET /v1/status
ok 'status shows the same' is 'a["arrays"][0]["path"] + " " + str(len(a["levers"]))' 'limit 2'
ok 'and what each job gets' is '[(t["lever"]["path"], t["lever"]["rate"], t["lever"]["by"]) for t in a["tickets"]]' "[('limit', 5000000, 'block-jobs'), ('limit', 5000000, 'block-jobs')]"
api GET /metrics
ok 'metrics show the limit' grep -q 'rebuildgate_throttle_limit_bytes_per_second{nas="nas1",md="md2"} 10000000' "$OUT"
looks() { api GET /metrics; sed -n 's/^rebuildgate_nas_looks_total{nas="nas1"} //p' "$OUT"; }
keep a 101 '"n_jobs": 0'
keep b 102
ok 'one that copies nothing now takes no share from the other' is 'a["rate"]' 10000000
keep b 102 '"ending": true, "path": "free"'
ok 'a keeper that ends is put back in the record' is_back block-jobs pve1/102
end b
nas_idle
ok 'the rebuild ends: the path is free in the end' wait_for 60 keeps a 101 free
ok 'and so says the record' is_back block-jobs pve1/101
ok 'nothing is moved any more' lever_is 'a["arrays"], [l for l in a["levers"] if l["set"]]' '([], [])'
end a
ok 'a keeper that says too little is refused' test "$(curl -s -o /dev/null -w '%{http_code}' --unix-socket "$SOCK" -X POST -d '{"ticket": 1}' http://gate/v1/keep)" = 400

# --- jobs that were there before --------------------------------------------------------------------
fresh
rules "{ $REBUILD verdict = \"hold\"; running = \"throttle\"; rate = \"10 MB/s\"; }"
gate_start
job a
ok 'a job asks while all is well' is 'a["act"]' allow
guest a 101
ok 'its keeper leaves it alone' keeps a 101 free
nas_rebuild
ok 'a disk fails: it is limited' wait_for 10 keeps a 101 limit
ok 'the journal says so' logged "T$T_a is throttled: .*rule=\"rebuild\""
api POST /v1/overrides "{\"verdict\": \"allow\", \"ticket\": $T_a, \"until_utc_ms\": $(($(date +%s) + 600))000, \"reason\": \"test\"}"
O=$(get 'a["id"]')
ok 'an override frees it' wait_for 30 keeps a 101 free
api DELETE "/v1/overrides/$O"
ok 'without it, it is limited again' wait_for 10 keeps a 101 limit
api POST /v1/levers/reset '{"reason": "test", "for_ms": 600000}'
ok 'reset tells what was moved' is '[l["target"] for l in a["levers"]]' "['pve1/101']"
ok 'and everything is free' keeps a 101 free
ok 'for as long as was said' lever_is 'a["frozen_until_utc_ms"] is not None' true
ok 'the record knows it' is_back block-jobs pve1/101
api POST /v1/levers/reset '{}'
ok 'a reset without a reason is refused' status_is 400
api POST /v1/levers/reset '{"reason": "test"}'
ok 'a reset for no time' status_is 200
ok 'lets it be limited again where that is needed' wait_for 30 keeps a 101 limit
rules "{ $REBUILD verdict = \"hold\"; }"
gate_kill_hup() { kill -HUP "$GATE_PID"; }
gate_kill_hup
ok 'a policy that leaves running jobs alone frees it' wait_for 60 keeps a 101 free
rules "{ $REBUILD verdict = \"hold\"; running = \"stop\"; rate = \"10 MB/s\"; }"
gate_kill_hup
ok 'one that stops them says that it cannot, without a token' wait_for 20 logged "T$T_a is to be stopped .*it goes on"
ok 'the job goes on' ticket_is "$T_a" running
ok 'slowed, as far as a lever reaches it' wait_for 10 keeps a 101 limit
tried() { [ "$(grep -c "T$T_a is to be stopped" "$LOG")" = "$1" ]; }
sleep 3
ok 'that is told once' tried 1
gate_kill_hup
ok 'after a reload it is tried again' wait_for 20 tried 2
end a

job c '"phase": "job-init", "n_qemu": 0'
ok 'a job of containers onto a folder is held' is 'a["act"]' hold
fresh
rules "{ $REBUILD verdict = \"throttle\"; rate = \"10 MB/s\"; without_lever = \"deny\"; }"
nas_rebuild
gate_start
job d '"n_qemu": 0, "n_guests": 1'
ok 'a job of containers onto a folder has no lever' is 'a["act"]' deny
api POST /v1/ask "$(ask_body '"client": "run", "command": "rsync"')"
ok 'nor has a command' is 'a["act"]' deny

# --- how soon, in readings -----------------------------------------------------------------------------
# readings_until WORDS: a disk fails; how many readings show the rebuild, which the first does, until the journal has these words.
readings_until() {
	local before after without
	nas_rebuild
	while :; do
		before=$(looks)
		operation_is recovery && shows=yes || shows=no
		after=$(looks)
		[ "$before" = "$after" ] || continue
		[ $shows = no ] || break
		without=$after
	done
	# Counted before it is looked for: a lever that is set has looks come fast.
	for _ in $(seq 400); do
		after=$(looks)
		logged "$1" && break
		sleep 0.05
	done
	logged "$1" && echo $((after - ${without:-$((before - 1))}))
}

# Readings lie so far apart that on a busy machine too one can be told from the next.
within_two() { # ACT WORDS
	local n
	fresh
	sed -i 's/poll = "1s"/poll = "6s"/' "$CONF"
	rules "{ $REBUILD verdict = \"hold\"; running = \"$1\"; rate = \"10 MB/s\"; }"
	gate_start
	wait_for 20 operation_is idle
	job b
	n=$(readings_until "T$T_b is $2")
	ok "a disk fails: within two readings a job that runs is to $1 ($n)" eval '[ "$n" -ge 1 ] && [ "$n" -le 2 ]'
	end b
}
within_two throttle 'throttled: '
within_two stop 'to be stopped '

# --- by measuring -----------------------------------------------------------------------------------
# A rebuild that moves, and clients that write as much as they are let.
fresh
rules "{ $REBUILD verdict = \"throttle\"; protect = \"80%\"; over = \"1min\"; }"
moving() { # PACE WRITE in KiB/s: from now on
	echo "$1 $2" >"$SCRATCH/pace.new" && mv "$SCRATCH/pace.new" "$SCRATCH/pace"
}
cat >"$SCRATCH/nas.py" <<'PY'
import os, sys, time
nas, pace = sys.argv[1], sys.argv[2]
done, written, total, last = 200e6, 0.0, 1951945536, time.monotonic()
def put(name, text):
    path = "%s/proc/%s" % (nas, name)
    with open(path + ".new", "w") as f:
        f.write(text)
    os.replace(path + ".new", path)
while os.getppid() != 1:
    rate, write = (float(v) for v in open(pace).read().split())
    now = time.monotonic()
    done, written, last = done + rate * (now - last), written + write * (now - last), now
    put("diskstats", "   9       2 md2 1000 0 8000 0 %d 0 %d 0 0 0 0 0 0 0 0 0 0\n" % (written / 64, written * 2))
    put("mdstat", """Personalities : [raid6] [raid5] [raid4] 
md2 : active raid6 sdf1[5] sdd1[3] sdc1[2] sdb1[1] sda1[0]
      5855836608 blocks super 1.2 level 6, 64k chunk, algorithm 2 [5/4] [UUUU_]
      [==>..................]  recovery = %4.1f%% (%d/%d) finish=527.0min speed=%dK/sec
      
unused devices: <none>
""" % (done * 100 / total, done, total, rate))
    time.sleep(0.2)
PY
moving 40000 0
python3 "$SCRATCH/nas.py" "$NAS" "$SCRATCH/pace" &
NAS_PID=$!
STARTED+=("$NAS_PID")
gate_start
wait_for 20 operation_is recovery
job a
guest a 101
ok 'nothing is known yet: it rests, to learn what the rebuild does undisturbed' wait_for 10 keeps a 101 rest
ok 'not longer in one piece than a guest may wait' is 'a["max_pause_ms"]' 15000
keep a 101 '"fleecing": true'
ok 'with fleecing its writes wait less, so it may be longer' is 'a["max_pause_ms"]' 120000
lever_is 'a["arrays"][0]["reason"]' measuring
ok 'levers say why' lever_is 'a["arrays"][0]["reason"]' measuring
ok 'looks come often' test "$(n=$(looks); sleep 5; echo $(($(looks) - n)))" -ge 2
until_open() { keeps a 101 open limit; }
ok 'then it is let go on' wait_for 90 until_open
kill "$NAS_PID"; wait "$NAS_PID" 2>/dev/null
rm -f "$NAS/proc/diskstats"
nas_idle
ok 'the rebuild ends: free' wait_for 60 keeps a 101 free

# --- a gate that is killed ----------------------------------------------------------------------------
fresh
rules "{ $REBUILD verdict = \"throttle\"; rate = \"10 MB/s\"; }"
nas_rebuild
gate_start
job a
guest a 101
wait_for 10 keeps a 101 limit
gate_kill KILL
nas_idle
"$BUILD/rebuildgated" --put-back --config "$CONF" >"$OUT" 2>&1
ok 'put-back has nothing to do for keepers: they free their guests by themselves' test $? = 0
gate_start
wait_for 10 operation_is idle
ok 'the next gate says what was left' logged 'left block-jobs of pve1/101 moved'
ok 'its keeper is told to free it' wait_for 30 keeps a 101 free
ok 'and so says the record' is_back block-jobs pve1/101
"$BUILD/rebuildgated" --put-back --config "$CONF" >"$OUT" 2>&1
ok 'while a gate runs, put-back leaves it to that' test $? = 1
ok 'and says so' grep -q 'A gate runs here' "$OUT"
gate_kill TERM

done_testing
