# SPDX-License-Identifier: Apache-2.0
"""headroom.time and headroom.compare."""
import asyncio
import fractions
import functools
import importlib.util
import math
import os
import random
import signal
import subprocess
import sys
import threading
import time
import unittest

import headroom as hr

BRIEF = {"max_time": "100ms", "threads": 1}


def slow():
    time.sleep(0.002)


async def nap():
    await asyncio.sleep(0.01)


async def naps():
    yield await asyncio.sleep(0.01)


def numbers():
    time.sleep(0.01)
    yield 1


class Napping:
    async def __call__(self):
        await asyncio.sleep(0.01)

    def numbers(self):
        yield from numbers()


class Timing(unittest.TestCase):
    def test_a_function_and_its_interval(self):
        # Enough time for an interval on a busy machine.
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

    def test_of_bytes_and_operations_the_bound_that_binds_is_shown(self):
        data = bytearray(1 << 20)
        for bytes_, flops, metric in ((2 << 20, 1, "memory_bandwidth(GB/s)"), (1, 1e9, "GFLOP/s")):
            compared = hr.compare({"copy": lambda: bytes(data)}, bytes=bytes_, flops=flops, dtype="f32", **BRIEF)
            headline = next(record for record in compared.records["records"] if record["metric"].get("headline"))
            self.assertEqual(headline["metric"]["name"], metric)
            self.assertEqual(headline["limit"]["fraction"], compared[0].limit_share)

    def test_times_are_numbers_of_seconds_too(self):
        for given in (0.1, 1, "100ms"):
            self.assertGreater(hr.time(slow, max_time=given, precision="50%", threads=1).time_ns, 0)
        for given in (True, [1], None.__class__):
            self.assertRaisesRegex(TypeError, "number of seconds or a text", hr.time, slow, max_time=given)
        for given in (-1, float("nan"), float("inf")):
            self.assertRaisesRegex(hr.CommandFailed, "--max-time", hr.time, slow, max_time=given)
        compared = hr.compare({"a": slow, "b": slow}, max_time=fractions.Fraction(1, 10), precision="0.0001%", threads=1)
        for record in compared.records["records"]:
            self.assertEqual(record["stop"], "max-time")

    def test_a_call_ends_within_its_time(self):
        begin = time.monotonic()
        compared = hr.compare({"fine": slow, "endless": lambda: time.sleep(12)}, max_time=5, threads=1)
        # Only a running call may exceed the limit.
        self.assertLess(time.monotonic() - begin, 30)
        self.assertIn("not reached within --max-time 5", compared["endless"].failure)

    def test_a_first_look_is_quicker(self):
        def uneven():  # no number of samples is enough: both end by the clock
            time.sleep(random.choice((.001, .02)))

        def sampled_us(compared):
            return sum(value * process["iterations"] for record in compared.records["records"] if record["metric"]["name"] == "latency"
                       for process in record["samples"] for value in process["values"])

        whole = hr.compare([uneven], threads=1)
        quick = hr.compare({"a": uneven, "b": lambda: uneven()}, threads=1, quick=True)
        self.assertLess(sampled_us(quick), sampled_us(whole))
        self.assertGreater(len(quick["b"].samples_ns), 5, "enough for an interval")
        # Explicit settings override quick.
        self.assertEqual(len(hr.time(slow, threads=1, quick=True, samples=40).samples_ns), 40)
        self.assertEqual(hr.compare([uneven], threads=1, quick=True, max_time=0.1, precision=1e-6).records["records"][0]["stop"], "max-time")

    def test_a_prompt_shows_the_table_and_a_notebook_its_flags(self):
        measured = hr.time(slow, samples=2, threads=1)
        self.assertIn("flags", repr(measured))
        self.assertRegex(str(measured), r"^slow: \d")
        hidden = hr.Measurement("f\x1b[31m", 1.0, failure="no \x07bell", notes=["\x9b2J"])
        for shown in (str(hidden), repr(hidden), hidden._repr_html_(), hr.Comparison([hidden], "", {})._repr_html_()):
            self.assertNotRegex(shown, "[\x00-\x1f\x80-\x9f]")
        noted = hr.Measurement("f", 1.0, notes=["busy: <others>"])
        self.assertEqual(repr(noted), str(noted), "one that was made by hand has no table")
        self.assertIn("busy: &lt;others&gt;", noted._repr_html_())
        compared = hr.compare({"a": slow, "b": slow}, precision="0.0001%", **BRIEF)
        self.assertIn("time cap", compared[0]._repr_html_())
        self.assertEqual(compared._repr_html_().count("time cap"), 2)
        for few in (measured, hr.compare([slow], samples=2, threads=1)):
            for flag in ("stopped by the cap on time or samples", "no interval: fewer than 6 samples"):
                self.assertIn(flag, repr(few))
                self.assertIn(flag, few._repr_html_())
        asked = hr.time(slow, samples=40, threads=1, precision="50%")
        for shown in (repr(asked), asked._repr_html_()):
            self.assertEqual("no interval" in shown, asked.interval_ns is None)

    def test_a_prompt_shows_what_it_was_given(self):
        said = subprocess.run([sys.executable, "-i", "-c", "import headroom as hr"], capture_output=True, text=True, check=False, timeout=60, input=(
            "hr.time(len, 'abc', samples=2, threads=1)\n"
            "hr.compare({'a': len, 'b': hash}, 'abc', samples=2, threads=1)\n"
            "hr.time(int, 'x')\n"
            "print(hr.time(len, 'abc', samples=2, threads=1))\n")).stdout
        self.assertEqual(said.count("no interval: fewer than"), 2, said)
        self.assertRegex(said, r"(?m)^len +\d")
        self.assertIn("x the time of a", said)
        self.assertIn("invalid literal for int()", said)
        self.assertRegex(said, r"(?m)^len: \d")

    def test_what_cannot_be_measured(self):
        self.assertRaisesRegex(ValueError, "needs a function", hr.compare, {})
        self.assertRaisesRegex(ValueError, "two functions have the name slow", hr.compare, [slow, slow])
        self.assertRaisesRegex(hr.CommandFailed, "--precision", hr.time, slow, precision="often")

    def test_calls_that_run_nothing(self):
        for function, words in ((nap, "coroutine function"), (naps, "asynchronous generator function"), (numbers, "generator function"),
                                (functools.partial(nap), "coroutine function"), (Napping(), "coroutine function"),
                                (Napping().numbers, "generator function"), (3, "not a function")):
            with self.subTest(function), self.assertRaisesRegex(TypeError, words):
                hr.time(function, name="it", **BRIEF)
            with self.subTest(function), self.assertRaisesRegex(TypeError, words):
                hr.compare({"fine": slow, "it": function}, **BRIEF)
        self.assertIn("returned a coroutine", hr.time(lambda: nap(), **BRIEF).failure)
        self.assertIn("returned a generator", hr.time(lambda: numbers(), **BRIEF).failure)
        self.assertGreater(hr.time(lambda: list(numbers()), **BRIEF).time_ns, 1e7)
        self.assertGreater(hr.time(lambda: asyncio.run(nap()), **BRIEF).time_ns, 1e7)

    def test_arguments_that_are_missing_or_too_many(self):
        for function, arguments, words in ((math.sqrt, (), "missing a required argument: 'x'"), (lambda a, b: a, (1,), "'b'"),
                                           (lambda *, key: key, (), "'key'"), (slow, (1,), "too many positional arguments"),
                                           (functools.partial(math.pow, 2.0), (), "'y'")):
            with self.subTest(words), self.assertRaisesRegex(TypeError, words):
                hr.time(function, *arguments, name="it", **BRIEF)
        self.assertRaisesRegex(TypeError, "'x'", hr.time, slow, setup=math.sqrt, **BRIEF)
        for function, arguments in ((math.sqrt, (2.0,)), (functools.partial(math.sqrt, 2.0), ()), (lambda a=1, *more, **named: a, ()),
                                    (max, (1, 2)), (str, ())):
            self.assertEqual(hr.time(function, *arguments, name="it", **BRIEF).failure, "")

    def test_a_decorated_function_is_called_as_it_stands(self):
        seen = []

        def bound(function):
            return functools.wraps(function)(lambda: function(7))
        self.assertEqual(hr.time(bound(seen.append), name="it", **BRIEF).failure, "")
        self.assertEqual(set(seen), {7})

    def test_dicts_texts_and_shapes_are_held_against_the_first_ones(self):
        for first, same, other, words in (
                ({1: 2.0}, {1: 2.0 + 1e-9}, {1: 3.0}, "wrong answer at index 0 of 1"),
                ({1: 2.0}, {1: 2.0}, {2: 2.0}, "has no 1, which the reference has"),
                ({1: 2.0}, {1: 2.0}, {1: 2.0, "x": 1.0}, "has 'x', which the reference lacks"),
                ({"a": [1, {"b": "x"}]}, {"a": [1, {"b": "x"}]}, {"a": [1, {"b": "y"}]}, r"the result\['a'\]\[1\]\['b'\] is 'y', the reference 'x'"),
                ("text", "text", "texts", "the result is 'texts', the reference 'text'"),
                (["a", 1.0], ["a", 1.0 + 1e-9], ["a"], "has 1 values, the reference 2"),
                ("1", "1", 1, "the result is 1, the reference '1'"),
                (None, None, 0, "the result is 0, the reference None"),
                ({1, 2}, {2, 1}, {1, 3}, "the reference {1, 2}"),
                ([[1, 2, 3], [4, 5, 6]], [(1, 2, 3), (4, 5, 6)], [[1, 2], [3, 4], [5, 6]], r"the shape \(3, 2\), the reference \(2, 3\)"),
                ([1, 2], [1, 2], [[1, 2]], r"the shape \(1, 2\), the reference \(2,\)"),
                ([[1], [2, 3]], [[1], [2, 3]], [[1, 2], [3]], r"the shape \[\(2,\), \(1,\)\], the reference \[\(1,\), \(2,\)\]")):
            with self.subTest(words):
                compared = hr.compare({"first": lambda: first, "same": lambda: same, "other": lambda: other}, rtol=1e-6, samples=3, threads=1)
                self.assertEqual((compared["first"].failure, compared["same"].failure), ("", ""))
                self.assertRegex(compared["other"].failure, words)

    @unittest.skipIf(importlib.util.find_spec("numpy") is None, "numpy is not installed")
    def test_shapes_of_arrays(self):
        import numpy
        flat = numpy.arange(6.0)
        compared = hr.compare({"first": lambda: flat.reshape(2, 3), "list": lambda: [[0, 1, 2], [3, 4, 5]], "flat": lambda: flat,
                               "turned": lambda: flat.reshape(3, 2), "texts": lambda: numpy.array(["a"])}, rtol=1e-6, samples=3, threads=1)
        self.assertEqual((compared["first"].failure, compared["list"].failure), ("", ""))
        self.assertIn("the shape (6,), the reference (2, 3)", compared["flat"].failure)
        self.assertIn("the shape (3, 2), the reference (2, 3)", compared["turned"].failure)
        self.assertIn("wrong answer", compared["texts"].failure)

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
            self.assertRaisesRegex(ImportError, "pip install matplotlib", compared.plot)
        else:
            self.assertTrue(compared.plot().get_xlabel())


if __name__ == "__main__":
    unittest.main()
