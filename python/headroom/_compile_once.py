# SPDX-License-Identifier: Apache-2.0
"""`python _compile_once.py MODULE:FUNCTION|FILE.py:FUNCTION [sys.path...]`: calls it once and prints {"compile_s": seconds}.

Internal. Output of the function goes to standard error.
"""
from __future__ import annotations

import importlib
import json
import os
import runpy
import sys
import time
from typing import Any


def load(target: str) -> Any:
    """Returns the function named by `target`. Exits without one."""
    place, _, name = target.rpartition(":")
    try:
        if place.endswith(".py"):
            return runpy.run_path(place, run_name="headroom_cache")[name]
        found = importlib.import_module(place)
        for part in name.split("."):
            found = getattr(found, part)
    except (AttributeError, KeyError):
        sys.exit(f"{place} has no function {name}")
    return found


def finish() -> None:
    """Waits for the GPU."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.synchronize()


if __name__ == "__main__":
    result = os.dup(1)
    os.dup2(2, 1)
    sys.path[:] = sys.argv[2:] or sys.path
    function = load(sys.argv[1])
    start = time.perf_counter()
    function()
    finish()
    took = time.perf_counter() - start
    os.write(result, (json.dumps({"compile_s": took}) + "\n").encode())
