#!/bin/bash
# SPDX-License-Identifier: MIT
# More than one: two arrays of which one waits for the other, and ten jobs of three nodes that are let go one after another.
# shellcheck disable=SC1091 source=tests/rig/tap.sh
. tests/rig/tap.sh
# shellcheck disable=SC1091 source=tests/rig/gatelib.sh
. tests/rig/gatelib.sh
export RIG_DISK_MIB=96

must rig_start

# --- a second array that waits ---------------------------------------------------------------------------------------------
must slow 800
must rig_second_array_delayed 40
policy_shipped
gate_new
ok "the first array rebuilds" wait_until operation_is recovery md2
ok "the second waits for it" wait_until holds_true /v1/nas '.nas[0].arrays[] | select(.name == "md3") | .sync_state == "delayed" and .missing == 1'
job web --guest 101:qemu:snapshot:web
ok "a job for a storage on both is held" job_said web 'rebuildgate: held: .*md[23] on nas1'
job forgets --node pve2 --guest 102:qemu:snapshot:db
ok "another one too" job_said forgets 'rebuildgate: held: '
must fast
must rig_wait_mdstat 'md3 : .*' 5
ok "the first array is done" rig_wait_idle 300 md2
ok "the hold went on for the second one, or it had none left to do" eval 'job_not_said web "lock taken" || [ "$(rig_sysfs degraded md3)" = 0 ]'
ok "it goes when both are done" job_said web 'rebuildgate: go after a hold of '
is "really both" "$(rig_mdstat | grep -cF '[5/5] [UUUUU]')" 2
job_wait web
job_wait forgets
is "the jobs end well" "${ENDED[web]} ${ENDED[forgets]}" "0 0"
ok "it was never taken for done between the two" recorded "SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM decisions
	WHERE phase = 'job-init' AND act = 'allow' AND inputs LIKE '%\"missing\":1%')"
ok "the record verifies and decides the same again" proven

# --- ten jobs of three nodes -----------------------------------------------------------------------------------------------
# ten_jobs OPTION...: they ask in the order of their names, of node pve1, pve2, pve3, pve1, ... Not in a subshell, as ten_end.
TEN="job0 job1 job2 job3 job4 job5 job6 job7 job8 job9"
ten_jobs() {
	local name n=0
	for name in $TEN; do
		job "$name" --node "pve$((n % 3 + 1))" --guest "$((100 + n)):qemu:snapshot:g$n" "$@"
		job_said "$name" 'rebuildgate: held: ' >/dev/null || return 1
		n=$((n + 1))
	done
}

ten_end() {
	local name bad=0
	for name in $TEN; do
		job_wait "$name"
		[ "${ENDED[$name]}" = 0 ] || { echo "$name ended with ${ENDED[$name]}" && bad=1; }
	done
	return "$bad"
}

# When a job was let go, and when it ended.
SPANS="SELECT t.id, t.node,
	(SELECT min(id) FROM decisions d WHERE d.ticket = t.id AND d.phase = 'job-init' AND d.act = 'allow') AS let_go,
	(SELECT min(time_utc_ms) FROM decisions d WHERE d.ticket = t.id AND d.phase = 'job-init' AND d.act = 'allow') AS began,
	(SELECT max(time_utc_ms) FROM ticket_events e WHERE e.ticket = t.id AND e.after = 'ended') AS finished
	FROM tickets t"

gate_end TERM
must rig_clear
must rig_rebuilding
gate_new
must wait_until operation_is recovery
must ten_jobs
is "ten jobs of three nodes ask during a rebuild and are held" "$(says /v1/status '[.tickets[] | select(.state == "held")] | length')" 10
must fast
must rig_wait_idle
ten_end >"$GATE/ten" 2>&1
is "all of them end well" "$? $(cat "$GATE/ten")" "0 "
is "they were let go in the order in which they asked" \
	"$(record "SELECT group_concat(id, ' ') FROM (SELECT id FROM ($SPANS) ORDER BY let_go)")" "1 2 3 4 5 6 7 8 9 10"
is "one at a time (max_running 1)" \
	"$(record "SELECT count(*) FROM ($SPANS) a JOIN ($SPANS) b ON a.id < b.id AND b.began < a.finished")" 0
# The interval is counted in boot time, began is UTC: a few milliseconds between the two.
is "and not faster than release_interval" \
	"$(record "SELECT group_concat(b.began - a.began) FROM ($SPANS) a JOIN ($SPANS) b ON b.id = a.id + 1 AND b.began - a.began < 990")" ""
is "none was held again" "$(record "SELECT count(*) FROM decisions d JOIN ($SPANS) s ON s.id = d.ticket AND d.id > s.let_go AND d.act = 'hold'")" 0
is "in the queue each log says once that it waits there, not whenever somebody moves up" \
	"$(for name in $TEN; do [ "$(job_lines "$name" '^INFO: rebuildgate: held')" -le 3 ] || grep -H 'INFO: rebuildgate: held' "$GATE/$name.task"; done)" ""
is "nothing is left" "$(says /v1/status '.tickets | length')" 0
ok "the record verifies and decides the same again" proven

# --- three at a time, one on a node ------------------------------------------------------------------------------------------
gate_end TERM
must rig_clear
must rig_rebuilding
policy_shipped 'max_running = 3;'
gate_new
must wait_until operation_is recovery
must ten_jobs --copy "$GATE/copy"
must fast
running_nodes() {
	says /v1/status '[.tickets[] | select(.state == "running") | .node] | sort | join(" ")'
}
ok "three may run now" wait_until eval '[ "$(running_nodes)" = "pve1 pve2 pve3" ]'
look_goes_by 3
is "one on each node, and no more" "$(running_nodes)" "pve1 pve2 pve3"
like "the others wait for their turn" "$(says /v1/status '.tickets[] | select(.state == "held") | .reasons[0].code')" '^queue'
touch "$GATE/copy"
ten_end >"$GATE/ten" 2>&1
is "all of them end well" "$? $(cat "$GATE/ten")" "0 "
is "never two of one node at a time" \
	"$(record "SELECT count(*) FROM ($SPANS) a JOIN ($SPANS) b ON a.id < b.id AND a.node = b.node AND b.began < a.finished")" 0
is "each node's in the order in which they asked" \
	"$(record "SELECT count(*) FROM ($SPANS) a JOIN ($SPANS) b ON a.id < b.id AND a.node = b.node AND b.let_go < a.let_go")" 0
is "never more than three at a time" "$(record "SELECT max(n) FROM (SELECT count(*) AS n FROM ($SPANS) a JOIN ($SPANS) b
	ON b.began <= a.began AND b.finished > a.began GROUP BY a.id)")" 3
ok "the record verifies and decides the same again" proven
tap_done
