// SPDX-License-Identifier: MIT
/* What a task's log tells, line by line. */
#include <string.h>

#include "base/units.h"
#include "proxmox/log_size.h"
#include "proxmox/pve.h"

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

/* "3.09 GiB in 62 seconds (51.0 MiB/s)", "12.00 MiB in <1 seconds". */
static void transferred_line(struct pve_log_facts *facts, const char *text)
{
	int64_t bytes;
	const char *at = log_after(log_size(text, &bytes), " in ");

	if (!at)
		return;
	at += *at == '<' ? strspn(at, "<1") : strspn(at, "0123456789");
	if (log_after(at, " seconds"))
		facts->read = OPT(bytes);
}

/* "2.2 GiB dirty of 5.0 GiB total": of a clean guest nothing else tells that nothing was read. */
static void incremental_line(struct pve_log_facts *facts, const char *text)
{
	int64_t bytes, total;
	const char *at = log_after(log_size(text, &bytes), " dirty of ");

	at = at ? log_size(at, &total) : NULL;
	if (at && strcmp(at, " total") == 0 && bytes == 0)
		facts->read = OPT(0);
}

/* "root.pxar: had to backup 4.5 MiB of 12 GiB (compressed 2.1 MiB) in 0.54 s (average ...)", one
 * for each archive: the sum of all, or nothing. */
static void archive_line(struct pve_log_facts *facts, const char *line)
{
	const char *at = strstr(line, ": had to backup ");
	int64_t sent, size, compressed;

	if (!at || at == line || memchr(line, ' ', (size_t)(at - line)))
		return;
	at = log_size(log_after(at, ": had to backup "), &sent);
	at = log_after(at, " of ");
	at = log_after(at ? log_size(at, &size) : NULL, " (compressed ");
	at = log_after(at ? log_size(at, &compressed) : NULL, ") in ");
	if (!at || facts->odd || facts->written.v > INT64_MAX - compressed) {
		facts->odd = true;
		facts->written = OPT_NONE;
		return;
	}
	facts->written = OPT(facts->written.v + compressed);
}

/* What the guest's part moved. Hooks' and clients' lines look alike: only what its kind of guest
 * may say counts. */
static void moved_line(struct pve_log_facts *facts, const char *line)
{
	const char *at;

	if (facts->lxc)
		archive_line(facts, line);
	else if ((at = log_after(line, "transferred ")))
		transferred_line(facts, at);
	else if ((at = log_after(line, "using fast incremental mode (dirty-bitmap), ")))
		incremental_line(facts, at);
}

static void backup_line(struct pve_log_facts *facts, const char *line)
{
	const char *at, *end;

	if ((at = log_after(line, "starting new backup job: vzdump "))) {
		option(at, "--storage", facts->storage, sizeof(facts->storage));
	} else if ((at = log_after(line, "Starting Backup of VM "))) {
		facts->guest = guest_at(at, &end);
		facts->lxc = log_after(end, " (lxc)") != NULL;
		facts->read = facts->written = OPT_NONE;
		facts->odd = false;
	} else if ((at = log_after(line, "Finished Backup of VM ")) ||
		(at = log_after(line, "Backup of VM "))) {
		/* "Backup of VM 100 failed - ..." */
		if (guest_at(at, &end) == facts->guest &&
			(!strncmp(line, "Fin", 3) || log_after(end, " failed")))
			facts->guest = 0;
	} else if (facts->guest) {
		moved_line(facts, line);
	}
}

/* A file; where storages are mounted by default its path names its storage. */
static void from_path(struct pve_log_facts *facts, const char *path, size_t len)
{
	const char *name = log_after(path, "/mnt/pve/");

	facts->restored_from = 1;
	keep(facts->archive, sizeof(facts->archive), path, len);
	if (name)
		keep(facts->storage, sizeof(facts->storage), name, strcspn(name, "/"));
}

/* "STORAGE:backup/...", or a path. */
static void from_volume(struct pve_log_facts *facts, const char *text, size_t len)
{
	const char *colon = memchr(text, ':', len);

	if (*text == '/')
		from_path(facts, text, len);
	else if (colon &&
		keep(facts->storage, sizeof(facts->storage), text, (size_t)(colon - text)))
		facts->restored_from = 1;
}

/* The archive in a pipe of commands: the first word that is a path, but of no command and no
 * temporary file. */
static void from_archive(struct pve_log_facts *facts, const char *line)
{
	const char *at = line, *word;
	size_t len;

	while ((at = next_word(at, &word, &len))) {
		if (len > 1 && *word == '\'') {
			word++;
			len -= 2;
		}
		if (*word != '/' || log_after(word, "/var/tmp/") || log_after(word, "/usr/bin/"))
			continue;
		from_path(facts, word, len);
		return;
	}
}

/* "[AUTHID@]HOST[:PORT]:STORE"; the host may be in brackets. */
static void from_repository(struct pve_log_facts *facts, const char *repository)
{
	const char *host, *store, *port;
	size_t len;

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
	char repository[512];
	const char *at;

	if ((at = log_after(line, "restore vma archive: "))) {
		from_archive(facts, at);
	} else if ((at = log_after(line, "restore proxmox backup image: "))) {
		if (option(at, "--repository", repository, sizeof(repository)))
			from_repository(facts, repository);
		option(at, "--ns", facts->ns, sizeof(facts->ns));
	} else if ((at = log_after(line, "repository: '"))) {
		if (keep(repository, sizeof(repository), at, strcspn(at, "'")))
			from_repository(facts, repository);
	} else if ((at = log_after(line, "recovering backed-up configuration from '")) ||
		(at = log_after(line, "restoring '")) ||
		(!facts->restored_from && (at = log_after(line, "extracting archive '")))) {
		from_volume(facts, at, strcspn(at, "'"));
	}
}

void pve_log_line(struct pve_log_facts *facts, const char *line)
{
	const char *at = log_after(line, "INFO: ");

	if (!at)
		at = log_after(line, "ERROR: ");
	if (at)
		backup_line(facts, at);
	else
		restore_line(facts, line);
}
