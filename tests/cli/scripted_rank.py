#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A rank process without libtorch: speaks the runner protocol, with times from a formula, and fails on demand. SCRIPTED_RANK is
"WHAT:RANK:WHEN": "die:1:sample", or "die:1:sample#30" for the 30th. SCRIPTED_BEGUN is a file that rank 0 creates at its 100th sample."""
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
MODELS = {"resnet18": True, "mlp": False}  # likewise
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


def say(message):
    LINES.write(json.dumps(message).encode() + b"\n")


def cycle(op, values):
    """ns of a cycle and its columns in us; rank 1 is the slowest."""
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


def iteration(axes, values):
    """ns of an iteration and its columns in s: 100 ms with DDP, 80 without reduction, 70 without DDP; rank 1 is slower."""
    ddp, ranks = axes["ddp"] == "yes", int(axes["ranks"])
    ns = (100e6 if ranks > 1 else 80e6) if ddp else 70e6
    alone = 80e6 * (1.1 if RANK == 1 else 1)
    columns = {"without reduction": alone, "exposed communication": ns - alone} if ddp and ranks > 1 else {}
    columns.update({"forward": 25e6, "backward": 40e6, "wait": 20e6, "step": 5e6})
    if ddp and ranks > 1:
        columns["communication"] = 50e6
    columns = {name: column * 1e-9 for name, column in columns.items()}
    return ns * values.uniform(1, 1.001), {**columns, "overlap": 0.6} if ddp and ranks > 1 else columns


def conclusion(axes):
    """The conclusion of training."""
    if WHAT == "diverge":
        return {"failed": f"rank {WHO} has other parameters than rank 0 after 9 iterations"}
    notes, series = {}, []
    if WHAT in ("unused", "threads"):
        notes["unused parameters"] = {"unused": "fc.bias", "threads": os.environ.get("OPENBLAS_NUM_THREADS", "none")}[WHAT]
    if axes["ddp"] == "yes" and int(axes["ranks"]) > 1:
        for i, (size, tensors, launched, completed) in enumerate(((1 << 20, 3, 5e3, 9e3), (4 << 20, 9, 15e3, 35e3))):
            series += [{"name": f"bucket {i} {what}", "unit": "us", "values": [us] * 20,
                        **({"info": {"bytes": str(size), "tensors": str(tensors)}} if WHAT == "old" else
                           {"info": {}, "numbers": {"bytes": size, "tensors": tensors}})}
                       for what, us in (("launched", launched), ("completed", completed))]
    return {"notes": notes, "series": series}


COLLECTIVES = {"all_reduce": lambda n: 2 * (n - 1) / n, "all_gather": lambda n: (n - 1) / n,
               "reduce_scatter": lambda n: (n - 1) / n, "broadcast": lambda n: 1, "all_to_all": lambda n: (n - 1) / n}


def experiment(name, axes, **more):
    return {"name": name, "summary": "", "metric": "latency", "device": "cpu", "backends": ["gloo"], "limit": False,
            "axes": [{"name": axis, "integer": False, "values": [value]} for axis, value in axes.items()], **more}


def describe():
    placed = {"mesh": "4", "placements": "S(0)", "shape": "512x512", "dtype": "f32", "repeats": "9"}
    return {"experiments": [experiment(op, {"bytes": "64", "ranks": "2", "dtype": "f32"}) for op in COLLECTIVES] +
            [experiment("dispatch." + op, placed, on_request=not by_default, each_rank_counts=True)
             for op, by_default in OPS.items()] +
            [experiment("ddp." + model, {"batch_size": "32", "ranks": "1", "ddp": "no", "bucket_size": "26214400",
                                         "transport": "gloo", **({"image_size": "64"} if model != "mlp" else {})},
                        backends=["headroom", "c10d"], on_request=not by_default, each_rank_counts=True)
             for model, by_default in MODELS.items()]}


def metrics(name, axes):
    def metric(name, unit, **more):
        return {**{"name": name, "unit": unit, "amount": 0, "is_rate": False, "higher_is_better": False}, **more}
    if name.startswith("dispatch."):
        return [metric(column, "1" if column.startswith("instructions") else "us", is_column=True)
                for column in cycle(name.removeprefix("dispatch."), random)[1]]
    if name.startswith("ddp."):
        examples = int(axes["batch_size"]) * int(axes["ranks"])
        rate = {"is_rate": True, "higher_is_better": True, "amount": examples}
        return [metric("throughput", "examples/s", **rate)] + [
            metric(column, "1" if column == "overlap" else "s", is_column=True) for column in iteration(axes, random)[1]]
    amount, rate = int(axes["bytes"]) * 1e-9, {"is_rate": True, "higher_is_better": True}
    return [metric("algbw", "GB/s", **{**rate, "amount": amount}),
            metric("busbw", "GB/s", **{**rate, "amount": amount * COLLECTIVES[name](int(axes["ranks"]))})]


def ready(name, axes):
    notes = {"library": "scripted 1.0", "cache": "9 hits, 1 misses, 1 plans"}
    return {"outcome": "ready", "info": {
        "flops": 0, "bytes": 0, "bytes_written": 0, "dtype": "", "copies": 1, "verified": True, "max_error": 0, "tolerance": 0,
        "metrics": metrics(name, axes), "inputs": {}, "notes": notes}}


def sampled(spec, iterations, values):
    """Collectives take 100 µs at 1 GB/s; rank 1 a twentieth longer."""
    reply = {"iterations": iterations, "noise": {"steal_ms": 0, "switches": 0, "faults": 0, "mhz": 0}}
    if spec["experiment"].startswith("dispatch."):
        hit, columns = cycle(spec["experiment"].removeprefix("dispatch."), values)
        return {"elapsed_ns": hit * iterations, "columns": list(columns.values()), **reply}
    axes = spec["axes"]
    if spec["experiment"].startswith("ddp."):
        time.sleep(0.005)
        ns, columns = iteration(axes, values)
        return {"elapsed_ns": 0 if RANK >= int(axes["ranks"]) else ns * iterations, "columns": list(columns.values()), **reply}
    typical = (1e5 + int(axes["bytes"])) * (1.05 if RANK == 1 else 1) * values.uniform(1, 1.01)
    return {"elapsed_ns": 0 if RANK >= int(axes["ranks"]) else typical * iterations, **reply}


def runner_answer(request, cases, values):
    """headroom/runner/protocol.h."""
    what, is_faulty = request["do"], WHO == str(RANK) and WHEN == request["do"]
    if what == "describe":
        return describe()
    if what == "release":
        spec = cases.get(request["case"])
        told = request.get("conclude") and spec["experiment"].startswith("ddp.") and RANK < int(spec["axes"]["ranks"])
        return {"released": request["case"], **({"conclusion": conclusion(spec["axes"])} if told else {})}
    if what == "trace":
        return {"traced": request["file"]}
    if what == "prepare":
        if is_faulty and WHAT == "skip":
            return {"outcome": "skipped", "reason": "too little memory"}
        spec = cases[request["case"]] = request["spec"]
        if int(spec["axes"].get("batch_size", 0)) > 10**6:
            return {"outcome": "skipped", "reason": "a batch of 2000000 takes more than there is"}
        return ready(spec["experiment"], spec["axes"])
    if is_faulty and WHAT == "wrong":
        return {"failed": f"wrong data on rank {RANK}: element 3 of 16 is 7, not 5 (1 is wrong)"}
    time.sleep(0.0005)
    return sampled(cases[request["case"]], request["iterations"], values)


def rank_answer(request, cases, values, is_faulty):
    """headroom/ranks/rank_group.h."""
    if WHAT == "refuse" and is_faulty:
        return {"error": "there is no such thing"}
    if request["do"] == "meet":
        return {"met": SIZE}
    if request["do"] == "backend":
        return {"backend": request["backend"]}
    return runner_answer(request, cases, values)


def main():
    values = random.Random(RANK)
    fail_at("start")
    say({"rank": RANK, "size": SIZE, "pid": os.getpid(), "no_counters": "it has none" if WHAT == "uncounted" else "",
         "library": "scripted 1.0" if WHAT == "old" else {"name": "scripted ranks", "version": "1.0 beta"},
         "arguments": os.environ.get("HEADROOM_RANK_ARGUMENTS", ""), "host": "here",
         "cores": [int(os.environ.get("SCRIPTED_CORE", RANK))], "ids": WHAT != "old"})
    cases, times, last = {}, {}, {}
    for line in iter(LINES.readline, b""):
        request = json.loads(line)
        what = request["do"]
        times[what] = times.get(what, 0) + 1
        fail_at(what)
        fail_at(f"{what}#{times[what]}")
        if RANK == 0 and what == "sample" and times[what] == 100 and "SCRIPTED_BEGUN" in os.environ:
            open(os.environ["SCRIPTED_BEGUN"], "w").close()
        is_faulty = WHO == str(RANK) and WHEN in (what, f"{what}#{times[what]}")
        if WHAT == "babble" and is_faulty:
            continue
        before, last = last, {**rank_answer(request, cases, values, is_faulty), "id": request["id"]}
        if is_faulty and WHAT == "short":
            last["columns"] = last["columns"][:-1]
        if is_faulty and WHAT == "timeless":
            last["elapsed_ns"] = 0
        if WHAT == "old" or (WHAT == "nameless" and is_faulty):
            last.pop("id")
        say(before if WHAT == "late" and is_faulty else last)
        if WHAT == "twice" and is_faulty:
            say(last)
    fail_at("end")


main()
