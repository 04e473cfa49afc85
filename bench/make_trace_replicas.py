#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a large trace from a real one: copies of its events one after the other in time.

    bench/make_trace_replicas.py SOURCE.json.gz OUT.json --copies 19

From hta__df_index_resolver_df_index_resolver.json.gz, 2 copies make 108 MB (432,144 events, 44,580 on the GPU) and 19 make 1.03 GB
(4,105,028 and 423,510). Times and ids are shifted, so that copies are independent. SOURCE must have Kineto's format: one member a
line, events closed by a brace indented by two.
"""
import argparse
import gzip
import re
import sys

TIME = re.compile(r'("ts": )(\d+)')
ID = re.compile(r'("(?:External id|correlation|id)": )(\d+)')
NUMBERS = re.compile(r'("(?:ts|External id|correlation|id)": )(\d+)')
LENGTH = re.compile(r'"dur": (\d+)')
GAP_US = 1000


def read_text(path):
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8") as file:
        return file.read()


def split_events(text):
    """Returns (text before the list, its events, text after the list)."""
    start = text.index('"traceEvents": [') + len('"traceEvents": [')
    end = text.rindex("\n  ]")
    body = text[start:end]
    events = re.split(r"(?<=\n  \}),", body)
    return text[:start], events, text[end:]


def is_repeated(event):
    """Returns False for metadata and the profiler's own marks."""
    return '"ph": "M"' not in event and '"ph": "i", "s": "g"' not in event


def length_us(events):
    """Returns the time from the first start to the last end of recorded events; the profiler's own span is longer."""
    starts, ends = [], []
    for event in events:
        length = LENGTH.search(event)
        if not length or '"cat": "Trace"' in event:
            continue
        starts.append(int(TIME.search(event).group(2)))
        ends.append(starts[-1] + int(length.group(1)))
    return max(ends) - min(starts)


def pieces_of(events):
    """Returns text and numbers in turn: [text, "ts": | "id": ..., number, text, ...]."""
    return NUMBERS.split(",".join(events))


def copy_of(pieces, time_shift, id_shift):
    out = list(pieces)
    for i in range(1, len(out), 3):
        shift = time_shift if out[i] == '"ts": ' else id_shift
        out[i + 1] = str(int(out[i + 1]) + shift)
    return "".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source")
    parser.add_argument("out")
    parser.add_argument("--copies", type=int, required=True)
    options = parser.parse_args()

    before, events, after = split_events(read_text(options.source))
    repeated = pieces_of([event for event in events if is_repeated(event)])
    time_shift = length_us(events) + GAP_US
    id_shift = 100_000 * (1 + max(int(m.group(2)) for event in events for m in ID.finditer(event)) // 100_000)
    with open(options.out, "w", encoding="utf-8") as file:
        file.write(before + ",".join(events))
        for copy in range(1, options.copies):
            file.write("," + copy_of(repeated, copy * time_shift, copy * id_shift))
        file.write(after)
        size = file.tell()
    print(f"{options.out}: {options.copies} copies, {size / 1e6:.1f} MB, times {time_shift} us apart")


if __name__ == "__main__":
    sys.exit(main())
