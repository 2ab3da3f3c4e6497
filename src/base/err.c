// SPDX-License-Identifier: MIT
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool err_set(struct err *err, enum err_kind kind, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return false;
	err->kind = kind;
	err->sys = 0;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	return false;
}

bool err_sys(struct err *err, int sys, const char *fmt, ...)
{
	va_list ap;
	size_t used;

	if (!err)
		return false;
	err->kind = ERR_SYS;
	err->sys = sys;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	used = strlen(err->text);
	snprintf(err->text + used, sizeof(err->text) - used, ": %s", strerror(sys));
	return false;
}

bool err_nomem(struct err *err)
{
	return err_set(err, ERR_NOMEM, "out of memory");
}

bool err_prefix(struct err *err, const char *fmt, ...)
{
	char old[sizeof(err->text)];
	va_list ap;
	size_t used;

	if (!err)
		return false;
	memcpy(old, err->text, sizeof(old));
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	used = strlen(err->text);
	snprintf(err->text + used, sizeof(err->text) - used, ": %.*s", (int)(sizeof(old) - 1), old);
	return false;
}
