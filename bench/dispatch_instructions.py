#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Instructions of one operator call, counted by callgrind: on the whole tensor (plain), on this rank's part (local), and on
the distributed tensor with cached sharding (hit) and with sharding to propagate (miss).

    bench/dispatch_instructions.py [--bin build/release/bin] [--op add] [--calls 200] [--goal 2500]

One rank, 512x512 in S(0); headroom-torch-rank runs under `valgrind --tool=callgrind`. Exits with 1 if a hit takes more than
--goal instructions over a local call.
"""
import argparse
import json
import os
import re
import socket
import subprocess
import sys
import tempfile


KINDS = ("plain", "local", "miss", "hit")  # in the order of the rank's calls


def counted(program, op, calls, folder):
    """Returns the instructions per call, by kind."""
    ours, theirs = socket.socketpair()
    out = os.path.join(folder, "callgrind.out")
    environment = {**os.environ, "RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "HEADROOM_FD": str(theirs.fileno()),
                   "HEADROOM_DISPATCH_CALLS": str(calls)}
    # Two patterns: callgrind uses one common to both options for the first only.
    process = subprocess.Popen(
        ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--toggle-collect=*counted_calls*",
         "--dump-after=headroom*counted_calls*", program],
        pass_fds=[theirs.fileno()], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    theirs.close()
    lines = ours.makefile("rw")

    def ask(**request):
        lines.write(json.dumps(request) + "\n")
        lines.flush()
        reply = json.loads(lines.readline() or '{"error": "headroom-torch-rank ended"}')
        if "error" in reply:
            sys.exit("dispatch_instructions: " + reply["error"])

    lines.readline()  # the greeting
    ask(do="meet", timeout_s=600)
    ask(do="prepare", case=1, spec={
        "experiment": "dispatch." + op, "backend": "gloo", "threads": 1, "cold": False, "seed": 1,
        "axes": {"mesh": "1", "placements": "S(0)", "shape": "512x512", "dtype": "f32", "repeats": "9"}})
    lines.close()
    ours.close()
    process.wait()
    return {kind: total_of(f"{out}.{len(KINDS) + i + 1}") / calls for i, kind in enumerate(KINDS)}


def total_of(path):
    """Returns the instructions in one dump."""
    with open(path) as file:
        return int(re.search(r"^(?:summary|totals): (\d+)", file.read(), re.M).group(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--op", default="add")
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--goal", type=int, default=2500)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        counts = counted(os.path.join(options.bin, "headroom-torch-rank"), options.op, options.calls, folder)
    for kind in KINDS:
        print(f"{kind:6} {counts[kind]:10.0f} instructions a call, mean of {options.calls}")
    over = counts["hit"] - counts["local"]
    print(f"a hit takes {over:.0f} over the same call on the part itself; goal: at most {options.goal}")
    return 0 if over <= options.goal else 1


if __name__ == "__main__":
    sys.exit(main())
