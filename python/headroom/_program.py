# SPDX-License-Identifier: Apache-2.0
"""Finds and calls the program `headroom`."""
from __future__ import annotations

import json
import numbers
import os
import shutil
import signal
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any, Sequence


class CommandFailed(RuntimeError):
    """The program `headroom` failed with this message."""

    def __init__(self, sentence: str, exit_code: int) -> None:
        super().__init__(sentence)
        self.exit_code = exit_code


def program() -> str:
    """Returns the program: HEADROOM, the one installed with this package, that of the build tree, or the first in PATH. Raises
    FileNotFoundError."""
    named = os.environ.get("HEADROOM")
    if named:
        found = shutil.which(named)
        if found is None:
            raise FileNotFoundError(f"HEADROOM={named} is not a program: set it to the path of headroom, or unset it")
        return found
    try:
        for file in metadata.files("headroom") or []:
            if file.name == "headroom" and file.parent.name == "bin":
                return str(Path(str(file.locate())).resolve())
    except metadata.PackageNotFoundError:
        pass
    built = Path(__file__).parent.parent.parent / "bin" / "headroom"
    found = str(built) if built.is_file() else shutil.which("headroom")
    if found is None:
        raise FileNotFoundError("the program headroom is neither installed with this package nor in PATH: "
                                "pip install --force-reinstall headroom, or set HEADROOM=/path/to/headroom")
    return found


def environment() -> dict[str, str]:
    """Returns the environment of the program, whose children use this Python."""
    return {**os.environ, "HEADROOM_PYTHON": sys.executable}


def time_option(given: str | float) -> str:
    """Formats a time for the program: a text ("5s") or seconds. Raises TypeError."""
    if isinstance(given, str):
        return given
    if isinstance(given, bool) or not isinstance(given, numbers.Real):
        raise TypeError(f"a time is a number of seconds or a text such as '5s', not {given!r}")
    return f"{float(given):.9f}s"


def run_options(precision: str | float | None = None, max_time: str | float | None = None, samples: int | None = None,
                threads: int | None = None) -> list[str]:
    """Returns the options of `headroom run` that are given, and --no-store."""
    options = ["--no-store"]
    if precision is not None:
        options += ["--precision", precision if isinstance(precision, str) else f"{100 * precision:g}%"]
    if max_time is not None:
        options += ["--max-time", time_option(max_time)]
    if samples is not None:
        options += ["--num-samples", str(samples)]
    if threads is not None:
        options += ["--threads", str(threads)]
    return options


def await_end(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Returns standard output and error. Ctrl-C asks `process` to end."""
    while True:
        try:
            return process.communicate()
        except KeyboardInterrupt:
            process.send_signal(signal.SIGINT)


def failure(errors: str, exit_code: int) -> CommandFailed:
    """Returns the exception for a failed call; its message is the last line."""
    if exit_code < 0:
        return CommandFailed(f"headroom was killed by signal {-exit_code}", exit_code)
    lines = [line for line in errors.splitlines() if line.strip()]
    return CommandFailed(lines[-1] if lines else f"headroom failed with exit code {exit_code}", exit_code)


def run_command(arguments: Sequence[str], accepted: Sequence[int] = (0,), is_json: bool = True) -> Any:
    """Returns the standard output of `headroom ARGUMENTS`, parsed as JSON unless is_json=False. Standard error is passed on. Raises
    CommandFailed for exit codes that are not `accepted`."""
    with subprocess.Popen([program(), *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          stdin=subprocess.DEVNULL, env=environment(), start_new_session=True) as process:
        output, errors = await_end(process)
    if process.returncode not in accepted:
        raise failure(errors, process.returncode)
    sys.stderr.write(errors)
    if not is_json:
        return output
    return json.loads(output) if output.strip() else None
