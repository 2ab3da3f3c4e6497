// SPDX-License-Identifier: MIT
#include "store/hash.h"

#include <openssl/evp.h>
#include <string.h>

#include "store/store.h"

bool hash_bytes(const void *data, size_t len, unsigned char ret[CHAIN_HASH_LEN])
{
	unsigned int n = 0;

	return EVP_Digest(data, len, ret, &n, EVP_sha256(), NULL) == 1 && n == CHAIN_HASH_LEN;
}

bool hash_row(const unsigned char prev[CHAIN_HASH_LEN], const struct chain_field *fields, size_t n,
	struct buf *scratch, unsigned char ret[CHAIN_HASH_LEN])
{
	size_t need = chain_bytes(prev, fields, n, NULL, 0);
	char *room;

	buf_clear(scratch);
	room = buf_room(scratch, need);
	if (!room || chain_bytes(prev, fields, n, room, need) != need)
		return false;
	buf_used(scratch, need);
	return hash_bytes(scratch->data, scratch->len, ret);
}

void hash_hex(const unsigned char hash[CHAIN_HASH_LEN], char *ret)
{
	static const char digits[] = "0123456789abcdef";
	size_t i;

	for (i = 0; i < CHAIN_HASH_LEN; i++) {
		ret[2 * i] = digits[hash[i] >> 4];
		ret[2 * i + 1] = digits[hash[i] & 15];
	}
	ret[2 * CHAIN_HASH_LEN] = '\0';
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

bool hash_from_hex(const char *hex, unsigned char *ret, size_t len)
{
	size_t i;

	if (strlen(hex) != 2 * len)
		return false;
	for (i = 0; i < len; i++) {
		int high = digit(hex[2 * i]), low = digit(hex[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		ret[i] = (unsigned char)(high << 4 | low);
	}
	return true;
}

bool store_sha256(const void *data, size_t len, char ret_hex[STORE_HASH_TEXT])
{
	unsigned char hash[CHAIN_HASH_LEN];

	if (!hash_bytes(data, len, hash))
		return false;
	hash_hex(hash, ret_hex);
	return true;
}
