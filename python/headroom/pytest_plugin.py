# SPDX-License-Identifier: Apache-2.0
"""`pytest --headroom`: tests that measure with the fixture `headroom`, or pytest-benchmark's `benchmark`.

Tests of a group (`@pytest.mark.headroom(group="sort")`, or pytest-benchmark's mark) are sampled in the same rounds, when the last of them
has run; others when they run. Without --headroom the fixture calls its function once.
"""
from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import importlib
import inspect
import json
import os
import sys
import tempfile
import time
from typing import Any, Callable, Generator, Iterable, Mapping, Sequence, TypeVar

import pytest
from _pytest import runner
from _pytest.unittest import UnitTestCase

from . import _callables, _pytest_benchmark
from ._program import CommandFailed, program, run_command
from ._pytest_gate import Gate
from ._pytest_git import Base
from ._pytest_names import MARKS, Name, case_text, group_of, names
from .experiments import Declarations
from .state import State
from .timing import measure_here

_LONGEST = "24h"
_WITH_VALUE = ("--headroom-gate", "--headroom-baseline", "--headroom-run-spread", "--headroom-precision", "--headroom-max-time",
               "--headroom-json", "--headroom-git", "--headroom-git-build")


Hook = TypeVar("Hook", bound=Callable[..., Any])
_wrapper: Callable[[Hook], Hook] = pytest.hookimpl(hookwrapper=True)
_first: Callable[[Hook], Hook] = pytest.hookimpl(tryfirst=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("headroom", "measurements by headroom")
    group.addoption("--headroom", action="store_true", help="measure the tests that use the fixture headroom or benchmark")
    group.addoption("--headroom-benchmark", action="store_true",
                    help="measure the fixture benchmark instead of an installed pytest-benchmark")
    group.addoption("--headroom-gate", metavar="MARGIN",
                    help="fail tests that became slower by more than this: 3%%, or '3%%,p95 10%%' (docs/how-to/ci.md)")
    group.addoption("--headroom-baseline", metavar="RESULT",
                    help="baseline of the gate: a file, a folder of runs, @git:1a2b3c or @last")
    group.addoption("--headroom-git", metavar="REF",
                    help="compare with the merge base of REF and HEAD, in the same rounds; measures as --headroom does")
    group.addoption("--headroom-git-build", metavar="COMMAND",
                    help="shell line that builds the merge base, in a tree of its own; kept")
    group.addoption("--headroom-run-spread", metavar="SHARE",
                    help="run-to-run spread (default: from the baseline's runs and the history)")
    group.addoption("--headroom-precision", metavar="SHARE", help="goal for the half-width of the 95%% interval (default 1%%)")
    group.addoption("--headroom-max-time", metavar="TIME",
                    help="maximum sampling time of a test or group (default 1s, 3s with --headroom-git); from 5s on its maximum total time")
    group.addoption("--headroom-quick", action="store_true", help="measure quickly: precision 5%%, at most 2 s per test")
    group.addoption("--headroom-json", metavar="FILE", help="write the records to FILE")
    group.addoption("--headroom-no-store", action="store_true", help="do not store this run in the history")


@_wrapper
def pytest_load_initial_conftests(early_config: pytest.Config, parser: pytest.Parser) -> Generator[None, Any, None]:
    """Replaces pytest-benchmark if it is missing or the user asked for it."""
    yield
    manager, given = early_config.pluginmanager, early_config.known_args_namespace
    there = _pytest_benchmark.plugin(manager)
    if there is None:
        _pytest_benchmark.add_options(parser)
    elif (getattr(given, "headroom", False) or getattr(given, "headroom_git", None)) and getattr(given, "headroom_benchmark", False):
        manager.unregister(there)
    _pytest_benchmark.add_hooks(manager)


@_first
def pytest_cmdline_main(config: pytest.Config) -> Any:
    """Restarts with OPTION=FILE for OPTION FILE: before it knows plugins' options, pytest takes FILE for a path of tests."""
    joined: list[str] = []
    for word in map(str, config.invocation_params.args):
        if joined and joined[-1] in _WITH_VALUE and os.path.exists(config.invocation_params.dir / word):
            joined[-1] += "=" + word
        else:
            joined.append(word)
    if len(joined) == len(config.invocation_params.args):
        return None
    return pytest.main(joined, config.invocation_params.plugins)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "headroom(group=None, bytes=0, flops=0, dtype=''): measure together with the tests of "
                                       "its group; bytes and flops of a call, for its share of this machine's limit")
    if not config.pluginmanager.has_plugin("headroom-measuring"):  # _pytest_serve.Serving
        measuring = _Measuring(config)
        config.pluginmanager.register(measuring, "headroom-measuring")
        config.pluginmanager.register(measuring.gate, "headroom-gate")
    if _pytest_benchmark.plugin(config.pluginmanager) is None:
        config.addinivalue_line("markers", "benchmark(group=None): as in pytest-benchmark")
        config.pluginmanager.register(_BenchmarkFixtures(), "headroom-benchmark-fixture")


@pytest.fixture
def headroom(request: pytest.FixtureRequest) -> Fixture:
    """Measures a call: headroom(function, *args, **kwargs) returns the function's result."""
    return Fixture(request)


class _BenchmarkFixtures:
    """The fixture `benchmark`, if pytest-benchmark is missing or off (-p no:benchmark)."""

    @pytest.fixture
    def benchmark(self, headroom: Fixture) -> Fixture:  # pylint: disable=redefined-outer-name
        """The fixture headroom under pytest-benchmark's name."""
        return headroom

    @pytest.fixture
    def benchmark_weave(self, benchmark: Fixture) -> Callable[..., None]:
        """Fixture.weave."""
        return benchmark.weave

    @_first
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Follows --benchmark-skip and --benchmark-only."""
        is_only = config.getoption("benchmark_only", False)
        is_skip = config.getoption("benchmark_skip", False) and not is_only
        for item in items:
            if "benchmark" in getattr(item, "fixturenames", ()):
                if is_skip:
                    item.add_marker(pytest.mark.skip(reason="a benchmark (--benchmark-skip)"))
            elif is_only:
                item.add_marker(pytest.mark.skip(reason="not a benchmark (--benchmark-only)"))


class AmbientState:
    """State that a `with` around a call may change: context variables, folder, event loop, modes of torch and numpy."""

    def __init__(self) -> None:
        self._variables = dict(contextvars.copy_context())
        self._loop = asyncio._get_running_loop()  # pylint: disable=protected-access
        self._modes: list[object] = [os.getcwd()]
        torch: Any = sys.modules.get("torch")
        if hasattr(torch, "is_grad_enabled"):
            self._modes += [torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.get_num_threads(), torch.get_default_dtype()]
            try:
                self._modes += [torch.is_autocast_enabled("cpu"), torch.is_autocast_enabled("cuda")]
            except TypeError:  # torch < 2.4
                self._modes += [torch.is_autocast_cpu_enabled(), torch.is_autocast_enabled()]
        numpy: Any = sys.modules.get("numpy")
        if hasattr(numpy, "geterr"):
            self._modes.append(numpy.geterr())

    def equals(self, other: AmbientState) -> bool:
        """Whether nothing has changed."""
        return (self._variables.keys() == other._variables.keys() and self._loop is other._loop and self._modes == other._modes
                and all(value is other._variables[name] for name, value in self._variables.items()))


def _ends(definition: Any) -> bool:
    """Whether a fixture has a teardown."""
    # pytest adds its own finalizers.
    own = [call for call in definition._finalizers  # pylint: disable=protected-access
           if not getattr(getattr(call, "func", call), "__qualname__", "").startswith("FixtureDef.")]
    return inspect.isgeneratorfunction(inspect.unwrap(definition.func)) or bool(own)


class Case:
    """A call measured by a test, alone or in its group."""

    def __init__(self, fixture: Fixture, name: Name, body: Callable[[], Any], setup: Callable[[], Any] | None = None,
                 rounds: Rounds | None = None) -> None:
        self.fixture, self.nodeid, self.name = fixture, fixture.fullname, name
        self.body, self.setup, self.rounds = body, setup, rounds
        self.failure = ""
        self.ends_with: tuple[object, ...] = ()  # classes and modules whose fixtures it uses

    def run(self, state: State) -> None:
        if self.fixture.work_of_call:
            state.work(**self.fixture.work_of_call)
        if self.rounds is not None:
            state.measure_batches(self.rounds.next)
        else:
            state.measure_call(self.body, setup=self.setup)


def _case_of(record: Mapping[str, Any]) -> tuple[str, str, Any]:
    return record["model"]["name"], record["model"]["backend"], record["axes"]


def declarations_of(cases: Sequence[Case]) -> Declarations:
    """Returns the experiment that these calls of a test or group are."""
    named, name = {case.name.backend: case for case in cases}, cases[0].name
    declarations = Declarations()
    declarations.add(lambda state: named[state.backend].run(state), name.experiment, {axis: [value] for axis, value in name.axes.items()},
                     {"backends": list(named)})
    return declarations


def reason_not_grouped(case: Case, before: AmbientState | None) -> str:
    """Returns why a test cannot wait for its group, or "". before: the state when the test began."""
    if case.rounds is not None:
        return "pedantic() sets the number of calls"
    if isinstance(case.fixture.item.getparent(pytest.Class), UnitTestCase):
        return "a unittest.TestCase ends with its test"
    ending = [one for one in case.fixture.definitions() if _ends(one) and (one.scope == "function" or one.params)]
    if ending:
        return f"{', '.join(sorted(one.argname for one in ending))} (fixtures) would have ended"
    if before is not None and not AmbientState().equals(before):
        return "the call is within a `with`, or the test has set a mode, which would have ended"
    return ""


class Rounds:
    """The rounds of pedantic()."""

    def __init__(self, target: Callable[..., Any], prepare: Callable[[], tuple[Any, Any]], teardown: Callable[..., Any] | None,
                 rounds: int, warmup_rounds: int, iterations: int) -> None:
        self._target, self._prepare, self._teardown = target, prepare, teardown
        self.rounds, self._warmup, self.iterations = rounds, warmup_rounds, iterations
        self._is_calibrated = False
        self.result: Any = None
        self.error: BaseException | None = None

    def next(self, _iterations: int) -> float:
        """Returns the ns of a call. The first request, for calibration, runs the warm-up and returns a time so long that one iteration is
        enough."""
        try:
            if not self._is_calibrated:
                self._is_calibrated = True
                for _ in range(self._warmup):
                    self._round()
                return 1e12
            return self._round()
        except BaseException as error:
            self.error = error
            raise

    def _round(self) -> float:
        args, kwargs = self._prepare()
        target, clock = self._target, time.perf_counter_ns
        if self.iterations == 1:
            start = clock()
            result = target(*args, **kwargs)
            elapsed = clock() - start
            _callables.check_result(result)
            self.result = result
        else:
            loop = range(self.iterations)
            start = clock()
            for _ in loop:
                target(*args, **kwargs)
            elapsed = clock() - start
        if self._teardown is not None:
            self._teardown(*args, **kwargs)
        return elapsed / self.iterations


class Fixture:
    """The fixture, with pytest-benchmark's attributes: group, name, fullname, param, params, extra_info, stats (after a call), enabled,
    disabled."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._measuring: _Measuring = request.config.pluginmanager.getplugin("headroom-measuring")
        self._request = request
        self.item: pytest.Item = request.node
        marks = [mark for name in MARKS for mark in self.item.iter_markers(name)]
        self.work_of_call: dict[str, Any] = {}
        about: dict[str, Any] = {}
        for mark in reversed(marks):
            about.update(mark.kwargs)
        self.group: str | None = about.get("group")
        self.name, self.fullname = self.item.name, self.item.nodeid
        callspec = getattr(self.item, "callspec", None)
        self.param = callspec.id if callspec is not None else None
        self.params = callspec.params if callspec is not None else None
        self.extra_info: dict[str, Any] = {}
        self.enabled = self._measuring.is_on
        self.has_error = False
        self.work_of_call.update((name, about[name]) for name in ("bytes", "flops", "dtype", "bytes_written") if name in about)
        self._used = False
        self._stats: Any = None

    @property
    def disabled(self) -> bool:
        return not self.enabled

    @property
    def stats(self) -> Any:
        """Statistics of the samples; if the group is not measured yet, of separate samples. None before a call."""
        if self._stats is None:
            self._measuring.measure_early(self)
        return self._stats

    @stats.setter
    def stats(self, made: Any) -> None:
        self._stats = made

    def definitions(self) -> list[Any]:
        """Returns the fixtures that the test uses."""
        return list(self._request._fixture_defs.values())  # pylint: disable=protected-access

    def work(self, **work: Any) -> None:
        """Declares the work of a call before it is measured: bytes, flops, bytes_written, dtype, like State.work."""
        self.work_of_call.update(work)

    def __call__(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Measures function(*args, **kwargs) and returns its result."""
        self._use()
        result = function(*args, **kwargs)
        if self.enabled:
            body: Callable[[], Any] = function  # avoids a wrapper if there are no arguments
            if args or kwargs:
                body = functools.partial(function, *args, **kwargs)
            self._take(body)
        return result

    def pedantic(self, target: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None,
                 setup: Callable[[], Any] | None = None, teardown: Callable[..., Any] | None = None, rounds: int = 1,
                 warmup_rounds: int = 0, iterations: int = 1) -> Any:
        """Like pytest-benchmark's: setup() runs before each round and may return (args, kwargs), teardown(*args, **kwargs) after it. Calls
        target rounds * iterations times after warmup_rounds, once more for the result if iterations > 1; once without --headroom."""
        self._use()
        for name, number, least in (("rounds", rounds, 1), ("warmup_rounds", warmup_rounds, 0), ("iterations", iterations, 1)):
            if not isinstance(number, int) or number < least:
                raise ValueError(f"pedantic: {name} is {number!r}: expected an integer of at least {least}")
        if setup is not None and iterations > 1:
            raise ValueError("pedantic: setup allows one iteration per round, not " + str(iterations))

        def prepare() -> tuple[Any, Any]:
            given = setup() if setup is not None else None
            if given and (args or kwargs):
                raise TypeError("pedantic: setup returned arguments, but args or kwargs were given, too: use only one")
            return given or (tuple(args), dict(kwargs or {}))

        calls = Rounds(target, prepare, teardown, rounds, warmup_rounds if self.enabled else 0, iterations)
        if self.enabled:
            self._take(target, calls)
        if not self.enabled or iterations > 1:
            last_args, last_kwargs = prepare()
            calls.result = target(*last_args, **last_kwargs)
            if teardown is not None:
                teardown(*last_args, **last_kwargs)
        return calls.result

    def weave(self, target: Any, **kwargs: Any) -> None:
        """Measures the calls of `target` by others during the test, with aspectlib, like pytest-benchmark's."""
        try:
            weave = importlib.import_module("aspectlib").weave
        except ImportError:
            raise ImportError(f"weave needs aspectlib to measure {target!r}: pip install aspectlib, or call it with the fixture") from None

        def measured(function: Callable[..., Any]) -> Callable[..., Any]:
            return lambda *args, **kwargs: self(function, *args, **kwargs)

        self._request.addfinalizer(weave(target, measured, **kwargs).rollback)

    patch = weave

    def _use(self) -> None:
        if self._used:
            self.has_error = True
            raise RuntimeError("the fixture measures one call per test: use another test, or headroom.compare")
        self._used = True

    def _take(self, body: Callable[[], Any], rounds: Rounds | None = None) -> None:
        try:
            self._measuring.take(self, body, rounds)
        except BaseException:
            self.has_error = True
            raise


class _Measuring:
    """The measurements of a pytest run and the gate's verdicts."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        option = config.getoption
        if option("headroom_git"):
            config.option.headroom = True
        self.is_on = bool(option("headroom")) and not (option("benchmark_disable", False) and not option("benchmark_enable", False))
        self._names: dict[str, Name] = {}
        self._items: dict[str, pytest.Item] = {}
        self._members: dict[str, list[str]] = {}  # tests by group, in order
        self._left: dict[str, set[str]] = {}  # tests by group that have not run
        self._waiting: dict[str, list[Case]] = {}
        self._apart: dict[str, list[str]] = {}  # tests measured outside of their group, by reason
        self._before: AmbientState | None = None  # of the running test
        self._records: list[dict[str, Any]] = []
        self._told: list[tuple[dict[str, Any], Case]] = []
        self._environment: Mapping[str, Any] | None = None
        self._header: Mapping[str, Any] = {}
        self._verdicts: list[str] = []
        self.gate: Gate = Gate(config, self._fail, self._again)
        self._base = Base(config, option("headroom_git"), option("headroom_git_build") or "") if option("headroom_git") else None
        if option("headroom_git_build") and self._base is None:
            raise pytest.UsageError("--headroom-git-build needs --headroom-git: the commit to build")
        if self._base is not None and option("headroom_baseline"):
            raise pytest.UsageError("--headroom-git and --headroom-baseline exclude each other: give one baseline")
        if not option("headroom") and (option("headroom_gate") or option("headroom_baseline")):
            raise pytest.UsageError("--headroom-gate needs --headroom: nothing is measured without it")
        if bool(option("headroom_gate")) != bool(option("headroom_baseline")) and self._base is None:
            raise pytest.UsageError("--headroom-gate 3% and --headroom-baseline=@git:1a2b3c need each other: the margin and the baseline; "
                                    "or give --headroom-git main")
        if not self.is_on and option("headroom_gate"):
            raise pytest.UsageError("--headroom-gate and --benchmark-disable exclude each other: leave out one")
        if not self.is_on:
            return
        if option("numprocesses", None) or option("dist", "no") != "no" or hasattr(config, "workerinput"):
            raise pytest.UsageError("--headroom measures one test at a time, but pytest-xdist runs several at once: leave out -n, or "
                                    "add -n 0")
        try:
            program()
        except FileNotFoundError as error:
            raise pytest.UsageError(str(error)) from None

    @_first
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Names the tests before deselection, on which names must not depend."""
        self._names = self.gate.names = names(items)
        self._items = {item.nodeid: item for item in items}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            group = group_of(item)
            if group is not None:
                self._members.setdefault(group, []).append(item.nodeid)
        self._expect(item.nodeid for item in session.items)
        measuring = [item for item in session.items if {"headroom", "benchmark"} & set(getattr(item, "fixturenames", ()))]
        if self._base is not None and self.is_on and measuring and not session.testsfailed and not self._config.getoption("collectonly"):
            self._base.prepare(self._config.rootpath / item.nodeid.partition("::")[0] for item in measuring)
            self.gate.baseline = self._base.name

    def pytest_unconfigure(self) -> None:
        if self._base is not None:
            self._base.close()

    def _expect(self, nodeids: Iterable[str]) -> None:
        """Starts groups again with these tests."""
        chosen = set(nodeids)
        self._left = {group: chosen & set(members) for group, members in self._members.items()}

    def take(self, fixture: Fixture, body: Callable[[], Any], rounds: Rounds | None) -> None:
        """Measures the call, or keeps it for its group. Raises pytest's failure."""
        name = self._names.get(fixture.fullname) or Name(fixture.item)
        case = Case(fixture, name, body, None, rounds)
        group = group_of(fixture.item)
        reason = reason_not_grouped(case, self._before) if group is not None and len(self._members.get(group, ())) > 1 else ""
        if group is not None and not reason and len(self._members.get(group, ())) > 1:
            case.ends_with = tuple(node for node in fixture.item.listchain()[:-1] if not isinstance(node, pytest.Session)
                                   ) if any(map(_ends, fixture.definitions())) else ()
            self._waiting.setdefault(group, []).append(case)
            return
        if reason:
            self._apart.setdefault(reason, []).append(case.nodeid)
        self._measure([case])
        if rounds is not None and rounds.error is not None:
            raise rounds.error
        if case.failure:
            pytest.fail(case.failure, pytrace=False)

    def measure_early(self, fixture: Fixture) -> None:
        """Measures separate samples for a test that needs statistics early."""
        for waiting in self._waiting.values():
            for case in waiting:
                if case.fixture is fixture:
                    self._measure([case], is_kept=False)

    @_wrapper
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, None]:
        self._before = AmbientState() if self.is_on else None
        outcome = yield
        failure = self._end(item)
        if failure and outcome.excinfo is None:
            pytest.fail(failure, pytrace=False)

    @_wrapper
    def pytest_runtest_teardown(self, item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, Any, None]:
        failure = self._end(item)
        ending = set(item.listchain()) - set(nextitem.listchain() if nextitem is not None else ())
        for group, waiting in self._waiting.items():
            if any(ending.intersection(case.ends_with) for case in waiting):
                self._apart.setdefault("fixtures of their module or class ended before the others ran", []).extend(
                    case.nodeid for case in waiting)
                self._measure_group(group, None)
        if failure:
            self._fail(item.nodeid, failure)
        yield

    def _end(self, item: pytest.Item) -> str:
        """Measures the group after its last test. Returns why the test fails, or ""."""
        group = group_of(item)
        left = self._left.get(group or "", set())
        if item.nodeid not in left:
            return ""
        left.remove(item.nodeid)
        return self._measure_group(str(group), item) if not left else ""

    def _measure_group(self, group: str, item: pytest.Item | None) -> str:
        """Returns why `item` failed; failures of ended tests are reported separately."""
        waiting, self._waiting[group] = self._waiting.get(group, []), []
        self._measure(waiting)
        own = ""
        for case in waiting:
            if case.failure and item is not None and case.nodeid == item.nodeid:
                own = case.failure
            elif case.failure:
                self._fail(case.nodeid, case.failure)
        return own

    def _measure(self, cases: Sequence[Case], is_kept: bool = True) -> None:
        if not cases:
            return
        option = self._config.getoption
        named = {case.name.backend: case for case in cases}
        options = ["--no-store"]
        rounds = cases[0].rounds
        if rounds is not None:
            options += ["--num-samples", str(rounds.rounds), "--processes", "1", "--min-time", "0", "--max-time", _LONGEST]
        else:
            options += ["--max-time", option("headroom_max_time") or ("1s" if self._base is None else "3s")]
            if option("headroom_precision"):
                options += ["--precision", option("headroom_precision")]
            if option("headroom_quick"):
                options.append("--quick")
        if not any(case.fixture.work_of_call for case in cases):
            options.append("--no-limits")
        try:
            base = self._base if is_kept else None
            if base is not None and not base.offer({case.nodeid: case.name for case in cases}):
                base = None
            measured, _ = measure_here(declarations_of(cases), [*options, "--hot"], other=base)
        except CommandFailed as error:
            for case in cases:
                case.failure = f"headroom: {error}"
            return
        self._header = measured["headroom"]
        self._environment = self._environment or (measured["environments"] or [None])[0]
        for record in measured["records"]:
            case = named[record["model"]["backend"]]
            if base is not None and record["runner"] == base.label:
                base.keep(dict(record), case.nodeid)
            else:
                self._keep(dict(record), case, is_kept)

    def _keep(self, record: dict[str, Any], case: Case, is_kept: bool) -> None:
        if "environment" in record:
            record["environment"] = 0
        if case.rounds is not None:
            for process in record.get("samples", ()):
                process["iterations"] = case.rounds.iterations
        if is_kept:
            self._records.append(record)
            self._told.append((record, case))
        if record["metric"]["name"] != "latency" and record["outcome"]["kind"] == "measured":
            return
        self.gate.nodes[case_text(record["model"]["name"], record["axes"]), record["model"]["backend"]] = case.nodeid
        if record["outcome"]["kind"] == "failed":
            case.failure = f"headroom: {record['outcome']['reason']}"
        samples = [value * 1e-6 for process in record.get("samples", ()) for value in process["values"]]
        if samples:
            case.fixture.stats = _pytest_benchmark.Stats(samples, record["samples"][0]["iterations"], case.fixture)

    @_wrapper
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, Any, None]:
        yield
        if not self.is_on or session.config.getoption("collectonly"):
            return
        for group in list(self._waiting):
            self._measure_group(group, None)
        for record, case in self._told:
            record["model"].setdefault("extra_info", {}).update((name, str(value)) for name, value in case.fixture.extra_info.items())
        if self._records or self._config.getoption("headroom_gate"):
            self._finish(session)

    @contextlib.contextmanager
    def _file(self, records: Sequence[Mapping[str, Any]]) -> Generator[str, None, None]:
        """Yields a temporary file of these records."""
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "pytest.json")
            with open(file, "w", encoding="utf-8") as out:
                json.dump({"headroom": self._header, "environments": [self._environment] if self._environment else [],
                           "records": records}, out)
            yield file

    @contextlib.contextmanager
    def _sides(self) -> Generator[tuple[str, str], None, None]:
        """Yields the baseline and a temporary file of the records to compare with it."""
        if self._base is None:
            with self._file(self._records) as file:
                yield str(self._config.getoption("headroom_baseline")), file
            return
        cases = [_case_of(record) for record in self._base.records]
        with self._file(self._base.records) as baseline, self._file([one for one in self._records if _case_of(one) in cases]) as file:
            yield baseline, file

    def _finish(self, session: pytest.Session) -> None:
        option = self._config.getoption
        with self._file(self._records) as file:
            if self._records and option("headroom_json"):
                run_command(["show", file, "--json", option("headroom_json")], is_json=False)
            if option("headroom_gate"):
                with self._sides() as sides:
                    self._verdicts += self.gate.judge(session, sides, bool(self._records if self._base is None else self._base.records))
            if self._records and not option("headroom_no_store"):
                try:
                    run_command(["history", "import", file], is_json=False)
                except CommandFailed as error:
                    self._verdicts.append(f"not in the history: {error}")

    @contextlib.contextmanager
    def _again(self, items: Sequence[pytest.Item]) -> Generator[tuple[str, str], None, None]:
        """Reruns tests; yields the baseline and the file of their records."""
        kept, self._records = self._records, []
        of_base = self._base.begin_again() if self._base is not None else []
        self._expect(item.nodeid for item in items)
        try:
            for item, following in zip(items, [*items[1:], None]):
                runner.runtestprotocol(item, log=False, nextitem=following)
            with self._sides() as sides:
                yield sides
        finally:
            self._records = kept
            if self._base is not None:
                self._base.records = of_base

    def _fail(self, nodeid: str, sentence: str) -> None:
        """Reports a failure of a test that has ended."""
        self._verdicts.append(f"{nodeid}: {sentence}")
        report = pytest.TestReport(nodeid=nodeid, location=(nodeid.partition("::")[0], None, nodeid), keywords={}, outcome="failed",
                                   longrepr=sentence, when="call", sections=(), duration=0)
        self._config.hook.pytest_runtest_logreport(report=report)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        sentences = [*self._verdicts, *(self._base.summary() if self._base is not None else ()), *self._summary_lines()]
        if not self._records and not sentences:
            return
        terminalreporter.section("headroom")
        for sentence in sentences:
            terminalreporter.line(sentence)
        if self._records:
            if self._base is not None and self._base.records:
                with self._sides() as sides:
                    terminalreporter.write(self.gate.table(sides) + "\n")
            with self._file(self._records) as file:
                terminalreporter.write(run_command(["show", file], is_json=False))

    def _summary_lines(self) -> list[str]:
        """Returns remarks on requests that were not followed."""
        remarks = [f"measured separately from their groups, because {reason}: {', '.join(dict.fromkeys(tests))}"
                   for reason, tests in self._apart.items()]
        items = list(self._items.values())
        if _pytest_benchmark.plugin(self._config.pluginmanager) is None:
            remarks += _pytest_benchmark.unsupported_options(self._config, items)
        elif self.is_on and any("benchmark" in getattr(item, "fixturenames", ()) for item in items):
            remarks.append("warning: pytest-benchmark measured the fixture benchmark; for headroom use --headroom-benchmark")
        return remarks
