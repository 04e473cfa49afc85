#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A rank process without libtorch: speaks the protocols of headroom dispatch and headroom ddp, with times from a
formula, and fails on demand. SCRIPTED_RANK is "WHAT:RANK:WHEN", for example "die:1:cycles". SCRIPTED_BEGUN is a file that
rank 0 makes when it is asked for cycles the 20th time."""
import json
import os
import random
import signal
import sys
import time

RANK, SIZE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
LINES = os.fdopen(int(os.environ["HEADROOM_FD"]), "rb+", buffering=0)
WHAT, WHO, WHEN = (os.environ.get("SCRIPTED_RANK", "nothing::") + "::").split(":")[:3]
OPS = [{"name": "add", "summary": "a + a", "default": True}, {"name": "full", "summary": "gather", "default": True},
       {"name": "addmm", "summary": "a product", "default": False}]
MODELS = [{"name": "resnet18", "summary": "a network", "default": True},
          {"name": "mlp", "summary": "layers", "default": False}]
HIT_NS = float(os.environ.get("SCRIPTED_HIT_NS", "5000"))


def fail_at(moment):
    if WHO != str(RANK) or moment != WHEN:
        return
    print(f"rank {RANK} {WHAT}s at {moment}", file=sys.stderr, flush=True)
    if WHAT == "die":
        sys.exit(7)
    if WHAT == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if WHAT == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    if WHAT == "hang":
        time.sleep(1000)
    if WHAT == "babble":
        LINES.write(b"no JSON\n")
    if WHAT == "refuse":
        LINES.write(b'{"error": "there is no such thing"}\n')


def say(message):
    LINES.write(json.dumps(message).encode() + b"\n")


def cycles(op, count, values):
    """The rank's own share makes rank 1 the slowest."""
    def some(ns):
        return [ns + values.uniform(0, 0.02 * ns) for _ in range(count)]
    slow = 1.1 if RANK == 1 else 1.0
    plain = [] if op == "full" else some(9000)
    local = [] if op == "full" else some(4000)
    return {"plain_ns": plain, "local_ns": local, "miss_ns": some(4 * HIT_NS * slow), "hit_ns": some(HIT_NS * slow)}


def steps(count):
    return {name: [100.0 * (i + 1)] * count
            for i, name in enumerate(("key", "look-up", "redistribute", "local", "wrap"))}


def rounds(setup, count):
    """100 ms an iteration with DDP, 80 without the reduction, 70 without DDP; rank 1 computes a tenth longer."""
    ddp, ranks = setup["ddp"], setup["ranks"]
    base = (100e6 if ranks > 1 else 80e6) if ddp else 70e6
    reply = {"iteration_ns": [base + 1e5 * i for i in range(count)],
             "alone_ns": [80e6 * (1.1 if RANK == 1 else 1)] * count if ddp and ranks > 1 else [],
             "forward_ns": [25e6] * count, "backward_ns": [40e6] * count, "step_ns": [5e6] * count,
             "wait_ns": [20e6] * count, "communication_ns": [50e6] * count, "hidden_ns": [30e6] * count, "buckets": []}
    if ddp:
        reply["buckets"] = [{"bytes": 1 << 20, "tensors": 3, "launched_ns": [5e6] * count, "completed_ns": [9e6] * count},
                            {"bytes": 4 << 20, "tensors": 9, "launched_ns": [15e6] * count, "completed_ns": [35e6] * count}]
    return reply


def ddp_answer(setup, request):
    what = request["do"]
    if not setup["each_alone"] and RANK >= setup["ranks"]:
        return {"idle": True}
    if what == "train":
        differs = WHAT == "differ" and WHO == str(RANK)
        need = 10**15 if setup["batch_size"] > 10**6 else 10**6
        return {"parameters": 11689512, "tensors": 62, "layout": "other" if differs else "same", "need_bytes": need,
                "takes_images": setup["model"] != "mlp",
                "available_bytes": 10**10, "host": "here"}
    if what == "rounds":
        time.sleep(0.005)
        return rounds(setup, request["count"])
    if what == "agree":
        diverges = WHAT == "diverge" and WHO == str(RANK)
        unused = {"unused": ["fc.bias"], "threads": [os.environ.get("OPENBLAS_NUM_THREADS", "none")]}.get(WHAT, [])
        return {"parameters": "bad" if diverges else "good", "unused": unused, "loss": 6.9}
    if what == "reduce":
        return {"ns": [[1e5 + 2.0 * size] * request["count"] for size in request["bytes"]]}
    return {what: True}


COLLECTIVES = {"all_reduce": lambda n: 2 * (n - 1) / n, "all_gather": lambda n: (n - 1) / n,
               "reduce_scatter": lambda n: (n - 1) / n, "broadcast": lambda n: 1, "all_to_all": lambda n: (n - 1) / n}


def describe():
    axes = [{"name": "bytes", "integer": True, "values": ["64"]}, {"name": "ranks", "integer": True, "values": ["2"]},
            {"name": "dtype", "integer": False, "values": ["f32", "f64", "f16", "i32", "i64"]}]
    return {"experiments": [{"name": op, "summary": "", "metric": "latency", "device": "cpu", "backends": ["gloo"],
                             "limit": False, "axes": axes} for op in COLLECTIVES]}


def ready(op, axes):
    amount, rate = int(axes["bytes"]) * 1e-9, {"unit": "GB/s", "higher_is_better": True, "is_rate": True}
    metrics = [{"name": "algbw", "amount": amount, **rate},
               {"name": "busbw", "amount": amount * COLLECTIVES[op](int(axes["ranks"])), **rate}]
    return {"outcome": "ready",
            "info": {"flops": 0, "bytes": 0, "bytes_written": 0, "dtype": "", "copies": 1, "verified": True, "max_error": 0,
                     "tolerance": 0, "metrics": metrics, "inputs": {}, "notes": {"library": "scripted 1.0"}}}


def runner_answer(request, cases, values):
    """What headroom/runner/protocol.h asks. 1 GB/s and 100 µs; rank 1 takes a twentieth longer than the others."""
    what, is_faulty = request["do"], WHO == str(RANK) and WHEN == request["do"]
    if what == "describe":
        return describe()
    if what == "release":
        return {"released": request["case"]}
    if what == "prepare":
        if is_faulty and WHAT == "skip":
            return {"outcome": "skipped", "reason": "too little memory"}
        cases[request["case"]] = request["spec"]["axes"]
        return ready(request["spec"]["experiment"], request["spec"]["axes"])
    if is_faulty and WHAT == "wrong":
        return {"failed": f"wrong data on rank {RANK}: element 3 of 16 is 7, not 5 (1 is wrong)"}
    axes = cases[request["case"]]
    typical = (1e5 + int(axes["bytes"])) * (1.05 if RANK == 1 else 1) * values.uniform(1, 1.01)
    time.sleep(0.0005)
    return {"elapsed_ns": 0 if RANK >= int(axes["ranks"]) else typical * request["iterations"],
            "iterations": request["iterations"], "noise": {"steal_ms": 0, "switches": 0, "faults": 0, "mhz": 0}}


def main():
    values = random.Random(RANK)
    fail_at("start")
    say({"rank": RANK, "size": SIZE, "pid": os.getpid(), "library": "scripted 1.0", "no_counters": "", "ops": OPS,
         "models": MODELS, "arguments": os.environ.get("HEADROOM_RANK_ARGUMENTS", ""), "host": "here",
         "cores": [int(os.environ.get("SCRIPTED_CORE", RANK))]})
    op = setup = None
    cases = {}
    batches = 0
    for line in iter(LINES.readline, b""):
        request = json.loads(line)
        fail_at(request["do"])
        if WHAT in ("babble", "refuse") and WHO == str(RANK) and WHEN == request["do"]:
            continue
        if request["do"] == "meet":
            say({"met": SIZE})
        elif request["do"] == "backend":
            say({"backend": request["backend"]})
        elif request["do"] == "train":
            setup = request
            say(ddp_answer(setup, request))
        elif request["do"] in ("load", "warm", "rounds", "agree", "reduce", "record", "drop"):
            say(ddp_answer(setup, request))
        elif request["do"] in ("describe", "prepare", "sample", "release"):
            say(runner_answer(request, cases, values))
        elif request["do"] == "dispatch":
            op = request["op"]
            say({"ready": op})
        elif request["do"] == "cycles":
            batches += 1
            if RANK == 0 and batches == 20 and "SCRIPTED_BEGUN" in os.environ:
                open(os.environ["SCRIPTED_BEGUN"], "w").close()
            time.sleep(0.005)
            say(cycles(op, request["count"], values))
        elif request["do"] == "steps":
            say({"miss": steps(request["count"]), "hit": steps(request["count"]), "cache_hits": 9, "cache_misses": 1,
                 "cache_size": 1, "instructions": {"local": 5900.0, "hit": 8000.0, "miss": 20000.0}})
    fail_at("end")


main()
