#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A backup's stream: sends bytes over TCP as fast as they are taken, or at a chosen pace.

usage: send.py HOST:PORT [rate=KIB] [slice=S rest=S] [total=MIB] [streams=N] [account=FILE]
  rate=KIB         KiB/s to keep to; what was not taken is caught up for one second at most
  slice=S rest=S   full speed (or `rate`) for so many seconds, then nothing for so many, again and again
  total=MIB        ends after so much; else it goes on until SIGTERM
  streams=N        so many connections at once, which share all of this; 1 unless said
  account=FILE     one line, rewritten five times a second: bytes sent, milliseconds since the start

At its end it shuts its side and waits for the line with which the other says what it has written
(tests/rig/sink.c). Prints "bytes=SENT ms=MS written=BYTES". Exit status: 0, 1 when the connection
broke, 2 for a wrong command line.
"""
import os
import select
import signal
import socket
import sys
import time

BLOCK = bytes([0x5A]) * (64 << 10)
# What lies in the socket is neither here nor there: little of it.
SEND_BUFFER = 128 << 10
ANSWER_S = 120

stopped = False


def on_signal(_signo, _frame):
    global stopped
    stopped = True


class Pace:
    """When the next block may go."""

    def __init__(self, rate, slice_s, rest_s):
        self.rate, self.slice_s, self.rest_s = rate, slice_s, rest_s
        self.start = self.due = time.monotonic()

    def wait(self, now):
        """Seconds until the next block is due."""
        if self.rest_s > 0:
            at = (now - self.start) % (self.slice_s + self.rest_s)
            if at >= self.slice_s:
                self.due = now
                return self.slice_s + self.rest_s - at
        if self.rate <= 0:
            return 0
        self.due = max(self.due, now - 1)
        return self.due - now

    def sent(self, count):
        if self.rate > 0:
            self.due += count / self.rate


class Account:
    def __init__(self, path):
        self.path, self.start, self.bytes, self.written = path, time.monotonic(), 0, 0.0

    def ms(self):
        return int((time.monotonic() - self.start) * 1000)

    def write(self, now, force=False):
        if not self.path or (now - self.written < 0.2 and not force):
            return
        with open(self.path + ".new", "w", encoding="ascii") as file:
            file.write(f"{self.bytes} {self.ms()}\n")
        os.rename(self.path + ".new", self.path)
        self.written = now


def send(socks, pace, total, account):
    while not stopped and (total == 0 or account.bytes < total):
        now = time.monotonic()
        account.write(now)
        wait = pace.wait(now)
        if wait > 0:
            time.sleep(min(wait, 0.2))
            continue
        for sock in select.select([], socks, [], 0.2)[1]:
            left = len(BLOCK) if total == 0 else min(len(BLOCK), total - account.bytes)
            count = sock.send(BLOCK[:left]) if left > 0 else 0
            account.bytes += count
            pace.sent(count)


def finish(sock):
    """What the other side's line says."""
    sock.setblocking(True)
    sock.settimeout(ANSWER_S)
    answer = b""
    while not answer.endswith(b"\n"):
        part = sock.recv(64)
        if not part:
            raise OSError("the other side did not say what it has written")
        answer += part
    return int(answer)


def connect(host, port):
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
    sock.settimeout(20)
    sock.connect((host, port))
    sock.setblocking(False)
    return sock


def main(argv):
    options = {"rate": 0.0, "slice": 0.0, "rest": 0.0, "total": 0.0, "streams": 1, "account": ""}
    try:
        host, port = argv[1].rsplit(":", 1)
        for arg in argv[2:]:
            key, value = arg.split("=", 1)
            options[key] = type(options[key])(value)
        port = int(port)
    except (IndexError, KeyError, ValueError):
        print(__doc__, file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGINT, on_signal)
    account = Account(options["account"])
    written = "unknown"
    status = 0
    try:
        socks = [connect(host, port) for _ in range(options["streams"])]
        send(socks, Pace(options["rate"] * 1024, options["slice"], options["rest"]),
             int(options["total"] * (1 << 20)), account)
        account.write(time.monotonic(), force=True)
        for sock in socks:
            sock.shutdown(socket.SHUT_WR)
        written = sum(finish(sock) for sock in socks)
    except (OSError, ValueError) as err:
        print(f"send: {host}:{port}: {err}", file=sys.stderr)
        status = 1
    account.write(time.monotonic(), force=True)
    print(f"bytes={account.bytes} ms={account.ms()} written={written}")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv))
