#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that files and link targets named in the documents exist.

    tests/checks/docs_test.py [ROOT]        ROOT: the repository, default the one with this file

Files are named from the root (src/headroom/base/files.h) or by the end of their path (base/files.h, files.h).
"""
import os
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("src", "tests", "bench", "tools", "docs", "cmake")
SKIPPED = {"build", "__pycache__"}
SOURCES = ("h", "cpp", "cu", "cuh", "cmake", "css")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
# Placeholders that match any name.
PLACEHOLDER = re.compile(r"(?<![A-Z])(NAME|KIND|MODULE)(?![A-Z])")
# Not preceded by a letter or another part of a path or address.
FROM_ROOT = re.compile(rf"(?<![\w./~+-])(?:{'|'.join(FOLDERS)})(?:/[\w.*+-]+)+/?")
SOURCE = re.compile(rf"(?<![\w./~+*-])[\w./-]*\w\.(?:{'|'.join(SOURCES)})(?![\w/])")
# Files of the reader in examples, and of other projects.
OF_OTHERS = {"mine.cpp", "x.cpp", "llama.cpp", "tests/test_FILE.py", "tests/test_normal.py"}


def files_of(root):
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in SKIPPED and not name.startswith(".")]
        for name in names:
            yield os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/")


def ends_of(paths):
    """Returns every path and its suffixes: "a/b.h" and "b.h" for a/b.h."""
    return {path.split("/", count)[-1] for path in paths for count in range(path.count("/") + 1)}


def anchor_of(heading):
    """Returns GitHub's anchor for a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def missing_files(text, root, ends):
    """Returns files named in `text` that are missing below `root`; `ends` from ends_of."""
    for match in FROM_ROOT.finditer(text):
        path = match.group().rstrip(".")
        if path not in OF_OTHERS and not any(root.glob(PLACEHOLDER.sub("*", path.rstrip("/")))):
            yield path
    for match in SOURCE.finditer(FENCE.sub("", text)):
        path = match.group().removeprefix("./")
        if not PLACEHOLDER.search(path) and path not in OF_OTHERS and path not in ends and not FROM_ROOT.match(path):
            yield path


def broken_links(text, folder):
    for target in LINK.findall(FENCE.sub("", text)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        page = folder / path if path else None
        if page and not page.exists():
            yield target
            continue
        linked = page.read_text(encoding="utf-8") if page and page.suffix == ".md" else text
        if anchor and anchor not in {anchor_of(heading) for heading in HEADING.findall(FENCE.sub("", linked))}:
            yield target


class Documents(unittest.TestCase):
    def setUp(self):
        self.pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
        self.assertGreater(len(self.pages), 10, f"no documents in {ROOT}")

    def test_files_that_they_name_exist(self):
        ends = ends_of(files_of(ROOT))
        for page in self.pages:
            with self.subTest(str(page.relative_to(ROOT))):
                self.assertEqual(list(missing_files(page.read_text(encoding="utf-8"), ROOT, ends)), [])

    def test_links_lead_somewhere(self):
        for page in self.pages:
            with self.subTest(str(page.relative_to(ROOT))):
                self.assertEqual(list(broken_links(page.read_text(encoding="utf-8"), page.parent)), [])

    def test_every_page_is_on_the_site(self):
        listed = re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.M)
        pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
        self.assertEqual(sorted(listed), sorted(pages))


class Findings(unittest.TestCase):
    """Tests of the checks above."""

    def test_files(self):
        ends = ends_of(["src/headroom/base/files.h"])
        text = "`src/headroom/gone.h`, docs/gone.md, `base/files.h`, files.h, `base/gone.h`, tools/*.py, src/NAME.cpp."
        self.assertEqual(list(missing_files(text, ROOT, ends)), ["src/headroom/gone.h", "docs/gone.md", "src/NAME.cpp", "base/gone.h"])

    def test_links(self):
        text = "# A title\n[a](#a-title) [b](#gone) [c](README.md) [d](gone.md) [e](https://example.com) [f](CONTRIBUTING.md#gone)"
        self.assertEqual(list(broken_links(text, ROOT)), ["#gone", "gone.md", "CONTRIBUTING.md#gone"])


if __name__ == "__main__":
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-"):
        ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
