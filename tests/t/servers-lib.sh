# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What the tests with servers share, on top of gate-lib.sh: a fake backup server and a fake cluster (tests/fakes), in $PBS and $PVE.

PBS=$SCRATCH/pbs
PVE=$SCRATCH/pve
# shellcheck disable=SC2034
PBS_TOKEN='gate@pbs!rg'
# shellcheck disable=SC2034
PVE_TOKEN='gate@pve!rg'

# edit FOLDER CODE: the fake's state, see tests/fakes/proxmox.py.
edit() {
	python3 tests/fakes/proxmox.py "$1" "$2"
}

# state_is FOLDER EXPRESSION VALUE
state_is() {
	local v
	v=$(edit "$1" "$2")
	[ "$v" = "$3" ] || { echo "# $2 is '$v', not '$3'" >"$SCRATCH/said"; return 1; }
}

server_cert() {
	[ -s "$SCRATCH/server.pem" ] && return
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=fake \
		-keyout "$SCRATCH/server.pem" -out "$SCRATCH/server.crt" 2>/dev/null
	cat "$SCRATCH/server.crt" >>"$SCRATCH/server.pem"
	FINGERPRINT=$(openssl x509 -in "$SCRATCH/server.crt" -noout -fingerprint -sha256 | sed 's/.*=//')
}

# server_start pbs|pve [ARGUMENT...]: starts it; its port is in $PBS_PORT or $PVE_PORT, its process in $PBS_PID or $PVE_PID.
server_start() {
	local kind=$1 folder=$SCRATCH/$1 pid port listen
	shift
	server_cert
	listen=$(cat "$folder/port" 2>/dev/null || echo 0)
	rm -f "$folder/ready"
	PYTHONPATH=tests/fakes python3 "tests/fakes/$kind.py" --state "$folder" --listen "127.0.0.1:$listen" \
		--cert "$SCRATCH/server.pem" "$@" </dev/null >>"$folder/out" 2>&1 &
	pid=$!
	STARTED+=("$pid")
	wait_for 20 test -s "$folder/ready" || { sed 's/^/# /' "$folder/out"; skip_all 'a fake server cannot listen'; }
	port=$(sed -n '1s/ .*//p' "$folder/ready")
	echo "$port" >"$folder/port"
	# shellcheck disable=SC2034
	if [ "$kind" = pbs ]; then
		PBS_PORT=$port PBS_PID=$pid
	else
		PVE_PORT=$port PVE_PID=$pid
	fi
}

server_stop() {
	local pid left=()
	kill -KILL "$1" 2>/dev/null
	wait "$1" 2>/dev/null
	for pid in "${STARTED[@]}"; do
		[ "$pid" = "$1" ] || left+=("$pid")
	done
	STARTED=("${left[@]}")
}

# token FILE TEXT
token() {
	(umask 077 && echo "$2" >"$1")
}

# pbs_new [CODE]: a backup server with the datastore "store", and a token that may do what ours needs.
pbs_new() {
	mkdir -p "$PBS"
	cat >"$PBS/state.json" <<-'TEXT'
	{"tokens": {"gate@pbs!rg": {"secret": "s3cret", "privs": {
	   "/": ["Sys.Audit", "Sys.Modify"], "/system/tasks": ["Sys.Audit", "Sys.Modify"],
	   "/datastore/store": ["Datastore.Audit", "Datastore.Modify", "Datastore.Verify"]}}},
	 "rules": {}, "datastores": {"store": {"namespaces": {"": []}}}, "verify_jobs": {"v-night": {"store": "store"}}}
	TEXT
	token "$SCRATCH/pbs.token" "$PBS_TOKEN:s3cret"
	[ $# -eq 0 ] || edit "$PBS" "$1"
}

# pve_new [CODE]: a cluster of two nodes.
pve_new() {
	mkdir -p "$PVE"
	cat >"$PVE/state.json" <<-'TEXT'
	{"tokens": {"gate@pve!rg": {"secret": "s3cret", "privs": {
	   "/": ["Sys.Audit"], "/nodes/pve1": ["Sys.Audit", "Sys.Modify"], "/nodes/pve2": ["Sys.Audit", "Sys.Modify"],
	   "/storage/backup": ["Datastore.AllocateSpace"], "/vms": ["VM.Audit", "VM.Backup"]}}},
	 "nodes": {"pve1": {}, "pve2": {}}, "jobs": {},
	 "guests": {"100": {"type": "qemu", "node": "pve1"}, "101": {"type": "lxc", "node": "pve2"}},
	 "storages": {"backup": {"type": "nfs", "server": "10.0.0.9", "export": "/b", "content": []}}}
	TEXT
	token "$SCRATCH/pve.token" "$PVE_TOKEN=s3cret"
	[ $# -eq 0 ] || edit "$PVE" "$1"
}

pbs_conf() {
	echo "pbs = ( { name = \"pbs1\"; url = \"https://127.0.0.1:$PBS_PORT\"; token_file = \"$SCRATCH/pbs.token\";
		fingerprints = [\"$FINGERPRINT\"]; $1 } );"
}

pve_conf() {
	echo "pve = ( { name = \"lab\"; url = \"https://127.0.0.1:$PVE_PORT\"; token_file = \"$SCRATCH/pve.token\";
		fingerprints = [\"$FINGERPRINT\"]; $1 } );"
}

# asked FOLDER REGEX: how many requests matched "METHOD PATH STATUS".
asked() {
	python3 - "$1/log" "$2" <<-'PY'
	import json, re, sys
	n = 0
	try:
	    for line in open(sys.argv[1]):
	        r = json.loads(line)
	        n += bool("path" in r and re.search(sys.argv[2], "%s %s %s" % (r["method"], r["path"], r["status"])))
	except OSError:
	    pass
	print(n)
	PY
}

asked_least() {
	[ "$(asked "$1" "$2")" -ge "$3" ]
}

# levers_are FILTER VALUE: of GET /v1/levers.
levers_are() {
	api GET /v1/levers
	is "$1" "$2" >"$SCRATCH/said"
}
