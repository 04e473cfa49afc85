# SPDX-License-Identifier: Apache-2.0
"""headroom: how fast tensor programs are, and how fast this machine could run them.

The command line is the program `headroom`, which is installed beside this package's Python; `python -m headroom` is the same.
"""
from importlib.metadata import version

__version__ = version(__name__)
