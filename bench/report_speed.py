#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Size, time and peak memory of the pages of `headroom report`.

Pages of a usual run (24 cases of three metrics, 60 samples each, and 3,000 each), 10,000 cases, 10^7 samples, and a comparison of
10,000 cases. Exits with 1 above a limit: 1 MB and 0.2 s for a usual run, 20 MB for 10,000 cases, 1 MB for 10^7 samples of one
case; peak memory 4 times the size of the records (and 100 MB).

  bench/report_speed.py build/release/bin [--scratch FOLDER] [--runs 5]
"""
import argparse
import json
import pathlib
import sys
import tempfile

from child_process import run
from records_memory import apart, write_file

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "page"))
from made_records import made_run  # noqa: E402

MB = 1_000_000


def write_run(path, cases, each):
    path.write_text(json.dumps(made_run(cases=cases, processes=3, each=each)))


def measure(program, arguments, page, runs):
    """Returns the minimum wall and CPU time of several runs, and the peak memory."""
    finished = [run([program, "report", *arguments, "-o", page]) for _ in range(runs)]
    return (min(one.wall_s for one in finished), min(one.cpu_s for one in finished), max(one.peak_bytes for one in finished))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("--scratch", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    program = options.bin / "headroom"
    # Name, function that writes records, its arguments, sides, largest page, longest time (None: no limit).
    shapes = [("24 cases of 60 samples", write_run, (24, 20), 1, 1 * MB, 0.2),
              ("24 cases of 3,000 samples", write_run, (24, 1000), 1, 1 * MB, None),
              ("10,000 cases of 10 samples", write_file, (10_000, 10, 1, 1), 1, 20 * MB, None),
              ("10^7 samples of one case", write_file, (1, 10_000_000, 1, 1), 1, 1 * MB, None),
              ("10,000 cases compared", write_file, (10_000, 10, 1, 1), 2, 20 * MB, None)]
    fine = True
    for name, write, how, sides, most_bytes, most_s in shapes:
        with tempfile.TemporaryDirectory(dir=options.scratch) as scratch:
            files = [pathlib.Path(scratch) / f"{side}.json" for side in range(sides)]
            for file in files:
                apart(write, file, *how)
            page = pathlib.Path(scratch) / "page.html"
            arguments = [*(["--diff"] if sides > 1 else []), *files]
            wall, cpu, peak = apart(measure, program, arguments, page, options.runs if most_s else 1)
            size, records = page.stat().st_size, sum(file.stat().st_size for file in files)
            is_fine = size <= most_bytes and (most_s is None or wall <= most_s) and peak <= 4 * records + 100 * MB
            fine = fine and is_fine
            print(f"{name:>27}: {records / MB:7.1f} MB of records, page {size / MB:6.2f} MB in {wall:6.3f} s ({cpu:.3f} s of CPU), "
                  f"peak {peak / MB:7.1f} MB{'' if is_fine else '   LIMIT MISSED'}", flush=True)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
