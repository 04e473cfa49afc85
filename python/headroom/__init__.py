# SPDX-License-Identifier: Apache-2.0
"""headroom: benchmarks of tensor programs, compared with the limits of this machine.

Declare experiments with `experiment` and `main`; measure functions with `time` and `compare`. `python -m headroom` is the program.
"""
from ._arrays import random
from ._core import version as __version__
from ._program import CommandFailed
from .caching import Cached, cache
from .distributed import Measured, ddp, dispatch
from .experiments import experiment, main
from .pages import Report, report
from .reading import Analysis, History, Records, Trace, history, read, trace
from .state import Column, State
from .table import Table
from .timing import Comparison, Measurement, compare, time

__all__ = ["Analysis", "Cached", "Column", "CommandFailed", "Comparison", "History", "Measured", "Measurement", "Records", "Report", "State", "Table", "Trace", "__version__",
           "cache", "compare", "ddp", "dispatch", "experiment", "history", "main", "random", "read", "report", "time", "trace"]
