# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of pages: one browser, and records."""
import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "cli"))
from chromium import PATH, Chromium  # noqa: E402
from command_line import CommandLineTest, headroom  # noqa: E402
from made_records import made_run  # noqa: E402

SCREENSHOTS = pathlib.Path(os.environ["HEADROOM_SCREENSHOTS"])
WIDTHS = (390, 800, 1280)


class PageTest(CommandLineTest):
    @classmethod
    def setUpClass(cls):
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        cls.browser = Chromium()
        cls.addClassCleanup(cls.browser.close)

    def write(self, content, name="records.json"):
        return self.write_file(name, content)

    def report(self, *arguments, name="page.html"):
        """Makes a page and returns its path."""
        path = self.folder / name
        self.assert_exit(headroom("report", *arguments, "-o", path), 0)
        return path

    def open(self, path, **how):
        page = self.browser.open(path.as_uri(), **how)
        self.addCleanup(lambda: self.assertEqual(page.errors(), []))
        return page

    def assert_fits(self, page, name):
        """Expects no horizontal scrolling at any width in either theme. Screenshots: light, and 800 dark."""
        for dark in (False, True):
            page.dark(dark)
            for width in WIDTHS:
                page.resize(width)
                page.settle()
                self.assertLessEqual(page.value("document.documentElement.scrollWidth"), width, f"{name} at {width}")
                if dark == (width == 800):
                    page.screenshot(SCREENSHOTS / f"{name}-{width}{'-dark' if dark else ''}.png")


def main():
    if PATH is None:
        print("no chromium: install the packages of packages/test.txt to see what a browser makes of pages")
        sys.exit(77)
    unittest.main()


__all__ = ["PageTest", "headroom", "made_run", "main"]
