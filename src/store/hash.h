// SPDX-License-Identifier: MIT
/* SHA-256 by libcrypto, over bytes and over a row's canonical form (core/chain.h). */
#ifndef RG_STORE_HASH_H
#define RG_STORE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "core/chain.h"

bool hash_bytes(const void *data, size_t len, unsigned char ret[CHAIN_HASH_LEN]);

/* `scratch` is emptied and used for the canonical bytes; keep it from row to row. */
bool hash_row(const unsigned char prev[CHAIN_HASH_LEN], const struct chain_field *fields, size_t n,
	struct buf *scratch, unsigned char ret[CHAIN_HASH_LEN]);

/* Lower-case hex with a NUL; `ret` has room for 2 * CHAIN_HASH_LEN + 1. */
void hash_hex(const unsigned char hash[CHAIN_HASH_LEN], char *ret);
/* `len` bytes from exactly 2 * len hex digits, either case. */
bool hash_from_hex(const char *hex, unsigned char *ret, size_t len);

#endif
