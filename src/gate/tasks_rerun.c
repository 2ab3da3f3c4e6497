// SPDX-License-Identifier: MIT
/* A backup server's own jobs on a datastore whose array is being rebuilt: stopped where the rule
 * says so, remembered over a restart, run once when the array is well again. Never sync or tape:
 * they only read towards another place. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "gate/matched.h"
#include "gate/notify.h"
#include "gate/tasks_impl.h"
#include "gate/watch.h"

#define MEMORY "tasks:stopped" /* no NAS can be called so */
#define RUN_AGAIN_MS (10 * MS_MINUTE)
#define RUN_AGAIN_MAX_MS (2 * MS_HOUR)
#define KEEP_MS (60 * MS_DAY)

static bool facts_of(struct tasks *tasks, const char *storage, const char *array,
	const struct nas_facts **ret_nas, const struct array_facts **ret_array)
{
	const struct storage_settings *set = settings_storage(tasks->gate->settings, storage);
	struct watch *watch = set ? gate_watch(tasks->gate, set->mapping.nas) : NULL;
	struct moment now = clock_now();

	*ret_nas = watch ? watch_facts(watch, &now) : NULL;
	*ret_array = *ret_nas ? nas_facts_find(*ret_nas, array) : NULL;
	return *ret_nas && (*ret_nas)->sensor == SENSOR_OK;
}

/* Why this storage's jobs are to be stopped now; "" where they are not. */
static bool to_stop(struct tasks *tasks, const char *storage, char ret_array[MD_NAME_MAX],
	char *ret_why, size_t size)
{
	const struct rule *rule = matched_rule(tasks->gate, storage, ret_array);
	const struct nas_facts *nas;
	const struct array_facts *array;
	bool sees;

	if (!rule || rule->set.pbs_jobs == PBS_JOBS_LEAVE)
		return false;
	sees = facts_of(tasks, storage, ret_array, &nas, &array);
	if (rule->set.pbs_jobs == PBS_JOBS_STOP) {
		snprintf(ret_why, size, "rule '%s' says so while it matches %s", rule->name,
			ret_array);
		return true;
	}
	if (!sees || !array || !array->redundancy_left.known || array->redundancy_left.v > 0)
		return false;
	snprintf(ret_why, size, "%s may lose no further disk, and rule '%s' matches", ret_array,
		rule->name);
	return true;
}

static const char *kind_word(enum task_kind kind)
{
	return kind == TASK_GC ? "gc" : "verify";
}

static json_t *rerun_json(const struct rerun *rerun)
{
	json_t *object = json_object();

	if (json_put_text(object, "pbs", rerun->pbs) &&
		json_put_text(object, "store", rerun->store) &&
		json_put_text(object, "storage", rerun->storage) &&
		json_put_text(object, "array", rerun->array) &&
		json_put_text(object, "what", kind_word(rerun->kind)) &&
		json_put_text(object, "job", rerun->job) &&
		json_put_bool(object, "sure", rerun->sure) &&
		json_put_int(object, "utc_ms", rerun->utc_ms))
		return object;
	json_decref(object);
	return NULL;
}

static bool save(struct tasks *tasks)
{
	json_t *list = json_array();
	struct err err = {0};
	char *text = NULL;
	bool ok = false;
	size_t i;

	for (i = 0; i < RERUNS_MAX; i++)
		if (tasks->reruns[i].used)
			json_array_append_new(list, rerun_json(&tasks->reruns[i]));
	text = json_text(list, 0);
	json_decref(list);
	if (text) {
		store_begin(tasks->gate->store);
		store_put_memory(tasks->gate->store, MEMORY, text, clock_now().utc_ms);
		ok = store_commit(tasks->gate->store, &err) != STORE_LOST;
	}
	if (!ok)
		log_warning("Which jobs of a backup server are to be run later cannot be "
			    "recorded: %s",
			err.text);
	free(text);
	return ok;
}

static bool rerun_read(const json_t *object, struct rerun *ret)
{
	const char *what = "";

	/* One of a gate before this was promised or kept: nobody knows. */
	*ret = (struct rerun){.used = true, .sure = json_is_true(json_object_get(object, "sure"))};
	if (!json_copy_text(object, "pbs", ret->pbs, sizeof(ret->pbs), NULL) ||
		!json_copy_text(object, "store", ret->store, sizeof(ret->store), NULL) ||
		!json_copy_text(object, "storage", ret->storage, sizeof(ret->storage), NULL) ||
		!json_may_copy(object, "array", ret->array, sizeof(ret->array), NULL) ||
		!json_may_copy(object, "job", ret->job, sizeof(ret->job), NULL) ||
		!json_get_text(object, "what", &what, NULL) ||
		!json_get_int(object, "utc_ms", 0, INT64_MAX, &ret->utc_ms, NULL))
		return false;
	ret->kind = strcmp(what, "gc") == 0 ? TASK_GC : TASK_VERIFY;
	return true;
}

void reruns_load(struct tasks *tasks)
{
	struct buf text = {0};
	json_t *list = NULL;
	size_t i, n = 0;

	if (store_memory(tasks->gate->store, MEMORY, &text, NULL))
		list = json_read(text.data, text.len, NULL);
	for (i = 0; i < json_array_size(list) && n < RERUNS_MAX; i++)
		if (rerun_read(json_array_get(list, i), &tasks->reruns[n]))
			n++;
		else
			tasks->reruns[n].used = false;
	json_decref(list);
	buf_release(&text);
}

bool reruns_any(const struct tasks *tasks)
{
	size_t i;

	for (i = 0; i < RERUNS_MAX; i++)
		if (tasks->reruns[i].used)
			return true;
	return false;
}

/* "STORE:JOB" of a verification that is a job's. */
static void job_of(const struct task *task, char *ret, size_t size)
{
	const char *colon = strchr(task->id, ':');

	snprintf(ret, size, "%s",
		strcmp(task->type, "verificationjob") == 0 && colon ? colon + 1 : "");
}

static struct rerun *rerun_of(
	struct tasks *tasks, const struct tasks_server *server, const struct task *task)
{
	char job[sizeof(tasks->reruns[0].job)];
	size_t i;

	job_of(task, job, sizeof(job));
	for (i = 0; i < RERUNS_MAX; i++) {
		struct rerun *rerun = &tasks->reruns[i];

		if (rerun->used && rerun->kind == task->kind &&
			strcmp(rerun->pbs, server->name) == 0 &&
			strcmp(rerun->store, task->store) == 0 && strcmp(rerun->job, job) == 0)
			return rerun;
	}
	return NULL;
}

bool reruns_promise(struct tasks *tasks, const struct tasks_server *server, struct task *task)
{
	struct rerun *rerun = rerun_of(tasks, server, task);
	char array[MD_NAME_MAX] = "", why[160] = "";

	if (!to_stop(tasks, task->storage, array, why, sizeof(why))) {
		task->stop[0] = '\0';
		return false;
	}
	if (rerun)
		return true;
	for (rerun = tasks->reruns; rerun < tasks->reruns + RERUNS_MAX && rerun->used; rerun++)
		;
	if (rerun == tasks->reruns + RERUNS_MAX)
		return false;
	*rerun = (struct rerun){.used = true, .kind = task->kind, .utc_ms = clock_now().utc_ms};
	snprintf(rerun->pbs, sizeof(rerun->pbs), "%s", server->name);
	snprintf(rerun->store, sizeof(rerun->store), "%s", task->store);
	snprintf(rerun->storage, sizeof(rerun->storage), "%s", task->storage);
	snprintf(rerun->array, sizeof(rerun->array), "%s", array);
	job_of(task, rerun->job, sizeof(rerun->job));
	if (save(tasks))
		return true;
	rerun->used = false;
	return false;
}

void reruns_keep(struct tasks *tasks, const struct tasks_server *server, const struct task *task)
{
	struct rerun *rerun = rerun_of(tasks, server, task);

	if (!rerun || rerun->sure)
		return;
	rerun->sure = true;
	save(tasks);
}

void reruns_withdraw(
	struct tasks *tasks, const struct tasks_server *server, const struct task *task)
{
	struct rerun *rerun = rerun_of(tasks, server, task);

	if (!rerun || rerun->sure)
		return;
	*rerun = (struct rerun){0};
	save(tasks);
}

bool task_reruns(const struct task *task)
{
	return task->kind == TASK_GC || task->kind == TASK_VERIFY;
}

/* What was not stopped while there was a reason for it goes on when there is none. */
static void judge_task(struct tasks *tasks, const struct tasks_server *server, struct task *task)
{
	char array[MD_NAME_MAX] = "", why[160] = "";

	if (task->stop_ms)
		return;
	/* It is being stopped: what comes of that decides. */
	if (server->op == TASKS_OP_STOP && strcmp(server->op_upid, task->upid) == 0)
		return;
	if (!to_stop(tasks, task->storage, array, why, sizeof(why)))
		task->stop[0] = task->refused[0] = '\0';
	else if (!task->stop[0])
		snprintf(task->stop, sizeof(task->stop), "%s", why);
}

void reruns_judge(struct tasks *tasks)
{
	size_t i, k;

	for (i = 0; i < tasks->n; i++)
		for (k = 0; k < TASKS_PER_SERVER; k++) {
			struct task *task = &tasks->servers[i]->list[k];

			if (task_reruns(task))
				judge_task(tasks, tasks->servers[i], task);
		}
}

static void forget(struct tasks *tasks, struct rerun *rerun, const char *why)
{
	log_notice("The %s of '%s' on '%s' that was stopped is %s", kind_word(rerun->kind),
		rerun->store, rerun->pbs, why);
	*rerun = (struct rerun){0};
	save(tasks);
}

/* The array is well: nothing runs on it or is missing, for as long as a job would have to wait. */
static bool is_well(struct tasks *tasks, const struct rerun *rerun, int64_t now_ms)
{
	int64_t settle = tasks->gate->policy->defaults.settle_ms;
	const struct nas_facts *nas;
	const struct array_facts *array;
	size_t i;

	if (matched_rule(tasks->gate, rerun->storage, NULL) ||
		!facts_of(tasks, rerun->storage, rerun->array, &nas, &array))
		return false;
	if (array)
		return array->done && array->calm_since_ms.known &&
			now_ms - array->calm_since_ms.v >= settle;
	for (i = 0; i < nas->n_arrays; i++) /* it is called otherwise now, or gone for good */
		if (nas->arrays[i].role == MD_ROLE_DATA && !nas->arrays[i].done)
			return false;
	return true;
}

static bool runs_already(const struct tasks_server *server, const struct rerun *rerun)
{
	size_t i;

	for (i = 0; i < TASKS_PER_SERVER; i++) {
		const struct task *task = &server->list[i];

		if (task->kind == rerun->kind && !task->stop[0] && rerun->kind == TASK_GC &&
			strcmp(task->storage, rerun->storage) == 0)
			return true;
	}
	return false;
}

int reruns_due(struct tasks_server *server, int64_t now_ms)
{
	struct tasks *tasks = server->tasks;
	int64_t utc = clock_now().utc_ms;
	size_t i;

	if (server->kind != API_PBS || !tasks_visible(server, now_ms))
		return -1;
	for (i = 0; i < RERUNS_MAX; i++) {
		struct rerun *rerun = &tasks->reruns[i];

		if (!rerun->used || strcmp(rerun->pbs, server->name) != 0)
			continue;
		if (utc - rerun->utc_ms > KEEP_MS ||
			!settings_storage(tasks->gate->settings, rerun->storage))
			forget(tasks, rerun,
				"no longer to be run: it is too long ago, or its "
				"storage is not configured any more");
		else if (now_ms < rerun->next_ms || !is_well(tasks, rerun, now_ms))
			continue;
		else if (runs_already(server, rerun))
			forget(tasks, rerun, "running already");
		else
			return (int)i;
	}
	return -1;
}

bool reruns_call(const struct rerun *rerun, struct api_call *ret, struct err *err)
{
	if (rerun->kind == TASK_GC)
		return pbs_gc_start(rerun->store, ret, err);
	return rerun->job[0] ? pbs_verify_job_run(rerun->job, ret, err)
			     : pbs_verify_start(rerun->store, ret, err);
}

static int64_t again_ms(unsigned tries)
{
	int64_t ms = RUN_AGAIN_MS;

	for (; tries && ms < RUN_AGAIN_MAX_MS; tries--)
		ms *= 2;
	return ms < RUN_AGAIN_MAX_MS ? ms : RUN_AGAIN_MAX_MS;
}

void reruns_done(struct tasks *tasks, size_t i, const struct err *err)
{
	struct rerun *rerun = &tasks->reruns[i];
	char text[400];

	if (!rerun->used)
		return;
	if (err && err->kind == ERR_NOTFOUND) {
		forget(tasks, rerun, "no longer there");
		return;
	}
	if (err) {
		if (!rerun->trouble[0])
			log_warning("The %s of '%s' on '%s' cannot be run yet, it is tried again: "
				    "%s",
				kind_word(rerun->kind), rerun->store, rerun->pbs, err->text);
		snprintf(rerun->trouble, sizeof(rerun->trouble), "%.200s", err->text);
		rerun->next_ms = clock_boot_ms() + again_ms(rerun->tries++);
		return;
	}
	snprintf(text, sizeof(text),
		"The %s of '%s' on '%s' that was stopped runs now: the array is well",
		kind_word(rerun->kind), rerun->store, rerun->pbs);
	notify_tell(tasks->gate->notify, NOTIFY_STOPPED, rerun->store, text, NULL);
	forget(tasks, rerun, "run now: its array is well");
}
