#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long choosing variants takes, for the four kernel experiments at all shapes.

  bench/autotune_time.py build/release/bin [--rounds 3] [--hot]

A round runs all four twice, with an empty cache folder, then with the choices of the first run. Prints both times and the
difference (median and range over the rounds, s). Exits with 1 if choosing takes longer than 60 s or the second run chooses again.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

EXPERIMENTS = ["gemv", "gather_gemv", "layer_norm", "mlp_layer_norm_gelu"]
MOST_SECONDS = 60


def choices(cache):
    """Returns the cached variant of each case."""
    files = (cache / "headroom" / "tuning").glob("*.json")
    return {case: variant for path in files for case, variant in json.loads(path.read_text())["variants"].items()}


def seconds(arguments, cache):
    command = [f"{arguments.folder}/headroom", "run", *EXPERIMENTS, "--backend", "native", "--no-store", "--no-limits", "--num-samples", "1",
               "--processes", "1"] + (["--hot"] if arguments.hot else [])
    start = time.monotonic()
    finished = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "XDG_CACHE_HOME": str(cache)})
    if finished.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)}: ended with {finished.returncode}\n{finished.stderr}")
    return time.monotonic() - start


def line(name, values):
    print(f"{name:26} {statistics.median(values):6.1f} s, {min(values):.1f} to {max(values):.1f}, n={len(values)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--hot", action="store_true")
    arguments = parser.parse_args()
    first, second, again, remembered = [], [], False, set()
    for _ in range(arguments.rounds):
        with tempfile.TemporaryDirectory() as folder:
            cache = pathlib.Path(folder)
            first.append(seconds(arguments, cache))
            chosen = choices(cache)
            second.append(seconds(arguments, cache))
            again = again or choices(cache) != chosen
            remembered.add(len(chosen))
    choosing = [a - b for a, b in zip(first, second)]
    line("first run", first)
    line("second run", second)
    line("choosing (the difference)", choosing)
    print("choices remembered:", ", ".join(map(str, sorted(remembered))), "(the second run chose again)" if again else "")
    return 1 if again or statistics.median(choosing) > MOST_SECONDS else 0


if __name__ == "__main__":
    sys.exit(main())
