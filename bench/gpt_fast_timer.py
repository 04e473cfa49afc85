#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpt-fast's experiments in Python, timed by headroom and by torch.utils.benchmark.Timer in turn.

    HEADROOM_PYTHON=PYTHON bench/gpt_fast_timer.py BIN [--size 4096] [--runs 5]

Inputs are in caches (headroom: --hot), all CPUs are used. Prints the medians of the runs, each tool's range, and the median of the
ratios headroom / Timer.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

TIMER = """
import json, sys, torch
from torch.utils.benchmark import Timer
size, backend, name = int(sys.argv[1]), sys.argv[2], sys.argv[3]
x = torch.randn(size).bfloat16()
if name == "gemv":
    w = torch.randn(size, size).bfloat16()
    f, args = (lambda m, v: torch.matmul(m.to(torch.bfloat16), v)), (w, x)
elif name == "gather_gemv":
    w, chosen = torch.randn(8, size, size).bfloat16(), torch.tensor([3, 5])
    f, args = (lambda m, c, v: torch.matmul(m[c].to(torch.bfloat16), v)), (w, chosen, x)
elif name == "layer_norm":
    rows, g, b = torch.randn(4096, size).bfloat16(), x.clone(), x.clone()
    f, args = (lambda r: torch.nn.functional.layer_norm(r, (size,), g, b)), (rows,)
else:
    hidden, n = 14336, torch.nn.functional
    up, down = torch.randn(hidden, size).bfloat16(), torch.randn(size, hidden).bfloat16()
    h, s = torch.randn(hidden).bfloat16(), torch.randn(size).bfloat16()
    f = lambda v, a, c: n.layer_norm(n.linear(n.layer_norm(n.linear(v, a, h), (hidden,), h, h), c, s), (size,), s, s)
    args = (x, up, down)
if backend == "torch_compile":
    f = torch.compile(f)
for _ in range(3):
    f(*args)
print(json.dumps(Timer("f(*args)", globals={"f": f, "args": args}, num_threads=torch.get_num_threads()).blocked_autorange(min_run_time=1).median))
"""


def by_headroom(bin_folder, name, backend, size):
    axes = ["-a", f"D={size}", "-a", "dtype=bf16"]
    result = subprocess.run([bin_folder / "headroom", "run", "--python", "gpt_fast", name, "--backend", backend, "--hot", *axes, "--no-store",
                           "--no-limits", "--processes", "1", "--max-time", "1s", "--json", "-"], capture_output=True, text=True, check=False)
    for record in json.loads(result.stdout)["records"]:
        if record["metric"]["name"] == "latency":
            return record["metric"]["value"] * 1e-6 if record["outcome"]["kind"] == "measured" else sys.exit(record["outcome"]["reason"])
    raise SystemExit(result.stderr)


def by_timer(name, backend, size):
    result = subprocess.run([os.environ["HEADROOM_PYTHON"], "-c", TIMER, str(size), backend, name], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise SystemExit(result.stderr)
    return json.loads(result.stdout.strip().splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    print(f"{'':34}{'headroom':>12}{'least':>9}{'most':>9}{'Timer':>12}{'least':>9}{'most':>9}{'ratio':>8}")
    for name in ("gemv", "gather_gemv", "layer_norm", "mlp_layer_norm_gelu"):
        for backend in ("torch", "torch_compile"):
            ours, theirs = [], []
            for _ in range(options.runs):
                ours.append(by_headroom(options.bin, name, backend, options.size))
                theirs.append(by_timer(name, backend, options.size))
            ratio = statistics.median(a / b for a, b in zip(ours, theirs))
            cells = "".join(f"{statistics.median(one) * 1e3:9.3f} ms{min(one) * 1e3:9.3f}{max(one) * 1e3:9.3f}" for one in (ours, theirs))
            print(f"{name + ' ' + backend:34}{cells}{ratio:8.3f}", flush=True)


if __name__ == "__main__":
    main()
