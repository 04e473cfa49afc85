#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares PyTorch's compute_utilization with headroom on traces: both must agree to 1e-6.

    tools/compare_utilization.py HEADROOM TRACE...      HEADROOM: the program

Exits with 1 if they differ, with 77 and a message if this Python has no PyTorch.
"""
import json
import subprocess
import sys

LENGTH_S = 1e-3
MOST_APART = 1e-6


def of_headroom(program, trace):
    asked = subprocess.run([program, "trace", "utilization", "--pytorch-compat", "--length", repr(LENGTH_S), "--json", trace],
                           capture_output=True, text=True, timeout=60)
    if asked.returncode != 0:
        raise RuntimeError(asked.stderr.strip())
    answer = json.loads(asked.stdout)
    return answer["utilization"], answer["mm_conv_utilization"]


def main(arguments):
    if len(arguments) < 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    try:
        from torch._functorch.benchmark_utils import compute_utilization
    except ImportError as error:
        print(f"no PyTorch to compare with: {error}")
        return 77
    program, *traces = arguments
    worst = 0
    for trace in traces:
        theirs, ours = compute_utilization(trace, LENGTH_S), of_headroom(program, trace)
        apart = max(abs(a - b) for a, b in zip(theirs, ours))
        worst = max(worst, apart)
        print(f"{trace}: PyTorch {theirs[0]:.9g} and {theirs[1]:.9g}, headroom {ours[0]:.9g} and {ours[1]:.9g}, apart {apart:.2g}")
    print(f"{len(traces)} traces, at most {worst:.2g} apart (allowed {MOST_APART:.0e})")
    return 0 if worst <= MOST_APART else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
