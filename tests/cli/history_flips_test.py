# SPDX-License-Identifier: Apache-2.0
"""Flipped bits (bench/history_flips.py) and killed commands (bench/history_kills.py) never leave a wrong history that verifies."""
import os
import pathlib
import subprocess
import sys
import unittest

from command_line import BIN

FLIPS = os.environ.get("HEADROOM_FLIPS", "60")
KILLS = os.environ.get("HEADROOM_KILLS", "5")
BENCH = pathlib.Path(__file__).parents[2] / "bench"


class HistoryFlips(unittest.TestCase):
    def check(self, script, *options):
        result = subprocess.run([sys.executable, BENCH / script, BIN, *options, "--seed", "3"], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_no_flip_is_shown_in_silence(self):
        self.check("history_flips.py", "--flips", FLIPS)

    def test_a_killed_command_leaves_the_history_as_before_or_as_after(self):
        self.check("history_kills.py", "--kills", KILLS)


if __name__ == "__main__":
    unittest.main()
