// SPDX-License-Identifier: MIT
/*
 * Looks at one target some times, as the daemon would, and prints a line for each look:
 *
 *     SENSOR login|held whole|partial BYTES MS SENTENCE
 *
 * usage: probe-once [via=ssh|local] [host=H] [port=P] [user=U] [key=FILE] [known_hosts=FILE]
 * [command=C] [root=DIR] [name=N] [deadline=MS] [looks=N] [raw=FILE] [steps=yes]
 * [trust=fetch|add|replace]
 *
 * raw=FILE takes the bytes of the last look. With steps=yes each look waits for a line on stdin
 * (looks= is then the most), and with trust= no look is made: the host key that the target offers
 * is printed and, if so told, put on file. A child that keeps its parent waiting for 3 s past the
 * deadline is killed and shown as "deadline": no test expects that of ssh. Exits 3 when the child
 * did not end well after the last look.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "nas/probe.h"
#include "nas/trust.h"

#define SLACK_MS 3000

struct options {
	struct nas_target target;
	uint64_t looks;
	const char *raw;
	const char *trust;
	bool steps;
	bool child;
};

static int complain(const char *what, const char *why)
{
	fprintf(stderr, "probe-once: %s: %s\n", what, why);
	return 2;
}

static bool text_set(char *to, size_t size, const char *value)
{
	return snprintf(to, size, "%s", value) < (int)size;
}

static bool number_set(const char *value, uint64_t max, uint64_t *ret)
{
	return u64_parse(value, 0, max, ret, NULL);
}

static bool option_set(struct options *o, const char *name, const char *value)
{
	struct nas_target *t = &o->target;
	uint64_t n = 0;
	bool ok = true;

	if (strcmp(name, "via") == 0)
		t->via = strcmp(value, "local") == 0 ? NAS_VIA_LOCAL : NAS_VIA_SSH;
	else if (strcmp(name, "name") == 0)
		ok = text_set(t->name, sizeof(t->name), value);
	else if (strcmp(name, "host") == 0)
		ok = text_set(t->host, sizeof(t->host), value);
	else if (strcmp(name, "user") == 0)
		ok = text_set(t->user, sizeof(t->user), value);
	else if (strcmp(name, "key") == 0)
		ok = text_set(t->key_file, sizeof(t->key_file), value);
	else if (strcmp(name, "known_hosts") == 0)
		ok = text_set(t->known_hosts, sizeof(t->known_hosts), value);
	else if (strcmp(name, "command") == 0)
		ok = text_set(t->command, sizeof(t->command), value);
	else if (strcmp(name, "root") == 0)
		ok = text_set(t->root, sizeof(t->root), value);
	else if (strcmp(name, "port") == 0 && (ok = number_set(value, UINT16_MAX, &n)))
		t->port = (uint16_t)n;
	else if (strcmp(name, "deadline") == 0 && (ok = number_set(value, 60000, &n)))
		t->deadline_ms = (int64_t)n;
	else if (strcmp(name, "looks") == 0)
		ok = number_set(value, 1000, &o->looks);
	else if (strcmp(name, "raw") == 0)
		o->raw = value;
	else if (strcmp(name, "trust") == 0)
		o->trust = value;
	else if (strcmp(name, "steps") == 0)
		o->steps = strcmp(value, "yes") == 0;
	else if (strcmp(name, "child") == 0)
		o->child = strcmp(value, "yes") == 0;
	else
		ok = false;
	return ok;
}

static bool options_read(int argc, char **argv, struct options *o)
{
	char name[32];
	char *value;
	int i;

	*o = (struct options){.looks = 1};
	o->target.via = NAS_VIA_SSH;
	o->target.deadline_ms = NAS_DEADLINE_MS;
	text_set(o->target.name, sizeof(o->target.name), "nas1");
	for (i = 1; i < argc; i++) {
		value = strchr(argv[i], '=');
		if (!value || (size_t)(value - argv[i]) >= sizeof(name))
			return false;
		memcpy(name, argv[i], (size_t)(value - argv[i]));
		name[value - argv[i]] = '\0';
		if (!option_set(o, name, value + 1))
			return false;
	}
	return true;
}

/* As the daemon does: a second child only after the first one is gone or given up. */
static bool child_start(struct probe *probe, int argc, char **argv, struct err *err)
{
	static const char child_word[] = "child=yes";
	const char *args[64];
	int i;

	if (probe->fd >= 0)
		return true;
	if (argc > 62)
		return err_set(err, ERR_LIMIT, "too many arguments");
	args[0] = "/proc/self/exe";
	for (i = 1; i < argc; i++)
		args[i] = argv[i];
	args[argc] = child_word;
	args[argc + 1] = NULL;
	probe->pid = 0;
	return probe_spawn(probe, args, err);
}

static void look(struct probe *probe, const struct nas_target *t, struct probe_result *result,
	struct err *err)
{
	struct pollfd p = {.fd = probe->fd, .events = POLLIN};
	int64_t until = clock_boot_ms() + t->deadline_ms + SLACK_MS;
	int64_t left;
	int state = 0;

	probe_result_clear(result);
	if (!probe_ask(probe, err))
		state = -1;
	while (state == 0 && (left = until - clock_boot_ms()) > 0) {
		if (poll(&p, 1, (int)left) > 0)
			state = probe_feed(probe, result, err);
	}
	if (state == 1)
		return;
	if (state < 0)
		probe_fail(result, SENSOR_FAULT, "%s", err->text);
	else
		probe_fail(result, SENSOR_DEADLINE, "the child had to be killed");
	probe_kill(probe);
	(void)probe_reap(probe);
}

static void result_print(const struct probe_result *r, int64_t took_ms)
{
	printf("%s %s %s %zu %lld %s\n", nas_sensor_word(r->sensor),
		r->logged_in ? "login" : "held", r->partial ? "partial" : "whole", r->raw.len,
		(long long)took_ms, r->text);
	fflush(stdout);
}

static bool raw_write(const char *path, const struct buf *raw)
{
	FILE *file = fopen(path, "w");
	bool ok;

	if (!file)
		return false;
	ok = fwrite(buf_str(raw), 1, raw->len, file) == raw->len;
	return fclose(file) == 0 && ok;
}

/* Lets the child end by itself, so that what watches over its memory speaks up: then 3 is returned.
 */
static int child_end(struct probe *probe)
{
	int status = 0;

	if (probe->fd < 0)
		return 0;
	close(probe->fd);
	probe->fd = -1;
	if (waitpid(probe->pid, &status, 0) != probe->pid)
		return complain("child", strerror(errno));
	probe->pid = 0;
	probe_kill(probe);
	return status ? 3 : 0;
}

static int looks_make(const struct options *o, int argc, char **argv)
{
	struct probe_result result = {0};
	struct probe probe = PROBE_NONE;
	struct err err = {0};
	char line[16];
	int64_t began;
	uint64_t i;
	int rc = 0;

	for (i = 0; i < o->looks; i++) {
		if (o->steps && !fgets(line, sizeof(line), stdin))
			break;
		if (!child_start(&probe, argc, argv, &err)) {
			rc = complain("child", err.text);
			break;
		}
		began = clock_boot_ms();
		look(&probe, &o->target, &result, &err);
		result_print(&result, clock_boot_ms() - began);
	}
	if (o->raw && !raw_write(o->raw, &result.raw))
		rc = complain(o->raw, strerror(errno));
	if (rc == 0)
		rc = child_end(&probe);
	probe_kill(&probe);
	probe_result_release(&result);
	return rc;
}

static int trust_make(const struct options *o)
{
	const struct nas_target *t = &o->target;
	char line[KNOWN_HOSTS_LINE_MAX];
	char print[HOST_KEY_PRINT_MAX];
	struct err err = {0};

	if (!nas_fetch_host_key(t, clock_boot_ms() + t->deadline_ms, print, line, &err)) {
		complain("fetch", err.text);
		return 1;
	}
	printf("%s\n%s\n", print, line);
	if (strcmp(o->trust, "fetch") == 0)
		return 0;
	if (!nas_known_hosts_add(t->known_hosts, t->host, t->port, line,
		    strcmp(o->trust, "replace") == 0, &err)) {
		complain("add", err.text);
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct options o;

	if (!options_read(argc, argv, &o))
		return complain("usage", "NAME=VALUE..., see the head of the source");
	if (o.child)
		return probe_main(&o.target, STDIN_FILENO, STDOUT_FILENO);
	if (o.trust)
		return trust_make(&o);
	return looks_make(&o, argc, argv);
}
