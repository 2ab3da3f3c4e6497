#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a run of rebuild.sh measured: the table on stdout, the picture as SVG.

usage: curve.py LOG [SVG]

A segment counts from the stream's start until all that it sent is on disk. Its share is the rebuild's pace
over that time, by the done counter, divided by the mean of the idle segments before and after it; the backup's
pace is what it sent over the same time. For the gate what counts is the time from when the share is kept (the
settling is told apart). All paces are MB/s (1e6), the rebuild's for each disk.

Exit status: 0, 1 when an aim is missed, 2 for a log that says nothing.
"""
import bisect
import statistics
import sys

OVER_MS = 60000
PROTECT = 0.80
POINTS_BEYOND = 0.03
FAMILIES = {"steady": "steady limit", "slices": "slices", "lever4": "lever 4, full speed", "gate": "the gate"}


WRITERS = {"buffered": "buffered writer", "direct": "synchronous writer (4 streams)"}


class Samples:
    """The done counter, and what clients wrote, as functions of the NAS's time."""

    def __init__(self):
        self.at, self.done, self.written = [], [], []

    def add(self, ms, done, written):
        # A counter that falls is another rebuild: the sum goes on.
        if self.at:
            last, total = self.last
            step = done - last
            total += step if step >= 0 else 0
        else:
            total = 0
        self.last = (done, total)
        self.at.append(ms)
        self.done.append(total)
        self.written.append(written)

    def value(self, series, ms):
        i = bisect.bisect_left(self.at, ms)
        if i == 0:
            return series[0]
        if i == len(self.at):
            return series[-1]
        a, b = self.at[i - 1], self.at[i]
        return series[i - 1] + (series[i] - series[i - 1]) * (ms - a) / (b - a)

    def pace(self, begin, end):
        """MB/s of each disk."""
        kib = self.value(self.done, end) - self.value(self.done, begin)
        return kib * 1.024 / max(1, end - begin)


class Segment:
    def __init__(self, machine, samples, begin, family, writer, setting):
        self.machine, self.samples, self.begin = machine, samples, begin
        self.family, self.writer, self.setting = family, writer, setting
        self.end, self.bytes = None, 0
        self.idle = self.share = self.moved = None
        self.settle_s = self.missed = None

    def name(self):
        if self.family == "steady":
            return "%.1f MB/s" % (float(self.setting) / 1e6)
        if self.family == "slices":
            return "%s s of %d s" % (self.setting.split("/")[0], sum(map(int, self.setting.split("/"))))
        if self.family == "lever4":
            floor, pages = self.setting.split(":")
            return "floor %s KiB/s, cache %s" % (floor, pages)
        return "protect = %s" % self.setting


def read(path):
    machines, races, conf = {}, [], ("0", "?", "?", "?", "?")
    machine, segment = None, None
    with open(path, encoding="ascii") as file:
        for line in file:
            words = line.split()
            if words[:1] == ["C"]:
                conf = words[1:]
            elif words[:1] == ["R"]:
                races.append((*words[1:4], int(words[4]) / 1000, int(words[5]) / 1000))
            elif words[:1] == ["S"] and len(words) == 4:
                pending.add(*map(int, words[1:]))
            elif words[:1] == ["M"] and words[2] == "machine":
                machine = machines.setdefault(words[3], [])
                pending = Samples()
            elif words[:1] == ["M"] and words[2] == "begin":
                segment = Segment(machine, pending, int(words[1]), *words[3:6])
            elif words[:1] == ["M"] and words[2] == "end":
                segment.end, segment.bytes = int(words[1]), int(words[3])
                machine.append(segment)
    return machines, races, conf


def settle(segment, threshold):
    """From when on each window of OVER_MS keeps the threshold, and the part of those after the first such
    one that misses it."""
    starts = list(range(segment.begin, segment.end - OVER_MS + 1, 1000))
    kept = [segment.samples.pace(s, s + OVER_MS) / segment.idle >= threshold for s in starts]
    first = next((i for i, ok in enumerate(kept) if ok), None)
    if first is None:
        return None, 1.0
    after = kept[first:]
    return (starts[first] - segment.begin) / 1000, after.count(False) / len(after)


def measure(segments):
    """Fills the shares; answers the idle segments' spread (standard deviation over mean)."""
    idles = [s for s in segments if s.family == "idle"]
    paces = [s.samples.pace(s.begin, s.end) for s in idles]
    spread = statistics.pstdev(paces) / statistics.mean(paces) if len(paces) > 1 else 0.0
    for i, s in enumerate(segments):
        if s.family == "idle":
            continue
        before = [x for x in segments[:i] if x.family == "idle"][-1:]
        after = [x for x in segments[i:] if x.family == "idle"][:1]
        s.idle = statistics.mean(x.samples.pace(x.begin, x.end) for x in before + after)
        begin = s.begin
        if s.family == "gate":
            s.settle_s, s.missed = settle(s, PROTECT - POINTS_BEYOND - spread)
            begin += int((s.settle_s or 0) * 1000)
        s.share = s.samples.pace(begin, s.end) / s.idle
        s.moved = moved(s, begin)
    return statistics.mean(paces), spread


def moved(segment, begin):
    """MB/s of the backup from `begin` on: what it sent, less what of it was written before."""
    sent = segment.bytes
    if begin > segment.begin:
        values = segment.samples.written
        sent -= 1024 * (segment.samples.value(values, begin) - segment.samples.value(values, segment.begin))
    return sent / 1000 / max(1, segment.end - begin)


def on_curve(points, share):
    """What a family moves at this share: between its points, from (100 %, nothing) on; beyond its last
    point what that moves, never more. None without points."""
    points = sorted(points, reverse=True)
    if not points:
        return None
    before = (1.0, 0.0)
    for point in points:
        if point[0] <= share:
            if before[0] <= point[0]:
                return max(point[1], before[1])
            part = (before[0] - share) / (before[0] - point[0])
            return before[1] + max(0.0, min(1.0, part)) * (point[1] - before[1])
        if point[1] > before[1]:
            before = point
    return before[1]


class Aims:
    def __init__(self):
        self.missed = 0

    def line(self, kept, text):
        self.missed += not kept
        print("    %s  %s" % ("kept  " if kept else "MISSED", text))


def judge(kind, writer, spread, segments, aims):
    gate = next((s for s in segments if s.family == "gate"), None)
    if not gate:
        return
    points = {family: [(s.share, s.moved) for s in segments if s.family == family] for family in FAMILIES}
    least = PROTECT - POINTS_BEYOND - spread
    aims.line(gate.settle_s is not None and gate.share >= least,
              "share: %.1f %% kept, at least %.1f %% wanted (80, less 3 and the idle spread)" %
              (100 * gate.share, 100 * least))
    steady, slices = (on_curve(points[f], gate.share) for f in ("steady", "slices"))
    best = max(x for x in (steady, slices, 0.0) if x is not None)
    if best > 0:
        aims.line(gate.moved >= 0.7 * best, "pace: %.2f MB/s, %.2f of the best fixed setting's %.2f at that share "
                  "(at least 0.70 wanted)" % (gate.moved, gate.moved / best, best))
    if kind == "seek" and steady:
        want = 1.4 if writer == "buffered" else 4.0
        aims.line(gate.moved >= want * steady, "against a steady limit at that share: %.1f times its %.2f MB/s "
                  "(at least %.1f wanted)" % (gate.moved / steady, steady, want))
    floor = on_curve(points["lever4"], gate.share)
    if floor:
        print("            (lever 4 by hand, as root on the NAS, moves %.2f MB/s at that share)" % floor)


def table(machines, races, conf, aims):
    print("RAID 6 of five disks at %.0f MB/s each; shares of the idle rebuild's pace, the backup's pace in MB/s" %
          (float(conf[0]) / 1e6))
    for kind, segments in machines.items():
        mean, spread = measure(segments)
        print("\n%s disks%s: a rebuild alone %.1f MB/s, spread of the idle segments %.1f %%" %
              (kind, " (%s ms a jump)" % conf[1] if kind == "seek" else "", mean, 100 * spread))
        for writer in sorted({s.writer for s in segments if s.family != "idle"}):
            mine = [s for s in segments if s.writer == writer]
            print("  %s" % WRITERS[writer])
            for s in mine:
                settled = ""
                if s.family == "gate":
                    settled = "   settled after %s, then missed over %.0f %% of the time" % (
                        "%.0f s" % s.settle_s if s.settle_s is not None else "never", 100 * s.missed)
                print("    %-20s %-32s share %5.1f %%   backup %6.2f MB/s%s" %
                      (FAMILIES[s.family], s.name(), 100 * s.share, s.moved, settled))
            judge(kind, writer, spread, mine, aims)
    race(races, conf, aims)


def race(races, conf, aims):
    if not races:
        return
    print("\nA rebuild of %s MiB and a backup of %s MiB that begins %s s after it: seconds until the one, the other "
          "and both are done" % (conf[3], conf[2], conf[4]))
    alone = {}
    for kind, writer, how, rebuild, backup in races:
        alone.setdefault(kind, rebuild)
        print("  %-6s %-9s %-10s rebuild %6.1f (%.2f x)   backup %6s   both %6.1f" %
              (kind, "-" if how == "alone" else writer, how, rebuild, rebuild / alone[kind],
               "-" if how == "alone" else "%.1f" % backup, max(rebuild, backup)))
    for kind, writer, how, rebuild, _ in races:
        if how == "held":
            aims.line(rebuild <= 1.05 * alone[kind], "%s, %s: held, the rebuild takes %.2f times what it takes alone "
                      "(at most 1.05 wanted)" % (kind, writer, rebuild / alone[kind]))


# --- the picture ---------------------------------------------------------------------------------------------------------

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 460, 320, 56, 40, 16, 48
COLOURS = {"steady": "#4472a8", "slices": "#c0702c", "lever4": "#6b6b6b", "gate": "#b01e3c"}


class Panel:
    """Share to the right, the backup's pace upwards."""

    def __init__(self, x, y, title, segments):
        self.x, self.y, self.out = x, y, []
        self.top = max([s.moved for s in segments] + [1.0]) * 1.12
        self.axes(title)
        for family in ("steady", "slices", "lever4"):
            self.family(family, sorted(((s.share, s.moved) for s in segments if s.family == family), reverse=True))
        for s in segments:
            if s.family == "gate":
                self.star(s.share, s.moved)

    def at(self, share, moved):
        wide, high = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
        return (self.x + LEFT + min(1.05, max(0.0, share)) / 1.05 * wide,
                self.y + TOP + high * (1 - moved / self.top))

    def line(self, a, b, colour, more=""):
        self.out.append('<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" %s/>' % (*a, *b, colour, more))

    def text(self, at, text, more=""):
        self.out.append('<text x="%.1f" y="%.1f" %s>%s</text>' % (*at, more, text))

    def axes(self, title):
        left, bottom = self.at(0, 0)
        right, top = self.at(1.05, self.top)
        self.text((self.x + LEFT, self.y + 22), title, 'font-weight="bold"')
        self.line((left, bottom), (right, bottom), "#333")
        self.line((left, bottom), (left, top), "#333")
        for percent in range(0, 101, 20):
            x, _ = self.at(percent / 100, 0)
            self.line((x, bottom), (x, bottom + 4), "#333")
            self.text((x, bottom + 17), "%d %%" % percent, 'text-anchor="middle"')
        step = next(s for s in (0.5, 1, 2, 5, 10, 20, 50, 1000) if self.top / s <= 8)
        for i in range(int(self.top / step) + 1):
            _, y = self.at(0, i * step)
            self.line((left, y), (right, y), "#ddd")
            self.text((left - 6, y + 4), "%g" % (i * step), 'text-anchor="end"')
        x, _ = self.at(PROTECT, 0)
        self.line((x, bottom), (x, top), "#b01e3c", 'stroke-dasharray="4 3"')
        self.text(((left + right) / 2, bottom + 36), "share of its pace that the rebuild keeps", 'text-anchor="middle"')
        self.text((left - 30, top - 6), "backup, MB/s")

    def family(self, family, points):
        colour = COLOURS[family]
        if family != "lever4" and points:
            path = " ".join("%.1f,%.1f" % self.at(*p) for p in [(1.0, 0.0)] + points)
            self.out.append('<polyline points="%s" fill="none" stroke="%s" stroke-width="1.5"/>' % (path, colour))
        for point in points:
            x, y = self.at(*point)
            self.out.append('<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"/>' % (x, y, colour))

    def star(self, share, moved):
        x, y = self.at(share, moved)
        self.out.append('<path d="M%.1f %.1f l7 7 l-7 7 l-7 -7 z" fill="%s"/>' % (x, y - 7, COLOURS["gate"]))


def picture(machines, conf, path):
    panels, out = [], []
    for row, (kind, segments) in enumerate(machines.items()):
        for column, writer in enumerate(sorted({s.writer for s in segments if s.family != "idle"})):
            panels.append(Panel(column * WIDTH, row * HEIGHT + 30, "%s disks, %s" % (kind, WRITERS[writer]),
                                [s for s in segments if s.writer == writer]))
    wide = max([p.x for p in panels] + [0]) + WIDTH
    high = max([p.y for p in panels] + [0]) + HEIGHT
    out.append('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" '
               'font-size="12">' % (wide, high))
    out.append('<rect width="100%" height="100%" fill="#fff"/>')
    x = LEFT
    for family, label in FAMILIES.items():
        out.append('<circle cx="%d" cy="16" r="5" fill="%s"/><text x="%d" y="20">%s</text>' %
                   (x, COLOURS[family], x + 10, label))
        x += 34 + 7 * len(label)
    out += [element for panel in panels for element in panel.out]
    out.append("</svg>")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(out) + "\n")


def main(argv):
    if len(argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    machines, races, conf = read(argv[1])
    machines = {kind: segments for kind, segments in machines.items() if any(s.family != "idle" for s in segments)}
    if not machines and not races:
        print("%s: no segment in it" % argv[1], file=sys.stderr)
        return 2
    aims = Aims()
    table(machines, races, conf, aims)
    if len(argv) == 3:
        picture(machines, conf, argv[2])
    return 1 if aims.missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
