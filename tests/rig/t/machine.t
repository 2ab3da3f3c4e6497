#!/bin/bash
# SPDX-License-Identifier: MIT
# The rig's machine itself: it boots, logs logins, hangs, dies, comes back, shows another host key.
# shellcheck disable=SC1091 source=tests/rig/tap.sh
. tests/rig/tap.sh
export RIG_DISK_MIB=64

must rig_start
like "md is there after boot" "$(rig_mdstat)" '^Personalities : .*\[raid6\]'
is "one login so far, the rig's own" "$(rig_logins)" 1
rig_mdstat >/dev/null
is "looks over the shared login are no new logins" "$(rig_logins)" 1
like "watch is an unprivileged user" "$(rig_ssh_as watch id)" 'uid=1000\(watch\)'
like "mdstat gets the forced command whatever it asks for" "$(rig_ssh_as mdstat rm -rf /)" '^Personalities'
is "each login of theirs is counted, by user" "$(rig_logins) $(rig_logins watch) $(rig_logins mdstat)" "3 1 1"
is "the key is private" "$(stat -c %a "$(rig_key)")" 600

like "no one gets in with another key" "$(
	ssh-keygen -q -t ed25519 -N '' -f "$(rig_dir)/stranger"
	ssh -F none -i "$(rig_dir)/stranger" -o IdentitiesOnly=yes -o BatchMode=yes -p "$(rig_port)" \
		-o "UserKnownHostsFile=$(rig_dir)/known_hosts" watch@127.0.0.1 id 2>&1
)" 'Permission denied'

must rig_create md2 1 "vda vdb"
must rig_pause
# By a login of its own: a client of the shared one that is killed there may take the next one with it.
RIG_SSH_TIMEOUT=3 rig_ssh_as root cat /proc/mdstat >/dev/null 2>&1
is "a paused machine does not answer" "$?" 124
must rig_resume
like "a resumed machine answers" "$(rig_mdstat)" '^md2 : active raid1'

first=$(rig_nas nas1 && rig_port)
rig_nas nas2
must rig_start
like "a second machine runs beside the first" "$(rig_mdstat)" '^unused devices: <none>'
ok "on a port of its own" [ "$(rig_port)" != "$first" ]
rig_stop
ok "and ends without it" eval '! rig_alive && rig_nas nas1 && rig_alive'

rig_nas nas1
must rig_kill
ok "a killed machine is gone" eval '! rig_alive'
must rig_restart
is "it comes back on the same port" "$(rig_port)" "$first"
like "and its array too" "$(rig_mdstat)" '^md2 : active raid1'
rig_known_hosts "$(rig_dir)/before"

RIG_HOSTKEY=2 must rig_restart
like "it can show another host key, which strict clients refuse" "$(
	ssh -F none -i "$(rig_key)" -o BatchMode=yes -o StrictHostKeyChecking=yes -p "$(rig_port)" \
		-o "UserKnownHostsFile=$(rig_dir)/before" watch@127.0.0.1 id 2>&1
)" 'HOST IDENTIFICATION HAS CHANGED'
tap_done
