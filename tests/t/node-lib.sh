# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# A node with one guest beside the real gate, on top of gate-lib.sh: the real hook and keeper, a fake QEMU.

FAKES=$(realpath tests/fakes)
NODE=$SCRATCH/node
TASK=$SCRATCH/task.log
QEMU=$SCRATCH/qemu
HOOK_ENV=("REBUILDGATE_HOOK_CONF=$NODE/hook.conf" "REBUILDGATE_HOOK_ROOT=$NODE")
mkdir -p "$NODE/run" "$NODE/etc/pve" "$NODE/var/lib/pve-manager/jobs" "$NODE/var/run/qemu-server" "$QEMU"

jobs_are() { # FIELD VALUE...
	local field=$1
	shift
	[ "$(jq -c "[.[].$field]" "$QEMU/jobs" 2>/dev/null)" = "[$(IFS=,; echo "$*")]" ]
}
lever_is() { # FILTER VALUE: of GET /v1/levers
	api GET /v1/levers
	[ "$(get "$1")" = "$2" ]
}
keeper_gone() { flock -n "$NODE/run/rebuildgate-hook/keepers/100.lock" true 2>/dev/null; }
# Guard and keeper of guest 100, those of this test only.
keepers() {
	perl -e 'for my $dir (glob("/proc/[0-9]*")) {
		open(my $fh, "<", "$dir/cmdline") or next;
		next if index(<$fh> // "", "\0--keeper\0" . "100\0") < 0;
		open($fh, "<", "$dir/environ") or next;
		print substr($dir, 6), "\n" if index(<$fh> // "", $ARGV[0]) >= 0;
	}' "$NODE"
}

# guest_start: guest 100, with one block job that runs and one to come, each with a speed of its own.
guest_start() {
	printf 'gate = "%s";\nhooks_dir = "";\nhooks_early_dir = "";\n' "$SOCK" >"$NODE/hook.conf"
	echo '{"jobs": [{"device": "drive-scsi0", "len": 400000000000, "speed": 9000000}, {"device": "drive-scsi1", "len": 1000000, "speed": 9000000}]}' \
		>"$QEMU/script"
	python3 "$FAKES/qmp.py" serve "$NODE/var/run/qemu-server/100.qmp" "$QEMU" >"$QEMU/out" 2>&1 </dev/null &
	STARTED+=("$!")
	wait_for 20 test -e "$QEMU/ready"
}

# backup_start: its backup, which copies until $SCRATCH/copied is there; its process in JOB.
backup_start() {
	: >"$TASK"
	perl "$FAKES/vzdump.pl" run --hook "$BUILD/rebuildgate-vzdump" --log "$TASK" --pidfile "$SCRATCH/pid" --storage backup \
		--copy "$SCRATCH/copied" --env "${HOOK_ENV[0]}" --env "${HOOK_ENV[1]}" --guest 100:qemu:snapshot:web &
	JOB=$!
	STARTED+=("$JOB")
	touch "$QEMU/begin"
}
