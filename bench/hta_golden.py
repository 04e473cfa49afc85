#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Golden figures for tests/unit/real_traces: Holistic Trace Analysis (HTA) on some traces, as JSON.

Needs an environment with HTA:

  python3 -m venv /tmp/hta && /tmp/hta/bin/pip install traceinsight==0.6.1 pandas==2.2.3
  /tmp/hta/bin/python bench/hta_golden.py TRACE… > tests/data/trace/hta_golden.json

For each file, with the last ProfilerStep left out (HTA's default) and with it:
  temporal  get_temporal_breakdown: idle, compute, non-compute and kernel time, us
  overlap   get_comm_comp_overlap: percent, two decimals; null for HTA's NaN
  idle      get_idle_time_breakdown with its default threshold: sum per stream and cause, us, and the intervals
  launch    get_cuda_kernel_launch_stats: launches, and sum and maximum of call, GPU work and delay, us
If HTA's analysis fails, the text of its error replaces the figures.
"""
import argparse
import importlib.metadata
import json
import logging
import math
import os
import platform
import sys


def number(value):
    """Converts a Python number for JSON; NaN becomes null."""
    value = float(value)
    if math.isnan(value):
        return None
    return int(value) if value == int(value) else value


def temporal(analysis):
    row = analysis.get_temporal_breakdown(visualize=False).iloc[0]
    return {"idle_us": number(row["idle_time(us)"]), "compute_us": number(row["compute_time(us)"]),
            "non_compute_us": number(row["non_compute_time(us)"]), "span_us": number(row["kernel_time(us)"])}


def overlap(analysis):
    return number(analysis.get_comm_comp_overlap(visualize=False).iloc[0]["comp_comm_overlap_pctg"])


def idle(analysis):
    times, intervals = analysis.get_idle_time_breakdown(ranks=[0], visualize=False, show_idle_interval_stats=True)
    counts = {(int(row["stream"]), cause): int(row["count"]) for cause, row in intervals.iterrows()}
    return [{"stream": int(row["stream"]), "cause": row["idle_category"], "time_us": number(row["idle_time"]),
             "intervals": counts[int(row["stream"]), row["idle_category"]]} for _, row in times.iterrows()]


def launch(analysis):
    rows = analysis.get_cuda_kernel_launch_stats(ranks=[0], visualize=False)[0]
    figures = {"launches": len(rows)}
    for ours, theirs in (("call", "cpu_duration"), ("gpu", "gpu_duration"), ("delay", "launch_delay")):
        figures[f"{ours}_total_us"] = number(rows[theirs].sum())
        figures[f"{ours}_max_us"] = number(rows[theirs].max()) if len(rows) else None
    return figures


def figures_of(path, with_last_step):
    from hta.trace_analysis import TraceAnalysis

    def attempt(analyze):
        try:
            return analyze(analysis)
        except Exception as error:  # a failure of HTA is a result, whatever it throws
            return f"{type(error).__name__}: {error}".split("\n")[0].strip()

    analysis = TraceAnalysis(trace_files={0: path}, include_last_profiler_step=with_last_step)
    return {analyze.__name__: attempt(analyze) for analyze in (temporal, overlap, idle, launch)}


def versions():
    found = {}
    for package in ("traceinsight", "HolisticTraceAnalysis", "pandas", "numpy"):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            pass
    return found | {"python": platform.python_version()}


def as_lines(value, depth=0):
    """Formats JSON with a line per analysis, for readable diffs."""
    if not isinstance(value, dict) or depth == 4:
        return json.dumps(value)
    inner = ",\n".join(f"{' ' * (depth + 1)}{json.dumps(key)}: {as_lines(item, depth + 1)}" for key, item in value.items())
    return f"{{\n{inner}\n{' ' * depth}}}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", metavar="TRACE", nargs="+")
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)
    files = {}
    for path in arguments.traces:
        print(path, file=sys.stderr)
        files[os.path.basename(path)] = {"without_last_step": figures_of(os.path.abspath(path), False),
                                         "with_last_step": figures_of(os.path.abspath(path), True)}
    print(as_lines({"made_by": "bench/hta_golden.py", "made_with": versions(), "files": files}))


if __name__ == "__main__":
    main()
