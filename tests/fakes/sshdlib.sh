# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# A real sshd on loopback that plays a NAS: keys with forced commands, a log, and its death at any time. All of it lies in
# one folder: host and host.pub, key-NAME and run-NAME for each key, authorized_keys, known_hosts, config, log.

SSHD=$(command -v sshd || echo /usr/sbin/sshd)
SSHD_DIR=  # the folder
SSHD_PORT= # where it listens, or will again
SSHD_PID=  # "": it does not run

# What is missing for it here, in words; nothing when all is there.
sshd_lacks() {
	if [ ! -x "$SSHD" ] || ! command -v ssh-keygen >/dev/null || ! command -v pgrep >/dev/null; then
		echo 'needs sshd, ssh-keygen and pgrep (openssh-server, openssh-client, procps)'
	fi
}

# sshd_make FOLDER: its host key, an empty log.
sshd_make() {
	SSHD_DIR=$1
	mkdir -p "$SSHD_DIR"
	[ "$(id -u)" -ne 0 ] || mkdir -p /run/sshd
	ssh-keygen -q -t ed25519 -N '' -f "$SSHD_DIR/host"
	: >"$SSHD_DIR/log"
}

# sshd_key NAME COMMAND: a key for which it runs COMMAND, "" for whatever is asked.
sshd_key() {
	ssh-keygen -q -t ed25519 -N '' -C "$1" -f "$SSHD_DIR/key-$1"
	if [ -n "$2" ]; then
		printf '%s\n' "$2" >"$SSHD_DIR/run-$1"
		printf 'command="sh %s",restrict ' "$SSHD_DIR/run-$1" >>"$SSHD_DIR/authorized_keys"
	fi
	cat "$SSHD_DIR/key-$1.pub" >>"$SSHD_DIR/authorized_keys"
}

sshd_config() {
	cat <<-CONFIG
		ListenAddress 127.0.0.1:$SSHD_PORT
		HostKey $SSHD_DIR/host
		PidFile none
		AuthorizedKeysFile $SSHD_DIR/authorized_keys
		StrictModes no
		UsePAM no
		PasswordAuthentication no
		KbdInteractiveAuthentication no
		PermitRootLogin prohibit-password
		LogLevel ${SSHD_LEVEL:-VERBOSE}
		ClientAliveInterval ${SSHD_ALIVE:-0}
		ClientAliveCountMax 2
	CONFIG
}

# sshd_known NAME KEY: a line of known_hosts for the port, with the public key in the file KEY.pub.
sshd_known() { echo "[$1]:$SSHD_PORT $(cut -d' ' -f1,2 "$SSHD_DIR/$2.pub")"; }

# Listens on $SSHD_PORT, or on a free port when that is empty or taken; known_hosts is for it.
sshd_start() {
	local try from
	from=$(wc -c <"$SSHD_DIR/log")
	for try in 1 2 3 4 5 6 7 8 9; do
		[ "$try" -gt 1 ] || [ -z "$SSHD_PORT" ] && SSHD_PORT=$((20000 + RANDOM))
		sshd_config >"$SSHD_DIR/config"
		"$SSHD" -D -f "$SSHD_DIR/config" -E "$SSHD_DIR/log" &
		SSHD_PID=$!
		for _ in $(seq 100); do
			if tail -c +$((from + 1)) "$SSHD_DIR/log" | grep -q 'Server listening on'; then
				sshd_known 127.0.0.1 host >"$SSHD_DIR/known_hosts"
				return 0
			fi
			kill -0 "$SSHD_PID" 2>/dev/null || break
			sleep 0.1
		done
		sshd_stop
	done
	echo "Bail out! sshd does not start: $(tail -n 3 "$SSHD_DIR/log")"
	exit 1
}

descendants() {
	local child
	for child in $(pgrep -P "$1"); do
		descendants "$child"
		echo "$child"
	done
}

# The processes of its sessions.
sshd_sessions() { descendants "$SSHD_PID"; }

# With all of its sessions, at once.
sshd_stop() {
	local all
	[ -n "$SSHD_PID" ] || return 0
	all=$(sshd_sessions)
	# shellcheck disable=SC2086 # a list of pids
	kill -KILL "$SSHD_PID" $all 2>/dev/null
	wait "$SSHD_PID" 2>/dev/null
	SSHD_PID=
}

sshd_logins() { grep -c 'Accepted publickey' "$SSHD_DIR/log"; }
