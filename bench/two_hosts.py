#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Simulates two hosts on one machine: two linked network namespaces with two ranks each, started through torchrun's variables.
Shows how delay and rate of the link affect collectives and training.

    bench/two_hosts.py [--bin build/release/bin] [--delays 0,2,10] [--rates 0,1000,100] [--training]

Delays in ms (one way), rates in Mbit/s, 0 for none. Delays by tc's netem or, if the kernel lacks it, bench/delayed_link.py;
rates by tbf. --training adds the exposed communication of `headroom ddp --model mlp`. Needs root; exits with 77 if namespaces
cannot be made, with 1 if latency did not grow with delay or with lower rate.
"""
import argparse
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

from two_namespaces import ADDRESSES, HOSTS, cable, can_be_made, hosts, tc

PORT = 29533
SKIPPED = 77


@contextlib.contextmanager
def slowed(mbit):
    """Limits the link to `mbit` Mbit/s both ways."""
    with cable():
        for host in HOSTS if mbit else ():
            made = tc(host, "qdisc", "add", "dev", "cable", "root", "tbf", "rate", f"{mbit}mbit", "burst", "128k",
                      "latency", "200ms")
            if made.returncode != 0:
                sys.exit(f"this kernel has no tbf: {made.stderr.strip()}")
        yield


def add_netem(host, ms):
    return tc(host, "qdisc", "add", "dev", "cable", "root", "netem", "delay", f"{ms}ms").returncode == 0


def has_netem():
    with cable():
        return add_netem(HOSTS[0], 1)


@contextlib.contextmanager
def delayed(ms, netem):
    """Delays every packet of the link."""
    if netem:
        with cable():
            for host in HOSTS:
                add_netem(host, ms)
            yield
        return
    program = pathlib.Path(__file__).with_name("delayed_link.py")
    link = subprocess.Popen([sys.executable, str(program), HOSTS[0], ADDRESSES[0], HOSTS[1], ADDRESSES[1], str(ms)],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        if link.stdout.readline() != "ready\n":
            sys.exit("bench/delayed_link.py did not start")
        yield
    finally:
        link.stdin.close()
        link.wait(timeout=10)


def job(headroom, arguments, limit=150):
    """Runs four ranks, two on each host, as torchrun would; returns the output of rank 0."""
    programs = []
    for rank in range(4):
        variables = {"RANK": rank, "WORLD_SIZE": 4, "LOCAL_RANK": rank % 2, "LOCAL_WORLD_SIZE": 2,
                     "MASTER_ADDR": ADDRESSES[0], "MASTER_PORT": PORT, "GROUP_RANK": rank // 2}
        environment = {**os.environ, **{name: str(value) for name, value in variables.items()}}
        programs.append(subprocess.Popen(["ip", "netns", "exec", HOSTS[rank // 2], str(headroom), *arguments],
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
                                         start_new_session=True))
    try:
        outputs = [program.communicate(timeout=limit) for program in programs]
    finally:
        for program in programs:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
    if any(program.returncode != 0 for program in programs):
        sys.exit("a rank failed:\n" + "".join(stderr for _, stderr in outputs))
    return outputs[0][0]


def records_of(headroom, *arguments):
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "records.json")
        job(headroom, ["ddp", *arguments, "--json", file, "--no-store"])
        with open(file) as text:
            return json.load(text)["records"]


def shown(record):
    interval = record.get("interval")
    half = "" if not interval else f" ±{(interval['high'] - interval['low']) / 2:.3g}"
    count = sum(len(process["values"]) for process in record["samples"])
    return f"{record['metric']['value']:.4g}{half} {record['metric']['unit']} (n={count})"


def latencies(headroom):
    """Returns the latency of all-reduces of 1 KiB and 1 MiB over the four ranks."""
    records = records_of(headroom, "--collectives=all_reduce", "--min-bytes", "1K", "--max-bytes", "1M", "--factor",
                         "1024", "--max-time", "4s", "--iters", "20", "--precision", "5%")
    return {dict(record["axes"])["bytes"] if isinstance(record["axes"], list) else record["axes"]["bytes"]: record
            for record in records if record["metric"]["name"] == "latency"}


def exposed(headroom):
    records = records_of(headroom, "--model", "mlp", "--batch-size", "8", "--ranks", "4", "--iters", "10", "--warmup", "2")
    return next(record for record in records if record["metric"]["name"] == "exposed communication")


def measure(headroom, training):
    found = latencies(headroom)
    print(f"    all_reduce 1 KiB  {shown(found['1024'])}\n    all_reduce 1 MiB  {shown(found['1048576'])}")
    values = {"1 KiB": found["1024"]["metric"]["value"], "1 MiB": found["1048576"]["metric"]["value"]}
    if training:
        record = exposed(headroom)
        print(f"    exposed communication of an iteration  {shown(record)}")
        values["exposed"] = record["metric"]["value"]
    sys.stdout.flush()
    return values


def grows(values):
    return all(a < b for a, b in zip(values, values[1:]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("build/release/bin"))
    parser.add_argument("--delays", default="0,2,10")
    parser.add_argument("--rates", default="0,1000,100")
    parser.add_argument("--training", action="store_true")
    options = parser.parse_args()
    headroom = (options.bin / "headroom").resolve()
    # Clean up ranks and namespaces on SIGTERM, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if not can_be_made():
        print("two_hosts: needs root and network namespaces", file=sys.stderr)
        return SKIPPED
    by_delay, by_rate = [], []
    with hosts():
        netem = has_netem()
        for delay in map(float, options.delays.split(",")):
            print(f"delay {delay:g} ms ({'netem' if netem else 'two TUN devices'})")
            with delayed(delay, netem):
                by_delay.append(measure(headroom, options.training))
        for rate in map(int, options.rates.split(",")):
            print(f"rate {rate or 'unlimited'} {'Mbit/s (tbf)' if rate else ''}".rstrip())
            with slowed(rate):
                by_rate.append(measure(headroom, options.training))
    print("small messages grow with delay:", grows([values["1 KiB"] for values in by_delay]))
    print("large messages grow with lower rate:", grows([values["1 MiB"] for values in by_rate]))
    fine = grows([values["1 KiB"] for values in by_delay]) and grows([values["1 MiB"] for values in by_rate])
    if options.training:
        print("exposed communication grows with delay:", grows([values["exposed"] for values in by_delay]))
        print("exposed communication grows with lower rate:", grows([values["exposed"] for values in by_rate]))
        fine = fine and grows([v["exposed"] for v in by_delay]) and grows([v["exposed"] for v in by_rate])
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
