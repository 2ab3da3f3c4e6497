#!/bin/bash
# SPDX-License-Identifier: MIT
# What `make check` runs once everything is built: $1 the plain build, $2 the one with sanitizers.
# Closing line: N passed, N failed.
set -u
plain=$1 san=$2
COUNTS=$(mktemp); export COUNTS; trap 'rm -f "$COUNTS"' EXIT
section() { printf '\n== %s\n' "$1"; }
bad=0

section "lint"
lint=$(mktemp --suffix=.t); printf '#!/bin/bash\nexec bash tests/lint.sh %q\n' "$plain" >"$lint"; chmod +x "$lint"
ln -sf "$lint" "$plain/lint.t"; BUILD=$plain bash tests/run.sh "$plain/lint.t" || bad=1
rm -f "$lint" "$plain/lint.t"

section "unit tests, with AddressSanitizer and UndefinedBehaviorSanitizer"
BUILD=$san bash tests/run.sh -j 2 "$san"/unit/test_* || bad=1

section "fuzz corpora, replayed with sanitizers"
BUILD=$san bash tests/run.sh tests/fuzz/replay.t || bad=1

section "the real programs, with sanitizers"
mapfile -t scripts < <(printf '%s\n' tests/t/*.t tests/sim/*.t tests/golden/*.t tests/policy/*.t | grep -v '\*')
# They wait more than they compute.
BUILD=$san bash tests/run.sh -j 4 "${scripts[@]}" || bad=1

section "result"
grep -c . "$COUNTS" >/dev/null
awk '{p += $1; f += $2; s += $3} END {printf "%d passed, %d failed%s\n", p, f, s ? ", " s " skipped" : ""}' "$COUNTS"
exit $bad
