// SPDX-License-Identifier: MIT
#include "nas/session.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "nas/dial.h"
#include "nas/key_file.h"
#include "nas/known_hosts.h"

bool session_wait(ssh_session ssh, int64_t deadline_ms)
{
	struct pollfd p = {.fd = ssh_get_fd(ssh), .events = POLLIN};
	int64_t left = deadline_ms - clock_boot_ms();

	if (left <= 0)
		return false;
	if (ssh_get_poll_flags(ssh) & SSH_WRITE_PENDING)
		p.events |= POLLOUT;
	/* Zero is the deadline; an error or a hang-up is for libssh to find. */
	return poll(&p, 1, (int)left) != 0;
}

void session_close(ssh_session ssh)
{
	if (!ssh)
		return;
	ssh_disconnect(ssh);
	ssh_free(ssh);
}

void key_print(ssh_key key, char ret[KEY_PRINT_MAX])
{
	unsigned char *hash = NULL;
	size_t len = 0;
	char *text = NULL;

	ret[0] = '\0';
	if (ssh_get_publickey_hash(key, SSH_PUBLICKEY_HASH_SHA256, &hash, &len) != SSH_OK)
		return;
	text = ssh_get_fingerprint_hash(SSH_PUBLICKEY_HASH_SHA256, hash, len);
	if (text)
		snprintf(ret, KEY_PRINT_MAX, "%s", text);
	ssh_string_free_char(text);
	ssh_clean_pubkey_hash(&hash);
}

void session_print(ssh_session ssh, char ret[KEY_PRINT_MAX])
{
	ssh_key key = NULL;

	ret[0] = '\0';
	if (ssh_get_server_publickey(ssh, &key) == SSH_OK)
		key_print(key, ret);
	ssh_key_free(key);
}

/* PROCESS_CONFIG must come first: ssh_connect() reads /etc/ssh/ssh_config and ~/.ssh/config
 * otherwise. */
static bool session_options(
	ssh_session ssh, const struct nas_target *target, const char *known_hosts)
{
	unsigned port = target_port(target);
	bool no = false;

	return ssh_options_set(ssh, SSH_OPTIONS_PROCESS_CONFIG, &no) == SSH_OK &&
		ssh_options_set(ssh, SSH_OPTIONS_SSH_DIR, "/nonexistent") == SSH_OK &&
		ssh_options_set(ssh, SSH_OPTIONS_HOST, target->host) == SSH_OK &&
		ssh_options_set(ssh, SSH_OPTIONS_PORT, &port) == SSH_OK &&
		ssh_options_set(ssh, SSH_OPTIONS_USER,
			target->user[0] ? target->user : "rebuildgate") == SSH_OK &&
		ssh_options_set(ssh, SSH_OPTIONS_KNOWNHOSTS, known_hosts) == SSH_OK &&
		ssh_options_set(ssh, SSH_OPTIONS_GLOBAL_KNOWNHOSTS, "/dev/null") == SSH_OK;
}

static bool session_handshake(ssh_session ssh, const struct nas_target *target, int64_t deadline_ms,
	struct probe_result *result)
{
	int rc;

	while ((rc = ssh_connect(ssh)) == SSH_AGAIN) {
		if (session_wait(ssh, deadline_ms))
			continue;
		return probe_fail(result, SENSOR_SILENT,
			ssh_get_serverbanner(ssh)
				? "%.100s port %u stopped answering in the middle of the SSH "
				  "handshake"
				: "%.100s port %u accepts connections but says nothing",
			target->host, target_port(target));
	}
	if (rc == SSH_OK)
		return true;
	return probe_fail(result, SENSOR_REFUSED, "%.100s port %u broke the SSH handshake off: %s",
		target->host, target_port(target), ssh_get_error(ssh));
}

bool session_open(const struct nas_target *target, const char *known_hosts, int64_t deadline_ms,
	ssh_session *ret_ssh, struct probe_result *result)
{
	ssh_session ssh = NULL;
	bool ok = false;
	int fd = -1;

	if (!dial(target, deadline_ms, &fd, result))
		return false;
	ssh = ssh_new();
	if (!ssh || !session_options(ssh, target, known_hosts) ||
		ssh_options_set(ssh, SSH_OPTIONS_FD, &fd) != SSH_OK) {
		probe_fail(result, SENSOR_FAULT, "libssh cannot be set up: %s",
			ssh ? ssh_get_error(ssh) : "out of memory");
		close(fd);
		goto out;
	}
	ssh_set_blocking(ssh, 0);
	ok = session_handshake(ssh, target, deadline_ms, result);
	/*
	 * libssh 0.11 sometimes closes a socket that it was given (ssh_socket_close) and sometimes
	 * leaves it open for the giver (ssh_session_socket_close). It holds the socket by now;
	 * forgetting that it was given, which this call does though it returns an error for the
	 * NULL, makes closing it libssh's business always.
	 */
	(void)ssh_options_set(ssh, SSH_OPTIONS_FD, NULL);
out:
	if (ok)
		*ret_ssh = ssh;
	else
		session_close(ssh);
	return ok;
}

/* Only a key that is on file passes; whatever else comes is told to the operator with both sides of
 * it. */
static bool session_check_host(
	ssh_session ssh, const struct nas_target *target, struct probe_result *result)
{
	enum ssh_known_hosts_e known = ssh_session_is_known_server(ssh);
	char known_prints[KEY_PRINT_MAX]; /* one: the sentence has an end */
	char offered[KEY_PRINT_MAX];

	if (known == SSH_KNOWN_HOSTS_OK)
		return true;
	session_print(ssh, offered);
	if (known == SSH_KNOWN_HOSTS_CHANGED || known == SSH_KNOWN_HOSTS_OTHER) {
		known_hosts_prints(target, known_prints, sizeof(known_prints));
		return probe_fail(result, SENSOR_HOST_KEY,
			"host key changed: known is %s, offered was %s; nothing was sent. "
			"If that is right: 'rebuildgate nas trust --replace %s'",
			known_prints, offered, target->name);
	}
	if (access(target->known_hosts, R_OK) < 0 && errno != ENOENT)
		return probe_fail(result, SENSOR_HOST_KEY,
			"host key cannot be checked: %.120s cannot be read: %s; nothing was sent",
			target->known_hosts, strerror(errno));
	return probe_fail(result, SENSOR_HOST_KEY,
		"host key unknown: offered was %s; nothing was sent. "
		"Compare it on the NAS, then 'rebuildgate nas trust %s'",
		offered, target->name);
}

/* Without it OpenSSL would ask the terminal for the passphrase of a protected key. */
static int no_passphrase(
	const char *prompt, char *buf, size_t len, int echo, int verify, void *userdata)
{
	(void)prompt;
	(void)buf;
	(void)len;
	(void)echo;
	(void)verify;
	(void)userdata;
	return -1;
}

static bool key_load(const struct nas_target *target, ssh_key *ret_key, struct probe_result *result)
{
	struct buf text = {0};
	struct err err = {0};
	bool ok = false;

	if (!key_file_read(target->key_file, &text, &err)) {
		probe_fail(result, SENSOR_AUTH, "%s", err.text);
		goto out;
	}
	if (ssh_pki_import_privkey_base64(buf_str(&text), NULL, no_passphrase, NULL, ret_key) !=
		SSH_OK) {
		probe_fail(result, SENSOR_AUTH,
			"the key file '%.150s' holds no private key that can be used: "
			"damaged, or protected by a passphrase",
			target->key_file);
		goto out;
	}
	ok = true;
out:
	key_file_wipe(&text);
	return ok;
}

static bool session_auth(ssh_session ssh, const struct nas_target *target, ssh_key key,
	int64_t deadline_ms, struct probe_result *result)
{
	int rc;

	while ((rc = ssh_userauth_publickey(ssh, NULL, key)) == SSH_AUTH_AGAIN) {
		if (!session_wait(ssh, deadline_ms))
			return probe_fail(result, SENSOR_SILENT,
				"%.100s stopped answering in the middle of the login",
				target->host);
	}
	if (rc == SSH_AUTH_SUCCESS)
		return true;
	if (rc == SSH_AUTH_PARTIAL)
		return probe_fail(result, SENSOR_AUTH,
			"%.64s on %.100s wants more than a key (a second factor)", target->user,
			target->host);
	if (rc == SSH_AUTH_ERROR && !ssh_is_connected(ssh))
		return probe_fail(result, SENSOR_AUTH, "%.100s hung up on the login of '%.64s': %s",
			target->host, target->user, ssh_get_error(ssh));
	return probe_fail(result, SENSOR_AUTH,
		"%.100s refuses the key '%.80s' for user '%.48s': is it in authorized_keys there?",
		target->host, target->key_file, target->user);
}

bool session_login(const struct nas_target *target, int64_t deadline_ms, ssh_session *ret_ssh,
	struct probe_result *result)
{
	ssh_session ssh = NULL;
	ssh_key key = NULL;
	bool ok = false;

	if (!key_load(target, &key, result))
		goto out;
	if (!session_open(target, target->known_hosts, deadline_ms, &ssh, result))
		goto out;
	if (!session_check_host(ssh, target, result) ||
		!session_auth(ssh, target, key, deadline_ms, result))
		goto out;
	*ret_ssh = ssh;
	ssh = NULL;
	ok = true;
out:
	session_close(ssh);
	ssh_key_free(key);
	return ok;
}
