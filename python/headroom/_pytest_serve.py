# SPDX-License-Identifier: Apache-2.0
"""The pytest that serves tests of a merge base to that of `pytest --headroom-git`. Internal."""
from __future__ import annotations

import json
import os
import socket
import sys
import sysconfig
from pathlib import Path
from typing import Any, Callable, Generator, Mapping

import pytest
from _pytest import runner

from . import _core, _threads
from ._pytest_git import LARGEST_MESSAGE, Moved
from ._pytest_names import Name
from .pytest_plugin import AmbientState, Case, Fixture, Rounds, declarations_of, reason_not_grouped

_wrapper: Callable[[Any], Any] = pytest.hookimpl(hookwrapper=True)
_first: Callable[[Any], Any] = pytest.hookimpl(tryfirst=True)


class Serving:
    """Stands in for the plugin that measures: `headroom run` of the other pytest samples the calls."""

    __name__ = "headroom-measuring"  # pytest's name for the plugin
    is_on = True

    def __init__(self, channel: socket.socket, moved: Moved) -> None:
        self._channel, self._moved = channel, moved
        self._items: dict[str, pytest.Item] = {}
        self._broken: dict[str, str] = {}  # files that could not be collected
        self._asked: Mapping[str, Any] = {}
        self._last: pytest.Item | None = None
        self._waiting: list[Case] = []
        self._measured: set[str] = set()
        self._reasons: dict[str, str] = {}
        self._before: AmbientState | None = None

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            lines = [line for line in report.longreprtext.splitlines() if line.strip()]
            self._broken[report.nodeid] = lines[-1].removeprefix("E").strip() if lines else ""

    @_first
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self._items = {item.nodeid: item for item in items}

    @_first
    def pytest_runtestloop(self) -> bool:
        self._send({})
        while text := self._channel.recv(LARGEST_MESSAGE):
            self._answer(json.loads(text))
        return True

    def take(self, fixture: Fixture, body: Callable[[], Any], rounds: Rounds | None) -> None:
        """Serves the call, or keeps it until all that were asked for have run."""
        asked = self._asked[fixture.fullname]
        name = Name(fixture.item)
        name.experiment, name.backend, name.axes = asked["experiment"], asked["backend"], asked["axes"]
        case = Case(fixture, name, body, None, rounds)
        if len(self._asked) == 1:
            self._serve([case])
        elif reason := reason_not_grouped(case, self._before):
            self._reasons[case.nodeid] = f"cannot wait for its group, as {reason}, in"
        else:
            self._waiting.append(case)

    def measure_early(self, fixture: Fixture) -> None:
        """There are no statistics here."""

    @_wrapper
    def pytest_runtest_call(self) -> Generator[None, Any, None]:
        self._before = AmbientState()
        yield

    @_wrapper
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, Any, None]:
        if item is self._last and self._waiting:
            self._serve(self._waiting)
        yield

    def _answer(self, asked: Mapping[str, Any]) -> None:
        self._asked, self._waiting, self._measured = asked, [], set()
        self._reasons = {nodeid: self._reason_missing(nodeid) for nodeid in asked if nodeid not in self._items}
        items = [self._items[nodeid] for nodeid in asked if nodeid in self._items]
        self._last = items[-1] if items else None
        for item, following in zip(items, [*items[1:], None]):
            for report in runner.runtestprotocol(item, log=False, nextitem=following):
                self._note(report)
        if not self._measured:
            self._send({"reasons": self._reasons, "ready": False})

    def _reason_missing(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return f"cannot be collected ({self._broken[file]}) in" if file in self._broken else "not in"

    def _note(self, report: pytest.TestReport) -> None:
        if report.nodeid in self._reasons or report.nodeid in self._measured or any(one.nodeid == report.nodeid for one in self._waiting):
            return
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            self._reasons[report.nodeid] = f"fails ({crash.message.splitlines()[0] if crash else report.when}) in"
        elif report.skipped:
            self._reasons[report.nodeid] = "is skipped in"
        elif report.when == "teardown":
            self._reasons[report.nodeid] = "measures nothing in"

    def _serve(self, cases: list[Case]) -> None:
        """Lets `headroom run` sample the calls."""
        foreign = self._foreign_module()
        if foreign:
            self._reasons.update((case.nodeid, f"{foreign} of your tree is imported in") for case in cases)
            return
        self._measured = {case.nodeid for case in cases}
        for nodeid in self._asked:
            if nodeid not in self._measured:
                self._reasons.setdefault(nodeid, "measures nothing in")
        self._send({"reasons": self._reasons, "ready": True})
        _, descriptors, _, _ = socket.recv_fds(self._channel, 16, 1)
        if descriptors:
            with _threads.torch_threads_kept():
                _core.serve_here(declarations_of(cases).registry, "python", descriptors[0], lambda: None)

    def _foreign_module(self) -> str:
        """Returns a module's file in the user's tree, which would compare that tree with itself, or ""."""
        own = tuple(os.path.realpath(path) + os.sep for path in (
            str(Path(__file__).parent), *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))))
        for module in list(sys.modules.values()):
            file = getattr(module, "__file__", None)
            if isinstance(file, str) and self._moved.is_of_user(file) and not os.path.realpath(file).startswith(own):
                return file
        return ""

    def _send(self, answer: Mapping[str, Any]) -> None:
        self._channel.send(json.dumps(answer).encode())


def _move_editable_installs(moved: Moved) -> None:
    """Lets the finders of setuptools' editable installs find packages in the work tree."""
    for finder in sys.meta_path:
        mapping = getattr(sys.modules.get(getattr(finder, "__module__", "")), "MAPPING", None)
        if isinstance(mapping, dict):
            mapping.update((name, moved.counterpart(path)) for name, path in mapping.items() if isinstance(path, str))


def main() -> None:
    started = json.load(sys.stdin)
    channel = socket.socket(fileno=int(sys.argv[2]))
    channel.set_inheritable(False)
    moved = Moved(started["top"], started["tree"])
    sys.path[:] = started["path"]
    _move_editable_installs(moved)
    sys.argv = ["pytest", *started["words"]]
    sys.exit(pytest.main(started["words"], plugins=[Serving(channel, moved)]))
