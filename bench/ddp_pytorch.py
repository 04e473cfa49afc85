#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""headroom ddp compared with PyTorch's DistributedDataParallel: same network, batch, loss, optimizer, buckets and ranks, on gloo.

    bench/ddp_pytorch.py [--bin build/release/bin] [--python PYTHON] [--models resnet18,mlp] [--ranks 2] [--rounds 5]
                         [--iters 20] [--batch-size 8] [--image-size 64]

PYTHON (default: HEADROOM_PYTHON, else /usr/bin/python3) has torch.distributed, best of the same libtorch. Both pin each rank to
one CPU and one thread, start every iteration after an untimed barrier, use SGD (0.001, momentum 0.9, weight decay 1e-4), and keep
freed memory. PyTorch runs as in its own benchmark (broadcast_buffers=False), and again with gradient_as_bucket_view=True, as
headroom does.

Prints the median iteration with its 95 % interval; the same without the optimizer (headroom's SGD is one pass, PyTorch's several);
and median and range of the ratios by round. Exits with 1 if headroom takes longer without the optimizer than PyTorch with its
benchmark's settings (--limit 1.0).
"""
import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time

WARMUP = 3
PARTS = ("iteration", "up to the optimizer")
SIDES = ("PyTorch DDP", "PyTorch DDP, bucket views", "headroom")


def resnet18(torch):
    """torchvision's resnet18, which Debian does not package."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, inputs, planes, stride):
            super().__init__()
            self.conv1 = nn.Conv2d(inputs, planes, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(planes)
            self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(planes)
            self.relu = nn.ReLU(inplace=True)
            self.downsample = None
            if stride != 1 or inputs != planes:
                self.downsample = nn.Sequential(nn.Conv2d(inputs, planes, 1, stride, bias=False), nn.BatchNorm2d(planes))

        def forward(self, x):
            out = self.relu(self.bn1(self.conv1(x)))
            out = self.bn2(self.conv2(out))
            out += x if self.downsample is None else self.downsample(x)
            return self.relu(out)

    layers, inputs = [], 64
    for i, planes in enumerate((64, 128, 256, 512)):
        for stride in ((2 if i else 1), 1):
            layers.append(Block(inputs, planes, stride))
            inputs = planes
    return nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True),
                         nn.MaxPool2d(3, 2, 1), *layers, nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten(), nn.Linear(512, 1000))


def mlp(torch):
    nn = torch.nn
    hidden = [layer for _ in range(4) for layer in (nn.Linear(1024, 1024), nn.ReLU())]
    return nn.Sequential(*hidden, nn.Linear(1024, 1000))


def rank_process(options):
    """Runs one rank of PyTorch."""
    import torch
    import torch.distributed as dist
    torch.set_num_threads(1)
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group("gloo", rank=rank, world_size=size)
    torch.manual_seed(rank)
    model = {"resnet18": resnet18, "mlp": mlp}[options.model](torch)
    wanted = {"resnet18": 11_689_512, "mlp": 5_223_400}[options.model]
    if sum(p.numel() for p in model.parameters()) != wanted:
        sys.exit(f"ddp_pytorch: {options.model} has other parameters than headroom's")
    model = torch.nn.parallel.DistributedDataParallel(model, broadcast_buffers=False, bucket_cap_mb=25,
                                                      gradient_as_bucket_view=options.bucket_views)
    # After the process group has started its threads, which stay unpinned, as in headroom's ranks.
    allowed = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {allowed[rank % len(allowed)]})
    criterion = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), 0.001, momentum=0.9, weight_decay=1e-4)
    shape = (3, options.image_size, options.image_size) if options.model == "resnet18" else (1024,)
    inputs, target = torch.rand(options.batch_size, *shape), torch.ones(options.batch_size, dtype=torch.long)
    times, reduced = [], []
    for _ in range(WARMUP + options.iters):
        dist.barrier()
        begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        loss = criterion(model(inputs), target)
        loss.backward()
        reduced.append(time.perf_counter() - begin)
        optimizer.step()
        times.append(time.perf_counter() - begin)
    dist.barrier()
    with open(f"{options.rank_process}.{rank}", "w") as file:
        json.dump({"iteration": times[WARMUP:], "up to the optimizer": reduced[WARMUP:], "version": torch.__version__}, file)


def clean_environment(**more):
    launchers = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
    return {**{name: value for name, value in os.environ.items() if name not in launchers}, **more}


def pytorch_round(options, model, bucket_views, folder):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    out = os.path.join(folder, "pytorch")
    command = [options.python, os.path.abspath(__file__), "--rank-process", out, "--model", model, "--iters",
               str(options.iters), "--batch-size", str(options.batch_size), "--image-size", str(options.image_size)]
    command += ["--bucket-views"] if bucket_views else []
    processes = [subprocess.Popen(command, env=clean_environment(
        RANK=str(rank), WORLD_SIZE=str(options.ranks), LOCAL_RANK=str(rank), MASTER_ADDR="127.0.0.1", MASTER_PORT=port,
        OMP_NUM_THREADS="1", MALLOC_MMAP_MAX_="0", MALLOC_TRIM_THRESHOLD_="-1")) for rank in range(options.ranks)]
    if any([process.wait() for process in processes]):
        sys.exit("ddp_pytorch: PyTorch's ranks failed; has --python torch? (Debian: apt-get install python3-torch)")
    results = []
    for rank in range(options.ranks):
        with open(f"{out}.{rank}") as file:
            results.append(json.load(file))
    return {part: [seconds for result in results for seconds in result[part]] for part in PARTS}, "torch " + results[0]["version"]


def headroom_round(options, model, folder):
    out = os.path.join(folder, "headroom.json")
    subprocess.run([os.path.join(options.bin, "headroom"), "ddp", "--model", model, "--ranks", str(options.ranks), "--iters",
                    str(options.iters), "--warmup", str(WARMUP), "--batch-size", str(options.batch_size), "--image-size",
                    str(options.image_size), "--no-store", "--json", out],
                   check=True, stdout=subprocess.DEVNULL, env=clean_environment())
    with open(out) as file:
        records = json.load(file)["records"]
    library = records[0]["model"]["extra_info"]["library"]
    step = {record["metric"]["name"]: [value for process in record["samples"] for value in process["values"]]
            for record in records if record["axes"].get("ddp") == "yes" and int(record["axes"]["ranks"]) == options.ranks}
    reduced = [whole - optimizer for whole, optimizer in zip(step["latency"], step["step"])]
    return {"iteration": step["latency"], "up to the optimizer": reduced}, library


def median_text(values):
    """Formats the median with its 95 % order-statistic interval, in ms."""
    ordered, n = sorted(values), len(values)
    reach = round(0.98 * n ** 0.5)
    low, high = ordered[max(0, n // 2 - reach)], ordered[min(n - 1, n // 2 + reach)]
    return f"{statistics.median(ordered) * 1e3:8.2f} ({low * 1e3:.2f} to {high * 1e3:.2f})"


def measure(options, model):
    rounds = {side: [] for side in SIDES}
    versions = {}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(options.rounds):
            for side in SIDES[turn % 3:] + SIDES[:turn % 3]:
                if side == "headroom":
                    times, versions[side] = headroom_round(options, model, folder)
                else:
                    times, versions[side] = pytorch_round(options, model, side != SIDES[0], folder)
                rounds[side].append(times)
    print(f"\n{model}, batch of {options.batch_size}, {options.ranks} ranks, gloo, ms: median (95 % interval)")
    share = None
    for part in PARTS:
        print(f"  {part}")
        for side in SIDES:
            values = [value for times in rounds[side] for value in times[part]]
            print(f"    {side:26} {median_text(values)}  {versions[side]}, {len(values)} iterations in {options.rounds} rounds")
        for side in SIDES[:2]:
            ratios = [statistics.median(ours[part]) / statistics.median(theirs[part])
                      for ours, theirs in zip(rounds["headroom"], rounds[side])]
            print(f"    headroom / {side}: {statistics.median(ratios):.3f} "
                  f"({min(ratios):.3f} to {max(ratios):.3f} over the rounds)")
            if part == PARTS[1] and side == SIDES[0]:
                share = statistics.median(ratios)
    return share


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--python", default=os.environ.get("HEADROOM_PYTHON", "/usr/bin/python3"))
    parser.add_argument("--models", default="resnet18,mlp")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--iters", type=int, default=20)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--image-size", type=int, default=64)
    parser.add_argument("--limit", type=float, default=1.0)
    for hidden in ("--rank-process", "--model"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    parser.add_argument("--bucket-views", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rank_process:
        return rank_process(options)
    shares = {model: measure(options, model) for model in options.models.split(",")}
    slower = [model for model, share in shares.items() if share > options.limit]
    if slower:
        print(f"\nslower than {options.limit:g} x PyTorch's: {', '.join(slower)}")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
