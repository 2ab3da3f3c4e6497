#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs the rig tests, tests/rig/t/*.t, one after another. usage: tests/rig/check.sh [NAME...]   (of t/NAME.t; all unless named)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
if [ $# = 0 ]; then
	mapfile -t names < <(cd tests/rig/t && printf '%s\n' *.t)
	set -- "${names[@]}"
fi
tests=()
for name in "$@"; do
	tests+=("tests/rig/t/${name%.t}.t")
done
TEST_TIMEOUT=${TEST_TIMEOUT:-900} exec bash tests/run.sh "${tests[@]}"
