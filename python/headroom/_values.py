# SPDX-License-Identifier: Apache-2.0
"""Pairs a result with its reference."""
from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any, Iterable, Iterator

_MOST = 80


class Different(ValueError):
    """The result differs; the message says where."""


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _MOST else text[:_MOST] + "..."


def _is_array(values: object) -> bool:
    return hasattr(values, "detach") or hasattr(values, "__array_interface__") or hasattr(values, "__array__")


def _listed(values: Any) -> Any:
    """Converts iterables, and arrays of objects, to lists."""
    if _is_array(values):
        is_of_objects = getattr(getattr(values, "dtype", None), "kind", "f") in "OSUM"
        return values.tolist() if is_of_objects else values
    if isinstance(values, (str, bytes, Mapping, Set, list, tuple)) or not hasattr(values, "__iter__"):
        return values
    return list(values)


def _is_exact(values: Any) -> bool:
    """Whether `values` has parts that are compared exactly."""
    if values is None or isinstance(values, (str, bytes, Mapping, Set)):
        return True
    return isinstance(values, (list, tuple)) and any(_is_exact(_listed(part)) for part in values)


def _shape(values: Any) -> Any:
    """Returns (2, 3) for an array or equal lists; a list of shapes if they differ; None without numbers."""
    if _is_array(values):
        return tuple(int(size) for size in values.shape) if hasattr(values, "shape") else (len(values),)
    if isinstance(values, (list, tuple)):
        parts = [_shape(_listed(part)) for part in values]
        if None in parts:
            return None
        if all(part == parts[0] and isinstance(part, tuple) for part in parts):
            return (len(parts), *(parts[0] if parts else ()))
        return parts
    return () if isinstance(values, (int, float)) else None


def _pairs(actual: Any, expected: Any, where: str) -> Iterator[tuple[Any, Any]]:
    actual, expected = _listed(actual), _listed(expected)
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        for key in expected:
            if key not in actual:
                raise Different(f"the result{where} has no {key!r}, which the reference has")
        for key in actual:
            if key not in expected:
                raise Different(f"the result{where} has {key!r}, which the reference lacks")
            yield from _pairs(actual[key], expected[key], f"{where}[{key!r}]")
    elif isinstance(actual, (list, tuple)) and isinstance(expected, (list, tuple)) and (_is_exact(actual) or _is_exact(expected)):
        if len(actual) != len(expected):
            raise Different(f"the result{where} has {len(actual)} values, the reference {len(expected)}")
        for place, (one, other) in enumerate(zip(actual, expected)):
            yield from _pairs(one, other, f"{where}[{place}]")
    elif _is_exact(actual) or _is_exact(expected):
        if type(actual) is not type(expected) and not (isinstance(actual, Set) and isinstance(expected, Set)) or actual != expected:
            raise Different(f"the result{where} is {_shown(actual)}, the reference {_shown(expected)}")
    else:
        shapes = _shape(actual), _shape(expected)
        if None in shapes:  # the reader reports it
            yield actual, expected
            return
        if shapes[0] != shapes[1] and not all(isinstance(shape, tuple) and len(shape) == 1 for shape in shapes):
            raise Different(f"the result{where} has the shape {shapes[0]}, the reference {shapes[1]}")
        yield actual, expected


def numbers_to_compare(actual: Any, expected: Any) -> Iterable[tuple[Any, Any]]:
    """Returns pairs of numbers, arrays or lists. Dicts are paired by key. Raises Different for any other difference, such as in texts."""
    return list(_pairs(actual, expected, "")) or [((), ())]
