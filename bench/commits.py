#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How often `headroom ab --git --gate` and `headroom bisect` are right, on commits whose speed is known.

Makes repositories of 30 commits of a C program of some 20 ms. In half of them one commit takes 2 % more steps. Asks for a verdict
against the merge base (gate 1 %), then bisects. Beside it: bisection as `git bisect run` does it, with 10 runs by hyperfine of
each side and Mann and Whitney's test at 5 %. --load adds a busy process per CPU that works half of the time.

Goals (exits with 1 on a miss): the slower branch fails the gate in 90 %, equal commits in at most 5 %; bisect names the commit in
95 % and says "no change" in 95 %.

  bench/commits.py build/release/bin [--searches 20] [--equal 40] [--load]
"""
import argparse
import json
import multiprocessing
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

COMMITS = 30
SLOWER = 1.02
PROGRAM = """#include <stdint.h>
#include <stdio.h>
int main(void) {{
  uint64_t x = {seed};
  for (uint64_t i = 0; i < {steps}u; ++i) x = x * 6364136223846793005u + (x >> 33);
  printf("%llu\\n", (unsigned long long)x);
  return 0;
}}
"""
BUILD = "cc -O1 -o program program.c"


def git(folder, *words):
    return subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True, text=True).stdout.strip()


def calibrated_steps(folder):
    """Steps of some 20 ms."""
    steps = 4_000_000
    (folder / "program.c").write_text(PROGRAM.format(seed=1, steps=steps))
    subprocess.run(BUILD, shell=True, cwd=folder, check=True)
    spent = min(timed([folder / "program"]) for _ in range(5))
    return int(steps * 0.02 / spent)


def timed(command):
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def make_repository(folder, steps, slower_from, seed):
    """Returns the hashes, oldest first. No commit is slower without `slower_from`."""
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "config", "user.name", "A")
    git(folder, "config", "user.email", "a@example.org")
    hashes = []
    for i in range(COMMITS):
        taken = int(steps * SLOWER) if slower_from is not None and i >= slower_from else steps
        (folder / "program.c").write_text(PROGRAM.format(seed=1000 * seed + i, steps=taken))
        git(folder, "add", "program.c")
        git(folder, "commit", "--quiet", "-m", f"Commit {i}")
        hashes.append(git(folder, "rev-parse", "HEAD"))
    return hashes


def busy():
    while True:
        end = time.perf_counter() + 0.05
        while time.perf_counter() < end:
            pass
        time.sleep(0.05)


def headroom(options, folder, *words):
    start = time.perf_counter()
    result = subprocess.run([options.bin / "headroom", *words, "--no-store"], cwd=folder, capture_output=True, text=True,
                            stdin=subprocess.DEVNULL, timeout=1200)
    return result, time.perf_counter() - start


def gate(options, folder):
    return headroom(options, folder, "ab", "--git", f"HEAD~{COMMITS - 1}", "--build", BUILD, "--gate", "1%", "--max-time", "60s",
                    "./program")


def bisect(options, folder):
    out = folder.parent / "bisect.json"
    result, seconds = headroom(options, folder, "bisect", "--git", f"HEAD~{COMMITS - 1}", "--build", BUILD, "--margin", "1%",
                               "--max-time", "5min", "--json", str(out), "./program")
    latencies = [record for record in json.loads(out.read_text())["records"] if record["metric"]["name"] == "latency"]
    runs = sum(len(process["values"]) for record in latencies for process in record["samples"])
    return result, seconds, runs


def is_slower(base, test):
    """Mann and Whitney, one-sided at 5 %, by the normal approximation."""
    wins = sum((b > a) + 0.5 * (b == a) for a in base for b in test)
    n, m = len(base), len(test)
    return (wins - n * m / 2) / (n * m * (n + m + 1) / 12) ** 0.5 > 1.645


def plain_bisect(folder, trees):
    """Returns the commit that a bisection with hyperfine finds, its runs and seconds."""
    start, runs = time.perf_counter(), 0

    def times(index):
        nonlocal runs
        runs += 10
        out = folder.parent / "hyperfine.json"
        subprocess.run(["hyperfine", "--style=none", "-N", "--warmup", "1", "--runs", "10", "--export-json", out, str(trees[index])],
                       check=True, capture_output=True)
        return json.loads(out.read_text())["results"][0]["times"]

    base = times(0)
    if not is_slower(base, times(COMMITS - 1)):
        return None, runs, time.perf_counter() - start
    good, bad = 0, COMMITS - 1
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (good, middle) if is_slower(base, times(middle)) else (middle, bad)
    return bad, runs, time.perf_counter() - start


def built_programs(folder, hashes):
    """For the plain bisection: builds are not part of its time."""
    programs = []
    for sha in hashes:
        path = folder.parent / f"program_{sha[:10]}"
        source = folder.parent / "one.c"
        source.write_text(git(folder, "show", f"{sha}:program.c"))
        subprocess.run(["cc", "-O1", "-o", path, source], check=True)
        programs.append(path)
    return programs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("--searches", type=int, default=20)
    parser.add_argument("--equal", type=int, default=40)
    parser.add_argument("--load", action="store_true")
    options = parser.parse_args()
    options.bin = options.bin.resolve()
    workers = [multiprocessing.Process(target=busy, daemon=True) for _ in range(os.cpu_count() if options.load else 0)]
    for worker in workers:
        worker.start()
    source = random.Random(1)
    found = named = alarms = calm = plain_named = plain_alarms = unknown = 0
    spent = {"gate": [], "bisect": [], "runs": [], "plain": [], "plain runs": []}
    peer = shutil.which("hyperfine")
    for i in range(options.equal + options.searches):
        with tempfile.TemporaryDirectory() as scratch:
            os.environ["XDG_CACHE_HOME"] = scratch
            folder = pathlib.Path(scratch) / "repository"
            slower_from = source.randrange(1, COMMITS) if i < options.searches else None
            (pathlib.Path(scratch) / "c").mkdir()
            steps = calibrated_steps(pathlib.Path(scratch) / "c") if i == 0 else steps
            hashes = make_repository(folder, steps, slower_from, i)
            result, seconds = gate(options, folder)
            spent["gate"].append(seconds)
            unknown += result.returncode == 3
            if slower_from is not None:
                found += result.returncode == 1
            else:
                alarms += result.returncode == 1
            print(f"{i + 1} of {options.equal + options.searches}: slower from {slower_from}, gate {result.returncode}, {seconds:.1f} s",
                  file=sys.stderr)
            if i >= 2 * options.searches:
                continue
            result, seconds, runs = bisect(options, folder)
            if slower_from is not None:
                named += result.returncode == 0 and f"slower version: {hashes[slower_from][:10]}" in result.stdout
                spent["bisect"].append(seconds)
                spent["runs"].append(runs)
            else:
                calm += result.returncode == 1
            if peer:
                answer, runs, seconds = plain_bisect(folder, built_programs(folder, hashes))
                if slower_from is not None:
                    plain_named += answer == slower_from
                    spent["plain"].append(seconds)
                    spent["plain runs"].append(runs)
                else:
                    plain_alarms += answer is not None
    middle = {name: sorted(values)[len(values) // 2] if values else 0 for name, values in spent.items()}
    n, equal = options.searches, options.equal
    print(f"gate at 1 %: 2 % slower branch fails in {found} of {n}, equal commits in {alarms} of {equal}; inconclusive {unknown}; "
          f"median {middle['gate']:.1f} s with two builds")
    print(f"bisect at 95 %: names the commit in {named} of {n} ({middle['runs']} runs, {middle['bisect']:.1f} s with builds), "
          f"no change in {calm} of {min(n, equal)} without one")
    if peer:
        print(f"hyperfine and U test: names the commit in {plain_named} of {n} ({middle['plain runs']} runs, {middle['plain']:.1f} s), "
              f"a change in {plain_alarms} of {min(n, equal)} without one")
    return 0 if found >= 0.9 * n and alarms <= 0.05 * equal and named >= 0.95 * n and calm >= 0.95 * min(n, equal) else 1


if __name__ == "__main__":
    sys.exit(main())
