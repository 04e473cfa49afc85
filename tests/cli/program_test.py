# SPDX-License-Identifier: Apache-2.0
"""The program itself."""
import subprocess
import time
import unittest

from command_line import HEADROOM, CommandLineTest, headroom


class ProgramTest(CommandLineTest):
    def test_version(self):
        result = self.assert_exit(headroom("--version"), 0)
        self.assertRegex(result.stdout, r"^headroom \d+\.\d+\.\d+\n$")

    def test_help_names_every_command(self):
        for arguments in (["--help"], ["help"]):
            self.assert_exit(headroom(*arguments), 0, "run ", "machine ", "--version")

    def test_each_command_has_help_with_examples(self):
        for command in ("run", "machine", "diff", "history"):
            for arguments in ([command, "--help"], ["help", command]):
                self.assert_exit(headroom(*arguments), 0, "examples:")

    def test_no_command_shows_help_and_fails(self):
        result = headroom()
        self.assert_refused(result, "usage: headroom COMMAND")

    def test_unknown_command(self):
        self.assert_refused(headroom("rnu"), "unknown command 'rnu'", "did you mean 'run'")

    def test_unknown_option(self):
        self.assert_refused(headroom("run", "--presicion", "1%"), "--presicion")

    def test_links_neither_torch_nor_cuda(self):
        listed = subprocess.run(["ldd", HEADROOM], capture_output=True, text=True, check=True).stdout
        # Names only: an address may contain "c10".
        libraries = [line.split()[0] for line in listed.splitlines()]
        self.assertTrue(any("libc.so" in library for library in libraries), listed)
        for library in ("torch", "cuda", "c10"):
            self.assertFalse([found for found in libraries if library in found], listed)

    def test_starts_in_milliseconds(self):
        times = []
        for _ in range(20):
            start = time.perf_counter()
            subprocess.run([HEADROOM, "--version"], stdout=subprocess.DEVNULL, check=True)
            times.append(time.perf_counter() - start)
        # Includes Python's fork and wait; the goal for the program is 5 ms.
        self.assertLess(min(times), 0.015)


if __name__ == "__main__":
    unittest.main()
