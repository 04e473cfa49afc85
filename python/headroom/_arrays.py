# SPDX-License-Identifier: Apache-2.0
"""Numbers of any array library, and random arrays."""
from __future__ import annotations

import array
import ctypes
import importlib
import sys
from dataclasses import dataclass
from math import prod
from typing import Any, Sequence

from . import _core


@dataclass
class Values:
    """`count` numbers of `dtype` ("f32", "f64", "bf16") at `address`, owned by `owner`."""
    address: int
    count: int
    dtype: str
    owner: object
    precision: str  # of the computation


def _of_list(values: Any) -> Values:
    numbers = array.array("d")

    def append(item: Any) -> None:
        if isinstance(item, (int, float)):
            numbers.append(item)
        elif hasattr(item, "__len__") and not hasattr(item, "__array_interface__") and not hasattr(item, "detach"):
            for part in item:
                append(part)
        else:
            part = of(item, as_double=True)
            copied = (ctypes.c_double * part.count).from_address(part.address)
            numbers.extend(copied)

    append(values)
    return Values(numbers.buffer_info()[0], len(numbers), "f64", numbers, "f64")


def _of_torch(tensor: Any, as_double: bool) -> Values:
    torch: Any = importlib.import_module("torch")
    dtypes = {torch.float32: "f32", torch.float64: "f64", torch.bfloat16: "bf16"}
    precision = {torch.float16: "f16", **dtypes}.get(tensor.dtype, "f64")
    plain = tensor.detach()
    if plain.is_complex():
        plain, precision = torch.view_as_real(plain.resolve_conj()), "f32" if plain.dtype == torch.complex64 else "f64"
    if hasattr(plain, "full_tensor"):
        plain = plain.full_tensor()
    if as_double or plain.dtype not in dtypes:
        plain = plain.to("cpu").to(torch.float64)
    plain = plain.to("cpu").contiguous()
    return Values(plain.data_ptr(), plain.numel(), dtypes[plain.dtype], plain, precision)


def _of_numpy(values: Any, as_double: bool) -> Values:
    numpy: Any = importlib.import_module("numpy")
    dtypes = {"float32": "f32", "float64": "f64"}
    plain = numpy.asarray(values)
    precision = {"float16": "f16", "bfloat16": "bf16", **dtypes}.get(plain.dtype.name, "f64")
    if plain.dtype.kind == "c":
        plain = numpy.stack([plain.real, plain.imag], -1)
    if as_double or plain.dtype.name not in dtypes:
        plain = plain.astype(numpy.float64)
    plain = numpy.ascontiguousarray(plain)
    return Values(plain.__array_interface__["data"][0], plain.size, dtypes[plain.dtype.name], plain, precision)


def of(values: Any, as_double: bool = False) -> Values:
    """Returns the numbers of a tensor or array (torch, numpy, jax, cupy), a number, or lists of these; as float64 with `as_double`. Raises
    TypeError for anything else."""
    if type(values).__module__.partition(".")[0] == "torch" or hasattr(values, "detach"):
        return _of_torch(values, as_double)
    if type(values).__module__.partition(".")[0] == "cupy":
        return _of_numpy(values.get(), as_double)
    if hasattr(values, "__array_interface__") or hasattr(values, "__array__"):
        return _of_numpy(values, as_double)
    if isinstance(values, (int, float)) or hasattr(values, "__iter__"):
        return _of_list(values)
    raise TypeError(f"expected numbers to compare (a tensor, an array, a list), not {type(values).__name__}")


def poison(values: Any) -> None:
    """Fills a tensor or array (torch, numpy, cupy, array.array), or a list of these, with NaN, integers with 77. Raises TypeError for anything else."""
    if hasattr(values, "detach"):
        values.detach().fill_(float("nan") if values.is_floating_point() or values.is_complex() else 77)
    elif isinstance(values, array.array):
        poisoned: Any = float("nan") if values.typecode in "fd" else 77
        for index in range(len(values)):
            values[index] = poisoned
    elif hasattr(values, "fill") and hasattr(values, "dtype"):
        values.fill(float("nan") if values.dtype.kind in "fcV" else 77)
    elif isinstance(values, (list, tuple)):
        for part in values:
            poison(part)
    else:
        raise TypeError(f"expected an array that is written to, not {type(values).__name__}")


_ITEM = {"f32": "f", "f64": "d", "int8": "b"}


def random(shape: int | Sequence[int], dtype: str = "f32", seed: int = 1, like: str | None = None) -> Any:
    """Returns random numbers from headroom's generator: equal seeds give the inputs of native experiments.

    dtype: "f32", "f64", "bf16" (normal, mean 0, standard deviation 1) or "int8" (uniform, -127 to 127).
    like: "torch", "numpy" or "array" (array.array, flat); default: the first of these that is imported.
    Raises ValueError for another dtype or `like`, and for bf16 without torch.
    """
    if dtype not in (*_ITEM, "bf16"):
        raise ValueError(f"random: unknown dtype {dtype!r}: expected f32, f64, bf16 or int8")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    count = prod(sizes)
    like = like or next((name for name in ("torch", "numpy") if name in sys.modules), "array")
    if like == "torch":
        torch: Any = importlib.import_module("torch")
        tensor = torch.empty(sizes, dtype={"f32": torch.float32, "f64": torch.float64, "bf16": torch.bfloat16,
                                           "int8": torch.int8}[dtype])
        _core.fill_random(tensor.data_ptr(), count, dtype, seed)
        return tensor
    if dtype == "bf16":
        raise ValueError(f"random: {like} has no bf16; use like='torch'")
    if like == "numpy":
        numpy: Any = importlib.import_module("numpy")
        made = numpy.empty(sizes, dtype={"f32": "float32", "f64": "float64", "int8": "int8"}[dtype])
        _core.fill_random(made.__array_interface__["data"][0], count, dtype, seed)
        return made
    if like != "array":
        raise ValueError(f"random: unknown like={like!r}: expected 'torch', 'numpy' or 'array'")
    flat = array.array(_ITEM[dtype], bytes(count * array.array(_ITEM[dtype]).itemsize))
    _core.fill_random(flat.buffer_info()[0], count, dtype, seed)
    return flat
