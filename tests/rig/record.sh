#!/bin/bash
# SPDX-License-Identifier: MIT
# Records what looks at a real NAS return while something happens to its arrays: the readings that tests of the tracker
# replay. tests/golden/readings/README.md says what each recording shows and what is true of it.
#
# usage: record.sh [NAME...]     (all scenarios unless named; BUILD names the build folder, READINGS the target)
#
# A recording is a sequence of readings: a line `@MS`, milliseconds of this machine's boot time when the look returned,
# then the look's whole output.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck disable=SC1091 source=tests/rig/lib.sh
. tests/rig/lib.sh

readings=${READINGS:-tests/golden/readings}
look=
name=

# --- taking readings -------------------------------------------------------------------------------------------------

take_reading() {
	local text up
	text=$(rig_ssh "$look" </dev/null) || text=
	read -r up _ </proc/uptime
	[ -n "$text" ] || return 0
	printf '@%d\n%s\n' "$((10#${up/./} * 10))" "$text" >>"$readings/$name.txt"
}

# readings N SECONDS: N readings, each SECONDS after the one before it.
readings() {
	for _ in $(seq "$1"); do
		take_reading
		sleep "$2"
	done
}

# readings_until_idle SECONDS [ARRAY]: as long as something runs or waits on the array, 60 at most.
readings_until_idle() {
	for _ in $(seq 60); do
		take_reading
		[ "$(rig_sysfs sync_action "${2:-md2}")" != idle ] || break
		sleep "$1"
	done
}

# --- scenarios: what happens, told in order --------------------------------------------------------------------------

scenario_rebuild() {
	rig_make_raid6
	readings 2 1
	rig_fail_and_readd vdc
	readings_until_idle 2
	readings 2 2
}

scenario_rebuild-write-wave() {
	rig_make_raid6
	rig_fail_and_readd vdc
	readings 6 1.5
	rig_writer_start md2 rate=20000
	readings 6 2
	rig_writer_stop >/dev/null
	readings_until_idle 2.5
	readings 1 2
}

scenario_rebuild-two-missing() {
	rig_make_raid6
	readings 1 1
	rig_fail vdb
	readings 2 1
	rig_fail vdd
	readings 2 1
	rig_add vdb
	rig_add vdd
	readings_until_idle 2
	readings 2 2
}

scenario_rebuild-restart() {
	rig_make_raid6
	rig_write_buffered 4 >/dev/null
	rig_fail_and_readd vdc
	readings 7 1.5
	rig_restart
	readings_until_idle 2
	readings 2 2
}

scenario_degraded() {
	rig_make_raid6
	readings 2 1
	rig_fail vdc
	readings 6 1.5
}

scenario_frozen() {
	rig_make_raid6
	rig_fail_and_readd vdc
	readings 5 1.5
	rig_freeze
	readings 6 1.5
	rig_unfreeze
	readings_until_idle 2
	readings 2 2
}

scenario_new-disk-fails() {
	rig_make_raid6
	rig_fail_and_readd vdc
	readings 6 1.5
	rig_mdadm "mdadm /dev/md2 --quiet --fail /dev/vdc"
	readings 6 1.5
}

scenario_check() {
	rig_make_raid6
	readings 2 1
	rig_check
	readings_until_idle 2
	readings 2 2
}

scenario_check-paused() {
	rig_make_raid6
	rig_check
	readings 6 1.5
	rig_action idle
	readings 5 1.5
	rig_check
	readings_until_idle 2
	readings 2 2
}

scenario_repair() {
	rig_make_raid6
	rig_action repair
	readings_until_idle 2
	readings 1 2
}

scenario_second-array-delayed() {
	rig_second_array_delayed 75
	readings_until_idle 2 md3
	readings 2 2
}

scenario_reshape() {
	rig_make_raid6
	readings 2 1
	rig_reshape vdf
	readings_until_idle 2
	readings 2 2
}

scenario_resync() {
	rig_create md2 6 "vda vdb vdc vdd vde" --no-assume-clean
	readings_until_idle 2
	readings 2 2
}

scenario_raid1() {
	rig_create md2 1 "vda vdb"
	readings 1 1
	rig_fail vdb
	readings 2 1
	rig_add vdb
	readings_until_idle 2
	readings 2 2
}

scenario_raid10() {
	rig_create md2 10 "vda vdb vdc vdd"
	readings 1 1
	rig_fail vdb
	readings 2 1
	rig_add vdb
	readings_until_idle 2
	readings 2 2
}

# Assembled with start_ro, a dirty array waits read-only until the first write.
scenario_pending() {
	rig_create md2 6 "vda vdb vdc vdd vde" --no-assume-clean
	readings 3 1.5
	rig_mdadm "mdadm --stop --quiet /dev/md2; echo 1 >/sys/module/md_mod/parameters/start_ro
		mdadm --assemble --quiet /dev/md2 /dev/vda /dev/vdb /dev/vdc /dev/vdd /dev/vde"
	readings 5 1.5
	rig_write_buffered 1 >/dev/null
	readings_until_idle 2
	readings 2 2
}

scenario_array-gone() {
	rig_make_raid6
	readings 3 1
	rig_mdadm "mdadm --stop --quiet /dev/md2"
	readings 4 1
	rig_mdadm "mdadm --assemble --quiet /dev/md2 /dev/vda /dev/vdb /dev/vdc /dev/vdd /dev/vde"
	readings 3 1
}

# Clients only: what the array's own reads and writes look like while md does nothing.
scenario_clients() {
	rig_make_raid6
	readings 3 1.5
	rig_writer_start md2 rate=4000
	readings 5 1.5
	rig_writer_stop >/dev/null
	how="read direct" rig_writer_start md2 rate=4000
	readings 5 1.5
	rig_writer_stop >/dev/null
	readings 3 1.5
}

# --- all of them -----------------------------------------------------------------------------------------------------

record() {
	name=$1
	rm -f "$readings/$name.txt"
	rig_start
	"scenario_$name"
	rig_stop
	printf '%-24s %3d readings, %5d bytes\n' "$name" "$(grep -c '^@' "$readings/$name.txt")" \
		"$(stat -c %s "$readings/$name.txt")"
}

make -s "B=${BUILD:-build}" "${BUILD:-build}/tools/look-command"
look=$("${BUILD:-build}/tools/look-command")
export RIG_DISK_MIB=160 RIG_BPS=6000000
rig_build
mkdir -p "$readings"
if [ $# = 0 ]; then
	mapfile -t names < <(compgen -A function scenario_ | sed 's/^scenario_//')
	set -- "${names[@]}"
fi
for each in "$@"; do
	record "$each"
done
