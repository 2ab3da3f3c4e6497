#!/bin/bash
# SPDX-License-Identifier: MIT
# log, log stats, log verify, explain, replay: the record, asked in every way, with a gate and without.

# shellcheck source=tests/t/cli-lib.sh
. tests/t/cli-lib.sh

[ "$(id -u)" = 0 ] || skip_all 'needs root, to overrule and to let go'

WRITER=$BUILD/tools/store-writer
[ -x "$WRITER" ] || skip_all "needs $WRITER"
LARGE=$SCRATCH/large/rebuildgate.db

# --- a small record, made by a real gate ----------------------------------------------------------
fresh
nas_rebuild
gate_start
operation_ready() { operation_is recovery; }
ok 'a rebuild is seen' wait_for 20 operation_ready
ask '"guest": 101, "mode": "snapshot", "upid": "UPID:pve1:0001:0002:0003:vzdump:101:root@pam:"'
ask '"guest": 102, "node": "pve2"'
sleep 1.1 # --since and --until are to the second
ask '"storage": "elsewhere", "node": "pve2"'
rg override add allow --storage backup --for 2h --reason $'say "go", now\nand \x1b[31mhere'
ok 'an override with a comma, quotes and a line break in its reason' exits 0
ask '"guest": 103'
rows() { rg log --output-format json && j 'length >= 6' true >/dev/null; }
ok 'all of it is in the log' wait_for 20 rows
WHOLE=$(jq length "$OUT")
cp "$OUT" "$SCRATCH/whole"

# --- the forms say the same -----------------------------------------------------------------------
ok 'json: oldest first' j 'map(.id) == (map(.id) | sort)' true
rg log --output-format json-pretty
ok 'json-pretty: the same value' eval '[ "$(jq -S . "$OUT")" = "$(jq -S . "$SCRATCH/whole")" ]'
ok 'json-pretty: laid out as its other answers' eval '[ "$(head -c 6 "$OUT")" = "[
   {" ] && [ "$(tail -n 1 "$OUT")" = "]" ]'
rg log
ok 'text: a line for each' eval '[ "$(wc -l <"$OUT")" = "$WHOLE" ]'
ok 'with time, number, ticket, node, storage, guest, verdict and why' \
	says "^[-0-9]+ [0-9:]+  #1 T1  pve1 vzdump backup guest 101: hold, rule 'rebuild': md2 on nas1 is in recovery, 39.9 % done"
ok 'what somebody wrote neither breaks a line nor colours it' eval 'says "go\", now and  \[31mhere$" && says_not $'"'"'\x1b'"'"''
ok 'in the order of JSON' eval '[ "$(sed "s/.*  #\([0-9]*\) .*/\1/" "$OUT" | paste -sd,)" = "$(jq -r "map(.id) | join(\",\")" "$SCRATCH/whole")" ]'
rg log --output-format csv
ok 'csv: RFC 4180, as a reader of CSV finds it, says what JSON says' python3 - "$OUT" "$SCRATCH/whole" <<'PY'
import csv, json, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
whole = json.load(open(sys.argv[2]))
assert len(rows) == len(whole), (len(rows), len(whole))
for row, want in zip(rows, whole):
    assert None not in row and None not in row.values(), row
    for name in ("id", "ticket", "guest", "step", "held_ms", "override"):
        assert row[name] == ("" if want[name] is None else str(want[name])), (name, row)
    for name in ("storage", "node", "nas", "array", "mode", "verdict", "act", "rule", "override_by", "override_reason", "policy_hash"):
        assert row[name] == (want[name] or ""), (name, row)
    assert row["reason"] == want["reasons"][0]["text"]
    assert row["time"].endswith("Z") and "T" in row["time"]
assert any("\n" in row["override_reason"] and '"' in row["override_reason"] for row in rows)
PY
PROXMOX_OUTPUT_FORMAT=csv rg log -n 1
ok 'csv by the environment' says '^id,time,'
PROXMOX_OUTPUT_NO_HEADER=1 rg log --output-format csv --decision 1
ok 'without a header' says_not '^id,'

# --- filters --------------------------------------------------------------------------------------
# filters JQ ARGS...: the rows are those of the whole that JQ selects.
filters() {
	local want
	want=$(jq -c "[.[] | select($1) | .id]" "$SCRATCH/whole")
	shift
	rg log --output-format json "$@"
	exits 0 && j '[.[].id] | tojson' "$want" && [ "$want" != '[]' ] && [ "$want" != "$(jq -c 'map(.id)' "$SCRATCH/whole")" ]
}
ok '--storage' filters '.storage == "elsewhere"' --storage elsewhere
ok '--nas' filters '.nas == "nas1"' --nas nas1
ok '--node' filters '.node == "pve2"' --node pve2
ok '--guest' filters '.guest == 102' --guest 102
ok '--verdict' filters '.verdict == "hold"' --verdict hold
ok '--rule' filters '.rule == "rebuild"' --rule rebuild
ok '--ticket' filters '.ticket == 2' --ticket T2
ok '--ticket as a number' filters '.ticket == 2' --ticket=2
ok '--decision' filters '.id == 3' --decision '#3'
ok 'two at once' filters '.node == "pve2" and .verdict == "hold"' --node pve2 --verdict hold
AT=$(jq '.[2].time_utc_ms' "$SCRATCH/whole")
SECOND=$((AT / 1000))
ok '--since' filters ".time_utc_ms >= $SECOND * 1000" --since "@$SECOND"
rg log --output-format json --until "@$SECOND"
ok '--until' j "all(.time_utc_ms < $SECOND * 1000)" true
rg log --last 2 --output-format json
ok '--last: the newest, oldest first' j 'map(.id) | tojson' "[$((WHOLE - 1)),$WHOLE]"
rg log --last 1 --verdict hold --output-format json
ok '--last of what matches' j 'map(.verdict) | tojson' '["hold"]'
rg log --last 0
ok '--last 0: nothing' eval 'exits 0 && [ ! -s "$OUT" ]'
rg log --storage nobody --output-format json
ok 'nothing matches: an empty list' eval 'exits 0 && [ "$(cat "$OUT")" = "[]" ]'
rg log --since tomorrow
ok 'a word that is no time' eval 'exits 2 && wrong "--since: .tomorrow. is not a point in time"'
ok '--until' mistake '--until: ' log --until 25:00
ok '--verdict' mistake "--verdict is one of allow, throttle, hold, deny, not 'alow'" log --verdict alow
ok '--guest' mistake '--guest: ' log --guest vm101
ok '--ticket' mistake '--ticket: ' log --ticket X1
ok '--decision' mistake '--decision: ' log --decision -1
ok '--last' mistake '--last: ' log --last many
ok 'no word' mistake "it takes options only, not 'yesterday'" log yesterday
ok 'no such option' mistake "there is no option '--until-when': see rebuildgate log --help" log --until-when now
ok 'no value' mistake "option '--since' needs a value: --since TIME" log --since
ok 'a value too much' mistake "option '--follow' takes no value" log --follow=yes

# --- follow ---------------------------------------------------------------------------------------
# follows NAME ARGS...: the process is in FOLLOWER, what it says in the file.
follows() {
	local file=$1
	shift
	"$RG" log --follow "$@" >"$file" 2>"$file.err" &
	FOLLOWER=$!
	STARTED+=("$FOLLOWER")
}
has_lines() { [ "$(wc -l <"$1")" -ge "$2" ]; }
follows "$SCRATCH/f-text" --last 1
follows "$SCRATCH/f-json" --last 1 --output-format json
follows "$SCRATCH/f-pretty" --last 0 --output-format json-pretty
PRETTY=$FOLLOWER
follows "$SCRATCH/f-csv" --last 1 --output-format csv
follows "$SCRATCH/f-node" --since -1h --node pve7
ok 'follow begins with what there is' wait_for 20 has_lines "$SCRATCH/f-text" 1
ok 'csv with its header' wait_for 20 has_lines "$SCRATCH/f-csv" 2
wait_for 20 has_lines "$SCRATCH/f-json" 1
# The one that shows nothing at first has begun when it has asked: its connection is not ours to see.
sleep 1
ask '"guest": 104, "node": "pve1"'
ask '"guest": 105, "node": "pve7"'
ok 'follow shows what is decided then' wait_for 20 has_lines "$SCRATCH/f-text" 3
ok 'each form' eval 'wait_for 20 has_lines "$SCRATCH/f-json" 3 && wait_for 20 has_lines "$SCRATCH/f-pretty" 2 && wait_for 20 has_lines "$SCRATCH/f-csv" 4'
ok 'JSON: one object for each line' eval '[ "$(jq -c .guest "$SCRATCH/f-json" | paste -sd,)" = "103,104,105" ]'
ok 'in each JSON' eval '[ "$(jq -c .guest "$SCRATCH/f-pretty" | paste -sd,)" = "104,105" ]'
ok 'with a filter' wait_for 20 has_lines "$SCRATCH/f-node" 1
ok 'only what matches' eval '[ "$(wc -l <"$SCRATCH/f-node")" = 1 ] && grep -q "guest 105" "$SCRATCH/f-node"'
ok 'it goes on' kill -0 "$PRETTY"
for pid in "${STARTED[@]}"; do kill "$pid" 2>/dev/null; done

# --- explain --------------------------------------------------------------------------------------
rg explain 1
ok 'explain' exits 0
ok 'what and why' says "^decision 1, [-0-9]+ [0-9:]+: hold, rule 'rebuild', step 5$"
ok 'who asked' says '^  asked by  vzdump \(ticket T1\) on node pve1, in phase job-init, guest 101$'
ok 'about what' says '^  storage   backup on NAS nas1, array md2$'
ok 'which task' says '^  task      UPID:pve1:0001:'
ok 'how long at most' says '^  until     [-0-9]+ [0-9:]+ at the latest \(8h later\), then throttle'
ok 'each step by its name' eval 'says "^  1    switch +the gate is switched on" && says "^  3    storage " && says "^  8    observe "'
ok 'and where it was settled' says '^  5 => +hold: '
rg explain '#1' --output-format json
ok 'as JSON, with the same trace' j '.trace | map(select(.settled)) | map(.step) | tojson' '[5]'
ok 'decided again it is the same' j '.same' true
ok 'with its policy' j '.policy_text | length > 100' true
rg explain "$(jq '[.[] | select(.override != null)][0].id' "$SCRATCH/whole")"
ok 'an override is named with who and why' says '^  override  1 by root: say "go", now'
rg explain 99999
ok 'no such decision' eval 'exits 1 && wrong 99999'
ok 'no number' mistake 'name one decision by its number' explain
ok 'no such number' mistake 'name one decision by its number' explain T1

# --- stats ----------------------------------------------------------------------------------------
rg log --since -2h --output-format json
N=$(jq length "$OUT")
rg log stats
ok 'stats count all' says "^$N decisions from [-0-9]+ [0-9]+:00 to [-0-9]+ [0-9]+:00 \(whole hours\)"
ok 'by verdict' eval 'says "^by verdict$" && says "^ +[0-9]+  hold$"'
rg log stats --output-format json
ok 'as JSON' j '.decisions' "$N"
ok 'the sum of the verdicts' j '[.verdicts[]] | add' "$N"
rg log stats --since 2020-01-01 --until 2020-01-02
ok 'none is none, not one' says '^0 decisions from 2020-01-01 00:00 to 2020-01-02 00:00'
ok 'backwards' mistake '--until lies before --since' log stats --since now --until -2h
ok 'no time' mistake '--since: ' log stats --since 'back then'

# --- without the gate -----------------------------------------------------------------------------
# same NAME ARGS...: with the gate, from the named database, and, once the gate is away, from the configured one.
VERBS=("log" "log --output-format json" "log --output-format json-pretty --verdict hold" "log --output-format csv --last 3"
	"log --since 2020-01-01 --until now --output-format json" "log stats --since yesterday --output-format json" "explain 2" "explain 2 --output-format json")
for i in "${!VERBS[@]}"; do
	# shellcheck disable=SC2086
	rg ${VERBS[i]} --config "$CONF"
	cp "$OUT" "$SCRATCH/with-gate.$i"
	# shellcheck disable=SC2086
	rg ${VERBS[i]} --database "$DB"
	ok "${VERBS[i]} --database says what the gate says" eval 'exits 0 && cmp "$OUT" "$SCRATCH/with-gate.$i" && [ ! -s "$ERR" ]'
done
gate_kill TERM
for i in "${!VERBS[@]}"; do
	# shellcheck disable=SC2086
	rg ${VERBS[i]} --config "$CONF"
	ok "${VERBS[i]}: the same while the gate is away" eval 'exits 0 && cmp "$OUT" "$SCRATCH/with-gate.$i"'
	ok 'and one line says where from' eval '[ "$(cat "$ERR")" = "rebuildgate ${VERBS[i]%% --*}: the gate is away: this is read from its database $DB" ] ||
		grep -q "^rebuildgate [a-z ]*: the gate is away: this is read from its database $DB\$" "$ERR" && [ "$(wc -l <"$ERR")" = 1 ]'
done
rg log --config "$SCRATCH/none.conf"
ok 'a configuration that is not there is a mistake' eval 'exits 2 && wrong "there is no configuration .*none.conf"'
echo 'pol = "1s"; storages = 3;' >"$SCRATCH/bad.conf"
rg log verify --config "$SCRATCH/bad.conf"
ok 'a bad one is told with its line, and how many there are' eval 'exits 2 && wrong "the configuration has [0-9]+ errors, the first: .*bad.conf:1: "'
ok 'a database that is not there' mistake "there is no database '.*none.db'" log --database "$SCRATCH/none.db"
echo 'this is no database, though it is long enough to look like one' >"$SCRATCH/text.db"
rg log --database "$SCRATCH/text.db"
ok 'a file that is none' eval 'exits 1 || exits 2'
ok 'in one sentence' wrong ''

# --- verify and replay ----------------------------------------------------------------------------
rg log verify --config "$CONF"
ok 'verify takes the database of the configuration' eval 'exits 0 && says "^intact: [0-9]+ decisions$"'
HEAD=$(sed -n 's/^head \([0-9a-f]*\) .*/\1/p' "$OUT")
rg log verify --database "$DB" --head "$HEAD" --output-format json
ok 'a head that was kept elsewhere is found' eval 'exits 0 && j .ok true && j ".anchor_id == .head_id" true'
rg log verify --database "$DB" --head "$(printf '0%.0s' {1..64})"
ok 'one that is not: not intact' eval 'exits 1 && says "^NOT intact: 1 fault$"'
ok 'no head' mistake '--head takes the 64 hexadecimal digits' log verify --head 12
rg replay --config "$CONF"
ok 'replay: identical' eval 'exits 0 && says "^$((N)) decisions, $((N)) identical$"'
# As an earlier release wrote it, with fewer reasons and members: what it said is what is said now.
cp "$DB" "$SCRATCH/earlier.db"
cp "$DB-wal" "$SCRATCH/earlier.db-wal" 2>/dev/null
sqlite3 "$SCRATCH/earlier.db" "DROP TRIGGER decisions_no_update;
	UPDATE decisions SET decision = json_remove(decision, '\$.hold_step', '\$.reasons[#-1]'); SELECT changes()" >"$SCRATCH/changes"
ok 'each row has lost a reason' test "$(cat "$SCRATCH/changes")" = "$N"
rg replay --database "$SCRATCH/earlier.db"
ok 'replay: an earlier record with fewer reasons is identical too' eval 'exits 0 && says "^$((N)) decisions, $((N)) identical"'
sqlite3 "$SCRATCH/earlier.db" "UPDATE decisions SET decision = json_set(decision, '\$.reasons', json('[{\"code\":\"age\"}]')) WHERE id = 1" >/dev/null
rg replay --database "$SCRATCH/earlier.db"
ok 'another reason in the first place is not' eval 'exits 1 && says "^$((N)) decisions, $((N - 1)) identical"'
cat >"$SCRATCH/lenient.conf" <<'TEXT'
name = "lenient";
TEXT
rg replay --config "$CONF" --policy "$SCRATCH/lenient.conf"
ok 'replay --policy: what it changes' eval 'exits 0 && says "with another verdict under $SCRATCH/lenient.conf$" && says "^hold +allow +[1-9]"'
ok 'each with its number' says "^1 +[-0-9]+ [0-9:]+ +backup +hold, step 5, rebuild +allow, step 6"
rg replay --config "$CONF" --policy "$SCRATCH/lenient.conf" --output-format json
ok 'as JSON' j '.different == (.rows | length) and ([.verdicts[] | select(.from != .to) | .count] | add) == .different' true
sed -i 's/^\(.*\)$/\1 nonsense = 1;/' "$SCRATCH/lenient.conf"
rg replay --database "$DB" --policy "$SCRATCH/lenient.conf"
ok 'a bad policy: its errors' eval 'exits 2 && grep -q "lenient.conf:1: " "$ERR"'

# --- a large record -------------------------------------------------------------------------------
mkdir -p "$(dirname "$LARGE")"
"$WRITER" fill "$LARGE" 1300 >/dev/null || echo '# the large record could not be written'
cp "$LARGE" "$DB"
rm -f "$DB-wal" "$DB-shm" "$DB-spill"
sqlite3 "$DB" 'SELECT count(*) FROM decisions' >"$SCRATCH/count" 2>/dev/null
rg log --database "$LARGE" --since 2020-01-01 --output-format json
ok 'more than a page: all' j length 1300
ok 'each once, in order' j '[.[].id] == [range(1; 1301)]' true
cp "$OUT" "$SCRATCH/large.json"
rm -rf "$SCRATCH/db"
mkdir "$SCRATCH/db"
cp "$LARGE" "$DB"
gate_start
rg log --since 2020-01-01 --output-format json
ok 'from the gate as well' eval 'cmp "$OUT" "$SCRATCH/large.json"'
rg log --since 2020-01-01
ok 'as text' eval '[ "$(wc -l <"$OUT")" = 1300 ]'
rg log --since 2020-01-01 --output-format csv
ok 'as CSV: one header' eval '[ "$(grep -c "^id," "$OUT")" = 1 ] && [ "$(wc -l <"$OUT")" = 1301 ]'
rg log stats --since 2020-01-01
ok 'stats: the most first' eval '[ "$(sed -n "/^by storage/,/^[0-9]* holds/p" "$OUT" | awk "/^  /{print \$1}" | sort -rnc 2>&1)" = "" ] && says "^ +[0-9]+  backup[0-9]+$"'
rg log --last 777 --output-format json
ok '--last over pages' j '[.[].id] == [range(524; 1301)]' true
rg log --verdict hold --since 2020-01-01 --output-format json
ok 'a filter over pages' eval '[ "$(jq length "$OUT")" = "$(jq "map(select(.verdict == \"hold\")) | length" "$SCRATCH/large.json")" ]'
timeout 60 "$RG" log --since 2020-01-01 2>"$ERR" | head -n 1 >"$OUT"
ok 'a reader that has seen enough' eval 'says "#1 " && [ ! -s "$ERR" ]'
done_testing
