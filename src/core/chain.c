// SPDX-License-Identifier: MIT
#include "core/chain.h"

#include <stdio.h>
#include <string.h>

/* What has been written so far, and what would have been. */
struct out {
	char *at;
	size_t size;
	size_t len;
};

static void put(struct out *out, const void *data, size_t len)
{
	if (out->len <= out->size && len <= out->size - out->len)
		memcpy(out->at + out->len, data, len);
	out->len += len;
}

size_t chain_bytes(const unsigned char prev[CHAIN_HASH_LEN], const struct chain_field *fields,
	size_t n, char *ret, size_t size)
{
	struct out out = {.at = ret, .size = size};
	char head[24];
	size_t i;

	put(&out, prev, CHAIN_HASH_LEN);
	for (i = 0; i < n; i++) {
		if (!fields[i].data) {
			put(&out, "~,", 2);
			continue;
		}
		put(&out, head, (size_t)snprintf(head, sizeof(head), "%zu:", fields[i].len));
		put(&out, fields[i].data, fields[i].len);
		put(&out, ",", 1);
	}
	return out.len;
}
