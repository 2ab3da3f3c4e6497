#!/bin/bash
# SPDX-License-Identifier: MIT
# Policy files through the operator's command: golden files, the shipped policies, and the documentation's tables.
#
# tests/policy/NAME.in is checked: where it is wrong, NAME.ok holds what check says on stderr; where it is right, what show
# prints. What was printed is loaded again and must print the same bytes.

# The scripts in single quotes are for an inner bash, which gets its arguments itself.
# shellcheck disable=SC2016

build=$(realpath "${BUILD:-build}")
rg=$build/rebuildgate
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
n=0
export LC_ALL=C
unset PROXMOX_OUTPUT_FORMAT

ok() { # NAME COMMAND...
	local name=$1
	shift
	n=$((n + 1))
	if "$@"; then
		echo "ok $n - $name"
	else
		echo "not ok $n - $name"
	fi
}

same() { # EXPECTED GOT
	diff -u "$1" "$2" | sed 's/^/# /'
	return "${PIPESTATUS[0]}"
}

# --- golden files ---------------------------------------------------------------------------------
cd tests/policy || exit 1
for in in *.in; do
	name=${in%.in}
	if "$rg" policy check "$in" >"$scratch/out" 2>"$scratch/err"; then
		rc=0
		"$rg" policy show "$in" >"$scratch/got"
		"$rg" policy show "$scratch/got" >"$scratch/again"
		ok "$name: printed, loaded and printed again is the same" cmp -s "$scratch/got" "$scratch/again"
		ok "$name: check says one line" test "$(wc -l <"$scratch/out")" = 1
	else
		rc=$?
		cp "$scratch/err" "$scratch/got"
		ok "$name: exit status 2, nothing on stdout" test "$rc" = 2 -a ! -s "$scratch/out"
		ok "$name: each line names a file" bash -c '! grep -vE "^[^:]+(:[0-9]+)?: ." "$1"' - "$scratch/err"
	fi
	ok "$name: as expected" same "$name.ok" "$scratch/got"
done
cd ../.. || exit 1

# --- the shipped policies -------------------------------------------------------------------------
for file in policy/*.conf; do
	ok "$file is good" bash -c '"$1" policy check "$2" | grep -q " is good: "' - "$rg" "$file"
	"$rg" policy test "$file" >"$scratch/tap"
	ok "$file passes its own tests" test $? = 0
	ok "$file has at least 10" test "$(grep -c '^ok ' "$scratch/tap")" -ge 10
	ok "$file denies nobody and stops nobody" bash -c '! grep -qE "\"(deny|stop)\"" "$1"' - "$file"
	"$rg" policy show "$file" >"$scratch/one"
	"$rg" policy show "$scratch/one" >"$scratch/two"
	ok "$file printed, loaded and printed again is the same" cmp -s "$scratch/one" "$scratch/two"
	# What the daemon stores has no tests, and decides alike.
	{ cat "$scratch/one" && sed -n '/^tests = (/,$p' "$file"; } >"$scratch/both.conf"
	"$rg" policy test "$scratch/both.conf" >"$scratch/again"
	ok "$file as stored passes the same tests" cmp -s "$scratch/tap" "$scratch/again"
done

# --- a policy's own tests -------------------------------------------------------------------------
cat >"$scratch/fails.conf" <<'EOF'
rules = ( { name = "rebuild"; verdict = "hold"; when = { operation = "recovery"; }; } );
tests = (
  { name = "right"; given = { operation = "recovery"; }; expect = { verdict = "hold"; }; },
  { name = "wrong"; given = { operation = "recovery"; }; expect = { verdict = "allow"; }; }
);
EOF
"$rg" policy test "$scratch/fails.conf" >"$scratch/tap"
ok 'a failing test: exit status 1' test $? = 1
ok 'the plan is right' grep -qx '1\.\.2' "$scratch/tap"
ok 'the right one is ok' grep -qx 'ok 1 - right' "$scratch/tap"
ok 'the wrong one is not' grep -qx 'not ok 2 - wrong' "$scratch/tap"
ok 'with what differs and where' grep -qE 'fails.conf:4: verdict is hold, not allow' "$scratch/tap"

# --- try ------------------------------------------------------------------------------------------
try() { "$rg" policy try policy/protect-rebuild.conf "$@" >"$scratch/try" 2>&1; }
ok 'try decides' try --given 'operation=recovery progress=40% redundancy_left=1'
ok 'and says verdict, rule and step' grep -q "^hold, rule 'rebuild', step 5" "$scratch/try"
ok 'and what each step saw' grep -qE '^  5 => .*40' "$scratch/try"
ok 'several --given are one array' try --given 'operation=check' --given 'progress=3%'
ok 'so that the last rule that matters is that of the check' grep -q "^allow, rule 'check or repair'" "$scratch/try"
ok 'one that names its array is another' try --given 'array=md2 operation=idle' --given 'array=md3 operation=recovery'
ok 'and the strictest wins' grep -q "^hold, rule 'rebuild'.*" "$scratch/try"
ok 'a value with blanks stands in quotes' try --given "operation=recovery held_for='7h 59min'"
ok 'and is understood' grep -q '^hold' "$scratch/try"
"$rg" policy try --policy policy/balanced.conf --given 'operation=recovery redundancy_left=1' --output-format json >"$scratch/json"
ok '--policy names the file as well' test $? = 0
ok 'JSON has the verdict' grep -q '"verdict": *"throttle"' "$scratch/json"
ok 'and the trace' grep -q '"trace"' "$scratch/json"
try --given 'operatoin=recovery'
ok 'an unknown fact: exit status 2' test $? = 2
ok 'with the nearest name' grep -q "did you mean 'operation'" "$scratch/try"
try --given 'operation'
ok 'no value: exit status 2' test $? = 2
"$rg" policy check "$scratch/none.conf" 2>"$scratch/err"
ok 'a file that is not there: exit status 2' test $? = 2
ok 'said with its name' grep -q 'none.conf.*No such file' "$scratch/err"
ok 'stdin is a file too' bash -c '"$1" policy check - <policy/balanced.conf | grep -q "is good"' - "$rg"
"$rg" policy check tests/policy/units.in --output-format json >"$scratch/json"
ok 'errors as JSON: exit status 2 all the same' test $? = 2
ok 'each with file, line and text' grep -q '"file": *"tests/policy/units.in", *"line": *1, *"text"' "$scratch/json"

# --- the documentation's tables are the schema's ---------------------------------------------------
"$rg" policy defaults >"$scratch/defaults"
sed -n '/^<!-- defaults -->$/,/^<!-- end of defaults -->$/p' policy/README.md | sed '1,2d;$d' >"$scratch/documented"
ok 'policy/README.md has all defaults' same "$scratch/documented" "$scratch/defaults"
for word in $("$rg" policy facts | cut -f1); do
	ok "policy/README.md explains $word" grep -q "\`$word\`" policy/README.md
done

echo "1..$n"
