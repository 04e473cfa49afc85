#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measurement overhead: an empty body, and a chain of 1,000 dependent multiplications compared with Google Benchmark.

Runs both tools in turn --runs times. Exits with 1 if the empty body takes 1 ns or more, or the medians of the chain differ by
more than 2 %.

  bench/overhead.py build/dev/bin [--runs 7]
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile


def headroom(folder):
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / "records.json"
        subprocess.run([f"{folder}/bench_kernels_headroom", "empty", "chain", "--threads", "1", "--no-limits", "--no-store",
                        "--max-time", "1s", "--json", str(path)], check=True, capture_output=True)
        records = json.loads(path.read_text())["records"]
    return {r["model"]["name"]: r["metric"]["value"] * 1e3 for r in records if r["metric"]["name"] == "latency"}


def google(folder):
    output = subprocess.run([f"{folder}/bench_kernels_google", "--benchmark_filter=^chain$", "--benchmark_min_time=0.5",
                             "--benchmark_format=json"], check=True, capture_output=True, text=True).stdout
    return json.loads(output)["benchmarks"][0]["real_time"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--runs", type=int, default=7)
    arguments = parser.parse_args()
    empty, ours, theirs = [], [], []
    for _ in range(arguments.runs):
        times = headroom(arguments.folder)
        empty.append(times["empty"])
        ours.append(times["chain"])
        theirs.append(google(arguments.folder))
    difference = statistics.median(a / b for a, b in zip(ours, theirs)) - 1
    print(f"empty body: {statistics.median(empty):.3f} ns (goal: below 1 ns; n={arguments.runs}, "
          f"max {max(empty):.3f})")
    print(f"chain of 1,000 multiplications: headroom {statistics.median(ours):.1f} ns, Google Benchmark "
          f"{statistics.median(theirs):.1f} ns, paired difference {100 * difference:+.2f} % (goal: within 2 %)")
    sys.exit(statistics.median(empty) >= 1 or abs(difference) > 0.02)


if __name__ == "__main__":
    main()
