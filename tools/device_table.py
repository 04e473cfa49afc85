#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what tools/check_device.sh measured, one line a case: its headline with the interval, and its share of the limit.

    tools/device_table.py FOLDER        with the record files (*.json) of a run
"""
import json
import pathlib
import sys


def headlines(folder):
    for path in sorted(pathlib.Path(folder).glob("*.json")):
        for record in json.loads(path.read_text())["records"]:
            if record["metric"].get("extra_info", {}).get("headline") == "true":
                yield path.stem, record


def case_of(record):
    axes = " ".join(f"{name}={value}" for name, value in record["axes"].items())
    return f"{record['model']['name']} {axes} {record['caches']}"


def value_of(record):
    if record["outcome"]["kind"] != "measured":
        return f"{record['outcome']['kind']}: {record['outcome']['reason']}"
    metric, interval = record["metric"], record.get("interval")
    text = f"{metric['value']:.5g} {metric['unit']}"
    if interval:
        text += f" [{interval['low']:.5g}, {interval['high']:.5g}]"
    if not record["verified"]:
        text += ", NOT VERIFIED"
    return text


def main(arguments):
    if len(arguments) != 1:
        print(__doc__.strip())
        return 2
    rows = [("file", "case", "backend", "median [95 %]", "of limit")]
    devices = set()
    for name, record in headlines(arguments[0]):
        limit = record.get("limit")
        share = f"{100 * limit['fraction']:.1f} % of {limit['name']}" if limit else ""
        rows.append((name, case_of(record), record["model"]["backend"], value_of(record), share))
        devices.add(record["benchmark"]["extra_info"].get("arch", ""))
    if len(rows) == 1:
        print(f"device_table: no records in {arguments[0]}", file=sys.stderr)
        return 1
    print("device:", ", ".join(sorted(devices - {""})) or "unknown")
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
