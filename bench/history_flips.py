#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that headroom notices single flipped bits of a history.

Exits with 1 if output changed but `headroom history verify` finds nothing, if a program crashes or hangs, or if a history is
refused after a successful `repair`.

  bench/history_flips.py build/release/bin [--flips 1000] [--seed 1]
"""
import argparse
import collections
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

COMMANDS = (("history",), ("history", "--json", "-"), ("history", "gemv"), ("history", "--fail-on-regression", "12"), ("show", "@3"),
            ("show", "@last"), ("diff", "--gate", "5%", "@3", "@last"), ("history", "export", "-"))
REFUSED, LONGEST_S = 2, 60


def document(runs=41, worse_from=30):
    """Runs of two cases, a minute apart, one of them slower from a run on."""
    environments = [{"timestamp": 1_790_000_000 + 60 * i, "session": f"{i:016x}", "fingerprint": "machine-a", "headroom_version": "0.1.0",
                     "git_sha": f"{i:040x}", "git_branch": "main", "command": ["headroom", "run", "gemv"]} for i in range(runs)]

    def record(i, name, level):
        values = [level + (i * 7 + j * 3) % 11 / 100 for j in range(10)]
        return {"benchmark": {"name": "headroom", "mode": "inference", "dtype": "bf16", "extra_info": {}},
                "model": {"name": name, "type": "micro-benchmark", "backend": "native", "origins": [], "extra_info": {}},
                "metric": {"name": "latency", "unit": "us", "direction": "lower", "value": sorted(values)[5], "headline": True},
                "interval": {"low": min(values), "high": max(values), "confidence": 0.95},
                "axes": {"D": "4096"}, "device": "cpu", "runner": "native", "caches": "cold", "threads": 2,
                "outcome": {"kind": "measured", "reason": ""}, "stop": "precision", "verified": True, "max_error": 0.0009, "notes": [],
                "environment": i, "samples": [{"pid": 1, "iterations": 100, "warmup": 0, "rounds": list(range(10)), "values": values}]}
    records = [record(i, name, level * (1.3 if i >= worse_from and name == "gemv" else 1))
               for i in range(runs) for name, level in (("gemv", 12.5), ("mlp", 40))]
    return {"headroom": {"schema": 3, "version": "0.1.0"}, "environments": environments, "records": records}


class Flips:
    def __init__(self, program, folder):
        self.program, self.folder, self.store = program, folder, folder / "history.sqlite"
        self.environment = {**os.environ, "HEADROOM_STORE": str(self.store), "HOME": str(folder), "XDG_STATE_HOME": str(folder / "state"),
                            "XDG_CACHE_HOME": str(folder / "cache"), "XDG_DATA_HOME": str(folder / "data")}
        self.count, self.faults = collections.Counter(), []

    def call(self, *words):
        try:
            result = subprocess.run([self.program, *words], capture_output=True, env=self.environment, timeout=LONGEST_S,
                                    stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return "hung", b""
        return result.returncode, result.stdout

    def make(self):
        (self.folder / "runs.json").write_text(json.dumps(document()))
        if self.call("history", "import", str(self.folder / "runs.json"))[0] != 0:
            raise SystemExit("cannot make the history")
        self.whole = self.store.read_bytes()
        self.before = [self.call(*command) for command in COMMANDS]

    def place(self, content):
        for file in self.folder.glob("history.sqlite*"):
            file.unlink()
        self.store.write_bytes(content)

    def flip(self, bit):
        content = bytearray(self.whole)
        content[bit // 8] ^= 1 << bit % 8
        self.place(content)
        after = [self.call(*command) for command in COMMANDS]
        for command, (code, _) in zip(COMMANDS, after):
            if code not in (0, 1, REFUSED, 3):
                self.faults.append(f"bit {bit}: {' '.join(command)} ended with {code}")
        silent = [" ".join(command) for command, was, now in zip(COMMANDS, self.before, after) if was != now and now[0] != REFUSED]
        refused = [code for code, _ in after if code == REFUSED]
        self.count["refused" if refused else "shown differently" if silent else "shown as before"] += 1
        if not silent and not refused:
            return
        self.place(content)
        if self.call("history", "verify")[0] == 0:
            self.faults.append(f"bit {bit}: {', '.join(silent) or 'refused'}, but verify finds nothing")
        elif self.call("history", "repair")[0] == 0:
            self.count["repaired"] += 1
            if self.call("history", "verify")[0] != 0 or any(self.call(*command)[0] == REFUSED for command in (("history",), ("history", "export", "-"))):
                self.faults.append(f"bit {bit}: refused after a repair")
        else:
            self.count["beyond repair"] += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("--flips", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        flips = Flips(options.bin.resolve() / "headroom", pathlib.Path(folder))
        flips.make()
        chosen = random.Random(options.seed)
        for _ in range(options.flips):
            flips.flip(chosen.randrange(8 * len(flips.whole)))
    print(f"{options.flips} flips of {len(flips.whole)} bytes: " + ", ".join(f"{number} {what}" for what, number in sorted(flips.count.items())))
    print("\n".join(flips.faults))
    return 1 if flips.faults else 0


if __name__ == "__main__":
    sys.exit(main())
