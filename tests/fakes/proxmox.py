#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the fake APIs of Proxmox VE and Proxmox Backup Server share: TLS, state, tokens, faults, tasks.

As a program it edits a fake's state, safely while the fake runs:

    proxmox.py DIR 'CODE'

CODE is Python with `state` (DIR/state.json, written back if it changed), `task(TYPE, ID, ...)` (adds a
task, answers its UPID), `finish(UPID, STATUS)`, `log(UPID, LINE...)`, `fault(MATCH, ...)`, `time`. The value of
CODE, if it is one expression, is printed (a text as it is, else as JSON).

DIR/state.json is read anew for each request:

    "tokens": {"gate@pbs!rg": {"secret": "S", "privs": {"/": ["Sys.Audit"], "/datastore/nas": [...]}}}
                  of the paths above an object the longest that is there counts
    "utc_offset": seconds that the server's local time is ahead of UTC (0)
    "tasks": [{"upid", "log": [LINE], "ends_at": UTC seconds at which it ends well, "endtime",
                  "status"}]; without an endtime it runs
    "faults": [{"match": REGEX on "METHOD /path", ...}]: the first that matches is what happens instead,
                  "times": so many times (then the entry is gone; without it: always)
                  "delay": S       waits first, then goes on (with what else the fault says)
                  "status", "body", "reason": this answer
                  "close": true    the connection ends without an answer
                  "hang": S        nothing, then the connection ends
                  "cut": N         the right answer, but only N bytes of its body come
                  "drip": S        the right answer, a byte each S seconds
    "unauthorized_delay": S before a 401 (the real ones wait 3 s; 0)
    "message_in_body": false: Proxmox VE before it told the message of an error in the body (true)

DIR/log gets each request as a line of JSON: time, method, path, query, form, token (its id, never the
secret; null without), status; and {"time", "tls": REASON} for a handshake that failed. DIR/ready holds
the port once it listens.
"""

import argparse
import ast
import contextlib
import fcntl
import http.server
import json
import os
import re
import socketserver
import ssl
import sys
import threading
import time
import urllib.parse

PREFIX = "/api2/json"


class State:
    """state.json in DIR, under a lock that other processes respect."""

    def __init__(self, folder):
        self.folder = folder
        self.path = os.path.join(folder, "state.json")
        self.lock = threading.Lock()

    @contextlib.contextmanager
    def edit(self):
        with self.lock, open(os.path.join(self.folder, "lock"), "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with open(self.path, encoding="utf-8") as file:
                text = file.read()
            state = json.loads(text)
            for key, empty in (("tokens", {}), ("tasks", []), ("faults", [])):
                state.setdefault(key, empty)
            end_tasks(state)
            before = json.dumps(json.loads(text))
            yield state
            if json.dumps(state) != before:
                with open(self.path + ".new", "w", encoding="utf-8") as file:
                    json.dump(state, file, indent=1)
                os.rename(self.path + ".new", self.path)

    def read(self):
        with self.edit() as state:
            return state


# Tasks, in both forms of a UPID.


def escape_id(text):
    """As systemd escapes a unit's name: what a backup server does with a task's id."""
    out = ""
    for i, byte in enumerate(text.encode()):
        char = chr(byte)
        if char == "/":
            out += "-"
        elif (char == "." and i == 0) or not re.fullmatch(r"[A-Za-z0-9_.]", char):
            out += "\\x%02x" % byte
        else:
            out += char
    return out


def unescape_id(text):
    text = re.sub(r"\\x([0-9a-fA-F]{2})|-", lambda m: chr(int(m[1], 16)) if m[1] else "/", text)
    return text.encode("latin-1").decode()


PBS_UPID = re.compile(
    r"UPID:([a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?):([0-9A-Fa-f]{8}):([0-9A-Fa-f]{8,9}):"
    r"([0-9A-Fa-f]{8,16}):([0-9A-Fa-f]{8}):([^:\s]+):([^:\s]*):([^:\s]+):"
)
PVE_UPID = re.compile(
    r"UPID:([a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?):([0-9A-Fa-f]{8}):([0-9A-Fa-f]{8,9}):"
    r"([0-9A-Fa-f]{8}):([^:\s]+):([^:\s]*):([^:\s]+):"
)


def upid_parts(upid):
    """node, pid, pstart, starttime, type, id, user; None if it is no UPID of either."""
    match = PBS_UPID.fullmatch(upid)
    if match:
        node, pid, pstart, _, start, kind, ident, user = match.groups()
        ident = unescape_id(ident)
    else:
        match = PVE_UPID.fullmatch(upid)
        if not match:
            return None
        node, pid, pstart, start, kind, ident, user = match.groups()
    return {
        "node": node,
        "pid": int(pid, 16),
        "pstart": int(pstart, 16),
        "starttime": int(start, 16),
        "type": kind,
        "id": ident,
        "user": user,
    }


def add_task(state, kind, ident="", user=None, node=None, seconds=None, lines=(), start=None):
    """A running task; with `seconds` it ends well after them. Of a backup server if the state has
    datastores, else of a cluster's `node`."""
    number = state["task_number"] = state.get("task_number", 0) + 1
    start = int(time.time()) if start is None else int(start)
    pbs = "datastores" in state
    head = "%08X:%08X:" % (0x1000 + number, 0x10000 + number)
    if pbs:
        head += "%08X:" % number
    upid = "UPID:%s:%s%08X:%s:%s:%s:" % (
        node or ("pbs" if pbs else "pve1"),
        head,
        start,
        kind,
        escape_id(ident) if pbs else ident,
        user or ("root@pam!t" if pbs else "root@pam"),
    )
    task = {"upid": upid, "log": list(lines)}
    if seconds is not None:
        task["ends_at"] = start + seconds
    state["tasks"].append(task)
    return upid


def find_task(state, upid):
    return next((task for task in state["tasks"] if task["upid"] == upid), None)


def finish_task(state, upid, status="OK"):
    task = find_task(state, upid)
    if task and "endtime" not in task:
        task.update(endtime=int(time.time()), status=status)
        task["log"].append("TASK OK" if status == "OK" else "TASK ERROR: " + status)


def end_tasks(state):
    now = time.time()
    for task in state["tasks"]:
        if "endtime" not in task and task.get("ends_at", now + 1) <= now:
            finish_task(state, task["upid"])


# Requests.


class ApiError(Exception):
    def __init__(self, status, text, errors=None):
        super().__init__(text)
        self.status, self.text, self.errors = status, text, errors


class Request:
    def __init__(self, handler, state, method, path, params, token):
        self.handler, self.state, self.method = handler, state, method
        self.path, self.params, self.token = path, params, token
        self.extra = {}  # what stands in the envelope beside `data`

    def privs(self, path):
        """Those of the longest path above the object that the token has a word on."""
        privs = self.state["tokens"].get(self.token, {}).get("privs", {})
        while path not in privs and path != "/":
            path = path.rsplit("/", 1)[0] or "/"
        return privs.get(path, [])

    def may(self, path, priv):
        return priv in self.privs(path)

    def one(self, name, default=None):
        values = self.params.get(name)
        return values[-1] if values else default


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "fake", ""

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        pass

    def setup(self):
        super().setup()
        self.connection.settimeout(60)

    def reply(self, status, body, reason=None, fault=None):
        data, fault = body.encode(), fault or {}
        self.send_response(status, reason)
        self.send_header("Content-Type", "application/json;charset=UTF-8")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Connection", "close")
        self.end_headers()
        if "cut" in fault:
            data = data[: fault["cut"]]
        step = 1 if "drip" in fault else len(data) or 1
        for at in range(0, len(data), step):
            self.wfile.write(data[at : at + step])
            self.wfile.flush()
            time.sleep(fault.get("drip", 0))
        self.close_connection = True

    def take_params(self, query):
        length = int(self.headers.get("Content-Length") or 0)
        form = self.rfile.read(length).decode() if length else ""
        kind = (self.headers.get("Content-Type") or "").split(";")[0]
        if kind == "application/json":
            asked = json.loads(form) if form else {}
            params = {
                name: [str(v) for v in value] if isinstance(value, list) else [str(value)]
                for name, value in asked.items()
            }
        elif form and kind != "application/x-www-form-urlencoded":
            raise ApiError(400, "unsupported content type %r" % kind)
        else:
            params = urllib.parse.parse_qs(form, keep_blank_values=True, strict_parsing=bool(form))
        for name, values in urllib.parse.parse_qs(query, keep_blank_values=True).items():
            params.setdefault(name, []).extend(values)
        return params, form

    def handle_call(self):
        url = urllib.parse.urlsplit(self.path)
        api, entry = self.server.api, {"time": time.time(), "method": self.command}
        token = api.token_id(self.headers.get("Authorization"))
        entry.update(path=url.path, query=url.query, token=token)
        params, status, reason, fault = {}, 0, None, {}
        try:
            params, entry["form"] = self.take_params(url.query)
            fault = self.server.take_fault("%s %s" % (self.command, url.path))
            time.sleep(fault.get("delay", 0))
            if "hang" in fault or "close" in fault:
                time.sleep(fault.get("hang", 0))
                self.close_connection = True
                return
            if "status" in fault:
                status, body = fault["status"], fault.get("body", "")
                reason = fault.get("reason")
            else:
                status, body = 200, self.answer(url, params, token)
        except ApiError as error:
            status = error.status
            with_state = self.server.state.read()
            if status == 401:
                time.sleep(with_state.get("unauthorized_delay", 0))
            body, reason = api.error_body(error, with_state)
        finally:
            entry["status"] = status
            self.server.note(entry)
        self.reply(status, body, reason, fault)

    def answer(self, url, params, token):
        api = self.server.api
        if not url.path.startswith(PREFIX + "/"):
            raise api.no_such_path(url.path)
        path = urllib.parse.unquote(url.path[len(PREFIX) :])
        parts = [urllib.parse.unquote(part) for part in url.path[len(PREFIX) + 1 :].split("/")]
        with self.server.state.edit() as state:
            api.authenticate(state, self.headers.get("Authorization"))
            for method, pattern, call in api.routes:
                named = match_path(pattern, parts)
                if method == self.command and named is not None:
                    request = Request(self, state, self.command, path, params, token)
                    data = call(request, **named)
                    return json.dumps({"data": data, **request.extra})
        raise api.no_such_path(path)

    do_GET = do_POST = do_PUT = do_DELETE = handle_call


def match_path(pattern, parts):
    """"/nodes/{node}/tasks" against the path's parts: what is named, or None."""
    wanted = pattern.strip("/").split("/")
    if len(wanted) != len(parts):
        return None
    named = {}
    for want, part in zip(wanted, parts):
        if want.startswith("{"):
            named[want[1:-1]] = part
        elif want != part:
            return None
    return named


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, address, folder, cert, key, api):
        self.state, self.api = State(folder), api
        self.folder, self.log_lock = folder, threading.Lock()
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(cert, key)
        super().__init__(address, Handler)

    def server_bind(self):
        # Not HTTPServer's: it asks the resolver for a name.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]

    def finish_request(self, request, client_address):
        """In the connection's own thread: a client that never speaks TLS stops nobody."""
        request.settimeout(60)
        try:
            request = self.tls.wrap_socket(request, server_side=True)
        except OSError as error:
            self.note({"time": time.time(), "tls": str(error)})
            return
        self.RequestHandlerClass(request, client_address, self)
        request.close()

    def handle_error(self, request, client_address):
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            super().handle_error(request, client_address)

    def note(self, entry):
        with self.log_lock:
            path = os.path.join(self.folder, "log")
            with open(path, "a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")

    def take_fault(self, what):
        with self.state.edit() as state:
            for fault in state["faults"]:
                if not re.search(fault["match"], what):
                    continue
                found = dict(fault)
                if "times" in fault:
                    fault["times"] -= 1
                    if fault["times"] <= 0:
                        state["faults"].remove(fault)
                return found
        return {}


def program(make_api, more=None):
    """The main of pbs.py and pve.py."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--state", required=True, help="the folder with state.json")
    parser.add_argument("--listen", required=True, help="HOST:PORT; port 0 takes any")
    parser.add_argument("--cert", required=True, help="PEM; --key: its key, if not in it")
    parser.add_argument("--key")
    if more:
        more(parser)
    args = parser.parse_args()
    host, _, port = args.listen.rpartition(":")
    api = make_api(args)
    server = Server((host.strip("[]"), int(port)), args.state, args.cert, args.key, api)
    api.server = server
    first = ["%d api" % server.server_port]
    api.start(first)
    server.serve_forever(poll_interval=0.2)


def edit_program(folder, code):
    tree = ast.parse(code)
    with State(folder).edit() as state:
        names = {
            "state": state,
            "time": time.time,
            "task": lambda *args, **more: add_task(state, *args, **more),
            "finish": lambda *args: finish_task(state, *args),
            "log": lambda upid, *lines: find_task(state, upid)["log"].extend(lines),
            "fault": lambda match, **what: state["faults"].append({"match": match, **what}),
        }
        if len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr):
            value = eval(compile(code, "CODE", "eval"), names)  # pylint: disable=eval-used
            if value is not None:
                print(value if isinstance(value, str) else json.dumps(value))
        else:
            exec(compile(code, "CODE", "exec"), names)  # pylint: disable=exec-used


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    edit_program(sys.argv[1], sys.argv[2])
