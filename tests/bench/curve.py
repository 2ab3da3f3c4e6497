#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a run of rebuild.sh measured: the table on stdout, the picture as SVG.

usage: curve.py LOG [SVG]

A segment counts from the stream's start until all that it sent is on disk. Its share is the rebuild's pace
over that time, by the done counter, divided by the mean of the idle segments before and after it; the backup's
pace is what it sent over the same time. For the gate what counts is the time from when the share is kept (the
settling is told apart); where slices begin in that time more than once, from the first beginning to the last: whole
periods, whatever is tried in them included. "Missed" are the windows of a minute, as the rule's `over` has it. All paces are MB/s (1e6), the rebuild's for each disk. What the run was to measure
stands in the log (P): an aim of that which cannot be computed was missed.

Exit status: 0, 1 when an aim is missed or was not measured, 2 for a log that says nothing.
"""
import bisect
import statistics
import sys

OVER_MS = 60000
PROTECT = 0.80
LULL_MS = 10000  # clients write little for so long before a slice
POINTS_BEYOND = 0.03
SPREAD_MOST = 0.05  # so far at most a restless machine loosens the share's aim
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
        self.settle_s = self.missed = self.counted = None

    def short(self):
        """As a label beside its point."""
        if self.family == "lever4":
            return "floor %.0f MB/s" % (int(self.setting.split(":")[0]) * 1.024 / 1000)
        if self.family == "slices":
            return "%s s on, %s s off" % tuple(self.setting.split("/"))
        return "protect " + self.setting if self.family == "gate" else "%.1f MB/s" % (float(self.setting) / 1e6)

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
    machines, races, plan, conf = {}, [], [], ("0", "?", "?", "?", "?")
    machine, segment, pending = None, None, Samples()
    with open(path, encoding="ascii") as file:
        for line in file:
            words = line.split()
            if words[:1] == ["C"]:
                conf = words[1:]
            elif words[:1] == ["P"]:
                plan.append((*words[1:4], " ".join(words[4:])))
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
    return machines, races, plan, conf


def least_share(spread):
    return PROTECT - POINTS_BEYOND - min(spread, SPREAD_MOST)


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


def beginnings(segment, begin):
    """The times from `begin` on at which clients begin to write at full speed after a lull."""
    samples, seen, low_ms = segment.samples, [], None
    times = range(segment.begin, segment.end - 1000, 1000)
    paces = [samples.value(samples.written, t + 1000) - samples.value(samples.written, t) for t in times]
    for t, pace in zip(times, paces):
        if pace < max(paces) / 3:
            low_ms = t if low_ms is None else low_ms
            continue
        if low_ms is not None and t - low_ms >= LULL_MS and t >= begin:
            seen.append(t)
        low_ms = None
    return seen


def counted(segment):
    """From when until when the gate counts."""
    begin = segment.begin + int((segment.settle_s or 0) * 1000)
    slices = beginnings(segment, begin)
    if len(slices) < 2:
        return begin, segment.end
    longest = max(b - a for a, b in zip(slices, slices[1:]))
    # What comes after the last beginning is left out as a part of a period, and only as that.
    return slices[0], slices[-1] if segment.end - slices[-1] <= longest * 5 / 4 else segment.end


def measure(segments):
    """Fills the shares; answers the idle segments' spread (standard deviation over mean)."""
    idles = [s for s in segments if s.family == "idle"]
    paces = [s.samples.pace(s.begin, s.end) for s in idles]
    spread = statistics.pstdev(paces) / statistics.mean(paces) if len(paces) > 1 else 0.0
    for i, s in enumerate(segments):
        if s.family == "idle":
            continue
        if not paces:
            continue
        before = [x for x in segments[:i] if x.family == "idle"][-1:]
        after = [x for x in segments[i:] if x.family == "idle"][:1]
        s.idle = statistics.mean(x.samples.pace(x.begin, x.end) for x in before + after)
        begin, end = s.begin, s.end
        if s.family == "gate":
            s.settle_s, s.missed = settle(s, least_share(spread))
            begin, end = s.counted = counted(s)
        s.share = s.samples.pace(begin, end) / s.idle
        s.moved = moved(s, begin, end)
    return (statistics.mean(paces) if paces else 0.0), spread


def moved(segment, begin, end):
    """MB/s of the backup from `begin` to `end`: what it sent, less what of it was written before and after."""
    values, sent = segment.samples.written, segment.bytes
    for a, b in ((segment.begin, begin), (end, segment.end)):
        sent -= 1024 * (segment.samples.value(values, b) - segment.samples.value(values, a))
    return sent / 1000 / max(1, end - begin)


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

    def unmeasured(self, text):
        self.missed += 1
        print("    MISSED  %s: not measured" % text)


def judge(kind, writer, spread, segments, aims):
    """The aims of one curve: share, pace and, on disks that seek, pace against a steady limit."""
    gate = next((s for s in segments if s.family == "gate" and s.share is not None), None)
    if gate:
        least = least_share(spread)
        aims.line(gate.settle_s is not None and gate.share >= least, "share: %.1f %% kept, at least %.1f %% wanted "
                  "(80, less 3 and the idle spread, 5 at most)" % (100 * gate.share, 100 * least))
    else:
        aims.unmeasured("share")
    points = {family: [(s.share, s.moved) for s in segments if s.family == family and s.share is not None]
              for family in FAMILIES}
    steady, slices, floor = (gate and on_curve(points[f], gate.share) for f in ("steady", "slices", "lever4"))
    if steady and slices:
        best = max(steady, slices)
        aims.line(gate.moved >= 0.7 * best, "pace: %.2f MB/s, %.2f of the best fixed setting's %.2f at that share "
                  "(at least 0.70 wanted)" % (gate.moved, gate.moved / best, best))
    else:
        aims.unmeasured("pace against the best fixed setting's")
    if kind == "seek" and steady:
        want = 1.4 if writer == "buffered" else 4.0
        aims.line(gate.moved >= want * steady, "against a steady limit at that share: %.1f times its %.2f MB/s "
                  "(at least %.1f wanted)" % (gate.moved / steady, steady, want))
    elif kind == "seek":
        aims.unmeasured("pace against a steady limit's")
    if floor:
        print("            (lever 4 by hand, as root on the NAS, moves %.2f MB/s at that share)" % floor)


def row(s):
    settled = ""
    if s.family == "gate":
        settled = "   settled after %s, then missed over %.0f %% of the minutes; counted from %.0f s to %.0f s" % (
            "%.0f s" % s.settle_s if s.settle_s is not None else "never", 100 * s.missed,
            *((t - s.begin) / 1000 for t in s.counted))
    print("    %-20s %-32s share %5.1f %%   backup %6.2f MB/s%s" %
          (FAMILIES[s.family], s.name(), 100 * s.share, s.moved, settled))


def table(machines, races, plan, conf, aims):
    print("RAID 6 of five disks at %.0f MB/s each; shares of the idle rebuild's pace, the backup's pace in MB/s" %
          (float(conf[0]) / 1e6))
    planned = [(kind, writer) for what, kind, writer, _ in plan if what == "curve"]
    kinds = list(machines) + [kind for kind, _ in planned if kind not in machines]
    for kind in dict.fromkeys(kinds):
        segments = machines.get(kind, [])
        mean, spread = measure(segments)
        print("\n%s disks%s: a rebuild alone %.1f MB/s, spread of the idle segments %.1f %%" %
              (kind, " (%s ms a jump)" % conf[1] if kind == "seek" else "", mean, 100 * spread))
        for writer in sorted({s.writer for s in segments if s.family != "idle"} | {w for k, w in planned if k == kind}):
            mine = [s for s in segments if s.writer == writer]
            print("  %s" % WRITERS[writer])
            for s in mine:
                if s.share is not None:
                    row(s)
            judge(kind, writer, spread, mine, aims)
    race(races, plan, conf, aims)


def race(races, plan, conf, aims):
    planned = [(kind, writer) for what, kind, writer, _ in plan if what == "race"]
    if not races and not planned:
        return
    print("\nA rebuild of %s MiB and a backup of %s MiB that begins %s s after it: seconds until the one, the other "
          "and both are done" % (conf[3], conf[2], conf[4]))
    alone = {}
    for kind, writer, how, rebuild, backup in races:
        if how == "alone":
            alone[kind] = rebuild
        times = " (%.2f x)" % (rebuild / alone[kind]) if kind in alone else ""
        print("  %-6s %-9s %-10s rebuild %6.1f%s   backup %6s   both %6.1f" %
              (kind, "-" if how == "alone" else writer, how, rebuild, times,
               "-" if how == "alone" else "%.1f" % backup, max(rebuild, backup)))
    for what, kind, writer, why in plan:
        if what == "unraced":
            print("  %-6s %-9s not raced: %s" % (kind, writer, why))
    held = {(kind, writer): rebuild for kind, writer, how, rebuild, _ in races if how == "held"}
    for kind, writer in dict.fromkeys(planned + list(held)):
        if kind in alone and (kind, writer) in held:
            times = held[kind, writer] / alone[kind]
            aims.line(times <= 1.05, "%s, %s: held, the rebuild takes %.2f times what it takes alone "
                      "(at most 1.05 wanted)" % (kind, writer, times))
        else:
            aims.unmeasured("%s, %s: held, what the rebuild takes against alone" % (kind, writer))


# --- the picture ---------------------------------------------------------------------------------------------------------

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM, LEGEND = 560, 400, 68, 40, 20, 56, 44
SHARE_MOST = 1.1
COLOURS = {"steady": "#2f62a0", "slices": "#b8601a", "lever4": "#555", "gate": "#b01e3c"}
CHARACTER, LINE = 6.2, 13  # of a label, in px


def mark(family, x, y):
    """A family's sign: told apart by its shape too."""
    colour = COLOURS[family]
    if family == "steady":
        return '<circle cx="%.1f" cy="%.1f" r="4.5" fill="%s"/>' % (x, y, colour)
    if family == "slices":
        return '<path d="M%.1f %.1f l5.5 9.5 h-11 z" fill="%s"/>' % (x, y - 6, colour)
    if family == "lever4":
        return '<rect x="%.1f" y="%.1f" width="8" height="8" fill="%s"/>' % (x - 4, y - 4, colour)
    return '<path d="M%.1f %.1f l8 8 l-8 8 l-8 -8 z" fill="%s"/>' % (x, y - 8, colour)


def overlap(a, b):
    return min(a[2], b[2]) - max(a[0], b[0]) > 0 and min(a[3], b[3]) - max(a[1], b[1]) > 0


class Panel:
    """Share to the right, the backup's pace upwards."""

    def __init__(self, x, y, title, segments):
        self.x, self.y, self.out = x, y, []
        self.top = max([s.moved for s in segments] + [0.5]) * 1.15
        self.axes(title)
        for family in ("steady", "slices"):
            self.family(family, sorted(((s.share, s.moved) for s in segments if s.family == family), reverse=True))
        places = [self.at(s.share, s.moved) for s in segments]
        self.taken = [(x - 8, y - 8, x + 8, y + 8) for x, y in places]
        for s, place in zip(segments, places):
            self.out.append(mark(s.family, *place))
            self.label(s, place)

    def at(self, share, moved):
        wide, high = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
        return (self.x + LEFT + min(SHARE_MOST, max(0.0, share)) / SHARE_MOST * wide,
                self.y + TOP + high * (1 - moved / self.top))

    def line(self, a, b, colour, more=""):
        self.out.append('<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" %s/>' % (*a, *b, colour, more))

    def text(self, at, text, more=""):
        self.out.append('<text x="%.1f" y="%.1f" %s>%s</text>' % (*at, more, text))

    def axes(self, title):
        left, bottom = self.at(0, 0)
        right, top = self.at(SHARE_MOST, self.top)
        self.text((self.x + LEFT, self.y + 20), title, 'font-weight="bold" font-size="14"')
        step = next(s for s in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 1000) if self.top / s <= 8)
        for i in range(int(self.top / step) + 1):
            _, y = self.at(0, i * step)
            self.line((left, y), (right, y), "#e2e2e2")
            self.text((left - 7, y + 4), "%g" % (i * step), 'text-anchor="end"')
        for percent in range(0, 101, 20):
            x, _ = self.at(percent / 100, 0)
            self.line((x, bottom), (x, top), "#eee")
            self.line((x, bottom), (x, bottom + 4), "#333")
            self.text((x, bottom + 18), "%d %%" % percent, 'text-anchor="middle"')
        self.line((left, bottom), (right, bottom), "#333")
        self.line((left, bottom), (left, top), "#333")
        x, _ = self.at(PROTECT, 0)
        self.line((x, bottom), (x, top), COLOURS["gate"], 'stroke-dasharray="5 4"')
        self.text(((left + right) / 2, bottom + 40), "rebuild: share of its undisturbed pace, %",
                  'text-anchor="middle"')
        middle = (self.x + 18, (top + bottom) / 2)
        self.text(middle, "backup: pace, MB/s", 'text-anchor="middle" transform="rotate(-90 %.1f %.1f)"' % middle)

    def family(self, family, points):
        if points:
            path = " ".join("%.1f,%.1f" % self.at(*p) for p in [(1.0, 0.0)] + points)
            self.out.append('<polyline points="%s" fill="none" stroke="%s" stroke-width="1.5" stroke-opacity="0.6"/>' %
                            (path, COLOURS[family]))

    def label(self, segment, place):
        """Beside its point, where nothing else is; to the right of it where there is no such place."""
        text = segment.short()
        wide = len(text) * CHARACTER
        x, y = place
        left, top = self.x + LEFT + 2, self.y + TOP
        right, bottom = self.x + WIDTH - 2, self.y + HEIGHT - BOTTOM
        sides = [(x + 10 + dx, y + dy) for dx in (0, 6) for dy in (-4, 8, -16, 20, -28, 32)]
        sides += [(x - 10 - dx - wide, y + dy) for dx in (0, 6) for dy in (-4, 8, -16, 20, -28, 32)]
        sides += [(x - wide / 2, y - 14), (x - wide / 2, y + 22)]
        boxes = [(a, b - LINE + 3, a + wide, b + 3) for a, b in sides]
        free = [box for box in boxes if box[0] >= left and box[2] <= right and box[1] >= top and box[3] <= bottom and
                not any(overlap(box, other) for other in self.taken)]
        box = (free or boxes)[0]
        self.taken.append(box)
        self.text((box[0], box[3] - 3), text, 'font-size="11" fill="%s" stroke="#fff" stroke-width="3" '
                  'paint-order="stroke"' % COLOURS[segment.family])


def legend():
    x, out = LEFT, []
    for family, label in FAMILIES.items():
        out.append(mark(family, x, 20))
        out.append('<text x="%d" y="24" font-size="13">%s</text>' % (x + 14, label))
        x += 48 + 7 * len(label)
    out.append('<path d="M%d 20 h26" stroke="%s" stroke-dasharray="5 4"/>' % (x, COLOURS["gate"]))
    out.append('<text x="%d" y="24" font-size="13">the share that is protected</text>' % (x + 34))
    return out


def picture(machines, path):
    panels, out = [], []
    for row_at, (kind, segments) in enumerate(machines.items()):
        shown = [s for s in segments if s.share is not None]
        for column, writer in enumerate(sorted({s.writer for s in shown})):
            panels.append(Panel(column * WIDTH, row_at * HEIGHT + LEGEND, "%s disks, %s" % (kind, WRITERS[writer]),
                                [s for s in shown if s.writer == writer]))
    wide = max([p.x + WIDTH for p in panels] + [LEFT + 760])
    high = max([p.y for p in panels] + [0]) + HEIGHT
    out.append('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" '
               'font-family="sans-serif" font-size="12">' % (wide, high, wide, high))
    out.append('<rect width="100%" height="100%" fill="#fff"/>')
    out += legend() + [element for panel in panels for element in panel.out]
    out.append("</svg>")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(out) + "\n")


def main(argv):
    if len(argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    machines, races, plan, conf = read(argv[1])
    machines = {kind: segments for kind, segments in machines.items() if any(s.family != "idle" for s in segments)}
    if not machines and not races:
        print("%s: no segment in it" % argv[1], file=sys.stderr)
        return 2
    aims = Aims()
    table(machines, races, plan, conf, aims)
    if len(argv) == 3:
        picture(machines, argv[2])
    return 1 if aims.missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
