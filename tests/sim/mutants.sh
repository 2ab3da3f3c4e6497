#!/bin/bash
# SPDX-License-Identifier: MIT
# Proves that the simulation can fail: builds it with one mistake at a time in src/core, src/md or src/wire and runs it.
# usage: tests/sim/mutants.sh BUILD [NUMBER...]   (BUILD holds a built simulation: make B=BUILD sim)
#
# Prints a line for each mistake: caught by what, or NOT CAUGHT. Exits 1 where one was not. Not part of `make check`: minutes.
set -u
build=${1:-build}
shift
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cc=${CC:-gcc}
read -ra cflags < <(echo "-std=gnu17 -D_GNU_SOURCE -I$scratch/src -O2 -w $(pkg-config --cflags jansson)")
read -ra libs < <(pkg-config --libs jansson libcurl libssh libconfig sqlite3 libmicrohttpd libsystemd libcrypto)
cp -r src "$scratch/src"
n=0 missed=0

# mutant FILE OLD NEW: OLD must stand there.
mutant() {
	local file=$1 old=$2 new=$3 by
	n=$((n + 1))
	[ ${#only[@]} -eq 0 ] || [[ " ${only[*]} " == *" $n "* ]] || return 0
	OLD=$old NEW=$new perl -0pe 's/\Q$ENV{OLD}\E/$ENV{NEW}/' "src/$file" >"$scratch/src/$file"
	if cmp -s "src/$file" "$scratch/src/$file"; then
		echo "$n $file: '$old' does not stand there any more"
		missed=$((missed + 1))
		return
	fi
	"$cc" "${cflags[@]}" -c -o "$scratch/mutant.o" "$scratch/src/$file" &&
		"$cc" -pie -o "$scratch/sim" "$scratch/mutant.o" "$build"/tests/sim/*.o "$build/src/gate/reading.o" \
			"$build/src/gate/reading_memory.o" "$build/librebuildgate.a" "${libs[@]}" || exit 1
	{
		timeout 60 "$scratch/sim" tests/sim/scenarios/*.sim
		timeout 100 "$scratch/sim" --random 600 --seed 1
	} >"$scratch/out" 2>&1
	by=$(grep '^not ok' "$scratch/out" | sed -E 's/^not ok [0-9]+ - //; s/ \(.*//; s|.*/||' | paste -sd, | sed 's/,/, /g' | cut -c1-220)
	[ "$(grep -c '^1\.\.' "$scratch/out")" -eq 2 ] || by="$by (it dies)"
	if [ -z "$by" ]; then
		echo "$n NOT CAUGHT $file: $old -> $new"
		missed=$((missed + 1))
	else
		echo "$n caught $file: $old -> $new: by $by"
	fi
	cp "src/$file" "$scratch/src/$file"
}
only=("$@")

# A hold's end.
mutant core/hold.c 'span_between(d->in->ticket.held_ms, set->max_hold.v)' 'span_between(d->in->ticket.held_ms, set->max_hold.v * 2)'
mutant core/hold.c 'if (for_blind(d->policy, rule) && own.code' 'if (own.code'
mutant core/hold.c 'return set->hold_to_rpo && set->rpo_ms.known && d->in->request.backup_age_ms.known;' 'return false;'
mutant core/hold.c 'return set->hold_to_rpo && set->rpo_ms.known && d->in->request.backup_age_ms.known;' 'return set->hold_to_rpo;'
mutant core/hold.c 'span_between(age, set->rpo_ms.v)' 'span_between(age, set->rpo_ms.v * 2)'
mutant core/hold.c '-BEFORE_NEXT_START_MS' '+ MS_HOUR'
mutant core/hold.c 'else if (ticket->expired)' 'else if (0)'
mutant core/hold.c 'span_between(d->in->ticket.recheck_ms, d->set->recheck_ms)' 'd->set->recheck_ms'
mutant core/hold.c 'if (d->base_step == 2 && d->base == VERDICT_DENY)' 'if (0)'
mutant core/decide.c 'd->blind_ms.v < rule->set.max_hold.v)' '1)'
mutant core/decide.c 'hold_to_rpo(d, &rule->set) ||' '0 ||'
mutant core/decide.c 'd->blind_ms.v > d->policy->blind_limit_ms' '0'
# The queue.
mutant core/hold.c 'return q->set->settle_ms;' 'return q->set->settle_ms / 2;'
mutant core/hold.c 'if (running < most)' 'if (running <= most)'
mutant core/hold.c 'running_node <= 0' 'running_node <= 1'
mutant core/hold.c 'if (ahead <= 0)' 'if (1)'
mutant core/hold.c 'since->v >= q->set->release_interval_ms' '1'
mutant core/hold.c 'd->in->queue.ahead > 0 ||
		d->in->queue.backlog > 0' '0'
# Restores, and what would take too long.
mutant core/hold.c 'd->in->readers.known && d->in->readers.v > 0' '0'
mutant core/hold.c 'd->in->readers.known && d->in->readers.v > 0' '!d->in->readers.known'
mutant core/hold.c 'restore_reads(d));' '0);'
mutant core/hold.c 'ticket->was_held && !ticket->only_restore' 'ticket->was_held'
mutant core/ticket.c '(ticket->only_restore || !was_held(ticket))' '1'
mutant wire/ticket.c 'json_may_bool(value, "only_restore", &ret->only_restore, err)' '1'
mutant core/hold.c 'd->base == VERDICT_HOLD || slow_holds(d)' 'd->base == VERDICT_HOLD'
mutant core/slow.c 'left > 0 && predicted->v > left' 'left > 0'
mutant core/slow.c 'return !deciding_mid_job(d) &&' 'return'
mutant core/slow.c 'd->protect_ppm = share;' ';'
mutant core/slow.c 'if (share->v <= 0) {' 'if (0) {'
mutant core/ticket.c 'ticket->too_slow_ppm = d->too_slow_ppm;' ';'
mutant wire/ticket.c 'json_may_opt(value, "too_slow_ppm", &ret->too_slow_ppm, err)' '1'
mutant core/ticket_list.c 'ret->running_nas += same_nas' 'ret->running_nas += 0'
mutant core/ticket_list.c 'ret->running_node += shares_lock(other, request)' 'ret->running_node += 0'
mutant core/ticket_list.c 'ret->ahead += before' 'ret->ahead += !before'
mutant core/ticket_list.c 'ticket->request.client == CLIENT_VZDUMP &&' ''
# What is not known.
mutant core/decide.c 'if (facts->sensor == SENSOR_OK)' 'if (facts->read_at_ms.known)'
mutant core/decide.c 'return found->verdict == VERDICT_HOLD ||' 'return found->verdict == VERDICT_DENY ||'
mutant core/decide.c 'd->policy->observe ||' ''
mutant core/rules.c 'return a->verdict > b->verdict' 'return a->verdict < b->verdict'
mutant core/match.c 'return eval_list(m, cond, depth, MATCH_NO, MATCH_YES);' 'return eval_list(m, cond, depth, MATCH_YES, MATCH_NO);'
mutant core/match.c 'span_add(now->utc_ms, now->utc_offset_s * MS_SECOND)' 'now->utc_ms'
mutant core/match.c '(goes_on && at < window->to_s)' '0'
mutant core/override.c '(!o->ticket || o->ticket == in->ticket.id)' '1'
mutant core/override.c 'return rank_a > rank_b' 'return rank_a < rank_b'
mutant core/sight.c 'now_ms - sight->seen_since_ms.v >= settle_ms' '1'
mutant core/sight.c 'sight->outage_since_ms = OPT_NONE;' ';'
# Tickets.
mutant core/ticket.c 'ticket->clear_boot_ms = OPT_NONE;' ';'
mutant core/ticket.c '(d->hold_step == 2 || d->hold_step == 4)' 'd->hold_step == 2'
mutant core/ticket.c '(d->hold_step == 2 || d->hold_step == 4)' 'd->hold_step == 4'
mutant core/ticket.c 'ticket->slot = ticket->request.client != CLIENT_WAIT' 'ticket->slot = false'
mutant core/ticket.c 'strcmp(ticket->nas, nas) == 0' 'strcmp(ticket->nas, nas) != 0'
mutant core/ticket.c 'span_add(ticket->recheck_used_ms, span_since(ticket->recheck_boot_ms, now_ms).v);
	ticket->recheck_boot_ms = OPT_NONE;' '0;
	ticket->recheck_boot_ms = OPT_NONE;'
mutant core/ticket.c 'begin(run, ticket, "it has begun");' ';'
mutant core/ticket.c 'ticket = ticket_list_past(run->tickets, ask);' 'ticket = NULL;'
mutant core/ticket.c 'ticket_list_note_release(run->tickets, ticket->nas, run->now.boot_ms);' ';'
mutant core/ticket_list.c 'next = span_sooner(next, OPT(span_add(ticket->decided_boot_ms, again->v)));' ';'
mutant core/ticket_list.c 'tickets->list[at] = *ticket;
	tickets->n++;' 'tickets->list[at] = *ticket; tickets->list[at].held_boot_ms = OPT_NONE;
	tickets->n++;'
mutant core/ticket_sweep.c 'if (!silent(ticket, sweep, now))' 'if (1)'
mutant core/ticket_sweep.c 'under_way >= policy->running_ttl_ms' '0'
mutant core/ticket_sweep.c 'ticket->slot = false;' ';'
# Facts, and what is written down.
mutant md/track.c 'array->next_operation == seen->operation &&' '0 &&'
mutant md/track.c '(array->next_sync_state == seen->sync_state ||
			array->operation != seen->operation)' 'array->next_sync_state == seen->sync_state'
mutant wire/inputs.c 'json_put_int(object, "hold_step", view->hold_step)' 'json_put_int(object, "hold_step", 0)'
mutant wire/ticket.c 'json_put_text(object, "hold_rule", ticket->hold_rule)' 'json_put_text(object, "hold_rule", "")'
echo "$n mistakes, $missed not caught"
[ "$missed" -eq 0 ]
