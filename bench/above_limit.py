#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Is a limit a limit? Runs `headroom run --quick` --runs times and lists the results above their limit.

A result counts as above when the whole 95 % interval of its share of the limit lies above 1. Exits 1 when there is one.

  bench/above_limit.py build/release/bin [--runs 10]
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--runs", type=int, default=10)
    arguments = parser.parse_args()
    cases, above, highest = 0, [], 0.0
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / "records.json"
        for run in range(arguments.runs):
            subprocess.run([f"{arguments.folder}/headroom", "run", "--quick", "--no-store", "--seed", str(run + 1), "--json", str(path)],
                           capture_output=True, check=False)
            for record in json.loads(path.read_text())["records"]:
                if not record["metric"].get("headline") or not record.get("limit"):
                    continue
                cases += 1
                limit = record["limit"]
                highest = max(highest, limit["fraction"])
                interval = limit.get("interval")
                if interval and interval["low"] > 1:
                    axes = " ".join(f"{k}={v}" for k, v in record["axes"].items()) if isinstance(record["axes"], dict) \
                        else str(record["axes"])
                    above.append(f"run {run + 1}: {record['model']['name']} {axes} {record['benchmark']['dtype']}: "
                                 f"{100 * limit['fraction']:.1f} % [{100 * interval['low']:.1f}, "
                                 f"{100 * interval['high']:.1f}] of {limit['name']}")
    print(f"{len(above)} of {cases} results above their limit by more than the interval, in {arguments.runs} runs; "
          f"highest share {100 * highest:.1f} %")
    for line in above:
        print("  " + line)
    sys.exit(bool(above))


if __name__ == "__main__":
    main()
