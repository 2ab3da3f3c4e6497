#!/bin/bash
# SPDX-License-Identifier: MIT
# What else runs against a NAS, with the real daemon, a cluster and a backup server: backups that never asked, restores, the
# backup server's own jobs, and how old the last backups are.

# shellcheck source=tests/t/gate-lib.sh
. tests/t/gate-lib.sh
# shellcheck source=tests/t/servers-lib.sh
. tests/t/servers-lib.sh

# RAID 5: one disk gone, and it may lose no further one.
nas5() {
	local sync=${1:-}
	nas_write <<-TEXT
	Personalities : [raid6] [raid5] [raid4] 
	md3 : active raid5 sdf1[4] sdc1[2] sdb1[1] sda1[0]
	      5855836608 blocks super 1.2 level 5, 64k chunk, algorithm 2 $([ -n "$sync" ] && echo '[4/3] [UUU_]' || echo '[4/4] [UUUU]')
	      $sync
	unused devices: <none>
	TEXT
}

rebuild5() {
	nas5 "[========>............]  recovery = 40.0% (780778214/1951945536) finish=527.0min speed=37000K/sec
	      "
}

policy_running() {
	cat >"$POLICY" <<-TEXT
	name = "test";
	defaults = { settle = "0"; release_interval = "0"; };
	rules = ( { name = "rebuild"; when = { role = "data"; operation = ["recovery"]; };
	            verdict = "throttle"; without_lever = "allow"; running = "$1"; ${2:-} } );
	TEXT
}

servers_conf() {
	conf_write "$(pbs_conf 'throttle = false;') $(pve_conf "$1") task_poll = \"2s\"; age_poll = \"10min\"; ${2:-}"
	sed -i 's/^storages = .*/storages = ( { name = "backup"; nas = "nas1"; }, { name = "store"; nas = "nas1"; pbs = "pbs1"; } );/' "$CONF"
}

# task FILTER VALUE: of the task list in the status.
tasks_are() {
	api GET /v1/levers
	is "$1" "$2" >"$SCRATCH/said"
}

start_line() {
	echo "INFO: starting new backup job: vzdump $1 --storage $2 --mode snapshot --quiet 1"
}

pbs_new
pve_new
server_start pbs
server_start pve
fresh
nas5
policy_running leave
servers_conf ''

# --- ages ---------------------------------------------------------------------------------------------
NOW=$(date +%s)
edit "$PBS" "state['datastores']['store']['namespaces'] = {
  '': [{'backup-type': 'vm', 'backup-id': '100', 'last-backup': $((NOW - 7200))}, {'backup-type': 'host', 'backup-id': 'nas', 'last-backup': $NOW}],
  'b': [{'backup-type': 'ct', 'backup-id': '101', 'last-backup': $((NOW - 90000))}]}"
edit "$PVE" "state['storages']['backup']['content'] = [
  {'volid': 'backup:backup/vzdump-qemu-100-a.vma.zst', 'vmid': 100, 'ctime': $((NOW - 3600)), 'size': 5000000},
  {'volid': 'backup:backup/vzdump-qemu-100-b.vma.zst', 'vmid': 100, 'ctime': $((NOW - 86400)), 'size': 4000000}]"
# A job of eight hours, on a node whose clock is five hours ahead of UTC: its first guest is as old as its own end, not as the job's.
there() { date -u -d "@$((NOW - $1 + 5 * 3600))" '+%F %T'; }
edit "$PVE" "task('vzdump', '', node='pve2', start=$((NOW - 30000)), lines=['$(start_line '102 103 104 105' backup)',
  'INFO: Starting Backup of VM 102 (qemu)', 'INFO: Backup started at $(there 30000)',
  'INFO: Finished Backup of VM 102 (00:50:00)', 'INFO: Backup finished at $(there 27000)',
  'INFO: Starting Backup of VM 103 (lxc)', 'INFO: Backup started at $(there 27000)', 'ERROR: Backup of VM 103 failed - no space', 'INFO: Failed at $(there 26000)',
  'INFO: Starting Backup of VM 104 (qemu)', 'INFO: Finished Backup of VM 104 (00:50:00)',
  'INFO: Starting Backup of VM 105 (qemu)', 'INFO: Finished Backup of VM 105 (00:50:00)', 'INFO: Backup finished at $(there 600)'])" >"$SCRATCH/upid"
edit "$PVE" "finish('$(cat "$SCRATCH/upid")', 'job errors')"
# While this one ran the clocks of its node were put on by an hour: its times do not fit.
edit "$PVE" "task('vzdump', '106', node='pve2', start=$((NOW - 3000)), lines=['$(start_line '106' backup)',
  'INFO: Starting Backup of VM 106 (qemu)', 'INFO: Backup started at $(there 3000)',
  'INFO: Finished Backup of VM 106 (00:49:00)', 'INFO: Backup finished at $(there -3540)'])" >"$SCRATCH/upid"
edit "$PVE" "finish('$(cat "$SCRATCH/upid")')"
gate_start
age_of() {
	api GET /v1/levers
	get "next(x for x in a['ages'] if x['storage'] == '$1' and x['guest'] == $2)['$3']"
}
age_about() {
	local v
	v=$(age_of "$1" "$2" age_ms)
	[ -n "$v" ] && [ "$v" -ge $(($3 * 1000)) ] && [ "$v" -le $(($3 * 1000 + 120000)) ]
}
ok "a guest's last backup on a backup server is known" wait_for 60 age_about store 100 7200
ok 'in each namespace' wait_for 20 age_about store 101 90000
ok 'on a storage by its content, the newest' wait_for 20 age_about backup 100 3600
ok 'with its size' test "$(age_of backup 100 size)" = 5000000
ok "of a job that has ended by its task's log, each guest by its own time" wait_for 30 age_about backup 102 27000
ok 'the last one too' age_about backup 105 600
ok 'where no time stands the job is as old as its start' age_about backup 104 30000
ok 'and where the times do not fit' wait_for 10 age_about backup 106 3000
ok 'what failed in it is no backup' test -z "$(age_of backup 103 age_ms)"
ok 'and where that is from' test "$(age_of backup 100 source)" = server
GROUPS_ASKED=$(asked "$PBS" '/groups ')
ok 'hosts are no guests' test "$(asked "$PBS" '/groups 200')" = 2

# --- a backup that never asked --------------------------------------------------------------------------
rebuild5
wait_for 15 operation_is recovery
edit "$PVE" "task('vzdump', '101', node='pve2', start=time() - 60, lines=['$(start_line 101 backup)'])" >"$SCRATCH/upid"
UPID=$(cat "$SCRATCH/upid")
ok 'a backup on another node is seen' wait_for 40 tasks_are "[x['storage'] for x in a['tasks'] if x['upid'] == r'$UPID']" "['backup']"
ok 'as nobody who asked' tasks_are "[x['ticket'] for x in a['tasks'] if x['upid'] == r'$UPID']" '[None]'
ok 'and told' wait_for 30 logged "A backup on node 'pve2' writes to storage 'backup' .* never asked"
sleep 5
ok 'once' test "$(grep -c "A backup on node 'pve2'" "$LOG")" = 1
ok 'its log is read once' test "$(asked "$PVE" 'GET .*%3Avzdump%3A101%3A.*/log 200')" = 1
ok 'leave means that nobody stops it' test "$(asked "$PVE" '^DELETE')" = 0
edit "$PVE" "finish(r'$UPID')"
ok 'at its end it is gone' wait_for 20 tasks_are "len([x for x in a['tasks'] if x['upid'] == r'$UPID'])" 0
edit "$PVE" "task('vzdump', '101', node='pve2', start=time() - 60, lines=['$(start_line 101 elsewhere)'])" >/dev/null
edit "$PBS" "task('backup', 'store:host/laptop', start=time() - 60, user='dave@pbs')" >/dev/null
ok 'a backup past all clusters is seen by its server' wait_for 40 logged "A backup of store:host/laptop by dave@pbs .* never asked"
ok 'one onto another storage is nothing to us' eval '! grep -q "elsewhere" "$LOG"'

# --- one that asked ------------------------------------------------------------------------------------
sleep 1000 &
JOB=$!
STARTED+=("$JOB")
W=$(worker "$JOB")
OWN=$(edit "$PVE" "task('vzdump', '100', node='pve1', start=time() - 60, lines=['$(start_line 100 backup)'])")
ask "$W, \"upid\": \"$OWN\""
T=$(get 'a["ticket"]')
api POST /v1/report "{\"ticket\": $T, $W, \"phase\": \"job-start\", \"storage\": \"backup\", \"node\": \"pve1\"}"
ok "a ticket's own task is known as that" wait_for 40 tasks_are "[x['ticket'] for x in a['tasks'] if x['upid'] == r'$OWN']" "[$T]"
sleep 3
ok 'and not told' eval '! grep -q "A backup on node .pve1. writes" "$LOG"'
api POST /v1/report "{\"ticket\": $T, $W, \"phase\": \"backup-start\", \"storage\": \"backup\", \"node\": \"pve1\", \"guest\": 100}"
api POST /v1/report "{\"ticket\": $T, $W, \"phase\": \"backup-end\", \"storage\": \"backup\", \"node\": \"pve1\", \"guest\": 100}"
ok 'its guest is as old as its end' age_about backup 100 0
ok 'by our own record' test "$(age_of backup 100 source)" = record
api POST /v1/report "{\"ticket\": $T, $W, \"phase\": \"job-end\", \"storage\": \"backup\", \"node\": \"pve1\"}"
kill "$JOB"
edit "$PVE" "finish(r'$OWN')"

# --- one that asked, and goes through the backup server ----------------------------------------------------
sleep 1000 &
JOB=$!
STARTED+=("$JOB")
W=$(worker "$JOB")
ask "$W, \"storage\": \"store\", \"guests\": [100, 104]"
T=$(get 'a["ticket"]')
api POST /v1/report "{\"ticket\": $T, $W, \"phase\": \"job-start\", \"storage\": \"store\", \"node\": \"pve1\"}"
OWN=$(edit "$PBS" "task('backup', 'store:a/b:vm/104', start=time() - 30)")
OTHER=$(edit "$PBS" "task('backup', 'store:vm/105', start=time() - 30)")
ok "the backup of a ticket's guest is the ticket's" wait_for 20 tasks_are "[x['ticket'] for x in a['tasks'] if x['upid'] == r'$OWN']" "[$T]"
ok "another guest's is not" wait_for 20 tasks_are "[x['ticket'] for x in a['tasks'] if x['upid'] == r'$OTHER']" '[None]'
ok 'and that is told' wait_for 20 logged 'A backup of store:vm/105 by .* never asked'
ok 'of that one only' eval '! grep -q "A backup of .*vm/104" "$LOG"'
api POST /v1/report "{\"ticket\": $T, $W, \"phase\": \"job-end\", \"storage\": \"store\", \"node\": \"pve1\"}"
kill "$JOB"
edit "$PBS" "finish(r'$OWN')"
edit "$PBS" "finish(r'$OTHER')"
UPID=$(edit "$PVE" "task('vzdump', '101', node='pve2', start=time() - 60, lines=['$(start_line 101 store)'])")
TWIN=$(edit "$PBS" "task('backup', 'store:ct/101', start=time() - 50)")
ok 'a backup that both servers list is listed once' wait_for 20 tasks_are "[x['server'] for x in a['tasks'] if x['kind'] == 'backup' and x['storage'] == 'store' and 'laptop' not in x['upid']]" "['lab']"
ok 'and told once' eval 'wait_for 20 logged "A backup on node .pve2. writes to storage .store." && ! grep -q "A backup of store:ct/101" "$LOG"'
edit "$PVE" "finish(r'$UPID')"
edit "$PBS" "finish(r'$TWIN')"

# --- a restore -----------------------------------------------------------------------------------------
READER=$(edit "$PBS" "task('reader', 'store:vm/100')")
ok 'a restore from a backup server is seen' wait_for 40 tasks_are "[x['kind'] for x in a['tasks'] if x['upid'] == r'$READER']" "['restore']"
edit "$PVE" "state['jobs']['night'] = {'storage': 'backup', 'schedule': '21:00', 'guests': [100, 101]}"
W2=$(worker $$)
ask "$W2, \"job_id\": \"night\""
# shellcheck disable=SC2034
T2=$(get 'a["ticket"]')
ok 'a job that would start now waits for it' is 'a["act"]' hold
ok 'and knows why' is 'a["reasons"][0]["code"]' restore
ok 'what it backs up is asked of its cluster' wait_for 30 asked_least "$PVE" '/cluster/backup/night/included_volumes 200' 1
wait_for 10 asked_least "$PVE" '/cluster/resources 200' 2
edit "$PBS" "finish(r'$READER')"
ok 'when it is done the job goes' wait_for 40 eval 'ask "$W2, \"ticket\": $T2"; is "a[\"act\"]" throttle >/dev/null'
ok 'and of that what is on its node counts' eval 'test "$(query "SELECT json_extract(inputs, \"\$.request.guests\") FROM decisions ORDER BY id DESC LIMIT 1")" = "[100]"'
RESTORE=$(edit "$PVE" "task('qmrestore', '100', node='pve2', lines=['restore vma archive: zstd -q -d -c /mnt/pve/backup/dump/vzdump-qemu-100.vma.zst | vma extract -v -r /var/tmp/vzdumptmp1.fifo - /var/tmp/vzdumptmp1'])")
ok "one from a storage is seen by its task's log" wait_for 40 tasks_are "[(x['kind'], x['storage']) for x in a['tasks'] if x['upid'] == r'$RESTORE']" "[('restore', 'backup')]"
edit "$PVE" "finish(r'$RESTORE')"
edit "$PBS" "task('syncjob', 'remote:far:store::s-1'); task('tape-backup-job', 'store:pool:drive:j')"
sleep 5
ok 'a sync and a tape are not touched' test "$(asked "$PBS" '^DELETE')" = 0

# --- garbage collection and verification ------------------------------------------------------------------
GC=$(edit "$PBS" "task('garbage_collection', 'store')")
ok 'a garbage collection is stopped while no redundancy is left' wait_for 40 state_is "$PBS" "'endtime' in next(t for t in state['tasks'] if t['upid'] == r'$GC')" true
ok 'and told' wait_for 10 logged "A garbage collection on 'pbs1' .* is stopped: md3 may lose no further disk"
ok 'it stands in the record' test "$(query "SELECT count(*) FROM lever_actions WHERE lever = 'job' AND after = 'stopped'")" = 1
VERIFY=$(edit "$PBS" "task('verificationjob', 'store:v-night')")
ok 'a verification too' wait_for 40 state_is "$PBS" "'endtime' in next(t for t in state['tasks'] if t['upid'] == r'$VERIFY')" true
ok 'they are shown as stopped' wait_for 20 tasks_are "sorted(x['kind'] for x in a['tasks'] if x['stopped'] and not x['upid'])" "['gc', 'verify']"
ok 'ages are not asked again before their time' test "$(asked "$PBS" '/groups ')" = "$GROUPS_ASKED"
gate_kill KILL
gate_start
wait_for 15 operation_is recovery
ok 'that outlives the gate' wait_for 20 tasks_are "sorted(x['kind'] for x in a['tasks'] if x['stopped'])" "['gc', 'verify']"
sleep 5
ok 'nothing is run while the array is rebuilt' test "$(asked "$PBS" '^POST')" = 0
nas5
ok 'when it is well again the garbage collection is run' wait_for 60 asked_least "$PBS" '^POST /api2/json/admin/datastore/store/gc 200' 1
ok 'and the verification, by its job' wait_for 30 asked_least "$PBS" '^POST /api2/json/admin/verify/v-night/run 200' 1
ok 'then it is forgotten' wait_for 20 tasks_are "[x for x in a['tasks'] if x['stopped']]" '[]'
sleep 3
ok 'each is run once' test "$(asked "$PBS" '^POST')" = 2
ok 'in the record too' test "$(query "SELECT data FROM memory WHERE nas = 'tasks:stopped'")" = '[]'
edit "$PBS" "state['tasks'] = [] and None
state['tasks'] = []"

# --- with redundancy left, and by the rule ----------------------------------------------------------------
nas_rebuild
GC=$(edit "$PBS" "task('garbage_collection', 'store')")
wait_for 40 tasks_are "[x['kind'] for x in a['tasks'] if x['upid'] == r'$GC']" "['gc']"
sleep 5
ok 'with redundancy left it goes on' state_is "$PBS" "'endtime' in next(t for t in state['tasks'] if t['upid'] == r'$GC')" false
policy_running stop 'pbs_jobs = "stop";'
kill -HUP "$GATE_PID"
ok 'a rule may stop it all the same' wait_for 40 state_is "$PBS" "'endtime' in next(t for t in state['tasks'] if t['upid'] == r'$GC')" true

# --- jobs that already write, stopped -----------------------------------------------------------------------
UPID=$(edit "$PVE" "task('vzdump', '101', node='pve2', start=time() - 60, lines=['$(start_line 101 backup)'])")
ok 'without stop_jobs a job is not stopped, and that is told' wait_for 40 logged "no cluster with stop_jobs is set up"
ok 'it goes on' state_is "$PVE" "'endtime' in next(t for t in state['tasks'] if t['upid'] == r'$UPID')" false
edit "$PVE" "finish(r'$UPID')"
wait_for 20 tasks_are "len([x for x in a['tasks'] if x['upid'] == r'$UPID'])" 0
servers_conf 'stop_jobs = true;'
kill -HUP "$GATE_PID"
UPID=$(edit "$PVE" "task('vzdump', '101', node='pve2', start=time() - 60, lines=['$(start_line 101 backup)'])")
ok 'with it the job is stopped' wait_for 40 state_is "$PVE" "'endtime' in next(t for t in state['tasks'] if t['upid'] == r'$UPID')" true
ok 'told and recorded' wait_for 10 logged "A backup on 'pve2' .storage 'backup'. is stopped"
edit "$PVE" "state['tokens']['gate@pve!rg']['privs']['/nodes/pve2'] = ['Sys.Audit']"
UPID=$(edit "$PVE" "task('vzdump', '101', node='pve2', start=time() - 60, lines=['$(start_line 101 backup)'])")
ok 'one that the cluster refuses to stop is shown as that' wait_for 40 tasks_are "[(x['stopped'], x['text']) for x in a['tasks'] if x['upid'] == r'$UPID']" "[(False, 'could not be stopped: the token lacks Sys.Modify on /nodes/pve2')]"
ok 'and goes on' state_is "$PVE" "'endtime' in next(t for t in state['tasks'] if t['upid'] == r'$UPID')" false
edit "$PVE" "finish(r'$UPID')"
edit "$PVE" "state['tokens']['gate@pve!rg']['privs']['/nodes/pve2'] = ['Sys.Audit', 'Sys.Modify']"

# --- ages, and a NAS that cannot be seen -----------------------------------------------------------------
age_calls() { asked "$1" '/(namespace|groups|content)\b'; }
gate_kill TERM
nas_gone
BEFORE=$(age_calls "$PBS").$(age_calls "$PVE")
LISTS=$(asked "$PBS" '/tasks 200')
gate_start
wait_for 40 asked_least "$PBS" '/tasks 200' $((LISTS + 2))
ok 'while the NAS cannot be seen nobody asks how old backups are: that reads its mount' test "$(age_calls "$PBS").$(age_calls "$PVE")" = "$BEFORE"
nas5
ok 'once it is seen the backup server is asked' wait_for 40 eval '[ "$(age_calls "$PBS")" -gt "${BEFORE%.*}" ]'
ok 'and the cluster' wait_for 40 eval '[ "$(age_calls "$PVE")" -gt "${BEFORE#*.}" ]'

# --- a call that hangs in a mount ----------------------------------------------------------------------------
edit "$PVE" "fault('/storage/backup/content', hang=60)"
sed -i 's/{ name = "store"; nas/{ name = "second"; nas = "nas1"; }, { name = "store"; nas/' "$CONF"
gate_kill TERM
: >"$LOG"
BEFORE=$(asked "$PBS" '/namespace ')
gate_start
ok 'a list that is not answered in time is given up' wait_for 60 logged "How old backups on 'backup' are is not known"
ok 'the next server is asked' wait_for 30 asked_least "$PBS" '/namespace ' $((BEFORE + 1))
ok 'but this one about no other storage: the call may hang on within it' test "$(asked "$PVE" '/storage/second/content')" = 0
servers_conf 'stop_jobs = true;'

# --- what cannot be seen ------------------------------------------------------------------------------------
edit "$PVE" "state['tokens']['gate@pve!rg']['privs']['/'] = []"
servers_conf 'stop_jobs = true;'
gate_kill TERM
: >"$LOG"
gate_start
ok 'a token that sees only its own tasks is told' wait_for 30 logged "The token for 'lab' lacks Sys.Audit on /: what runs there cannot be seen"
edit "$PVE" "state['tokens']['gate@pve!rg']['privs']['/'] = ['Sys.Audit']"
edit "$PVE" "fault('/cluster/tasks', status=403, body='{\"data\":null,\"message\":\"Permission check failed (/, Sys.Audit)\"}')"
gate_kill TERM
gate_start
ok 'a list that is refused is told' wait_for 30 logged "What runs on 'lab' cannot be seen: .*Sys.Audit"
ok 'and stops nothing else' answers
server_stop "$PVE_PID"
ok 'a cluster that is gone is told' wait_for 60 logged "The API of 'lab' cannot be used"
gate_kill TERM
ok 'the gate ends well' test "$GATE_STATUS" = 0
done_testing
