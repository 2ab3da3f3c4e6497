// SPDX-License-Identifier: MIT
#include "nas/ssh.h"

#include <libssh/callbacks.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "md/look.h"
#include "nas/session.h"

#define STDERR_MAX 160

/* One command under way. */
struct run {
	ssh_session ssh;
	ssh_channel channel;
	struct ssh_channel_callbacks_struct callbacks;
	struct buf *raw;
	int64_t deadline_ms;
	bool flooded;
	bool exited;
	int status;
	char signal[16]; /* without SIG; "" when it ended by itself */
	char complaint[STDERR_MAX];
	size_t complaint_len;
};

enum run_end {
	RUN_DONE,   /* the session may go on; the result is set */
	RUN_BROKEN, /* the session is of no use any more; the result is set */
	RUN_STALE,  /* the session was of no use to begin with: nothing was run */
};

/* Keeps the first line that the command complained with. */
static void complaint_add(struct run *run, const void *text, size_t len)
{
	size_t room = sizeof(run->complaint) - 1 - run->complaint_len;

	if (len > room)
		len = room;
	memcpy(run->complaint + run->complaint_len, text, len);
	run->complaint_len += len;
	run->complaint[run->complaint_len] = '\0';
}

/*
 * Output, too, comes by callback: the reading functions work through whatever packets have come, so
 * that reading one stream can bring in the other's last bytes, and a poll after that would wait for
 * nothing.
 */
static int on_data(ssh_session ssh, ssh_channel channel, void *data, uint32_t len, int is_stderr,
	void *userdata)
{
	struct run *run = userdata;

	(void)ssh;
	(void)channel;
	if (is_stderr)
		complaint_add(run, data, len);
	else if (!run->flooded)
		run->flooded = !buf_add(run->raw, data, len);
	return (int)len;
}

/* The exit status comes by callback: the getter is deprecated in libssh 0.11 and its successor is
 * not in 0.10. */
static void on_exit_status(ssh_session ssh, ssh_channel channel, int status, void *userdata)
{
	struct run *run = userdata;

	(void)ssh;
	(void)channel;
	run->exited = true;
	run->status = status;
}

static void on_exit_signal(ssh_session ssh, ssh_channel channel, const char *name, int core,
	const char *message, const char *lang, void *userdata)
{
	struct run *run = userdata;

	(void)ssh;
	(void)channel;
	(void)core;
	(void)message;
	(void)lang;
	run->exited = true;
	snprintf(run->signal, sizeof(run->signal), "%s", name ? name : "?");
}

static enum run_end run_silent(struct run *run, struct probe_result *result)
{
	(void)run;
	probe_fail(result, SENSOR_SILENT, "logged in, but the NAS then said nothing in time");
	return RUN_BROKEN;
}

/* Opens the channel and has the command started. RUN_DONE when it runs. */
static enum run_end run_start(struct run *run, const char *command, struct probe_result *result)
{
	int rc;

	run->channel = ssh_channel_new(run->ssh);
	if (!run->channel)
		return RUN_STALE;
	ssh_callbacks_init(&run->callbacks);
	run->callbacks.userdata = run;
	run->callbacks.channel_data_function = on_data;
	run->callbacks.channel_exit_status_function = on_exit_status;
	run->callbacks.channel_exit_signal_function = on_exit_signal;
	if (ssh_set_channel_callbacks(run->channel, &run->callbacks) != SSH_OK)
		return RUN_STALE;
	while ((rc = ssh_channel_open_session(run->channel)) == SSH_AGAIN) {
		if (!session_wait(run->ssh, run->deadline_ms))
			return run_silent(run, result);
	}
	if (rc != SSH_OK)
		return RUN_STALE;
	while ((rc = ssh_channel_request_exec(run->channel, command)) == SSH_AGAIN) {
		if (!session_wait(run->ssh, run->deadline_ms))
			return run_silent(run, result);
	}
	return rc == SSH_OK ? RUN_DONE : RUN_STALE;
}

/* A whole mdstat is a reading, whatever became of the rest. Returns whether it is. */
static bool run_salvage(struct probe_result *result, const char *why)
{
	if (!look_has_mdstat(buf_str(&result->raw), result->raw.len))
		return false;
	result->partial = true;
	probe_fail(result, SENSOR_OK, "mdstat came whole, the rest did not: %s", why);
	return true;
}

static enum run_end run_late(struct probe_result *result)
{
	if (!result->raw.len) {
		probe_fail(result, SENSOR_SILENT,
			"logged in, but the command printed nothing in time");
		return RUN_BROKEN;
	}
	/* Bytes came, so the peer lives: the session stays, only this command's channel is left
	 * behind. */
	if (run_salvage(result, "the command hangs"))
		return RUN_DONE;
	probe_fail(result, SENSOR_DRIPPING, "%zu bytes came, but the command did not end in time",
		result->raw.len);
	return RUN_BROKEN;
}

static enum run_end run_flooded(struct probe_result *result)
{
	if (!run_salvage(result, "it is too much"))
		probe_fail(result, SENSOR_TOO_MUCH, "the command printed more than %zu KiB",
			PROBE_RAW_MAX / 1024);
	return RUN_BROKEN;
}

static enum run_end run_lost(struct run *run, struct probe_result *result)
{
	if (!run_salvage(result, "the connection was lost"))
		probe_fail(result, SENSOR_UNREACHABLE, "the connection was lost in the middle: %s",
			ssh_get_error(run->ssh));
	return RUN_BROKEN;
}

static enum run_end run_judge(struct run *run, struct probe_result *result)
{
	char why[64];

	if (run->exited && run->status == 0 && !run->signal[0]) {
		result->sensor = SENSOR_OK;
		return RUN_DONE;
	}
	if (!run->exited)
		snprintf(why, sizeof(why), "the command ended without a status");
	else if (run->signal[0])
		snprintf(why, sizeof(why), "the command was killed by SIG%s", run->signal);
	else
		snprintf(why, sizeof(why), "the command ended with status %d", run->status);
	if (run_salvage(result, why))
		return RUN_DONE;
	run->complaint[strcspn(run->complaint, "\r\n")] = '\0';
	probe_fail(result, SENSOR_EXIT_STATUS, "%s%s%s", why, run->complaint[0] ? ": " : "",
		run->complaint);
	return RUN_DONE;
}

/* The status may come before or after the end of the output; a closed channel brings no more of
 * either. */
static bool run_ended(const struct run *run)
{
	return ssh_channel_is_closed(run->channel) ||
		(run->exited && ssh_channel_is_eof(run->channel));
}

static enum run_end run_read(struct run *run, ssh_event event, struct probe_result *result)
{
	int64_t left;

	for (;;) {
		if (run->flooded)
			return run_flooded(result);
		/* A lost connection closes the channel as well, but brings no status. */
		if (!ssh_is_connected(run->ssh) && !run->exited)
			return run_lost(run, result);
		if (run_ended(run))
			return run_judge(run, result);
		left = run->deadline_ms - clock_boot_ms();
		if (left <= 0)
			return run_late(result);
		if (ssh_event_dopoll(event, (int)left) == SSH_ERROR)
			return run_ended(run) ? run_judge(run, result) : run_lost(run, result);
	}
}

static enum run_end run_collect(struct run *run, struct probe_result *result)
{
	ssh_event event = ssh_event_new();
	enum run_end end = RUN_BROKEN;

	ssh_channel_send_eof(run->channel);
	if (event && ssh_event_add_session(event, run->ssh) == SSH_OK) {
		end = run_read(run, event, result);
		ssh_event_remove_session(event, run->ssh);
	} else {
		probe_fail(result, SENSOR_FAULT, "libssh has no memory to wait for the answer");
	}
	ssh_event_free(event);
	return end;
}

/* The callbacks point into `run`, and libssh keeps a channel until the server has closed it too. */
static void run_close(struct run *run)
{
	if (!run->channel)
		return;
	ssh_remove_channel_callbacks(run->channel, &run->callbacks);
	ssh_channel_close(run->channel);
	ssh_channel_free(run->channel);
}

static enum run_end run_command(
	ssh_session ssh, const char *command, int64_t deadline_ms, struct probe_result *result)
{
	struct run run = {.ssh = ssh, .raw = &result->raw, .deadline_ms = deadline_ms};
	enum run_end end = run_start(&run, command, result);

	if (end == RUN_DONE)
		end = run_collect(&run, result);
	run_close(&run);
	return end;
}

void nas_ssh_look(struct nas_ssh *link, const struct nas_target *target, const char *command,
	int64_t deadline_ms, struct probe_result *result)
{
	enum run_end end = RUN_STALE;

	result->raw.max = PROBE_RAW_MAX;
	if (link->session)
		end = run_command(link->session, command, deadline_ms, result);
	if (end == RUN_STALE) {
		nas_ssh_drop(link);
		if (!session_login(target, deadline_ms, &link->session, result))
			return;
		result->logged_in = true;
		end = run_command(link->session, command, deadline_ms, result);
	}
	if (end == RUN_STALE)
		probe_fail(result, SENSOR_EXIT_STATUS, "%.100s lets '%.48s' run no command: %s",
			target->host, target->user, ssh_get_error(link->session));
	if (end != RUN_DONE)
		nas_ssh_drop(link);
}

int nas_ssh_fd(const struct nas_ssh *link)
{
	return link->session ? ssh_get_fd(link->session) : -1;
}

void nas_ssh_tend(struct nas_ssh *link)
{
	ssh_event event = NULL;
	int rc = SSH_ERROR;

	if (!link->session)
		return;
	event = ssh_event_new();
	if (event && ssh_event_add_session(event, link->session) == SSH_OK) {
		rc = ssh_event_dopoll(event, 0);
		ssh_event_remove_session(event, link->session);
	}
	ssh_event_free(event);
	if (rc == SSH_ERROR || !ssh_is_connected(link->session))
		nas_ssh_drop(link);
}

void nas_ssh_drop(struct nas_ssh *link)
{
	session_close(link->session);
	link->session = NULL;
}
