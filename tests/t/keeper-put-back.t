#!/bin/bash
# SPDX-License-Identifier: MIT
# A keeper and its guard killed at once, while block jobs are paused: `rebuildgate-vzdump --put-back` frees the guest.

# shellcheck source=tests/fakes/keeperlib.sh
. tests/fakes/keeperlib.sh

ONE='{"jobs": [{"device": "drive-scsi0", "len": 400000000000, "speed": 9000000}, {"device": "drive-scsi1", "len": 1000000, "speed": 9000000}]}'
SAID=$SCRATCH/said

put_back() { # [ARGUMENT...]: its exit status in STATUS, what it said in SAID
	env -i "REBUILDGATE_HOOK_CONF=$NODE/hook.conf" "REBUILDGATE_HOOK_ROOT=$NODE" "$HOOK" --put-back "$@" >"$SAID" 2>&1
	STATUS=$?
}
says() { # STATUS LINE: exactly that, and nothing else
	[ "$STATUS" = "$1" ] || { echo "# exit status $STATUS"; sed 's/^/# /' "$SAID"; return 1; }
	[ "$(wc -l <"$SAID")" = 1 ] && grep -qE -- "^$2\$" "$SAID" || { sed 's/^/# said: /' "$SAID"; return 1; }
}
# A backup under way whose keeper holds a pause.
paused() {
	fresh_node
	qemu_start 100 "$ONE"
	keep rest 0 60000
	qemu_begin 100
	backup --guest 100:qemu:snapshot:web
	wait_for 20 jobs_are 100 status '"paused"' '"created"'
}
runs() { jobs_are 100 status '"running"' '"created"' && jobs_are 100 speed 9000000 9000000; }
kill_both() {
	# shellcheck disable=SC2046 # both at once
	kill -KILL $(keepers 100)
	wait_for 10 no_keeper 100
}
finish() {
	copied 100
	[ -z "$JOB_PID" ] || job_wait
	wait_for 20 no_keeper 100
}

fresh_node
put_back
ok 'a node on which nothing was ever slowed: nothing to do' says 0 'no keeper has left anything to be put back'

paused
put_back
ok 'a keeper that lives: its guest is left alone' says 0 "guest 100: its keeper lives \\(process $(guard_of 100)\\), it is left alone"
ok 'it stays paused' jobs_are 100 status '"paused"' '"created"'
kill -STOP "$(guard_of 100)"
put_back
ok 'one that is stopped lives as well' says 0 'guest 100: its keeper lives .*, it is left alone'
ok 'with its guest' jobs_are 100 status '"paused"' '"created"'
kill -CONT "$(guard_of 100)"
ok 'the keeper goes on with it' has_keeper 100
ok 'and has its note' has_note 100

kill_both
ok 'guard and keeper killed at once: the guest stays paused' jobs_are 100 status '"paused"' '"created"'
put_back
ok 'put back: it says so' says 0 'guest 100: its block jobs run at their own speed again \(1 paused, 1 limited before\)'
ok 'all jobs run at their own speed' runs
ok 'nothing is remembered' no_note 100
ok 'the journal has it' journal 'guest 100: its keeper was dead; its block jobs run at their own speed again, by rebuildgate-vzdump --put-back'
ok 'the gate is told, in the words of the keeper that is dead' told \
	"\"ticket\": 17, \"worker\": \\{\"pid\": $(worker), .*\"node\": \"pve1\", \"storage\": \"nas\", \"guest\": 100, .*\"path\": \"free\", .*\"ending\": true"
before=$(commands 100 block-job-resume)
put_back
ok 'a second time there is nothing to do' says 0 'no keeper has left anything to be put back'
ok 'nor is anything sent' test "$(commands 100 block-job-resume)" = "$before"
finish
ok 'the backup goes well' status_is 0

# A pause of somebody else's stays: the note says which was ours.
paused
kill_both
python3 "$FAKES/qmp.py" ask "$NODE/var/run/qemu-server/100.qmp" '{"execute": "block-job-resume", "arguments": {"device": "drive-scsi0"}}' >"$SCRATCH/asked" 2>&1
put_back
ok 'somebody has resumed it meanwhile: the rest is put back' says 0 'guest 100: its block jobs run at their own speed again \(0 paused, 1 limited before\)'
ok 'it runs' runs
finish

# The gate is away.
paused
kill_both
gate_stop
put_back
ok 'without a gate as well' says 0 'guest 100: its block jobs run at their own speed again \(1 paused, 1 limited before\)'
ok 'it runs' runs
finish

# QEMU hangs.
paused
kill_both
kill -STOP "${QEMU_PIDS[0]}"
put_back
ok 'a QEMU that does not answer: that is a failure' says 1 'guest 100: its block jobs could not be put back, try again: .*'
ok 'the note stays' has_note 100
ok 'the journal has it' journal '<27>.*guest 100: its keeper is dead and its block jobs could not be put back'
kill -CONT "${QEMU_PIDS[0]}"
put_back
ok 'the next try succeeds' says 0 'guest 100: its block jobs run at their own speed again \(1 paused, 1 limited before\)'
ok 'it runs' runs
finish

# The backup, or QEMU, is over.
paused
kill_both
qemu_end 100
wait_for 20 jobs_are 100 status
put_back
ok 'the backup is over by itself: there is nothing to be done' says 0 'guest 100: the backup that was slowed is over, nothing was to be put back'
ok 'and nothing remembered' no_note 100
finish

# While hooks run: several at once, and hooks of other jobs.
paused
kill_both
for i in 1 2 3 4; do
	env -i "REBUILDGATE_HOOK_CONF=$NODE/hook.conf" "REBUILDGATE_HOOK_ROOT=$NODE" "$HOOK" --put-back >"$SCRATCH/many.$i" 2>&1 &
	MANY[i]=$!
done
perl "$FAKES/vzdump.pl" run --hook "$HOOK" --log "$SCRATCH/other.log" --storage nas --env "REBUILDGATE_HOOK_CONF=$NODE/hook.conf" \
	--env "REBUILDGATE_HOOK_ROOT=$NODE" >/dev/null 2>&1
failed=0
for i in 1 2 3 4; do wait "${MANY[i]}" || failed=1; done
ok 'many at once and a hook beside them: none fails' test "$failed" = 0
ok 'it runs' runs
ok 'nothing is remembered' no_note 100
ok 'it was resumed once' test "$(commands 100 block-job-resume)" = 1
finish

# What cannot be believed or understood, and by whom it cannot be run.
paused
kill_both
cp "$NODE/run/rebuildgate-hook/keepers/100" "$SCRATCH/note"
printf 'nonsense\n' >"$NODE/run/rebuildgate-hook/keepers/100"
put_back
ok 'a note that is not understood: that is said' says 1 "guest 100: what its keeper noted is not understood: $NODE/run/rebuildgate-hook/keepers/100"
cp "$SCRATCH/note" "$NODE/run/rebuildgate-hook/keepers/100"
chmod 777 "$NODE/run/rebuildgate-hook"
put_back
ok 'notes that anybody may have written are not believed' says 2 'rebuildgate-vzdump --put-back: .*/run/rebuildgate-hook is not this user.s alone'
ok 'nothing is done' jobs_are 100 status '"paused"' '"created"'
chmod 700 "$NODE/run/rebuildgate-hook"
put_back more
ok 'wrong usage' says 2 'rebuildgate-vzdump --put-back: nothing else can be said with it'
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	# Where root's build folder cannot be entered by others.
	install -d -m 755 "$SCRATCH/bin"
	install -m 755 "$HOOK" "$HOOK-inner" "$SCRATCH/bin"
	chmod 755 "$SCRATCH"
	setpriv --reuid 65534 --regid 65534 --clear-groups env -i "$SCRATCH/bin/rebuildgate-vzdump" --put-back >"$SAID" 2>&1
	STATUS=$?
	ok 'not as root: one sentence' says 2 'rebuildgate-vzdump --put-back: it must be run as root, on the node whose guests it shall free'
else
	skip 'not as root: one sentence' 'needs root and setpriv'
fi
put_back
ok 'as it should be: put back' runs
finish

done_testing
