#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every command with --max-time keeps it, with two runners or commands and several times.

    bench/max_time.py build/release/bin [5 20 60] [--python VENV/bin/python] [--only run,ab,...]

Each command has more work than the time allows. Prints how long after its --max-time it ended, the longest sample in its records,
and the numbers of rows measured and not reached. Exits with 1 if a command ends later than its longest sample plus 5 s, or loses
its rows. --python: Python with torch and pytest for the Python jobs (default: this one). Jobs that cannot run here are listed.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

PATIENCE = 5
EXPERIMENTS = """
import time
import headroom as hr

for name in ("one", "two", "three"):
    @hr.experiment(axes={"ms": [1, 300]}, backends=("plain", "twice"), name=name)
    def case(state):
        state.measure(lambda: time.sleep(state["ms"] / 1000 * (2 if state.backend == "twice" else 1)))
hr.main()
"""
TESTS = """
import time
import pytest

@pytest.mark.parametrize("ms", [1, 400])
def test_sleeps(benchmark, ms):
    benchmark(time.sleep, ms / 1000)
"""


def jobs(bin_folder, python, folder):
    """By name: the arguments of headroom, or a whole command where the first is a path."""
    native, ranks = [str(bin_folder / name) for name in ("headroom-native", "headroom-torch-rank")]
    (folder / "experiments.py").write_text(EXPERIMENTS)
    (folder / "test_sleeps.py").write_text(TESTS)
    suite = folder / "suite.toml"
    suite.write_text('models = ["short", "long"]\nlayers = ["env:MINE"]\nrepeat = 1000\n'
                     'command = ["sh", "-c", "if test {model} = long; then sleep 1; else sleep 0.2; fi; touch $MINE/mark"]\n'
                     'metric = {from = "wall"}\n')
    found = {
        "run": ["run", "gemv", "--runner", native, "--runner", native, "--precision", "0.01%"],
        "run file.py": ["run", str(folder / "experiments.py"), "--all-backends", "--precision", "0.01%"],
        "ab": ["ab", "sleep {t}", "sleep 0.9", "-L", "t", "0.8,0.5", "--min-rounds", "1000"],
        "time": ["time", "sleep 1.3", "--runs", "1000"],
        "cache": ["cache", "--suite", str(suite)],
    }
    if pathlib.Path(ranks).exists():
        two = ["--runner", ranks, "--runner", ranks]
        found["dispatch"] = ["dispatch", "--ranks", "2", "--precision", "0.01%", *two]
        found["ddp"] = ["ddp", "--ranks", "1,2", "--model", "mlp,resnet18", "--precision", "0.01%", *two]
        found["ddp --collectives"] = ["ddp", "--collectives", "--ranks", "2", "--precision", "0.01%", *two]
    has = subprocess.run([python, "-c", "import importlib.util as u; print(*[n for n in ('torch', 'pytest') if u.find_spec(n)])"],
                         capture_output=True, text=True, check=True).stdout.split()
    if "torch" in has:
        found["gpt_fast"] = ["run", "--python", "gpt_fast", "--backend", "torch,torch_compile"]
    if "pytest" in has:
        found["pytest"] = [python, "-m", "pytest", "-q", "-p", "headroom.pytest_plugin", "-p", "no:cacheprovider", "-p", "no:benchmark", "--headroom",
                           "--headroom-no-store", "--headroom-precision", "0.01%", str(folder / "test_sleeps.py")]
    return found


def longest_sample(records):
    """Returns the longest sample, in s."""
    longest = 0
    for record in records:
        metric = record["metric"]
        unit = {"s": 1, "us": 1e-6}.get(metric.get("unit"), 0)
        for process in record.get("samples", []):
            iterations = process.get("iterations", 1) if metric["name"] == "latency" else 1
            longest = max([longest, *(value * unit * iterations for value in process["values"])])
    return longest


def measure(name, arguments, seconds, options, folder):
    """Returns a row of the table, and its faults."""
    output = folder / "records.json"
    output.unlink(missing_ok=True)
    environment = {**os.environ, "HEADROOM_PYTHON": options.python, "HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache"),
                   "HEADROOM": str(options.bin / "headroom")}
    runs = 1
    if name == "pytest":  # --headroom-max-time is that of each test
        runs = 2
        command = [*arguments, "--headroom-max-time", f"{seconds:g}s", "--headroom-json", str(output)]
    else:
        command = [str(options.bin / "headroom"), *arguments, "--no-store", "--max-time", f"{seconds:g}s", "--json", str(output)]
    begin = time.monotonic()
    try:
        result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=runs * seconds + 300, check=False)
    except subprocess.TimeoutExpired:
        return (name, f"{seconds:g} s", "more than 300 s", "", "", "", ""), ["not ended by then"]
    late = time.monotonic() - begin - runs * seconds
    records = json.loads(output.read_text())["records"] if output.exists() else []
    headlines = [record for record in records if record["metric"].get("headline") or record["outcome"]["kind"] != "measured"]
    unreached = [record for record in headlines if record["outcome"]["kind"] == "skipped" and record["stop"] == "max-time"]
    sample = longest_sample(records)
    wrong = []
    if late > sample + PATIENCE:
        wrong.append(f"{late - sample - PATIENCE:.1f} s later than a sample plus {PATIENCE} s")
    if not records:
        wrong.append(f"no rows (exit code {result.returncode}): {result.stderr.strip()[-200:]}")
    if result.returncode != (3 if unreached else 0):
        wrong.append(f"exit code {result.returncode} with {len(unreached)} rows not reached: {result.stderr.strip()[-200:]}")
    row = (name, f"{seconds:g} s", f"{late:+.2f} s", f"{sample:.2f} s", str(len(headlines) - len(unreached)), str(len(unreached)),
           str(result.returncode))
    return row, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("seconds", type=float, nargs="*", default=[5, 20, 60])
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--only", default="", help="names of the first column, separated by commas")
    options = parser.parse_args()
    options.bin = options.bin.absolute()
    print(f"load before: {os.getloadavg()[0]:.1f}, {len(os.sched_getaffinity(0))} CPUs")
    wide = "{:18} {:>6} {:>16} {:>15} {:>9} {:>12} {:>5}"
    print(wide.format("command", "time", "ended late by", "longest sample", "measured", "not reached", "exit"))
    faults = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        chosen = jobs(options.bin, options.python, folder)
        for left_out in ("dispatch", "gpt_fast", "pytest"):
            if left_out not in chosen:
                print(f"{left_out}: not on this machine")
        for seconds in options.seconds:
            for name, arguments in chosen.items():
                if options.only and name not in options.only.split(","):
                    continue
                row, wrong = measure(name, arguments, seconds, options, folder)
                print(wide.format(*row), flush=True)
                for fault in wrong:
                    print(f"    WRONG: {fault}", flush=True)
                faults += bool(wrong)
    print(f"load after: {os.getloadavg()[0]:.1f}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
