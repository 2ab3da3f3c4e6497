#!/bin/bash
# SPDX-License-Identifier: MIT
# The daemon moves the NAS's own levers: over a real sshd, by the real hooks/nas-levers on a folder that plays /sys and /proc. The floor is
# tried first, covers what no other lever reaches, goes while a restore reads, and is put back; a check gives way to backups.

# shellcheck source=tests/t/gate-lib.sh
. tests/t/gate-lib.sh
# shellcheck source=tests/t/servers-lib.sh
. tests/t/servers-lib.sh
# shellcheck source=tests/t/nas-lib.sh
. tests/t/nas-lib.sh

rules() {
	cat >"$POLICY" <<-TEXT
	name = "test";
	defaults = { settle = "0"; release_interval = "0"; recheck = "1s"; max_running = 9; };
	rules = ( { name = "rebuild"; when = { role = "data"; operation = ["recovery"]; }; $1 } );
	TEXT
}

conf() { # [SETTINGS]: where they name a PBS, its datastore lies on the NAS as well
	nas_conf true "$@"
	grep -q 'pbs = (' "$CONF" || return 0
	sed -i 's/{ name = "backup"; nas = "nas1"; }/&, { name = "store"; nas = "nas1"; pbs = "pbs1"; datastore = "store"; }/' "$CONF"
}

# keeper_is PATH...: the keeper of guest 101 asks, and is told one of these; it does so.
KEEPS=free
keeper_is() {
	api POST /v1/keep "{\"ticket\": $T, $W, \"node\": \"pve1\", \"storage\": \"backup\", \"guest\": 101, \"fleecing\": false,
		\"path\": \"$KEEPS\", \"rate\": $(get 'a["rate"]' "$SCRATCH/kept" | grep . || echo 0), \"n_jobs\": 1, \"moved\": 20000000, \"ending\": false, \"trouble\": \"\"}"
	cp "$OUT" "$SCRATCH/kept"
	KEEPS=$(get 'a["path"]')
	[[ " $* " == *" $KEEPS "* ]]
}
text_is() { # WORDS: of what is said of the array that is steered
	keeper_is free open || return 1
	api GET /v1/levers
	[[ "$(get 'a["arrays"][0]["text"]')" == *"$1"* ]]
}

job() {
	sleep 1000 &
	STARTED+=("$!")
	W=$(worker "$!")
	ask "$W${1:+, $1}"
	T=$(get 'a["ticket"]')
}
end() { api POST /v1/report "{\"ticket\": $T, $W, \"phase\": \"job-end\"}"; }
lever_is() {
	api GET /v1/levers
	is "next(l for l in a['levers'] if l['lever'] == '$1')$2" "$3"
}
back() { [ "$(query "SELECT put_back FROM lever_actions WHERE lever = '$1' ORDER BY id DESC LIMIT 1")" = 1 ]; }

gate_kill TERM
rm -rf "$SCRATCH/db" "$LOG"
rules 'verdict = "throttle"; running = "throttle"; protect = "50%"; over = "1min"; without_lever = "hold";'
conf
gate_start

# --- the floor -----------------------------------------------------------------------------------------
does recovery 40000 0
ok 'the rebuild is seen' wait_for 20 quiet operation_is recovery
ok 'the lever stands there before it is needed' lever_is sync-speed '["target"]' nas1
ok 'and after a while its undisturbed pace' wait_for 120 quiet knows
job '"n_qemu": 0'
ok 'a job of containers onto a folder is throttled: the NAS itself has a lever' is 'a["act"]' throttle
does recovery 30000 20000
ok 'the floor is set' wait_for 30 quiet floor_set
ok 'at the protected share of the pace' test "$(floor | cut -d' ' -f1)" -gt 15000 -a "$(floor | cut -d' ' -f1)" -lt 25000
ok 'with a larger stripe cache' wait_for 10 test "$(cat "$NAS/sys/block/md2/md/stripe_cache_size")" -gt 256
ok 'it was in the record before' test "$(query "SELECT count(*) FROM lever_actions WHERE lever = 'sync-speed' AND put_back = 0")" -ge 1
api GET /v1/status
ok 'the ticket says what reaches it' is 'a["tickets"][0]["lever"]["by"]' sync-speed
ok 'levers show it' wait_for 20 quiet lever_is sync-speed '["set"]' true
ok 'the command says at what' eval '"$BUILD/rebuildgate" --socket "$SOCK" levers | grep -Eq "^sync-speed +nas1/md2 +floor [0-9.]+ [kM]B/s "'
ok 'that it ends by itself' lever_is sync-speed '["until_utc_ms"] is not None' true
does recovery 40000 0
end
ok 'the job ends: the floor goes' wait_for 60 quiet floor_free
ok 'and so says the record' wait_for 20 back sync-speed

does recovery 30000 20000
ok 'somebody writes whom nobody knows: the floor is set for that too' wait_for 100 quiet floor_set
said() { # WORDS: of the array that is steered
	api GET /v1/levers
	[[ "$(get 'a["arrays"][0]["text"]')" == *"$1"* ]]
}
does recovery 30000 20000 800
sleep 6
ok 'it stays while clients read a little' floor_set
does recovery 30000 20000 5000
ok 'they read more, and no token tells whether that is a restore: the floor goes' wait_for 30 quiet floor_free
ok 'the journal says why' wait_for 10 logged 'The floor of md2 of NAS .nas1. is free: clients read, and no token tells whether that is a restore'
ok 'the record too' wait_for 20 back sync-speed
ok 'in words' test "$(query "SELECT why FROM lever_actions WHERE lever = 'sync-speed' ORDER BY id DESC LIMIT 1")" = 'clients read, and no token tells whether that is a restore'
ok 'and so do the levers' wait_for 10 quiet said "the NAS's own floor is free: clients read"
does recovery 30000 20000
ok 'nobody reads any more: it is set again' wait_for 90 quiet floor_set
api POST /v1/levers/reset '{"reason": "test", "for_ms": 600000}'
ok 'a reset frees it' wait_for 20 quiet floor_free
api POST /v1/levers/reset '{"reason": "test"}'
ok 'and later it is set again' wait_for 60 quiet floor_set
gate_kill KILL
ok 'a gate that is killed leaves it' floor_set
"$BUILD/rebuildgated" --put-back --config "$CONF" >"$OUT" 2>&1
ok 'put-back succeeds' test $? = 0
ok 'and frees it' floor_free
ok 'in the record too' back sync-speed

# --- another gate that has levers on this NAS ------------------------------------------------------------
other() { SSH_ORIGINAL_COMMAND="by pve2-0b $*" sh "$SCRATCH/nas-levers"; }
ok 'another gate moves the floor' eval 'other floor md2 9000 - 1200 | grep -q "^ok .*speed_min=9000 "'
does recovery 40000 0
gate_start
wait_for 120 quiet knows
ok 'a start leaves it' test "$(floor)" = '9000 (local)'
does recovery 30000 20000
ok 'whoever wants it here is told whose it is' wait_for 60 quiet lever_is sync-speed '["trouble"].startswith("moved by another gate (pve2-0b) until ")' true
ok 'the command says so' eval '"$BUILD/rebuildgate" --socket "$SOCK" levers | grep -q "moved by another gate (pve2-0b) until [0-2][0-9]:[0-5][0-9]; not touched"'
ok 'and once in the journal' test "$(grep -c 'The floor under md2 on nas1 is moved by another gate' "$LOG")" = 1
"$BUILD/rebuildgate" --socket "$SOCK" levers reset --reason test >"$OUT"
ok 'a reset has none of ours to free' wait_for 10 grep -q 'no lever was moved' "$OUT"
"$BUILD/rebuildgated" --order nas1 --config "$CONF" <<<'look md2' >"$OUT" 2>&1
ok 'and does not free that' grep -q 'speed_min=9000 .*by=pve2-0b' "$OUT"
ok 'nor is it in the record' test "$(query "SELECT count(*) FROM lever_actions WHERE after LIKE '9000%'")" = 0
"$BUILD/rebuildgate" --socket "$SOCK" levers reset --reason test --others >"$OUT"
ok 'unless that is asked for' wait_for 20 quiet floor_free
ok 'the journal says why' logged 'also what other gates have moved there: .* wants also what other gates moved put back: test'
ok 'the next gate sets it again' wait_for 90 quiet floor_set
ok 'and it is ours' eval 'other free md2 | grep -q "^error other=[a-zA-Z0-9-]*-[0-9a-f]* undo_s="'
gate_kill TERM
ok 'and frees it when it ends' floor_free

# --- it is tried first; a restore ----------------------------------------------------------------------
pbs_new
server_start pbs
does recovery 40000 0
conf "$(pbs_conf 'throttle = false;')"
gate_start
wait_for 120 quiet knows
job '"n_qemu": 1'
api POST /v1/report "{\"ticket\": $T, $W, \"phase\": \"backup-start\", \"guest\": 101, \"guest_type\": \"qemu\", \"storage\": \"backup\", \"node\": \"pve1\"}"
does recovery 30000 20000
quiet keeper_is free open
ok 'a virtual machine has a keeper, but the floor is tried first' wait_for 30 quiet text_is "the NAS's own floor is tried first"
ok 'it is set' wait_for 30 quiet floor_set
ok 'while it keeps the share, nothing else is moved' wait_for 100 quiet text_is "the NAS's own floor keeps the share"
does recovery 10000 20000
ok 'where it does not, the keeper is used as well' wait_for 120 quiet keeper_is limit rest
ok 'beside it' floor_set
UPID=$(edit "$PBS" "task('reader', 'store:vm/101')")
ok 'a restore reads: the floor goes, for it starves readers' wait_for 20 quiet floor_free
ok 'the record says so' wait_for 20 back sync-speed
ok 'the keeper is free as well' wait_for 20 quiet keeper_is free
edit "$PBS" "finish(r'$UPID')" >/dev/null
ok 'the restore is done: it is set again' wait_for 60 quiet floor_set
end
gate_kill TERM
ok 'and freed with the gate' floor_free
# Where all of its storages are seen, what clients read is known for what it is.
conf "$(pbs_conf 'throttle = false;')"
sed -i 's/{ name = "backup"; nas = "nas1"; }, //' "$CONF"
does recovery 40000 0
gate_start
wait_for 120 quiet knows
job '"storage": "store", "n_qemu": 0'
does recovery 30000 20000 5000
ok 'reading that is no restore leaves the floor' wait_for 60 quiet floor_set
sleep 6
ok 'for as long as it goes on' floor_set
end
gate_kill TERM
server_stop "$PBS_PID"
conf

# --- a check that gives way ------------------------------------------------------------------------------
does check 40000 0
gate_start
ok 'a check is seen' wait_for 20 quiet operation_is check
job
ok 'a job goes' is 'a["act"]' allow
ok 'the check rests' wait_for 30 action_is idle
ok 'levers show that' wait_for 10 quiet lever_is check '["set"]' true
end
ok 'the job is done: it goes on' wait_for 60 action_is check
ok 'and so says the record' wait_for 20 back check
gate_kill TERM
done_testing
