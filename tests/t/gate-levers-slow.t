#!/bin/bash
# SPDX-License-Identifier: MIT
# How long a throttled job will take: foreseen from what its guests' last backups moved, and the pace that jobs onto the same storage had
# while the share was kept; and what a job gets that would outlast its period. Onto files (storage "backup") the storage's content tells,
# onto a backup server (storage "store") the task's log, and what the guest's keeper saw.

# shellcheck source=tests/t/gate-lib.sh
. tests/t/gate-lib.sh
# shellcheck source=tests/t/servers-lib.sh
. tests/t/servers-lib.sh
# shellcheck source=tests/t/levers-lib.sh
. tests/t/levers-lib.sh

T_z='' W_z='' T_b='' T_c='' T_d='' T_s='' W_s='' T_t='' T_u='' T_v='' T_w='' T_x='' T_e='' T_r='' # job()

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
	defaults = { settle = "0"; release_interval = "0"; recheck = "1s"; max_running = 99; };
	rules = ( { name = "rebuild"; when = { role = "data"; operation = ["recovery"]; }; verdict = "throttle"; protect = "80%"; over = "1min"; $1 } );
	TEXT
}
quiet() { "$@" >/dev/null 2>&1; }
ask_both() { # the keepers of both running jobs
	keep a 101 '"moved": 5000000'
	keep s 203 '"moved": 5000000, "storage": "store", "total": 300000000000'
}
first() { # FILTER VALUE: of the array that is steered, after its keepers have asked
	ask_both
	api GET /v1/levers
	is "a['arrays'][0]$1" "$2"
}
in_an_hour() { echo "\"n_qemu\": 1, \"next_start_utc_ms\": $((($(date +%s) + 3600) * 1000))"; }
protects() { # TICKET PPM
	api GET /v1/status
	is "next(t for t in a['tickets'] if t['ticket'] == $1)['protect_ppm']" "$2"
}

size_is() { # STORAGE GUEST MEASURE VALUE
	levers_are "[x['$3'] for x in a['ages'] if x['storage'] == '$1' and x['guest'] == $2]" "[$4]"
}
too_slow() { # what the last answer says of it
	get "next((r['text'] for r in a['reasons'] if r['code'] == 'too-slow'), '')"
}
told_too_slow() { # WHAT FOLLOWS: a regular expression
	[[ $(too_slow) =~ ^'throttled to protect 80% the job would take '([1-9]d|[1-9][0-9]?h)[^,]*', and it starts again in 59min '[0-9]+s$1$ ]] ||
		{ echo "# $(too_slow)"; return 1; }
}
recorded_too_slow() { # TICKET ACT: the decision in the record, as a query finds it
	api GET "/v1/log?ticket=$1&last=1"
	is "[(d['act'], [r['code'] for r in d['reasons'] if r['code'] == 'too-slow']) for d in a['decisions']]" "[('$2', ['too-slow'])]"
}

pve_new "state['storages']['backup']['content'] = [{'volid': 'backup:backup/vzdump-qemu-101-a.vma.zst', 'vmid': 101,
  'ctime': $(($(date +%s) - 90000)), 'size': 500 * 10**9}]"
# A virtual machine whose blocks are known to the server but for a few, and a container.
edit "$PVE" "task('vzdump', '', node='pve2', start=time() - 30000, lines=[
  'INFO: starting new backup job: vzdump 201 202 205 --storage store --mode snapshot --quiet 1',
  'INFO: Starting Backup of VM 201 (qemu)', 'INFO: scsi0: dirty-bitmap status: OK (400.0 GiB of 5.0 TiB dirty)',
  'INFO: using fast incremental mode (dirty-bitmap), 400.0 GiB dirty of 5.0 TiB total',
  'INFO: backup was done incrementally, reused 4.95 TiB (99%)', 'INFO: transferred 400.00 GiB in 9000 seconds (45.5 MiB/s)',
  'INFO: Finished Backup of VM 201 (02:30:05)', 'INFO: Starting Backup of VM 202 (lxc)',
  'INFO: root.pxar: had to backup 2 GiB of 40 GiB (compressed 1.5 GiB) in 60.05 s (average 34.1 MiB/s)',
  'INFO: root.pxar: backup was done incrementally, reused 38 GiB (95.0%)', 'INFO: Finished Backup of VM 202 (00:01:05)',
  'INFO: Starting Backup of VM 205 (qemu)', 'INFO: transferred 900.00 GiB in 9000 seconds (102.4 MiB/s)',
  'ERROR: Backup of VM 205 failed - no space'])" >"$SCRATCH/upid"
edit "$PVE" "finish('$(cat "$SCRATCH/upid")', 'job errors')"
pbs_new "state['datastores']['store']['namespaces'][''] = [
  {'backup-type': 'vm', 'backup-id': '201', 'last-backup': $(($(date +%s) - 9000))},
  {'backup-type': 'vm', 'backup-id': '204', 'last-backup': $(($(date +%s) - 9000))}]"
edit "$PBS" "task('backup', 'store:vm/201', start=time() - 9000, lines=['2026-11-30T21:00:00+01:00: ' + line for line in (
  'starting new backup', \"Upload statistics for 'drive-scsi0.img.fidx'\", 'Size: 5497558138880', 'Chunk count: 1310720',
  'Upload size: 50000000000 (0%)', 'Duplicates: 1298799+0 (99%)', 'Compression: 40%', 'backup finished successfully')])" >"$SCRATCH/upid"
edit "$PBS" "finish(r'$(cat "$SCRATCH/upid")')"
server_start pve
server_start pbs
fresh
rules ''
conf_write "$(pve_conf '') $(pbs_conf 'throttle = false;') task_poll = \"2s\"; age_poll = \"10min\";"
sed -i 's/^storages = .*/storages = ( { name = "backup"; nas = "nas1"; }, { name = "store"; nas = "nas1"; pbs = "pbs1"; } );/' "$CONF"
moving 40000 0
python3 "$SCRATCH/nas.py" "$NAS" "$SCRATCH/pace" &
STARTED+=("$!")
gate_start
wait_for 20 operation_is recovery
sized() { size_is backup 101 size 500000000000; }
ok 'the size of a guest is known by the content of its storage' wait_for 40 sized
ok "onto a backup server by the task's log: what a virtual machine's backup read" wait_for 20 size_is store 201 read $((400 << 30))
ok 'what a container sent' size_is store 202 written $((3 << 29))
ok "what the server wrote, by its own task's log" wait_for 20 size_is store 201 written 20000000000
ok 'what a failed backup read is no size' size_is store 205 read ''
ok 'nor is what a snapshot would restore to' wait_for 20 size_is store 204 size None
job z "$(in_an_hour), \"guests\": [101]"
ok 'nothing is foreseen before a pace was seen' protects "$T_z" 800000
api POST /v1/report "{\"ticket\": $T_z, $W_z, \"phase\": \"job-end\"}"

job a '"guests": [101], "n_qemu": 1'
guest a 101
job s '"guests": [203], "n_qemu": 1, "storage": "store"'
guest s 203
ask_both
ok 'jobs are throttled' wait_for 90 quiet first "['path'] in ('open', 'limit')" true
moving 36000 10000
ok 'and the share is kept while it moves' wait_for 120 quiet first "['pace'] is not None and a['arrays'][0]['share_ppm'] >= 800000" true

ok 'what it moves in seconds tells nothing' levers_are "a['paces']" '[]'
paced() { # after the keepers have asked
	ask_both
	levers_are "sorted((p['storage'], p['protect_ppm'], p['as']) for p in a['paces'])" "[('backup', 800000, 'read'), ('store', 800000, 'read')]"
}
ok 'a minute later their pace is known, as what was read' wait_for 150 quiet paced
job b "$(in_an_hour), \"guests\": [101]"
ok 'a job that would take about a day, and starts again in an hour, is throttled' is 'a["act"]' throttle
ok 'it is told what is foreseen' told_too_slow ': 30% is protected instead, with which it still takes .*'
ok 'and protects the least that the rule allows' protects "$T_b" 300000
job c "$(in_an_hour), \"guests\": [101, 102]"
ok 'with a guest whose size is not known nothing is foreseen' protects "$T_c" 800000
job d '"guests": [101], "n_qemu": 1'
ok 'nor for a job whose next start is not known' protects "$T_d" 800000

onto_store() { # GUESTS: members of a job onto the backup server
	echo "$(in_an_hour), \"storage\": \"store\", \"guests\": [$1]"
}
job t "$(onto_store 201)"
ok 'a job onto a backup server is foreseen as well, and throttled' is 'a["act"]' throttle
ok 'told, relaxed' told_too_slow ': 30% is protected instead, with which it still takes .*'
ok 'to the least that the rule allows' protects "$T_t" 300000
ok 'and the record tells it' recorded_too_slow "$T_t" throttle
job u "$(onto_store '201, 202')"
ok 'with a container, which no keeper slows, it is as well' protects "$T_u" 300000
job v "$(onto_store '201, 204')"
ok 'with a guest whose snapshots alone are known nothing is foreseen' protects "$T_v" 800000
job w "$(onto_store '205')"
ok 'nor with one whose only backup failed' protects "$T_w" 800000
job x "$(onto_store '203')"
ok 'nor with one whose first backup goes on' protects "$T_x" 800000
api POST /v1/report "{\"ticket\": $T_s, $W_s, \"phase\": \"backup-end\", \"guest\": 203, \"guest_type\": \"qemu\", \"storage\": \"store\", \"node\": \"pve1\"}"
ok 'once that is done, what its keeper saw is its size' size_is store 203 read 300000000000
job y "$(onto_store '203')"
ok 'by which a job is foreseen' told_too_slow ': 30% is protected instead, with which it still takes .*'

for t in b c d t u v w x y; do
	end "$t"
done

tried() { # MEMBERS ACT: a job asks and is told so; else it is over
	job e "$1"
	is 'a["act"]' "$2" || { end e; return 1; }
}
rules 'too_slow = "hold"; max_hold = "10min"; on_expiry = "allow";'
kill -HUP "$GATE_PID"
ok 'too_slow = "hold" holds it after all' wait_for 10 quiet tried "$(in_an_hour), \"guests\": [101]" hold
end e
ok 'onto the backup server, too' tried "$(onto_store 201)" hold
ok 'and tells why' told_too_slow ': held.*'
ok 'in the record as well' recorded_too_slow "$T_e" hold
end e
ok 'nothing is held for what is not known' tried "$(onto_store '201, 204')" throttle
end e
rules 'too_slow = "allow";'
kill -HUP "$GATE_PID"
ok 'too_slow = "allow" does not slow it' wait_for 10 quiet tried "$(onto_store 201)" allow
ok 'and tells why' told_too_slow ': it is not slowed'
ok 'in the record as well' recorded_too_slow "$T_e" allow
end e
server_stop "$PVE_PID"
server_stop "$PBS_PID"
gate_kill TERM
gate_start
wait_for 20 operation_is recovery
ok 'the next gate knows the sizes, without any server' size_is store 203 read 300000000000
sized() { size_is store 201 read $((400 << 30)) && size_is store 201 written 20000000000; }
ok 'whoever told them' sized
job f "$(onto_store '201, 203')"
ok 'and the pace' is "[r['code'] for r in a['reasons'] if r['code'] == 'too-slow']" "['too-slow']"
for t in a s f; do
	end "$t"
done
gate_kill TERM

# --- through the backup server's rule: what arrives there counts, not what is read ---------------------
cat >"$SCRATCH/pump.py" <<'PY'
import os, socket, sys, threading, time
sink = socket.create_server(("127.0.0.1", 0))
def drain(link):
    while link.recv(1 << 20):
        pass
def serve():
    while True:
        threading.Thread(target=drain, args=(sink.accept()[0],), daemon=True).start()
threading.Thread(target=serve, daemon=True).start()
with open(sys.argv[1] + ".new", "w") as f:
    f.write("%d\n" % sink.getsockname()[1])
os.replace(sys.argv[1] + ".new", sys.argv[1])
link = None
while os.getppid() != 1:
    time.sleep(0.1)
    try:
        if not link:
            link = socket.create_connection(("127.0.0.1", int(open(sys.argv[2]).read())))
        link.sendall(bytes(400000))
    except (OSError, ValueError):
        link = None
PY
python3 "$SCRATCH/pump.py" "$SCRATCH/sink" "$SCRATCH/source" & # 4 MB/s
STARTED+=("$!")
wait_for 20 test -s "$SCRATCH/sink"
server_start pve
server_start pbs --stream "127.0.0.1:0:127.0.0.1:$(cat "$SCRATCH/sink")"
sed -n '2s/ .*//p' "$PBS/ready" >"$SCRATCH/source"
rules ''
sed -i 's/throttle = false;//' "$CONF"
moving 40000 0
gate_start
wait_for 20 operation_is recovery
job p '"n_qemu": 0, "guests": [202], "storage": "store"'
guest p 202 lxc
steered() { # FILTER VALUE
	levers_are "a['arrays'][0]$1" "$2"
}
ok 'containers onto a backup server are throttled by its rule' wait_for 60 eval 'levers_are "[x[\"lever\"] for x in a[\"levers\"] if x[\"set\"]]" "['"'traffic-control'"']"'
wait_for 90 quiet steered "['path'] in ('open', 'limit')" true
moving 36000 5000
written() {
	levers_are "[p['as'] for p in a['paces'] if p['storage'] == 'store']" "['written']"
}
ok 'a minute later their pace is known, as what arrives' wait_for 180 quiet written
job q "$(onto_store 201)"
ok 'a job is foreseen from what its last backup wrote, not from what it read' \
	eval '[[ $(too_slow) =~ ^"throttled to protect 80% the job would take "[1-9]h[^,]*", and it starts again in 59min " ]] || { echo "# $(too_slow)"; false; }'
job r "$(onto_store '201, 203')"
ok 'nothing is, where only what was read is known' protects "$T_r" 800000
gate_kill TERM
done_testing
