# SPDX-License-Identifier: Apache-2.0
"""The decoders of gpt-fast's benchmark in PyTorch, one sequence.
Source: benchmarks/gpt_fast/model.py and mixtral_moe_model.py of PyTorch; the models' published configurations.
"""
from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from ._cuda import Capturing
from .state import State

_PROMPT = (1, 15043, 29892, 590, 1024, 338)  # "Hello, my name is"
_TOP_K, _TEMPERATURE = 200, 0.8
_VERIFIED = 3
_TOLERANCE = 0.1
"""Difference of logits from bf16 activations to those from f32, relative to their root mean square."""


@dataclass(frozen=True)
class Config:
    """Shapes of a decoder. With several experts, each token takes `chosen` of them."""
    model: str
    dtype: str
    layers: int
    dim: int
    heads: int
    kv_heads: int
    hidden: int
    vocab: int = 32000
    experts: int = 1
    chosen: int = 1
    rope_base: float = 10000.0
    epsilon: float = 1e-5

    @property
    def head_dim(self) -> int:
        return self.dim // self.heads

    @property
    def qkv_rows(self) -> int:
        return self.dim + 2 * self.kv_heads * self.head_dim


CONFIGS = {
    "llama2_7b_bf16": Config("Llama-2-7b-chat-hf", "bf16", 32, 4096, 32, 32, 11008),
    "llama2_7b_int8": Config("Llama-2-7b-chat-hf", "int8", 32, 4096, 32, 32, 11008),
    "mixtral_8x7b_int8": Config("Mixtral-8x7B-v0.1", "int8", 16, 4096, 32, 8, 14336, experts=8, chosen=2, rope_base=1e6),
}


def _activated(config: Config, layers: int) -> tuple[float, float]:
    """Parameters and bytes that a token reads, counted like the benchmark."""
    item = 1 if config.dtype == "int8" else 2
    matrices = [(config.qkv_rows, config.dim), (config.dim, config.dim)]
    matrices += [(config.hidden, config.dim), (config.hidden, config.dim), (config.dim, config.hidden)] * config.chosen
    scales = 2 if config.dtype == "int8" else 0

    def of(rows: int, columns: int) -> tuple[float, float]:
        return float(rows * columns), float(rows * columns * item + rows * scales)

    gate = config.experts * config.dim if config.experts > 1 else 0
    parameters = layers * (sum(of(*one)[0] for one in matrices) + gate) + of(config.vocab, config.dim)[0]
    read = layers * (sum(of(*one)[1] for one in matrices) + 2 * gate + 4 * config.dim) + 2 * config.dim + of(config.vocab, config.dim)[1]
    return parameters, read


class Decoder:
    """Weights, KV cache and one step. int8 matrices have a scale per row."""

    def __init__(self, torch: Any, config: Config, layers: int, positions: int, seed: int, device: str) -> None:
        self.torch, self.config, self.positions, self.device = torch, config, positions, device
        self._generator = torch.Generator(device).manual_seed(seed)
        self.layers = [self._layer() for _ in range(layers)]
        self.embedding = self._uniform((config.vocab, config.dim), 3**0.5)
        self.norm = self._around_one(config.dim)
        self.output = self._matrix(config.vocab, config.dim)
        self.mask = torch.tril(torch.ones(positions, positions, dtype=torch.bool, device=device))
        turns = config.rope_base ** (-torch.arange(0, config.head_dim, 2, device=device) / config.head_dim)
        angles = torch.outer(torch.arange(positions, device=device), turns)
        self.cosines, self.sines = angles.cos(), angles.sin()
        self.cache = self.new_cache(torch.bfloat16)

    def new_cache(self, dtype: Any) -> list[tuple[Any, Any]]:
        shape = (self.config.kv_heads, self.positions, self.config.head_dim)
        keys, values = ([self.torch.zeros(shape, dtype=dtype, device=self.device) for _ in self.layers] for _ in range(2))
        return list(zip(keys, values))

    def _uniform(self, shape: tuple[int, ...], spread: float) -> Any:
        empty = self.torch.empty(shape, dtype=self.torch.bfloat16, device=self.device)
        return empty.uniform_(-spread, spread, generator=self._generator)

    def _around_one(self, size: int) -> Any:
        return 1 + self._uniform((size,), 0.1)

    def _matrix(self, rows: int, columns: int, count: int = 0) -> tuple[Any, Any]:
        shape = (count, rows, columns) if count else (rows, columns)
        spread = (3 / columns) ** 0.5  # variance 1 / columns
        if self.config.dtype == "bf16":
            return self._uniform(shape, spread), None
        weights = self.torch.randint(-127, 128, shape, dtype=self.torch.int8, generator=self._generator, device=self.device)
        return weights, spread / 127 * (1 + self._uniform(shape[:-1], 0.1))

    def _layer(self) -> dict[str, Any]:
        config, count = self.config, self.config.experts if self.config.experts > 1 else 0
        return {
            "attention_norm": self._around_one(config.dim), "qkv": self._matrix(config.qkv_rows, config.dim),
            "out": self._matrix(config.dim, config.dim), "ffn_norm": self._around_one(config.dim),
            "gate": self._uniform((config.experts, config.dim), (3 / config.dim) ** 0.5) if count else None,
            "w1": self._matrix(config.hidden, config.dim, count), "w3": self._matrix(config.hidden, config.dim, count),
            "w2": self._matrix(config.dim, config.hidden, count)}

    def _linear(self, x: Any, matrix: tuple[Any, Any]) -> Any:
        weights, scales = matrix
        y = self.torch.nn.functional.linear(x, weights.to(x.dtype))
        return y if scales is None else y * scales.to(x.dtype)

    def _normed(self, x: Any, weight: Any) -> Any:
        wide = x.float()
        return (wide * self.torch.rsqrt((wide * wide).mean(-1, keepdim=True) + self.config.epsilon)).to(x.dtype) * weight.to(x.dtype)

    def _rotated(self, x: Any, at: Any) -> Any:
        pairs = x.float().reshape(*x.shape[:-1], -1, 2)
        cosine, sine = self.cosines[at][:, None], self.sines[at][:, None]
        turned = self.torch.stack((pairs[..., 0] * cosine - pairs[..., 1] * sine, pairs[..., 1] * cosine + pairs[..., 0] * sine), -1)
        return turned.flatten(-2).to(x.dtype)

    def _attention(self, layer: dict[str, Any], cache: tuple[Any, Any], x: Any, at: Any) -> Any:
        config = self.config
        kv_dim = config.kv_heads * config.head_dim
        queries, keys, values = self._linear(x, layer["qkv"]).split([config.dim, kv_dim, kv_dim], -1)
        queries = self._rotated(queries.view(len(x), config.heads, config.head_dim), at).transpose(0, 1)
        cache[0][:, at] = self._rotated(keys.view(len(x), config.kv_heads, config.head_dim), at).transpose(0, 1)
        cache[1][:, at] = values.view(len(x), config.kv_heads, config.head_dim).transpose(0, 1)
        shared = config.heads // config.kv_heads
        keys, values = (one.repeat_interleave(shared, 0) for one in cache)
        mixed = self.torch.nn.functional.scaled_dot_product_attention(queries[None], keys[None], values[None], self.mask[at][None, None])
        return self._linear(mixed[0].transpose(0, 1).reshape(len(x), config.dim), layer["out"])

    def _feed_forward(self, layer: dict[str, Any], x: Any, routing: Any) -> tuple[Any, Any]:
        silu = self.torch.nn.functional.silu
        if layer["gate"] is None:
            return self._linear(silu(self._linear(x, layer["w1"])) * self._linear(x, layer["w3"]), layer["w2"]), None
        scores = self.torch.softmax(self.torch.nn.functional.linear(x, layer["gate"].to(x.dtype)).float(), -1)
        chosen = self.torch.topk(scores, self.config.chosen, -1).indices if routing is None else routing
        shares = scores.gather(-1, chosen)
        shares = (shares / shares.sum(-1, keepdim=True)).to(x.dtype)

        def of(matrix: tuple[Any, Any]) -> tuple[Any, Any]:
            weights, scales = matrix
            return weights[chosen].to(x.dtype), None if scales is None else scales[chosen].to(x.dtype)

        def product(rule: str, inner: Any, matrix: tuple[Any, Any]) -> Any:
            y = self.torch.einsum(rule, inner, matrix[0])
            return y if matrix[1] is None else y * matrix[1]

        inner = silu(product("ti,taoi->tao", x, of(layer["w1"]))) * product("ti,taoi->tao", x, of(layer["w3"]))
        return self.torch.einsum("tao,ta->to", product("tai,taoi->tao", inner, of(layer["w2"])), shares), chosen

    def forward(self, tokens: Any, at: Any, cache: list[tuple[Any, Any]] | None = None, routing: list[Any] | None = None,
                dtype: Any = None) -> tuple[Any, list[Any]]:
        """Returns the logits f32[vocab] after the last token, and each layer's experts."""
        x = self.embedding[tokens].to(dtype or self.torch.bfloat16)
        taken = []
        for place, layer in enumerate(self.layers):
            x = x + self._attention(layer, (cache or self.cache)[place], self._normed(x, layer["attention_norm"]), at)
            y, chosen = self._feed_forward(layer, self._normed(x, layer["ffn_norm"]), routing[place] if routing else None)
            x = x + y
            taken.append(chosen)
        return self._linear(self._normed(x[-1], self.norm), self.output).float(), taken

    def sample(self, logits: Any) -> Any:
        """Draws a token without synchronisation, like the benchmark."""
        least = self.torch.topk(logits, min(_TOP_K, len(logits))).values[-1]
        shares = self.torch.softmax(self.torch.where(logits < least, -float("inf"), logits) / _TEMPERATURE, -1)
        return self.torch.argmax(shares / self.torch.empty_like(shares).exponential_(1), -1, keepdim=True)


def _right_logits(torch: Any, decoder: Decoder, tokens: Any, at: Any) -> Any:
    """Returns the logits in float32, with the experts chosen in bf16."""
    with torch.no_grad():
        _, routing = decoder.forward(tokens, at, decoder.new_cache(torch.bfloat16))
        return decoder.forward(tokens, at, decoder.new_cache(torch.float32), routing, torch.float32)[0]


def measure_decoding(torch: Any, state: State, config: Config, is_compiled: bool) -> None:
    """Measures decoding: an iteration is one token, on a GPU a whole generation, as in headroom-cuda."""
    layers, length, new_tokens = state["layers"], state["prompt_len"], state["max_new_tokens"]
    is_on_cuda = state.device == "cuda"
    tokens = new_tokens if is_on_cuda else 1
    parameters, read = _activated(config, layers)
    state.require_memory(int(read * config.experts / config.chosen) + 2 * config.vocab * config.dim)
    started = time.perf_counter()
    decoder: Decoder = state.shared((config.model, config.dtype, layers, length, new_tokens),
                                    lambda: Decoder(torch, config, layers, length + new_tokens, state.seed, state.device))
    loading = time.perf_counter() - started
    state.work(flops=2 * parameters * tokens, bytes=read * tokens, dtype=config.dtype)
    state.input("weights", f"{config.dtype} uniform, variance 1/columns, drawn by torch")
    state.note("model", config.model)

    def step(token: Any, at: Any) -> tuple[Any, Any]:
        logits = decoder.forward(token, at)[0]
        return decoder.sample(logits), logits

    prompt = torch.tensor([_PROMPT[place % len(_PROMPT)] for place in range(length)], device=state.device)
    first, verified = torch.arange(length, device=state.device), min(_VERIFIED, length)
    if is_compiled:
        torch._dynamo.reset()
        # The benchmark's options except graphs, which we capture.
        step = torch.compile(step, fullgraph=True, options={"coordinate_descent_tuning": True} if is_on_cuda else None)
    expected = _right_logits(torch, decoder, prompt[:verified], first[:verified])
    token, position = prompt[:1].clone(), first[:1].clone()

    def begin() -> None:
        token.copy_(decoder.sample(decoder.forward(prompt, first)[0]))
        position.fill_(length)

    def go_on() -> None:
        token.copy_(step(token, position)[0])
        position.add_(1)

    passes = begin, go_on

    def last_logits() -> Any:
        with torch.no_grad():
            if verified > 1:
                decoder.forward(prompt[:verified - 1], first[:verified - 1])
            return step(prompt[verified - 1:verified], first[verified - 1:verified])[1]

    started = time.perf_counter()
    state.verify(last_logits, expected, rtol=_TOLERANCE)
    with torch.no_grad():
        if is_on_cuda:
            state.note("launches", "captured into one graph per token" if is_compiled else "one by one, from Python")
            if is_compiled:
                captured = Capturing()
                next_pass = captured(go_on)  # at the first positions, valid for any cache
                passes = captured(begin), next_pass
    made = 0

    def body() -> None:
        nonlocal made
        with torch.no_grad():
            for _ in range(tokens):
                passes[made > 0]()
                made = (made + 1) % new_tokens

    state.rate("token_per_sec", tokens, "tokens/s")
    state.value("compilation_time(s)", loading + time.perf_counter() - started, "s", higher_is_better=False)
    state.measure(body)
