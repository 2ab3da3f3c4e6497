// SPDX-License-Identifier: MIT
/* rebuildgate parse: what a /proc/mdstat text means. The JSON is described in the manual page
 * rebuildgate(1). */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/cli.h"
#include "md/health.h"
#include "md/vendor.h"

static const char *const format_words[] = {
	[MDSTAT_INVALID] = "none",
	[MDSTAT_NONE] = "none",
	[MDSTAT_UNPARSEABLE] = "unparseable",
	[MDSTAT_UNRAID] = "unraid",
	[MDSTAT_GOOD] = "mdstat",
};

static const char *const state_words[] = {
	[MDSTAT_ACTIVE] = "active",
	[MDSTAT_INACTIVE] = "inactive",
	[MDSTAT_BROKEN] = "broken",
};

static const char *const read_only_words[] = {
	[MDSTAT_RO_NO] = "no",
	[MDSTAT_RO_AUTO] = "auto",
	[MDSTAT_RO_YES] = "yes",
};

/* A device's name may hold any byte but a blank; JSON and a terminal may not. */
static bool put_slice(json_t *list, const char *text, struct mdstat_slice slice)
{
	char *copy = malloc((size_t)slice.len + 1);
	size_t i;
	bool done;

	if (!copy)
		return false;
	for (i = 0; i < slice.len; i++) {
		unsigned char c = (unsigned char)text[slice.at + i];

		copy[i] = c < 0x20 || c >= 0x7f ? '?' : (char)c;
	}
	copy[slice.len] = '\0';
	done = json_array_append_new(list, json_string(copy)) == 0;
	free(copy);
	return done;
}

/* The text of a slice, or null; by way of a list of one. */
static bool put_word(json_t *object, const char *name, const char *text, struct mdstat_slice slice)
{
	json_t *list = json_array();
	bool done = false;

	if (!slice.len)
		done = json_put(object, name, json_null());
	else if (list && put_slice(list, text, slice))
		done = json_put(object, name, json_incref(json_array_get(list, 0)));
	json_decref(list);
	return done;
}

/* Past 15 digits a JSON fraction would be rounded; the tenth of 10^14 minutes can go. */
static bool put_tenths(json_t *object, const char *name, struct opt tenths)
{
	if (!tenths.known)
		return json_put(object, name, json_null());
	if (tenths.v >= INT64_C(1000000000000000))
		return json_put_int(object, name, tenths.v / 10);
	return json_put(object, name, json_real((double)tenths.v / 10));
}

/* The members that have one of `flags`; all if it is 0. */
static bool put_members(json_t *object, const char *name, const struct mdstat *mdstat,
	const struct mdstat_array *array, uint32_t flags)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; list && i < array->n_members; i++) {
		const struct mdstat_member *member = &mdstat->members[array->first_member + i];

		if (flags && !(member->flags & flags))
			continue;
		if (!put_slice(list, mdstat->text, member->name)) {
			json_decref(list);
			return false;
		}
	}
	return json_put(object, name, list);
}

static bool put_lists(json_t *object, const struct mdstat *mdstat, const struct mdstat_array *array)
{
	static const struct {
		const char *name;
		uint32_t flags;
	} lists[] = {
		{"members", 0},
		{"spares", MDSTAT_SPARE},
		{"failed", MDSTAT_FAULTY},
		{"disk_errors", MDSTAT_DISK_ERROR},
		{"write_mostly", MDSTAT_WRITE_MOSTLY},
		{"journal", MDSTAT_JOURNAL},
		{"replacement", MDSTAT_REPLACEMENT},
	};
	size_t i;

	for (i = 0; i < CLI_COUNT(lists); i++) {
		if (!put_members(object, lists[i].name, mdstat, array, lists[i].flags))
			return false;
	}
	return true;
}

/* Where the kernel prints no version the superblock is 0.90; an inactive array may just not have
 * told it. */
static bool put_metadata(
	json_t *object, const struct mdstat *mdstat, const struct mdstat_array *array)
{
	if (!array->metadata.len && array->state != MDSTAT_INACTIVE)
		return json_put_text(object, "metadata", "0.90");
	return put_word(object, "metadata", mdstat->text, array->metadata);
}

static json_t *array_json(
	enum md_vendor vendor, const struct mdstat *mdstat, const struct mdstat_array *array)
{
	json_t *o = json_object();
	bool done = o && json_put_text(o, "name", array->name) &&
		json_put_text(o, "state", state_words[array->state]) &&
		json_put_text(o, "read_only", read_only_words[array->read_only]) &&
		put_word(o, "level", mdstat->text, array->level_text) &&
		put_metadata(o, mdstat, array) && json_put_opt(o, "size_kib", array->size_kib) &&
		json_put_opt(o, "raid_disks", array->raid_disks) &&
		json_put_opt(o, "working_disks", array->working) &&
		put_word(o, "slots", mdstat->text, array->slots) &&
		json_put_text(o, "operation", md_operation_word(array->operation)) &&
		json_put_text(o, "sync_state", md_sync_state_word(array->sync_state)) &&
		put_tenths(o, "percent", array->percent_x10) &&
		json_put_opt(o, "done_kib", array->done_kib) &&
		json_put_opt(o, "total_kib", array->total_kib) &&
		json_put_opt(o, "speed_kib_s", array->speed_kib_s) &&
		put_tenths(o, "finish_min", array->finish_x10) && put_lists(o, mdstat, array);

	done = done &&
		json_put_text(
			o, "role", md_role_word(vendor_role(vendor, mdstat, array, NULL, 0))) &&
		json_put_text(o, "health", md_health_word(vendor_health(vendor, mdstat, array))) &&
		json_put_bool(o, "empty_slots", vendor_empty_slots(vendor, mdstat, array));
	if (!done) {
		json_decref(o);
		return NULL;
	}
	return o;
}

static json_t *mdstat_json(enum md_vendor vendor, const struct mdstat *mdstat)
{
	json_t *o = json_object(), *list = json_array();
	bool done = o && list;
	size_t i;

	if (mdstat->format == MDSTAT_GOOD)
		vendor = vendor_resolve(vendor, mdstat);
	for (i = 0; done && i < mdstat->n_arrays; i++)
		done = json_array_append_new(
			       list, array_json(vendor, mdstat, &mdstat->arrays[i])) == 0;
	done = done && json_put_text(o, "format", format_words[mdstat->format]) &&
		json_put_text(o, "why", mdstat->why) &&
		json_put_text(o, "vendor",
			mdstat->format == MDSTAT_GOOD ? md_vendor_word(vendor) : NULL) &&
		json_put(o, "arrays", json_incref(list));
	json_decref(list);
	if (!done) {
		json_decref(o);
		return NULL;
	}
	return o;
}

/* --- as text --- */

static void operation_text(const json_t *a, char *text, size_t size)
{
	const char *operation = out_text_of(a, "operation"), *state = out_text_of(a, "sync_state");
	const json_t *percent = json_object_get(a, "percent");

	if (json_is_real(percent))
		snprintf(text, size, "%s %.1f %%", operation, json_real_value(percent));
	else if (strcmp(state, "none") == 0 || strcmp(state, operation) == 0)
		snprintf(text, size, "%s", operation);
	else
		snprintf(text, size, "%s, %s", operation, state);
}

static void disks_text(const json_t *a, char *text, size_t size)
{
	struct opt n = out_int_of(a, "raid_disks"), m = out_int_of(a, "working_disks");

	text[0] = '\0';
	if (n.known && m.known)
		snprintf(text, size, "%" PRId64 " of %" PRId64, m.v, n.v);
}

/* "failed sdc1, sdd1; spare sde1": what stands out among the members. */
static void notes_text(const json_t *a, struct buf *buf)
{
	static const char *const lists[][2] = {{"failed", "failed"}, {"disk_errors", "disk error"},
		{"spares", "spare"}, {"replacement", "replacement"}, {"journal", "journal"}};
	size_t i, k;

	for (i = 0; i < CLI_COUNT(lists); i++) {
		const json_t *list = out_list_of(a, lists[i][0]);

		for (k = 0; k < json_array_size(list); k++) {
			buf_adds(buf, k ? ", " : buf->len ? "; " : "");
			if (!k)
				buf_addf(buf, "%s ", lists[i][1]);
			buf_adds(buf, json_string_value(json_array_get(list, k)));
		}
	}
	if (json_is_true(json_object_get(a, "empty_slots")))
		buf_addf(buf, "%sempty slots are normal here", buf->len ? "; " : "");
	if (strcmp(out_text_of(a, "read_only"), "no") != 0)
		buf_addf(
			buf, "%sread-only (%s)", buf->len ? "; " : "", out_text_of(a, "read_only"));
}

static void mdstat_text(const struct out *out, const json_t *value, struct buf *buf)
{
	static const char *const names[] = {"ARRAY", "ROLE", "LEVEL", "STATE", "HEALTH",
		"OPERATION", "SPEED", "DISKS", "SIZE", "NOTES"};
	const json_t *arrays = out_list_of(value, "arrays");
	char text[UNITS_TEXT_MAX + 32];
	struct table table;
	size_t i;

	if (strcmp(out_text_of(value, "format"), "mdstat") != 0) {
		buf_addf(buf, "%s: %s\n", out_text_of(value, "format"), out_text_of(value, "why"));
		return;
	}
	if (!json_array_size(arrays)) {
		buf_adds(buf, "no arrays\n");
		return;
	}
	table_start(&table, CLI_COUNT(names), names);
	for (i = 0; i < json_array_size(arrays); i++) {
		const json_t *a = json_array_get(arrays, i);
		struct opt speed = out_int_of(a, "speed_kib_s"), size = out_int_of(a, "size_kib");
		struct buf notes = {0};

		table_cell(&table, out_text_of(a, "name"));
		table_cell(&table, out_text_of(a, "role"));
		table_cell(&table, out_text_of(a, "level"));
		table_cell(&table, out_text_of(a, "state"));
		table_cell(&table, out_text_of(a, "health"));
		operation_text(a, text, sizeof(text));
		table_cell(&table, text);
		speed.known = speed.known && speed.v >= 0 && speed.v <= INT64_MAX / 1024;
		table_cell(&table, speed.known ? rate_show(speed.v * 1024, text) : "");
		disks_text(a, text, sizeof(text));
		table_cell(&table, text);
		size.known = size.known && size.v <= INT64_MAX / 1024;
		table_cell(&table, size.known ? size_show(size.v * 1024, text) : "");
		notes_text(a, &notes);
		table_cell(&table, buf_str(&notes));
		buf_release(&notes);
	}
	table_print(out, &table, "", buf);
}

/* All of a file or of stdin, to one byte past what is taken: the parser says what is wrong with
 * more. */
static bool text_read(const char *path, struct buf *buf, struct err *err)
{
	bool is_stdin = strcmp(path, "-") == 0, done = false;
	int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = 0;

	if (fd < 0)
		return err_sys(err, errno, "cannot open '%s'", path);
	while (buf->len <= MDSTAT_MAX_TEXT) {
		char *room = buf_room(buf, MDSTAT_MAX_TEXT + 1 - buf->len);

		if (!room) {
			err_nomem(err);
			goto out;
		}
		n = read(fd, room, MDSTAT_MAX_TEXT + 1 - buf->len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			err_sys(err, errno, "cannot read '%s'", is_stdin ? "stdin" : path);
			goto out;
		}
		buf_used(buf, (size_t)n);
		if (n == 0)
			break;
	}
	done = true;
out:
	if (!is_stdin)
		close(fd);
	return done;
}

static int parse_file(const char *path, enum md_vendor vendor, const struct out *out)
{
	struct buf text = {0};
	struct mdstat *mdstat = calloc(1, sizeof(*mdstat));
	json_t *value = NULL;
	struct err err = {0};
	int code = CLI_OK;

	if (!mdstat) {
		err_nomem(&err);
		goto out;
	}
	if (!text_read(path, &text, &err))
		goto out;
	if (!mdstat_parse(buf_str(&text), text.len, mdstat))
		code = CLI_NO_READING;
	value = mdstat_json(vendor, mdstat);
	if (!value)
		err_nomem(&err);
	else
		out_show(out, value, mdstat_text, &err);
out:
	if (err.kind)
		code = cli_fail("parse", CLI_USAGE, err.text);
	json_decref(value);
	free(mdstat);
	buf_release(&text);
	return code;
}

int cli_parse(const struct cli_verb *verb, int argc, char **argv)
{
	const char *word = "auto";
	const struct cli_option options[] = {{"--vendor", "VENDOR",
		"auto, generic, synology or qnap: what roles its arrays have", &word, NULL}};
	enum md_vendor vendor;
	struct out out;
	struct err err = {0};
	int code;

	if (!cli_args(verb, argc, argv, options, CLI_COUNT(options), &out, &code))
		return code;
	vendor = md_vendor_parse(word);
	if (vendor == MD_VENDOR_NONE) {
		err_set(&err, ERR_INVALID,
			"vendor '%s' is not one of auto, generic, synology, qnap", word);
		return cli_fail("parse", CLI_USAGE, err.text);
	}
	return parse_file(argv[1], vendor, &out);
}
