# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# The rig for bash: starts NAS machines with a real md driver and does to their arrays what happens to real ones.
#
#   . tests/rig/lib.sh        (first: it sets the EXIT, INT and TERM traps; a caller's own EXIT trap calls rig_cleanup)
#   reason=$(rig_available) || { echo "1..0 # SKIP $reason"; exit 0; }
#   rig_build && rig_start && rig_make_raid6 && rig_fail_and_readd vdc && rig_wait_idle
#
# A function returns non-zero after one sentence on stderr. `rig_start` belongs in the main shell, never in $( ) or a
# pipe: a machine dies with the shell that started it, even one that was killed with -9. Several machines run side by
# side: `rig_nas NAME` chooses the one that all other functions mean (nas1 unless said). ARRAY is md2 unless said, DISK
# a name as vdc. Only processes that were started here are signalled, by pid.
#
# Settings, read by rig_start and rig_restart:  RIG_DISKS 6, RIG_DISK_MIB 256, RIG_BPS 20000000 (bytes/s of each disk, 0 = no limit),
#   RIG_DISKS_KIND plain (only RIG_BPS slows them) or seek (tests/rig/hdd.c: a spindle), RIG_SEEK_MS 8 (of one jump),
#   RIG_DISK_CACHE_KIB 8192 (write-back cache of a disk that seeks),
#   RIG_HOSTKEY 1 (or 2: the NAS shows its other host key), RIG_ACCEL tcg,thread=multi, RIG_BOOT_TIMEOUT 120 (s)
# and elsewhere: RIG_CACHE build/rig, RIG_SSH_TIMEOUT 120 (s), RIG_DISABLE (a reason for rig_available to say no).

RIG_HOME=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
RIG_CACHE=${RIG_CACHE:-$(cd "$RIG_HOME/../.." && pwd)/build/rig}
RIG_NAS=nas1
RIG_SCRATCH=
RIG_STARTED=()
declare -A RIG_STREAMS=()
RIG_STREAM_BY=()

rig_say() {
	printf 'rig: %s\n' "$1" >&2
	return 1
}

# --- the machine -----------------------------------------------------------------------------------------------------

# rig_available: 0, or 1 after printing (on stdout) why no machine can be started here.
rig_available() {
	if [ -n "${RIG_DISABLE:-}" ]; then
		echo "virtual machines are switched off: $RIG_DISABLE"
	elif [ "$(uname -s) $(uname -m)" != "Linux x86_64" ]; then
		echo "the rig's machine needs Linux on x86_64, this is $(uname -s) on $(uname -m)"
	elif ! command -v apt-get >/dev/null; then
		echo "the rig is made from Debian's packages, and there is no apt-get here"
	elif [ "$(awk '$1 == "MemAvailable:" { print int($2 / 1024) }' /proc/meminfo)" -lt 700 ]; then
		echo "the rig's machine needs 700 MiB of free memory"
	elif ! command -v qemu-system-x86_64 >/dev/null && [ -n "${RIG_NO_INSTALL:-}" ]; then
		echo "qemu-system-x86_64 is not installed and RIG_NO_INSTALL is set (package qemu-system-x86)"
	elif ! command -v qemu-system-x86_64 >/dev/null && [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
		echo "qemu-system-x86_64 is not installed, and only root or sudo could install it (package qemu-system-x86)"
	else
		return 0
	fi
	return 1
}

# rig_build: makes what machines boot from, once.
rig_build() {
	"$RIG_HOME/build.sh" "$RIG_CACHE"
}

# rig_nas NAME: the machine that the functions after it mean.
rig_nas() {
	RIG_NAS=$1
}

# rig_dir: the folder of the machine: disks, console (serial log), logins (the SSH server's log), port, pid.
rig_dir() {
	[ -n "$RIG_SCRATCH" ] || { rig_say "no machine was started yet" || return; }
	echo "$RIG_SCRATCH/$RIG_NAS"
}

rig_port() {
	cat "$RIG_SCRATCH/$RIG_NAS/port"
}

rig_pid() {
	cat "$RIG_SCRATCH/$RIG_NAS/pid"
}

# rig_alive: whether the machine's process runs. Its folder stands in its command line, so no other process is meant.
rig_alive() {
	local pid
	pid=$(rig_pid 2>/dev/null) && grep -qaF "$RIG_SCRATCH/$RIG_NAS/console" "/proc/$pid/cmdline" 2>/dev/null
}

rig_free_port() {
	local port
	for _ in $(seq 50); do
		port=$((20000 + RANDOM % 10000))
		(exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port" && return; }
	done
	rig_say "found no free port"
}

# rig_start [PORT]: a new machine with empty disks; SSH on 127.0.0.1:PORT (a free one unless said) when it returns.
rig_start() {
	local dir i
	[ -n "$RIG_SCRATCH" ] || RIG_SCRATCH=$(mktemp -d "${TMPDIR:-/tmp}/rig.XXXXXX") || return
	dir=$RIG_SCRATCH/$RIG_NAS
	! rig_alive || { rig_say "$RIG_NAS runs already" || return; }
	rm -rf "$dir"
	mkdir -p "$dir" || return
	for i in $(seq "${RIG_DISKS:-6}"); do
		truncate -s "${RIG_DISK_MIB:-256}M" "$dir/disk$i" || return
	done
	: >"$dir/arrays"
	: >"$dir/logins"
	RIG_STARTED+=("$RIG_NAS")
	# Somebody else may take a port before QEMU does.
	for _ in 1 2 3; do
		for i in '' .buffered .direct .dsync; do
			rig_free_port >"$dir/port$i" || return
		done
		[ -z "${1:-}" ] || echo "$1" >"$dir/port"
		! rig_boot || return 0
		grep -q 'Could not set up host forwarding' "$dir/qemu.log" || return 1
	done
	return 1
}

# rig_spindles: the server of the machine's disks, where they are to seek; RIG_DRIVES is what QEMU is told of each disk.
rig_spindles() {
	local dir=$RIG_SCRATCH/$RIG_NAS disk sockets=()
	RIG_DRIVES=()
	for disk in "$dir"/disk[0-9] "$dir"/disk[0-9][0-9]; do
		[ -e "$disk" ] || continue
		sockets+=("$dir/sock${disk##*/disk}=$disk")
		case ${RIG_DISKS_KIND:-plain} in
		plain) RIG_DRIVES+=("file=$disk,cache=unsafe,discard=unmap,detect-zeroes=unmap,throttling.bps-total=${RIG_BPS:-20000000}") ;;
		seek) RIG_DRIVES+=("file.driver=nbd,file.server.type=unix,file.server.path=$dir/sock${disk##*/disk},cache=writeback") ;;
		*) rig_say "RIG_DISKS_KIND is plain or seek, not $RIG_DISKS_KIND" || return ;;
		esac
	done
	[ "${RIG_DISKS_KIND:-plain}" = seek ] || return 0
	setpriv --pdeathsig KILL "$RIG_CACHE/hdd" "rate=${RIG_BPS:-20000000}" "seek=$((${RIG_SEEK_MS:-8} * 1000))" \
		"cache=${RIG_DISK_CACHE_KIB:-8192}" "${sockets[@]}" </dev/null >"$dir/hdd.log" 2>&1 &
	echo "$!" >"$dir/hdd.pid"
	disown "$!"
	for _ in $(seq 50); do
		! grep -q '^ready' "$dir/hdd.log" || return 0
		sleep 0.1
	done
	rig_say "the disks of $RIG_NAS do not listen: $(tail -n 1 "$dir/hdd.log")"
}

# rig_spindles_end: no disks without the machine.
rig_spindles_end() {
	local dir=$RIG_SCRATCH/$RIG_NAS pid
	pid=$(cat "$dir/hdd.pid" 2>/dev/null) || return 0
	while grep -qaF "$dir/sock" "/proc/$pid/cmdline" 2>/dev/null; do
		kill -KILL "$pid"
		sleep 0.1
	done
	rm -f "$dir/hdd.pid"
}

# rig_boot: the process itself, on the disks and the port that the folder has.
rig_boot() {
	local dir=$RIG_SCRATCH/$RIG_NAS drive n=0 pid drives=() mode forward=
	rig_spindles_end
	rig_spindles || return
	for drive in "${RIG_DRIVES[@]}"; do
		n=$((n + 1))
		drives+=(-drive "$drive,format=raw,if=none,id=d$n" -device "virtio-blk-pci,drive=d$n")
	done
	for mode in buffered direct dsync; do
		forward+=",hostfwd=tcp:127.0.0.1:$(rig_sink_port $mode)-:$(rig_sink_inner $mode)"
	done
	rm -f "$dir/console" "$dir/control"
	rig_known_hosts "$dir/known_hosts" || return
	setpriv --pdeathsig KILL qemu-system-x86_64 -accel "${RIG_ACCEL:-tcg,thread=multi}" -m 320 -smp 2 \
		-nodefaults -no-user-config -display none -no-reboot \
		-serial "file:$dir/console" -chardev "file,id=logins,path=$dir/logins,append=on" -serial chardev:logins \
		-kernel "$RIG_CACHE/vmlinuz" -initrd "$RIG_CACHE/initrd.gz" \
		-append "console=ttyS0 quiet panic=-1 raid=noautodetect nowatchdog mitigations=off rig.hostkey=${RIG_HOSTKEY:-1}" \
		"${drives[@]}" \
		-netdev "user,id=n0,restrict=on,hostfwd=tcp:127.0.0.1:$(rig_port)-:22$forward" \
		-device virtio-net-pci,netdev=n0,romfile= </dev/null >"$dir/qemu.log" 2>&1 &
	pid=$!
	disown "$pid"
	echo "$pid" >"$dir/pid"
	for _ in $(seq $((${RIG_BOOT_TIMEOUT:-120} * 5))); do
		if grep -q RIG-READY "$dir/console" 2>/dev/null; then
			rig_ssh_open
			return
		fi
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.2
	done
	rig_say "$RIG_NAS did not come up: $(tail -qn 1 "$dir/qemu.log" "$dir/console" 2>/dev/null | tail -n 1)"
}

# rig_end SIGNAL: ends the machine's process and waits until it is gone.
rig_end() {
	local pid
	rig_alive || { rig_spindles_end; return 0; }
	pid=$(rig_pid)
	kill "-$1" "$pid"
	kill -CONT "$pid" 2>/dev/null || :
	for _ in $(seq 50); do
		rig_alive || break
		sleep 0.1
	done
	! rig_alive || kill -KILL "$pid"
	while rig_alive; do
		sleep 0.1
	done
	rig_spindles_end
	rm -f "$RIG_SCRATCH/$RIG_NAS/pid"
}

# rig_stop: switches the machine off. rig_kill: as a power cut, kill -9.
rig_stop() {
	rig_end TERM
}

rig_kill() {
	rig_end KILL
}

# rig_restart: off (as a power cut if it still runs) and on again: same port, same disks, same host key unless
# RIG_HOSTKEY says otherwise; the arrays made by this library are assembled again.
rig_restart() {
	local dir=$RIG_SCRATCH/$RIG_NAS array uuid
	rig_end KILL
	rig_boot || return
	while read -r array uuid; do
		rig_ssh "mdadm --assemble /dev/$array --uuid=$uuid --run -q" </dev/null || return
	done <"$dir/arrays"
}

# rig_pause, rig_resume: the machine hangs (SIGSTOP) and goes on: connections stay, nothing answers.
rig_pause() {
	rig_alive && kill -STOP "$(rig_pid)"
}

rig_resume() {
	rig_alive && kill -CONT "$(rig_pid)"
}

# rig_cleanup: ends all machines and streams that this shell started and removes their folders.
rig_cleanup() {
	local nas name
	for name in "${!RIG_STREAMS[@]}"; do
		kill -TERM "${RIG_STREAMS[$name]}" 2>/dev/null
	done
	RIG_STREAMS=()
	for nas in "${RIG_STARTED[@]}"; do
		rig_nas "$nas"
		rig_end KILL
	done
	RIG_STARTED=()
	[ -z "$RIG_SCRATCH" ] || rm -rf "$RIG_SCRATCH"
	RIG_SCRATCH=
}
trap rig_cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# --- SSH -------------------------------------------------------------------------------------------------------------

# rig_key: the path of the private key (0600) that root, watch and mdstat accept.
rig_key() {
	echo "$RIG_CACHE/id_ed25519"
}

# rig_known_hosts FILE [HOSTKEY]: writes the one line for [127.0.0.1]:PORT into FILE; known before the machine runs.
rig_known_hosts() {
	local key=$RIG_CACHE/host${2:-${RIG_HOSTKEY:-1}}.pub
	[ -s "$key" ] || { rig_say "no host key $key: run rig_build first" || return; }
	printf '[127.0.0.1]:%s %s\n' "$(rig_port)" "$(cat "$key")" >"$1"
}

rig_ssh_options() {
	local dir=$RIG_SCRATCH/$RIG_NAS
	RIG_SSH_OPTIONS=(-F none -i "$(rig_key)" -p "$(rig_port)" -T -o BatchMode=yes -o IdentitiesOnly=yes
		-o StrictHostKeyChecking=yes -o "UserKnownHostsFile=$dir/known_hosts" -o GlobalKnownHostsFile=/dev/null
		-o LogLevel=ERROR -o ConnectTimeout=20)
}

# One login that all of rig_ssh shares. It ends with the machine: its connection does.
rig_ssh_open() {
	local dir=$RIG_SCRATCH/$RIG_NAS
	rig_ssh_options
	timeout 60 ssh "${RIG_SSH_OPTIONS[@]}" -o ControlMaster=yes -o "ControlPath=$dir/control" -f -N root@127.0.0.1 \
		</dev/null >/dev/null 2>"$dir/ssh.log" || rig_say "no SSH login to $RIG_NAS: $(tail -n 1 "$dir/ssh.log")"
}

# rig_ssh CMD...: as root, over the shared login. Exit status of CMD, 124 when it took longer than RIG_SSH_TIMEOUT.
rig_ssh() {
	rig_ssh_options
	timeout "${RIG_SSH_TIMEOUT:-120}" ssh "${RIG_SSH_OPTIONS[@]}" -o "ControlPath=$RIG_SCRATCH/$RIG_NAS/control" \
		root@127.0.0.1 "$@"
}

# rig_ssh_as USER CMD...: a login of its own. USER: root; watch, without privileges, as a gate should log in;
# mdstat, which gets `cat /proc/mdstat` whatever it asks for.
rig_ssh_as() {
	local user=$1
	shift
	rig_ssh_options
	timeout "${RIG_SSH_TIMEOUT:-120}" ssh "${RIG_SSH_OPTIONS[@]}" -o ControlPath=none "$user@127.0.0.1" "$@"
}

# rig_logins [USER]: how many SSH logins the machine has accepted since rig_start (all users without USER).
rig_logins() {
	grep -c "auth succeeded for '${1:-.*}'" "$RIG_SCRATCH/$RIG_NAS/logins"
}

# --- arrays ----------------------------------------------------------------------------------------------------------

# rig_mdstat: /proc/mdstat. rig_sysfs ATTRIBUTE [ARRAY]: one file of /sys/block/ARRAY/md.
rig_mdstat() {
	rig_ssh cat /proc/mdstat </dev/null
}

rig_sysfs() {
	rig_ssh cat "/sys/block/${2:-md2}/md/$1" </dev/null
}

# rig_done_kib [ARRAY]: md's done counter in KiB of the running operation, 0 when none runs.
rig_done_kib() {
	rig_mdstat | awk -v array="${1:-md2}" '
		/^md/ { mine = $1 == array }
		mine && match($0, /\([0-9]+\//) { done = substr($0, RSTART + 1, RLENGTH - 2) }
		END { print done + 0 }'
}

# rig_create ARRAY LEVEL DISKS [OPTION...]: mdadm --create; DISKS as "vda vdb" or "vda vdb missing".
# Without a bitmap, and clean unless OPTION says --no-assume-clean (then md starts a resync or recovery of its own).
rig_create() {
	local array=$1 level=$2 disks=$3 option options=(--assume-clean) device devices=() uuid
	shift 3
	for option in "$@"; do
		case $option in
		--no-assume-clean) unset 'options[0]' ;;
		*) options+=("$option") ;;
		esac
	done
	for device in $disks; do
		case $device in
		missing) devices+=(missing) ;;
		*) devices+=("/dev/$device") ;;
		esac
	done
	rig_mdadm "mdadm --create /dev/$array --quiet --level=$level --raid-devices=${#devices[@]} --bitmap=none --run \
		${options[*]} ${devices[*]}" || return
	uuid=$(rig_ssh "mdadm --detail --brief /dev/$array | sed 's/.*UUID=//; s/ .*//'" </dev/null) || return
	echo "$array $uuid" >>"$RIG_SCRATCH/$RIG_NAS/arrays"
}

# rig_make_raid6 [MIB]: md2 on five disks, vda to vde, clean; MIB of each disk (all of it unless said).
rig_make_raid6() {
	local size=()
	[ -z "${1:-}" ] || size=("--size=$(($1 * 1024))")
	rig_create md2 6 "vda vdb vdc vdd vde" "${size[@]}"
}

# rig_mdadm SCRIPT: a script of mdadm commands in the NAS; what they say on stderr is shown only when they fail.
rig_mdadm() {
	local log=$RIG_SCRATCH/$RIG_NAS/mdadm.log
	rig_ssh "$1" </dev/null 2>"$log" || rig_say "mdadm in $RIG_NAS: $(tail -n 1 "$log")"
}

# rig_fail DISK [ARRAY]: the disk fails and is taken out: degraded, nothing to rebuild onto.
rig_fail() {
	rig_mdadm "mdadm /dev/${2:-md2} --quiet --fail /dev/$1 &&
		for i in 1 2 3 4 5 6 7 8 9 10; do mdadm /dev/${2:-md2} --quiet --remove /dev/$1 && exit 0; sleep 0.2; done; exit 1"
}

# rig_add DISK [ARRAY]: an empty disk comes in: a spare, or, where a member is missing, the start of a recovery, which
# sysfs shows when this returns (md needs a moment in which sync_action still says idle).
rig_add() {
	local md=/sys/block/${2:-md2}/md
	rig_mdadm "mdadm --quiet --zero-superblock /dev/$1; mdadm /dev/${2:-md2} --quiet --add /dev/$1 || exit 1
		for i in \$(seq 50); do
			[ \$(cat $md/degraded) = 0 ] || [ \$(cat $md/sync_action) != idle ] && exit 0
			sleep 0.1
		done
		echo no recovery started on ${2:-md2} >&2; exit 1"
}

# rig_fail_and_readd DISK [ARRAY]: a rebuild of the whole disk starts.
rig_fail_and_readd() {
	rig_fail "$@" && rig_add "$@"
}

# rig_speed_limit KIB: the most KiB/s that any resync takes from a disk; stretches one to any length.
rig_speed_limit() {
	rig_ssh "sysctl -qw dev.raid.speed_limit_max=$1; [ $1 -ge 1000 ] && min=1000 || min=$1
		sysctl -qw dev.raid.speed_limit_min=\$min" </dev/null
}

# rig_action WORD [ARRAY]: writes sync_action. rig_check, rig_freeze, rig_unfreeze are the usual words.
rig_action() {
	rig_ssh "echo $1 >/sys/block/${2:-md2}/md/sync_action" </dev/null
}

rig_check() {
	rig_action check "${1:-md2}"
}

rig_freeze() {
	rig_action frozen "${1:-md2}"
}

rig_unfreeze() {
	rig_action idle "${1:-md2}"
}

# rig_reshape [DISK] [ARRAY]: one more member: DISK (vdf) is added and the array grows onto it.
rig_reshape() {
	local array=${2:-md2} disks
	rig_add "${1:-vdf}" "$array" || return
	disks=$(rig_sysfs raid_disks "$array") || return
	rig_mdadm "mdadm --grow /dev/$array --quiet --raid-devices=$((disks + 1)) --backup-file=/tmp/$array.grow"
}

# rig_second_array_delayed [MIB]: md2 and md3, RAID 6 on two partitions of the same five disks, both missing a member
# and both with a new one: md2 rebuilds, md3 shows resync=DELAYED until md2 is done. MIB of each partition (100).
rig_second_array_delayed() {
	local sectors=$((${1:-100} * 2048))
	rig_ssh "for disk in vda vdb vdc vdd vde; do
			printf '%s\n' n p 1 2048 $((2048 + sectors - 1)) n p 2 $((2048 + sectors)) $((2048 + 2 * sectors - 1)) w |
				fdisk /dev/\$disk >/dev/null 2>&1
			[ -b /dev/\${disk}2 ] || exit 1
		done" </dev/null || { rig_say "could not partition the disks" || return; }
	rig_create md2 6 "vda1 vdb1 vdc1 vdd1 vde1" || return
	rig_create md3 6 "vda2 vdb2 vdc2 vdd2 vde2" || return
	rig_fail_and_readd vdc1 md2 && rig_fail_and_readd vdc2 md3
}

# rig_wait_mdstat REGEX [SECONDS]: until /proc/mdstat has a line that matches the extended REGEX (60 s).
rig_wait_mdstat() {
	RIG_SSH_TIMEOUT=${2:-60} rig_ssh "until grep -Eq '$1' /proc/mdstat; do sleep 0.1; done" </dev/null ||
		rig_say "/proc/mdstat did not come to show $1 within ${2:-60} s"
}

# rig_wait_idle [SECONDS] [ARRAY]: until nothing runs, waits or is frozen on the array (600 s).
rig_wait_idle() {
	local md=/sys/block/${2:-md2}/md
	RIG_SSH_TIMEOUT=${1:-600} rig_ssh "until [ \"\$(cat $md/sync_action)\" = idle ]; do
			[ -e $md ] || exit 1
			sleep 0.2
		done" </dev/null || rig_say "${2:-md2} is not there, or was not idle within ${1:-600} s"
}

# --- clients' load ---------------------------------------------------------------------------------------------------

# rig_load write|read direct|buffered ARRAY [key=value...]: tests/rig/load.c in the NAS, until it ends.
rig_load() {
	local how="$1 $2" array=$3
	shift 3
	rig_ssh load "$how" "/dev/$array" "$@" </dev/null
}

# rig_write_buffered MIB [ARRAY] [key=value...]: writes so much through the page cache, and waits until it is on disk.
rig_write_buffered() {
	local mib=$1 array=${2:-md2}
	shift $(($# < 2 ? $# : 2))
	rig_load write buffered "$array" "total=$mib" "$@"
}

# rig_writer_start [ARRAY] [key=value...]: a buffered writer (`how="read direct"` and the like for another) that runs until
# rig_writer_stop, which returns when what it wrote is on disk and prints the writer's line: bytes=N ms=N.
rig_writer_start() {
	local array=${1:-md2}
	[ $# -eq 0 ] || shift
	rig_ssh "load ${how:-write buffered} /dev/$array $* >/run/writer.out 2>&1 & echo \$! >/run/writer.pid" </dev/null
}

rig_writer_stop() {
	# shellcheck disable=SC2016 # expanded in the NAS
	rig_ssh 'pid=$(cat /run/writer.pid) && kill $pid && while [ -e /proc/$pid ]; do sleep 0.1; done
		rm /run/writer.pid; cat /run/writer.out' </dev/null
}

# --- a backup over the network ---------------------------------------------------------------------------------------

# rig_sink_start [ARRAY] [MIB]: the machine takes TCP streams and writes them to the array, to its first MIB (1024), over and
# over (tests/rig/sink.c); rig_sink_port MODE is where they go: buffered (through the page cache), direct (one block outstanding) or dsync (each flushed too).
rig_sink_start() {
	local mode ports=
	for mode in buffered direct dsync; do
		ports+=" $(rig_sink_inner $mode)=$mode"
	done
	rig_ssh "sink /dev/${1:-md2} ${2:-1024} $ports >/run/sink.log 2>&1 & echo \$! >/run/sink.pid; sleep 0.2; kill -0 \$!" </dev/null ||
		rig_say "no sink in $RIG_NAS: $(rig_ssh cat /run/sink.log </dev/null)"
}

# shellcheck disable=SC2016 # expanded in the NAS
rig_sink_stop() {
	rig_ssh 'pid=$(cat /run/sink.pid) && kill $pid && while [ -e /proc/$pid ]; do sleep 0.1; done; rm /run/sink.pid' </dev/null
}

rig_sink_port() {
	cat "$RIG_SCRATCH/$RIG_NAS/port.${1:-buffered}"
}

# The port in the machine.
rig_sink_inner() {
	case $1 in
	buffered) echo 9001 ;;
	direct) echo 9002 ;;
	dsync) echo 9003 ;;
	esac
}

# rig_stream_start NAME PORT [key=value...]: a stream to 127.0.0.1:PORT until rig_stream_stop or until it is through;
# keys as tests/rig/send.py: rate=KIB, slice=S rest=S, total=MIB. In the main shell: it dies with the one that started it.
# RIG_STREAM_BY is the command that runs it, e.g. (rebuildgate run --storage nas --).
rig_stream_start() {
	local name=$1 port=$2
	shift 2
	echo '0 0' >"$RIG_SCRATCH/stream.$name"
	: >"$RIG_SCRATCH/stream.$name.out"
	setpriv --pdeathsig TERM "${RIG_STREAM_BY[@]}" python3 "$RIG_HOME/send.py" "127.0.0.1:$port" "account=$RIG_SCRATCH/stream.$name" "$@" \
		</dev/null >"$RIG_SCRATCH/stream.$name.out" 2>&1 &
	RIG_STREAMS[$name]=$!
}

# rig_stream_moved NAME: bytes that it has sent so far, and the milliseconds since it began.
rig_stream_moved() {
	cat "$RIG_SCRATCH/stream.$1"
}

# rig_stream_wait NAME: until it is through and what it sent is on disk; prints its line: bytes=N ms=N written=N. Fails when the
# connection broke. rig_stream_stop NAME: ends it first.
rig_stream_wait() {
	local out=$RIG_SCRATCH/stream.$1.out
	until grep -q '^bytes=' "$out" || ! rig_stream_runs "$1"; do
		sleep 0.1
	done
	cat "$out"
	grep -q '^bytes=.* written=[0-9]' "$out"
}

# rig_stream_runs NAME: whether its process does (one that has ended and was not waited for does not).
rig_stream_runs() {
	grep -q '^State:.[^Z]' "/proc/${RIG_STREAMS[$1]}/status" 2>/dev/null
}

rig_stream_stop() {
	kill -TERM "${RIG_STREAMS[$1]}" 2>/dev/null
	rig_stream_wait "$1"
}
