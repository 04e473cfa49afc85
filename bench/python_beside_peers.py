#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times ten functions by headroom.time, torch.utils.benchmark.Timer, pyperf and pytest-benchmark in turn, and the time to each tool's
first number.

    PYTHONPATH=build/release/python bench/python_beside_peers.py [--python PYTHON] [--rounds 5] [--seconds 0.3]

PYTHON has torch, numpy, pyperf, pytest and pytest-benchmark. Every tool measures every function in its own process per round. Prints the
median of each tool's medians with the 5th and 95th percentile of its samples. headroom agrees if its spread overlaps that of its peers
taken together, or its median is within 3 % of it. Timer and pyperf include their loop; the time of an empty statement, measured in the same
process, is subtracted. A plain Python loop is timed twice more, back to back and after a sleep of 1 ms before each 40 calls, to show
how far a time depends on what ran before.
"""
import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

from python_overhead import call

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
        told.append(list(measure(globals()[name])))
print(json.dumps(told))
"""
HEADROOM = """
import headroom as hr
def measure(f): return hr.time(f, max_time=SECONDS).samples_ns
""" + CHILD
TIMER = """
from torch.utils.benchmark import Timer
def sampled(statement, f):
    return [seconds * 1e9 for seconds in Timer(statement, globals={"f": f}).blocked_autorange(min_run_time=SECONDS).times]
def measure(f):
    loop = sorted(sampled("pass", f))
    return [time - loop[len(loop) // 2] for time in sampled("f()", f)]
""" + CHILD
LOOP = """
def measure(f):
    samples, end = [], time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        time.sleep(PAUSE)
        start = time.perf_counter_ns()
        for _ in range(40): f()
        samples.append((time.perf_counter_ns() - start) / 40)
    return samples
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


def pyperf_samples(python, statement, setup, seconds, folder):
    file = folder / "perf.json"
    file.unlink(missing_ok=True)
    call(python, "-m", "pyperf", "timeit", "-q", "-p", 2, "-n", max(2, round(seconds / 0.1 / 2)), "-w", 1, "-o", file, "-s", setup,
         statement, "--inherit-environ", "PYTHONPATH", folder=folder, environment=os.environ)
    runs = json.loads(file.read_text())["benchmarks"][0]["runs"]
    return [value * 1e9 for one in runs for value in one.get("values", ())]


def by_pyperf(python, names, seconds, folder):
    loop = statistics.median(pyperf_samples(python, "pass", "pass", seconds, folder))
    return [[value - loop for value in pyperf_samples(python, f"{name}()", SETUP + f"\ncontext({name!r}).__enter__()", seconds, folder)]
            for name in names]


def by_pytest(python, names, seconds, folder):
    (folder / "test_it.py").write_text(f"NAMES = {list(names)!r}\n{PYTEST}")
    call(python, "-m", "pytest", "-q", "-p", "no:headroom", "-p", "no:cacheprovider", f"--benchmark-max-time={seconds}",
         "--benchmark-save-data", "--benchmark-json=out.json", "test_it.py", folder=folder, environment=os.environ)
    times = json.loads((folder / "out.json").read_text())["benchmarks"]
    return [[value * 1e9 for value in one["stats"]["data"]] for one in times]


PEERS = {"Timer": by_script(TIMER), "pyperf": by_pyperf, "pytest-benchmark": by_pytest}
TOOLS = {"headroom": by_script(HEADROOM), **PEERS, "loop": by_script("PAUSE = 0" + LOOP),
         "loop after 1 ms of sleep": by_script("PAUSE = 1e-3" + LOOP)}
FIRST_NUMBERS = {
    "hr.time": "import headroom as hr\ndef measure(f): return hr.time(f)",
    "hr.time, quick": "import headroom as hr\ndef measure(f): return hr.time(f, quick=True)",
    "Timer.blocked_autorange": "from torch.utils.benchmark import Timer\n"
                               "def measure(f): return Timer('f()', globals={'f': f}).blocked_autorange()",
    "timeit.autorange": "from timeit import Timer\ndef measure(f): return Timer(f).autorange()",
}


def spread(rounds):
    """(5th percentile of the samples, median of the rounds' medians, 95th percentile of the samples)."""
    samples = sorted(sample for one in rounds for sample in one)
    at = lambda share: samples[round(share * (len(samples) - 1))]
    return at(0.05), statistics.median(map(statistics.median, rounds)), at(0.95)


def show_ten(options, folder):
    rounds = {tool: {name: [] for name in NAMES} for tool in TOOLS}
    for at in range(options.rounds):
        for tool, measure in TOOLS.items():
            for name, samples in zip(NAMES, measure(options.python, NAMES, options.seconds, folder), strict=True):
                rounds[tool][name].append(samples)
        print(f"round {at + 1} of {options.rounds}", file=sys.stderr)
    print("| function, µs |" + "".join(f" {tool} |" for tool in TOOLS) + " headroom agrees |\n|---|" + "---:|" * len(TOOLS) + "---|")
    agreed = 0
    for name in NAMES:
        spreads = {tool: spread(of[name]) for tool, of in rounds.items()}
        low, middle, high = spreads["headroom"]
        least, most = min(spreads[tool][0] for tool in PEERS), max(spreads[tool][2] for tool in PEERS)
        agrees = (low <= most and least <= high) or 0.97 * least <= middle <= 1.03 * most
        agreed += agrees
        cells = "".join(f" {median / 1e3:.4g} ({start / 1e3:.4g} to {end / 1e3:.4g}) |" for start, median, end in spreads.values())
        print(f"| {name} |{cells} {'yes' if agrees else 'no'} |")
    print(f"\nheadroom agrees with its peers on {agreed} of {len(NAMES)} functions.\n")
    return agreed == len(NAMES)


def show_first_numbers(options, folder):
    print("| seconds to the first number | 1 µs | least | most | 10 ms | least | most |\n|---|" + "---:|" * 6)
    seconds = {tool: {"micro": [], "nap": []} for tool in FIRST_NUMBERS}
    for _ in range(options.rounds):
        for tool, body in FIRST_NUMBERS.items():
            (folder / "first.py").write_text(FIRST % body)
            for what, times in seconds[tool].items():
                times.append(float(call(options.python, folder / "first.py", what, folder=folder, environment=os.environ)))
    for tool, of in seconds.items():
        print(f"| {tool} |" + "".join(f" {statistics.median(times):.2f} | {min(times):.2f} | {max(times):.2f} |" for times in of.values()))


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
