# SPDX-License-Identifier: Apache-2.0
"""From `headroom run` through the history and the noise margins to the gate of `headroom diff`."""
import json
import os
import unittest

from command_line import BRIEF, FAULTY, HEADROOM, CommandLineTest, faulty, headroom, records_of


class GateTest(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.environment = {**os.environ, "XDG_DATA_HOME": str(self.folder / "data")}
        self.environment.pop("HEADROOM_STORE", None)

    def run_fine(self, *options):
        result = faulty("fine", "--max-time", "600ms", *options, env=self.environment)
        self.assert_exit(result, 0)

    def written_with_times(self, source, name, factor, later):
        """The records of `source` with made-up times, so that the verdict does not hang on how busy the machine is."""
        text = json.loads(source.read_text())
        text["records"] = [record for record in text["records"] if record["metric"]["name"] == "latency"]
        for record in text["records"]:
            times = [factor * (100 + 0.1 * (i * 7 % 5)) for i in range(60)]
            record["metric"]["value"] = times[0]
            process = {**record["samples"][0], "values": times, "rounds": list(range(60)), "warmup": 0}
            process.pop("noise", None)
            record["samples"] = [process]
            record.pop("interval", None)
        # Another run: not pairs of the same session.
        text["environments"][0]["timestamp"] += later
        path = self.folder / name
        path.write_text(json.dumps(text))
        return path

    def before_and_after(self, factor):
        measured = self.folder / "measured.json"
        self.run_fine("--json", measured)
        return (self.written_with_times(measured, "before.json", 1, 0),
                self.written_with_times(measured, "after.json", factor, 3600))

    def test_runs_are_kept_and_found_again(self):
        self.run_fine()
        self.run_fine()
        listed = headroom("history", "--json", "-", env=self.environment)
        self.assert_exit(listed, 0)
        result = headroom("diff", "@1", "@last", "--metric", "latency", "--json", "-", env=self.environment)
        self.assert_exit(result, 0)
        self.assertIn("fine", result.stdout)

    def test_no_store_keeps_nothing(self):
        self.run_fine("--no-store")
        self.assertFalse((self.folder / "data" / "headroom" / "history.sqlite").exists())

    def test_gate_finds_a_regression_and_confirms_it_or_not(self):
        before, after = self.before_and_after(1.5)
        gate = ["diff", before, after, "--metric", "latency", "--gate", "20%"]
        self.assert_exit(headroom(*gate, env=self.environment), 1)
        # The rerun compares the runner with itself: nothing to confirm.
        confirm = f"{HEADROOM} run --runner {FAULTY} --runner {FAULTY} --no-limits --no-store --max-time 600ms"
        result = headroom(*gate, "--confirm", confirm, env=self.environment)
        self.assert_exit(result, 3)
        self.assertIn("not confirmed", result.stderr)

    def test_noise_margins_are_the_floor_of_the_gate(self):
        before, after = self.before_and_after(1.5)
        self.run_fine("--calibrate-noise")
        noise = next((self.folder / "data" / "headroom" / "noise").iterdir())
        content = json.loads(noise.read_text())
        names = [name for name in content["margins"]]
        if not names:
            self.skipTest("the machine is too busy for an interval of the A/A run")
        content["margins"] = {name: 0.9 for name in names}
        noise.write_text(json.dumps(content))
        result = headroom("diff", before, after, "--metric", "latency", "--gate", "3%", env=self.environment)
        self.assert_exit(result, 0)

    def test_a_gate_that_cannot_compare_says_so_beside_its_json(self):
        before, after = self.before_and_after(1.0)
        text = json.loads(after.read_text())
        for record in text["records"]:
            record["metric"]["unit"] = "GB/s"
        after.write_text(json.dumps(text))
        result = headroom("diff", before, after, "--gate", "20%", "--json", "-", env=self.environment)
        self.assert_exit(result, 2)
        self.assertIn("headroom: gate: no case could be compared: fine", result.stderr)
        self.assertEqual(json.loads(result.stdout)["gate"]["exit"], 2)

    def test_confirm_needs_a_gate(self):
        path = self.folder / "base.json"
        self.run_fine("--json", path)
        self.assert_refused(headroom("diff", path, path, "--confirm", "headroom run"), "--gate")


if __name__ == "__main__":
    unittest.main()
