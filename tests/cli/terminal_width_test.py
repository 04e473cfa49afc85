# SPDX-License-Identifier: Apache-2.0
"""Tables on a narrow terminal."""
import contextlib
import fcntl
import json
import os
import pty
import struct
import subprocess
import termios
import unittest

from command_line import HEADROOM, CommandLineTest, headroom
from trace_files import write_trace


def on_terminal(columns, *arguments, **environment):
    """Returns (exit code, lines); without colours by default."""
    environment = environment or {"NO_COLOR": "1"}
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    process = subprocess.Popen([HEADROOM, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=theirs,
                               stderr=subprocess.DEVNULL, env=dict(os.environ, **environment))
    os.close(theirs)
    seen = b""
    with contextlib.suppress(OSError):  # the end of a terminal
        while piece := os.read(ours, 4096):
            seen += piece
    os.close(ours)
    return process.wait(timeout=60), seen.decode().replace("\r\n", "\n").split("\n")


class TerminalWidthTest(CommandLineTest):
    TIME = ("time", "sh -c true", "--no-store", "--max-rounds", "8", "--min-time", "0")

    def test_columns_are_parted_into_blocks(self):
        code, lines = on_terminal(60, *self.TIME)
        self.assertEqual(code, 0)
        self.assertGreater(sum(line.startswith("sh -c true") for line in lines), 1)
        self.assertTrue(lines[0].startswith("sh -c true takes "), "the answer first")
        for title in ("peak memory", "faults", "switches"):
            self.assertEqual(sum(title in line for line in lines if line.startswith("command")), 1, title)
        for line in lines:
            if line.startswith(("command", "sh -c true", "─")):
                self.assertLessEqual(len(line), 60, line)

    def test_wide_terminals_pipes_and_markdown_have_one_table(self):
        for columns, more in ((200, ()), (0, ()), (40, ("--markdown",))):
            code, lines = on_terminal(columns, *self.TIME, *more)
            self.assertEqual(code, 0)
            self.assertEqual(sum(line.lstrip("| ").startswith("sh -c true ") for line in lines), 2, "answer and row")
        piped = headroom(*self.TIME, env=dict(os.environ, COLUMNS="40"))
        self.assertEqual(piped.stdout.count("sh -c true"), 2)

    def test_json_on_a_terminal_is_whole(self):
        code, lines = on_terminal(40, *self.TIME, "--json", "-")
        self.assertEqual(code, 0)
        self.assertIn("records", json.loads("\n".join(lines)))

    def test_tables_of_traces_and_of_the_history(self):
        store = self.folder / "h.sqlite"
        trace = write_trace(self.folder / "run.json")
        for arguments in (("trace", "kernels", trace, "--store", store), ("history", "--store", store),
                          ("trace", "--list")):
            code, lines = on_terminal(50, *arguments)
            self.assertEqual(code, 0, arguments)
            rules = [line for line in lines if line.startswith("─")]
            self.assertTrue(rules, arguments)
            self.assertLessEqual(max(map(len, rules)), 50, arguments)

    def test_a_terminal_has_colours_unless_they_are_refused(self):
        for environment, more, has in (({"TERM": "xterm", "NO_COLOR": ""}, (), True), ({"TERM": "xterm", "NO_COLOR": "1"}, (), False),
                                       ({"TERM": "dumb", "NO_COLOR": ""}, (), False),
                                       ({"TERM": "xterm", "NO_COLOR": ""}, ("--color", "never"), False),
                                       ({"TERM": "dumb", "NO_COLOR": "1"}, ("--color", "always"), True)):
            code, lines = on_terminal(80, *self.TIME, *more, **environment)
            self.assertEqual(code, 0)
            self.assertEqual(any("\x1b[" in line for line in lines), has, (environment, more))

    def test_prose_is_wrapped_at_word_ends(self):
        _, lines = on_terminal(40, *self.TIME)
        prose = lines[:lines.index("")]
        self.assertTrue(prose[0].startswith("sh -c true takes "))
        for line in lines:
            self.assertLessEqual(len(line), 40, line)


if __name__ == "__main__":
    unittest.main()
