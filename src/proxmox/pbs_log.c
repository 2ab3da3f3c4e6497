// SPDX-License-Identifier: MIT
/* What the log of a backup server's backup task tells. */
#include <string.h>

#include "base/units.h"
#include "md/rate.h"
#include "proxmox/log_size.h"
#include "proxmox/pbs.h"

#define PERCENT_MAX 1000000

/* Behind "2026-11-30T21:00:05+01:00: ", with which each line begins. */
static const char *text_of(const char *line)
{
	size_t len = strspn(line, "0123456789-T:+.Z");

	return len > 19 && line[10] == 'T' && line[len - 1] == ':' && line[len] == ' '
		? line + len + 1
		: line;
}

/* Digits, and then `end`. */
static bool number(const char *at, const char *end, uint64_t max, int64_t *ret)
{
	size_t len = strspn(at, "0123456789");
	uint64_t v = 0;

	if (!len || !digits_parse(at, len, max, &v) || !log_after(at + len, end))
		return false;
	*ret = (int64_t)v;
	return true;
}

static void compressed(struct pbs_log_facts *facts, const char *at)
{
	int64_t percent, bytes;

	if (facts->upload <= 0 || !number(at, "%", PERCENT_MAX, &percent)) {
		facts->odd = true;
		return;
	}
	bytes = rate_muldiv(facts->upload, percent, 100);
	facts->odd = facts->odd || bytes > INT64_MAX - facts->sum;
	if (!facts->odd)
		facts->sum += bytes;
	facts->upload = 0;
}

void pbs_log_line(struct pbs_log_facts *facts, const char *line)
{
	const char *text = text_of(line), *at;

	if (log_after(text, "Upload statistics for '")) {
		/* The one before is complete. */
		facts->odd = facts->odd || facts->upload > 0;
		facts->archives++;
	} else if ((at = log_after(text, "Upload size: "))) {
		facts->odd = facts->odd || !facts->archives || facts->upload > 0 ||
			!number(at, " (", INT64_MAX, &facts->upload);
	} else if ((at = log_after(text, "Compression: "))) {
		compressed(facts, at);
	}
}

struct opt pbs_log_written(const struct pbs_log_facts *facts)
{
	return facts->archives && !facts->odd && !facts->upload ? OPT(facts->sum) : OPT_NONE;
}

uint32_t pbs_task_guest(const struct pbs_task *task)
{
	const char *at = strrchr(task->id, ':');
	uint64_t vmid = 0;

	at = at ? at + 1 : task->id;
	if (strncmp(at, "vm/", 3) != 0 && strncmp(at, "ct/", 3) != 0)
		return 0;
	at += 3;
	return digits_parse(at, strcspn(at, "/"), UINT32_MAX, &vmid) ? (uint32_t)vmid : 0;
}
