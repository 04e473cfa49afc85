#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Spread of the ratio of two fixed kernels about 3 % apart, in headroom and in Google Benchmark.

Each tool measures the ratio --runs times, in turn, with the same wall time. Prints both ranges; exits with 1 if headroom's is
more than half of Google Benchmark's.

  bench/steadiness.py build/dev/bin [--runs 20] [--seconds 2] [--kernel stream|chains]
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time


def timed(command):
    start = time.monotonic()
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return output, time.monotonic() - start


def headroom_ratio(folder, kernel, seconds):
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / "records.json"
        # Unreachable: uses the whole budget.
        _, wall = timed([f"{folder}/bench_kernels_headroom", kernel, "--all-backends", "--hot", "--threads", "1",
                         "--no-limits", "--no-store", "--precision", "0.0001%", "--max-time", f"{seconds}s", "--json", str(path)])
        for record in json.loads(path.read_text())["records"]:
            if "ratio" in record:
                return record["ratio"]["ratio"], wall
    raise SystemExit("no ratio in headroom's records")


def google_ratio(folder, kernel, seconds, extra):
    # Google Benchmark grows its iterations up to min_time, which costs about as much again.
    output, wall = timed([f"{folder}/bench_kernels_google", f"--benchmark_filter=^{kernel}/",
                          f"--benchmark_min_time={seconds / 2}", "--benchmark_format=json"] + extra)
    times = [b["real_time"] for b in json.loads(output)["benchmarks"] if b.get("run_type") == "iteration"]
    half = len(times) // 2
    return statistics.median(times[half:]) / statistics.median(times[:half]), wall


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="folder of bench_kernels_headroom and bench_kernels_google")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--kernel", choices=["stream", "chains"], default="stream")
    arguments = parser.parse_args()
    tools = {
        "headroom": lambda: headroom_ratio(arguments.folder, arguments.kernel, arguments.seconds),
        "google": lambda: google_ratio(arguments.folder, arguments.kernel, arguments.seconds, []),
    }
    results = {tool: [] for tool in tools}
    for run in range(arguments.runs):
        for tool, measure in (tools.items() if run % 2 == 0 else reversed(tools.items())):
            results[tool].append(measure())
    spread = {}
    print(f"ratio of two kernels ({arguments.kernel}), {arguments.runs} times, {arguments.seconds} s of sampling each")
    for tool, pairs in results.items():
        ratios = sorted(ratio for ratio, _ in pairs)
        spread[tool] = ratios[-1] - ratios[0]
        print(f"  {tool:9} median {statistics.median(ratios):.4f}  min {ratios[0]:.4f}  max {ratios[-1]:.4f}  "
              f"max-min {spread[tool]:.4f}  wall {statistics.median(wall for _, wall in pairs):.2f} s")
    share = spread["headroom"] / spread["google"]
    print(f"  headroom's range is {share:.2f} of Google Benchmark's (goal: at most 0.50)")
    sys.exit(share > 0.5)


if __name__ == "__main__":
    main()
