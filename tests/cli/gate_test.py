# SPDX-License-Identifier: Apache-2.0
"""From `headroom run` through history and noise margins to the gate of `headroom diff`."""
import json
import os
import unittest

from command_line import FAULTY, HEADROOM, CommandLineTest, faulty, headroom


class GateTest(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.environment = {**os.environ, "XDG_DATA_HOME": str(self.folder / "data")}
        self.environment.pop("HEADROOM_STORE", None)

    def run_fine(self, *options):
        self.assert_exit(faulty("fine", "--max-time", "600ms", *options, env=self.environment), 0)

    def written_with_times(self, source, name, factor, later):
        """Made-up times, so that the verdict does not depend on the machine."""
        text = json.loads(source.read_text())
        text["records"] = [record for record in text["records"] if record["metric"]["name"] == "latency"]
        for record in text["records"]:
            times = [factor * (100 + 0.1 * (i * 7 % 5)) for i in range(60)]
            record["metric"]["value"] = times[0]
            process = {**record["samples"][0], "values": times, "rounds": list(range(60)), "warmup": 0}
            process.pop("noise", None)
            record["samples"] = [process]
            for told in ("interval", "busy_cpus", "notes"):
                record.pop(told, None)
        # Another run: not paired.
        text["environments"][0]["timestamp"] += later
        text["environments"][0]["session"] = name
        return self.write_file(name, text)

    def before_and_after(self, factor):
        measured = self.folder / "measured.json"
        self.run_fine("--json", measured, "--no-store")
        return (self.written_with_times(measured, "before.json", 1, 0),
                self.written_with_times(measured, "after.json", factor, 3600))

    def test_runs_are_kept_and_found_again(self):
        self.run_fine()
        self.run_fine()
        self.assert_exit(headroom("history", "--json", "-", env=self.environment), 0)
        self.assert_exit(headroom("diff", "@1", "@last", "--metric", "latency", "--json", "-", env=self.environment), 0,
                         "fine")

    def test_no_store_keeps_nothing(self):
        self.run_fine("--no-store")
        self.assertFalse((self.folder / "data" / "headroom" / "history.sqlite").exists())

    def test_gate_finds_a_regression_and_confirms_it_or_not(self):
        before, after = self.before_and_after(1.5)
        gate = ["diff", before, after, "--metric", "latency", "--gate", "20%", "--run-spread", "1%"]
        self.assert_exit(headroom(*gate, env=self.environment), 1)
        # The rerun compares the runner with itself.
        confirm = f"{HEADROOM} run --runner {FAULTY} --runner {FAULTY} --no-limits --no-store --max-time 600ms"
        result = headroom(*gate, "--confirm", confirm, env=self.environment)
        self.assertRegex(result.stderr, r"fine: not confirmed by an interleaved rerun \(\w+, ratio [01]\.\d+\)")
        # On a busy machine the rerun is inconclusive.
        self.assert_exit(result, 0 if "(same, " in result.stderr else 3)

    def test_a_calibration_tells_the_gate_how_far_runs_lie_apart(self):
        before, after = self.before_and_after(1.5)
        gate = ["diff", before, after, "--metric", "latency", "--gate", "3%", "--store", self.folder / "none.sqlite"]
        self.assert_exit(headroom(*gate, env=self.environment), 3)
        calibrated = faulty("fine", "--max-time", "100ms", "--calibrate-noise", env=self.environment)
        self.assert_exit(calibrated, 0)
        self.assertRegex(calibrated.stderr, r"run-to-run spread \S+ % .*stored in")
        noise = next((self.folder / "data" / "headroom" / "noise").iterdir())
        content = json.loads(noise.read_text())
        self.assertTrue(content["spreads"])
        for spread, code in ((0.001, 1), (1.0, 3)):
            for entry in content["spreads"].values():
                self.assertEqual(entry["values"]["degrees"], 4, "five runs")
                entry["values"]["log_sd"] = spread
            noise.write_text(json.dumps(content))
            self.assert_exit(headroom(*gate, env=self.environment), code, "known from headroom run --calibrate-noise")

    def test_the_history_tells_it_too(self):
        before, after = self.before_and_after(1.5)
        for i in range(4):
            run = self.written_with_times(before, f"run{i}.json", 1 + 0.002 * i, -3600 * (5 - i))
            self.assert_exit(headroom("history", "import", run, env=self.environment), 0)
        result = headroom("diff", before, after, "--metric", "latency", "--gate", "20%", env=self.environment)
        self.assert_exit(result, 1)
        self.assertRegex(result.stdout, r"known from the last \d runs on this machine")

    def test_a_calibration_writes_the_files_of_a_run(self):
        files = {"--json": "-", "--oss": self.folder / "oss.json", "--output": self.folder / "run.csv"}
        calibrated = faulty("fine", "--max-time", "100ms", "--calibrate-noise", *(word for pair in files.items() for word in pair),
                            env=self.environment)
        self.assert_exit(calibrated, 0)
        [record] = [one for one in json.loads(calibrated.stdout)["records"] if one["metric"]["name"] == "latency"]
        self.assertGreaterEqual(len(record["samples"]), 5, "five runs")
        self.assertIn("fine", files["--oss"].read_text())
        self.assertIn("fine", files["--output"].read_text())

    def test_a_calibration_that_measures_nothing_says_so(self):
        self.assert_exit(faulty("throws", "--max-time", "100ms", "--calibrate-noise", env=self.environment), 3,
                         stderr="no run-to-run spread stored")

    def test_a_gate_that_cannot_compare_says_so_beside_its_json(self):
        before, after = self.before_and_after(1.0)
        text = json.loads(after.read_text())
        for record in text["records"]:
            record["metric"]["unit"] = "GB/s"
        after.write_text(json.dumps(text))
        result = self.assert_exit(headroom("diff", before, after, "--gate", "20%", "--json", "-", env=self.environment),
                                  2, stderr="headroom: gate: no case could be compared: fine")
        self.assertEqual(json.loads(result.stdout)["gate"]["exit"], 2)

    def test_confirm_needs_a_gate(self):
        path = self.folder / "base.json"
        self.run_fine("--json", path)
        self.assert_refused(headroom("diff", path, path, "--confirm", "headroom run"), "--gate")


if __name__ == "__main__":
    unittest.main()
