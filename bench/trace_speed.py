#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Speed and memory of `headroom trace` (the summary), compared with peers.

Replicas of a real trace (make_trace_replicas.py): 108 MB, 1 GB and 4 GB of text, 100 MB of gzip (-1) and of zstd, 8 and 64 ranks.
headroom takes turns, in random order, with simdjson's on-demand parser (bench_trace_read simdjson, built with
-DHEADROOM_BENCH=ON), `gzip -dc`, `unpigz -c`, `zstd -dc`, one run of headroom per rank, and with --base another build of
headroom. Prints medians, paired ratios with their range, and the largest peaks (at least this script's own, some 20 MiB). Checks
the number of events, the busy time and, if headroom-trace-mpi was built, the tables under `mpirun -n 2`.

Goals (exits with 1 on a miss): CPU time at most simdjson's on 1 GB, peak at most 300 MiB on 4 GB, wall time at most half of
gzip's, 64 ranks in at most 0.6 times the time of 64 runs; with --seed CPU time at most 1/12 of PyTorch's compute_utilization.
Takes some 6 minutes, and 30 s for the seed.

  bench/trace_speed.py build/release/bin SOURCE.json.gz [--base HEADROOM] [--rounds 5] [--scratch FOLDER] [--seed FILE]

SOURCE: hta__df_index_resolver_df_index_resolver.json.gz of Holistic Trace Analysis. FILE: PyTorch's
torch/_functorch/benchmark_utils.py, or a text with it in a ```python block.
"""
import argparse
import dataclasses
import gzip
import json
import math
import os
import pathlib
import random
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import textwrap

from child_process import run

MAKER = pathlib.Path(__file__).with_name("make_trace_replicas.py")
SMALL, LARGE, PACKED, HUGE = 2, 19, 24, 76  # copies: 108 MB, 1.03, 1.3 and 4.12 GB
ALLOWED = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
           "OMPI_MCA_rmaps_base_oversubscribe": "1"}


@dataclasses.dataclass
class Goal:
    """An upper limit: for the ratio to a peer of `wall_s` or `cpu_s`, or without a peer for the peak in MiB."""
    field: str
    limit: float
    peer: str = ""


@dataclasses.dataclass
class Row:
    """One input; the first command is headroom's."""
    title: str
    commands: dict
    goals: list
    is_long: bool = False  # two rounds less


def quiet(command):
    return ["sh", "-c", f"exec {shlex.join(map(str, command))} > /dev/null"]


def in_turn(command, files):
    """Runs the command once per file."""
    return ["sh", "-ec", "; ".join(f"{shlex.join(map(str, [*command, file]))} > /dev/null" for file in files)]


def take_turns(commands, rounds):
    """Returns a list of runs per command, without the first turn, for which the file may not be cached."""
    runs = {name: [] for name in commands}
    for turn in range(rounds + 1):
        for name in random.sample(list(commands), len(commands)):
            finished = run(commands[name], stderr=subprocess.DEVNULL)
            if turn > 0:
                runs[name].append(finished)
    return runs


def ratios(ours, theirs, field):
    return [getattr(a, field) / getattr(b, field) for a, b in zip(ours, theirs)]


def ratio_text(values):
    return f"{statistics.median(values):.3f} ({min(values):.3f} to {max(values):.3f})"


def peak_mib(runs):
    return max(one.peak_bytes for one in runs) / 2**20


def show(name, runs, ours=None):
    wall, cpu = (statistics.median(getattr(one, field) for one in runs) for field in ("wall_s", "cpu_s"))
    line = f"  {name:<24} {wall:7.3f} s wall {cpu:7.3f} s CPU {peak_mib(runs):7.1f} MiB"
    if ours is not None:
        line += f"   headroom / it: wall {ratio_text(ratios(ours, runs, 'wall_s'))}, " \
                f"CPU {ratio_text(ratios(ours, runs, 'cpu_s'))}"
    print(line, flush=True)


def is_met(goal, runs, ours):
    if goal.peer:
        value, what = statistics.median(ratios(ours, runs[goal.peer], goal.field)), f"{goal.field[:-2]} / {goal.peer}"
    else:
        value, what = peak_mib(ours), "peak in MiB"
    print(f"  goal: {what} {value:.3g}, at most {goal.limit:.3g}: {'met' if value <= goal.limit else 'MISSED'}")
    return value <= goal.limit


def measure(row, rounds):
    """Prints the row; returns whether all its goals are met."""
    rounds = min(rounds, max(3, rounds - 2)) if row.is_long else rounds
    print(f"{row.title} (n = {rounds}):")
    runs = take_turns(row.commands, rounds)
    ours = next(iter(runs.values()))
    for name, of_name in runs.items():
        show(name, of_name, None if of_name is ours else ours)
    return all([is_met(goal, runs, ours) for goal in row.goals])


def answer(headroom, file):
    """Returns the summary of the file and its busy time."""
    document = json.loads(run([*headroom, "--json", "-", file]).output)["trace"]
    busy = [line["value"] for line in document["headlines"] if line["metric"] == "busy_ns" and not line.get("device")]
    return document["files"][0], busy[0]


def is_right(headroom, simdjson, file, copies, one):
    """Checks that no event of the replicas was lost; `one`: the answer for the source."""
    facts, busy = answer(headroom, file)
    counted = int(re.search(rb"events (\d+)", run([*simdjson, file]).output).group(1))
    good = facts["is_complete"] and facts["json_bytes"] == file.stat().st_size and facts["events"] == counted and \
        math.isclose(busy, copies * one[1], rel_tol=1e-12)
    if not good:
        print(f"  {file.name}: WRONG: {facts}, busy {busy} ns, {counted} events by simdjson")
    return good


def is_same_under_mpi(folder, job):
    program = folder / "headroom-trace-mpi"
    if not program.exists() or not shutil.which("mpirun"):
        print("  under mpirun -n 2: not built, or no mpirun")
        return True
    one = run([folder / "headroom", "trace", "summary", "--no-store", job], stderr=subprocess.DEVNULL)
    two = run(["mpirun", "-n", "2", program, "summary", "--no-store", job], stderr=subprocess.DEVNULL,
              env={**os.environ, **ALLOWED})
    print(f"  under mpirun -n 2: {'the same tables' if one.output == two.output else 'OTHER TABLES'}")
    return one.output == two.output


def seed_program(path, trace):
    """Writes a program that calls the seed's functions with stubs for torch."""
    text = pathlib.Path(path).read_text()
    block = re.search(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    functions = block.group(1) if block else text
    stub = "import sys, types\nfor name in ('torch', 'torch.profiler'):\n    sys.modules[name] = types.ModuleType(name)\n" \
           "sys.modules['torch.profiler'].profile = sys.modules['torch.profiler'].ProfilerActivity = None\n"
    return stub + functions + textwrap.dedent(f"\n        print(compute_utilization({str(trace)!r}, 1.0))\n")


class Bench:
    """The inputs in a folder, and their commands."""

    def __init__(self, options, folder):
        self.options, self.folder = options, pathlib.Path(folder)
        self.headroom = [options.bin / "headroom", "trace", "summary", "--no-store"]
        self.base = [options.base, *self.headroom[1:]] if options.base else None
        self.simdjson = [options.bin / "bench_trace_read", "simdjson"]
        self.good = []

    def replica(self, copies):
        file = self.folder / f"{copies}.json"
        subprocess.run([sys.executable, MAKER, self.options.source, file, "--copies", str(copies)], check=True)
        return file

    def ours(self, file):
        return {"headroom": [*self.headroom, file], **({"base": [*self.base, file]} if self.base else {})}

    def measure(self, *row):
        self.good.append(measure(Row(*row), self.options.rounds))

    def plain(self, copies, goals, is_long=False):
        file = self.replica(copies)
        self.measure(f"plain, {file.stat().st_size / 1e6:.0f} MB",
                     {**self.ours(file), "simdjson, 8 MiB windows": [*self.simdjson, file]}, goals, is_long)
        one = answer(self.headroom, self.options.source)
        self.good.append(is_right(self.headroom, self.simdjson, file, copies, one))
        return file

    def packed(self, file, packer, peers, goals):
        packed = file.with_suffix(packer[1])
        with open(packed, "wb") as out:
            subprocess.run([*packer[0], file], stdout=out, check=True)
        missing = [name for name in peers if not shutil.which(name.split()[0])]
        commands = {name: quiet([*name.split(), packed]) for name in peers if name not in missing}
        self.measure(f"{packer[0][0]}, {packed.stat().st_size / 1e6:.0f} MB", {**self.ours(packed), **commands},
                     [goal for goal in goals if goal.peer in commands], True)
        for name in missing:
            print(f"  {name}: not installed (tools/setup.sh peers)")
        packed.unlink()

    def ranks(self, count, limit):
        trace, job = self.folder / "trace.json", self.folder / f"{count} ranks"
        if not trace.exists():
            with gzip.open(self.options.source) as packed, open(trace, "wb") as file:
                shutil.copyfileobj(packed, file)
        job.mkdir()
        files = [job / f"rank-{rank}.json" for rank in range(count)]
        for file in files:
            os.link(trace, file)
        runs = f"{count} runs"
        self.measure(f"{count} ranks of {trace.stat().st_size / 1e6:.0f} MB",
                     {**self.ours(job), runs: in_turn(self.headroom, files)},
                     [Goal("wall_s", limit, runs)] if limit else [], True)
        self.good.append(is_same_under_mpi(self.options.bin, job))

    def seed(self, file):
        runs = {"headroom": [run([*self.headroom, file])],
                "Python": [run([sys.executable, "-c", seed_program(self.options.seed, file)])]}
        print("PyTorch's compute_utilization (n = 1):")
        show("Python", runs["Python"], runs["headroom"])
        self.good.append(is_met(Goal("cpu_s", 1 / 12, "Python"), runs, runs["headroom"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("source")
    parser.add_argument("--base", type=pathlib.Path, help="another build of headroom to compare with")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scratch", help="folder for temporary files, 6.5 GB (default: the system's)")
    parser.add_argument("--seed", help="PyTorch's benchmark_utils.py")
    options = parser.parse_args()
    if not (options.bin / "bench_trace_read").exists():
        parser.error(f"no bench_trace_read in {options.bin}: configure with -DHEADROOM_BENCH=ON and build that target")

    with tempfile.TemporaryDirectory(dir=options.scratch) as folder:
        bench = Bench(options, folder)
        bench.plain(SMALL, [])
        large = bench.plain(LARGE, [Goal("cpu_s", 1.0, "simdjson, 8 MiB windows")])
        if options.seed:
            bench.seed(large)
        large.unlink()
        text = bench.replica(PACKED)
        bench.packed(text, (["gzip", "-1", "-c"], ".json.gz"), ["gzip -dc", "unpigz -c"],
                     [Goal("wall_s", 0.5, "gzip -dc")])
        bench.packed(text, (["zstd", "-q", "-c"], ".json.zst"), ["zstd -qdc"], [])
        text.unlink()
        bench.plain(HUGE, [Goal("peak", 300)], True).unlink()
        bench.ranks(8, None)
        bench.ranks(64, 0.6)
    return 0 if all(bench.good) else 1


if __name__ == "__main__":
    sys.exit(main())
