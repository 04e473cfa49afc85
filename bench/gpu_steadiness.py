#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""On a GPU: the spread of a 3 % ratio in headroom and nvbench, and headroom's false alarms.

  1. The ratio of the times of two memory reads, one of which moves exactly 3 % more bytes, --runs times, in turns, each size
     sampled for --seconds. nvbench gives three ratios: of the means in its table (GPU Time), of the medians of the same
     samples, and of the means of its batches, which take as long again.
  2. A/A: headroom ab of a runner with itself, --comparisons times. A false alarm is a 95 % interval of the ratio without 1.

Exits with 1 when headroom's ratios have a larger standard deviation than nvbench's of GPU Time, or when false alarms exceed
5 % beyond chance.

  bench/gpu_steadiness.py build/release/bin --nvbench read_bench [--runs 8] [--seconds 0.5] [--comparisons 20] [--budget 240]
  bench/gpu_steadiness.py build/release/bin --runs 0 --processes 1 --budget 20       only the second part, within processes
  bench/gpu_steadiness.py build/release/bin --backend native --bytes 13107200,13500416 --sizes 4194304,8388608

The nvbench program calls read_walk of src/headroom_cuda/limits/bandwidth_kernels.h for the bytes of its axis Bytes.
"""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

# 328 tiles of 32 KiB, 100 and 103 times: just above 1 GiB. Below 512 MiB an iteration is several passes,
# which changes the ratio.
BYTES = "1074790400,1107034112"
# For A/A: launched as graphs, and one by one.
SIZES = "134217728,268435456,402653184,536870912,805306368"
SHARE_OF_RATIOS = 0.65  # of --budget, if both parts run
NVBENCH_TIMES = {"nvbench, GPU Time (mean)": "nv/cold/time/gpu/mean", "nvbench, median": "nv/cold/time/gpu/median",
                 "nvbench, batches": "nv/batch/time/gpu/mean"}
HEADROOM, QUICK, THEIRS = "headroom", "headroom --quick", "nvbench, GPU Time (mean)"


class Failed(Exception):
    """One of the programs failed; the others' results are still reported."""


def timed(command):
    """Runs the command and returns the seconds that it took."""
    command = list(map(str, command))
    start = time.monotonic()
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failed(f"{' '.join(command)}: {error}") from error
    if result.returncode != 0:
        raise Failed(f"{' '.join(command)}\nended with {result.returncode}:\n{result.stdout[-2000:]}{result.stderr[-2000:]}")
    return time.monotonic() - start


def bytes_of(axes):
    value = axes["bytes"]
    return int(value["bytes"] if isinstance(value, dict) else value)


def latencies(path):
    """Returns the latency records of measured cases."""
    found = [record for record in json.loads(path.read_text())["records"] if record["metric"]["name"] == "latency"]
    for record in found:
        if record["outcome"]["kind"] != "measured":
            outcome = record["outcome"]
            raise Failed(f"headroom: bytes={bytes_of(record['axes'])}: {outcome['kind']}: {outcome['reason']}")
    return found


def headroom(arguments, command, sizes, path, *more):
    """Returns the latency records and the program's run time in seconds."""
    path.unlink(missing_ok=True)
    wall = timed([f"{arguments.folder}/headroom", *command, "limit.read", "--backend", arguments.backend, "-a",
                  "bytes=" + ",".join(map(str, sizes)), "-a", f"pattern={arguments.pattern}", "--no-store", "--no-limits",
                  "--no-counters", *more, "--json", path])
    return latencies(path), wall


def ratio_of_headroom(arguments, path, *how):
    records, wall = headroom(arguments, ["run"], arguments.bytes, path, "--processes", "1", *how)
    times = {bytes_of(record["axes"]): record["metric"]["value"] for record in records}
    return times[arguments.bytes[1]] / times[arguments.bytes[0]], wall


def named(values):
    """nvbench writes all values as strings."""
    return {value["name"]: value["value"] for value in values}


def nvbench_times(path):
    """Returns nvbench's times in seconds, by the value of the axis Bytes."""
    times = {}
    for benchmark in json.loads(path.read_text())["benchmarks"]:
        for state in benchmark["states"]:
            if state["is_skipped"]:
                raise Failed(f"nvbench: {state['name']} was skipped: {state['skip_reason']}")
            values = {summary["tag"]: named(summary.get("data", [])).get("value") for summary in state["summaries"]}
            times[int(named(state["axis_values"])["Bytes"])] = {
                name: float(values[tag]) for name, tag in NVBENCH_TIMES.items() if tag in values}
    return times


def ratios_of_nvbench(arguments, path):
    path.unlink(missing_ok=True)
    first, second = arguments.bytes
    wall = timed([arguments.nvbench, "--devices", "0", "--axis", f"Bytes=[{first},{second}]", "--min-time", arguments.seconds,
                  "--batch-target-time", arguments.seconds, "--quiet", "--json", path])
    times = nvbench_times(path)
    return {name: (times[second][name] / times[first][name], wall) for name in NVBENCH_TIMES if name in times[first]}


def measurements(arguments, path):
    """Returns functions that measure (ratio, seconds) by tool."""
    # Unreachable: uses the whole time.
    whole = ["--precision", "0.0001%", "--max-time", f"{arguments.seconds}s"]
    functions = [lambda: {HEADROOM: ratio_of_headroom(arguments, path, *whole)}]
    if arguments.quick:
        functions.append(lambda: {QUICK: ratio_of_headroom(arguments, path, "--quick")})
    if arguments.nvbench:
        functions.append(lambda: ratios_of_nvbench(arguments, path))
    return functions


def measure_ratios(arguments, path, until):
    """Returns (ratio, seconds) of each run by tool; fewer than --runs if the time is up. A failed tool is left out from then on."""
    results = {}
    functions = measurements(arguments, path)
    for run in range(arguments.runs):
        start = time.monotonic()
        for function in list(functions) if run % 2 == 0 else list(reversed(functions)):
            try:
                for tool, pair in function().items():
                    results.setdefault(tool, []).append(pair)
            except Failed as failure:
                print(failure, file=sys.stderr)
                functions.remove(function)
        end = time.monotonic()
        if run > 0 and end + (end - start) > until:
            break
    return results


def report_ratios(arguments, results):
    """Prints the results; returns whether headroom is at least as steady."""
    print(f"the ratio of two reads, {arguments.bytes[1]} to {arguments.bytes[0]} bytes "
          f"({arguments.bytes[1] / arguments.bytes[0]:.4f}), {arguments.seconds:g} s of sampling a size")
    deviations = {}
    for tool in sorted(results):
        ratios = [ratio for ratio, _ in results[tool]]
        if len(ratios) < 2:
            print(f"  {tool:25} {len(ratios)} run: no spread")
            continue
        deviations[tool] = statistics.stdev(ratios)
        print(f"  {tool:25} {len(ratios)} runs  median {statistics.median(ratios):.5f}  max-min {max(ratios) - min(ratios):.5f}  "
              f"standard deviation {deviations[tool]:.5f}  {statistics.median(wall for _, wall in results[tool]):.2f} s a run")
    if HEADROOM not in deviations:
        return False
    print(f"  steadiest: {min(deviations, key=deviations.get)}")
    for tool in sorted(deviations):
        if tool.startswith("nvbench") and deviations[tool] > 0:
            print(f"  headroom's standard deviation is {deviations[HEADROOM] / deviations[tool]:.2f} of that of {tool}")
    if not arguments.nvbench:
        return True
    return THEIRS in deviations and deviations[HEADROOM] <= deviations[THEIRS]


def measure_alarms(arguments, path, until):
    """Returns (bytes, ratio, low, high) of each comparison, with None without an interval, and the seconds of each run of headroom ab
    (one comparison per size). Fewer than --comparisons if the time is up or a run failed."""
    found, walls = [], []
    runner = f"{arguments.folder}/headroom-{arguments.backend}"
    while len(found) < arguments.comparisons:
        sizes = arguments.sizes[:arguments.comparisons - len(found)]
        how = ["--quick", "--max-time", f"{arguments.max_time}s", "--processes", arguments.processes, "--seed", len(walls) + 1]
        try:
            records, wall = headroom(arguments, ["ab", "--runner", runner, "--runner", runner], sizes, path, *how)
        except Failed as failure:
            print(failure, file=sys.stderr)
            break
        walls.append(wall)
        for record in records:
            if "ratio" in record:
                interval = record["ratio"].get("interval", {})
                found.append((bytes_of(record["axes"]), record["ratio"]["ratio"], interval.get("low"), interval.get("high")))
        if time.monotonic() + wall > until:
            break
    return found, walls


def report_alarms(arguments, found, walls):
    """Prints the results; returns whether false alarms are within chance. Comparisons without an interval do not count."""
    without = sum(low is None for _, _, low, _ in found)
    found = [one for one in found if one[2] is not None]
    if without > 0:
        print(f"A/A: {without} comparisons had too few samples for an interval and do not count")
    if not found:
        print("A/A: nothing was compared")
        return False
    flagged = [one for one in found if one[2] > 1 or one[3] < 1]
    widths = [(high - low) / 2 for _, _, low, high in found]
    print(f"A/A: {len(flagged)} of {len(found)} comparisons of a runner with itself are false alarms (goal: at most 5 %)")
    print(f"  median half-width of the interval {100 * statistics.median(widths):.2f} %, largest ratio off 1 by "
          f"{100 * max(abs(ratio - 1) for _, ratio, _, _ in found):.2f} %, processes of each {arguments.processes}, "
          f"{sum(walls) / len(found):.2f} s a comparison")
    for size, ratio, low, high in flagged:
        print(f"  false alarm: bytes={size}: {ratio:.5f} [{low:.5f}, {high:.5f}]")
    return len(flagged) <= 0.05 * len(found) + 2 * math.sqrt(0.05 * 0.95 * len(found))


def sizes_of(text):
    return [int(value) for value in text.split(",")]


def parsed_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="folder of headroom and its runners")
    parser.add_argument("--nvbench", help="the nvbench program (default: only headroom is measured)")
    parser.add_argument("--backend", default="cuda", help="backend and runner of headroom (default cuda)")
    parser.add_argument("--pattern", default="linear")
    parser.add_argument("--bytes", type=sizes_of, default=BYTES, help="sizes of the two reads")
    parser.add_argument("--runs", type=int, default=8, help="runs of each tool; 0: no ratios")
    parser.add_argument("--seconds", type=float, default=0.5, help="sampling time of each size (nvbench's default)")
    parser.add_argument("--quick", action="store_true", help="measure the ratio with headroom run --quick, too")
    parser.add_argument("--comparisons", type=int, default=20, help="number of A/A comparisons")
    parser.add_argument("--sizes", type=sizes_of, default=SIZES, help="sizes of the A/A, all in one run")
    parser.add_argument("--max-time", type=float, default=0.5, help="sampling time of a comparison, s")
    parser.add_argument("--processes", type=int, default=3,
                        help="processes of each runner per comparison (default 3, as in headroom ab; "
                             "with 1 the placement of memory counts as a difference)")
    parser.add_argument("--budget", type=float, default=240, help="time limit in s; the rest is skipped")
    parser.add_argument("--json", help="file for all ratios")
    arguments = parser.parse_args()
    if arguments.runs == 1 or arguments.runs < 0:
        parser.error("--runs must be 0, or at least 2: one ratio has no spread")
    if len(arguments.bytes) != 2:
        parser.error("--bytes takes two sizes, as 100,103")
    return arguments


def main():
    arguments = parsed_arguments()
    start = time.monotonic()
    reached, everything = [], {}
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / "out.json"
        if arguments.runs > 0:
            share = SHARE_OF_RATIOS if arguments.comparisons > 0 else 1
            everything["ratios"] = measure_ratios(arguments, path, start + share * arguments.budget)
            reached.append(report_ratios(arguments, everything["ratios"]))
        if arguments.comparisons > 0:
            everything["a_a"], walls = measure_alarms(arguments, path, start + arguments.budget)
            reached.append(report_alarms(arguments, everything["a_a"], walls))
    print(f"{time.monotonic() - start:.1f} s in all")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(everything) + "\n")
    sys.exit(0 if all(reached) else 1)


if __name__ == "__main__":
    main()
