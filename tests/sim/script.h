// SPDX-License-Identifier: MIT
/* A scenario as text: what stands in tests/sim/README.md. */
#ifndef RG_SIM_SCRIPT_H
#define RG_SIM_SCRIPT_H

#include "sim.h"

#define WORDS_IN_LINE 32

/* A line's words; quotes are gone. */
struct words {
	int line; /* in the file */
	size_t n;
	uint16_t at[WORDS_IN_LINE]; /* where each begins in `text` */
	char text[600];
};

struct act {
	int64_t at_ms; /* boot ms */
	size_t order;
	struct words words; /* from the action's name on */
};

struct script {
	char name[200];
	int64_t until_ms;
	size_t n_acts, cap;
	struct act *acts;
};

/* Word number `i`, "" past the last one. */
const char *word_at(const struct words *words, size_t i);

/* The value of KEY in "KEY=VALUE", or NULL. */
const char *word_value(const struct words *words, const char *key);

/* A point of the scenario's clock: "26:30" or "26:30:10" since its start. */
bool clock_parse(const char *text, int64_t *ret_boot_ms);

/* A failure of the scenario itself, or of an expectation: FILE:LINE: ... Returns false. */
bool script_fail(struct sim *sim, const struct words *words, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* "recovery,frozen" as bits of enum md_operation; 0 for NULL. */
unsigned script_mask(const char *text);

bool act_do(struct sim *sim, const struct words *words);
bool expect_check(struct sim *sim, const struct words *words);

#endif
