# SPDX-License-Identifier: Apache-2.0
"""Pages of a history (`headroom history --site`) in a browser, from disk."""
import json
import pathlib
import tempfile

from page_test_case import PageTest, headroom, main
from site_history import HOSTILE, fill, record, run_file

POINTS = """Array.from(document.querySelectorAll('figure[data-chart=history] details tbody tr'), (row) =>
    [row.cells[0].textContent, Number(row.cells[3].firstChild.value), Number(row.cells[4].firstChild.value)])"""


class SiteTest(PageTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.made = pathlib.Path(folder.name)
        cls.store = cls.made / "history.sqlite"
        fill(cls.made, cls.store)
        fill(cls.made, cls.store, runs=5, fingerprint="machine-b")
        cls.make(cls.store, cls.made / "site")

    @staticmethod
    def make(store, folder):
        headroom("history", "--site", folder, "--store", store).check_returncode()

    def series(self):
        """Returns the changed series as the command line prints it."""
        listed = json.loads(headroom("history", "gemv", "machine-a", "--json", "-", "--store", self.store).stdout)["series"]
        return listed[0]

    def open_series(self, **how):
        return self.open(self.made / "site" / "series" / f"{self.series()['id']}.html", **how)

    def test_the_first_page_says_what_changed_and_leads_to_it(self):
        page = self.open(self.made / "site" / "index.html")
        self.assertRegex(page.value("document.querySelector('.lead').textContent"),
                         r"^1 of 4 series changed in the week up to 2026-09-23 05:13 UTC: 1 worse\.$")
        ratio = page.value("Number(document.querySelector('[data-kind=changes] td data').value)")
        self.assertEqual(ratio, self.series()["segments"][1]["ratio"])
        self.assertEqual(page.value("Array.from(document.querySelectorAll('section h2'), (head) => head.textContent)"),
                         ["What changed", "machine-a", "machine-b"])
        self.assertEqual(page.value("document.querySelectorAll('.spark-line').length"), 4)
        levels = page.value("Array.from(document.querySelectorAll('[data-kind=machine] td data'), (one) => Number(one.value))")
        listed = json.loads(headroom("history", "native", "--json", "-", "--store", self.store).stdout)["series"]
        self.assertEqual(sorted(levels), sorted(one["segments"][-1]["median"] for one in listed))
        page.go(page.value("document.querySelector('[data-kind=changes] a').href"))
        self.assertEqual(page.value("document.title"), "gemv D=64 native cpu 2t latency")
        self.assertEqual(page.value("document.querySelector('nav a').href"), (self.made / "site" / "index.html").as_uri())

    def test_series_that_are_too_short_are_not_called_unchanged(self):
        page = self.open(self.made / "site" / "index.html")
        self.assertEqual(page.value("document.querySelectorAll('.answers p')[1].textContent"),
                         "Too early to tell for 2 of 4 series, with fewer than 14 values.")
        last = """Array.from(document.querySelectorAll('section[data-kind=machine]'), (machine) => Array.from(machine.querySelectorAll('td'))
            .filter((cell) => cell.dataset.title === 'last change').map((cell) => cell.textContent))"""
        (changed, steady), short = page.value(last)
        self.assertRegex(changed, r"^\+20")
        self.assertEqual(steady, "none")
        self.assertEqual(short, ["too early: 5 of 14 values"] * 2)
        store, site = self.folder / "history.sqlite", self.folder / "site"
        fill(self.folder, store, runs=5)
        self.make(store, site)
        page = self.open(site / "index.html")
        self.assertEqual(page.value("document.querySelector('.answers').textContent"),
                         "Too early to tell: none of 2 series has the 14 values needed to tell a change from noise.")

    def test_a_series_shows_the_values_of_the_history(self):
        page, series = self.open_series(), self.series()
        page.value("document.querySelector('figure[data-chart=history] details').open = true")
        self.assertEqual(page.value(POINTS), [[f"@{one['run']}", one["value"], one["interval"]["low"]] for one in series["values"]])
        self.assertEqual(page.value("document.querySelectorAll('.history .mark').length"), 40)
        self.assertEqual(page.value("Array.from(document.querySelectorAll('.history .change-label'), (one) => one.textContent)"),
                         [f"+{100 * (series['segments'][1]['ratio'] - 1):.1f} % @21 bbbbbbb"])
        self.assertEqual(page.value("document.querySelectorAll('.history .level-line').length"), 2)
        # Levels lie among the values.
        above = page.value("""(() => { const marks = Array.from(document.querySelectorAll('.history .mark circle'), (one) => Number(one.getAttribute('cy')));
            const lines = Array.from(document.querySelectorAll('.level-line'), (one) => Number(one.getAttribute('y1')));
            return marks.map((y) => Math.abs(y - lines[0]) < Math.abs(y - lines[1])); })()""")
        self.assertEqual(above, [True] * 20 + [False] * 20)
        page.value("document.querySelector('[aria-label=values] .row-key').click()")
        samples = page.value("Array.from(document.querySelectorAll('tr.opened dd data'), (one) => Number(one.value))")
        newest = series["values"][-1]["value"]
        self.assertEqual(samples, [newest * share for share in (0.98, 0.99, 1, 1.01, 1.02)])

    def test_keys_go_through_values(self):
        page = self.open_series()
        for _ in range(20):
            page.key("Tab")
            if page.value("document.activeElement.classList.contains('mark')"):
                break
        readout = "document.querySelector('figure .readout').textContent"
        self.assertIn("@1, 2026-09-21 14:13 UTC, commit aaaaaaaaaaaa: 10.000 µs (9.9000 µs to 10.100 µs)", page.value(readout))
        page.key("End")
        self.assertIn("@40, 2026-09-23 05:13 UTC, commit bbbbbbbbbbbb", page.value(readout))
        page.key("ArrowLeft")
        self.assertIn("@39, ", page.value(readout))

    def test_they_fit_phones_and_desks_in_both_themes(self):
        self.assert_fits(self.open(self.made / "site" / "index.html"), "site")
        page = self.open_series()
        self.assert_fits(page, "series")
        for width in (800, 1280):
            page.resize(width)
            page.settle()
            self.assertLessEqual(page.value("Math.max(...Array.from(document.querySelectorAll('main table'), (one) => one.getBoundingClientRect().right))"), width)

    def test_names_of_strangers_stay_names(self):
        store, site = self.folder / "history.sqlite", self.folder / "site"
        for i in range(20):
            run = run_file(self.folder, i, [record(name, 10 if i < 10 else 15) for name in HOSTILE], sha='"><script>alert(1)</script>')
            self.assert_exit(headroom("history", "import", run, "--store", store), 0)
        self.make(store, site)
        for path in (site / "index.html", site / "series" / "1.html"):
            page = self.open(path)
            self.assertEqual(page.value("document.querySelectorAll('main img, main script, main b').length"), 0)
            self.assert_fits(page, f"hostile-{path.stem}")
        page = self.open(site / "index.html")
        names = page.value("Array.from(document.querySelectorAll('[data-kind=machine] .row-key'), (key) => key.textContent)")
        self.assertEqual(len(names), len(HOSTILE))
        for name in ("<script>alert(1)</script>", "../../../etc/passwd", '"><img src=x onerror=alert(1)>', "a\\u202Eb\\x1B[31m"):
            self.assertTrue([shown for shown in names if shown.startswith(name)], (name, names))


if __name__ == "__main__":
    main()
