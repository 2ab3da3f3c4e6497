#!/bin/bash
# SPDX-License-Identifier: MIT
# How long a throttled job will take: foreseen from what its guests' last backups weighed, as their cluster tells, and the pace that jobs
# onto the same storage had while the share was kept; and what a job gets that would outlast its period.

# shellcheck source=tests/t/gate-lib.sh
. tests/t/gate-lib.sh
# shellcheck source=tests/t/servers-lib.sh
. tests/t/servers-lib.sh
# shellcheck source=tests/t/levers-lib.sh
. tests/t/levers-lib.sh

T_z='' W_z='' T_b='' T_c='' T_d='' # job()

# A rebuild that moves, and clients that write as much as they are let.
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

rules() { # SETTINGS
	cat >"$POLICY" <<-TEXT
	name = "test";
	defaults = { settle = "0"; release_interval = "0"; recheck = "1s"; max_running = 9; };
	rules = ( { name = "rebuild"; when = { role = "data"; operation = ["recovery"]; }; verdict = "throttle"; protect = "80%"; over = "1min"; $1 } );
	TEXT
}
quiet() { "$@" >/dev/null 2>&1; }
first() { # FILTER VALUE: of the array that is steered, after its keeper has asked
	keep a 101 '"moved": 5000000'
	api GET /v1/levers
	is "a['arrays'][0]$1" "$2"
}
in_an_hour() { echo "\"n_qemu\": 1, \"next_start_utc_ms\": $((($(date +%s) + 3600) * 1000))"; }
protects() { # TICKET PPM
	api GET /v1/status
	is "next(t for t in a['tickets'] if t['ticket'] == $1)['protect_ppm']" "$2"
}

pve_new "state['storages']['backup']['content'] = [{'volid': 'backup:backup/vzdump-qemu-101-a.vma.zst', 'vmid': 101,
  'ctime': $(($(date +%s) - 90000)), 'size': 500 * 10**9}]"
server_start pve
fresh
rules ''
conf_write "$(pve_conf '') task_poll = \"2s\"; age_poll = \"10min\";"
moving 40000 0
python3 "$SCRATCH/nas.py" "$NAS" "$SCRATCH/pace" &
STARTED+=("$!")
gate_start
wait_for 20 operation_is recovery
sized() { levers_are "[x['size'] for x in a['ages'] if x['guest'] == 101]" '[500000000000]'; }
ok 'the size of a guest is known' wait_for 40 sized
job z "$(in_an_hour), \"guests\": [101]"
ok 'nothing is foreseen before a pace was seen' protects "$T_z" 800000
api POST /v1/report "{\"ticket\": $T_z, $W_z, \"phase\": \"job-end\"}"

job a '"guests": [101], "n_qemu": 1'
guest a 101
keep a 101
ok 'a job is throttled' wait_for 90 quiet first "['path'] in ('open', 'limit')" true
moving 36000 5000
ok 'and the share is kept while it moves' wait_for 120 quiet first "['pace'] is not None and a['arrays'][0]['share_ppm'] >= 800000" true

ok 'what it moves in seconds tells nothing' levers_are "a['paces']" '[]'
paced() { # after its keeper has asked
	keep a 101 '"moved": 5000000'
	levers_are "[(p['storage'], p['protect_ppm']) for p in a['paces']]" "[('backup', 800000)]"
}
ok 'a minute later its pace is known' wait_for 150 quiet paced
job b "$(in_an_hour), \"guests\": [101]"
ok 'a job that would take about a day, and starts again in an hour, is throttled' is 'a["act"]' throttle
ok 'it is told what is foreseen' is "[bool(__import__('re').match(r'throttled to protect 80% the job would take (1d|1[4-9]h|2[0-3]h) ?.*, and it starts again in 59min', r['text'])) for r in a['reasons'] if r['code'] == 'too-slow']" '[True]'
ok 'and protects the least that the rule allows' protects "$T_b" 300000
job c "$(in_an_hour), \"guests\": [101, 102]"
ok 'with a guest whose size is not known nothing is foreseen' protects "$T_c" 800000
job d '"guests": [101], "n_qemu": 1'
ok 'nor for a job whose next start is not known' protects "$T_d" 800000
rules 'too_slow = "hold"; max_hold = "10min"; on_expiry = "allow";'
kill -HUP "$GATE_PID"
held() {
	job e "$(in_an_hour), \"guests\": [101]"
	is 'a["act"]' hold
}
ok 'too_slow = "hold" holds it after all' wait_for 10 quiet held
gate_kill TERM
gate_start
wait_for 20 operation_is recovery
wait_for 40 sized
job f "$(in_an_hour), \"guests\": [101]"
ok 'the next gate knows the pace' is "[r['code'] for r in a['reasons'] if r['code'] == 'too-slow']" "['too-slow']"
gate_kill TERM
done_testing
