# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C keeps results, kill -9 leaves each file old or whole."""
import json
import os
import random
import signal
import subprocess
import time
import unittest

from command_line import FAULTY, HEADROOM, CommandLineTest, records_of


def start(*arguments):
    return subprocess.Popen([HEADROOM, "run", "--runner", FAULTY, "--no-limits", "--threads", "1", *map(str, arguments)],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


class InterruptTest(CommandLineTest):
    def test_ctrl_c_keeps_what_was_measured(self):
        path = self.folder / "records.json"
        process = start("fine", "slow", "--max-time", "60s", "--precision", "0.0001%", "--json", path)
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=10)
        self.assertEqual(process.returncode, 130)
        self.assertIn("interrupted", stderr)
        self.assertIn("fine", stdout)
        records = records_of(path)
        self.assertTrue(records[0]["samples"][0]["values"])
        self.assertEqual(records[0]["stop"], "interrupted")

    def test_a_terminal_that_closes_keeps_what_was_measured(self):
        path = self.folder / "records.json"
        process = start("fine", "--max-time", "60s", "--precision", "0.0001%", "--no-store", "--json", path)
        time.sleep(1.5)
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGHUP)
        process.communicate(timeout=10)
        self.assertEqual(process.returncode, 130)
        self.assertTrue(records_of(path)[0]["samples"][0]["values"])

    def test_nohup_goes_on(self):
        path = self.folder / "records.json"
        process = subprocess.Popen(["nohup", HEADROOM, "run", "fine", "--runner", FAULTY, "--no-limits", "--max-time", "2s",
                                    "--min-time", "2s", "--no-store", "--json", str(path)], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(1)
        process.send_signal(signal.SIGHUP)
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, 0)
        self.assertNotEqual(records_of(path)[0]["stop"], "interrupted")

    def test_ctrl_c_in_a_sample_that_never_ends(self):
        process = start("hangs")
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=5)
        self.assertEqual(process.returncode, 130)

    def test_ctrl_c_leaves_no_runner(self):
        process = start("hangs_with_a_child")
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=5)
        time.sleep(0.3)
        self.assert_nothing_runs()

    def test_kill_leaves_files_as_they_were_or_whole(self):
        seed = int(os.environ.get("HEADROOM_SEED", "1"))
        chance = random.Random(seed)
        path, table = self.folder / "records.json", self.folder / "means.csv"
        for attempt in range(int(os.environ.get("HEADROOM_KILLS", "15"))):
            process = start("fine", "prints", "fine", "skips", "--max-time", "40ms", "--min-time", "0", "--json", path,
                            "--output", table)
            time.sleep(chance.uniform(0.0, 0.35))
            process.kill()
            process.communicate(timeout=10)
            if path.exists():
                self.assertTrue(records_of(path), f"attempt {attempt}")
            if table.exists():
                self.assertTrue(table.read_text().endswith("\n"))
            lines = table.with_suffix(".json")
            if lines.exists():
                for line in lines.read_text().splitlines():
                    json.loads(line)
        process = start("fine", "prints", "fine", "skips", "--max-time", "40ms", "--min-time", "0", "--json", path, "--output", table)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, "one that is not killed goes on from what is there")
        self.assertEqual({"fine", "prints", "skips"}, {record["model"]["name"] for record in records_of(path)})
        self.assertTrue(table.read_text().endswith("\n"))
        self.assertTrue([json.loads(line) for line in table.with_suffix(".json").read_text().splitlines()])
        # A kill may leave temporary files.
        results = {"records.json", "means.csv", "means.json"}
        for name in {entry.name for entry in self.folder.iterdir()} - results:
            self.assertRegex(name, r"^\.headroom-\d+-\d+\.tmp$")


if __name__ == "__main__":
    unittest.main()
