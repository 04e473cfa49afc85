# SPDX-License-Identifier: Apache-2.0
"""Made-up records of a run: always the same numbers, covering what pages show."""
import random

ENVIRONMENT = {
    "timestamp": 1790000000, "session": "9b1c2f0e6a7d4411", "fingerprint": "emerald-rapids-2c-4f1c9a02", "governor": "performance",
    "headroom_version": "0.1.0", "git_sha": "3f1a09c2", "git_branch": "main", "git_repo": "example/kernels",
    "command": ["headroom", "run", "gemv", "layer_norm", "--json", "results.json"],
    "machines": [{"name": "cpu", "type": "x86_64", "cpu_info": "INTEL(R) XEON(R) PLATINUM 8581C", "cpu_count": 2, "mem_info": "31 GiB",
                  "avail_mem_in_gb": 29, "gpu_info": "", "gpu_count": 0, "gpu_mem_info": "", "avail_gpu_mem_in_gb": 0,
                  "extra_info": {"caches": "48 KiB, 2 MiB, 260 MiB", "isa": "avx512f amx_bf16", "kernel": "6.1.0"}}],
    "dependencies": {"hwloc": {"repo": "open-mpi/hwloc", "branch": "", "sha": "", "version": "2.9.0", "extra_info": {}}},
    "extra_info": {"seed": "7", "precision": "0.01"}}
BYTES = 33554432
PEAK_GB_S = 21.0


def interval(values):
    ordered = sorted(values)
    n = len(ordered)
    return {"low": ordered[max(0, n // 2 - 1 - int(n ** 0.5))], "high": ordered[min(n - 1, n // 2 + int(n ** 0.5))], "confidence": 0.95}


def median(values):
    return sorted(values)[len(values) // 2]


def samples_of(rng, time_us, processes, each, modes):
    """The first two of each process are warm-up; about every seventh is delayed by the hypervisor."""
    result = []
    for process in range(processes):
        steal = [10.0 if rng.random() < 0.03 else 0.0 for _ in range(each)]
        values = [time_us * rng.lognormvariate(0, 0.01) * (1.3 if modes and rng.random() < 0.4 else 1) * (1 + 0.4 * (stolen > 0))
                  for stolen in steal]
        values[:2] = [values[0] * 1.5, values[1] * 1.2]
        result.append({"pid": 4711 + process, "iterations": 12, "warmup": 2, "values": values,
                       "rounds": [process * each + i for i in range(each)],
                       "noise": {"steal_ms": steal, "involuntary_switches": [0] * each, "page_faults": [0] * each,
                                 "frequency_mhz": [2600.0] * each, "placement_ns": [61.0] * each}})
    return result


def records_of_case(rng, name, axes, backend, time_us, processes=3, each=20, modes=False, target_share=0.8, flop_per_byte=1.0):
    samples = samples_of(rng, time_us, processes, each, modes)
    steady = [value for process in samples for value in process["values"][2:]]
    share = BYTES / (median(steady) * 1e3) / PEAK_GB_S
    common = {
        "benchmark": {"name": "headroom", "mode": "inference", "dtype": axes.get("dtype", ""), "extra_info": {}},
        "model": {"name": name, "type": "micro-benchmark", "backend": backend, "origins": [], "extra_info": {}},
        "axes": axes, "device": "cpu", "runner": "native", "caches": "cold", "threads": 2,
        "outcome": {"kind": "measured", "reason": ""}, "stop": "precision", "verified": True, "notes": [], "environment": 0,
        "limit": {"name": "read 32 MiB linear, 2 threads",
                  "parts": [{"kind": "read", "bytes": BYTES, "pattern": "linear", "threads": 2}], "value": PEAK_GB_S,
                  "fraction": share, "unstable": False, "interval": {"low": share * 0.985, "high": share * 1.01, "confidence": 0.95}}}
    records = []
    for metric, unit, factor in (("latency", "us", None), ("memory_bandwidth(GB/s)", "GB/s", BYTES / 1e3),
                                 ("GFLOP/s", "GFLOP/s", flop_per_byte * BYTES / 1e3)):
        values = [[value if factor is None else factor / value for value in process["values"]] for process in samples]
        all_steady = [value for process in values for value in process[2:]]
        record = {**common, "metric": {"name": metric, "unit": unit, "direction": "lower" if factor is None else "higher",
                                       "value": median(all_steady), "extra_info": {}},
                  "samples": [{**process, "values": own} for process, own in zip(samples, values)], "interval": interval(all_steady)}
        if modes and factor is None:
            low = [value for value in all_steady if value < 1.15 * time_us]
            rest = [value for value in all_steady if value >= 1.15 * time_us]
            record["modes"] = {"groups": [{"median": median(group), "share": len(group) / len(all_steady)} for group in (low, rest)],
                               "changes": 20, "in_stretches": False}
        limit_us = BYTES / 1e3 / PEAK_GB_S
        record["limit"] = {**common["limit"], "value": limit_us if factor is None else factor / limit_us}
        if metric.startswith("memory"):
            record["metric"].update(headline=True, target=target_share * PEAK_GB_S, target_share=target_share)
        records.append(record)
    return records


def made_run(cases=8, processes=3, each=20, seed=1):
    """A file of records: cases of gemv and layer_norm by two backends, the last with two modes."""
    rng, records = random.Random(seed), []
    for i in range(cases):
        name, size = ("gemv", "D") if (i // 2) % 2 == 0 else ("layer_norm", "N")
        backend = "native" if i % 2 == 0 else "reference"
        time_us = (1650 if backend == "native" else 2400) * (1 + 0.05 * (i // 4))
        records += records_of_case(rng, name, {size: 1024 << (i // 4 % 20), "dtype": "bf16", **({"part": i // 80} if cases > 80 else {})}, backend,
                                   time_us, processes, each, modes=i == cases - 1, flop_per_byte=1.0 if name == "gemv" else 0.25)
    return {"headroom": {"schema": 3, "version": "0.1.0"}, "environments": [ENVIRONMENT], "records": records}


def made_pair():
    """Two runs: in the second the first case takes 1.08 times as long, the fourth 0.93 times, and the last is new."""
    new = made_run(cases=10, seed=5)
    new["environments"] = [{**new["environments"][0], "governor": "powersave"}]
    for first, factor in ((0, 1.08), (9, 0.93)):
        for record in new["records"][first:first + 3]:
            rate = factor if record["metric"]["name"] == "latency" else 1 / factor
            for process in record["samples"]:
                process["values"] = [value * rate for value in process["values"]]
    return made_run(cases=8), new
