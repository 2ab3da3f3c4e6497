// SPDX-License-Identifier: MIT
/* An http multi (http/multi.h) in the gate's loop. */
#ifndef RG_GATE_OUTBOUND_H
#define RG_GATE_OUTBOUND_H

#include "gate/timer.h"
#include "http/multi.h"

#define OUTBOUND_FDS_MAX 64

struct outbound {
	struct sd_event *loop;
	struct http_multi *multi;
	struct timer timer;
	struct {
		int fd;
		struct sd_event_source *source; /* NULL: free */
	} fds[OUTBOUND_FDS_MAX];
};

/* `outbound` is all zero and does not move until it is closed. */
bool outbound_open(struct outbound *outbound, struct sd_event *loop, struct err *err);
/* Drops the calls in flight. One that is not open is allowed. */
void outbound_close(struct outbound *outbound);

#endif
