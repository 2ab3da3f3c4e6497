#!/bin/bash
# SPDX-License-Identifier: MIT
# A disk that is really full: a small tmpfs of its own. What cannot be recorded is spilled, and is in the record, in
# order, once there is room again.
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
if [ -z "${STORE_FULL_DIR-}" ]; then
	DIR=$(mktemp -d)
	trap 'rmdir "$DIR"' EXIT
	if ! unshare -m mount -t tmpfs -o size=6m none "$DIR" 2>/dev/null; then
		echo "1..0 # SKIP needs the right to mount a tmpfs (root)"
		exit 0
	fi
	# The mount is in a namespace of its own and goes with it.
	STORE_FULL_DIR=$DIR BUILD=$BUILD unshare -m "$0"
	exit $?
fi

mount -t tmpfs -o size=6m none "$STORE_FULL_DIR" || exit 1
cd "$(dirname "$0")/../.." || exit 1
DB=$STORE_FULL_DIR/record.db
BALLAST=$STORE_FULL_DIR/ballast
FAILED=0
report() { # STATUS NAME
	if [ "$1" = 0 ]; then
		echo "ok $2"
	else
		echo "not ok $2"
		sed 's/^/# /' "$STORE_FULL_DIR/out" 2>/dev/null
		FAILED=1
	fi
}

echo "1..3"
dd if=/dev/zero of="$BALLAST" bs=1M count=3 2>/dev/null
last=$("$WRITER" full "$DB" "$BALLAST" policy/protect-rebuild.conf 2>&1)
status=$?
echo "$last" >"$STORE_FULL_DIR/out"
report $status "1 - batches go to the spill while the disk is full, and to the database after that"
"$COMMAND" log verify --database "$DB" >"$STORE_FULL_DIR/out" 2>&1
report $? "2 - the chain verifies ($(head -n 1 "$STORE_FULL_DIR/out"))"
grep -q "^intact: $((last - 1)) decisions" "$STORE_FULL_DIR/out" && ! grep -q 'ids were given' "$STORE_FULL_DIR/out"
report $? "3 - every decision is there, under the id that was answered"
exit $FAILED
