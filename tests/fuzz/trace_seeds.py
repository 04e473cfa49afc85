#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the seeds of the fuzz targets: small traces in every format of the reader.

    tests/fuzz/trace_seeds.py FOLDER        makes FOLDER/text, FOLDER/packed, FOLDER/analysis

Adds files of up to 8 KB from ../shared/traces, and a zstd file if the program is installed.
"""
import gzip
import io
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import zipfile

TESTS = pathlib.Path(__file__).resolve().parents[1]
os.environ.setdefault("HEADROOM_BIN", "")  # for command_line.py, which trace_files.py imports
sys.path.insert(0, str(TESTS / "cli"))
from trace_files import SHARED, document, step_events  # noqa: E402

MOST_BYTES = 8192


def texts():
    whole = json.dumps(document(step_events(), rank=1))
    lines = json.dumps(document(step_events()), indent=1)
    begin_end = [{"ph": "B", "name": "a", "pid": 1, "tid": 1, "ts": 1}, {"ph": "E", "pid": 1, "tid": 1, "ts": "2.5"},
                 {"ph": "M", "name": "process_labels", "pid": 1, "args": {"labels": "GPU 0"}},
                 {"ph": "i", "name": "[memory]", "pid": 1, "tid": 1, "ts": 3,
                  "args": {"Bytes": 512, "Addr": 7, "Device Type": 1, "Device Id": 0, "Total Allocated": 512}}]
    yield from (whole, lines, whole[:-40], json.dumps(step_events()), json.dumps(begin_end)[:-1] + ",]",
                '{"traceEvents": [{"ph": "X", "name": "say "hi"", "ts": NaN, "dur": "1"}, {"ph": "X", "ts": 1,}]')


def real_files():
    for path in sorted(SHARED.rglob("*")) if SHARED.is_dir() else []:
        if path.is_file() and path.stat().st_size <= MOST_BYTES:
            yield path.read_bytes()


def unpacked(data):
    return gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data


def packed(text):
    yield text
    yield gzip.compress(text)
    yield gzip.compress(text[:100]) + gzip.compress(text[100:])
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", method) as archive:
            archive.writestr("readme.txt", "no trace")
            archive.writestr("trace.json", text)
        yield file.getvalue()
    if shutil.which("zstd"):
        yield subprocess.run(["zstd", "-q", "-c"], input=text, stdout=subprocess.PIPE, check=True).stdout


def write(folder, seeds):
    folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seed for seed in seeds if len(seed) <= MOST_BYTES):
        (folder / f"{number:03}").write_bytes(seed)


def main():
    folder = pathlib.Path(sys.argv[1])
    own = [text.encode() for text in texts()]
    real = list(real_files())
    # Input of generated_trace.h.
    random.seed(1)
    choices = [bytes(random.randrange(256) for _ in range(size)) for size in (20, 100, 400, 1500, 4000)]
    write(folder / "text", own + [unpacked(data) for data in real if not data.startswith(b"PK")])
    write(folder / "packed", [form for text in own for form in packed(text)] + real)
    write(folder / "analysis", choices + own + [unpacked(data) for data in real if data.startswith(b"\x1f\x8b")])


if __name__ == "__main__":
    main()
