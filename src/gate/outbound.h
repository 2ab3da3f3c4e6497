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
	void (*after)(void *data); /* may be NULL */
	void *after_data;
	struct {
		int fd;
		struct sd_event_source *source; /* NULL: free */
	} fds[OUTBOUND_FDS_MAX];
};

/* `outbound` is all zero and does not move until it is closed. `after(data)` (may be NULL) is
 * called each time that something may have become of a call, outside the multi's own functions. */
bool outbound_open(struct outbound *outbound, struct sd_event *loop, void (*after)(void *data),
	void *data, struct err *err);
/* Drops the calls in flight. One that is not open is allowed. */
void outbound_close(struct outbound *outbound);

#endif
