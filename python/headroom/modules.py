# SPDX-License-Identifier: Apache-2.0
"""PyTorch modules as cases: any torch.nn.Module, and programs from files (torch.export, AOTInductor, TorchScript).

In an experiment: `headroom.modules.measure(state, model, (x,))`. From files, with this Python's torch:

    headroom run --python modules --module resnet.pt2 --module resnet_aoti.pt2 --input f32[1,3,224,224]
"""
from __future__ import annotations

import collections
import ctypes
import importlib
import os
import re
import sys
import zipfile
from typing import Any, Callable, Iterable, Sequence

from . import experiments
from .state import State

_DTYPES = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "i64": "int64", "i32": "int32", "i16": "int16",
           "int8": "int8", "u8": "uint8", "bool": "bool"}
_PEAKS = {"float32": "f32", "float64": "f64", "bfloat16": "bf16", "float16": "f16"}
_LEAST_BYTES = 65536
_SPEC = re.compile(r"(\w+)\[([\d,]*)\](?::(-?\d+)\.\.(-?\d+))?")


def _torch() -> Any:
    try:
        return importlib.import_module("torch")
    except ImportError:
        raise RuntimeError("modules need torch in this Python: pip install torch, or name another in HEADROOM_PYTHON") from None


def _tensors(values: Any) -> list[Any]:
    """Returns the tensors in `values`, including those in lists, dicts and outputs."""
    torch = _torch()
    if isinstance(values, torch.Tensor):
        return [values]
    if isinstance(values, dict):
        values = list(values.values())
    elif hasattr(values, "to_tuple"):  # transformers' outputs
        values = values.to_tuple()
    if isinstance(values, (list, tuple)):
        return [tensor for value in values for tensor in _tensors(value)]
    return []


def _bytes(tensors: Iterable[Any]) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def flops_of(call: Callable[[], Any]) -> tuple[float, dict[str, float], Any]:
    """Returns (FLOPs of a call, {operator: FLOPs}, its result), by torch.utils.flop_counter."""
    counter: Any = importlib.import_module("torch.utils.flop_counter").FlopCounterMode(display=False)
    with counter:
        result = call()
    by_operator: collections.Counter[str] = collections.Counter()
    for operator, flops in counter.get_flop_counts().get("Global", {}).items():
        by_operator[str(operator)] += flops
    return float(counter.get_total_flops()), dict(by_operator), result


def measure(state: State, module: Callable[..., Any], inputs: Sequence[Any], kwargs: dict[str, Any] | None = None,
            reference: Callable[..., Any] | None = None, rtol: float | None = None, counted: Callable[..., Any] | None = None,
            counts_bytes: bool = True) -> None:
    """Measures module(*inputs, **kwargs) without gradients, like State.measure; inputs rotate as in State.rotate.

    FLOPs are counted in a call of `counted` (default: the module). Bytes are parameters, inputs and results, unless counts_bytes is False.
    The result is verified against `reference` (default: the module, called again) with rtol. Raises the module's exceptions.
    """
    torch, kwargs = _torch(), kwargs or {}
    torch.set_num_threads(state.threads)
    given = _tensors([list(inputs), kwargs])
    copies = state.rotate(max(_bytes(given), _LEAST_BYTES))
    state.require_memory(_bytes(given) * copies)
    pytree: Any = importlib.import_module("torch.utils._pytree")
    rotation = [(tuple(inputs), kwargs)] + [
        pytree.tree_map(lambda value: value.clone() if isinstance(value, torch.Tensor) else value, (tuple(inputs), kwargs))
        for _ in range(copies - 1)]

    def call(copy: int, of: Callable[..., Any] = module) -> Any:
        arguments, named = rotation[copy]
        with torch.no_grad():
            return of(*arguments, **named)

    first = call(0)
    flops, by_operator, _ = flops_of(lambda: call(0, counted or module))
    answer = _tensors(first)
    parameters = list(module.parameters()) + list(module.buffers()) if isinstance(module, torch.nn.Module) else []
    dtypes = {str(tensor.dtype).partition(".")[2] for tensor in (parameters or given) if tensor.is_floating_point()}
    moved = _bytes(parameters) + _bytes(given) + _bytes(answer) if counts_bytes else 0
    state.work(flops=flops, bytes=moved, bytes_written=_bytes(answer) if counts_bytes else 0, dtype=_PEAKS.get(next(iter(dtypes)), "") if len(dtypes) == 1 else "")
    if given and given[0].dim() > 1:
        state.rate("throughput", given[0].shape[0], "samples/s")
    state.note("output", ", ".join(f"{str(tensor.dtype).partition('.')[2]}{list(tensor.shape)}" for tensor in answer) or "no tensors")
    if by_operator:
        state.note("flops_counted", ", ".join(f"{name} {count:g}" for name, count in sorted(by_operator.items())))
    if answer:
        expected = _tensors(call(0, reference or module))
        state.verify(lambda: _tensors(call(0)), expected, rtol=rtol or _tolerance(dtypes))
    state.measure(call)


def _tolerance(dtypes: set[str]) -> float:
    return max((2e-2 if dtype == "bfloat16" else 2e-3 if dtype == "float16" else 1e-4 for dtype in dtypes), default=1e-4)


def _random_input(spec: str, seed: int) -> Any:
    torch = _torch()
    match = _SPEC.fullmatch(spec)
    if match is None or match[1] not in _DTYPES:
        raise ValueError(f"--input {spec}: expected a tensor such as f32[1,3,224,224] or i64[1,128]:0..31999")
    sizes = [int(size) for size in match[2].split(",") if size]
    generator = torch.Generator().manual_seed(seed)
    dtype = getattr(torch, _DTYPES[match[1]])
    if dtype.is_floating_point:
        return torch.randn(sizes, generator=generator).to(dtype)
    low, high = (0, 1) if match[3] is None else (int(match[3]), int(match[4]))
    return torch.randint(low, high + 1, sizes, generator=generator).to(dtype)


def _load(path: str) -> tuple[Callable[..., Any], Callable[..., Any] | None, str]:
    """Returns (callable, one that shows its operators or None, kind). Raises torch's exceptions."""
    torch = _torch()
    try:
        names = zipfile.ZipFile(path).namelist()
    except zipfile.BadZipFile:
        raise ValueError(f"{path} is not a PyTorch program: expected an archive of torch.export, AOTInductor or TorchScript") from None
    if any("/aotinductor/" in name for name in names):
        # Packages linked with --as-needed require torch's symbols.
        for library in ("libtorch_cpu.so", "libtorch.so"):
            file = os.path.join(os.path.dirname(torch.__file__), "lib", library)
            if os.path.exists(file):
                ctypes.CDLL(file, mode=ctypes.RTLD_GLOBAL)
        inductor: Any = importlib.import_module("torch._inductor")
        package: Callable[..., Any] = inductor.aoti_load_package(path)
        return package, None, "AOTInductor package"
    if any(name.endswith("constants.pkl") for name in names) and not any("/models/" in name for name in names):
        script: Callable[..., Any] = torch.jit.load(path, map_location="cpu").eval()
        return script, None, "TorchScript module"
    export: Any = importlib.import_module("torch.export")
    module: Callable[..., Any] = export.load(path).module()
    return module, module, "program of torch.export"


def _options(words: Sequence[str]) -> tuple[list[str], list[str]]:
    files: list[str] = []
    inputs: list[str] = []
    for option, value in zip(words[::2], words[1::2]):
        (files if option == "--module" else inputs).append(value)
    return files, inputs


def _declare(files: Sequence[str], inputs: Sequence[str]) -> None:
    stems = [os.path.splitext(os.path.basename(file))[0] for file in files]
    names = [stem if stems.count(stem) == 1 else file for stem, file in zip(stems, files)]
    if len(set(names)) < len(names):
        raise ValueError("--module names one file twice: " + ", ".join(sorted({name for name in names if names.count(name) > 1})))
    loaded: dict[str, tuple[Callable[..., Any], Callable[..., Any] | None, str]] = {}

    def module(state: State) -> None:
        """programs from files, called with random inputs"""
        path = files[names.index(state.backend)]
        for file in files:
            if file not in loaded:
                loaded[file] = _load(file)
        call, counted, kind = loaded[path]
        shows = next((other[1] for other in loaded.values() if other[1] is not None), None)
        state.note("module", path)
        state.note("module_kind", kind)
        state.note("torch", _torch().__version__)
        values = [_random_input(spec, state.seed + place) for place, spec in enumerate(inputs)]
        for place, spec in enumerate(inputs):
            state.input(str(place), spec)
        baseline = loaded[files[0]][0]
        measure(state, call, values, reference=None if call is baseline else baseline, counted=counted or shows,
                counts_bytes=False)

    experiments.experiment(axes={"input": [" ".join(inputs) or "none"]}, backends=names)(module)


if experiments.is_served() and len(sys.argv) > 1:
    _declare(*_options(sys.argv[1:]))
