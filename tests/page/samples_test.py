# SPDX-License-Identifier: Apache-2.0
"""The sample pages (tools/sample_pages.py): they fit phones and desks, and `make docs` puts them into its site."""
import pathlib
import shutil
import subprocess
import sys
import unittest

from page_test_case import PageTest, main

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from sample_pages import write_pages  # noqa: E402


class SamplesTest(PageTest):
    def test_they_fit_and_say_something(self):
        leads = {"run": "8 cases: 4 miss their target, 4 reach their target", "diff": "1 regressed, 1 improved", "trace": "Data loading: 5.20 ms a step",
                 "site": "1 of 4 series changed"}
        for name, path in write_pages(self.folder / "pages").items():
            page = self.open(path)
            self.assertIn(leads[name], page.value("document.querySelector('.lead').textContent"))
            self.assertNotIn(str(self.folder), page.value("document.body.textContent"))
            self.assert_fits(page, f"sample-{name}")
            page.resize(390)
            page.settle()
            self.assertLessEqual(page.value("document.scrollingElement.scrollWidth"), page.value("innerWidth"))

    @unittest.skipIf(shutil.which("mkdocs") is None, "no mkdocs: tools/setup.sh docs")
    def test_they_are_in_the_documents(self):
        site = self.folder / "site"
        made = subprocess.run(["mkdocs", "build", "--quiet", "--strict", "--config-file", ROOT / "mkdocs.yml", "--site-dir", site],
                              capture_output=True, text=True, timeout=200)
        self.assertEqual(made.returncode, 0, made.stderr)
        page = self.open(site / "samples" / "trace.html")
        self.assertEqual(page.value("document.title"), "Trace of rank-0.json")
        links = (site / "index.html").read_text()
        for name in ("run.html", "diff.html", "trace.html", "site/index.html"):
            self.assertTrue((site / "samples" / name).exists(), name)
            self.assertIn(f'"samples/{name}"', links)


if __name__ == "__main__":
    main()
