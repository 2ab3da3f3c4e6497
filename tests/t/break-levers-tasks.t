#!/bin/bash
# SPDX-License-Identifier: MIT
# Where the view of what else runs was broken once: what hurt, and that it no longer does.

# shellcheck source=tests/t/gate-lib.sh
. tests/t/gate-lib.sh
# shellcheck source=tests/t/servers-lib.sh
. tests/t/servers-lib.sh

servers_conf() {
	conf_write "$(pve_conf "") task_poll = \"2s\"; age_poll = \"10min\"; "
	sed -i 's/^storages = .*/storages = ( { name = "backup"; nas = "nas1"; } );/' "$CONF"
}
# policy_throttle [SETTINGS OF THE RULE]
policy_throttle() {
	cat >"$POLICY" <<-TEXT
	name = "test";
	defaults = { settle = "0"; release_interval = "0"; };
	rules = ( { name = "rebuild"; when = { role = "data"; operation = ["recovery"]; };
	            verdict = "throttle"; without_lever = "allow"; running = "throttle"; rate = "10 MB/s"; ${1:-} } );
	TEXT
}
tasks_are() {
	api GET /v1/levers
	is "$1" "$2" >"$SCRATCH/said"
}

# --- a cluster that takes longer for its list than the time between two lists ---------------------------
# A restore's log says which storage it reads from; without it the restore is nobody's, and is slowed.
pve_new
server_start pve
fresh
policy_throttle
servers_conf
nas_rebuild
edit "$PVE" "fault('GET .*/cluster/tasks', delay=3)"
edit "$PVE" "task('qmrestore', '100', node='pve2', start=time() - 60, lines=['restore vma archive: zstd -q -d -c /mnt/pve/backup/dump/vzdump-qemu-100-a.vma.zst | vma extract'])" >"$SCRATCH/upid"
edit "$PVE" "task('vzdump', '101', node='pve2', start=time() - 60, lines=['INFO: starting new backup job: vzdump 101 --storage backup --mode snapshot --quiet 1'])" >"$SCRATCH/upid2"
gate_start
ok 'its list is slow, and the logs of its tasks are read all the same' wait_for 40 tasks_are "[x['storage'] for x in a['tasks'] if x['upid'] == r'$(cat "$SCRATCH/upid2")']" "['backup']"
ok 'the restore too' wait_for 20 asked_least "$PVE" 'GET .*qmrestore.*/log 200' 1
ok 'and the list goes on being read' wait_for 30 asked_least "$PVE" 'GET .*/cluster/tasks 200' 3

# --- restores that read a mapped storage which is not below /mnt/pve -----------------------------------
# A log names a path, or a host and its datastore: what that is says the cluster's list of storages.
restores_conf() {
	conf_write "$(pve_conf "") task_poll = \"2s\"; age_poll = \"10min\"; "
	sed -i 's/^storages = .*/storages = ( { name = "folder"; nas = "nas1"; }, { name = "store"; nas = "nas1"; }, { name = "later"; nas = "nas1"; } );/' "$CONF"
}
# restore FROM...: a VM's, whose log says that.
restore() {
	edit "$PVE" "task('qmrestore', '100', node='pve2', lines=[$(printf "'%s'," "$@")])"
}
restores_are() {
	tasks_are "sorted((x['storage'] or '', x['nas'] or '', bool(x['text'])) for x in a['tasks'] if x['kind'] == 'restore')" "$1"
}
over() {
	edit "$PVE" "finish(r'$1')"
	wait_for 20 restores_are '[]'
}
T=
waits() { # a job that would start now
	ask "$(worker $$), \"storage\": \"store\"${T:+, \"ticket\": $T}"
	T=$(get 'a["ticket"]')
	is 'a["reasons"][0]["code"]' restore >"$SCRATCH/said"
}
starts() {
	waits
	is 'a["act"]' throttle >"$SCRATCH/said"
}
gate_kill TERM
edit "$PVE" "state['faults'].clear() or state['tasks'].clear()" >/dev/null
edit "$PVE" "state['tokens']['gate@pve!rg']['privs'].update({'/storage': [], '/storage/folder': ['Datastore.AllocateSpace'],
  '/storage/store': ['Datastore.Audit'], '/storage/later': ['Datastore.Audit'], '/storage/deep': ['Datastore.Audit']})"
edit "$PVE" "state.update(storages={'folder': {'type': 'dir', 'path': '/mnt/nas/'}, 'deep': {'type': 'dir', 'path': '/mnt/nas/deep'},
  'store': {'type': 'pbs', 'server': '10.0.2.82', 'datastore': 'ds', 'namespace': 'a'}, 'local': {'type': 'dir', 'path': '/var/lib/vz'}})"
fresh
restores_conf
nas_rebuild
policy_throttle
gate_start
wait_for 15 operation_is recovery
R=$(restore 'restore vma archive: zstd -q -d -c /mnt/nas/dump/vzdump-qemu-100-a.vma.zst | vma extract -v -r /var/tmp/x - /var/tmp/x')
ok 'a restore from a folder is one from its storage' wait_for 40 restores_are "[('folder', 'nas1', False)]"
ok 'a job that would start now waits for it' wait_for 10 waits
over "$R"
ok 'until it is over' wait_for 20 starts
R=$(restore "new volume ID is \\'folder:vm-100-disk-0\\'" 'restore proxmox backup image: /usr/bin/pbs-restore --repository root@pam@10.0.2.82:ds --ns a vm/100/2026-04-27T06:51:58Z drive-scsi0.img.fidx /dev/pve/x')
ok 'one of a virtual machine from a datastore is one from the storage that it is' wait_for 40 restores_are "[('store', 'nas1', False)]"
over "$R"
LISTS=$(asked "$PVE" '/storage 200')
R=$(restore 'restore vma archive: vma extract -v -r /var/tmp/x /mnt/nas/deep/dump/vzdump-qemu-100-a.vma /var/tmp/x')
ok 'its log is read' wait_for 20 asked_least "$PVE" 'GET .*/log 200' 3
sleep 3
ok 'of two folders the deeper one counts: that storage is none of ours' restores_are '[]'
ok 'what is known is not asked for again' test "$(asked "$PVE" '/storage 200')" = "$LISTS"
edit "$PVE" "finish(r'$R')"
R=$(restore 'restore vma archive: vma extract -v -r /var/tmp/x /var/lib/vz/dump/vzdump-qemu-100-a.vma /var/tmp/x')
ok 'a restore from where the token sees nothing is shown as that' wait_for 20 tasks_are "[x['text'] for x in a['tasks']]" "['a restore of unknown source: /var/lib/vz/dump/vzdump-qemu-100-a.vma is on no storage that the token sees']"
ok 'after the storages were asked for anew' test "$(asked "$PVE" '/storage 200')" = $((LISTS + 1))
sleep 3
ok 'once' test "$(asked "$PVE" '/storage 200')" = $((LISTS + 1))
ok 'no job waits for it' wait_for 5 starts
ok 'in words too' eval '"$BUILD/rebuildgate" --socket "$SOCK" levers 2>&1 | grep -q "a restore of unknown source: /var/lib/vz"'
over "$R"
edit "$PVE" "state['storages'].update(later={'type': 'cifs', 'server': 'nas', 'share': 'b'})"
edit "$PVE" "state['storages'].update(later={'type': 'cifs', 'server': 'nas', 'share': 'b', 'path': '/srv/b'})"
R=$(restore 'restore vma archive: vma extract -v -r /var/tmp/x /srv/b/dump/vzdump-qemu-100-a.vma /var/tmp/x')
ok 'a storage that is new is found when it is read from' wait_for 40 restores_are "[('later', 'nas1', False)]"
over "$R"

# --- a node that does not answer for its task's log ----------------------------------------------------
for status in 596 500; do
	edit "$PVE" "fault('/log$', status=$status)"
	: >"$LOG"
	LISTS=$(asked "$PVE" '/cluster/tasks 200')
	LOGS=$(asked "$PVE" "/log $status")
	R=$(restore 'restore vma archive: vma extract -v -r /var/tmp/x /mnt/nas/dump/vzdump-qemu-100-a.vma /var/tmp/x')
	PAST=$(edit "$PVE" "task('vzdump', '101', node='pve2', start=time() - 60, lines=['INFO: starting new backup job: vzdump 101 --storage folder'])")
	edit "$PVE" "finish(r'$PAST')"
	ok "$status: the log is tried again" wait_for 30 asked_least "$PVE" "qmrestore.*/log $status" $((LOGS + 3))
	ok "$status: the list goes on" wait_for 20 asked_least "$PVE" '/cluster/tasks 200' $((LISTS + 3))
	ok "$status: what is not read is a restore of unknown source" restores_are "[('', '', True)]"
	ok "$status: that is said" logged "A task's log cannot be read: .*$status"
	ok "$status: once" test "$(grep "A task's log cannot be read" "$LOG" | grep -c qmrestore)" = 1
	ok "$status: the server can be used all the same" eval '! logged "The API of .lab. cannot be used"'
	ok "$status: the log of a job that has ended is not asked for in a row" eval 'test "$(asked "$PVE" "vzdump.*/log $status")" -le 2'
	edit "$PVE" "state['faults'].clear()"
	ok "$status: it answers again, and the restore is seen" wait_for 60 restores_are "[('folder', 'nas1', False)]"
	over "$R"
done

# --- a garbage collection that may not be stopped ----------------------------------------------------------
stopped_are() {
	tasks_are "sorted((x['kind'], x['stopped'], x['text']) for x in a['tasks'])" "$1"
}
gate_kill TERM
pbs_new "state['tokens']['gate@pbs!rg']['privs']['/system/tasks'] = ['Sys.Audit']"
server_start pbs
fresh
T=
policy_throttle 'pbs_jobs = "stop";'
nas_rebuild
conf_write "$(pbs_conf 'throttle = false;') task_poll = \"2s\"; age_poll = \"10min\"; "
sed -i 's/^storages = .*/storages = ( { name = "store"; nas = "nas1"; pbs = "pbs1"; } );/' "$CONF"
GC=$(edit "$PBS" "task('garbage_collection', 'store')")
gate_start
ok 'a server that refuses to stop a task: that is shown' wait_for 40 stopped_are "[('gc', False, 'could not be stopped: the token lacks Sys.Modify on /system/tasks')]"
ok 'and told' logged "A task is not stopped: .*Sys.Modify on /system/tasks"
ok 'the promise to run it again is taken back' test "$(query "SELECT data FROM memory WHERE nas = 'tasks:stopped'")" = '[]'
ok 'the record has the try and its end' test "$(query "SELECT group_concat(before || '>' || after, ' ') FROM (SELECT * FROM lever_actions WHERE lever = 'job' ORDER BY rowid)")" = 'running>stopped stopped>running'
ok 'in words too' eval '"$BUILD/rebuildgate" --socket "$SOCK" levers 2>&1 | grep -q "could not be stopped: the token lacks Sys.Modify"'
edit "$PBS" "finish(r'$GC')"
ok 'when it has ended by itself it is gone' wait_for 20 stopped_are '[]'
edit "$PBS" "state['tokens']['gate@pbs!rg']['privs']['/system/tasks'].append('Sys.Modify')"
VERIFY=$(edit "$PBS" "task('verificationjob', 'store:v-night')")
ok 'what may be stopped is' wait_for 40 state_is "$PBS" "'endtime' in next(t for t in state['tasks'] if t['upid'] == r'$VERIFY')" true
ok 'and stays promised' wait_for 20 stopped_are "[('verify', True, None)]"
edit "$PBS" "state['tokens']['gate@pbs!rg']['privs']['/datastore/store'].remove('Datastore.Verify')"
nas_idle
ok 'the array is well, and it may not be run: that is shown' wait_for 60 tasks_are "[(x['kind'], x['stopped'], x['text'][:28]) for x in a['tasks'] if x['text']]" "[('verify', True, 'cannot be run again yet: can')]"
sleep 5
ok 'said once' test "$(grep -c 'cannot be run yet' "$LOG")" = 1
ok 'what was never stopped is not run' test "$(asked "$PBS" '^POST .*/gc ')" = 0

# --- a restore from a datastore of that server that is mapped to no NAS ---------------------------------------
edit "$PBS" "state['datastores'].update(other={'namespaces': {'': []}})"
R=$(edit "$PBS" "task('reader', 'other:vm/100')")
edit "$PBS" "task('backup', 'other:vm/101')" >/dev/null
ok 'it is shown, with its datastore' wait_for 30 tasks_are "[(x['server'], x['store'], x['storage'], x['nas']) for x in a['tasks'] if x['upid'] == r'$R']" "[('pbs1', 'other', None, None)]"
ok 'a backup there is not: the rule has nothing to do with it' tasks_are "[x['kind'] for x in a['tasks'] if x['store'] == 'other']" "['restore']"
nas_rebuild
wait_for 15 operation_is recovery
ok 'no job waits for it' wait_for 5 starts
edit "$PBS" "finish(r'$R')"

# --- where looks and lists are seldom -----------------------------------------------------------------------------
# While a lever is set a restore must be seen within two readings: both come fast then, whatever poll and task_poll say.
next_look() {
	api GET /v1/nas
	get 'a["nas"][0]["next_look_ms"]'
}
looks() {
	curl -s -m 5 --unix-socket "$SOCK" http://gate/metrics | sed -n 's/^rebuildgate_nas_looks_total{.*} //p'
}
looks_least() { [ "$(looks)" -ge "$1" ]; }
gate_kill TERM
edit "$PBS" "state['tasks'].clear()" >/dev/null
edit "$PBS" "state['tokens']['gate@pbs!rg']['privs'].update({'/datastore/store': ['Datastore.Audit']})"
fresh
policy_throttle
nas_rebuild
conf_write "$(pbs_conf '') task_poll = \"1min\"; age_poll = \"10min\"; "
sed -i -e 's/^storages = .*/storages = ( { name = "store"; nas = "nas1"; pbs = "pbs1"; } );/' -e 's/^poll = .*/poll = "30s";/' -e 's/^idle_poll = .*/idle_poll = "30s";/' "$CONF"
JOB=$(edit "$PBS" "task('backup', 'store:vm/100', start=time() - 60)")
gate_start
ok 'a job in the first list sets the lever' wait_for 30 eval "edit \"\$PBS\" 'len(state[\"rules\"])' | grep -q 1"
LOOKS=$(looks)
LISTS=$(asked "$PBS" '/tasks 200')
ok 'looks come fast while it is set, at a poll of 30 s' wait_for 22 looks_least $((LOOKS + 4))
ok 'and lists, at a task_poll of 1 min' wait_for 25 asked_least "$PBS" '/tasks 200' $((LISTS + 4))
R=$(edit "$PBS" "task('reader', 'store:vm/102')")
ok 'so a restore frees the lever soon' wait_for 12 eval "edit \"\$PBS\" 'len(state[\"rules\"])' | grep -q 0"
edit "$PBS" "finish(r'$R'); finish(r'$JOB')"
ok 'when the job is over looks are seldom again' wait_for 40 eval '[ "$(next_look)" -gt 10000 ]'
LISTS=$(asked "$PBS" '/tasks 200')
sleep 12
ok 'and lists' test "$(asked "$PBS" '/tasks 200')" -le $((LISTS + 1))

done_testing
