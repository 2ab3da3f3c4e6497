// SPDX-License-Identifier: MIT
/*
 * The daemon's end of one NAS's order child (nas/order.h): one order at a time, each answered
 * within its deadline, whatever becomes of the child.
 *
 * A child that is past its deadline is killed; one that cannot be killed is given up, and while
 * ORDER_GIVEN_UP of those live no order is given. It is started with the first order and ended by
 * order_link_rest().
 */
#ifndef RG_GATE_ORDER_LINK_H
#define RG_GATE_ORDER_LINK_H

#include "base/err.h"
#include "gate/timer.h"
#include "nas/order.h"
#include "nas/probe.h"

#define ORDER_GIVEN_UP 4

struct gate;
struct sd_event_source;

struct order_link {
	struct gate *gate;
	struct nas_target target;
	/* The answer to the order under way: the child's line, or one of the same form ("failed
	 * ...") for it. Another order may be given from within. */
	void (*answered)(void *data, const char *line);
	void *data;
	struct probe child;
	struct sd_event_source *source; /* of child.fd */
	struct timer deadline;
	char in[ORDER_LINE_MAX];
	size_t in_len;
	bool waiting;
	int64_t until_ms; /* boot time: deadline of the order under way */
	size_t n_given_up;
	int given_up[ORDER_GIVEN_UP];
	struct err unable; /* why the order under way could not even be given */
};

bool order_link_open(struct order_link *link, struct gate *gate, const struct nas_target *target,
	void (*answered)(void *data, const char *line), void *data, struct err *err);
/* Kills the child; an order under way is not answered any more. */
void order_link_close(struct order_link *link);

/* Gives one order (a line with its end). It is answered always, never from within this call. Not
 * while one is under way. */
void order_link_give(struct order_link *link, const char *order);

/* Ends the child, where none is under way. */
void order_link_rest(struct order_link *link);

/* For the end of the gate, outside the loop: what to poll for POLLIN (-1: nothing) and what to call
 * then, or when the time is over. */
int order_link_fd(const struct order_link *link);
void order_link_feed(struct order_link *link);

/* The child `pid` is reaped. True when it was one of this link. */
bool order_link_reaped(struct order_link *link, int pid);

#endif
