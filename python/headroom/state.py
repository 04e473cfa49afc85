# SPDX-License-Identifier: Apache-2.0
"""The case that an experiment runs. The measuring is in C++ (headroom/experiment/state.h)."""
from __future__ import annotations

import os
import platform
import sys
import threading
from typing import Any, Callable, Iterable, Mapping, NoReturn, TypeVar

from . import _arrays, _callables, _compilation, _cuda, _core, _values, timers

T = TypeVar("T")
_TOLERANCES = {"f64": 1e-5, "f32": 1e-5, "f16": 1e-3, "bf16": 1.6e-2}
_shared: dict[object, tuple[object, int]] = {}


class Column:
    """A number that the body measures in each iteration, see State.column."""

    def __init__(self, case: _core.Case, number: int) -> None:
        self._add, self._number = case.add, number

    def add(self, amount: float) -> None:
        """Adds to the value of this iteration."""
        self._add(self._number, amount)


class State:
    """The case that an experiment is asked to run.

    axes: {axis: value}, as declared; backend; variant ("": the implementation chooses); threads; cold (inputs come from memory); seed of
    random inputs; device ("cpu").
    """

    def __init__(self, case: _core.Case, readers: Mapping[str, Callable[[str], Any]] | None = None, device: str = "cpu") -> None:
        self._case = case
        self.device = device
        self._shares: list[object] = []
        self.experiment, texts, self.backend, self.variant, self.threads, self.cold, self.seed = case.spec()
        read = readers or {}
        self.axes: dict[str, Any] = {name: read.get(name, str)(text) for name, text in texts.items()}
        self.copies, self._rotates = 1, False
        self._compiled = _compilation.Watch()
        self._reported: set[str] = set()

    def __getitem__(self, axis: str) -> Any:
        """Returns the value of an axis, as declared. Raises KeyError."""
        try:
            return self.axes[axis]
        except KeyError:
            raise KeyError(f"{self.experiment} has no axis {axis!r} (it has {', '.join(self.axes) or 'none'})") from None

    def skip(self, reason: str) -> NoReturn:
        """Skips the case for `reason`."""
        self._case.skip(reason)
        raise AssertionError("the case has ended")

    def wrong_answer(self, reason: str) -> None:
        """Fails the case for a wrong result; under `headroom run --keep-wrong` it goes on, marked."""
        self._case.wrong_answer(reason)

    def require_memory(self, bytes: int) -> None:
        """Skips the case unless so many more bytes are available, on the host and on the CUDA device that torch uses."""
        self._case.require_memory(bytes)
        free = _cuda.free_memory() if self._is_on_cuda() else None
        if free is not None and bytes > free:
            self.skip(f"needs {bytes / 2**30:.1f} GiB of device memory, {free / 2**30:.1f} GiB available")

    def rotate(self, bytes: int) -> int:
        """Returns the number of copies to make of inputs of `bytes` (touched by one iteration): 1 when hot, else enough to exceed twice the
        last-level cache. measure() then calls its body with the index of the copy."""
        self.copies, self._rotates = self._case.rotate(int(bytes)), True
        return self.copies

    def last_level_cache(self, bytes: int) -> None:
        """Sets the size of a device's last-level cache, for rotate()."""
        self._case.last_level_cache(bytes)

    def work(self, bytes: float = 0, flops: float = 0, bytes_written: float = 0, dtype: str = "", exchanged: float = 0) -> None:
        """Declares the work of one iteration: bytes read and written (bytes_written of them written), FLOPs, the dtype ("f32", "bf16",
        "int8") of their peak, and bytes exchanged with other ranks."""
        self._case.work(flops, bytes, bytes_written, dtype, exchanged)

    def input(self, name: str, description: str) -> None:
        """Describes an input for the record: state.input("w", "bf16[1024,1024] normal(0,1)")."""
        self._case.input(name, description)

    def note(self, name: str, text: object) -> None:
        """Adds a fact to the record."""
        self._case.note(name, str(text))

    def rate(self, name: str, amount: float, unit: str) -> None:
        """Reports `amount` per iteration as a rate: state.rate("token_per_sec", 1, "tokens/s")."""
        self._case.rate(name, amount, unit)

    def value(self, name: str, value: float, unit: str = "1", higher_is_better: bool = True) -> None:
        """Reports a value that does not depend on time."""
        self._case.value(name, value, unit, higher_is_better)
        self._reported.add(name)

    def column(self, name: str, unit: str, higher_is_better: bool = False) -> Column:
        """Declares a number that the body measures in each iteration; it has samples and an interval like the time."""
        return Column(self._case, self._case.column(name, unit, higher_is_better))

    def series(self, name: str, unit: str, values: Iterable[float], info: Mapping[str, str | float] | None = None) -> None:
        """Reports values per iteration under a name not known before the run. Call after measure(), if is_concluding."""
        self._case.series(name, unit, list(values), dict(info or {}))

    def verifies_samples(self) -> None:
        """Declares that the body verifies every sample outside of the timed part; wrong_answer() ends it then."""
        self._case.verifies_samples()

    @property
    def is_concluding(self) -> bool:
        """Whether the case has all its samples, after measure(); only then are reports kept."""
        return self._case.is_concluding()

    def shared(self, key: object, make: Callable[[], T]) -> T:
        """Returns an object (weights, a model) shared by concurrent cases of this process; it is released after the last one."""
        held, users = _shared.get(key, (None, 0))
        made: Any = held if users else make()
        if key not in self._shares:
            self._shares.append(key)
            users += 1
        _shared[key] = (made, users)
        return made  # type: ignore[no-any-return]

    def random(self, shape: Any, dtype: str = "f32", seed: int | None = None, like: str | None = None) -> Any:
        """Like headroom.random, with the seed of the case: a native experiment with the same seed has the same inputs."""
        return _arrays.random(shape, dtype, self.seed if seed is None else seed, like)

    def verify(self, run: Callable[[], Any] | Any, reference: Any, rtol: float | None = None, atol: float = 0,
               sums_in: str | None = None, output: Any = ()) -> None:
        """Compares the result of `run` (or the values that it is) with `reference`: values, or a function that returns them.

        Dicts are compared by key; texts, sets and shapes must be equal. Errors up to atol, or rtol times the larger of the expected value
        and the root mean square of all, are accepted. Default rtol: 1e-5 for f32 and f64, 1e-3 for f16, 1.6e-2 for bf16. sums_in: the
        accumulation dtype, if known ("bf16"). A wrong result fails the case, with the index and both values.
        A `run` that can be called is called and compared again after the last sample of each process, with `reference`, if that is a
        function. output: an array that `run` writes into, or a list of them: poisoned before each call.
        """
        def check() -> None:
            _arrays.poison(output)
            self._compare(run() if callable(run) else run, reference() if callable(reference) else reference, rtol, atol, sums_in)

        check()
        if callable(run):
            self._case.after_samples(check)

    def _compare(self, result: Any, reference: Any, rtol: float | None, atol: float, sums_in: str | None) -> None:
        try:
            numbers = _values.numbers_to_compare(result, reference)
        except _values.Different as different:
            self.wrong_answer(f"wrong answer: {different}")
            return
        for got, wanted in numbers:
            actual, expected = _arrays.of(got), _arrays.of(wanted, as_double=True)
            self._case.check(actual.address, actual.count, actual.dtype, expected.address, expected.count,
                             _TOLERANCES[actual.precision] if rtol is None else rtol, atol, sums_in)

    def measure(self, body: Callable[..., Any], setup: Callable[..., Any] | None = None,
                timer: timers.Timer | None = None, captured: bool = False) -> None:
        """Samples `body` until the case is released: body(), or body(copy) if it takes an argument and the inputs rotate.

        setup: runs before each call, untimed. timer: a device clock (headroom.timers); default: that of the experiment's device. Results of
        jax are waited for. The cost of calling a body is measured too.
        captured: on "cuda", calls that enqueue work on torch's stream without waiting are captured into graphs; a sample has the device's
        time without the host's.
        Raises TypeError for an unsuitable body, ValueError for an unsuitable `captured`.
        """
        _callables.require_body(body)
        takes_copy = _callables.takes_argument(body)
        if takes_copy and not self._rotates:
            raise TypeError("measure: the body takes an argument, the index of a copy of the inputs: call state.rotate(bytes) first, "
                            "which returns their number")
        self._measure(body, setup, timer, captured, takes_copy)

    def measure_call(self, function: Callable[..., Any], setup: Callable[..., Any] | None = None) -> None:
        """Like measure(), for a function called without arguments."""
        _callables.require_call(function)
        if setup is not None:
            _callables.require_call(setup)
        self._measure(function, setup, None, False, False)

    def _measure(self, body: Callable[..., Any], setup: Callable[..., Any] | None, timer: timers.Timer | None, captured: bool,
                 takes_copy: bool) -> None:
        self._note_device()
        compiles = self._note_compilation()
        if captured and (setup is not None or timer is not None or not self._is_on_cuda()):
            raise ValueError("measure: captured calls need the device cuda, without setup or timer")
        if timer is None:
            timer = timers.of_device(self.device)
        before = _torch_threads(self.threads)
        if timer is None:
            wait = self._wait_for(body, setup, takes_copy)
            called, nothing = _callable(body, wait, takes_copy)
            self._case.measure(called, _same_arguments(setup, takes_copy), None, nothing, takes_copy, before, _callables.check_result)
        elif captured:
            self.note("launches", "captured into graphs")
            def call(copy: int) -> None:
                body(copy) if takes_copy else body()
            self._case.measure_batches(_cuda.CapturedCalls(call, self.copies, timer).time)
        else:
            self._measure_with(timer, body, setup, takes_copy, before)
        if self.is_concluding:
            self._note_recompilations(compiles)

    def measure_batches(self, batch: Callable[[int], float]) -> None:
        """Samples work with its own clock: batch(iterations) runs that many and returns their ns."""
        self._note_device()
        self._case.measure_batches(batch)

    def _measure_with(self, timer: timers.Timer, body: Callable[..., Any], setup: Callable[..., Any] | None,
                      takes_copy: bool, before: Callable[[], object] | None) -> None:
        copy = 0

        def next_call(function: Callable[..., Any]) -> None:
            if takes_copy:
                function(copy)
            else:
                function()

        def batch(iterations: int) -> float:
            nonlocal copy
            elapsed = 0.0
            if before is not None:
                before()
            if setup is None:
                def run() -> None:
                    nonlocal copy
                    for _ in range(iterations):
                        next_call(body)
                        copy = (copy + 1) % self.copies
                return timer(run)
            for _ in range(iterations):
                setup(copy) if _callables.takes_argument(setup) else setup()
                elapsed += timer(lambda: next_call(body))
                copy = (copy + 1) % self.copies
            return elapsed

        self._case.measure_batches(batch)

    def _wait_for(self, body: Callable[..., Any], setup: Callable[..., Any] | None,
                  takes_copy: bool) -> Callable[[object], object] | None:
        if "jax" not in sys.modules:
            return None
        if setup is not None:
            setup(0) if _callables.takes_argument(setup) else setup()
        return timers.jax_synchronizer(body(0) if takes_copy else body())

    def _note_compilation(self) -> _compilation.Watch | None:
        """Reports compilations so far; returns a watch of later ones."""
        if self._compiled.frames == 0:
            return None
        breaks = self._compiled.breaks
        if "compilation_time(s)" not in self._reported:
            self.value("compilation_time(s)", self._compiled.seconds, "s", higher_is_better=False)
        self.value("graph breaks", sum(breaks.values()), "1", higher_is_better=False)
        if breaks:
            self.note("graph breaks", "; ".join(f"{why} ({count})" for why, count in breaks.items()))
        return _compilation.Watch()

    def _note_recompilations(self, compiles: _compilation.Watch | None) -> None:
        if self._case.collections() > 0:
            self.note("garbage collector", f"ran {self._case.collections()} times in samples, called by the body")
        if compiles is not None and compiles.frames > 0:
            why = f": {compiles.reasons[0]}" if compiles.reasons else ""
            self.note("recompiled", f"{compiles.frames} times while it was sampled{why}")

    def _note_device(self) -> None:
        has_lock = getattr(sys, "_is_gil_enabled", lambda: True)()
        self.note("python", f"{platform.python_implementation()} {platform.python_version()}, "
                            f"{'with' if has_lock else 'without'} the interpreter lock")
        self.note("threads of python", threading.active_count())
        if hasattr(os, "sched_getaffinity"):
            self.note("cpus", ",".join(map(str, sorted(os.sched_getaffinity(0)))))

    def _is_on_cuda(self) -> bool:
        return self.device.partition(":")[0] == "cuda"

    def _end(self) -> None:
        for key in self._shares:
            _release(key)
        if self._is_on_cuda():
            _cuda.release_memory()


def _release(key: object) -> None:
    """Drops a case's use of an object of State.shared."""
    held, users = _shared[key]
    if users > 1:
        _shared[key] = (held, users - 1)
    else:
        del _shared[key]


def _empty_call() -> object:
    return None


def _empty_call_of_copy(copy: int) -> object:  # pylint: disable=unused-argument
    return None


def _callable(body: Callable[..., Any], wait: Callable[[object], object] | None,
              takes_copy: bool) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Returns the function to sample, and an empty one."""
    if wait is None:
        if takes_copy:
            return body, _empty_call_of_copy
        return body, _empty_call
    until = wait
    if takes_copy:
        return (lambda copy: until(body(copy))), (lambda copy: until(_empty_call_of_copy(copy)))
    return (lambda: until(body())), (lambda: until(_empty_call()))


def _same_arguments(setup: Callable[..., Any] | None, takes_copy: bool) -> Callable[..., Any] | None:
    """Returns `setup` with the body's parameters."""
    if setup is None or _callables.takes_argument(setup) == takes_copy:
        return setup
    plain = setup
    if takes_copy:
        return lambda copy: plain()
    return lambda: plain(0)


def _torch_threads(threads: int) -> Callable[[], object] | None:
    """Returns a function that sets torch's threads; None without torch."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return None

    def settle() -> None:
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)

    return settle
