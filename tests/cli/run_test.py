# SPDX-License-Identifier: Apache-2.0
"""`headroom run` without faults."""
import csv
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

from command_line import BRIEF, FAULTY, HEADROOM, NATIVE, CommandLineTest, faulty, headroom, records_of, run_program

SMALL = ["-a", "D=64", "--hot", *BRIEF]


class RunTest(CommandLineTest):
    def test_markdown(self):
        result = self.assert_exit(faulty("fine", "--markdown"), 0)
        self.assertRegex(result.stdout.splitlines()[0], r"^fine takes .*  $", "the answer, a line of its own")
        self.assertRegex(result.stdout, r"(?m)^\n\| case \|")
        self.assertIn("| fine |", result.stdout)

    def test_the_list_fits_a_screen(self):
        result = self.assert_exit(headroom("run", "--list", "--runner", NATIVE), 0,
                                  "bytes=16384,32768,...,1073741824 (17 values)")
        self.assertLess(max(map(len, result.stdout.splitlines())), 190)

    def test_list(self):
        self.assert_exit(headroom("run", "--list"), 0, "gemv", "gather_gemv", "layer_norm", "mlp_layer_norm_gelu",
                         "limit.read", "D=1024,4096,8192,16384")

    def test_list_as_json(self):
        result = self.assert_exit(headroom("run", "--list", "--json", "-"), 0)
        experiments = {e["name"]: e for offer in json.loads(result.stdout) for e in offer["experiments"]}
        self.assertEqual(experiments["gemv"]["backends"][:3], ["native", "native_strict", "reference"])
        self.assertIn("4 rows", experiments["gemv"]["variants"]["native"])

    def test_one_experiment_against_the_limit(self):
        path = self.folder / "records.json"
        result = self.assert_exit(headroom("run", "gemv", "-a", "D=256", "-a", "dtype=bf16", "--max-time", "2s",
                                           "--json", path), 0, "gemv", "of limit")
        self.assertNotIn("mean over shapes", result.stdout)
        headline = [r for r in records_of(path) if r["metric"].get("headline")]
        self.assertEqual(len(headline), 1)
        record = headline[0]
        self.assertEqual(record["metric"]["name"], "memory_bandwidth(GB/s)")
        self.assertGreater(record["limit"]["fraction"], 0)
        self.assertTrue(record["verified"])
        self.assertGreater(sum(len(process["values"]) for process in record["samples"]), 5)
        latency = next(r for r in records_of(path) if r["metric"]["name"] == "latency")
        # bytes / time of the same samples. (Medians differ between two distant samples.)
        self.assertEqual([len(process["values"]) for process in record["samples"]],
                         [len(process["values"]) for process in latency["samples"]])
        for rates, times in zip(record["samples"], latency["samples"]):
            for rate, time in zip(rates["values"], times["values"]):
                self.assertAlmostEqual(rate * time * 1e3 / (256 * 256 * 2), 1, 3)

    def test_two_backends_are_compared(self):
        path = self.folder / "records.json"
        run = ["run", "gemv", "--backend", "native,reference", "-a", "dtype=int8", *SMALL, "--json", path]
        self.assert_exit(headroom(*run, "--max-time", "1s"), 0)
        self.assertEqual(len({p["pid"] for p in records_of(path)[0]["samples"]}), 3, "three processes by default")
        self.assert_exit(headroom(*run, "--num-samples", "60", "--max-time", "30s"), 0)
        records = records_of(path)
        ratios = [record["ratio"] for record in records if "ratio" in record]
        self.assertTrue(ratios)
        self.assertEqual(ratios[0]["to"], "native@native")
        self.assertGreater(ratios[0]["ratio"], 0)
        self.assertEqual(sum(len(process["values"]) for process in records[0]["samples"]), 60)
        self.assertIn("interval", ratios[0], "60 pairs are enough")
        self.assertLessEqual(ratios[0]["interval"]["low"], ratios[0]["ratio"])
        self.assertGreaterEqual(ratios[0]["interval"]["high"], ratios[0]["ratio"])

    def test_two_runners_are_compared(self):
        path = self.folder / "records.json"
        result = headroom("run", "fine", "--runner", FAULTY, "--runner", FAULTY, "--no-limits", *BRIEF, "--json", path)
        self.assert_exit(result, 0)
        self.assertEqual({r["runner"] for r in records_of(path)}, {FAULTY, FAULTY + "#2"})

    def test_a_busy_machine_is_told_and_marked(self):
        spinners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in os.sched_getaffinity(0)]
        try:
            path = self.folder / "records.json"
            result = faulty("fine", "--json", path)
            misspelt = faulty("fien")
        finally:
            for spinner in spinners:
                spinner.kill()
                spinner.wait()
        self.assert_exit(result, 0)
        self.assertRegex(result.stderr, r"headroom: busy: [0-9.]+ of \d+ CPUs were at work for other programs")
        self.assertIn("stop the other programs", result.stderr)
        records = records_of(path)
        self.assertIn("latency", [record["metric"]["name"] for record in records])
        for record in records:
            self.assertTrue(any(note.startswith("busy:") for note in record["notes"]), record["notes"])
        self.assertRegex(result.stdout, r"  B  busy: other programs")
        self.assert_refused(misspelt, "fien")
        self.assertNotIn("busy", misspelt.stderr)

    def test_processes(self):
        path = self.folder / "records.json"
        self.assert_exit(faulty("fine", "--processes", "2", "--json", path), 0)
        self.assertEqual(len({p["pid"] for p in records_of(path)[0]["samples"]}), 2)

    def test_without_a_terminal_each_finished_group_is_a_line(self):
        several = self.assert_exit(faulty("fine", "slow", "--no-store"), 0)
        lines = [line for line in several.stderr.splitlines() if line.startswith("headroom: [")]
        self.assertEqual([line.split("]")[0] for line in lines], ["headroom: [1/2", "headroom: [2/2"])
        self.assertRegex(lines[0], r"fine.*: \d+\.\d s$")
        alone = self.assert_exit(faulty("fine", "--no-store"), 0)
        self.assertNotIn("[1/1]", alone.stderr)

    def test_seed_files(self):
        path = self.folder / "results.csv"
        for times in (1, 2):
            self.assert_exit(headroom("run", "gemv", "-a", "dtype=bf16", *SMALL, "--output", path), 0)
            rows = list(csv.DictReader(path.read_text().splitlines()))
            self.assertEqual(len(rows), times)
            self.assertEqual(list(rows[0]), ["name", "metric", "target", "actual", "dtype", "device", "arch", "is_model"])
            lines = path.with_suffix(".json").read_text().splitlines()
            self.assertEqual(len(lines), times)
        line = json.loads(lines[0])
        self.assertEqual(line["model"]["name"], "gemv")
        self.assertIsInstance(line["metric"]["benchmark_values"][0], float)

    def test_oss_records(self):
        path = self.folder / "oss.json"
        self.assert_exit(headroom("run", "gemv", "-a", "dtype=bf16", *SMALL, "--oss", path), 0)
        text = path.read_text()
        records = json.loads(text) if text.startswith("[") else [json.loads(line) for line in text.splitlines()]
        self.assertTrue(records)
        for record in records:
            self.assertTrue(record["metric"]["name"] and record["benchmark"]["name"] and record["model"]["name"])

    def test_json_and_oss_records_of_one_run_are_the_same_cases(self):
        ours, oss = self.folder / "ours.json", self.folder / "theirs.oss.json"
        self.assert_exit(headroom("run", "gemv", "gather_gemv", "--backend", "native,reference",
                                  "-a", "dtype=int8,bf16", "-a", "D=32,64", "--hot", *BRIEF, "--processes", "1",
                                  "--json", ours, "--oss", oss), 0)
        answer = json.loads(self.assert_exit(headroom("diff", ours, oss, "--json", "-"), 0).stdout)
        self.assertEqual(answer["tests"][0]["only_baseline"], [])
        self.assertEqual(answer["tests"][0]["only_test"], [])
        self.assertGreaterEqual(len(answer["comparisons"]), 16)
        for comparison in answer["comparisons"]:
            self.assertAlmostEqual(comparison["ratio"], 1, 9, comparison["case"])

    def test_json_on_standard_output_moves_the_table_away(self):
        result = self.assert_exit(faulty("fine", "--json", "-"), 0)
        self.assertTrue(json.loads(result.stdout)["records"])
        self.assertIn("fine", result.stderr)

    def test_targets_decide_the_exit_code(self):
        targets = self.folder / "targets.toml"
        base = ["gemv", "-a", "dtype=bf16", *SMALL, "--num-samples", "60", "--max-time", "30s", "--targets", targets, "--fail-below-target"]
        for value, code in ((1e-6, 0), (1e9, 1)):
            targets.write_text('[[target]]\nexperiment = "gemv"\nmetric = "memory_bandwidth(GB/s)"\n'
                               f'device = "cpu"\nvalue = {value}\n')
            self.assert_exit(headroom("run", *base), code)
        targets.write_text('[[target]]\nexperiment = "gemv"\nmetric = "memory_bandwidth(GB/s)"\n'
                           'device = "cpu"\nvalue = 1e9\n')
        self.assert_exit(headroom("run", *base[:-1]), 0)

    def test_runner_started_from_a_shell_schedules_itself(self):
        self.assert_exit(run_program(FAULTY, "fine", "--no-limits", *BRIEF), 0, "fine")

    def test_a_runner_named_alone_is_measured_with_all_its_backends(self):
        path = self.folder / "records.json"
        options = ["fine", "sums_in_bf16", "--no-limits", *BRIEF, "--json", path]
        result = run_program(FAULTY, *options)
        self.assert_exit(result, 1)  # the backend with undeclared bf16 sums is wrong
        both = [("fine", "native"), ("sums_in_bf16", "declared"), ("sums_in_bf16", "undeclared")]
        self.assertEqual(self.backends(path), both)
        self.assertNotIn("first backend", result.stderr)
        self.assert_exit(headroom("run", "--runner", FAULTY, *options, "--backend", "native,declared"), 0)
        self.assertEqual(self.backends(path), both[:2])
        two = self.assert_exit(headroom("run", "--runner", FAULTY, "--runner", FAULTY, *options), 0)
        self.assertEqual(self.backends(path), both[:2])
        self.assertIn("only the first backend of each experiment; --backend selects others (undeclared)", two.stderr)

    @staticmethod
    def backends(path):
        return sorted({(r["model"]["name"], r["model"]["backend"]) for r in records_of(path)})

    @unittest.skipIf(pathlib.Path("/usr/local/bin/headroom-native").exists(), "headroom is installed in its default prefix")
    def test_limits_that_cannot_be_sampled_are_told(self):
        # Without headroom-native, also not in PATH.
        alone = self.folder / "headroom"
        shutil.copy(HEADROOM, alone)
        command = [alone, "run", "--runner", FAULTY, "fine", *BRIEF, "--no-store"]
        run = dict(capture_output=True, text=True, timeout=60, env={**os.environ, "PATH": "/nowhere"})
        result = self.assert_exit(subprocess.run(command, **run), 0)
        told = [line for line in result.stderr.splitlines() if "no limits" in line]
        self.assertEqual(len(told), 1, result.stderr)
        for word in ("headroom-native", str(self.folder), "PATH", "--no-limits"):
            self.assertIn(word, told[0])
        self.assertNotIn("no limits", subprocess.run([*command, "--no-limits"], **run).stderr)
        (self.folder / "headroom-native").symlink_to(NATIVE)
        self.assertNotIn("no limits", subprocess.run(command, **run).stderr)

    def test_prints_to_standard_output_do_not_disturb(self):
        result = self.assert_exit(faulty("prints"), 0)
        self.assertNotIn("noise on standard output", result.stdout)

    def test_seed_changes_inputs_not_the_answer(self):
        self.assert_exit(headroom("run", "gemv", "-a", "dtype=int8", *SMALL, "--seed", "99"), 0)

    def test_native_runner_alone(self):
        self.assert_exit(run_program(NATIVE, "--list"), 0, "gemv")


if __name__ == "__main__":
    unittest.main()
