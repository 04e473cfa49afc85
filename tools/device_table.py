#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the results of tools/check_device.sh, and which goals of docs/how-to/gpus.md they reach.

    tools/device_table.py FOLDER        with the record files (*.json) of a run

One line per case: its headline with interval, share of the limit, and time as a ratio to the first backend of the same rounds.
Then one line per goal. Exits with 1 if a goal is missed or was not measured.
"""
import json
import pathlib
import sys

# Experiment, axes, and the share of the device's limit that the backend cuda has to reach.
GOALS = [(name, {"D": "16384", "dtype": dtype}, 0.92) for name in ("gemv", "gather_gemv") for dtype in ("int8", "bf16")]
GOALS += [("layer_norm", {"D": size}, 0.90) for size in ("4096", "8192", "16384")]
OURS = "cuda"


def records_of(path):
    """Returns the records of a headroom file; nothing for other or truncated files."""
    try:
        return json.loads(path.read_text())["records"]
    except (ValueError, KeyError, TypeError) as error:
        print(f"device_table: {path.name} is left out: no records in it ({error})", file=sys.stderr)
        return []


def headlines(folder):
    for path in sorted(pathlib.Path(folder).glob("*.json")):
        for record in records_of(path):
            if record["metric"].get("headline"):
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


def ratio_of(record):
    """Returns the time ratio to the other backend: (ratio, low, high, whose), or None."""
    if "ratio" not in record:
        return None
    ratio = record["ratio"]["ratio"]
    interval = record["ratio"].get("interval", {})
    return ratio, interval.get("low", ratio), interval.get("high", ratio), record["ratio"]["to"]


def ratio_text(record):
    found = ratio_of(record)
    return "" if found is None else f"{found[0]:.3f} [{found[1]:.3f}, {found[2]:.3f}] x {found[3]}"


def row_of(name, record):
    limit = record.get("limit")
    share = f"{100 * limit['fraction']:.1f} % of {limit['name']}" if limit else ""
    backend = record["model"]["backend"]
    variant = record["model"].get("extra_info", {}).get("variant", "")
    return (name, case_of(record), f"{backend} ({variant})" if variant else backend, value_of(record), share,
            ratio_text(record))


def is_case(record, name, axes):
    return record["model"]["name"] == name and all(str(record["axes"].get(axis)) == value for axis, value in axes.items())


def measured(found, name, axes):
    return [record for _, record in found if is_case(record, name, axes) and record["outcome"]["kind"] == "measured"]


def goal_lines(found):
    """Yields (reached, line) for each goal."""
    for name, axes, least in GOALS:
        title = " ".join([name, *(f"{axis}={value}" for axis, value in axes.items())])
        cases = measured(found, name, axes)
        ours = [record for record in cases if record["model"]["backend"] == OURS and record.get("limit")]
        if not ours:
            yield False, f"NOT MEASURED  {title}: {100 * least:.0f} % of its limit"
            continue
        # If a case was measured several times, all results must reach the goal.
        share = min(record["limit"]["fraction"] for record in ours)
        is_verified = all(record["verified"] for record in ours)
        reached = share >= least and is_verified
        yield reached, (f"{'reached' if reached else 'MISSED'}  {title}: {100 * share:.1f} % of its limit, {100 * least:.0f} % is "
                        f"the goal{'' if is_verified else ', NOT VERIFIED'}")
        yield from ahead_lines(title, cases)


def ahead_lines(title, cases):
    for record in cases:
        backend, ratio = record["model"]["backend"], ratio_of(record)
        if backend == OURS or ratio is None or ratio[3].split("@")[0] != OURS:
            continue
        ahead = ratio[1] > 1
        yield ahead, f"{'reached' if ahead else 'MISSED'}  {title}: {backend} takes {ratio_text(record)}"


def print_table(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())


def main(arguments):
    if len(arguments) != 1:
        print(__doc__.strip())
        return 2
    found = list(headlines(arguments[0]))
    if not found:
        print(f"device_table: no records in {arguments[0]}", file=sys.stderr)
        return 1
    devices = {record["benchmark"]["extra_info"].get("arch", "") for _, record in found} - {""}
    print("device:", ", ".join(sorted(devices)) or "unknown")
    print_table([("file", "case", "backend", "median [95 %]", "of limit", "time"), *(row_of(*one) for one in found)])
    lines = list(goal_lines(found))
    print("goals:")
    for _, line in lines:
        print(" ", line)
    return 0 if all(reached for reached, _ in lines) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
