#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the site of the documents with mkdocs, and checks that each link in it leads to a page, a file or a heading.

Usage: site_test.py WORK_FOLDER. Exits with 77 (skipped) without mkdocs. Needs no network.
"""
import html.parser
import pathlib
import shutil
import subprocess
import sys
import unittest
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
SITE = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/site_test").resolve()


class Page(html.parser.HTMLParser):
    """Collects the targets of links and the anchors of a page."""

    def __init__(self, text):
        super().__init__()
        self.targets, self.anchors = set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src") and value:
                self.targets.add(value)
            elif name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)


def dead_links(pages, folder):
    """Yields (page, target) for each link of `pages` ({path in folder: Page}) that leads nowhere below `folder`."""
    for path, page in pages.items():
        for target in sorted(page.targets):
            url = urllib.parse.urlsplit(target)
            if url.scheme or url.netloc:
                continue
            linked = path
            if url.path:
                linked = ((folder / path).parent / urllib.parse.unquote(url.path)).resolve()
                linked = linked / "index.html" if linked.is_dir() else linked
                if not linked.is_file() or folder not in linked.parents:
                    yield str(path), target
                    continue
                linked = linked.relative_to(folder)
            anchor = urllib.parse.unquote(url.fragment)
            if anchor and linked in pages and anchor not in pages[linked].anchors:
                yield str(path), target


def pages_of(folder):
    return {path.relative_to(folder): Page(path.read_text(encoding="utf-8")) for path in folder.rglob("*.html")}


class Site(unittest.TestCase):
    def test_it_builds_without_warnings_and_no_link_is_dead(self):
        built = subprocess.run(["mkdocs", "build", "--strict", "--clean", "--config-file", ROOT / "mkdocs.yml", "--site-dir", SITE],
                               capture_output=True, text=True, timeout=240, check=False)
        self.assertEqual(built.returncode, 0, built.stderr)
        pages = pages_of(SITE)
        sources = [path for path in (ROOT / "docs").rglob("*.md")]
        self.assertGreaterEqual(len(pages), len(sources))
        # The page of errors is served from any path: its links begin at the root.
        pages = {path: page for path, page in pages.items() if path.name != "404.html"}
        self.assertEqual(list(dead_links(pages, SITE)), [])
        self.assertTrue((SITE / "search/search_index.json").is_file(), "no search")


class Findings(unittest.TestCase):
    """Tests of the check above."""

    def test_dead_links(self):
        folder = SITE.parent / (SITE.name + "_dead")
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "a").mkdir(parents=True)
        (folder / "index.html").write_text('<h1 id="top">x</h1><a href="a/b.html#c">1</a><a href="#gone">2</a><img src="gone.png">')
        (folder / "a/b.html").write_text('<a id="c" href="../index.html#top">1</a><a href="../index.html#c">2</a><a href="..">3</a>'
                                         '<a href="https://example.com/x">4</a><a href="../../out.html">5</a>')
        self.assertEqual(sorted(dead_links(pages_of(folder), folder)),
                         [("a/b.html", "../../out.html"), ("a/b.html", "../index.html#c"), ("index.html", "#gone"), ("index.html", "gone.png")])


if __name__ == "__main__":
    if not shutil.which("mkdocs"):
        print("skipped: mkdocs is not here (tools/setup.sh docs)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
