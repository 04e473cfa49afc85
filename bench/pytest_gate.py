#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that `pytest --headroom --headroom-gate 3%` fails if and only if a test became 10 % slower.

    PYTHONPATH=build/release/python bench/pytest_gate.py [--python PYTHON] [--runs 40] [--planted 10] [--base 1]

The baseline is a folder of --base runs, measured right before each comparison: --runs runs of the same tests, none of which should
fail, then --planted runs in which one of five tests does 10 % more: each should fail and name it.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

TESTS = """
import hashlib, os
MORE = 1.0 + float(os.environ["MORE"])
def loop(n):
    total = 0
    for i in range(n):
        total += i * i
    return total
def test_loop(headroom): headroom(loop, int(20000 * MORE))
def test_sort(headroom): headroom(sorted, list(range(20000, 0, -1)))
def test_hash(headroom): headroom(lambda: hashlib.sha256(bytes(500000)).digest())
def test_text(headroom): headroom(lambda: "".join(map(str, range(5000))))
def test_dict(headroom): headroom(lambda: {i: i for i in range(10000)})
"""


def run(options, folder, more, *arguments):
    environment = dict(os.environ, MORE=str(more))
    if "PYTHONPATH" in environment:
        environment["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, environment["PYTHONPATH"].split(os.pathsep)))
    return subprocess.run([options.python, "-m", "pytest", "-q", "-p", "headroom.pytest_plugin", "-p", "no:cacheprovider", "--headroom",
                           "--headroom-no-store", "--headroom-max-time", options.max_time, *map(str, arguments)], cwd=folder,
                          capture_output=True, text=True, env=environment, check=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--planted", type=int, default=10)
    parser.add_argument("--base", type=int, default=1)
    parser.add_argument("--max-time", default="1s")
    parser.add_argument("--run-spread", default="1%", help="run-to-run spread of quiet runs")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "test_it.py").write_text(TESTS)
        gate = ("--headroom-gate", "3%", "--headroom-baseline", "base", "--headroom-run-spread", options.run_spread)

        def judged(more):
            """Measures a new baseline, then a run compared with it."""
            shutil.rmtree(folder / "base", ignore_errors=True)
            (folder / "base").mkdir()
            for number in range(options.base):
                made = run(options, folder, 0, "--headroom-json", f"base/{number}.json")
                if made.returncode != 0:
                    sys.exit(made.stdout + made.stderr)
            return run(options, folder, more, *gate)
        alarms = []
        for _ in range(options.runs):
            result = judged(0)
            alarms += [line for line in result.stdout.splitlines() if "slower than base" in line and "::" in line][:1] * (result.returncode != 0)
        found, named = 0, 0
        for _ in range(options.planted):
            result = judged(0.1)
            found += result.returncode == 1
            named += "test_it.py::test_loop: slower than base" in result.stdout
        print(f"the same tests: {len(alarms)} of {options.runs} runs failed")
        for line in alarms:
            print("   ", line)
        print(f"one of five 10 % slower: {found} of {options.planted} runs failed, {named} named it")


if __name__ == "__main__":
    main()
