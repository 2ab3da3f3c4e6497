// SPDX-License-Identifier: MIT
#include "gate/notify.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "gate/gate.h"
#include "gate/notify_rate.h"
#include "gate/outbound.h"
#include "gate/secret.h"

#define QUEUE_MAX 64
#define IN_FLIGHT_MAX 4
#define TRIES_MAX 3
#define SEND_MS INT64_C(15000)
#define TARGETS_MAX (SETTINGS_MAX_WEBHOOKS + SETTINGS_MAX_SMTP)

static const int64_t again_ms[TRIES_MAX] = {0, 10 * MS_SECOND, MS_MINUTE};

/* One notice for one target. */
struct notice {
	struct notify *notify;
	bool used, sending;
	size_t target; /* webhooks first, then smtp */
	int tries;
	int64_t due_ms;
	int64_t number;       /* the order of telling */
	char *subject, *body; /* owned */
};

struct notify {
	struct gate *gate;
	struct outbound out; /* not open until the first notice */
	struct timer timer;
	struct notice queue[QUEUE_MAX];
	int64_t numbers;
	struct notify_told told;
	struct notify_rate rates[TARGETS_MAX];
	int64_t unsaid; /* dropped since the last notice */
	struct notify_counts counts;
	struct notify_trouble trouble;
	size_t trouble_target;
};

static void work(struct notify *notify);

const struct notify_counts *notify_counts(const struct notify *notify)
{
	return &notify->counts;
}

const struct notify_trouble *notify_trouble(const struct notify *notify)
{
	return &notify->trouble;
}

static void on_timer(void *data)
{
	work(data);
}

static void forget(struct notice *notice)
{
	free(notice->subject);
	free(notice->body);
	*notice = (struct notice){.notify = notice->notify};
}

static const char *target_name(const struct notify *notify, size_t target)
{
	const struct notify_settings *set = &notify->gate->settings->notify;

	if (target < SETTINGS_MAX_WEBHOOKS)
		return set->webhooks[target].url;
	return set->smtp[target - SETTINGS_MAX_WEBHOOKS].url;
}

/* The target did not take it. */
static void failed(struct notice *notice, const char *why)
{
	struct notify *notify = notice->notify;

	notice->sending = false;
	notice->tries++;
	if (notice->tries < TRIES_MAX) {
		notice->due_ms = clock_boot_ms() + again_ms[notice->tries];
		return;
	}
	notify->counts.failed++;
	notify->trouble.utc_ms = clock_now().utc_ms;
	notify->trouble_target = notice->target;
	snprintf(notify->trouble.text, sizeof(notify->trouble.text), "%s: %s",
		notice->target < SETTINGS_MAX_WEBHOOKS ? "webhook" : "mail", why);
	log_warning("A notice could not be sent: %s target=%s subject=\"%s\"", why,
		target_name(notify, notice->target), notice->subject);
	forget(notice);
}

static void on_done(void *data, const struct http_response *response, const struct err *err)
{
	struct notice *notice = data;
	char text[64];

	if (!response) {
		failed(notice, err->text);
		return;
	}
	if (response->status < 200 || response->status > 299) {
		snprintf(text, sizeof(text), "The target answered with status %ld",
			response->status);
		failed(notice, text);
		return;
	}
	notice->notify->counts.sent++;
	if (notice->notify->trouble_target == notice->target)
		notice->notify->trouble = (struct notify_trouble){0};
	forget(notice);
}

static bool send_mail(struct notify *notify, struct notice *notice, struct err *err)
{
	const struct smtp_settings *set =
		&notify->gate->settings->notify.smtp[notice->target - SETTINGS_MAX_WEBHOOKS];
	const char *to[SETTINGS_MAX_TO + 1] = {0};
	struct buf password = {0};
	struct smtp_mail mail = {
		.url = set->url,
		.plain = strncmp(set->url, "smtp://", 7) == 0 && !set->user[0],
		.from = set->from,
		.to = to,
		.subject = notice->subject,
		.text = notice->body,
		.deadline_ms = SEND_MS,
	};
	bool ok = true;
	size_t i;

	for (i = 0; i < set->n_to; i++)
		to[i] = set->to[i];
	if (set->user[0]) {
		ok = secret_read(set->password_file, &password, err);
		mail.user = set->user;
		mail.password = buf_str(&password);
	}
	ok = ok && smtp_send_start(notify->out.multi, &mail, on_done, notice, err);
	secret_wipe(&password);
	return ok;
}

static void start(struct notify *notify, struct notice *notice)
{
	const struct notify_settings *set = &notify->gate->settings->notify;
	struct err err = {0};
	bool ok;

	notice->sending = true;
	if (notice->target < SETTINGS_MAX_WEBHOOKS)
		ok = http_post_start(notify->out.multi, set->webhooks[notice->target].url,
			notice->body, SEND_MS, on_done, notice, &err);
	else
		ok = send_mail(notify, notice, &err);
	if (!ok)
		failed(notice, err.text);
}

/* Sends what is due, oldest first, a few at a time. */
static void work(struct notify *notify)
{
	int64_t now = clock_boot_ms(), next = INT64_MAX;
	struct notice *first;
	size_t i, sending;

	do {
		first = NULL;
		sending = 0;
		for (i = 0; i < QUEUE_MAX; i++) {
			struct notice *notice = &notify->queue[i];

			sending += notice->sending;
			if (!notice->used || notice->sending)
				continue;
			if (notice->due_ms > now)
				next = notice->due_ms < next ? notice->due_ms : next;
			else if (!first || notice->number < first->number)
				first = notice;
		}
		if (first && sending < IN_FLIGHT_MAX)
			start(notify, first);
	} while (first && sending < IN_FLIGHT_MAX);
	if (next != INT64_MAX)
		timer_at(&notify->timer, next);
	else
		timer_off(&notify->timer);
}

static bool ready(struct notify *notify)
{
	struct err err = {0};

	if (notify->out.multi)
		return true;
	if (outbound_open(&notify->out, notify->gate->loop, on_timer, notify, &err))
		return true;
	outbound_close(&notify->out);
	log_err("Notices cannot be sent: %s", err.text);
	return false;
}

static void enqueue(struct notify *notify, size_t target, const char *subject, const char *body)
{
	int64_t now = clock_boot_ms();
	size_t i;

	for (i = 0; i < QUEUE_MAX && notify->queue[i].used; i++)
		;
	if (i == QUEUE_MAX ||
		!notify_rate_take(
			&notify->rates[target], notify->gate->settings->notify.max_per_hour, now)) {
		notify->counts.dropped++;
		notify->unsaid++;
		return;
	}
	notify->queue[i] = (struct notice){
		.notify = notify,
		.used = true,
		.target = target,
		.due_ms = now,
		.number = ++notify->numbers,
		.subject = strdup(subject),
		.body = body ? strdup(body) : NULL,
	};
	if (!notify->queue[i].subject || !notify->queue[i].body)
		forget(&notify->queue[i]);
}

static char *webhook_body(struct notify *notify, enum notify_event event, const char *thing,
	const char *text, const json_t *details)
{
	struct moment now = clock_now();
	char time[UNITS_TEXT_MAX];
	json_t *object = json_object();
	char *body = NULL;

	if (json_put_text(object, "event", notify_event_word(event)) &&
		json_put_text(object, "about", thing) && json_put_text(object, "text", text) &&
		json_put_text(object, "time", when_rfc3339(now.utc_ms, time)) &&
		json_put_text(object, "node", notify->gate->settings->node) &&
		json_put_int(object, "not_sent_before", notify->unsaid) &&
		(!details || json_put(object, "details", json_deep_copy(details))))
		body = json_text(object, 0);
	json_decref(object);
	return body;
}

static void mail_body(
	struct notify *notify, const char *text, const json_t *details, struct buf *ret)
{
	const char *key;
	const json_t *value;
	char *word;

	buf_addf(ret, "%s\n\n", text);
	json_object_foreach((json_t *)(uintptr_t)details, key, value)
	{
		if (json_is_null(value))
			continue;
		word = json_is_string(value) ? strdup(json_string_value(value))
					     : json_dumps(value, JSON_ENCODE_ANY);
		buf_addf(ret, "%s: %s\n", key, word ? word : "");
		free(word);
	}
	if (notify->unsaid)
		buf_addf(ret, "%lld notices before this one were not sent: there were too many.\n",
			(long long)notify->unsaid);
	buf_addf(ret, "\nrebuildgate on %s\n", notify->gate->settings->node);
}

void notify_tell(struct notify *notify, enum notify_event event, const char *thing,
	const char *text, json_t *details)
{
	const struct notify_settings *set = &notify->gate->settings->notify;
	struct buf mail = {0};
	char *hook = NULL;
	size_t i;

	if (set->n_webhooks + set->n_smtp == 0)
		goto out;
	if (!notify_told_new(&notify->told, event, thing, set->repeat_ms, clock_boot_ms())) {
		notify->counts.dropped++;
		goto out;
	}
	if (!ready(notify))
		goto out;
	hook = webhook_body(notify, event, thing, text, details);
	mail_body(notify, text, details, &mail);
	notify->unsaid = 0;
	for (i = 0; i < set->n_webhooks; i++)
		if (set->webhooks[i].events & event)
			enqueue(notify, i, text, hook);
	for (i = 0; i < set->n_smtp; i++)
		if (set->smtp[i].events & event)
			enqueue(notify, SETTINGS_MAX_WEBHOOKS + i, text, buf_str(&mail));
	timer_at(&notify->timer, 0);
out:
	free(hook);
	buf_release(&mail);
	json_decref(details);
}

static void drop_all(struct notify *notify)
{
	size_t i;

	outbound_close(&notify->out);
	for (i = 0; i < QUEUE_MAX; i++)
		forget(&notify->queue[i]);
	timer_off(&notify->timer);
}

void notify_reload(struct notify *notify)
{
	drop_all(notify);
	memset(notify->rates, 0, sizeof(notify->rates));
}

bool notify_open(struct gate *gate, struct notify **ret, struct err *err)
{
	struct notify *notify = calloc(1, sizeof(*notify));

	if (!notify)
		return err_nomem(err);
	notify->gate = gate;
	if (!timer_open(&notify->timer, gate->loop, on_timer, notify, err)) {
		notify_close(notify);
		return false;
	}
	*ret = notify;
	return true;
}

void notify_close(struct notify *notify)
{
	if (!notify)
		return;
	drop_all(notify);
	timer_close(&notify->timer);
	free(notify);
}
