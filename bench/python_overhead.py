#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Call overhead from Python in headroom.compare, pyperf, pytest-benchmark and torch.utils.benchmark.Timer, and how well each
distinguishes two functions 3 % apart.

    PYTHONPATH=build/release/python bench/python_overhead.py [--python PYTHON] [--runs 14] [--seconds 1]

PYTHON has pyperf, pytest, pytest-benchmark and, optionally, torch. The functions: an empty one, sum() of a tuple that takes about
1 µs, and sum() of tuples of 10,000 and 10,300 numbers, whose ratio each tool measures in every run in about the same time.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

SETUP = """
small = tuple(range(120))
a = tuple(range(10000))
b = tuple(range(10300))
def nothing():
    pass
def micro(of=sum, what=small):
    of(what)
def kernel_a(of=sum, what=a):
    of(what)
def kernel_b(of=sum, what=b):
    of(what)
"""
NAMES = ("nothing", "micro", "kernel_a", "kernel_b")
BODY_OF_CHILD = "import json, sys\n" + SETUP + "FUNCTIONS = [globals()[name] for name in sys.argv[2:]]\nSECONDS = float(sys.argv[1])\n"
HEADROOM = BODY_OF_CHILD + """
import headroom as hr
if len(FUNCTIONS) == 1:
    print(json.dumps([hr.time(FUNCTIONS[0], max_time=f"{SECONDS}s", threads=1).time_ns]))
else:
    told = hr.compare(FUNCTIONS, max_time=f"{SECONDS * len(FUNCTIONS)}s", precision="0.01%", threads=1)
    print(json.dumps([1.0, told[1].ratio[0]]))
"""
TORCH = BODY_OF_CHILD + """
from torch.utils.benchmark import Timer
print(json.dumps([Timer("f()", globals={"f": f}).blocked_autorange(min_run_time=SECONDS).median * 1e9 for f in FUNCTIONS]))
"""
PYTEST = SETUP + """
import pytest
@pytest.mark.parametrize("name", %r)
def test_it(benchmark, name):
    benchmark(globals()[name])
"""


def call(*command, folder, environment):
    done = subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True, env=environment, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-400:] or done.stdout[-400:])
    return done.stdout


def by_script(script):
    def measure(python, names, seconds, folder, environment):
        path = folder / "child.py"
        path.write_text(script)
        return json.loads(call(python, path, seconds, *names, folder=folder, environment=environment).strip().splitlines()[-1])
    return measure


def by_pyperf(python, names, seconds, folder, environment):
    values = []
    for name in names:
        file = folder / "perf.json"
        file.unlink(missing_ok=True)
        call(python, "-m", "pyperf", "timeit", "-q", "-p", 4, "-n", max(1, round(seconds / 4 / 6 * 4)), "-w", 1, "-o", file, "-s", SETUP,
             f"{name}()", "--inherit-environ", "PYTHONPATH", "--loops", 0, folder=folder, environment=environment)
        report = json.loads(file.read_text())
        runs = [value for run in report["benchmarks"][0]["runs"] for value in run.get("values", ())]
        values.append(statistics.median(runs) * 1e9)
    return values


def by_pytest(python, names, seconds, folder, environment):
    (folder / "test_it.py").write_text(PYTEST % (list(names),))
    call(python, "-m", "pytest", "-q", "-p", "no:headroom", "-p", "no:cacheprovider", f"--benchmark-max-time={seconds}",
         "--benchmark-json=out.json", "test_it.py", folder=folder, environment=environment)
    report = json.loads((folder / "out.json").read_text())["benchmarks"]
    return [one["stats"]["median"] * 1e9 for one in report]


TOOLS = {"headroom": by_script(HEADROOM), "pyperf": by_pyperf, "pytest-benchmark": by_pytest, "torch Timer": by_script(TORCH)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--runs", type=int, default=14, help="at least 2")
    parser.add_argument("--seconds", type=float, default=1.0)
    options = parser.parse_args()
    environment = dict(os.environ)
    if "PYTHONPATH" in environment:
        environment["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, environment["PYTHONPATH"].split(os.pathsep)))
    print(f"{'':18}{'nothing':>12}{'sum, 1 µs':>12}{'b / a':>10}{'least':>9}{'most':>9}{'sd':>9}{'s a run':>10}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        results = {}
        for tool, measure in TOOLS.items():
            try:
                results[tool] = [measure(options.python, ["nothing"], options.seconds, folder, environment)[0],
                                 measure(options.python, ["micro"], options.seconds, folder, environment)[0], [], []]
            except RuntimeError as error:
                print(f"{tool:18}not available: {str(error).strip().splitlines()[-1]}")
        # In turn, so that disturbances affect all tools alike.
        for _ in range(options.runs):
            for tool, report in results.items():
                start = time.monotonic()
                first, second = TOOLS[tool](options.python, ["kernel_a", "kernel_b"], options.seconds, folder, environment)
                report[2].append(second / first)
                report[3].append(time.monotonic() - start)
        for tool, (empty, micro, ratios, seconds) in results.items():
            print(f"{tool:18}{empty:9.1f} ns{micro:9.1f} ns{statistics.median(ratios):10.4f}{min(ratios):9.4f}{max(ratios):9.4f}"
                  f"{statistics.stdev(ratios):9.4f}{statistics.median(seconds):10.1f}")


if __name__ == "__main__":
    main()
