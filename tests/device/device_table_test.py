# SPDX-License-Identifier: Apache-2.0
"""tools/device_table.py and tools/compare_utilization.py on made-up results. Needs HEADROOM_SOURCE and HEADROOM_BIN."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(os.environ["HEADROOM_SOURCE"]) / "tools"
HEADROOM = str(pathlib.Path(os.environ["HEADROOM_BIN"]) / "headroom")


def record(name, axes, backend="cuda", share=0.95, ratio=None, verified=True, kind="measured"):
    made = {"benchmark": {"name": "headroom", "extra_info": {"arch": "Made Up 9000"}},
            "model": {"name": name, "backend": backend, "extra_info": {"variant": "4 rows, early"} if backend == "cuda" else {}},
            "metric": {"name": "memory_bandwidth(GB/s)", "unit": "GB/s", "direction": "higher", "value": 4321.5,
                       "headline": True},
            "axes": axes, "caches": "cold", "verified": verified,
            "outcome": {"kind": kind, "reason": "" if kind == "measured" else "not today"},
            "interval": {"low": 4300, "high": 4340, "confidence": 0.95}}
    if ratio:
        made["ratio"] = {"ratio": ratio[0], "interval": {"low": ratio[1], "high": ratio[2]}, "to": "cuda@cuda"}
    if share and kind == "measured":
        made["limit"] = {"name": "read 1 GiB linear", "value": 4500, "fraction": share}
    return made


def good_cases():
    cases = []
    for name in ("gemv", "gather_gemv"):
        for dtype in ("int8", "bf16"):
            cases += [record(name, {"D": "16384", "dtype": dtype}),
                      record(name, {"D": "16384", "dtype": dtype}, "cublas", ratio=(1.2, 1.1, 1.3))]
    return cases + [record("layer_norm", {"D": size, "BS": "4096", "dtype": "bf16"}) for size in ("4096", "8192", "16384")]


class DeviceTable(unittest.TestCase):
    def table(self, cases, **files):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "show.json").write_text(json.dumps({"headroom": {"schema": 2}, "records": cases}))
            for name, text in files.items():
                pathlib.Path(folder, f"{name}.json").write_text(text)
            return subprocess.run([sys.executable, TOOLS / "device_table.py", folder], capture_output=True, text=True)

    def line(self, shown, *words):
        found = [line for line in shown.stdout.splitlines() if all(word in line for word in words)]
        self.assertEqual(len(found), 1, (words, shown.stdout))
        return found[0]

    def test_all_goals_reached(self):
        shown = self.table(good_cases())
        self.assertEqual(shown.returncode, 0, shown.stdout)
        self.assertIn("device: Made Up 9000", shown.stdout)
        self.assertNotIn("MISSED", shown.stdout)
        row = self.line(shown, "show  gemv D=16384 dtype=int8 cold", "cublas")
        self.assertIn("4321.5 GB/s [4300, 4340]", row)
        self.assertIn("95.0 % of read 1 GiB linear", row)
        self.assertIn("1.200 [1.100, 1.300] x cuda@cuda", row)
        self.assertIn("cuda (4 rows, early)", shown.stdout)

    def test_a_share_below_the_goal_is_missed(self):
        cases = good_cases()
        cases[0]["limit"]["fraction"] = 0.919
        shown = self.table(cases)
        self.assertEqual(shown.returncode, 1)
        self.assertIn("MISSED", self.line(shown, " gemv D=16384 dtype=int8: 91.9 % of its limit, 92 % is the goal"))

    def test_a_peer_that_may_be_as_fast_is_missed(self):
        cases = good_cases()
        cases[1] = record("gemv", {"D": "16384", "dtype": "int8"}, "cublas", ratio=(1.01, 0.99, 1.03))
        shown = self.table(cases)
        self.assertEqual(shown.returncode, 1)
        self.assertIn("MISSED", self.line(shown, " gemv D=16384 dtype=int8: cublas takes 1.010"))

    def test_what_is_not_verified_or_not_measured_reaches_nothing(self):
        cases = good_cases()
        cases[0]["verified"] = False
        cases[-1] = record("layer_norm", {"D": "16384"}, kind="failed")
        shown = self.table(cases)
        self.assertEqual(shown.returncode, 1)
        self.assertIn("NOT VERIFIED", self.line(shown, "MISSED", "gemv D=16384 dtype=int8: 95.0 %"))
        self.assertIn("NOT MEASURED", self.line(shown, "layer_norm D=16384: 90 % of its limit"))
        self.assertIn("failed: not today", shown.stdout)

    def test_the_worse_of_two_measurements_counts(self):
        cases = good_cases() + [record("layer_norm", {"D": "4096"}, share=0.8)]
        self.assertIn("MISSED", self.line(self.table(cases), "layer_norm D=4096: 80.0 %"))

    def test_other_files_are_left_out_and_said(self):
        shown = self.table(good_cases(), cut='{"records": [', other='{"traceEvents": []}')
        self.assertEqual(shown.returncode, 0)
        for name in ("cut.json", "other.json"):
            self.assertIn(f"{name} is left out", shown.stderr)
        empty = self.table([])
        self.assertEqual(empty.returncode, 1)
        self.assertIn("no records", empty.stderr)


PYTORCH = '''
def compute_utilization(filename, total_length):
    import json
    events = json.load(open(filename))["traceEvents"]
    return {factor} * sum(one["dur"] for one in events if one["ph"] == "X" and one["pid"] == 0) / (total_length * 1e6), 0.0
'''


class CompareUtilization(unittest.TestCase):
    def compared(self, pytorch):
        with tempfile.TemporaryDirectory() as folder:
            trace = pathlib.Path(folder, "trace.json")
            trace.write_text(json.dumps({"traceEvents": [
                {"ph": "M", "name": "process_labels", "pid": 0, "tid": 0, "args": {"labels": "GPU 0"}},
                {"ph": "X", "cat": "kernel", "name": "scale", "pid": 0, "tid": 7, "ts": 10.5, "dur": 20.25, "args": {}}]}))
            if pytorch is not None:
                package = pathlib.Path(folder, "torch", "_functorch")
                package.mkdir(parents=True)
                (package / "benchmark_utils.py").write_text(pytorch)
            environment = os.environ | {"PYTHONPATH": folder, "PYTHONNOUSERSITE": "1"}
            return subprocess.run([sys.executable, "-S", TOOLS / "compare_utilization.py", HEADROOM, trace],
                                  capture_output=True, text=True, env=environment)

    def test_the_same_figures(self):
        shown = self.compared(PYTORCH.format(factor=1))
        self.assertEqual(shown.returncode, 0, shown.stdout + shown.stderr)
        self.assertIn("PyTorch 0.02025 and 0, headroom 0.02025 and 0", shown.stdout)

    def test_other_figures(self):
        shown = self.compared(PYTORCH.format(factor=1.001))
        self.assertEqual(shown.returncode, 1, shown.stdout + shown.stderr)
        self.assertIn("at most 2e-05 apart", shown.stdout)

    def test_without_pytorch_it_says_so(self):
        shown = self.compared(None)
        self.assertEqual(shown.returncode, 77)
        self.assertIn("no PyTorch to compare with", shown.stdout)


if __name__ == "__main__":
    unittest.main()
