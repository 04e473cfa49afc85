# SPDX-License-Identifier: Apache-2.0
"""Experiments: functions that `headroom run` measures, declared by a decorator."""
from __future__ import annotations

import inspect
import os
import sys
from typing import Any, Callable, Iterable, Mapping, Sequence, TypeVar, overload

from . import _compilation, _door, _errors
from ._program import program
from .state import State

Function = TypeVar("Function", bound=Callable[[State], None])


class Declarations:
    """Experiments that one runner serves. What cannot be declared is an experiment that fails, saying why."""

    def __init__(self) -> None:
        self.registry = _door.registry()
        self._places: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._places)

    def add(self, function: Callable[[State], None], name: str, axes: Mapping[str, Sequence[object]],
            about: Mapping[str, Any]) -> None:
        """Declares `function`; `about` are the other parameters of experiment()."""
        place = _place(function)
        problem = None
        if name in self._places:
            problem = f"two experiments are called {name} ({self._places[name]} and {place}): name= tells them apart"
            number = 2
            while f"{name}#{number}" in self._places:
                number += 1
            name = f"{name}#{number}"
        try:
            told = _about(axes, about)
        except (TypeError, ValueError) as error:
            problem, told = problem or f"{error} ({place})", {}
        self._places[name] = place
        if problem is not None:
            reason = problem
            _door.add(self.registry, name, lambda case: case.fail(reason), {"summary": reason, "backends": ["python"]})
            return
        integers = [axis for axis, kind, _ in told["axes"] if kind == "integer"]
        device = str(about.get("device") or "cpu")
        _door.add(self.registry, name, lambda case: _run(function, case, integers, device), told)


def _run(function: Callable[[State], None], case: _door.Case, integers: list[str], device: str) -> None:
    _compilation.take_guard()
    state = State(case, integers, device)
    try:
        function(state)
    except _door.Ended:
        raise
    except BaseException as error:  # pylint: disable=broad-exception-caught
        reason = _errors.describe(error)
        error.__traceback__ = None  # it holds the inputs of the case
        case.fail(reason)
    finally:
        state._end()  # pylint: disable=protected-access


def _place(function: Callable[..., Any]) -> str:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}" if code else repr(function)


def _axis(name: object, values: object) -> tuple[str, str, list[str]]:
    if not isinstance(name, str) or not name or "=" in name:
        raise TypeError(f"an axis is called {name!r}: expected a name without '='")
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"the axis {name} is {values!r}: expected a list of values")
    listed = list(values)
    if not listed:
        raise ValueError(f"the axis {name} has no values")
    if all(isinstance(value, int) and not isinstance(value, bool) and value > 0 for value in listed):
        return name, "integer", [str(value) for value in listed]
    if not all(isinstance(value, (str, int, float, bool)) for value in listed):
        wrong = next(value for value in listed if not isinstance(value, (str, int, float, bool)))
        raise TypeError(f"the axis {name} has the value {wrong!r}: expected numbers or texts")
    return name, "text", [str(value) for value in listed]


def _texts(name: str, values: object) -> list[str]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"{name} is {values!r}: expected a list of names")
    texts = list(values)
    for text in texts:
        if not isinstance(text, str) or not text:
            raise TypeError(f"{name} has {text!r}: expected names")
    return texts


def _about(axes: Mapping[str, Sequence[object]], about: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(axes, Mapping):
        raise TypeError(f"axes is {axes!r}: expected {{name: values}}")
    told = dict(about)
    told["axes"] = [_axis(name, values) for name, values in axes.items()]
    told["axes"] += [(name, "free", values) for name, values in (about.get("free_axes") or {}).items()]
    told["backends"] = _texts("backends", about["backends"])
    if not told["backends"]:
        raise ValueError("backends is empty: expected at least one name")
    told["variants"] = {backend: _texts("variants", names) for backend, names in (about.get("variants") or {}).items()}
    for count in about.get("threads") or ():
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            raise TypeError(f"threads has {count!r}: expected numbers from 1 on")
    return told


declared = Declarations()
"""What experiment() declares, and main() and `headroom run FILE.py` measure."""
_is_served = False


@overload
def experiment(function: Function) -> Function: ...
@overload
def experiment(*, axes: Mapping[str, Sequence[object]] | None = None, backends: Sequence[str] = ("python",),
               metric: str | None = None, variants: Mapping[str, Sequence[str]] | None = None, threads: Sequence[int] = (),
               device: str = "cpu", name: str | None = None, model: str | None = None, on_request: bool = False,
               also_metrics: Sequence[str] = ()) -> Callable[[Function], Function]: ...
def experiment(function: Function | None = None, *, axes: Mapping[str, Sequence[object]] | None = None,
               backends: Sequence[str] = ("python",), metric: str | None = None,
               variants: Mapping[str, Sequence[str]] | None = None, threads: Sequence[int] = (), device: str = "cpu",
               name: str | None = None, model: str | None = None, on_request: bool = False,
               also_metrics: Sequence[str] = ()) -> Any:
    """Declares a function of a State as an experiment, as HEADROOM_EXPERIMENT does in C++.

    axes: {name: values}; positive integers make an axis of integers, of which others may be asked for, anything else one of texts.
    backends: implementations to compare, which state.backend tells apart; metric: what tables show and targets are about; variants:
    {backend: ways to do the same}, of which the fastest is taken; threads: how many threads its cases take, compared; device: where
    the work happens ("cpu", "cuda", "xpu", "mps"); model: that it runs; on_request: measured only where it is named;
    also_metrics: what stands beside the metric.
    What cannot be declared is a failed row of the table that says why; the others go on.
    """
    def declare(made: Function) -> Function:
        summary = (inspect.getdoc(made) or "").strip().partition("\n")[0]
        declared.add(made, name or made.__name__, axes or {}, {
            "summary": summary, "backends": backends, "metric": metric, "variants": variants, "threads": threads,
            "device": device, "model": model, "on_request": on_request, "also_metrics": also_metrics})
        return made

    return declare if function is None else declare(function)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures the experiments of this script: becomes `headroom run SCRIPT ARGUMENTS` (default: those of the script).

    Where `headroom run` started the script, it returns at once, and the experiments are served when the script is over.
    """
    if _is_served:
        return
    module = sys.modules.get("__main__")
    script = getattr(module, "__file__", None)
    if script is None:
        raise RuntimeError("main() measures the experiments of a script: in a notebook or at a prompt use headroom.compare()")
    words = list(sys.argv[1:] if arguments is None else arguments)
    spec = getattr(module, "__spec__", None)
    named = [script] if spec is None else ["--python", spec.name]
    os.environ["HEADROOM_PYTHON"] = sys.executable
    sys.stdout.flush()
    sys.stderr.flush()
    path = program()
    os.execv(path, ["headroom", "run", *named, *words])


def serve_declared(name: str, descriptor: int, refusal: str | None) -> None:
    """Answers headroom at `descriptor` with what was declared, until it asks to end."""
    _door.serve(declared.registry, name, descriptor, refusal, True)


def is_served() -> bool:
    """Whether headroom started this process for its experiments."""
    return _is_served


def begin_serving() -> None:
    """From now on main() returns."""
    global _is_served  # pylint: disable=global-statement
    _is_served = True
