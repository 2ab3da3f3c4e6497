// SPDX-License-Identifier: MIT
#include "http/trust.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <string.h>

const char *trust_text(const uint8_t print[TRUST_PRINT_SIZE], char text[TRUST_TEXT_MAX])
{
	size_t i;

	for (i = 0; i < TRUST_PRINT_SIZE; i++)
		snprintf(text + 3 * i, TRUST_TEXT_MAX - 3 * i, "%02X%s", print[i],
			i + 1 < TRUST_PRINT_SIZE ? ":" : "");
	return text;
}

/* The leaf is what the handshake proves the key of. */
static void note_shown(struct trust *trust, const X509_STORE_CTX *store)
{
	const X509 *leaf = X509_STORE_CTX_get0_cert(store);
	unsigned int size = 0;

	memset(trust->seen, 0, sizeof(trust->seen));
	trust->shown = leaf && X509_digest(leaf, EVP_sha256(), trust->seen, &size) &&
		size == TRUST_PRINT_SIZE;
}

/* In place of X509_verify_cert(): 1 is trusted. */
static int verify(X509_STORE_CTX *store, void *arg)
{
	struct trust *trust = arg;
	unsigned int same = 0;
	size_t i;

	note_shown(trust, store);
	for (i = 0; trust->shown && i < trust->n; i++)
		same |= CRYPTO_memcmp(trust->prints[i], trust->seen, TRUST_PRINT_SIZE) == 0;
	trust->refused = !same;
	X509_STORE_CTX_set_error(store, same ? X509_V_OK : X509_V_ERR_CERT_REJECTED);
	return same ? 1 : 0;
}

static int verify_and_note(X509_STORE_CTX *store, void *arg)
{
	note_shown(arg, store);
	return X509_verify_cert(store);
}

static CURLcode on_context_watched(CURL *curl, void *context, void *arg)
{
	(void)curl;
	SSL_CTX_set_cert_verify_callback(context, verify_and_note, arg);
	return CURLE_OK;
}

static CURLcode on_context(CURL *curl, void *context, void *arg)
{
	(void)curl;
	SSL_CTX_set_cert_verify_callback(context, verify, arg);
	return CURLE_OK;
}

/* The context that libcurl hands out is OpenSSL's only then. */
static bool curl_is_on_openssl(void)
{
	const curl_version_info_data *info = curl_version_info(CURLVERSION_NOW);

	return info->ssl_version && strncmp(info->ssl_version, "OpenSSL/", 8) == 0;
}

bool trust_set(struct trust *trust, CURL *curl, const uint8_t (*prints)[TRUST_PRINT_SIZE], size_t n,
	struct err *err)
{
	if (n > TRUST_MAX_PRINTS)
		return err_set(err, ERR_LIMIT, "more than %d fingerprints", TRUST_MAX_PRINTS);
	if (!curl_is_on_openssl())
		return err_set(err, ERR_INVALID,
			"this libcurl cannot check a certificate's fingerprint: it is not built on "
			"OpenSSL");
	*trust = (struct trust){.n = n};
	memcpy(trust->prints, prints, n * sizeof(trust->prints[0]));
	/* No file of authorities is needed, and none is to be missed: libcurl's own default may not
	 * be there. No session is kept: one that is resumed shows no certificate. */
	if (curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 1L) ||
		curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 0L) ||
		curl_easy_setopt(curl, CURLOPT_CAINFO, NULL) ||
		curl_easy_setopt(curl, CURLOPT_CAPATH, NULL) ||
		curl_easy_setopt(curl, CURLOPT_SSL_SESSIONID_CACHE, 0L) ||
		curl_easy_setopt(curl, CURLOPT_SSL_CTX_DATA, trust) ||
		curl_easy_setopt(curl, CURLOPT_SSL_CTX_FUNCTION, on_context))
		return err_nomem(err);
	return true;
}

bool trust_watch(struct trust *trust, CURL *curl, struct err *err)
{
	*trust = (struct trust){0};
	return !curl_is_on_openssl() ||
		(!curl_easy_setopt(curl, CURLOPT_SSL_CTX_DATA, trust) &&
			!curl_easy_setopt(curl, CURLOPT_SSL_CTX_FUNCTION, on_context_watched)) ||
		err_nomem(err);
}
