# SPDX-License-Identifier: Apache-2.0
"""Experiments in Python, also misbehaving ones."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

from scratch import BRIEF, HEADROOM, ScratchTest

HEAD = "import headroom as hr\n"


class Experiments(ScratchTest):
    def reason(self, body, **options):
        """Returns why an experiment with this body failed or was skipped."""
        lines = "".join(f"    {line}\n" for line in body.splitlines())
        self.write("bench.py", f"{HEAD}@hr.experiment\ndef case(state):\n{lines}@hr.experiment\ndef fine(state):\n"
                               "    state.measure(lambda: None)\nhr.main()\n")
        code, records, said = self.measure("bench.py", **options)
        self.assertNotIn("Traceback", said)
        fine = [record for record in records if record["model"]["name"] == "fine" and record["metric"]["name"] == "latency"]
        self.assertEqual(fine[0]["outcome"]["kind"], "measured", "the others go on")
        outcome = next(record["outcome"] for record in records if record["model"]["name"] == "case")
        self.assertEqual(code, 1 if outcome["kind"] == "failed" else 0)
        return outcome["reason"]

    def test_axes_backends_work_rates_and_columns(self):
        self.write("bench.py", """
            import headroom as hr
            @hr.experiment(axes={"n": [10, 20], "dtype": ["f32", "int8"]}, backends=["a", "b"], metric="tokens")
            def case(state):
                n = state["n"]
                assert isinstance(n, int) and state.axes["dtype"] in ("f32", "int8") and state.backend in ("a", "b")
                state.work(bytes=8 * n, flops=n, bytes_written=4 * n, dtype=state["dtype"])
                state.input("x", "f32[10]")
                state.note("colour", "blue")
                state.rate("tokens", 2, "tokens/s")
                state.value("depth", 3, "1", higher_is_better=False)
                column = state.column("phase", "ns")
                state.verify(lambda: [1.0, 2.0], reference=lambda: [1.0, 2.0 + 1e-9])
                state.measure(lambda: column.add(5))
            """)
        code, records, said = self.measure("bench.py", "-a", "n=7", "-a", "dtype=f32")
        self.assertEqual((code, {record["axes"]["n"] for record in records}), (0, {7}), said)
        self.assertEqual({record["model"]["backend"] for record in records}, {"a", "b"})
        latency, tokens = self.one(records, "a", "latency"), self.one(records, "a", "tokens")
        self.assertTrue(latency["verified"])
        self.assertEqual(latency["model"]["extra_info"]["colour"], "blue")
        self.assertIn("interpreter lock", latency["model"]["extra_info"]["python"])
        self.assertEqual(tokens["metric"]["unit"], "tokens/s")
        self.assertEqual(self.one(records, "a", "phase")["metric"]["value"], 5)
        self.assertEqual(self.one(records, "b", "depth")["metric"]["direction"], "lower")
        self.assertGreater(self.one(records, "b", "memory_bandwidth(GB/s)")["metric"]["value"], 0)
        self.assertGreater(self.one(records, "b", "latency")["ratio"]["ratio"], 0)
        _, said = self.measured("bench.py", "-a", "dtype=f64", code=2)
        self.assertIn("one of f32, int8", said)

    def test_what_python_adds_is_measured_and_taken_off_when_asked(self):
        self.write("bench.py", HEAD + "@hr.experiment\ndef case(state):\n    state.measure(lambda: str(12))\n")
        _, records, said = self.measure("bench.py")
        overhead = self.one(records, metric="python")
        self.assertEqual(overhead["metric"]["unit"], "ns")
        self.assertGreater(overhead["metric"]["value"], 0)
        self.assertIn("calling it from Python costs", said)
        _, records, said = self.measure("bench.py", "--subtract-overhead")
        self.assertIn("already subtracted", said)
        # Holds on any machine.
        latency, overhead = self.one(records, metric="latency"), self.one(records, metric="python")
        self.assertLess(latency["metric"]["value"] * 1e3, 20 * overhead["metric"]["value"])

    def test_setup_runs_before_each_call_and_is_not_timed(self):
        self.write("bench.py", HEAD + """
import time
@hr.experiment
def case(state):
    ready = []
    def body():
        assert ready.pop() == 1 and not ready
    def setup():
        time.sleep(.002)
        ready.append(1)
    state.measure(body, setup=setup)
""")
        records, said = self.measured("bench.py")
        self.assertLess(self.one(records, metric="latency")["metric"]["value"], 1000)

    def test_inputs_rotate(self):
        self.write("bench.py", HEAD + """
@hr.experiment
def case(state):
    copies = state.rotate(1 << 22)
    assert copies >= 2 and state.cold
    seen = set()
    state.measure(lambda copy: seen.add(copy))
    if state.is_concluding and seen != set(range(copies)): state.wrong_answer("not all copies")
""")
        code, records, said = self.measure("bench.py", "--num-samples", "40")
        self.assertEqual((code, self.one(records)["caches"]), (0, "cold"), said)

    def test_captured_calls_go_on_through_the_copies(self):
        self.write("bench.py", f"""
            import json, sys, types
            sys.path.append({str(pathlib.Path(__file__).parent)!r})
            import fake_cuda
            import headroom as hr
            gpu = fake_cuda.FakeCuda()
            sys.modules["torch"] = types.SimpleNamespace(cuda=gpu, get_num_threads=lambda: 1, __version__="0")
            @hr.experiment(device="cuda")
            def case(state):
                state.last_level_cache(1000)
                assert state.rotate(300) == 7
                state.measure(gpu.launch, captured=True)
                if state.is_concluding:
                    json.dump([gpu.launched, gpu.timed], open("launched.json", "w"))
            @hr.experiment(device="cuda")
            def large(state):
                state.require_memory(1 << 33)
                state.measure(lambda: gpu.launch(0), captured=True)
            gpu.mem_get_info = lambda: (1 << 32, 1 << 34)
            @hr.experiment
            def elsewhere(state):
                state.measure(print, captured=True)
            """)
        _, records, said = self.measure("bench.py", "--min-time", "1ms")
        latency = self.one(records, metric="latency")
        self.assertEqual(latency["outcome"]["kind"], "measured", said)
        self.assertEqual(latency["model"]["extra_info"]["launches"], "captured into graphs")
        self.assertEqual((round(latency["metric"]["value"], 6), latency["metric"]["unit"]), (1, "us"))
        launched, timed = json.loads((self.folder / "launched.json").read_text())
        self.assertGreater(max(last - first for first, last in timed), 300)
        for first, last in timed:
            self.assertEqual(launched[first:last], [place % 7 for place in range(last - first)])
            # The previous turn was complete.
            self.assertEqual(launched[first - 1] if first else 6, 6)
        reasons = {record["model"]["name"]: record["outcome"]["reason"] for record in records}
        self.assertIn("needs 8.0 GiB of device memory, 4.0 GiB available", reasons["large"])
        self.assertIn("need the device cuda", reasons["elsewhere"])

    def test_native_and_python_experiments_of_one_name_are_compared_on_equal_inputs(self):
        self.write("bench.py", HEAD + """
import array
@hr.experiment(axes={"D": [64], "dtype": ["int8", "bf16"]}, backends=["mine"])
def gemv(state):
    if state["dtype"] == "bf16": state.skip("no bf16 here")
    ones, same = hr.random(1000, "int8", seed=3), hr.random((10, 100), "int8", seed=3, like="array")
    assert ones == same and min(ones) < -100 and max(ones) > 100 and hr.random(5, "f64", 1) != hr.random(5, "f64", 2)
    state.measure(lambda: sum(ones))
""")
        records, said = self.measured("bench.py", "--backend", "native,mine", "-a", "D=64")
        ratio = self.one([record for record in records if record["axes"]["dtype"] == "int8"], "mine", "latency")["ratio"]
        self.assertIn("native", ratio["to"])
        self.assertEqual(self.one(records, "mine", None)["model"]["name"], "gemv")
        self.assertEqual({record["model"]["name"] for record in records}, {"gemv"}, "what only native has stays out")

    def test_threads_are_swept_in_the_same_rounds(self):
        self.write("bench.py", HEAD + "@hr.experiment(threads=[1, 2])\ndef case(state):\n    state.measure(lambda: state.threads)\n")
        arguments = [word for word in BRIEF if word not in ("--threads", "1", "--processes")]
        self.assert_exit(self.call(HEADROOM, "run", "bench.py", *arguments), 0, "1 threads", "2 threads")

    def test_started_by_python_itself(self):
        self.write("bench.py", HEAD + "@hr.experiment\ndef case(state):\n    state.measure(lambda: None)\nhr.main()\n")
        self.assert_exit(self.call(sys.executable, "bench.py", *BRIEF), 0, "case")
        self.assertIn("case", self.call(sys.executable, "-m", "bench", "--list").stdout)

    def test_a_module(self):
        self.write("mine.py", HEAD + "@hr.experiment\ndef case(state):\n    state.measure(lambda: None)\n")
        code, records, said = self.measure("--python", "mine")
        self.assertEqual((code, self.one(records)["runner"]), (0, "mine"), said)
        _, said = self.measured("--python", "nobody", code=2)
        self.assertIn("No module named 'nobody'", said)

    def test_shared_objects_live_while_a_case_does(self):
        self.write("bench.py", HEAD + """
made = []
@hr.experiment(axes={"n": [1, 2]}, backends=["a", "b"])
def case(state):
    weights = state.shared("weights", lambda: made.append(1) or [len(made)])
    state.note("weights", weights[0])
    state.measure(lambda: None)
""")
        _, records, _ = self.measure("bench.py")
        self.assertEqual([record["model"]["extra_info"]["weights"] for record in records if record["metric"]["name"] == "latency"],
                         ["1", "1", "2", "2"])

    def test_failures_say_the_line(self):
        self.assertEqual(self.reason("raise ValueError('no good')"), "ValueError: no good (bench.py:4)")
        self.assertEqual(self.reason("state.measure(lambda: 1 / 0)"), "ZeroDivisionError: division by zero (bench.py:4)")
        self.assertEqual(self.reason("import sys\nsys.exit('enough')"), "called sys.exit('enough') (bench.py:5)")
        self.assertEqual(self.reason("state['m']"), "KeyError: \"case has no axis 'm' (it has none)\" (bench.py:4)")
        self.assertEqual(self.reason("pass"), "the experiment never called measure()")
        self.assertEqual(self.reason("state.skip('not today')"), "not today")
        self.assertEqual(self.reason("try:\n    state.skip('not today')\nexcept Exception:\n    pass"), "not today")
        self.assertIn("expected numbers to compare", self.reason("state.verify(object(), [1.0])"))
        self.assertIn("wrong answer at index 1 of 2: 3", self.reason("state.verify(lambda: [1, 3], [1.0, 2.0], rtol=1e-3)"))
        self.assertIn("the result has 1 values, the reference 2", self.reason("state.verify([1.0], [1.0, 2.0])"))
        self.assertIn("work of -1", self.reason("state.work(bytes=-1)\nstate.measure(print)"))

    def test_bodies_that_run_nothing_or_lack_an_argument(self):
        self.assertIn("a generator function", self.reason("def body():\n    yield 1\nstate.measure(body)"))
        self.assertIn("a coroutine function", self.reason("async def body():\n    pass\nstate.measure(body)"))
        self.assertIn("returned a coroutine", self.reason("async def body():\n    pass\nstate.measure(lambda: body())"))
        self.assertIn("call state.rotate(bytes)", self.reason("import math\nstate.measure(math.sqrt)"))
        self.assertIn("call state.rotate(bytes)", self.reason("state.measure(lambda copy: copy)"))
        self.assertEqual(self.reason("state.rotate(64)\nstate.measure(lambda copy: copy)"), "")

    def test_dicts_texts_and_shapes_in_verify(self):
        self.assertEqual(self.reason("state.verify({1: [1.0, 2.0], 'x': 'y'}, {'x': 'y', 1: (1.0, 2.0)})\nstate.measure(print, lambda: 1)"), "")
        self.assertIn("the result[1] is 'b', the reference 'a'", self.reason("state.verify({1: 'b'}, {1: 'a'})"))
        self.assertIn("the shape (1, 2), the reference (2, 1)", self.reason("state.verify([[1, 2]], [[1], [2]])"))
        self.assertIn("expected numbers to compare", self.reason("state.verify([object()], [1.0])"))

    def test_a_result_is_compared_again_after_the_samples(self):
        stops = "calls = []\ndef run():\n    calls.append(1)\n    return [1.0 if len(calls) == 1 else 2.0]\n"
        self.assertIn("after its samples: wrong answer at index 0 of 1: 2", self.reason(stops + "state.verify(run, [1.0])\nstate.measure(run)"))
        noisy = "import random\ndef run():\n    return [1.0 + 1e-7 * random.random()]\n"
        self.assertEqual(self.reason(noisy + "state.verify(run, lambda: [1.0])\nstate.measure(run)"), "")
        raises = "calls = []\ndef run():\n    calls.append(1)\n    return [1.0 / (2 - len(calls))]\n"
        self.assertIn("ZeroDivisionError", self.reason(raises + "state.verify(run, [1.0])\nstate.measure(lambda: None)"))
        self.assertEqual(self.reason("state.verify([1.0], [1.0])\nstate.measure(print, lambda: 1)"), "")

    def test_an_output_is_poisoned_before_it_is_compared(self):
        output = "import array\ny, calls = array.array('d', [0.0, 0.0]), []\ndef run():\n    calls.append(1)\n    if LAST:\n        y[:] = array.array('d', [1.0, 2.0])\n    return y\n"
        verify = "state.verify(run, [1.0, 2.0], output=y)\nstate.measure(run)"
        self.assertEqual(self.reason(output.replace("LAST", "True") + verify), "")
        self.assertIn("after its samples: wrong answer at index 0 of 2: nan", self.reason(output.replace("LAST", "len(calls) == 1") + verify))
        self.assertIn("wrong answer at index 0 of 2: nan", self.reason(output.replace("LAST", "False") + verify))
        self.assertIn("expected an array that is written to, not str", self.reason("state.verify(lambda: [1.0], [1.0], output='y')"))

    def test_axes_keep_their_types(self):
        self.write("bench.py", """
            import headroom as hr
            @hr.experiment(axes={"flag": [True, False], "n": [0, 64], "share": [0.5, 1.0], "text": ["0", "x"], "D": [2, 4]})
            def case(state):
                state.note("seen", repr(list(state.axes.values())))
                state.note("taken", "yes" if state["flag"] else "no")
                state.measure(lambda: None)
            """)
        arguments = ("bench.py", "-a", "text=0", "-a", "D=2", "-a", "n=0", "--num-samples", "3")
        records, said = self.measured(*arguments)
        told = [(record["model"]["extra_info"]["seen"], record["model"]["extra_info"]["taken"], repr(list(record["axes"].values())))
                for record in records if record["metric"]["name"] == "latency"]
        self.assertEqual(told, [("[True, 0, 0.5, '0', 2]", "yes", "[True, 0, 0.5, '0', 2]"),
                                ("[True, 0, 1.0, '0', 2]", "yes", "[True, 0, 1.0, '0', 2]"),
                                ("[False, 0, 0.5, '0', 2]", "no", "[False, 0, 0.5, '0', 2]"),
                                ("[False, 0, 1.0, '0', 2]", "no", "[False, 0, 1.0, '0', 2]")])
        # Others that are asked for, of their kinds and however written.
        records, said = self.measured("bench.py", "-a", "flag=False", "-a", "n=-7", "-a", "share=2.0,1e-3", "-a", "text=x", "-a", "D=0016")
        told = [(record["model"]["extra_info"]["seen"], record["axes"]["n"], record["axes"]["share"], record["axes"]["D"])
                for record in records if record["metric"]["name"] == "latency"]
        self.assertEqual(told, [("[False, -7, 2.0, 'x', 16]", -7, 2, 16), ("[False, -7, 0.001, 'x', 16]", -7, 0.001, 16)])
        for asked, words in (("flag=yes", "one of True, False"), ("n=0.5", "an integer"), ("share=much", "a number"),
                             ("share=nan", "a number"), ("D=0", "a positive integer"), (f"n={2**70}", "an integer")):
            _, said = self.measured("bench.py", "-a", asked, code=2)
            self.assertIn(words, said)

    def test_axis_values_that_no_record_can_hold(self):
        for values, words in (("[2**70, 3]", "64-bit integers"), ("[-2**63 - 1]", "64-bit integers"), ("[float('nan')]", "finite"),
                              ("['\\ud800']", "valid Unicode"), ("[None]", "expected numbers or texts"), ("[1, '1']", "1 and '1', which -a n=1 cannot distinguish"),
                              ("[True, 'True']", "which -a n=True cannot distinguish"),
                              ("[1, True, 1.0]", "1 and 1.0, which -a n=1 cannot distinguish")):
            self.write("bench.py", f"{HEAD}@hr.experiment(axes={{'n': {values}}})\ndef case(state):\n    state.measure(lambda: None)\n")
            records, said = self.measured("bench.py", code=1)
            self.assertIn(words, records[0]["outcome"]["reason"])
        self.write("bench.py", f"{HEAD}@hr.experiment(axes={{'n': [-2**63, 2**63 - 1]}})\ndef case(state):\n    state.measure(lambda: None)\n")
        code, records, said = self.measure("bench.py")
        self.assertEqual((code, {record["axes"]["n"] for record in records}), (0, {-2**63, 2**63 - 1}), said)

    def test_what_dies_is_a_row(self):
        self.assertIn("Segmentation fault", self.reason("import ctypes\nstate.measure(lambda: ctypes.string_at(0))"))
        self.assertIn("exit code 7", self.reason("import os\nstate.measure(lambda: os._exit(7))"))

    def test_what_hangs_is_a_row(self):
        self.write("bench.py", HEAD + "import time\n@hr.experiment\ndef case(state):\n    state.measure(lambda: time.sleep(100))\n")
        records, _ = self.measured("bench.py", "--timeout", "2s", code=1)
        self.assertIn("did not answer within 2 s", records[0]["outcome"]["reason"])

    def test_forks_threads_and_output_do_not_disturb(self):
        self.assertEqual(self.reason("import os\ndef body():\n    if os.fork() > 0:\n        os.wait()\nstate.measure(body)"), "")
        self.assertEqual(self.reason("import threading, time\nthreading.Thread(target=time.sleep, args=(100,)).start()\n"
                                     "state.measure(lambda: None)"), "")
        self.assertEqual(self.reason("state.measure(lambda: print('x' * 10000, flush=True))"), "")

    def test_what_cannot_be_declared_is_a_row(self):
        self.write("bench.py", """
            import headroom as hr
            @hr.experiment
            def case(state): state.measure(lambda: None)
            @hr.experiment(name="case")
            def other(state): state.measure(lambda: None)
            @hr.experiment(axes={"n": "abc"})
            def odd(state): pass
            @hr.experiment(axes={"n": []})
            def empty(state): pass
            @hr.experiment(axes={"n": [object()]})
            def strange(state): pass
            @hr.experiment(backends=[])
            def nobody(state): pass
            """)
        code, records, _ = self.measure("bench.py")
        told = {record["model"]["name"]: record["outcome"]["reason"] for record in records}
        self.assertEqual(code, 1)
        self.assertEqual(told["case"], "")
        self.assertEqual(told["case#2"], "two experiments have the name case (bench.py:3 and bench.py:5): rename one with name=")
        self.assertIn("expected a list of values (bench.py:7)", told["odd"])
        self.assertIn("has no values", told["empty"])
        self.assertIn("expected numbers or texts", told["strange"])
        self.assertIn("backends is empty", told["nobody"])

    def test_files_that_are_no_experiments(self):
        for text, words in (("def f(:\n", "SyntaxError"), ("import nobody\n", "No module named 'nobody' (bench.py:1)"),
                            ("x = 1\n", "declares no experiment"), ("import sys\nsys.exit(3)\n", "called sys.exit(3)")):
            self.write("bench.py", text)
            _, said = self.measured("bench.py", code=2)
            self.assertIn(words, said)
        _, said = self.measured("absent.py", code=2)
        self.assertIn("'absent.py' is not a file", said)

    def test_a_python_that_is_not_there(self):
        self.write("bench.py", HEAD)
        _, said = self.measured("bench.py", environment={"HEADROOM_PYTHON": "/nowhere/python"}, code=2)
        self.assertIn("HEADROOM_PYTHON=/nowhere/python is not a program", said)

    def test_the_garbage_collector_is_off_in_samples(self):
        self.assertEqual(self.reason("import gc\ndef body():\n    if gc.isenabled(): raise ValueError('on')\nstate.measure(body)\n"
                                     "assert gc.isenabled()"), "")

    def test_ctrl_c_keeps_what_was_measured(self):
        self.write("bench.py", HEAD + "import time\n@hr.experiment(axes={'n': [1, 2, 3, 4]})\ndef case(state):\n"
                                      "    state.measure(lambda: time.sleep(.01))\n")
        process = subprocess.Popen([HEADROOM, "run", "bench.py", "--max-time", "60s", "--precision", "0.0001%", "--no-store",
                                    "--no-limits", "--json", "out.json"],
                                   cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env={**os.environ, "HEADROOM_PYTHON": sys.executable})
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        output, said = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, said)
        self.assertIn("10.", output)


if __name__ == "__main__":
    unittest.main()
