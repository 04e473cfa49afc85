#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""False alarms and power of `headroom ab --gate`, beside hyperfine with Welch's test on the same programs with as many runs.

Programs of some 20 ms, the second slower by 0, 1, 2, 3, 5 %. The gate decides when it stops; hyperfine then takes as many runs of
each. Welch: slower at p < 5 %, two-sided. --load adds a busy process per CPU that works half of the time.

Goal (exits with 1 on a miss): the gate fails at most 5 % of equal programs, and no fewer slower ones than half of Welch's.

  bench/gate_beside_hyperfine.py build/release/bin [--pairs 30] [--gate 0.5%] [--load]
"""
import argparse
import json
import multiprocessing
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from commits import BUILD, PROGRAM, busy, calibrated_steps

SLOWDOWNS = (0, 0.01, 0.02, 0.03, 0.05)


def build(folder, seed, steps):
    folder.mkdir()
    (folder / "program.c").write_text(PROGRAM.format(seed=seed, steps=steps))
    subprocess.run(BUILD, shell=True, cwd=folder, check=True)
    return folder / "program"


def gate(options, folder, programs):
    """Returns the exit code, the runs of each side and the seconds."""
    out = folder / "gate.json"
    start = time.perf_counter()
    code = subprocess.run([options.bin / "headroom", "ab", *map(str, programs), "--gate", options.gate, "--max-time", "60s",
                           "--no-store", "--json", out], capture_output=True, check=False).returncode
    seconds = time.perf_counter() - start
    latency = [record for record in json.loads(out.read_text())["records"] if record["metric"]["name"] == "latency"]
    return code, sum(len(process["values"]) for process in latency[0]["samples"]), seconds


def quantile_of_student(freedom, z=1.96):
    """97.5 %, by Cornish and Fisher's expansion."""
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


def welch(folder, programs, runs):
    """Returns whether the second is slower, and the seconds."""
    out = folder / "hyperfine.json"
    start = time.perf_counter()
    subprocess.run(["hyperfine", "--style=none", "-N", "--runs", str(runs), "--export-json", out, *map(str, programs)],
                   check=True, capture_output=True)
    seconds = time.perf_counter() - start
    base, test = (result["times"] for result in json.loads(out.read_text())["results"])
    parts = [statistics.variance(times) / len(times) for times in (base, test)]
    freedom = sum(parts) ** 2 / sum(part**2 / (runs - 1) for part in parts)
    return (statistics.mean(test) - statistics.mean(base)) / sum(parts) ** 0.5 > quantile_of_student(freedom), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--gate", default="0.5%")
    parser.add_argument("--load", action="store_true")
    options = parser.parse_args()
    options.bin = options.bin.resolve()
    for _ in range(os.cpu_count() if options.load else 0):
        multiprocessing.Process(target=busy, daemon=True).start()
    missed = False
    print(f"{'slower':>7}  {'gate fails':>10}  {'inconclusive':>12}  {'Welch: slower':>13}  {'runs':>5}  {'gate':>7}  {'hyperfine':>9}")
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        (scratch / "c").mkdir()
        steps = calibrated_steps(scratch / "c")
        for slowdown in SLOWDOWNS:
            fails = unknown = slower = 0
            runs, gate_seconds, peer_seconds = [], [], []
            for i in range(options.pairs):
                folder = scratch / f"{slowdown}_{i}"
                folder.mkdir()
                programs = [build(folder / "old", 2 * i, steps), build(folder / "new", 2 * i + 1, int(steps * (1 + slowdown)))]
                code, taken, seconds = gate(options, folder, programs)
                fails, unknown = fails + (code == 1), unknown + (code == 3)
                runs.append(taken)
                gate_seconds.append(seconds)
                is_slower, seconds = welch(folder, programs, max(taken, 2))
                slower += is_slower
                peer_seconds.append(seconds)
            missed = missed or (fails > 0.05 * options.pairs if slowdown == 0 else 2 * fails < slower)
            print(f"{slowdown:>7.0%}  {fails:>4} of {options.pairs:<3}  {unknown:>12}  {slower:>6} of {options.pairs:<4}  "
                  f"{statistics.median(runs):>5.0f}  {statistics.median(gate_seconds):>5.1f} s  {statistics.median(peer_seconds):>7.1f} s",
                  flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
