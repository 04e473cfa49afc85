# SPDX-License-Identifier: Apache-2.0
"""A flipped bit of a history never changes what is shown with `headroom history verify` at 0. bench/history_flips.py does the work."""
import os
import pathlib
import subprocess
import sys
import unittest

from command_line import BIN

FLIPS = os.environ.get("HEADROOM_FLIPS", "60")
BENCH = pathlib.Path(__file__).parents[2] / "bench" / "history_flips.py"


class HistoryFlips(unittest.TestCase):
    def test_no_flip_is_shown_in_silence(self):
        result = subprocess.run([sys.executable, BENCH, BIN, "--flips", FLIPS, "--seed", "3"], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)


if __name__ == "__main__":
    unittest.main()
