// SPDX-License-Identifier: MIT
/* The child that gives a NAS its orders: see nas/order.h. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "nas/order.h"
#include "nas/ssh.h"

#define HELD_MS MS_MINUTE

struct giver {
	const struct nas_target *target;
	struct nas_ssh link;
	struct probe_result result;
	int in_fd, out_fd;
	char in[ORDER_LINE_MAX];
	size_t in_len;
	int64_t used_ms; /* the session, last */
};

/* The NAS's line, if it is one of nas-levers, whatever the status: "error" comes with 1. */
static bool said(const struct probe_result *result, char ret[ORDER_LINE_MAX])
{
	const char *text = buf_str(&result->raw);
	size_t len = strcspn(text, "\n"), i;

	if (result->sensor != SENSOR_OK && result->sensor != SENSOR_EXIT_STATUS)
		return false;
	if (text[len] != '\n' || len > ORDER_LINE_MAX - 2)
		return false;
	if (strncmp(text, "ok ", 3) != 0 && strncmp(text, "error ", 6) != 0)
		return false;
	for (i = 0; i < len; i++)
		ret[i] = (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? ' ' : text[i];
	ret[len] = '\n';
	ret[len + 1] = '\0';
	return true;
}

static void failed(struct probe_result *result, char ret[ORDER_LINE_MAX])
{
	if (result->sensor == SENSOR_OK)
		probe_fail(result, SENSOR_NOT_UNDERSTOOD,
			"the answer is not one of nas-levers: is it the forced command of this key "
			"there?");
	snprintf(ret, ORDER_LINE_MAX, "failed %s %s\n", nas_sensor_word(result->sensor),
		result->text);
}

static void give(struct giver *giver, const char *order, char ret[ORDER_LINE_MAX])
{
	const struct nas_target *target = giver->target;
	int64_t span_ms = target->deadline_ms > 0 ? target->deadline_ms : ORDER_DEADLINE_MS;

	probe_result_clear(&giver->result);
	if (target->via == NAS_VIA_SSH)
		nas_ssh_look(
			&giver->link, target, order, clock_boot_ms() + span_ms, &giver->result);
	else
		probe_fail(&giver->result, SENSOR_FAULT,
			"'%s' is not on ssh: its levers are moved with a second key only",
			target->name);
	giver->used_ms = clock_boot_ms();
	if (!said(&giver->result, ret))
		failed(&giver->result, ret);
}

static bool answer(struct giver *giver, const char *line)
{
	size_t len = strlen(line), done = 0;
	ssize_t n;

	while (done < len) {
		n = write(giver->out_fd, line + done, len - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

/* The next whole line of what came, without its end, in `ret`. */
static bool take_line(struct giver *giver, char ret[ORDER_LINE_MAX])
{
	char *end = memchr(giver->in, '\n', giver->in_len);
	size_t len;

	if (!end)
		return false;
	len = (size_t)(end - giver->in);
	memcpy(ret, giver->in, len);
	ret[len] = '\0';
	giver->in_len -= len + 1;
	memmove(giver->in, end + 1, giver->in_len);
	return true;
}

/* Until the session has been held for long enough; -1: for ever, none is held. */
static int held_for(const struct giver *giver)
{
	int64_t left;

	if (nas_ssh_fd(&giver->link) < 0)
		return -1;
	left = giver->used_ms + HELD_MS - clock_boot_ms();
	return left > 0 ? (int)left : 0;
}

/* Waits for the parent and reads what it sends; in between the session is tended, and closed when
 * nobody has used it for a while. Returns what read(2) does: 0 at the end. */
static ssize_t hear(struct giver *giver)
{
	struct pollfd p[2] = {{.fd = giver->in_fd, .events = POLLIN}, {.events = POLLIN}};
	int rc;

	for (;;) {
		p[1].fd = nas_ssh_fd(&giver->link);
		p[0].revents = 0;
		p[1].revents = 0;
		rc = poll(p, 2, held_for(giver));
		if (rc < 0 && errno != EINTR)
			return -1;
		if (rc == 0)
			nas_ssh_drop(&giver->link);
		if (rc <= 0)
			continue;
		if (p[1].revents)
			nas_ssh_tend(&giver->link);
		if (p[0].revents)
			break;
	}
	do {
		rc = (int)read(
			giver->in_fd, giver->in + giver->in_len, sizeof(giver->in) - giver->in_len);
	} while (rc < 0 && errno == EINTR);
	if (rc > 0)
		giver->in_len += (size_t)rc;
	return rc;
}

int order_main(const struct nas_target *target, int in_fd, int out_fd)
{
	struct giver giver = {.target = target, .in_fd = in_fd, .out_fd = out_fd};
	char order[ORDER_LINE_MAX], line[ORDER_LINE_MAX];
	bool heard = true;
	ssize_t n = 1;

	/* A parent that died before this line has closed its end of in_fd: that ends us as well. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_IGN);
	while (heard && n > 0) {
		/* A line that fills the room without an end is no order. */
		n = giver.in_len < sizeof(giver.in) ? hear(&giver) : -1;
		while (heard && n > 0 && take_line(&giver, order)) {
			give(&giver, order, line);
			heard = answer(&giver, line);
		}
	}
	nas_ssh_drop(&giver.link);
	probe_result_release(&giver.result);
	return heard && n == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
