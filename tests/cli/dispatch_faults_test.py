# SPDX-License-Identifier: Apache-2.0
"""`headroom dispatch` with lost ranks or Ctrl-C, on scripted ranks."""
import signal
import socket
import subprocess
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

from command_line import HEADROOM, CommandLineTest, clean_environment, records_of
from scripted_dispatch import RANK, dispatch, ranks_left


class FaultTest(CommandLineTest):
    def fault(self, fault, *arguments):
        began = time.monotonic()
        result = dispatch("--timeout", "20s", *arguments, SCRIPTED_RANK=fault)
        self.assertLess(time.monotonic() - began, 40)
        self.assert_exit(result, 2)
        self.assertEqual(ranks_left(), [])
        return result

    def test_a_rank_that_dies_is_named_at_every_moment(self):
        for moment in ("start", "meet", "describe", "prepare", "sample", "sample#20", "release"):
            with self.subTest(moment=moment):
                result = self.fault(f"die:2:{moment}", "--op", "add")
                self.assertIn("rank 2 of 4 ended with exit code 7", result.stderr)
                self.assertIn(f"rank 2 dies at {moment}", result.stderr)

    def test_a_rank_that_is_killed_is_named(self):
        self.assertIn("rank 1 of 4 was killed by signal 9", self.fault("kill:1:sample", "--op", "add").stderr)

    def test_a_rank_that_says_nothing_is_named_within_the_time_out(self):
        expected = {"hang:3:sample": ("rank 3 of 4 did not report a sample of dispatch.add",
                                  "its last output: rank 3 hangs at sample"),
                "stop:0:sample": ("rank 0 is stopped by a signal",),
                "hang:2:start": ("rank 2 of 4 did not report its start within 6 s",)}
        began = time.monotonic()
        with ThreadPoolExecutor() as together:  # each takes a time-out
            results = list(together.map(lambda fault: dispatch("--op", "add", "--timeout", "6s", SCRIPTED_RANK=fault), expected))
        self.assertLess(time.monotonic() - began, 40)
        for (fault, words), result in zip(expected.items(), results):
            with self.subTest(fault=fault):
                self.assert_exit(result, 2)
                for word in words:
                    self.assertIn(word, result.stderr)
        self.assertEqual(ranks_left(), [])

    def test_a_rank_that_fails_at_its_end_is_named_after_the_report(self):
        result = self.fault("die:1:end", "--op", "add")
        self.assertIn("hit ±95 %", result.stdout)
        self.assertIn("rank 1 of 4 ended with exit code 7", result.stderr)

    def test_what_was_measured_before_a_loss_is_kept(self):
        file = self.folder / "records.json"
        self.assert_exit(dispatch("--timeout", "20s", "--json", file, SCRIPTED_RANK="die:1:sample#50"), 2, "hit ±95 %")
        self.assertEqual(records_of(file)[0]["stop"], "runner-lost")

    def test_nonsense_from_a_rank_is_refused(self):
        result = self.fault("babble:1:sample", "--op", "add")
        self.assertIn("the answer of rank 1", result.stderr)

    def test_an_answer_that_is_given_twice_or_late_is_never_anothers(self):
        expected = {"twice:1:sample#20": "it sent a message without a request|it answered request [0-9]+ instead of [0-9]+",
                "twice:2:describe": "it sent a message without a request|it answered request 2 instead of 3",
                "late:3:sample#20": "it answered request [0-9]+ instead of [0-9]+", "late:0:prepare": "it answered request 2 instead of 3",
                "nameless:2:sample": "id"}
        for fault, words in expected.items():
            with self.subTest(fault=fault):
                result = self.fault(fault, "--op", "add")
                self.assertRegex(result.stderr, f"rank {fault.split(':')[1]} of 4 broke the protocol: .*({words})")

    def test_ranks_of_before_there_were_ids_are_measured(self):
        self.assert_exit(dispatch("--op", "add", SCRIPTED_RANK="old::"), 0)

    def test_an_operator_that_ranks_refuse_is_a_failure_of_that_one(self):
        self.assert_exit(dispatch("--op", "add", SCRIPTED_RANK="refuse:0:prepare"), 1,
                         "FAILED: add: there is no such thing")

    def test_a_port_in_use_is_not_needed(self):
        with socket.socket() as taken:
            taken.bind(("0.0.0.0", 0))
            taken.listen()
            self.assert_exit(dispatch("--op", "add", "--port", str(taken.getsockname()[1])), 0)


class InterruptTest(CommandLineTest):
    def test_ctrl_c_keeps_what_was_measured(self):
        file, begun = self.folder / "records.json", self.folder / "begun"
        program = subprocess.Popen([HEADROOM, "dispatch", "--runner", str(RANK), "--no-store", "--op", "add", "--max-time",
                                    "100s", "--cycles", "100000", "--json", str(file)], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=clean_environment(SCRIPTED_BEGUN=str(begun)))
        self.addCleanup(program.kill)
        while not begun.exists():  # some cycles have run
            self.assertIsNone(program.poll(), "ended too early")
            time.sleep(0.02)
        program.send_signal(signal.SIGINT)
        stdout, stderr = program.communicate(timeout=20)
        self.assertEqual(program.returncode, 130, stderr)
        self.assertIn("hit ±95 %", stdout)
        self.assertIn("interrupted", stderr)
        self.assertTrue(records_of(file))
        self.assertEqual(ranks_left(), [])

    def test_ctrl_c_before_the_first_sample_promises_no_results(self):
        file = self.folder / "records.json"
        program = subprocess.Popen([HEADROOM, "dispatch", "--runner", str(RANK), "--no-store", "--op", "add", "--json", str(file)],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=clean_environment(SCRIPTED_RANK="hang:2:start"))
        self.addCleanup(program.kill)
        while not ranks_left():
            self.assertIsNone(program.poll(), "ended too early")
            time.sleep(0.02)
        program.send_signal(signal.SIGINT)
        stdout, stderr = program.communicate(timeout=20)
        self.assertEqual((program.returncode, stdout), (130, ""), stderr)
        self.assertIn("interrupted before anything was measured", stderr)
        self.assertFalse(file.exists())

    def test_no_rank_outlives_a_command_line_that_is_killed(self):
        program = subprocess.Popen([HEADROOM, "dispatch", "--runner", str(RANK), "--no-store", "--op", "add", "--max-time",
                                    "100s", "--cycles", "100000"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   env=clean_environment())
        self.addCleanup(program.kill)
        for _ in range(200):
            if len(ranks_left()) == 4:
                break
            time.sleep(0.05)
        self.assertEqual(len(ranks_left()), 4)
        program.kill()
        program.wait(timeout=20)
        for _ in range(100):
            if not ranks_left():
                break
            time.sleep(0.05)
        self.assertEqual(ranks_left(), [])


if __name__ == "__main__":
    unittest.main()
