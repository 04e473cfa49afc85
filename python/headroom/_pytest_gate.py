# SPDX-License-Identifier: Apache-2.0
"""The gate of `pytest --headroom`."""
from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, Callable, ContextManager, Iterable, Mapping, Sequence

import pytest

from ._program import CommandFailed, run_command
from ._pytest_names import Name, group_of

_FAILED, _INCONCLUSIVE = 1, 3
_CONFIRMATIONS, _PAUSE_S = 5, 1.0


class Gate:
    """Compares a run with the baseline. Registered as a plugin, to see deselected, skipped and failed tests.

    baseline: its name. names: of collected tests. nodes: {(case, backend): test}. fail: fails a test. again: reruns tests and yields the
    baseline and the file of their records.
    """

    def __init__(self, config: pytest.Config, fail: Callable[[str, str], None],
                 again: Callable[[Sequence[pytest.Item]], ContextManager[tuple[str, str]]]) -> None:
        self._config, self._fail, self._again = config, fail, again
        self.baseline = str(config.getoption("headroom_baseline"))
        self.names: dict[str, Name] = {}
        self.nodes: dict[tuple[str, str], str] = {}
        self._deselected: list[pytest.Item] = []
        self._skipped: dict[str, str] = {}
        self._failed: set[str] = set()

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        self._deselected += items

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and isinstance(report.longrepr, tuple):
            self._skipped[report.nodeid] = report.longrepr[2].replace("Skipped: ", "")
        elif report.failed:
            self._failed.add(report.nodeid)

    def judge(self, session: pytest.Session, files: tuple[str, str], has_records: bool) -> list[str]:
        """Fails tests of the second file, against the first. Returns remarks on undecided cases."""
        if not has_records:
            self._fail("headroom gate", f"nothing was measured to compare with {self.baseline}")
            return []
        try:
            diff_result = self._diff(files)
            compared = diff_result["comparisons"]
            doubted = self._confirm(session, {self._node(one) for one in compared if one["verdict"] == "regression"})
        except CommandFailed as error:
            self._fail("headroom gate", str(error))
            return []
        remarks = self._judge_missing(session, [(one["case"], one["backend"]) for test in diff_result["tests"] for one in test["only_baseline"]])
        for one in compared:
            node = self._node(one)
            if one["verdict"] == "regression" and node in doubted:
                remarks.append(f"{node}: looked slower, {doubted[node]}")
            elif one["verdict"] == "regression":
                self._fail(node, _sentence(one, self.baseline))
        inconclusive: list[str] = [one["reason"] for one in compared if one["verdict"] == "inconclusive"]
        if inconclusive:
            reasons = dict.fromkeys(reason for reason in inconclusive if reason)
            remarks.append(f"gate: {len(inconclusive)} of {len(compared)} cases are inconclusive: {'; '.join(reasons)}")
        return remarks

    def table(self, files: tuple[str, str]) -> str:
        """Returns the comparison as text."""
        return str(self._run_diff(files, is_json=False))

    def _diff(self, files: tuple[str, str], *more: str) -> Mapping[str, Any]:
        diff_result: Mapping[str, Any] = self._run_diff(files, "--json", "-", *more)
        return diff_result

    def _run_diff(self, files: tuple[str, str], *more: str, is_json: bool = True) -> Any:
        option = self._config.getoption
        gate = ["--gate", option("headroom_gate")] if option("headroom_gate") else []
        spread = ["--run-spread", option("headroom_run_spread")] if option("headroom_run_spread") else []
        return run_command(["diff", *gate, *spread, *more, *files], accepted=(0, _FAILED, _INCONCLUSIVE), is_json=is_json)

    def _judge_missing(self, session: pytest.Session, missing: Iterable[tuple[str, str]]) -> list[str]:
        """Fails for cases that this run lacks, unless deselected (-k, -m, paths)."""
        selected = {item.nodeid for item in session.items}
        known = {name.case: nodeid for nodeid, name in self.names.items()}
        deselected = {self.names[item.nodeid].experiment for item in self._deselected if item.nodeid in self.names}
        is_cut = bool(session.shouldstop or session.shouldfail)
        unasked, unreached = 0, 0
        for case, backend in dict.fromkeys(missing):
            nodeid = known.get((case, backend))
            if nodeid is None:
                if any(case == one or case.startswith(f"{one} ") for one in deselected) or not self._is_selected(case):
                    unasked += 1
                else:
                    self._fail(case if backend == "python" else f"{case} {backend}", f"is in {self.baseline}, but not in this "
                               "run: it was removed, renamed or not collected")
            elif nodeid not in selected:
                unasked += 1
            elif nodeid in self._failed:
                continue  # reported by its own failure
            elif nodeid in self._skipped:
                self._fail(nodeid, f"is in {self.baseline}, but was skipped in this run: {self._skipped[nodeid]}")
            elif is_cut:
                unreached += 1
            else:
                self._fail(nodeid, f"is in {self.baseline}, but was not measured in this run: the test measures nothing any more")
        return [f"gate: {count} cases of {self.baseline} were not {why}, so not compared"
                for count, why in ((unasked, "selected"), (unreached, "reached")) if count]

    def _is_selected(self, case: str) -> bool:
        """Whether pytest's paths include an uncollected test."""
        if self._config.getoption("lf", False):
            return False
        source = getattr(self._config, "args_source", None)
        if source is None or source.name != "ARGS":
            return True
        test = self._config.rootpath / case
        for word in self._config.args:
            path, _, names = str(word).partition("::")
            operand = Path(os.path.abspath(self._config.invocation_params.dir / path))
            if not names and operand.is_dir() and operand in test.parents:
                return True
            if f"{test}::".startswith(f"{operand}::{names}"):
                return True
        return False

    def _node(self, one: Mapping[str, Any]) -> str:
        return self.nodes.get((one["case"], one["backend"]), one["case"])

    def _confirm(self, session: pytest.Session, suspects: set[str]) -> dict[str, str]:
        """Reruns suspects, seconds apart. Returns {test: reason} for those not slower every time, or no slower than calls of an empty
        function."""
        doubted: dict[str, str] = {}
        for attempt in range(_CONFIRMATIONS):
            left = suspects - doubted.keys()
            if not left:
                break
            time.sleep(_PAUSE_S * attempt)
            groups = {group_of(item) for item in session.items if item.nodeid in left} - {None}
            with self._again([item for item in session.items if item.nodeid in left or group_of(item) in groups]) as files:
                again, calls = (self._diff(files, *more)["comparisons"] for more in ((), ("--metric", "python")))
            machine = {self._node(one): one["ratio"] for one in calls}
            for one in again:
                node = self._node(one)
                if node not in left:
                    continue
                if one["verdict"] == "inconclusive":
                    doubted[node] = f"but was inconclusive when measured again: {one['reason']}"
                elif one["verdict"] != "regression":
                    doubted[node] = "but not when measured again"
                elif one["ratio"] / max(1.0, machine.get(node, 1.0)) <= 1 + one["margin"]:
                    doubted[node] = (f"but calls of an empty function were {100 * (machine[node] - 1):.0f} % slower, too: the machine "
                                     "was slower, the test is inconclusive")
        return doubted


def _sentence(one: Mapping[str, Any], baseline: str) -> str:
    share = 100 * (one["ratio"] - 1)
    ends = "" if one["low"] is None else f" (95 % interval {100 * (one['low'] - 1):+.1f} to {100 * (one['high'] - 1):+.1f} %)"
    return (f"slower than {baseline}: {one['metric']} {one['test_value']:.4g} {one['unit']} instead of {one['baseline']:.4g}, "
            f"{share:+.1f} %{ends}, beyond the margin of {100 * one['margin']:g} %")
