# SPDX-License-Identifier: Apache-2.0
"""`headroom run --live` on a pseudo-terminal."""
import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import unicodedata
import unittest

from command_line import FAULTY, HEADROOM, CommandLineTest, faulty

ENTER, LEAVE, CLEAR = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l", "\x1b[H\x1b[J"
RUN = ("run", "--runner", FAULTY, "--no-limits", "--no-store", "--threads", "1", "--min-time", "0", "--max-time", "0.7s",
       "--precision", "0.0001%", "--processes", "1", "--live", "fine", "slow")


class Terminal:
    """headroom with standard error on a terminal and standard output on a pipe."""

    def __init__(self, *arguments, columns=100, **environment):
        self.master, slave = pty.openpty()
        self.resize(columns)
        self.start = time.monotonic()
        self.process = subprocess.Popen([HEADROOM, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=slave,
                                        env=dict(os.environ, NO_COLOR="1", **environment), text=True)
        os.close(slave)
        self.seen, self.times = "", []

    def resize(self, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))

    def read(self, until=None, seconds=60):
        """Returns the output until a text appears, or the end."""
        end = time.monotonic() + seconds
        with contextlib.suppress(OSError):
            while time.monotonic() < end and (until is None or until not in self.seen):
                if not select.select([self.master], [], [], 0.05)[0]:
                    continue
                piece = os.read(self.master, 65536).decode(errors="replace")
                if not piece:
                    break
                self.times += [time.monotonic()] * piece.count(CLEAR)
                self.seen += piece
        return self.seen

    def end(self):
        seen = self.read()
        stdout = self.process.stdout.read()
        code = self.process.wait(timeout=60)
        self.process.stdout.close()
        os.close(self.master)
        return code, stdout, seen


def drawings(seen):
    return [re.split("\x1b", part)[0].replace("\r\n", "\n") for part in seen.split(CLEAR)[1:]]


REDRAW = "\r\x1b[2K"


def columns_of(line):
    """Returns the display width for the characters of these tests."""
    return sum(2 if character in "中文🚀" else 0 if unicodedata.combining(character) else 1 for character in line)


class ProgressLineTest(CommandLineTest):
    """One line of progress, on any terminal."""
    FEW = ("--no-store", "--max-time", "700ms", "--min-time", "600ms", "--precision", "0.0001%")
    NAME = "sleep 0.01 # a name of more than forty characters, which is cut before the numbers are"

    def lines(self, *arguments, columns, resize=None):
        terminal = Terminal(*arguments, columns=columns, LC_ALL="C.UTF-8")
        if resize:
            terminal.read(until=REDRAW)
            terminal.resize(resize)
        code, _, seen = terminal.end()
        self.assertEqual(code, 0, seen)
        self.assertTrue(seen.count(REDRAW) > 2, seen)
        # Notes have lines of their own.
        return [part.split("\r\n")[0] for part in seen.split(REDRAW)[1:] if part and not part.startswith("headroom: ")]

    def test_no_line_is_wider_than_the_terminal(self):
        names = ("sleep 0.01", self.NAME, "sleep 0.01 # " + 30 * "中文🚀", "sleep 0.01 # " + 60 * "e\u0301", "sleep 0.01 # a\tb\x1b[31mc")
        for columns in (40, 80, 20, 200):
            for name in names:
                with self.subTest(columns=columns, name=name):
                    lines = self.lines("time", name, *self.FEW, columns=columns)
                    self.assertTrue(lines)
                    for line in lines:
                        self.assertLess(columns_of(line), columns, line)
                        self.assertNotRegex(line, "[\x00-\x1f]", "no escape and no line break of a name")
                        if "round 0" not in line and columns > 20:
                            self.assertTrue(line.startswith("[1/1] sle"), line)

    def test_the_name_is_shortened_before_the_numbers(self):
        lines = self.lines("time", self.NAME, *self.FEW, columns=80)
        self.assertTrue(any(re.search(r"…  round \d+ .* of at most 1 s$", line) for line in lines), lines)
        lines = self.lines("time", self.NAME, *self.FEW, columns=40)
        self.assertTrue(any(re.search(r"^\[1/1\] sleep 0…  round \d+ .*…$", line) for line in lines), lines)

    def test_a_terminal_that_becomes_narrow(self):
        lines = self.lines("time", self.NAME, *self.FEW, columns=120, resize=40)
        self.assertGreater(columns_of(lines[0]), 40)
        self.assertLess(columns_of(lines[-1]), 40)

    def test_a_terminal_that_does_not_know_its_width(self):
        for line in self.lines("time", self.NAME, *self.FEW, columns=0):
            self.assertLess(columns_of(line), 80)

    def test_so_do_runs_and_caches(self):
        run = self.lines(*RUN[:-3], "fine", "slow", "--no-store", columns=40)
        cache = self.lines("cache", "--layer", f"folder:{self.folder / 'cached'}", "--repeat", "2", "--no-store", "--", "sh", "-c",
                           "sleep 0.1; true " + 30 * "中文🚀", columns=40)
        for lines in (run, cache):
            self.assertTrue(lines)
            for line in lines:
                self.assertLess(columns_of(line), 40, line)
        self.assertTrue(all(re.search(r", (cold|warm)", line) for line in cache), cache)


class LiveTest(CommandLineTest):
    def test_the_table_fills_in_and_the_last_one_stands_alone(self):
        terminal = Terminal(*RUN, LC_ALL="C.UTF-8")
        code, stdout, seen = terminal.end()
        self.assertEqual(code, 0, seen)
        shown = drawings(seen)
        self.assertGreater(len(shown), 3)
        self.assertRegex(shown[0], r"^\[1/2\] fine, ")
        self.assertRegex(shown[0], "[▁▂▃▄▅▆▇█]")
        rounds = [int(found) for found in re.findall(r"(\d+) rounds?, ", "".join(part for part in shown if "[1/2]" in part))]
        self.assertEqual(rounds, sorted(rounds))
        self.assertRegex(shown[-1], r"(?m)^fine .*\n(.*\n)*?slow ", "the groups that are over stay")
        self.assertEqual(seen.count(ENTER), seen.count(LEAVE))
        self.assertNotIn("\x1b", stdout)
        self.assertIn("longest of 2 cases is slow", stdout)
        # When a drawing arrives depends on other programs.
        self.assertLess(len(terminal.times), 4 + 10 * (terminal.times[-1] - terminal.start), "ten a second, or fewer")

    def test_in_signs_where_the_locale_has_no_blocks(self):
        _, _, seen = Terminal(*RUN, LC_ALL="C").end()
        self.assertNotRegex(seen, "[▁▂▃▄▅▆▇█]")
        self.assertRegex(drawings(seen)[0], r"samples of each time")

    def test_what_a_resize_leaves_fits(self):
        terminal = Terminal(*RUN, LC_ALL="C")
        terminal.read(until=CLEAR)
        terminal.resize(60)
        time.sleep(0.3)
        terminal.seen = ""
        code, _, seen = terminal.end()
        self.assertEqual(code, 0)
        rules = [line for part in drawings(seen)[1:] for line in part.split("\n") if line.startswith("──")]
        self.assertTrue(rules)
        self.assertLessEqual(max(map(len, rules)), 60)

    def test_ctrl_c_keeps_what_was_measured_and_gives_the_terminal_back(self):
        for twice in (False, True):
            terminal = Terminal(*RUN, "--json", self.folder / "kept.json")
            terminal.read(until=CLEAR)
            terminal.process.send_signal(signal.SIGINT)
            if twice:
                with contextlib.suppress(ProcessLookupError):
                    terminal.process.send_signal(signal.SIGINT)
            code, stdout, seen = terminal.end()
            self.assertEqual(code, 130, seen)
            self.assertTrue(seen.rindex(LEAVE) > seen.rindex(ENTER))
            if not twice:
                self.assertIn("fine takes", stdout)
                self.assertTrue((self.folder / "kept.json").exists())

    def test_without_a_terminal_it_is_a_plain_run(self):
        self.assert_exit(faulty("fine", "--live", "--no-store"), 0, "fine takes", stderr="--live needs a terminal")


if __name__ == "__main__":
    unittest.main()
