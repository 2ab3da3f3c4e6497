#!/bin/bash
# SPDX-License-Identifier: MIT
# Orders over a real sshd on loopback: `rebuildgated --order` with a key whose forced command is hooks/nas-levers, on a fake
# /sys below a folder. Each order ends within its deadline and a generous slack.
set -u

BUILD=${BUILD:-build}
GATED=$BUILD/rebuildgated
MUTE=$BUILD/tools/mute
# shellcheck source=tests/fakes/sshdlib.sh
. tests/fakes/sshdlib.sh
lacks=$(sshd_lacks)
[ -z "$lacks" ] || { echo "1..0 # SKIP $lacks"; exit 0; }
if [ ! -x "$GATED" ] || [ ! -x "$MUTE" ]; then
	echo "Bail out! no $GATED or $MUTE: make all tools"
	exit 1
fi

DIR=$(mktemp -d)
ME=$(id -un)
N=0
FAILED=0

cleanup() {
	local one
	sshd_stop
	for one in ${pid:-} ${muted:-} $(pgrep -f "$DIR/nas-levers") $(cat "$DIR/hanging" 2>/dev/null); do
		kill -KILL "$one" 2>/dev/null
	done
	rm -rf "$DIR"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

result() { # STATUS NAME DETAIL
	N=$((N + 1))
	if [ "$1" = 0 ]; then
		echo "ok $N - $2"
	else
		echo "not ok $N - $2"
		printf '%s\n' "$3" | sed 's/^/# /'
		FAILED=$((FAILED + 1))
	fi
}
is() { # NAME WANTED GOT
	[ "$2" = "$3" ]
	result $? "$1" "wanted: $2
got:    $3"
}
like() { # NAME PATTERN GOT
	printf '%s\n' "$3" | grep -Eq -- "$2"
	result $? "$1" "wanted: $2
got:    $3"
}

# The script's own text but for where the tree is, and for what md makes of "system". A plain file stands for an attribute:
# what was written is what is read.
make_nas() {
	local md=$DIR/root/sys/block/md2/md
	mkdir -p "$md" "$DIR/root/run" "$DIR/root/proc"
	echo raid6 >"$md/level"
	echo 5 >"$md/raid_disks"
	echo "1000 (system)" >"$md/sync_speed_min"
	echo 256 >"$md/stripe_cache_size"
	echo recover >"$md/sync_action"
	echo "MemTotal:        1048576 kB" >"$DIR/root/proc/meminfo"
	sed -e "s|^root=\$|root=$DIR/root|" \
		-e '/^put() {/a [ "$2" != system ] || set -- "$1" "1000 (system)"' hooks/nas-levers >"$DIR/nas-levers"
	chmod 755 "$DIR/nas-levers"
}

make_keys() {
	sshd_key levers "$DIR/nas-levers"
	sshd_key mdstat "echo Personalities : [raid6]"
	sshd_key silent "echo \$\$ >>$DIR/hanging; exec sleep 600"
	sshd_key drip "echo \$\$ >>$DIR/hanging; printf 'ok array=md2'; exec sleep 600"
	sshd_key flood "head -c 300000 /dev/zero | tr '\\0' x"
	sshd_key long "printf 'ok array=md2 %0600d\\n' 7"
	sshd_key control "printf 'error no\\001\\033[2J\\n'"
	sshd_key missing "/nonexistent/nas-levers"
	ssh-keygen -q -t ed25519 -N '' -f "$DIR/key-stranger"
}

# orders KEY [NAME=VALUE...] <ORDERS: what the child answers.
orders() {
	local key=$1
	shift
	timeout 120 "$GATED" --order nas1 via=ssh host=127.0.0.1 port="$SSHD_PORT" user="$ME" key_file="$DIR/key-$key" \
		known_hosts="$DIR/known_hosts" deadline_ms=3000 "$@" 2>>"$DIR/stderr"
}
ended_in() { # MOST_MS BEGAN_MS
	[ $(($(date +%s%3N) - $2)) -le "$1" ]
}

sshd_make "$DIR"
make_nas
make_keys
sshd_start

# --- good ones -----------------------------------------------------------------------------------------------------------
is "look" "ok array=md2 level=raid6 disks=5 memory_kib=1048576 speed_min=1000 speed_min_kind=system stripe_cache=256 operation=recover" \
	"$(orders levers <<<'look md2')"
before=$(sshd_logins)
got=$(printf '%s\n' 'moved' 'floor md2 16000 4096 600' 'look md2' 'moved' 'look md9' 'look md2; reboot' 'free md2' 'look md2' |
	orders levers)
is "eight orders are one login" $((before + 1)) "$(sshd_logins)"
is "and eight answers" 8 "$(wc -l <<<"$got")"
is "nothing is moved at first" "ok moved=-" "$(sed -n 1p <<<"$got")"
like "a floor is set" '^ok array=md2 .*speed_min=16000 speed_min_kind=local stripe_cache=4096 operation=recover undo_s=600$' "$(sed -n 2p <<<"$got")"
like "its keeper does not hold the answer back, nor the next" 'undo_s=(600|59[0-9])$' "$(sed -n 3p <<<"$got")"
is "moved" "ok moved=md2" "$(sed -n 4p <<<"$got")"
is "a refusal is passed on" "error there is no array md9 here" "$(sed -n 5p <<<"$got")"
like "nothing is slipped in" "^error an order has letters, digits" "$(sed -n 6p <<<"$got")"
like "freed" '^ok .*stripe_cache=256 operation=recover$' "$(sed -n 7p <<<"$got")"
is "as it was" "1000 (system) 256" "$(cat "$DIR/root/sys/block/md2/md/sync_speed_min" "$DIR/root/sys/block/md2/md/stripe_cache_size" | tr '\n' ' ' | sed 's/ $//')"
orders levers </dev/null
is "without an order the child ends well" 0 $?

# --- what can go wrong -------------------------------------------------------------------------------------------------------
like "a key that may only look" '^failed not-understood .*is it the forced command of this key' "$(orders mdstat <<<'look md2')"
like "a script that is not there" '^failed exit-status .*status 127: .*nas-levers' "$(orders missing <<<'look md2')"
like "a key that is refused" '^failed auth .*refuses the key' "$(orders stranger <<<'look md2')"
began=$(date +%s%3N)
got=$(printf 'look md2\nlook md2\n' | orders silent)
like "silence ends at the deadline" '^failed silent .*printed nothing in time' "$(sed -n 1p <<<"$got")"
like "and the order after it has its own" '^failed silent ' "$(sed -n 2p <<<"$got")"
ended_in 15000 "$began"
result $? "both within their deadlines" "$(($(date +%s%3N) - began)) ms"
like "a line without an end is no answer" '^failed dripping ' "$(orders drip <<<'look md2')"
like "too much is no answer" '^failed too-much-output ' "$(orders flood <<<'look md2')"
like "a line that is too long is none" '^failed not-understood ' "$(orders long <<<'look md2')"
is "control characters do not come through" "error no  [2J" "$(orders control <<<'look md2')"
like "a local NAS" "^failed fault .*second key only" "$(orders levers via=local <<<'look md2')"
printf 'x%.0s' $(seq 600) | orders levers >"$DIR/out"
is "an order without an end ends the child" 1 $?
ssh-keygen -q -t ed25519 -N '' -f "$DIR/other"
cp "$DIR/known_hosts" "$DIR/known_hosts.good"
sshd_known 127.0.0.1 other >"$DIR/known_hosts"
like "a changed host key" '^failed host-key host key changed' "$(orders levers <<<'look md2')"
mv "$DIR/known_hosts.good" "$DIR/known_hosts"
coproc MUTED { exec "$MUTE" accept; }
muted=$MUTED_PID
read -r -t 30 mute_port <&"${MUTED[0]}"
like "a server that says nothing" '^failed silent .*says nothing' "$(orders levers port="$mute_port" <<<'look md2')"
{ kill -KILL "$muted" && wait "$muted"; } 2>/dev/null

# --- a session that breaks ----------------------------------------------------------------------------------------------------
coproc ORDER { exec "$GATED" --order nas1 via=ssh host=127.0.0.1 port="$SSHD_PORT" user="$ME" key_file="$DIR/key-levers" \
	known_hosts="$DIR/known_hosts" deadline_ms=3000 2>>"$DIR/stderr"; }
pid=$ORDER_PID
order() {
	LINE=
	echo "$1" >&"${ORDER[1]}"
	read -r -t 30 LINE <&"${ORDER[0]}"
}
before=$(sshd_logins)
order "look md2"
like "a first order" '^ok array=md2 ' "$LINE"
order "look md2"
like "a second on the same session" '^ok array=md2 ' "$LINE"
is "are one login" $((before + 1)) "$(sshd_logins)"
sshd_stop
order "look md2"
like "the server is gone" '^failed refused ' "$LINE"
sshd_start
order "look md2"
like "it is there again, and so is the next answer" '^ok array=md2 ' "$LINE"
# shellcheck disable=SC2046 # a list of pids
kill -KILL $(sshd_sessions) 2>/dev/null
order "look md2"
like "a session that was killed is replaced within the order" '^ok array=md2 ' "$LINE"
eval "exec ${ORDER[1]}>&-"
wait "$pid"
is "at the end of its input it ends well" 0 $?

# --- by hand: what the configuration file says ---------------------------------------------------------------------------------
cat >"$DIR/gate.conf" <<CONF
nas = ( { name = "nas1"; host = "127.0.0.1"; port = $SSHD_PORT; user = "nobody"; key_file = "$DIR/key-mdstat"; known_hosts = "$DIR/known_hosts";
	levers = { user = "$ME"; key_file = "$DIR/key-levers"; }; },
	{ name = "nas2"; host = "127.0.0.1"; } );
CONF
like "by the file" '^ok array=md2 ' "$("$GATED" --config "$DIR/gate.conf" --order nas1 <<<'look md2' 2>&1)"
like "a NAS without levers" "sets no levers = .* for NAS 'nas2'" "$("$GATED" --config "$DIR/gate.conf" --order nas2 <<<'look md2' 2>&1)"
like "a NAS that is none" "names no NAS 'nas3'" "$("$GATED" --config "$DIR/gate.conf" --order nas3 <<<'look md2' 2>&1)"
is "nothing was complained about" "" "$(cat "$DIR/stderr")"
echo "1..$N"
[ "$FAILED" -eq 0 ]
