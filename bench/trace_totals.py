#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks busy and idle time per device and time by name of `headroom trace`, to the nanosecond.

  python3 bench/trace_totals.py build/release/bin/headroom ../shared/traces/*.json* ../shared/traces2/*.json*

Reads Chrome traces independently of headroom: kernels, copies and sets by category, devices by args.device or the process,
times as decimals rounded to nanoseconds, busy time as the union of intervals.
"""
import collections
import decimal
import gzip
import json
import subprocess
import sys

WORK = {"kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset", "mtia_ccp_events"}
WAITS = ("event_wait", "event_record")  # of MTIA: not work


def nanoseconds(microseconds):
    return int((decimal.Decimal(microseconds) * 1000).to_integral_value(decimal.ROUND_HALF_UP))


def own_figures(path):
    """Returns ({device: (busy, idle)}, {name: total}) in ns."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        document = json.loads(file.read().decode("utf-8", "replace"), parse_float=decimal.Decimal, strict=False)
    spans, totals = collections.defaultdict(list), collections.Counter()
    for event in document["traceEvents"] if isinstance(document, dict) else document:
        if event.get("ph") != "X" or str(event.get("cat", "")).lower() not in WORK or event["name"].startswith(WAITS):
            continue
        start, length = nanoseconds(event["ts"]), nanoseconds(event["dur"])
        spans[str(event.get("args", {}).get("device", event["pid"]))].append((start, start + length))
        totals[event["name"]] += length
    devices = {}
    for device, intervals in spans.items():
        busy, end = 0, min(intervals)[0]
        for start, stop in sorted(intervals):
            busy += max(0, stop - max(start, end))
            end = max(end, stop)
        devices[device] = busy, end - min(intervals)[0] - busy
    return devices, dict(totals)


def headroom_figures(binary, path):
    def tables(*arguments):
        done = subprocess.run([binary, "trace", *arguments, path, "--json", "-", "--no-store"], capture_output=True, text=True)
        return json.loads(done.stdout)["trace"]["tables"] if done.returncode == 0 else {}
    devices = {row["device"]: (row["busy_ns"], row["idle_ns"]) for row in tables("utilization").get("devices", [])}
    return devices, {row["name"]: row["total_ns"] for row in tables("kernels", "--top", "0").get("kernels", [])}


def main():
    binary, *paths = sys.argv[1:]
    equal = names = 0
    for path in paths:
        try:
            own = own_figures(path)
        except (ValueError, KeyError, TypeError) as error:
            print(f"left out  {path}: {type(error).__name__}: {error}")
            continue
        if not own[0]:
            print(f"left out  {path}: no event has the category of a kernel, a copy or a set")
            continue
        is_equal = own == (theirs := headroom_figures(binary, path))
        equal, names = equal + is_equal, names + len(own[1])
        print(f"{'equal   ' if is_equal else 'DIFFERS '}  {path}: {len(own[0])} devices, {len(own[1])} names")
        if not is_equal:
            print("   ", own[0], theirs[0], {name: (own[1].get(name), theirs[1].get(name)) for name in own[1].keys() | theirs[1].keys()
                                              if own[1].get(name) != theirs[1].get(name)})
    print(f"{equal} traces equal, {names} names of work")


if __name__ == "__main__":
    main()
