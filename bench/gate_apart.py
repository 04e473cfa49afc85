#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""False alarms of `headroom diff --gate` on suites measured in separate runs.

Each suite is `headroom run` of the nine cases of bench_gate_cases, twice in sequence, compared by the gate, which takes the
run-to-run spread from --earlier runs in the history. --load keeps CPUs busy during one of the two; --planted 10% makes one
case of the second do that much more work, and counts how often the gate finds it.
Prints the shares with 95 % intervals (Wilson). Takes about a minute a suite on an otherwise idle machine.

  bench/gate_apart.py build/release/bin [--suites 100] [--load 1] [--planted 10%] [--gate 3%] [-- --quick]

Arguments after -- are for headroom run.
"""
import argparse
import collections
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile

CASES = [f"{name} n={n}" for name, sizes in (("chain", (4096, 16384, 65536)), ("total", (4096, 65536, 4194304)),
                                             ("copied", (4096, 65536, 4194304))) for n in sizes]


def share(text):
    """Parses a share: 10% and 0.1 are the same."""
    return float(text.rstrip("%")) / 100 if text.endswith("%") else float(text)


def wilson(count, of):
    """Returns the 95 % interval of a share (Wilson 1927)."""
    z = 1.959964
    middle = (count + z * z / 2) / (of + z * z)
    half = z / (of + z * z) * math.sqrt(count * (of - count) / of + z * z / 4)
    return max(0, middle - half), min(1, middle + half)


class Bench:
    def __init__(self, arguments, scratch):
        self.programs, self.options, self.gate = arguments.folder, arguments.options, arguments.gate
        self.scratch = pathlib.Path(scratch)
        self.history = self.scratch / "history.sqlite"
        # Excludes the user's calibration as well.
        self.environment = {**os.environ, "XDG_DATA_HOME": scratch, "HEADROOM_STORE": str(self.history)}

    def run(self, *more, planted=None):
        environment = {**self.environment, **({"HEADROOM_PLANTED": planted} if planted else {})}
        command = [f"{self.programs}/headroom", "run", "--runner", f"{self.programs}/bench_gate_cases", "--hot", "--threads", "1",
                   *self.options, *map(str, more)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        # 1: a case lies above its limit.
        if done.returncode not in (0, 1):
            raise SystemExit(f"gate_apart: headroom run: {done.stderr}")

    def side(self, name, hogs, planted=None):
        path = self.scratch / name
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(hogs)]
        try:
            self.run("--no-store", "--json", path, planted=planted)
        finally:
            for hog in busy:
                hog.kill()
                hog.wait()
        return path

    def compare(self, load, planted):
        """Measures two runs, a random one under load, and returns the gate's verdict."""
        loaded = random.randrange(2)
        sides = [self.side(f"side{i}.json", load if i == loaded else 0, planted if i == 1 else None) for i in range(2)]
        result = subprocess.run([f"{self.programs}/headroom", "diff", "--gate", self.gate, "--json", "-", *map(str, sides)],
                              capture_output=True, text=True, env=self.environment)
        if result.returncode == 2:
            raise SystemExit(f"gate_apart: the gate could not compare: {result.stderr}")
        return json.loads(result.stdout)


def line(what, count, of):
    low, high = wilson(count, of)
    print(f"{what}: {count} of {of}, {100 * count / of:.1f} % (95 % interval {100 * low:.1f} to {100 * high:.1f} %)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--suites", type=int, default=100)
    parser.add_argument("--earlier", type=int, default=12, help="runs in the history before the first suite")
    parser.add_argument("--load", type=int, default=0, help="busy CPUs during one of the two runs")
    parser.add_argument("--planted", default="", help="how much slower one case of the second run is: 10%%")
    parser.add_argument("--gate", default="3%")
    own, options = sys.argv[1:], []
    if "--" in own:
        own, options = own[:own.index("--")], own[own.index("--") + 1:]
    arguments = parser.parse_args(own, argparse.Namespace(options=options))
    alarms = undecided = found = 0
    accusations, missed, undecided_cases = (collections.Counter() for _ in range(3))
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(arguments, scratch)
        for _ in range(arguments.earlier):
            bench.run("--store", bench.history)
        for _ in range(arguments.suites):
            slow = random.choice(CASES) if arguments.planted else None
            answer = bench.compare(arguments.load, f"{slow}:{share(arguments.planted)}" if slow else None)
            accused = {entry["case"] for entry in answer["comparisons"] if entry["verdict"] == "regression"}
            alarms += bool(accused - {slow})
            found += slow in accused
            accusations.update(accused - {slow})
            missed.update({slow} - accused - {None})
            undecided_cases.update(entry["case"] for entry in answer["comparisons"] if entry["verdict"] == "inconclusive")
            undecided += answer["gate"]["exit"] == 3
    line("suites with an unchanged case flagged", alarms, arguments.suites)
    line("suites that are inconclusive", undecided, arguments.suites)
    if arguments.planted:
        line(f"planted slowdowns of {arguments.planted} found", found, arguments.suites)
    for what, cases in (("accused", accusations), ("missed", missed), ("undecided", undecided_cases)):
        print(f"{what}:", ", ".join(f"{case} {count}x" for case, count in cases.most_common()) or "none")


if __name__ == "__main__":
    main()
