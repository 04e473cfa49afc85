#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rows of Apache Otava in docs/results/change_points.md: change points with its defaults on the series of bench_changepoints.

    pip install apache-otava; bench/changepoints_otava.py [--series 500]

Prints the share of unchanged series with a change point, and how often a step of 3 standard deviations is found at most
4 values off, and exactly.
"""
import argparse
import math
import random

PATIENCE = 4  # values that a found step may be off


def independent(count, noise):
    return [noise.gauss(0, 1) for _ in range(count)]


def heavy_tails(count, noise):
    """Student's t with 2 degrees of freedom."""
    return [noise.gauss(0, 1) / math.sqrt(-math.log(1 - noise.random())) for _ in range(count)]


def correlated(count, noise, rho=0.5):
    state, values = noise.gauss(0, 1), []
    for _ in range(count):
        values.append(state)
        state = rho * state + math.sqrt(1 - rho * rho) * noise.gauss(0, 1)
    return values


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--series", type=int, default=500, help="series of each kind; a quarter as many long ones")
    arguments = parser.parse_args()
    try:
        from otava.analysis import compute_change_points
    except ImportError:
        raise SystemExit("changepoints_otava: needs Apache Otava: pip install apache-otava, in a separate environment")
    noise = random.Random(1)

    def found(values):
        return [int(change.index) for change in compute_change_points(values)[0]]

    print("false changes")
    for series in (independent, heavy_tails, correlated):
        for count in (20, 50, 100, 200):
            of = max(20, arguments.series * 50 // max(count, 50))
            false = sum(bool(found(series(count, noise))) for _ in range(of))
            print(f"  {series.__name__}, {count} values: {100 * false / of:.1f} % of {of}", flush=True)
    print("a step of 3 standard deviations")
    for before in (40, 100):
        for after in (5, 6, 8):
            near = exact = 0
            for _ in range(arguments.series):
                values = independent(before + after, noise)
                changes = found([value + 3 * (i >= before) for i, value in enumerate(values)])
                near += any(abs(change - before) <= PATIENCE for change in changes)
                exact += before in changes
            print(f"  after {before}, {after} values: {100 * near / arguments.series:.1f} %, exactly {100 * exact / arguments.series:.1f} % of {arguments.series}", flush=True)


if __name__ == "__main__":
    main()
