#!/bin/bash
# SPDX-License-Identifier: MIT
# `make demo`: a real rebuild holds a real vzdump hook and lets it go. Where no virtual machine can be started, a
# recorded rebuild is played instead. Leaves nothing behind, also after Ctrl-C.
set -euo pipefail
cd "$(dirname "$0")/../.."
B=${B:-build}

if [ -t 1 ]; then bold=$'\e[1m' dim=$'\e[2m' plain=$'\e[0m'; else bold='' dim='' plain=''; fi
say() { printf '\n%s== %s%s\n' "$bold" "$*" "$plain"; }
show() { printf '%s$ rebuildgate %s%s\n' "$dim" "$*" "$plain"; "$B/rebuildgate" --socket "$work/gate.sock" "$@"; }

say "what is missing is installed, and everything is built"
reason=$(. tests/rig/lib.sh; rig_available) || true
if [ -z "$reason" ]; then bash tests/deps.sh rig; else bash tests/deps.sh build; fi
make -s all tools B="$B"
B=$(realpath "$B")

# shellcheck source=tests/rig/lib.sh
. tests/rig/lib.sh
work=$(mktemp -d "${TMPDIR:-/tmp}/rebuildgate-demo.XXXXXX")
daemon='' job='' player=''
end() {
	local pid
	trap '' INT TERM
	# The worker has a session of its own, as a real one: it is stopped as the Stop button does it.
	if [ -s "$work/vzdump.pid" ] && [ -n "$job" ]; then tests/fakes/vzdump.pl stop "$(cat "$work/vzdump.pid")" 2>/dev/null || true; fi
	for pid in $job $player $daemon; do kill "$pid" 2>/dev/null || true; done
	for pid in $job $player $daemon; do wait "$pid" 2>/dev/null || true; done
	rig_cleanup
	rm -rf "$work"
}
trap end EXIT

nas_real() {
	say "a NAS with a real md driver is started (virtual machine, five disks)"
	rig_build
	RIG_DISKS=5 RIG_DISK_MIB=420 RIG_BPS=16000000 rig_start
	rig_known_hosts "$work/known_hosts"
	cp "$(rig_key)" "$work/key"; chmod 600 "$work/key"
	say "a RAID 6 on it loses a disk, and a new one is put in: the rebuild starts"
	rig_make_raid6
	rig_fail_and_readd vdc
	rig_mdstat
	nas="{ name = \"nas1\"; via = \"ssh\"; host = \"127.0.0.1\"; port = $(rig_port); user = \"watch\"; key_file = \"$work/key\"; known_hosts = \"$work/known_hosts\"; }"
}

nas_recorded() {
	say "no virtual machine here ($reason): a recorded rebuild is played instead"
	mkdir "$work/root"
	"$B/tools/replay-nas" --hold tests/golden/readings/rebuild.txt "$work/root" >"$work/player.log" 2>&1 &
	player=$!
	for _ in $(seq 300); do grep -q recovery "$work/root/proc/mdstat" 2>/dev/null && break; sleep 0.1; done
	cat "$work/root/proc/mdstat"
	nas="{ name = \"nas1\"; via = \"local\"; root = \"$work/root\"; }"
}

if [ -z "$reason" ]; then nas_real; else nas_recorded; fi

# The shipped policy; only its waits after a rebuild (10 minutes settle, 1 minute between releases) are cut short here.
cat >"$work/policy.conf" <<EOF
@include "$PWD/policy/protect-rebuild.conf"
defaults = { settle = "5s"; release_interval = "1s"; };
EOF
cat >"$work/rebuildgate.conf" <<EOF
node = "pve1";
socket = "$work/gate.sock"; socket_group = "$(id -gn)";
database = "$work/record.db"; spill = "$work/spill";
policy = "$work/policy.conf";
poll = "2s"; idle_poll = "4s";
nas = ( $nas );
storages = ( { name = "nas-backup"; nas = "nas1"; } );
EOF
printf 'gate = "%s";\n' "$work/gate.sock" >"$work/hook.conf"

say "the daemon starts with the shipped policy (policy/protect-rebuild.conf)"
"$B/rebuildgated" --config "$work/rebuildgate.conf" 2>"$work/daemon.log" &
daemon=$!
for _ in $(seq 100); do
	[ -S "$work/gate.sock" ] && break
	kill -0 "$daemon" 2>/dev/null || { cat "$work/daemon.log" >&2; exit 1; }
	sleep 0.1
done
sed 's/^/    /' "$work/daemon.log"
show status

say "vzdump starts a job for two guests: its task log, as it grows"
: >"$work/task.log"
tests/fakes/vzdump.pl run --hook "$B/rebuildgate-vzdump" --log "$work/task.log" --pidfile "$work/vzdump.pid" \
	--storage nas-backup --guest 101:qemu:snapshot:web --guest 102:lxc:snapshot:mail \
	--env REBUILDGATE_HOOK_CONF="$work/hook.conf" --env REBUILDGATE_HOOK_ROOT="$work" >"$work/vzdump.out" 2>&1 &
job=$!
seen=0 last=0
while kill -0 "$job" 2>/dev/null; do
	lines=$(wc -l <"$work/task.log")
	if [ "$lines" -gt "$seen" ]; then
		sed -n "$((seen + 1)),${lines}s/^/    task log | /p" "$work/task.log"
		seen=$lines
	fi
	if [ $((SECONDS - last)) -ge 8 ]; then
		last=$SECONDS
		"$B/rebuildgate" --socket "$work/gate.sock" status --output-format json >"$work/status.json" 2>/dev/null || true
		jq -r '.nas[0].arrays[] | select(.name == "md2") | "    nas1      | md2 \(.operation) \((.progress_ppm // 0) / 1000 | floor / 10) %, \((.rate // 0) / 1000000 | floor) MB/s, \(.health)"' "$work/status.json" 2>/dev/null || true
	fi
	sleep 0.3
done
wait "$job" && result=0 || result=$?
job=''
sed -n "$((seen + 1)),\$s/^/    task log | /p" "$work/task.log"
[ "$result" -eq 0 ] || { echo "the job failed, exit status $result:"; cat "$work/vzdump.out"; exit 1; }

say "afterwards: what is, what was decided, and why"
show status
echo; show log
first=$("$B/rebuildgate" --socket "$work/gate.sock" log --output-format json | jq -r 'map(select(.verdict == "hold")) | first | .id')
echo; show explain "$first"
echo; show log verify --database "$work/record.db"
echo; show replay --database "$work/record.db"
[ "$first" != null ] || { echo "the job was not held: that was not meant" >&2; exit 1; }
say "done in $SECONDS s; everything that was started is stopped again"
