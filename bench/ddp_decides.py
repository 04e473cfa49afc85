#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Coverage of `headroom ddp`'s intervals on programs of known work.

  1. The same program as both --runner, --alarms times: at most 5 % of the intervals of a step's ratio exclude 1.
  2. --slower RUNNER, whose iterations take a few percent longer (a spin in the reducer), --repeats times: at least
     90 % of the intervals of its steps with DDP lie above 1.

Exits with 1 when a goal is missed.

  bench/ddp_decides.py build/release/bin [--model mlp] [--ranks 1] [--iters 120] [--alarms 40] [--slower RUNNER] [--repeats 20]
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile


def intervals(folder, runners, options):
    """Returns the intervals of the ratio second / first, by whether the step has DDP."""
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / "records.json"
        command = [folder / "headroom", "ddp", "--no-store", "--model", options.model, "--batch-size", options.batch_size,
                   "--ranks", options.ranks, "--iters", options.iters, "--no-limits", "--json", path]
        for runner in runners:
            command += ["--runner", runner]
        subprocess.run([str(word) for word in command], check=True, capture_output=True)
        records = json.loads(path.read_text())["records"]
    return {record["axes"]["ddp"]: record["ratio"]["interval"] for record in records
            if record["metric"]["name"] == "latency" and "ddp" in record["axes"] and record.get("ratio")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("--model", default="mlp")
    parser.add_argument("--batch-size", default="8")
    parser.add_argument("--ranks", default="1")
    parser.add_argument("--iters", default="120")
    parser.add_argument("--alarms", type=int, default=40)
    parser.add_argument("--slower", type=pathlib.Path)
    parser.add_argument("--repeats", type=int, default=20)
    options = parser.parse_args()
    same = options.bin / "headroom-torch-rank"
    seen = [interval for _ in range(options.alarms) for interval in intervals(options.bin, [same, same], options).values()]
    missed = sum(not interval["low"] <= 1 <= interval["high"] for interval in seen)
    print(f"the same program twice: {missed} of {len(seen)} intervals leave out 1", flush=True)
    fine = missed <= 0.05 * len(seen)
    if options.slower:
        seen = [intervals(options.bin, [same, options.slower], options)["yes"] for _ in range(options.repeats)]
        found = sum(interval["low"] > 1 for interval in seen)
        print(f"the slower program: found in {found} of {len(seen)}", flush=True)
        fine = fine and found >= 0.9 * len(seen)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
