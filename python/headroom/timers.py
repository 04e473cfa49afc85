# SPDX-License-Identifier: Apache-2.0
"""Device clocks for asynchronous work. A timer calls a function and returns its device time in ns."""
from __future__ import annotations

import importlib
import sys
from typing import Any, Callable

Timer = Callable[[Callable[[], None]], float]
"""timer(run): calls `run`, which starts the work of a sample, and returns the nanoseconds that the device took for it."""


def _torch_events(device: str) -> Timer:
    torch: Any = importlib.import_module("torch")
    module: Any = getattr(torch, device)

    def time(run: Callable[[], None]) -> float:
        start, stop = module.Event(enable_timing=True), module.Event(enable_timing=True)
        start.record()
        run()
        stop.record()
        module.synchronize()
        return float(start.elapsed_time(stop)) * 1e6

    return time


def _cupy_events() -> Timer:
    cupy: Any = importlib.import_module("cupy")

    def time(run: Callable[[], None]) -> float:
        start, stop = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        run()
        stop.record()
        stop.synchronize()
        return float(cupy.cuda.get_elapsed_time(start, stop)) * 1e6

    return time


def of_device(device: str) -> Timer | None:
    """Returns the timer of "cuda" (torch's events, or cupy's without torch), "xpu" or "mps"; None for the CPU. Raises RuntimeError if the
    device or its library is missing."""
    kind = device.partition(":")[0]
    if kind == "cpu":
        return None
    if kind in ("cuda", "xpu", "mps"):
        if kind == "cuda" and "torch" not in sys.modules and "cupy" in sys.modules:
            return _cupy_events()
        try:
            torch: Any = importlib.import_module("torch")
        except ImportError:
            raise RuntimeError(f"timing work on {kind} needs torch: pip install torch") from None
        module = getattr(torch, kind, None)
        if module is None or not hasattr(module, "Event") or not module.is_available():
            raise RuntimeError(f"torch {torch.__version__} sees no {kind} device")
        return _torch_events(kind)
    raise RuntimeError(f"no timer for device {device!r}: expected cpu, cuda, xpu or mps")


def jax_synchronizer(result: object) -> Callable[[object], object] | None:
    """Returns jax.block_until_ready if `result` has jax arrays, whose work is asynchronous; else None."""
    jax: Any = sys.modules.get("jax")
    if jax is None or not any(hasattr(leaf, "block_until_ready") for leaf in jax.tree_util.tree_leaves(result)):
        return None
    wait: Callable[[object], object] = jax.block_until_ready
    return wait
