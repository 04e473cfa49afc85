#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`headroom diff --format ddp` compared with PyTorch's DDP diff.py: whole processes, in turn, on the same two reports.

Writes two small and two large reports, checks that both programs print the same bytes, and prints the ratio of the
median times and the peak memory. Exits with 1 if the speed-up is below 20 (large) or 30 (small), or the peak is above
3 times the size of one file. Without numpy it prints a message and exits with 0.

  bench/diff_speed.py build/release/bin DIFF_PY [--python /usr/bin/python3] [--runs 5] [--megabytes 100]

DIFF_PY: PyTorch's benchmarks/distributed/ddp/diff.py, or a text with it in a ```python block.
"""
import argparse
import json
import multiprocessing
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile

from child_process import run

MODELS = ["resnet50", "resnet101", "resnext50_32x4d", "resnext101_32x8d"]


def program_text(path):
    text = path.read_text()
    block = re.search(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return block.group(1) if block else text


def write_report(path, seed, size):
    """Writes a report of about `size` bytes with the models and rank counts of the original."""
    source = random.Random(seed)
    ranks = [1, 1, 2, 4, 8, 16]
    # A measurement takes about 21 bytes.
    each = max(2, size // 21 // len(MODELS) // sum(ranks))
    results = [{"model": model, "batch_size": 32, "result": [
        {"ranks": list(range(count)),
         "measurements": [0.1 * (1 + 0.02 * source.random()) for _ in range(each * count)]} for count in ranks]}
        for model in MODELS]
    path.write_text(json.dumps({"pytorch_version": "2.9.0", "cuda_version": None, "bucket_size": 25,
                                "benchmark_results": results}))


def write_apart(*arguments):
    """Runs in a separate process, because children inherit this one's peak memory."""
    writer = multiprocessing.get_context("spawn").Process(target=write_report, args=arguments)
    writer.start()
    writer.join()
    if writer.exitcode != 0:
        sys.exit("a report could not be written")


def compare(name, commands, runs, file_bytes):
    times = {tool: [] for tool in commands}
    peaks = {tool: 0 for tool in commands}
    for _ in range(runs):
        outputs = {}
        for tool, command in commands.items():
            finished = run(command)
            outputs[tool] = finished.output
            times[tool].append(finished.wall_s)
            peaks[tool] = max(peaks[tool], finished.peak_bytes)
        if len(set(outputs.values())) != 1:
            sys.exit(f"{name}: the two programs print different bytes")
    medians = {tool: statistics.median(values) for tool, values in times.items()}
    ratio = medians["diff.py"] / medians["headroom"]
    print(f"{name:>8}: diff.py {medians['diff.py'] * 1e3:9.1f} ms   headroom {medians['headroom'] * 1e3:7.1f} ms   "
          f"{ratio:6.1f} x   peak {peaks['diff.py'] / 1e6:5.0f} and {peaks['headroom'] / 1e6:3.0f} MB "
          f"for files of {file_bytes / 1e6:.2f} MB each")
    return ratio, peaks["headroom"] / file_bytes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("diff_py", type=pathlib.Path)
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--megabytes", type=float, default=100)
    options = parser.parse_args()
    if subprocess.run([options.python, "-c", "import numpy"], stderr=subprocess.DEVNULL).returncode != 0:
        print(f"{options.python} has no numpy: nothing to compare with (Debian: python3-numpy)")
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        program = folder / "diff.py"
        program.write_text(program_text(options.diff_py))
        answers = {}
        large = int(options.megabytes * 1e6)
        for name, size, runs in (("small", 30_000, 4 * options.runs), ("large", large, options.runs)):
            a, b = folder / f"{name}.a.json", folder / f"{name}.b.json"
            write_apart(a, 1, size)
            write_apart(b, 2, size)
            commands = {"diff.py": [options.python, str(program), str(a), str(b)],
                        "headroom": [str(options.bin / "headroom"), "diff", "--format", "ddp", str(a), str(b)]}
            answers[name] = compare(name, commands, runs, a.stat().st_size)
    reached = answers["small"][0] >= 30 and answers["large"][0] >= 20 and answers["large"][1] <= 3
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
