# SPDX-License-Identifier: Apache-2.0
"""`headroom run --trace`."""
import json
import re
import shutil
import unittest

from command_line import BIN, BRIEF, CommandLineTest, headroom, records_of

TRACING = str(BIN / "tracing_runner")
SHARES = ("gpu_utilization", "mm_conv_utilization")


def busy_us(file, parts=("",)):
    """GPU time of events with one of `parts` in their names."""
    events = json.loads(file.read_text())["traceEvents"]
    gpus = {event["pid"] for event in events if event["name"] == "process_labels" and "GPU" in event["args"]["labels"]}
    busy = set()
    for event in events:
        if event["ph"] == "X" and event["pid"] in gpus and any(part in event["name"] for part in parts):
            busy.update(range(round(event["ts"] * 10), round((event["ts"] + event["dur"]) * 10)))
    return len(busy) / 10


class RunTracesTest(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.traces = self.folder / "traces"
        self.json = self.folder / "records.json"

    def run_traced(self, *arguments):
        result = self.assert_exit(headroom("run", "--runner", TRACING, "--no-limits", "--no-store", *BRIEF, "--trace",
                                           self.traces, "--json", self.json, *arguments), 0)
        return result

    def table(self, result):
        """Returns the lines from the column names on."""
        lines = result.stdout.splitlines()
        return lines[next(i for i, line in enumerate(lines) if line.startswith("case ")):]

    def records(self, case):
        return {record["metric"]["name"]: record for record in records_of(self.json) if record["model"]["name"] == case}

    def test_shares_are_busy_time_over_the_median_time_without_the_recorder(self):
        result = self.run_traced("on_gpu")
        file = self.traces / "on_gpu.native.json"
        self.assertEqual([one.name for one in self.traces.iterdir()], [file.name])
        self.assertEqual(busy_us(file), 55)
        records = self.records("on_gpu")
        length_us = records["latency"]["metric"]["value"]
        for name, parts in zip(SHARES, ([""], ["gemm", "conv", "cutlass", "wgrad"])):
            metric = records[name]["metric"]
            self.assertAlmostEqual(metric["value"], busy_us(file, parts) / length_us, delta=1e-9)
            self.assertEqual((metric["unit"], metric["extra_info"]["traced_iterations"]), ("1", "1"))
            self.assertNotIn("headline", metric)
        asked = headroom("trace", "utilization", "--pytorch-compat", "--length", repr(length_us * 1e-6), "--json", file)
        self.assert_exit(asked, 0)
        for name, key in zip(SHARES, ("utilization", "mm_conv_utilization")):
            self.assertAlmostEqual(json.loads(asked.stdout)[key], records[name]["metric"]["value"], delta=1e-9)
        lines = self.table(result)
        columns = lines[0].split()
        self.assertIn("GPU", columns)
        self.assertIn("mm+conv", columns)
        row = next(line for line in lines if line.startswith("on_gpu"))
        shown = [float(part) for part in re.findall(r"([\d.]+) %", row)[-2:]]
        self.assertEqual(len(shown), 2)
        for name, percent in zip(SHARES, shown):
            self.assertAlmostEqual(percent, records[name]["metric"]["value"] * 100, delta=0.06)
        self.assertIn("time without recording", result.stdout)
        self.assertIn("headroom trace kernels", result.stderr)

    def test_intervals_and_samples_are_those_of_the_time(self):
        self.run_traced("on_gpu", "--num-samples", "100", "--max-time", "30s")
        records = self.records("on_gpu")
        latency, share = records["latency"], records["gpu_utilization"]
        self.assertEqual(len(share["samples"]), len(latency["samples"]))
        self.assertEqual(sum(len(process["values"]) for process in share["samples"]), 100)
        for mine, theirs in zip(share["samples"], latency["samples"]):
            self.assertEqual(mine["rounds"], theirs["rounds"])
            for value, us in zip(mine["values"], theirs["values"]):
                self.assertAlmostEqual(value, 55 / us, delta=1e-9)
        self.assertIn("interval", latency, "100 samples are enough")
        self.assertAlmostEqual(share["interval"]["low"], 55 / latency["interval"]["high"], delta=1e-9)
        self.assertAlmostEqual(share["interval"]["high"], 55 / latency["interval"]["low"], delta=1e-9)

    def test_a_case_without_work_of_a_gpu_shows_nothing(self):
        result = self.run_traced("on_host")
        self.assertTrue((self.traces / "on_host.native.json").exists())
        self.assertFalse(set(SHARES) & set(self.records("on_host")))
        self.assertNotIn("mm+conv", result.stdout)

    def test_a_row_without_a_gpu_leaves_its_cells_empty(self):
        result = self.run_traced("on_host", "on_gpu")
        self.assertIn("gpu_utilization", self.records("on_gpu"))
        names, _, *lines = self.table(result)
        # On a busy machine a line of modes may follow a row.
        rows = {line.split()[0]: line for line in [line for line in lines if line.startswith("on_")][:2]}
        columns = slice(names.index("GPU") - 4, names.index("mm+conv") + len("mm+conv"))
        self.assertEqual(rows["on_host"][columns].strip(), "")
        self.assertEqual(rows["on_gpu"][columns].count("%"), 2)

    def test_a_trace_that_cannot_be_read_costs_only_the_shares(self):
        result = self.run_traced("on_paper")
        self.assertIn("latency", self.records("on_paper"))
        self.assertFalse(set(SHARES) & set(self.records("on_paper")))
        self.assertIn("no GPU utilisation of on_paper", result.stderr)

    def test_a_trace_that_lacks_records_has_no_shares_and_every_analysis_says_so(self):
        result = self.run_traced("on_gpu_in_part")
        self.assertFalse(set(SHARES) & set(self.records("on_gpu_in_part")))
        self.assertIn("no GPU utilisation of on_gpu_in_part", result.stderr)
        self.assertIn("5 records were dropped", result.stderr)
        file = self.traces / "on_gpu_in_part.native.json"
        names = [entry["name"] for entry in json.loads(headroom("trace", "--list", "--json", "-").stdout)]
        self.assertLessEqual({"utilization", "kernels", "launch", "summary"}, set(names))
        for name in names:
            asked = headroom("trace", name, "--no-store", file)
            self.assertIn("5 records were dropped during recording", asked.stderr + asked.stdout, name)
        pair = headroom("trace", "utilization", "--pytorch-compat", "--length", "1e-4", "--no-store", file)
        self.assertIn("5 records were dropped", pair.stderr)
        self.assertIn("5 records were dropped", headroom("trace", "summary", "--json", "-", "--no-store", file).stdout)

    def test_the_trace_is_read_by_headroom_trace(self):
        self.run_traced("on_gpu")
        file = self.traces / "on_gpu.native.json"
        self.assert_exit(headroom("trace", "validate", file), 0)
        for analysis in ("utilization", "kernels", "launch", "summary"):
            self.assert_exit(headroom("trace", analysis, "--no-store", file), 0)
        shown = headroom("trace", "kernels", "--csv", "-", "--no-store", file).stdout
        self.assertIn("cutlass_80_tensorop", shown)

    def test_two_builds_of_a_runner_are_traced_both(self):
        shutil.copy(TRACING, self.folder / "new_build")
        result = headroom("ab", "--runner", TRACING, "--runner", self.folder / "new_build", "--no-limits", "--no-store",
                          "--processes", "1", *BRIEF, "--trace", self.traces, "on_gpu")
        self.assert_exit(result, 0)
        self.assertEqual({file.name for file in self.traces.iterdir()},
                         {"on_gpu.native@tracing_runner.json", "on_gpu.native@new_build.json"})
        rows = [line for line in self.table(result) if line.startswith("on_gpu")][:2]
        self.assertEqual(len(rows), 2)
        for row in rows:
            self.assertGreaterEqual(len(re.findall(r"[\d.]+ %", row[row.index(" µs"):])), 2, row)

    def test_differences_of_the_shares_are_judged_like_all_metrics(self):
        self.run_traced("on_gpu")
        self.assert_exit(headroom("diff", "--all-metrics", self.json, self.json), 0, "gpu_utilization")


if __name__ == "__main__":
    unittest.main()
