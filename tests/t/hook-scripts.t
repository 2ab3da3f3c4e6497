#!/bin/bash
# SPDX-License-Identifier: MIT
# hooks.d and hooks-early.d: an administrator's own scripts, which vzdump would have no place for.

# shellcheck source=tests/fakes/hooklib.sh
. tests/fakes/hooklib.sh

if [ "$(id -u)" -ne 0 ]; then
	echo '1..0 # SKIP only scripts that root owns are run: needs root'
	exit 0
fi
umask 022

# script DIR/NAME LINES
script() {
	mkdir -p "$NODE/$(dirname "$1")"
	printf '#!/bin/bash\n%s\n' "$2" >"$NODE/$1"
	chmod 755 "$NODE/$1"
}
tell='echo "script ${0##*/} $*"'

fresh
gate_start "$(answer allow)"
script hooks.d/20-b "$tell"
script hooks.d/10-a "$tell; env | sort >\"$NODE/env-\$1\"; readlink /proc/\$\$/fd/0 >\"$NODE/stdin\"; [ \$1 != job-init ] || ls \"$GATE/log\" >\"$NODE/asked\""
script hooks.d/3-z "$tell"
cat >"$NODE/hooks.d/9-state" <<EOF
#!/usr/bin/perl
open(my \$out, '>', "$NODE/state") or die;
# The perl script itself and the file just opened are 3 and 4.
print \$out "fd \$_ ", readlink("/proc/self/fd/\$_") // '', "\n" for grep { -e "/proc/self/fd/\$_" } (0 .. 60);
open(my \$in, '<', '/proc/self/status') or die;
print \$out grep { /^Sig(Blk|Ign)/ } <\$in>;
EOF
chmod 755 "$NODE/hooks.d/9-state"
script hooks-early.d/wake "$tell; ls \"$GATE/log\" >\"$NODE/early-asked\" 2>/dev/null; true"
run_job --storage nas --dir --guest 101:qemu:snapshot:web
ok 'a job with scripts runs' status_is 0
ok 'in the order of their names' test "$(grep 'script .* job-init' "$LOG" | cut -d' ' -f3 | tr '\n' ' ')" = 'wake 10-a 20-b 3-z '
ok 'early ones in job-init only' log_count 'script wake' 1
ok 'before the decision' test ! -s "$NODE/early-asked"
ok 'the others after it' test -s "$NODE/asked"
for phase in job-init job-start 'backup-start snapshot 101' 'pre-stop snapshot 101' 'pre-restart snapshot 101' \
	'post-restart snapshot 101' 'backup-end snapshot 101' 'log-end snapshot 101' job-end; do
	ok "with vzdump's arguments: $phase" log_count "^INFO: script 20-b $phase\$" 1
done
got=$(grep -v '^_=\|^PWD=\|^SHLVL=\|REBUILDGATE' "$NODE/env-backup-end" | tr '\n' ,)
ok 'with vzdump'"'"'s environment' test "$got" = \
	'DUMPDIR=/mnt/pve/nas/dump,HOSTNAME=web,LC_ALL=C,LOGFILE=/mnt/pve/nas/dump/vzdump-qemu-101.log,LVM_SUPPRESS_FD_WARNINGS=1,STOREID=nas,TARGET=/mnt/pve/nas/dump/vzdump-qemu-101.vma,VMTYPE=qemu,'
ok 'stdin is vzdump'"'"'s' grep -q pipe: "$NODE/stdin"
ok 'no descriptor of ours is open in it' test "$(grep '^fd' "$NODE/state" | grep -cE 'socket|signalfd|anon_inode|/proc|/run')" -eq 0
ok 'no signal is blocked in it' grep -q 'SigBlk:.0000000000000000' "$NODE/state"
ok 'SIGPIPE is not ignored in it' grep -qE 'SigIgn:.*[02468ace]...$' "$NODE/state"

# --- refusals -----------------------------------------------------------------------------------------
fresh
gate_start "$(answer allow)"
for name in group-writable foreign not-executable; do script "hooks.d/$name" "$tell"; done
script elsewhere "$tell"
chmod 775 "$NODE/hooks.d/group-writable"
chown 12345 "$NODE/hooks.d/foreign"
chmod 644 "$NODE/hooks.d/not-executable"
ln -s "$NODE/elsewhere" "$NODE/hooks.d/link"
mkdir "$NODE/hooks.d/folder"
script hooks.d/old~ "$tell"
script hooks.d/x.dpkg-old "$tell"
script hooks.d/.hidden "$tell"
script hooks.d/fine "$tell"
run_job --storage nas --guest 101:qemu:snapshot:web
ok 'what root alone wrote is run' logged '^INFO: script fine job-init'
ok 'and nothing else' log_count '^INFO: script ' "$(grep -c 'script fine' "$LOG")"
ok 'a writable one is refused, in one line' log_count 'group-writable is not run: it may be written by others' 1
ok 'a foreign one' log_count 'foreign is not run: it does not belong to root' 1
ok 'one that is not executable' log_count 'not-executable is not run: it is not executable' 1
ok 'a link' log_count 'link is not run: it is no regular file' 1
ok 'a folder' log_count 'folder is not run: it is no regular file' 1
ok 'what editors and dpkg leave is passed over' not_logged 'old~|dpkg|hidden'
ok 'the job goes on' status_is 0

chmod 777 "$NODE/hooks.d"
: >"$LOG"
run_job --storage nas
ok 'a folder that others may write runs nothing' not_logged '^INFO: script'
ok 'and says so' log_count 'nothing in .*/hooks.d is run: it may be written by others' 1

# --- failures are passed on ------------------------------------------------------------------------------
fresh
gate_start "$(answer allow)"
script hooks-early.d/wake 'echo no answer; exit 5'
run_job --storage nas --guest 101:qemu:snapshot:web
ok 'a failing early script fails the job' logged "TASK ERROR: command '.* job-init' failed: exit code 5"
ok 'with a line of whose failure it is' logged 'hooks-early.d/wake failed in job-init with exit status 5'
ok 'before the gate was asked' test ! -e "$GATE/log"

fresh
gate_start "$(answer allow)"
script hooks.d/10 'exit 6'
script hooks.d/20 "$tell"
run_job --storage nas
ok 'a failing script fails job-init' logged 'job-init.* failed: exit code 6'
ok 'the next is not run' not_logged 'script 20'
ok 'and the gate is told, as vzdump will not' called /v1/report '"phase": "job-abort"'

fresh
gate_start "$(answer allow)"
script hooks.d/10 '[ "$1" != backup-end ] || exit 9'
run_job --storage nas --guest 101:qemu:snapshot:web
ok 'a failure at backup-end is passed on too' logged 'VM 101 failed - command .*backup-end.* exit code 9'
script hooks.d/10 '[ "$1" != pre-stop ] || kill -9 $$'
: >"$LOG"
run_job --storage nas --guest 101:qemu:snapshot:web
ok 'a killed script is a failure' logged 'pre-stop.* exit code 137'

fresh
gate_start "$(answer deny)"
script hooks.d/10 "$tell"
run_job --storage nas
ok 'no script runs where the job does not go on' not_logged '^INFO: script'

# --- abort while a script runs -------------------------------------------------------------------------------
fresh
gate_start "$(answer allow)"
script hooks.d/10 "trap '' TERM; [ \$1 != job-start ] || { touch $NODE/in; sleep 60; }"
job --storage nas --guest 101:qemu:snapshot:web
pid=$(worker)
wait_for 20 test -e "$NODE/in"
said=$(perl "$FAKES/vzdump.pl" stop "$pid")
job_wait
ok 'Stop ends the hook while a script does not listen' test -z "$said"
ok 'the job failed' status_is 1
ok 'the script itself is killed' wait_for 10 not_running "$NODE/hooks.d/10"

done_testing
