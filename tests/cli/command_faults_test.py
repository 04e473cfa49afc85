# SPDX-License-Identifier: Apache-2.0
"""`headroom ab` and `time` with bad commands, and interrupted."""
import contextlib
import os
import pathlib
import re
import resource
import signal
import time
import unittest

from command_line import CommandLineTest, headroom, records_of

FEW = ["--no-store", "--max-rounds", "8", "--min-time", "0"]


def processes_with(text):
    """Returns the ids of live processes with `text` in their command line."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if text in (entry / "cmdline").read_text(errors="replace").replace("\0", " "):
                found.append(int(entry.name))
        except OSError:
            pass
    return found


def kill_processes_with(text):
    for pid in processes_with(text):
        with contextlib.suppress(ProcessLookupError):  # it may have ended
            os.kill(pid, signal.SIGKILL)


def children_of(pid):
    return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


class CommandFaultsTest(CommandLineTest):
    def test_a_missing_program_is_said_before_anything_runs(self):
        log = self.folder / "log"
        result = headroom("ab", *FEW, f"touch {log}", "no-such-program-anywhere -x")
        self.assert_refused(result, "no program 'no-such-program-anywhere' in PATH")
        self.assertFalse(log.exists())
        self.assert_refused(headroom("time", *FEW, "./no/such"), "no program './no/such'")

    def test_a_program_that_setup_makes_may_be_missing_at_first(self):
        program = self.folder / "made"
        make = f"printf '#!/bin/sh\\nexit 0\\n' > {program}; chmod +x {program}"
        self.assert_exit(headroom("time", *FEW, "--setup", make, str(program)), 0)

    def test_a_program_that_nobody_makes_fails(self):
        result = self.assert_exit(headroom("ab", *FEW, "--setup", "true", str(self.folder / "absent"), "true"), 1,
                                  "no such file")
        self.assertRegex(result.stdout, r"true +\S+ .s")

    def test_a_late_failure_tells_which_run_it_was(self):
        log = self.folder / "log"
        result = headroom("time", "--no-store", "--shell", "--runs", "20", f"echo x >> {log}; [ $(wc -l < {log}) -ne 10 ]")
        self.assert_exit(result, 1)
        self.assertIn("exit code 1 (in run 10; --ignore-failure measures failing runs too)", result.stdout)

    def test_a_failure_is_told_with_its_last_lines_and_the_others_go_on(self):
        path = self.folder / "records.json"
        self.assert_exit(headroom("ab", *FEW, "--json", path, "sh -c 'echo out of cheese >&2; exit 3'", "true"), 1,
                         "exit code 3: out of cheese")
        failed, fine = records_of(path)[:2]
        self.assertEqual(failed["outcome"]["kind"], "failed")
        self.assertEqual(fine["outcome"]["kind"], "measured")

    def test_a_signal_is_told_apart_from_a_code(self):
        self.assert_exit(headroom("time", *FEW, "--shell", "kill -SEGV $$"), 1,
                         "killed by signal 11 (Segmentation fault)")

    def test_failures_are_measured_where_asked_for(self):
        path = self.folder / "records.json"
        self.assert_exit(headroom("time", *FEW, "-i", "--json", path, "sh -c 'exit 3'"), 0, "8 of 8 runs (exit code 3)")
        codes = [record for record in records_of(path) if record["metric"]["name"] == "exit_code"]
        self.assertEqual(codes[0]["samples"][0]["values"], 8 * [3])

    def test_hooks_that_fail(self):
        for hook in ("setup", "prepare", "conclude"):
            result = self.assert_exit(headroom("time", *FEW, f"--{hook}", "echo nothing to make >&2; exit 2", "true"),
                                      1, f"--{hook} failed: exit code 2: nothing to make")
        self.assert_exit(headroom("time", *FEW, "--cleanup", "exit 2", "true"), 0, "--cleanup failed: exit code 2")

    def test_a_command_that_hangs_is_ended_with_its_whole_group(self):
        mark = f"31{os.getpid()}"
        self.assert_exit(headroom("ab", *FEW, "--timeout", "300ms", "--shell", f"sleep {mark} & wait", "true"), 1,
                         "timed out")
        self.wait_for(lambda: not processes_with(f"sleep {mark}"))

    def test_a_daemon_that_keeps_the_pipes_open_does_not_hang_us(self):
        mark = f"32{os.getpid()}"
        away = self.folder / "away"
        # The shell's end kills the group: the daemon must have left it.
        result = headroom("time", "--no-store", "--max-rounds", "2", "--output", "pipe", "--shell",
                          f"setsid sh -c 'touch {away}; exec sleep {mark}' & until [ -e {away} ]; do :; done", timeout=60)
        self.addCleanup(kill_processes_with, f"sleep {mark}")
        self.assert_exit(result, 0)
        self.assertTrue(processes_with(f"sleep {mark}"), "what left the group is not ours to end")

    def test_what_a_command_leaves_running_is_named_with_that_command(self):
        mark = f"33{os.getpid()}"
        self.addCleanup(kill_processes_with, f"sleep {mark}")
        away = self.folder / "away"
        leaver, tidy = f"setsid sh -c 'touch {away}; exec sleep {mark}' & until [ -e {away} ]; do :; done; sleep 0.02", "sleep 0.01"
        (self.folder / "kept").mkdir()
        for command in (["ab", *FEW, "--shell", leaver, tidy],
                        ["cache", "--no-store", "--repeat", "1", "--layer", f"folder:{self.folder}/kept", "--", "sh", "-c", leaver]):
            path = self.folder / "records.json"
            path.unlink(missing_ok=True)
            away.unlink(missing_ok=True)
            place = command.index("--") if "--" in command else len(command)
            result = self.assert_exit(headroom(*command[:place], "--json", path, *command[place:]), 0)
            left = {str(pid) for pid in processes_with(f"sleep {mark}")}
            named = [line for line in result.stdout.splitlines() if "left running: sleep (process" in line]
            self.assertEqual(len(named), 1, result.stdout)
            self.assertTrue(set(re.findall(r"process (\d+)", named[0])) & left, named[0])
            notes = {record["model"]["name"] for record in records_of(path) for note in record["notes"] if "left running" in note}
            self.assertEqual(len(notes), 1, "the other command left nothing")
            kill_processes_with(f"sleep {mark}")
            self.wait_for(lambda: not processes_with(f"sleep {mark}"))

    def test_floods_take_no_memory(self):
        # 10 GB in the long form.
        size = int(os.environ.get("HEADROOM_FLOOD_BYTES", 300_000_000))
        for output in ("null", "pipe"):
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
            self.assert_exit(headroom("time", "--no-store", "--max-rounds", "1", "--output", output, "--shell",
                                      f"head -c {size} /dev/zero; head -c {size // 10} /dev/zero >&2", timeout=600), 0)
            after = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
            self.assertLess(max(after, before), 64 * 1024, "KiB of the largest child")

    def test_bad_usage(self):
        self.assert_refused(headroom("ab", "true"), "give two commands")
        self.assert_refused(headroom("ab"), "no command to measure")
        self.assert_refused(headroom("time", "sh -c true", "sh -c false"), "headroom ab compares several")
        self.assert_refused(headroom("time", ""), "no command found")
        self.assert_refused(headroom("time", "true", "--precision", "0"), "--precision 0 must be above 0")
        self.assert_refused(headroom("time", "true", "--timeout", "0"), "--timeout must be above 0")
        self.assert_refused(headroom("time", "true", "--json", "/proc/no/file.json"), "/proc/no")
        self.assertEqual(headroom("ab", "true", "false", "--no-such-option").returncode, 2)
        for name in ("ab", "time"):
            self.assert_exit(headroom(name, "--help"), 0, "examples:")


class InterruptTest(CommandLineTest):
    def test_ctrl_c_keeps_what_was_measured_and_cleans_up(self):
        path, count, cleaned = self.folder / "records.json", self.folder / "count", self.folder / "cleaned"
        process = self.start("ab", "--no-store", "--precision", "0.0001%", "--json", path, "--cleanup", f"touch {cleaned}",
                             "--shell", f"echo x >> {count}", "sleep 0.01")
        self.wait_for(lambda: count.exists() and len(count.read_text()) > 20)
        self.assert_ends(process, 130, "sleep 0.01", signal_number=signal.SIGINT, stderr="interrupted")
        latency = records_of(path)[0]
        self.assertEqual(latency["stop"], "interrupted")
        self.assertGreater(len(latency["samples"][0]["values"]), 5)
        self.assertTrue(cleaned.exists())

    def test_ctrl_c_reaches_the_command(self):
        ready, told = self.folder / "ready", self.folder / "told"
        process = self.start("time", "--no-store", "--shell",
                             f"trap 'touch {told}; exit 1' INT; touch {ready}; while :; do sleep 0.02; done")
        self.wait_for(ready.exists)
        self.assert_ends(process, 130, "skipped", signal_number=signal.SIGINT)
        self.assertTrue(told.exists())

    def test_ctrl_c_ends_a_command_that_does_not_listen(self):
        mark, ready = f"33{os.getpid()}", self.folder / "ready"
        process = self.start("time", "--no-store", "--shell",
                             f"trap '' INT TERM; touch {ready}; while :; do sleep {mark}; done")
        self.wait_for(ready.exists)
        for _ in range(3):
            process.send_signal(signal.SIGINT)
            time.sleep(0.05)
        self.assert_ends(process, 130)
        self.wait_for(lambda: not processes_with(f"sleep {mark}"))


class LeftoversTest(CommandLineTest):
    def test_commands_that_time_out_leave_nothing(self):
        """The long form makes 1,000 runs."""
        runs = int(os.environ.get("HEADROOM_TIMEOUTS", "40"))
        mark, temporary = f"34{os.getpid()}", self.folder / "tmp"
        temporary.mkdir()
        script = f"sleep {mark} & sleep {mark}"
        # A failed command is not repeated.
        commands = [f"{script} # {i}" for i in range(runs)]
        process = self.start("ab", "--no-store", "--timeout", "5ms", "--shell", *commands, stderr=None,
                             env=dict(os.environ, TMPDIR=str(temporary)))
        descriptors, children = [], []
        while process.poll() is None:
            try:
                descriptors.append(len(os.listdir(f"/proc/{process.pid}/fd")))
                children.append(len(children_of(process.pid)))
            except OSError:
                break
            time.sleep(0.002)
        self.assertEqual(self.assert_ends(process, 1, timeout=600).stdout.count("    timed out"), runs)
        self.assertLessEqual(max(children), 1, "one child at any time, no zombie beside it")
        self.assertLess(max(descriptors), 24)
        self.wait_for(lambda: not processes_with(f"sleep {mark}"))
        self.assertEqual(list(temporary.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
