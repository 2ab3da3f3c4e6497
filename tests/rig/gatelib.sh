# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2119,SC2120
# What the rig's tests of the gate share: a real rebuildgated that watches a machine of the rig (user `watch`), the real
# hook called as vzdump calls it, and waits on what the API, the task logs and md say. usage, from the root of the
# repository:  . tests/rig/tap.sh; . tests/rig/gatelib.sh
#
#   must rig_start; must rig_make_raid6; gate_new      (a new record, conf.d of one NAS, the shipped policy with short waits)
#   job web --guest 101:qemu:snapshot:web; ok "it is held" job_said web 'held: '; ok "..." job_ends web
#
# Waits end when their condition holds, and fail after $PATIENCE seconds (120): nothing here asserts how long something takes.
# A job's name is also that of its task log. Only what was started here is signalled, by pid.

BUILD=$(realpath "${BUILD:-build}")
GATE=$(mktemp -d "${TMPDIR:-/tmp}/rig-gate.XXXXXX")
SOCK=$GATE/gate.sock
DB=$GATE/db/record.db
CONF=$GATE/rebuildgate.conf
JOURNAL=$GATE/journal
HOOK=$BUILD/rebuildgate-vzdump
GATE_PID=
declare -A JOB=() ENDED=()
OTHERS=()
MOUNTED=()
PATIENCE=${PATIENCE:-120}
[ -x "$BUILD/rebuildgated" ] || { echo "Bail out! no programs in $BUILD: make" && exit 1; }

gate_cleanup() {
	local name pid dir
	for name in "${!JOB[@]}"; do
		job_kill "$name"
	done
	gate_end KILL
	for pid in "${OTHERS[@]}"; do
		kill -KILL "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	done
	for dir in "${MOUNTED[@]}"; do
		umount "$dir" 2>/dev/null
	done
	rig_cleanup
	rm -rf "$GATE"
}
trap gate_cleanup EXIT

# What tap.sh shows with a failure.
tap_context() {
	local log
	for log in "$GATE"/*.task; do
		[ -s "$log" ] && tail -n 12 "$log" | sed "s|^|# ${log##*/}: |"
	done
	tail -n 15 "$JOURNAL" 2>/dev/null | sed 's/^/# journal: /'
}

# --- waits -----------------------------------------------------------------------------------------------------------

# wait_until CMD...: until it succeeds; its last words are shown when it did not.
wait_until() {
	local end=$((SECONDS + PATIENCE))
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$end" ] || { "$@" || echo "not within $PATIENCE s: $*" && return 1; }
		sleep 0.2
	done
}

# --- the configuration -----------------------------------------------------------------------------------------------

# policy_shipped [SETTINGS]: the shipped policy; only its waits are cut short (settle 10 min, release_interval 1 min, recheck
# 5 min), and what SETTINGS (a line of `defaults`) says.
policy_shipped() {
	cat >"$GATE/policy.conf" <<-TEXT
	@include "$PWD/policy/protect-rebuild.conf"
	defaults = { settle = "3s"; release_interval = "1s"; recheck = "4s"; ${1:-} };
	TEXT
}

# policy_rules RULES: a policy of its own, with the same short waits.
policy_rules() {
	cat >"$GATE/policy.conf" <<-TEXT
	name = "rig";
	defaults = { settle = "3s"; release_interval = "1s"; recheck = "4s"; };
	rules = ( $1 );
	TEXT
}

# nas_entry [USER]: the configuration of the machine that is meant (rig_nas), under its name.
nas_entry() {
	cp "$(rig_key)" "$GATE/key" && chmod 600 "$GATE/key"
	[ -e "$GATE/known_hosts.$RIG_NAS" ] || rig_known_hosts "$GATE/known_hosts.$RIG_NAS"
	printf '{ name = "%s"; host = "127.0.0.1"; port = %s; user = "%s"; key_file = "%s"; known_hosts = "%s"; }' \
		"$RIG_NAS" "$(rig_port)" "${1:-watch}" "$GATE/key" "$GATE/known_hosts.$RIG_NAS"
}

# gate_conf NAS [SETTINGS]: NAS as nas_entry prints it; storage `nas` on all its arrays. NAS_STORAGE: what else its entry says. POLL: 1s
gate_conf() {
	cat >"$CONF" <<-TEXT
	node = "pve1"; socket = "$SOCK"; socket_group = "$(id -gn)"; override_group = "$(id -gn)";
	database = "$DB"; spill = "$DB-spill"; spill_size = "1 MiB"; policy = "$GATE/policy.conf";
	poll = "${POLL:-1s}"; idle_poll = "2s"; fresh = "500ms";
	nas = ( $1 );
	storages = ( { name = "nas"; nas = "${NAS_NAME:-$RIG_NAS}"; ${NAS_STORAGE:-} } );
	${2:-}
	TEXT
	hook_conf
}

# hook_conf [LINE...]: for all jobs; later lines replace what is set here.
hook_conf() {
	printf '%s\n' "gate = \"$SOCK\";" "hooks_dir = \"$GATE/hooks.d\";" "hooks_early_dir = \"$GATE/hooks-early.d\";" \
		"$@" >"$GATE/hook.conf"
}

# --- the daemon ------------------------------------------------------------------------------------------------------

gate_spawn() {
	"$BUILD/rebuildgated" --config "$CONF" </dev/null >>"$JOURNAL" 2>&1 &
	GATE_PID=$!
}

gate_answers() {
	[ "$(curl -s -o /dev/null -w '%{http_code}' -m 5 --unix-socket "$SOCK" http://gate/v1/version)" = 200 ]
}

gate_start() {
	gate_spawn
	must wait_until gate_answers_or_died
	must gate_answers
}

gate_answers_or_died() {
	gate_answers || ! kill -0 "$GATE_PID" 2>/dev/null
}

# gate_end SIGNAL: and waits for its end; GATE_STATUS is how it ended.
gate_end() {
	[ -n "$GATE_PID" ] || return 0
	kill "-$1" "$GATE_PID" 2>/dev/null
	wait "$GATE_PID" 2>/dev/null
	GATE_STATUS=$?
	GATE_PID=
}

# gate_new [SETTINGS]: a gate with a new record for the machine that is meant, under the policy that stands in policy.conf; it
# has seen its NAS when this returns.
gate_new() {
	gate_end TERM
	rm -rf "$GATE/db" "$JOURNAL"
	rm -f "$GATE"/*.task
	mkdir -p "$GATE/db" "$GATE/run" "$GATE/etc/pve" "$GATE/var/lib/pve-manager/jobs"
	[ -e "$GATE/policy.conf" ] || policy_shipped
	gate_conf "$(nas_entry)" "${1:-}"
	gate_start
	must wait_until sensor_is ok
}

# journal REGEX: whether the daemon has said so.
journal() {
	grep -Eq -- "$1" "$JOURNAL"
}

# --- what the gate says ----------------------------------------------------------------------------------------------

# api PATH: the answer to a GET.
api() {
	curl -s -m 30 --unix-socket "$SOCK" "http://gate$1"
}

# gate VERB...: the operator's command.
gate() {
	"$BUILD/rebuildgate" --socket "$SOCK" "$@"
}

# says PATH JQ: the answer to a GET, through jq -r.
says() {
	api "$1" | jq -r "$2"
}

# holds_true PATH JQ: the expression is true of the answer.
holds_true() {
	api "$1" | jq -e "$2" >/dev/null || { api "$1" | jq -c . | head -c 3000 && return 1; }
}

sensor_is() {
	holds_true /v1/nas ".nas[0].sensor == \"$1\""
}

# operation_is WORD [ARRAY]: what the gate takes the array to do.
operation_is() {
	holds_true /v1/nas ".nas[0].arrays[] | select(.name == \"${2:-md2}\") | .operation == \"$1\""
}

# looks: how many looks have ended.
looks() {
	api /metrics | awk '/^rebuildgate_nas_looks_total/ { n += $NF } END { print n + 0 }'
}

# look_goes_by [N]: until N more looks (2) have been taken.
look_goes_by() {
	local wanted=$(($(looks) + ${1:-2}))
	wait_until eval "[ \"\$(looks)\" -ge $wanted ]"
}

# record SQL: straight from the database.
record() {
	sqlite3 -readonly "$DB" "$1"
}

# recorded SQL: the query finds something.
recorded() {
	[ -n "$(record "$1")" ] || { echo "nothing found: $1" && record 'SELECT id, ticket, verdict, act, step, rule FROM decisions' && return 1; }
}

# proven: the record verifies, and every single thing that was decided is decided the same again.
proven() {
	local out
	gate log verify --database "$DB" || return 1
	out=$(gate replay --database "$DB") || { echo "$out" && return 1; }
	echo "$out"
	grep -Eq '^([0-9]+) decisions, \1 identical' <<<"$out"
}

# --- jobs ------------------------------------------------------------------------------------------------------------

# job NAME OPTION...: vzdump runs a job onto storage `nas`, in the background; options as tests/fakes/vzdump.pl.
job() {
	local name=$1
	shift
	rm -f "$GATE/$name.pid"
	: >"$GATE/$name.task"
	perl tests/fakes/vzdump.pl run --hook "$HOOK" --log "$GATE/$name.task" --pidfile "$GATE/$name.pid" --storage nas \
		--env "REBUILDGATE_HOOK_CONF=$GATE/hook.conf" --env "REBUILDGATE_HOOK_ROOT=$GATE" "$@" \
		</dev/null >"$GATE/$name.out" 2>&1 &
	JOB[$name]=$!
}

# job_said NAME REGEX: its task log has such a line, or comes to have it.
job_said() {
	wait_until grep -E -- "$2" "$GATE/$1.task" || { tail -n 20 "$GATE/$1.task" && return 1; }
}

# job_not_said NAME REGEX: it has not so far.
job_not_said() {
	! grep -E -- "$2" "$GATE/$1.task"
}

# job_lines NAME REGEX: how many such lines.
job_lines() {
	grep -cE -- "$2" "$GATE/$1.task"
}

job_worker() {
	wait_until test -s "$GATE/$1.pid" && cat "$GATE/$1.pid"
}

# job_wait NAME: until it ends; its exit status in ENDED[NAME]. Not in a subshell.
job_wait() {
	local pid=${JOB[$1]}
	wait_until eval "! kill -0 $pid" || job_kill "$1"
	wait "$pid" 2>/dev/null
	ENDED[$1]=$?
	unset "JOB[$1]"
}

# job_kill NAME: with all that it started.
job_kill() {
	local worker
	worker=$(cat "$GATE/$1.pid" 2>/dev/null)
	[ -z "$worker" ] || kill -KILL -- "-$worker" 2>/dev/null
	kill -KILL "${JOB[$1]}" 2>/dev/null
}

# ticket_of NAME: the ticket of its job, by the worker's process.
ticket_of() {
	says '/v1/tickets?all=1' "[.tickets[] | select(.upid | test(\"^UPID:[a-z0-9]*:$(printf %08X "$(job_worker "$1")"):\"))][-1].ticket"
}

# ticket_is NAME STATE: held, released, running, ended, ...
ticket_is() {
	holds_true '/v1/tickets?all=1' "[.tickets[] | select(.ticket == $(ticket_of "$1"))][-1].state == \"$2\""
}

# --- arrays ----------------------------------------------------------------------------------------------------------

# rig_clear: no arrays, empty disks, full speed: as after rig_start.
rig_clear() {
	rig_speed_limit 200000
	# shellcheck disable=SC2016 # expanded in the NAS
	rig_ssh 'for md in /sys/block/md*; do
			[ -e $md ] || continue
			echo idle >$md/md/sync_action 2>/dev/null
			for i in $(seq 50); do
				mdadm --quiet --stop /dev/${md##*/} 2>/dev/null
				[ -e $md ] || break
				sleep 0.1
			done
			[ ! -e $md ] || exit 1
		done
		for disk in /dev/vd[a-f]; do
			for part in $disk ${disk}[12]; do
				[ ! -b $part ] || mdadm --quiet --zero-superblock $part 2>/dev/null
			done
			dd if=/dev/zero of=$disk bs=1M count=2 conv=notrunc 2>/dev/null
			blockdev --rereadpt $disk 2>/dev/null
		done; true' </dev/null || rig_say "could not clear the arrays of $RIG_NAS" || return
	: >"$(rig_dir)/arrays"
}

# slow, fast: rebuilds take minutes; they end soon.
slow() {
	rig_speed_limit "${1:-400}"
}

fast() {
	rig_speed_limit 200000
}

# rig_rebuilding: a RAID 6 with a rebuild that goes on until fast.
rig_rebuilding() {
	rig_make_raid6 && slow && rig_fail_and_readd vdc
}
