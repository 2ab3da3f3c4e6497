#!/bin/bash
# SPDX-License-Identifier: MIT
# Help, usage, exit status, and the verbs that need no gate: what somebody meets who has never read the source.

# shellcheck source=tests/t/cli-lib.sh
. tests/t/cli-lib.sh

# --- help -----------------------------------------------------------------------------------------
rg --help
ok 'help' eval 'exits 0 && [ ! -s "$ERR" ]'
for code in 0 1 2 3 69 75 77; do
	ok "it documents exit status $code" says "^ +$code  [a-z]"
done
for verb in status check run wait tickets release override log explain replay nas policy parse version; do
	rg --help
	ok "it names $verb" says "^  $verb +[a-z]"
done
ok 'no line is wider than 100' test -z "$(awk 'length > 100' "$OUT")"
cp "$OUT" "$SCRATCH/help"
for word in -h help; do
	rg $word
	ok "$word is help" cmp -s "$OUT" "$SCRATCH/help"
done
rg
ok 'no verb: help as an error' eval 'exits 2 && [ ! -s "$OUT" ] && cmp -s "$ERR" "$SCRATCH/help"'

# Each verb: --help says how it is called and what its options do; and each option that it shows is taken.
VERBS=(status check run wait tickets release "override add" "override list" "override cancel" log "log stats" "log verify"
	explain replay "nas list" "nas look" "nas trust" "nas authorized-key" "nas levers-key" "nas forget" "policy check" "policy show" "policy test"
	"policy try" "policy defaults" "policy facts" parse version)
known() {
	local option
	for option in $(grep -oE '^  (--?[a-z-]+)(, --?[a-z]+)?' "$SCRATCH/verb-help" | tr -d ' ' | tr ',' ' '); do
		# Without its value or its operands: what is wrong is never the option.
		# shellcheck disable=SC2086
		timeout 20 "$RG" --socket "$SCRATCH/no-gate" $1 "$option" </dev/null >/dev/null 2>"$ERR"
		! grep -q 'there is no option' "$ERR" || { echo "# $1 $option"; return 1; }
	done
}
for verb in "${VERBS[@]}"; do
	# shellcheck disable=SC2086
	rg $verb --help
	ok "$verb --help" eval 'exits 0 && [ ! -s "$ERR" ] && says "^usage: rebuildgate $verb( |\$)"'
	cp "$OUT" "$SCRATCH/verb-help"
	ok "$verb takes the options that it shows" known "$verb"
	# shellcheck disable=SC2086
	rg --socket "$SCRATCH/no-gate" $verb --no-such-option
	ok "$verb: no such option" eval 'exits 2 && wrong "there is no option .--no-such-option.: see rebuildgate $verb --help"'
done
for group in override nas policy; do
	rg $group --help
	ok "$group --help lists what there is" eval 'exits 0 && [ "$(grep -c "^  rebuildgate $group " "$OUT")" -ge 3 ]'
done
rg log --help
ok 'log --help: its other verbs as well' eval 'says "^  rebuildgate log stats" && says "^  rebuildgate log verify" && says "^  --last, -n N "'
rg run --storage s --help -- echo --help
ok 'run: --help before the command' says '^usage: rebuildgate run '
rg version
ok 'version' eval 'exits 0 && says "^rebuildgate [0-9]+\.[0-9]+\.[0-9]+$"'
cp "$OUT" "$SCRATCH/version"
rg --version
ok '--version' cmp -s "$OUT" "$SCRATCH/version"

# --- mistakes -------------------------------------------------------------------------------------
# one PATTERN ARGS...: exit status 2 and one sentence, also where no verb is known yet.
one() {
	local pattern=$1
	shift
	rg "$@"
	exits 2 && [ "$(wc -l <"$ERR")" = 1 ] && grep -q -- "$pattern" "$ERR"
}
ok 'no such verb' one "there is no verb 'stauts': see rebuildgate --help" stauts
ok 'no socket' one "option '--socket' needs a value: --socket PATH" --socket
ok 'status takes nothing' mistake "it takes options only, not 'now'" status now
ok 'check takes one' mistake 'name one storage: rebuildgate check STORAGE' check a b
ok 'wait takes one' mistake 'name one storage: rebuildgate wait STORAGE' wait
ok 'run needs a storage' mistake "it takes --storage S, then '--'" run -- true
ok 'and a command' mistake "it takes --storage S, then '--'" run --storage s
ok 'a span that is none' mistake "--timeout: '3' is not a duration such as '90s'" run --storage s --timeout 3 -- true
ok 'if the gate is down' mistake "--if-gate-down is 'allow' or 'deny', not 'hold'" run --storage s --if-gate-down hold -- true
ok 'wait: a span that is none' mistake "--wait-for-gate: 'long'" wait s --wait-for-gate long

# --- exit status without a gate -------------------------------------------------------------------
rg --socket "$SCRATCH/no-gate" status
ok '--socket: 69, and which one' eval 'exits 69 && wrong "no-gate"'
REBUILDGATE_SOCKET=$SCRATCH/other-gate rg --socket="$SCRATCH/no-gate" status
ok 'it wins over the environment' wrong no-gate
REBUILDGATE_SOCKET=$SCRATCH/other-gate rg status
ok 'which names it as well' eval 'exits 69 && wrong other-gate'
printf 'gate = "%s";\nif_gate_down = "deny";\nwait_for_gate = "0";\n' "$SCRATCH/hooks-gate" >"$SCRATCH/hook.conf"
REBUILDGATE_SOCKET='' REBUILDGATE_HOOK_CONF=$SCRATCH/hook.conf rg run --storage s -- touch "$SCRATCH/ran"
ok "run takes the hook's settings" eval 'exits 69 && [ ! -e "$SCRATCH/ran" ] && grep -q hooks-gate "$ERR"'
echo 'gate = 7;' >"$SCRATCH/hook.conf"
REBUILDGATE_HOOK_CONF=$SCRATCH/hook.conf rg run --storage s --wait-for-gate 0 -- true
ok 'bad ones are said, and it goes on' eval 'exits 0 && grep -q "hook.conf:1: " "$ERR"'
rg run --storage s --wait-for-gate 0 --if-gate-down deny -- touch "$SCRATCH/ran"
ok 'run without a gate, deny: 69' eval 'exits 69 && [ ! -e "$SCRATCH/ran" ]'
rg run --storage s --wait-for-gate 0 --if-gate-down allow -- sh -c 'exit 42'
ok 'allow: the command, and its exit status' exits 42
rg run --storage s --wait-for-gate 0 --if-gate-down allow -- sh -c 'kill -TERM $$'
ok 'a signal as a shell says it' exits 143
rg run --storage s --wait-for-gate 0 --if-gate-down allow -- "$SCRATCH/no-command"
ok 'no such command' exits 127

# --- parse ----------------------------------------------------------------------------------------
printf '%s\n' 'Personalities : [raid1] ' 'md3 : active raid1 sdf1[1] sde1[0](F)' '      976630464 blocks super 1.2 [2/1] [U_]' '      ' \
	'unused devices: <none>' >"$SCRATCH/mdstat"
rg parse "$SCRATCH/mdstat"
ok 'parse' eval 'exits 0 && says "^md3 .*degraded.*failed sde1$"'
rg parse - --output-format json
ok 'an empty text is no reading: 3, and JSON all the same' eval 'exits 3 && j .format none'
rg parse "$SCRATCH/none"
ok 'no such file' eval 'exits 2 && wrong "cannot open .*none"'
ok 'no such vendor' mistake "vendor 'acme' is not one of auto, generic, synology, qnap" parse --vendor acme "$SCRATCH/mdstat"
ok 'two files' mistake "name one file, or '-' for stdin" parse a b

# --- policy ---------------------------------------------------------------------------------------
policy_write
conf_write
rg policy check --config "$CONF"
ok 'policy check: the one of the configuration' eval 'exits 0 && says "^$POLICY: policy .test. is good: 2 rules, 0 tests$"'
rg policy show --config "$CONF"
ok 'policy show' eval 'exits 0 && says "name = \"test\""'
cp "$OUT" "$SCRATCH/shown.conf"
rg policy show "$SCRATCH/shown.conf"
ok 'what it shows loads again to the same' cmp -s "$OUT" "$SCRATCH/shown.conf"
rg policy try --config "$CONF" --given 'operation=recovery progress=40%'
ok 'policy try' eval 'exits 0 && says "^hold, rule .rebuild., step 5$" && says "^  5 => +hold: "'
rg policy try "$POLICY" --given 'operation=idle' --output-format json
ok 'as JSON, with its steps' eval 'j .verdict allow && j ".trace | length > 3" true'
ok 'a word that is none' mistake 'operation: there is no "recov"; did you mean "recovery"' policy try "$POLICY" --given operation=recov
ok 'no facts' mistake "--given needs facts: --given 'operation=recovery progress=40%'" policy try "$POLICY" --given
ok 'one file' mistake 'name one file at most' policy check a b
ok 'no such verb' mistake "there is no 'policy lint': say one of check, show, test, try, defaults, facts" policy lint
rg policy test "$POLICY"
ok 'no tests are said to be none' eval 'exits 0 && says "^1\.\.0 # skipped"'
rg policy facts
ok 'facts' eval 'exits 0 && says "^operation	"'
rg policy defaults
ok 'defaults' eval 'exits 0 && says max_hold'
echo 'ruls = ();' >"$SCRATCH/bad.conf"
rg policy check "$SCRATCH/bad.conf"
ok 'a bad policy: file, line, sentence' eval 'exits 2 && grep -q "^$SCRATCH/bad.conf:1: " "$ERR" && [ ! -s "$OUT" ]'
rg policy check "$SCRATCH/bad.conf" --output-format json
ok 'as JSON' eval 'exits 2 && j .good false && j ".errors[0].line" 1'
done_testing
