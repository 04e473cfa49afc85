# SPDX-License-Identifier: Apache-2.0
"""Pages of instruments with special metrics: ranks, operators, caches; measured on ranks that need no libtorch."""
import json

from page_test_case import PageTest, headroom, main

from command_line import clean_environment  # noqa: E402
from scripted_dispatch import RANK, SHORT  # noqa: E402

MARKS = """Array.from(document.querySelectorAll('figure[data-chart=%s]'), (figure) => Array.from(figure.querySelectorAll('.mark'),
    (mark) => mark.getAttribute('aria-label')))"""
COLUMN = """Array.from(document.querySelectorAll('.cases tbody tr'), (row) =>
    Array.from(row.cells).filter((cell) => cell.dataset.title === '%s').map((cell) => Number(cell.querySelector('data').value))[0])"""


class InstrumentsTest(PageTest):
    def measure(self, *arguments):
        """Runs a command; returns its records and the page of its run in the history."""
        store, file = self.folder / "history.db", self.folder / "records.json"
        place = arguments.index("--") if "--" in arguments else len(arguments)
        measured = headroom(*arguments[:place], "--store", store, *arguments[place:], env=clean_environment(MINE=str(self.folder / "kept")))
        self.assert_exit(measured, 0)
        self.assert_exit(headroom("show", "@last", "--store", store, "--json", file), 0)
        page = self.open(self.report("@last", "--store", store))
        lead = page.value("document.querySelector('.lead').textContent")
        self.assertEqual(lead, [line for line in measured.stdout.splitlines() if line][0])
        return json.loads(file.read_text())["records"], page

    def values(self, records, metric):
        return [record["metric"]["value"] for record in records if record["metric"]["name"] == metric]

    def test_training_scales_and_its_buckets_travel(self):
        records, page = self.measure("ddp", "--runner", RANK, "--iters", "8", "--warmup", "1", "--ranks", "1,2,4")
        steps = [record for record in records if record["model"]["type"] != "collective"]
        self.assertEqual(page.value(COLUMN % "throughput"), self.values(steps, "throughput"))
        scaling = page.value(MARKS % "curves")[0]
        self.assertEqual([mark.split(":")[0] for mark in scaling], [f"buckets of 25 MiB, {ranks}" for ranks in (1, 2, 4)])
        alone = self.values(steps, "throughput")[0]
        self.assertIn(f"without DDP {float(f'{4 * alone:.3g}'):.0f}", scaling[2])
        phases = page.value(MARKS % "phases")[0]
        self.assertEqual(len(phases), 16)
        self.assertIn("4 ranks, 25 MiB: forward 25.0 ms of 90.0 ms", phases)
        buckets = page.value(MARKS % "spans")[0]
        self.assertEqual(buckets, ["bucket 0, 1 MiB: from 5.00 ms to 9.00 ms, 4.00 ms; 3 gradients",
                                   "bucket 1, 4 MiB: from 15.0 ms to 35.0 ms, 20.0 ms; 9 gradients"])
        self.assert_fits(page, "ddp")

    def test_collectives_are_shown_by_their_size(self):
        records, page = self.measure("ddp", "--collectives", "--runner", RANK, "--ranks", "2,4", "--min-bytes", "4K", "--max-bytes", "64K",
                                     "--max-time", "0.1s")
        self.assertEqual(page.value(COLUMN % "time"), self.values(records, "latency"))
        self.assertEqual(page.value(COLUMN % "busbw"), self.values(records, "busbw"))
        curves = page.value(MARKS % "curves")
        self.assertEqual(len(curves), len({record["model"]["name"] for record in records}))
        self.assertEqual([mark.split(":")[0] for mark in curves[0]],
                         [f"{ranks} ranks, {size} KiB" for ranks in (2, 4) for size in (4, 16, 64)])
        self.assert_fits(page, "collectives")

    def test_distribution_is_broken_down(self):
        records, page = self.measure("dispatch", *[word for word in SHORT if word != "--no-store"])
        self.assertEqual(page.value(COLUMN % "hit"), self.values(records, "hit"))
        added, steps = page.value(MARKS % "phases")
        self.assertEqual([mark.split(":")[1].split(" of ")[0].rsplit(" ", 2)[0] for mark in added],
                         [" local operator", " distribution, cache hit", " extra for a cache miss"])
        self.assertIn("add, miss: wrap 500 ns of 1.50 µs", steps)
        page.value("document.querySelector('.row-key').click()")
        page.settle()
        self.assertIn("process 4", page.value("document.querySelector('tr.opened').textContent"))
        self.assert_fits(page, "dispatch")

    def test_cold_stands_beside_warm_and_layers_have_their_sizes(self):
        records, page = self.measure("cache", "--layer", "env:MINE", "--repeat", "3", "--", "sh", "-c",
                                     "test -e $MINE/a || sleep 0.03; head -c 100000 /dev/zero > $MINE/a")
        self.assertEqual(page.value(COLUMN % "speed-up"), self.values(records, "speedup"))
        self.assertEqual([mark.split(", ")[-1].split(":")[0] for mark in page.value(MARKS % "ends")[0]], ["cold", "warm"])
        self.assertIn("env:MINE 97.7 KiB", page.value(MARKS % "phases")[0][0])
        self.assertIn("97.7 KiB", page.value("document.querySelector('details.environment').textContent"))
        self.assert_fits(page, "cache")


if __name__ == "__main__":
    main()
