#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Golden figures for `headroom trace diff`: HolisticTraceAnalysis on two pairs of traces.

    bench/hta_diff_golden.py TRACES OUT      needs HolisticTraceAnalysis 0.6.1 (pip), not installed by make setup

For the first ProfilerStep of each trace it writes OUT/PAIR.csv: device (CPU or GPU), name, count and total time in
microseconds before and after.
"""
import csv
import gzip
import json
import pathlib
import sys
import tempfile

from hta.trace_diff import DeviceType, LabeledTrace, TraceDiff

PAIRS = {"compare": ("hta__trace_compare_base_base", "hta__trace_compare_test_test"),
         "diff": ("hta__trace_diff_control_control", "hta__trace_diff_test_test")}


def load(label, path):
    """Loads the trace from a folder made for it, with a rank in the file, as HTA requires."""
    trace = json.loads(gzip.open(path).read())
    trace.setdefault("distributedInfo", {})["rank"] = 0
    folder = pathlib.Path(tempfile.mkdtemp())
    (folder / "rank-0.json").write_text(json.dumps(trace))
    return LabeledTrace(label=label, trace_dir=str(folder))


def rows(before, after):
    for device in (DeviceType.CPU, DeviceType.GPU):
        table = TraceDiff.compare_traces(before, after, device_type=device)
        for name, row in table.sort_index().iterrows():
            yield [device.name, name] + [int(row[f"{side}_{what}"]) for side in ("before", "after")
                                         for what in ("counts", "total_duration")]


def main(traces, out):
    for pair, (before, after) in PAIRS.items():
        with open(pathlib.Path(out) / f"{pair}.csv", "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["device", "name", "count_before", "us_before", "count_after", "us_after"])
            writer.writerows(rows(*(load(label, pathlib.Path(traces) / f"{name}.json.gz")
                                    for label, name in (("before", before), ("after", after)))))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
