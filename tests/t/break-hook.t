#!/bin/bash
# SPDX-License-Identifier: MIT
# What an adversary found about the hook: a stopped job whose next guest was backed up all the same, and what hangs.

# shellcheck source=tests/fakes/hooklib.sh
. tests/fakes/hooklib.sh

if [ "$(id -u)" -ne 0 ]; then
	echo '1..0 # SKIP only scripts that root owns are run: needs root'
	exit 0
fi
umask 022

# script NAME LINES: in hooks.d
script() {
	mkdir -p "$NODE/hooks.d"
	printf '#!/bin/bash\n%s\n' "$2" >"$NODE/hooks.d/$1"
	chmod 755 "$NODE/hooks.d/$1"
}
guests=(--guest 101:qemu:snapshot:web --guest 102:qemu:snapshot:db --guest 103:qemu:snapshot:mx)

# --- Stop while a script runs that takes its time ------------------------------------------------------
for phase in backup-start pre-restart backup-end; do
	fresh
	gate_start "$(answer allow)"
	# shellcheck disable=SC2016
	script slow "[ \"\$1 \$3\" = '$phase 101' ] || exit 0; trap '' TERM; : >\"$NODE/there\"; sleep 60"
	job --storage nas "${guests[@]}"
	pid=$(worker)
	wait_for 20 test -e "$NODE/there"
	said=$(perl "$FAKES/vzdump.pl" stop "$pid")
	job_wait
	ok "Stop during a script in $phase that ignores SIGTERM: no other guest is backed up" not_logged 'copying data of 10[23]'
	ok 'nor is the worker killed' test -z "$said"
done

# --- Stop while the gate is only told ---------------------------------------------------------------------
for store in '--storage nas' '--dumpdir /mnt/nas'; do
	fresh
	gate_start "$(answer allow)"
	: >"$GATE/hang-others"
	[ "$store" = '--storage nas' ] || script slow "[ \"\$1 \$3\" = 'backup-start 101' ] || exit 0; : >\"$NODE/there\"; sleep 60 & wait"
	# shellcheck disable=SC2086
	job $store "${guests[@]}"
	pid=$(worker)
	if [ "$store" = '--storage nas' ]; then
		wait_for 20 called /v1/report '"phase": "backup-start"'
	else
		wait_for 20 test -e "$NODE/there"
	fi
	perl "$FAKES/vzdump.pl" stop "$pid" >"$SCRATCH/said"
	job_wait
	ok "Stop during a report ($store): no guest is backed up" not_logged 'copying data'
done

# --- a hook that a signal ended before it could do anything ---------------------------------------------------
# vzdump leaves such a call alone, unreaped: that is what the next one knows it by.
fresh
gate_start '{"hang": true}'
cat >"$SCRATCH/left.pl" <<'PERL'
my ($hook, $end) = @ARGV;
my $pid = fork();
if (!$pid) {
	open(STDOUT, '>', '/dev/null');
	exec($hook, 'pre-stop', 'snapshot', '101') or POSIX::_exit(9);
}
for (1 .. 400) {
	open(my $fh, '<', "/proc/$pid/comm") or last;
	last if (<$fh> // '') =~ /^rebuildgate-vzd/;
	select(undef, undef, undef, 0.01);
}
kill('KILL', $pid) if $end eq 'left';
waitpid($pid, 0) if $end eq 'reaped';
exit(system($hook, 'backup-start', 'snapshot', '102') >> 8);
PERL
left() {
	env -i LC_ALL=C REBUILDGATE_HOOK_CONF="$NODE/hook.conf" REBUILDGATE_HOOK_ROOT="$NODE" \
		perl "$SCRATCH/left.pl" "$HOOK" "$1" >>"$LOG" 2>&1 </dev/null
	STATUS=$?
}
left left
ok 'a call that vzdump left behind stops the next guest' status_is 1
ok 'and says why' logged 'this job was aborted: backup-start fails'
fresh
left reaped
ok 'one that ended and was reaped does not' status_is 0

# --- what hangs ---------------------------------------------------------------------------------------------
# A FIFO in the place of hook.conf, and an inner hook that does not start: the outer one reads it as well.
fresh
mkdir -p "$SCRATCH/alone"
cp "$HOOK" "$SCRATCH/alone/rebuildgate-vzdump"
rm "$NODE/hook.conf"
mkfifo "$NODE/hook.conf"
for phase in job-init job-start 'backup-start snapshot 101'; do
	# shellcheck disable=SC2086
	timeout -k 2 15 env -i LC_ALL=C STOREID=nas REBUILDGATE_HOOK_CONF="$NODE/hook.conf" \
		REBUILDGATE_HOOK_ROOT="$NODE" "$SCRATCH/alone/rebuildgate-vzdump" $phase >>"$LOG" 2>&1 </dev/null
	STATUS=$?
	ok "a FIFO as hook.conf does not stop $phase" status_is 0
done
ok 'which is told' log_count 'UNGATED' 3

# --- no process left for a script ------------------------------------------------------------------------------
# The user of this number may have two processes: the outer and the inner hook.
fresh
script never 'echo "the script runs"'
chmod 755 "$SCRATCH" "$NODE"
starve() {
	# shellcheck disable=SC2086
	setpriv --reuid 65529 --regid 65529 --clear-groups prlimit --nproc=2 env -i LC_ALL=C \
		REBUILDGATE_HOOK_CONF="$NODE/hook.conf" REBUILDGATE_HOOK_ROOT="$NODE" "$HOOK" $1 >>"$LOG" 2>&1 </dev/null
	STATUS=$?
}
if setpriv --reuid 65529 --regid 65529 --clear-groups test -x "$HOOK"; then
	starve 'pre-restart snapshot 101'
	ok 'no process for a script: a guest is not left frozen' status_is 0
	ok 'and it is told' logged 'never cannot be run'
	ok 'indeed' not_logged 'the script runs'
else
	for name in 'a guest is not left frozen' 'and it is told' 'indeed'; do skip "$name" 'the hook is in a folder of root alone'; done
fi

done_testing
