#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A/A: compares a runner with itself and counts 95 % intervals of the ratio that exclude 1.

Exits with 1 when more than 5 % of the comparisons do, beyond chance.

  bench/false_alarms.py build/release/bin [--comparisons 200] [--cold-share 0.2]
"""
import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

SIZES = [192, 256, 320, 384, 512, 640, 768, 1024, 1280, 1536]


def compare(folder, seed, cold, path):
    """Runs several A/A comparisons; returns their ratios and intervals."""
    native = f"{folder}/headroom-native"
    command = [f"{folder}/headroom", "run", "gemv", "--runner", native, "--runner", native, "--quick", "--no-limits", "--no-store",
               "--seed", str(seed), "-a", "D=" + ",".join(map(str, SIZES[:2] if cold else SIZES)), "--json", str(path)]
    subprocess.run(command + ([] if cold else ["--hot"]), check=True, capture_output=True)
    for record in json.loads(path.read_text())["records"]:
        if record["metric"]["name"] == "latency" and "ratio" in record:
            interval = record["ratio"].get("interval", {})
            yield (record["ratio"]["ratio"], interval.get("low", -math.inf), interval.get("high", math.inf))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--comparisons", type=int, default=200)
    parser.add_argument("--cold-share", type=float, default=0.2)
    arguments = parser.parse_args()
    results = {"hot": [], "cold": []}
    with tempfile.TemporaryDirectory() as scratch:
        path, seed = pathlib.Path(scratch) / "aa.json", 0
        while sum(map(len, results.values())) < arguments.comparisons:
            seed += 1
            total = sum(map(len, results.values()))
            mode = "cold" if len(results["cold"]) < arguments.cold_share * total else "hot"
            results[mode].extend(compare(arguments.folder, seed, mode == "cold", path))
    flagged_total = 0
    for mode, ratios in results.items():
        flagged = [r for r in ratios if r[1] > 1 or r[2] < 1]
        flagged_total += len(flagged)
        widths = sorted((high - low) / 2 for _, low, high in ratios)
        print(f"{mode}: {len(flagged)} of {len(ratios)} flagged; median half-width of the interval "
              f"{100 * widths[len(widths) // 2] if widths else 0:.1f} %")
        for ratio, low, high in flagged:
            print(f"  flagged: {ratio:.4f} [{low:.4f}, {high:.4f}]")
    count = sum(map(len, results.values()))
    allowed = 0.05 * count + 2 * math.sqrt(0.05 * 0.95 * count)
    print(f"all: {flagged_total} of {count} flagged, {100 * flagged_total / count:.1f} % (goal: at most 5 %)")
    sys.exit(flagged_total > allowed)


if __name__ == "__main__":
    main()
