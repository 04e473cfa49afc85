#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`headroom trace summary` beside simdjson on-demand that extracts four fields, on one file, both in one run.

Makes a replica of a real trace (make_trace_replicas.py; 1.03 GB with 19 copies), then takes --pairs turns, each of them
in a random order. simdjson runs as a whole program (bench_trace_read simdjson): it loads the file and parses it.
The same of the packed file against `gzip -dc`. Prints the medians, the median of the paired ratios with the least and
the largest, and the peaks. Goals, for each of which a miss ends this with 1: CPU time at most 1.5 times and wall time at
most 0.8 times simdjson's, peak at most 300 MiB, packed at most 1.3 times gzip's wall time. With --seed also: CPU time at
most 1/12 of that of PyTorch's compute_utilization, run once.

  bench/trace_speed.py build/release/bin SOURCE.json.gz [--copies 19] [--pairs 7] [--scratch FOLDER] [--seed FILE]

SOURCE: hta__df_index_resolver_df_index_resolver.json.gz of Holistic Trace Analysis. FILE: PyTorch's
torch/_functorch/benchmark_utils.py, or a text that holds it in a ```python block.
"""
import argparse
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile
import textwrap

from child_process import run

MAKER = pathlib.Path(__file__).with_name("make_trace_replicas.py")


def median(runs, field):
    return statistics.median(getattr(one, field) for one in runs)


def show(name, runs):
    peak = max(one.peak_bytes for one in runs) / 2**20
    print(f"  {name:<22} {median(runs, 'wall_s'):7.3f} s wall  {median(runs, 'cpu_s'):7.3f} s CPU  {peak:8.1f} MiB peak"
          f"  (n = {len(runs)})")


def take_turns(commands, pairs):
    """A list of runs for each command; the first turn, which finds the file uncached, is not among them."""
    runs = {name: [] for name in commands}
    for turn in range(pairs + 1):
        for name in random.sample(list(commands), len(commands)):
            finished = run(commands[name])
            if turn > 0:
                runs[name].append(finished)
    for name in commands:
        show(name, runs[name])
    return list(runs.values())


def ratio(ours, theirs, field, limit):
    """Whether the median of the paired ratios is within the limit."""
    ratios = [getattr(a, field) / getattr(b, field) for a, b in zip(ours, theirs)]
    middle = statistics.median(ratios)
    kept = middle <= limit
    print(f"  {field[:-2]:<4} ratio {middle:.3f} ({min(ratios):.3f} to {max(ratios):.3f}, {len(ratios)} pairs), goal "
          f"at most {limit:.3g}: {'met' if kept else 'MISSED'}")
    return kept


def seed_program(path, trace):
    """A program that answers with the seed's own functions; of torch it needs nothing but the names."""
    text = pathlib.Path(path).read_text()
    block = re.search(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    functions = block.group(1) if block else text
    stub = "import sys, types\nfor name in ('torch', 'torch.profiler'):\n    sys.modules[name] = types.ModuleType(name)\n" \
           "sys.modules['torch.profiler'].profile = sys.modules['torch.profiler'].ProfilerActivity = None\n"
    return stub + functions + textwrap.dedent(f"\n        print(compute_utilization({str(trace)!r}, 1.0))\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("source")
    parser.add_argument("--copies", type=int, default=19)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--scratch", help="where the files are made and removed again (default: the system's)")
    parser.add_argument("--seed", help="PyTorch's benchmark_utils.py")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory(dir=options.scratch) as folder:
        file, packed = pathlib.Path(folder) / "replica.json", pathlib.Path(folder) / "replica.json.gz"
        subprocess.run([sys.executable, MAKER, options.source, file, "--copies", str(options.copies)], check=True)
        subprocess.run(f"gzip -1 -c '{file}' > '{packed}'", shell=True, check=True)
        summary = [options.bin / "headroom", "trace", "summary", "--no-store"]
        print(f"plain, {file.stat().st_size / 1e6:.1f} MB:")
        ours, theirs = take_turns({"headroom summary": [*summary, file],
                                   "simdjson, four fields": [options.bin / "bench_trace_read", "simdjson", file]},
                                  options.pairs)
        kept = [ratio(ours, theirs, "cpu_s", 1.5), ratio(ours, theirs, "wall_s", 0.8)]
        peak = max(one.peak_bytes for one in ours) / 2**20
        kept.append(peak <= 300)
        print(f"  peak {peak:.1f} MiB, goal at most 300 MiB: {'met' if kept[-1] else 'MISSED'}")
        print(f"gzip, {packed.stat().st_size / 1e6:.1f} MB:")
        unpacked, theirs = take_turns({"headroom summary": [*summary, packed], "gzip -dc": ["sh", "-c",
                                       f"gzip -dc '{packed}' > /dev/null"]}, options.pairs)
        kept.append(ratio(unpacked, theirs, "wall_s", 1.3))
        if options.seed:
            seed = run([sys.executable, "-c", seed_program(options.seed, file)])
            print("PyTorch's compute_utilization:")
            show("Python", [seed])
            kept.append(ratio([ours[0]], [seed], "cpu_s", 1 / 12))
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
