# SPDX-License-Identifier: Apache-2.0
"""Damaged and shared histories: flipped bits (bench/history_flips.py), killed commands (bench/history_kills.py), and 16 writers and readers of
a file at once; those of a server are of history_server_test.py."""
import contextlib
import os
import pathlib
import sqlite3
import struct
import sys
import tempfile
import unittest

from command_line import BIN, CommandLineTest, run_program
from history_crowd import check_crowd

FLIPS = os.environ.get("HEADROOM_FLIPS", "60")
KILLS = os.environ.get("HEADROOM_KILLS", "5")
BENCH = pathlib.Path(__file__).parents[2] / "bench"
sys.path.insert(0, str(BENCH))
from history_flips import Flips  # noqa: E402


class HistoryFlips(CommandLineTest):
    def check(self, script, *options):
        self.assert_exit(run_program(sys.executable, BENCH / script, BIN, *options, "--seed", "3", timeout=None), 0)

    def test_no_flip_is_shown_in_silence(self):
        self.check("history_flips.py", "--flips", FLIPS)

    def test_a_killed_command_leaves_the_history_as_before_or_as_after(self):
        self.check("history_kills.py", "--kills", KILLS)

    def test_a_run_that_is_listed_but_cannot_be_found(self):
        """Rows of the table `runs` out of order: a scan finds them, a search does not."""
        with tempfile.TemporaryDirectory() as folder:
            flips = Flips(pathlib.Path(BIN) / "headroom", pathlib.Path(folder))
            flips.make()
            with contextlib.closing(sqlite3.connect(flips.store)) as database:
                [(size,)] = database.execute("pragma page_size")
                [(root,)] = database.execute("select rootpage from sqlite_master where name = 'runs'")
            content = bytearray(flips.whole)
            page = (root - 1) * size
            while content[page] == 5:  # an interior page: its first child
                page = (struct.unpack_from(">I", content, page + struct.unpack_from(">H", content, page + 12)[0])[0] - 1) * size
            self.assertEqual(content[page], 13, "a leaf of a table")
            cells = 8 + page
            last = cells + 2 * (struct.unpack_from(">H", content, page + 3)[0] - 1)
            content[cells:cells + 2], content[last:last + 2] = content[last:last + 2], content[cells:cells + 2]
            flips.place(content)
            for command in (("history", "verify"), ("history", "repair"), ("history",), ("history", "export", "-")):
                self.assertIn(flips.call(*command)[0], (0, 1, 2), command)


class HistoryAtOnceTest(CommandLineTest):
    def test_writers_and_readers_of_a_file(self):
        check_crowd(self, self.folder / "data" / "history.sqlite", {**os.environ, "XDG_STATE_HOME": str(self.folder / "state")})


if __name__ == "__main__":
    unittest.main()
