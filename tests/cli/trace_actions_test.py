# SPDX-License-Identifier: Apache-2.0
"""`headroom trace validate`, `diff` and `convert`."""
import csv
import json
import os
import subprocess
import unittest

from command_line import HEADROOM, CommandLineTest, headroom
from trace_files import SHARED, kernel, launch, step_events, tables_of, trace, write_trace


class Validate(CommandLineTest):
    def test_a_sound_file(self):
        file = write_trace(self.folder / "sound.json")
        result = self.assert_exit(trace("validate", file), 0)
        self.assertEqual(result.stderr, "")
        self.assertIn("parts that could not be read: none", result.stdout)

    def test_says_what_is_broken_and_where(self):
        file = write_trace(self.folder / "bad.json", step_events() + [kernel("broken", "soon", 1, 5)])
        result = self.assert_exit(trace("validate", file), 1)
        self.assertEqual(result.stderr, "")
        offset = file.read_text().index('{"ph": "X", "cat": "kernel", "name": "broken"')
        self.assertRegex(result.stdout, rf"\n{offset} +ts is not a number: .soon.")
        result = self.assert_exit(trace("validate", file, "--json", "-"), 1)
        self.assertEqual(tables_of(result)["problems"][0]["offset"], offset)

    def test_says_what_no_json_parser_takes(self):
        sound = write_trace(self.folder / "sound.json").read_text()
        for name, text, what in (("comma", sound.replace("]}", ",]}"), "a comma before a closing bracket"),
                                 ("nan", sound.replace('"args": {}', '"args": {"x": NaN}', 1), "NaN"),
                                 ("zero", sound.replace('"dur": 100', '"dur": 0100'), "starts with 0")):
            with self.subTest(name):
                file = self.write_file(f"{name}.json", text)
                self.assert_exit(trace("utilization", file), 0)
                result = self.assert_exit(trace("validate", file), 1)
                self.assertRegex(result.stdout, rf"\n *\d+ +invalid JSON: .*{what}")

    def test_events_that_contradict_each_other(self):
        early = kernel("early", 1, 1, 2)
        result = trace("validate", write_trace(self.folder / "odd.json", step_events() + [early]), "--json", "-")
        self.assert_exit(result, 0)
        wrong = {row["check"]: row for row in tables_of(result)["checks"] if row["verdict"] == "wrong"}
        self.assertEqual(list(wrong), ["GPU work that starts before its launch"])
        self.assertEqual(wrong["GPU work that starts before its launch"]["largest_ns"], 24000)

    def test_one_bad_rank_is_enough(self):
        write_trace(self.folder / "rank0.json")
        write_trace(self.folder / "rank1.json")
        write_trace(self.folder / "rank2.json", step_events() + [kernel("broken", "soon", 1, 5)])
        result = self.assert_exit(trace("validate", self.folder, "--json", "-"), 1)
        self.assertEqual([row["problems"] for row in tables_of(result)["ranks"]], [0, 0, 1])


class Diff(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.before = write_trace(self.folder / "before.json")
        extra = [launch(60, 2, 3), kernel("void new<int>(int)", 70, 7, 3)]
        self.after = write_trace(self.folder / "after.json", step_events(slow=2) + extra)

    def diff(self, *arguments):
        return headroom("trace", "diff", *arguments)

    def test_table(self):
        result = self.assert_exit(self.diff(self.before, self.after), 0)
        self.assertEqual(result.stderr, "")
        self.assertRegex(result.stdout, r"\nsgemm_128x64 +increased +1 +1 +20.0 µs +40.0 µs +20.0 µs +20.0 µs +40.0 µs\n")
        self.assertRegex(result.stdout, r"\nnew +added +0 +1 +0 ns +7.00 µs +7.00 µs +- +7.00 µs\n")
        self.assertRegex(result.stdout, r"\ncudaLaunchKernel +call +increased +2 +3 ")
        self.assertIn("ProfilerStep > aten::mm > sgemm_128x64", result.stdout)

    def test_json_csv_and_whole_names(self):
        path = self.folder / "diff.csv"
        result = self.assert_exit(self.diff(self.before, self.after, "--whole-names", "--json", "-", "--csv", path), 0)
        rows = {row["name"]: row for row in tables_of(result)["kernels"]}
        self.assertEqual(rows["void new<int>(int)"]["change"], "added")
        self.assertEqual(rows["sgemm_128x64"]["difference_ns"], 20000)
        with open(self.folder / "diff.kernels.csv") as file:
            self.assertEqual(next(csv.DictReader(file))["name"], "sgemm_128x64")

    def test_no_store_is_taken(self):
        result = self.assert_exit(self.diff(self.before, self.after, "--no-store"), 0)
        self.assertEqual(result.stdout, self.diff(self.before, self.after).stdout)

    def test_one_step_top_and_markdown(self):
        self.assert_exit(self.diff(self.before, self.after, "--step", "1", "--top", "1", "--markdown"), 0,
                         "2 smaller changes left out")
        self.assertRegex(self.diff(self.before, self.after, "--step", "9").stderr, "no ProfilerStep#9; its steps are 1")
        self.assert_exit(self.diff(self.before, self.after, "--step", "9"), 2)

    def test_jobs_are_sums_of_their_ranks(self):
        for rank in range(3):
            write_trace(self.folder / "job" / f"rank{rank}.json")
        result = self.assert_exit(self.diff(self.before, self.folder / "job", "--json", "-"), 0)
        rows = {row["name"]: row for row in tables_of(result)["kernels"]}
        self.assertEqual((rows["sgemm_128x64"]["count_after"], rows["sgemm_128x64"]["time_after_ns"]), (3, 60000))
        per_step = self.diff(self.before, self.folder / "job", "--per-step", "--json", "-")
        rows = {row["name"]: row for row in tables_of(per_step)["kernels"]}
        self.assertEqual(rows["sgemm_128x64"]["difference_ns"], 0)

    def test_refuses(self):
        self.assert_refused(self.diff(self.before), "give A and B")
        self.assert_refused(self.diff(self.before, self.folder / "absent.json"), "absent.json")
        no_steps = write_trace(self.folder / "no_steps.json", [kernel("k", 1, 1, 1)])
        self.assert_refused(self.diff(no_steps, no_steps, "--per-step"), "--per-step")
        self.assert_exit(self.diff("--help"), 0, "headroom trace diff before.json.gz after.json.gz")


def content_of(result):
    """The tables without what conversion drops."""
    tables = tables_of(result)
    for row in tables.get("trace", []):
        row.pop("json_bytes", None)
        row.pop("events", None)
    return tables


class Convert(CommandLineTest):
    def convert(self, *arguments):
        return headroom("trace", "convert", *arguments)

    def broken(self):
        """NaN, a trailing comma, unescaped quotes and control characters, bad UTF-8, a huge integer."""
        path = self.folder / "broken.json"
        path.write_bytes(b'{"traceEvents": [' + b",".join(json.dumps(e).encode() for e in step_events()) + b""",
            {"ph": "X", "name": "say "hi"", "ts": "200.5", "dur": 3, "args": {"v": NaN, "big": 99999999999999999999,}},
            {"ph": "X", "name": "tab\there \xff", "ts": 210, "dur": 1},
            {"ph": "X", "name": "lost", "ts": "soon", "dur": 1},""")
        return path

    def test_a_broken_trace_becomes_strict_json(self):
        path, out = self.broken(), self.folder / "clean.json"
        result = self.assert_exit(self.convert(path, out), 0)
        self.assertEqual(result.stdout, "")
        self.assertIn("9 of 10 events written to", result.stderr)
        self.assertIn("1 event left out", result.stderr)
        events = json.loads(out.read_text(), parse_constant=self.fail)["traceEvents"]
        self.assertEqual(len(events), 9)
        self.assertEqual((events[7]["name"], events[7]["ts"]), ('say "hi"', 200.5))
        self.assertEqual(events[7]["args"], {"v": None, "big": 99999999999999999999})
        self.assertEqual(events[8]["name"], "tab\there \ufffd")
        self.assert_exit(trace("validate", out), 0)
        self.assertEqual(tables_of(trace("kernels", path, "--json", "-")), tables_of(trace("kernels", out, "--json", "-")))

    def test_impossible_events_are_kept_and_counted(self):
        events = [kernel("sgemm", 1000 * i, 100, i) for i in range(1, 21)]
        path, out = write_trace(self.folder / "rank0.json", events), self.folder / "out.json"
        self.assertNotIn("impossible", self.convert(path, out).stderr)
        broken = write_trace(self.folder / "rank1.json", [*events, kernel("sgemm", 50, 5_000_000, 99)])
        far = write_trace(self.folder / "rank2.json", [*events, kernel("sgemm", 4e11, 100, 99)])
        for wrong, what in ((broken, "1 impossible duration kept (5.00 s of 'sgemm'"), (far, "1 event kept, with times of another clock")):
            for name in (out, self.folder / "out.csv"):
                self.assert_exit(self.convert(wrong, name), 0, stderr=(what, "21 of 21 events written"))
        self.assert_exit(headroom("trace", "merge", path, broken, "-o", out), 0,
                         stderr="rank 1: 1 impossible duration kept (5.00 s of 'sgemm'")
        self.assertIn("1 impossible duration left out", trace("summary", out).stdout)

    def test_a_page_draws_no_impossible_events(self):
        events = [kernel("sgemm", 1000 * i, 100, i) for i in range(1, 21)]
        path = write_trace(self.folder / "run.json", [*events, kernel("sgemm", 50, 5_000_000, 99)])
        page = self.folder / "page.html"
        for is_broken in (True, False):
            self.assert_exit(headroom("report", path, "-o", page, "--force"), 0)
            text = page.read_text()
            self.assertEqual("1 impossible duration left out (5.00 s of" in text, is_broken)
            self.assertRegex(text, r'"start_ns":\d+,"length_ns":19100000,')
            path = write_trace(self.folder / "run.json", events)

    def test_packed_outputs_and_standard_streams(self):
        path = write_trace(self.folder / "run.json")
        for name in ("out.json", "out.json.gz", "out.json.zst"):
            with self.subTest(name):
                self.assert_exit(self.convert(path, self.folder / name), 0)
                self.assertIn("33.3 %", trace("utilization", self.folder / name).stdout)
        self.assertEqual((self.folder / "out.json.gz").read_bytes()[:2], b"\x1f\x8b")
        self.assertEqual((self.folder / "out.json.zst").read_bytes()[:4], b"\x28\xb5\x2f\xfd")
        piped = subprocess.run([HEADROOM, "trace", "convert", "-", "-"], input=path.read_bytes(), capture_output=True,
                               timeout=60)
        self.assertEqual(piped.returncode, 0, piped.stderr)
        self.assertEqual(piped.stdout, (self.folder / "out.json").read_bytes())

    def test_csv_of_the_events(self):
        path, out = write_trace(self.folder / "run.json"), self.folder / "events.csv"
        self.assert_exit(self.convert(path, out), 0)
        with open(out, newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(len(rows), 7)
        kernel_row = next(row for row in rows if row["name"] == "sgemm_128x64")
        self.assertEqual([kernel_row[k] for k in ("category", "start_ns", "duration_ns", "correlation", "device", "stream")],
                         ["kernel", "10000", "20000", "1", "0", "7"])

    def test_refuses_and_leaves_nothing(self):
        path = write_trace(self.folder / "run.json")
        before = sorted(self.folder.iterdir())
        self.assert_refused(self.convert(path, path), "give another output")
        self.assert_refused(self.convert(path), "give IN and OUT")
        self.assert_refused(self.convert(self.folder / "absent.json", self.folder / "out.json"), "absent.json")
        (self.folder / "text.json").write_text("hello")
        self.assert_refused(self.convert(self.folder / "text.json", self.folder / "out.json"), "not a Chrome trace")
        (self.folder / "text.json").unlink()
        self.assertEqual(sorted(self.folder.iterdir()), before)
        self.assertIn("headroom trace convert broken.json clean.json", self.convert("--help").stdout)

    def assert_keeps(self, path, analyses):
        out = self.folder / "clean.json"
        converted = self.convert(path, out)
        if converted.returncode != 0:  # not a trace for any analysis
            self.assert_exit(trace("summary", path), converted.returncode)
            self.assertRegex(converted.stderr, "not a (Chrome )?trace")
            return
        with open(out, encoding="utf-8") as file:
            json.load(file, parse_constant=self.fail)
        for analysis in analyses:
            with self.subTest(path.name, analysis=analysis):
                before, after = (trace(analysis, file, "--top", "0", "--json", "-") for file in (path, out))
                self.assertEqual(before.returncode, after.returncode, before.stderr + after.stderr)
                if before.returncode == 0:
                    self.assertEqual(content_of(before), content_of(after))

    @unittest.skipUnless(SHARED.is_dir(), "the shared traces are not here")
    def test_real_files_keep_what_they_say(self):
        # One of each writer; the long test takes all.
        for name in ("hta__trace_filter_sampled_rank-0", "hta__amd_trace_mi250*", "kineto__samples_resnet50_num_workers_0*",
                     "tracelens__b200_eager_trace"):
            [path] = SHARED.glob(name + ".json.gz")
            self.assert_keeps(path, ("kernels", "idle", "ops"))

    @unittest.skipUnless(SHARED.is_dir() and os.environ.get("HEADROOM_ALL_TRACES"), "a long test")
    def test_all_real_files_keep_what_they_say(self):
        names = [entry["name"] for entry in json.loads(headroom("trace", "--list", "--json", "-").stdout)]
        names.remove("validate")  # conversion repairs what was broken
        files = [path for path in sorted(SHARED.rglob("*")) if path.is_file() and path.suffix != ".md"]
        self.assertGreater(len(files), 70)
        for path in files:
            self.assert_keeps(path, names)


if __name__ == "__main__":
    unittest.main()
