# SPDX-License-Identifier: Apache-2.0
"""Checks that calling a function does its work."""
from __future__ import annotations

import inspect
from typing import Any, Callable


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__qualname__", None) or repr(function))


def takes_argument(function: Callable[..., Any]) -> bool:
    """Whether `function` requires an argument."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a C function without a signature
        return False
    return any(parameter.default is parameter.empty and parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
               for parameter in parameters)


def require_body(function: Callable[..., Any]) -> None:
    """Raises TypeError for non-callables, coroutine functions and generator functions."""
    if not callable(function):
        raise TypeError(f"{function!r} is not a function: pass the function, not its result")
    for made in (function, getattr(type(function), "__call__", None)):
        if inspect.iscoroutinefunction(made):
            raise TypeError(f"{_name(function)} is a coroutine function: a call runs none of its code; measure lambda: asyncio.run(f())")
        if inspect.isasyncgenfunction(made):
            raise TypeError(f"{_name(function)} is an asynchronous generator function: a call runs none of its code; measure a function "
                            "that iterates over it")
        if inspect.isgeneratorfunction(made):
            raise TypeError(f"{_name(function)} is a generator function: a call runs none of its code; measure lambda: list(f())")


def require_call(function: Callable[..., Any], *args: Any) -> None:
    """Raises TypeError like require_body(), or if function(*args) does not match the signature."""
    require_body(function)
    try:
        signature = inspect.signature(function, follow_wrapped=False)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*args)
    except TypeError as error:
        raise TypeError(f"{_name(function)}{signature} cannot be called with {len(args)} arguments: {error}; pass them after the "
                        "function, or measure a lambda") from None


def check_result(result: object) -> None:
    """Raises TypeError if the result is an unstarted coroutine or generator."""
    if inspect.iscoroutine(result):
        result.close()
        raise TypeError("a call returned a coroutine that has not run: measure lambda: asyncio.run(f())")
    if inspect.isgenerator(result) or inspect.isasyncgen(result):
        raise TypeError("a call returned a generator that has not run: measure lambda: list(f())")
