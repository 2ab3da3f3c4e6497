// SPDX-License-Identifier: MIT
/* The probe's child: see nas/probe.h. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "md/look.h"
#include "nas/local.h"
#include "nas/probe.h"
#include "nas/ssh.h"

struct child {
	const struct nas_target *target;
	struct nas_ssh link;
	struct probe_result result;
	struct buf frame;
	int in_fd;
	int out_fd;
};

static void child_look(struct child *child)
{
	const struct nas_target *target = child->target;
	int64_t span_ms = target->deadline_ms > 0 ? target->deadline_ms : NAS_DEADLINE_MS;
	int64_t deadline_ms = clock_boot_ms() + span_ms;
	struct probe_result *result = &child->result;

	probe_result_clear(result);
	if (target->via == NAS_VIA_LOCAL)
		nas_local_look(target->root, deadline_ms, result);
	else if (target->via == NAS_VIA_SSH)
		nas_ssh_look(&child->link, target,
			target->command[0] ? target->command : look_command(), deadline_ms, result);
	else
		probe_fail(result, SENSOR_FAULT, "'%s' is neither on ssh nor local", target->name);
	/* A login keeps the forced command that it began with, also when it has been mended since.
	 */
	if (result->sensor != SENSOR_OK)
		nas_ssh_drop(&child->link);
}

static bool child_answer(struct child *child)
{
	size_t done = 0;
	ssize_t n;

	buf_clear(&child->frame);
	if (!frame_write(&child->result, &child->frame, NULL))
		return false;
	while (done < child->frame.len) {
		n = write(child->out_fd, child->frame.data + done, child->frame.len - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

/* Waits for the parent; in between the held session is kept alive. Returns what read(2) on in_fd
 * returns. */
static ssize_t child_wait(struct child *child, char *ret_ask)
{
	struct pollfd p[2] = {{.fd = child->in_fd, .events = POLLIN}, {.events = POLLIN}};
	ssize_t n;

	for (;;) {
		p[1].fd = nas_ssh_fd(&child->link);
		p[0].revents = 0;
		p[1].revents = 0;
		if (poll(p, 2, -1) < 0) {
			if (errno == EINTR)
				continue;
			return -1;
		}
		if (p[1].revents)
			nas_ssh_tend(&child->link);
		if (!p[0].revents)
			continue;
		n = read(child->in_fd, ret_ask, 1);
		if (n >= 0 || errno != EINTR)
			return n;
	}
}

int probe_main(const struct nas_target *target, int in_fd, int out_fd)
{
	struct child child = {.target = target, .in_fd = in_fd, .out_fd = out_fd};
	char ask = 0;
	ssize_t n;

	/* A parent that died before this line has closed its end of in_fd: that ends us as well. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_IGN);
	for (;;) {
		n = child_wait(&child, &ask);
		if (n <= 0 || ask != PROBE_ASK)
			break;
		child_look(&child);
		if (!child_answer(&child)) {
			n = -1;
			break;
		}
	}
	nas_ssh_drop(&child.link);
	probe_result_release(&child.result);
	buf_release(&child.frame);
	return n == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
