# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# A NAS with levers, on top of gate-lib.sh: a real sshd on loopback, the real hooks/nas-levers on a folder that plays /sys and /proc, an array
# whose operation goes on as does() says. Skips the whole test without root or sshd.

# shellcheck source=tests/fakes/sshdlib.sh
. tests/fakes/sshdlib.sh

[ "$(id -u)" = 0 ] || skip_all 'needs root, for sshd'
lacks=$(sshd_lacks)
[ -z "$lacks" ] || skip_all "$lacks"

quiet() { "$@" >/dev/null 2>&1; }

# --- the NAS: an array whose rebuild moves, an sshd, two keys ------------------------------------------
nas_tree() {
	rm -rf "$NAS"
	mkdir -p "$NAS/proc" "$NAS/sys/block/md2/md" "$NAS/run"
	echo raid6 >"$NAS/sys/block/md2/md/level"
	echo 5 >"$NAS/sys/block/md2/md/raid_disks"
	echo '1000 (system)' >"$NAS/sys/block/md2/md/sync_speed_min"
	echo '200000 (system)' >"$NAS/sys/block/md2/md/sync_speed_max"
	echo 0 >"$NAS/sys/block/md2/md/sync_min"
	echo 524288 >"$NAS/sys/block/md2/md/chunk_size"
	echo 256 >"$NAS/sys/block/md2/md/stripe_cache_size"
	printf 'MemTotal:        4096000 kB\nMemFree:          12 kB\n' >"$NAS/proc/meminfo"
	echo '0.10 0.10 0.10 1/100 1' >"$NAS/proc/loadavg"
	cut -d' ' -f1 /proc/uptime >"$NAS/proc/uptime"
	mkdir -p "$NAS/proc/sys/kernel/random"
	cp /proc/sys/kernel/random/boot_id "$NAS/proc/sys/kernel/random/boot_id"
	does idle 0 0
}

# does OPERATION PACE WRITE [READ]: KiB/s, from now on.
does() {
	echo "$1 $2 $3 ${4:-0}" >"$SCRATCH/does.new" && mv "$SCRATCH/does.new" "$SCRATCH/does"
}

cat >"$SCRATCH/nas.py" <<'PY'
import os, sys, time
nas, does = sys.argv[1], sys.argv[2]
done, written, read, total, last, was = 200e6, 0.0, 4000.0, 1951945536, time.monotonic(), ""
md = nas + "/sys/block/md2/md/"
def put(path, text):
    try:
        with open(path + ".new", "w") as f:
            f.write(text)
        os.replace(path + ".new", path)
    except OSError:
        pass
while os.getppid() != 1:
    operation, rate, write, reads = open(does).read().split()
    now = time.monotonic()
    read += float(reads) * (now - last)
    done, written, last = done + float(rate) * (now - last), written + float(write) * (now - last), now
    if operation != was:
        put(md + "sync_action", "recover\n" if operation == "recovery" else operation + "\n")
        was = operation
    try:
        action = open(md + "sync_action").read().strip()
    except OSError:
        action = "idle"
    put(md + "degraded", "1\n" if operation == "recovery" else "0\n")
    line = "" if action == "idle" else "      [==>..................]  %s = %4.1f%% (%d/%d) finish=527.0min speed=%dK/sec\n" % (
        operation, done * 100 / total, done, total, float(rate))
    put(nas + "/proc/diskstats", "   9       2 md2 %d 0 %d 0 %d 0 %d 0 0 0 0 0 0 0 0 0 0\n" % (read / 4, read * 2, written / 64, written * 2))
    put(nas + "/proc/mdstat", """Personalities : [raid6] [raid5] [raid4] 
md2 : active raid6 sdf1[5] sdd1[3] sdc1[2] sdb1[1] sda1[0]
      5855836608 blocks super 1.2 level 6, 64k chunk, algorithm 2 [5/%s] [UUUU%s]
%s      
unused devices: <none>
""" % (("4", "_", line) if operation == "recovery" else ("5", "U", line)))
    time.sleep(0.2)
PY

cat >"$SCRATCH/look" <<LOOK
cd $NAS
cat proc/mdstat || exit 1
echo '#rg diskstats'; cat proc/diskstats
echo '#rg loadavg'; cat proc/loadavg
echo '#rg md md2'
for a in sync_action degraded sync_speed_min sync_speed_max; do read -r v <sys/block/md2/md/\$a && echo "\$a=\$v"; done
echo '#rg end'
LOOK

# What md makes of what is written into its files.
cat >"$SCRATCH/kernel" <<'KERNEL'
case $1:$2 in
*/sync_speed_min:system) echo '1000 (system)' >"$1" ;;
*/sync_speed_min:*) echo "$2 (local)" >"$1" ;;
*) echo "$2" >"$1" ;;
esac
KERNEL
sed -e "s|^root=\$|root=$NAS|" -e "s|^\t{ echo \"\$2\" >\"\$1\"; } 2>/dev/null\$|\tsh $SCRATCH/kernel \"\$1\" \"\$2\" 2>/dev/null|" \
	hooks/nas-levers >"$SCRATCH/nas-levers"
[ "$(diff hooks/nas-levers "$SCRATCH/nas-levers" | grep -c '^>')" = 2 ] || { echo 'Bail out! hooks/nas-levers is other than this test thinks'; exit 1; }
sshd_make "$SCRATCH/ssh"
sshd_key probe "sh $SCRATCH/look"
sshd_key levers "sh $SCRATCH/nas-levers"
sshd_start
STARTED+=("$SSHD_PID")

# nas_conf PAUSE_CHECK [SETTINGS]: the gate's configuration with this NAS.
nas_conf() {
	local pause=$1
	shift
	conf_write "$@"
	python3 - "$CONF" "$NAS" "$SSHD_DIR" "$SSHD_PORT" "$(id -un)" "$pause" <<-'PY'
	import sys
	conf, nas, ssh, port, me, pause = sys.argv[1:]
	text = open(conf).read().replace('{ name = "nas1"; via = "local"; root = "%s"; }' % nas,
	    '{ name = "nas1"; host = "127.0.0.1"; port = %s; user = "%s"; key_file = "%s/key-probe"; known_hosts = "%s/known_hosts"; '
	    'levers = { user = "%s"; key_file = "%s/key-levers"; stripe_cache = true; pause_check = %s; }; }' % (port, me, ssh, ssh, me, ssh, pause))
	open(conf, "w").write(text)
	PY
}

floor() { cat "$NAS/sys/block/md2/md/sync_speed_min"; }
floor_set() { [[ "$(floor)" != '1000 (system)' && "$(floor)" != system && "$(floor)" != '1000' ]]; }
floor_free() { ! floor_set; }
action_is() { [ "$(cat "$NAS/sys/block/md2/md/sync_action")" = "$1" ]; }
knows() { # the undisturbed pace is known
	api GET /v1/status
	[ "$(get 'a["nas"][0]["arrays"][0]["baseline"] is not None')" = true ]
}

nas_tree
python3 "$SCRATCH/nas.py" "$NAS" "$SCRATCH/does" &
STARTED+=("$!")
wait_for 10 test -s "$NAS/proc/mdstat"
