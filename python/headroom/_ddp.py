# SPDX-License-Identifier: Apache-2.0
"""The models of `headroom ddp`, trained by PyTorch's DistributedDataParallel."""
from __future__ import annotations

import contextlib
import importlib
import random
import time
from typing import Any, Callable

from .state import State

_RATE, _MOMENTUM, _DECAY = 0.001, 0.9, 1e-4
_WIDTH, _CLASSES, _HIDDEN = 1024, 1000, 4
AXES: dict[str, list[object]] = {"batch_size": [32], "ranks": [1], "ddp": ["no", "yes"], "bucket_size": [25 << 20], "transport": ["gloo"]}


def _mlp(nn: Any) -> Any:
    layers: list[Any] = []
    for place in range(_HIDDEN + 1):
        layers += [nn.Linear(_WIDTH, _WIDTH if place < _HIDDEN else _CLASSES)]
        if place < _HIDDEN:
            layers.append(nn.ReLU())
    return nn.Sequential(*layers)


def _resnet18(nn: Any) -> Any:
    """Returns a ResNet-18 with torchvision's shapes."""
    class Block(nn.Module):  # type: ignore[misc]
        def __init__(self, inputs: int, outputs: int, stride: int) -> None:
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs)
            self.conv2, self.bn2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs)
            self.relu = nn.ReLU(inplace=True)
            self.downsample = (nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))
                               if stride > 1 or inputs != outputs else None)

        def forward(self, x: Any) -> Any:
            y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
            return self.relu(y + (x if self.downsample is None else self.downsample(x)))

    stages, inputs = [], 64
    for stage, outputs in enumerate((64, 128, 256, 512)):
        for block in range(2):
            stages.append(Block(inputs, outputs, 2 if stage > 0 and block == 0 else 1))
            inputs = outputs
    return nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1), *stages,
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, _CLASSES))


MODELS: dict[str, tuple[str, bool, Callable[[Any], Any]]] = {
    "resnet18": ("ResNet-18 of torchvision's shapes", True, _resnet18),
    "mlp": ("five linear layers of 1024 with ReLU between", False, _mlp),
}
"""{name: (summary, whether it takes images, how it is made)}."""


class Training:
    """A model in training. A round is an iteration with reduction of gradients and, for several ranks, one without."""

    def __init__(self, torch: Any, name: str, state: State, ranks: int, group: Any) -> None:
        _, takes_images, make = MODELS[name]
        torch.manual_seed(state.seed)
        self._torch = torch
        model = make(torch.nn)
        self.parameters = sum(parameter.numel() for parameter in model.parameters())
        self.is_reducing = state["ddp"] == "yes" and ranks > 1
        parallel: Any = importlib.import_module("torch.nn.parallel")
        self._model = model
        if state["ddp"] == "yes":
            self._model = parallel.DistributedDataParallel(model, process_group=group, bucket_cap_mb=state["bucket_size"] / (1 << 20))
        size = state["batch_size"]
        shape = (size, 3, state["image_size"], state["image_size"]) if takes_images else (size, _WIDTH)
        self._input, self._target = torch.rand(shape), torch.ones(size, dtype=torch.long)
        self._optimizer = torch.optim.SGD(model.parameters(), lr=_RATE, momentum=_MOMENTUM, weight_decay=_DECAY)
        self._group = group if self.is_reducing else None
        self._order = random.Random(state.seed)

    def round(self) -> dict[str, float]:
        """Returns the times in s."""
        times: dict[str, float] = {}
        alone_first = self._order.random() < 0.5
        for reduces in (not alone_first, alone_first):
            if not reduces and not self.is_reducing:
                continue
            moments = self._iterate(reduces)
            whole = moments[-1] - moments[0]
            if not reduces:
                times["without reduction"] = whole
                continue
            times["iteration"] = whole
            for name, begin, end in zip(("forward", "backward", "step"), moments, moments[1:]):
                times[name] = end - begin
        if "without reduction" in times:
            times["exposed communication"] = times["iteration"] - times["without reduction"]
        return times

    def _iterate(self, reduces: bool) -> list[float]:
        if self._group is not None:
            self._torch.distributed.barrier(group=self._group)
        quiet = contextlib.nullcontext() if reduces or not self.is_reducing else self._model.no_sync()
        moments = [time.perf_counter()]
        self._optimizer.zero_grad()
        with quiet:
            loss = self._torch.nn.functional.cross_entropy(self._model(self._input), self._target)
            moments.append(time.perf_counter())
            loss.backward()
            moments.append(time.perf_counter())
        self._optimizer.step()
        moments.append(time.perf_counter())
        return moments


def columns_of(is_reducing: bool) -> list[str]:
    """Returns the columns of a round, in s."""
    return (["without reduction", "exposed communication"] if is_reducing else []) + ["forward", "backward", "step"]
