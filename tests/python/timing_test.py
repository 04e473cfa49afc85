# SPDX-License-Identifier: Apache-2.0
"""headroom.time and headroom.compare: functions of this process."""
import importlib.util
import os
import signal
import threading
import time
import unittest

import headroom as hr

BRIEF = {"max_time": "100ms", "threads": 1}


def slow():
    time.sleep(0.002)


class Timing(unittest.TestCase):
    def test_a_function_and_its_interval(self):
        # Few samples have no interval: time enough for many, on a busy machine, too.
        measured = hr.time(slow, **{**BRIEF, "max_time": "2s"})
        self.assertGreater(measured.time_ns, 2e6)
        self.assertLessEqual(measured.interval_ns[0], measured.time_ns)
        self.assertGreater(len(measured.samples_ns), 1)
        self.assertRegex(str(measured), r"^slow: \d")
        self.assertIn("<code>slow", measured._repr_html_())

    def test_arguments_are_passed(self):
        seen = []
        hr.time(lambda *words: seen.append(words), 1, "two", **BRIEF)
        self.assertEqual(set(seen), {(1, "two")})

    def test_functions_against_each_other(self):
        compared = hr.compare({"nap": lambda: time.sleep(.001), "sleep": lambda: time.sleep(.004)}, samples=24, threads=1)
        self.assertEqual([one.name for one in compared], ["nap", "sleep"])
        ratio, low, high = compared["sleep"].ratio
        self.assertTrue(2 < low <= ratio <= high, compared["sleep"].ratio)
        self.assertIsNone(compared[0].ratio)
        self.assertIn("x the time of nap", repr(compared))
        self.assertEqual(compared._repr_html_().count("<svg"), 2)
        self.assertEqual(len(compared.records["records"]) > 1, True)
        with self.assertRaises(KeyError):
            compared["nobody"]

    def test_failures_are_told_and_the_others_measured(self):
        compared = hr.compare({"fine": lambda: None, "broken": lambda: 1 / 0}, **BRIEF)
        self.assertIn("ZeroDivisionError: division by zero (timing_test.py:", compared["broken"].failure)
        self.assertEqual(compared["fine"].failure, "")

    def test_results_are_held_against_the_first_ones(self):
        compared = hr.compare({"a": lambda: [1.0], "b": lambda: [1.1], "c": lambda: [1.0000001]}, rtol=1e-5, **BRIEF)
        self.assertIn("wrong answer", compared["b"].failure)
        self.assertEqual(compared["c"].failure, "")

    def test_setup_is_not_timed(self):
        items = []

        def prepare():
            time.sleep(.003)
            items.append(1)
        self.assertLess(hr.time(lambda: items.pop(), setup=prepare, **BRIEF).time_ns, 1e6)

    def test_limits_where_work_is_told(self):
        data = bytearray(1 << 20)
        compared = hr.compare({"copy": lambda: bytes(data)}, bytes=2 << 20, **BRIEF)
        self.assertGreater(compared[0].limit_share, 0)

    def test_what_cannot_be_measured(self):
        with self.assertRaisesRegex(ValueError, "no functions"):
            hr.compare({})
        with self.assertRaisesRegex(ValueError, "two functions are called slow"):
            hr.compare([slow, slow])
        with self.assertRaisesRegex(hr.CommandFailed, "--precision"):
            hr.time(slow, precision="often")

    def test_many_one_after_the_other_leave_nothing(self):
        before = len(os.listdir("/proc/self/fd")), threading.active_count()
        for _ in range(3):
            hr.time(len, "abc", samples=3, threads=1)
        self.assertEqual((len(os.listdir("/proc/self/fd")), threading.active_count()), before)

    def test_ctrl_c_keeps_what_was_measured(self):
        threading.Timer(2.0, os.kill, (os.getpid(), signal.SIGINT)).start()
        measured = hr.time(slow, precision="0.0001%", max_time="60s", threads=1)
        self.assertGreater(len(measured.samples_ns), 3)

    def test_a_plot_says_what_it_needs(self):
        compared = hr.compare({"a": lambda: None}, samples=3, threads=1)
        if importlib.util.find_spec("matplotlib") is None:
            with self.assertRaisesRegex(ImportError, "pip install matplotlib"):
                compared.plot()
        else:
            self.assertTrue(compared.plot().get_xlabel())


if __name__ == "__main__":
    unittest.main()
