// SPDX-License-Identifier: MIT
/* A notice as an Internet message (RFC 5322) handed to a mail server. */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <time.h>

#include "base/clock.h"
#include "http/easy.h"

/* RFC 5322 2.1.1 allows 998 bytes before the line's end. */
#define MAIL_LINE_MAX 900

static size_t give_text(char *to, size_t size, size_t n, void *arg)
{
	struct easy *easy = arg;
	size_t left = easy->upload.len - easy->upload_at;
	size_t len = left < size * n ? left : size * n;

	if (len)
		memcpy(to, easy->upload.data + easy->upload_at, len);
	easy->upload_at += len;
	return len;
}

/* One bare address: visible ASCII, nothing that could end the header or the command. */
static bool address_ok(const char *address, struct err *err)
{
	const char *p;

	if (!*address || !strchr(address, '@'))
		return err_set(err, ERR_INVALID, "'%s' is not a mail address", address);
	for (p = address; *p; p++) {
		if (*p <= 0x20 || *p == 0x7f || strchr("<>,;()\"\\", *p))
			return err_set(
				err, ERR_INVALID, "'%s' is not a bare mail address", address);
	}
	return true;
}

static void add_subject(struct buf *buf, const char *subject)
{
	const char *p;

	buf_adds(buf, "Subject: ");
	for (p = subject; *p; p++) {
		if ((unsigned char)*p >= 0x80)
			buf_addc(buf, '?');
		else
			buf_addc(buf, *p < 0x20 || *p == 0x7f ? ' ' : *p);
	}
	buf_adds(buf, "\r\n");
}

static void add_text(struct buf *buf, const char *text)
{
	size_t column = 0;
	const char *p;

	for (p = text; *p; p++) {
		if (*p == '\r')
			continue;
		/* Not within a character of more than one byte. */
		if (*p == '\n' || (column >= MAIL_LINE_MAX && ((unsigned char)*p & 0xc0) != 0x80)) {
			buf_adds(buf, "\r\n");
			column = 0;
		}
		if (*p == '\n')
			continue;
		buf_addc(buf, *p);
		column++;
	}
	if (column)
		buf_adds(buf, "\r\n");
}

static void add_date(struct buf *buf)
{
	static const char days[7][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
	static const char months[12][4] = {
		"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
	time_t now = (time_t)(clock_now().utc_ms / 1000);
	struct tm tm;

	if (!gmtime_r(&now, &tm))
		return;
	buf_addf(buf, "Date: %s, %d %s %d %02d:%02d:%02d +0000\r\n", days[tm.tm_wday], tm.tm_mday,
		months[tm.tm_mon], tm.tm_year + 1900, tm.tm_hour, tm.tm_min, tm.tm_sec);
}

static bool compose(const struct smtp_mail *mail, struct buf *buf, struct err *err)
{
	unsigned char id[12] = {0};
	size_t i;

	if (getrandom(id, sizeof(id), 0) != (ssize_t)sizeof(id))
		return err_set(err, ERR_SYS, "no random bytes for a message's id");
	add_date(buf);
	buf_adds(buf, "Message-ID: <");
	for (i = 0; i < sizeof(id); i++)
		buf_addf(buf, "%02x", id[i]);
	buf_addf(buf, "%s>\r\nFrom: <%s>\r\n", strrchr(mail->from, '@'), mail->from);
	for (i = 0; mail->to[i]; i++)
		buf_addf(buf, "%s<%s>", i ? ",\r\n " : "To: ", mail->to[i]);
	buf_adds(buf, "\r\n");
	add_subject(buf, mail->subject);
	buf_adds(buf,
		"MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n"
		"Content-Transfer-Encoding: 8bit\r\nAuto-Submitted: auto-generated\r\n\r\n");
	add_text(buf, mail->text);
	return buf->failed ? err_nomem(err) : true;
}

static bool set_envelope(struct easy *easy, const struct smtp_mail *mail)
{
	struct curl_slist *list;
	/* A password never goes over a connection that is not encrypted. */
	long tls = mail->plain && !mail->user ? CURLUSESSL_TRY : CURLUSESSL_ALL;
	CURL *curl = easy->curl;
	size_t i;

	for (i = 0; mail->to[i]; i++) {
		list = curl_slist_append(easy->rcpt, mail->to[i]);
		if (!list)
			return false;
		easy->rcpt = list;
	}
	return !curl_easy_setopt(curl, CURLOPT_MAIL_FROM, mail->from) &&
		!curl_easy_setopt(curl, CURLOPT_MAIL_RCPT, easy->rcpt) &&
		!curl_easy_setopt(curl, CURLOPT_USE_SSL, tls) &&
		!curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L) &&
		!curl_easy_setopt(curl, CURLOPT_READFUNCTION, give_text) &&
		!curl_easy_setopt(curl, CURLOPT_READDATA, easy) &&
		!curl_easy_setopt(curl, CURLOPT_USERNAME, mail->user) &&
		!curl_easy_setopt(curl, CURLOPT_PASSWORD, mail->password);
}

static bool mail_ok(const struct smtp_mail *mail, struct err *err)
{
	size_t i;

	if (strncasecmp(mail->url, "smtp://", 7) && strncasecmp(mail->url, "smtps://", 8))
		return err_set(err, ERR_INVALID, "'%s' is not an smtp or smtps URL", mail->url);
	if (mail->deadline_ms <= 0)
		return err_set(err, ERR_INVALID, "a mail needs a deadline");
	if (!mail->to[0])
		return err_set(err, ERR_INVALID, "a mail needs somebody it goes to");
	if (!address_ok(mail->from, err))
		return false;
	for (i = 0; mail->to[i]; i++) {
		if (!address_ok(mail->to[i], err))
			return false;
	}
	return true;
}

struct easy *easy_mail(const struct smtp_mail *mail, struct err *err)
{
	struct easy *easy;

	if (!mail_ok(mail, err))
		return NULL;
	easy = easy_new(mail->url, "smtp,smtps", mail->ca_file, mail->deadline_ms, err);
	if (!easy)
		return NULL;
	snprintf(easy->what, sizeof(easy->what), "%s", mail->url);
	easy->response.body.max = 4096;
	if (!compose(mail, &easy->upload, err)) {
		easy_free(easy);
		return NULL;
	}
	if (!set_envelope(easy, mail)) {
		easy_free(easy);
		err_nomem(err);
		return NULL;
	}
	return easy;
}
