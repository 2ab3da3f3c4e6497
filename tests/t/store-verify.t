#!/bin/bash
# SPDX-License-Identifier: MIT
# `log verify` and `replay` as an operator calls them: on a whole record, on one that is being written, and on records
# that somebody changed.
set -u

BUILD=${BUILD:-build}
WRITER=$BUILD/tools/store-writer
COMMAND=$BUILD/rebuildgate
for program in "$WRITER" "$COMMAND"; do
	if [ ! -x "$program" ]; then
		echo "Bail out! no $program: make all tools"
		exit 1
	fi
done

DIR=$(mktemp -d)
PID=
N=0
FAILED=0
trap '[ -n "$PID" ] && kill -KILL "$PID" 2>/dev/null; rm -rf "$DIR"' EXIT
unset PROXMOX_OUTPUT_FORMAT

# expect NAME EXIT PATTERN COMMAND...: both streams together match PATTERN (extended, anywhere).
expect() {
	local name=$1 want=$2 pattern=$3 status
	shift 3
	"$@" >"$DIR/out" 2>&1
	status=$?
	N=$((N + 1))
	if [ $status = "$want" ] && grep -qE -- "$pattern" "$DIR/out"; then
		echo "ok $N - $name"
	else
		echo "not ok $N - $name"
		echo "# exit $status, expected $want and /$pattern/"
		head -20 "$DIR/out" | cut -c 1-200 | sed 's/^/# /'
		FAILED=1
	fi
}

DB=$DIR/record.db
verify() { "$COMMAND" log verify --database "$DB" "$@"; }
replay() { "$COMMAND" replay --database "$DB" "$@"; }
fresh() { # a copy to spoil
	rm -f "$DIR"/spoilt.db*
	cp "$DB" "$DIR/spoilt.db"
}
spoil() {
	fresh
	"$WRITER" sql "$DIR/spoilt.db" "DROP TRIGGER decisions_no_update; DROP TRIGGER decisions_no_delete;
		DROP TRIGGER decisions_follow; $1"
}
spoilt() { "$COMMAND" "$@" --database "$DIR/spoilt.db"; }

"$WRITER" fill "$DB" 500 policy/protect-rebuild.conf || exit 1

expect "an intact record" 0 '^intact: 500 decisions$' verify
HEAD=$(sed -n 's/^head \([0-9a-f]*\) .*/\1/p' "$DIR/out")
expect "as JSON" 0 '"ok":true.*"decisions":500.*"head":"[0-9a-f]{64}"' verify --output-format json
expect "a head that was kept" 0 'that of decision 500' verify --head "$HEAD"
expect "a head that no decision has" 1 'nowhere in the chain' verify --head "${HEAD//[0-9]/0}"
expect "what is no head" 2 '64 hexadecimal digits' verify --head abc
expect "no such database" 2 "no database '$DIR/none'" "$COMMAND" log verify --database "$DIR/none"
expect "an operand too many" 2 'takes options only' verify x

expect "replay of all" 0 '^500 decisions, 500 identical$' replay
expect "replay as JSON" 0 '"decisions":500,"identical":500,"other_words":0,"different":0' replay --output-format json
expect "another policy changes holds to throttles" 0 'hold +throttle +[1-9]' replay --policy policy/protect-backup.conf
expect "and lists the rows" 0 'hold, step 5, .* throttle, step 5, ' replay --policy policy/protect-backup.conf
expect "the same policy changes nothing" 0 ', 0 with another verdict' replay --policy policy/protect-rebuild.conf
echo 'rules = ( { verdict = "perhaps"; } );' >"$DIR/bad.conf"
expect "a bad policy" 2 "bad.conf:1: " replay --policy "$DIR/bad.conf"

spoil "UPDATE decisions SET verdict = 'deny' WHERE id = 17"
expect "a changed verdict" 1 'decision 17 was changed' spoilt log verify
spoil "DELETE FROM decisions WHERE id BETWEEN 30 AND 39"
expect "missing rows" 1 'decision 40 does not follow decision 29' spoilt log verify
spoil "UPDATE decisions SET decision = replace(decision, 'hold', 'allow') WHERE id =
	(SELECT min(id) FROM decisions WHERE verdict = 'hold')"
expect "replay finds a decision that its policy did not make" 1 '500 decisions, 499 identical' spoilt replay
spoil "UPDATE decisions SET decision = json_set(decision, '\$.reasons[0].text', 'because') WHERE id = 7"
expect "other words are not another decision" 0 '1 of them give their reasons in other words' spoilt replay
spoil "UPDATE decisions SET decision = json_set(decision, '\$.reasons[0].code', 'settle') WHERE id = 7"
expect "another reason is" 1 '500 decisions, 499 identical' spoilt replay
spoil "UPDATE decisions SET inputs = '{}' WHERE id = 5"
expect "replay says what it cannot read" 1 'its inputs cannot be read' spoilt replay
expect "also under another policy" 1 '1 could not be decided again' spoilt replay --policy policy/protect-backup.conf
spoil "UPDATE decisions SET inputs = json_remove(inputs, '\$.queue.backlog')"
expect "a record of the release before this member is decided the same" 0 '^500 decisions, 500 identical$' spoilt replay
fresh
"$WRITER" sql "$DIR/spoilt.db" "PRAGMA user_version = 99"
expect "a newer schema" 2 'newer rebuildgate' spoilt log verify

"$WRITER" write "$DB" 100000 policy/protect-rebuild.conf >"$DIR/ids" 2>/dev/null &
PID=$!
for ((i = 0; i < 500; i++)); do
	[ -s "$DIR/ids" ] && break
	sleep 0.02
done
expect "while a daemon writes" 0 '^intact: 5[0-9][0-9] decisions$' verify
expect "replay while a daemon writes" 0 ' identical$' replay
{ kill -KILL "$PID" && wait "$PID"; } 2>/dev/null
PID=

echo "1..$N"
exit $FAILED
