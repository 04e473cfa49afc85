# SPDX-License-Identifier: Apache-2.0
"""gpt-fast's benchmark in PyTorch (gpt_fast.py, gpt_fast_cuda.py), with the names, axes and inputs of headroom's experiments."""
from __future__ import annotations

import importlib
from typing import Any, Callable, Sequence

from . import _compilation
from ._llm import CONFIGS, Config, measure_decoding
from .experiments import experiment
from .state import State

_SIZES = (1024, 4096, 8192, 16384)
_PAIRS = ((3, 5), (0, 1), (2, 4), (6, 7))
_EXPERTS = 8
_ROUNDED = 1.25 * 2**-8
"""Relative error of rounding a result to bf16."""
_SPLIT = 4 * 2**-8
"""The same on a GPU, where cuBLAS may add partial sums in bf16 (allow_bf16_reduced_precision_reduction)."""


def _is_compiled(state: State) -> bool:
    return state.backend.startswith("torch_compile")


def _torch(state: State) -> Any:
    try:
        torch: Any = importlib.import_module("torch")
    except ImportError:
        state.skip("torch is not installed in this Python: pip install torch, or name another in HEADROOM_PYTHON")
    if _is_compiled(state) and not hasattr(torch, "compile"):
        state.skip(f"torch {torch.__version__} has no torch.compile: pip install --upgrade torch")
    if state.device == "cuda":
        if not torch.cuda.is_available():
            state.skip(f"torch {torch.__version__} sees no GPU: install a build for CUDA, and check nvidia-smi")
        device = torch.cuda.get_device_properties(0)
        state.last_level_cache(device.L2_cache_size)
        state.note("gpu", device.name)
    torch.set_num_threads(state.threads)
    _compilation.take_guard()
    return torch


def _implementation(torch: Any, state: State, function: Callable[..., Any]) -> Callable[..., Any]:
    """Compiles `function` if the backend asks for it."""
    if not _is_compiled(state):
        return function
    torch._dynamo.reset()
    # torch's own graphs would copy inputs; calls of all backends are captured.
    mode = "max-autotune-no-cudagraphs" if state.device == "cuda" else None
    compiled: Callable[..., Any] = torch.compile(function, mode=mode)
    return compiled


def _random(state: State, shape: int | tuple[int, ...], dtype: str, seed: int | None = None) -> Any:
    return state.random(shape, dtype, seed, like="torch").to(state.device)


def _exact_product(torch: Any, weights: Any, x: Any) -> Any:
    """Returns the product in float64, by blocks of rows."""
    exact = x.double()
    return torch.cat([rows.double() @ exact for rows in weights.split(512)])


def _copies(first: Any, count: int) -> list[Any]:
    return [first, *(first.clone() for _ in range(count - 1))]


def _item_bytes(state: State) -> int:
    return 1 if state["dtype"] == "int8" else 2


def _measure(state: State, call: Callable[[int], Any], expected: Any, rtol: float, sums_in: str | None = None) -> None:
    state.verify(lambda: call(0), expected, rtol=rtol, sums_in=sums_in)
    state.measure(call, captured=state.device == "cuda")


def gemv(state: State) -> None:
    """matrix times vector: y = W.to(bf16) @ x, W[D,D]"""
    torch, size, dtype = _torch(state), state["D"], state["dtype"]
    weight_bytes = size * size * _item_bytes(state)
    count = state.rotate(weight_bytes)
    state.require_memory(weight_bytes * count)
    weights = state.shared(("gemv", size, dtype, count), lambda: _copies(_random(state, (size, size), dtype), count))
    x = _random(state, size, "bf16", state.seed + 1)
    state.work(flops=2.0 * size * size, bytes=weight_bytes, dtype=dtype)
    state.input("W", f"{dtype}[{size},{size}]")
    state.input("x", f"bf16[{size}] normal(0,1)")

    def product(matrix: Any, vector: Any) -> Any:
        return torch.matmul(matrix.to(torch.bfloat16), vector)

    run = _implementation(torch, state, product)
    _measure(state, lambda copy: run(weights[copy], x), _exact_product(torch, weights[0], x), *_sums(torch, state))


def gather_gemv(state: State) -> None:
    """two of eight matrices times a vector: y = W[[3,5]].to(bf16) @ x, W[8,D,D]"""
    torch, size, dtype = _torch(state), state["D"], state["dtype"]
    chosen_bytes = 2 * size * size * _item_bytes(state)
    count = -(-state.rotate(chosen_bytes) // len(_PAIRS))
    state.require_memory(4 * chosen_bytes * count)
    stacks = state.shared(("gather", size, dtype, count),
                          lambda: _copies(_random(state, (_EXPERTS, size, size), dtype), count))
    x = _random(state, size, "bf16", state.seed + 1)
    turns = [(stack, torch.tensor(pair, device=state.device)) for stack in stacks for pair in _PAIRS]
    state.work(flops=4.0 * size * size, bytes=chosen_bytes, dtype=dtype)
    state.input("W", f"{dtype}[{_EXPERTS},{size},{size}]")

    def product(matrices: Any, chosen: Any, vector: Any) -> Any:
        return torch.matmul(matrices[chosen].to(torch.bfloat16), vector)

    run = _implementation(torch, state, product)
    expected = torch.stack([_exact_product(torch, stacks[0][expert], x) for expert in _PAIRS[0]])
    _measure(state, lambda copy: run(*turns[copy % len(turns)], x), expected, *_sums(torch, state))


def layer_norm(state: State) -> None:
    """LayerNorm over the rows of x[BS,D]"""
    torch, size, rows = _torch(state), state["D"], state["BS"]
    one = 2 * rows * size
    count = state.rotate(2 * one)
    state.require_memory(one * (count + 1))
    inputs = state.shared(("norm", rows, size, count), lambda: _copies(_random(state, (rows, size), "bf16"), count))
    gamma, beta = (_random(state, size, "f32", state.seed + place).bfloat16() for place in (1, 2))
    state.work(bytes=2 * one, bytes_written=one)
    state.input("x", f"bf16[{rows},{size}] normal(0,1)")

    def norm(x: Any) -> Any:
        return torch.nn.functional.layer_norm(x, (size,), gamma, beta)

    run = _implementation(torch, state, norm)

    def exact() -> Any:
        return torch.cat([torch.nn.functional.layer_norm(part.double(), (size,), gamma.double(), beta.double()).float()
                          for part in inputs[0].split(256)])

    _measure(state, lambda copy: run(inputs[copy]), exact, 8 * 2**-8)


def mlp_layer_norm_gelu(state: State) -> None:
    """Linear, LayerNorm, Linear, LayerNorm of one vector of D, with `hidden` in between"""
    torch, size, hidden = _torch(state), state["D"], state["hidden"]
    layer_bytes = 2 * size * hidden
    count = state.rotate(layer_bytes)
    state.require_memory(2 * layer_bytes * count)

    def layer(outputs: int, inputs: int, seed: int) -> Any:
        return (_copies(_random(state, (outputs, inputs), "bf16", seed), count),
                *(_random(state, outputs, "bf16", seed + place) for place in (1, 2, 3)))

    up, down = state.shared(("mlp", size, hidden, count),
                            lambda: (layer(hidden, size, state.seed + 1), layer(size, hidden, state.seed + 5)))
    x = _random(state, size, "bf16")
    state.work(flops=4.0 * size * hidden, bytes=2 * layer_bytes, dtype="bf16")
    state.input("x", f"bf16[{size}] normal(0,1)")

    def forward(vector: Any, first: Any, second: Any) -> Any:
        functional = torch.nn.functional
        inner = functional.layer_norm(functional.linear(vector, first, up[1]), (hidden,), up[2], up[3])
        return functional.layer_norm(functional.linear(inner, second, down[1]), (size,), down[2], down[3])

    def exact() -> Any:
        vector = x
        for weights, bias, gamma, beta in (up, down):
            sums = _exact_product(torch, weights[0], vector) + bias.double()
            vector = torch.nn.functional.layer_norm(sums, sums.shape, gamma.double(), beta.double())
            vector = vector.bfloat16() if weights is up[0] else vector
        return vector

    run = _implementation(torch, state, forward)
    rtol, sums_in = _sums(torch, state)
    _measure(state, lambda copy: run(x, up[0][copy], down[0][copy]), exact, max(12 * 2**-8, rtol), sums_in)


def _sums(torch: Any, state: State) -> tuple[float, str]:
    """Returns the tolerance of a product and torch's accumulation dtype, probed with ones. bf16 sums are rounded by up to 2^-9 per term, a
    random walk."""
    size = max(int(value) for name, value in state.axes.items() if name in ("D", "hidden"))
    ones = torch.ones(16, 4096, dtype=torch.bfloat16, device=state.device)
    if float((ones @ ones[0])[0].item()) < 4096:
        return 6 * float(size)**0.5 * 2**-9, "bf16"
    return _SPLIT if state.device == "cuda" else _ROUNDED, "f32"


def declare(backends: Sequence[str], device: str) -> None:
    """Declares the experiments; backends that begin with "torch_compile" are compiled."""
    def add(function: Callable[[State], None], metric: str, **axes: Sequence[object]) -> None:
        experiment(axes=axes, backends=backends, metric=metric, device=device)(function)

    iteration = "token" if device == "cpu" else "generation"

    def add_model(name: str, config: Config) -> None:
        def decode(state: State) -> None:
            measure_decoding(_torch(state), state, config, _is_compiled(state))

        decode.__doc__ = f"decoding of {config.model}, one sequence, one {iteration} per iteration"
        experiment(axes={"layers": (config.layers,), "prompt_len": (6,), "max_new_tokens": (200,), "dtype": (config.dtype,)},
                   backends=backends, metric="token_per_sec", device=device, name=name, model=config.model, on_request=True,
                   also_metrics=("memory_bandwidth(GB/s)", "compilation_time(s)"))(decode)

    add(gemv, "memory_bandwidth(GB/s)", D=_SIZES, dtype=("int8", "bf16"))
    add(gather_gemv, "memory_bandwidth(GB/s)", D=_SIZES, dtype=("int8", "bf16"))
    add(layer_norm, "memory_bandwidth(GB/s)", D=_SIZES, BS=(4096,), dtype=("bf16",))
    add(mlp_layer_norm_gelu, "flops_utilization", D=_SIZES, hidden=(14336,), dtype=("bf16",))
    for name, config in CONFIGS.items():
        add_model(name, config)
