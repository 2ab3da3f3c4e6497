#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A backup server's API, as strict as the real one, and its data path (stream.py).

    pbs.py --state DIR --listen HOST:PORT --cert PEM [--key PEM]
           [--stream [HOST:]PORT:DESTHOST:DESTPORT[:USER]]...

DIR/state.json is what proxmox.py says, and

    "rules": {NAME: {"network": [...], "rate-in": "50 MB", ...}}      traffic control
    "datastores": {"nas": {"namespaces": {"": [{"backup-type", "backup-id", "last-backup"}], "a/b": []}}}
    "verify_jobs": {"v-1": {"store": "nas"}}
    "gc_seconds", "verify_seconds": how long such a task runs (3600)
    "abort_seconds": how long a task goes on after its DELETE (0)
    "stream_task": {"store": "nas", "user": "backup@pbs!pve1"}: each stream is a running backup task,
                  which ends with it, and whose DELETE ends it

DIR/ready: one line "PORT api", then one "PORT DESTHOST:DESTPORT" for each stream, in their order.

Sources: proxmox-backup src/api2/{config,admin}/traffic_control.rs, src/api2/node/{tasks,time}.rs,
src/api2/admin/{datastore,verify,namespace}.rs, proxmox-rest-server. Errors are plain text.
"""

import hashlib
import hmac
import ipaddress
import json
import os
import re
import threading
import time
import urllib.parse

import proxmox
import stream
from proxmox import ApiError

SAFE_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._\-]*")
RATES = ("rate-in", "rate-out", "burst-in", "burst-out")
LISTS = ("network", "timeframe", "users")
DELETABLE = RATES + ("comment", "timeframe", "users")


def verify(errors):
    if errors:
        text = "".join("parameter '%s': %s\n" % pair for pair in errors)
        raise ApiError(400, "parameter verification errors\n\n" + text)


def check_name(name):
    if len(name) < 3:
        return "value must be at least 3 characters long"
    if len(name) > 32:
        return "value may only be 32 characters long"
    return None if SAFE_ID.fullmatch(name) else "value does not match the regex pattern"


def check_value(name, value):
    """What is wrong with one value of a rule's property, or None."""
    try:
        if name in RATES:
            stream.human_bytes(value)
        elif name == "network":
            if "/" not in value:
                return "value does not match the regex pattern"
            ipaddress.ip_interface(value)
        elif name == "timeframe":
            stream.parse_timeframe(value)
        elif name == "users" and not re.fullmatch(r"[^\s:/\x00-\x1f]+@[A-Za-z0-9._-]+", value):
            return "value does not match the regex pattern"
        elif name == "comment" and re.search(r"[\x00-\x1f\x7f]", value):
            return "value does not match the regex pattern"
    except ValueError as error:
        return str(error)
    return None


def rule_config(params, known):
    """The properties of a rule that are given, checked as its schema does."""
    errors, config = [], {}
    for name, values in params.items():
        if name not in known:
            errors.append((name, "schema does not allow additional properties"))
            continue
        if name in ("name", "digest", "delete"):
            continue
        if name not in LISTS and len(values) > 1:
            errors.append((name, "parameter is not an array"))
        bad = [why for why in (check_value(name, value) for value in values) if why]
        errors += [(name, why) for why in bad[:1]]
        if name in LISTS:
            config[name] = values
        elif not bad:
            config[name] = stream.human_print(values[0]) if name in RATES else values[0]
    return errors, config


class Pbs:
    def __init__(self, specs, folder):
        self.server, self.folder = None, folder
        self.rules = stream.Rules(os.path.join(folder, "state.json"))
        self.streams, self.specs = {}, specs
        self.routes = [
            ("GET", "/version", self.version),
            ("GET", "/access/permissions", self.permissions),
            ("GET", "/admin/traffic-control", self.current),
            ("GET", "/config/traffic-control", self.rules_list),
            ("POST", "/config/traffic-control", self.rule_create),
            ("GET", "/config/traffic-control/{name}", self.rule_get),
            ("PUT", "/config/traffic-control/{name}", self.rule_update),
            ("DELETE", "/config/traffic-control/{name}", self.rule_delete),
            ("GET", "/nodes/{node}/time", self.time),
            ("GET", "/nodes/{node}/tasks", self.tasks),
            ("DELETE", "/nodes/{node}/tasks/{upid}", self.task_stop),
            ("GET", "/nodes/{node}/tasks/{upid}/status", self.task_status),
            ("GET", "/nodes/{node}/tasks/{upid}/log", self.task_log),
            ("GET", "/admin/datastore", self.datastores),
            ("POST", "/admin/datastore/{store}/gc", self.gc_start),
            ("POST", "/admin/datastore/{store}/verify", self.verify_start),
            ("GET", "/admin/datastore/{store}/groups", self.groups),
            ("GET", "/admin/datastore/{store}/namespace", self.namespaces),
            ("POST", "/admin/verify/{job}/run", self.verify_run),
        ]

    def start(self, ready):
        listeners = [stream.Listener(self.rules, spec, self.stream_began) for spec in self.specs]
        for listener in listeners:
            listener.start()
        threading.Thread(target=self.rules.count_always, daemon=True).start()
        stream.write_ready(os.path.join(self.folder, "ready"), listeners, ready)

    # Who asks, what is refused.

    @staticmethod
    def credentials(header):
        match = re.fullmatch(r"PBSAPIToken[ =]([^:]*):(.*)", header or "")
        return (match[1], urllib.parse.unquote(match[2])) if match else (None, None)

    def token_id(self, header):
        return self.credentials(header)[0]

    def authenticate(self, state, header):
        token, secret = self.credentials(header)
        if token is None:
            raise ApiError(401, "authentication failed - no authentication credentials provided.")
        right = state["tokens"].get(token, {}).get("secret")
        if right is None:
            raise ApiError(401, "authentication failed - invalid user or token")
        if not hmac.compare_digest(right.encode(), secret.encode()):
            raise ApiError(401, "authentication failed - invalid api token secret")

    @staticmethod
    def error_body(error, _state):
        return error.text, None

    @staticmethod
    def no_such_path(path):
        return ApiError(404, "Path '%s' not found." % path)

    @staticmethod
    def need(request, path, *privs):
        """What a call's own `access` says: any of these."""
        if not any(request.may(path, priv) for priv in privs):
            raise ApiError(403, "permission check failed")

    @staticmethod
    def node_ok(node):
        if node not in ("localhost", "pbs"):
            verify([("node", "no such node '%s'" % node)])

    # Traffic control.

    @staticmethod
    def digest(state):
        rules = json.dumps(state.get("rules", {}), sort_keys=True)
        return hashlib.sha256(rules.encode()).hexdigest()

    @staticmethod
    def version(_request):
        return {"version": "4.2", "release": "3", "repoid": "fake"}

    @staticmethod
    def permissions(request):
        """What the token that asks has on one path."""
        path = request.one("path", "/")
        return {path: {priv: True for priv in request.privs(path)}}

    def current(self, request):
        self.need(request, "/", "Sys.Audit")
        request.extra["digest"] = self.digest(request.state)
        rows = []
        for name, config in request.state.get("rules", {}).items():
            rate_in, rate_out = self.rules.current(name)
            rows.append({"name": name, **config, "cur-rate-in": rate_in, "cur-rate-out": rate_out})
        return rows

    def rules_list(self, request):
        self.need(request, "/", "Sys.Modify")
        request.extra["digest"] = self.digest(request.state)
        rules = request.state.get("rules", {})
        return [{"name": name, **config} for name, config in rules.items()]

    def rule_create(self, request):
        self.need(request, "/", "Sys.Modify")
        known = ("name", "comment") + RATES + LISTS
        errors, config = rule_config(request.params, known)
        name = request.one("name")
        for needed in ("name", "network"):
            if needed not in request.params:
                errors.append((needed, "parameter is missing and it is not optional."))
        if name is not None and check_name(name):
            errors.append(("name", check_name(name)))
        verify(errors)
        rules = request.state.setdefault("rules", {})
        if name in rules:
            verify([("name", "traffic control rule '%s' already exists." % name)])
        rules[name] = config

    def rule_of(self, request, name):
        verify([("name", why) for why in [check_name(name)] if why])
        rules = request.state.setdefault("rules", {})
        sent = request.one("digest")
        if sent is not None and not re.fullmatch(r"[a-f0-9]{64}", sent):
            verify([("digest", "value does not match the regex pattern")])
        if sent is not None and sent != self.digest(request.state):
            raise ApiError(
                400, "detected modified configuration - file changed by other user? Try again."
            )
        return rules

    def rule_get(self, request, name):
        self.need(request, "/", "Sys.Audit")
        rules = self.rule_of(request, name)
        if name not in rules:
            raise ApiError(400, "no such rule '%s'" % name)
        request.extra["digest"] = self.digest(request.state)
        return {"name": name, **rules[name]}

    def rule_update(self, request, name):
        self.need(request, "/", "Sys.Modify")
        known = ("comment", "delete", "digest") + RATES + LISTS
        errors, config = rule_config(request.params, known)
        for gone in request.params.get("delete", []):
            if gone not in DELETABLE:
                errors.append(("delete", "value '%s' is not defined in the enumeration." % gone))
        verify(errors)
        rules = self.rule_of(request, name)
        if name not in rules:
            raise ApiError(400, "no such rule '%s'" % name)
        for gone in request.params.get("delete", []):
            rules[name].pop(gone, None)
        rules[name].update(config)
        if not rules[name].get("comment", "").strip():
            rules[name].pop("comment", None)

    def rule_delete(self, request, name):
        self.need(request, "/", "Sys.Modify")
        verify([
            (key, "schema does not allow additional properties")
            for key in request.params
            if key != "digest"
        ])
        rules = self.rule_of(request, name)
        if name not in rules:
            raise ApiError(404, "traffic control rule '%s' does not exist." % name)
        del rules[name]

    # The node.

    def time(self, request, node):
        self.node_ok(node)
        now, offset = int(time.time()), request.state.get("utc_offset", 0)
        zone = request.state.get("timezone", "UTC")
        return {"timezone": zone, "time": now, "localtime": now + offset}

    @staticmethod
    def store_of(parts):
        """As check_job_store() does it: readers and tapes are of no store there."""
        kind, ident = parts["type"], parts["id"]
        if kind.startswith("verif"):
            return ident.split(":")[0]
        if kind == "syncjob":
            return (ident.split(":") + ["", "", ""])[2]
        if kind in ("prune", "prunejob", "backup", "garbage_collection"):
            return ident.split(":")[0]
        return None

    @staticmethod
    def owns(request, parts):
        user = parts["user"]
        return user == request.token or user.split("!")[0] == request.token

    def tasks(self, request, node):
        self.node_ok(node)
        known = ("start", "limit", "store", "running", "errors", "userfilter", "since", "until")
        verify([
            (key, "schema does not allow additional properties")
            for key in request.params
            if key not in known + ("typefilter", "statusfilter")
        ])
        every = request.may("/system/tasks", "Sys.Audit")
        running = request.one("running", "0").lower() in ("1", "true", "on", "yes")
        limit, rows = int(request.one("limit", "50")), []
        for task in reversed(request.state["tasks"]):
            parts = proxmox.upid_parts(task["upid"])
            if (running and "endtime" in task) or not (every or self.owns(request, parts)):
                continue
            if request.one("store") is not None and self.store_of(parts) != request.one("store"):
                continue
            if request.one("typefilter", "") not in parts["type"]:
                continue
            rows.append(self.task_row(task, parts))
        start = int(request.one("start", "0"))
        rows = rows[start : start + limit] if limit else rows[start:]
        request.extra["total"] = len(rows) + start
        return rows

    @staticmethod
    def task_row(task, parts):
        row = {
            "upid": task["upid"],
            "node": "localhost",
            "pid": parts["pid"],
            "pstart": parts["pstart"],
            "starttime": parts["starttime"],
            "worker_type": parts["type"],
            "worker_id": parts["id"] or None,
            "user": parts["user"],
        }
        if "endtime" in task:
            row.update(endtime=task["endtime"], status=task["status"])
        return row

    def task_of(self, request, node, upid):
        self.node_ok(node)
        if not proxmox.PBS_UPID.fullmatch(upid):
            verify([("upid", "value does not match the regex pattern")])
        return proxmox.find_task(request.state, upid), proxmox.upid_parts(upid)

    def task_stop(self, request, node, upid):
        task, parts = self.task_of(request, node, upid)
        if request.token != parts["user"] and not request.may("/system/tasks", "Sys.Modify"):
            # A check within the handler: a plain error, thus 400.
            raise ApiError(400, "missing permissions 'Sys.Modify' on '/system/tasks'")
        if task and "endtime" not in task:
            delay = request.state.get("abort_seconds", 0)
            threading.Timer(delay, self.abort, (upid,)).start()

    def abort(self, upid):
        with self.server.state.edit() as state:
            proxmox.finish_task(state, upid, "abort requested - aborting task")
        close = self.streams.pop(upid, None)
        if close:
            close()

    def task_access(self, request, parts):
        if not self.owns(request, parts) and not request.may("/system/tasks", "Sys.Audit"):
            raise ApiError(400, "task access not allowed")

    def task_status(self, request, node, upid):
        task, parts = self.task_of(request, node, upid)
        self.task_access(request, parts)
        user, _, token = parts.pop("user").partition("!")
        row = {"upid": upid, **parts, "user": user}
        if token:
            row["tokenid"] = token
        if task and "endtime" not in task:
            row["status"] = "running"
        else:
            row.update(status="stopped", exitstatus=task["status"] if task else "unknown")
        return row

    def task_log(self, request, node, upid):
        task, parts = self.task_of(request, node, upid)
        self.task_access(request, parts)
        if not task:
            raise ApiError(400, "No such file or directory (os error 2)")
        start, limit = int(request.one("start", "0")), int(request.one("limit", "50"))
        rows = [{"n": i + 1, "t": line} for i, line in enumerate(task["log"]) if i + 1 >= start]
        request.extra.update(total=len(task["log"]), success=1)
        return rows[:limit] if limit else rows

    # Datastores.

    def store(self, request, store, *privs):
        self.need(request, "/datastore/" + store, *privs)
        stores = request.state.get("datastores", {})
        if store not in stores:
            raise ApiError(400, "no such datastore '%s'" % store)
        return stores[store]

    @staticmethod
    def datastores(request):
        stores = request.state.get("datastores", {})
        return [
            {"store": name, "comment": None, "maintenance": None}
            for name in stores
            if any(priv.startswith("Datastore.") for priv in request.privs("/datastore/" + name))
        ]

    @staticmethod
    def starts(request, kind, ident, seconds):
        for task in request.state["tasks"]:
            parts = proxmox.upid_parts(task["upid"])
            if "endtime" not in task and (parts["type"], parts["id"]) == (kind, ident):
                return None
        return proxmox.add_task(
            request.state,
            kind,
            ident,
            user=request.token,
            seconds=seconds,
            lines=["starting %s on %s" % (kind.replace("_", " "), ident)],
        )

    def gc_start(self, request, store):
        self.store(request, store, "Datastore.Modify")
        seconds = request.state.get("gc_seconds", 3600)
        upid = self.starts(request, "garbage_collection", store, seconds)
        if not upid:
            raise ApiError(400, "garbage collection already running")
        return upid

    def verify_start(self, request, store):
        self.store(request, store, "Datastore.Verify")
        return self.starts(
            request, "verify", store, request.state.get("verify_seconds", 3600)
        ) or self.busy("verify")

    @staticmethod
    def busy(what):
        raise ApiError(400, "job '%s' is already running" % what)

    def verify_run(self, request, job):
        jobs = request.state.get("verify_jobs", {})
        if job not in jobs:
            raise ApiError(400, "no such verification '%s'" % job)
        self.need(request, "/datastore/" + jobs[job]["store"], "Datastore.Verify")
        ident = "%s:%s" % (jobs[job]["store"], job)
        seconds = request.state.get("verify_seconds", 3600)
        return self.starts(request, "verificationjob", ident, seconds) or self.busy(job)

    def groups(self, request, store):
        known = self.store(request, store, "Datastore.Audit")["namespaces"]
        ns = request.one("ns", "")
        if ns not in known:
            raise ApiError(400, "namespace not found: %s" % ns)
        return [{"backup-count": 1, "files": [], "owner": "root@pam", **row} for row in known[ns]]

    def namespaces(self, request, store):
        stores = request.state.get("datastores", {})
        if store not in stores:
            raise ApiError(400, "no such datastore '%s'" % store)
        # Those that the caller may see: without the privilege none, and no error.
        if not request.may("/datastore/" + store, "Datastore.Audit"):
            return []
        return [{"ns": name} for name in stores[store]["namespaces"]]

    # The data path.

    def stream_began(self, close):
        with self.server.state.edit() as state:
            what = state.get("stream_task")
            if not what:
                return None
            number = state["stream_number"] = state.get("stream_number", 0) + 1
            ident = "%s:host/stream-%d" % (what["store"], number)
            upid = proxmox.add_task(state, "backup", ident, user=what.get("user"))
        self.streams[upid] = close

        def ended():
            self.streams.pop(upid, None)
            with self.server.state.edit() as state_then:
                proxmox.finish_task(state_then, upid)

        return ended


if __name__ == "__main__":
    proxmox.program(
        lambda args: Pbs(args.stream, args.state),
        lambda parser: parser.add_argument("--stream", action="append", default=[]),
    )
