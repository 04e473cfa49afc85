#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""False claims and power of `headroom ab` on programs of known work, compared with Mann and Whitney's test on the same runs.

  1. A program against itself, --alarms times. Goal: at most 5 % are called faster or slower.
  2. 3 % and 5 % more work, --repeats times each. Goal: called slower at least as often as by Mann and Whitney's test
     at 5 % of false alarms on the runs of 1 (at level 5 % if it makes fewer).
  3. --sleeps: `sleep 5` against `sleep 10` is decided; with --quick it ends after 5 s and the current round.

Exits with 1 when a goal is missed. bench_ab_decides does the same by simulation.

  bench/ab_decides.py build/release/bin [--alarms 100] [--repeats 30] [--budget 4] [--sleeps]
"""
import argparse
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import time

SCRATCH = tempfile.TemporaryDirectory()
FOLDER = pathlib.Path(SCRATCH.name)


def awk(share):
    return f"awk 'BEGIN {{ for (i = 0; i < {round(400_000 * share)}; ++i) x += i }}'"


def python(share):
    return f"{sys.executable} -I -S -c 'for i in range({round(2_000_000 * share)}): pass'"


def checksum(share):
    path = FOLDER / f"{share:g}.bytes"
    if not path.exists():
        path.write_bytes(bytes(round(12_000_000 * share)))
    return f"sha256sum {path}"


PROGRAMS = (awk, python, checksum)


def compare(folder, first, second, seed, *options):
    """Returns the verdict on the second command, and the times of both."""
    path = FOLDER / "out.json"
    path.unlink(missing_ok=True)
    result = subprocess.run([f"{folder}/headroom", "ab", first, second, "--seed", str(seed), "--no-store", "--json", path,
                             *map(str, options)], check=True, capture_output=True, text=True)
    verdict = re.search(r"x the time of .*\): (.*)", result.stdout)
    times = [record["samples"][0]["values"] for record in json.loads(path.read_text())["records"]
             if record["metric"]["name"] == "latency"]
    return verdict.group(1) if verdict else "", times


def rank_sum(first, second):
    """Returns z of Mann and Whitney's test, above 0 if the second is slower. Ties are not corrected for."""
    ranked = sorted([(value, 0) for value in first] + [(value, 1) for value in second])
    total = sum(rank for rank, (_, which) in enumerate(ranked, 1) if which)
    n, m = len(first), len(second)
    return (total - m * (n + m + 1) / 2) / math.sqrt(n * m * (n + m + 1) / 12)


def false_alarms(folder, count, budget):
    wrong, scores = 0, []
    for program in PROGRAMS:
        called = 0
        for seed in range(count):
            verdict, times = compare(folder, program(1), program(1), seed, "--max-time", f"{budget}s", "--min-time", "0")
            called += verdict.startswith(("slower", "faster"))
            scores.append(abs(rank_sum(*times)))
        print(f"{program.__name__} against itself: {called} of {count} called different", flush=True)
        wrong = max(wrong, called)
    scores.sort()
    plain = sum(score > 1.96 for score in scores)
    print(f"Mann and Whitney at 5 %: {plain} of {len(scores)}")
    return wrong <= 0.05 * count, max(1.96, scores[min(len(scores) - 1, math.ceil(0.95 * len(scores)))])


def found(folder, share, repeats, budget, held):
    fine = True
    for program in PROGRAMS:
        ours = theirs = 0
        for seed in range(repeats):
            verdict, times = compare(folder, program(1), program(share), seed, "--max-time", f"{budget}s", "--min-time", "0")
            ours += verdict.startswith("slower")
            theirs += rank_sum(*times) > held
        print(f"{program.__name__}, {100 * (share - 1):.0f} % more: headroom {ours} of {repeats}, Mann and Whitney {theirs}",
              flush=True)
        fine = fine and ours >= theirs
    return fine


def sleeps(folder):
    start = time.monotonic()
    quick, _ = compare(folder, "sleep 5", "sleep 10", 1, "--quick")
    took = time.monotonic() - start
    verdict, _ = compare(folder, "sleep 5", "sleep 10", 1)
    print(f"sleep 5 and sleep 10: {verdict}; --quick: {quick}, after {took:.0f} s")
    return verdict == "slower" and took < 22


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--alarms", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--budget", type=float, default=4)
    parser.add_argument("--sleeps", action="store_true")
    arguments = parser.parse_args()
    fine, held = false_alarms(arguments.folder, arguments.alarms, arguments.budget)
    for share in (1.03, 1.05):
        fine = found(arguments.folder, share, arguments.repeats, arguments.budget, held) and fine
    if arguments.sleeps:
        fine = sleeps(arguments.folder) and fine
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
