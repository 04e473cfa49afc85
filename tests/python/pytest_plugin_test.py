# SPDX-License-Identifier: Apache-2.0
"""`pytest --headroom`; exit code 77 without pytest."""
import importlib.util
import json
import os
import subprocess
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


class Plugin(ScratchTest):
    def pytest(self, *arguments, cache=False, **environment):
        return self.call(sys.executable, "-m", "pytest", "-q", "-p", "headroom.pytest_plugin", *(() if cache else ("-p", "no:cacheprovider")),
                         *arguments, environment=environment)

    def measure(self, *arguments, time="100ms", **options):
        return self.pytest("--headroom", "--headroom-max-time", time, "--headroom-no-store", *arguments, **options)

    def test_the_habits_of_pytest_benchmark(self):
        self.write("test_habits.py", HABITS)
        self.assert_exit(self.pytest(), 0, "10 passed")
        measured = self.assert_exit(self.measure("--headroom-json", "r.json"), 0)
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
            later = []
            def fades_later():
                later.append(1)
                if len(later) > 3: raise ValueError("gone later")
            @pytest.mark.headroom(group="g")
            def test_one(headroom):
                headroom(fades_later)
            @pytest.mark.headroom(group="g")
            def test_two(headroom):
                headroom(int)
            """)
        result = self.assert_exit(self.measure(), 1, "headroom: ValueError: gone (test_bad.py:6)", "ZeroDivisionError",
                                  "measures one call per test", "FAILED test_bad.py::test_fades", "headroom: ValueError: gone later",
                                  "FAILED test_bad.py::test_one")
        self.assertNotIn("FAILED test_bad.py::test_two", result.stdout)

    def test_the_gate(self):
        self.write("test_it.py", "import os, time\ndef test_nap(headroom):\n    headroom(time.sleep, float(os.environ['NAP']))\n")
        quiet = self.quiet_headroom()
        gate = ("--headroom-gate", "20%", "--headroom-run-spread", "2%", "--headroom-baseline", "base.json")
        # Twenty times as long is slower on any machine.
        for nap, program, more, code in (("0.002", HEADROOM, ("--headroom-json", "base.json"), 0), ("0.002", HEADROOM, gate, 0),
                                         ("0.04", quiet, gate, 1)):
            result = self.measure(*more, time="1s", NAP=nap, HEADROOM=str(program))
            self.assertEqual(result.returncode, code, f"naps of {nap} s, {more}: {result.stdout}{result.stderr}")
        self.assertIn("test_it.py::test_nap: slower than base.json: latency", result.stdout)
        self.assertIn("beyond the margin of 20 %", result.stdout)

    def test_the_history(self):
        self.write("test_it.py", "def test_it(headroom):\n    headroom(int)\n")
        self.assert_exit(self.pytest("--headroom", "--headroom-quick", cache=True, HEADROOM_STORE="h.sqlite"), 0)
        self.assertIn("test_it.py::test_it", self.call(HEADROOM, "history", "--store", "h.sqlite").stdout)

    def test_options_that_do_not_go_together(self):
        for options, words in ((("--headroom-gate", "3%"), "needs --headroom"),
                               (("--headroom", "--headroom-gate", "3%"), "need each other")):
            result = self.assert_exit(self.pytest(*options), 4)
            self.assertIn(words, result.stderr + result.stdout)
        self.write("test_it.py", "def test_it(headroom):\n    headroom(int)\n")
        self.assert_exit(self.measure("--headroom-gate", "3%", "--headroom-baseline", "absent.json"), 1, "absent.json")

    def records(self, name="r.json"):
        return json.loads((self.folder / name).read_text())["records"]

    def test_what_the_baseline_has_and_the_run_lacks(self):
        self.write("test_it.py", """
            import os, pytest
            def test_kept(headroom): headroom(int)
            @pytest.mark.parametrize("n", [1, 2])
            def test_sized(headroom, n): headroom(int, n)
            @pytest.mark.headroom(group="g")
            def test_grouped(headroom): headroom(int)
            if not os.environ.get("GONE"):
                def test_gone(headroom): headroom(int)
            def test_quiet(headroom):
                if os.environ.get("SKIPPED"): pytest.skip("no such machine")
                if not os.environ.get("QUIET"): headroom(int)
            """)
        self.write("test_more.py", "def test_more(headroom): headroom(int)\n")
        self.assert_exit(self.measure("--headroom-json", "base.json"), 0)
        for variable, selection, failures, words in (
                ("GONE", (), ["test_it.py::test_gone"], "but not in this run"),
                ("QUIET", (), ["test_it.py::test_quiet"], "the test measures nothing any more"),
                ("SKIPPED", (), ["test_it.py::test_quiet"], "was skipped in this run: no such machine"),
                ("NOTHING", (), [], ""),
                ("NOTHING", ("-k", "kept"), [], "6 cases of base.json were not selected"),
                ("GONE", ("test_more.py",), [], "6 cases of base.json were not selected"),
                ("GONE", ("test_it.py",), ["test_it.py::test_gone"], "1 cases of base.json were not selected"),
                ("NOTHING", ("test_it.py::test_sized[1]",), [], "were not selected")):
            failed, said = self.gated(*selection, cache=False, **{variable: "1"})
            self.assertEqual(failed, failures, f"{variable} {selection}: {said}")
            self.assertIn(words, said)

    def gated(self, *selection, cache=True, **environment):
        """(tests that failed, output) of a run with a gate on base.json that finds no time slower."""
        result = self.measure("--headroom-gate", "99%", "--headroom-run-spread", "50%", "--headroom-baseline", "base.json", *selection,
                              time="50ms", cache=cache, **environment)
        failed = [line.partition(" ")[2].partition(" - ")[0] for line in result.stdout.splitlines() if line.startswith("FAILED ")]
        self.assertEqual(result.returncode, 1 if failed else 0, result.stdout + result.stderr)
        return failed, result.stdout

    def test_the_gate_on_marks_and_on_what_failed_last(self):
        self.write("pytest.ini", "[pytest]\nmarkers = slow\n")
        self.write("test_it.py", """
            import os, pytest
            @pytest.mark.slow
            def test_slow(headroom): headroom(int)
            @pytest.mark.parametrize("x", [1.0, 2.5, True, "0"])
            def test_typed(headroom, x):
                if not os.environ.get("QUIET"): headroom(int)
            @pytest.mark.slow
            @pytest.mark.headroom(group="g")
            def test_slow_member(headroom): headroom(int)
            @pytest.mark.headroom(group="g")
            def test_member(headroom): headroom(int)
            def test_broken(headroom):
                if not os.environ.get("QUIET"): headroom(int)
                assert not os.environ.get("BROKEN")
            """)
        self.write("test_more.py", "def test_more(headroom): headroom(int)\n")
        self.assert_exit(self.measure("--headroom-json", "base.json"), 0)
        failed, said = self.gated("-m", "not slow")
        self.assertEqual(failed, [])
        self.assertIn("gate: 2 cases of base.json were not selected", said)
        failed, said = self.gated("-m", "slow", QUIET="1")
        self.assertEqual(failed, [])
        self.assertIn("gate: 7 cases of base.json were not selected", said)
        failed, said = self.gated("-m", "not slow", QUIET="1")
        self.assertEqual(failed, [f"test_it.py::{name}" for name in ("test_typed[1.0]", "test_typed[2.5]", "test_typed[True]",
                                                                     "test_typed[0]", "test_broken")], said)
        self.assertIn("the test measures nothing any more", said)
        self.assertEqual(self.gated(BROKEN="1")[0], ["test_it.py::test_broken"])
        failed, said = self.gated("--lf")
        self.assertEqual(failed, [], said)
        self.assertIn("gate: 8 cases of base.json were not selected", said)
        self.assertEqual(self.gated(BROKEN="1")[0], ["test_it.py::test_broken"])
        failed, said = self.gated("--lf", QUIET="1")
        self.assertEqual(failed, ["headroom gate"])
        self.assertIn("nothing was measured to compare with base.json", said)

    ASPECTLIB = """
        # As much of aspectlib as a function of a module needs.
        import importlib, types
        def weave(target, aspect, **options):
            module, name = target.rsplit(".", 1)
            module = importlib.import_module(module)
            original = getattr(module, name)
            setattr(module, name, aspect(original))
            return types.SimpleNamespace(rollback=lambda: setattr(module, name, original))
        """

    def python_path(self):
        return os.pathsep.join([str(self.folder), os.environ.get("PYTHONPATH", "")])

    def test_weave(self):
        if importlib.util.find_spec("aspectlib") is None:
            self.write("aspectlib.py", self.ASPECTLIB)
        self.write("theirs.py", "calls = []\ndef work(n): calls.append(n); return 2 * n\ndef use(n): return work(n) + 1\n")
        self.write("test_it.py", """
            import pytest, theirs
            def test_by_name(benchmark):
                benchmark.weave("theirs.work")
                assert theirs.use(3) == 7
                assert benchmark.stats is None or benchmark.stats.rounds > 1
            def test_by_fixture(benchmark_weave):
                benchmark_weave("theirs.work", lazy=True)
                assert theirs.use(4) == 9
            def test_patch(headroom):
                headroom.patch("theirs.work")
                assert theirs.use(5) == 11
            def test_is_taken_back():
                seen = len(theirs.calls)
                assert theirs.use(6) == 13 and len(theirs.calls) == seen + 1
            def test_twice(benchmark):
                benchmark.weave("theirs.work")
                theirs.use(1)
                with pytest.raises(RuntimeError, match="one call per test"): theirs.use(2)
            def test_taken_back_after_a_failure():
                assert theirs.use(7) == theirs.use(7) == 15
            """)
        for options in ((), ("--headroom", "--headroom-max-time", "500ms", "--headroom-no-store", "--headroom-json", "r.json")):
            self.assert_exit(self.pytest("-p", "no:benchmark", *options, PYTHONPATH=self.python_path()), 0, "6 passed")
        self.assertEqual([record["model"]["name"].partition("::")[2] for record in self.records() if record["metric"]["name"] == "latency"],
                         ["test_by_name", "test_by_fixture", "test_patch", "test_twice"])

    def test_weave_without_aspectlib(self):
        self.write("aspectlib.py", "raise ImportError('not here')\n")
        self.write("test_it.py", "def test_it(benchmark): benchmark.weave('os.getpid')\n")
        self.assert_exit(self.pytest("-p", "no:benchmark", cache=True, PYTHONPATH=self.python_path()), 1, "pip install aspectlib")

    def test_parameters_keep_their_types(self):
        self.write("test_it.py", """
            import pytest
            @pytest.mark.parametrize("x", [True, "True", 1, 1.0, "1", 2.0, 0])
            def test_it(headroom, x): headroom(int)
            """)
        self.assert_exit(self.measure("--headroom-json", "base.json"), 0)
        axes = [record["axes"] for record in self.records("base.json") if record["metric"]["name"] == "latency"]
        self.assertEqual([repr(one["x"]) for one in axes], ["True", "'True'", "1", "1.0", "'1'", "2.0", "0"])
        self.assertEqual(["id" in one for one in axes], [False, True, False, True, True, False, False])
        self.assertEqual(self.gated()[0], [])

    def test_a_gate_on_a_run_that_measured_nothing(self):
        self.write("test_it.py", "def test_it(headroom): headroom(int)\n")
        self.assert_exit(self.measure("--headroom-json", "base.json"), 0)
        self.write("test_it.py", "def test_it(): pass\n")
        self.assert_exit(self.measure("--headroom-gate", "3%", "--headroom-baseline", "base.json"), 1,
                         "nothing was measured to compare with base.json")

    def test_names_hold_no_address(self):
        self.write("test_it.py", """
            import enum, pytest
            class Thing: pass
            class Colour(enum.IntEnum):
                RED = 1
            THINGS = [Thing(), Thing(), 7, 2.5, "text", True, None, len, Colour.RED, 2**70, float("nan"), "a" * 99]
            @pytest.mark.parametrize("thing", THINGS)
            def test_things(headroom, thing): headroom(int)
            @pytest.mark.parametrize("id", [Thing(), Thing()], ids=str)
            def test_own_ids(headroom, id): headroom(int)
            class TestOne:
                def test_same(self, headroom): headroom(int)
            class TestTwo:
                def test_same(self, headroom): headroom(int)
            @pytest.mark.parametrize("n, m", [(1, Thing())])
            def test_both(headroom, n, m): headroom(int)
            @pytest.mark.parametrize("thing", [Thing(), Thing()], ids=repr)
            @pytest.mark.headroom(group="g")
            def test_group(headroom, thing): headroom(int)
            """)
        found = []
        for _ in range(2):
            result = self.measure("--headroom-json", "r.json")
            self.assert_exit(result, 0)
            self.assertNotIn(" at 0x", result.stdout.partition("= headroom =")[2])
            found.append([(one["model"]["name"], one["model"]["backend"], one["axes"]) for one in self.records()
                          if one["metric"]["name"] == "latency"])
        self.assertEqual(*found)
        self.assertEqual(len(found[0]), len({json.dumps(one) for one in found[0]}), f"two tests of one name: {found[0]}")
        self.assertEqual(len(found[0]), 19)
        axes = [axes for name, _, axes in found[0] if name == "test_it.py::test_things"]
        self.assertEqual(axes[:3], [{"id": "thing0"}, {"id": "thing1"}, {"thing": 7}])
        self.assertIn(("test_it.py::TestTwo::test_same", "python", {}), found[0])
        self.assertIn(("test_it.py::test_both", "python", {"n": 1, "id": "1-m0"}), found[0])

    def test_groups_and_what_ends_before_them(self):
        self.write("test_it.py", """
            import contextvars, os, pytest, unittest
            variable = contextvars.ContextVar("variable", default=0)
            grouped = pytest.mark.headroom(group="g")
            @pytest.fixture
            def resource():
                live = [1]
                yield live
                live.clear()
            @pytest.fixture
            def added(request):
                live = [1]
                request.addfinalizer(live.clear)
                return live
            @pytest.fixture
            def dependent(resource): return resource
            @pytest.fixture
            def plain(): return [1]
            @pytest.fixture(scope="module")
            def of_module():
                live = [1]
                yield live
                live.clear()
            def use(live): assert live[0] == 1
            @grouped
            def test_resource(headroom, resource): headroom(use, resource)
            @grouped
            def test_added(headroom, added): headroom(use, added)
            @grouped
            def test_dependent(headroom, dependent): headroom(use, dependent)
            @grouped
            def test_context(headroom):
                token = variable.set(3)
                headroom(int)
                variable.reset(token)
            @grouped
            def test_folder(headroom, tmp_path):
                here = os.getcwd()
                os.chdir(tmp_path)
                headroom(os.getcwd)
                os.chdir(here)
            @grouped
            def test_plain(headroom, plain): headroom(use, plain)
            @grouped
            def test_module(headroom, of_module): headroom(use, of_module)
            class TestCase(unittest.TestCase):
                @pytest.fixture(autouse=True)
                def set(self, headroom): self.headroom = headroom
                def setUp(self): self.live = [1]
                def tearDown(self): self.live.clear()
                @grouped
                def test_unit(self): self.headroom(use, self.live)
            """)
        self.write("test_next.py", """
            import pytest
            @pytest.mark.headroom(group="g")
            def test_last(headroom): headroom(int)
            """)
        self.assert_exit(self.measure("--headroom-json", "r.json"), 0, "9 passed",
                         "resource (fixtures) would have ended: test_it.py::test_resource", "because added (fixtures)", "a unittest.TestCase ends with its test: test_it.py::TestCase::test_unit",
                         "is within a `with`, or the test has set a mode, which would have ended: test_it.py::test_context",
                         "fixtures of their module or class ended before the others ran")
        latencies = {one["model"]["backend"]: one for one in self.records() if one["metric"]["name"] == "latency"}
        self.assertEqual({one["model"]["name"] for one in latencies.values()}, {"g"})
        self.assertEqual(len(latencies), 9)
        self.assertIn("test_plain", latencies["test_module"]["ratio"]["to"])

    def test_a_group_whose_last_test_does_not_run(self):
        self.write("test_it.py", """
            import pytest
            grouped = pytest.mark.headroom(group="g")
            @pytest.fixture
            def broken(): raise ValueError("no fixture")
            @grouped
            def test_one(headroom): headroom(int)
            @grouped
            def test_two(headroom): headroom(str)
            @grouped
            def test_three(headroom, broken): headroom(int)
            """)
        result = self.measure("--headroom-json", "r.json")
        self.assertIn("2 passed, 1 error", result.stdout)
        self.assertIn("x the time of test_one", result.stdout)

    def test_pedantic_calls_as_often_as_it_says(self):
        self.write("test_it.py", """
            import pytest
            @pytest.mark.parametrize("rounds, iterations, warmup, calls", [(1, 1, 0, 1), (15, 1, 0, 15), (1, 10, 0, 11), (5, 1, 15, 20),
                                                                           (3, 4, 2, 21)])
            def test_counts(benchmark, rounds, iterations, warmup, calls):
                made = []
                benchmark.pedantic(made.append, args=[1], rounds=rounds, iterations=iterations, warmup_rounds=warmup)
                assert len(made) == (calls if benchmark.enabled else 1)
                assert benchmark.disabled or (benchmark.stats.rounds, benchmark.stats.iterations) == (rounds, iterations)
            def test_default(benchmark):
                made = []
                assert benchmark.pedantic(lambda: made.append(1) or len(made)) == 1
                assert made == [1]
            def test_around(benchmark):
                seen = []
                benchmark.pedantic(lambda n: seen.append(n), setup=lambda: ((2,), {}), teardown=lambda n: seen.append("end"), rounds=2)
                assert seen == [2, "end"] * (2 if benchmark.enabled else 1)
            @pytest.mark.benchmark(group="g")
            def test_grouped(benchmark):
                made = []
                benchmark.pedantic(made.append, args=[1])
                assert made == [1]
            @pytest.mark.benchmark(group="g")
            def test_other(benchmark): benchmark(int)
            def test_raises(benchmark):
                with pytest.raises(KeyError):
                    benchmark.pedantic({}.pop, args=["x"])
            def test_both(benchmark):
                with pytest.raises(TypeError):
                    benchmark.pedantic(int, args=[1], setup=lambda: ((1,), {}))
            @pytest.mark.parametrize("wrong", [{"rounds": 0}, {"rounds": "x"}, {"iterations": -1}, {"warmup_rounds": -15}])
            def test_wrong(benchmark, wrong):
                with pytest.raises(ValueError):
                    benchmark.pedantic(int, **wrong)
            """)
        self.assert_exit(self.pytest(), 0)
        # pedantic() fixes the rounds, whatever --headroom-max-time says.
        self.assert_exit(self.measure("--headroom-json", "r.json", "--headroom-max-time", "1ms"), 0,
                         "pedantic() sets the number of calls: test_it.py::test_grouped")
        counted = next(one for one in self.records() if one["axes"].get("iterations") == 4)
        self.assertEqual((len(counted["samples"][0]["values"]), counted["samples"][0]["iterations"]), (3, 4))

    def test_what_a_test_says_and_asks_after_the_call(self):
        self.write("test_it.py", """
            import pytest
            FIELDS = ("min", "max", "mean", "stddev", "rounds", "median", "iqr", "q1", "q3", "iqr_outliers", "stddev_outliers", "outliers",
                      "ld15iqr", "hd15iqr", "ops", "total")
            def check(benchmark):
                stats = benchmark.stats
                for name in FIELDS:
                    assert stats[name] == getattr(stats.stats, name) == stats.get(name) == stats.as_dict()[name]
                assert stats.min <= stats.q1 <= stats.median <= stats.q3 <= stats.max
                assert stats.min <= stats.ld15iqr <= stats.hd15iqr <= stats.max
                assert len(stats.data) == stats.rounds and stats.iterations >= 1 and stats.total == sum(stats.data)
                assert stats.get("nothing", 3) == 3 and stats.fullname.endswith("]" if stats.param else stats.name)
            def test_alone(benchmark):
                benchmark.extra_info["before"] = 1
                benchmark(int)
                benchmark.extra_info["after"] = [2]
                check(benchmark)
            @pytest.fixture
            def late(benchmark):
                yield
                benchmark.extra_info["late"] = "yes"
            @pytest.mark.parametrize("n", [1, 2])
            @pytest.mark.benchmark(group="g")
            def test_grouped(benchmark, n):
                benchmark(int, n)
                benchmark.extra_info["after"] = n
                check(benchmark)
            def test_late(benchmark, late):
                benchmark(int)
            """)
        self.assert_exit(self.measure("--headroom-json", "r.json"), 0)
        told = {one["model"]["name"] + one["model"]["backend"]: one["model"]["extra_info"] for one in self.records()
                if one["metric"]["name"] == "latency"}
        self.assertEqual((told["test_it.py::test_alonepython"]["before"], told["test_it.py::test_alonepython"]["after"]), ("1", "[2]"))
        self.assertEqual(told["gtest_grouped[2]"]["after"], "2")
        self.assertEqual(told["test_it.py::test_latepython"]["late"], "yes")
        grouped = [one for one in self.records() if one["model"]["name"] == "g" and one["metric"]["name"] == "latency"]
        self.assertEqual(len(grouped), 2, "samples that a test asks for early are not those of the record")

    def test_statistics_as_pytest_benchmark_computes_them(self):
        from headroom._pytest_benchmark import Stats

        class Output:
            name = fullname = "t"
            group = param = params = None
            extra_info = {}

        for data, quartiles in (([3.0], (3, 3)), ([1.0, 2.0, 3.0, 4.0], (1.5, 3.5)), ([1.0, 2.0, 3.0, 4.0, 5.0], (1.75, 4.25)),
                                ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], (2.25, 5.75))):
            stats = Stats(data, 1, Output)
            self.assertEqual((stats.q1, stats.q3), quartiles)
        stats = Stats([1.0, 1.1, 1.2, 1.3, 9.0], 1, Output)
        self.assertEqual((stats.outliers, stats.hd15iqr), ("1;1", 1.3))
        self.assertEqual(Stats([0.1] * 5, 1, Output).iqr_outliers, 0)

    def test_the_root_does_not_move(self):
        project = self.folder / "a" / "project"
        (project / "tests").mkdir(parents=True)
        (project / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n")
        (project / "tests" / "test_it.py").write_text("def test_it(headroom): headroom(int)\n")
        base = self.folder / "other place" / "base line.json"
        base.parent.mkdir()
        command = (sys.executable, "-m", "pytest", "-p", "headroom.pytest_plugin", "--headroom", "--headroom-no-store", "--headroom-max-time",
                   "50ms", "-v")
        def call(*arguments):
            return subprocess.run([*map(str, command), *map(str, arguments)], capture_output=True, text=True, cwd=project, check=False,
                                  timeout=120, stdin=subprocess.DEVNULL)
        self.assert_exit(call("--headroom-json", base), 0)
        self.assertEqual({one["model"]["name"] for one in json.loads(base.read_text())["records"]}, {"tests/test_it.py::test_it"})
        gate = ("--headroom-gate", "99%", "--headroom-run-spread", "50%")
        again = self.folder / "other place" / "new.json"
        again.write_text("")
        for option in ((f"--headroom-baseline={base}",), ("--headroom-baseline", base)):
            result = call(*option, *gate, "--headroom-json", again)
            self.assert_exit(result, 0, "rootdir: " + str(project), "configfile: pytest.ini", "1 passed")
            self.assertEqual({one["model"]["name"] for one in json.loads(again.read_text())["records"]}, {"tests/test_it.py::test_it"})
        self.assert_exit(call("--headroom-baseline", base, *gate, "tests/test_it.py"), 0, "1 passed")

    PEER = """
        import pytest
        class BenchmarkFixture:
            def __call__(self, function, *arguments): return function(*arguments)
        def pytest_addoption(parser): parser.getgroup("benchmark").addoption("--benchmark-sort", default="min")
        def pytest_addhooks(pluginmanager):
            from . import hookspec
            pluginmanager.add_hookspecs(hookspec)
        @pytest.fixture
        def benchmark(): return BenchmarkFixture()
        @pytest.hookimpl(hookwrapper=True)
        def pytest_runtest_makereport(item, call):
            yield
            found = getattr(item, "funcargs", {}).get("benchmark")
            if found is not None and not isinstance(found, BenchmarkFixture):
                raise TypeError("unexpected type for `benchmark` in funcargs")
        """

    def test_beside_pytest_benchmark(self):
        (self.folder / "pytest_benchmark").mkdir()
        self.write("pytest_benchmark/__init__.py", "")
        self.write("pytest_benchmark/plugin.py", self.PEER)
        self.write("pytest_benchmark/hookspec.py", "def pytest_benchmark_update_json(config, benchmarks, output_json): ...\n")
        self.write("conftest.py", "def pytest_benchmark_update_json(config, output_json): ...\n")
        self.write("test_it.py", "def test_theirs(benchmark): benchmark(int)\ndef test_ours(headroom): headroom(int)\n")
        peer = ("-p", "pytest_benchmark.plugin", "--benchmark-sort", "name")
        warned = self.measure(*peer, "--headroom-json", "r.json")
        self.assert_exit(warned, 0, "warning: pytest-benchmark measured the fixture benchmark", "2 passed")
        self.assertEqual({one["model"]["name"] for one in self.records()}, {"test_it.py::test_ours"})
        replaced = self.measure(*peer, "--headroom-benchmark", "--headroom-json", "r.json")
        self.assert_exit(replaced, 0, "ignored options of pytest-benchmark: --benchmark-sort, pytest_benchmark_update_json", "2 passed")
        self.assertNotIn("warning", replaced.stdout)
        self.assertEqual({one["model"]["name"] for one in self.records()}, {"test_it.py::test_ours", "test_it.py::test_theirs"})
        unmeasured = self.pytest(*peer, "--headroom-benchmark")
        self.assert_exit(unmeasured, 0, "2 passed")
        self.assertNotIn("= headroom =", unmeasured.stdout, "without --headroom pytest-benchmark is left alone")

    def test_options_with_an_equivalent_name_it(self):
        self.write("test_it.py", "def test_it(benchmark): benchmark(int)\n")
        result = self.pytest("-p", "no:benchmark", "--benchmark-json=r.json", "--benchmark-autosave", "--benchmark-compare-fail=mean:5%")
        self.assert_exit(result, 0, "--benchmark-json: --headroom-json FILE", "--benchmark-autosave: the history keeps every run",
                         "--benchmark-compare-fail: --headroom-gate 3%")

    def test_options_hooks_and_marks_of_pytest_benchmark(self):
        self.write("pytest.ini", """
            [pytest]
            addopts = --strict-markers --benchmark-sort=fullname --benchmark-warmup=true --benchmark-warmup-iterations=5
                      --benchmark-columns min,max -p no:benchmark
            filterwarnings = error
            """)
        self.write("conftest.py", """
            import pytest
            def pytest_benchmark_update_machine_info(config, machine_info): ...
            @pytest.hookimpl(hookwrapper=True)
            def pytest_benchmark_group_stats(config, benchmarks, group_by): yield
            """)
        self.write("test_it.py", """
            import pytest
            @pytest.mark.benchmark(min_rounds=2, max_time=0.1)
            def test_it(benchmark): benchmark(int)
            def test_other(): pass
            """)
        line = ("ignored options of pytest-benchmark: --benchmark-sort, --benchmark-warmup, --benchmark-warmup-iterations, "
                "--benchmark-columns, pytest_benchmark_update_machine_info, pytest_benchmark_group_stats, max_time= of the mark, "
                "min_rounds= of the mark\n")
        for arguments in ((), ("--headroom", "--headroom-no-store", "--headroom-max-time", "50ms")):
            self.assert_exit(self.pytest(*arguments), 0, "2 passed", line)
        self.assert_exit(self.measure("--benchmark-skip", "--headroom-json", "r.json"), 0, "1 passed, 1 skipped")
        self.assertFalse((self.folder / "r.json").exists())
        self.assert_exit(self.measure("--benchmark-only"), 0, "1 passed, 1 skipped", "test_it.py::test_it")
        self.assertNotIn("python, ", self.measure("--benchmark-disable").stdout)
        self.assert_exit(self.measure("--benchmark-srot"), 4)

    def test_several_processes_are_refused(self):
        self.write("fake_xdist.py", """
            def pytest_addoption(parser):
                parser.getgroup("xdist").addoption("--numprocesses", type=int)
                parser.getgroup("xdist").addoption("--dist", default="no")
            """)
        self.write("test_it.py", "def test_it(benchmark): benchmark(int)\n")
        xdist = ("-p", "fake_xdist")
        for arguments in (("--numprocesses", "2"), ("--dist", "load")):
            result = self.assert_exit(self.measure(*xdist, *arguments), 4)
            self.assertIn("--headroom measures one test at a time", result.stderr + result.stdout)
        self.assert_exit(self.measure(*xdist, "--numprocesses", "0"), 0, "1 passed")
        self.assert_exit(self.pytest(*xdist, "--numprocesses", "2"), 0, "1 passed")


if __name__ == "__main__":
    if importlib.util.find_spec("pytest") is None:
        print("skipped: pytest is not installed (apt-get install python3-pytest)")
        sys.exit(77)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # ignore installed plugins
    unittest.main()
