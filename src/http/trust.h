// SPDX-License-Identifier: MIT
/*
 * Inside src/http: a server known by its certificate's fingerprint.
 *
 * OpenSSL's whole verification is replaced by one comparison, inside the handshake: with another
 * certificate the handshake fails, so that no request (and no token) is ever sent. Works with a
 * libcurl that is built on OpenSSL only; with another one a call is refused before it begins.
 */
#ifndef RG_HTTP_TRUST_H
#define RG_HTTP_TRUST_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define TRUST_PRINT_SIZE 32
#define TRUST_MAX_PRINTS 16

struct trust {
	size_t n;
	uint8_t prints[TRUST_MAX_PRINTS][TRUST_PRINT_SIZE];
	bool refused;                   /* the server showed another certificate */
	bool shown;                     /* the server showed a certificate, */
	uint8_t seen[TRUST_PRINT_SIZE]; /* this one */
};

/* Makes `curl` take these certificates only. `trust` must outlive the call. ERR_LIMIT for more than
 * TRUST_MAX_PRINTS, ERR_INVALID where libcurl is not on OpenSSL. */
bool trust_set(struct trust *trust, CURL *curl, const uint8_t (*prints)[TRUST_PRINT_SIZE], size_t n,
	struct err *err);

/* Only notes which certificate the server shows; whether it is trusted is decided as without it.
 * `trust` must outlive the call. */
bool trust_watch(struct trust *trust, CURL *curl, struct err *err);

/* "AA:BB:...", as Proxmox shows it. */
#define TRUST_TEXT_MAX (3 * TRUST_PRINT_SIZE)
const char *trust_text(const uint8_t print[TRUST_PRINT_SIZE], char text[TRUST_TEXT_MAX]);

#endif
