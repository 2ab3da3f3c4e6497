// SPDX-License-Identifier: MIT
/* What is asked, told and answered, to and from JSON. */
#include <string.h>

#include "client/client.h"

static json_t *worker_json(const struct worker *worker)
{
	json_t *object = json_object();

	if (json_put_int(object, "pid", worker->pid) &&
		json_put_int(object, "start_ticks", worker->start_ticks) &&
		json_put_text(object, "boot_id", worker->boot_id))
		return object;
	json_decref(object);
	return NULL;
}

static json_t *guests_json(const struct request *request)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; list && i < request->n_guests; i++) {
		if (json_array_append_new(list, json_integer(request->guests[i]))) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static bool put_guest(json_t *object, uint32_t guest)
{
	return !guest || json_put_int(object, "guest", guest);
}

static bool put_worker(json_t *object, const struct worker *worker)
{
	return worker->pid <= 0 || json_put(object, "worker", worker_json(worker));
}

/* Only what is known: a null would say the same. */
static bool put_known(json_t *object, const char *name, const char *text)
{
	return !text || !*text || json_put_text(object, name, text);
}

json_t *ask_json(const struct ask *ask)
{
	const struct request *request = &ask->request;
	json_t *object = json_object();
	bool ok;

	ok = json_put_text(object, "client", client_word(request->client)) &&
		json_put_text(object, "phase", phase_word(request->phase)) &&
		json_put_text(object, "storage", request->storage) &&
		put_known(object, "node", request->node) && put_guest(object, request->guest) &&
		put_known(object, "guest_type", guest_type_word(request->guest_type)) &&
		put_known(object, "mode", backup_mode_word(request->mode)) &&
		put_known(object, "upid", ask->upid) && put_known(object, "job_id", ask->job_id) &&
		put_known(object, "command", ask->command) && put_worker(object, &ask->worker) &&
		json_put_int(object, "ticket", ask->ticket) &&
		json_put_int(object, "held_ms", ask->held_ms) &&
		json_put_int(object, "wait_ms", ask->wait_ms);
	if (ok && request->n_guests)
		ok = json_put(object, "guests", guests_json(request));
	if (ok && request->next_start_utc_ms.known)
		ok = json_put_opt(object, "next_start_utc_ms", request->next_start_utc_ms);
	if (ok && request->n_qemu.known)
		ok = json_put_opt(object, "n_qemu", request->n_qemu);
	if (ok && request->backup_age_ms.known)
		ok = json_put_opt(object, "backup_age_ms", request->backup_age_ms);
	if (ok)
		return object;
	json_decref(object);
	return NULL;
}

static bool read_verdict(
	const json_t *value, const char *name, bool needed, enum verdict *ret, struct err *err)
{
	const char *word = NULL;
	enum verdict verdict;

	if (!(needed ? json_get_text(value, name, &word, err)
		     : json_may_text(value, name, &word, err)))
		return false;
	if (!word)
		return true;
	verdict = verdict_parse(word);
	if (!verdict)
		return err_set(err, ERR_INVALID, "member '%s' is no verdict: '%s'", name, word);
	*ret = verdict;
	return true;
}

/* Cuts instead of refusing: a reason is for reading. */
static void copy_cut(const json_t *object, const char *name, char *ret, size_t size)
{
	const char *text = NULL;
	size_t len;

	if (!json_may_text(object, name, &text, NULL) || !text)
		return;
	len = strlen(text);
	if (len >= size) {
		len = size - 1;
		while (len && ((unsigned char)text[len] & 0xc0) == 0x80)
			len--;
	}
	memcpy(ret, text, len);
	ret[len] = '\0';
}

static bool read_reasons(const json_t *value, struct answer *ret, struct err *err)
{
	const json_t *list = json_object_get(value, "reasons"), *reason;
	size_t i;

	if (!json_is_array(list))
		return err_set(err, ERR_INVALID, "member 'reasons' must be a list");
	json_array_foreach(list, i, reason)
	{
		if (i == DECISION_MAX_REASONS)
			break;
		copy_cut(reason, "code", ret->reasons[i].code, sizeof(ret->reasons[i].code));
		copy_cut(reason, "text", ret->reasons[i].text, sizeof(ret->reasons[i].text));
		ret->n_reasons = i + 1;
	}
	return true;
}

static bool read_times(const json_t *value, struct answer *ret, struct err *err)
{
	return json_may_int(value, "held_ms", 0, INT64_MAX, &ret->held_ms, err) &&
		json_may_opt(value, "ends_in_ms", &ret->ends_in_ms, err) &&
		json_may_opt(value, "ends_utc_ms", &ret->ends_utc_ms, err) &&
		json_may_opt(value, "expected_ms", &ret->expected_ms, err);
}

static bool read_facts(const json_t *value, struct answer *ret, struct err *err)
{
	const json_t *facts = json_object_get(value, "facts");

	if (!json_is_object(facts))
		return true;
	ret->facts = true;
	copy_cut(facts, "operation", ret->operation, sizeof(ret->operation));
	return json_may_opt(facts, "progress_ppm", &ret->progress_ppm, err);
}

bool answer_read(const json_t *value, struct answer *ret, struct err *err)
{
	struct answer answer = {.recorded = true};
	int64_t step = 0;

	if (!json_may_int(value, "ticket", 0, INT64_MAX, &answer.ticket, err) ||
		!json_may_int(value, "decision", 0, INT64_MAX, &answer.decision, err) ||
		!read_verdict(value, "act", true, &answer.act, err) ||
		!read_verdict(value, "verdict", true, &answer.verdict, err) ||
		!read_verdict(value, "would_be", false, &answer.would_be, err) ||
		!read_verdict(value, "then", false, &answer.then, err) ||
		!read_verdict(value, "then_act", false, &answer.then_act, err) ||
		!json_may_int(value, "step", 0, 8, &step, err) ||
		!json_may_bool(value, "recorded", &answer.recorded, err) ||
		!read_reasons(value, &answer, err) || !read_times(value, &answer, err) ||
		!read_facts(value, &answer, err)) {
		if (err)
			err->kind = ERR_PROTOCOL;
		return err_prefix(err, "the gate's answer is not understood");
	}
	answer.step = (int)step;
	copy_cut(value, "rule", answer.rule, sizeof(answer.rule));
	copy_cut(value, "nas", answer.nas, sizeof(answer.nas));
	copy_cut(value, "array", answer.array, sizeof(answer.array));
	copy_cut(value, "released_by", answer.released_by, sizeof(answer.released_by));
	copy_cut(value, "node", answer.node, sizeof(answer.node));
	*ret = answer;
	return true;
}

bool client_report(const struct gate_link *link, const struct report *report, struct err *err)
{
	json_t *object = json_object();
	bool ok;

	ok = json_put_int(object, "ticket", report->ticket) &&
		json_put_text(object, "phase", report->phase) &&
		put_worker(object, &report->worker) &&
		put_known(object, "storage", report->storage) &&
		put_known(object, "node", report->node) &&
		put_known(object, "mode", report->mode) &&
		put_known(object, "guest_type", report->guest_type) &&
		put_known(object, "hostname", report->hostname) &&
		put_known(object, "target", report->target) && put_guest(object, report->guest);
	if (ok && report->exit_status.known)
		ok = json_put_opt(object, "exit_status", report->exit_status);
	if (ok)
		ok = client_call(link, "POST", "/v1/report", object, NULL, err);
	else
		err_nomem(err);
	json_decref(object);
	return ok;
}

bool client_withdraw(const struct gate_link *link, int64_t ticket, const struct worker *worker,
	const char *why, struct err *err)
{
	json_t *object = json_object();
	bool ok = json_put_int(object, "ticket", ticket) && put_worker(object, worker) &&
		put_known(object, "why", why);

	if (ok)
		ok = client_call(link, "POST", "/v1/withdraw", object, NULL, err);
	else
		err_nomem(err);
	json_decref(object);
	return ok;
}
