#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The data path of a backup server: a listener that passes streams on, shaped by traffic-control rules.

stream.py --rules FILE --stream [HOST:]PORT:DESTHOST:DESTPORT[:USER] [--stream ...] [--ready FILE]

FILE is JSON with "rules" ({NAME: {"network": [...], "rate-in": "50 MB", "timeframe": [...], "users":
[...]}}), "utc_offset" (seconds that the server's local time is ahead of UTC) and "lookup_seconds" (a
connection looks its rule up again after so many; 5); pbs.py's state.json is such a file. It may change at any time. USER is whose connections those to that port are. Port 0 takes
any; FILE of --ready gets one "PORT DESTHOST:DESTPORT" a line.

What it does as proxmox-backup-proxy does (src/traffic_control_cache.rs, proxmox-rate-limiter,
proxmox-http rate_limited_stream.rs): one rule for each connection (those for its user first, then the
longest prefix), one token bucket for each rule and direction, shared by its connections; the bucket
starts used up and its size is the burst, by default the rate; a connection looks its rule up again
when 5 s have passed since it last did, before it reads; the rules are loaded again when they changed and
somebody looks, which also changes the buckets' rates; a sleep that was computed runs out first; below
10 ms there is none; a rate of 0 is unlimited.
"""

import argparse
import ipaddress
import json
import os
import re
import socket
import sys
import threading
import time

LOOKUP_AGAIN_S = 5
MIN_DELAY_S = 0.010
RELOAD_S = 60
# A TLS record is what the real one reads at a time; more at once where that costs no exactness.
READ_LEAST, READ_MOST = 16 << 10, 256 << 10
SOCKET_BUFFER = 256 << 10

UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
UNITS_BINARY = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40, "P": 2**50}
DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
DAY_NAMES = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]


def human_bytes(text):
    """"1.5 MiB", "1000", "2kb" as (number, unit as it is printed); ValueError if it is none."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kKmMgGtTpP]?)(i?)[bB]?", text)
    if not match or (match[3] and not match[2]):
        raise ValueError("byte-size parse error for '%s': invalid float literal" % text)
    return float(match[1]), match[2].upper() + ("i" if match[3] else "") + "B"


def human_value(text):
    number, unit = human_bytes(text)
    if unit.endswith("iB"):
        return int(number * UNITS_BINARY[unit[0]])
    return int(number * UNITS[unit[:-1]])


def human_print(text):
    """As it is stored and printed again."""
    number, unit = human_bytes(text)
    shown = ("%.3f" % number).rstrip("0").rstrip(".")
    return "%s %s" % (shown, unit)


def day_number(text):
    text = text.lower()
    if text in DAYS:
        return DAYS.index(text)
    if text in DAY_NAMES:
        return DAY_NAMES.index(text)
    raise ValueError("unable to parse daily duration at '%s' - weekday" % text)


def parse_timeframe(text):
    """(days, start minute, end minute); ValueError if it is none."""
    match = re.fullmatch(
        r"(?:([A-Za-z][A-Za-z.,]*)\s*)?(\d+)(?::(\d+))?\s*-\s*(\d+)(?::(\d+))?", text
    )
    if not match:
        raise ValueError("unable to parse daily duration")
    days = set()
    for part in (match[1] or "").split(",") if match[1] else []:
        first, _, last = part.partition("..")
        start = day_number(first)
        end = day_number(last) if last else start
        if end < start:
            raise ValueError("unable to parse daily duration at '%s' - wrong order" % part)
        days.update(range(start, end + 1))
    hours = [int(match[2]), int(match[4])]
    minutes = [int(match[3] or 0), int(match[5] or 0)]
    if max(hours) > 23 or max(minutes) > 59:
        raise ValueError("unable to parse daily duration - time value too large")
    start, end = (hour * 60 + minute for hour, minute in zip(hours, minutes))
    if start > end:
        raise ValueError("unable to parse daily duration - end time before start time")
    return days, start, end


def in_timeframe(frames, local_s):
    if not frames:
        return True
    minute, day = local_s // 60 % 1440, (local_s // 86400 + 3) % 7
    return any(
        (not days or day in days) and start <= minute < end for days, start, end in frames
    )


class Bucket:
    def __init__(self, rate, size):
        self.lock = threading.Lock()
        self.rate, self.size = rate, size
        self.traffic, self.used, self.at = 0, size, time.monotonic()

    def update(self, rate, size):
        with self.lock:
            self.rate = rate
            if size < self.size and self.used > size:
                self.used = size
            self.size = size

    def register(self, count):
        """Seconds to wait after `count` bytes."""
        with self.lock:
            now = time.monotonic()
            self.used = max(0, self.used - int((now - self.at) * self.rate))
            self.at = now
            self.traffic += count
            self.used += count
            if self.rate == 0 or self.used <= self.size:
                return 0
            return (self.used - self.size) / self.rate


class Rule:
    def __init__(self, name, config):
        self.name = name
        self.networks = [ipaddress.ip_interface(net).network for net in config["network"]]
        self.timeframes = [parse_timeframe(text) for text in config.get("timeframe") or []]
        self.users = config.get("users")

    def prefix(self, address):
        fits = [net.prefixlen for net in self.networks if address in net]
        return max(fits) if fits else None


class Rules:
    """The rules as the streams see them, and the buckets."""

    def __init__(self, path):
        self.path = path
        self.lock = threading.Lock()
        self.rules, self.buckets, self.rates = [], {}, {}
        self.seen, self.text, self.loaded = None, None, 0
        self.offset, self.again = 0, LOOKUP_AGAIN_S
        self.counted = time.monotonic()

    def reload(self):
        try:
            stat = os.stat(self.path)
            seen = (stat.st_mtime_ns, stat.st_ino, stat.st_size)
            if seen == self.seen and time.monotonic() - self.loaded < RELOAD_S:
                return
            with open(self.path, encoding="utf-8") as file:
                state = json.load(file)
        except (OSError, ValueError):
            return
        self.seen, self.loaded = seen, time.monotonic()
        self.offset = state.get("utc_offset", 0)
        self.again = state.get("lookup_seconds", LOOKUP_AGAIN_S)
        rules = state.get("rules", {})
        text = json.dumps(rules, sort_keys=True)
        if text == self.text:
            return
        self.text = text
        try:
            self.take(rules)
        except (KeyError, ValueError) as error:
            print("stream: rules not loaded: %s" % error, file=sys.stderr, flush=True)

    def take(self, rules):
        self.buckets = {name: self.buckets.get(name, {}) for name in rules}
        self.rules = []
        for name, config in rules.items():
            for way in "in", "out":
                rate = config.get("rate-" + way)
                if rate is None:
                    self.buckets[name].pop(way, None)
                    continue
                rate, burst = human_value(str(rate)), config.get("burst-" + way)
                size = human_value(str(burst)) if burst is not None else rate
                if way in self.buckets[name]:
                    self.buckets[name][way].update(rate, size)
                else:
                    self.buckets[name][way] = Bucket(rate, size)
            self.rules.append(Rule(name, config))

    def lookup(self, address, user):
        """The buckets for a connection, in and out, and the rule's name."""
        address = ipaddress.ip_address(address)
        if address.version == 6 and address.ipv4_mapped:
            address = address.ipv4_mapped
        with self.lock:
            self.reload()
            local, best, key = int(time.time()) + self.offset, None, None
            for rule in self.rules:
                if not in_timeframe(rule.timeframes, local):
                    continue
                if rule.users is not None and (user is None or user not in rule.users):
                    continue
                prefix = rule.prefix(address)
                if prefix is None:
                    continue
                this = (rule.users is not None, prefix)
                if key is None or this > key:
                    best, key = rule, this
            if not best:
                return None, None, ""
            pair = self.buckets[best.name]
            return pair.get("in"), pair.get("out"), best.name

    def count(self):
        """Once a second: what passes through each rule now."""
        with self.lock:
            now = time.monotonic()
            elapsed = now - self.counted
            if elapsed < 0.2:
                return
            rates = {}
            for name, pair in self.buckets.items():
                rates[name] = {}
                for way in "in", "out":
                    traffic = pair[way].traffic if way in pair else 0
                    before = self.rates.get(name, {}).get(way, (traffic, 0))[0]
                    rates[name][way] = (traffic, int(max(0, traffic - before) / elapsed))
            self.rates, self.counted = rates, now

    def current(self, name):
        with self.lock:
            rates = self.rates.get(name, {})
            return tuple(rates.get(way, (0, 0))[1] for way in ("in", "out"))

    def count_always(self):
        while True:
            time.sleep(1)
            self.count()


class Half:
    """One direction of one connection."""

    def __init__(self, rules, source, sink, way, address, user):
        self.rules, self.source, self.sink = rules, source, sink
        self.way, self.address, self.user = way, address, user
        self.bucket, self.looked = None, 0

    def look(self):
        self.looked = time.monotonic()
        self.bucket = self.rules.lookup(self.address, self.user)[self.way]

    def run(self):
        buffer = memoryview(bytearray(READ_MOST))
        self.look()
        try:
            while True:
                if time.monotonic() - self.looked >= self.rules.again:
                    self.look()
                bucket, most = self.bucket, READ_MOST
                if bucket and bucket.rate:
                    most = min(READ_MOST, max(READ_LEAST, bucket.rate // 64))
                count = self.source.recv_into(buffer, most)
                if not count:
                    break
                delay = bucket.register(count) if bucket else 0
                self.sink.sendall(buffer[:count])
                if delay >= MIN_DELAY_S:
                    time.sleep(delay)
            self.sink.shutdown(socket.SHUT_WR)
        except OSError:
            for end in self.source, self.sink:
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass


class Listener:
    """`started(close)` is told of each stream and answers what is called when it has ended."""

    def __init__(self, rules, spec, started=None):
        parts = spec.split(":")
        self.host = "127.0.0.1"
        if len(parts) > 3 and not parts[0].isdigit():
            self.host = parts.pop(0)
        if len(parts) not in (3, 4):
            raise ValueError("'%s' is not [HOST:]PORT:DESTHOST:DESTPORT[:USER]" % spec)
        self.dest = (parts[1], int(parts[2]))
        self.user = parts[3] if len(parts) == 4 else None
        self.rules, self.started = rules, started
        self.socket = socket.create_server((self.host, int(parts[0])), backlog=16)
        # What lies in a socket is neither at the client nor on disk: little of it.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SOCKET_BUFFER)
        self.port = self.socket.getsockname()[1]

    def start(self):
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, address = self.socket.accept()
            args = (client, address[0])
            threading.Thread(target=self.serve, args=args, daemon=True).start()

    def serve(self, client, address):
        ended = None
        try:
            dest = socket.create_connection(self.dest, timeout=10)
        except OSError as error:
            print("stream: %s:%d: %s" % (*self.dest, error), file=sys.stderr, flush=True)
            client.close()
            return
        dest.settimeout(None)
        dest.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SOCKET_BUFFER)

        def close():
            for end in client, dest:
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

        if self.started:
            ended = self.started(close)
        back = Half(self.rules, dest, client, 1, address, self.user)
        thread = threading.Thread(target=back.run, daemon=True)
        thread.start()
        Half(self.rules, client, dest, 0, address, self.user).run()
        thread.join()
        client.close()
        dest.close()
        if ended:
            ended()


def write_ready(path, listeners, first=()):
    lines = list(first)
    lines += ["%d %s:%d" % (entry.port, *entry.dest) for entry in listeners]
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    os.rename(path + ".new", path)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--rules", required=True)
    parser.add_argument("--stream", action="append", required=True)
    parser.add_argument("--ready")
    args = parser.parse_args()
    rules = Rules(args.rules)
    listeners = [Listener(rules, spec) for spec in args.stream]
    for listener in listeners:
        listener.start()
    if args.ready:
        write_ready(args.ready, listeners)
    rules.count_always()


if __name__ == "__main__":
    main()
