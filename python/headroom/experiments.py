# SPDX-License-Identifier: Apache-2.0
"""Experiments: functions declared by a decorator and measured by `headroom run`."""
from __future__ import annotations

import inspect
import math
import os
import sys
from typing import Any, Callable, Iterable, Mapping, Sequence, TypeVar, overload

from . import _compilation, _core
from ._program import program
from ._threads import ThreadSettings
from .state import State

Function = TypeVar("Function", bound=Callable[[State], None])


class Declarations:
    """Experiments of one runner. Invalid declarations become failing experiments.

    Experiments run on the serving thread: State.measure() returns at once, and sampling begins after the function. With has_own_threads
    they run on their own threads, with `settings`, and measure() samples.
    """

    def __init__(self, has_own_threads: bool = False) -> None:
        self.registry = _core.registry()
        self.settings: ThreadSettings | None = None
        self._has_own_threads = has_own_threads
        self._places: dict[str, str] = {}
        self._without_threads: list[str] = []

    def __len__(self) -> int:
        return len(self._places)

    def add(self, function: Callable[[State], None], name: str, axes: Mapping[str, Sequence[object]],
            options: Mapping[str, Any]) -> None:
        """Declares `function`; `about`: the other parameters of experiment()."""
        place = _place(function)
        problem = None
        if name in self._places:
            problem = f"two experiments have the name {name} ({self._places[name]} and {place}): rename one with name="
            number = 2
            while f"{name}#{number}" in self._places:
                number += 1
            name = f"{name}#{number}"
        try:
            declaration = _options(axes, options)
        except (TypeError, ValueError) as error:
            problem, declaration = problem or f"{error} ({place})", {}
        self._places[name] = place
        if not options.get("threads"):
            self._without_threads.append(name)
        if problem is not None:
            reason = problem
            _core.add(self.registry, name, lambda case: case.fail(reason), {"summary": reason, "backends": ["python"]})
            return
        device = str(options.get("device") or "cpu")
        readers = {axis: _reader(kind, axes.get(axis, ())) for axis, kind, *_ in declaration["axes"]}

        def run(case: _core.Case) -> None:
            _compilation.take_guard()
            if self.settings is None:
                _run(function, State(case, readers, device))
            else:
                self.settings.run(lambda: _run(function, State(case, readers, device)))

        def begin(case: _core.Case) -> Callable[[], object]:
            return _begin(function, State(case, readers, device))

        _core.add(self.registry, name, run if self._has_own_threads else begin, {**declaration, "on_server": not self._has_own_threads})

    def set_threads(self, count: int) -> None:
        """Sets the threads of experiments declared without `threads`."""
        for name in self._without_threads:
            _core.set_threads(self.registry, name, count)


def _run(function: Callable[[State], None], state: State) -> None:
    try:
        function(state)
    finally:
        state._end()  # pylint: disable=protected-access


def _begin(function: Callable[[State], None], state: State) -> Callable[[], object]:
    """Returns the function that ends the case."""
    try:
        function(state)
    except BaseException:
        state._end()  # pylint: disable=protected-access
        raise
    return state._end  # pylint: disable=protected-access


def _place(function: Callable[..., Any]) -> str:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}" if code else repr(function)


def _axis(name: object, values: object) -> tuple[str, str, list[str], list[str]]:
    if not isinstance(name, str) or not name or "=" in name:
        raise TypeError(f"invalid axis name {name!r}: expected a name without '='")
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"the axis {name} is {values!r}: expected a list of values")
    listed = list(values)
    if not listed:
        raise ValueError(f"the axis {name} has no values")
    texts: dict[str, object] = {}
    for value in listed:
        problem = unrecordable(value)
        if problem:
            raise (TypeError if problem == _NO_VALUE else ValueError)(f"the axis {name} has the value {value!r}: {problem}")
        other = texts.setdefault(text_of(value), value)
        if type(other) is not type(value) or other != value:
            raise ValueError(f"the axis {name} has {other!r} and {value!r}, which -a {name}={text_of(value)} cannot distinguish")
    plain = [_plain(value) for value in listed]
    kind = "text"
    if all(type(value) is int for value in plain):
        kind = "integer" if all(value > 0 for value in plain) else "whole"
    elif all(type(value) in (int, float) for value in plain):
        kind = "real"
    types = ["text" if isinstance(value, str) else "real" if isinstance(value, float) else "written" for value in plain]
    return name, kind, [text_of(value) for value in listed], types


_LARGEST = 2**63
_NO_VALUE = "expected numbers or texts"


def _plain(value: Any) -> Any:
    """Converts values of numpy and enumerations to Python's."""
    if not isinstance(value, (str, int, float)) and hasattr(value, "item") and not hasattr(value, "__len__"):
        value = value.item()
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value) if kind is not str else str.__str__(value)
    return value


def text_of(value: object) -> str:
    """Returns the text of an axis value; whole floats have no fraction."""
    plain = _plain(value)
    return repr(plain).removesuffix(".0") if isinstance(plain, float) else str(plain)


def unrecordable(value: object) -> str:
    """Returns why a record cannot hold `value`, or ""."""
    plain = _plain(value)
    if not isinstance(plain, (str, int, float)):
        return _NO_VALUE
    if isinstance(plain, int) and not -_LARGEST <= plain < _LARGEST:
        return "expected 64-bit integers; use a text for more digits"
    if isinstance(plain, float) and not math.isfinite(plain):
        return "expected finite numbers; use a text for others"
    if isinstance(plain, str) and plain.encode("utf-8", "replace") != plain.encode("utf-8", "surrogatepass"):
        return "expected valid Unicode text"
    return ""


def _reader(kind: str, values: Iterable[object]) -> Callable[[str], Any]:
    """Returns a parser of axis values that returns declared values unchanged."""
    declared_values = {text_of(value): value for value in values}
    read: Callable[[str], Any] = {"integer": int, "whole": int, "real": float}.get(kind, str)

    def value_of(text: str) -> Any:
        return declared_values[text] if text in declared_values else read(text)

    return value_of


def _texts(name: str, values: object) -> list[str]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"{name} is {values!r}: expected a list of names")
    texts = list(values)
    for text in texts:
        if not isinstance(text, str) or not text:
            raise TypeError(f"{name} has {text!r}: expected names")
    return texts


def _options(axes: Mapping[str, Sequence[object]], options: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(axes, Mapping):
        raise TypeError(f"axes is {axes!r}: expected {{name: values}}")
    declaration = dict(options)
    declaration["axes"] = [_axis(name, values) for name, values in axes.items()]
    declaration["axes"] += [(name, "free", values, []) for name, values in (options.get("free_axes") or {}).items()]
    declaration["backends"] = _texts("backends", options["backends"])
    if not declaration["backends"]:
        raise ValueError("backends is empty: expected at least one name")
    declaration["variants"] = {backend: _texts("variants", names) for backend, names in (options.get("variants") or {}).items()}
    for count in options.get("threads") or ():
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            raise TypeError(f"threads has {count!r}: expected integers of at least 1")
    return declaration


declared = Declarations(has_own_threads=True)
"""Experiments declared by experiment(), measured by main() and `headroom run FILE.py`."""
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
    """Declares a function of a State as an experiment, like HEADROOM_EXPERIMENT in C++.

    axes: {name: values}, for state[name]; -a may select other values of the same kind on an axis of numbers. backends: implementations to
    compare, see state.backend. metric: the headline metric, for targets too. variants: {backend: equivalent ways}, of which the fastest is
    used. threads: thread counts to compare (default: torch's setting, without torch all CPUs). device: "cpu", "cuda", "xpu" or "mps".
    model: name of the model. on_request: run only if named. also_metrics: shown with the metric.
    An invalid declaration becomes a failed row; the others run.
    """
    def declare(made: Function) -> Function:
        summary = (inspect.getdoc(made) or "").strip().partition("\n")[0]
        declared.add(made, name or made.__name__, axes or {}, {
            "summary": summary, "backends": backends, "metric": metric, "variants": variants, "threads": threads,
            "device": device, "model": model, "on_request": on_request, "also_metrics": also_metrics})
        return made

    return declare if function is None else declare(function)


def main(arguments: Sequence[str] | None = None) -> None:
    """Replaces this process by `headroom run SCRIPT ARGUMENTS` (default: the script's arguments). Under `headroom run` it returns at once,
    and the experiments are served at the end of the script. Raises RuntimeError outside of a script."""
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


def serve_declared(name: str, descriptor: int, refusal: str | None, threads: int | None) -> None:
    """Serves the declared experiments at `descriptor`. threads: torch's, as set by the script."""
    if threads is not None and threads != len(os.sched_getaffinity(0)):
        declared.set_threads(threads)
    declared.settings = ThreadSettings()
    _core.serve(declared.registry, name, descriptor, refusal)


def is_served() -> bool:
    """Whether headroom started this process."""
    return _is_served


def begin_serving() -> None:
    """Makes main() return."""
    global _is_served  # pylint: disable=global-statement
    _is_served = True
