#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs the rig tests, tests/rig/t/*.t. usage: tests/rig/check.sh [NAME...]   (of t/NAME.t; all unless named)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
if [ $# = 0 ]; then
	mapfile -t names < <(cd tests/rig/t && printf '%s\n' *.t)
	set -- "${names[@]}"
fi
# Machines wait more than they compute: two at a time. But not where one measures what disks do.
both=() alone=()
for name in "$@"; do
	case ${name%.t} in
	disks) alone+=("tests/rig/t/${name%.t}.t") ;;
	throttle) both=("tests/rig/t/${name%.t}.t" "${both[@]}") ;; # the longest begins first
	*) both+=("tests/rig/t/${name%.t}.t") ;;
	esac
done
COUNTS=$(mktemp)
export COUNTS TEST_TIMEOUT=${TEST_TIMEOUT:-900}
trap 'rm -f "$COUNTS"' EXIT
bad=0
reason=$(bash -c '. tests/rig/lib.sh; rig_available') && bash tests/rig/build.sh "${RIG_CACHE:-build/rig}" >/dev/null || echo "no machine can be started: $reason"
[ ${#both[@]} = 0 ] || bash tests/run.sh -j "${RIG_JOBS:-2}" "${both[@]}" || bad=1
[ ${#alone[@]} = 0 ] || bash tests/run.sh "${alone[@]}" || bad=1
awk '{p += $1; f += $2; s += $3} END {printf "%d passed, %d failed%s\n", p, f, s ? ", " s " skipped" : ""}' "$COUNTS"
exit $bad
