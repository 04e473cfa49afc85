# SPDX-License-Identifier: Apache-2.0
"""One-line descriptions of exceptions."""
from __future__ import annotations

import os
import sysconfig
import traceback

_HERE = os.path.dirname(os.path.realpath(__file__))
_OTHERS = tuple(os.path.realpath(path) + os.sep for name, path in sysconfig.get_paths().items()
                if name in ("stdlib", "platstdlib", "purelib", "platlib"))
_MOST = 600


def _is_user_file(file: str) -> bool:
    path = os.path.realpath(file)
    return not path.startswith(_HERE + os.sep) and not path.startswith(_OTHERS) and not file.startswith("<frozen")


def line_of(error: BaseException) -> str:
    """Returns "bench.py:12", the innermost frame of the user's code, or ""."""
    frames = traceback.extract_tb(error.__traceback__)
    for frame in reversed(frames):
        if _is_user_file(frame.filename):
            return f"{os.path.basename(frame.filename)}:{frame.lineno}"
    if isinstance(error, SyntaxError) and error.filename:
        return f"{os.path.basename(error.filename)}:{error.lineno}"
    return ""


def describe(error: BaseException) -> str:
    """Returns "ValueError: message (bench.py:12)"."""
    if isinstance(error, SystemExit):
        text = f"called sys.exit({'' if error.code is None else repr(error.code)})"
    else:
        message = error.msg if isinstance(error, SyntaxError) else str(error)
        message = " | ".join(line.strip() for line in message.splitlines() if line.strip())
        text = type(error).__name__ + (f": {message[:_MOST]}" if message else "")
    place = line_of(error)
    return f"{text} ({place})" if place else text
