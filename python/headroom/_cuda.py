# SPDX-License-Identifier: Apache-2.0
"""CUDA devices as torch sees them: their memory, and calls captured into graphs, whose time is the device's alone."""
from __future__ import annotations

import gc
import importlib
import sys
from typing import Any, Callable

from .timers import Timer

_MOST_LAUNCHES = 256
"""In a graph, as headroom-cuda has it: more gain nothing, and take longer to capture."""
_MOST_GRAPHS = 8
_HELD_CYCLES = 400_000
"""For which the device spins, some 200 µs, while the host puts the first graphs behind the event that begins a sample."""


def _used_cuda() -> Any:
    """torch.cuda where this process works with it; else none."""
    torch: Any = sys.modules.get("torch")
    return torch.cuda if torch is not None and torch.cuda.is_initialized() else None


def free_memory() -> int | None:
    """Bytes that torch can still have of the device; none where torch does not use it."""
    cuda = _used_cuda()
    return None if cuda is None else int(cuda.mem_get_info()[0]) + int(cuda.memory_reserved()) - int(cuda.memory_allocated())


def release_memory() -> None:
    """Gives what torch's allocator holds and nobody uses back to the device, for the other runners."""
    cuda = _used_cuda()
    if cuda is not None:
        gc.collect()
        cuda.empty_cache()


class Capturing:
    """Makes graphs of work. One of them runs at a time, and nobody keeps its results: they share memory."""

    def __init__(self) -> None:
        self._torch: Any = importlib.import_module("torch")
        self._stream = self._torch.cuda.Stream()
        self._pool = self._torch.cuda.graph_pool_handle()

    def __call__(self, work: Callable[[], object]) -> Callable[[], None]:
        """What launches again all that `work` puts on torch's stream, as one graph, on the same memory.

        `work` must not wait for the device. It is called twice, and the graph is launched once.
        """
        cuda = self._torch.cuda
        self._stream.wait_stream(cuda.current_stream())
        with cuda.stream(self._stream):
            work()  # what is compiled, chosen by timing or allocated once
        graph = cuda.CUDAGraph()
        with cuda.graph(graph, pool=self._pool, stream=self._stream, capture_error_mode="thread_local"):
            work()
        graph.replay()  # the first launch brings it to the device
        cuda.synchronize()
        replay: Callable[[], None] = graph.replay
        return replay


class CapturedCalls:
    """Calls of `body(copy)`, the copies in turn, as graphs that `timer` times: a launch from Python takes longer than many a kernel."""

    def __init__(self, body: Callable[[int], object], copies: int, timer: Timer) -> None:
        self._cuda: Any = importlib.import_module("torch").cuda
        self._body, self._copies, self._timer = body, copies, timer
        self._most = max(_MOST_LAUNCHES // copies, 1) * copies  # whole turns through the copies
        self._captured = Capturing()
        self._graphs: dict[int, Callable[[], None]] = {}
        self._next = 0

    def time(self, iterations: int) -> float:
        """Nanoseconds that the device takes for so many."""
        graphs, rest = divmod(iterations, self._most)
        launches = [self._graph(self._most)] * graphs if graphs else []
        if rest:
            launches.append(self._graph(rest))
        # All begin at the first copy, so that samples are made of the same graphs; the turn before is gone to its end.
        for copy in range(self._next, self._copies) if self._next else ():
            self._body(copy)
        self._next = iterations % self._copies
        self._cuda._sleep(_HELD_CYCLES)  # pylint: disable=protected-access

        def launch_all() -> None:
            for launch in launches:
                launch()

        return self._timer(launch_all)

    def _graph(self, calls: int) -> Callable[[], None]:
        """Of so many calls, the first of the first copy."""
        if calls not in self._graphs:
            if len(self._graphs) == _MOST_GRAPHS:
                del self._graphs[next(iter(self._graphs))]

            def work() -> None:
                for call in range(calls):
                    self._body(call % self._copies)

            self._graphs[calls] = self._captured(work)
            self._next = calls % self._copies
        return self._graphs[calls]
