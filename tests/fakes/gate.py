#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A gate that says what a script tells it: HTTP with JSON over a Unix socket, for the hook's tests.

gate.py SOCKET DIR

DIR/answers has one JSON object a line. Each POST /v1/ask is answered by the current line; then the
next one is current, except that the last one stays and that a line with "until" stays until the file
DIR/UNTIL exists. While a line with "until" is current, an ask waits for its wait_ms.

    {"answer": {...}}            200 with that object
    {"status": 500, "body": ""}  that status and body
    {"raw": "..."}               these bytes instead of HTTP
    {"hang": true}               nothing, until the client goes away
    {"close": true}              closes the connection

POST /v1/keep is answered by the one line of DIR/keep as it is now, of the same form; without that file the path is free.

Other calls are answered with {} (DIR/hang-others: not at all). DIR/log gets each call as a line of
JSON: {"path", "body", "time"}.
"""

import http.server
import json
import os
import socketserver
import sys
import threading
import time

SOCKET, DIR = sys.argv[1:3]
LOCK = threading.Lock()


class Script:
    def __init__(self):
        with open(os.path.join(DIR, "answers"), encoding="utf-8") as file:
            self.lines = [json.loads(line) for line in file if line.strip()]
        self.at = 0

    def settle(self):
        """Leaves lines whose file is there."""
        while self.at + 1 < len(self.lines):
            until = self.lines[self.at].get("until")
            if not until or not os.path.exists(os.path.join(DIR, until)):
                break
            self.at += 1

    def take(self, wait_ms):
        end = time.monotonic() + wait_ms / 1000
        with LOCK:
            self.settle()
            first = self.at
            line = self.lines[self.at]
            if not line.get("until"):
                self.at = min(self.at + 1, len(self.lines) - 1)
                return line
        while time.monotonic() < end:
            time.sleep(0.02)
            with LOCK:
                self.settle()
                if self.at != first:
                    break
        with LOCK:
            line = self.lines[self.at]
            if self.at != first and not line.get("until"):
                self.at = min(self.at + 1, len(self.lines) - 1)
            return line


def keep_line():
    try:
        with open(os.path.join(DIR, "keep"), encoding="utf-8") as file:
            return json.loads(file.read())
    except FileNotFoundError:
        return {"answer": {"path": "free", "rate": 0, "again_ms": 1000, "max_pause_ms": 15000, "reason": None}}


SCRIPT = Script()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def address_string(self):
        return "unix"

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        pass

    def reply(self, status, text):
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def hang(self):
        while self.connection.recv(4096):
            pass
        self.close_connection = True

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        asked = json.loads(body) if body else None
        with LOCK, open(os.path.join(DIR, "log"), "a", encoding="utf-8") as file:
            entry = {"path": self.path, "body": asked, "time": time.time()}
            file.write(json.dumps(entry) + "\n")
        if self.path == "/v1/keep":
            self.act(keep_line())
            return
        if self.path != "/v1/ask":
            if os.path.exists(os.path.join(DIR, "hang-others")):
                self.hang()
            else:
                self.reply(200, "{}")
            return
        self.act(SCRIPT.take(asked.get("wait_ms", 0)))

    def act(self, line):
        if line.get("hang"):
            self.hang()
        elif line.get("close"):
            self.close_connection = True
        elif "raw" in line:
            self.wfile.write(line["raw"].encode())
            self.close_connection = True
        elif "status" in line:
            self.reply(line["status"], line.get("body", ""))
        else:
            self.reply(200, json.dumps(line["answer"]))


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 32

    def handle_error(self, request, client_address):
        pass


if os.path.exists(SOCKET):
    os.unlink(SOCKET)
with Server(SOCKET, Handler) as server:
    open(os.path.join(DIR, "ready"), "w", encoding="utf-8").close()
    server.serve_forever(poll_interval=0.1)
