# SPDX-License-Identifier: Apache-2.0
"""Standard output that is full or closed, and an environment without HOME."""
import os
import subprocess
import unittest

from command_line import HEADROOM, NATIVE, CommandLineTest, headroom

BRIEF = ["time", "true", "--no-store", "--runs", "6"]


def in_shell(line, **options):
    return subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, timeout=60, **options)


class StandardStreamsTest(CommandLineTest):
    def report(self):
        path = self.folder / "report.json"
        self.assert_exit(headroom(*BRIEF, "--json", path), 0)
        return path

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_what_cannot_be_written_to_standard_output_is_a_failure(self):
        report = self.report()
        for arguments in (["--help"], ["--version"], ["machine", "--topology"], ["trace", "--list"], ["run", "--help"],
                          ["diff", report, report], ["diff", report, report, "--json", "-"], BRIEF,
                          [*BRIEF, "--json", "-"]):
            with self.subTest(arguments=arguments), open("/dev/full", "w") as full:
                result = subprocess.run([HEADROOM, *map(str, arguments)], stdout=full, stderr=subprocess.PIPE,
                                        stdin=subprocess.DEVNULL, text=True, timeout=60)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn("cannot write", result.stderr)

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_a_runner_started_from_a_shell_says_so_too(self):
        result = in_shell(f"'{NATIVE}' --help > /dev/full")
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("cannot write", result.stderr)

    def test_nothing_is_written_into_a_file_that_took_the_number_of_a_closed_stream(self):
        path = self.folder / "report.json"
        history = self.folder / "history.sqlite"
        for closed in (">&-", "2>&-", "<&-", "<&- >&- 2>&-"):
            result = in_shell(f"'{HEADROOM}' time true --runs 6 --store '{history}' --json '{path}' {closed}")
            self.assertEqual(result.returncode, 0, closed + result.stderr)
            self.assert_exit(headroom("diff", path, path), 0)
        self.assert_exit(headroom("history", "--store", history), 0)
        # As one of the three, a file would be open without close-on-exec, too.
        result = in_shell(f"'{HEADROOM}' time --runs 1 --no-store --output '{path}' 'ls -l /proc/self/fd/' >&-")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(path.read_text(), r" 0 -> /dev/null\n.* 1 -> \S*report.json")

    def test_without_a_home_only_the_history_is_missing(self):
        bare = {"PATH": os.environ["PATH"]}
        report = self.report()
        result = headroom("time", "true", "--runs", "6", env=bare)
        self.assert_exit(result, 0)
        self.assertIn("no history is kept: no folder for the user's data", result.stderr)
        self.assert_exit(headroom("diff", report, report, env=bare), 0)
        self.assert_refused(headroom("diff", "@last", report, env=bare), "neither XDG_DATA_HOME nor HOME is set")
        self.assert_refused(headroom("roofline", report, env=bare), "no case that tells both FLOPs and bytes")


if __name__ == "__main__":
    unittest.main()
