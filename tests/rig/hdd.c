// SPDX-License-Identifier: MIT
/*
 * Disks that seek: an NBD server whose disks answer when a spindle would.
 *
 * usage: hdd [rate=BYTES] [seek=US] [cache=KIB] SOCKET=FILE ...
 *   rate=BYTES  per second beneath the head; 20000000 unless said
 *   seek=US     what one jump of the head costs, its rotation included; 8000 unless said
 *   cache=KIB   write-back cache of each disk; 8192 unless said, 0 for none
 *   SOCKET=FILE a disk: the Unix socket that it listens on, and the file that holds its bytes
 *
 * One process serves all disks of a machine; it says "ready" when all of them listen, and ends on
 * SIGTERM. The model of one disk:
 *   - One request is served at a time. It costs its length at `rate`, and one `seek` where it does
 *     not begin where the head is; a short gap ahead of the head is passed over where that is
 * cheaper.
 *   - The next one is the nearest ahead of the head (C-SCAN over what is queued and what the cache
 *     holds); but who has waited for AGE_NS goes first, so that no stream starves another.
 *   - A write is answered as soon as the cache has room for it, and costs its time when the head
 *     gets there. A flush is answered when all writes before it are on the platter; a write with
 * FUA when it is itself.
 *   - A read that goes on where the last one ended finds what the disk has read ahead while it was
 * idle. Bytes reach the file when a write arrives: what the model delays is the answer. So a power
 * cut loses nothing here that a real disk's cache would lose.
 *
 * The protocol is NBD's fixed newstyle handshake and simple replies
 * (https://github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md).
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S INT64_C(1000000000)
#define DISKS_MAX 16
#define QUEUE_MAX 4096
#define REQUEST_MAX (32U << 20) /* bytes; what QEMU sends at most */
#define AGE_NS NS_PER_S
#define READ_AHEAD (512 << 10) /* bytes */

#define MAGIC_SERVER UINT64_C(0x4e42444d41474943) /* NBDMAGIC */
#define MAGIC_OPTION UINT64_C(0x49484156454f5054) /* IHAVEOPT */
#define MAGIC_ANSWER UINT64_C(0x0003e889045565a9)
#define MAGIC_REQUEST UINT32_C(0x25609513)
#define MAGIC_REPLY UINT32_C(0x67446698)
#define HANDSHAKE_FLAGS 3 /* fixed newstyle, no zeroes */
#define CLIENT_NO_ZEROES 2
#define EXPORT_FLAGS 0x1d /* has flags, flush, FUA, rotational */

enum option { OPT_EXPORT_NAME = 1, OPT_ABORT = 2, OPT_INFO = 6, OPT_GO = 7 };
#define REP_ACK UINT32_C(1)
#define REP_INFO UINT32_C(3)
#define REP_UNSUPPORTED UINT32_C(0x80000001)

enum command { CMD_READ = 0, CMD_WRITE = 1, CMD_DISCONNECT = 2, CMD_FLUSH = 3 };
#define COMMAND_FUA 1

struct request {
	enum command command;
	uint64_t offset;
	uint32_t len;
	uint64_t cookie; /* big endian, as it came */
	uint64_t number; /* in order of arrival */
	int64_t came_ns; /* when */
	bool cached;     /* a write that was answered from the cache */
};

struct disk {
	int listener, client, file; /* client -1: nobody */
	uint64_t size;              /* bytes */
	uint64_t head;              /* where the head is, bytes */
	uint64_t numbers;           /* requests so far */
	uint64_t cached;            /* bytes in the cache */
	int64_t free_ns;            /* when the head became, or becomes, free */
	bool busy;
	struct request serving; /* while busy */
	size_t n_queue;
	struct request queue[QUEUE_MAX]; /* flushes too */
};

static struct {
	uint64_t rate; /* bytes/s */
	int64_t seek_ns;
	uint64_t cache; /* bytes */
} model = {20000000, 8000000, 8192 << 10};
static struct disk disks[DISKS_MAX];
static size_t n_disks;
static char block[1 << 20]; /* bytes on their way between a socket and a file */

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* --- the wire ------------------------------------------------------------------------------- */

static bool receive(int fd, void *to, size_t len)
{
	char *p = to;

	while (len > 0) {
		ssize_t n = read(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		p += n;
		len -= (size_t)n;
	}
	return true;
}

static bool transmit(int fd, const void *from, size_t len)
{
	const char *p = from;

	while (len > 0) {
		ssize_t n = send(fd, p, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		p += n;
		len -= (size_t)n;
	}
	return true;
}

static bool option_answer(int fd, uint32_t option, uint32_t type, const void *data, uint32_t len)
{
	struct {
		uint64_t magic;
		uint32_t option, type, len;
	} __attribute__((packed))
	head = {htobe64(MAGIC_ANSWER), htobe32(option), htobe32(type), htobe32(len)};

	return transmit(fd, &head, sizeof(head)) && transmit(fd, data, len);
}

/* The export as OPT_GO and OPT_INFO tell it. */
static bool option_info(int fd, uint32_t option, uint64_t size)
{
	struct {
		uint16_t type;
		uint64_t size;
		uint16_t flags;
	} __attribute__((packed)) info = {0, htobe64(size), htobe16(EXPORT_FLAGS)};

	return option_answer(fd, option, REP_INFO, &info, sizeof(info)) &&
		option_answer(fd, option, REP_ACK, NULL, 0);
}

/* The old way to choose an export: its answer has a form of its own. */
static bool export_name(int fd, uint32_t client_flags, uint64_t size)
{
	struct {
		uint64_t size;
		uint16_t flags;
		char zeroes[124];
	} __attribute__((packed)) answer = {htobe64(size), htobe16(EXPORT_FLAGS), {0}};

	return transmit(fd, &answer,
		client_flags & CLIENT_NO_ZEROES ? sizeof(answer) - sizeof(answer.zeroes)
						: sizeof(answer));
}

/* Until the client has chosen the export, whatever name it gives. */
static bool handshake(int fd, uint64_t size)
{
	struct {
		uint64_t server, option;
		uint16_t flags;
	} __attribute__((packed))
	hello = {htobe64(MAGIC_SERVER), htobe64(MAGIC_OPTION), htobe16(HANDSHAKE_FLAGS)};
	uint32_t client_flags = 0;

	if (!transmit(fd, &hello, sizeof(hello)) ||
		!receive(fd, &client_flags, sizeof(client_flags)))
		return false;
	client_flags = be32toh(client_flags);
	for (;;) {
		struct {
			uint64_t magic;
			uint32_t option, len;
		} __attribute__((packed)) head;
		uint32_t option;
		bool ok;

		if (!receive(fd, &head, sizeof(head)) || be64toh(head.magic) != MAGIC_OPTION ||
			be32toh(head.len) > sizeof(block) || !receive(fd, block, be32toh(head.len)))
			return false;
		option = be32toh(head.option);
		if (option == OPT_EXPORT_NAME)
			return export_name(fd, client_flags, size);
		if (option == OPT_GO || option == OPT_INFO)
			ok = option_info(fd, option, size);
		else if (option == OPT_ABORT)
			ok = false;
		else
			ok = option_answer(fd, option, REP_UNSUPPORTED, NULL, 0);
		if (!ok || option == OPT_GO)
			return ok;
	}
}

static bool reply(int fd, const struct request *request, uint32_t error)
{
	struct {
		uint32_t magic, error;
		uint64_t cookie;
	} __attribute__((packed)) head = {htobe32(MAGIC_REPLY), htobe32(error), request->cookie};

	return transmit(fd, &head, sizeof(head));
}

/* --- bytes ---------------------------------------------------------------------------------- */

/* An answer has one error for all of its bytes, and it comes first: a read is tried before. */
static bool answer_read(struct disk *disk, const struct request *request)
{
	uint32_t done = 0;

	while (done < request->len) {
		size_t len =
			request->len - done < sizeof(block) ? request->len - done : sizeof(block);

		if (pread(disk->file, block, len, (off_t)(request->offset + done)) !=
			(ssize_t)len) {
			perror("hdd: read");
			return done == 0 && reply(disk->client, request, EIO);
		}
		if ((done == 0 && !reply(disk->client, request, 0)) ||
			!transmit(disk->client, block, len))
			return false;
		done += (uint32_t)len;
	}
	return true;
}

/* False with errno. */
static bool store(int file, const char *bytes, size_t len, off_t offset)
{
	if (bytes[0] == 0 && memcmp(bytes, bytes + 1, len - 1) == 0 &&
		fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, (off_t)len) ==
			0)
		return true;
	return pwrite(file, bytes, len, offset) == (ssize_t)len;
}

/* Takes the bytes of a write from the client into the file. *ret_error is for the answer. */
static bool take_bytes(struct disk *disk, const struct request *request, uint32_t *ret_error)
{
	uint32_t done = 0;

	while (done < request->len) {
		size_t len =
			request->len - done < sizeof(block) ? request->len - done : sizeof(block);

		if (!receive(disk->client, block, len))
			return false;
		if (*ret_error == 0 &&
			!store(disk->file, block, len, (off_t)(request->offset + done))) {
			perror("hdd: write");
			*ret_error = EIO;
		}
		done += (uint32_t)len;
	}
	return true;
}

/* --- the spindle ---------------------------------------------------------------------------- */

static int64_t transfer_ns(uint64_t bytes)
{
	return (int64_t)((double)bytes / (double)model.rate * NS_PER_S);
}

/* The first write number that the oldest flush does not wait for; 0 where none waits. */
static uint64_t flush_limit(const struct disk *disk)
{
	uint64_t limit = 0;

	for (size_t i = 0; i < disk->n_queue; i++) {
		const struct request *r = &disk->queue[i];

		if (r->command == CMD_FLUSH && (limit == 0 || r->number < limit))
			limit = r->number;
	}
	return limit;
}

/* Which one the head goes to next; n_queue where only flushes are left. */
static size_t choose(const struct disk *disk, int64_t now)
{
	size_t none = disk->n_queue, ahead = none, lowest = none, aged = none;
	uint64_t limit = flush_limit(disk);

	for (size_t i = 0; i < disk->n_queue; i++) {
		const struct request *r = &disk->queue[i];
		bool waited_for = !r->cached || r->number < limit;

		if (r->command == CMD_FLUSH)
			continue;
		if (lowest == none || r->offset < disk->queue[lowest].offset)
			lowest = i;
		if (r->offset >= disk->head &&
			(ahead == none || r->offset < disk->queue[ahead].offset))
			ahead = i;
		if (waited_for && now - r->came_ns > AGE_NS &&
			(aged == none || r->number < disk->queue[aged].number))
			aged = i;
	}
	if (aged != none)
		return aged;
	return ahead != none ? ahead : lowest;
}

static int64_t cost_ns(const struct disk *disk, const struct request *request)
{
	int64_t jump = 0;

	if (request->offset > disk->head) {
		int64_t pass = transfer_ns(request->offset - disk->head);

		jump = pass < model.seek_ns ? pass : model.seek_ns;
	} else if (request->offset < disk->head) {
		jump = model.seek_ns;
	}
	return jump + transfer_ns(request->len);
}

/* Begins the next request, if there is one. A head that was busy until free_ns goes on from then,
 * however late this process was woken. */
static void begin(struct disk *disk, int64_t now, bool was_busy)
{
	size_t next = choose(disk, now);
	struct request *request = &disk->serving;
	int64_t start = now;

	if (next == disk->n_queue)
		return;
	*request = disk->queue[next];
	disk->queue[next] = disk->queue[--disk->n_queue];
	if (was_busy) {
		start = disk->free_ns;
	} else if (request->command == CMD_READ && request->offset == disk->head) {
		start = now - transfer_ns(READ_AHEAD);
		if (start < disk->free_ns)
			start = disk->free_ns;
	}
	disk->free_ns = start + cost_ns(disk, request);
	disk->head = request->offset + request->len;
	disk->busy = true;
}

/* Answers the flushes whose writes are all on the platter. */
static bool answer_flushes(struct disk *disk)
{
	uint64_t first = disk->busy && disk->serving.command == CMD_WRITE ? disk->serving.number
									  : UINT64_MAX;

	for (size_t i = 0; i < disk->n_queue; i++)
		if (disk->queue[i].command == CMD_WRITE && disk->queue[i].number < first)
			first = disk->queue[i].number;
	for (size_t i = 0; i < disk->n_queue;) {
		if (disk->queue[i].command != CMD_FLUSH || disk->queue[i].number > first) {
			i++;
			continue;
		}
		if (!reply(disk->client, &disk->queue[i], 0))
			return false;
		disk->queue[i] = disk->queue[--disk->n_queue];
	}
	return true;
}

/* All that is due by now. False when the client is gone. */
static bool serve(struct disk *disk)
{
	int64_t now = now_ns();
	bool flush = false;

	if (!disk->busy)
		begin(disk, now, false);
	while (disk->busy && disk->free_ns <= now) {
		struct request done = disk->serving;

		disk->busy = false;
		if (done.command == CMD_READ && !answer_read(disk, &done))
			return false;
		if (done.cached)
			disk->cached -= done.len;
		else if (done.command == CMD_WRITE && !reply(disk->client, &done, 0))
			return false;
		flush = flush || done.command == CMD_WRITE;
		begin(disk, now, true);
	}
	return !flush || answer_flushes(disk);
}

/* --- requests ------------------------------------------------------------------------------- */

/* Takes one request from the client. False when the client is gone or makes no sense. */
static bool take(struct disk *disk)
{
	struct {
		uint32_t magic;
		uint16_t flags, command;
		uint64_t cookie, offset;
		uint32_t len;
	} __attribute__((packed)) head;
	struct request request = {0};
	uint32_t error = 0;

	if (!receive(disk->client, &head, sizeof(head)) || be32toh(head.magic) != MAGIC_REQUEST)
		return false;
	request = (struct request){.command = be16toh(head.command),
		.cookie = head.cookie,
		.offset = be64toh(head.offset),
		.len = be32toh(head.len),
		.number = ++disk->numbers,
		.came_ns = now_ns()};
	if (request.command == CMD_DISCONNECT || request.len > REQUEST_MAX)
		return false;
	if (request.command > CMD_FLUSH || request.offset > disk->size ||
		request.len > disk->size - request.offset)
		error = EINVAL;
	if (request.command == CMD_WRITE && !take_bytes(disk, &request, &error))
		return false;
	if (error != 0)
		return reply(disk->client, &request, error);
	if (request.command == CMD_WRITE && !(be16toh(head.flags) & COMMAND_FUA) &&
		disk->cached + request.len <= model.cache) {
		request.cached = true;
		disk->cached += request.len;
		if (!reply(disk->client, &request, 0))
			return false;
	}
	disk->queue[disk->n_queue++] = request;
	return request.command != CMD_FLUSH || answer_flushes(disk);
}

/* The client is gone: what it had queued goes with it. */
static void leave(struct disk *disk)
{
	close(disk->client);
	disk->client = -1;
	disk->n_queue = 0;
	disk->cached = 0;
	disk->busy = false;
}

static void welcome(struct disk *disk)
{
	disk->client = accept4(disk->listener, NULL, NULL, SOCK_CLOEXEC);
	if (disk->client >= 0 && !handshake(disk->client, disk->size))
		leave(disk);
}

/* Waits until a client speaks or a head is free. */
static bool turn(void)
{
	struct pollfd fds[DISKS_MAX];
	int64_t until = INT64_MAX, wait;
	struct timespec span;

	for (size_t i = 0; i < n_disks; i++) {
		struct disk *disk = &disks[i];

		fds[i] = (struct pollfd){
			.fd = disk->client < 0 ? disk->listener : disk->client, .events = POLLIN};
		if (disk->n_queue == QUEUE_MAX)
			fds[i].fd = -1;
		if (disk->busy && disk->free_ns < until)
			until = disk->free_ns;
	}
	wait = until == INT64_MAX ? NS_PER_S : until - now_ns();
	if (wait < 0)
		wait = 0;
	span = (struct timespec){.tv_sec = wait / NS_PER_S, .tv_nsec = wait % NS_PER_S};
	if (ppoll(fds, n_disks, &span, NULL) < 0)
		return errno == EINTR;
	for (size_t i = 0; i < n_disks; i++) {
		struct disk *disk = &disks[i];

		if (fds[i].revents && disk->client < 0)
			welcome(disk);
		else if (fds[i].revents && !take(disk))
			leave(disk);
		if (disk->client >= 0 && !serve(disk))
			leave(disk);
	}
	return true;
}

/* --- the command line ----------------------------------------------------------------------- */

static bool number(const char *text, uint64_t max, uint64_t *ret)
{
	uint64_t n = 0;

	if (!*text)
		return false;
	for (const char *p = text; *p; p++) {
		if (*p < '0' || *p > '9')
			return false;
		n = n * 10 + (uint64_t)(*p - '0');
		if (n > max)
			return false;
	}
	*ret = n;
	return true;
}

/* "KEY=NUMBER": 1, 0 for another key, -1 for a number that is none. */
static int setting(const char *arg, const char *key, uint64_t max, uint64_t *ret)
{
	size_t len = strlen(key);

	if (strncmp(arg, key, len) != 0 || arg[len] != '=')
		return 0;
	return number(arg + len + 1, max, ret) ? 1 : -1;
}

static bool disk_open(const char *socket_path, const char *file, struct disk *ret)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct stat st;

	*ret = (struct disk){.listener = -1, .client = -1};
	if (strlen(socket_path) >= sizeof(address.sun_path)) {
		fprintf(stderr, "hdd: the socket's path is too long: %s\n", socket_path);
		return false;
	}
	memcpy(address.sun_path, socket_path, strlen(socket_path) + 1);
	ret->file = open(file, O_RDWR | O_CLOEXEC);
	if (ret->file < 0 || fstat(ret->file, &st) < 0) {
		fprintf(stderr, "hdd: %s: %s\n", file, strerror(errno));
		return false;
	}
	ret->size = (uint64_t)st.st_size;
	unlink(socket_path);
	ret->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (ret->listener < 0 ||
		bind(ret->listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
		listen(ret->listener, 1) < 0) {
		fprintf(stderr, "hdd: %s: %s\n", socket_path, strerror(errno));
		return false;
	}
	return true;
}

/* One argument. 0, or the exit status. */
static int argument(char *arg)
{
	uint64_t seek_us = 0, cache_kib = 0;
	int rate = setting(arg, "rate", UINT64_C(1) << 40, &model.rate);
	int seek = setting(arg, "seek", 1000000, &seek_us);
	int cache = setting(arg, "cache", 1 << 20, &cache_kib);
	char *file = strchr(arg, '=');

	if (rate < 0 || seek < 0 || cache < 0 || !file || model.rate == 0)
		return 2;
	if (seek > 0)
		model.seek_ns = (int64_t)seek_us * 1000;
	if (cache > 0)
		model.cache = cache_kib << 10;
	if (rate || seek || cache)
		return 0;
	if (n_disks == DISKS_MAX)
		return 2;
	*file++ = '\0';
	return disk_open(arg, file, &disks[n_disks++]) ? 0 : 1;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		int status = argument(argv[i]);

		if (status == 2)
			fprintf(stderr, "hdd: no such setting or disk: %s\n", argv[i]);
		if (status != 0)
			return status;
	}
	if (n_disks == 0) {
		fprintf(stderr, "usage: hdd [rate=BYTES] [seek=US] [cache=KIB] SOCKET=FILE ...\n");
		return 2;
	}
	prctl(PR_SET_TIMERSLACK, 1000);
	puts("ready");
	fflush(stdout);
	while (turn())
		;
	perror("hdd: poll");
	return 1;
}
