# SPDX-License-Identifier: Apache-2.0
"""Commands of headroom-trace and headroom-pages."""
import json
import os
import shutil
import signal
import unittest

from command_line import BIN, HEADROOM, CommandLineTest, headroom, run_program
from scripted_dispatch import state_of

TRACE = {"traceEvents": [
    {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 10, "dur": 20, "args": {"device": 0, "stream": 7}}]}


class OtherProgramsTest(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        shutil.copy(HEADROOM, self.bin)
        self.trace = self.folder / "trace.json"
        self.trace.write_text(json.dumps(TRACE))

    def program(self, text, name="headroom-trace"):
        """Replaces a program by a shell script."""
        self.script(f"bin/{name}", text)

    def run_alone(self, *arguments, **more):
        """Programs are found only in self.bin."""
        return run_program(self.bin / "headroom", *arguments, env={**os.environ, "PATH": "/usr/bin:/bin", **more})

    def test_commands_of_other_programs_work_and_say_so_in_one_help(self):
        shown = headroom("--help").stdout
        for command in ("trace", "report", "serve"):
            self.assertRegex(shown, rf"(?m)^.{{9}}{command} ")
            self.assert_exit(headroom(command, "--help"), 0, f"headroom {command}")
        self.assert_exit(headroom("trace", self.trace, "--no-store"), 0)

    def test_exit_codes_are_handed_on(self):
        for code in (0, 1, 2, 3, 130):
            self.program(f"exit {code}")
            self.assertEqual(self.run_alone("trace", "x").returncode, code)
        self.assert_exit(headroom("trace", "validate", self.folder / "absent.json", "--no-store"), 2)

    def test_arguments_and_streams_are_handed_on_as_they_are(self):
        self.program('for word in "$@"; do printf "<%s>" "$word"; done; cat; echo said >&2')
        result = run_program(self.bin / "headroom", "trace", "a b", "--x=ü", "", input="typed")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "<a b><--x=ü><>typed", "said\n"))
        self.program('echo "$@"', "headroom-pages")
        self.assertEqual(self.run_alone("report", "a.json", "-o", "-").stdout, "report a.json -o -\n")

    def test_a_missing_program_is_named_with_what_to_do(self):
        for command, program in (("trace", "headroom-trace"), ("report", "headroom-pages"), ("serve", "headroom-pages")):
            self.assert_refused(self.run_alone(command, "x"), program, "make build", "install")
        # A trace that is only probed for may be missing.
        results = self.write_file("r.json", {"results": [{"command": "true", "times": [0.1, 0.2]}]})
        self.assert_exit(self.run_alone("show", results), 0)

    def test_a_program_that_cannot_be_started(self):
        (self.bin / "headroom-trace").write_bytes(b"\x7fELF nothing")
        (self.bin / "headroom-trace").chmod(0o755)
        self.assert_refused(self.run_alone("trace", "x"), "cannot start", "headroom-trace")

    def test_a_program_that_dies_is_a_sentence(self):
        for number, name in ((signal.SIGSEGV, "Segmentation"), (signal.SIGKILL, "Killed")):
            self.program(f"echo half; kill -{int(number)} $$")
            result = self.run_alone("trace", "x")
            self.assertEqual((result.returncode, result.stdout), (2, "half\n"))
            self.assertIn("headroom-trace was killed by signal", result.stderr)
            self.assertIn(name, result.stderr)

    def test_a_program_of_another_version_refuses(self):
        for program in ("headroom-trace", "headroom-pages"):
            result = run_program(BIN / program, "--version", env={**os.environ, "HEADROOM_STARTED_BY": "0.0.9"})
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertIn("0.0.9", result.stderr)
            self.assertIn("install the same version of both", result.stderr)

    def interrupted(self, how):
        """Returns the exit code and milliseconds; the program must be gone."""
        self.program(f'trap "exit 130" INT TERM; echo $$ > {self.folder}/pid; while :; do sleep 0.05; done')
        (self.folder / "pid").unlink(missing_ok=True)
        process = self.start("trace", "x", executable=self.bin / "headroom", start_new_session=True)
        self.wait_for(lambda: (self.folder / "pid").exists() and (self.folder / "pid").read_text().strip(), seconds=30)
        pid = int((self.folder / "pid").read_text())
        how(process)
        process.communicate(timeout=30)
        self.wait_for(lambda: state_of(pid) in ("", "Z"), seconds=30)
        return process.returncode

    def test_ctrl_c_of_a_terminal_ends_both(self):
        self.assertEqual(self.interrupted(lambda process: os.killpg(process.pid, signal.SIGINT)), 130)

    def test_a_signal_to_headroom_alone_reaches_the_program(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            self.assertEqual(self.interrupted(lambda process, number=number: process.send_signal(number)), 130)

    def test_nothing_is_left_when_headroom_is_killed(self):
        self.assertEqual(self.interrupted(lambda process: process.kill()), -signal.SIGKILL)

    def test_a_trace_is_shown_by_headroom_trace(self):
        shown = self.assert_exit(headroom("show", self.trace), 0)
        self.assertEqual(shown.stdout, headroom("trace", "summary", "--no-store", self.trace).stdout)


if __name__ == "__main__":
    unittest.main()
