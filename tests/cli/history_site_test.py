# SPDX-License-Identifier: Apache-2.0
"""`headroom history --site`: pages and feed, what is written anew, whose files are left alone, what it refuses."""
import json
import os
import re
import subprocess
import time
import unittest
import xml.etree.ElementTree

from command_line import BIN, HEADROOM, CommandLineTest, headroom
from site_history import HOSTILE, START, fill, record, records_of_run, run_file

ATOM = "{http://www.w3.org/2005/Atom}"
FILLING_DISK = next((BIN.parent / "lib").glob("libfilling_disk.so"))


class HistorySiteTest(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.store, self.site = self.folder / "history.sqlite", self.folder / "public"

    def make(self, *arguments, site=None, **options):
        return headroom("history", "--site", site or self.site, "--store", self.store, *arguments, **options)

    def add(self, number, records, **environment):
        self.assert_exit(headroom("history", "import", run_file(self.folder, number, records, **environment), "--store", self.store), 0)

    def made(self, *arguments, written, removed=0, **options):
        parsed = json.loads(self.assert_exit(self.make("--json", "-", *arguments, **options), 0).stdout)
        self.assertEqual((parsed["written"], parsed["removed"]), (written, removed))
        return parsed

    def stamps(self):
        """Of each file below the site its content and when it was written."""
        return {str(path.relative_to(self.site)): (path.stat().st_mtime_ns, path.read_bytes())
                for path in self.site.rglob("*") if path.is_file()}

    def series(self):
        """The number of each series by the name of its experiment."""
        listed = json.loads(headroom("history", "--json", "-", "--store", self.store).stdout)["series"]
        return {one["name"].split(" D=")[0]: one["id"] for one in listed}

    def page(self, number):
        return (self.site / "series" / f"{number}.html").read_text()

    def sections(self, path, kind):
        """The data of the sections of that kind."""
        found = re.findall(f'<script type="application/json" data-kind="{kind}">(.*?)</script>', path.read_text())
        return [json.loads(text)["data"] for text in found]

    def data(self, number):
        return self.sections(self.site / "series" / f"{number}.html", "series")[0]

    def changes(self):
        return self.sections(self.site / "index.html", "changes")[0]

    def feed(self):
        return xml.etree.ElementTree.parse(self.site / "feed.xml").getroot()

    def test_what_changed_comes_first_and_every_series_has_its_page(self):
        fill(self.folder, self.store)
        result = self.assert_exit(self.make(), 0)
        self.assertEqual(result.stdout, f"2 series in {self.site}/index.html: 2 pages written, 0 pages removed\n")
        number, changes = self.series()["gemv"], self.changes()
        self.assertEqual((changes["series"], changes["earlier_count"], changes["suspected"]), (2, 0, []))
        change, = changes["recent"]
        self.assertEqual((change["series"], change["href"], change["run"], change["since"], change["worse"], change["commit"], change["machine"]),
                         ("gemv D=64 native cpu 2t latency", f"series/{number}.html", 21, 20, True, "b" * 40, "machine-a"))
        self.assertTrue(change["low"] < change["ratio"] < change["high"])
        machine, = self.sections(self.site / "index.html", "machine")
        self.assertEqual([len(spark) for spark in machine["series"]["spark"]], [40, 40])
        data = self.data(number)
        self.assertIn("git revision: " + "a" * 40 + " -> " + "b" * 40, data["levels"][1]["changes"])
        self.assertEqual([(level["first"], level["last"], level["run"]) for level in data["levels"]], [(0, 19, 1), (20, 39, 21)])
        self.assertIn("1 change found, the last at @21", data["answers"][0])
        self.assertEqual([one["run"] for one in data["samples"]], [*range(40, 10, -1)])
        self.assertEqual(data["samples"][0]["processes"], records_of_run(self.folder, 39, "gemv"))
        shown = json.loads(headroom("history", "--series", number, "--json", "-", "--store", self.store).stdout)["series"][0]
        points = data["points"]
        for key in ("run", "time", "value"):
            self.assertEqual(points[key], [value[key] for value in shown["values"]])
        self.assertEqual(points["low"], [value["interval"]["low"] for value in shown["values"]])
        self.assertEqual([data["commits"][place] for place in points["commit"]], [value["git_sha"] for value in shown["values"]])

    def test_a_run_writes_anew_what_it_touches(self):
        fill(self.folder, self.store)
        self.made(written=2)
        before = self.stamps()
        self.made(written=0)
        self.assertEqual(self.stamps(), before)
        self.add(41, [record("gemv", 12.03)], sha="b" * 40)
        self.made(written=1)
        after, touched = self.stamps(), f"series/{self.series()['gemv']}.html"
        self.assertEqual({name for name in after if after[name] != before[name]} - {".headroom-site.json"},
                         {touched, "index.html", "feed.xml"})
        self.assertEqual(self.data(self.series()["gemv"])["points"]["value"][-1], 12.03)

    def test_it_makes_again_what_is_missing_and_drops_what_the_history_lost(self):
        fill(self.folder, self.store)
        self.add(0, [record("old", 3)], timestamp=1000)
        self.made(written=3)
        numbers = self.series()
        (self.site / "series" / f"{numbers['gemv']}.html").unlink()
        self.made(written=1)
        (self.site / "index.html").unlink()
        self.made(written=0)
        self.assertEqual(len(self.changes()["recent"]), 1)
        headroom("history", "prune", "--older-than", "10000d", "--store", self.store)
        self.assertNotIn("old", self.series())
        self.made(written=0, removed=1)
        self.assertFalse((self.site / "series" / f"{numbers['old']}.html").exists())
        self.assertNotIn("old D=64", (self.site / "index.html").read_text())
        self.made("--min-magnitude", "90%", written=1)
        self.assertEqual(self.changes()["recent"], [])

    def test_a_feed_tells_each_change_once(self):
        fill(self.folder, self.store, runs=27)
        self.made(written=2)
        entries = self.feed().findall(ATOM + "entry")
        self.assertEqual(len(entries), 1)
        first = entries[0].find(ATOM + "id").text
        self.assertRegex(first, r"^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$")
        self.assertIn("worse", entries[0].find(ATOM + "title").text)
        self.assertEqual(entries[0].find(ATOM + "updated").text, "2026-09-22T10:13:20Z")
        self.assertTrue((self.site / entries[0].find(ATOM + "link").get("href")).exists())
        # More values find it a run earlier.
        self.add(19.5, [record("gemv", 12.0)], sha="b" * 40)
        self.made(written=1)
        entries = self.feed().findall(ATOM + "entry")
        self.assertIn("@28 of 2026-09-22 09:43", entries[0].find(ATOM + "content").text)
        self.assertEqual([entry.find(ATOM + "id").text for entry in entries], [first])
        for name in ("id", "title", "updated", "author"):
            self.assertIsNotNone(self.feed().find(ATOM + name), name)

    def test_hostile_names_stay_names(self):
        for i in range(20):
            self.add(i, [record(name, 10 if i < 10 else 15) for name in HOSTILE], sha='"><script>alert(1)</script>')
        self.made(written=len(HOSTILE))
        self.assertEqual({path.relative_to(self.folder).parts[0] for path in self.folder.rglob("*.html")}, {"public"})
        self.assertEqual(len(list((self.site / "series").iterdir())), len(HOSTILE))
        pages = list(self.site.rglob("*.html"))
        self.assertGreater(len(pages), len(HOSTILE), "a page of each series, and those that lead to them")
        for page in pages:
            text = page.read_text()
            self.assertNotRegex(text, r"<script(?! type=\"application/json\"| src=\"(\.\./)?assets/)|<img|\u202e|\x1b")
            self.assertEqual(text.count("<script"), text.count("</script>"))
        titles = [entry.find(ATOM + "title").text for entry in self.feed().findall(ATOM + "entry")]
        self.assertEqual(len(titles), len(HOSTILE))
        self.assertEqual(sum(title.startswith("<script>alert(1)</script> D=64") for title in titles), 1)
        self.assertIn("../../../etc/passwd D=64 native cpu 2t latency", [change["series"] for change in self.changes()["recent"]])
        for number in self.series().values():
            self.assertEqual(len(self.data(number)["points"]["value"]), 20)

    def test_files_of_others_are_left_alone(self):
        fill(self.folder, self.store, runs=2)
        self.site.mkdir()
        (self.site / ".headroom-7-0.tmp").write_text("{")  # left by a killed writer
        (self.site / "index.html").write_text("mine")
        self.assert_refused(self.make(), "not a headroom site", "unchanged")
        self.assertEqual(set(self.stamps()), {"index.html", ".headroom-7-0.tmp"})
        (self.site / "index.html").unlink()
        (self.site / ".git").write_text("gitdir: elsewhere")  # a branch without files
        self.made(written=2)
        self.assertEqual((self.site / ".git").read_text(), "gitdir: elsewhere")
        for name in ("CNAME", "series/mine.html", "series/3.html"):
            (self.site / name).write_text("mine")
        self.made(written=0)
        self.add(3, [record("third", 1)])
        self.assert_refused(self.make(), "series/3.html", "not written by headroom")
        (self.site / "series" / "3.html").unlink()
        target = self.write_file("target", "mine")
        (self.site / "series" / "3.html").symlink_to(target)
        self.assert_refused(self.make(), "series/3.html", "not written by headroom")
        (self.site / "series" / "3.html").unlink()
        self.made(written=1)
        for path in (target, self.site / "CNAME", self.site / "series" / "mine.html"):
            self.assertEqual(path.read_text(), "mine")

    def test_refusals(self):
        self.assert_refused(self.make(), "there is no history")
        self.assertFalse(self.site.exists())
        fill(self.folder, self.store, runs=2)
        self.assert_refused(self.make("gemv"), "leave out WORD")
        self.assert_refused(self.make(site=self.store), "Not a directory")
        self.made(written=2)
        state = self.site / ".headroom-site.json"
        for text in ("{", '{"headroom_site": 2}', '{"headroom_site": 1}', "[]"):
            state.write_text(text)
            self.assert_refused(self.make(), ".headroom-site.json", "unchanged")
            self.assertEqual(state.read_text(), text)
        if os.getuid() != 0:
            self.site.chmod(0o500)
            self.assert_refused(self.make(), str(self.site))

    def test_two_processes_at_once(self):
        fill(self.folder, self.store)
        command = [HEADROOM, "history", "--site", str(self.site), "--store", str(self.store), "--json", "-"]
        processes = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)]
        outputs = [process.communicate(timeout=60) for process in processes]
        self.assertEqual([process.returncode for process in processes], [0] * 4, outputs)
        self.assertEqual(sorted(json.loads(out)["written"] for out, _ in outputs), [0, 0, 0, 2])

    def test_a_full_disk_loses_nothing_and_the_next_call_goes_on(self):
        fill(self.folder, self.store)
        self.made(written=2)
        whole = {name: content for name, (_, content) in self.stamps().items()}
        self.add(41, [record("gemv", 12.03), record("layer_norm", 5.01)], sha="b" * 40)
        left = self.folder / "left"
        needed = len(whole[".headroom-site.json"]) * 2 + sum(len(whole[name]) for name in whole if not name.startswith((".", "assets")))
        for share in (0, 0.02, 0.1, 0.3):
            left.write_bytes(int(share * needed).to_bytes(8, "little"))
            result = self.make(env={**os.environ, "LD_PRELOAD": str(FILLING_DISK), "DISK_LEFT": str(left), "DISK": f"{self.site}/"})
            self.assert_refused(result, "No space left on device")
            for name, (_, content) in self.stamps().items():
                self.assertTrue(content == whole[name] or content.endswith((b"</html>\n", b"</feed>\n", b"}\n")), name)
        self.assertEqual(self.make().returncode, 0)
        resumed = {name: content for name, (_, content) in self.stamps().items()}
        fresh = self.folder / "fresh"
        self.assert_exit(self.make(site=fresh), 0)
        self.assertEqual(set(resumed), {str(path.relative_to(fresh)) for path in fresh.rglob("*") if path.is_file()})
        for name in resumed:
            self.assertEqual((fresh / name).read_bytes(), resumed[name], name)

    def test_a_record_that_cannot_be_read_costs_its_samples_alone(self):
        fill(self.folder, self.store, runs=3)
        subprocess.run(["python3", "-c", "import sqlite3, sys; d = sqlite3.connect(sys.argv[1]); "
                        "d.execute(\"update records set content = x'00' where run = 2\"); d.commit()", str(self.store)], check=True)
        self.made(written=2)
        samples = self.data(1)["samples"]
        self.assertEqual([one["count"] for one in samples], [5, 0, 5])
        self.assertIn("run 2: damaged", samples[1]["problem"])

    def test_long_series_are_thinned_and_that_is_said(self):
        environments = [{"fingerprint": "machine-a", "timestamp": START + 60 * i} for i in range(3000)]
        records = [{**record(name, level + i * 7 % 11 / 100), "environment": i} for i in range(3000) for name, level in (("gemv", 10), ("mlp", 5))]
        runs = self.folder / "runs.json"
        runs.write_text(json.dumps({"headroom": {"schema": 1, "version": "0.1.0"}, "environments": environments, "records": records}))
        self.assert_exit(headroom("history", "import", runs, "--store", self.store), 0)
        start = time.monotonic()
        self.made(written=2)
        self.assertLess(time.monotonic() - start, 20)
        points = self.data(1)["points"]
        self.assertLessEqual(len(points["value"]), 1010)
        self.assertEqual(sum(points["values"]), 3000)
        self.assertEqual(points["values"][-300:], [1] * 300)
        self.assertTrue(all(low <= value <= high for low, value, high in zip(points["low"], points["value"], points["high"])))
        self.assertEqual(self.data(1)["singles"], 300)

        self.assertLess(len(self.page(1)), 200_000)


if __name__ == "__main__":
    unittest.main()
