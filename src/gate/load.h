// SPDX-License-Identifier: MIT
/* The configuration: settings and policy, loaded together; both are good or nothing changes. */
#ifndef RG_GATE_LOAD_H
#define RG_GATE_LOAD_H

#include "conf/conf.h"
#include "conf/settings.h"
#include "gate/peer.h"

struct gate;

struct loaded {
	struct settings *settings;
	struct policy *policy;
	struct buf policy_text; /* effective */
	struct roles roles;
};

/* False with all that is wrong in `errors`; then *ret is empty. A group that does not exist is
 * wrong. */
bool load(const char *file, struct loaded *ret, struct conf_errors *errors);
void loaded_release(struct loaded *loaded);

/* Puts a loaded configuration in force, at the start or instead of another; empties `loaded`.
 * Watches whose settings are the same go on; what takes effect at a restart only is said in the
 * journal. */
void load_apply(struct gate *gate, struct loaded *loaded);

/* SIGHUP: loads and applies; a bad file is refused with its errors in the journal. */
void load_again(struct gate *gate);

#endif
