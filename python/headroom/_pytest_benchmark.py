# SPDX-License-Identifier: Apache-2.0
"""Options, hooks and statistics of pytest-benchmark."""
from __future__ import annotations

import os
import shlex
import statistics
from types import SimpleNamespace
from typing import Any, Callable, Sequence

import pytest

_FLAGS = ("disable-gc", "skip", "disable", "enable", "only", "autosave", "save-data", "verbose", "quiet")
_OPTIONAL = ("warmup", "compare", "netrc", "csv", "histogram", "cprofile-dump")
_VALUES = ("min-time", "max-time", "min-rounds", "precision", "confidence", "timer", "calibration-precision", "warmup-iterations", "save",
           "json", "cprofile", "cprofile-loops", "cprofile-top", "storage", "sort", "group-by", "columns", "name", "time-unit")
_FOLLOWED = frozenset(f"--benchmark-{name}" for name in ("skip", "disable", "enable", "only"))
_EQUIVALENTS = {
    "json": "--headroom-json FILE writes the records", "autosave": "the history keeps every run (headroom history)",
    "save": "the history keeps every run (headroom history)", "save-data": "every record has all samples",
    "compare": "--headroom-baseline=@last --headroom-gate 3% compares with the last run",
    "compare-fail": "--headroom-gate 3% fails tests that became slower", "max-time": "--headroom-max-time 1s",
    "warmup": "warm-up is detected; no option needed", "min-rounds": "--headroom-precision 1% decides on the number of samples",
    "min-time": "--headroom-precision 1% decides on the number of samples", "histogram": "headroom report @last writes a page",
    "csv": "headroom show @last prints the table", "storage": "HEADROOM_STORE names the history"}
_FOLLOWED_MARKS = frozenset(("group", "bytes", "flops", "dtype", "bytes_written"))


def plugin(manager: pytest.PytestPluginManager) -> Any:
    """Returns pytest-benchmark's plugin, under any name."""
    return next((one for one in manager.get_plugins() if getattr(one, "__name__", "") == "pytest_benchmark.plugin"), None)


def add_options(parser: pytest.Parser) -> None:
    """Accepts pytest-benchmark's options."""
    group = parser.getgroup("benchmark", "options of pytest-benchmark: headroom honours skip, only, disable and enable")
    for name in _FLAGS:
        group.addoption(f"--benchmark-{name}", action="store_true", default=False, help="as in pytest-benchmark")
    for name in _OPTIONAL:
        group.addoption(f"--benchmark-{name}", nargs="?", default=None, const="", help="as in pytest-benchmark")
    for name in _VALUES:
        group.addoption(f"--benchmark-{name}", default=None, help="as in pytest-benchmark")
    group.addoption("--benchmark-compare-fail", nargs="+", default=None, help="as in pytest-benchmark")


# pylint: disable=multiple-statements
def _scale_unit(config, unit, benchmarks, best, worst, sort): ...  # type: ignore[no-untyped-def]
def _machine_info(config): ...  # type: ignore[no-untyped-def]
def _update_machine_info(config, machine_info): ...  # type: ignore[no-untyped-def]
def _commit_info(config): ...  # type: ignore[no-untyped-def]
def _update_commit_info(config, commit_info): ...  # type: ignore[no-untyped-def]
def _group_stats(config, benchmarks, group_by): ...  # type: ignore[no-untyped-def]
def _json(config, benchmarks, include_data, machine_info, commit_info): ...  # type: ignore[no-untyped-def]
def _update_json(config, benchmarks, output_json): ...  # type: ignore[no-untyped-def]
def _compare_machine_info(config, benchmarksession, machine_info, compared_benchmark): ...  # type: ignore[no-untyped-def]


_HOOKS: dict[str, Callable[..., Any]] = {
    "scale_unit": _scale_unit, "generate_machine_info": _machine_info, "update_machine_info": _update_machine_info,
    "generate_commit_info": _commit_info, "update_commit_info": _update_commit_info, "group_stats": _group_stats,
    "generate_json": _json, "update_json": _update_json, "compare_machine_info": _compare_machine_info}


def add_hooks(manager: pytest.PytestPluginManager) -> None:
    """Accepts pytest-benchmark's hooks in a conftest.py."""
    specifications = SimpleNamespace()
    for name, function in _HOOKS.items():
        hook = getattr(manager.hook, f"pytest_benchmark_{name}", None)
        if hook is None or not hook.has_spec():
            setattr(specifications, f"pytest_benchmark_{name}", pytest.hookspec(function))
    if vars(specifications):
        manager.add_hookspecs(specifications)


def unsupported_options(config: pytest.Config, items: Sequence[pytest.Item]) -> list[str]:
    """Names the options, hooks and marks without effect, and headroom's equivalents of options."""
    words = [*shlex.split(os.environ.get("PYTEST_ADDOPTS", "")), *config.getini("addopts"), *config.invocation_params.args]
    options = [str(word).partition("=")[0] for word in words if str(word).startswith("--benchmark-")]
    ignored = list(dict.fromkeys(option for option in options if option not in _FOLLOWED))
    for name in _HOOKS:
        hook = getattr(config.hook, f"pytest_benchmark_{name}", None)
        if hook is not None and hook.get_hookimpls():
            ignored.append(f"pytest_benchmark_{name}")
    marks = {name for item in items for mark in item.iter_markers("benchmark") for name in mark.kwargs} - _FOLLOWED_MARKS
    ignored += [f"{name}= of the mark" for name in sorted(marks)]
    if not ignored:
        return []
    hints = [f"{option}: {_EQUIVALENTS[name]}" for option in ignored if (name := option[len("--benchmark-"):]) in _EQUIVALENTS]
    return [f"ignored options of pytest-benchmark: {', '.join(ignored)}", *hints]


def _first_quartile(data: Sequence[float]) -> float:
    """Returns the first quartile of sorted data (reversed: the third). Even counts: the median of the half; odd counts: method 3."""
    count, quarter = len(data), len(data) // 4
    if count == 1:
        return data[0]
    if count % 2 == 0:
        return statistics.median(data[:count // 2])
    if count % 4 == 1:
        return 0.25 * data[quarter - 1] + 0.75 * data[quarter]
    return 0.75 * data[quarter] + 0.25 * data[quarter + 1]


class Stats:
    """Samples in s per call, with pytest-benchmark's attributes, also by index."""

    fields = ("min", "max", "mean", "stddev", "rounds", "median", "iqr", "q1", "q3", "iqr_outliers", "stddev_outliers", "outliers",
              "ld15iqr", "hd15iqr", "ops", "total")

    def __init__(self, samples_s: Sequence[float], iterations: int, fixture: Any) -> None:
        self.data = list(samples_s)
        self.sorted_data = sorted(self.data)
        self.rounds, self.iterations = len(self.data), iterations
        self.min, self.max = self.sorted_data[0], self.sorted_data[-1]
        self.total, self.mean = sum(self.data), statistics.fmean(self.data)
        self.median = statistics.median(self.data)
        self.stddev = statistics.stdev(self.data) if self.rounds > 1 else 0.0
        self.q1, self.q3 = _first_quartile(self.sorted_data), _first_quartile(self.sorted_data[::-1])
        self.iqr = self.q3 - self.q1
        low, high = self.q1 - 1.5 * self.iqr, self.q3 + 1.5 * self.iqr
        within = [value for value in self.sorted_data if low <= value <= high] or self.sorted_data
        self.ld15iqr, self.hd15iqr = within[0], within[-1]
        self.iqr_outliers = self.rounds - len(within)
        self.stddev_outliers = sum(abs(value - self.mean) > self.stddev for value in self.data)
        self.outliers = f"{self.stddev_outliers};{self.iqr_outliers}"
        self.ops = self.rounds / self.total if self.total else 0.0
        self.stats = self
        self.fixture = fixture
        self.name, self.fullname, self.group = fixture.name, fixture.fullname, fixture.group
        self.param, self.params, self.extra_info = fixture.param, fixture.params, fixture.extra_info

    def __getitem__(self, name: str) -> Any:
        try:
            return getattr(self, name)
        except AttributeError:
            raise KeyError(name) from None

    def get(self, name: str, default: Any = None) -> Any:
        """Returns the attribute, or `default`."""
        return getattr(self, name, default)

    def as_dict(self) -> dict[str, Any]:
        """Returns the statistics by name."""
        return {name: getattr(self, name) for name in self.fields}
