#!/bin/bash
# SPDX-License-Identifier: MIT
# The probe against a real sshd on loopback that plays each way in which a NAS can fail. Nothing here rests on how long
# something takes, but every look must end within its deadline and a generous slack.
set -u

BUILD=${BUILD:-build}
PROBE=$BUILD/tools/probe-once
MUTE=$BUILD/tools/mute
# shellcheck source=tests/fakes/sshdlib.sh
. tests/fakes/sshdlib.sh
lacks=$(sshd_lacks)
[ -z "$lacks" ] || { echo "1..0 # SKIP $lacks"; exit 0; }

if [ ! -x "$PROBE" ] || [ ! -x "$MUTE" ] || [ ! -x "$BUILD/rebuildgate" ]; then
	echo "Bail out! no $PROBE, $MUTE or $BUILD/rebuildgate: make all tools"
	exit 1
fi

DEADLINE=2000
SLACK=2500
DIR=$(mktemp -d)
ME=$(id -un)
PIDS=()
N=0
FAILED=0

# What forced commands leave hanging wrote its pid down.
cleanup() {
	local pid
	sshd_stop
	for pid in "${PIDS[@]}" $(cat "$DIR/hanging" 2>/dev/null); do
		kill -KILL "$pid" 2>/dev/null
	done
	rm -rf "$DIR"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

ok() { # ok|bad NAME [DETAIL]
	N=$((N + 1))
	if [ "$1" = ok ]; then
		echo "ok $N - $2"
	else
		echo "not ok $N - $2"
		printf '%s\n' "${3:-}" | sed 's/^/# /'
		FAILED=$((FAILED + 1))
	fi
}

# fits NAME PATTERN LINE: the line matches (an extended regular expression) and the look ended in time.
fits() {
	local ms
	ms=$(printf '%s\n' "$3" | cut -d' ' -f5)
	if printf '%s\n' "$3" | grep -Eq "$2" && [ "${ms:-999999}" -le $((DEADLINE + SLACK)) ]; then
		ok ok "$1"
	else
		ok bad "$1" "wanted: $2
got: $3"
	fi
}

is() { # is NAME WANTED GOT
	if [ "$2" = "$3" ]; then
		ok ok "$1"
	else
		ok bad "$1" "wanted: $2
got: $3"
	fi
}

look() { # look KEY [NAME=VALUE...]
	local key=$1
	shift
	"$PROBE" host=127.0.0.1 port="$SSHD_PORT" user="$ME" key="$DIR/key-$key" \
		known_hosts="$DIR/known_hosts" deadline=$DEADLINE raw="$DIR/raw" "$@" </dev/null
	[ $? -ne 3 ] || echo "look $key $*" >>"$DIR/ended-badly"
}

# Looks one by one, in $LINE, while other things happen in between.
steps_begin() { # KEY [NAME=VALUE...]
	local key=$1
	shift
	coproc STEPS { exec "$PROBE" host=127.0.0.1 port="$SSHD_PORT" user="$ME" key="$DIR/key-$key" \
		known_hosts="$DIR/known_hosts" deadline=$DEADLINE looks=1000 steps=yes "$@"; }
	PIDS+=("$STEPS_PID")
}

step() {
	LINE=
	echo >&"${STEPS[1]}"
	read -r -t 30 LINE <&"${STEPS[0]}"
}

steps_end() {
	local pid=$STEPS_PID
	eval "exec ${STEPS[1]}>&-"
	wait "$pid" 2>/dev/null
	[ $? -ne 3 ] || echo "steps" >>"$DIR/ended-badly"
}

mute() { # mute HOW: $MUTE_PORT
	coproc MUTED { exec "$MUTE" "$1"; }
	PIDS+=("$MUTED_PID")
	read -r -t 30 MUTE_PORT <&"${MUTED[0]}"
}

mute_end() {
	local pid=$MUTED_PID
	eval "exec ${MUTED[1]}>&-"
	wait "$pid" 2>/dev/null
}

make_nas() {
	mkdir -p "$DIR/root/proc" "$DIR/root/sys/block/md2/md" "$DIR/root/sys/block/md127/md"
	cat >"$DIR/root/proc/mdstat" <<-'MDSTAT'
		Personalities : [raid1] [raid6] [raid5] [raid4]
		md2 : active raid6 sdd3[4] sdc3[2] sdb3[1] sda3[0]
		      204800 blocks super 1.2 level 6, 512k chunk, algorithm 2 [4/3] [UUU_]
		      [==>..................]  recovery = 12.5% (12800/102400) finish=1.2min speed=1200K/sec

		md127 : active raid1 sdb1[1] sda1[0]
		      2048 blocks super 1.2 [2/2] [UU]

		unused devices: <none>
	MDSTAT
	echo "   9       2 md2 10 0 80 0 20 0 160 0 0 0 0" >"$DIR/root/proc/diskstats"
	echo "0.42 0.10 0.05 1/100 1234" >"$DIR/root/proc/loadavg"
	echo recover >"$DIR/root/sys/block/md2/md/sync_action"
	echo 1 >"$DIR/root/sys/block/md2/md/degraded"
	echo "1000 (system)" >"$DIR/root/sys/block/md2/md/sync_speed_min"
	echo "200000 (system)" >"$DIR/root/sys/block/md2/md/sync_speed_max"
	echo idle >"$DIR/root/sys/block/md127/md/sync_action"
}

make_keys() {
	local mdstat=$DIR/root/proc/mdstat
	sshd_key mdstat "cat $mdstat"
	# Runs what it is asked to, on our own files.
	# shellcheck disable=SC2016 # for the remote shell
	sshd_key standard 'eval "$(printf "%s\n" "$SSH_ORIGINAL_COMMAND" | sed "s#/proc/#'"$DIR"'/root/proc/#g;s#/sys/#'"$DIR"'/root/sys/#g")"'
	sshd_key free ""
	sshd_key silent "echo \$\$ >>$DIR/hanging; exec sleep 600"
	sshd_key drip "echo \$\$ >>$DIR/hanging; while printf m; do sleep 0.3; done"
	sshd_key hang "echo \$\$ >>$DIR/hanging; cat $mdstat; echo '#rg diskstats'; exec sleep 600"
	sshd_key cut "echo \$\$ >>$DIR/hanging; cat $mdstat; exec sleep 600"
	sshd_key flood "head -c 307200 /dev/zero | tr '\\0' x"
	sshd_key brim "head -c 262144 /dev/zero | tr '\\0' x"
	sshd_key status "echo 'mdstat: no such thing' >&2; echo more >&2; echo out; exit 3"
	sshd_key late "cat $mdstat; echo '#rg diskstats'; exit 3"
	sshd_key killed "kill -KILL \$\$"
	ssh-keygen -q -t ed25519 -N '' -f "$DIR/key-stranger"
	ssh-keygen -q -t ed25519 -N 'a passphrase' -f "$DIR/key-locked"
	ssh-keygen -q -t rsa -b 2048 -N '' -m PEM -f "$DIR/key-rsa"
	cat "$DIR/key-rsa.pub" >>"$DIR/authorized_keys"
	cp "$DIR/key-mdstat" "$DIR/key-open"
	chmod 0644 "$DIR/key-open"
	ln -s key-mdstat "$DIR/key-link"
	echo nonsense >"$DIR/key-broken"
	chmod 0600 "$DIR/key-broken"
}

# Where localhost is ::1 first, sshd is found at the second address only.
test_addresses() {
	if ! getent hosts localhost >/dev/null; then
		ok ok "each address of a name is tried # SKIP localhost has no address here"
		return
	fi
	sshd_known localhost host >"$DIR/localhost"
	fits "each address of a name is tried" '^ok login whole [1-9]' \
		"$(look mdstat host=LOCALHOST known_hosts="$DIR/localhost")"
}

test_good() {
	local before
	fits "a forced 'cat /proc/mdstat' is read" '^ok login whole [1-9]' "$(look mdstat)"
	is "its bytes are those of the file" "" "$(cmp "$DIR/raw" "$DIR/root/proc/mdstat" 2>&1)"
	fits "the standard look is sent and run" '^ok login whole [1-9]' "$(look standard)"
	cp "$DIR/raw" "$DIR/raw-ssh"
	is "it ends with its last marker" "#rg end" "$(tail -n 1 "$DIR/raw")"
	fits "a local look is read" '^ok held whole [1-9]' \
		"$("$PROBE" via=local root="$DIR/root" deadline=$DEADLINE raw="$DIR/raw" </dev/null)"
	is "and prints what the standard look prints" "" "$(diff "$DIR/raw-ssh" "$DIR/raw" 2>&1)"
	fits "a command of one's own is run" '^ok login whole 6 ' "$(look free 'command=echo hello')"
	fits "an RSA key in PEM form logs in" '^ok login whole 6 ' "$(look rsa 'command=echo hello')"
	test_addresses
	fits "256 KiB are read whole" '^ok login whole 262144 ' "$(look brim)"
	before=$(sshd_logins)
	is "30 looks" 30 "$(look mdstat looks=30 | grep -Ec '^ok (login|held) whole [1-9]')"
	is "are one login" $((before + 1)) "$(sshd_logins)"
}

test_unreachable() {
	local label=nas
	while [ ${#label} -lt 70 ]; do label=$label-nas; done
	# A label of more than 63 bytes: no query can be made of it. A broadcast address: no connection can be.
	fits "a name that cannot be resolved" "^unreachable .* '$label' cannot be resolved: " \
		"$(look mdstat host="$label")"
	fits "an address without a way to it" '^unreachable .*255.255.255.255 cannot be reached' \
		"$(look mdstat host=255.255.255.255)"
	mute full
	fits "a connection that is never answered" '^unreachable .* does not answer on port' \
		"$(look mdstat port="$MUTE_PORT")"
	mute_end
	fits "a closed port" '^refused .* refuses connections to port' \
		"$(look mdstat port="$MUTE_PORT")"
	mute close
	fits "a server that hangs up at once" '^refused .* broke the SSH handshake off: .' \
		"$(look mdstat port="$MUTE_PORT")"
	mute_end
}

test_silent() {
	mute accept
	fits "a server that accepts and says nothing" '^silent .* says nothing$' \
		"$(look mdstat port="$MUTE_PORT")"
	mute_end
	mute banner
	fits "a server that stops after its banner" '^silent .* in the middle of the SSH handshake$' \
		"$(look mdstat port="$MUTE_PORT")"
	mute_end
	fits "a command that prints nothing" '^silent login whole 0 .* printed nothing in time$' \
		"$(look silent)"
	fits "a command that drips" '^dripping login whole [1-9][0-9]* .* bytes came' "$(look drip)"
	fits "mdstat without a marker, then a hang" '^dripping login whole [1-9]' "$(look cut)"
	fits "a whole mdstat, then a hang, is a reading" '^ok login partial [1-9].*the command hangs$' \
		"$(look hang)"
	is "and costs no new login" "login held held" \
		"$(look hang looks=3 | cut -d' ' -f2 | tr '\n' ' ' | sed 's/ $//')"
}

test_command() {
	fits "too much output" '^too-much-output .* more than 256 KiB$' "$(look flood)"
	fits "an exit status, with the first line of the complaint" \
		'^exit-status login whole 4 .* status 3: mdstat: no such thing$' "$(look status)"
	is "the next look logs in anew: what is forced may be another command now" "login login" \
		"$(look status looks=2 | cut -d' ' -f2 | tr '\n' ' ' | sed 's/ $//')"
	fits "an exit status after a whole mdstat is a reading" \
		'^ok login partial [1-9].* status 3$' "$(look late)"
	fits "a command that is killed" '^exit-status .* killed by SIGKILL$' "$(look killed)"
}

print_of() { ssh-keygen -lf "$DIR/$1.pub" | cut -d' ' -f2; }

test_host_key() {
	local print before other
	print=$(print_of host | sed 's/[+]/[+]/g') # in a pattern
	before=$(wc -c <"$DIR/log")
	fits "an unknown host key" \
		"^host-key .* unknown: offered was $print; nothing was sent.* nas trust nas1'$" \
		"$(look mdstat known_hosts="$DIR/none")"
	ssh-keygen -q -t ed25519 -N '' -f "$DIR/other"
	sshd_known 127.0.0.1 other >"$DIR/changed"
	other=$(print_of other | sed 's/[+]/[+]/g')
	fits "a changed host key" \
		"^host-key .* changed: known is $other, offered was $print; nothing was sent.* --replace nas1'$" \
		"$(look mdstat known_hosts="$DIR/changed")"
	ssh-keygen -q -H -f "$DIR/changed" >/dev/null 2>&1
	fits "a changed host key under a hashed name" \
		"^host-key .* changed: known is $other, offered was $print" \
		"$(look mdstat known_hosts="$DIR/changed")"
	is "no login was tried in any of them" "" \
		"$(tail -c +$((before + 1)) "$DIR/log" | grep -E 'Accepted|Failed|Invalid user|user=|for user')"
}

test_trust() {
	local print got
	print=$(print_of host)
	printf '# mine\nelsewhere ssh-ed25519 %s\n' "$(cut -d' ' -f2 "$DIR/other.pub")" >"$DIR/trusted"
	chmod 0600 "$DIR/trusted"
	got=$(look mdstat known_hosts="$DIR/trusted" trust=add)
	is "nas trust: the fingerprint" "$print" "$(printf '%s\n' "$got" | head -n 1)"
	is "nas trust: adds one line, keeps the rest and the mode" "3 1 600" \
		"$(wc -l <"$DIR/trusted") $(grep -c '^# mine$' "$DIR/trusted") $(stat -c %a "$DIR/trusted")"
	fits "nas trust: then the look works" '^ok login' "$(look mdstat known_hosts="$DIR/trusted")"
	is "nas trust: a second time changes nothing" 3 \
		"$(look mdstat known_hosts="$DIR/trusted" trust=add >/dev/null && wc -l <"$DIR/trusted")"
	got=$(look mdstat known_hosts="$DIR/changed" trust=add 2>&1 >/dev/null)
	is "nas trust: another key on file is refused" "$(print_of other)" \
		"$(printf '%s\n' "$got" | sed -n 's/.*another host key is on file for .*: //p')"
	look mdstat known_hosts="$DIR/changed" trust=replace >/dev/null
	fits "nas trust: and replaced when told so" '^ok login' "$(look mdstat known_hosts="$DIR/changed")"
}

# The command, as a person uses it; nobody is there to be asked.
trust() { # KNOWN-HOSTS [OPTION...]: $SAID and $CODE
	cat >"$DIR/gate.conf" <<-CONF
		nas = ( { name = "nas1"; host = "127.0.0.1"; port = $SSHD_PORT; key_file = "$DIR/key-mdstat"; known_hosts = "$1"; } );
	CONF
	shift
	SAID=$("$BUILD/rebuildgate" nas trust nas1 --config "$DIR/gate.conf" "$@" 2>&1 </dev/null)
	CODE=$?
}
says() { printf '%s\n' "$SAID" | grep -Eq -- "$1" && echo "$CODE"; }

test_trust_command() {
	local print
	print=$(print_of host | sed 's/[+]/[+]/g')
	rm -f "$DIR/trusted"
	trust "$DIR/trusted"
	is "rebuildgate nas trust asks, and without an answer records nothing" 1 "$(says "offers the host key $print" && [ ! -e "$DIR/trusted" ])"
	trust "$DIR/trusted" --fingerprint SHA256:none
	is "another fingerprint is refused" 77 "$(says 'not the fingerprint that was expected')"
	trust "$DIR/trusted" --fingerprint "$(print_of host)"
	is "the right one asks nothing" 0 "$(says 'recorded in')"
	trust "$DIR/trusted"
	is "a key that is known is not asked about again" 0 "$(says "on file already in $DIR/trusted: nothing is to be done")"
	is "nor is there a question" "" "$(says 'yes/no')"
	trust "$DIR/trusted" --replace
	is "and none is replaced by itself" 0 "$(says 'on file already')"
	sshd_known 127.0.0.1 other >>"$DIR/trusted"
	trust "$DIR/trusted" --replace --fingerprint "$(print_of host)"
	is "with another one beside it that goes" "0 1" "$(says 'recorded in') $(wc -l <"$DIR/trusted")"
	sshd_known 127.0.0.1 other >"$DIR/trusted"
	trust "$DIR/trusted" --fingerprint "$(print_of host)"
	is "another key alone is refused" 1 "$(says 'another host key is on file .* use --replace')"
}

test_key_file() {
	local before
	before=$(wc -c <"$DIR/log")
	fits "a key file that others can read" '^auth .* has mode 0644' "$(look open)"
	fits "a key file that is a link" '^auth .* is a symbolic link$' "$(look link)"
	fits "a key file that is not there" '^auth .* does not exist$' "$(look missing)"
	fits "a key file without a key" '^auth .* holds no private key' "$(look broken)"
	fits "a key behind a passphrase asks nobody" '^auth .* passphrase$' "$(look locked)"
	is "no connection was made for any of them" "$before" "$(wc -c <"$DIR/log")"
	fits "a key that the NAS does not know" "^auth .* refuses the key '.*key-stranger' for user '$ME'" \
		"$(look stranger)"
}

child_fds() { find "/proc/$(pgrep -P "$STEPS_PID" | head -n 1)/fd" -mindepth 1 | wc -l; }

test_recovery() {
	local before fds i
	steps_begin mdstat
	step
	fits "recovery: a first look" '^ok login' "$LINE"
	# shellcheck disable=SC2046 # a list of pids
	kill -STOP "$SSHD_PID" $(sshd_sessions)
	step
	fits "a stopped sshd costs its look" '^silent held' "$LINE"
	step
	fits "and the next, which tries to log in anew" '^silent held .* says nothing$' "$LINE"
	# shellcheck disable=SC2046
	kill -CONT "$SSHD_PID" $(sshd_sessions)
	step
	fits "continued, the next look recovers by itself" '^ok login' "$LINE"
	step
	fits "and its session is held" '^ok held' "$LINE"
	fds=$(child_fds)
	sshd_stop
	for _ in $(seq 100); do
		[ "$(child_fds)" -ge "$fds" ] || break
		sleep 0.1
	done
	is "a session that the server ended is let go between looks" $((fds - 1)) "$(child_fds)"
	step
	fits "a killed sshd is refused" '^refused' "$LINE"
	sshd_start
	step
	fits "restarted, the next look recovers by itself" '^ok login' "$LINE"
	sshd_stop
	sshd_start
	step
	fits "a restart between two looks costs none" '^ok login' "$LINE"
	fds=$(child_fds)
	for i in $(seq 10); do
		# shellcheck disable=SC2046
		kill -KILL $(sshd_sessions) 2>/dev/null
		step
		[ "${LINE%% whole*}" = "ok login" ] || break
	done
	is "ten killed sessions, ten logins" "10 ok login" "$i ${LINE%% whole*}"
	is "no descriptor is left behind by them" "$fds" "$(child_fds)"
	before=$(sshd_logins)
	kill -KILL "$(pgrep -P "$STEPS_PID" | head -n 1)"
	step
	fits "a probe that died is the sensor fault" '^fault' "$LINE"
	step
	fits "and the next look has a new one" '^ok login' "$LINE"
	is "which logged in once" $((before + 1)) "$(sshd_logins)"
	steps_end
}

# sshd asks each second whether we are still there and hangs up after two questions without an answer; its log tells each
# answer.
test_keepalive() {
	sshd_stop
	: >"$DIR/log"
	SSHD_ALIVE=1 SSHD_LEVEL=DEBUG sshd_start
	steps_begin mdstat
	step
	for _ in $(seq 200); do
		[ "$(grep -c "for keepalive" "$DIR/log")" -lt 4 ] || break
		sleep 0.1
	done
	step
	fits "a session that rests is kept alive" '^ok held' "$LINE"
	is "by four answers at least" yes \
		"$([ "$(grep -c "for keepalive" "$DIR/log")" -ge 4 ] && echo yes)"
	steps_end
}

# In the middle of a look that would take a minute.
test_orphan() {
	local child before
	before=$(wc -l <"$DIR/hanging")
	steps_begin silent deadline=60000
	echo >&"${STEPS[1]}"
	for _ in $(seq 100); do
		[ "$(wc -l <"$DIR/hanging")" -eq "$before" ] || break
		sleep 0.1
	done
	child=$(pgrep -P "$STEPS_PID" | head -n 1)
	kill -KILL "$STEPS_PID"
	wait "$STEPS_PID" 2>/dev/null
	for _ in $(seq 100); do
		kill -0 "$child" 2>/dev/null || break
		sleep 0.1
	done
	is "a probe does not outlive its parent" "a child, gone" \
		"${child:+a child}$(kill -0 "$child" 2>/dev/null || echo ", gone")"
}

test_local() {
	local root=$DIR/hang
	cp -r "$DIR/root" "$root"
	rm "$root/proc/diskstats"
	mkfifo "$root/proc/diskstats"
	fits "local: a hang after mdstat leaves a reading" '^ok held partial [1-9].*reading it hangs$' \
		"$("$PROBE" via=local root="$root" deadline=$DEADLINE </dev/null)"
	rm "$root/proc/mdstat"
	mkfifo "$root/proc/mdstat"
	fits "local: a hang in mdstat ends at the deadline" '^deadline held whole 0 .*did not end in time$' \
		"$("$PROBE" via=local root="$root" deadline=$DEADLINE </dev/null)"
	rm "$root/proc/mdstat"
	fits "local: no mdstat" '^exit-status .*No such file.*md driver' \
		"$("$PROBE" via=local root="$root" deadline=$DEADLINE </dev/null)"
}

: >"$DIR/hanging"
: >"$DIR/ended-badly"
sshd_make "$DIR"
make_nas
make_keys
sshd_start
test_good
test_unreachable
test_silent
test_command
test_host_key
test_trust
test_trust_command
test_key_file
test_recovery
test_keepalive
test_orphan
test_local
is "every probe ended well" "" "$(cat "$DIR/ended-badly")"
echo "1..$N"
[ "$FAILED" -eq 0 ]
