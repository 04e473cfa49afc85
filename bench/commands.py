#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""headroom ab and headroom time compared with hyperfine.

  1. Overhead on a child: the time that each tool reports for `true`, in alternating batches.
     Goal: ours at or below that of hyperfine -N (median of the paired differences).
  2. The ratio of two commands 3 % apart, --repeats times with the same time budget.
     Goal: our spread (largest - smallest) at most half of hyperfine's.
  3. A command against itself, --alarms times. Goal: at most 5 % are called faster or slower.

Exits with 1 when a goal is missed.

  bench/commands.py build/release/bin [--repeats 20] [--alarms 100] [--budget 2]
"""
import argparse
import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

SCRATCH = tempfile.TemporaryDirectory()
FILE = pathlib.Path(SCRATCH.name) / "out.json"
ENDLESS = ["--precision", "0.0001%", "--no-store"]


def headroom(folder, *arguments):
    """Runs headroom and returns the latency records."""
    FILE.unlink(missing_ok=True)
    subprocess.run([f"{folder}/headroom", *map(str, arguments), "--json", FILE], check=True, capture_output=True)
    return [record for record in json.loads(FILE.read_text())["records"] if record["metric"]["name"] == "latency"]


def hyperfine(*arguments):
    subprocess.run(["hyperfine", "-N", "--style", "none", "--export-json", FILE, *map(str, arguments)], check=True,
                   capture_output=True)
    return json.loads(FILE.read_text())["results"]


def work(steps):
    return f"awk 'BEGIN {{ for (i = 0; i < {steps}; ++i) x += i }}'"


def added_time(folder, batches=25, runs=200):
    def ours():
        return headroom(folder, "time", "true", "--max-rounds", runs, *ENDLESS)[0]["metric"]["value"]

    def theirs():
        return hyperfine("--runs", runs, "true")[0]["median"]

    pairs = []
    for _ in range(batches):
        order = [0, 1]
        random.shuffle(order)
        pair = [0, 0]
        for which in order:
            pair[which] = (ours, theirs)[which]() * 1e6
        pairs.append(pair)
    difference = statistics.median(a - b for a, b in pairs)
    print(f"a run of `true`: headroom {statistics.median(a for a, _ in pairs):.1f} µs, hyperfine -N "
          f"{statistics.median(b for _, b in pairs):.1f} µs, paired difference {difference:+.1f} µs "
          f"({batches} batches of {runs}; goal: at most 0)")
    return difference <= 0


def spreads(folder, repeats, budget):
    # Long enough to be noisy, short enough for many runs.
    slow, fast = work(309_000), work(300_000)
    each = hyperfine("--runs", 5, fast)[0]["median"]
    runs = max(2, round(budget / 2 / each))
    ours, means, medians = [], [], []
    for _ in range(repeats):
        record = headroom(folder, "ab", fast, slow, "--max-time", f"{budget}s", *ENDLESS)[1]
        ours.append(record["ratio"]["ratio"])
        base, other = hyperfine("--runs", runs, fast, slow)
        means.append(other["mean"] / base["mean"])
        medians.append(other["median"] / base["median"])
    print(f"the ratio of two commands 3 % apart, {repeats} times, {budget:g} s each:")
    for name, ratios in (("headroom", ours), ("hyperfine (means, as it prints)", means), ("hyperfine (medians)", medians)):
        print(f"  {name}: {min(ratios):.4f} to {max(ratios):.4f}, spread {max(ratios) - min(ratios):.4f}, "
              f"median {statistics.median(ratios):.4f}")
    mine, theirs = max(ours) - min(ours), max(means) - min(means)
    print(f"  our spread is {mine / theirs:.2f} of hyperfine's (goal: at most 0.5)")
    return mine <= 0.5 * theirs


def false_alarms(folder, count, budget):
    wrong = outside = 0
    for seed in range(count):
        FILE.unlink(missing_ok=True)
        result = subprocess.run([f"{folder}/headroom", "ab", work(100_000), work(100_000), "--max-time", f"{budget / 2}s",
                                 "--min-time", "0", "--no-store", "--seed", str(seed), "--json", FILE], check=True,
                                capture_output=True, text=True)
        wrong += "): slower" in result.stdout or "): faster" in result.stdout
        interval = [record for record in json.loads(FILE.read_text())["records"]
                    if record["metric"]["name"] == "latency"][1]["ratio"].get("interval")
        outside += interval is not None and not interval["low"] <= 1 <= interval["high"]
    print(f"a command against itself, {count} times: {wrong} called faster or slower (goal: at most 5 %), "
          f"{outside} intervals without 1")
    return wrong <= 0.05 * count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--alarms", type=int, default=100)
    parser.add_argument("--budget", type=float, default=2)
    arguments = parser.parse_args()
    if arguments.repeats < 2:
        parser.error("--repeats must be at least 2: one ratio has no spread")
    goals = [added_time(arguments.folder), spreads(arguments.folder, arguments.repeats, arguments.budget),
             false_alarms(arguments.folder, arguments.alarms, arguments.budget)]
    sys.exit(0 if all(goals) else 1)


if __name__ == "__main__":
    main()
