// SPDX-License-Identifier: MIT
#include "store/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/hash.h"

#define SLOT_LEN 4096
#define FRAMES_AT ((size_t)(2 * SLOT_LEN))

static const char slot_magic[8] = "RGSPILL";
static const char frame_magic[4] = "RGF";

/* Both are written in this machine's byte order: the file does not travel. */
struct slot {
	char magic[8];
	uint64_t counter; /* the valid slot with the greater one counts */
	unsigned char epoch[SPILL_EPOCH_LEN];
	int64_t marks[SPILL_MARKS];
	unsigned char sum[CHAIN_HASH_LEN]; /* over what stands before it */
};

struct frame {
	char magic[4];
	uint32_t len;
	uint64_t seq;
	unsigned char epoch[SPILL_EPOCH_LEN];
	unsigned char sum[CHAIN_HASH_LEN]; /* over what stands before it, and the data */
};

struct spill {
	int fd;
	size_t size;
	size_t end; /* where the next frame goes */
	int64_t count;
	uint64_t last;
	bool is_new;
	struct slot slot;
	struct buf scratch;
};

static bool read_all(int fd, void *data, size_t len, size_t at)
{
	ssize_t n;

	while (len) {
		n = pread(fd, data, len, (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		data = (char *)data + n;
		len -= (size_t)n;
		at += (size_t)n;
	}
	return true;
}

static bool write_all(int fd, const void *data, size_t len, size_t at)
{
	ssize_t n;

	while (len) {
		n = pwrite(fd, data, len, (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		data = (const char *)data + n;
		len -= (size_t)n;
		at += (size_t)n;
	}
	return true;
}

static bool slot_sum(const struct slot *slot, unsigned char ret[CHAIN_HASH_LEN])
{
	return hash_bytes(slot, offsetof(struct slot, sum), ret);
}

static bool slot_read(int fd, size_t at, struct slot *ret)
{
	unsigned char sum[CHAIN_HASH_LEN];

	return read_all(fd, ret, sizeof(*ret), at) &&
		memcmp(ret->magic, slot_magic, sizeof(slot_magic)) == 0 && slot_sum(ret, sum) &&
		memcmp(sum, ret->sum, sizeof(sum)) == 0;
}

static bool slot_write(struct spill *spill, struct slot *slot, struct err *err)
{
	slot->counter = spill->slot.counter + 1;
	if (!slot_sum(slot, slot->sum))
		return err_nomem(err);
	if (!write_all(spill->fd, slot, sizeof(*slot), slot->counter % 2 ? SLOT_LEN : 0) ||
		fdatasync(spill->fd) != 0)
		return err_sys(err, errno, "the spill cannot be written");
	spill->slot = *slot;
	return true;
}

static bool new_epoch(struct spill *spill, struct slot *slot, struct err *err)
{
	*slot = spill->slot;
	memcpy(slot->magic, slot_magic, sizeof(slot_magic));
	if (getrandom(slot->epoch, sizeof(slot->epoch), 0) != (ssize_t)sizeof(slot->epoch))
		return err_sys(err, errno, "no random bytes for the spill");
	return slot_write(spill, slot, err);
}

/* The disk space is taken now, by writing: an allocation alone may still need space later. */
static bool fill(struct spill *spill, size_t bytes, struct err *err)
{
	static const char zeros[65536];
	size_t at, n;

	for (at = 0; at < bytes; at += n) {
		n = bytes - at < sizeof(zeros) ? bytes - at : sizeof(zeros);
		if (!write_all(spill->fd, zeros, n, at))
			return err_sys(err, errno, "the spill cannot be allocated");
	}
	if (fdatasync(spill->fd) != 0)
		return err_sys(err, errno, "the spill cannot be allocated");
	spill->size = bytes;
	return true;
}

static bool make(struct spill *spill, size_t bytes, struct err *err)
{
	struct slot slot;

	spill->is_new = true;
	spill->end = FRAMES_AT;
	return fill(spill, bytes, err) && new_epoch(spill, &slot, err);
}

static bool frame_sum(
	struct spill *spill, const struct frame *frame, const void *data, unsigned char *ret)
{
	buf_clear(&spill->scratch);
	return buf_add(&spill->scratch, frame, offsetof(struct frame, sum)) &&
		buf_add(&spill->scratch, data, frame->len) &&
		hash_bytes(spill->scratch.data, spill->scratch.len, ret);
}

bool spill_read(struct spill *spill, size_t *offset, struct buf *ret, uint64_t *ret_seq)
{
	size_t at = *offset ? *offset : FRAMES_AT;
	unsigned char sum[CHAIN_HASH_LEN];
	struct frame frame;
	char *room;

	if (at + sizeof(frame) > spill->size || !read_all(spill->fd, &frame, sizeof(frame), at) ||
		memcmp(frame.magic, frame_magic, sizeof(frame_magic)) != 0 ||
		memcmp(frame.epoch, spill->slot.epoch, sizeof(frame.epoch)) != 0 ||
		frame.len > spill->size - at - sizeof(frame))
		return false;
	buf_clear(ret);
	room = buf_room(ret, frame.len);
	if (!room || !read_all(spill->fd, room, frame.len, at + sizeof(frame)))
		return false;
	buf_used(ret, frame.len);
	if (!frame_sum(spill, &frame, ret->data, sum) || memcmp(sum, frame.sum, sizeof(sum)) != 0)
		return false;
	*offset = at + sizeof(frame) + frame.len;
	*ret_seq = frame.seq;
	return true;
}

/* Finds the end of what is there. */
static bool scan(struct spill *spill, struct err *err)
{
	struct buf data = {.max = spill->size};
	size_t offset = 0;
	uint64_t seq = 0;

	while (spill_read(spill, &offset, &data, &seq) && seq == spill->last + 1) {
		spill->last = seq;
		spill->count++;
		spill->end = offset;
	}
	if (data.failed || spill->scratch.failed) {
		buf_release(&data);
		return err_nomem(err);
	}
	buf_release(&data);
	return true;
}

static bool load(struct spill *spill, size_t bytes, size_t size, struct err *err)
{
	struct slot a, b;
	bool good_a, good_b;

	if (size < SPILL_BYTES_MIN) /* a crash while it was made: nothing can be in it */
		return make(spill, bytes, err);
	spill->size = size;
	good_a = slot_read(spill->fd, 0, &a);
	good_b = slot_read(spill->fd, SLOT_LEN, &b);
	if (!good_a && !good_b) {
		if (!read_all(spill->fd, &a, sizeof(a), 0) || a.magic[0] || a.counter)
			return err_set(err, ERR_CORRUPT, "this is no spill of rebuildgated");
		return make(spill, bytes, err);
	}
	spill->slot = good_a && (!good_b || a.counter > b.counter) ? a : b;
	spill->end = FRAMES_AT;
	return scan(spill, err);
}

bool spill_open(const char *path, size_t bytes, struct spill **ret, struct err *err)
{
	struct spill *spill = calloc(1, sizeof(*spill));
	struct stat st;
	bool good;

	if (!spill)
		return err_nomem(err);
	bytes = bytes < SPILL_BYTES_MIN ? SPILL_BYTES_MIN : bytes;
	bytes = bytes > SPILL_BYTES_MAX ? SPILL_BYTES_MAX : bytes;
	spill->scratch.max = SPILL_BYTES_MAX;
	spill->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (spill->fd < 0)
		good = err_sys(err, errno, "the spill '%.300s' cannot be opened", path);
	else if (flock(spill->fd, LOCK_EX | LOCK_NB) != 0)
		good = errno == EWOULDBLOCK
			? err_set(err, ERR_BUSY, "another rebuildgated uses the spill '%.300s'",
				  path)
			: err_sys(err, errno, "the spill '%.300s' cannot be locked", path);
	else if (fstat(spill->fd, &st) != 0 || !S_ISREG(st.st_mode))
		good = err_set(err, ERR_INVALID, "the spill '%.300s' is not a file", path);
	else
		good = load(spill, bytes, (size_t)st.st_size, err) ||
			err_prefix(err, "'%.200s'", path);
	if (!good) {
		spill_close(spill);
		return false;
	}
	*ret = spill;
	return true;
}

void spill_close(struct spill *spill)
{
	if (!spill)
		return;
	if (spill->fd >= 0)
		close(spill->fd);
	buf_release(&spill->scratch);
	free(spill);
}

const unsigned char *spill_epoch(const struct spill *spill)
{
	return spill->slot.epoch;
}

int64_t spill_count(const struct spill *spill)
{
	return spill->count;
}

uint64_t spill_last(const struct spill *spill)
{
	return spill->last;
}

bool spill_is_new(const struct spill *spill)
{
	return spill->is_new;
}

bool spill_append(struct spill *spill, const void *data, size_t len, struct err *err)
{
	struct frame frame = {.seq = spill->last + 1};

	if (spill->end + sizeof(frame) > spill->size ||
		len > spill->size - spill->end - sizeof(frame))
		return err_set(err, ERR_LIMIT, "the spill is full (%zu bytes)", spill->size);
	memcpy(frame.magic, frame_magic, sizeof(frame_magic));
	memcpy(frame.epoch, spill->slot.epoch, sizeof(frame.epoch));
	frame.len = (uint32_t)len;
	if (!frame_sum(spill, &frame, data, frame.sum))
		return err_nomem(err);
	if (!write_all(spill->fd, &frame, sizeof(frame), spill->end) ||
		!write_all(spill->fd, data, len, spill->end + sizeof(frame)) ||
		fdatasync(spill->fd) != 0)
		return err_sys(err, errno, "the spill cannot be written");
	spill->end += sizeof(frame) + len;
	spill->last = frame.seq;
	spill->count++;
	return true;
}

bool spill_reset(struct spill *spill, struct err *err)
{
	struct slot slot;

	if (!spill->count)
		return true;
	if (!new_epoch(spill, &slot, err))
		return false;
	spill->end = FRAMES_AT;
	spill->count = 0;
	spill->last = 0;
	return true;
}

int64_t spill_mark(const struct spill *spill, size_t which)
{
	return spill->slot.marks[which];
}

bool spill_set_mark(struct spill *spill, size_t which, int64_t value, struct err *err)
{
	struct slot slot = spill->slot;

	if (value <= slot.marks[which])
		return true;
	slot.marks[which] = value;
	return slot_write(spill, &slot, err);
}
