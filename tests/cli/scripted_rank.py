#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A rank process without libtorch: speaks the protocols of runners and of headroom ddp, with times from a formula, and
fails on demand. SCRIPTED_RANK is "WHAT:RANK:WHEN", for example "die:1:sample", or "die:1:sample#30" of the 30th.
SCRIPTED_BEGUN is a file that rank 0 makes when it is asked for the 100th sample."""
import json
import os
import random
import signal
import sys
import time

RANK, SIZE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
LINES = os.fdopen(int(os.environ["HEADROOM_FD"]), "rb+", buffering=0)
WHAT, WHO, WHEN = (os.environ.get("SCRIPTED_RANK", "nothing::") + "::").split(":")[:3]
OPS = {"add": True, "full": True, "addmm": False}  # whether it is measured by default
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


def cycle(op, values):
    """A cycle of an operator in ns, and the columns of it in us. The rank's own share makes rank 1 the slowest."""
    slow = 1.1 if RANK == 1 else 1.0
    plain, local, miss, hit = (ns * values.uniform(1, 1.02) for ns in (9000, 4000, 4 * HIT_NS * slow, HIT_NS * slow))
    columns = {"miss": miss, "propagation": miss - hit}
    if op != "full":
        columns.update({"plain": plain, "local": local, "hit over local": hit - local, "miss over local": miss - local})
    for kind in ("miss", "hit"):
        columns.update({f"{kind} {step}": 100.0 * (i + 1)
                        for i, step in enumerate(("key", "look-up", "redistribute", "local", "wrap"))})
    columns = {name: ns / 1e3 for name, ns in columns.items()}
    columns.update({"instructions local": 5900.0, "instructions miss": 20000.0, "instructions hit": 8000.0})
    return hit, columns


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


def experiment(name, axes, **more):
    return {"name": name, "summary": "", "metric": "latency", "device": "cpu", "backends": ["gloo"], "limit": False,
            "axes": [{"name": axis, "integer": False, "values": [value]} for axis, value in axes.items()], **more}


def describe():
    placed = {"mesh": "4", "placements": "S(0)", "shape": "512x512", "dtype": "f32", "repeats": "9"}
    return {"experiments": [experiment(op, {"bytes": "64", "ranks": "2", "dtype": "f32"}) for op in COLLECTIVES] +
            [experiment("dispatch." + op, placed, on_request=not by_default, each_rank_counts=True)
             for op, by_default in OPS.items()]}


def metrics(name, axes):
    def metric(name, unit, **more):
        return {"name": name, "unit": unit, "amount": 0, "is_rate": False, "higher_is_better": False, **more}
    if name.startswith("dispatch."):
        return [metric(column, "1" if column.startswith("instructions") else "us", is_column=True)
                for column in cycle(name.removeprefix("dispatch."), random)[1]]
    amount, rate = int(axes["bytes"]) * 1e-9, {"is_rate": True, "higher_is_better": True}
    return [metric("algbw", "GB/s", **{**rate, "amount": amount}),
            metric("busbw", "GB/s", **{**rate, "amount": amount * COLLECTIVES[name](int(axes["ranks"]))})]


def ready(name, axes):
    notes = {"library": "scripted 1.0", "cache": "9 hits, 1 misses, 1 plans"}
    return {"outcome": "ready", "info": {
        "flops": 0, "bytes": 0, "bytes_written": 0, "dtype": "", "copies": 1, "verified": True, "max_error": 0, "tolerance": 0,
        "metrics": metrics(name, axes), "inputs": {}, "notes": notes}}


def sampled(spec, iterations, values):
    """Of a collective 1 GB/s and 100 µs; rank 1 takes a twentieth longer than the others."""
    reply = {"iterations": iterations, "noise": {"steal_ms": 0, "switches": 0, "faults": 0, "mhz": 0}}
    if spec["experiment"].startswith("dispatch."):
        hit, columns = cycle(spec["experiment"].removeprefix("dispatch."), values)
        return {"elapsed_ns": hit * iterations, "columns": list(columns.values()), **reply}
    axes = spec["axes"]
    typical = (1e5 + int(axes["bytes"])) * (1.05 if RANK == 1 else 1) * values.uniform(1, 1.01)
    return {"elapsed_ns": 0 if RANK >= int(axes["ranks"]) else typical * iterations, **reply}


def runner_answer(request, cases, values):
    """What headroom/runner/protocol.h asks."""
    what, is_faulty = request["do"], WHO == str(RANK) and WHEN == request["do"]
    if what == "describe":
        return describe()
    if what == "release":
        return {"released": request["case"]}
    if what == "prepare":
        if is_faulty and WHAT == "skip":
            return {"outcome": "skipped", "reason": "too little memory"}
        spec = cases[request["case"]] = request["spec"]
        return ready(spec["experiment"], spec["axes"])
    if is_faulty and WHAT == "wrong":
        return {"failed": f"wrong data on rank {RANK}: element 3 of 16 is 7, not 5 (1 is wrong)"}
    time.sleep(0.0005)
    return sampled(cases[request["case"]], request["iterations"], values)


def main():
    values = random.Random(RANK)
    fail_at("start")
    say({"rank": RANK, "size": SIZE, "pid": os.getpid(), "library": "scripted 1.0", "no_counters": "", "models": MODELS, "arguments": os.environ.get("HEADROOM_RANK_ARGUMENTS", ""), "host": "here",
         "cores": [int(os.environ.get("SCRIPTED_CORE", RANK))]})
    setup = None
    cases, times = {}, {}
    for line in iter(LINES.readline, b""):
        request = json.loads(line)
        what = request["do"]
        times[what] = times.get(what, 0) + 1
        fail_at(what)
        fail_at(f"{what}#{times[what]}")
        if RANK == 0 and what == "sample" and times[what] == 100 and "SCRIPTED_BEGUN" in os.environ:
            open(os.environ["SCRIPTED_BEGUN"], "w").close()
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
    fail_at("end")


main()
