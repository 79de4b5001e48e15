#!/usr/bin/env python3
"""usage: test/examples/check_trace.py file

Reads a trace strictly, as the Trace Event Format describes it: the process and each lane have a
name, spans of a lane lie beside or inside each other, and each arrow (a steal, a wake) begins within
a span of one lane and ends, bound to it (bp: e), within a span of another. A task that was queued
says for how long, and by whom. Exit code 0 if all of it is right.
"""
import bisect
import json
import sys


def nanoseconds(event, key):
    return round(event[key] * 1000)


def check_nesting(spans):
    open_ends = []
    for begin, end in sorted(spans, key=lambda s: (s[0], -s[1])):
        while open_ends and open_ends[-1] <= begin:
            open_ends.pop()
        assert not open_ends or end <= open_ends[-1], "spans overlap"
        open_ends.append(end)


def main(path):
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    processes = [e["args"]["name"] for e in events if e["name"] == "process_name"]
    assert len(processes) == 1 and processes[0], "the process has a name"
    assert len({e["pid"] for e in events}) == 1, "one process"
    spans = {tid: [] for tid in names}
    for e in events:
        if e["ph"] == "X":
            spans[e["tid"]].append((nanoseconds(e, "ts"), nanoseconds(e, "ts") + nanoseconds(e, "dur")))
    for lane in spans.values():
        check_nesting(lane)
    tasks = {tid: sorted((nanoseconds(e, "ts"), nanoseconds(e, "ts") + nanoseconds(e, "dur"))
                         for e in events
                         if e["ph"] == "X" and e["tid"] == tid
                         and e["name"] not in ("parked", "blocked"))
             for tid in names}
    queued = [e["args"] for e in events if e["ph"] == "X" and "queued_us" in e.get("args", {})]
    lanes = set(names.values()) | {"outside"}
    causes = {"spawn", "wake", "timer", "after", "yield", "wake while it ran"}
    for args in queued:
        cause, _, lane = args["by"].rpartition(", ")
        assert args["queued_us"] >= 0 and cause in causes, "how a task was queued"
        assert lane in lanes or lane.startswith("extra") or lane.startswith("worker"), "by whom"

    def within_a_task(tid, ts):
        lane = tasks[tid]
        at = bisect.bisect_right(lane, (ts, float("inf")))
        return any(begin <= ts <= end for begin, end in lane[max(0, at - 64):at])

    starts = {e["id"]: e for e in events if e["ph"] == "s"}
    ends = [e for e in events if e["ph"] == "f"]
    assert len(starts) == len(ends), "each arrow has two ends"
    for end in ends:
        start = starts[end["id"]]
        assert end["bp"] == "e" and end["cat"] == start["cat"] and end["name"] == start["name"]
        assert end["name"] in ("steal", "wake"), "of a kind"
        assert start["tid"] != end["tid"], "to another lane"
        assert nanoseconds(start, "ts") <= nanoseconds(end, "ts"), "forward in time"
        assert within_a_task(start["tid"], nanoseconds(start, "ts")), "begins in a task"
        assert within_a_task(end["tid"], nanoseconds(end, "ts")), "ends in a task"
    print(len(names), "lanes,", sum(map(len, tasks.values())), "tasks,", len(queued), "of them queued,",
          len(ends), "arrows")


main(sys.argv[1])
