#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""64 links of one trace as the 64 ranks of a job: one `headroom trace summary` beside 64 of them, in turn.

The job's wall time may be at most 0.6 times that of the 64 runs; and where headroom-trace-mpi was built, `mpirun -n 2`
must print the same tables. Exits 1 where one of them is not so.

  bench/trace_ranks.py build/release/bin SOURCE.json.gz [--ranks 64] [--pairs 5] [--scratch FOLDER]

SOURCE: hta__df_index_resolver_df_index_resolver.json.gz of Holistic Trace Analysis, 54 MB when unpacked.
"""
import argparse
import gzip
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from child_process import run

ALLOWED = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def singles(command, files):
    start = time.perf_counter()
    for file in files:
        subprocess.run([*command, file], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def is_the_same_under_mpi(folder, job):
    """None where it cannot be asked."""
    program = folder / "headroom-trace-mpi"
    if not program.exists() or not shutil.which("mpirun"):
        return None
    one = run([folder / "headroom", "trace", "summary", "--no-store", job], stderr=subprocess.DEVNULL)
    two = run(["mpirun", "-n", "2", program, "summary", "--no-store", job], stderr=subprocess.DEVNULL,
              env={**os.environ, **ALLOWED})
    return one.output == two.output


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("source")
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--scratch", help="where the files are made and removed again (default: the system's)")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory(dir=options.scratch) as scratch:
        trace, job = pathlib.Path(scratch) / "trace.json", pathlib.Path(scratch) / "job"
        with gzip.open(options.source) as packed, open(trace, "wb") as file:
            shutil.copyfileobj(packed, file)
        job.mkdir()
        files = [job / f"rank-{rank}.json" for rank in range(options.ranks)]
        for file in files:
            os.link(trace, file)
        command = [options.bin / "headroom", "trace", "summary", "--no-store"]
        together, apart = [], []
        for turn in range(options.pairs + 1):
            seconds = run([*command, job], stderr=subprocess.DEVNULL), singles(command, files)
            if turn > 0:  # the first finds the file uncached
                together.append(seconds[0])
                apart.append(seconds[1])
        ratios = [one.wall_s / many for one, many in zip(together, apart)]
        ratio = statistics.median(ratios)
        print(f"{options.ranks} ranks of {trace.stat().st_size / 1e6:.1f} MB: one job "
              f"{statistics.median(one.wall_s for one in together):.2f} s, peak "
              f"{max(one.peak_bytes for one in together) / 2**20:.0f} MiB; {options.ranks} runs "
              f"{statistics.median(apart):.2f} s")
        print(f"ratio {ratio:.3f} ({min(ratios):.3f} to {max(ratios):.3f}, {len(ratios)} pairs), goal at most 0.6: "
              f"{'met' if ratio <= 0.6 else 'MISSED'}")
        same = is_the_same_under_mpi(options.bin, job)
        print("under mpirun -n 2: " + {None: "not built, or no mpirun", True: "the same tables", False: "OTHER TABLES"}[same])
    return 0 if ratio <= 0.6 and same is not False else 1


if __name__ == "__main__":
    sys.exit(main())
