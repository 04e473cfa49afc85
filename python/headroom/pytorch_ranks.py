# SPDX-License-Identifier: Apache-2.0
"""`python -m headroom.pytorch_ranks`: a rank with PyTorch's DTensor and DistributedDataParallel, started by `headroom dispatch --runner
pytorch` and `headroom ddp`. Internal."""
from __future__ import annotations

import datetime
import importlib
import json
import os
import socket
import sys
from typing import Any

from . import _collectives, _ddp, _core, _dtensor, _errors
from .experiments import Declarations
from .state import State


class Rank:
    """This rank, and state shared by its cases."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.rank, self.size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        self.local_rank = int(os.environ.get("LOCAL_RANK", self.rank))
        self._meshes: dict[str, Any] = {}
        self._groups: dict[int, Any] = {}

    def meet(self, timeout_s: float) -> None:
        self.torch.distributed.init_process_group("gloo", rank=self.rank, world_size=self.size,
                                                  timeout=datetime.timedelta(seconds=timeout_s))

    def keep_to_cpus(self, threads: int) -> None:
        """Pins this rank to its CPUs if there are enough for all ranks of the machine, and sets torch's threads."""
        allowed = sorted(os.sched_getaffinity(0))
        here = int(os.environ.get("LOCAL_WORLD_SIZE", self.size))
        if len(allowed) >= here * threads:
            os.sched_setaffinity(0, set(allowed[self.local_rank * threads:(self.local_rank + 1) * threads]))
        self.torch.set_num_threads(threads)

    def mesh(self, shape: str) -> Any:
        """Returns the mesh, made once. Raises ValueError unless it has all ranks."""
        if shape not in self._meshes:
            sizes = tuple(int(size) for size in shape.split("x"))
            count = 1
            for size in sizes:
                count *= size
            if count != self.size:
                raise ValueError(f"a mesh of {shape} needs {count} ranks, there are {self.size}")
            device_mesh: Any = importlib.import_module("torch.distributed.device_mesh")
            self._meshes[shape] = device_mesh.init_device_mesh("cpu", sizes)
        return self._meshes[shape]

    def first(self, ranks: int) -> Any:
        """Returns the group of the first ranks. Collective."""
        if ranks not in self._groups:
            self._groups[ranks] = self.torch.distributed.new_group(list(range(ranks)))
        return self._groups[ranks]


def _declare_dispatch(declarations: Declarations, rank: Rank) -> None:
    for name, (summary, by_default, _) in _dtensor.PANEL.items():
        def measure(state: State, name: str = name) -> None:
            rank.keep_to_cpus(state.threads)
            _dtensor.measure_operator(state, name, rank.mesh(state["mesh"]))
        declarations.add(measure, f"dispatch.{name}", {}, {
            "summary": summary, "backends": ["gloo"], "metric": "latency", "each_rank_counts": True, "places_itself": True,
            "on_request": not by_default, "free_axes": _dtensor.AXES})


def _declare_training(declarations: Declarations, rank: Rank) -> None:
    for name, (summary, takes_images, _) in _ddp.MODELS.items():
        def measure(state: State, name: str = name) -> None:
            _train(state, name, rank)
        axes: dict[str, Any] = {axis: _ddp.AXES[axis] for axis in ("batch_size", "ranks", "ddp")}
        if takes_images:
            axes["image_size"] = [64]
        declarations.add(measure, f"ddp.{name}", {**axes, "bucket_size": _ddp.AXES["bucket_size"]}, {
            "summary": summary, "backends": ["headroom", "c10d"], "metric": "latency", "each_rank_counts": True, "places_itself": True,
            "on_request": name != "resnet18", "free_axes": {"transport": ["gloo"]}})


def _train(state: State, name: str, rank: Rank) -> None:
    ranks = state["ranks"]
    if ranks > rank.size:
        raise ValueError(f"cannot train on {ranks} ranks in a world of {rank.size}")
    if state["transport"] != "gloo":
        state.skip(f"headroom's PyTorch ranks use gloo, not {state['transport']}")
    group = rank.first(ranks)
    if rank.rank >= ranks:
        state.measure_batches(lambda rounds: 0.0)
        return
    if state["ddp"] == "no" and ranks > 1:
        state.skip("without DDP each rank trains a separate model: measured on one rank only")
    rank.keep_to_cpus(state.threads)
    training = _ddp.Training(rank.torch, name, state, ranks, group)
    state.note("library", f"PyTorch {rank.torch.__version__}")
    state.note("parameters", training.parameters)
    state.rate("throughput", state["batch_size"] * ranks, "examples/s")
    columns = {column: state.column(column, "s") for column in _ddp.columns_of(training.is_reducing)}

    def batch(rounds: int) -> float:
        elapsed = 0.0
        for _ in range(rounds):
            times = training.round()
            elapsed += times["iteration"]
            for column, values in columns.items():
                values.add(times[column])
        return elapsed * 1e9

    state.measure_batches(batch)


def _declare_collectives(declarations: Declarations, rank: Rank) -> None:
    for name in _collectives.NAMES:
        def measure(state: State, name: str = name) -> None:
            ranks = state["ranks"]
            if ranks < 2:
                state.skip(f"{name} on {ranks} rank: needs at least 2 ranks")
            if ranks > rank.size:
                raise ValueError(f"cannot run {name} on {ranks} ranks in a world of {rank.size}")
            group = rank.first(ranks)
            if rank.rank >= ranks:
                state.measure_batches(lambda calls: 0.0)
                return
            rank.keep_to_cpus(1)
            _collectives.measure(rank.torch, name, state, group)
        declarations.add(measure, name, _collectives.AXES, {
            "summary": "time of a torch.distributed collective, from a barrier until the slowest rank ends", "backends": ["gloo"],
            "metric": "latency", "places_itself": True, "free_axes": {"dtype": ["f32"]}})


def _answer(request: dict[str, Any], text: str, rank: Rank, conversation: _core.Conversation) -> str:
    what = request.get("do")
    if what == "meet":
        rank.meet(float(request["timeout_s"]))
        return json.dumps({"met": rank.size})
    if what == "backend":
        if request.get("backend") != "gloo":
            raise ValueError(f"headroom's PyTorch ranks use gloo, not {request.get('backend')}")
        return json.dumps({"backend": "gloo"})
    return _core.answer(conversation, text)


def main() -> None:
    text = os.environ.pop("HEADROOM_FD", None)
    if text is None or "RANK" not in os.environ:
        sys.exit("this program is started by `headroom dispatch --runner pytorch` and `headroom ddp`")
    line = socket.socket(fileno=int(text))
    os.set_inheritable(line.fileno(), False)
    lines = line.makefile("rw", encoding="utf-8", newline="\n")

    def send(message: str) -> None:
        lines.write(message + "\n")
        lines.flush()

    try:
        torch: Any = importlib.import_module("torch")
        importlib.import_module("torch.distributed.tensor")
        if not torch.distributed.is_available():
            raise ImportError("it is built without torch.distributed")
    except ImportError as error:
        send(json.dumps({"error": f"{sys.executable} has no PyTorch with DTensor ({error}): pip install torch, "
                                 "or name another Python in HEADROOM_PYTHON"}))
        return
    rank = Rank(torch)
    declarations = Declarations(has_own_threads=True)
    _declare_dispatch(declarations, rank)
    _declare_training(declarations, rank)
    _declare_collectives(declarations, rank)
    conversation = _core.conversation(declarations.registry)
    send(json.dumps({"rank": rank.rank, "size": rank.size, "pid": os.getpid(), "library": {"name": "PyTorch", "version": str(torch.__version__)},
                    "no_counters": "PyTorch ranks have no counters", "arguments": os.environ.get("HEADROOM_RANK_ARGUMENTS", ""),
                    "host": socket.gethostname(), "cores": [], "ids": True}))
    for text in lines:
        request: dict[str, Any] = {}
        try:
            request = json.loads(text)
            reply = json.loads(_answer(request, text, rank, conversation))
        except Exception as error:  # pylint: disable=broad-exception-caught
            reply = {"error": _errors.describe(error)}
        try:
            send(json.dumps({**reply, "id": request.get("id")}))
        except BrokenPipeError:
            break
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
