# SPDX-License-Identifier: Apache-2.0
"""Functions run with the settings of the caller's thread, which are restored afterwards."""
import asyncio
import contextvars
import decimal
import gc
import importlib.util
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import unittest

import headroom as hr
from scratch import ScratchTest

BRIEF = {"samples": 3, "threads": 1}
variable = contextvars.ContextVar("variable", default="none")
needs_torch = unittest.skipIf(importlib.util.find_spec("torch") is None, "torch is not installed")
needs_numpy = unittest.skipIf(importlib.util.find_spec("numpy") is None, "numpy is not installed")


def seen(look, **options):
    """Returns the values of `look` in the measured calls."""
    found = []
    measured = hr.time(lambda: found.append(look()), **{**BRIEF, **options})
    return set(found) if not measured.failure else measured.failure


class CallersThread(unittest.TestCase):
    def test_thread_and_context_variables(self):
        token = variable.set("mine")
        self.addCleanup(variable.reset, token)
        self.assertEqual(seen(lambda: (threading.get_ident(), variable.get())), {(threading.get_ident(), "mine")})

    def test_a_thread_that_is_not_the_main_one(self):
        found = []
        thread = threading.Thread(target=lambda: found.append(seen(threading.get_ident)))
        thread.start()
        thread.join()
        self.assertEqual(found, [{thread.ident}])

    def test_the_context_of_decimal(self):
        with decimal.localcontext() as context:
            context.prec = 3
            self.assertEqual(seen(lambda: str(decimal.Decimal(1) / 3)), {"0.333"})
        self.assertEqual(seen(lambda: len(str(decimal.Decimal(1) / 3))), {30})

    def test_a_connection_that_belongs_to_its_thread(self):
        connection = sqlite3.connect(":memory:")
        self.addCleanup(connection.close)
        self.assertEqual(hr.time(connection.execute, "select 1", **BRIEF).failure, "")

    def test_compare_setup_and_verify_run_there_too(self):
        threads = set()

        def look():
            threads.add(threading.get_ident())
            return [1.0]
        compared = hr.compare({"a": look, "b": look}, setup=look, rtol=1e-6, **BRIEF)
        self.assertEqual(([one.failure for one in compared], threads), (["", ""], {threading.get_ident()}))

    def test_a_running_event_loop(self):
        async def run():
            loop = asyncio.get_running_loop()
            return seen(lambda: asyncio.get_running_loop() is loop)
        self.assertEqual(asyncio.run(run()), {True})
        self.assertIn("no running event loop", seen(asyncio.get_running_loop))

    def test_handlers_of_signals_can_be_set(self):
        def swap():
            signal.signal(signal.SIGUSR1, signal.signal(signal.SIGUSR1, signal.SIG_IGN))
        self.assertEqual(hr.time(swap, **BRIEF).failure, "")

    @needs_numpy
    def test_errstate_of_numpy(self):
        import numpy
        one, zero = numpy.ones(1), numpy.zeros(1)
        with numpy.errstate(divide="raise"):
            self.assertIn("FloatingPointError", seen(lambda: (one / zero).size))
        with numpy.errstate(divide="ignore"):
            self.assertEqual(seen(lambda: (one / zero).size), {1})

    @needs_torch
    def test_modes_of_torch(self):
        import torch
        x = torch.ones(2, 2, requires_grad=True)
        self.assertEqual(seen(lambda: (x @ x).requires_grad), {True})
        with torch.no_grad():
            self.assertEqual(seen(lambda: (x @ x).requires_grad), {False})
        with torch.inference_mode():
            self.assertEqual(seen(lambda: (x @ x).is_inference()), {True})
        with torch.autocast("cpu", dtype=torch.bfloat16):
            self.assertEqual(seen(lambda: (x @ x).dtype), {torch.bfloat16})


class PutBack(unittest.TestCase):
    def state(self):
        return os.sched_getaffinity(0), gc.isenabled(), signal.getsignal(signal.SIGINT), threading.active_count()

    def test_after_a_measurement_and_after_a_failure(self):
        before = self.state()
        self.assertEqual(hr.time(len, "abc", **BRIEF).failure, "")
        self.assertEqual(self.state(), before)
        self.assertIn("ZeroDivisionError", hr.time(lambda: 1 / 0, **BRIEF).failure)
        self.assertEqual(self.state(), before)
        self.assertRaises(hr.CommandFailed, hr.time, len, "abc", precision="often")
        self.assertEqual(self.state(), before)

    def test_the_collector_stays_off_where_it_was(self):
        gc.disable()
        self.addCleanup(gc.enable)
        hr.time(len, "abc", **BRIEF)
        self.assertFalse(gc.isenabled())

    @needs_torch
    def test_threads_of_torch(self):
        import torch
        self.addCleanup(torch.set_num_threads, torch.get_num_threads())
        torch.set_num_threads(2)
        self.assertEqual(seen(torch.get_num_threads, threads=1), {1})
        self.assertEqual(torch.get_num_threads(), 2)
        self.assertIn("ZeroDivisionError", hr.time(lambda: 1 / 0, **BRIEF).failure)
        self.assertEqual(torch.get_num_threads(), 2)
        for count in (1, 3):
            torch.set_num_threads(count)
            compared = hr.compare({"a": torch.get_num_threads}, samples=3)
            self.assertEqual({record["threads"] for record in compared.records["records"]}, {count})
            self.assertEqual((seen(torch.get_num_threads, threads=None), torch.get_num_threads()), ({count}, count))


class Interrupted(unittest.TestCase):
    def signal_in(self, seconds, number=signal.SIGINT):
        timer = threading.Timer(seconds, os.kill, (os.getpid(), number))
        timer.start()
        self.addCleanup(timer.join)

    def test_ctrl_c_in_a_call_that_would_go_on(self):
        self.signal_in(2)
        begin = time.monotonic()
        measured = hr.compare({"a": lambda: time.sleep(60), "b": lambda: None}, max_time="60s", threads=1)
        self.assertLess(time.monotonic() - begin, 20)
        self.assertIn("interrupted", measured["a"].failure)
        self.assertEqual(signal.getsignal(signal.SIGINT), signal.default_int_handler)

    def test_ctrl_c_while_the_limits_are_measured(self):
        self.signal_in(2)
        measured = hr.time(lambda: time.sleep(.001), bytes=1 << 26, precision="0.0001%", max_time="60s", threads=1)
        self.assertGreater(len(measured.samples_ns), 1)

    def test_another_signals_handler_raises_to_the_caller(self):
        class Alarm(Exception):
            pass

        def handler(*_):
            raise Alarm
        self.addCleanup(signal.signal, signal.SIGUSR1, signal.signal(signal.SIGUSR1, handler))
        threads = threading.active_count()
        # The signal arrives in a call, which fails, or between two.
        self.signal_in(1.5, signal.SIGUSR1)
        try:
            self.assertIn("Alarm", hr.time(len, "abc", bytes=1 << 28, precision="0.0001%", max_time="60s").failure)
        except Alarm:
            pass
        for thread in threading.enumerate():
            if isinstance(thread, threading.Timer):
                thread.join()
        self.assertEqual(threading.active_count(), threads)

    def test_a_program_that_dies_or_says_nothing(self):
        before, children = os.environ.get("HEADROOM"), set()

        def children_of_this():
            listed = subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(os.getpid())], capture_output=True, text=True, check=False)
            return [int(line.split()[0]) for line in listed.stdout.splitlines() if line.split()[1] == "headroom"]

        def kill_it():
            children.update(children_of_this())
            for child in children:
                os.kill(child, signal.SIGKILL)
        timer = threading.Timer(1.5, kill_it)
        timer.start()
        with self.assertRaisesRegex(hr.CommandFailed, "killed by signal 9"):
            hr.time(lambda: time.sleep(.001), precision="0.0001%", max_time="60s", threads=1)
        timer.join()
        self.assertEqual(len(children), 1)
        self.addCleanup(os.environ.__setitem__, "HEADROOM", before)
        for program, problem in (("/bin/false", hr.CommandFailed), ("/bin/true", hr.CommandFailed), ("/nowhere", FileNotFoundError)):
            os.environ["HEADROOM"] = program
            self.assertRaises(problem, hr.time, len, "abc")


class ThreadsOfExperiments(ScratchTest):
    """Cases interleave inside their functions and so have separate threads."""

    def test_what_the_script_has_set_is_carried(self):
        self.write("bench.py", """
            import contextvars, decimal, sqlite3
            import headroom as hr
            variable = contextvars.ContextVar("variable", default="none")
            variable.set("script")
            decimal.getcontext().prec = 3
            connection = sqlite3.connect(":memory:")
            @hr.experiment(backends=["a", "b"])
            def case(state):
                state.note("seen", [variable.get(), str(decimal.Decimal(1) / 3)])
                variable.set(state.backend)
                def body():
                    assert variable.get() == state.backend
                state.measure(body)
            @hr.experiment
            def bound(state):
                state.measure(lambda: connection.execute("select 1"))
            """)
        _, records, said = self.measure("bench.py", "--backend", "all")
        for backend in ("a", "b"):
            record = self.one(records, backend, "latency")
            self.assertEqual(record["outcome"]["kind"], "measured", said)
            self.assertEqual(record["model"]["extra_info"]["seen"], "['script', '0.333']")
        self.assertIn("can only be used in that same thread", self.one(records)["outcome"]["reason"])

    @needs_torch
    def test_modes_and_threads_of_torch(self):
        self.write("bench.py", """
            import torch
            import headroom as hr
            torch.set_grad_enabled(False)
            torch.set_num_threads(3)
            mode = torch.autocast("cpu", dtype=torch.bfloat16)
            mode.__enter__()
            x = torch.ones(2, 2, requires_grad=True)
            @hr.experiment
            def case(state):
                y = x @ x
                state.note("seen", [y.requires_grad, y.dtype, torch.get_num_threads(), state.threads])
                state.measure(lambda: None)
            @hr.experiment(threads=[2])
            def declared(state):
                state.note("seen", state.threads)
                state.measure(lambda: None)
            """)
        self.assert_exit(self.call(os.environ["HEADROOM"], "run", "bench.py", "--num-samples", "3", "--no-store", "--no-limits",
                                   "--processes", "1", "--json", "out.json"), 0)
        records = json.loads((self.folder / "out.json").read_text())["records"]
        seen_of = {record["model"]["name"]: (record["threads"], record["model"]["extra_info"]["seen"])
                   for record in records if record["metric"]["name"] == "latency"}
        self.assertEqual(seen_of, {"case": (3, "[False, torch.bfloat16, 3, 3]"), "declared": (2, "2")})


class TestsOfPytest(ScratchTest):
    @unittest.skipIf(importlib.util.find_spec("pytest") is None, "pytest is not installed")
    def test_the_thread_of_the_test(self):
        self.write("test_it.py", """
            import sqlite3, threading
            def test_connection(headroom):
                connection = sqlite3.connect(":memory:")
                headroom(connection.execute, "select 1")
            def test_thread(headroom):
                found = set()
                headroom(lambda: found.add(threading.get_ident()))
                assert found == {threading.get_ident()}
            """)
        self.assert_exit(self.call(sys.executable, "-m", "pytest", "-q", "-p", "headroom.pytest_plugin", "--headroom",
                                   "--headroom-no-store", "--headroom-max-time", "100ms", "test_it.py"), 0)


if __name__ == "__main__":
    unittest.main()
