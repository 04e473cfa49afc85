#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Error rates of `headroom diff --gate 3%` on two files of ten runs each, without a history.

Compares a command with itself and with twice its work, in hyperfine's JSON. Exits with 1 when more than 1 of 20 comparisons with itself
raises an alarm, or a factor of 2 is inconclusive. Needs an otherwise idle machine.

  bench/two_files.py build/release/bin/headroom [--pairs 20]
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

RUNS = 10
WORK = [sys.executable, "-S", "-c", "sum(i * i for i in range(500000))"]


def timed(path, repeats):
    """Writes a file of ten runs of the work, repeated `repeats` times in each."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        for _ in range(repeats):
            subprocess.run(WORK, check=True)
        times.append(time.perf_counter() - start)
    path.write_text(json.dumps({"results": [{"command": "work", "times": times, "median": sorted(times)[RUNS // 2]}]}))
    return path


def gate(headroom, before, after):
    result = subprocess.run([headroom, "diff", "--gate", "3%", "--json", "-", before, after], capture_output=True, text=True)
    [comparison] = json.loads(result.stdout)["comparisons"]
    return comparison


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("headroom")
    parser.add_argument("--pairs", type=int, default=20)
    arguments = parser.parse_args()
    alarms = found = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        for pair in range(arguments.pairs):
            once, again, twice = (timed(folder / f"{name}.json", repeats)
                                  for name, repeats in (("once", 1), ("again", 1), ("twice", 2)))
            same, double = gate(arguments.headroom, once, again), gate(arguments.headroom, once, twice)
            alarms += same["verdict"] == "regression"
            found += double["verdict"] == "regression"
            print(f"{pair + 1}: itself {same['ratio']:.3f} {same['verdict']}, twice the work {double['ratio']:.3f} {double['verdict']}",
                  flush=True)
    print(f"false alarms: {alarms} of {arguments.pairs}; factor 2 found: {found} of {arguments.pairs}")
    sys.exit(alarms > arguments.pairs / 20 or found < arguments.pairs)


if __name__ == "__main__":
    main()
