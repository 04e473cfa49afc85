#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small run of bench/trace_truth.py."""
import json
import pathlib
import sys
import unittest

from command_line import HEADROOM, CommandLineTest, run_program

TRUTH = pathlib.Path(__file__).resolve().parents[2] / "bench" / "trace_truth.py"


class TraceTruthTest(CommandLineTest):
    def run_truth(self, program, *options):
        done = run_program(sys.executable, TRUTH, "--headroom", program, *options, "--json", "-", timeout=280)
        return done, json.loads(done.stdout)

    def test_gains_are_the_truth(self):
        done, results = self.run_truth(HEADROOM, "--programs", "33", "--healthy", "12", "--seed", "7")
        self.assert_exit(done, 0)
        self.assertEqual(len(results), 45)
        self.assertEqual(len({result["row"] for result in results}), 12)

    def test_a_program_that_finds_nothing_is_wrong(self):
        silent = self.folder / "silent"
        silent.write_text("#!/bin/sh\necho '{\"trace\": {\"tables\": {\"findings\": []}}}'\n")
        silent.chmod(0o755)
        done, results = self.run_truth(silent, "--programs", "4", "--healthy", "1", "--only", "late device")
        self.assert_exit(done, 1)
        self.assertEqual([result["right"] for result in results], [False] * 4)

    def test_a_false_alarm_is_wrong(self):
        loud = self.folder / "loud"
        loud.write_text("#!/bin/sh\necho '{\"trace\": {\"tables\": {\"findings\": [{\"kind\": \"straggler\", \"rank\": 0,"
                        " \"recoverable_ns\": 1, \"share\": 0.001}]}}}'\n")
        loud.chmod(0o755)
        done, results = self.run_truth(loud, "--programs", "0", "--healthy", "2")
        self.assert_exit(done, 1)
        self.assertEqual([result["right"] for result in results], [False] * 2)


if __name__ == "__main__":
    unittest.main()
