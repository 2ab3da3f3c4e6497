# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What a rig test begins with: TAP and the rig, from the root of the repository, with a reason to skip where no machine
# can be started. usage: . tests/rig/tap.sh, then `ok NAME CMD...`, `is NAME GOT WANTED`, and at the end `tap_done`.
# shellcheck disable=SC1091 source=tests/rig/lib.sh
. tests/rig/lib.sh

TAP_N=0
TAP_FAILED=0

tap_result() { # STATUS NAME
	TAP_N=$((TAP_N + 1))
	if [ "$1" = 0 ]; then
		echo "ok $TAP_N - $2"
	else
		TAP_FAILED=$((TAP_FAILED + 1))
		echo "not ok $TAP_N - $2"
		! declare -F tap_context >/dev/null || tap_context
	fi
}

# ok NAME CMD...: CMD succeeds. What it prints is shown when it does not.
ok() {
	local name=$1 out status
	shift
	out=$("$@" 2>&1)
	status=$?
	tap_result "$status" "$name"
	[ "$status" = 0 ] || printf '%s\n' "exit status $status: $*" "$out" | sed 's/^/# /'
}

# is NAME GOT WANTED: the same text.
is() {
	if [ "$2" = "$3" ]; then
		tap_result 0 "$1"
	else
		tap_result 1 "$1"
		printf '%s\n' "got:    $2" "wanted: $3" | sed 's/^/# /'
	fi
}

# like NAME TEXT REGEX: a line of TEXT matches the extended REGEX.
like() {
	if grep -Eq -- "$3" <<<"$2"; then
		tap_result 0 "$1"
	else
		tap_result 1 "$1"
		printf '%s\n' "no match for $3 in:" "$2" | sed 's/^/# /'
	fi
}

# must CMD...: what the test cannot go on without.
must() {
	"$@" || { ! declare -F tap_context >/dev/null || tap_context; echo "Bail out! $*"; exit 1; }
}

tap_done() {
	echo "1..$TAP_N"
	[ "$TAP_FAILED" = 0 ]
}

if ! reason=$(rig_available); then
	echo "1..0 # SKIP $reason"
	exit 0
fi
must rig_build >&2
