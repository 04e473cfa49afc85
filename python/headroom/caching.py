# SPDX-License-Identifier: Apache-2.0
"""`cache`: cold against warm compilation, measured by `headroom cache`."""
from __future__ import annotations

import inspect
import os
import sys
from typing import Any, Callable, Sequence

from ._program import run_command, time_option
from .reading import Records

_COMPILE_ONCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_compile_once.py")


class Cached:
    """Pairs of a cold and a warm run. records: as from headroom.read.

    cold_s, warm_s: medians in s. speed_up, with its 95 % interval (None for one pair).
    With each_layer, {cache: seconds}: without_s is a run without that cache alone, saved_s its extra time. Savings need not add up, as
    caches overlap. Empty caches are left out.
    """

    def __init__(self, result: Any) -> None:
        self.records = Records(result["records"], result["environments"])
        rows = list(self.records.rows())

        def value(caches: str) -> float:
            return next((float(record["metric"]["value"]) for record in result["records"] if record["caches"] == caches), float("nan"))
        self.cold_s, self.warm_s = value("cold"), value("hot")
        gain = next((row for row in rows if row["metric"] == "speedup"), None)
        self.speed_up = float("nan") if gain is None else float(gain["value"])
        self.interval = (gain["low"], gain["high"]) if gain is not None and gain["low"] is not None else None
        without = [record["metric"] for record in result["records"] if "saves" in record["metric"].get("numbers", {})]
        self.without_s = {metric["extra_info"]["cache"]: float(metric["value"]) for metric in without}
        self.saved_s = {metric["extra_info"]["cache"]: float(metric["numbers"]["saves"]) for metric in without}

    def __repr__(self) -> str:
        spread = "" if self.interval is None else f" ({self.interval[0]:.3g} to {self.interval[1]:.3g})"
        lines = [f"cold {self.cold_s:.3g} s, warm {self.warm_s:.3g} s: {self.speed_up:.3g} x as fast{spread}"]
        lines += [f"  {name} saves {self.saved_s[name]:.3g} s: without it alone {seconds:.3g} s"
                  for name, seconds in self.without_s.items()]
        return "\n".join(lines)


def _target(function: Callable[[], Any]) -> str:
    """Returns "module:function" for another process. Raises ValueError if it cannot be found there."""
    name, module = getattr(function, "__qualname__", ""), inspect.getmodule(function)
    if module is None or not name or "<" in name:
        raise ValueError(f"another process cannot find {function!r}: use a function at the top level of a module or script")
    if module.__name__ != "__main__":
        return f"{module.__name__}:{name}"
    file = getattr(module, "__file__", None)
    if file is None:
        raise ValueError(f"another process cannot find {name}, which was defined at a prompt: put it into a file")
    return f"{os.path.abspath(file)}:{name}"


def cache(what: Callable[[], Any] | str | Sequence[str], layers: Sequence[str] = ("inductor", "triton"), repeat: int = 6,
          each_layer: bool = False, name: str | None = None, timeout: str | None = None,
          max_time: str | float | None = None) -> Cached:
    """Measures `what` with cold caches, then with those that the first run left.

    what: a function without arguments that compiles and calls something; "module:function"; or a command as a list of words (wall time). A
    script is imported in each process under another name than "__main__".
    layers: as `headroom cache --layer`; repeat: pairs; each_layer: another run for each cache, without that one; timeout: of a run
    ("2000s"); max_time: "2min" or seconds, from 5 s on of the whole call.
    Raises ValueError for a function that another process cannot find, headroom.CommandFailed if a run fails or the time ends before the
    first pair.
    """
    options = [word for layer in layers for word in ("--layer", layer)] + ["--repeat", str(repeat), "--no-store", "--json", "-"]
    if each_layer:
        options.append("--each-layer")
    if timeout is not None:
        options += ["--timeout", timeout]
    if max_time is not None:
        options += ["--max-time", time_option(max_time)]
    if isinstance(what, str) and not all(what.rpartition(":")):
        raise ValueError(f"{what!r} is not \"module:function\"; a command is a list of words")
    if callable(what) or isinstance(what, str):
        target = what if isinstance(what, str) else _target(what)
        command = [sys.executable, _COMPILE_ONCE, target, os.getcwd(), *filter(None, sys.path)]
        options += ["--metric", "json:/compile_s", "--unit", "s", "--name", name or target.rpartition(":")[2]]
    else:
        command = list(what)
        options += ["--name", name] if name else []
    return Cached(run_command(["cache", *options, "--", *command]))
