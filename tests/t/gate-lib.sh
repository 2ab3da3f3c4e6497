# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What the daemon's tests share: a real rebuildgated with a NAS that is a folder (via = "local", root = DIR), its API by curl.
# Source it from the root of the repository; the program comes from $BUILD.

set -u
BUILD=$(realpath "${BUILD:-build}")
SCRATCH=$(mktemp -d "${TMPDIR:-/tmp}/rg-gate.XXXXXX")
chmod 755 "$SCRATCH"
NAS=$SCRATCH/nas
SOCK=$SCRATCH/sock
CONF=$SCRATCH/rebuildgate.conf
POLICY=$SCRATCH/policy.conf
DB=$SCRATCH/db/rebuildgate.db
LOG=$SCRATCH/gate.log
OUT=$SCRATCH/out
GATE_PID=
TEST=0
STARTED=()
MOUNTED=()

cleanup() {
	local pid dir
	gate_kill KILL
	for pid in "${STARTED[@]}"; do
		kill -KILL "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	done
	for dir in "${MOUNTED[@]}"; do
		umount "$dir" 2>/dev/null
	done
	rm -rf "$SCRATCH"
}
trap cleanup EXIT

# ok NAME COMMAND...: one TAP line; on failure with the journal's end and the last answer.
ok() {
	local name=$1
	shift
	TEST=$((TEST + 1))
	if "$@"; then
		echo "ok $TEST - $name"
	else
		echo "not ok $TEST - $name"
		echo "# failed: $*"
		tail -n 15 "$LOG" 2>/dev/null | sed 's/^/# journal: /'
		head -c 1500 "$OUT" 2>/dev/null | sed 's/^/# answer: /'
		echo
	fi
}

skip_all() {
	echo "1..0 # SKIP $1"
	exit 0
}

done_testing() {
	echo "1..$TEST"
}

# wait_for SECONDS COMMAND...: until it succeeds.
wait_for() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.05
	done
}

# --- the NAS: texts as md_seq_show() prints them --------------------------------------------------
nas_write() {
	mkdir -p "$NAS/proc"
	cat >"$NAS/proc/mdstat.new"
	mv "$NAS/proc/mdstat.new" "$NAS/proc/mdstat"
}

nas_idle() {
	nas_write <<-'TEXT'
	Personalities : [raid6] [raid5] [raid4] 
	md2 : active raid6 sde1[4] sdd1[3] sdc1[2] sdb1[1] sda1[0]
	      5855836608 blocks super 1.2 level 6, 64k chunk, algorithm 2 [5/5] [UUUUU]
	      
	unused devices: <none>
	TEXT
}

# nas_rebuild [PERCENT]
nas_rebuild() {
	local percent=${1:-40} total=1951945536
	nas_write <<-TEXT
	Personalities : [raid6] [raid5] [raid4] 
	md2 : active raid6 sdf1[5] sdd1[3] sdc1[2] sdb1[1] sda1[0]
	      5855836608 blocks super 1.2 level 6, 64k chunk, algorithm 2 [5/4] [UUUU_]
	      [========>............]  recovery = $percent.0% ($((total / 100 * percent))/$total) finish=527.0min speed=37000K/sec
	      
	unused devices: <none>
	TEXT
}

nas_gone() {
	rm -f "$NAS/proc/mdstat"
}

# --- configuration ------------------------------------------------------------------------------
# shellcheck disable=SC2120
# policy_write [SETTINGS...]: a rebuild is held; short times, so that a test need not wait for hours.
policy_write() {
	cat >"$POLICY" <<-TEXT
	name = "test";
	defaults = { settle = "0"; release_interval = "0"; recheck = "1s"; };
	rules = (
	  { name = "blind"; when = { sensor = "blind"; }; verdict = "hold"; max_hold = "30min"; on_expiry = "allow"; },
	  { name = "rebuild"; when = { role = "data"; operation = ["recovery"]; };
	    verdict = "hold"; max_hold = "${MAX_HOLD:-8h}"; on_expiry = "throttle"; mid_job = "allow"; }
	);
	$*
	TEXT
}

# shellcheck disable=SC2120
# conf_write [SETTINGS...]
conf_write() {
	mkdir -p "$(dirname "$DB")"
	cat >"$CONF" <<-TEXT
	node = "pve1";
	socket = "$SOCK";
	socket_group = "${SOCKET_GROUP:-root}";
	database = "$DB";
	spill = "$DB-spill";
	spill_size = "1 MiB";
	policy = "$POLICY";
	poll = "1s";
	idle_poll = "1s";
	fresh = "${FRESH:-500ms}";
	look_deadline = "3s";
	nas = ( { name = "nas1"; via = "local"; root = "$NAS"; } );
	storages = ( { name = "backup"; nas = "nas1"; } );
	$*
	TEXT
}

# --- the daemon ---------------------------------------------------------------------------------
gate_spawn() {
	"$BUILD/rebuildgated" --config "$CONF" "$@" </dev/null >>"$LOG" 2>&1 &
	GATE_PID=$!
}

answers() {
	[ "$(curl -s -o /dev/null -w '%{http_code}' -m 5 --unix-socket "$SOCK" http://gate/v1/version)" = 200 ]
}

gate_start() {
	gate_spawn "$@"
	wait_for 20 answers || { echo "# the gate does not answer"; sed 's/^/# /' "$LOG"; }
}

# gate_kill SIGNAL: and waits for its end; its exit status is in GATE_STATUS.
gate_kill() {
	[ -n "$GATE_PID" ] || return 0
	kill "-$1" "$GATE_PID" 2>/dev/null
	wait "$GATE_PID" 2>/dev/null
	# shellcheck disable=SC2034
	GATE_STATUS=$?
	GATE_PID=
}

fresh() {
	gate_kill TERM
	rm -rf "$NAS" "$SCRATCH/db" "$LOG"
	nas_idle
	policy_write
	conf_write
}

# --- the API ------------------------------------------------------------------------------------
# api METHOD PATH [BODY]: the answer is in $OUT, the status in $STATUS.
api() {
	local args=(-s -m 40 --unix-socket "$SOCK" -X "$1" -o "$OUT" -w '%{http_code}')
	: >"$OUT"
	if [ $# -gt 2 ]; then
		args+=(-H 'Content-Type: application/json' --data-binary "$3")
	fi
	STATUS=$(curl "${args[@]}" "http://gate$2")
}

# get FILTER [FILE]: a Python expression over the answer `a`, printed; nothing where it fails.
get() {
	python3 -c '
import json, sys
try:
    a = json.load(open(sys.argv[2]))
    v = eval(sys.argv[1])
    print("null" if v is None else str(v).lower() if isinstance(v, bool) else v)
except (KeyError, IndexError, ValueError, TypeError, StopIteration):
    pass
' "$1" "${2:-$OUT}"
}

# is FILTER VALUE: what the last answer says. Says what it was on failure.
is() {
	local v
	v=$(get "$1")
	[ "$v" = "$2" ] || { echo "# $1 is '$v', not '$2'"; return 1; }
}

status_is() {
	[ "$STATUS" = "$1" ] || { echo "# status $STATUS, not $1"; return 1; }
}

# ask [MEMBERS]: a vzdump that asks in job-init; MEMBERS overrule.
ask_body() {
	python3 -c '
import json, sys
body = {"client": "vzdump", "phase": "job-init", "storage": "backup", "node": "pve1"}
body.update(json.loads("{" + sys.argv[1] + "}"))
print(json.dumps(body))
' "${1:-}"
}

ask() {
	api POST /v1/ask "$(ask_body "${1:-}")"
}

# later FILE MEMBERS: an ask in the background, its answer in FILE, its process in LATER.
later() {
	ask_body "$2" >"$1.body"
	curl -s -m 40 --unix-socket "$SOCK" -X POST -o "$1.new" --data-binary "@$1.body" http://gate/v1/ask && mv "$1.new" "$1" &
	LATER=$!
	STARTED+=("$LATER")
}

# worker PID: its identity as a hook would tell it.
worker() {
	local stat
	stat=$(cat "/proc/$1/stat") || return 1
	stat=${stat##*) }
	# shellcheck disable=SC2086
	set -- "$1" $stat
	echo "\"worker\": {\"pid\": $1, \"start_ticks\": ${21}, \"boot_id\": \"$(cat /proc/sys/kernel/random/boot_id)\"}"
}

logged() {
	grep -qE -- "$1" "$LOG"
}

operation_is() {
	api GET /v1/status
	[ "$(get 'a["nas"][0]["arrays"][0]["operation"]')" = "$1" ]
}

sensor_is() {
	api GET /v1/nas
	[ "$(get 'a["nas"][0]["sensor"]')" = "$1" ]
}

# ticket_state ID STATE: among the live and the ended ones.
ticket_is() {
	api GET '/v1/tickets?all=1'
	[ "$(get "next(t for t in a['tickets'] if t['ticket'] == $1)['state']")" = "$2" ]
}

query() {
	sqlite3 "$DB" "$1"
}
