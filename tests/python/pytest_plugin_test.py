# SPDX-License-Identifier: Apache-2.0
"""`pytest --headroom`; exit code 77 where there is no pytest."""
import importlib.util
import json
import sys
import unittest

from scratch import HEADROOM, ScratchTest

HABITS = """
    import time, pytest

    def work(duration=0.0001):
        time.sleep(duration)
        return 123

    def test_plain(benchmark):
        assert benchmark(work) == 123

    def test_arguments(benchmark):
        assert benchmark(work, duration=0.0002) == 123

    def test_decorated(benchmark):
        @benchmark
        def result():
            return work()
        assert result == 123

    def test_pedantic(benchmark):
        assert benchmark.pedantic(work, kwargs={"duration": 0.0001}, iterations=1, rounds=3) == 123
        benchmark.extra_info["colour"] = "blue"

    def test_pedantic_setup(benchmark):
        seen = []
        def setup():
            return ([1, 2],), {"more": 3}
        def target(numbers, more):
            seen.append(len(numbers))
            numbers.append(more)
        benchmark.pedantic(target, setup=setup, rounds=5)
        assert set(seen) == {2}

    @pytest.mark.parametrize("n", [10, 20])
    def test_sized(headroom, n):
        headroom.work(bytes=8 * n)
        assert headroom(sum, range(n)) == sum(range(n))

    @pytest.mark.benchmark(group="order")
    def test_first(benchmark):
        benchmark(lambda: sorted(range(100)))
        assert benchmark.enabled is not None

    @pytest.mark.headroom(group="order")
    def test_second(headroom):
        headroom(lambda: sorted(range(100), reverse=True))

    def test_not_measured():
        pass
"""

# headroom, whose `diff` does not know that other programs were at work: that would be a doubt.
QUIET_DIFF = """#!{python}
import json, os, sys
for path in sys.argv[2:] if sys.argv[1] == "diff" else ():
    if os.path.isfile(path):
        whole = json.load(open(path))
        for record in whole["records"]:
            record.pop("busy_cpus", None)
            record["notes"] = [note for note in record.get("notes", []) if not note.startswith("busy: ")]
        json.dump(whole, open(path, "w"))
os.execv("{program}", ["headroom", *sys.argv[1:]])
"""


class Plugin(ScratchTest):
    def pytest(self, *arguments):
        return self.call(sys.executable, "-m", "pytest", "-q", "-p", "headroom.pytest_plugin", "-p", "no:cacheprovider", *arguments)

    def measure(self, *arguments):
        return self.pytest("--headroom", "--headroom-max-time", "100ms", "--headroom-no-store", *arguments)

    def test_the_habits_of_pytest_benchmark(self):
        self.write("test_habits.py", HABITS)
        plain = self.pytest()
        self.assertEqual(plain.returncode, 0, plain.stdout)
        self.assertIn("10 passed", plain.stdout)
        measured = self.measure("--headroom-json", "r.json")
        self.assertEqual(measured.returncode, 0, measured.stdout + measured.stderr)
        records = json.loads((self.folder / "r.json").read_text())["records"]
        names = {(record["model"]["name"], record["model"]["backend"]) for record in records}
        self.assertIn(("test_habits.py::test_pedantic_setup", "python"), names)
        self.assertIn(("order", "test_first"), names)
        second = next(record for record in records if record["model"]["backend"] == "test_second" and record["metric"]["name"] == "latency")
        self.assertIn("test_first", second["ratio"]["to"], "tests of a group are measured in the same rounds")
        sized = [record["axes"]["n"] for record in records if record["model"]["name"].endswith("test_sized") and
                 record["metric"]["name"] == "memory_bandwidth(GB/s)"]
        self.assertEqual(sized, [10, 20])
        self.assertIn("x the time of test_first", measured.stdout)

    def test_what_fails(self):
        self.write("test_bad.py", """
            import pytest
            calls = []
            def fades():
                calls.append(1)
                if len(calls) > 3: raise ValueError("gone")
            def test_fades(headroom):
                headroom(fades)
            def test_raises(headroom):
                headroom(lambda: 1 / 0)
            def test_twice(headroom):
                headroom(int)
                headroom(int)
            def test_weave(headroom):
                headroom.weave("x")
            @pytest.mark.headroom(group="g")
            def test_one(headroom):
                headroom(fades)
            @pytest.mark.headroom(group="g")
            def test_two(headroom):
                headroom(int)
            """)
        result = self.measure()
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn("headroom: ValueError: gone (test_bad.py:6)", result.stdout)
        self.assertIn("ZeroDivisionError", result.stdout)
        self.assertIn("measures one call in each test", result.stdout)
        self.assertIn("FAILED test_bad.py::test_fades", result.stdout)
        self.assertNotIn("FAILED test_bad.py::test_two", result.stdout)

    def test_the_gate(self):
        self.write("test_it.py", "import os, time\ndef test_nap(headroom):\n    headroom(time.sleep, float(os.environ['NAP']))\n")
        quiet = self.write("quiet_headroom", QUIET_DIFF.format(python=sys.executable, program=HEADROOM))
        quiet.chmod(0o755)
        gate = ("--headroom-gate", "20%", "--headroom-run-spread", "2%", "--headroom-baseline", "base.json")
        # Twenty times as long is slower, whatever else this machine does.
        for nap, program, more, code in (("0.002", HEADROOM, ("--headroom-json", "base.json"), 0), ("0.002", HEADROOM, gate, 0),
                                         ("0.04", quiet, gate, 1)):
            result = self.call(sys.executable, "-m", "pytest", "-q", "-p", "headroom.pytest_plugin", "-p", "no:cacheprovider", "--headroom",
                               "--headroom-no-store", "--headroom-max-time", "1s", *more,
                               environment={"NAP": nap, "HEADROOM": str(program)})
            self.assertEqual(result.returncode, code, f"naps of {nap} s, {more}: {result.stdout}{result.stderr}")
        self.assertIn("test_it.py::test_nap: slower than base.json: latency", result.stdout)
        self.assertIn("beyond the margin of 20 %", result.stdout)

    def test_the_history(self):
        self.write("test_it.py", "def test_it(headroom):\n    headroom(int)\n")
        result = self.call(sys.executable, "-m", "pytest", "-q", "-p", "headroom.pytest_plugin", "--headroom", "--headroom-quick",
                           environment={"HEADROOM_STORE": "h.sqlite"})
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("test_it.py::test_it", self.call(HEADROOM, "history", "--store", "h.sqlite").stdout)

    def test_options_that_do_not_go_together(self):
        for options, words in ((("--headroom-gate", "3%"), "needs --headroom"),
                               (("--headroom", "--headroom-gate", "3%"), "go together")):
            result = self.pytest(*options)
            self.assertEqual(result.returncode, 4, result.stdout)
            self.assertIn(words, result.stderr + result.stdout)
        self.write("test_it.py", "def test_it(headroom):\n    headroom(int)\n")
        result = self.measure("--headroom-gate", "3%", "--headroom-baseline", "absent.json")
        self.assertEqual(result.returncode, 1)
        self.assertIn("absent.json", result.stdout)


if __name__ == "__main__":
    if importlib.util.find_spec("pytest") is None:
        print("skipped: pytest is not installed (apt-get install python3-pytest)")
        sys.exit(77)
    unittest.main()
