// SPDX-License-Identifier: MIT
/* A folder for the tests of src/conf, and their messages as one text. */
#ifndef TESTS_UNIT_CONF_ROOM_H
#define TESTS_UNIT_CONF_ROOM_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "conf/errors.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

struct room {
	char folder[64];
	char path[160]; /* of the file that room_file() wrote last */
};

static inline int room_open(void **state)
{
	static struct room room;

	snprintf(room.folder, sizeof(room.folder), "/tmp/conf-test-XXXXXX");
	assert_non_null(mkdtemp(room.folder));
	*state = &room;
	return 0;
}

static inline int room_close(void **state)
{
	const struct room *room = *state;
	static const char *const names[] = {"main.conf", "sub/inc.conf", "sub/more.conf",
		"conf.d/10-a.conf", "conf.d/20-b.conf", "conf.d/.hidden.conf", "conf.d/c.txt",
		"sub", "conf.d"};
	char path[160];
	size_t i;

	for (i = 0; i < COUNT(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", room->folder, names[i]);
		remove(path);
	}
	return rmdir(room->folder);
}

/* Writes a file of one of the names above; its folder is made. */
static inline const char *room_file(struct room *room, const char *name, const char *text)
{
	const char *slash = strchr(name, '/');
	FILE *file;

	if (slash) {
		snprintf(room->path, sizeof(room->path), "%s/%.*s", room->folder,
			(int)(slash - name), name);
		mkdir(room->path, 0700);
	}
	snprintf(room->path, sizeof(room->path), "%s/%s", room->folder, name);
	file = fopen(room->path, "w");
	assert_non_null(file);
	assert_int_equal(fputs(text, file) < 0, 0);
	assert_int_equal(fclose(file), 0);
	return room->path;
}

/* Fails unless the messages contain `part`; releases them. */
static inline void errors_have(struct conf_errors *errors, const char *part)
{
	struct buf text = {0};

	conf_errors_print(errors, &text);
	if (!strstr(buf_str(&text), part))
		fail_msg("no '%s' in '%s'", part, buf_str(&text));
	buf_release(&text);
	conf_errors_release(errors);
}

static inline void errors_none(struct conf_errors *errors)
{
	struct buf text = {0};

	conf_errors_print(errors, &text);
	if (text.len)
		fail_msg("%s", buf_str(&text));
	buf_release(&text);
	conf_errors_release(errors);
}

#endif
