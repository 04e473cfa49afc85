# SPDX-License-Identifier: Apache-2.0
"""Results as a page for a browser or a notebook: what `headroom report` makes."""
from __future__ import annotations

import html
import os
from pathlib import Path

from ._program import run_command
from ._shown import markup


class Report:
    """A page with charts and tables of results. A notebook shows it; `save` writes it; `html` is its text."""

    def __init__(self, text: str, title: str) -> None:
        self.html = text
        self.title = title

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page, which is one file and loads nothing else, over whatever is there."""
        Path(path).write_text(self.html, encoding="utf-8")

    def __repr__(self) -> str:
        return f"<headroom.Report of {self.title}: {len(self.html) // 1000} kB; save(path) writes it>"

    def _repr_html_(self) -> str:
        # Its scripts run apart from the notebook's: they can touch nothing there.
        return (f'<iframe sandbox="allow-scripts" title="{markup(self.title)}" srcdoc="{html.escape(self.html)}" '
                'style="width: 100%; height: 44rem; border: 0"></iframe>')


def report(*results: str | os.PathLike[str], baseline: str | os.PathLike[str] | None = None, title: str | None = None,
           store: str | os.PathLike[str] | None = None) -> Report:
    """A page of files of results, folders of them, runs of the history ("@last", "@git:main"); with `baseline` of how they stand to it.

    store: a file or a database of the history (default: HEADROOM_STORE, or the user's). Raises headroom.CommandFailed where one
    cannot be read, saying which and why.
    """
    if not results:
        raise ValueError('report() was given nothing to show: a file, a folder, or "@last"')
    words = [os.fspath(result) for result in results]
    shown = title if title is not None else ", ".join(words)
    options = [] if title is None else ["--title", title]
    options += [] if store is None else ["--store", os.fspath(store)]
    if baseline is not None:
        options.append("--diff")
        words.insert(0, os.fspath(baseline))
    return Report(run_command(["report", *options, "-o", "-", *words], is_json=False), shown)
