# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# For rig tests and benches: a backup server (tests/fakes/pbs.py) whose data path leads into a machine of the rig.
# usage: after lib.sh, with rig_sink_start done:
#
#   pbs_start DIR [direct ...]      its API on a free port, and a stream's port for each mode of the sink
#   rig_stream_start backup "$(pbs_port buffered)"
#   pbs_state 'state["rules"] = {}'
#
# It dies with the shell that started it. What it knows and what can be done to it: tests/fakes/proxmox.py, pbs.py.

PBS_DIR=
PBS_PID=
PBS_MODES=()
PBS_TOKEN='gate@pbs!rebuildgate'

# The gate's token has what throttling needs and nothing else, as packaging/conf/README.md names it.
pbs_new_state() {
	cat <<-TEXT
	{"tokens": {"$PBS_TOKEN": {"secret": "9f3c6a52-0b7e-4c1d-8a7d-27f1c05e9b14", "privs": {
		"/": ["Sys.Audit", "Sys.Modify"], "/system/tasks": ["Sys.Audit", "Sys.Modify"],
		"/datastore/store1": ["Datastore.Audit", "Datastore.Modify", "Datastore.Verify"]}}},
	 "rules": {}, "datastores": {"store1": {"namespaces": {"": []}}},
	 "stream_task": {"store": "store1", "user": "backup@pbs!pve1"}}
	TEXT
}

# pbs_start DIR [MODE...]: in DIR (must not be there yet); MODE buffered unless named.
pbs_start() {
	PBS_DIR=$1
	shift
	PBS_MODES=("${@:-buffered}")
	mkdir -p "$PBS_DIR" || return
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=pbs1 \
		-addext subjectAltName=IP:127.0.0.1 -keyout "$PBS_DIR/key.pem" -out "$PBS_DIR/cert.pem" 2>"$PBS_DIR/openssl.log" ||
		{ tail -n 1 "$PBS_DIR/openssl.log" >&2 && return 1; }
	pbs_new_state >"$PBS_DIR/state.json"
	(umask 077 && printf '%s=%s\n' "$PBS_TOKEN" 9f3c6a52-0b7e-4c1d-8a7d-27f1c05e9b14 >"$PBS_DIR/token")
	pbs_spawn 0
}

# pbs_spawn PORT: the server itself, on what DIR has; 0 takes any port.
pbs_spawn() {
	local mode streams=() i=0
	for mode in "${PBS_MODES[@]}"; do
		i=$((i + 1))
		streams+=(--stream "$(pbs_known "$i"):127.0.0.1:$(rig_sink_port "$mode")")
	done
	rm -f "$PBS_DIR/ready"
	setpriv --pdeathsig KILL python3 tests/fakes/pbs.py --state "$PBS_DIR" --listen "127.0.0.1:$1" --cert "$PBS_DIR/cert.pem" \
		--key "$PBS_DIR/key.pem" "${streams[@]}" </dev/null >"$PBS_DIR/out" 2>&1 &
	PBS_PID=$!
	for _ in $(seq 100); do
		[ -s "$PBS_DIR/ready" ] && cp "$PBS_DIR/ready" "$PBS_DIR/ports" && return
		kill -0 "$PBS_PID" 2>/dev/null || break
		sleep 0.1
	done
	echo "the backup server did not start: $(tail -n 1 "$PBS_DIR/out")" >&2
	return 1
}

# The port that stream number N had, 0 where there was none yet.
pbs_known() {
	awk -v line="$(($1 + 1))" 'NR == line { port = $1 } END { print port + 0 }' "$PBS_DIR/ports" 2>/dev/null || echo 0
}

# pbs_end: it vanishes, its streams with it; pbs_again: it is back on the same ports, knowing what it knew.
pbs_end() {
	[ -n "$PBS_PID" ] || return 0
	kill -KILL "$PBS_PID" 2>/dev/null || :
	wait "$PBS_PID" 2>/dev/null || :
	PBS_PID=
}

pbs_again() {
	pbs_spawn "$(pbs_api_port)"
}

pbs_api_port() {
	awk 'NR == 1 { print $1 }' "$PBS_DIR/ports"
}

# pbs_port MODE: where a backup's stream goes that the sink shall write in that mode.
pbs_port() {
	local i=0 mode
	for mode in "${PBS_MODES[@]}"; do
		i=$((i + 1))
		[ "$mode" != "$1" ] || { pbs_known "$i" && return; }
	done
	return 1
}

# pbs_state CODE: reads or edits what the server knows (tests/fakes/proxmox.py: state, task(), finish(), fault()).
pbs_state() {
	python3 tests/fakes/proxmox.py "$PBS_DIR" "$1"
}

# pbs_limit RATE|none: a rule of the administrator's on everything, in bytes/s. Acts within 5 s.
pbs_limit() {
	if [ "$1" = none ]; then
		pbs_state 'state["rules"].pop("fixed", None) and None'
	else
		pbs_state "state['rules'].update(fixed={'network': ['0.0.0.0/0'], 'rate-in': '$1 B'})"
	fi >/dev/null
}

# pbs_rules: a line NAME RATE-IN for each rule that is there.
pbs_rules() {
	pbs_state '"\n".join("%s %s" % (n, r.get("rate-in")) for n, r in state["rules"].items())'
}

# pbs_entry: its entry for the gate's configuration.
pbs_entry() {
	printf '{ name = "pbs1"; url = "https://127.0.0.1:%s"; token_file = "%s"; ca_file = "%s"; }' \
		"$(pbs_api_port)" "$PBS_DIR/token" "$PBS_DIR/cert.pem"
}
