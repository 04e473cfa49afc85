#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""headroom dispatch compared with PyTorch's DTensor: same operator, sizes, placement, ranks and cycles, on gloo, in turns.

    bench/dispatch_pytorch.py [--bin build/release/bin] [--ranks 4] [--rounds 3] [--cycles 100] [--python PYTHON]

PYTHON (default: HEADROOM_PYTHON, else python3) has torch.distributed.tensor. A cycle calls a + a nine times on the whole
tensor, on a rank's part, and on the distributed tensor: once with all sharding caches cleared, then nine times again. Prints
medians over all ranks and rounds of the cycles' medians.
"""
import argparse
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time

KINDS = ("plain", "local", "hit", "miss")
REPEATS = 9


def rank_process(cycles, out):
    """Runs one rank of PyTorch."""
    import torch
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Shard, distribute_tensor
    try:
        from torch.distributed.tensor.debug import _clear_sharding_prop_cache as clear
    except ImportError:
        clear = DTensor._op_dispatcher.sharding_propagator.propagate_op_sharding.cache.cache_clear
    torch.set_num_threads(1)
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group("gloo", rank=rank, world_size=size)
    mesh = init_device_mesh("cpu", (size,))
    allowed = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {allowed[rank % len(allowed)]})
    whole = torch.rand(512, 512)
    placed = distribute_tensor(whole, mesh, [Shard(0)])
    operands = {"plain": whole, "local": placed.to_local(), "hit": placed}
    clock = time.perf_counter_ns

    def call(x):
        begin = clock()
        result = x + x
        end = clock()
        del result
        return end - begin

    order = random.Random(1)
    times = {kind: [] for kind in KINDS}
    for _ in range(cycles):
        kinds = ["plain", "local", "hit"]
        order.shuffle(kinds)
        for kind in kinds:
            if kind == "hit":
                call(placed)  # untimed, as in ours: other memory is in the caches
                clear()
                times["miss"].append(call(placed))
            times[kind].append(statistics.median(call(operands[kind]) for _ in range(REPEATS)))
    dist.barrier()
    with open(f"{out}.{rank}", "w") as file:
        json.dump({"times": times, "version": torch.__version__}, file)
    dist.destroy_process_group()


def pytorch_round(python, ranks, cycles, folder):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    out = os.path.join(folder, "pytorch")
    processes = [subprocess.Popen([python, os.path.abspath(__file__), "--rank-process", out, "--cycles", str(cycles)],
                                  env={**os.environ, "RANK": str(rank), "WORLD_SIZE": str(ranks), "LOCAL_RANK": str(rank),
                                       "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1"})
                 for rank in range(ranks)]
    if any([process.wait() for process in processes]):
        sys.exit("dispatch_pytorch: PyTorch's ranks failed; has --python a torch with torch.distributed.tensor?")
    results = []
    for rank in range(ranks):
        with open(f"{out}.{rank}") as file:
            results.append(json.load(file))
    return {kind: [ns / 1e3 for result in results for ns in result["times"][kind]] for kind in KINDS}, results[0]["version"]


def headroom_round(folder_of_programs, ranks, cycles, folder):
    out = os.path.join(folder, "headroom.json")
    environment = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE")}
    subprocess.run([os.path.join(folder_of_programs, "headroom"), "dispatch", "--op", "add", "--ranks", str(ranks),
                    "--cycles", str(cycles), "--precision", "1e-9", "--max-time", "2s", "--repeats", str(REPEATS),
                    "--no-store", "--json", out],
                   check=True, stdout=subprocess.DEVNULL, env=environment)
    with open(out) as file:
        records = json.load(file)["records"]
    times = {}
    for record in records:
        if record["metric"]["name"] in KINDS:
            times[record["metric"]["name"]] = [value for process in record["samples"] for value in process["values"]]
    return times, records[0]["model"]["extra_info"]["library"]


def median_text(values):
    """Formats the median with its 95 % order-statistic interval, in µs."""
    ordered, n = sorted(values), len(values)
    reach = round(0.98 * n ** 0.5)
    low, high = ordered[max(0, n // 2 - reach)], ordered[min(n - 1, n // 2 + reach)]
    return f"{statistics.median(ordered):8.2f} ({low:.2f} to {high:.2f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cycles", type=int, default=100)
    parser.add_argument("--python", default=os.environ.get("HEADROOM_PYTHON", "python3"))
    parser.add_argument("--rank-process", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rank_process:
        return rank_process(options.cycles, options.rank_process)
    sides = {"PyTorch DTensor": {kind: [] for kind in KINDS}, "headroom": {kind: [] for kind in KINDS}}
    versions = {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.rounds):
            for name, (times, version) in (
                    ("PyTorch DTensor", pytorch_round(options.python, options.ranks, options.cycles, folder)),
                    ("headroom", headroom_round(options.bin, options.ranks, options.cycles, folder))):
                versions[name] = version
                for kind in KINDS:
                    sides[name][kind] += times[kind]
    print(f"add of 512x512 in S(0), {options.ranks} ranks, gloo, µs a call: median (95 % interval)")
    for name, times in sides.items():
        print(f"\n{name} ({versions[name]}), {len(times['hit'])} cycles of all ranks in {options.rounds} rounds")
        for kind in KINDS:
            print(f"  {kind:6} {median_text(times[kind])}")
    theirs, ours = (sides[name] for name in ("PyTorch DTensor", "headroom"))

    def over_local(times, kind):
        return statistics.median(times[kind]) - statistics.median(times["local"])
    print("\nover the local operator, PyTorch / headroom:")
    for kind in ("hit", "miss"):
        mine, other = over_local(ours, kind), over_local(theirs, kind)
        ratio = f" = {other / mine:.1f}x" if mine > 0 and other > 0 else ""
        print(f"  {kind:6} {other:8.2f} / {mine:.2f} µs{ratio}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
