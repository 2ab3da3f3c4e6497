#!/bin/bash
# SPDX-License-Identifier: MIT
# Where the daemon's levers were broken once: what hurt, and that it no longer does.

# shellcheck source=tests/t/gate-lib.sh
. tests/t/gate-lib.sh
# shellcheck source=tests/t/levers-lib.sh
. tests/t/levers-lib.sh

# rules TEXT: the rules of the policy.
rules() {
	cat >"$POLICY" <<-TEXT
	name = "test";
	defaults = { settle = "0"; release_interval = "0"; recheck = "1s"; max_running = 9; };
	rules = ( $1 );
	TEXT
}

K_a= # keep()
REBUILD='name = "rebuild"; when = { role = "data"; operation = ["recovery"]; };'

moved() { query "SELECT count(*) FROM lever_actions WHERE put_back = 0 AND lever LIKE '$1' AND target LIKE '$2'"; }
back() { query "SELECT count(*) FROM lever_actions WHERE put_back = 1 AND lever LIKE '$1' AND target LIKE '$2'"; }
at_least() { [ "$1" -ge "$2" ] || { echo "# $1 is less than $2"; return 1; }; }
is_moved() { at_least "$(moved "$@")" 1; }
is_back() { at_least "$(back "$@")" 1; }
lever_is() { # FILTER VALUE: of GET /v1/levers
	api GET /v1/levers
	is "$1" "$2"
}

last() { query "SELECT put_back FROM lever_actions WHERE lever = '$1' AND target = '$2' ORDER BY id DESC LIMIT 1"; }
last_is() { [ "$(last "$2" "$3")" = "$1" ]; }

# --- observing --------------------------------------------------------------------------------------
fresh
rules "{ $REBUILD verdict = \"hold\"; running = \"throttle\"; rate = \"10 MB/s\"; }"
sed -i 's/^name = "test";/name = "test"; observe = true;/' "$POLICY"
nas_rebuild
gate_start
job a
guest a 101
api POST /v1/overrides "{\"verdict\": \"throttle\", \"storage\": \"backup\", \"until_utc_ms\": $(($(date +%s) + 600))000, \"reason\": \"test\"}"
ok 'there is an override that throttles' is 'a["id"] > 0' true
keep a 101
ok 'a gate that only observes moves nothing for it' test "$K_a" = free
ok 'nor does the record say so' test "$(moved block-jobs '%')" = 0
end a

# --- a keeper that cannot put back ------------------------------------------------------------------
fresh
rules "{ $REBUILD verdict = \"throttle\"; rate = \"10 MB/s\"; }"
nas_rebuild
gate_start
job a
guest a 101
ok 'a guest is limited' wait_for 10 keeps a 101 limit
keep a 101
keep a 101 '"ending": true, "trouble": "its block jobs could not be put back yet"'
ok 'a keeper that ends with its guest still limited: the record does not say that it is back' test "$(last block-jobs pve1/101)" = 0
keep a 101 '"ending": true, "path": "free", "rate": 0, "trouble": "they run at their own speed again"'
ok 'until its guard has done it' test "$(last block-jobs pve1/101)" = 1
end a

# --- killed twice in a row --------------------------------------------------------------------------
job b
guest b 102
ok 'another is limited' wait_for 10 keeps b 102 limit
gate_kill KILL
gate_start
gate_kill KILL
gate_start
ok 'killed twice: the record still says that it is moved' test "$(last block-jobs pve1/102)" = 0
ok 'and it is limited on' wait_for 10 keeps b 102 limit
nas_idle
ok 'until the rebuild ends' wait_for 60 keeps b 102 free
ok 'in the record too' wait_for 10 last_is 1 block-jobs pve1/102
end b

done_testing
