# SPDX-License-Identifier: Apache-2.0
"""`python -m headroom._serve (FILE | -m MODULE) [ARGUMENT...]`: serves experiments to `headroom run`. Internal."""
from __future__ import annotations

import importlib
import importlib.util
import os
import runpy
import sys

from . import _errors, _threads, experiments

_VARIABLE = "HEADROOM_FD"


def _run_file(path: str, arguments: list[str]) -> None:
    sys.argv = [path, *arguments]
    sys.path[0] = os.path.dirname(os.path.abspath(path))
    runpy.run_path(path, run_name="__main__")


def _is_own(module: str) -> bool:
    return "." not in module and importlib.util.find_spec(f"headroom.{module}") is not None


def _run_module(name: str, arguments: list[str]) -> None:
    sys.argv = [name, *arguments]
    sys.path[0] = os.getcwd()
    importlib.import_module(f"headroom.{name}" if _is_own(name) else name)


def _declare(is_module: bool, what: str, arguments: list[str]) -> str | None:
    """Returns why there are no experiments, or None."""
    try:
        (_run_module if is_module else _run_file)(what, arguments)
    except SystemExit as end:
        if end.code not in (None, 0):
            return _errors.describe(end)
    except BaseException as error:  # pylint: disable=broad-exception-caught
        return _errors.describe(error)
    if len(experiments.declared) == 0:
        return f"{what} declares no experiment: decorate a function with @headroom.experiment"
    return None


def main() -> None:
    text = os.environ.pop(_VARIABLE, None)
    arguments = sys.argv[1:]
    if text is None or not arguments:
        sys.exit("headroom._serve is started by `headroom run FILE.py`")
    descriptor = int(text)
    os.set_inheritable(descriptor, False)
    experiments.begin_serving()
    is_module = arguments[0] == "-m"
    what, *others = arguments[1:] if is_module else arguments
    refusal = _declare(is_module, what, others)
    name = what if is_module else os.path.splitext(os.path.basename(what))[0]
    # Our own experiments use the threads of native ones.
    threads = None if is_module and _is_own(what) else _threads.torch_threads()
    experiments.serve_declared(name, descriptor, refusal, threads)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # or an experiment's threads would keep the process alive


if __name__ == "__main__":
    main()
