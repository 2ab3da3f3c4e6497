// SPDX-License-Identifier: MIT
#include "gate/secret.h"

#include <string.h>

bool secret_read(const char *path, struct buf *ret, struct err *err)
{
	char *end;

	if (!key_file_read(path, ret, err))
		return false;
	end = ret->len ? memchr(ret->data, '\n', ret->len) : NULL;
	if (end) {
		ret->len = (size_t)(end - ret->data);
		*end = '\0';
	}
	return true;
}

void secret_wipe(struct buf *secret)
{
	key_file_wipe(secret);
}
