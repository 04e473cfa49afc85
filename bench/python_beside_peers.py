#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times ten functions by headroom.time, torch.utils.benchmark.Timer, pyperf and pytest-benchmark in turn, and the time to each tool's
first number.

    PYTHONPATH=build/release/python bench/python_beside_peers.py [--python PYTHON] [--rounds 5] [--seconds 0.3]

PYTHON has torch, numpy, pyperf, pytest and pytest-benchmark. Prints the median and range of each tool's medians, each from a separate
process per round. headroom agrees if its range overlaps its peers', or its median is within 3 % of it.
"""
import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

from python_door import call

SETUP = """
import contextlib, json, re
import numpy, torch
torch.set_num_threads(1)
torch.manual_seed(0)
numbers = tuple(range(10000))
words = ["word%d" % n for n in range(1000)]
document = {word: n for n, word in enumerate(words)}
pattern = re.compile("d(5+)$")
array = numpy.arange(100000, dtype=numpy.float32)
small = torch.rand(64)
square = torch.rand(256, 256)
model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 256))
batch = torch.rand(32, 256)
def nothing(): pass
def sum_tuple(): return sum(numbers)
def join_words(): return " ".join(words)
def dump_json(): return json.dumps(document)
def search_regex(): return [pattern.search(word) for word in words]
def numpy_square(): return array * array
def torch_add(): return small + small
def torch_matmul(): return square @ square
def model_no_grad(): return model(batch)
def model_autocast(): return model(batch)
CONTEXTS = {"model_no_grad": torch.no_grad(), "model_autocast": torch.autocast("cpu", dtype=torch.bfloat16)}
def context(name): return CONTEXTS.get(name, contextlib.nullcontext())
"""
NAMES = ("nothing", "sum_tuple", "join_words", "dump_json", "search_regex", "numpy_square", "torch_add", "torch_matmul", "model_no_grad",
         "model_autocast")
CHILD = SETUP + """
import sys, time
SECONDS = float(sys.argv[1])
told = []
for name in sys.argv[2:]:
    with context(name):
        told.append(measure(globals()[name]))
print(json.dumps(told))
"""
HEADROOM = """
import headroom as hr
def measure(f): return hr.time(f, max_time=SECONDS).time_ns
""" + CHILD
TIMER = """
from torch.utils.benchmark import Timer
def measure(f): return Timer("f()", globals={"f": f}).blocked_autorange(min_run_time=SECONDS).median * 1e9
""" + CHILD
PYTEST = SETUP + """
import pytest
@pytest.mark.parametrize("name", NAMES)
def test_it(benchmark, name):
    with context(name):
        benchmark(globals()[name])
"""
FIRST = """
import sys, time
start = time.monotonic()
def nap(): time.sleep(0.01)
def micro(of=sum, what=tuple(range(120))): of(what)
%s
measure({"micro": micro, "nap": nap}[sys.argv[1]])
print(time.monotonic() - start)
"""


def by_script(script):
    def measure(python, names, seconds, folder):
        path = folder / "child.py"
        path.write_text(script)
        return json.loads(call(python, path, seconds, *names, folder=folder, environment=os.environ).strip().splitlines()[-1])
    return measure


def by_pyperf(python, names, seconds, folder):
    medians = []
    for name in names:
        file = folder / "perf.json"
        file.unlink(missing_ok=True)
        call(python, "-m", "pyperf", "timeit", "-q", "-p", 2, "-n", max(2, round(seconds / 0.1 / 2)), "-w", 1, "-o", file, "-s",
             SETUP + f"\ncontext({name!r}).__enter__()", f"{name}()", "--inherit-environ", "PYTHONPATH", folder=folder,
             environment=os.environ)
        runs = json.loads(file.read_text())["benchmarks"][0]["runs"]
        medians.append(statistics.median(value for one in runs for value in one.get("values", ())) * 1e9)
    return medians


def by_pytest(python, names, seconds, folder):
    (folder / "test_it.py").write_text(f"NAMES = {list(names)!r}\n{PYTEST}")
    call(python, "-m", "pytest", "-q", "-p", "no:headroom", "-p", "no:cacheprovider", f"--benchmark-max-time={seconds}",
         "--benchmark-json=out.json", "test_it.py", folder=folder, environment=os.environ)
    return [one["stats"]["median"] * 1e9 for one in json.loads((folder / "out.json").read_text())["benchmarks"]]


TOOLS = {"headroom": by_script(HEADROOM), "Timer": by_script(TIMER), "pyperf": by_pyperf, "pytest-benchmark": by_pytest}
FIRST_NUMBERS = {
    "hr.time": "import headroom as hr\ndef measure(f): return hr.time(f)",
    "hr.time, quick": "import headroom as hr\ndef measure(f): return hr.time(f, quick=True)",
    "Timer.blocked_autorange": "from torch.utils.benchmark import Timer\n"
                               "def measure(f): return Timer('f()', globals={'f': f}).blocked_autorange()",
    "timeit.autorange": "from timeit import Timer\ndef measure(f): return Timer(f).autorange()",
}


def show_ten(options, folder):
    medians = {tool: {name: [] for name in NAMES} for tool in TOOLS}
    for at in range(options.rounds):
        for tool, measure in TOOLS.items():
            for name, median in zip(NAMES, measure(options.python, NAMES, options.seconds, folder), strict=True):
                medians[tool][name].append(median)
        print(f"round {at + 1} of {options.rounds}", file=sys.stderr)
    print("| function, µs |" + "".join(f" {tool} |" for tool in TOOLS) + " headroom agrees |\n|---|" + "---:|" * len(TOOLS) + "---|")
    agreed = 0
    for name in NAMES:
        ours = medians["headroom"][name]
        theirs = [median for tool in TOOLS if tool != "headroom" for median in medians[tool][name]]
        middle = statistics.median(ours)
        agrees = (min(ours) <= max(theirs) and min(theirs) <= max(ours)) or 0.97 * min(theirs) <= middle <= 1.03 * max(theirs)
        agreed += agrees
        cells = "".join(f" {statistics.median(of[name]) / 1e3:.4g} ({min(of[name]) / 1e3:.4g} to {max(of[name]) / 1e3:.4g}) |"
                        for of in medians.values())
        print(f"| {name} |{cells} {'yes' if agrees else 'no'} |")
    print(f"\nheadroom agrees with its peers on {agreed} of {len(NAMES)} functions.\n")
    return agreed == len(NAMES)


def show_first_numbers(options, folder):
    print("| seconds to the first number | 1 µs | least | most | 10 ms | least | most |\n|---|" + "---:|" * 6)
    seconds = {tool: {"micro": [], "nap": []} for tool in FIRST_NUMBERS}
    for _ in range(options.rounds):
        for tool, body in FIRST_NUMBERS.items():
            (folder / "first.py").write_text(FIRST % body)
            for what, told in seconds[tool].items():
                told.append(float(call(options.python, folder / "first.py", what, folder=folder, environment=os.environ)))
    for tool, of in seconds.items():
        print(f"| {tool} |" + "".join(f" {statistics.median(told):.2f} | {min(told):.2f} | {max(told):.2f} |" for told in of.values()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.3, help="time of each function and tool")
    options = parser.parse_args()
    os.environ["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, os.environ.get("PYTHONPATH", "").split(os.pathsep)))
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        agrees = show_ten(options, folder)
        show_first_numbers(options, folder)
    print(f"\n{time.monotonic() - start:.0f} s in all")
    return 0 if agrees else 1


if __name__ == "__main__":
    sys.exit(main())
