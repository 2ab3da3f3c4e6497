// SPDX-License-Identifier: MIT
/* What time a line of a task's log tells. */
#include <string.h>

#include "base/units.h"
#include "proxmox/pve.h"

#define TIME_LEN 19 /* "2026-11-30 21:00:00" */

enum pve_log_mark pve_log_time(const char *line, int64_t *ret_local_s)
{
	static const struct {
		const char *words;
		enum pve_log_mark mark;
	} marks[] = {
		{"INFO: Backup started at ", PVE_LOG_STARTED},
		{"INFO: Backup finished at ", PVE_LOG_FINISHED},
		{"INFO: Failed at ", PVE_LOG_FAILED},
	};
	static const struct moment utc = {0};
	int64_t ms = 0;
	size_t i, len;

	for (i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		len = strlen(marks[i].words);
		if (strncmp(line, marks[i].words, len) != 0)
			continue;
		line += len;
		if (strlen(line) != TIME_LEN || line[4] != '-' || line[10] != ' ' ||
			!when_parse(line, &utc, &ms, NULL))
			return PVE_LOG_NONE;
		*ret_local_s = ms / MS_SECOND;
		return marks[i].mark;
	}
	return PVE_LOG_NONE;
}
