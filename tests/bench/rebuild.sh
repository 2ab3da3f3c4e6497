#!/bin/bash
# SPDX-License-Identifier: MIT
# `make bench-rebuild`: on one rig in one run, how long a rebuild takes (a) undisturbed, (b) beside a buffered writer that nobody
# gates, (c) with the same writer behind the gate; and when rebuild and backup are both done. MIB: what the writer writes.
set -euo pipefail
cd "$(dirname "$0")/../.."
B=$(realpath "${BUILD:-build}")
mib=${MIB:-300} disk_mib=${DISK_MIB:-512} bps=${BPS:-20000000}

# shellcheck source=tests/rig/lib.sh
. tests/rig/lib.sh
reason=$(rig_available) || { echo "no virtual machine can be started here: $reason"; exit 1; }
bash tests/deps.sh rig
work=$(mktemp -d "${TMPDIR:-/tmp}/rebuildgate-bench.XXXXXX")
gate='' writer=''
end() {
	trap '' INT TERM
	for pid in $writer $gate; do kill "$pid" 2>/dev/null || true; wait "$pid" 2>/dev/null || true; done
	rig_cleanup; rm -rf "$work"
}
trap end EXIT

now() { date +%s.%N; }
since() { awk -v a="$1" -v b="$(now)" 'BEGIN {printf "%.1f", b - a}'; }

# One rebuild of a whole disk. $1: a command that writes, run in the background; "" for none. Sets rebuild_s, backup_s, total_s.
segment() {
	local began backup_done=''
	rig_ssh "echo idle >/sys/block/md2/md/sync_action" </dev/null
	rig_fail vdc
	began=$(now)
	rig_add vdc
	rm -f "$work/backup"
	if [ -n "$1" ]; then
		(eval "$1" >"$work/writer.log" 2>&1; since "$began" >"$work/backup") &
		writer=$!
	fi
	rig_ssh 'until grep -q "\[5/5\]" /proc/mdstat && ! grep -qE "recovery|resync" /proc/mdstat; do sleep 0.2; done' </dev/null
	rebuild_s=$(since "$began")
	if [ -n "$1" ]; then wait "$writer"; writer=''; backup_done=$(cat "$work/backup"); fi
	backup_s=${backup_done:--}
	total_s=$(since "$began")
}

rig_build
RIG_DISKS=5 RIG_DISK_MIB=$disk_mib RIG_BPS=$bps rig_start
rig_known_hosts "$work/known_hosts"
cp "$(rig_key)" "$work/key"; chmod 600 "$work/key"
rig_make_raid6

cat >"$work/policy.conf" <<EOF
@include "$PWD/policy/protect-rebuild.conf"
defaults = { settle = "2s"; release_interval = "1s"; };
EOF
cat >"$work/gate.conf" <<EOF
socket = "$work/sock"; socket_group = "$(id -gn)"; database = "$work/record.db"; spill = "$work/spill";
policy = "$work/policy.conf"; poll = "2s"; idle_poll = "5s";
nas = ( { name = "nas1"; via = "ssh"; host = "127.0.0.1"; port = $(rig_port); user = "watch"; key_file = "$work/key"; known_hosts = "$work/known_hosts"; } );
storages = ( { name = "nas-backup"; nas = "nas1"; } );
EOF
"$B/rebuildgated" --config "$work/gate.conf" 2>"$work/gate.log" &
gate=$!
for _ in $(seq 100); do "$B/rebuildgate" --socket "$work/sock" status >/dev/null 2>&1 && break; sleep 0.1; done

write="rig_write_buffered $mib"
gated="sleep 3; $B/rebuildgate --socket $work/sock run --storage nas-backup -- $work/write"
# `run` gates a command of its own, so the writer is one: the same login, the same program in the NAS.
cat >"$work/write" <<EOF
#!/bin/bash
exec ssh -F none -i $(rig_key) -p $(rig_port) -T -o BatchMode=yes -o IdentitiesOnly=yes -o StrictHostKeyChecking=yes \
	-o UserKnownHostsFile=$work/known_hosts -o GlobalKnownHostsFile=/dev/null -o LogLevel=ERROR -o ControlPath=none root@127.0.0.1 \
	load write buffered /dev/md2 total=$mib </dev/null
EOF
chmod +x "$work/write"

echo "RAID 6 of five disks of $disk_mib MiB at $((bps / 1000000)) MB/s each; the writer writes $mib MiB through the page cache, beginning 3 s after the rebuild"
printf '%-46s %10s %10s %10s %8s\n' "" "rebuild" "backup" "both done" "rebuild"
segment ''; first=$rebuild_s
printf '%-46s %8s s %10s %8s s %8s\n' "(a) rebuild alone" "$rebuild_s" - "$total_s" 1
segment "sleep 3; $write"; ungated=$rebuild_s
printf '%-46s %8s s %8s s %8s s %6s x\n' "(b) beside an ungated writer" "$rebuild_s" "$backup_s" "$total_s" "$(awk -v a="$first" -v b="$ungated" 'BEGIN {printf "%.2f", b / a}')"
segment "$gated"; behind=$rebuild_s
printf '%-46s %8s s %8s s %8s s %6s x\n' "(c) with the writer behind the gate" "$rebuild_s" "$backup_s" "$total_s" "$(awk -v a="$first" -v b="$behind" 'BEGIN {printf "%.2f", b / a}')"
segment ''; last=$rebuild_s
printf '%-46s %8s s %10s %8s s %6s x\n' "(a) again" "$rebuild_s" - "$total_s" "$(awk -v a="$first" -v b="$last" 'BEGIN {printf "%.2f", b / a}')"
"$B/rebuildgate" --socket "$work/sock" log | sed 's/^/    /'
limit=$(awk -v a="$first" -v b="$last" 'BEGIN {printf "%.2f", 1.05 * (a > b ? a : b)}')
if awk -v c="$behind" -v l="$limit" 'BEGIN {exit !(c <= l)}'; then
	echo "(c) is within 1.05 times the slower of the two (a): $behind s <= $limit s"
else
	echo "(c) took more than 1.05 times the slower of the two (a): $behind s > $limit s"; exit 1
fi
