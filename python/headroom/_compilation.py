# SPDX-License-Identifier: Apache-2.0
"""Observes torch.compile: time, graph breaks and recompilations."""
from __future__ import annotations

import _thread
import sys
import threading
from typing import Any

_is_guard_taken = False


def take_guard() -> None:
    """Takes torch 2.11's CUDA device guard on a thread that never ends.

    Otherwise the first thread that compiles takes it and releases it for all when it ends (torch built for CUDA, without a device). Each
    case has a thread, so the second one to compile would crash.
    """
    global _is_guard_taken  # pylint: disable=global-statement
    torch: Any = sys.modules.get("torch")
    ensure: Any = getattr(getattr(torch, "_C", None), "_ensureCUDADeviceGuardSet", None)
    if ensure is None or _is_guard_taken:
        return
    _is_guard_taken = True
    taken = threading.Event()

    def hold() -> None:
        ensure()
        taken.set()
        threading.Event().wait()

    _thread.start_new_thread(hold, ())
    taken.wait()


def _frames() -> int:
    """Returns the number of frames compiled so far."""
    utils: Any = sys.modules.get("torch._dynamo.utils")
    return int(utils.counters["frames"]["ok"]) if utils is not None else 0


def _breaks() -> dict[str, int]:
    utils: Any = sys.modules.get("torch._dynamo.utils")
    return dict(utils.counters["graph_break"]) if utils is not None else {}


def _events() -> list[Any]:
    utils: Any = sys.modules.get("torch._dynamo.utils")
    return list(utils.get_compilation_metrics()) if utils is not None and hasattr(utils, "get_compilation_metrics") else []


class Watch:
    """Compilations since construction; none if torch._dynamo is not imported."""

    def __init__(self) -> None:
        self._frames, self._breaks = _frames(), _breaks()
        self._events = len(_events())

    @property
    def frames(self) -> int:
        """Number of compilations."""
        return _frames() - self._frames

    @property
    def seconds(self) -> float:
        """Seconds of the last 64 compilations, which torch remembers."""
        events = _events()
        new = events[self._events:] if len(events) > self._events else events[-self.frames:] if self.frames else []
        return float(sum(event.entire_frame_compile_time_s or 0.0 for event in new))

    @property
    def breaks(self) -> dict[str, int]:
        """Counts of graph breaks, by reason."""
        found = {why.partition("\n")[0]: count - self._breaks.get(why, 0) for why, count in _breaks().items()}
        return {why: count for why, count in found.items() if count > 0}

    @property
    def reasons(self) -> list[str]:
        """Reasons of recompilations."""
        return [str(event.recompile_reason) for event in _events()[self._events:] if getattr(event, "recompile_reason", None)]
