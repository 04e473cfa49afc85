# SPDX-License-Identifier: Apache-2.0
"""`time` and `compare`: functions of this process, measured by the program headroom."""
from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
import threading
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Iterator, Mapping, Protocol, Sequence

from . import _callables, _core, _threads
from ._program import environment, failure, program, run_options
from ._shown import markup, visible
from .experiments import Declarations
from .state import State
from .table import needed

_FINE = (0, 1, 3, 130)  # measured; a row failed; inconclusive; interrupted


@dataclass(frozen=True)
class Measurement:
    """The measurement of one function: median time of a call and its 95 % interval, in ns.

    ratio: (estimate, low, high) of its time to the first function's, in the same rounds. limit_share: share of this machine's limit, if
    bytes or flops were given. failure: why there is no time. samples_ns: mean time of the calls of each sample. notes: disturbances, and
    why sampling ended early. text: the table of `headroom run`.
    """
    name: str
    time_ns: float = float("nan")
    interval_ns: tuple[float, float] | None = None
    samples_ns: Sequence[float] = field(default=(), repr=False)
    ratio: tuple[float, float, float] | None = None
    limit_share: float | None = None
    failure: str = ""
    notes: Sequence[str] = field(default=(), repr=False)
    text: str = field(default="", repr=False)

    def __repr__(self) -> str:
        return self.text.strip("\n") or str(self)

    def __str__(self) -> str:
        if self.failure:
            return visible(f"{self.name}: {self.failure}")
        text = f"{visible(self.name)}: {_time(self.time_ns)}"
        if self.interval_ns is not None:
            text += f" ({_time(self.interval_ns[0])} to {_time(self.interval_ns[1])})"
        if self.ratio is not None:
            text += f", {self.ratio[0]:.3f} x the time of the first ({self.ratio[1]:.3f} to {self.ratio[2]:.3f})"
        return text

    def _repr_html_(self) -> str:
        return f"<code>{markup(str(self))}</code>" + _notes_html(self)


class Comparison(Sequence[Measurement]):
    """Measurements of several functions in the given order, by index or name.

    text: the table of `headroom run`. records: its result file, as for `headroom.read`.
    """

    def __init__(self, measurements: Sequence[Measurement], text: str, records: Mapping[str, Any]) -> None:
        self._measurements = list(measurements)
        self.text = text
        self.records = records

    def __len__(self) -> int:
        return len(self._measurements)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            for one in self._measurements:
                if one.name == key:
                    return one
            raise KeyError(key)
        return self._measurements[key]

    def __iter__(self) -> Iterator[Measurement]:
        return iter(self._measurements)

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        measured = [one for one in self._measurements if one.interval_ns is not None]
        most = max((one.interval_ns[1] for one in measured if one.interval_ns is not None), default=1.0)
        rows = []
        for one in self._measurements:
            ratio = f"{one.ratio[0]:.3f} <small>({one.ratio[1]:.3f}&ndash;{one.ratio[2]:.3f})</small>" if one.ratio else ""
            share = "" if one.limit_share is None else f"{100 * one.limit_share:.1f} %"
            spread = f"<small>{_time(one.interval_ns[0])}&ndash;{_time(one.interval_ns[1])}</small>" if one.interval_ns else ""
            time = markup(one.failure) if one.failure else _time(one.time_ns)
            rows.append(f"<tr><td>{markup(one.name)}</td><td>{time}</td><td>{spread}</td><td>{ratio}</td><td>{share}</td>"
                        f"<td>{_bar(one, most)}</td><td>{_notes_html(one)}</td></tr>")
        return ("<table><tr><th>function</th><th>time</th><th>95&nbsp;%</th><th>&times; the first</th><th>of limit</th><th></th><th>notes</th></tr>"
                + "".join(rows) + "</table>")

    def plot(self) -> Any:
        """Plots times, intervals and samples. Returns matplotlib's Axes. Raises ImportError without matplotlib."""
        pyplot = needed("matplotlib.pyplot", "matplotlib")
        figure, axes = pyplot.subplots()
        for place, one in enumerate(self._measurements):
            axes.plot(list(one.samples_ns), [place] * len(one.samples_ns), ".", alpha=0.3)
            if one.interval_ns is not None:
                axes.plot(one.interval_ns, [place] * 2, "-", color="black", linewidth=3)
        axes.set_yticks(range(len(self)), [one.name for one in self._measurements])
        axes.set_xlabel("time of a call [ns]")
        axes.set_xlim(left=0)
        figure.tight_layout()
        return axes


def _time(ns: float) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.3g} ns"


def _bar(one: Measurement, most: float) -> str:
    if one.interval_ns is None:
        return ""
    low, high = (180 * ns / most for ns in one.interval_ns)
    middle = 180 * one.time_ns / most
    return (f'<svg width="190" height="14"><rect x="0" y="4" width="{middle:.1f}" height="6" fill="#8ab"/>'
            f'<line x1="{low:.1f}" x2="{high:.1f}" y1="7" y2="7" stroke="#234" stroke-width="3"/></svg>')


def _notes_html(one: Measurement) -> str:
    return "".join(f"<br><small>{markup(note)}</small>" for note in one.notes)


_STOPPED = {"interrupted": "interrupted: results so far are shown", "runner-lost": "the runner was lost: its results so far are shown"}


def _notes(latency: Mapping[str, Any]) -> list[str]:
    """Returns the marks of the table as sentences."""
    kinds = {note["kind"] for note in latency.get("note_values", ())}
    more = [_STOPPED[latency["stop"]]] if latency.get("stop") in _STOPPED else []
    if latency.get("stop") in ("max-time", "max-samples") and not kinds & {"time-cap", "as-many-as-asked"}:
        more.append("stopped by the cap on time or samples before the precision goal")
    if not latency.get("interval"):
        samples = sum(len(process["values"]) for process in latency.get("samples", ()))
        more.append(f"no interval: {'fewer than 6 samples' if samples < 6 else 'the samples drift'}")
    if latency.get("modes"):
        more.append("modes: the times form several groups, and the median describes at most one")
    if "recompiled" in latency["model"].get("extra_info", {}):
        more.append("torch.compile recompiled during sampling")
    return [*latency.get("notes", ()), *more]


def _measurement(name: str, records: Sequence[Mapping[str, Any]]) -> Measurement:
    of_case = [record for record in records if record["model"]["backend"] == name]
    latency = next((record for record in of_case if record["metric"]["name"] == "latency"), None)
    if latency is None:
        reason = of_case[0]["outcome"]["reason"] if of_case else "interrupted before it was measured"
        return Measurement(name, failure=reason or "it was not measured")
    if latency["outcome"]["kind"] != "measured":
        return Measurement(name, failure=latency["outcome"]["reason"])
    interval, ratio = latency.get("interval"), latency.get("ratio")
    limit = next((record["limit"] for record in of_case if record.get("limit")), None)
    return Measurement(
        name, latency["metric"]["value"] * 1e3, (interval["low"] * 1e3, interval["high"] * 1e3) if interval else None,
        [value * 1e3 for process in latency.get("samples", ()) for value in process["values"]],
        (ratio["ratio"], ratio["interval"]["low"], ratio["interval"]["high"]) if ratio and ratio.get("interval") else None,
        limit.get("fraction") if limit else None, "", _notes(latency))


class Other(Protocol):
    """Another process with the same cases."""
    @property
    def label(self) -> str:
        """Its runner in records."""

    def serve(self, connection: socket.socket) -> None:
        """Gives it its end of the conversation."""


class _Program:
    """A `headroom run` that samples this process; a thread reads its output."""

    def __init__(self, options: Sequence[str], other: Other | None = None) -> None:
        ours, theirs = socket.socketpair()
        others, far = socket.socketpair()
        with ours, theirs, others, far:
            sockets, passed = ["--runner-socket", str(theirs.fileno())], [theirs.fileno()]
            if other is not None:
                sockets = ["--runner-socket", f"{far.fileno()}={other.label}", "--runner-socket", f"{theirs.fileno()}=python",
                           "--all-backends"]
                passed.append(far.fileno())
            self._process = subprocess.Popen(  # pylint: disable=consider-using-with
                [program(), "run", *sockets, "--json", "-", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                stdin=subprocess.DEVNULL, pass_fds=passed, env=environment(), start_new_session=True)
            if other is not None:
                other.serve(others)
            self._waker = ours.dup()
            self.socket = ours.detach()
        self.was_interrupted = False
        self.output = self.errors = ""
        self._reader = threading.Thread(target=self._read, name="headroom-output", daemon=True)
        self._reader.start()

    def _read(self) -> None:
        try:
            self.output, self.errors = self._process.communicate()
        finally:
            with self._waker, contextlib.suppress(OSError):  # another process may hold the other end
                self._waker.shutdown(socket.SHUT_RDWR)

    def interrupt(self) -> None:
        """Asks it to end with its results so far."""
        self.was_interrupted = True
        self._process.send_signal(signal.SIGINT)

    def end(self) -> None:
        self._process.kill()
        self._reader.join()

    def await_end(self) -> int:
        """Returns the exit code. Ctrl-C asks it to end."""
        while self._reader.is_alive():
            try:
                self._reader.join()
            except KeyboardInterrupt:
                self.interrupt()
        return self._process.returncode


def measure_here(declarations: Declarations, options: Sequence[str], name: str = "python",
                 other: Other | None = None) -> tuple[Mapping[str, Any], str]:
    """Measures on this thread, against `other`. Returns the file of records and the tables as text.

    The default of --threads is torch's setting. Ctrl-C keeps finished measurements. Raises CommandFailed if nothing could be measured.
    """
    threads = _threads.torch_threads()
    if threads is not None and "--threads" not in options:
        options = [*options, "--threads", str(threads)]
    running = _Program(options, other)
    try:
        with _threads.torch_threads_kept():
            _core.serve_here(declarations.registry, name, running.socket, running.interrupt)
        exit_code = running.await_end()
    except BaseException:
        running.end()
        raise
    if exit_code in _FINE and running.output.strip():
        return json.loads(running.output), running.errors
    if running.was_interrupted:
        raise KeyboardInterrupt
    raise failure(running.errors, exit_code)


def compare(functions: Mapping[str, Callable[..., Any]] | Sequence[Callable[..., Any]], *args: Any,
            setup: Callable[[], Any] | None = None, rtol: float | None = None, bytes: float = 0, flops: float = 0,
            dtype: str = "", device: str = "cpu", threads: int | None = None, precision: str | float | None = None,
            max_time: str | float | None = None, samples: int | None = None, quick: bool = False, name: str = "compare") -> Comparison:
    """Measures functions against each other: each round samples all in a new random order, until the times are precise.

    functions: {name: function} or functions, called with `args`; the first is the baseline. setup: runs before each call, untimed. rtol:
    verifies results against the first function's; a wrong one fails. bytes, flops, dtype: work of a call, for the share of this machine's
    limit. threads: of torch and the limits (default: torch's setting, without torch all CPUs). precision: goal for the half-width of the 95
    % interval, "1%" or 0.01. max_time: "5s" or seconds, of sampling and, from 5 s on, of the whole call; functions not reached fail.
    samples: exactly so many. quick: fewer samples.
    Replaces torch.utils.benchmark.Timer, triton.testing.do_bench and %timeit. Functions run on this thread with its settings. Ctrl-C keeps
    what was measured. Raises ValueError without functions or for equal names, TypeError for functions whose call would do nothing or lacks
    an argument, headroom.CommandFailed if nothing can be measured.
    """
    named = dict(functions) if isinstance(functions, Mapping) else {}
    if not isinstance(functions, Mapping):
        for function in functions:
            called = getattr(function, "__name__", repr(function))
            if called in named:
                raise ValueError(f"two functions have the name {called}: use compare({{name: function, ...}})")
            named[called] = function
    if not named:
        raise ValueError("compare() needs a function")
    for function in named.values():
        _callables.require_call(function, *args)
    if setup is not None:
        _callables.require_call(setup)
    first = next(iter(named.values()))

    def experiment(state: State) -> None:
        function = named[state.backend]
        if bytes or flops:
            state.work(bytes=bytes, flops=flops, dtype=dtype)
        if rtol is not None:
            def answer() -> Any:
                if setup is not None:
                    setup()
                return function(*args)

            state.verify(answer, reference=lambda: first(*args), rtol=rtol)
        if args:
            state.measure_call(lambda: function(*args), setup=setup)
        else:
            state.measure_call(function, setup=setup)

    declarations = Declarations()
    declarations.add(experiment, name, {}, {"backends": list(named), "device": device})
    options = [*run_options(precision, max_time, samples, threads), "--hot"]
    options += [option for option, is_given in (("--no-limits", not (bytes or flops)), ("--quick", quick)) if is_given]
    records, text = measure_here(declarations, options)
    return Comparison([_measurement(backend, records["records"]) for backend in named], text, records)


def time(function: Callable[..., Any], *args: Any, name: str | None = None, **options: Any) -> Measurement:
    """Measures calls of `function(*args)`: the median time with its interval. Options as for compare()."""
    called = str(name or getattr(function, "__name__", "function"))
    compared = compare({called: function}, *args, name=called, **options)
    measured: Measurement = replace(compared[0], text=compared.text)
    return measured
