#!/bin/bash
# SPDX-License-Identifier: MIT
# The small parent and whatever becomes of the real hook: only an announced failure is one.

# shellcheck source=tests/fakes/hooklib.sh
. tests/fakes/hooklib.sh

real=$HOOK
mkdir "$SCRATCH/bin"
cp "$real" "$SCRATCH/bin/"
HOOK=$SCRATCH/bin/rebuildgate-vzdump
inner=$SCRATCH/bin/rebuildgate-vzdump-inner
OTHERS=('pre-stop stop 101' 'pre-restart stop 101' 'post-restart stop 101' 'backup-end stop 101'
	'backup-abort stop 101' 'log-end stop 101' job-end job-abort)

# fake LINES: an inner hook that does so.
fake() {
	rm -f "$inner"
	printf '#!/bin/bash\n%s\n' "$1" >"$inner"
	chmod +x "$inner"
}

# broken NAME PATTERN: allow goes on loudly, deny fails the three phases, no other phase ever fails.
broken() {
	local phase bad=
	fresh
	STOREID=nas call job-init
	ok "$1: allow goes on" status_is 0
	ok "$1: with one loud line" log_count "^rebuildgate: WARNING: .*$2.* in job-init: this backup goes on UNGATED" 1
	conf 'if_gate_down = "deny";'
	for phase in job-init job-start 'backup-start stop 101'; do
		# shellcheck disable=SC2086
		STOREID=nas call $phase
		[ "$STATUS" -eq 1 ] || bad="$bad $phase=$STATUS"
	done
	ok "$1: deny fails the three phases${bad}" test -z "$bad"
	ok "$1: and says why" logged "^rebuildgate: FAILED: .*$2"
	for phase in "${OTHERS[@]}"; do
		# shellcheck disable=SC2086
		STOREID=nas call $phase
		[ "$STATUS" -eq 0 ] || bad="$bad $phase=$STATUS"
	done
	ok "$1: no other phase fails${bad}" test -z "$bad"
}

rm -f "$inner"
broken 'missing' 'cannot be started'

echo 'no program' >"$inner"
chmod +x "$inner"
broken 'not a program' 'cannot be started'

rm -f "$inner"
cp "$BUILD/rebuildgate-vzdump-inner" "$inner"
chmod -x "$inner"
broken 'not executable' 'cannot be started'

fake 'kill -SEGV $$'
broken 'crashed' 'was ended by signal 11'

fake 'kill -KILL $$'
broken 'killed' 'was ended by signal 9'

fake 'exit 42'
broken 'an unknown status' 'ended with exit status 42'

fake 'exit 1'
broken 'a failure that was not announced' 'ended with exit status 1'

fake 'printf "fail 3\n" >&3; exit 4'
broken 'another failure than was announced' 'ended with exit status 4'

fake 'printf "fail 1\n" >&3; kill -SEGV $$'
broken 'a crash after the announcement' 'was ended by signal 11'

# A library that is missing: the loader's own exit status 127.
if command -v patchelf >/dev/null; then
	rm -f "$inner"
	cp "$BUILD/rebuildgate-vzdump-inner" "$inner"
	patchelf --add-needed librg-not-there.so.9 "$inner"
else
	# The same from the real loader, by a name of the same length in the table of names.
	perl -0pe 's/libjansson\.so\.4/libjanssox.so.4/' "$BUILD/rebuildgate-vzdump-inner" >"$inner"
	chmod +x "$inner"
fi
broken 'a missing library' 'does not start .exit status 127'

fake 'printf "fail 7\n" >&3; exit 7'
fresh
STOREID=nas call backup-end stop 101
ok 'an announced failure is passed on, in every phase' status_is 7

fake 'exit 0'
STOREID=nas call job-init
ok 'success is success' status_is 0

# What the inner hook gets: arguments, environment, stdin, nothing else.
fake 'printf "%s|" "$@"; echo; env | sort | grep -v "^_=\|^PWD=\|^SHLVL="; cat; ls /proc/$$/fd | tr "\n" " "; echo; head -1 <&3'
fresh
: >"$LOG"
env -i LC_ALL=C STOREID='a b' HOSTNAME='x;y' "$HOOK" backup-start stop '10 1' >>"$LOG" 2>&1 </dev/null
ok 'the arguments are the same' logged '^backup-start\|stop\|10 1\|$'
ok 'the environment is the same' test "$(sed -n '2,4p' "$LOG" | tr '\n' ,)" = 'HOSTNAME=x;y,LC_ALL=C,STOREID=a b,'
ok 'the parent is told' logged "^rebuildgate-hook 1 $$ [1-9][0-9]*\$"

# The outer hook outlives what does not listen, but not for long.
ms() { echo $(($(date +%s%N) / 1000000)); }
fake 'trap "" TERM; touch "$MARK"; while :; do read -r -t 10 <> <(:); done'
fresh
env -i MARK="$SCRATCH/mark" PATH=/usr/bin:/bin "$HOOK" job-init >"$LOG" 2>&1 </dev/null &
hook=$!
wait_for 20 test -e "$SCRATCH/mark"
child=$(cat "/proc/$hook/task/$hook/children")
start=$(ms)
kill -TERM "$hook"
wait "$hook"
STATUS=$?
took=$(($(ms) - start))
ok 'a hook that does not end is left' status_is 1
ok "within a second ($took ms)" test "$took" -lt 3000
gone() { ! grep -q '^State:[[:space:]][^Z]' "/proc/$1/status" 2>/dev/null; }
ok 'and killed' wait_for 10 gone "${child%% *}"
rm -f "$SCRATCH/mark"

# Configuration that only libconfig would understand.
rm -f "$inner"
conf 'if_gate_down = "de" "ny";'
STOREID=nas call job-init
ok 'a setting that is not understood is said' logged 'WARNING: if_gate_down in .* is not understood, taken as allow'
ok 'and is allow' status_is 0

if ldd "$real" | grep -qE 'libasan|libclang_rt'; then
	skip 'the parent needs libc only' 'built with a sanitizer'
else
	libs=$(ldd "$real" | grep -cvE 'linux-vdso|libc\.so|ld-linux')
	ok 'the parent needs libc only' test "$libs" -eq 0
fi

done_testing
