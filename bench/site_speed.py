#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time and size of the pages of a large history. Exits with 1 if a goal is missed.

  bench/site_speed.py build/release/bin [--scratch FOLDER] [--series 1000] [--runs 1000]

Goals: 30 s for 1,000 series of 1,000 runs, 1 s for a run added to ten of them, pages of series under 200 kB.
"""
import argparse
import json
import pathlib
import random
import sqlite3
import struct
import sys
import tempfile

from child_process import run

GOAL_S, GOAL_ADDED_S, GOAL_PAGE_BYTES = 30, 1, 200_000


def first_run(series, chance):
    """Returns a file of records: one run with 20 samples of each series."""
    records = [{"benchmark": {"name": "headroom"}, "model": {"name": f"experiment{i // 100}", "backend": "native"},
                "metric": {"name": "latency", "unit": "us", "direction": "lower", "value": 10.0}, "axes": {"D": str(i % 100)}, "device": "cpu",
                "threads": 2, "outcome": {"kind": "measured"}, "environment": 0, "interval": {"low": 9.9, "high": 10.1, "confidence": 0.95},
                "samples": [{"pid": 1, "iterations": 10, "warmup": 0, "rounds": list(range(20)),
                             "values": [10 + chance.random() / 10 for _ in range(20)]}]} for i in range(series)]
    environment = {"fingerprint": "bench-machine", "git_sha": "0" * 40, "headroom_version": "0.1.0", "command": ["headroom", "run"],
                   "timestamp": 1_700_000_000}
    return {"headroom": {"schema": 1, "version": "0.1.0"}, "environments": [environment], "records": records}


def row_check(columns):
    """As in src/headroom/history/stored_rows.cpp."""
    state = 0x4844524d

    def add(word):
        nonlocal state
        state = (state ^ word & (1 << 64) - 1) * 0x9e3779b97f4a7c15 & (1 << 64) - 1
        state ^= state >> 32
    for value in columns:
        add({int: 1, float: 2, str: 3}[type(value)])
        if isinstance(value, str):
            content = value.encode()
            add(len(content))
            for at in range(0, len(content), 8):
                add(int.from_bytes(content[at:at + 8], "big"))
        else:
            add(value if isinstance(value, int) else struct.unpack("<Q", struct.pack("<d", value))[0])
    return state - (1 << 64) if state >> 63 else state


def add_run(database, number, rows, chance, halfway):
    """Adds a copy of the first run, an hour after the last; every tenth series is slower from `halfway` on."""
    run_id, time, revision = number + 1, 1_700_000_000 + 3600 * number, f"{number:040x}"
    row = (run_id, time, "bench-machine", revision, "main", "", "0.1.0", "headroom run", len(rows), "")
    database.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (*row, row_check(row)))
    database.execute("INSERT INTO environments SELECT ?, content FROM environments WHERE run = 1", (run_id,))
    for position, series, samples, content in rows:
        level = (11 if series % 10 == 0 and number >= halfway else 10) * (1 + 0.01 * chance.random())
        row = (run_id, position, series, time, level, level * 0.99, level * 1.01, 0.95, samples)
        database.execute("INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                         (*row, content, row_check((*row, revision, "main", "0.1.0"))))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("--scratch", type=pathlib.Path)
    parser.add_argument("--series", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=1000)
    options = parser.parse_args()
    chance = random.Random(25)
    with tempfile.TemporaryDirectory(dir=options.scratch) as scratch:
        folder = pathlib.Path(scratch)
        store, site = folder / "history.sqlite", folder / "site"
        (folder / "run.json").write_text(json.dumps(first_run(options.series, chance)))
        run([options.bin / "headroom", "history", "import", folder / "run.json", "--store", store])
        database = sqlite3.connect(store)
        rows = database.execute("SELECT position, series, samples, content FROM records ORDER BY position").fetchall()
        for number in range(1, options.runs):
            add_run(database, number, rows, chance, options.runs // 2)
        database.commit()

        def make(what):
            done = run([options.bin / "headroom", "history", "--site", site, "--store", store, "--json", "-"])
            written = json.loads(done.output)["written"]
            print(f"{what}: {written} pages in {done.wall_s:.2f} s ({done.cpu_s:.2f} s of CPU), peak {done.peak_bytes / 1e6:.0f} MB", flush=True)
            return done.wall_s, written

        fine = []
        seconds, written = make(f"{options.series} series of {options.runs} runs")
        fine.append(written == options.series and seconds <= GOAL_S * max(1, options.series * options.runs / 1e6))
        fine.append(make("nothing new")[1] == 0)
        for touched in (10, options.series):
            add_run(database, options.runs + touched, rows[:touched], chance, options.runs // 2)
            database.commit()
            seconds, written = make(f"a run of {touched} series more")
            fine.append(written == touched and (touched > 10 or seconds <= GOAL_ADDED_S * max(1, options.series * options.runs / 1e6)))
        sizes = [path.stat().st_size for path in (site / "series").iterdir()]
        print(f"page of a series at most {max(sizes) / 1e3:.0f} kB, index {(site / 'index.html').stat().st_size / 1e3:.0f} kB, "
              f"all {sum(sizes) / 1e6:.0f} MB")
        fine.append(max(sizes) <= GOAL_PAGE_BYTES)
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
