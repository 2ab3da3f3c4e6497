#!/bin/bash
# SPDX-License-Identifier: MIT
# Where the daemon's levers were broken once: what hurt, and that it no longer does.

# shellcheck source=tests/t/gate-lib.sh
. tests/t/gate-lib.sh

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

# job NAME [MEMBERS]: a vzdump with a process of its own asks; its ticket in T_NAME, its worker in W_NAME.
job() {
	local who
	sleep 1000 &
	STARTED+=("$!")
	who=$(worker "$!")
	declare -g "P_$1=$!" "W_$1=$who"
	ask "$who${2:+, $2}"
	declare -g "T_$1=$(get 'a["ticket"]')"
}

# guest NAME VMID [TYPE]: the hook tells that a guest's backup begins.
guest() {
	local ticket=T_$1 who=W_$1
	api POST /v1/report "{\"ticket\": ${!ticket}, ${!who}, \"phase\": \"backup-start\", \"guest\": $2, \"guest_type\": \"${3:-qemu}\", \"storage\": \"backup\", \"node\": \"pve1\"}"
}

end() {
	local ticket=T_$1 who=W_$1
	api POST /v1/report "{\"ticket\": ${!ticket}, ${!who}, \"phase\": \"job-end\"}"
}

# keep NAME VMID [MEMBERS]: its keeper asks and does what it is told; what is in force in K_NAME, its rate in R_NAME.
keep() {
	local ticket=T_$1 who=W_$1 path=K_$1 rate=R_$1
	api POST /v1/keep "$(python3 -c '
import json, sys
body = json.loads("{%s}" % sys.argv[1])
body.update({"ticket": int(sys.argv[2]), "node": "pve1", "storage": "backup", "guest": int(sys.argv[3]), "fleecing": False,
    "path": sys.argv[4], "rate": int(sys.argv[5]), "n_jobs": 1, "moved": 20000000, "ending": False, "trouble": ""})
body.update(json.loads("{%s}" % sys.argv[6]))
print(json.dumps(body))' "${!who}" "${!ticket}" "$2" "${!path:-free}" "${!rate:-0}" "${3:-}")"
	declare -g "K_$1=$(get 'a["path"]')" "R_$1=$(get 'a["rate"]')"
}

keeps() { # NAME VMID PATH...: the keeper is told one of these
	local name=$1 vmid=$2 path=K_$1
	shift 2
	keep "$name" "$vmid"
	[[ " $* " == *" ${!path} "* ]]
}

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
