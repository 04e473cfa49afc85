# SPDX-License-Identifier: Apache-2.0
"""What torch.compile compiled: how long it took, where graphs break, and whether samples had it compile anew."""
from __future__ import annotations

import _thread
import sys
import threading
from typing import Any

_is_guard_taken = False


def take_guard() -> None:
    """Has a thread that never ends take what else the thread takes that compiles first, and with its end takes from all others.

    It is what torch 2.11 guards CUDA devices with where it is built for them and sees none: cases have threads of their own, and the
    second that compiled would crash.
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
    """Frames that this process has compiled so far."""
    utils: Any = sys.modules.get("torch._dynamo.utils")
    return int(utils.counters["frames"]["ok"]) if utils is not None else 0


def _breaks() -> dict[str, int]:
    utils: Any = sys.modules.get("torch._dynamo.utils")
    return dict(utils.counters["graph_break"]) if utils is not None else {}


def _events() -> list[Any]:
    utils: Any = sys.modules.get("torch._dynamo.utils")
    return list(utils.get_compilation_metrics()) if utils is not None and hasattr(utils, "get_compilation_metrics") else []


class Watch:
    """What is compiled from now on. Where the program never imports torch._dynamo, that is nothing."""

    def __init__(self) -> None:
        self._frames, self._breaks = _frames(), _breaks()
        self._events = len(_events())

    @property
    def frames(self) -> int:
        """Compilations."""
        return _frames() - self._frames

    @property
    def seconds(self) -> float:
        """That compiling took, of what torch still remembers: its last 64 compilations."""
        events = _events()
        new = events[self._events:] if len(events) > self._events else events[-self.frames:] if self.frames else []
        return float(sum(event.entire_frame_compile_time_s or 0.0 for event in new))

    @property
    def breaks(self) -> dict[str, int]:
        """{why: how often} a graph broke off."""
        found = {why.partition("\n")[0]: count - self._breaks.get(why, 0) for why, count in _breaks().items()}
        return {why: count for why, count in found.items() if count > 0}

    @property
    def reasons(self) -> list[str]:
        """Why what was compiled before was compiled anew."""
        return [str(event.recompile_reason) for event in _events()[self._events:] if getattr(event, "recompile_reason", None)]
