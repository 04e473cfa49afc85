# SPDX-License-Identifier: Apache-2.0
"""Settings of a thread, applied to another thread."""
from __future__ import annotations

import contextlib
import contextvars
import sys
from typing import Any, Callable, Iterator

_AUTOCAST_DEVICES = ("cpu", "cuda", "xpu", "mps")


def _torch_settings(torch: Any) -> list[Callable[[], Any]]:
    """Returns makers of contexts with this thread's settings."""
    settings: list[Callable[[], Any]] = []
    grad = torch.is_grad_enabled()
    settings.append(lambda: torch.set_grad_enabled(grad))
    if torch.is_inference_mode_enabled():
        settings.append(torch.inference_mode)
    for device in _AUTOCAST_DEVICES:
        with contextlib.suppress(RuntimeError, TypeError, AttributeError):  # no such device, or torch < 2.4
            if torch.is_autocast_enabled(device):
                saved = {"device_type": device, "dtype": torch.get_autocast_dtype(device),
                        "cache_enabled": torch.is_autocast_cache_enabled()}
                settings.append(lambda saved=saved: torch.autocast(**saved))  # type: ignore[misc]
    default: Any = getattr(torch, "get_default_device", lambda: None)()
    if default is not None and default.type != "cpu":
        settings.append(lambda: default)
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        index = torch.cuda.current_device()
        settings.append(lambda: torch.cuda.device(index))
    return settings


class ThreadSettings:
    """Settings of the constructing thread: context variables, numpy's errstate, torch's modes."""

    def __init__(self) -> None:
        self._context = contextvars.copy_context()
        self._settings: list[Callable[[], Any]] = []
        numpy: Any = sys.modules.get("numpy")
        if hasattr(numpy, "geterr"):
            saved = numpy.geterr()  # per thread before numpy 2
            self._settings.append(lambda: numpy.errstate(**saved))
        torch: Any = sys.modules.get("torch")
        if hasattr(torch, "is_grad_enabled"):
            self._settings += _torch_settings(torch)

    def run(self, function: Callable[[], None]) -> None:
        """Calls `function` on this thread with these settings."""
        def called() -> None:
            with contextlib.ExitStack() as stack:
                for setting in self._settings:
                    stack.enter_context(setting())
                function()

        self._context.copy().run(called)


def torch_threads() -> int | None:
    """Returns torch's number of threads; None without torch."""
    count = getattr(sys.modules.get("torch"), "get_num_threads", None)
    return None if count is None else int(count())


@contextlib.contextmanager
def torch_threads_kept() -> Iterator[None]:
    """Restores torch's number of threads at the end."""
    before = torch_threads()
    try:
        yield
    finally:
        torch: Any = sys.modules.get("torch")
        if before is not None and torch.get_num_threads() != before:
            torch.set_num_threads(before)
