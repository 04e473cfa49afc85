# SPDX-License-Identifier: Apache-2.0
"""Names of tests in records."""
from __future__ import annotations

import math
import re
from typing import Mapping, Sequence

import pytest

from .experiments import text_of

MARKS = ("headroom", "benchmark")


def group_of(item: pytest.Item) -> str | None:
    """Returns the test's group, or None."""
    for name in MARKS:
        for mark in item.iter_markers(name):
            if mark.kwargs.get("group"):
                return str(mark.kwargs["group"])
    return None


def _without_address(text: str) -> str:
    return re.sub(r" at 0x[0-9a-fA-F]+", "", text)


def _is_plain(value: object) -> bool:
    """Whether `value` may be an axis value: equal text in every run, finite."""
    if isinstance(value, str):
        return type(value) is str and 0 < len(value) <= 60 and value.isprintable() and _without_address(value) == value
    return type(value) is bool or type(value) is int and abs(value) < 2**53 or type(value) is float and math.isfinite(value)


class Name:
    """The name of a test in records. Parameters other than numbers and short texts appear as pytest's id."""

    def __init__(self, item: pytest.Item) -> None:
        group = group_of(item)
        function = getattr(item, "originalname", None) or item.name
        self.experiment = group or _without_address(item.nodeid[:len(item.nodeid) - len(item.name)] + function)
        self.backend = _without_address(item.name) if group else "python"
        self.axes: dict[str, object] = {}
        callspec = getattr(item, "callspec", None)
        if callspec is not None and not group:
            self.axes = {name: value for name, value in callspec.params.items() if _is_plain(value)}
            if len(self.axes) < len(callspec.params):
                self._add_id(callspec.id)

    def _add_id(self, text: str) -> None:
        self.axes["pytest id" if "id" in self.axes else "id"] = _without_address(text)

    @property
    def case(self) -> tuple[str, str]:
        """Returns (case, backend), as in comparisons."""
        return case_text(self.experiment, self.axes), self.backend

    def differ(self, item: pytest.Item, number: int) -> None:
        """Renames a test whose name `number` others have."""
        callspec = getattr(item, "callspec", None)
        if group_of(item):
            self.backend = _without_address(item.nodeid) + (f" #{number}" if number > 1 else "")
        else:
            self._add_id((callspec.id if callspec is not None else "") + (f" #{number + 1}" if number > 1 or callspec is None else ""))


def names(items: Sequence[pytest.Item]) -> dict[str, Name]:
    """Returns unique names by node id."""
    made: dict[str, Name] = {}
    taken: set[tuple[str, str]] = set()
    for item in items:
        name, number = Name(item), 1
        while name.case in taken:
            name = Name(item)
            name.differ(item, number)
            number += 1
        taken.add(name.case)
        made[item.nodeid] = name
    return made


def case_text(experiment: str, axes: Mapping[str, object]) -> str:
    """Returns a case's name, as in comparisons."""
    return " ".join([experiment, *(f"{name}={text_of(value)}" for name, value in axes.items())])
