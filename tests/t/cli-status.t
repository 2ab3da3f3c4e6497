#!/bin/bash
# SPDX-License-Identifier: MIT
# status, check, tickets, release, run, wait: what an operator sees, as text and as JSON, and that both say the same.

# shellcheck source=tests/t/cli-lib.sh
. tests/t/cli-lib.sh

[ "$(id -u)" = 0 ] || skip_all 'needs root, to overrule and to let go'

fresh
mkdir -p "$SCRATCH/conf.d" "$SCRATCH/nas2/proc" "$SCRATCH/nas3/proc"
cat >"$SCRATCH/conf.d/more.conf" <<TEXT
nas = ( { name = "nas2"; via = "local"; root = "$SCRATCH/nas2"; }, { name = "vault"; via = "local"; root = "$SCRATCH/nas3"; } );
storages = ( { name = "offsite"; nas = "nas2"; }, { name = "vault-md3"; nas = "vault"; arrays = ["md3"]; } );
TEXT
vault() {
	{
		echo 'Personalities : [raid6] [raid5] [raid4] [raid1] '
		[ "${1-}" = without-md2 ] || printf '%s\n' 'md2 : active raid5 sdc1[2] sdb1[1] sda1[0]' \
			'      3903891072 blocks super 1.2 level 5, 64k chunk, algorithm 2 [3/3] [UUU]' '      '
		printf '%s\n' 'md3 : active raid1 sdf1[1] sde1[0]' '      976630464 blocks super 1.2 [2/2] [UU]' '      ' \
			'unused devices: <none>'
	} >"$SCRATCH/nas3/proc/mdstat.new"
	mv "$SCRATCH/nas3/proc/mdstat.new" "$SCRATCH/nas3/proc/mdstat"
}
vault

# --- without a gate -------------------------------------------------------------------------------
for verb in status "check backup" tickets "release T1 --reason x" "override list" "nas list" "nas look nas1"; do
	# shellcheck disable=SC2086
	rg $verb
	ok "no gate: $verb ends with 69" exits 69
	ok "no gate: $verb says so in one sentence" wrong 'the gate is away'
done
rg wait backup --wait-for-gate 1s
ok 'wait never takes no gate for go' exits 69

# --- idle -----------------------------------------------------------------------------------------
gate_start
wait_for 20 sensor_is ok
rg status
ok 'status works' exits 0
ok 'says who it is' says "^rebuildgate [0-9.]+ on pve1 since [-0-9: ]+: policy 'test', record ok"
ok 'a NAS that is seen, and how old the reading is' says '^NAS nas1: ok, read (just now|[0-9]+(ms|s) ago)'
ok 'an idle array' says '^  md2 +data +raid6 +optimal +idle'
ok 'a NAS that is not' says '^NAS nas2: BLIND \(exit-status\) for [0-9a-z ]+, read never'
ok 'and why' says 'nas2/proc/mdstat: No such file'
ok 'what a job would get' says '^backup +nas1 +all data +allow '
ok 'and which arrays count' says '^vault-md3 +vault +md3 +allow'
ok 'no jobs' says '^0 jobs held or running'
ok 'nothing about overrides' says_not override
ok 'no line is wider than a terminal, but for sentences' test -z "$(grep -v '^ ' "$OUT" | awk 'length > 100')"
rg check backup
ok 'check: go' exits 0
ok 'in words' says '^allow, step 6'
rg check offsite
ok 'check of a blind NAS: held' exits 75
rg check nothing-like-it
ok 'a storage that is mapped to nothing goes' exits 0
ok 'and says so' says 'mapped'
rg tickets
ok 'no tickets' says '^no job is held or running'

# --- a rebuild ------------------------------------------------------------------------------------
nas_keeps_moving
has_rate() {
	rg status --output-format json
	j '.nas[0].arrays[0] | .operation == "recovery" and .rate > 0 and .remaining_ms > 0' true >/dev/null
}
ok 'the rate of a rebuild is found' wait_for 30 has_rate
ask '"guest": 101, "upid": "UPID:pve1:0001:0002:0003:vzdump:101:root@pam:", "job_id": "backup-1"'
"$RG" run --storage vault-md3 -- sleep 300 >/dev/null 2>&1 &
STARTED+=($!)
two_tickets() { rg tickets --output-format json && j '.tickets | length' 2 >/dev/null; }
ok 'a held and a running job' wait_for 20 two_tickets
vault without-md2
absent() { rg status --output-format json && j '.nas[2].arrays[0].health' absent >/dev/null; }
ok 'an array is gone' wait_for 30 absent
rg override add deny --node pve9 --for 2h --reason 'moved, see ticket 12'
ok 'an override is there' exits 0

rg status --output-format json
ok 'json is JSON on one line' eval 'json && [ "$(wc -l <"$OUT")" = 1 ]'
cp "$OUT" "$SCRATCH/json"
rg status --output-format=json-pretty
ok 'json-pretty is JSON on many' eval 'json && [ "$(wc -l <"$OUT")" -gt 50 ]'
rg status
ok 'text and JSON: progress' says "^  md2 .* recovery +$(get '"%.1f %%" % (a["nas"][0]["arrays"][0]["progress_ppm"] // 1000 / 10)' "$SCRATCH/json") "
# Between two looks at the JSON that agree, the text says the same.
same_rate() {
	local before after
	rg status --output-format json
	before=$(jq '.nas[0].arrays[0].rate' "$OUT")
	rg status --output-format json
	cp "$OUT" "$SCRATCH/after"
	rg status
	cp "$OUT" "$SCRATCH/text"
	rg status --output-format json
	after=$(jq '.nas[0].arrays[0].rate' "$OUT")
	cp "$SCRATCH/text" "$OUT"
	[ "$before" = "$after" ] && [ "$after" != "$(jq '.nas[0].arrays[0].kernel_rate' "$SCRATCH/after")" ] &&
		says "^  md2 .* $(((after + 500000) / 1000000)) MB/s " >/dev/null
}
ok 'text and JSON: its own rate, not the kernel'"'"'s' wait_for 30 same_rate
ok 'text and JSON: time left' says '^  md2 .* MB/s .* [0-9]+h( [0-9]+min)? '
ok 'text and JSON: redundancy left' says "^  md2 .* $(get 'a["nas"][0]["arrays"][0]["redundancy_left"]' "$SCRATCH/json") disk$"
ok 'text and JSON: what is missing' says '1 of 5 disks missing; recovery for '
ok 'the absent array, and what to do about it' says 'was there and is not any more.*rebuildgate nas forget'
ok 'verdict and rule of each storage' says '^backup +nas1 +all data +hold +rebuild$'
ok 'and why' says "^    rule 'rebuild': md2 on nas1 is in recovery"
ok 'and until when, to the minute, and what then' says '^    ends by itself at [-0-9]+ [0-9]+:[0-9]+ \(in [0-9a-z ]+\), then throttle$'
ok 'the held job' says '^  T1 +held +backup +pve1 +vzdump +guest 101 '
ok 'the number that explain takes' says '^      rule .rebuild.: md2 on nas1 .* \[decision 1\]$'
ok 'its task' says 'task UPID:pve1:0001:.*, job backup-1$'
ok 'the running job, and what it runs' says '^  T2 +running +vault-md3 +[^ ]+ +run +sleep '
ok 'as many as in JSON' says "^$(jq '.tickets | length' "$SCRATCH/json") jobs held or running"
ok 'the override' says '^  1 +deny +node pve9 +[-0-9]+ [0-9:]+ +root$'
ok 'and its reason' says 'moved, see ticket 12'
ok 'one is one' says '^1 override in force'
rg check backup
ok 'check: held' exits 75
ok 'says why and until when' says 'ends by itself at .*then throttle'
rg check backup --output-format json
ok 'the exit status is the same with JSON' exits 75
ok 'with the facts' j '.facts.operation' recovery

# --- formats --------------------------------------------------------------------------------------
PROXMOX_OUTPUT_FORMAT=json rg tickets
ok 'PROXMOX_OUTPUT_FORMAT' j '.tickets[0].ticket' 1
PROXMOX_OUTPUT_FORMAT=json rg tickets --output-format text
ok '--output-format wins over it' says '^TICKET '
PROXMOX_OUTPUT_FORMAT=yaml rg tickets
ok 'a format that we do not have is text' says '^TICKET '
PROXMOX_OUTPUT_NO_HEADER=1 rg tickets
ok 'PROXMOX_OUTPUT_NO_HEADER' eval 'says "^T1 " && says_not "^TICKET"'
PROXMOX_OUTPUT_NO_BORDER=1 rg tickets
ok 'PROXMOX_OUTPUT_NO_BORDER changes nothing' says '^TICKET '
ok 'a format of another name' mistake "output format 'xml' is not one of text, json, json-pretty" status --output-format xml
ok 'csv is for log only' mistake "'csv' is not one of" status --output-format csv

# --- a pipe that nobody reads ---------------------------------------------------------------------
# piped [ignored]: nobody reads what it says; SIGPIPE does what it does, or is ignored as under many a parent.
piped() {
	(
		[ "${1-}" = ignored ] && trap '' PIPE
		{ "$RG" status 2>"$ERR"; echo $? >"$SCRATCH/status"; } | true
	)
	case $(cat "$SCRATCH/status") in 0 | 1 | 141) return 0 ;; *) return 1 ;; esac
}
ok 'a closed pipe ends it quietly' piped
ok 'also where SIGPIPE is ignored' piped ignored
"$RG" status >&- 2>"$ERR"
CODE=$?
ok 'no stdout is a failure in one sentence' eval 'exits 1 && [ "$(wc -l <"$ERR")" = 1 ]'
if [ -e /dev/full ]; then
	"$RG" status >/dev/full 2>"$ERR"
	CODE=$?
	ok 'so is a full disk' eval 'exits 1 && grep -q "cannot write to stdout: No space left" "$ERR"'
fi

# --- wait and run ---------------------------------------------------------------------------------
rg wait backup --timeout 1s
ok 'wait gives up after its time: held' exits 75
rg run --storage backup --timeout 1s -- touch "$SCRATCH/ran"
ok 'run as well' exits 75
ok 'and has run nothing' test ! -e "$SCRATCH/ran"
rg wait vault-md3
ok 'wait where nothing holds: go' exits 0
rg tickets --all --output-format json
ok 'its ticket has ended with it' j '[.tickets[] | select(.client == "wait")] | max_by(.ticket) | .state' ended
ok 'and nobody took it for a command' j '[.tickets[] | select(.client == "run" and .command == null)] | length' 0

# --- release --------------------------------------------------------------------------------------
ok 'release needs a ticket' mistake 'name one ticket: rebuildgate release T17' release --reason x
ok 'and a reason' mistake 'say why, for the record: --reason' release T1
ok 'that is not empty' mistake 'say why' release T1 --reason ''
ok 'and what looks like a ticket' mistake "'x17' is not a ticket: they look like T17" release x17 --reason x
rg release T9999 --reason x
ok 'no such ticket: failed' eval 'exits 1 && wrong "9999"'
rg release t1 --reason 'need it "now"'
ok 'release' eval 'exits 0 && says "^T1 is let go$"'
released() { rg tickets --all --output-format json && j '.tickets[] | select(.ticket == 1) | .state' released >/dev/null; }
ok 'it is let go' released
rg tickets --all
ok 'by whom, and why' says '^    let go by root: need it "now"$'
rg log --ticket T1 --last 1 --output-format json
rg explain "$(jq -r '.[0].id' "$OUT")"
ok 'explain says it as well' eval 'says "it was let go by a release" && says "^  let go    by root: need it .now.$"'
ask '"guest": 102'
ID=$(get 'a["ticket"]')
rg release "$ID" --reason x --output-format json
ok 'a bare number, and JSON' eval "exits 0 && j .ticket $ID"
rg tickets --all
ok 'tickets --all shows those that ended, with their states' says '^T[0-9]+ +withdrawn '
ok 'of which none ends once more' eval '[ "$(grep -A2 -E "^T[0-9]+ +withdrawn " "$OUT" | grep -c "ends by itself")" = 0 ]'

# --- denied ---------------------------------------------------------------------------------------
rg override add deny --storage vault-md3 --for 1h --reason 'maintenance'
rg check vault-md3
ok 'check: denied' exits 77
rg run --storage vault-md3 -- touch "$SCRATCH/ran"
ok 'run: denied' exits 77
rg wait vault-md3
ok 'wait: denied' exits 77
ok 'nothing ran' test ! -e "$SCRATCH/ran"

# --- switched off, observing, no record -----------------------------------------------------------
policy_write 'observe = true;'
kill -HUP "$GATE_PID"
observes() { rg status && says 'OBSERVES ONLY: nothing is held' >/dev/null; }
ok 'status says that it only observes' wait_for 20 observes
ok 'and what a job would get' says '^backup +nas1 +all data +allow \(would be hold\) +rebuild'
policy_write 'enabled = false;'
kill -HUP "$GATE_PID"
off() { rg status && says 'SWITCHED OFF: nothing is held' >/dev/null; }
ok 'status says that it is switched off' wait_for 20 off
nas_stops_moving
gate_kill TERM

# --- who may what ---------------------------------------------------------------------------------
LOOK_GROUP=$(getent group games | cut -d: -f3)
if [ "$(id -u)" = 0 ] && [ -n "$LOOK_GROUP" ]; then
	SOCKET_GROUP=games
	rm -rf "$SCRATCH/conf.d"
	fresh
	nas_rebuild
	gate_start
	ask
	chmod 666 "$OUT" "$ERR"
	rg_as 65532 "$LOOK_GROUP" status
	ok 'the group may see the status' eval 'exits 0 && says "^  T1 +held"'
	rg_as 65532 "$LOOK_GROUP" log
	ok 'and the log' eval 'exits 0 && says "#1 T1"'
	rg_as 65532 "$LOOK_GROUP" release T1 --reason x
	ok 'but not let go' eval 'exits 77 && wrong "the gate says"'
	rg_as 65532 "$LOOK_GROUP" override add allow --for 1h --reason x
	ok 'nor overrule' eval 'exits 77 && wrong "the gate says"'
	rg_as 65532 "$LOOK_GROUP" run --storage backup -- true
	ok 'nor speak for jobs' exits 77
	rg_as 65533 '' status
	ok 'a stranger may nothing: 77, in one sentence' eval 'exits 77 && wrong "ermission|may not|not allowed"'
	rg tickets
	ok 'the job is held as before' says '^T1 +held'
fi
done_testing
