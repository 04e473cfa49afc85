#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A runner that is honest until the request that HOSTILE names: HOSTILE=sample:twice hostile_runner.py. Misbehaviours are the keys of
ANSWERS (by request) and ENDS (any request). HOSTILE=none: honest. HOSTILE_AFTER: honest samples before. HOSTILE_IDS=0: ignores ids.
HOSTILE_LOG: file that gets the case of each sample. HOSTILE_BACKENDS=2: number of backends. HOSTILE_COUNTS='{"instructions":5}': hardware
counts of an iteration. HOSTILE_INFO='{"bytes":8}': information on the case."""
import json
import os
import signal
import socket
import sys
import time

PHASE, _, HOW = os.environ.get("HOSTILE", "none").partition(":")
AFTER = int(os.environ.get("HOSTILE_AFTER", "8"))
LOG = os.open(os.environ["HOSTILE_LOG"], os.O_WRONLY | os.O_CREAT | os.O_APPEND) if "HOSTILE_LOG" in os.environ else None
IDS = os.environ.get("HOSTILE_IDS", "1") == "1"
COUNTS = json.loads(os.environ.get("HOSTILE_COUNTS", '{"instructions":5}' if PHASE == "count" else "{}"))
HELLO = {"headroom_runner": "hostile", "protocol": 1, "version": "0", "ids": IDS, "counts": bool(COUNTS)}
EXPERIMENT = {"name": "e", "summary": "s", "metric": "", "device": "cpu", "axes": [], "backends": [f"b{i}" for i in range(int(os.environ.get("HOSTILE_BACKENDS", "1")))], "limit": False}
INFO = {"flops": 1, "bytes": 1, "bytes_written": 0, "dtype": "f32", "copies": 1, "verified": True, "max_error": 0, "tolerance": 1,
        "metrics": [], "inputs": {}, "notes": {}, **json.loads(os.environ.get("HOSTILE_INFO", "{}"))}
METRIC = {"name": "m", "unit": "u", "higher_is_better": True, "amount": 1e308, "is_rate": True}
NOISE = {"steal_ms": 0, "switches": 0, "faults": 0, "mhz": 0}
DEVICE = {"sm_mhz": 0, "memory_mhz": 0, "power_w": 0, "temperature_c": 0, "throttle": 0}
ESCAPES = "\x1b]0;owned\x07\x1b[31mred\u202eback"


def axis(name, count):
    return {"name": name, "integer": True, "values": [str(value) for value in range(1, count + 1)]}


def prepared(**more):
    return {"outcome": "ready", "info": {**INFO, **more}}


def sampled(request, **more):
    return {"elapsed_ns": 1e5 * request["iterations"], "iterations": request["iterations"], "noise": NOISE, **more}


ANSWERS = {
    "hello": {"protocol_1e300": lambda _: {**HELLO, "protocol": 1e300}, "no_name": lambda _: {"protocol": 1}},
    "describe": {
        "many": lambda _: {"experiments": [{**EXPERIMENT, "name": f"e{i}"} for i in range(100_000)]},
        "points": lambda _: {"experiments": [{**EXPERIMENT, "axes": [axis(f"a{i}", 1000) for i in range(4)]}]},
        "name_twice": lambda _: {"experiments": [EXPERIMENT, EXPERIMENT]},
        "axis_twice": lambda _: {"experiments": [{**EXPERIMENT, "axes": [axis("a", 1), axis("a", 1)]}]},
        "no_backend": lambda _: {"experiments": [{**EXPERIMENT, "backends": []}]},
        "number": lambda _: {"experiments": 5},
    },
    "prepare": {
        "minus": lambda _: prepared(flops=-1),
        "written": lambda _: prepared(bytes=1, bytes_written=2),
        "nan": lambda _: '{"outcome":"ready","info":' + json.dumps({**INFO, "flops": float("nan")}) + "}",
        "huge": lambda _: prepared(flops=1e308, bytes=1e308),
        "copies": lambda _: prepared(copies=1 << 63),
        "metric": lambda _: prepared(metrics=[METRIC, METRIC]),
        "verified": lambda _: prepared(max_error=5),
        "outcome": lambda _: {"outcome": "perhaps"},
    },
    "sample": {
        "nan": lambda r: json.dumps(sampled(r, elapsed_ns=float("nan"))),
        "1e999": lambda r: '{"elapsed_ns":1e999,"iterations":1,"noise":{}}',
        "minus": lambda r: sampled(r, elapsed_ns=-5.0),
        "huge": lambda r: sampled(r, elapsed_ns=1e300),
        "text": lambda r: sampled(r, elapsed_ns="5"),
        "iterations": lambda r: sampled(r, iterations=10**18),
        "none": lambda r: sampled(r, iterations=0),
        "column": lambda r: sampled(r, columns=[1.0]),
        "noise": lambda r: sampled(r, noise={**NOISE, "steal_ms": 1e308}),
        "switches": lambda r: sampled(r, noise={**NOISE, "switches": 1e99}),
        "device": lambda r: sampled(r, device={**DEVICE, "sm_mhz": 1e308}),
        "other_id": lambda r: sampled(r, id=1),
        "failed_5": lambda r: {"failed": 5},
    },
    "count": {
        "nan": lambda r: '{"id":%d,"counts":{"instructions":NaN}}' % r["id"],
        "minus": lambda _: {"counts": {"memory_bytes": -1}},
        "huge": lambda _: {"counts": {"cycles": 1e300}},
        "share": lambda _: {"counts": {"share": 7}},
        "text": lambda _: {"counts": {"cycles": "5"}},
        "list": lambda _: {"counts": []},
        "neither": lambda _: {"counted": {}},
        "uncounted_5": lambda _: {"uncounted": 5},
    },
    "release": {"conclusion": lambda r: {"released": r["case"], "conclusion": 5}},
}


def forever(text, pause=0.0):
    while True:
        CHANNEL.sendall(text)
        time.sleep(pause)


def write_gigabyte(descriptor):
    for _ in range(1024):
        os.write(descriptor, b"y" * (1 << 20))


def stay_when_asked_to_end():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(1000)


ENDS = {
    "nothing": lambda: send(""),
    "garbage": lambda: CHANNEL.sendall(b"\x00\xff garbage\n"),
    "null": lambda: send("null"),
    "list": lambda: send("[]"),
    "deep": lambda: send("[" * 1_000_000 + "]" * 1_000_000),
    "error_5": lambda: send('{"error":5}'),
    "error_escapes": lambda: send(json.dumps({"error": ESCAPES})),
    "close": lambda: (CHANNEL.close(), time.sleep(5)),
    "exit": lambda: os._exit(3),
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "stop": lambda: os.kill(os.getpid(), signal.SIGSTOP),
    "hang": lambda: time.sleep(1000),
    "hang_for_good": stay_when_asked_to_end,
    "slowly": lambda: forever(b" ", 0.3),
    "no_end": lambda: forever(b"x" * 65536),
    "flood": lambda: forever(b'{"a":1}\n' * 8192),
    "print": lambda: write_gigabyte(1),
    "print_errors": lambda: write_gigabyte(2),
}


def send(text):
    CHANNEL.sendall(text.encode() + b"\n")


def reply(answer, request):
    if isinstance(answer, dict) and IDS:
        answer = {"id": request.get("id"), **answer}
    send(answer if isinstance(answer, str) else json.dumps(answer))


def misbehave(request, honest):
    """Returns whether it answered."""
    if HOW == "twice":
        reply(honest, request)
        reply(honest, request)
    elif HOW in ENDS:
        ENDS[HOW]()
        time.sleep(3)
        sys.exit(0)
    else:
        reply(ANSWERS[PHASE][HOW](request), request)


def answer(request):
    """The honest answer."""
    what = request["do"]
    if what == "describe":
        return {"experiments": [EXPERIMENT]}
    if what == "prepare":
        return prepared()
    if what == "sample":
        return sampled(request)
    if what == "count":
        return {"counts": {name: value * request["iterations"] for name, value in COUNTS.items()}}
    return {"released": request["case"]}


def main():
    if PHASE == "hello":
        misbehave({}, HELLO)
    else:
        send(json.dumps(HELLO))
    samples = 0
    for line in CHANNEL.makefile():
        request = json.loads(line)
        what = request["do"]
        if what == "quit":
            break
        samples += what == "sample"
        if LOG and what == "sample":
            os.write(LOG, str(request["case"]).encode())
        if what == PHASE and (what != "sample" or samples > AFTER):
            misbehave(request, answer(request))
        else:
            reply(answer(request), request)


if __name__ == "__main__":
    CHANNEL = socket.socket(fileno=int(os.environ["HEADROOM_FD"]))
    try:
        main()
    except (BrokenPipeError, ConnectionResetError):
        pass
