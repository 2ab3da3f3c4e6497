// SPDX-License-Identifier: MIT
/*
 * Configuration text as a policy and as the daemon's settings. Beyond not crashing: libconfig never
 * refuses what the scan let pass (it would lose memory there), and what a policy prints loads again
 * and prints the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "conf/settings_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* No folder: @include finds nothing. */
#define NAME "/nowhere/at/all/fuzz.conf"

static void must(bool yes)
{
	if (!yes)
		abort();
}

static void no_refusal(const struct conf_errors *errors)
{
	static const char says[] = "libconfig refuses this";
	size_t i;

	for (i = 0; i < errors->n; i++)
		must(strncmp(errors->list[i].text, says, sizeof(says) - 1) != 0);
}

static void as_policy(const char *text, size_t len)
{
	struct conf_errors errors = {0};
	struct policy *first = NULL, *second = NULL;
	struct buf one = {0}, two = {0};

	if (conf_policy_parse(text, len, NAME, &first, &errors)) {
		must(conf_policy_print(first, &one));
		must(conf_policy_parse(buf_str(&one), one.len, NAME, &second, &errors));
		must(conf_policy_print(second, &two));
		must(one.len == two.len && memcmp(one.data, two.data, one.len) == 0);
	} else {
		must(!first && !conf_errors_none(&errors));
	}
	no_refusal(&errors);
	conf_policy_free(first);
	conf_policy_free(second);
	buf_release(&one);
	buf_release(&two);
	conf_errors_release(&errors);
}

static void as_settings(const char *text, size_t len)
{
	static struct settings settings;
	struct conf_errors errors = {0};
	struct tree *tree = tree_parse(text, len, NAME, &errors);

	if (tree) {
		settings_defaults(&settings);
		settings_read(&settings, tree_root(tree), &errors);
	}
	no_refusal(&errors);
	tree_free(tree);
	conf_errors_release(&errors);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;

	as_policy(text, size);
	as_settings(text, size);
	return 0;
}
