#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Both ends of streams: clients that write as fast as they may, and a sink that counts.

Prints the sink's port, then obeys lines on stdin, each answered by one line:

    connect PORT       one more client that writes to 127.0.0.1:PORT            ok
    measure SECONDS    what reaches the sink                                    bytes/s
    rest               ends all clients and waits until their streams have ended   ok
    open               clients whose stream is still up                         how many
"""

import socket
import sys
import threading
import time

LOCK = threading.Lock()
COUNT = {"bytes": 0, "streams": 0}
CLIENTS = []


def drain(stream):
    buffer = bytearray(1 << 20)
    with LOCK:
        COUNT["streams"] += 1
    try:
        while True:
            size = stream.recv_into(buffer)
            if not size:
                break
            with LOCK:
                COUNT["bytes"] += size
    except OSError:
        pass
    stream.close()
    with LOCK:
        COUNT["streams"] -= 1


def accept(listener):
    while True:
        stream = listener.accept()[0]
        threading.Thread(target=drain, args=(stream,), daemon=True).start()


def write(client):
    try:
        while True:
            client.sendall(b"x" * (256 << 10))
    except OSError:
        pass


def connect(port):
    client = socket.create_connection(("127.0.0.1", port))
    # What waits in the kernel shall be little against what a limit lets through.
    client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 << 10)
    CLIENTS.append(client)
    thread = threading.Thread(target=write, args=(client,), daemon=True)
    thread.start()
    return "ok"


def measure(seconds):
    before, start = COUNT["bytes"], time.monotonic()
    time.sleep(seconds)
    return str(int((COUNT["bytes"] - before) / (time.monotonic() - start)))


def rest():
    while CLIENTS:
        client = CLIENTS.pop()
        try:
            client.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        client.close()
    end = time.monotonic() + 30
    while COUNT["streams"] and time.monotonic() < end:
        time.sleep(0.05)
    return "ok"


def main():
    listener = socket.create_server(("127.0.0.1", 0), backlog=16)
    threading.Thread(target=accept, args=(listener,), daemon=True).start()
    print(listener.getsockname()[1], flush=True)
    for line in sys.stdin:
        words = line.split()
        if words[0] == "connect":
            answer = connect(int(words[1]))
        elif words[0] == "measure":
            answer = measure(float(words[1]))
        elif words[0] == "rest":
            answer = rest()
        else:
            answer = str(COUNT["streams"])
        print(answer, flush=True)


main()
