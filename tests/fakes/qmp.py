#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A QMP server as QEMU is one, with the block jobs of a backup: for the keeper's tests.

qmp.py serve SOCKET DIR     until it is killed
qmp.py ask SOCKET COMMAND.. one client that sends commands (JSON without id) and prints what is returned, a line each
qmp.py hold SOCKET SECONDS  a client that is served for so long, as another program on the node might be

What is imitated (QEMU 8 to 11: monitor/qmp.c, blockdev.c, blockjob.c, job.c; Proxmox's pve-backup.c): a greeting, then
capabilities before any other command; one client at a time, one more in the backlog, the others get EAGAIN; an answer for
each command with its id; events between them; errors with class and desc; verbs by a job's state; jobs of a backup that
run one after another: created, running or paused, waiting until the last one is done, then all gone.

DIR/script is JSON:
    jobs      [{"device", "len", "speed", "pace"}]: bytes, bytes/s (0 unlimited), bytes/s undisturbed
    others    jobs that are no backup's, listed as they are
    fleecing  the graph has a snapshot-access node
    refuse    commands that are refused with a GenericError
    together  the jobs run at the same time, not one after another
    mode      "silent", "garbage", "close": what becomes of a client instead of a greeting
DIR/begin: the jobs appear once this file exists. DIR/end: they vanish. DIR/log gets each command as a line of JSON:
{"time", "command", "arguments", "error"}. DIR/jobs has them as they are now. DIR/ready: it listens.
"""

import json
import os
import socket
import sys
import threading
import time

LOCK = threading.Lock()
SETTABLE = ("created", "running", "paused", "ready", "standby")


class Refused(Exception):
    def __init__(self, desc, kind="GenericError"):
        super().__init__(desc)
        self.reply = {"error": {"class": kind, "desc": desc}}


class Job:
    def __init__(self, given):
        self.device = given["device"]
        self.len = given["len"]
        self.speed = given.get("speed", 0)
        self.pace = given.get("pace", 1 << 20)
        self.offset = 0.0
        self.begun = self.done = self.user_paused = False

    def status(self):
        if self.done:
            return "waiting"
        if not self.begun:
            return "created"
        return "paused" if self.user_paused else "running"

    def info(self):
        # A job that has not begun counts as paused: blockjob.c block_job_query(), pause_count.
        return {
            "auto-finalize": True, "io-status": "ok", "device": self.device, "auto-dismiss": True,
            "busy": self.status() == "running", "len": self.len, "offset": int(self.offset),
            "status": self.status(), "paused": self.user_paused or not self.begun,
            "speed": self.speed, "ready": False, "type": "backup",
        }

    def advance(self, seconds):
        if self.status() != "running":
            return
        pace = min(self.pace, self.speed) if self.speed else self.pace
        self.offset = min(self.len, self.offset + pace * seconds)
        self.done = self.offset >= self.len


class Machine:
    def __init__(self, folder):
        self.dir = folder
        self.jobs = []
        self.events = []
        self.began = False
        self.at = time.monotonic()
        self.script = {}

    def has(self, name):
        return os.path.exists(os.path.join(self.dir, name))

    def load(self):
        with open(os.path.join(self.dir, "script"), encoding="utf-8") as file:
            self.script = json.load(file)

    def event(self, name, data):
        stamp = time.time()
        self.events.append({"event": name, "data": data, "timestamp": {
            "seconds": int(stamp), "microseconds": int(stamp % 1 * 1e6)}})

    def begin(self):
        self.began = True
        self.jobs = [Job(given) for given in self.script.get("jobs", [])]
        self.event("JOB_STATUS_CHANGE", {"status": "created", "id": self.jobs[0].device if self.jobs else ""})

    def go_on(self):
        """To be called under the lock, before anything is looked at."""
        now = time.monotonic()
        seconds, self.at = now - self.at, now
        if not self.began and self.has("begin"):
            self.load()
            self.begin()
        for job in self.jobs:
            job.advance(seconds)
        waiting = [job for job in self.jobs if not job.done]
        for job in waiting if self.script.get("together") else waiting[:1]:
            if not job.begun:
                job.begun = True
                self.event("JOB_STATUS_CHANGE", {"status": "running", "id": job.device})
        if self.jobs and (not waiting or self.has("end")):
            for job in self.jobs:
                self.event("BLOCK_JOB_COMPLETED", {
                    "type": "backup", "device": job.device, "len": job.len, "offset": int(job.offset), "speed": job.speed})
            self.jobs = []
        path = os.path.join(self.dir, "jobs")
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump([job.info() for job in self.jobs], file)
        os.rename(path + ".new", path)

    def find(self, arguments, verb):
        if "device" not in arguments:
            raise Refused("Parameter 'device' is missing")
        for job in self.jobs:
            if job.device != arguments["device"]:
                continue
            if job.status() not in SETTABLE:
                raise Refused(f"Job '{job.device}' in state '{job.status()}' cannot accept command verb '{verb}'")
            return job
        raise Refused(f"Block job '{arguments['device']}' not found", "DeviceNotActive")

    def nodes(self):
        drivers = ["file", "raw", "throttle"] + ([] if not self.jobs else ["copy-before-write"])
        if self.script.get("fleecing") and self.jobs:
            drivers += ["qcow2", "snapshot-access"]
        return [{"node-name": f"#block{100 + i}", "drv": drv, "ro": False, "encrypted": False,
                 "image": {"filename": "x" * 300}} for i, drv in enumerate(drivers)]

    def run(self, command, arguments):
        self.load()
        if command in self.script.get("refuse", []):
            raise Refused(f"{command} is not possible now")
        if command == "query-block-jobs":
            return [job.info() for job in self.jobs] + self.script.get("others", [])
        if command == "query-named-block-nodes":
            return self.nodes()
        if command == "block-job-set-speed":
            job = self.find(arguments, "set-speed")
            if not isinstance(arguments.get("speed"), int):
                raise Refused("Invalid parameter type for 'speed', expected: integer")
            if arguments["speed"] < 0:
                raise Refused("Parameter 'speed' expects a non-negative value")
            job.speed = arguments["speed"]
        elif command == "block-job-pause":
            job = self.find(arguments, "pause")
            if job.user_paused:
                raise Refused("Job is already paused")
            job.user_paused = True
        elif command == "block-job-resume":
            job = self.find(arguments, "resume")
            if not job.user_paused:
                raise Refused("Can't resume a job that was not paused")
            job.user_paused = False
        elif command not in ("qmp_capabilities", "query-status"):
            raise Refused(f"The command {command} has not been found", "CommandNotFound")
        return {}


def send(client, value):
    client.sendall((json.dumps(value) + "\r\n").encode())


def answer(machine, state, message):
    command, arguments = message.get("execute"), message.get("arguments", {})
    entry = {"time": time.time(), "command": command, "arguments": arguments}
    with LOCK:
        machine.go_on()
        try:
            if not state["negotiated"] and command != "qmp_capabilities":
                raise Refused("Expecting capabilities negotiation with 'qmp_capabilities'", "CommandNotFound")
            reply = {"return": machine.run(command, arguments)}
            state["negotiated"] = True
        except Refused as refused:
            reply = dict(refused.reply)
            entry["error"] = str(refused)
        machine.go_on()
        with open(os.path.join(machine.dir, "log"), "a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
        events, machine.events = machine.events, []
    if "id" in message:
        reply["id"] = message["id"]
    return events, reply


def serve_client(machine, client):
    with LOCK:
        machine.load()
        machine.events = []
    mode = machine.script.get("mode")
    if mode == "silent":
        while client.recv(4096):
            pass
        return
    if mode == "garbage":
        client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        return
    if mode == "close":
        return
    send(client, {"QMP": {"version": {"qemu": {"micro": 0, "minor": 0, "major": 10}, "package": "pve-qemu-kvm_10.0.2"},
                          "capabilities": []}})
    state = {"negotiated": False}
    for line in client.makefile("r", encoding="utf-8"):
        try:
            message = json.loads(line)
        except ValueError:
            send(client, Refused("JSON parse error, expecting value").reply)
            continue
        events, reply = answer(machine, state, message)
        for event in events:
            send(client, event)
        send(client, reply)


def ticker(machine):
    while True:
        time.sleep(0.02)
        with LOCK:
            machine.go_on()


def serve(path, folder):
    machine = Machine(folder)
    machine.load()
    if os.path.exists(path):
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(1)
    threading.Thread(target=ticker, args=(machine,), daemon=True).start()
    open(os.path.join(folder, "ready"), "w", encoding="utf-8").close()
    while True:
        client, _ = listener.accept()
        with client:
            try:
                serve_client(machine, client)
            except OSError:
                pass


def hold(path, seconds):
    client = socket.socket(socket.AF_UNIX)
    client.connect(path)
    client.recv(4096)
    print("held", flush=True)
    time.sleep(seconds)


def ask(path, commands):
    """As vzdump does: connect, again while another is served, send, leave."""
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(20)
    while True:
        try:
            client.connect(path)
            break
        except BlockingIOError:
            time.sleep(0.05)
    stream = client.makefile("rw", encoding="utf-8")
    stream.readline()
    for command in ['{"execute": "qmp_capabilities"}'] + commands:
        stream.write(command + "\n")
        stream.flush()
        reply = {"event": ""}
        while "event" in reply:
            reply = json.loads(stream.readline())
        if command in commands:
            print(json.dumps(reply.get("return", reply)))
        if "error" in reply:
            sys.exit(1)


if sys.argv[1:2] == ["ask"] and len(sys.argv) > 3:
    ask(sys.argv[2], sys.argv[3:])
elif sys.argv[1:2] == ["serve"] and len(sys.argv) == 4:
    serve(sys.argv[2], sys.argv[3])
elif sys.argv[1:2] == ["hold"] and len(sys.argv) == 4:
    hold(sys.argv[2], float(sys.argv[3]))
else:
    sys.exit(__doc__)
