#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The loop of headroom ddp --collectives compared with a plain c10d loop: same ranks, connections, sizes and data, in turns.

    bench/collectives.py [--bin build/release/bin] [--ranks 2] [--rounds 100] [--calls 10] [--bytes 1024,65536,1048576]

A call counts by its slowest rank, a round by the median of its calls. Prints the median bus bandwidth of each over the rounds,
and of the paired ratios (ours / plain, with a 95 % sign interval). Exits with 1 if an interval lies wholly outside of 0.95 to 1.05.
"""
import argparse
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile

FACTORS = {"all_reduce": lambda n: 2 * (n - 1) / n, "broadcast": lambda n: 1.0}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run_ranks(program, ranks, arguments, limit):
    """Returns the lines of JSON that each rank printed."""
    shared = {"WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1",
              "MASTER_PORT": str(free_port())}
    outputs = [tempfile.TemporaryFile() for _ in range(ranks)]
    running = [subprocess.Popen([str(program), *map(str, arguments)], stdout=output,
                                env={**os.environ, **shared, "RANK": str(rank), "LOCAL_RANK": str(rank)})
               for rank, output in enumerate(outputs)]
    try:
        for process in running:
            if process.wait(timeout=limit) != 0:
                sys.exit(f"{program}: a rank ended with {process.returncode}")
    finally:
        for process in running:
            process.kill()
    lines = []
    for output in outputs:
        output.seek(0)
        lines.append([json.loads(line) for line in output])
    return lines


def median_interval(values):
    """Returns the sign interval of the median: order statistics with at least 95 % coverage."""
    ordered, n = sorted(values), len(values)
    low, tail, term = 0, 0.0, 0.5 ** n
    while tail + term <= 0.025:
        tail += term
        term *= (n - low) / (low + 1)
        low += 1
    return (ordered[low - 1], ordered[n - low]) if low > 0 else (ordered[0], ordered[-1])


def round_medians(ranks, key):
    """Returns for each round the median over its calls of the slowest rank."""
    rounds = zip(*(rank[key] for rank in ranks))
    return [statistics.median(map(max, zip(*calls))) for calls in rounds]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("build/release/bin"))
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--calls", type=int, default=10)
    parser.add_argument("--bytes", default="1024,65536,1048576")
    parser.add_argument("--limit", type=float, default=600, help="seconds")
    options = parser.parse_args()
    found = run_ranks(options.bin / "bench_collectives", options.ranks,
                      [options.rounds, options.calls, *options.bytes.split(",")], options.limit)
    print(f"{'collective':<16}{'bytes':>10}{'busbw ours':>12}{'plain GB/s':>12}  ours/plain [95 %]      rounds")
    outside = 0
    for ranks in zip(*found):
        op, size = ranks[0]["op"], ranks[0]["bytes"]
        factor = FACTORS.get(op, lambda n: (n - 1) / n)(options.ranks)
        ours, plain = round_medians(ranks, "ours_ns"), round_medians(ranks, "plain_ns")
        ratios = [b / a for a, b in zip(ours, plain)]
        low, high = median_interval(ratios)
        outside += low > 1.05 or high < 0.95
        print(f"{op:<16}{size:>10}{size * factor / statistics.median(ours):>12.4f}"
              f"{size * factor / statistics.median(plain):>12.4f}  {statistics.median(ratios):.3f} [{low:.3f}, {high:.3f}]"
              f"{len(ratios):>9}")
    return 1 if outside else 0


if __name__ == "__main__":
    sys.exit(main())
