# SPDX-License-Identifier: Apache-2.0
"""`pytest --headroom`: tests that measure, by the fixture `headroom`, or by `benchmark` as pytest-benchmark has it.

Tests of one group (`@pytest.mark.headroom(group="sort")`, pytest-benchmark's mark, too) are measured together, a sample of each in
every round, when the last of them runs; any other when it runs. Without --headroom the fixture calls what it is given once.
"""
from __future__ import annotations

import contextlib
import json
import os
import statistics
import tempfile
import time
from typing import Any, Callable, Generator, Mapping, Sequence, TypeVar

import pytest
from _pytest import runner

from ._program import CommandFailed, program, run_command
from .experiments import Declarations, unrecordable
from .state import State
from .timing import measure_here

_MARKS = ("headroom", "benchmark")
_FAILED, _INCONCLUSIVE = 1, 3
_CONFIRMATIONS, _PAUSE_S = 5, 1.0


Hook = TypeVar("Hook", bound=Callable[..., Any])
_wrapper: Callable[[Hook], Hook] = pytest.hookimpl(hookwrapper=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("headroom", "measuring by headroom")
    group.addoption("--headroom", action="store_true", help="measure the tests that use the fixture headroom or benchmark")
    group.addoption("--headroom-gate", metavar="MARGIN",
                    help="fail where a test became slower by more than this: 3%%, or '3%%,p95 10%%' (docs/gate.md)")
    group.addoption("--headroom-baseline", metavar="RESULT",
                    help="what the gate compares with: a file, a folder of several runs, @git:main, @last")
    group.addoption("--headroom-run-spread", metavar="SHARE",
                    help="how far runs of one test lie apart here (default: learned from the baseline's runs and the history)")
    group.addoption("--headroom-precision", metavar="SHARE", help="goal for the half-width of the 95%% interval (default 1%%)")
    group.addoption("--headroom-max-time", metavar="TIME", default="1s", help="most time of sampling for a test or a group (default 1s)")
    group.addoption("--headroom-quick", action="store_true", help="a first look: precision 5%%, at most 2 s for a test")
    group.addoption("--headroom-json", metavar="FILE", help="write the records to FILE")
    group.addoption("--headroom-no-store", action="store_true", help="keep no history of this run")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "headroom(group=None, bytes=0, flops=0, dtype=''): measured together with the tests of "
                                       "its group; what one call does, for the share of this machine's limit")
    config.pluginmanager.register(_Measuring(config), "headroom-measuring")
    if not config.pluginmanager.hasplugin("benchmark") and not config.pluginmanager.hasplugin("pytest-benchmark"):
        config.addinivalue_line("markers", "benchmark(group=None): as pytest-benchmark has it")
        config.pluginmanager.register(_Habits(), "headroom-benchmark-fixture")


@pytest.fixture
def headroom(request: pytest.FixtureRequest) -> Fixture:
    """Measures a call: headroom(function, *args, **kwargs) returns what the function does."""
    return Fixture(request)


class _Habits:
    """The fixture `benchmark`, where pytest-benchmark is not there or switched off (-p no:benchmark)."""

    @pytest.fixture
    def benchmark(self, headroom: Fixture) -> Fixture:  # pylint: disable=redefined-outer-name
        """The fixture headroom, by the name that pytest-benchmark gives it."""
        return headroom


class _Case:
    """A call that a test has measured, alone or as one of its group."""

    def __init__(self, item: pytest.Item, body: Callable[[], Any], setup: Callable[[], Any] | None, fixture: Fixture) -> None:
        self.nodeid, self.body, self.setup, self.fixture = item.nodeid, body, setup, fixture
        callspec = getattr(item, "callspec", None)
        parameters = dict(callspec.params) if callspec else {}
        self.function = getattr(item, "originalname", None) or item.name
        self.axes = {name: [str(value) if unrecordable(value) else value] for name, value in parameters.items()}
        self.item_name = item.name
        self.experiment = f"{item.nodeid.partition('::')[0]}::{self.function}"
        self.failure = ""

    def run(self, state: State) -> None:
        fixture = self.fixture
        if fixture.work_of_call:
            state.work(**fixture.work_of_call)
        for name, text in fixture.extra_info.items():
            state.note(name, text)
        state.measure_call(self.body, setup=self.setup)


class Fixture:
    """What a test is given. Attributes as pytest-benchmark has them: group, name, extra_info, stats (after a call), enabled, disabled."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._measuring: _Measuring = request.config.pluginmanager.getplugin("headroom-measuring")
        self._item: pytest.Item = request.node
        marks = [mark for name in _MARKS for mark in self._item.iter_markers(name)]
        self.work_of_call: dict[str, Any] = {}
        about: dict[str, Any] = {}
        for mark in reversed(marks):
            about.update(mark.kwargs)
        self.group: str | None = about.get("group")
        self.name = self._item.name
        self.extra_info: dict[str, Any] = {}
        self.stats: Any = None
        self.enabled = self._measuring.is_on
        self.work_of_call.update((name, about[name]) for name in ("bytes", "flops", "dtype", "bytes_written") if name in about)
        self._used = False

    @property
    def disabled(self) -> bool:
        return not self.enabled

    def work(self, **work: Any) -> None:
        """What one call does, before it is measured: bytes, flops, bytes_written, dtype, as State.work."""
        self.work_of_call.update(work)

    def __call__(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Measures function(*args, **kwargs), and returns its result."""
        return self._measure(function, args, kwargs, None, None)

    def pedantic(self, target: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None,
                 setup: Callable[[], Any] | None = None, teardown: Callable[..., Any] | None = None, rounds: int = 1,
                 warmup_rounds: int = 0, iterations: int = 1) -> Any:
        """As pytest-benchmark's: setup() runs before each call and may return (args, kwargs), teardown(*args, **kwargs) after it.

        rounds, warmup_rounds and iterations are headroom's own to choose: sampling goes on until the time is precise.
        """
        if setup is not None and iterations > 1:
            raise ValueError("pedantic: with setup there is one iteration in a round, not " + str(iterations))
        if rounds < 1 or warmup_rounds < 0 or iterations < 1:
            raise ValueError("pedantic: rounds and iterations are at least 1, warmup_rounds at least 0")
        return self._measure(target, tuple(args), dict(kwargs or {}), setup, teardown)

    def weave(self, target: Any, **kwargs: Any) -> None:
        """Refused: what is measured is a call that the test makes."""
        raise NotImplementedError("headroom measures calls that a test makes, not those that others make to "
                                  f"{target!r}: call it by the fixture")

    patch = weave

    def _measure(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
                 setup: Callable[[], Any] | None, teardown: Callable[..., Any] | None) -> Any:
        if self._used:
            raise RuntimeError("the fixture measures one call in each test: another test, or headroom.compare, has another")
        self._used = True
        current = (args, kwargs)
        called = False

        def prepare() -> None:
            nonlocal current, called
            if teardown is not None and called:
                teardown(*current[0], **current[1])
            told = setup() if setup is not None else None
            current = told if told is not None else (args, kwargs)
            called = True

        def call() -> Any:
            return function(*current[0], **current[1])

        prepares = setup is not None or teardown is not None
        if prepares:
            prepare()
        result = call()
        if self.enabled:
            case = _Case(self._item, call, prepare if prepares else None, self)
            if not args and not kwargs and not prepares:
                case.body = function  # without a call between
            self._measuring.take(case)
        if teardown is not None:
            teardown(*current[0], **current[1])
        return result


class _Stats:
    """Of the samples, in seconds, as pytest-benchmark's attributes are called."""

    def __init__(self, samples_s: Sequence[float], iterations: int) -> None:
        self.data = list(samples_s)
        self.min, self.max, self.mean = min(self.data), max(self.data), statistics.fmean(self.data)
        self.median = statistics.median(self.data)
        self.stddev = statistics.stdev(self.data) if len(self.data) > 1 else 0.0
        self.rounds, self.iterations = len(self.data), iterations
        self.stats = self

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)


class _Measuring:
    """What is measured in a run of pytest, and what the gate says of it."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.is_on = bool(config.getoption("headroom"))
        self._members: dict[str, int] = {}  # tests of each group
        self._ended: dict[str, int] = {}  # of these, those that have run
        self._waiting: dict[str, list[_Case]] = {}
        self._records: list[Mapping[str, Any]] = []
        self._environment: Mapping[str, Any] | None = None
        self._header: Mapping[str, Any] = {}
        self._nodes: dict[tuple[str, str], str] = {}
        self._text: list[str] = []
        self._verdicts: list[str] = []
        if not self.is_on and (config.getoption("headroom_gate") or config.getoption("headroom_baseline")):
            raise pytest.UsageError("--headroom-gate needs --headroom: nothing is measured without it")
        if bool(config.getoption("headroom_gate")) != bool(config.getoption("headroom_baseline")):
            raise pytest.UsageError("--headroom-gate 3% and --headroom-baseline @git:main go together: the margin, and what to compare with")
        if self.is_on:
            try:
                program()
            except FileNotFoundError as error:
                raise pytest.UsageError(str(error)) from None

    @staticmethod
    def _group_of(item: pytest.Item) -> str | None:
        for name in _MARKS:
            for mark in item.iter_markers(name):
                if mark.kwargs.get("group"):
                    return str(mark.kwargs["group"])
        return None

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            group = self._group_of(item)
            if group is not None:
                self._members[group] = self._members.get(group, 0) + 1

    def take(self, case: _Case) -> None:
        """Measures the case, or keeps it for when its group is there. Raises pytest's failure where it cannot be measured."""
        group = case.fixture.group
        # A group that was given a name while the test ran has nobody who would know its last test.
        if group is None or self._members.get(group, 0) < 2:
            self._measure(case.experiment, [case], case.axes)
            if case.failure:
                pytest.fail(case.failure, pytrace=False)
            return
        self._waiting.setdefault(group, []).append(case)

    @_wrapper
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, None]:
        outcome = yield
        group = self._group_of(item) if self.is_on else None
        if group is None:
            return
        self._ended[group] = self._ended.get(group, 0) + 1
        if self._ended[group] == self._members[group]:
            waiting = self._waiting.pop(group, [])
            self._measure(group, waiting, {})
            own = [case.failure for case in waiting if case.failure and case.nodeid == item.nodeid]
            if own and outcome.excinfo is None:
                pytest.fail(own[0], pytrace=False)

    def _measure(self, experiment: str, cases: Sequence[_Case], axes: Mapping[str, Sequence[object]]) -> None:
        if not cases:
            return
        option = self._config.getoption
        is_group = bool(cases[0].fixture.group) and len(cases) > 1
        named = {case.item_name if is_group else "python": case for case in cases}
        if len(named) < len(cases):
            named = {case.nodeid: case for case in cases}
        declarations = Declarations()
        declarations.add(lambda state: named[state.backend].run(state), experiment, axes, {"backends": list(named)})
        options = ["--no-store", "--max-time", option("headroom_max_time")]
        if option("headroom_precision"):
            options += ["--precision", option("headroom_precision")]
        if option("headroom_quick"):
            options.append("--quick")
        if not any(case.fixture.work_of_call for case in cases):
            options.append("--no-limits")
        try:
            measured, text = measure_here(declarations, [*options, "--hot"])
        except CommandFailed as error:
            for case in cases:
                case.failure = f"headroom: {error}"
            return
        self._keep(measured, named)
        self._text.append(text)

    def _keep(self, measured: Mapping[str, Any], named: Mapping[str, _Case]) -> None:
        self._header = measured["headroom"]
        self._environment = self._environment or (measured["environments"] or [None])[0]
        for record in measured["records"]:
            case = named[record["model"]["backend"]]
            told = dict(record)
            if "environment" in told:
                told["environment"] = 0
            self._records.append(told)
            if record["metric"]["name"] != "latency" and record["outcome"]["kind"] == "measured":
                continue
            self._nodes[_case_text(record), record["model"]["backend"]] = case.nodeid
            if record["outcome"]["kind"] == "failed":
                case.failure = f"headroom: {record['outcome']['reason']}"
            samples = [value * 1e-6 for process in record.get("samples", ()) for value in process["values"]]
            if samples:
                case.fixture.stats = _Stats(samples, record["samples"][0]["iterations"])

    @_wrapper
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, Any, None]:
        yield
        if not self.is_on or session.config.getoption("collectonly"):
            return
        for group, waiting in self._waiting.items():
            self._measure(group, waiting, {})
            for case in waiting:
                if case.failure:
                    self._fail(case.nodeid, case.failure)
        self._waiting.clear()
        if self._records:
            self._finish(session)

    @contextlib.contextmanager
    def _file(self) -> Generator[str, None, None]:
        """The records as a file, which is there within."""
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "pytest.json")
            with open(file, "w", encoding="utf-8") as out:
                json.dump({"headroom": self._header, "environments": [self._environment] if self._environment else [],
                           "records": self._records}, out)
            yield file

    def _finish(self, session: pytest.Session) -> None:
        option = self._config.getoption
        with self._file() as file:
            if option("headroom_json"):
                run_command(["show", file, "--json", option("headroom_json")], is_json=False)
            if option("headroom_gate"):
                self._gate(session, file)
            if not option("headroom_no_store"):
                try:
                    run_command(["history", "import", file], is_json=False)
                except CommandFailed as error:
                    self._verdicts.append(f"not in the history: {error}")

    def _compared(self, file: str, *more: str) -> list[Mapping[str, Any]]:
        """The comparisons of the baseline with `file`."""
        option = self._config.getoption
        spread = ["--run-spread", option("headroom_run_spread")] if option("headroom_run_spread") else []
        told = run_command(["diff", "--gate", option("headroom_gate"), "--json", "-", *spread, *more, option("headroom_baseline"), file],
                           accepted=(0, _FAILED, _INCONCLUSIVE))
        return list(told["comparisons"])

    def _gate(self, session: pytest.Session, file: str) -> None:
        try:
            compared = self._compared(file)
            suspects = {self._node(one) for one in compared if one["verdict"] == "regression"}
            doubted = self._confirm(session, suspects)
        except CommandFailed as error:
            self._fail("headroom gate", str(error))
            return
        inconclusive = 0
        for one in compared:
            if one["verdict"] == "regression":
                if self._node(one) in doubted:
                    self._verdicts.append(f"{self._node(one)}: looked slower, {doubted[self._node(one)]}")
                else:
                    self._fail(self._node(one), _sentence(one, self._config.getoption("headroom_baseline")))
            inconclusive += one["verdict"] == "inconclusive"
        if inconclusive:
            reasons = dict.fromkeys(one["reason"] for one in compared if one["reason"])
            self._verdicts.append(f"gate: {inconclusive} of {len(compared)} cases are inconclusive: {'; '.join(reasons)}")

    def _node(self, one: Mapping[str, Any]) -> str:
        return self._nodes.get((one["case"], one["backend"]), one["case"])

    def _confirm(self, session: pytest.Session, suspects: set[str]) -> dict[str, str]:
        """Runs tests that look slower again, some seconds apart: {test: why it is no regression}, of those that are none.

        A regression is slower every time. Where the calls of a function that does nothing took longer by as much, the machine did.
        """
        doubted: dict[str, str] = {}
        for attempt in range(_CONFIRMATIONS):
            left = suspects - doubted.keys()
            if not left:
                break
            time.sleep(_PAUSE_S * attempt)
            groups = {self._group_of(item) for item in session.items if item.nodeid in left} - {None}
            chosen = [item for item in session.items if item.nodeid in left or self._group_of(item) in groups]
            kept, self._records, self._ended = self._records, [], {}
            for item in chosen:
                runner.runtestprotocol(item, log=False, nextitem=None)
            with self._file() as file:
                again, calls = self._compared(file), self._compared(file, "--metric", "python")
            self._records = kept
            machine = {self._node(one): one["ratio"] for one in calls}
            for one in again:
                node = self._node(one)
                if node not in left:
                    continue
                if one["verdict"] == "inconclusive":
                    doubted[node] = f"but when it was measured again it was inconclusive: {one['reason']}"
                elif one["verdict"] != "regression":
                    doubted[node] = "but not when it was measured again"
                elif one["ratio"] / max(1.0, machine.get(node, 1.0)) <= 1 + one["margin"]:
                    doubted[node] = (f"but calls of a function that does nothing were {100 * (machine[node] - 1):.0f} % slower, too: the "
                                     "machine was, and the test is inconclusive")
        return doubted

    def _fail(self, nodeid: str, sentence: str) -> None:
        """A failure of its own beside the test, which has ended."""
        self._verdicts.append(f"{nodeid}: {sentence}")
        report = pytest.TestReport(nodeid=nodeid, location=(nodeid.partition("::")[0], None, nodeid), keywords={}, outcome="failed",
                                   longrepr=sentence, when="call", sections=(), duration=0)
        self._config.hook.pytest_runtest_logreport(report=report)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not self._records and not self._verdicts:
            return
        terminalreporter.section("headroom")
        for sentence in self._verdicts:
            terminalreporter.line(sentence)
        with self._file() as file:
            terminalreporter.write(run_command(["show", file], is_json=False))


def _case_text(record: Mapping[str, Any]) -> str:
    return " ".join([record["model"]["name"], *(f"{name}={value}" for name, value in record["axes"].items())])


def _sentence(one: Mapping[str, Any], baseline: str) -> str:
    share = 100 * (one["ratio"] - 1)
    ends = "" if one["low"] is None else f" (95 % interval {100 * (one['low'] - 1):+.1f} to {100 * (one['high'] - 1):+.1f} %)"
    return (f"slower than {baseline}: {one['metric']} {one['test_value']:.4g} {one['unit']} for {one['baseline']:.4g}, {share:+.1f} %{ends}, "
            f"beyond the margin of {100 * one['margin']:g} %")
