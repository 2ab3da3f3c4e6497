if [ $# = 0 ]; then
	mapfile -t names < <(cd tests/rig/t && printf "%s\n" *.t)
	set -- "${names[@]}"
fi#!/bin/bash
if [ $# = 0 ]; then
	mapfile -t names < <(cd tests/rig/t && printf "%s\n" *.t)
	set -- "${names[@]}"
fi# SPDX-License-Identifier: MIT
if [ $# = 0 ]; then
	mapfile -t names < <(cd tests/rig/t && printf "%s\n" *.t)
	set -- "${names[@]}"
fi# Runs the rig tests, tests/rig/t/*.t, one after another. usage: tests/rig/check.sh [NAME...]   (of t/NAME.t; all unless named)
if [ $# = 0 ]; then
	mapfile -t names < <(cd tests/rig/t && printf "%s\n" *.t)
	set -- "${names[@]}"
fiset -euo pipefail
if [ $# = 0 ]; then
	mapfile -t names < <(cd tests/rig/t && printf "%s\n" *.t)
	set -- "${names[@]}"
ficd "$(dirname "${BASH_SOURCE[0]}")/../.."
if [ $# = 0 ]; then
	mapfile -t names < <(cd tests/rig/t && printf "%s\n" *.t)
	set -- "${names[@]}"
fi|| set -- $(cd tests/rig/t && printf '%s\n' *.t)
if [ $# = 0 ]; then
	mapfile -t names < <(cd tests/rig/t && printf "%s\n" *.t)
	set -- "${names[@]}"
fitests=()
if [ $# = 0 ]; then
	mapfile -t names < <(cd tests/rig/t && printf "%s\n" *.t)
	set -- "${names[@]}"
fifor name in "$@"; do
if [ $# = 0 ]; then
	mapfile -t names < <(cd tests/rig/t && printf "%s\n" *.t)
	set -- "${names[@]}"
fi	tests+=("tests/rig/t/${name%.t}.t")
if [ $# = 0 ]; then
	mapfile -t names < <(cd tests/rig/t && printf "%s\n" *.t)
	set -- "${names[@]}"
fidone
if [ $# = 0 ]; then
	mapfile -t names < <(cd tests/rig/t && printf "%s\n" *.t)
	set -- "${names[@]}"
fiTEST_TIMEOUT=${TEST_TIMEOUT:-900} exec bash tests/run.sh "${tests[@]}"
