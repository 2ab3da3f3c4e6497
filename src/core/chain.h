// SPDX-License-Identifier: MIT
/*
 * The canonical bytes of an audit row: what the record's hash chain is computed over (src/store
 * hashes them with SHA-256).
 *
 * Each field is written as its length in decimal, ':', its bytes, ','  (a netstring), in a fixed
 * order after the 32 bytes of the previous row's hash: no two different rows have the same bytes.
 */
#ifndef RG_CORE_CHAIN_H
#define RG_CORE_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHAIN_HASH_LEN 32

struct chain_field {
	const char *data; /* NULL is written as "~," : not the same as empty */
	size_t len;
};

/* Writes into `ret` of `size` bytes; returns the length needed (as snprintf does, without a NUL):
 * larger than `size` means nothing usable was written. */
size_t chain_bytes(const unsigned char prev[CHAIN_HASH_LEN], const struct chain_field *fields,
	size_t n, char *ret, size_t size);

#endif
