// SPDX-License-Identifier: MIT
/* What remote.c (calls to one server) and remotes.c (the list of them) share; for these two only.
 */
#ifndef RG_GATE_REMOTE_IMPL_H
#define RG_GATE_REMOTE_IMPL_H

#include "gate/gate.h"
#include "gate/outbound.h"
#include "gate/remote.h"

#define QUEUE_MAX 24
#define REMOTES_MAX (SETTINGS_MAX_PVE + 2 * SETTINGS_MAX_PBS)

/* A call that waits, or one in flight. */
struct waiting {
	bool used, urgent;
	struct api_call call; /* owned */
	char what[96];
	remote_done done;
	void *data;
	int64_t number; /* the order of asking */
};

struct flight {
	struct remote *remote;
	struct waiting what;
	uint64_t id;
};

enum shape { SHAPE_UNKNOWN = 0, SHAPE_GOOD, SHAPE_BAD };

struct remote {
	struct remotes *remotes;
	enum api_kind kind;
	struct api_settings settings;
	bool former;         /* configured no more: only what is owed there is asked */
	uint64_t sent_mark;  /* tells the token that was sent last from another; 0: none was */
	uint64_t token_mark; /* the same of the one that was taken last */
	struct waiting queue[QUEUE_MAX];
	struct flight flights[2]; /* one of each urgency */
	int64_t numbers;
	unsigned failures; /* of the server, in a row */
	unsigned timeouts; /* in a row: one may be the call's own fault, two are the server's */
	int64_t resume_ms; /* boot time; no call that is not urgent before */
	enum shape shape;
	char text[480]; /* while SHAPE_BAD */
	int64_t since_utc_ms;
};

struct remotes {
	struct gate *gate;
	struct outbound out;
	struct timer timer; /* something in a queue may start */
	size_t n;
	struct remote *list[REMOTES_MAX]; /* owned */
};

/* Ends a call that is no longer in queue or flight: tells its asker, frees it. */
void waiting_end(struct waiting *waiting, const char *body, size_t len, const struct err *err);
/* Frees without a word. */
void waiting_drop(struct waiting *waiting);
/* Ends all that wait; the urgent ones too, or only the others. */
void remote_flush(struct remote *remote, bool urgent_too, const struct err *err);
/* Starts what may start. */
void remote_work(struct remote *remote);

const char *remote_kind_word(const struct remote *remote);

#endif
