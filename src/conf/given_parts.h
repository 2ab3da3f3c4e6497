// SPDX-License-Identifier: MIT
/* What the parts of given.h share. */
#ifndef RG_CONF_GIVEN_PARTS_H
#define RG_CONF_GIVEN_PARTS_H

#include "conf/given.h"

/* Monday 2026-01-05, 00:00 UTC. */
#define GIVEN_MONDAY_MS INT64_C(1767571200000)

/* Copies a text that must not be empty. */
bool given_text(char *ret, size_t size, const char *text, struct err *err);

/* Sets one of the facts beside those of enum field; *ret_known becomes false for another name. */
bool given_extra(
	struct given *given, const char *key, const char *value, bool *ret_known, struct err *err);

#endif
