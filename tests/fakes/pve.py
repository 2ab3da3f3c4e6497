#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A cluster's API, as strict as the real one.

    pve.py --state DIR --listen HOST:PORT --cert PEM [--key PEM]

DIR/state.json is what proxmox.py says, and

    "nodes": {"pve1": {}, "pve2": {"online": false}}       the answer for one that is offline is 595
    "jobs": {"nightly": {"storage": "nas", "schedule": "21:00", "guests": [100, 101], ...}}
    "guests": {"100": {"type": "qemu", "node": "pve1", "name": "web", "volumes": {"scsi0": 10737418240}}}
    "storages": {"nas": {"type": "nfs", "server": "10.0.0.9", "export": "/volume1/b", "content": [
                  {"volid": "nas:backup/...", "vmid": 100, "ctime": N, "size": N}]}}

Sources: pve-manager PVE/API2/{Tasks,Cluster,Backup}.pm, pve-storage PVE/API2/Storage/Content.pm,
pve-http-server. Errors are {"data": null, "message": ..., "errors": {...}}, and their text also stands in
the status line.
"""

import hmac
import json
import os
import re
import urllib.parse

import proxmox
import stream
from proxmox import ApiError

BAD_PARAMETER = "Parameter verification failed."


def verify(errors):
    if errors:
        raise ApiError(400, BAD_PARAMETER, errors)


def known_only(request, *names):
    why = "property is not defined in schema and the schema does not allow additional properties"
    verify({name: why for name in request.params if name not in names})


class Pve:
    def __init__(self, folder):
        self.server, self.folder = None, folder
        self.routes = [
            ("GET", "/version", self.version),
            ("GET", "/access/permissions", self.permissions),
            ("GET", "/cluster/tasks", self.cluster_tasks),
            ("GET", "/cluster/backup", self.jobs),
            ("GET", "/cluster/backup/{job}", self.job),
            ("GET", "/cluster/backup/{job}/included_volumes", self.included),
            ("GET", "/cluster/resources", self.resources),
            ("GET", "/storage", self.storages),
            ("GET", "/nodes/{node}/tasks", self.node_tasks),
            ("DELETE", "/nodes/{node}/tasks/{upid}", self.task_stop),
            ("GET", "/nodes/{node}/tasks/{upid}/status", self.task_status),
            ("GET", "/nodes/{node}/tasks/{upid}/log", self.task_log),
            ("GET", "/nodes/{node}/storage/{storage}/content", self.content),
        ]

    def start(self, ready):
        stream.write_ready(os.path.join(self.folder, "ready"), [], ready)

    # Who asks, what is refused.

    @staticmethod
    def credentials(header):
        match = re.match(r"PVEAPIToken[ =]([^;]*)", header or "")
        value = urllib.parse.unquote(match[1]) if match else ""
        token, is_one, secret = value.partition("=")
        return (token, secret) if is_one else (None, None)

    def token_id(self, header):
        return self.credentials(header)[0]

    def authenticate(self, state, header):
        token, secret = self.credentials(header)
        if token is None:
            raise ApiError(401, "No ticket")
        right = state["tokens"].get(token, {}).get("secret")
        if right is None:
            user, _, name = token.partition("!")
            raise ApiError(401, "no such token '%s' for user '%s'" % (name, user))
        if not hmac.compare_digest(right.encode(), secret.encode()):
            raise ApiError(401, "invalid token value!")

    @staticmethod
    def error_body(error, state):
        body = {"data": None}
        if 595 <= error.status <= 599:
            return "", error.text
        if error.errors:
            body["errors"] = error.errors
        if state.get("message_in_body", True):
            body["message"] = error.text + "\n"
        return json.dumps(body), error.text.replace("\n", " ")

    @staticmethod
    def no_such_path(path):
        return ApiError(501, "Method 'GET %s' not implemented" % path)

    @staticmethod
    def need(request, path, priv):
        if not request.may(path, priv):
            raise ApiError(403, "Permission check failed (%s, %s)" % (path, priv))

    @staticmethod
    def node_ok(request, node):
        nodes = request.state.get("nodes", {"pve1": {}})
        if node not in nodes:
            raise ApiError(500, "hostname lookup '%s' failed - failed to get address info" % node)
        if not nodes[node].get("online", True):
            raise ApiError(595, "No route to host")

    @staticmethod
    def version(_request):
        return {"version": "9.2.11", "release": "9.2", "repoid": "fake"}

    @staticmethod
    def permissions(request):
        """What the token that asks has on one path."""
        known_only(request, "path", "userid")
        path = request.one("path", "/")
        return {path: {priv: 1 for priv in request.privs(path)}}

    # Tasks.

    @staticmethod
    def owns(request, parts):
        return parts["user"] == request.token

    @staticmethod
    def task_row(task):
        row = {"upid": task["upid"], **proxmox.upid_parts(task["upid"])}
        if "endtime" in task:
            row.update(endtime=task["endtime"], status=task["status"])
        return row

    def cluster_tasks(self, request):
        known_only(request)
        every, rows = request.may("/", "Sys.Audit"), []
        for task in reversed(request.state["tasks"]):
            row = self.task_row(task)
            if every or self.owns(request, row):
                if "endtime" in row:
                    row["saved"] = "1"
                rows.append(row)
        return rows

    def node_tasks(self, request, node):
        known_only(
            request, "start", "limit", "userfilter", "typefilter", "vmid", "errors", "source",
            "since", "until", "statusfilter",
        )
        self.node_ok(request, node)
        source = request.one("source", "archive")
        if source not in ("archive", "active", "all"):
            verify({"source": "value '%s' does not have a value in the enumeration" % source})
        every, rows = request.may("/nodes/" + node, "Sys.Audit"), []
        for task in reversed(request.state["tasks"]):
            row = self.task_row(task)
            if row["node"] != node or not (every or self.owns(request, row)):
                continue
            if request.one("typefilter", row["type"]) != row["type"]:
                continue
            runs = "endtime" not in row
            if source != "all" and runs != (source == "active"):
                continue
            if runs:
                row["status"] = "RUNNING"
            rows.append(row)
        start, limit = int(request.one("start", "0")), int(request.one("limit", "50"))
        request.extra["total"] = len(rows)
        return rows[start : start + limit]

    def task_of(self, request, node, upid, priv):
        self.node_ok(request, node)
        parts = proxmox.upid_parts(upid)
        if not parts or proxmox.PBS_UPID.fullmatch(upid):
            verify({"upid": "unable to parse worker upid"})
        if not self.owns(request, parts):
            self.need(request, "/nodes/" + node, priv)
        task = proxmox.find_task(request.state, upid)
        if not task:
            verify({"upid": "no such task"})
        return task

    def task_stop(self, request, node, upid):
        known_only(request)
        self.task_of(request, node, upid, "Sys.Modify")
        proxmox.finish_task(request.state, upid, "interrupted by signal")

    def task_status(self, request, node, upid):
        known_only(request)
        task = self.task_of(request, node, upid, "Sys.Audit")
        row = self.task_row(task)
        row.pop("endtime", None)
        exit_status = row.pop("status", None)
        row["status"] = "stopped" if "endtime" in task else "running"
        if "endtime" in task:
            row["exitstatus"] = exit_status
        return row

    def task_log(self, request, node, upid):
        known_only(request, "start", "limit", "download")
        task = self.task_of(request, node, upid, "Sys.Audit")
        start, limit = int(request.one("start", "0")), int(request.one("limit", "50"))
        rows = [{"n": i + 1, "t": line} for i, line in enumerate(task["log"])]
        request.extra["total"] = max(1, len(rows))
        return rows[start : start + limit] if rows else [{"n": 1, "t": "no content"}]

    # Jobs, guests, storages.

    def jobs(self, request):
        known_only(request)
        self.need(request, "/", "Sys.Audit")
        return [self.job_row(*pair) for pair in request.state.get("jobs", {}).items()]

    @staticmethod
    def job_row(name, job):
        row = {"id": name, "type": "vzdump", "enabled": 1, "mode": "snapshot", **job}
        guests = row.pop("guests", None)
        if guests is not None:
            row["vmid"] = ",".join(str(vmid) for vmid in guests)
        return row

    def job_of(self, request, job):
        known_only(request)
        self.need(request, "/", "Sys.Audit")
        jobs = request.state.get("jobs", {})
        if job not in jobs:
            verify({"id": "No such job '%s'" % job})
        return jobs[job]

    def job(self, request, job):
        return self.job_row(job, self.job_of(request, job))

    def included(self, request, job):
        rows, guests = [], request.state.get("guests", {})
        for vmid in self.job_of(request, job).get("guests", sorted(map(int, guests))):
            guest = guests.get(str(vmid))
            if not guest:
                rows.append({"id": vmid, "type": "unknown", "leaf": 1})
                continue
            volumes = [
                {
                    "id": disk,
                    "name": "local-lvm:vm-%s-%s" % (vmid, disk),
                    "included": True,
                    "reason": "enabled",
                    "leaf": 1,
                }
                for disk in guest.get("volumes", {})
            ]
            rows.append({
                "id": int(vmid),
                "name": guest.get("name", "g%s" % vmid),
                "type": guest["type"],
                "children": volumes,
            })
        return {"leaf": 0, "children": rows}

    @staticmethod
    def resources(request):
        known_only(request, "type")
        kind = request.one("type", "vm")
        if kind not in ("vm", "storage", "node", "sdn"):
            verify({"type": "value '%s' does not have a value in the enumeration" % kind})
        if kind != "vm":
            return []
        return [
            {
                "id": "%s/%s" % (guest["type"], vmid),
                "vmid": int(vmid),
                "type": guest["type"],
                "node": guest["node"],
                "name": guest.get("name", "g" + vmid),
                "status": "running",
                "maxdisk": sum(guest.get("volumes", {}).values()),
            }
            for vmid, guest in request.state.get("guests", {}).items()
            if request.may("/vms/" + vmid, "VM.Audit")
        ]

    @staticmethod
    def sees(request, storage):
        privs = request.privs("/storage/" + storage)
        return "Datastore.Audit" in privs or "Datastore.AllocateSpace" in privs

    def storages(self, request):
        known_only(request, "type")
        return [
            {"storage": name, **{key: v for key, v in config.items() if key != "content"}}
            for name, config in request.state.get("storages", {}).items()
            if self.sees(request, name) and request.one("type", config["type"]) == config["type"]
        ]

    def content(self, request, node, storage):
        known_only(request, "content", "vmid")
        self.node_ok(request, node)
        path = "/storage/" + storage
        if not self.sees(request, storage):
            raise ApiError(
                403,
                "Permission check failed (%s, Datastore.Audit|Datastore.AllocateSpace)" % path,
            )
        storages = request.state.get("storages", {})
        if storage not in storages:
            raise ApiError(500, "storage '%s' does not exist" % storage)
        allocate = request.may(path, "Datastore.Allocate")
        space = request.may(path, "Datastore.AllocateSpace")
        rows = []
        for row in storages[storage].get("content", []):
            # Datastore.Audit alone shows none of them, and says nothing of it.
            backs_up = request.may("/vms/%s" % row.get("vmid"), "VM.Backup")
            if not allocate and not (space and backs_up):
                continue
            if request.one("vmid", str(row.get("vmid"))) == str(row.get("vmid")):
                rows.append({"content": "backup", "format": "vma.zst", **row})
        return rows


if __name__ == "__main__":
    proxmox.program(lambda args: Pve(args.state))
