#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`headroom trace` on files of the sizes at which readers give up: more than 4 GiB, and nothing.

Writes a replica of a real trace (make_trace_replicas.py) of --gib GiB, reads it plain and, with --packed, as gzip, and
prints the time and the peak memory. The events counted, the busy time and the kernels have to be --copies times those of
one copy. An empty file has to be refused with exit code 2 and its name. Exits 1 where one of these is not so.

  bench/trace_sizes.py build/release/bin SOURCE.json.gz [--gib 5] [--scratch FOLDER] [--packed]

SOURCE: hta__df_index_resolver_df_index_resolver.json.gz of Holistic Trace Analysis, 54 MB when unpacked.
"""
import argparse
import gzip
import json
import math
import pathlib
import subprocess
import sys
import tempfile

from child_process import run

MAKER = pathlib.Path(__file__).with_name("make_trace_replicas.py")


def answer(folder, file, analysis="summary"):
    finished = run([folder / "headroom", "trace", analysis, "--no-store", "--json", "-", file])
    document = json.loads(finished.output)["trace"]
    headlines = {line["metric"]: line["value"] for line in document["headlines"] if not line.get("device")}
    print(f"  {pathlib.Path(file).name:<16} {analysis:<12} {finished.wall_s:7.2f} s wall  {finished.cpu_s:7.2f} s CPU  "
          f"{finished.peak_bytes / 2**20:7.1f} MiB peak")
    return document["files"][0], headlines


def refuses_nothing(folder, scratch):
    empty = scratch / "empty.json"
    empty.write_bytes(b"")
    done = subprocess.run([folder / "headroom", "trace", "--no-store", empty], capture_output=True, text=True)
    print(f"  {empty.name:<16} exit code {done.returncode}: {done.stderr.strip()}")
    return done.returncode == 2 and "empty.json" in done.stderr and done.stdout == ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("source")
    parser.add_argument("--gib", type=float, default=5)
    parser.add_argument("--scratch", help="where the files are made and removed again (default: the system's)")
    parser.add_argument("--packed", action="store_true", help="the same as gzip")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory(dir=options.scratch) as folder:
        scratch = pathlib.Path(folder)
        good = [refuses_nothing(options.bin, scratch)]
        with gzip.open(options.source) as packed:
            bytes_of_one = len(packed.read())
        copies = math.ceil(options.gib * 2**30 / (0.99 * bytes_of_one))
        large = scratch / "large.json"
        subprocess.run([sys.executable, MAKER, options.source, large, "--copies", str(copies)], check=True)
        _, one = answer(options.bin, options.source)
        files = [large]
        if options.packed:
            subprocess.run(["gzip", "-1", "-k", large], check=True)
            files.append(scratch / "large.json.gz")
        for file in files:
            facts, all_of_it = answer(options.bin, file)
            good.append(facts["is_complete"] and facts["json_bytes"] == large.stat().st_size >= options.gib * 2**30)
            good.append(math.isclose(all_of_it["busy_ns"], copies * one["busy_ns"], rel_tol=1e-12))
        answer(options.bin, large, "kernels")
    print("all as it should be" if all(good) else f"NOT as it should be: {good}")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
