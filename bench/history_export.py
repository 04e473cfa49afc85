#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time and peak memory of exporting a long history. Exits with 1 if 100,000 runs take more than 10 s, the peak is above 100 MB, or the
export differs from the input.

  bench/history_export.py build/release/bin [--scratch FOLDER] [--runs 100000]
"""
import argparse
import json
import pathlib
import sys
import tempfile

from child_process import run

GOAL_S_PER_RUN = 10 / 100_000
GOAL_BYTES = 100e6


def values(i):
    return [12.5 + (i * 7 + j * 3) % 11 / 100 for j in range(30)]


def environment(i):
    return {"timestamp": 1_790_000_000 + 60 * i, "session": f"{i:016x}", "fingerprint": "machine-a", "headroom_version": "0.1.0",
            "git_sha": f"{i:040x}", "git_branch": "main", "command": ["headroom", "run", "gemv"]}


def record(i):
    return {"benchmark": {"name": "headroom", "mode": "inference", "dtype": "bf16", "extra_info": {}},
            "model": {"name": "gemv", "type": "micro-benchmark", "backend": "native", "origins": [], "extra_info": {}},
            "metric": {"name": "latency", "unit": "us", "direction": "lower", "value": 12.5, "headline": True},
            "axes": {"D": "4096", "dtype": "bf16"}, "device": "cpu", "runner": "native", "caches": "cold", "threads": 2,
            "outcome": {"kind": "measured", "reason": ""}, "stop": "precision", "verified": True, "max_error": 0.0009, "notes": [],
            "environment": i, "samples": [{"pid": 1, "iterations": 100, "warmup": 0, "rounds": list(range(30)), "values": values(i)}]}


def write_document(path, runs):
    """Runs of one case, a minute apart. Piece by piece: the peak of a child counts the memory of its parent at the start."""
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"headroom": {"schema": 3, "version": "0.1.0"}')
        for name, make in (("environments", environment), ("records", record)):
            file.write(f', "{name}": [')
            file.writelines((", " if i else "") + json.dumps(make(i)) for i in range(runs))
            file.write("]")
        file.write("}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("--scratch", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=100_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.scratch) as scratch:
        folder = pathlib.Path(scratch)
        write_document(folder / "runs.json", options.runs)
        program, store = options.bin / "headroom", ["--store", folder / "history.sqlite"]
        stored = run([program, "history", "import", folder / "runs.json", *store])
        exported = run([program, "history", "export", folder / "all.json", *store])
        found = json.loads((folder / "all.json").read_text())
        right = [[part["values"] for part in one["samples"]] for one in found["records"]] == [[values(i)] for i in range(options.runs)]
        fine = right and exported.wall_s <= GOAL_S_PER_RUN * options.runs and exported.peak_bytes <= GOAL_BYTES
        print(f"{options.runs} runs: stored in {stored.wall_s:.2f} s, exported in {exported.wall_s:.2f} s ({exported.cpu_s:.2f} s of CPU), "
              f"peak {exported.peak_bytes / 1e6:.0f} MB, {'right' if right else 'WRONG'}")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
