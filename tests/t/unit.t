#!/bin/bash
# SPDX-License-Identifier: MIT
# The unit of systemd: what it runs is what the program takes, and what a gate that died had moved is put back, in the time that it has.

set -u
UNIT=packaging/systemd/rebuildgate.service
BUILD=$(realpath "${BUILD:-build}")
SCRATCH=$(mktemp -d)
trap 'rm -rf "$SCRATCH"' EXIT
TEST=0
ok() { # NAME COMMAND...
	local name=$1
	shift
	TEST=$((TEST + 1))
	if "$@" >"$SCRATCH/out" 2>&1; then
		echo "ok $TEST - $name"
	else
		echo "not ok $TEST - $name"
		sed 's/^/# /' "$SCRATCH/out"
	fi
}

setting() { sed -n "s/^$1=//p" "$UNIT"; }
same() { [ "$1" = "$2" ] || { echo "'$1' is not '$2'"; return 1; }; }
# seconds FILE NAME: what a source defines as (N * MS_SECOND).
seconds() { sed -nE "s/^#define $2 \(([0-9]+) \* MS_SECOND\).*/\1/p" "$1"; }
longer() { # A B in seconds
	[[ $1 =~ ^[0-9]+$ && $2 =~ ^[0-9]+$ ]] || { echo "'$1' or '$2' is not in seconds"; return 1; }
	[ "$1" -gt "$2" ] || { echo "$1 s is not longer than $2 s"; return 1; }
}

START=$(setting ExecStart)
ok 'it starts the daemon with a configuration' same "${START% --config /*}" /usr/sbin/rebuildgated
ok 'what a gate that died had moved is put back, by the same configuration' same "$(setting ExecStopPost)" \
	"${START/rebuildgated /rebuildgated --put-back }"
ok 'which is the one that a reload checks' same "$(setting ExecReload | head -1)" "${START/rebuildgated /rebuildgated --check }"
ok 'there is time enough for it' longer "$(setting TimeoutStopSec | sed 's/s$//')" "$(seconds src/gate/put_back.c WHOLE_MS)"

if command -v systemd-analyze >/dev/null; then
	# A copy that runs the program where it is.
	sed "s#/usr/sbin/rebuildgated#$BUILD/rebuildgated#" "$UNIT" >"$SCRATCH/rebuildgate.service"
	cp "${UNIT%.service}.socket" "$SCRATCH"
	verified() {
		systemd-analyze verify --man=no "$SCRATCH/rebuildgate.service" "$SCRATCH/rebuildgate.socket" >"$SCRATCH/said" 2>&1
		! grep -F "rebuildgate." "$SCRATCH/said" # not what it says of other units
	}
	ok 'systemd takes it' verified
	BACK=$(dirname "$UNIT")/rebuildgate-put-back
	sed "s#/usr/libexec/rebuildgate/#$BUILD/#" "$BACK.service" >"$SCRATCH/rebuildgate-put-back.service"
	cp "$BACK.timer" "$SCRATCH"
	back_verified() {
		systemd-analyze verify --man=no "$SCRATCH/rebuildgate-put-back.service" "$SCRATCH/rebuildgate-put-back.timer" >"$SCRATCH/said" 2>&1
		! grep -F "rebuildgate-put-back." "$SCRATCH/said"
	}
	ok 'and the one that frees guests of killed keepers, with its timer' back_verified
else
	TEST=$((TEST + 2))
	echo "ok $((TEST - 1)) - systemd takes it # SKIP needs systemd-analyze"
	echo "ok $TEST - and the one that frees guests of killed keepers, with its timer # SKIP needs systemd-analyze"
fi
echo "1..$TEST"
