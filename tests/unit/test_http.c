// SPDX-License-Identifier: MIT
/* src/http against a scripted server: a child process that plays one behaviour on a Unix socket or
 * a loopback port. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "http/multi.h"
#include "http/trust.h"

/* What the child does with its one connection. */
struct play {
	const char *reply; /* NULL: says nothing */
	bool hang;         /* keeps the connection open afterwards */
	bool drip;         /* one byte each 50 ms */
	bool mail;         /* speaks SMTP, writes what it got to `report` */
};

static char dir[] = "/tmp/rg-http-XXXXXX";
static char sock_path[64];
static pid_t server;
static int report[2]; /* what the server received */

static void send_all(int fd, const char *text, bool drip)
{
	size_t len = strlen(text), at, step = drip ? 1 : len;

	for (at = 0; at < len; at += step) {
		if (send(fd, text + at, step, MSG_NOSIGNAL) < 0)
			return;
		if (drip)
			usleep(50000);
	}
}

static void play_http(int fd, const struct play *play)
{
	char got[8192] = "";
	const char *body;
	size_t len = 0;
	ssize_t n;

	/* The whole request: the tests' bodies end with '}'. */
	while ((n = read(fd, got + len, sizeof(got) - 1 - len)) > 0) {
		len += (size_t)n;
		got[len] = '\0';
		body = strstr(got, "\r\n\r\n");
		if (body && (!strstr(got, "Content-Length: ") || strchr(body, '}')))
			break;
	}
	if (write(report[1], got, len) < 0)
		return;
	if (play->reply)
		send_all(fd, play->reply, play->drip);
	if (play->hang)
		pause();
}

static void play_mail(int fd)
{
	char line[2000] = "";
	bool text = false;
	FILE *in = fdopen(fd, "r");

	send_all(fd, "220 here\r\n", false);
	while (in && fgets(line, sizeof(line), in)) {
		if (write(report[1], line, strlen(line)) < 0)
			return;
		if (text && strcmp(line, ".\r\n") != 0)
			continue;
		if (strncmp(line, "DATA", 4) == 0)
			send_all(fd, "354 go on\r\n", false);
		else
			send_all(fd, "250 ok\r\n", false);
		text = strncmp(line, "DATA", 4) == 0;
	}
}

static void serve(int listening, const struct play *play)
{
	int fd;

	fflush(NULL);
	server = fork();
	if (server) {
		close(listening);
		return;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fd = accept(listening, NULL, NULL);
	if (play->mail)
		play_mail(fd);
	else
		play_http(fd, play);
	_exit(0);
}

static void serve_unix(const struct play *play)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", sock_path);
	unlink(sock_path);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(fd, 5), 0);
	serve(fd, play);
}

static int serve_tcp(const struct play *play)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(addr);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(fd, 5), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
	serve(fd, play);
	return ntohs(addr.sin_port);
}

static void end_server(void)
{
	if (server <= 0)
		return;
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	server = 0;
}

static void received(char *ret, size_t size)
{
	ssize_t n = read(report[0], ret, size - 1);

	ret[n > 0 ? n : 0] = '\0';
}

static const struct http_request get = {
	.method = "GET", .url = "http://gate/v1/x", .socket = sock_path, .deadline_ms = 5000};

#define OK_HEAD "HTTP/1.1 200 OK\r\nContent-Length: "

static void an_answer_comes_with_status_and_body(void **state)
{
	const struct play play = {.reply = OK_HEAD "5\r\n\r\nhello"};
	struct http_request request = get;
	struct http_response response;
	struct err err = {0};
	char got[4096];

	(void)state;
	serve_unix(&play);
	request.method = "POST";
	request.body = "{\"a\":1}";
	request.body_len = strlen(request.body);
	request.authorization = "Token s3cret";
	assert_true(http_call(&request, NULL, 0, &response, &err));
	assert_int_equal(response.status, 200);
	assert_string_equal(buf_str(&response.body), "hello");
	http_response_release(&response);
	received(got, sizeof(got));
	assert_int_equal(strncmp(got, "POST /v1/x HTTP/1.1\r\n", 21), 0);
	assert_non_null(strstr(got, "Content-Type: application/json\r\n"));
	assert_non_null(strstr(got, "Authorization: Token s3cret\r\n"));
	assert_non_null(strstr(got, "\r\n\r\n{\"a\":1}"));
	assert_null(strstr(got, "Expect"));
}

static void any_status_is_an_answer_and_no_redirect_is_followed(void **state)
{
	const struct play play = {.reply = "HTTP/1.1 302 Found\r\nLocation: "
					   "http://127.0.0.1:1/\r\nContent-Length: 2\r\n\r\n{}"};
	struct http_response response;
	struct err err = {0};

	(void)state;
	serve_unix(&play);
	assert_true(http_call(&get, NULL, 0, &response, &err));
	assert_int_equal(response.status, 302);
	http_response_release(&response);
}

static enum err_kind kind_of(const struct play *play, int64_t deadline_ms, size_t body_max)
{
	struct http_request request = get;
	struct http_response response;
	struct err err = {0};

	request.deadline_ms = deadline_ms;
	request.body_max = body_max;
	if (play)
		serve_unix(play);
	if (http_call(&request, NULL, 0, &response, &err)) {
		http_response_release(&response);
		return ERR_NONE;
	}
	assert_true(*err.text);
	end_server();
	return err.kind;
}

static void each_failure_has_its_kind(void **state)
{
	const struct play closes = {0};
	const struct play cuts = {.reply = OK_HEAD "50\r\n\r\nhello"};
	const struct play hangs = {.hang = true};
	const struct play drips = {.reply = OK_HEAD "50\r\n\r\nhello", .drip = true, .hang = true};
	const struct play garbage = {.reply = "what do you want\r\n"};
	const struct play large = {.reply = OK_HEAD "5\r\n\r\nhello"};

	(void)state;
	unlink(sock_path);
	assert_int_equal(kind_of(NULL, 5000, 0), ERR_GONE);
	assert_int_equal(kind_of(&closes, 5000, 0), ERR_GONE);
	assert_int_equal(kind_of(&cuts, 5000, 0), ERR_GONE);
	/* its listener is gone, the file is still there */
	assert_int_equal(kind_of(NULL, 5000, 0), ERR_GONE);
	assert_int_equal(kind_of(&hangs, 300, 0), ERR_TIMEOUT);
	assert_int_equal(kind_of(&drips, 300, 0), ERR_TIMEOUT);
	assert_int_equal(kind_of(&garbage, 5000, 0), ERR_PROTOCOL);
	assert_int_equal(kind_of(&large, 5000, 4), ERR_LIMIT);
	assert_int_equal(kind_of(&large, 5000, 5), ERR_NONE);
}

static void a_wake_descriptor_ends_the_call(void **state)
{
	const struct play hangs = {.hang = true};
	struct http_response response;
	struct err err = {0};
	struct pollfd wake[2];
	int in[2], out[2];

	(void)state;
	assert_int_equal(pipe(in), 0);
	assert_int_equal(pipe(out), 0);
	wake[0] = (struct pollfd){.fd = in[0], .events = POLLIN};
	wake[1] = (struct pollfd){.fd = -1};
	assert_int_equal(write(in[1], "x", 1), 1);
	/* A writer without a reader, as vzdump's stdout when vzdump is gone. Before the server is
	 * forked: it would be a reader. */
	close(out[0]);
	serve_unix(&hangs);
	assert_false(http_call(&get, wake, 2, &response, &err));
	assert_int_equal(err.kind, ERR_BUSY);
	assert_true(wake[0].revents & POLLIN);
	assert_int_equal(wake[1].revents, 0);
	wake[0].fd = -1;
	wake[1].fd = out[1];
	assert_false(http_call(&get, wake, 2, &response, &err));
	assert_int_equal(err.kind, ERR_BUSY);
	assert_true(wake[1].revents & POLLERR);
	close(in[0]);
	close(in[1]);
	close(out[1]);
}

static void http_is_for_this_machine_only(void **state)
{
	static const char *const bad[] = {"http://nas.example/x", "ftp://127.0.0.1/",
		"file:///etc/passwd", "http://127.0.0.1.example/", "gopher://x", ""};
	struct http_request request = get;
	struct http_response response;
	struct err err;
	size_t i;

	(void)state;
	request.socket = NULL;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		request.url = bad[i];
		err = (struct err){0};
		assert_false(http_call(&request, NULL, 0, &response, &err));
		assert_int_equal(err.kind, ERR_INVALID);
	}
	request = get;
	request.deadline_ms = 0;
	assert_false(http_call(&request, NULL, 0, &response, &err));
	assert_int_equal(err.kind, ERR_INVALID);
	request = get;
	request.authorization = "a\r\nX: y";
	assert_false(http_call(&request, NULL, 0, &response, &err));
	assert_int_equal(err.kind, ERR_INVALID);
}

static void a_fingerprint_is_asked_of_https_only_and_not_of_many(void **state)
{
	static const uint8_t prints[17][32];
	struct http_request request = get;
	struct http_response response;
	struct err err = {0};

	(void)state;
	request.fingerprints = prints;
	request.n_fingerprints = 1;
	assert_false(http_call(&request, NULL, 0, &response, &err));
	assert_int_equal(err.kind, ERR_INVALID);
	request.socket = NULL;
	request.url = "https://127.0.0.1:1/";
	request.n_fingerprints = 17;
	assert_false(http_call(&request, NULL, 0, &response, &err));
	assert_int_equal(err.kind, ERR_LIMIT);
	request.n_fingerprints = 16;
	assert_false(http_call(&request, NULL, 0, &response, &err));
	assert_int_equal(err.kind, ERR_GONE);
}

static void a_fingerprint_is_shown_as_proxmox_does(void **state)
{
	uint8_t print[TRUST_PRINT_SIZE] = {0x0a, 0xff};
	char text[TRUST_TEXT_MAX];

	(void)state;
	print[31] = 0x10;
	assert_string_equal(trust_text(print, text),
		"0A:FF:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:"
		"00:"
		"00:00:00:10");
}

/* A caller's loop, as the daemon lends it. */
struct loop {
	struct pollfd fds[8];
	size_t n;
	int64_t at_ms;
	int done, ok;
	long status;
	enum err_kind kind;
};

static void on_watch(void *data, int fd, short events)
{
	struct loop *loop = data;
	size_t i = 0;

	while (i < loop->n && loop->fds[i].fd != fd)
		i++;
	if (i == loop->n && events)
		loop->n++;
	assert_true(loop->n <= 8);
	if (events)
		loop->fds[i] = (struct pollfd){fd, events, 0};
	else if (i < loop->n)
		loop->fds[i] = loop->fds[--loop->n];
}

static void on_timer(void *data, int64_t ms)
{
	struct loop *loop = data;

	loop->at_ms = ms < 0 ? -1 : clock_boot_ms() + ms;
}

static void on_done(void *data, const struct http_response *response, const struct err *err)
{
	struct loop *loop = data;

	loop->done++;
	if (response) {
		loop->ok++;
		loop->status = response->status;
	} else {
		loop->kind = err->kind;
	}
}

/* At most 10 s. */
static void turn(struct loop *loop, struct http_multi *multi, int want)
{
	int64_t end_ms = clock_boot_ms() + 10000;
	struct pollfd fds[8];
	size_t n, i;

	while (loop->done < want && clock_boot_ms() < end_ms) {
		n = loop->n;
		memcpy(fds, loop->fds, sizeof(fds));
		poll(fds, n, 20);
		for (i = 0; i < n; i++) {
			if (fds[i].revents)
				http_multi_ready(multi, fds[i].fd, fds[i].revents);
		}
		if (loop->at_ms >= 0 && clock_boot_ms() >= loop->at_ms) {
			loop->at_ms = -1;
			http_multi_timer(multi);
		}
	}
	assert_int_equal(loop->done, want);
}

static void a_webhook_runs_in_the_callers_loop(void **state)
{
	const struct play play = {.reply = "HTTP/1.1 204 No Content\r\n\r\n"};
	struct loop loop = {.at_ms = -1};
	const struct http_loop lent = {&loop, on_watch, on_timer};
	struct http_multi *multi = http_multi_new(&lent, NULL);
	struct err err = {0};
	char url[64], got[4096];

	(void)state;
	assert_non_null(multi);
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/hook", serve_tcp(&play));
	assert_true(http_post_start(multi, url, "{\"event\":1}", 5000, on_done, &loop, &err));
	assert_int_equal(http_multi_running(multi), 1);
	turn(&loop, multi, 1);
	assert_int_equal(loop.ok, 1);
	assert_int_equal(loop.status, 204);
	assert_int_equal(http_multi_running(multi), 0);
	assert_int_equal(loop.n, 0);
	received(got, sizeof(got));
	assert_non_null(strstr(got, "POST /hook"));
	assert_non_null(strstr(got, "{\"event\":1}"));
	end_server();
	/* Nobody listens there any more. */
	assert_true(http_post_start(multi, url, "{}", 5000, on_done, &loop, &err));
	turn(&loop, multi, 2);
	assert_int_equal(loop.kind, ERR_GONE);
	assert_false(http_post_start(multi, "http://example.org/", "{}", 5, on_done, &loop, &err));
	http_multi_free(multi);
}

static void a_dropped_call_is_not_reported(void **state)
{
	const struct play hangs = {.hang = true};
	struct loop loop = {.at_ms = -1};
	const struct http_loop lent = {&loop, on_watch, on_timer};
	struct http_multi *multi = http_multi_new(&lent, NULL);
	struct err err = {0};
	uint64_t id = 0;

	(void)state;
	serve_unix(&hangs);
	assert_true(http_start(multi, &get, on_done, &loop, &id, &err));
	assert_true(http_start(multi, &get, on_done, &loop, NULL, &err));
	http_multi_timer(multi);
	http_cancel(multi, id);
	http_cancel(multi, id);
	http_cancel(multi, 999);
	assert_int_equal(http_multi_running(multi), 1);
	http_multi_free(multi);
	assert_int_equal(loop.done, 0);
	assert_int_equal(loop.n, 0);
	http_multi_free(NULL);
}

static void a_mail_is_a_whole_message(void **state)
{
	static const char *const to[] = {"root@example.org", "ops@example.org", NULL};
	const struct play play = {.mail = true};
	struct loop loop = {.at_ms = -1};
	const struct http_loop lent = {&loop, on_watch, on_timer};
	struct http_multi *multi = http_multi_new(&lent, NULL);
	struct smtp_mail mail = {.plain = true,
		.from = "gate@example.org",
		.to = to,
		.subject = "held:\r\nBcc: x@y.z \xc3\xa4",
		.text = "a line\n.\nlast",
		.deadline_ms = 5000};
	struct err err = {0};
	char url[64], got[8192];

	(void)state;
	snprintf(url, sizeof(url), "smtp://127.0.0.1:%d", serve_tcp(&play));
	mail.url = url;
	assert_true(smtp_send_start(multi, &mail, on_done, &loop, &err));
	turn(&loop, multi, 1);
	assert_int_equal(loop.ok, 1);
	assert_int_equal(loop.status, 250);
	http_multi_free(multi);
	end_server();
	received(got, sizeof(got));
	assert_non_null(strstr(got, "MAIL FROM:<gate@example.org>"));
	assert_non_null(strstr(got, "RCPT TO:<ops@example.org>"));
	assert_non_null(strstr(got, "To: <root@example.org>,\r\n <ops@example.org>\r\n"));
	assert_non_null(strstr(got, "Subject: held:  Bcc: x@y.z ??\r\n"));
	assert_non_null(strstr(got, "\r\n\r\na line\r\n..\r\nlast\r\n.\r\n"));
}

static void a_mail_without_sense_or_safety_is_refused(void **state)
{
	static const char *const nobody[] = {NULL};
	static const char *const odd[] = {"a@b>\r\nRCPT TO:<c@d", NULL};
	static const char *const fine[] = {"a@b", NULL};
	const struct play play = {.mail = true};
	struct loop loop = {.at_ms = -1};
	const struct http_loop lent = {&loop, on_watch, on_timer};
	struct http_multi *multi = http_multi_new(&lent, NULL);
	struct smtp_mail mail = {.from = "g@b", .subject = "s", .text = "t", .deadline_ms = 5000};
	struct err err = {0};
	char url[64], got[8192];

	(void)state;
	mail.url = "smtp://127.0.0.1";
	mail.to = nobody;
	assert_false(smtp_send_start(multi, &mail, on_done, &loop, &err));
	mail.to = odd;
	assert_false(smtp_send_start(multi, &mail, on_done, &loop, &err));
	mail.to = fine;
	mail.url = "http://127.0.0.1";
	assert_false(smtp_send_start(multi, &mail, on_done, &loop, &err));
	/* No TLS there, and plain is not allowed: nothing is sent. */
	snprintf(url, sizeof(url), "smtp://127.0.0.1:%d", serve_tcp(&play));
	mail.url = url;
	mail.user = "u";
	mail.password = "s3cret";
	mail.plain = true; /* not with a password */
	assert_true(smtp_send_start(multi, &mail, on_done, &loop, &err));
	turn(&loop, multi, 1);
	assert_int_equal(loop.kind, ERR_DENIED);
	http_multi_free(multi);
	end_server();
	received(got, sizeof(got));
	assert_null(strstr(got, "AUTH"));
	assert_null(strstr(got, "MAIL"));
}

static int after_each(void **state)
{
	(void)state;
	end_server();
	close(report[0]);
	close(report[1]);
	return 0;
}

static int before_each(void **state)
{
	(void)state;
	return pipe(report);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, before_each, after_each)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_answer_comes_with_status_and_body),
		TEST(any_status_is_an_answer_and_no_redirect_is_followed),
		TEST(each_failure_has_its_kind),
		TEST(a_wake_descriptor_ends_the_call),
		TEST(http_is_for_this_machine_only),
		TEST(a_fingerprint_is_asked_of_https_only_and_not_of_many),
		TEST(a_fingerprint_is_shown_as_proxmox_does),
		TEST(a_webhook_runs_in_the_callers_loop),
		TEST(a_dropped_call_is_not_reported),
		TEST(a_mail_is_a_whole_message),
		TEST(a_mail_without_sense_or_safety_is_refused),
	};
	int failed;

	if (!mkdtemp(dir))
		return 1;
	snprintf(sock_path, sizeof(sock_path), "%s/s", dir);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(sock_path);
	rmdir(dir);
	return failed;
}
