# SPDX-License-Identifier: Apache-2.0
"""The collectives of `headroom ddp --collectives` in torch.distributed."""
from __future__ import annotations

import time
from typing import Any

from .state import State

NAMES = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all")
AXES: dict[str, list[object]] = {"bytes": [1024, 65536, 1048576, 16777216], "ranks": [2]}
_DTYPES = {"f32": "float32", "f64": "float64", "bf16": "bfloat16", "i32": "int32", "i64": "int64"}
_MODULUS = 7
# Bytes sent per rank as a share of the size (nccl-tests' bus factor).


def _exchanged(name: str, ranks: int) -> float:
    return (2 if name == "all_reduce" else 1) * (ranks - 1) / ranks


def _bus_factor(name: str, ranks: int) -> float:
    return 1.0 if name == "broadcast" else _exchanged(name, ranks)


class Collective:
    """One collective with its buffers. Place p of rank r has (r + 1 + p) modulo 7, exact in small floats."""

    def __init__(self, torch: Any, name: str, state: State, group: Any) -> None:
        self._torch, self._name, self._group = torch, name, group
        self._distributed = torch.distributed
        self._rank, self._ranks = self._distributed.get_rank(group), self._distributed.get_world_size(group)
        dtype = getattr(torch, _DTYPES[state["dtype"]])
        whole = state["bytes"] // torch.empty((), dtype=dtype).element_size()
        share = whole // self._ranks
        taken = share if name == "all_gather" else whole
        given = share if name == "reduce_scatter" else whole
        self._source = self._pattern(self._rank, 0, taken, dtype)
        self._in = self._source.clone()
        self._out = self._in if name in ("all_reduce", "broadcast") else torch.zeros(given, dtype=dtype)
        self._expected = self._right(share, given, dtype)

    def _pattern(self, rank: int, first: int, count: int, dtype: Any) -> Any:
        return ((self._torch.arange(first, first + count) + rank + 1) % _MODULUS).to(dtype)

    def _right(self, share: int, given: int, dtype: Any) -> Any:
        torch, ranks = self._torch, range(self._ranks)
        if self._name == "broadcast":
            return self._pattern(0, 0, given, dtype)
        if self._name == "all_gather":
            return torch.cat([self._pattern(rank, 0, share, dtype) for rank in ranks])
        if self._name == "all_to_all":
            return torch.cat([self._pattern(rank, self._rank * share, share, dtype) for rank in ranks])
        first = self._rank * share if self._name == "reduce_scatter" else 0
        return sum((self._pattern(rank, first, given, torch.float64) for rank in ranks), torch.zeros(given)).to(dtype)

    def _call(self) -> None:
        distributed, group = self._distributed, self._group
        if self._name == "all_reduce":
            distributed.all_reduce(self._in, group=group)
        elif self._name == "broadcast":
            distributed.broadcast(self._in, distributed.get_global_rank(group, 0), group=group)
        elif self._name == "all_gather":
            distributed.all_gather_into_tensor(self._out, self._in, group=group)
        elif self._name == "reduce_scatter":
            distributed.reduce_scatter_tensor(self._out, self._in, group=group)
        else:
            distributed.all_to_all_single(self._out, self._in, group=group)

    def time(self, calls: int) -> float:
        """Returns nanoseconds, without the barriers."""
        total = 0
        for _ in range(calls):
            self._in.copy_(self._source)
            self._distributed.barrier(group=self._group)
            begin = time.perf_counter_ns()
            self._call()
            total += time.perf_counter_ns() - begin
        return float(total)

    def mismatch_text(self) -> str:
        """Returns the first error in the last call's data, or ""."""
        self._distributed.barrier(group=self._group)
        if self._torch.equal(self._out, self._expected):
            return ""
        place = int((self._out != self._expected).nonzero()[0])
        return f"wrong data on rank {self._rank}: {self._out[place].item()} at {place}, expected {self._expected[place].item()}"


def measure(torch: Any, name: str, state: State, group: Any) -> None:
    """Measures a collective on the ranks of `group`."""
    ranks, moved = state["ranks"], float(state["bytes"])
    state.rate("algbw", moved * 1e-9, "GB/s")
    state.rate("busbw", moved * 1e-9 * _bus_factor(name, ranks), "GB/s")
    state.work(exchanged=moved * _exchanged(name, ranks))
    state.note("library", f"PyTorch {torch.__version__}")
    collective = Collective(torch, name, state, group)
    state.verifies_samples()

    def batch(calls: int) -> float:
        ns = collective.time(calls)
        wrong = collective.mismatch_text()
        if wrong:
            state.wrong_answer(wrong)
        return ns

    state.measure_batches(batch)
