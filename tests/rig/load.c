// SPDX-License-Identifier: MIT
/*
 * A client's load on one file or block device, at a chosen pace: what stands in for a backup inside
 * the rig's NAS.
 *
 * usage: load write|read direct|buffered PATH [key=value ...]
 *   block=KIB    size of one request, 1024 unless said; with `direct` a multiple of 4
 *   rate=KIB     KiB/s to keep to; 0, the default, is as fast as it goes
 *   total=MIB    ends after so much; 0, the default, goes on until SIGTERM
 *   span=MIB     the part of PATH that is used, again and again; 64 unless said
 *   order=seq|random
 *
 * One request is outstanding at a time. The pace is kept over the whole run, but what the device
 * could not take is caught up for one second at most, so that a stall is not followed by a flood. A
 * buffered writer ends with fsync. Prints one line at its end: "bytes=N ms=N". Exit status: 0, 1
 * after an error, 2 for a wrong command line.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000LL

struct load {
	const char *path;
	bool write;
	bool direct;
	bool random;
	uint64_t block;  /* bytes */
	uint64_t rate;   /* bytes/s, 0 for no limit */
	uint64_t total;  /* bytes, 0 for no end */
	uint64_t blocks; /* in the span */
};

static volatile sig_atomic_t stopped;

static void on_signal(int signo)
{
	(void)signo;
	stopped = 1;
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

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

/* "key=NUMBER" in units of `unit` bytes. */
static bool option(const char *arg, const char *key, uint64_t unit, uint64_t *ret)
{
	size_t len = strlen(key);
	uint64_t n = 0;

	if (strncmp(arg, key, len) != 0 || arg[len] != '=' || !number(arg + len + 1, 1 << 30, &n))
		return false;
	*ret = n * unit;
	return true;
}

static bool parse(int argc, char **argv, struct load *ret)
{
	uint64_t span = 64 << 20;

	if (argc < 4)
		return false;
	*ret = (struct load){.path = argv[3], .block = 1 << 20};
	ret->write = strcmp(argv[1], "write") == 0;
	ret->direct = strcmp(argv[2], "direct") == 0;
	if ((!ret->write && strcmp(argv[1], "read") != 0) ||
		(!ret->direct && strcmp(argv[2], "buffered") != 0))
		return false;
	for (int i = 4; i < argc; i++) {
		if (strcmp(argv[i], "order=random") == 0)
			ret->random = true;
		else if (strcmp(argv[i], "order=seq") == 0)
			ret->random = false;
		else if (!option(argv[i], "block", 1 << 10, &ret->block) &&
			!option(argv[i], "rate", 1 << 10, &ret->rate) &&
			!option(argv[i], "total", 1 << 20, &ret->total) &&
			!option(argv[i], "span", 1 << 20, &span))
			return false;
	}
	if (ret->block == 0 || ret->block > (64 << 20) || (ret->direct && ret->block % 4096))
		return false;
	ret->blocks = span / ret->block;
	return ret->blocks > 0;
}

/* Waits until byte `done` is due. Returns the start of the run, moved on by what is not to be
 * caught up. */
static int64_t pace(const struct load *load, int64_t start, uint64_t done)
{
	int64_t due = start + (int64_t)((double)done / (double)load->rate * NS_PER_S);
	int64_t late = now_ns() - due;

	if (late > NS_PER_S)
		return start + late - NS_PER_S;
	while (late < 0 && !stopped) {
		struct timespec t = {.tv_sec = -late / NS_PER_S, .tv_nsec = -late % NS_PER_S};

		nanosleep(&t, NULL);
		late = now_ns() - due;
	}
	return start;
}

static bool run(const struct load *load, int fd, char *block, uint64_t *ret_done)
{
	int64_t start = now_ns();
	uint64_t at = 0;

	while (!stopped && (load->total == 0 || *ret_done < load->total)) {
		ssize_t n;

		if (load->rate > 0)
			start = pace(load, start, *ret_done);
		if (stopped)
			break;
		at = load->random ? (uint64_t)random() % load->blocks : at % load->blocks;
		if (load->write)
			n = pwrite(fd, block, load->block, (off_t)(at * load->block));
		else
			n = pread(fd, block, load->block, (off_t)(at * load->block));
		if (n < 0 && errno == EINTR)
			continue;
		if (n != (ssize_t)load->block) {
			fprintf(stderr, "load: %s: %s\n", load->path,
				n < 0 ? strerror(errno) : "ends before the span does");
			return false;
		}
		*ret_done += load->block;
		at++;
	}
	if (load->write && !load->direct && fsync(fd) < 0) {
		fprintf(stderr, "load: %s: fsync: %s\n", load->path, strerror(errno));
		return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_signal};
	struct load load;
	char *block = NULL;
	uint64_t done = 0;
	int64_t start = now_ns();
	bool ok;
	int fd;

	if (!parse(argc, argv, &load)) {
		fprintf(stderr,
			"usage: load write|read direct|buffered PATH [block=KIB] [rate=KIB] "
			"[total=MIB] [span=MIB] "
			"[order=seq|random]\n");
		return 2;
	}
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	fd = open(load.path,
		(load.write ? O_WRONLY : O_RDONLY) | O_CLOEXEC | (load.direct ? O_DIRECT : 0));
	if (fd < 0) {
		fprintf(stderr, "load: %s: %s\n", load.path, strerror(errno));
		return 1;
	}
	block = aligned_alloc(4096, (load.block + 4095) / 4096 * 4096);
	if (!block) {
		close(fd);
		return 1;
	}
	memset(block, 0x5a, load.block);
	ok = run(&load, fd, block, &done);
	printf("bytes=%llu ms=%lld\n", (unsigned long long)done,
		(long long)((now_ns() - start) / 1000000));
	free(block);
	close(fd);
	return ok ? 0 : 1;
}
