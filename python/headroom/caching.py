# SPDX-License-Identifier: Apache-2.0
"""`cache`: what is compiled in a process of its own, with empty caches and with what that left in them, by `headroom cache`."""
from __future__ import annotations

import inspect
import os
import sys
from typing import Any, Callable, Sequence

from ._program import run_command, time_option
from .reading import Records

_COMPILE_ONCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_compile_once.py")


class Cached:
    """Pairs of a cold and a warm run. records: as headroom.read gives them.

    cold_s, warm_s: medians in seconds; speed_up and its 95 % interval (None for one pair). With each_layer also without_s: {cache:
    seconds of a run with that cache alone taken away}, and saved_s: {cache: seconds by which that is longer}. They need not add up:
    what one cache loses another may have. A cache that held nothing is not there.
    """

    def __init__(self, told: Any) -> None:
        self.records = Records(told["records"], told["environments"])
        rows = list(self.records.rows())

        def value(caches: str) -> float:
            return next((float(record["metric"]["value"]) for record in told["records"] if record["caches"] == caches), float("nan"))
        self.cold_s, self.warm_s = value("cold"), value("hot")
        gain = next((row for row in rows if row["metric"] == "speedup"), None)
        self.speed_up = float("nan") if gain is None else float(gain["value"])
        self.interval = (gain["low"], gain["high"]) if gain is not None and gain["low"] is not None else None
        without = [record["metric"] for record in told["records"] if "saves" in record["metric"].get("numbers", {})]
        self.without_s = {metric["extra_info"]["cache"]: float(metric["value"]) for metric in without}
        self.saved_s = {metric["extra_info"]["cache"]: float(metric["numbers"]["saves"]) for metric in without}

    def __repr__(self) -> str:
        spread = "" if self.interval is None else f" ({self.interval[0]:.3g} to {self.interval[1]:.3g})"
        lines = [f"cold {self.cold_s:.3g} s, warm {self.warm_s:.3g} s: {self.speed_up:.3g} x as fast{spread}"]
        lines += [f"  {name} saves {self.saved_s[name]:.3g} s: without it alone {seconds:.3g} s"
                  for name, seconds in self.without_s.items()]
        return "\n".join(lines)


def _target(function: Callable[[], Any]) -> str:
    """How another process finds `function`. Raises ValueError where it cannot."""
    name, module = getattr(function, "__qualname__", ""), inspect.getmodule(function)
    if module is None or not name or "<" in name:
        raise ValueError(f"{function!r} cannot be found by another process: give a function of a module or a script, not one within another")
    if module.__name__ != "__main__":
        return f"{module.__name__}:{name}"
    file = getattr(module, "__file__", None)
    if file is None:
        raise ValueError(f"{name} was written at a prompt, and another process cannot find it: put it into a file")
    return f"{os.path.abspath(file)}:{name}"


def cache(what: Callable[[], Any] | str | Sequence[str], layers: Sequence[str] = ("inductor", "triton"), repeat: int = 6,
          each_layer: bool = False, name: str | None = None, timeout: str | None = None,
          max_time: str | float | None = None) -> Cached:
    """Measures `what` with cold caches and again with what the first run left: a function without arguments (which compiles and calls
    what it compiled; its time is that of the call), "module:function", which need not be loaded here, or a command as a list of
    words, whose wall time counts.

    layers: as `headroom cache --layer` has them; repeat: pairs; each_layer: a run more for each cache of a layer, with that alone
    taken away; timeout: of a run ("2000s"); max_time: "2min" or a number of seconds, from 5 s on of the whole call. A script that is measured is imported under another name than "__main__" in each process.
    Raises ValueError for a function that another process cannot find, headroom.CommandFailed where a run fails, or
    the time is over before there is a pair.
    """
    options = [word for layer in layers for word in ("--layer", layer)] + ["--repeat", str(repeat), "--no-store", "--json", "-"]
    if each_layer:
        options.append("--each-layer")
    if timeout is not None:
        options += ["--timeout", timeout]
    if max_time is not None:
        options += ["--max-time", time_option(max_time)]
    if isinstance(what, str) and not all(what.rpartition(":")):
        raise ValueError(f"{what!r} is no \"module:function\"; a command is a list of words")
    if callable(what) or isinstance(what, str):
        target = what if isinstance(what, str) else _target(what)
        command = [sys.executable, _COMPILE_ONCE, target, os.getcwd(), *filter(None, sys.path)]
        options += ["--metric", "json:/compile_s", "--unit", "s", "--name", name or target.rpartition(":")[2]]
    else:
        command = list(what)
        options += ["--name", name] if name else []
    return Cached(run_command(["cache", *options, "--", *command]))
