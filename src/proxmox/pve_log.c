// SPDX-License-Identifier: MIT
/* What a task's log tells, line by line. */
#include <string.h>

#include "base/units.h"
#include "proxmox/pve.h"

static const char *after(const char *line, const char *start)
{
	size_t len = strlen(start);

	return strncmp(line, start, len) == 0 ? line + len : NULL;
}

/* Copies `len` bytes if they fit. */
static bool keep(char *ret, size_t size, const char *text, size_t len)
{
	if (!len || len >= size)
		return false;
	memcpy(ret, text, len);
	ret[len] = '\0';
	return true;
}

/* The next word of a command line as PVE::Tools::shellquote() writes it: blanks part words, quotes
 * keep them together. Returns where the line goes on, NULL at its end. */
static const char *next_word(const char *at, const char **ret, size_t *ret_len)
{
	char quote = '\0';

	at += strspn(at, " ");
	if (!*at)
		return NULL;
	*ret = at;
	for (; *at && (quote || *at != ' '); at++) {
		if (*at == '\\' && quote != '\'' && at[1])
			at++;
		else if (quote && *at == quote)
			quote = '\0';
		else if (!quote && (*at == '\'' || *at == '"'))
			quote = *at;
	}
	*ret_len = (size_t)(at - *ret);
	return at;
}

static bool is_word(const char *word, size_t len, const char *text)
{
	return len == strlen(text) && memcmp(word, text, len) == 0;
}

/* The value after `option`, or in "option=value"; false where the line has none. */
static bool option(const char *line, const char *name, char *ret, size_t size)
{
	const char *at = line, *word;
	size_t len, skip = strlen(name);
	bool next = false;

	while ((at = next_word(at, &word, &len))) {
		if (next)
			return keep(ret, size, word, len);
		next = is_word(word, len, name);
		if (len > skip + 1 && memcmp(word, name, skip) == 0 && word[skip] == '=')
			return keep(ret, size, word + skip + 1, len - skip - 1);
	}
	return false;
}

/* A guest's id at `at`, and where it ends. */
static uint32_t guest_at(const char *at, const char **ret_end)
{
	size_t len = strspn(at, "0123456789");
	uint64_t vmid;

	*ret_end = at + len;
	return len && digits_parse(at, len, UINT64_C(999999999), &vmid) ? (uint32_t)vmid : 0;
}

static void backup_line(struct pve_log_facts *facts, const char *line)
{
	const char *at, *end;

	if ((at = after(line, "starting new backup job: vzdump "))) {
		option(at, "--storage", facts->storage, sizeof(facts->storage));
	} else if ((at = after(line, "Starting Backup of VM "))) {
		facts->guest = guest_at(at, &end);
		facts->lxc = after(end, " (lxc)") != NULL;
	} else if ((at = after(line, "Finished Backup of VM ")) ||
		(at = after(line, "Backup of VM "))) {
		/* "Backup of VM 100 failed - ..." */
		if (guest_at(at, &end) == facts->guest &&
			(!strncmp(line, "Fin", 3) || after(end, " failed")))
			facts->guest = 0;
	}
}

/* "STORAGE:backup/..." */
static void from_volume(struct pve_log_facts *facts, const char *text, size_t len)
{
	const char *colon = memchr(text, ':', len);

	if (colon && keep(facts->storage, sizeof(facts->storage), text, (size_t)(colon - text)))
		facts->restored_from = 1;
}

/* The archive in a pipe of commands: the first word that is a path, but of no command and no
 * temporary file. Where storages are mounted by default it names its storage. */
static void from_archive(struct pve_log_facts *facts, const char *line)
{
	const char *at = line, *word, *name;
	size_t len;

	while ((at = next_word(at, &word, &len))) {
		if (len > 1 && *word == '\'') {
			word++;
			len -= 2;
		}
		if (*word != '/' || after(word, "/var/tmp/") || after(word, "/usr/bin/"))
			continue;
		facts->restored_from = 1;
		keep(facts->archive, sizeof(facts->archive), word, len);
		name = after(word, "/mnt/pve/");
		if (name)
			keep(facts->storage, sizeof(facts->storage), name, strcspn(name, "/"));
		return;
	}
}

/* "[AUTHID@]HOST[:PORT]:STORE"; the host may be in brackets. */
static void from_repository(struct pve_log_facts *facts, const char *line)
{
	char repository[512];
	const char *host, *store, *port;
	size_t len;

	if (!option(line, "--repository", repository, sizeof(repository)))
		return;
	store = strrchr(repository, ':');
	host = strrchr(repository, '@');
	host = host ? host + 1 : repository;
	if (!store || store < host ||
		!keep(facts->datastore, sizeof(facts->datastore), store + 1, strlen(store + 1)))
		return;
	len = (size_t)(store - host);
	port = memrchr(host, ':', len);
	if (port && !memchr(port, ']', (size_t)(store - port)) &&
		strspn(port + 1, "0123456789") == (size_t)(store - port - 1))
		len = (size_t)(port - host);
	keep(facts->server, sizeof(facts->server), host, len);
	facts->restored_from = 1;
}

static void restore_line(struct pve_log_facts *facts, const char *line)
{
	const char *at;

	if ((at = after(line, "restore vma archive: "))) {
		from_archive(facts, at);
	} else if ((at = after(line, "restore proxmox backup image: "))) {
		from_repository(facts, at);
	} else if ((at = after(line, "recovering backed-up configuration from '")) ||
		(at = after(line, "restoring '"))) {
		from_volume(facts, at, strcspn(at, "'"));
	}
}

void pve_log_line(struct pve_log_facts *facts, const char *line)
{
	const char *at = after(line, "INFO: ");

	if (!at)
		at = after(line, "ERROR: ");
	if (at)
		backup_line(facts, at);
	else
		restore_line(facts, line);
}
