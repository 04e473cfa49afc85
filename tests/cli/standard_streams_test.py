# SPDX-License-Identifier: Apache-2.0
"""Full or closed standard output, shell limits, no HOME."""
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
        self.assert_exit(in_shell(f"'{NATIVE}' --help > /dev/full"), 2, stderr="cannot write")

    def test_nothing_is_written_into_a_file_that_took_the_number_of_a_closed_stream(self):
        path = self.folder / "report.json"
        history = self.folder / "history.sqlite"
        for closed in (">&-", "2>&-", "<&-", "<&- >&- 2>&-"):
            result = in_shell(f"'{HEADROOM}' time true --runs 6 --store '{history}' --json '{path}' {closed}")
            self.assertEqual(result.returncode, 2 if ">&-" in closed.split() else 0, closed + result.stderr)
            self.assert_exit(headroom("diff", path, path), 0)
        self.assert_exit(headroom("history", "--store", history), 0)
        # A file opened as one of the three lacks close-on-exec.
        result = in_shell(f"'{HEADROOM}' time --runs 1 --no-store --output '{path}' 'ls -l /proc/self/fd/' >&-")
        self.assertIn("cannot write to standard output", result.stderr)
        self.assertRegex(path.read_text(), r" 0 -> /dev/null\n.* 1 -> \S*report.json")

    def test_a_closed_standard_output_is_a_failure(self):
        report = self.report()
        for arguments in ("--help", "--version", f"diff '{report}' '{report}'", f"show '{report}' --json -"):
            result = in_shell(f"'{HEADROOM}' {arguments} >&-")
            self.assertEqual((result.returncode, "cannot write" in result.stderr), (2, True), arguments)
        result = in_shell(f"'{NATIVE}' --help >&-")
        self.assertEqual((result.returncode, "cannot write to standard output" in result.stderr), (2, True), result.stderr)

    def test_a_limit_on_the_size_of_files_is_an_error_of_the_write(self):
        output, report = self.folder / "output", self.folder / "report.json"
        for arguments in (f"--json '{report}' true", f"--output '{output}' 'head -c 100000 /dev/zero'", f"--store '{self.folder}/h.sqlite' true"):
            result = in_shell(f"ulimit -f 1; '{HEADROOM}' time --runs 40 {arguments}", cwd=self.folder,
                              env={**os.environ, "HOME": str(self.folder)})
            self.assertNotIn(result.returncode, (128 + 25, -25), arguments)
            self.assertEqual("(median of " in result.stdout, "--output" not in arguments, result.stdout)
            self.assertIn("File" if "--output" in arguments else "too large", result.stdout + result.stderr, arguments)

    def test_measured_programs_have_the_signal_as_it_was(self):
        result = in_shell(f"ulimit -f 1; '{HEADROOM}' time --runs 1 --no-store 'dd if=/dev/zero of=big bs=100k count=1'", cwd=self.folder)
        self.assertIn("signal 25", result.stdout + result.stderr)

    def test_a_small_stack_is_refused(self):
        for limit, code in ((32, 2), (512, 2), (1024, 0)):
            result = self.assert_exit(in_shell(f"ulimit -s {limit}; '{HEADROOM}' --version"), code)
            self.assertEqual("ulimit -s 1024" in result.stderr, code == 2, result.stderr)

    def test_without_a_home_only_the_history_is_missing(self):
        bare = {"PATH": os.environ["PATH"]}
        report = self.report()
        self.assert_exit(headroom("time", "true", "--runs", "6", env=bare), 0,
                         stderr="cannot store runs in a history: no folder for the user's data")
        self.assert_exit(headroom("diff", report, report, env=bare), 0)
        self.assert_refused(headroom("diff", "@last", report, env=bare), "neither XDG_DATA_HOME nor HOME is set")
        self.assert_refused(headroom("roofline", report, env=bare), "no case with both FLOPs and bytes")


if __name__ == "__main__":
    unittest.main()
