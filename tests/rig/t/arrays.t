#!/bin/bash
# SPDX-License-Identifier: MIT
# What happens to arrays on the rig is what happens to real ones: rebuild, check, reshape, a second array that waits.
# shellcheck disable=SC1091 source=tests/rig/tap.sh
. tests/rig/tap.sh
export RIG_DISK_MIB=160

# KiB that md gets done in so many seconds.
pace() { # SECONDS
	local before
	before=$(rig_done_kib)
	sleep "$1"
	echo $(($(rig_done_kib) - before))
}

must rig_start
must rig_make_raid6
like "a new array is whole" "$(rig_mdstat)" '\[5/5\] \[UUUUU\]'
must rig_speed_limit 4000
must rig_fail vdc
like "a failed disk is missing, and nothing runs" "$(rig_mdstat; rig_sysfs degraded; rig_sysfs sync_action)" '\[5/4\] \[UU_UU\]'
is "degraded without a rebuild is idle to md" "$(rig_sysfs degraded) $(rig_sysfs sync_action)" "1 idle"
must rig_add vdc
ok "a new disk starts a rebuild" rig_wait_mdstat 'recovery = ' 20
ok "which moves" eval '[ "$(pace 3)" -gt 3000 ]'
must rig_freeze
is "frozen is seen in sysfs" "$(rig_sysfs sync_action)" frozen
ok "and as nothing at all in mdstat" eval '! rig_mdstat | grep -q recovery'
must rig_unfreeze
ok "it goes on when unfrozen" rig_wait_mdstat 'recovery = ' 20
must rig_speed_limit 200000
ok "and ends" rig_wait_idle 300
like "whole again" "$(rig_mdstat)" '\[5/5\] \[UUUUU\]'

must rig_fail_and_readd vdd
must rig_wait_mdstat 'recovery = ' 20
idle=$(pace 3)
must rig_writer_start
sleep 1
busy=$(pace 3)
is "the rebuild still runs under a writer" "$(rig_sysfs sync_action)" recover
written=$(rig_writer_stop)
like "a writer tells what it wrote" "$written" '^bytes=[1-9][0-9]* ms=[1-9]'
ok "a buffered writer takes more than half of a rebuild's pace ($idle to $busy KiB in 3 s)" [ "$busy" -lt $((idle / 2)) ]
must rig_wait_idle 300

must rig_speed_limit 10000
must rig_check
like "a check runs" "$(rig_mdstat)" 'check = '
must rig_action idle
is "and can be stopped" "$(rig_sysfs sync_action)" idle

must rig_reshape vdf
ok "a reshape runs" rig_wait_mdstat 'reshape = ' 20
is "from five to six" "$(rig_sysfs raid_disks)" "6 (5)"
must rig_speed_limit 200000
ok "and ends" rig_wait_idle 300
like "with six" "$(rig_mdstat)" '\[6/6\] \[UUUUUU\]'

rig_nas nas2
must rig_start
must rig_second_array_delayed 64
like "a second array on the same disks waits" "$(rig_mdstat)" 'resync=DELAYED'
ok "until the first is done" rig_wait_idle 300 md2
ok "then it has its turn" rig_wait_idle 300 md3
is "and both are whole" "$(rig_mdstat | grep -c '\[5/5\] \[UUUUU\]')" 2
tap_done
