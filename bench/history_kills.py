#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills `run`, `history prune` and `history repair` at random moments (SIGKILL).

Exits with 1 if a history is then neither as before nor as after, if `verify` finds damage that was not there before, or if the same
command does not succeed when it is called again.

  bench/history_kills.py build/release/bin [--kills 100] [--seed 1]
"""
import argparse
import contextlib
import pathlib
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

from history_flips import Flips

RUN = ("run", "gemv", "-a", "D=256", "--backend", "native", "--num-samples", "5", "--processes", "1", "--no-limits")
PRUNE, REPAIR = ("history", "prune", "--keep", "5"), ("history", "repair")


class Kills(Flips):
    def make_damaged(self):
        """A history in which one row no longer has its checksum."""
        self.place(self.whole)
        with contextlib.closing(sqlite3.connect(self.store)) as database, database:
            database.execute("update records set value = value * 2 where rowid = (select max(rowid) from records)")
        return self.store.read_bytes()

    def state(self):
        """Exit codes of verify and export, and the exported history."""
        return self.call("history", "verify")[0], *self.call("history", "export", "-")

    def runs(self):
        with contextlib.closing(sqlite3.connect(self.store)) as database:
            return database.execute("select count(*) from runs").fetchone()[0]

    def kills(self, content, command, after_s):
        """Whether the command was still running after `after_s`, and was killed."""
        self.place(content)
        process = subprocess.Popen([self.program, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   stdin=subprocess.DEVNULL, env=self.environment, start_new_session=True)
        try:
            process.wait(after_s)
            return False
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            return True

    def try_kills(self, name, content, command, kills, chosen):
        """A run adds one to the history; the other commands end in one state."""
        state = self.runs if command is RUN else self.state
        self.place(content)
        before, damaged = state(), command is REPAIR
        seconds = float("inf")
        for _ in range(3):
            self.place(content)
            start = time.monotonic()
            if self.call(*command)[0] != 0:
                raise SystemExit(f"{name} fails without a kill")
            seconds = min(seconds, time.monotonic() - start)
        after = state()
        while self.count[f"{name}: killed"] < kills:
            moment = chosen.uniform(0, seconds)
            if not self.kills(content, command, moment):
                continue
            self.count[f"{name}: killed"] += 1
            where = f"{name} after {1e3 * moment:.1f} ms"
            if not damaged and self.call("history", "verify")[0] != 0:
                self.faults.append(f"{where}: verify finds damage")
            now = state()
            if now not in (before, after):
                self.faults.append(f"{where}: neither as before nor as after")
            self.count[f"{name}: as {'before' if now == before else 'after'}"] += 1
            if self.call(*command)[0] != 0:
                self.faults.append(f"{where}: fails when called again")
            elif self.call("history", "verify")[0] != 0:
                self.faults.append(f"{where}: damaged after a second call")
            elif command is not RUN and state() != after:
                self.faults.append(f"{where}: another state after a second call")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("--kills", type=int, default=100, help="of each command")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        kills = Kills(options.bin.resolve() / "headroom", pathlib.Path(folder))
        kills.make()
        chosen = random.Random(options.seed)
        for name, content, command in (("prune", kills.whole, PRUNE), ("repair", kills.make_damaged(), REPAIR), ("run", kills.whole, RUN)):
            kills.try_kills(name, content, command, options.kills, chosen)
    print(", ".join(f"{what} {number}" for what, number in sorted(kills.count.items())))
    print("\n".join(kills.faults))
    return 1 if kills.faults else 0


if __name__ == "__main__":
    sys.exit(main())
