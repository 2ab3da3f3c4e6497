#!/bin/bash
# SPDX-License-Identifier: MIT
# The fake servers themselves: what the daemon's tests rest on. Refusals in the real ones' words, rules checked as they do,
# tasks that end, and a data path that keeps its rate.
set -u
# shellcheck source=tests/fakes/fakelib.sh
. tests/fakes/fakelib.sh
lacks=$(fake_lacks)
[ -z "$lacks" ] || { echo "1..0 # SKIP $lacks"; exit 0; }
DIR=$(mktemp -d)
FLOW_PID=
trap 'fake_stop_all; { [ -z "$FLOW_PID" ] || { kill -KILL "$FLOW_PID"; wait "$FLOW_PID"; }; } 2>/dev/null; rm -rf "$DIR"' EXIT
TEST=0
GOT='' STATUS='' REASON=''

ok() {
	local name=$1
	shift
	TEST=$((TEST + 1))
	if "$@"; then
		echo "ok $TEST - $name"
	else
		echo "not ok $TEST - $name"
		printf '# failed: %s\n# got: %s %s\n' "$*" "$STATUS" "${GOT:0:600}"
	fi
}

# ask HEADER METHOD URL [FORM...]: STATUS, REASON and GOT (the body).
ask() {
	local header=$1 method=$2 url=$3 forms=()
	shift 3
	local form
	for form in "$@"; do forms+=(--data-urlencode "$form"); done
	GOT=$(curl -s --cacert "$DIR/cert.pem" -D "$DIR/head" -X "$method" ${header:+-H "Authorization: $header"} "${forms[@]}" "$url")
	STATUS=$(awk 'NR == 1 {print $2}' "$DIR/head")
	REASON=$(tr -d '\r' <"$DIR/head" | sed -n '1s/^[^ ]* [0-9]* *//p')
}
pbs() { ask 'PBSAPIToken=gate@pbs!rg:s' "$1" "$PBS/api2/json$2" "${@:3}"; }
weak_pbs() { ask 'PBSAPIToken=weak@pbs!rg:s' "$1" "$PBS/api2/json$2" "${@:3}"; }
pve() { ask 'PVEAPIToken=gate@pve!rg=s' "$1" "$PVE/api2/json$2" "${@:3}"; }
weak_pve() { ask 'PVEAPIToken=weak@pve!rg=s' "$1" "$PVE/api2/json$2" "${@:3}"; }
# shellcheck disable=SC2053 # a pattern
is() { [ "$STATUS" = "$1" ] && [[ $GOT == $2 ]]; }
holds() { jq -e "$1" <<<"$GOT" >/dev/null; }
quoted() { jq -rn --arg v "$1" '$v | @uri'; }

fake_cert "$DIR"
mkdir "$DIR/pbs" "$DIR/pve"
cp "$DIR"/*.pem "$DIR/pbs/"
cp "$DIR"/*.pem "$DIR/pve/"
cat >"$DIR/pbs/state.json" <<'END'
{"tokens": {"gate@pbs!rg": {"secret": "s", "privs": {"/": ["Sys.Audit", "Sys.Modify"], "/system/tasks": ["Sys.Audit", "Sys.Modify"],
	"/datastore/nas": ["Datastore.Audit", "Datastore.Modify", "Datastore.Verify"]}}, "weak@pbs!rg": {"secret": "s"}},
 "datastores": {"nas": {"namespaces": {"": [{"backup-type": "vm", "backup-id": "100", "last-backup": 1796000000}], "a/b": []}}},
 "verify_jobs": {"v-1": {"store": "nas"}}, "utc_offset": 19800}
END
cat >"$DIR/pve/state.json" <<'END'
{"tokens": {"gate@pve!rg": {"secret": "s", "privs": {"/": ["Sys.Audit"], "/storage/nas": ["Datastore.AllocateSpace"], "/vms/100": ["VM.Backup", "VM.Audit"]}},
	"weak@pve!rg": {"secret": "s", "privs": {"/storage/nas": ["Datastore.Audit"]}}},
 "nodes": {"pve1": {}, "pve2": {"online": false}}, "jobs": {"nightly": {"storage": "nas", "schedule": "21:00", "guests": [100, 101, 102]}},
 "guests": {"100": {"type": "qemu", "node": "pve1", "volumes": {"scsi0": 10}}, "101": {"type": "lxc", "node": "pve1"}},
 "storages": {"nas": {"type": "nfs", "content": [{"volid": "nas:backup/a", "vmid": 100, "ctime": 5}, {"volid": "nas:backup/b", "vmid": 101, "ctime": 6}]}}}
END
coproc FLOW { exec python3 "$FAKES/flow.py"; }
read -r -u "${FLOW[0]}" SINK
flow() { echo "$*" >&"${FLOW[1]}" && read -r -u "${FLOW[0]}" GOT; }
fake_start pve "$DIR/pve" && PVE=$FAKE_URL
fake_start pbs "$DIR/pbs" --stream "0:127.0.0.1:$SINK" --stream "0:127.0.0.1:$SINK:a@pbs" && PBS=$FAKE_URL
STREAM=$(awk 'NR == 2 {print $1}' "$DIR/pbs/ready") USERS=$(awk 'NR == 3 {print $1}' "$DIR/pbs/ready")

# Who is refused, in whose words.
ask '' GET "$PBS/api2/json/version"
ok "no token is 401, in plain text" is 401 'authentication failed - *'
ask 'PBSAPIToken=gate@pbs!rg:t' GET "$PBS/api2/json/version"
ok "a wrong secret, too" is 401 'authentication failed - *'
weak_pbs GET /admin/traffic-control
ok "a call's own privilege is 403" is 403 'permission check failed'
UPID=$(fake_edit "$DIR/pbs" 'task("reader", "nas:vm/100", user="root@pam")')
weak_pbs DELETE "/nodes/localhost/tasks/$(quoted "$UPID")"
ok "one checked inside is 400" is 400 "missing permissions 'Sys.Modify' on '/system/tasks'"
ask 'PVEAPIToken=gate@pve!rg=t' GET "$PVE/api2/json/version"
ok "a cluster's 401 is JSON" is 401 '{"data": null, "message": "invalid token value!*'
weak_pve GET /cluster/backup
ok "its 403 names privilege and path" holds '.data == null and .message == "Permission check failed (/, Sys.Audit)\n"'
ok "in the status line as well" [ "$STATUS $REASON" = "403 Permission check failed (/, Sys.Audit)" ]
weak_pve GET /nodes/pve1/storage/nas/content
ok "who may only look at a storage sees no backups, and no error" holds '.data == []'
pve GET /nodes/pve1/storage/nas/content
ok "with it and VM.Backup those of that guest" holds '.data | map(.vmid) == [100]'
pve GET /nodes/pve2/tasks
ok "a node that is off is 595" is 595 ''
pve GET /nodes/pve1/tasks more=1
ok "a cluster takes no parameter that it does not know" holds '.errors.more | test("not defined in schema")'
pve GET /cluster/backup/nightly/included_volumes
ok "a job's guests are a tree" holds '[.data.children[] | [.id, .type]] == [[100, "qemu"], [101, "lxc"], [102, "unknown"]]'

# Rules, as strict as the real ones.
pbs POST /config/traffic-control name=ab rate-in=5 network=x
ok "each bad parameter is told" is 400 $'parameter verification errors\n\nparameter \'network\':*parameter \'name\': value must be at least 3*'
pbs POST /config/traffic-control name=abc
ok "a network is required" is 400 '*network*missing*'
pbs POST /config/traffic-control name=abc network=::/0 'timeframe=mon 8-24'
ok "no hour is 24" is 400 '*timeframe*too large*'
pbs POST /config/traffic-control name=abc network=0.0.0.0/0 network=::/0 rate-in=1500000 'timeframe=mon..fri,sun 8:05 - 12' comment='by us'
ok "a rule is made" is 200 '{"data": null}'
pbs POST /config/traffic-control name=abc network=::/0
ok "not twice" is 400 "*'abc' already exists*"
pbs GET /config/traffic-control
DIGEST=$(jq -r .digest <<<"$GOT")
ok "it is printed with its unit" holds '.data == [{name: "abc", network: ["0.0.0.0/0", "::/0"], "rate-in": "1500000 B", timeframe: ["mon..fri,sun 8:05 - 12"], comment: "by us"}]'
pbs PUT /config/traffic-control/abc rate-in=2MB digest="$DIGEST"
ok "it is changed where the digest is the right one" is 200 '*'
pbs PUT /config/traffic-control/abc rate-in=3MB digest="$DIGEST"
ok "and is not where it has changed since" is 400 'detected modified configuration*'
pbs PUT /config/traffic-control/abc delete=timeframe delete=comment rate-out=1.5MiB
pbs GET /admin/traffic-control
ok "what is deleted is gone, and the list tells the rates now" holds '.data == [{name: "abc", network: ["0.0.0.0/0", "::/0"], "rate-in": "2 MB", "rate-out": "1.5 MiB", "cur-rate-in": 0, "cur-rate-out": 0}]'
pbs PUT /config/traffic-control/abc delete=name
ok "not all can be deleted" is 400 '*not defined in the enumeration*'
pbs PUT /config/traffic-control/none rate-in=5
ok "a rule that is not there cannot be changed" is 400 "no such rule 'none'"
pbs DELETE /config/traffic-control/abc
pbs DELETE /config/traffic-control/abc
ok "nor deleted twice" is 404 "traffic control rule 'abc' does not exist."
pbs GET /nodes/localhost/time
ok "the server's time has its zone" holds '.data.localtime - .data.time == 19800'

# Tasks.
pbs POST /admin/datastore/nas/gc
GC=$(jq -r .data <<<"$GOT")
pbs POST /admin/datastore/nas/gc
ok "garbage is collected once at a time" is 400 'garbage collection already running'
pbs POST /admin/verify/v-1/run
pbs GET '/nodes/localhost/tasks?running=1&limit=0'
ok "running tasks are listed" holds '[.data[].worker_type] == ["verificationjob", "garbage_collection", "reader"]'
pbs GET '/nodes/localhost/tasks?running=1&limit=0&store=nas'
ok "of a store all but readers, as there" holds '[.data[].worker_type] == ["verificationjob", "garbage_collection"]'
pbs DELETE "/nodes/localhost/tasks/$(quoted "$GC")"
for ((i = 0; i < 100; i++)); do
	pbs GET "/nodes/localhost/tasks/$(quoted "$GC")/status"
	holds '.data.status == "stopped"' && break
	sleep 0.1
done
ok "a stopped task ends" holds '.data.exitstatus | test("abort")'
fake_edit "$DIR/pbs" "finish('${UPID//\\/\\\\}')"
pbs GET '/nodes/localhost/tasks?running=1'
ok "and one that ends is no longer running" holds '[.data[].worker_type] == ["verificationjob"]'
JOB=$(fake_edit "$DIR/pve" 'task("vzdump", "100", lines=["INFO: starting new backup job: vzdump 100 --storage nas"], user="gate@pve!rg")')
pve GET '/nodes/pve1/tasks?source=active'
ok "a running job is RUNNING in its node's list" holds '.data | length == 1 and .[0].status == "RUNNING"'
pve GET "/nodes/pve1/tasks/$(quoted "$JOB")/log?start=0&limit=5"
ok "it has a log" holds '.data == [{n: 1, t: "INFO: starting new backup job: vzdump 100 --storage nas"}]'
weak_pve DELETE "/nodes/pve1/tasks/$(quoted "$JOB")"
ok "not everybody stops it" is 403 '*Permission check failed (/nodes/pve1, Sys.Modify)*'
pve DELETE "/nodes/pve1/tasks/$(quoted "$JOB")"
pve GET /cluster/tasks
ok "who owns it does" holds '.data[0].status == "interrupted by signal" and (.data[0].endtime > 0)'

# The data path.
within() { [ "$GOT" -ge "$1" ] && [ "$GOT" -le "$2" ]; }
flow connect "$STREAM"
flow connect "$STREAM"
flow measure 1
ok "a stream without a rule runs free" within 60000000 99999999999
pbs POST /config/traffic-control name=rg-nas network=127.0.0.0/8 rate-in=8000000
flow measure 6
flow measure 3
ok "two streams share one rule's rate, made while they run" within 5000000 9000000
pbs GET /admin/traffic-control
ok "which the server tells" holds '.data[0]["cur-rate-in"] | . > 4000000 and . < 10000000'
pbs PUT /config/traffic-control/rg-nas rate-in=2000000
flow measure 7
flow measure 3
ok "a new rate is kept after its 5 s" within 1200000 2500000
pbs POST /config/traffic-control name=aaa network=0.0.0.0/0 rate-in=30000000
flow measure 6
flow measure 2
ok "a shorter prefix is not looked at" within 1200000 2500000
pbs POST /config/traffic-control name=zzz network=127.0.0.1/32 rate-in=20000000
flow measure 7
flow measure 2
ok "a longer one is" within 12000000 23000000
flow connect "$USERS"
pbs POST /config/traffic-control name=users network=0.0.0.0/0 users=a@pbs rate-in=5000000
flow rest
flow connect "$USERS"
flow measure 1
flow measure 3
ok "a user's rule is before all" within 3000000 6000000
fake_edit "$DIR/pbs" 'state["rules"] = {"none": {"network": ["0.0.0.0/0"], "rate-in": "1 KB", "timeframe": ["%s 0-23:59" % ["mon", "tue", "wed", "thu", "fri", "sat", "sun"][int((time() + 19800) // 86400 + 1) % 7]]}}'
flow measure 7
flow measure 1
ok "a rule outside of its timeframe is none" within 60000000 99999999999
flow rest
fake_edit "$DIR/pbs" 'state["stream_task"] = {"store": "nas", "user": "b@pbs!pve1"}'
flow connect "$STREAM"
flow measure 1
pbs GET '/nodes/localhost/tasks?running=1&typefilter=backup'
ok "a stream may be a task" holds '.data | length == 1 and (.[0].worker_id | startswith("nas:host/"))'
pbs DELETE "/nodes/localhost/tasks/$(quoted "$(jq -r '.data[0].upid' <<<"$GOT")")"
for ((i = 0; i < 100; i++)); do flow open; [ "$GOT" = 0 ] && break; sleep 0.1; done
ok "and ends with it" [ "$GOT" = 0 ]
echo "1..$TEST"
