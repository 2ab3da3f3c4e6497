# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# The fake servers for shell tests: source it from the root of the repository.
#
#   fake_cert DIR              DIR/cert.pem and key.pem of 127.0.0.1 and localhost; its SHA-256 fingerprint in FAKE_PRINT
#   fake_start KIND DIR [...]  pbs.py or pve.py with DIR/state.json and DIR/cert.pem on a free port; FAKE_PID, FAKE_PORT,
#                              FAKE_URL; what else is given are its options
#   fake_edit DIR CODE         changes the state (see fakes/proxmox.py); the value of CODE is printed
#   fake_calls DIR FILTER      how many logged requests jq's FILTER is true for
#   fake_stop PID              ends one that was started here
#   fake_stop_all              ends those that still run
FAKES=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
FAKE_PIDS=()

# Why the tests cannot run here, or nothing.
fake_lacks() {
	local program
	for program in python3 openssl jq; do
		command -v "$program" >/dev/null || { echo "needs $program"; return; }
	done
}

# shellcheck disable=SC2034 # for those who source this
fake_cert() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=localhost \
		-addext subjectAltName=IP:127.0.0.1,DNS:localhost -keyout "$1/key.pem" -out "$1/cert.pem" 2>/dev/null || return 1
	FAKE_PRINT=$(openssl x509 -in "$1/cert.pem" -noout -fingerprint -sha256 | sed 's/.*=//')
}

# shellcheck disable=SC2034 # for those who source this
fake_start() {
	local kind=$1 dir=$2 i
	shift 2
	[ -f "$dir/state.json" ] || echo '{}' >"$dir/state.json"
	rm -f "$dir/ready"
	python3 "$FAKES/$kind.py" --state "$dir" --listen 127.0.0.1:0 --cert "$dir/cert.pem" --key "$dir/key.pem" "$@" \
		>>"$dir/out" 2>&1 </dev/null &
	FAKE_PID=$!
	FAKE_PIDS+=("$FAKE_PID")
	for ((i = 0; i < 200; i++)); do
		[ -f "$dir/ready" ] && break
		kill -0 "$FAKE_PID" 2>/dev/null || break
		sleep 0.05
	done
	[ -f "$dir/ready" ] || { sed 's/^/# fake: /' "$dir/out"; return 1; }
	FAKE_PORT=$(awk '$2 == "api" {print $1}' "$dir/ready")
	FAKE_URL=https://127.0.0.1:$FAKE_PORT
}

fake_edit() {
	python3 "$FAKES/proxmox.py" "$1" "$2"
}

fake_calls() {
	[ -f "$1/log" ] || { echo 0; return; }
	jq -c "select($2)" "$1/log" | wc -l
}

fake_stop() {
	local pid rest=()
	kill -KILL "$1" 2>/dev/null
	wait "$1" 2>/dev/null
	for pid in "${FAKE_PIDS[@]}"; do
		[ "$pid" = "$1" ] || rest+=("$pid")
	done
	FAKE_PIDS=("${rest[@]}")
}

fake_stop_all() {
	local pid
	for pid in "${FAKE_PIDS[@]}"; do
		fake_stop "$pid"
	done
}
