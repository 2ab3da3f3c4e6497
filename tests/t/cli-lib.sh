# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What the tests of the operator's command share: the real daemon of gate-lib.sh, asked by the real command.

# shellcheck source=tests/t/gate-lib.sh
. tests/t/gate-lib.sh

RG=$BUILD/rebuildgate
ERR=$SCRATCH/err
export REBUILDGATE_SOCKET=$SOCK
unset PROXMOX_OUTPUT_FORMAT PROXMOX_OUTPUT_NO_HEADER PROXMOX_OUTPUT_NO_BORDER
command -v jq >/dev/null || skip_all 'needs jq'

# rg ARGS...: stdout is in $OUT, stderr in $ERR, the exit status in $CODE.
rg() {
	timeout 60 "$RG" "$@" >"$OUT" 2>"$ERR" </dev/null
	CODE=$?
}

# rg_as UID GROUPS ARGS...: as somebody else; no groups: "". The build may lie in a folder of root alone: a copy is run.
rg_as() {
	local uid=$1 groups=(--clear-groups)
	[ -e "$SCRATCH/rebuildgate" ] || cp "$RG" "$SCRATCH/rebuildgate"
	[ -n "$2" ] && groups=(--groups "$2")
	shift 2
	setpriv --reuid "$uid" --regid "$uid" "${groups[@]}" timeout 60 "$SCRATCH/rebuildgate" "$@" >"$OUT" 2>"$ERR" </dev/null
	CODE=$?
}

exits() {
	[ "$CODE" = "$1" ] || { echo "# exit status $CODE, not $1"; sed 's/^/# stderr: /' "$ERR"; return 1; }
}

says() {
	grep -qE -- "$1" "$OUT" || { echo "# no line '$1'"; return 1; }
}

says_not() {
	! says "$1" >/dev/null
}

# One sentence on stderr, nothing on stdout: "rebuildgate VERB: ...".
wrong() {
	[ "$(wc -l <"$ERR")" = 1 ] && [ ! -s "$OUT" ] && grep -qE -- "^rebuildgate [a-z -]*: .*$1" "$ERR" && return 0
	sed 's/^/# stderr: /' "$ERR"
	return 1
}

# mistake PATTERN ARGS...: a user's mistake: exit status 2 and one sentence.
mistake() {
	local pattern=$1
	shift
	rg "$@"
	exits 2 && wrong "$pattern"
}

# j FILTER VALUE: jq over $OUT.
j() {
	local v
	v=$(jq -r "$1" "$OUT" 2>&1)
	[ "$v" = "$2" ] || { echo "# jq '$1' is '$v', not '$2'"; return 1; }
}

json() {
	jq -e . "$OUT" >/dev/null 2>&1
}

# nas_moving KIB: a recovery that has done so much.
nas_moving() {
	nas_write <<-TEXT
	Personalities : [raid6] [raid5] [raid4] 
	md2 : active raid6 sdf1[5] sdd1[3] sdc1[2] sdb1[1] sda1[0]
	      5855836608 blocks super 1.2 level 6, 64k chunk, algorithm 2 [5/4] [UUUU_]
	      [========>............]  recovery = 40.0% ($1/1951945536) finish=2171.0min speed=9000K/sec
	      
	unused devices: <none>
	TEXT
}

# Keeps the recovery moving at 40,000 KiB each second, in the background.
nas_keeps_moving() {
	(
		kib=780000000
		while :; do
			nas_moving $((kib += 20000))
			sleep 0.5
		done
	) &
	MOVER=$!
	STARTED+=("$MOVER")
}

nas_stops_moving() {
	kill "$MOVER" 2>/dev/null
	wait "$MOVER" 2>/dev/null
}
