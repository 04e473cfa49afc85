# SPDX-License-Identifier: Apache-2.0
"""The operators of `headroom dispatch` on PyTorch's DTensor."""
from __future__ import annotations

import importlib
import random
import statistics
import time
from typing import Any, Callable, Sequence

from .state import Column, State

_DTYPES = {"f32": "float32", "f64": "float64", "bf16": "bfloat16"}
_KINDS = ("plain", "local", "placed")
_FEWEST, _ENOUGH_NS = 3, 2_000_000
AXES = {"mesh": ["4"], "placements": ["S(0)"], "shape": ["512x512"], "dtype": ["f32"], "repeats": ["9"]}
"""As for headroom's operators."""


def clear_propagation() -> None:
    """Clears DTensor's cache: the next call of every operator is a miss."""
    debug: Any = importlib.import_module("torch.distributed.tensor.debug")
    if hasattr(debug, "_clear_sharding_prop_cache"):
        debug._clear_sharding_prop_cache()
    else:
        api: Any = importlib.import_module("torch.distributed.tensor._api")
        api.DTensor._op_dispatcher.sharding_propagator.propagate_op_sharding.cache_clear()


class Operands:
    """Arguments of an operator; the first two may be empty."""

    def __init__(self, state: State, mesh: Any, torch: Any) -> None:
        self.torch, self.tensor = torch, importlib.import_module("torch.distributed.tensor")
        self.mesh, self.shape = mesh, [int(size) for size in state["shape"].split("x")]
        self.dtype = getattr(torch, _DTYPES[state["dtype"]])
        self.placements = placements_of(state["placements"], self.tensor)
        self.replicated = [self.tensor.Replicate()] * len(self.placements)
        self.whole: list[Any] = []
        self.local: list[Any] = []
        self.placed: list[Any] = []
        torch.manual_seed(state.seed)
        self.add(self.random(self.shape), self.placements)

    def random(self, sizes: Sequence[int]) -> Any:
        return self.torch.rand(list(sizes)).to(self.dtype)

    def add(self, whole: Any, placements: Sequence[Any]) -> None:
        is_partial = any(placement.is_partial() for placement in placements)
        placed = (self.tensor.DTensor.from_local(whole, self.mesh, placements, run_check=False) if is_partial
                  else self.tensor.distribute_tensor(whole, self.mesh, placements))
        self.whole.append(whole)
        self.placed.append(placed)
        self.local.append(placed.to_local())

    def require_no_plain(self) -> None:
        """Drops plain and local operands, for operators that plain tensors lack."""
        self.whole, self.local = [], []

    def add_weights(self, *sizes: int) -> None:
        self.add(self.random(sizes), self.replicated)


def placements_of(text: str, tensor: Any) -> list[Any]:
    """Parses "S(0),R"."""
    placements = []
    for part in text.replace("x", ",").split(","):
        kind = part.strip().upper()
        placements.append(tensor.Shard(int(kind[kind.index("(") + 1:-1])) if kind.startswith("S") else
                          tensor.Replicate() if kind.startswith("R") else tensor.Partial())
    return placements


Call = Callable[[Sequence[Any]], Any]
Maker = Callable[[Operands], Call]


def _add_in_place(operands: Operands) -> Call:
    operands.add(operands.torch.zeros_like(operands.whole[0]), operands.placements)
    return lambda x: x[0].add_(x[1])


def _product(name: str) -> Maker:
    def make(operands: Operands) -> Call:
        operands.add_weights(operands.shape[-1], operands.shape[-1])
        if name == "addmm":
            operands.add_weights(operands.shape[-1])
            return lambda x: operands.torch.addmm(x[2], x[0], x[1])
        function: Callable[..., Any] = getattr(operands.torch, name)
        return lambda x: function(x[0], x[1])
    return make


def _redistribute(operands: Operands) -> Call:
    to = list(operands.replicated)
    if to == operands.placements:
        to[0] = operands.tensor.Shard(0)
    operands.require_no_plain()
    return lambda x: x[0].redistribute(operands.mesh, to)


def _from_local(operands: Operands) -> Call:
    part, mesh, placements, from_local = operands.local[0], operands.mesh, operands.placements, operands.tensor.DTensor.from_local
    operands.require_no_plain()
    return lambda x: from_local(part, mesh, placements, run_check=False)


def _full(operands: Operands) -> Call:
    operands.require_no_plain()
    return lambda x: x[0].full_tensor()


def _layer_norm(operands: Operands) -> Call:
    columns = operands.shape[-1]
    operands.add_weights(columns)
    operands.add_weights(columns)
    norm: Callable[..., Any] = operands.torch.nn.functional.layer_norm
    return lambda x: norm(x[0], (columns,), x[1], x[2])


def _of(call: Call) -> Maker:
    return lambda operands: call


PANEL: dict[str, tuple[str, bool, Maker]] = {
    "add": ("a + a", True, _of(lambda x: x[0] + x[0])),
    "detach": ("a view of a, detached from its gradient", True, _of(lambda x: x[0].detach())),
    "mm": ("a times a replicated square matrix", True, _product("mm")),
    "addmm": ("mm plus a replicated row", True, _product("addmm")),
    "sum": ("sum of all elements", True, _of(lambda x: x[0].sum())),
    "view": ("a viewed as a vector", True, _of(lambda x: x[0].view(-1))),
    "add_": ("zeros added in place", True, _add_in_place),
    "redistribute": ("from its placement to replicated; communicates", True, _redistribute),
    "from_local": ("makes a distributed tensor from each rank's part", True, _from_local),
    "full": ("gathers a on every rank; communicates", True, _full),
    "layer_norm": ("over the last dimension, replicated weight and bias", True, _layer_norm),
    "softmax": ("over the last dimension", True, _of(lambda x: x[0].softmax(-1))),
    "mul": ("a * a", False, _of(lambda x: x[0] * x[0])),
    "relu": ("ReLU of each element", False, _of(lambda x: x[0].relu())),
    "matmul": ("mm as matmul decomposes it", False, _product("matmul")),
    "mean": ("mean of all elements", False, _of(lambda x: x[0].mean())),
    "t": ("a transposed", False, _of(lambda x: x[0].t())),
    "clone": ("a copy of a", False, _of(lambda x: x[0].clone())),
}


class Cycle:
    """A cycle of one operator: plain, local and distributed calls in random order, equal on all ranks; distributed with an empty cache
    (miss), then with a filled one (hit)."""

    def __init__(self, call: Call, operands: dict[str, Sequence[Any]], repeats: int, seed: int) -> None:
        self._call, self._operands, self._repeats = call, operands, repeats
        self._order = random.Random(seed)

    def columns(self, state: State) -> dict[str, Column]:
        """Declares the columns, in us."""
        names = ["miss", "propagation"]
        if self._operands["plain"]:
            names.append("plain")
        if self._operands["local"]:
            names += ["local", "hit over local", "miss over local"]
        return {name: state.column(name, "us") for name in names}

    def run(self, columns: dict[str, Column]) -> float:
        """Returns the time of the hit in ns."""
        kinds = list(_KINDS)
        self._order.shuffle(kinds)
        times: dict[str, float] = {}
        for kind in kinds:
            if kind == "placed":
                self._call(self._operands["placed"])
                clear_propagation()
                times["miss"] = self._time("placed")
                times["hit"] = self._typical("placed", False)
            elif self._operands[kind]:
                times[kind] = self._typical(kind, True)
        times["propagation"] = times["miss"] - times["hit"]
        if "local" in times:
            times["hit over local"] = times["hit"] - times["local"]
            times["miss over local"] = times["miss"] - times["local"]
        for name, column in columns.items():
            column.add(times[name] / 1e3)
        return times["hit"]

    def _time(self, kind: str) -> float:
        operands = self._operands[kind]
        begin = time.perf_counter_ns()
        result = self._call(operands)
        end = time.perf_counter_ns()
        del result
        return end - begin

    def _typical(self, kind: str, may_be_fewer: bool) -> float:
        times: list[float] = []
        while len(times) < self._repeats and not (may_be_fewer and len(times) >= _FEWEST and sum(times) > _ENOUGH_NS):
            times.append(self._time(kind))
        return statistics.median(times)


def measure_operator(state: State, name: str, mesh: Any) -> None:
    """Verifies and measures an operator on `mesh`."""
    torch: Any = importlib.import_module("torch")
    operands = Operands(state, mesh, torch)
    call = PANEL[name][2](operands)
    with torch.no_grad():
        if operands.whole and not any(placement.is_partial() for placement in operands.placements):
            state.verify(call(operands.placed).full_tensor(), call(operands.whole), rtol=1e-2 if state["dtype"] == "bf16" else 1e-5)
    state.note("library", f"PyTorch {torch.__version__}")
    cycle = Cycle(call, {"plain": operands.whole, "local": operands.local, "placed": operands.placed}, int(state["repeats"]), state.seed)
    columns = cycle.columns(state)

    def batch(cycles: int) -> float:
        with torch.no_grad():
            return sum(cycle.run(columns) for _ in range(cycles))

    state.measure_batches(batch)
