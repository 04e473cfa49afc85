# SPDX-License-Identifier: Apache-2.0
"""`headroom trace utilization --pytorch-compat` against PyTorch's compute_utilization, on mutated real traces. HEADROOM_ALL=1: all of
them."""
import gzip
import json
import operator
import os
import pathlib
import random
import re
import unittest

from command_line import CommandLineTest, headroom
from trace_files import SHARED

SEEDS = SHARED.parent / "seeds"
SMALL = 130_000  # bytes


def original():
    """compute_utilization of torch/_functorch/benchmark_utils.py; the rest of the file needs torch."""
    source = next(SEEDS.glob("001_*.txt")).read_text()
    functions = re.search(r"^def get_chrome_trace_events.*?(?=^def benchmark_utilization)", source, re.M | re.S).group()
    names = {"json": json, "operator": operator}
    exec(functions, names)  # noqa: S102
    return names["compute_utilization"]


def gpu_pids(events):
    return [event["pid"] for event in events
            if event.get("name") == "process_labels" and "GPU" in event["args"]["labels"]]


def some(events, dice, share=0.3):
    return [event for event in events if dice.random() < share and isinstance(event.get("ts"), (int, float))]


def more_decimals(events, dice):
    for event in some(events, dice):
        event["ts"] += dice.randrange(1, 10**6) / 10**9
        if "dur" in event:
            event["dur"] += dice.randrange(1, 10**6) / 10**9


def exponents(events, dice):
    for event in some(events, dice):
        if "dur" in event:
            event["dur"] = event["dur"] * 1e-7 + 1e-8


def bool_pids(events, dice):
    # Python treats the process id as equal.
    for event in events:
        if event.get("pid") in (0, 1) and dice.random() < 0.5:
            event["pid"] = bool(event["pid"])


def float_pids(events, dice):
    for event in events:
        if isinstance(event.get("pid"), int) and dice.random() < 0.5:
            event["pid"] = float(event["pid"])


def labels_in_complete_events(events, dice):
    for event in events:
        if event.get("name") == "process_labels":
            event.update(ph="X", ts=dice.randrange(10**6), dur=dice.randrange(1000))


def labels_twice(events, dice):
    labels = [event for event in events if event.get("name") == "process_labels"]
    events.extend({**event, "args": {"labels": "CPU"}} for event in labels if dice.random() < 0.5)
    events[:0] = [{**event, "args": {"labels": "GPU of another"}} for event in labels if dice.random() < 0.3]


def shuffled(events, dice):
    dice.shuffle(events)


def whole_numbers(events, dice):
    for event in some(events, dice):
        event["ts"] = int(event["ts"])
        if "dur" in event:
            event["dur"] = int(event["dur"])


def without_names(events, dice):
    for event in some(events, dice, 0.1):
        if event.get("ph") == "X":
            event.pop("name", None)


MUTATIONS = (more_decimals, exponents, bool_pids, float_pids, labels_in_complete_events, labels_twice, shuffled,
             whole_numbers, without_names)


@unittest.skipUnless(SEEDS.is_dir() and SHARED.is_dir(), f"needs {SEEDS} and {SHARED}")
class SeedMutations(CommandLineTest):
    def test_equals_the_original(self):
        compute, compared, file = original(), 0, str(self.folder / "mutated.json")
        for path in sorted(SHARED.glob("*.json*")):
            if path.stat().st_size > SMALL and not os.environ.get("HEADROOM_ALL"):
                continue
            text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            for mutate in MUTATIONS:
                data = json.loads(text)
                events = data["traceEvents"]
                # Label a working process if there is none.
                if not gpu_pids(events) and (work := [e for e in events if e.get("cat") in ("kernel", "Kernel")]):
                    events.append({"ph": "M", "name": "process_labels", "pid": work[0]["pid"], "tid": 0, "ts": 0,
                                   "args": {"labels": "GPU 0"}})
                mutate(events, random.Random(f"{path.name} {mutate.__name__}"))
                pathlib.Path(file).write_text(json.dumps(data))
                with self.subTest(f"{path.name} {mutate.__name__}"):
                    expected = compute(file, 1.0)
                    result = self.assert_exit(headroom("trace", "utilization", file, "--pytorch-compat", "--length",
                                                       "1", "--json", "-", "--no-store"), 0)
                    answer = json.loads(result.stdout)
                    compared += 1
                    for name, value in zip(("utilization", "mm_conv_utilization"), expected):
                        self.assertAlmostEqual(answer[name], value, delta=1e-9 * max(1, abs(value)))
        self.assertGreaterEqual(compared, 50)


if __name__ == "__main__":
    unittest.main()
