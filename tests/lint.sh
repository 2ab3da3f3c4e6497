#!/bin/bash
# SPDX-License-Identifier: MIT
# The style that a machine can check; TAP. usage: tests/lint.sh BUILD   (BUILD holds the compiled objects, for the purity wall)
set -u
b=${1:-build}
n=0
result() { # result STATUS NAME [OUTPUT]
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; printf '%s\n' "${3-}" | head -40 | sed 's/^/# /'; fi
}
mapfile -t c < <(git ls-files '*.c' '*.h')
mapfile -t own < <(git ls-files 'src/*.c' 'src/*.h' 'hooks/*.c' 'hooks/*.h')
mapfile -t sh < <(git ls-files '*.sh' '*.t' '.ci/run' 'packaging/scripts/*' 'hooks/nas-levers' | while read -r f; do head -1 "$f" | grep -qE '^#!.*\b(ba)?sh' && echo "$f"; done)

format=$(command -v clang-format-14 || command -v clang-format)
if "$format" --version 2>/dev/null | grep -q 'version 14\.'; then
	out=$("$format" --dry-run --Werror "${c[@]}" 2>&1); result $? "sources are formatted (.clang-format)" "$out"
else
	n=$((n + 1)); echo "ok $n - sources are formatted # SKIP needs clang-format 14, other versions differ in detail"
fi
out=$(shellcheck -x -S warning "${sh[@]}" 2>&1); result $? "shellcheck finds nothing" "$out"
out=$(cppcheck -q --std=c11 --language=c --error-exitcode=1 --enable=warning,performance,portability --inline-suppr \
	--suppress=missingIncludeSystem --suppress=normalCheckLevelMaxBranches --suppress=unknownMacro --suppress=legacyUninitvar --suppress=ctuuninitvar --suppress=ctunullpointer -Isrc src hooks 2>&1)
result $? "cppcheck finds nothing" "$out"
out=$(grep -nE '\b(atoi|atol|atoll|strtol|strtoul|strtoll|strtoull|strtok|strtok_r|sprintf|vsprintf|strcpy|strcat|gets|alloca|system|popen)\(' "${own[@]}")
[ -z "$out" ]; result $? "no function that the project does without" "$out"
out=$(grep -nE 'TODO|FIXME|XXX|not implemented' "${own[@]}")
[ -z "$out" ]; result $? "nothing unfinished by its own words" "$out"
out=$(for f in "${c[@]}"; do head -1 "$f" | grep -q '^// SPDX-License-Identifier: MIT$' || echo "$f"; done)
[ -z "$out" ]; result $? "every source begins with its licence" "$out"
out=$(wc -l "${own[@]}" | awk '$2 != "total" && $1 > 700 {print}')
[ -z "$out" ]; result $? "no file is longer than 700 lines" "$out"
out=$(git ls-files | grep -vE '^(src|policy|hooks|tests|packaging)/|^(Makefile|README\.md|LICENSE|\.[^/]*(/.*)?)$')
[ -z "$out" ]; result $? "nothing outside the top level's folders" "$out"
out=$(bash tests/purity.sh "$b" 2>&1); result $? "src/md and src/core are pure, imports go one way" "$out"
echo "1..$n"
