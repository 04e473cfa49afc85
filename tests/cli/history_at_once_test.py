# SPDX-License-Identifier: Apache-2.0
"""16 writers and readers of one history in a file at once: that in a server is of history_server_test.py."""
import os
import unittest

from command_line import CommandLineTest
from history_crowd import check_crowd


class HistoryAtOnceTest(CommandLineTest):
    def test_writers_and_readers_of_a_file(self):
        check_crowd(self, self.folder / "data" / "history.sqlite", {**os.environ, "XDG_STATE_HOME": str(self.folder / "state")})


if __name__ == "__main__":
    unittest.main()
