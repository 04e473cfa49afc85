# SPDX-License-Identifier: Apache-2.0
"""Result pages for a browser or a notebook, made by `headroom report`."""
from __future__ import annotations

import html
import os
from pathlib import Path

from ._program import run_command
from ._shown import markup


class Report:
    """A page with charts and tables, shown by notebooks. `html` is its text."""

    def __init__(self, text: str, title: str) -> None:
        self.html = text
        self.title = title

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page as one self-contained file, replacing an existing one."""
        Path(path).write_text(self.html, encoding="utf-8")

    def __repr__(self) -> str:
        return f"<headroom.Report of {self.title}: {len(self.html) // 1000} kB; save(path) writes it>"

    def _repr_html_(self) -> str:
        # Isolated from the notebook's scripts.
        return (f'<iframe sandbox="allow-scripts" title="{markup(self.title)}" srcdoc="{html.escape(self.html)}" '
                'style="width: 100%; height: 44rem; border: 0"></iframe>')


def report(*results: str | os.PathLike[str], baseline: str | os.PathLike[str] | None = None, title: str | None = None,
           store: str | os.PathLike[str] | None = None) -> Report:
    """Makes a page of result files, folders, or runs of the history ("@last", "@git:1a2b"), compared with `baseline` if given. store: file
    or database of the history (default: HEADROOM_STORE, or the user's). Raises ValueError without results, headroom.CommandFailed if one
    cannot be read."""
    if not results:
        raise ValueError('report() needs something to show: a file, a folder, or "@last"')
    words = [os.fspath(result) for result in results]
    shown = title if title is not None else ", ".join(words)
    options = [] if title is None else ["--title", title]
    options += [] if store is None else ["--store", os.fspath(store)]
    if baseline is not None:
        options.append("--diff")
        words.insert(0, os.fspath(baseline))
    return Report(run_command(["report", *options, "-o", "-", *words], is_json=False), shown)
