# SPDX-License-Identifier: Apache-2.0
"""README.md: commands run and print the tables shown, code is an example's."""
import os
import pathlib
import re
import shutil
import sys
import unittest

import command_line
from command_line import CommandLineTest, headroom, run_program

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
TRACE = pathlib.Path(os.environ["HEADROOM_SHARED"]) / "traces" / \
    "kineto__samples_resnet50_num_workers_0_worker0.1623143089861.pt.trace.json.gz"
# Lower bounds, so that a broken pattern is noticed.
BLOCKS = {"console": 2, "python": 1, "sh": 2}


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.M | re.S)


def commands():
    """Yields (command, shown output) of each `$ ` line."""
    for block in blocks("console"):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, shown = part.partition("\n")
            yield command, shown


def expected_exit(command):
    """0, unless the line has a comment `# exit code 1`."""
    told = re.search(r"#.*\bexit(?:s| code)?(?: with)? (\d)\b", command)
    return int(told[1]) if told else 0


def columns(text):
    """Returns the column names above each rule."""
    lines = text.splitlines()
    return [re.split(r"\s{2,}", above.strip()) for above, rule in zip(lines, lines[1:]) if rule.startswith("──")]


# Columns that are omitted if empty or constant.
SOMETIMES = {"backend", "dtype", "n", "metric", "of limit", "target", "flags"}


class Readme(CommandLineTest):
    def test_its_commands_run_and_print_what_it_shows(self):
        (self.folder / "numbers.txt").write_text("".join(f"{i * 7919 % 100003}\n" for i in range(100003)))
        if TRACE.exists():
            shutil.copy(TRACE, self.folder / "resnet50.json.gz")
        environment = {**os.environ, "PATH": f"{command_line.BIN}:{os.environ['PATH']}", "HEADROOM_STORE": str(self.folder / "history.db")}
        found, ran, skipped = list(commands()), 0, 0
        self.assertEqual(len(found), len(re.findall(r"^\$ ", README, re.M)), "a command outside of a console block")
        self.assertGreaterEqual(len(found), BLOCKS["console"])
        for command, shown in found:
            with self.subTest(command):
                lacking = self.lacking(command)
                if lacking:
                    skipped += 1
                    self.skipTest(f"needs {lacking}")
                # On a busy machine more lines stand above the table.
                typed = command if " trace " in command else re.sub(r" \| head -\d+", "", command)
                result = run_program("bash", "-c", typed, timeout=200, cwd=self.folder, env=environment)
                self.assert_exit(result, expected_exit(command))
                self.assertTrue(shown.strip(), "it shows nothing")
                if " trace " in command:  # nothing is measured
                    self.assertEqual(result.stdout, shown)
                else:
                    self.assertTrue(columns(shown), "it shows no table")
                printed = columns(result.stdout)
                for names in columns(shown):
                    self.assertTrue(any(set(names) ^ set(others) <= SOMETIMES for others in printed), f"{names} not in {printed}")
                ran += 1
        self.assertEqual(ran + skipped, len(found))
        self.assertGreaterEqual(ran, len(found) - 3, "three need what may not be there")

    @staticmethod
    def lacking(command):
        """Returns what a command needs but is missing."""
        if "resnet50" in command and not TRACE.exists():
            return TRACE
        if ".py" in command and not (command_line.BIN.parent / "python/headroom/_core.abi3.so").exists():
            return "the package of Python"
        if "aten" in command and not (command_line.BIN / "headroom-torch").exists():
            return "headroom-torch"
        return None

    def test_no_block_has_gone(self):
        for language, least in BLOCKS.items():
            self.assertGreaterEqual(len(blocks(language)), least, language)

    def test_its_code_runs(self):
        if not (command_line.BIN.parent / "python/headroom/_core.abi3.so").exists():
            self.skipTest("needs the package of Python")
        environment = {**os.environ, "PYTHONPATH": str(command_line.BIN.parent / "python"), "HEADROOM": str(command_line.BIN / "headroom")}
        for block in blocks("python"):
            result = run_program(sys.executable, "-c", block, timeout=200, env=environment)
            self.assert_exit(result, 0)
            self.assertRegex(result.stdout, r"(?m)^compare +join .*\n(?s:.*)^compare +format ")

    def test_the_code_of_examples_is_in_the_tutorials(self):
        tutorials = "".join(path.read_text() for path in (ROOT / "docs" / "tutorials").glob("*.md"))
        self.assertIn((ROOT / "examples" / "text.py").read_text().split("\n", 1)[1], tutorials)

    def test_what_it_installs_with_is_there(self):
        makefile = (ROOT / "Makefile").read_text()
        targets = set(re.findall(r"(?:^|`)make (\w+)", README, re.M))
        self.assertLessEqual({"wheel", "deb", "run", "test"}, targets)
        for target in targets:
            self.assertRegex(makefile, rf"(?m)^{target}:")
        for language in set(re.findall(r"^```(\w*)$", README, re.M)) - {""}:
            self.assertIn(language, ("console", "cpp", "python", "sh"), "a block that no test runs")
        self.assertEqual(len(re.findall(r"^```$", README, re.M)), len(re.findall(r"^```\w+$", README, re.M)))

    def test_it_is_short_and_its_links_lead_somewhere(self):
        self.assertLessEqual(len(README.splitlines()), 120)
        targets = re.findall(r"\]\(([^)#:]+)\)", README)
        self.assertGreaterEqual(len(targets), 20)
        for target in targets:
            self.assertTrue((ROOT / target).exists(), target)

    def test_its_options_are_those_of_the_program(self):
        checked = 0
        for command, options in re.findall(r"headroom (\w+)([^`\n]*)", README):
            known = headroom(command, "--help").stdout if command in ("run", "ab", "diff", "trace", "ddp", "dispatch", "cache") else None
            for option in re.findall(r"(?<!\S)--[a-z-]+", options) if known else ():
                if command in ("ddp", "trace") and option in ("--collectives",):
                    continue
                self.assertIn(option, known, f"headroom {command} {option}")
                checked += 1
        self.assertGreaterEqual(checked, 7)


if __name__ == "__main__":
    unittest.main()
