# SPDX-License-Identifier: Apache-2.0
"""headroom report in a browser: correct values, accessible and operable."""
import json
import pathlib

from made_records import made_pair
from page_test_case import PageTest, headroom, made_run, main

HOSTILE = ["<script>window.hostile = 1</script>", "</script><script>window.hostile = 2</script>", "<!--<script>", "a\u2028b\u2029c",
           "<img src=x onerror='window.hostile = 3'>", "\"><b>bold</b>", "x" * 300]
CELLS = """Array.from(document.querySelectorAll('.cases tbody tr'), (row) =>
    Array.from(row.querySelectorAll('td data'), (data) => Number(data.value)))"""
NAMES = "Array.from(document.querySelectorAll('.cases tbody .row-key'), (key) => key.textContent)"
FOCUS = "document.activeElement.className.baseVal ?? document.activeElement.className"


class ReportTest(PageTest):
    def test_the_page_says_what_the_records_do(self):
        content = made_run(cases=8)
        page = self.open(self.report(self.write(content)))
        records = content["records"]
        expected = [[latency["metric"]["value"], headline["metric"]["value"], headline["limit"]["fraction"]]
                    for latency, headline in zip(records[0::3], records[1::3])]
        self.assertEqual(page.value(CELLS), expected)
        shown = headroom("show", self.folder / "records.json").stdout.splitlines()
        self.assertEqual(page.value("document.querySelector('.lead').textContent"), shown[0])
        # Points of the roofline match the table below it, which matches the records.
        self.assertEqual(page.value("document.querySelectorAll('.roofline .mark').length"), 8)
        page.value("document.querySelector('figure[data-chart=roofline] summary').click()")
        page.settle()
        rates = page.value("Array.from(document.querySelectorAll('figure[data-chart=roofline] tbody tr'), "
                           "(row) => Number(row.cells[4].firstChild?.value))")[:8]
        self.assertEqual(rates, [record["metric"]["value"] for record in records[2::3]])

    def open_row(self, page, index):
        """Opens a row and its table of samples; returns the table's rows as texts and numbers."""
        page.value(f"document.querySelectorAll('.row-key')[{index}].click()")
        page.settle()
        page.value("document.querySelector('tr.opened summary').click()")
        page.settle()
        return page.value("""Array.from(document.querySelectorAll('tr.opened tbody tr'), (row) => Array.from(row.cells,
            (cell) => cell.querySelector('data') ? Number(cell.querySelector('data').value) : cell.textContent))""")

    def test_a_case_opens_and_shows_each_of_its_samples(self):
        content = made_run(cases=8)
        page = self.open(self.report(self.write(content)))
        rows = self.open_row(page, 7)
        latency = content["records"][21]
        expected = []
        for number, process in enumerate(latency["samples"], 1):
            for i, value in enumerate(process["values"]):
                stolen = process["noise"]["steal_ms"][i] > 0
                what = ", ".join(word for word, holds in (("warm-up", i < 2), ("stolen", stolen)) if holds)
                expected.append([number, process["rounds"][i], float(f"{value:.7g}"), what])
        self.assertEqual(rows, expected)
        self.assertEqual(page.value("document.querySelectorAll('tr.opened .mark').length"), 60)
        self.assertEqual(page.value("document.querySelectorAll('tr.opened .mark.hollow').length"), 6)
        told = page.value("document.querySelector('tr.opened').textContent")
        for words in ("hollow: warm-up (6 samples)", "cross: time stolen by the hypervisor", "same case: native", "2.51 ms, 46 %"):
            self.assertIn(words, told)
        page.value("document.querySelector('tr.opened .link').click()")
        self.assertEqual(page.value("document.activeElement.textContent + document.activeElement.ariaExpanded"), "layer_norm N=2048true")
        self.assert_fits(page, "case")

    def test_many_samples_are_summed_up_and_it_is_said(self):
        content = made_run(cases=4, each=1500)
        path = self.report(self.write(content))
        page = self.open(path)
        rows = self.open_row(page, 0)
        self.assertLess(len(rows), 250)
        told = page.value("document.querySelector('tr.opened').textContent")
        self.assertIn("4500 samples: a mark is 19 neighbours", told)
        values = content["records"][0]["samples"][0]["values"][2:21]
        # Process, round, median, minimum, quartiles, maximum; after the warm-up flag.
        self.assertEqual(rows[1][:4] + rows[1][6:7], [1, 2, float(f"{sorted(values)[9]:.7g}"), float(f"{min(values):.7g}"),
                                                     float(f"{max(values):.7g}")])

    def test_the_machine_is_told(self):
        page = self.open(self.report(self.write(made_run(cases=2))))
        told = page.value("document.querySelector('.environment').textContent")
        for words in ("260 MiB", "performance", "hwloc version2.9.0", "example/kernels"):
            self.assertIn(words, told)

    def test_it_fits_phones_and_desks_in_both_themes(self):
        page = self.open(self.report(self.write(made_run(cases=8))))
        self.assert_fits(page, "run")
        background = "getComputedStyle(document.body).backgroundColor"
        page.dark(False)
        light = page.value(background)
        themes = {}
        for _ in range(3):
            page.value("document.querySelector('.theme').click()")
            themes[page.value("document.documentElement.dataset.theme")] = page.value(background)
        self.assertEqual(set(themes), {"system", "light", "dark"})
        self.assertEqual(themes["system"], light)
        self.assertEqual(themes["light"], light)
        self.assertNotEqual(themes["dark"], light)

    def test_names_of_strangers_stay_names(self):
        content = made_run(cases=len(HOSTILE))
        for i, name in enumerate(HOSTILE):
            for record in content["records"][3 * i:3 * i + 3]:
                record["model"]["name"] = name
                record["model"]["backend"] = name
        content["environments"][0]["command"] = HOSTILE
        path = self.write(content)
        page = self.open(self.report(path, "--title", HOSTILE[1]))
        self.assertEqual(page.value("document.title"), HOSTILE[1])
        self.assertEqual(page.value("document.querySelector('h1').textContent"), HOSTILE[1])
        names = page.value(NAMES)
        for name in HOSTILE:
            self.assertTrue([shown for shown in names if shown.startswith(name)], f"{name!r} is not in {names}")
        self.assertIsNone(page.value("window.hostile"))
        self.assertEqual(page.value("document.querySelectorAll('main img, main b, main script').length"), 0)
        self.assert_fits(page, "hostile")

    def test_titles_are_in_words(self):
        one, other = self.write(made_run(cases=2)), self.write(made_run(cases=2, seed=2), "other.json")
        for arguments, title in (((one,), "Benchmark results of records.json"), ((one, other), "Benchmark results of records.json and other.json"),
                                 (("--diff", one, other), "other.json compared with records.json"), ((one, "--title", "nightly"), "nightly")):
            page = self.open(self.report(*arguments))
            self.assertEqual(page.value("[document.title, document.querySelector('h1').textContent]"), [title, title])

    def test_the_column_of_dots_has_a_scale_and_a_legend(self):
        content = made_run(cases=8)
        page = self.open(self.report(self.write(content)))
        shares = [record["limit"]["fraction"] for record in content["records"][1::3]]
        centre = "(one) => { const box = one.getBoundingClientRect(); return box.x + box.width / 2; }"
        for width in (1280, 390):
            page.resize(width)
            page.settle()
            self.assertEqual(page.value("Array.from(document.querySelectorAll('th.picture text'), (one) => one.textContent)"), ["0", "50", "100 %"])
            zero, half, limit = page.value(f"Array.from(document.querySelectorAll('th.picture .tick'), {centre})")
            self.assertAlmostEqual(half, (zero + limit) / 2, delta=0.5)
            places = page.value(f"Array.from(document.querySelectorAll('td.picture .fill'), {centre})")
            self.assertEqual(len(places), len(shares))
            for place, share in zip(places, shares):
                self.assertAlmostEqual((place - zero) / (limit - zero), share, delta=1 / (limit - zero))
        legend = page.value("document.querySelector('.chart-key').textContent")
        for words in ("share of the limit", "95 % interval", "target", "the limit"):
            self.assertIn(words, legend)

    def test_narrow_rows_are_blocks_that_are_sorted_by_a_menu(self):
        page = self.open(self.report(self.write(made_run(cases=8))), width=390)
        heads = "Array.from(document.querySelectorAll('.cases th'), (one) => one.offsetWidth > 0 ? one.className : null).filter((one) => one !== null)"
        self.assertEqual(page.value(heads), ["picture"])
        rows = page.value("""Array.from(document.querySelectorAll('.cases > tbody > tr'), (row) => Array.from(row.cells, (cell) => {
            const box = cell.getBoundingClientRect(); return [Math.round(box.left), Math.round(box.right), box.height > 0]; }))""")
        for cells in rows:
            for left, right, is_shown in cells:
                self.assertTrue(is_shown and left >= 0 and right <= 390, cells)
            self.assertLessEqual(len({left for left, _, _ in cells}), 3, cells)  # columns that stand below each other
        self.assertLess(page.value("document.querySelector('.cases > tbody > tr').offsetHeight"), 180)
        pick = "((menu, i) => { menu.selectedIndex = i; menu.dispatchEvent(new Event('change')); })(document.querySelector('.sorter'), %d)"
        wanted = page.value("Array.from(document.querySelector('.sorter').options, (one) => one.textContent)").index("time")
        page.value(pick % wanted)
        times = [row[0] for row in page.value(CELLS)]
        self.assertEqual(times, sorted(times, reverse=True))

    def test_the_reason_of_an_inconclusive_target_is_there(self):
        content = made_run(cases=2)
        metric, limit = content["records"][1]["metric"], content["records"][1]["limit"]
        metric["target_share"] = limit["fraction"]
        metric["target"] = metric["value"]
        page = self.open(self.report(self.write(content)))
        self.assertIn("inconclusive", page.value("document.querySelector('td.beside').textContent"))
        self.assertEqual(page.value("document.querySelector('td.beside .why').textContent"), "the interval contains the target")

    def test_two_points_have_no_line(self):
        page = self.open(self.report(self.write(made_run(cases=2))))
        lines = """(count) => { const svg = d3.create('svg'), points = Array.from({ length: count }, (_, i) => ({ x: i + 1, y: 2 + i }));
            headroom.charts.curves.draw(svg, { series: [{ name: 'a', points }], x: { title: '' }, y: { title: '' } }, { width: 600, height: 300 });
            return [svg.selectAll('path.line').size(), svg.selectAll('.mark').size(), headroom.sparkline(points.map((one) => one.y)).querySelectorAll('path').length]; }"""
        self.assertEqual([page.value(f"({lines})({count})") for count in (1, 2, 3)], [[0, 1, 0], [0, 2, 0], [1, 3, 1]])

    def test_keys_go_through_rows_and_marks(self):
        page = self.open(self.report(self.write(made_run(cases=4))))
        page.value("document.querySelector('.cases tbody .row-key').focus()")
        page.key("ArrowDown")
        at = "Array.from(document.querySelectorAll('.cases tbody .row-key')).indexOf(document.activeElement)"
        self.assertEqual(page.value(at), 1)
        page.key("End")
        self.assertEqual(page.value(at), 3)
        page.key("Enter", "\r")
        self.assertEqual(page.value("document.activeElement.getAttribute('aria-expanded')"), "true")
        self.assertIn("of read 32 MiB linear", page.value("document.querySelector('tr.opened').textContent"))
        page.key("Enter", "\r")
        self.assertIsNone(page.value("document.querySelector('tr.opened')"))
        for _ in range(20):
            page.key("Tab")
            if "mark" in page.value(FOCUS).split():
                break
        self.assertEqual(page.value(FOCUS), "mark")
        first = page.value("document.querySelector('figure .readout').textContent")
        page.key("ArrowRight")
        second = page.value("document.querySelector('figure .readout').textContent")
        self.assertIn("FLOP/byte", first)
        self.assertIn("FLOP/byte", second)
        self.assertNotEqual(first, second)

    def test_cases_are_sorted_filtered_and_turned_over(self):
        page = self.open(self.report(self.write(made_run(cases=240, processes=1, each=8))))
        self.assertEqual(len(page.value(NAMES)), 100)
        page.value("document.querySelector('.pager button:last-child').click()")
        page.value("document.querySelector('.pager button:last-child').click()")
        self.assertEqual(len(page.value(NAMES)), 40)
        head = "Array.from(document.querySelectorAll('.cases th')).find((head) => head.textContent === 'time')"
        page.value(f"{head}.firstChild.click()")
        self.assertEqual(page.value(f"{head}.getAttribute('aria-sort')"), "descending")
        times = [row[0] for row in page.value(CELLS)]
        self.assertEqual(len(times), 100)
        self.assertEqual(times, sorted(times, reverse=True))
        page.value("const field = document.querySelector('input[type=search]'); field.value = 'REFERENCE d=2048'; "
                   "field.dispatchEvent(new Event('input'))")
        names = page.value("Array.from(document.querySelectorAll('.cases tbody tr'), (row) => row.textContent)")
        self.assertEqual(len(names), 3)
        for name in names:
            self.assertIn("D=2048", name)
            self.assertIn("reference", name)

    def test_what_failed_or_was_skipped_is_there(self):
        content = made_run(cases=2)
        content["records"][3:] = [{**content["records"][3], "samples": [], "interval": None, "limit": None,
                                   "outcome": {"kind": "failed", "reason": "wrong answer: 3 instead of 4"}}]
        page = self.open(self.report(self.write(content)))
        self.assertIn("1 failed", page.value("document.querySelector('.controls').textContent"))
        page.value("document.querySelectorAll('.row-key')[1].click()")
        self.assertIn("3 instead of 4", page.value("document.querySelector('tr.opened').textContent"))

    def test_results_of_other_tools_are_pages_too(self):
        files = sorted((pathlib.Path(__file__).parent.parent / "data" / "readers").glob("*.*"))
        read = [file for file in files if headroom("show", file).returncode == 0]
        self.assertGreater(len(read), 5)
        page = self.open(self.report(*read))
        leads = page.value("Array.from(document.querySelectorAll('section'), (one) => one.querySelector('.lead') !== null)")
        self.assertGreaterEqual(len(leads), len(read), "a file with several runs has a section for each")
        self.assertTrue(all(leads))
        page.value("document.querySelectorAll('.row-key').forEach((key) => key.click())")
        self.assert_fits(page, "other-tools")

    def test_several_runs_are_sections_of_one_page(self):
        one = self.write(made_run(cases=2), "one.json")
        other = self.write(made_run(cases=4, seed=2), "other.json")
        page = self.open(self.report(one, other))
        self.assertEqual(page.value("Array.from(document.querySelectorAll('h2'), (head) => head.textContent)"), [str(one), str(other)])
        self.assertEqual(page.value("document.querySelectorAll('nav a').length"), 2)


class DiffTest(PageTest):
    def pair(self):
        base, new = made_pair()
        return self.write(base, "base.json"), self.write(new, "new.json")

    def test_a_comparison_says_what_diff_says(self):
        base, new = self.pair()
        page = self.open(self.report("--diff", base, new))
        told = self.folder / "diff.json"
        shown = headroom("diff", "--shift", base, new, "--json", told).stdout.splitlines()
        diff = json.loads(told.read_text())
        self.assertEqual(page.value("document.querySelector('.lead').textContent"), shown[0])
        self.assertEqual(page.value(CELLS), [[one["baseline"], one["test_value"], one["ratio"], one["n"]] for one in diff["comparisons"]])
        verdicts = page.value("Array.from(document.querySelectorAll('.cases tbody tr'), (row) => row.querySelector('.verdict .word').textContent)")
        self.assertEqual(verdicts, [one["verdict"] for one in diff["comparisons"]])
        self.assertIn("powersave", page.value("document.querySelector('.changed').textContent"))
        self.assertIn("2 cases only in", page.value("document.querySelector('main').textContent"))
        marks = page.value("Array.from(document.querySelectorAll('.forest .mark'), (mark) => mark.getAttribute('aria-label'))")
        ratios = sorted((one["ratio"] for one in diff["comparisons"]), reverse=True)
        self.assertEqual([mark.split(": ")[1].split(" x")[0] for mark in marks], [f"{ratio:.3f}" for ratio in ratios])
        page.value("document.querySelector('.row-key').click()")
        page.settle()
        page.value("document.querySelector('tr.opened figure summary').click()")
        page.settle()
        deciles = page.value("Array.from(document.querySelectorAll('tr.opened tbody tr'), (row) => [0, 4].map((i) => Number(row.cells[i].firstChild.value)))")
        self.assertEqual(deciles, [[one["percentile"], one["ratio"]] for one in diff["comparisons"][0]["shift"]])
        self.assert_fits(page, "diff")

    def test_reasons_and_pairs_are_there(self):
        base, new = self.pair()
        cells = "Array.from(document.querySelectorAll('.cases > tbody > tr'), (row) => [row.querySelector('.word').textContent, " \
            "row.querySelector('.why')?.textContent ?? null, row.cells[row.cells.length - 1].textContent])"
        page = self.open(self.report("--diff", base, new))
        rows = page.value(cells)
        self.assertEqual({why for verdict, why, _ in rows if verdict == "inconclusive"}, {"the interval crosses the margin"})
        self.assertEqual({why for verdict, why, _ in rows if verdict != "inconclusive"}, {None})
        self.assertEqual({samples for _, _, samples in rows}, {"54 pairs"})
        self.assertIn("margin: counts as the same", page.value("document.querySelector('.chart-key').textContent"))
        self.assertIn("1", page.value("Array.from(document.querySelectorAll('th.picture text'), (one) => one.textContent)"))
        marks = page.value("Array.from(document.querySelectorAll('.forest .mark'), (mark) => mark.getAttribute('aria-label'))")
        self.assertEqual(sum(mark.endswith("inconclusive: the interval crosses the margin") for mark in marks), 4)
        # Of another session nothing is paired.
        content = json.loads(new.read_text())
        content["environments"][0]["session"] = "another"
        rows = self.open(self.report("--diff", base, self.write(content, "apart.json"))).value(cells)
        self.assertEqual({samples for _, _, samples in rows}, {"54 unpaired"})
        for verdict, why, _ in rows:
            self.assertEqual(why is not None, verdict == "inconclusive", rows)

    def test_what_cannot_be_compared_is_refused(self):
        base, new = self.pair()
        page = self.folder / "page.html"
        self.assert_refused(headroom("report", "--diff", base, "-o", page), "--diff", "baseline")
        self.assert_refused(headroom("report", "--diff", "--margin", "much", base, new, "-o", page), "--margin", "much")
        self.assert_refused(headroom("report", "--margin", "3%", base, "-o", page), "--margin", "--diff")
        self.assertFalse(page.exists())


class CommandTest(PageTest):
    def test_a_page_that_cannot_be_written_is_told_at_once_and_nothing_is_lost(self):
        records = self.write(made_run(cases=2))
        before = records.read_bytes()
        self.assert_refused(headroom("report", records, "-o", records), str(records), "not a headroom page", "--force")
        self.assertEqual(records.read_bytes(), before)
        self.assert_refused(headroom("report", records, "-o", self.folder), str(self.folder))
        self.assert_refused(headroom("report", records, "-o", "/proc/none/page.html"), "/proc/none")
        self.assert_refused(headroom("report", records, "-o", "/dev/full"), "/dev/full")
        self.assert_refused(headroom("report", self.folder / "none.json", "-o", self.folder / "page.html"), "none.json")
        self.assertFalse((self.folder / "page.html").exists())

    def test_without_a_name_the_page_is_named_after_the_results(self):
        records = self.write(made_run(cases=2))
        name = records.name.partition(".")[0] + ".html"
        self.assert_exit(headroom("report", records, cwd=self.folder), 0, stderr="wrote " + name)
        self.assertIn("<html", (self.folder / name).read_text())
        (self.folder / name).write_text("mine")
        self.assert_refused(headroom("report", records, cwd=self.folder), name + " exists and is not a headroom page", "--force")
        self.assert_exit(headroom("report", "--diff", records, records, cwd=self.folder), 0, stderr="wrote diff.html")

    def test_a_page_is_written_over_another_and_by_force_over_anything(self):
        records = self.write(made_run(cases=2))
        page = self.report(records)
        first = page.read_bytes()
        self.assertEqual(self.report(records).read_bytes(), first)
        other = self.write_file("notes.txt", "mine")
        self.assert_exit(headroom("report", records, "-o", other, "--force"), 0)
        self.assertEqual(other.read_bytes(), first)
        self.assertEqual(headroom("report", records, "-o", "-").stdout.encode(), first)
        made = self.folder / "new" / "folder" / "page.html"
        self.assert_refused(headroom("report", records, "-o", made), "there is no folder")
        self.assertFalse(made.parent.parent.exists())

    def test_data_in_the_page_is_the_data(self):
        content = made_run(cases=2)
        content["records"][0]["model"]["name"] = content["records"][1]["model"]["name"] = HOSTILE[1]
        text = self.report(self.write(content)).read_text()
        data = text.split('data-kind="run">')[1].split("</script>")[0]
        self.assertNotIn("<", data)
        self.assertTrue(json.loads(data)["data"]["cases"]["case"][0].startswith(HOSTILE[1]))


if __name__ == "__main__":
    main()
