#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that independent loops do not exceed headroom's limits, and that our kernels do not.

  bench/limits_other_tools.py build/release/bin [--rounds 9] [--bytes 32768,1048576,16777216,268435456] [--threads 1,2]
  bench/limits_other_tools.py build/release/bin --kernels 10

In each round measures every loop of bench/limits_loops.c (and of likwid-bench if installed) and its limits once in random
order. Prints the median of loop / highest limit with its order-statistic interval (95 % or more, from 6 rounds on). Exits with 1
if the whole interval of a ratio lies above 1.

--kernels N runs `headroom run --quick` N times and lists results whose share of the limit lies above 1 with its whole interval.
"""
import argparse
import json
import math
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent / "limits_loops.c"
READ = [("limit.read", {"pattern": "linear,streams,prefetch,streams_prefetch"})]
WRITE = [("limit.write", {"pattern": "plain,nontemporal"}), ("limit.zero_fill", {})]
COPY = [("limit.copy", {"pattern": "plain,nontemporal,prefetch"})]


def peak(dtype):
    return [("limit.peak", {"dtype": dtype})]


# STREAM's add and triad read two values per write: bounded by reads and copies.
MEMORY = {"stream_copy": COPY, "stream_scale": COPY, "stream_add": COPY + READ, "stream_triad": COPY + READ,
          "read_wide": READ, "write_plain": WRITE, "write_nontemporal": WRITE, "copy_plain": COPY,
          "copy_nontemporal": COPY, "copy_memcpy": COPY, "zero_rep_stosb": WRITE, "zero_clzero": WRITE}
ARITHMETIC = {"peak_f32": peak("f32"), "peak_f64": peak("f64"), "peak_vpdpbusd": peak("int8"),
              "peak_vdpbf16ps": peak("bf16")}
LIKWID = {"load_avx512": READ, "store_avx512": WRITE, "store_mem_avx512": WRITE, "copy_avx512": COPY,
          "copy_mem_avx512": COPY}


class Headroom:
    """Measures limits by headroom run."""

    def __init__(self, arguments, scratch):
        self.program, self.milliseconds = f"{arguments.folder}/headroom", arguments.milliseconds
        self.path = pathlib.Path(scratch) / "records.json"

    def rates(self, name, axes, bytes_, threads, seed):
        """Returns GB/s or GFLOP/s of each pattern."""
        self.path.unlink(missing_ok=True)
        command = [self.program, "run", name, "--no-store", "--processes", "1", "--hot", "--threads", str(threads),
                   "--max-time", f"{self.milliseconds}ms", "--min-time", f"{self.milliseconds}ms", "--precision", "0.1%",
                   "--seed", str(seed), "--json", str(self.path)]
        for axis, value in {**({"bytes": bytes_} if bytes_ else {}), **axes}.items():
            command += ["-a", f"{axis}={value}"]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if not self.path.exists():
            sys.exit(f"{' '.join(command)}: exit code {result.returncode}\n{result.stderr}")
        found = []
        for record in json.loads(self.path.read_text())["records"]:
            if record["metric"].get("headline") and record["outcome"]["kind"] == "measured":
                scale = 1e-9 if record["metric"]["unit"] in ("FLOP/s", "B/s") else 1
                found.append(scale * record["metric"]["value"])
        return found


def rate_of_loop(program, loop, bytes_, threads, milliseconds):
    result = subprocess.run([program, loop, str(bytes_ or 0), str(threads), str(milliseconds)], capture_output=True,
                            text=True, check=False)
    return float(result.stdout) if result.returncode == 0 else None


def rate_of_likwid(loop, bytes_, threads):
    result = subprocess.run(["likwid-bench", "-t", loop, "-w", f"N:{bytes_ // 1000}kB:{threads}"], capture_output=True,
                            text=True, check=False)
    for line in result.stdout.splitlines():
        if line.startswith("MByte/s:"):
            return float(line.split()[1]) / 1e3
    return None


def interval(values):
    """Returns (low, high), an order-statistic interval of the median of at least 95 %, or None with too few values."""
    values, count = sorted(values), len(values)
    tail, rank = 0.5 ** count, 0
    if 2 * tail > 0.05:
        return None
    while 2 * (tail + math.comb(count, rank + 1) * 0.5 ** count) <= 0.05:
        rank += 1
        tail += math.comb(count, rank) * 0.5 ** count
    return values[rank], values[count - 1 - rank]


def point_rounds(arguments, headroom, program, loops, bytes_, threads):
    """Returns {loop: (its rates, the limits of the same rounds, ratios)} for one working set."""
    limits = {(name, tuple(axes.items())) for of_loop in loops.values() for name, axes in of_loop}
    series = {loop: ([], [], []) for loop in loops}
    for number in range(arguments.rounds):
        jobs = [("limit", *limit) for limit in sorted(limits)] + [("loop", loop, ()) for loop in loops]
        random.Random(1000 * number + threads).shuffle(jobs)
        rates, others = {}, {}
        for kind, name, axes in jobs:
            if kind == "limit":
                rates[name, axes] = headroom.rates(name, dict(axes), bytes_, threads, number + 1)
            elif name in LIKWID:
                others[name] = rate_of_likwid(name, bytes_, threads)
            else:
                others[name] = rate_of_loop(program, name, bytes_, threads, arguments.milliseconds)
        for loop, of_loop in loops.items():
            against = max((rate for name, axes in of_loop for rate in rates[name, tuple(axes.items())]), default=None)
            if others.get(loop) and against:
                for values, value in zip(series[loop], (others[loop], against, others[loop] / against)):
                    values.append(value)
    return series


def print_point(series, bytes_, threads):
    """Prints the results; returns the names of loops above their limit."""
    above = []
    for loop, (others, limits, ratios) in series.items():
        if not ratios:
            print(f"| {loop} | {bytes_ or ''} | {threads} | not on this machine | | | |", flush=True)
            continue
        bounds = interval(ratios)
        is_above = bounds is not None and bounds[0] > 1
        shown = f"{statistics.median(ratios):.3f} " + (f"({bounds[0]:.3f} to {bounds[1]:.3f})" if bounds else "(too few)")
        print(f"| {loop} | {bytes_ or ''} | {threads} | {statistics.median(limits):.1f} | {statistics.median(others):.1f} | "
              f"{shown} | {'yes' if is_above else 'no'} |", flush=True)
        above += [f"{loop} {bytes_ or ''} by {threads} threads"] if is_above else []
    return above


def compare_with_others(arguments):
    above = []
    with tempfile.TemporaryDirectory() as scratch:
        program = f"{scratch}/loops"
        if subprocess.run(["gcc", "-O3", "-march=native", "-fopenmp", str(SOURCE), "-o", program], check=False).returncode:
            sys.exit(f"{SOURCE} was not compiled: it needs gcc with OpenMP, on x86-64")
        memory = dict(MEMORY)
        if shutil.which("likwid-bench"):
            memory |= LIKWID
        else:
            print("likwid-bench is not installed (apt-get install likwid): its loops are skipped\n")
        headroom = Headroom(arguments, scratch)
        print("| loop | bytes | threads | limit, GB/s or GFLOP/s | loop | loop / limit (95 %) | above by more than its interval |")
        print("|---|---|---|---|---|---|---|", flush=True)
        for threads in map(int, arguments.threads.split(",")):
            for bytes_ in [*map(int, arguments.bytes.split(",")), None]:
                loops = memory if bytes_ else ARITHMETIC
                if arguments.loops:
                    loops = {name: loops[name] for name in loops if name in arguments.loops.split(",")}
                above += print_point(point_rounds(arguments, headroom, program, loops, bytes_, threads), bytes_, threads)
    print(f"\n{len(above)} loops above their limit by more than the interval" + "".join(f"\n  {name}" for name in above))
    return above


def run_kernels(arguments):
    cases, above, highest = 0, [], 0.0
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / "records.json"
        for run in range(arguments.kernels):
            subprocess.run([f"{arguments.folder}/headroom", "run", "--quick", "--no-store", "--seed", str(run + 1), "--json",
                            str(path)], capture_output=True, check=False)
            for record in json.loads(path.read_text())["records"]:
                if not record["metric"].get("headline") or not record.get("limit"):
                    continue
                cases += 1
                limit = record["limit"]
                highest = max(highest, limit["fraction"])
                bounds = limit.get("interval")
                if bounds and bounds["low"] > 1:
                    axes = " ".join(f"{k}={v}" for k, v in dict(record["axes"]).items())
                    above.append(f"run {run + 1}: {record['model']['name']} {axes} {record['benchmark']['dtype']}: "
                                 f"{100 * limit['fraction']:.1f} % [{100 * bounds['low']:.1f}, {100 * bounds['high']:.1f}] "
                                 f"of {limit['name']}")
    print(f"{len(above)} of {cases} results above their limit by more than the interval, in {arguments.kernels} runs; "
          f"highest share {100 * highest:.1f} %" + "".join(f"\n  {line}" for line in above))
    return above


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--bytes", default="32768,1048576,16777216,268435456", help="working sets, from L1 to memory")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--loops", help="only these loops, as read_wide,stream_copy")
    parser.add_argument("--milliseconds", type=int, default=200, help="time of each measurement")
    parser.add_argument("--kernels", type=int, default=0, metavar="N", help="measure all native kernels N times instead")
    arguments = parser.parse_args()
    sys.exit(bool(run_kernels(arguments) if arguments.kernels else compare_with_others(arguments)))


if __name__ == "__main__":
    main()
