#!/bin/bash
# SPDX-License-Identifier: MIT
# What the NAS's own floor reaches: it counts as a lever only where it moves something, and it begins also beside a writer that leaves
# no quiet moment in which the undisturbed pace could be learned.

# shellcheck source=tests/t/gate-lib.sh
. tests/t/gate-lib.sh
# shellcheck source=tests/t/nas-lib.sh
. tests/t/nas-lib.sh
# shellcheck source=tests/t/levers-lib.sh
. tests/t/levers-lib.sh

rules() {
	cat >"$POLICY" <<-TEXT
	name = "test";
	defaults = { settle = "0"; release_interval = "0"; recheck = "1s"; max_running = 9; };
	rules = ( { name = "rebuild"; when = { role = "data"; operation = ["recovery"]; }; $1 } );
	TEXT
}
T_a='' W_a='' T_b='' # job()
again() { ask "$W_a, \"n_qemu\": 0, \"ticket\": $T_a"; is 'a["act"]' "$1"; }
floor_is() { [ "$(floor | cut -d' ' -f1)" = "$1" ]; }
floor_within() { [ "$(floor | cut -d' ' -f1)" -gt "$1" ] && [ "$(floor | cut -d' ' -f1)" -lt "$2" ]; }
said() { # WORDS: of the array that is steered
	api GET /v1/levers
	[[ "$(get 'a["arrays"][0]["text"]')" == *"$1"* ]]
}
lever_of() { # TICKET FILTER VALUE
	api GET /v1/status
	is "next(t for t in a['tickets'] if t['ticket'] == $1)['lever']$2" "$3"
}

# --- a rate is nothing that a floor can keep --------------------------------------------------------------
gate_kill TERM
rm -rf "$SCRATCH/db" "$LOG"
rules 'verdict = "throttle"; rate = "30 MB/s"; without_lever = "hold";'
nas_conf false
does recovery 3000 20000
gate_start
wait_for 20 quiet operation_is recovery
job a '"n_qemu": 0'
ok 'a rate that only the floor could carry out has no lever: without_lever holds the job' is 'a["act"]' hold
rules 'verdict = "throttle"; running = "throttle"; rate = "30 MB/s"; without_lever = "allow";'
kill -HUP "$GATE_PID"
ok 'or lets it go' wait_for 20 quiet again allow
wait_for 10 quiet ticket_is "$T_a" running
sleep 3
ok 'nothing is set' floor_free

# --- a first rebuild, and somebody who writes all the time -------------------------------------------------
rules 'verdict = "throttle"; running = "throttle"; protect = "80%"; over = "1min"; without_lever = "hold";'
kill -HUP "$GATE_PID"
job b '"n_qemu": 0'
ok 'a share can be kept: the job is throttled' is 'a["act"]' throttle
ok 'the undisturbed pace is not known' eval '! quiet knows'
ok 'the floor is set all the same, moderately' wait_for 30 quiet floor_is 8192
ok 'levers say so' wait_for 10 quiet said 'the undisturbed pace is not known yet'
ok 'the ticket is reached by it' lever_of "$T_b" '["by"]' sync-speed
sleep 35
ok 'where the rebuild does not follow it is not raised' floor_is 8192
does recovery 8000 20000
ok 'where it does it is' wait_for 60 quiet floor_is 16384
does recovery 16000 20000
ok 'again' wait_for 60 quiet floor_is 32768
does recovery 40000 0
ok 'a quiet moment: once the pace is known it is the protected share of that' wait_for 150 quiet floor_within 29000 34500
wait_for 60 quiet knows
ok 'and nothing else is said' eval '! said "not known yet"'

# --- clients that read ----------------------------------------------------------------------------------------
does recovery 30000 20000 5000
ok 'clients read, and no token tells what: the floor goes' wait_for 30 quiet floor_free
ok 'it is no lever of the job then, and why not is said' wait_for 20 quiet lever_of "$T_b" '["by"]' null
ok 'in the journal too' wait_for 10 logged "T$T_b goes at full speed: .*the NAS's own floor is free: clients read"
end b
end a
job a '"n_qemu": 0'
ok 'a new job is held then' is 'a["act"]' hold
does recovery 30000 20000
ok 'and goes when they are done' wait_for 60 quiet again throttle
end a

# --- a NAS that does not take it ----------------------------------------------------------------------------------
sed -i '1i [ -e '"$SCRATCH"'/refuses ] && case $1:$2 in */sync_speed_min:system) ;; */sync_speed_min:*) exit 1 ;; esac' "$SCRATCH/kernel"
touch "$SCRATCH/refuses"
job b '"n_qemu": 0'
ok 'the NAS refuses the floor: none is set, and it is no lever of the job' wait_for 30 quiet lever_of "$T_b" '["by"]' null
ok 'why not is said' wait_for 10 logged "T$T_b goes at full speed: .*the NAS's own floor: sync_speed_min of md2 does not take"
ok 'it is free' floor_free
rm "$SCRATCH/refuses"
ok 'it is asked for again: it is set' wait_for 100 quiet floor_set
ok 'and a lever again' wait_for 20 quiet lever_of "$T_b" '["by"]' sync-speed
end b

# --- a job that is to be stopped, and cannot be -----------------------------------------------------------------
does idle 0 0
wait_for 60 quiet operation_is idle
rules 'verdict = "hold"; running = "stop"; protect = "80%"; over = "1min";'
kill -HUP "$GATE_PID"
job a '"n_qemu": 0'
does recovery 30000 20000
ok 'nobody can stop a job that runs: that is told' wait_for 30 logged "T$T_a is to be stopped .*it goes on"
ok 'and it is slowed until it is gone' wait_for 30 quiet floor_set
end a
gate_kill TERM
done_testing
