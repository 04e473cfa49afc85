#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A rank process without libtorch: speaks the protocol of headroom dispatch, with times from a formula, and fails on
demand. SCRIPTED_RANK is "WHAT:RANK:WHEN", for example "die:1:cycles"."""
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


def main():
    values = random.Random(RANK)
    fail_at("start")
    say({"rank": RANK, "size": SIZE, "pid": os.getpid(), "library": "scripted 1.0", "no_counters": "", "ops": OPS})
    op = None
    for line in iter(LINES.readline, b""):
        request = json.loads(line)
        fail_at(request["do"])
        if WHAT in ("babble", "refuse") and WHO == str(RANK) and WHEN == request["do"]:
            continue
        if request["do"] == "meet":
            say({"met": SIZE})
        elif request["do"] == "dispatch":
            op = request["op"]
            say({"ready": op})
        elif request["do"] == "cycles":
            time.sleep(0.005)
            say(cycles(op, request["count"], values))
        elif request["do"] == "steps":
            say({"miss": steps(request["count"]), "hit": steps(request["count"]), "cache_hits": 9, "cache_misses": 1,
                 "cache_size": 1, "instructions": {"local": 5900.0, "hit": 8000.0, "miss": 20000.0}})
    fail_at("end")


main()
