// SPDX-License-Identifier: MIT
#include "nas/trust.h"

#include <stdio.h>

#include "nas/session.h"

_Static_assert(HOST_KEY_PRINT_MAX == KEY_PRINT_MAX, "one size for fingerprints");

static bool line_print(const struct nas_target *target, ssh_key key,
	char ret_line[KNOWN_HOSTS_LINE_MAX], struct err *err)
{
	char name[KNOWN_HOSTS_NAME_MAX];
	char *base64 = NULL;
	int n;

	if (ssh_pki_export_pubkey_base64(key, &base64) != SSH_OK)
		return err_set(err, ERR_PROTOCOL, "the host key of '%s' cannot be written down",
			target->name);
	known_hosts_name(target->host, target->port, name);
	n = snprintf(ret_line, KNOWN_HOSTS_LINE_MAX, "%s %s %s", name,
		ssh_key_type_to_char(ssh_key_type(key)), base64);
	ssh_string_free_char(base64);
	if (n < 0 || n >= KNOWN_HOSTS_LINE_MAX)
		return err_set(err, ERR_LIMIT, "the host key of '%s' is too long", target->name);
	return true;
}

bool nas_fetch_host_key(const struct nas_target *target, int64_t deadline_ms,
	char ret_print[HOST_KEY_PRINT_MAX], char ret_line[KNOWN_HOSTS_LINE_MAX], struct err *err)
{
	struct probe_result result = {0};
	ssh_session ssh = NULL;
	ssh_key key = NULL;
	bool ok = false;

	/* No recorded key: the NAS then offers the one that it and we like best. */
	if (!session_open(target, "/dev/null", deadline_ms, &ssh, &result)) {
		err_set(err, ERR_GONE, "%s", result.text);
		goto out;
	}
	if (ssh_get_server_publickey(ssh, &key) != SSH_OK) {
		err_set(err, ERR_PROTOCOL, "'%s' showed no host key: %s", target->name,
			ssh_get_error(ssh));
		goto out;
	}
	if (!line_print(target, key, ret_line, err))
		goto out;
	key_print(key, ret_print);
	ok = true;
out:
	ssh_key_free(key);
	session_close(ssh);
	probe_result_release(&result);
	return ok;
}
