# SPDX-License-Identifier: Apache-2.0
"""docs/reference/first-lines.md: the first line of each instrument answers its question at 80, 120 and 200 columns, and no table is
wider than the terminal."""
import contextlib
import fcntl
import json
import os
import pathlib
import pty
import re
import struct
import subprocess
import termios
import unittest

from command_line import BRIEF, FAULTY, HEADROOM, CommandLineTest, clean_environment, headroom
from ddp_test import RANK as DDP_RANK
from scripted_dispatch import RANK as DISPATCH_RANK
from trace_files import write_trace


def on_terminal(columns, *arguments, **environment):
    """Returns (exit code, lines); without colours by default."""
    environment = environment or {"NO_COLOR": "1"}
    inherited = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    process = subprocess.Popen([HEADROOM, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=theirs,
                               stderr=subprocess.DEVNULL, env={**inherited, **environment})
    os.close(theirs)
    seen = b""
    with contextlib.suppress(OSError):  # the end of a terminal
        while piece := os.read(ours, 4096):
            seen += piece
    os.close(ours)
    return process.wait(timeout=60), seen.decode().replace("\r\n", "\n").split("\n")


class TerminalWidthTest(CommandLineTest):
    TIME = ("time", "sh -c true", "--no-store", "--max-rounds", "8", "--min-time", "0")

    def test_columns_that_do_not_fit_are_named(self):
        code, lines = on_terminal(60, *self.TIME)
        self.assertEqual(code, 0)
        self.assertEqual(sum(line.startswith("sh -c true") for line in lines), 2, "answer and row")
        self.assertTrue(lines[0].startswith("sh -c true takes "), "the answer first")
        shown = " ".join(lines)
        for title in ("peak memory", "faults", "switches"):
            self.assertEqual(shown.count(title), 1, title)
        self.assertIn("  left out: ", shown)
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


DOCUMENT = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "reference" / "first-lines.md").read_text()
COLUMNS = (80, 120, 200)
# Start of each answer.
ANSWERS = {
    "run": r"\d+ cases?: |\d+ of \d+ cases? failed|\S.* (reaches|takes) |longest of \d+ cases ",
    "ab": r"\S.*: \d+\.\d+ x the time of ",
    "time": r"\S.*( takes|:) \d\S* \S+( ±| \(\d|, without an interval)",
    "cache": r"\S.*: warm is \S+x as fast as cold",
    "dispatch": r"(of \d+ operators, )?distribution adds ",
    "ddp": r"\S.*: an iteration of \d+ ranks? takes ",
    "ddp --collectives": r"\S+ of \S+ \S+ on \d+ ranks ",
    "trace": r"step \S+ \S+ · GPU busy \S+ % · exposed communication \S+ % · ",
    "trace kernels": r"\d+ GPU events, ",
    "trace diff": r"GPU time .* in A, ",
    "history": r"(none|\d+) of \d+ series ",
    "diff": r"(gate: |different machines: |of \d+ comparisons? )",
    "roofline": r"\S.* (is furthest from|reaches \S+ .* of) its limit",
    "machine": r"\d+ cores, \d+ hardware threads, ",
}


class FiveSecondsTest(CommandLineTest):
    def kept(self, name, *arguments):
        """Measures, and returns the arguments that show the kept run."""
        store = self.folder / f"{name}.db"
        place = arguments.index("--") if "--" in arguments else len(arguments)
        self.assert_exit(headroom(*arguments[:place], "--store", store, *arguments[place:], env=clean_environment()), 0)
        return ("show", "@last", "--store", store)

    def shown(self):
        """Returns a command line for each instrument."""
        trace, other = write_trace(self.folder / "run.json"), write_trace(self.folder / "other.json")
        limited = self.folder / "limited.json"
        self.assert_exit(headroom("run", "gemv", "-a", "D=64,128", "-a", "dtype=bf16", *BRIEF, "--no-store", "--json", limited), 0)
        run = self.kept("run", "run", "--runner", FAULTY, "--no-limits", *BRIEF, "fine", "slow")
        return {
            "run": run,
            "ab": self.kept("ab", "ab", "sh -c true", "sh -c :", "--runs", "8"),
            "time": self.kept("time", "time", "sh -c true", "--runs", "40"),
            "cache": self.kept("cache", "cache", "--layer", "env:MINE", "--repeat", "2", "--", "sh", "-c", "touch $MINE/a"),
            "dispatch": self.kept("dispatch", "dispatch", "--runner", DISPATCH_RANK, "--max-time", "300ms", "--min-time", "0",
                                  "--cycles", "40"),
            "ddp": self.kept("ddp", "ddp", "--runner", DDP_RANK, "--iters", "8", "--warmup", "1", "--ranks", "1,2"),
            "ddp --collectives": self.kept("collectives", "ddp", "--collectives", "--runner", DDP_RANK, "--ranks", "2",
                                           "--min-bytes", "4K", "--max-bytes", "4K", "--max-time", "0.2s"),
            "trace": ("trace", trace, "--no-store"),
            "trace kernels": ("trace", "kernels", trace, "--no-store"),
            "trace diff": ("trace", "diff", trace, other),
            "history": ("history", *run[2:]),
            "diff": ("diff", limited, limited),
            "roofline": ("roofline", limited),
            "machine": ("machine", "--topology"),
        }

    def test_the_first_line_answers_at_every_width(self):
        shown = self.shown()
        self.assertEqual(list(shown), list(ANSWERS))
        for name, arguments in shown.items():
            for columns in COLUMNS:
                with self.subTest(f"{name} at {columns}"):
                    code, lines = on_terminal(columns, *arguments)
                    self.assertEqual(code, 0, lines)
                    # The answer may wrap.
                    self.assertRegex(" ".join(lines[:2]), "^(" + ANSWERS[name] + ")")
                    self.assertLessEqual(max(map(len, lines[:2])), columns)
                    if name == "roofline":
                        self.assertTrue([line for line in lines if "┤" in line])
                        self.assertLessEqual(max(len(line) for line in lines if re.search("[┤│└]", line)), columns, "its plot")
                    for title, rule in zip(lines, lines[1:]):
                        if rule.startswith("──"):
                            self.assertLessEqual(max(len(title), len(rule)), columns)

    def test_the_document_has_each_instrument_with_such_a_line(self):
        parts = dict(re.findall(r"^## `headroom ([^`]+)`$(.*?)(?=^## |\Z)", DOCUMENT, re.M | re.S))
        self.assertEqual(list(parts), list(ANSWERS))
        for name, text in parts.items():
            with self.subTest(name):
                self.assertRegex(text, r"(?m)^Question: .*\?$")
                blocks = re.findall(r"^```text\n(.*?)^```$", text, re.M | re.S)
                self.assertIn(len(blocks), (1, 2), "one for all widths, or one for 80 columns and one for more")
                for block, columns in zip(blocks, COLUMNS):
                    lines = block.splitlines()
                    self.assertRegex(" ".join(lines[:2]), "^(" + ANSWERS[name] + ")")
                    self.assertLessEqual(max(map(len, lines)), columns)


if __name__ == "__main__":
    unittest.main()
