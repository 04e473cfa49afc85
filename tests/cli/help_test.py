# SPDX-License-Identifier: Apache-2.0
"""Help fits into 80 columns, names kinds of values, and is the reference page."""
import json
import pathlib
import subprocess
import sys
import unittest

from command_line import BIN, CommandLineTest, headroom

TOOLS = pathlib.Path(__file__).parents[2] / "tools"
sys.path.insert(0, str(TOOLS))
from make_reference import COMMANDS  # noqa: E402


class Help(CommandLineTest):
    def lines(self, *words):
        result = headroom(*words)
        self.assert_exit(result, 0)
        return result.stdout.splitlines()

    def commands(self):
        analyses = [entry["name"] for entry in json.loads(headroom("trace", "--list", "--json", "-").stdout)]
        return [*COMMANDS, *(f"trace {name}" for name in analyses)]

    def test_the_first_screen_is_24_lines_of_80_columns(self):
        lines = self.lines("--help")
        self.assertLessEqual(len(lines), 24)
        self.assertEqual([line for line in lines if len(line) > 80], [])
        for purpose in ("measure", "compare", "look", "set up"):
            self.assertTrue(any(line.startswith(purpose) for line in lines), purpose)
        for command in COMMANDS:
            self.assertIn(f" {command.split()[0]} ", " ".join(lines))

    def test_every_command_fits_into_80_columns(self):
        for command in self.commands():
            with self.subTest(command):
                lines = self.lines(*command.split(), "--help")
                # A long example of a command stays one line, to be copied.
                self.assertEqual([line for line in lines if len(line) > 80 and not line.startswith("  headroom ")], [])

    def test_placeholders_name_kinds_and_nothing_of_the_parser_leaks(self):
        for command in self.commands():
            with self.subTest(command):
                text = "\n".join(self.lines(*command.split(), "--help"))
                self.assertNotRegex(text, r"\b(TEXT|U?INT|FLOAT)\b|\{/|\{false\}| in \[")
                self.assertIn("examples:", text)

    def test_h_is_help_and_what_follows_two_dashes_is_not(self):
        self.assertEqual(headroom("diff", "-h").stdout, headroom("diff", "--help").stdout)
        result = headroom("time", "--runs", "6", "--no-store", "--", "echo", "--help")
        self.assertNotIn("usage: headroom time", result.stdout)

    def test_the_page_of_commands_is_the_help(self):
        result = subprocess.run([sys.executable, TOOLS / "make_reference.py", BIN, "--check"], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)


if __name__ == "__main__":
    unittest.main()
