#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the overhead of the rank instruments of two builds in pairs: dispatch on 1 and 4 ranks, collectives, iterations of ddp.

    bench/rank_overheads.py BEFORE/bin AFTER/bin [--pairs 10] [--only dispatch,collectives,ddp]

A pair is a job of either build, in alternating order. Prints the medians of either and the median ratio after / before, with the
second smallest and second largest (a 95 % sign interval from 9 pairs on). Exits with 1 if an interval lies wholly above 1.02.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

JOBS = (
    ("dispatch", "1 rank", ["dispatch", "--ranks", "1", "--op", "add,mm", "--max-time", "1.5s"], "--json",
     ("hit", "miss", "hit over local", "miss over local")),
    ("dispatch", "4 ranks", ["dispatch", "--ranks", "4", "--op", "add,mm", "--max-time", "2s"], "--json",
     ("hit", "miss", "hit over local", "miss over local")),
    ("collectives", "2 ranks", ["ddp", "--collectives", "all_reduce,broadcast", "--ranks", "2", "--min-bytes", "1K",
                                "--max-bytes", "1M", "--factor", "32"], "--json", ("latency",)),
    ("ddp", "mlp", ["ddp", "--model", "mlp", "--ranks", "1,2", "--iters", "25"], "--json", ("latency",)),
    ("ddp", "resnet18", ["ddp", "--model", "resnet18", "--batch-size", "8", "--ranks", "1,2", "--iters", "8", "--warmup",
                         "2"], "--json", ("latency",)),
)


def takes(folder, command, option):
    shown = subprocess.run([folder / "headroom", *command, "--help"], capture_output=True, text=True, check=True).stdout
    return option in shown


def job(folder, command, output, metrics, file):
    """Returns {(model, axes, metric): (value, unit)} of one job."""
    # Limits in only one build would take its rounds.
    limits = ["--no-limits"] if takes(folder, command, "--no-limits") else []
    subprocess.run([folder / "headroom", *command, *limits, "--runner", folder / "headroom-torch-rank", "--no-store", output,
                    file], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)
    records = json.loads(pathlib.Path(file).read_text())["records"]
    return {(one["model"]["name"], json.dumps(one["axes"]), one["metric"]["name"]):
            (one["metric"]["value"], one["metric"]["unit"])
            for one in records if one["metric"]["name"] in metrics
            and (command[0] == "dispatch" or "--collectives" in command or one["benchmark"]["name"] == "ddp")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=pathlib.Path)
    parser.add_argument("after", type=pathlib.Path)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--only", default="dispatch,collectives,ddp")
    options = parser.parse_args()
    slower = 0
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "records.json"
        for kind, title, command, output, metrics in JOBS:
            if kind not in options.only.split(","):
                continue
            pairs = []
            for number in range(options.pairs):
                order = [options.before, options.after]
                both = {}
                for build in order if number % 2 else order[::-1]:
                    both[build] = job(build, command, output, metrics, file)
                pairs.append((both[options.before], both[options.after]))
            for key in pairs[0][0]:
                values = [(before[key][0], after[key][0]) for before, after in pairs if key in before and key in after]
                ratios = sorted(after / before for before, after in values if before > 0)
                if len(ratios) < 3:
                    continue
                before, after = (statistics.median(side) for side in zip(*values))
                low, high = ratios[1], ratios[-2]
                # A difference that may be negative has no meaningful ratio.
                slower += low > 1.02 and min(map(min, values)) > 0
                print(f"{kind} {title} {key[0]} {key[1]} {key[2]}: {before:.4g} -> {after:.4g} {pairs[0][0][key][1]}, "
                      f"{statistics.median(ratios):.3f} [{low:.3f}, {high:.3f}]", flush=True)
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
