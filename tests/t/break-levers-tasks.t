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
tasks_are() {
	api GET /v1/levers
	is "$1" "$2" >"$SCRATCH/said"
}

# --- a cluster that takes longer for its list than the time between two lists ---------------------------
# A restore's log says which storage it reads from; without it the restore is nobody's, and is slowed.
pve_new
server_start pve
fresh
cat >"$POLICY" <<'TEXT'
name = "test";
defaults = { settle = "0"; release_interval = "0"; };
rules = ( { name = "rebuild"; when = { role = "data"; operation = ["recovery"]; };
            verdict = "throttle"; without_lever = "allow"; running = "throttle"; rate = "10 MB/s"; } );
TEXT
servers_conf
nas_rebuild
edit "$PVE" "fault('GET .*/cluster/tasks', delay=3)"
edit "$PVE" "task('qmrestore', '100', node='pve2', start=time() - 60, lines=['restore vma archive: zstd -q -d -c /mnt/pve/backup/dump/vzdump-qemu-100-a.vma.zst | vma extract'])" >"$SCRATCH/upid"
edit "$PVE" "task('vzdump', '101', node='pve2', start=time() - 60, lines=['INFO: starting new backup job: vzdump 101 --storage backup --mode snapshot --quiet 1'])" >"$SCRATCH/upid2"
gate_start
ok 'its list is slow, and the logs of its tasks are read all the same' wait_for 40 tasks_are "[x['storage'] for x in a['tasks'] if x['upid'] == r'$(cat "$SCRATCH/upid2")']" "['backup']"
ok 'the restore too' wait_for 20 asked_least "$PVE" 'GET .*qmrestore.*/log 200' 1
ok 'and the list goes on being read' wait_for 30 asked_least "$PVE" 'GET .*/cluster/tasks 200' 3

done_testing
