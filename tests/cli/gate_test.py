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

    def slower(self, path, factor):
        """The records of `path` as if every time had been `factor` times as long."""
        text = json.loads(path.read_text())
        for record in text["records"]:
            if record["metric"]["name"] != "latency":
                continue
            record["metric"]["value"] *= factor
            for process in record["samples"]:
                process["values"] = [value * factor for value in process["values"]]
            if "interval" in record:
                record["interval"]["low"] *= factor
                record["interval"]["high"] *= factor
        # Another run: not pairs of the same session.
        text["environments"][0]["timestamp"] += 3600
        other = self.folder / "slower.json"
        other.write_text(json.dumps(text))
        return other

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
        path = self.folder / "base.json"
        self.run_fine("--json", path)
        slow = self.slower(path, 1.5)
        gate = ["diff", path, slow, "--metric", "latency", "--gate", "20%"]
        self.assert_exit(headroom(*gate, env=self.environment), 1)
        # The rerun compares the runner with itself: nothing to confirm.
        confirm = f"{HEADROOM} run --runner {FAULTY} --runner {FAULTY} --no-limits --no-store --max-time 600ms"
        result = headroom(*gate, "--confirm", confirm, env=self.environment)
        self.assert_exit(result, 3)
        self.assertIn("not confirmed", result.stderr)

    def test_noise_margins_are_the_floor_of_the_gate(self):
        path = self.folder / "base.json"
        self.run_fine("--json", path)
        self.run_fine("--calibrate-noise")
        noise = next((self.folder / "data" / "headroom" / "noise").iterdir())
        content = json.loads(noise.read_text())
        self.assertTrue(content["margins"])
        content["margins"] = {name: 0.9 for name in content["margins"]}
        noise.write_text(json.dumps(content))
        slow = self.slower(path, 1.5)
        result = headroom("diff", path, slow, "--metric", "latency", "--gate", "3%", env=self.environment)
        self.assertNotEqual(result.returncode, 1, result.stdout)

    def test_confirm_needs_a_gate(self):
        path = self.folder / "base.json"
        self.run_fine("--json", path)
        self.assert_refused(headroom("diff", path, path, "--confirm", "headroom run"), "--gate")


if __name__ == "__main__":
    unittest.main()
