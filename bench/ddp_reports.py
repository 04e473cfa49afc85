#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that PyTorch's diff.py and headroom diff report the same figures for two reports of one sweep.

    bench/ddp_reports.py [--bin build/release/bin] [--ranks 1,2,4] [--model resnet18] [--image-size 64] [--batch-size 8]
                         [--iters 10] [--warmup 3] [--diff diff.py]

diff.py (benchmarks/distributed/ddp of PyTorch; default: the one in ../shared/seeds) needs python3-numpy. `headroom diff --format
ddp` must print the same bytes, and `headroom diff --percentile 75,95` the same figures. Exits with 1 if a figure differs.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SEED = pathlib.Path(__file__).resolve().parents[2] / "shared" / "seeds" / "000_a479e36eaa3810a0.txt"
LINE = re.compile(r"^ *(\d+) GPUs: +p75: +([\d.]+)s +\d+/s +([+-][\d.]+)% +p95: +([\d.]+)s +\d+/s +([+-][\d.]+)%$", re.M)


def diff_program(options, folder):
    if options.diff:
        return options.diff
    program = folder / "diff.py"
    program.write_text(re.search(r"```python\n(.*?)```", SEED.read_text(), re.S).group(1))
    return program


def sweep(options, file):
    result = subprocess.run([options.bin / "headroom", "ddp", "--model", options.model, "--image-size", options.image_size,
                             "--batch-size", options.batch_size, "--ranks", options.ranks, "--iters", options.iters, "--warmup",
                             options.warmup, "--no-store", "--json", file], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"headroom ddp ended with {result.returncode}:\n{result.stdout}{result.stderr}")
    print(result.stderr, end="")
    return result.stdout


def figures_of(comparisons):
    """Returns for each step with DDP, as diff.py does: p75 and p95 in s, and the test's improvement in %."""
    lines = []
    for case in comparisons:
        if case["axes"]["ddp"] == "no":
            continue
        by_percentile = {part["percentile"]: part for part in case["percentiles"]}
        figures = [case["axes"]["ranks"]]
        for percentile in (75, 95):
            part = by_percentile[percentile]
            better = -100 * ((part["test"] - part["baseline"]) / part["baseline"])
            figures += [f"{part['test']:.3f}", f"{better:+.1f}"]
        lines.append(tuple(figures))
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("build/release/bin"))
    parser.add_argument("--python", default=os.environ.get("HEADROOM_PYTHON", "/usr/bin/python3"))
    parser.add_argument("--diff", type=pathlib.Path)
    for name, value in (("ranks", "1,2,4"), ("model", "resnet18"), ("image-size", "64"), ("batch-size", "8"), ("iters", "10"),
                        ("warmup", "3")):
        parser.add_argument(f"--{name}", default=value)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        files = [folder / "baseline.json", folder / "test.json"]
        tables = [sweep(options, file) for file in files]
        print(tables[0])
        theirs = subprocess.run([options.python, diff_program(options, folder), *files], capture_output=True, text=True)
        if theirs.returncode != 0:
            sys.exit(f"diff.py failed (Debian: apt-get install python3-numpy):\n{theirs.stderr}")
        ours = subprocess.run([options.bin / "headroom", "diff", "--format", "ddp", *files], capture_output=True, text=True)
        table = subprocess.run([options.bin / "headroom", "diff", "--percentile", "75,95", "--json", folder / "diff.json", *files],
                               capture_output=True, text=True)
        found = figures_of(json.loads((folder / "diff.json").read_text())["comparisons"])
    print(theirs.stdout + table.stdout)
    wanted = LINE.findall(theirs.stdout)
    same_text, same_figures = ours.stdout == theirs.stdout, len(wanted) > 0 and found == wanted
    print(f"headroom diff --format ddp prints the same, byte for byte: {same_text}")
    print(f"headroom diff has the same figures of {len(wanted)} steps: {same_figures}")
    return 0 if same_text and same_figures else 1


if __name__ == "__main__":
    sys.exit(main())
