# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What the keeper's tests share, on top of hooklib.sh: fake QEMUs, the journal, the gate's word on the path.

# shellcheck source=tests/fakes/hooklib.sh
. tests/fakes/hooklib.sh

QEMU=$SCRATCH/qemu
JOURNAL=$SCRATCH/journal
QEMU_PIDS=()
JOURNAL_PID=

keeper_cleanup() {
	local pid
	for pid in "${QEMU_PIDS[@]}" $JOURNAL_PID; do
		kill -KILL "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	done
	QEMU_PIDS=()
	JOURNAL_PID=
	for pid in $(keepers 100) $(keepers 101); do
		kill -KILL "$pid" 2>/dev/null
	done
}
trap 'keeper_cleanup; cleanup' EXIT

# What is as on a new node, with a gate that lets each job go.
fresh_node() {
	keeper_cleanup
	fresh
	rm -rf "$QEMU" "$SCRATCH"/copied.*
	mkdir -p "$NODE/dev" "$NODE/var/run/qemu-server" "$QEMU"
	: >"$JOURNAL"
	socat -u "UNIX-RECV:$NODE/dev/log" "OPEN:$JOURNAL,append" 2>/dev/null &
	JOURNAL_PID=$!
	wait_for 20 test -S "$NODE/dev/log"
	gate_start "$(answer allow)"
}

# qemu_start VMID SCRIPT: a guest, see qmp.py.
qemu_start() {
	local dir=$QEMU/$1
	mkdir -p "$dir"
	rm -f "$dir/ready"
	printf '%s\n' "$2" >"$dir/script"
	python3 "$FAKES/qmp.py" serve "$NODE/var/run/qemu-server/$1.qmp" "$dir" >"$dir/out" 2>&1 </dev/null &
	QEMU_PIDS+=($!)
	wait_for 20 test -e "$dir/ready" || echo "Bail out! the fake QEMU does not start: $(cat "$dir/out")"
}
qemu_begin() { touch "$QEMU/$1/begin"; }
qemu_end() { touch "$QEMU/$1/end"; }

# jobs_are VMID FIELD VALUE...: of each job in their order, as QEMU has them.
jobs_are() {
	local vmid=$1 field=$2
	shift 2
	[ "$(jq -c "[.[].$field]" "$QEMU/$vmid/jobs")" = "[$(IFS=,; echo "$*")]" ]
}
offset() { jq ".[0].offset" "$QEMU/$1/jobs"; }
moves_on() { [ "$(offset "$1")" -gt "$2" ]; }
# commands VMID NAME: how many QEMU was sent.
commands() { cat "$QEMU/$1/log" 2>/dev/null | grep -c "\"command\": \"$2\""; }
sent() { [ "$(commands "$1" "$2")" -ge 1 ]; }
not_sent() { [ "$(commands "$1" "$2")" -eq 0 ]; }

# keep PATH [RATE] [MAX_PAUSE_MS] [AGAIN_MS]: what the gate says from now on.
keep() {
	keep_line "{\"answer\": {\"path\": \"$1\", \"rate\": ${2:-0}, \"again_ms\": ${4:-500}, \"max_pause_ms\": ${3:-15000}, \"reason\": \"md2 keeps 80 %\"}}"
}
keep_line() {
	printf '%s\n' "$1" >"$GATE/keep.new"
	mv "$GATE/keep.new" "$GATE/keep"
}
told() { called /v1/keep "$1"; }

# The processes of a guest's keeper: guard and keeper, those of this test only.
keepers() {
	perl -e 'for my $dir (glob("/proc/[0-9]*")) {
		open(my $fh, "<", "$dir/cmdline") or next;
		next if index(<$fh> // "", "\0--keeper\0" . $ARGV[0] . "\0") < 0;
		open($fh, "<", "$dir/environ") or next;
		print substr($dir, 6), "\n" if index(<$fh> // "", $ARGV[1]) >= 0;
	}' "$1" "$NODE"
}
has_keeper() { [ "$(keepers "$1" | wc -l)" -eq 2 ]; }
no_keeper() { [ -z "$(keepers "$1")" ]; }
guard_of() { sed -n '1s/ .*//p' "$NODE/run/rebuildgate-hook/keepers/$1.lock"; }
keeper_of() { keepers "$1" | grep -vx "$(guard_of "$1")"; }
has_note() { [ -e "$NODE/run/rebuildgate-hook/keepers/$1" ]; }
no_note() { ! has_note "$1"; }
# Within a moment: it is another process that writes it.
journal() { wait_for 10 grep -qaE -- "$1" "$JOURNAL"; }
asked() { [ "$(calls /v1/keep | wc -l)" -ge "$1" ]; }

# backup [GUEST...]: a job whose data copies last until copied VMID.
backup() {
	job --storage nas --copy "$SCRATCH/copied.VMID" "$@"
}
copied() { touch "$SCRATCH/copied.$1"; }
