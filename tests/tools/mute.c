// SPDX-License-Identifier: MIT
/*
 * A server on 127.0.0.1 that does not do what a server should. Prints its port, then goes on until
 * it is killed or stdin ends.
 *
 * usage: mute accept   accepts and says nothing
 *        mute banner   says an SSH server's first line and then nothing
 *        mute close    accepts and closes at once
 *        mute full     accepts nothing, its queue is full: the kernel drops what comes
 */
#include <arpa/inet.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FILLERS 8

static int listen_any(int backlog, struct sockaddr_in *ret)
{
	socklen_t len = sizeof(*ret);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	*ret = (struct sockaddr_in){
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	if (fd < 0 || bind(fd, (struct sockaddr *)ret, len) < 0 || listen(fd, backlog) < 0)
		return -1;
	if (getsockname(fd, (struct sockaddr *)ret, &len) < 0)
		return -1;
	return fd;
}

/* The connections stay open, and in the queue, as long as this process lives. */
static void fill(const struct sockaddr_in *to)
{
	int i, fd;

	for (i = 0; i < FILLERS; i++) {
		fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		if (fd >= 0)
			(void)!connect(fd, (const struct sockaddr *)to, sizeof(*to));
	}
}

int main(int argc, char **argv)
{
	static const char banner[] = "SSH-2.0-OpenSSH_9.2\r\n";
	const char *how = argc == 2 ? argv[1] : "";
	bool full = strcmp(how, "full") == 0;
	struct sockaddr_in address;
	int fd = listen_any(full ? 0 : 16, &address);
	struct pollfd p[2] = {
		{.fd = 0, .events = POLLIN}, {.fd = full ? -1 : fd, .events = POLLIN}};
	int client;

	if (fd < 0 || !*how) {
		fprintf(stderr,
			"mute: usage: mute accept|banner|close|full, or no socket to be had\n");
		return 2;
	}
	if (full)
		fill(&address);
	printf("%u\n", (unsigned)ntohs(address.sin_port));
	fflush(stdout);
	while (poll(p, 2, -1) > 0 && !p[0].revents) {
		client = accept(fd, NULL, NULL);
		if (client >= 0 && strcmp(how, "banner") == 0)
			(void)!write(client, banner, strlen(banner));
		if (client >= 0 && strcmp(how, "close") == 0)
			close(client);
	}
	return 0;
}
