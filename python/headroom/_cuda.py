# SPDX-License-Identifier: Apache-2.0
"""CUDA memory and CUDA graphs of torch."""
from __future__ import annotations

import gc
import importlib
import sys
from typing import Any, Callable

from .timers import Timer

_MOST_LAUNCHES = 256
"""Launches in a graph, as in headroom-cuda: more gain nothing, and take longer to capture."""
_MOST_GRAPHS = 8
_HELD_CYCLES = 400_000
"""Cycles, some 200 µs, that the device spins while the host enqueues the first graphs after the start event of a sample."""


def _used_cuda() -> Any:
    """Returns torch.cuda if this process uses it."""
    torch: Any = sys.modules.get("torch")
    return torch.cuda if torch is not None and torch.cuda.is_initialized() else None


def free_memory() -> int | None:
    """Returns the device memory available to torch in bytes, or None."""
    cuda = _used_cuda()
    return None if cuda is None else int(cuda.mem_get_info()[0]) + int(cuda.memory_reserved()) - int(cuda.memory_allocated())


def release_memory() -> None:
    """Frees unused memory of torch's allocator."""
    cuda = _used_cuda()
    if cuda is not None:
        gc.collect()
        cuda.empty_cache()


class Capturing:
    """Captures CUDA graphs that share memory: only one may run at a time."""

    def __init__(self) -> None:
        self._torch: Any = importlib.import_module("torch")
        self._stream = self._torch.cuda.Stream()
        self._pool = self._torch.cuda.graph_pool_handle()

    def __call__(self, work: Callable[[], object]) -> Callable[[], None]:
        """Returns a function that launches the work of `work` as one graph. `work` must not synchronise; it is called twice."""
        cuda = self._torch.cuda
        self._stream.wait_stream(cuda.current_stream())
        with cuda.stream(self._stream):
            work()  # compilation, autotuning and allocations
        graph = cuda.CUDAGraph()
        with cuda.graph(graph, pool=self._pool, stream=self._stream, capture_error_mode="thread_local"):
            work()
        graph.replay()  # the first launch uploads the graph
        cuda.synchronize()
        replay: Callable[[], None] = graph.replay
        return replay


class CapturedCalls:
    """Graphs of body(copy), as a launch from Python outlasts many kernels."""

    def __init__(self, body: Callable[[int], object], copies: int, timer: Timer) -> None:
        self._cuda: Any = importlib.import_module("torch").cuda
        self._body, self._copies, self._timer = body, copies, timer
        self._most = max(_MOST_LAUNCHES // copies, 1) * copies  # whole turns of the copies
        self._captured = Capturing()
        self._graphs: dict[int, Callable[[], None]] = {}
        self._next = 0

    def time(self, iterations: int) -> float:
        """Returns the device time in ns."""
        graphs, rest = divmod(iterations, self._most)
        launches = [self._graph(self._most)] * graphs if graphs else []
        if rest:
            launches.append(self._graph(rest))
        # Samples start at the first copy, to reuse graphs.
        for copy in range(self._next, self._copies) if self._next else ():
            self._body(copy)
        self._next = iterations % self._copies
        self._cuda._sleep(_HELD_CYCLES)  # pylint: disable=protected-access

        def launch_all() -> None:
            for launch in launches:
                launch()

        return self._timer(launch_all)

    def _graph(self, calls: int) -> Callable[[], None]:
        """Returns the graph of `calls` calls, which starts at the first copy."""
        if calls not in self._graphs:
            if len(self._graphs) == _MOST_GRAPHS:
                del self._graphs[next(iter(self._graphs))]

            def work() -> None:
                for call in range(calls):
                    self._body(call % self._copies)

            self._graphs[calls] = self._captured(work)
            self._next = calls % self._copies
        return self._graphs[calls]
