// SPDX-License-Identifier: MIT
/*
 * What a NAS does with a backup that comes over the network: takes TCP streams and writes them to a
 * block device.
 *
 * usage: sink PATH SPAN PORT=buffered|direct|dsync ...
 *   SPAN      MiB at the start of PATH that are used
 *   buffered  through the page cache; on disk before the stream's end is answered
 *   direct    O_DIRECT, one block outstanding: what a client's O_DIRECT write over NFS, or a
 *             server that writes synchronously, does
 *   dsync     the same, and each block flushed (O_DSYNC)
 *
 * Any number of streams at a time, each in a process of its own, which ends with it; PATH is opened
 * for each. Blocks are 1 MiB. Stream N begins at N eighths of the span, goes on from there and
 * begins again at its start. When the client shuts its side, the answer is one line: the bytes that
 * were written. A stream that is cut without that ends the same way. Ends on SIGTERM, its streams
 * with it. Exit status: 1 after an error, 2 for a wrong command line.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/fs.h>

#define PORTS_MAX 8
#define BLOCK (1 << 20)
#define PLACES 8
/* What lies in the socket is neither at the sender nor on disk: little of it. */
#define RECEIVE_BUFFER (256 << 10)

struct area {
	const char *path;
	uint64_t span; /* bytes */
};

struct port {
	int listener;
	int flags; /* of open */
};

static const struct {
	const char *word;
	int flags;
} modes[] = {{"buffered", 0}, {"direct", O_DIRECT}, {"dsync", O_DIRECT | O_DSYNC}};

/* A block, or what is left of the stream. -1 when it was cut. */
static ssize_t receive(int client, char *block)
{
	size_t got = 0;

	while (got < BLOCK) {
		ssize_t n = read(client, block + got, BLOCK - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

/* The whole stream; how many bytes of it were written. */
static uint64_t take(int client, int device, uint64_t size, uint64_t at, char *block)
{
	uint64_t total = 0;
	ssize_t n;

	while ((n = receive(client, block)) > 0) {
		/* The last piece of a stream is filled up: O_DIRECT takes whole sectors only. */
		size_t len = ((size_t)n + 4095) / 4096 * 4096;

		memset(block + n, 0, len - (size_t)n);
		if (at + BLOCK > size)
			at = 0;
		if (pwrite(device, block, len, (off_t)at) != (ssize_t)len) {
			perror("sink: write");
			break;
		}
		at += BLOCK;
		total += (uint64_t)n;
	}
	if (fdatasync(device) < 0)
		perror("sink: sync");
	return total;
}

/* One stream, in its own process. */
static int stream(const struct area *area, int flags, int client, unsigned int place)
{
	char *block = aligned_alloc(4096, BLOCK);
	int device = open(area->path, O_WRONLY | O_CLOEXEC | flags);
	uint64_t size = 0, total = 0;

	if (!block || device < 0 || ioctl(device, BLKGETSIZE64, &size) < 0 || size < BLOCK) {
		fprintf(stderr, "sink: %s: %s\n", area->path, strerror(errno));
		return 1;
	}
	if (size > area->span)
		size = area->span;
	total = take(client, device, size, size / BLOCK * place / PLACES * BLOCK, block);
	dprintf(client, "%llu\n", (unsigned long long)total);
	free(block);
	return 0;
}

static void welcome(const struct area *area, const struct port *port, unsigned int place)
{
	int client = accept4(port->listener, NULL, NULL, SOCK_CLOEXEC);
	pid_t parent = getpid();
	pid_t pid;

	if (client < 0)
		return;
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		_exit(getppid() == parent ? stream(area, port->flags, client, place) : 1);
	}
	if (pid < 0)
		perror("sink: fork");
	close(client);
}

/* A whole number from 1 to max, up to `end`. */
static bool number(const char *text, const char *end, unsigned int max, unsigned int *ret)
{
	unsigned int n = 0;

	for (const char *p = text; p < end; p++) {
		if (*p < '0' || *p > '9' || n > max)
			return false;
		n = n * 10 + (unsigned int)(*p - '0');
	}
	*ret = n;
	return n >= 1 && n <= max;
}

static bool port_open(const char *arg, struct port *ret)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	const char *word = strchr(arg, '=');
	unsigned int port = 0;
	int on = 1, buffer = RECEIVE_BUFFER;
	size_t mode = 0;

	while (word && mode < sizeof(modes) / sizeof(modes[0]) &&
		strcmp(word + 1, modes[mode].word) != 0)
		mode++;
	if (!word || !number(arg, word, 65535, &port) || mode == sizeof(modes) / sizeof(modes[0]))
		return false;
	ret->flags = modes[mode].flags;
	address.sin_port = htons((uint16_t)port);
	ret->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(ret->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	setsockopt(ret->listener, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer));
	return bind(ret->listener, (struct sockaddr *)&address, sizeof(address)) == 0 &&
		listen(ret->listener, 16) == 0;
}

int main(int argc, char **argv)
{
	struct area area = {0};
	unsigned int span = 0;
	struct port ports[PORTS_MAX];
	struct pollfd fds[PORTS_MAX];
	nfds_t n_ports = 0;
	unsigned int place = 0;

	if (argc > 2 && number(argv[2], argv[2] + strlen(argv[2]), 1 << 20, &span))
		area = (struct area){argv[1], (uint64_t)span << 20};
	for (int i = 3; i < argc && n_ports < PORTS_MAX; i++) {
		if (!port_open(argv[i], &ports[n_ports])) {
			fprintf(stderr, "sink: cannot listen: %s: %s\n", argv[i], strerror(errno));
			return 1;
		}
		fds[n_ports] = (struct pollfd){.fd = ports[n_ports].listener, .events = POLLIN};
		n_ports++;
	}
	if (span == 0 || n_ports == 0) {
		fprintf(stderr, "usage: sink PATH SPAN PORT=buffered|direct|dsync ...\n");
		return 2;
	}
	signal(SIGCHLD, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	while (poll(fds, n_ports, -1) >= 0 || errno == EINTR)
		for (nfds_t i = 0; i < n_ports; i++) {
			if (fds[i].revents)
				welcome(&area, &ports[i], place++ % PLACES);
			fds[i].revents = 0;
		}
	perror("sink: poll");
	return 1;
}
