#!/bin/bash
# SPDX-License-Identifier: MIT
# `make bench`: what a decision, the hook and a query cost, as ratios to yardsticks measured in the same run.
# DECISIONS=1000000 sets how large the record for the queries is.
set -euo pipefail
cd "$(dirname "$0")/../.."
B=$(realpath "${BUILD:-build}")
decisions=${DECISIONS:-1000000}
work=$(mktemp -d "${TMPDIR:-/tmp}/rebuildgate-bench.XXXXXX")
pids=()
end() { trap '' INT TERM; for p in "${pids[@]}"; do kill "$p" 2>/dev/null || true; wait "$p" 2>/dev/null || true; done; rm -rf "$work"; }
trap end EXIT; trap 'exit 130' INT TERM

row() { printf '%-58s %14s   %s\n' "$1" "$2" "${3-}"; }
ms() { awk -v us="$1" 'BEGIN {printf us < 10000 ? "%.2f ms" : "%.1f ms", us / 1000}'; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN {printf "%.1f", a / b}'; }

nas_root() { # nas_root FOLDER: an idle NAS with one RAID 6
	mkdir -p "$1/proc" "$1/sys/block/md2/md"
	printf 'Personalities : [raid6] [raid5] [raid4] \nmd2 : active raid6 sde[4] sdd[3] sdc[2] sdb[1] sda[0]\n      11718750720 blocks super 1.2 level 6, 512k chunk, algorithm 2 [5/5] [UUUUU]\n      \nunused devices: <none>\n' >"$1/proc/mdstat"
	printf '   9       2 md2 100 0 8000 0 100 0 8000 0 0 0 0\n' >"$1/proc/diskstats"
	echo '0.10 0.10 0.10 1/100 1000' >"$1/proc/loadavg"
	echo idle >"$1/sys/block/md2/md/sync_action"; echo 0 >"$1/sys/block/md2/md/degraded"
}

gate_start() { # gate_start NAME N_NAS [DATABASE]
	local i dir=$work/$1 nas='' storages=''
	mkdir -p "$dir"
	for i in $(seq "$2"); do
		nas_root "$dir/nas$i"
		nas+="${nas:+, }{ name = \"nas$i\"; via = \"local\"; root = \"$dir/nas$i\"; }"
		storages+="${storages:+, }{ name = \"backup$i\"; nas = \"nas$i\"; }"
	done
	cat >"$dir/gate.conf" <<EOF
socket = "$dir/sock"; socket_group = "$(id -gn)"; database = "${3:-$dir/record.db}"; spill = "$dir/spill";
policy = "$PWD/policy/protect-rebuild.conf";
nas = ( $nas );
storages = ( $storages );
EOF
	"$B/rebuildgated" --config "$dir/gate.conf" 2>"$dir/log" &
	gate=$!; pids+=("$gate")
	for _ in $(seq 600); do
		"$B/rebuildgate" --socket "$dir/sock" status >/dev/null 2>&1 && return
		kill -0 "$gate" 2>/dev/null || break
		sleep 0.1
	done
	cat "$dir/log" >&2; return 1
}

cpu_ticks() { awk '{print $14 + $15}' "/proc/$1/stat"; }
children() { cat "/proc/$1/task/$1/children"; }

echo "machine: $(nproc) cores, $(awk '$1 == "MemTotal:" {printf "%.0f GiB", $2 / 1048576}' /proc/meminfo), $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1)"
row "what" "figure" "ratio"

read -r _ sync50 sync99 _ < <("$B/tools/bench" sync "$work/yardstick" 500)
row "yardstick: 4 KiB appended and synced, p50 / p99" "$(ms "$sync50") / $(ms "$sync99")" "1"
read -r _ true50 _ _ < <("$B/tools/bench" spawn 300 -- /bin/true)
row "yardstick: /bin/true started and reaped, p50" "$(ms "$true50")" "1"

gate_start one 1
# Idle: a poll each minute. Counted over a while in which nobody asks; the ticks are hundredths of a second.
sleep 3
before=$(cpu_ticks "$gate"); for c in $(children "$gate"); do before=$((before + $(cpu_ticks "$c"))); done
began=$SECONDS; sleep "${IDLE_SECONDS:-60}"; took=$((SECONDS - began))
after=$(cpu_ticks "$gate"); for c in $(children "$gate"); do after=$((after + $(cpu_ticks "$c"))); done
row "idle memory: daemon, RSS (its own part, without libraries)" "$(awk '$1 == "VmRSS:" {printf "%.1f MiB", $2 / 1024}' "/proc/$gate/status")" "$(awk '$1 == "RssAnon:" {printf "%.1f MiB", $2 / 1024}' "/proc/$gate/status"); aim: under 16 MiB"
for c in $(children "$gate"); do
	row "idle memory: its probe child (RSS, mostly shared)" "$(awk '$1 == "VmRSS:" {printf "%.1f MiB", $2 / 1024}' "/proc/$c/status")"
done
row "idle CPU with one NAS, daemon and probe" "$(awk -v t=$((after - before)) -v s="$took" -v hz="$(getconf CLK_TCK)" 'BEGIN {printf "%.3f %%", 100 * t / hz / s}')" "aim: under 0.2 % of a core"

read -r _ ask50 ask99 _ < <("$B/tools/bench" ask "$work/one/sock" backup1 2000)
row "a decision asked, recorded durably, answered, p50" "$(ms "$ask50")" "$(ratio "$ask50" "$sync50") x a sync"
row "the same, p99" "$(ms "$ask99")" "$(ratio "$ask99" "$sync99") x a sync's p99"

printf 'gate = "%s";\n' "$work/one/sock" >"$work/hook.conf"
cat >"$work/hook" <<EOF
#!/bin/sh
exec env -i LC_ALL=C STOREID=backup1 REBUILDGATE_HOOK_CONF=$work/hook.conf REBUILDGATE_HOOK_ROOT=$work $B/rebuildgate-vzdump "\$@"
EOF
chmod +x "$work/hook"
read -r _ hook50 hook99 _ < <("$B/tools/bench" spawn 200 -- "$work/hook" backup-start snapshot 100)
row "the hook's whole time in backup-start, gate open, p50 / p99" "$(ms "$hook50") / $(ms "$hook99")" "$(ratio "$hook50" "$true50") x /bin/true"
read -r _ init50 _ _ < <("$B/tools/bench" spawn 50 -- "$work/hook" job-init)
row "the hook's whole time in job-init, gate open, p50" "$(ms "$init50")" "$(ratio "$init50" "$true50") x /bin/true"

gate_start fifty 50
read -r _ st50 _ _ < <("$B/tools/bench" get "$work/fifty/sock" /v1/status 50)
read -r _ st1 _ _ < <("$B/tools/bench" get "$work/one/sock" /v1/status 50)
row "status with 1 NAS, p50" "$(ms "$st1")" "1"
row "status with 50 NAS, p50" "$(ms "$st50")" "$(ratio "$st50" "$st1") x one NAS"

cp tests/golden/readings/rebuild.txt "$work/recording"
awk '/^@/ {n++; next} n == 5' "$work/recording" | awk '/^#rg/ {exit} {print}' >"$work/mdstat"
read -r rate looks < <("$B/tools/bench" parse "$work/mdstat" 2000)
row "parser throughput" "$(awk -v r="$rate" 'BEGIN {printf "%.0f MB/s", r / 1e6}')" "$looks texts of $(stat -c %s "$work/mdstat") bytes each second"

"$B/tools/store-writer" fill "$work/large.db" "$decisions" >/dev/null
gate_start large 1 "$work/large.db"
newest=$("$B/rebuildgate" --socket "$work/large/sock" log --last 1 --output-format json)
filters=(
	"storage=$(jq -r '.[0].storage' <<<"$newest")"
	"node=$(jq -r '.[0].node' <<<"$newest")"
	"verdict=hold" "rule=rebuild" "guest=100" "ticket=1"
)
for f in "${filters[@]}"; do
	read -r _ log50 log99 _ < <("$B/tools/bench" get "$work/large/sock" "/v1/log?$f&limit=50" 50)
	row "log, 50 rows of $decisions decisions, ${f%%=*}: p50 / p99" "$(ms "$log50") / $(ms "$log99")" "aim: under 100 ms"
done
read -r _ alone50 alone99 _ < <("$B/tools/bench" ask "$work/large/sock" backup1 500)
"$B/tools/bench" get "$work/large/sock" "/v1/log?rule=no-such-rule&limit=500" 100000 >/dev/null 2>&1 &
reader=$!; pids+=("$reader")
read -r _ busy50 busy99 _ < <("$B/tools/bench" ask "$work/large/sock" backup1 500)
kill "$reader" 2>/dev/null || true
row "a decision in that record, p50 / p99" "$(ms "$alone50") / $(ms "$alone99")" "1"
row "the same while somebody queries without a pause, p50 / p99" "$(ms "$busy50") / $(ms "$busy99")" "$(ratio "$busy99" "$alone99") x its p99"
