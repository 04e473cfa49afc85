# SPDX-License-Identifier: Apache-2.0
"""`python _compile_once.py MODULE:FUNCTION | FILE.py:FUNCTION`: calls it once and prints {"compile_s": seconds}. Not for people."""
from __future__ import annotations

import importlib
import json
import os
import runpy
import sys
import time
from typing import Any


def load(target: str) -> Any:
    """The function that `target` names."""
    place, _, name = target.rpartition(":")
    if place.endswith(".py"):
        return runpy.run_path(place, run_name="headroom_cache")[name]
    found = importlib.import_module(place)
    for part in name.split("."):
        found = getattr(found, part)
    return found


if __name__ == "__main__":
    sys.path[0] = os.getcwd()
    function = load(sys.argv[1])
    start = time.perf_counter()
    function()
    print(json.dumps({"compile_s": time.perf_counter() - start}))
