# SPDX-License-Identifier: Apache-2.0
"""Measures distributed code under torchrun: the cost of DTensor, and of communication in DDP and FSDP.

Every rank must make the same calls in the same order. Rank 0 asks headroom when to sample; a sample takes the time of the slowest rank.
"""
from __future__ import annotations

import contextlib
import copy
import importlib
import json
import random
import time
from typing import Any, Callable, Mapping, Sequence

from ._dtensor import clear_propagation
from ._errors import describe
from ._program import CommandFailed, run_options
from .experiments import Declarations
from .reading import Records
from .state import State
from .table import Table
from .timing import measure_here

_CALLS = 9
_TRACED = 10
_COMMUNICATION = ("_c10d_functional", "c10d", "_dtensor")
Batch = Callable[[int, Callable[[str, float], None]], float]


class RankFailed(RuntimeError):
    """The measured function raised on a rank."""


class Measured:
    """A measurement, the same on every rank.

    records: as from headroom.read; text: headroom's tables. operators: a table of the operators of a call: operator, calls, time (on the
    host, of all these calls, in us), share, communicates. notes: {metric: why it was not measured}.
    """

    def __init__(self, measured: Mapping[str, Any], text: str, operators: Table, notes: Mapping[str, str] | None = None) -> None:
        self.records = Records(measured["records"], measured["environments"])
        self.text = text
        self.operators = operators
        self.notes = dict(notes or {})

    def __getitem__(self, metric: str) -> float:
        """Returns the estimate of a metric ("hit", "miss", "exposed communication"). Raises KeyError."""
        for row in self.records.rows():
            if row["metric"] == metric and row["value"] is not None:
                return float(row["value"])
        if metric in self.notes:
            raise KeyError(f"no metric {metric!r}: {self.notes[metric]}")
        raise KeyError(f"no metric {metric!r}: there are {', '.join(dict.fromkeys(self.records['metric']))}")

    def __repr__(self) -> str:
        lines = []
        for row in self.records.rows():
            spread = "" if row["low"] is None else f"  ({row['low']:.4g} to {row['high']:.4g})"
            lines.append(f"{row['metric']}: {row['value']:.4g} {row['unit']}{spread}" if row["value"] is not None
                         else f"{row['experiment']}: {row['reason']}")
        lines += [f"{metric}: {why}" for metric, why in self.notes.items()]
        return "\n".join([*lines, "", repr(self.operators)])


def _torch_distributed() -> tuple[Any, Any]:
    try:
        torch: Any = importlib.import_module("torch")
    except ImportError:
        raise RuntimeError("distributed code needs torch in this Python: pip install torch") from None
    if not torch.distributed.is_available() or not torch.distributed.is_initialized():
        raise RuntimeError("no process group: start the script with torchrun and call torch.distributed.init_process_group() first")
    return torch, torch.distributed


def _operators(torch: Any, call: Callable[[], object], synchronize: Callable[[], object]) -> Table:
    """Returns each operator's host time, excluding nested operators."""
    mode_module: Any = importlib.import_module("torch.utils._python_dispatch")
    times: dict[str, list[float]] = {}

    class Times(mode_module.TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            begin = time.perf_counter_ns()
            result = function(*args, **(kwargs or {}))
            times.setdefault(str(function), []).append(time.perf_counter_ns() - begin)
            return result

    call()
    synchronize()
    with Times():
        for _ in range(_TRACED):
            call()
    total = sum(sum(of) for of in times.values()) or 1.0
    rows = [{"operator": name, "calls": len(of) / _TRACED, "time": sum(of) / _TRACED / 1e3, "share": sum(of) / total,
             "communicates": name.partition(".")[0] in _COMMUNICATION or "::" in name and name.partition("::")[0] in _COMMUNICATION}
            for name, of in times.items()]
    return Table.of_rows(sorted(rows, key=lambda row: -float(str(row["time"]))), {"time": "us", "share": "1"})


def _measure(name: str, columns: Mapping[str, str], batch: Batch, options: Sequence[str],
             notes: Mapping[str, str] | None = None) -> tuple[Mapping[str, Any], str]:
    """Measures on all ranks: rank 0 serves headroom's requests and involves the others. Returns the result on each."""
    torch, distributed = _torch_distributed()
    group = distributed.new_group(backend="gloo")
    order = torch.zeros(1, dtype=torch.int64)

    def run(iterations: int) -> tuple[float, float, dict[str, float]]:
        """Returns the slowest rank's ns, its excess over the fastest, and the columns' means."""
        sums = dict.fromkeys(columns, 0.0)

        def add_amount(column: str, amount: float) -> None:
            sums[column] += amount
        own, failure = 0.0, ""
        try:
            own = batch(iterations, add_amount)
        except Exception as error:  # pylint: disable=broad-exception-caught
            failure = f"rank {distributed.get_rank()}: {describe(error)}"
        failures: list[Any] = [None] * distributed.get_world_size(group)
        distributed.all_gather_object(failures, failure, group=group)
        if any(failures):
            raise RankFailed(next(filter(None, failures)))
        slowest, fastest = (torch.tensor([sign * own], dtype=torch.float64) for sign in (1.0, -1.0))
        distributed.all_reduce(slowest, distributed.ReduceOp.MAX, group=group)
        distributed.all_reduce(fastest, distributed.ReduceOp.MAX, group=group)
        means = torch.tensor(list(sums.values()) or [0.0], dtype=torch.float64)
        distributed.all_reduce(means, group=group)
        means /= distributed.get_world_size(group)
        return slowest.item(), slowest.item() + fastest.item(), dict(zip(sums, means.tolist()))

    if distributed.get_rank() != 0:
        while True:
            distributed.broadcast(order, 0, group=group)
            if order.item() == 0:
                break
            with contextlib.suppress(RankFailed):  # reported by rank 0
                run(int(order.item()))
        measured: list[Any] = [None]
        distributed.broadcast_object_list(measured, 0, group=group)
        return _unpacked(measured[0])

    def experiment(state: State) -> None:
        state.note("ranks", distributed.get_world_size())
        state.note("library", f"PyTorch {torch.__version__}")
        for metric, why in (notes or {}).items():
            state.note(metric, why)
        measured = {column: state.column(column, unit) for column, unit in columns.items()}
        skew = state.column("skew", "us")

        def sample(iterations: int) -> float:
            order.fill_(iterations)
            distributed.broadcast(order, 0, group=group)
            slowest, more, means = run(iterations)
            skew.add(more / 1e3)
            for column, amount in means.items():
                measured[column].add(amount)
            return slowest

        state.measure_batches(sample)

    declarations = Declarations()
    declarations.add(experiment, name, {"ranks": [distributed.get_world_size()]}, {"backends": ["pytorch"], "places_itself": True})
    try:
        answer: tuple[str, Any] = ("measured", measure_here(declarations, [*options, "--no-limits", "--threads", "1"], "torchrun"))
    except CommandFailed as error:
        answer = ("failed", (str(error), error.exit_code))
    order.fill_(0)
    distributed.broadcast(order, 0, group=group)
    packed = [json.dumps(answer)]
    distributed.broadcast_object_list(packed, 0, group=group)
    return _unpacked(packed[0])


def _unpacked(text: str) -> tuple[Mapping[str, Any], str]:
    kind, (first, second) = json.loads(text)
    if kind == "failed":
        raise CommandFailed(first, second)
    outcomes = [record["outcome"] for record in first["records"]]
    if outcomes and all(outcome["kind"] != "measured" for outcome in outcomes):
        raise CommandFailed(outcomes[0]["reason"], 1)
    return first, second


def dispatch(function: Callable[..., Any], *operands: Any, local: Callable[..., Any] | None = None, name: str | None = None,
             precision: str | None = None, max_time: str | float | None = None, samples: int | None = None) -> Measured:
    """Measures what PyTorch's DTensor adds to function(*operands), under torchrun.

    Metrics, in us: "latency" (a hit in the sharding propagation cache), "miss" (the caches are empty) and "propagation" (the difference);
    with `local`, the same on this rank's parts (default: `function`, if operands are DTensors), "local" and "hit over local".
    dispatch(function, mesh) measures function(), which makes its own DTensors.
    Returns the same on every rank; `.operators` has the host time of each operator of a call. Raises RuntimeError without a process group,
    headroom.CommandFailed if nothing could be measured.
    """
    torch, _ = _torch_distributed()
    tensor: Any = importlib.import_module("torch.distributed.tensor")
    device_mesh: Any = importlib.import_module("torch.distributed.device_mesh")
    operands = tuple(operand for operand in operands if not isinstance(operand, device_mesh.DeviceMesh))
    parts = [operand.to_local() if isinstance(operand, tensor.DTensor) else operand for operand in operands]
    plain = local or (function if any(isinstance(operand, tensor.DTensor) for operand in operands) else None)
    shuffled = random.Random(1)
    columns = {"miss": "us", "propagation": "us", **({"local": "us", "hit over local": "us"} if plain else {})}

    def once(call: Callable[..., Any], given: Sequence[Any]) -> float:
        begin = time.perf_counter_ns()
        result = call(*given)
        end = time.perf_counter_ns()
        del result
        return end - begin

    def typical(call: Callable[..., Any], given: Sequence[Any]) -> float:
        return sorted(once(call, given) for _ in range(_CALLS))[_CALLS // 2]

    def batch(cycles: int, add_amount: Callable[[str, float], None]) -> float:
        hits = 0.0
        with torch.no_grad():
            for _ in range(cycles):
                own = typical(plain, parts) if plain and shuffled.random() < 0.5 else None
                function(*operands)
                clear_propagation()
                miss, hit = once(function, operands), typical(function, operands)
                if plain and own is None:
                    own = typical(plain, parts)
                hits += hit
                add_amount("miss", miss / 1e3)
                add_amount("propagation", (miss - hit) / 1e3)
                if own is not None:
                    add_amount("local", own / 1e3)
                    add_amount("hit over local", (hit - own) / 1e3)
        return hits

    called = name or getattr(function, "__name__", "function")
    measured, text = _measure(f"dispatch.{called}", columns, batch, run_options(precision or None, max_time, samples or None))
    with torch.no_grad():
        operators = _operators(torch, lambda: function(*operands), lambda: None)
    return Measured(measured, text, operators)


def _quiet(module: Any) -> Callable[[], contextlib.AbstractContextManager[Any]]:
    """Returns a context without reduction: DDP's no_sync, FSDP2's set_requires_gradient_sync."""
    if hasattr(module, "no_sync"):
        no_sync: Callable[[], contextlib.AbstractContextManager[Any]] = module.no_sync
        return no_sync
    if hasattr(module, "set_requires_gradient_sync"):
        @contextlib.contextmanager
        def without() -> Any:
            module.set_requires_gradient_sync(False)
            try:
                yield
            finally:
                module.set_requires_gradient_sync(True)
        return without
    raise TypeError(f"{type(module).__name__} reduces no gradients: wrap it with DistributedDataParallel or fully_shard")


class _SavedModule:
    """Restores `module` and the optimizers stepped inside."""

    def __init__(self, torch: Any, module: Any) -> None:
        self._torch = torch
        self._tensors = [(tensor, tensor.detach().clone()) for tensor in (*module.parameters(), *module.buffers())]
        self._gradients = [(one, None if one.grad is None else one.grad.detach().clone()) for one in module.parameters()]
        self._optimizers: dict[int, tuple[Any, list[dict[str, Any]], dict[Any, Any]]] = {}
        self._hook: Any = None

    def __enter__(self) -> None:
        optimizers: Any = importlib.import_module("torch.optim.optimizer")
        self._hook = optimizers.register_optimizer_step_pre_hook(self._before_step)

    def _before_step(self, optimizer: Any, *_: Any) -> None:
        if id(optimizer) in self._optimizers:
            return
        groups = [copy.deepcopy({key: value for key, value in group.items() if key != "params"}) for group in optimizer.param_groups]
        states = {one: {key: (value, self._copied(value)) for key, value in state.items()} for one, state in optimizer.state.items()}
        self._optimizers[id(optimizer)] = optimizer, groups, states

    def _copied(self, value: Any) -> Any:
        return value.detach().clone() if isinstance(value, self._torch.Tensor) else copy.deepcopy(value)

    def _restored(self, value: Any, kept: Any) -> Any:
        """Restores tensors in place, as others may hold them."""
        return value.copy_(kept) if isinstance(value, self._torch.Tensor) else kept

    def __exit__(self, *_: object) -> None:
        self._hook.remove()
        with self._torch.no_grad():
            for tensor, kept in self._tensors:
                tensor.copy_(kept)
            for one, gradient in self._gradients:
                one.grad = gradient
            for optimizer, groups, states in self._optimizers.values():
                for group, kept in zip(optimizer.param_groups, groups):
                    group.update(kept)
                optimizer.state.clear()
                for one, state in states.items():
                    optimizer.state[one] = {key: self._restored(value, kept) for key, (value, kept) in state.items()}


_STATIC = "not measured: DistributedDataParallel has no no_sync() with static_graph=True"


def ddp(module: Any, step: Callable[[], object], name: str | None = None, precision: str | None = None, max_time: str | float | None = None,
        samples: int | None = None) -> Measured:
    """Measures the cost of communication in an iteration of training, under torchrun.

    Metrics, in us: "latency" of step(), "without reduction" (of gradients) and "exposed communication" (the difference in the same round).
    module: DistributedDataParallel, or under fully_shard (FSDP2); step: one training iteration that calls the module: forward, backward,
    optimizer. Parameters, gradients, buffers and optimizers are copied and restored.
    With static_graph=True only "latency" is measured; `.notes` says why. Returns the same on every rank. Raises TypeError for another
    module, else like dispatch().
    """
    torch, distributed = _torch_distributed()
    without = _quiet(module)
    is_static = bool(getattr(module, "static_graph", False))
    is_alone = distributed.get_world_size() == 1 or is_static
    order = random.Random(1)

    def timed() -> float:
        distributed.barrier()
        begin = time.perf_counter_ns()
        step()
        return time.perf_counter_ns() - begin

    def quiet() -> float:
        with without():
            return timed()

    def batch(iterations: int, add_amount: Callable[[str, float], None]) -> float:
        total = 0.0
        for _ in range(iterations):
            if is_alone:
                total += timed()
                continue
            first = order.random() < 0.5
            alone = quiet() if first else 0.0
            whole = timed()
            alone = alone if first else quiet()
            total += whole
            add_amount("without reduction", alone / 1e3)
            add_amount("exposed communication", (whole - alone) / 1e3)
        return total

    columns = {} if is_alone else {"without reduction": "us", "exposed communication": "us"}
    notes = dict.fromkeys(("without reduction", "exposed communication"), _STATIC) if is_static else {}
    with _SavedModule(torch, module):
        measured, text = _measure(f"ddp.{name or type(getattr(module, 'module', module)).__name__}", columns, batch,
                              run_options(precision or None, max_time, samples or None), notes)
        operators = _operators(torch, step, distributed.barrier)
    return Measured(measured, text, operators, notes)
