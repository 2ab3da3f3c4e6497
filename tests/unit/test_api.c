// SPDX-License-Identifier: MIT
/* Tokens, and what a server's refusal means. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "proxmox/api.h"
#include "proxmox/form.h"

static void authorized(enum api_kind kind, const char *token, const char *header)
{
	struct buf buf = {0};
	struct err err = {0};

	if (!api_authorization(kind, token, &buf, &err))
		fail_msg("'%s': %s", token, err.text);
	assert_string_equal(buf_str(&buf), header);
	buf_release(&buf);
}

static void either_separator_makes_either_header(void **state)
{
	(void)state;
	authorized(API_PVE, "gate@pve!rg=1234-ab", "PVEAPIToken=gate@pve!rg=1234-ab");
	authorized(API_PVE, "gate@pve!rg:1234-ab", "PVEAPIToken=gate@pve!rg=1234-ab");
	authorized(API_PBS, "gate@pbs!rg=1234-ab", "PBSAPIToken=gate@pbs!rg:1234-ab");
	authorized(API_PBS, "gate@pbs!rg:1234-ab\n", "PBSAPIToken=gate@pbs!rg:1234-ab");
	authorized(API_PBS, "gate@pbs!rg:1234-ab\r\n", "PBSAPIToken=gate@pbs!rg:1234-ab");
	/* A directory's users may have an '@' in their name. */
	authorized(API_PVE, "me@home.lan@ldap-1!t.1_x=s", "PVEAPIToken=me@home.lan@ldap-1!t.1_x=s");
}

static void what_the_server_decodes_is_encoded(void **state)
{
	(void)state;
	authorized(API_PVE, "a%b@pam!t=;%+=:x", "PVEAPIToken=a%25b@pam!t=%3B%25%2B%3D%3Ax");
	authorized(API_PBS, "a%b@pam!t=;%+=:x", "PBSAPIToken=a%b@pam!t:%3B%25%2B%3D%3Ax");
}

static void a_text_that_is_no_token_is_refused_and_not_repeated(void **state)
{
	static const char *const bad[] = {"", "\n", "root@pam", "root@pam!t",
		"root@pam!t=", "root@pam!t=\n", "root@pam!=SECRET", "root!t=SECRET",
		"@pam!t=SECRET", "root@!t=SECRET", "root@pam!t SECRET",
		"PVEAPIToken=root@pam!t=SECRET", "root@pam!t=SECRET SECRET",
		"root@pam!t=SECRET\nroot@pam!u=SECRET", "ro ot@pam!t=SECRET", "root@p:m!t=SECRET",
		"root@pam!t/u=SECRET", "ro\tot@pam!t=SECRET", "r/t@pam!t=SECRET",
		"root@pam!t=SEC\x7fRET"};
	struct buf buf = {0};
	struct err err;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err = (struct err){0};
		if (api_authorization(API_PVE, bad[i], &buf, &err))
			fail_msg("'%s' was taken", bad[i]);
		assert_int_equal(err.kind, ERR_INVALID);
		assert_null(strstr(err.text, "SECRET:"));
		assert_null(strstr(err.text, "pam!t"));
		assert_int_equal(buf.len, 0);
	}
}

static void a_secret_of_any_length_is_bounded(void **state)
{
	char token[1200] = "root@pam!t=";
	struct buf buf = {0};
	struct err err = {0};

	(void)state;
	memset(token + strlen(token), 'x', 512);
	assert_true(api_authorization(API_PVE, token, &buf, &err));
	buf_release(&buf);
	token[strlen(token)] = 'x';
	assert_false(api_authorization(API_PVE, token, &buf, &err));
	assert_int_equal(err.kind, ERR_INVALID);
}

static void refused(enum api_kind kind, long status, const char *body, enum err_kind failure,
	const char *sentence)
{
	struct err err = {0};

	assert_false(api_ok(kind, status, body, strlen(body), "list the rules", &err));
	assert_string_equal(err.text, sentence);
	assert_int_equal(err.kind, failure);
}

static void any_2xx_is_a_success(void **state)
{
	struct err err = {0};

	(void)state;
	assert_true(api_ok(API_PVE, 200, "", 0, "x", &err));
	assert_true(api_ok(API_PBS, 204, "", 0, "x", &err));
	assert_int_equal(err.kind, ERR_NONE);
}

static void a_missing_privilege_is_named(void **state)
{
	(void)state;
	refused(API_PVE, 403,
		"{\"data\":null,\"message\":\"Permission check failed (/nodes/a, Sys.Audit)\\n\"}",
		ERR_DENIED, "cannot list the rules: the token lacks Sys.Audit on /nodes/a");
	refused(API_PBS, 400, "missing permissions 'Sys.Modify' on '/system/tasks'", ERR_DENIED,
		"cannot list the rules: the token lacks Sys.Modify on /system/tasks");
	refused(API_PBS, 403, "permission check failed", ERR_DENIED,
		"cannot list the rules: the token lacks the privilege for it (403: permission "
		"check "
		"failed)");
	/* Before it told the message in the body. */
	refused(API_PVE, 403, "{\"data\":null}", ERR_DENIED,
		"cannot list the rules: the token lacks the privilege for it (403)");
}

static void a_refused_token_is_said(void **state)
{
	(void)state;
	refused(API_PVE, 401, "{\"data\":null,\"message\":\"invalid token value!\\n\"}", ERR_DENIED,
		"cannot list the rules: the server refuses the token (401: invalid token value!)");
	refused(API_PBS, 401, "", ERR_DENIED,
		"cannot list the rules: the server refuses the token (401)");
}

static void what_is_not_there_is_not_found(void **state)
{
	(void)state;
	refused(API_PBS, 404, "traffic control rule 'x' does not exist.", ERR_NOTFOUND,
		"cannot list the rules: the server answers 404: traffic control rule 'x' does not "
		"exist.");
	refused(API_PBS, 400, "no such rule 'rg-a'", ERR_NOTFOUND,
		"cannot list the rules: the server answers 400: no such rule 'rg-a'");
	refused(API_PVE, 400,
		"{\"errors\":{\"upid\":\"no such task\"},\"data\":null,\"message\":\"Parameter "
		"verification failed.\\n\"}",
		ERR_NOTFOUND,
		"cannot list the rules: the server answers 400: Parameter verification failed. "
		"upid: no such task");
}

static void what_may_work_later_is_busy(void **state)
{
	(void)state;
	refused(API_PBS, 503, "", ERR_BUSY, "cannot list the rules: the server answers 503");
	refused(API_PVE, 596, "", ERR_BUSY,
		"cannot list the rules: the node does not answer (596)");
	refused(API_PVE, 595, "{\"message\":\"No route to host\"}", ERR_BUSY,
		"cannot list the rules: the node does not answer (595: No route to host)");
}

static void other_answers_are_said_on_one_line(void **state)
{
	char longer[2000];
	struct err err = {0};

	(void)state;
	refused(API_PBS, 400,
		"parameter verification errors\n\nparameter 'name': too\x1b[31m bad\n",
		ERR_PROTOCOL,
		"cannot list the rules: the server answers 400: parameter verification errors "
		"parameter 'name': too [31m bad");
	refused(API_PVE, 502, "<html>\n<h1>Bad gateway</h1>", ERR_BUSY,
		"cannot list the rules: the server answers 502: a web page, not an answer of the "
		"API");
	refused(API_PVE, 500, "{\"mess", ERR_PROTOCOL,
		"cannot list the rules: the server answers 500");
	refused(API_PVE, 301, "", ERR_PROTOCOL,
		"cannot list the rules: the server sends us elsewhere (301), which is not "
		"followed");
	memset(longer, 'y', sizeof(longer));
	memcpy(longer + 198, "\xc3\xa4", 2);
	assert_false(api_ok(API_PBS, 500, longer, sizeof(longer), "x", &err));
	assert_int_equal(err.kind, ERR_PROTOCOL);
	assert_true(strlen(err.text) < 260);
	assert_null(strchr(err.text, '\xc3'));
}

static void calls_are_encoded(void **state)
{
	struct api_call call;
	struct err err = {0};

	(void)state;
	form_begin(&call, "PUT", "/a");
	form_segment(&call, "b c/d");
	form_query(&call, "e", "f&g");
	form_query_int(&call, "h", -1);
	form_field(&call, "i", "0.0.0.0/0");
	form_field(&call, "i", "ä=1");
	assert_true(form_end(&call, &err));
	assert_string_equal(call.method, "PUT");
	assert_string_equal(buf_str(&call.path), "/api2/json/a/b%20c%2Fd?e=f%26g&h=-1");
	assert_string_equal(buf_str(&call.body), "i=0.0.0.0%2F0&i=%C3%A4%3D1");
	api_call_release(&call);
	assert_int_equal(call.path.len + call.body.len, 0);
}

static void names_that_would_leave_the_path_are_refused(void **state)
{
	static const char *const bad[] = {"", ".", "..", "a/b", "a\nb"};
	struct err err;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err = (struct err){0};
		assert_false(form_name_ok(bad[i], "a node", &err));
		assert_int_equal(err.kind, ERR_INVALID);
	}
	assert_true(form_name_ok("pve-1.lan", "a node", &err));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(either_separator_makes_either_header),
		cmocka_unit_test(what_the_server_decodes_is_encoded),
		cmocka_unit_test(a_text_that_is_no_token_is_refused_and_not_repeated),
		cmocka_unit_test(a_secret_of_any_length_is_bounded),
		cmocka_unit_test(any_2xx_is_a_success),
		cmocka_unit_test(a_missing_privilege_is_named),
		cmocka_unit_test(a_refused_token_is_said),
		cmocka_unit_test(what_is_not_there_is_not_found),
		cmocka_unit_test(what_may_work_later_is_busy),
		cmocka_unit_test(other_answers_are_said_on_one_line),
		cmocka_unit_test(calls_are_encoded),
		cmocka_unit_test(names_that_would_leave_the_path_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
