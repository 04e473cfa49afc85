#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time, CPU time and peak memory of `headroom diff` on large files of our records.

Exits with 1 if a peak is above 1.5 times the size of one file (4 times for cases of 10 samples, 3 times in between) or an answer
is wrong.

  bench/records_memory.py build/release/bin [--scratch FOLDER] [--scale 1] [--huge]

--scale .1 makes everything ten times smaller. --huge adds a file of about 2 GB against a small one.
"""
import argparse
import json
import multiprocessing
import pathlib
import random
import sys
import tempfile

from child_process import run

HEAD = ('{"headroom": {"schema": 1, "version": "0.1.0"},\n"environments": [\n{"timestamp":%d,'
        '"fingerprint":"machine-a"}],\n"records": [')


def value_texts(source, factor, count=10_000):
    """Returns random values to draw from: many enough to repeat rarely, few enough to make quickly."""
    return [repr(factor * 12.5 * (1 + 0.01 * source.gauss(0, 1))) for _ in range(count)]


def write_samples(file, count, source, texts):
    """Writes one process with `count` samples of `texts` and the noise columns of a quiet machine."""
    block = len(texts)

    def column(parts):
        done = 0
        while done < count:
            size = min(block, count - done)
            file.write(("," if done else "") + ",".join(parts(done, size)))
            done += size

    def shuffled(_, size):
        start = source.randrange(block)
        return [texts[(start + i) % block] for i in range(size)]

    file.write('{"pid":4711,"iterations":100,"warmup":0,"values":[')
    column(shuffled)
    file.write('],"rounds":[')
    column(lambda done, size: map(str, range(done, done + size)))
    file.write('],"noise":{')
    for place, (name, text) in enumerate((("steal_ms", "0.0"), ("involuntary_switches", "0"), ("page_faults", "0"),
                                          ("frequency_mhz", "2600.0"), ("placement_ns", "61.5"))):
        file.write(("," if place else "") + f'"{name}":[')
        column(lambda _, size, text=text: [text] * size)
        file.write("]")
    file.write("}}")


def write_file(path, cases, samples, factor, seed):
    source = random.Random(seed)
    texts = value_texts(source, factor)
    with open(path, "w") as file:
        file.write(HEAD % (1_790_000_000 + seed))
        for case in range(cases):
            file.write((",\n" if case else "\n") + json.dumps({
                "benchmark": {"name": "headroom", "mode": "inference", "dtype": "bf16", "extra_info": {}},
                "model": {"name": f"case{case}", "type": "micro-benchmark", "backend": "native", "origins": [],
                          "extra_info": {}},
                "metric": {"name": "latency", "unit": "us", "direction": "lower", "value": 12.5 * factor, "headline": True},
                "axes": {"D": "4096", "dtype": "bf16"}, "device": "cpu", "runner": "native", "caches": "cold",
                "threads": 2, "outcome": {"kind": "measured", "reason": ""}, "stop": "precision", "verified": True,
                "max_error": 0.0009, "notes": [], "environment": 0})[:-1] + ', "samples": [')
            write_samples(file, samples, source, texts)
            file.write("]}")
        file.write("]}\n")


def diff(program, baseline, test):
    """Returns the output, wall and CPU time in s, and peak memory in bytes."""
    finished = run([program, "diff", baseline, test, "--json", "-"])
    answer = json.loads(finished.output)
    return ([entry["ratio"] for entry in answer["comparisons"]], answer["tests"][0]["geometric_mean_worsening"],
            (finished.wall_s, finished.cpu_s), finished.peak_bytes)


def apart(function, *arguments):
    """Runs in a separate process, because children inherit this one's peak memory."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("--scratch", type=pathlib.Path)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--huge", action="store_true")
    options = parser.parse_args()
    shapes = [("10^7 samples", 1, 10_000_000, None, 1.5), ("100,000 cases", 100_000, 10, None, 4),
              ("100 MB of records", 5_000, 350, None, 3)]
    if options.huge:
        shapes.append(("2 GB against 10^4 samples", 1, 42_000_000, 10_000, 3))
    fine = True
    for name, cases, samples, other, goal in shapes:
        cases = max(1, int(cases * options.scale)) if cases > 1 else 1
        samples = max(10, int(samples * options.scale)) if cases == 1 else samples
        with tempfile.TemporaryDirectory(dir=options.scratch) as scratch:
            a, b = pathlib.Path(scratch) / "a.json", pathlib.Path(scratch) / "b.json"
            apart(write_file, a, cases, samples, 1, 1)
            apart(write_file, b, cases, other or samples, 1.05, 2)
            size = a.stat().st_size
            ratios, mean, (seconds, cpu), peak = apart(diff, options.bin / "headroom", a, b)
            # One case of 10 samples varies more than the mean.
            right = len(ratios) == cases and 1.045 < mean < 1.055 and all(1 < ratio < 1.1 for ratio in ratios)
            fine = fine and right and peak <= goal * size
            print(f"{name:>26}: {size / 1e6:7.1f} MB a file   {seconds:6.2f} s ({cpu:.2f} s of CPU)   peak {peak / 1e6:7.1f} MB, "
                  f"{peak / size:.2f} x one file   {'right' if right else 'WRONG'}", flush=True)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
