# SPDX-License-Identifier: Apache-2.0
"""`headroom show`."""
import gzip
import json
import os
import pathlib
import unittest

from command_line import CommandLineTest, clean_environment, faulty, headroom
from ddp_test import RANK as DDP_RANK
from scripted_dispatch import SHORT as DISPATCH_SHORT
from trace_files import write_trace

DATA = pathlib.Path(__file__).parent.parent / "data"
SWEEP = ("--runner", DDP_RANK, "--iters", "8", "--warmup", "1")


class ShowTest(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.store = self.folder / "history.db"

    def instruments(self):
        """Returns a command line for each instrument."""
        trace = write_trace(self.folder / "run.json")
        layer = "touch $MINE/a"
        expected = self.folder / "expect.toml"
        expected.write_text('[[expect]]\nop = "add"\nmetric = "hit"\nus = 5.2\ntolerance = 0.9\nnote = "a <note>"\n')
        return {
            "run": ("run", "--runner", os.environ["HEADROOM_BIN"] + "/faulty_runner", "--no-limits", "--max-time", "100ms",
                    "--min-time", "0", "--threads", "1", "fine", "slow"),
            "ab": ("ab", "sh -c true", "sh -c :", "--runs", "8"),
            "time": ("time", "sh -c true", "--runs", "4"),
            "cache": ("cache", "--layer", "env:MINE", "--repeat", "2", "--", "sh", "-c", layer),
            "dispatch": ("dispatch", *[word for word in DISPATCH_SHORT if word != "--no-store"], "--op", "add", "--per-rank",
                         "--expect", expected),
            "ddp": ("ddp", *SWEEP, "--ranks", "1,2", "--per-rank"),
            "collectives": ("ddp", "--collectives", "--runner", DDP_RANK, "--ranks", "2", "--min-bytes", "4K",
                            "--max-bytes", "4K", "--max-time", "0.2s"),
            "trace": ("trace", "kernels", trace),
            "summary": ("trace", trace),
        }

    def test_a_run_is_shown_as_its_instrument_showed_it(self):
        for name, arguments in self.instruments().items():
            with self.subTest(name):
                # Before the user's command.
                place = arguments.index("--") if "--" in arguments else len(arguments)
                store = self.folder / f"{name}.db"
                measured = headroom(*arguments[:place], "--store", store, *arguments[place:], env=clean_environment())
                self.assert_exit(measured, 0)
                shown = self.assert_exit(headroom("show", "@last", "--store", store), 0)
                self.assertEqual(shown.stdout, measured.stdout)

    def test_a_file_of_the_schema_before_is_shown_as_it_was(self):
        shown = self.assert_exit(headroom("show", DATA / "record_schema3.json"), 0)
        for told in (r"sleep 0.001: 0.839 x the time of true .*: inconclusive", r"no hardware counters: this machine does not",
                     r"cold runs were cold: before each of the 2,", r"env:MYCACHE  fresh folder in MYCACHE +0 +1 +1 ",
                     r"0 of 1 expectation is met, 1 inconclusive", r"add +0  5.05 µs\nadd +1  5.55 µs",
                     r"gemv D=16384 +22.1 ms .* BUT\n", r"  B  busy: other programs"):
            self.assertRegex(shown.stdout, told)

    def test_what_is_shown_depends_on_no_word_of_the_command(self):
        """Commands may contain our options, and sentences like our notes."""
        path = self.folder / "words.json"
        self.assert_exit(headroom("ab", "--runs", "3", "sh -c 'true --per-rank'", "echo quota: 1 of 2", "--json", path,
                                  "--no-store"), 0)
        content = json.loads(path.read_text())
        for record in content["records"]:
            record["notes"].append("quota: a sentence that somebody wrote")
            record["note_values"].append({"kind": "text", "text": "quota: a sentence that somebody wrote"})
        path.write_text(json.dumps(content))
        shown = self.assert_exit(headroom("show", path), 0, "quota: a sentence that somebody wrote")
        self.assertNotIn("  Q  ", shown.stdout)

    def test_so_is_its_markdown(self):
        measured = self.assert_exit(faulty("fine", "--markdown", "--store", self.store), 0, "| fine |")
        self.assertEqual(headroom("show", "@1", "--markdown", "--store", self.store).stdout, measured.stdout)

    def test_a_page_is_what_report_writes(self):
        self.assert_exit(faulty("fine", "--store", self.store), 0)
        file = self.folder / "page.html"
        self.assert_exit(headroom("report", "@1", "--store", self.store, "-o", file), 0)
        shown = self.assert_exit(headroom("show", "@1", "--html", "--store", self.store), 0)
        self.assertEqual(shown.stdout, file.read_text())
        trace = write_trace(self.folder / "run.json")
        self.assert_exit(headroom("report", trace, "-o", file, "--force"), 0)
        shown = self.assert_exit(headroom("show", trace, "--html"), 0)
        self.assertEqual(shown.stdout, file.read_text())

    def test_two_forms_are_one_too_many(self):
        self.assert_exit(faulty("fine", "--store", self.store), 0)
        self.assert_refused(headroom("show", "@1", "--html", "--markdown", "--store", self.store), "--markdown and --html")

    def test_of_traces_that_are_gone_the_history_keeps_the_numbers(self):
        trace = write_trace(self.folder / "run.json")
        self.assert_exit(headroom("trace", "utilization", trace, "--store", self.store), 0)
        trace.unlink()
        self.assert_exit(headroom("show", "@last", "--store", self.store), 0, "utilization",
                         "the trace itself is not read here")

    def test_traces_of_a_job_are_shown_again_only_where_all_are_there(self):
        traces = [write_trace(self.folder / f"{name}.json") for name in "ab"]
        measured = self.assert_exit(headroom("trace", "utilization", *traces, "--store", self.store), 0)
        self.assertEqual(headroom("show", "@last", "--store", self.store).stdout, measured.stdout)
        page = self.assert_exit(headroom("show", "@last", "--html", "--store", self.store), 0)
        for trace in traces:
            self.assertIn(trace.name, page.stdout)
        traces[0].unlink()
        self.assert_exit(headroom("show", "@last", "--store", self.store), 0, "the trace itself is not read here")

    def test_an_analysis_that_wrote_a_file_is_not_repeated(self):
        trace, overlay = write_trace(self.folder / "run.json"), self.folder / "overlay.json"
        self.assert_exit(headroom("trace", "critical-path", trace, "--overlay", overlay, "--store", self.store), 0)
        overlay.unlink()
        self.assert_exit(headroom("show", "@last", "--store", self.store), 0, "the trace itself is not read here")
        self.assertFalse(overlay.exists())

    def test_a_trace_is_shown_by_its_summary(self):
        trace = write_trace(self.folder / "run.json")
        packed = self.folder / "run.json.gz"
        packed.write_bytes(gzip.compress(trace.read_bytes()))
        for file in (trace, packed):
            shown = self.assert_exit(headroom("show", file), 0)
            self.assertEqual(shown.stdout, headroom("trace", "summary", file, "--no-store").stdout)

    def test_what_is_no_result_is_refused_with_a_sentence(self):
        files = {"empty": b"", "noise": bytes(range(256)) * 40, "cut.json": b'{"schema": 1, "records": [', "text": b"hello\n",
                 "packed.gz": gzip.compress(b"nothing of ours")[:20]}
        for name, content in files.items():
            with self.subTest(name):
                file = self.folder / name
                file.write_bytes(content)
                shown = self.assert_exit(headroom("show", file), 2)
                self.assertEqual(shown.stdout, "")
                self.assertIn(name, shown.stderr)
        for what in (self.folder / "nothing", "@7", "@git:abcdef", "@what"):
            self.assertEqual(headroom("show", what, "--store", self.store).returncode, 2, what)

    def test_a_damaged_run_of_a_cache_is_a_sentence(self):
        file = self.folder / "cache.json"
        self.assert_exit(headroom("cache", "--layer", "env:MINE", "--repeat", "2", "--no-store", "--json", file, "--", "sh",
                                  "-c", "touch $MINE/a"), 0)
        self.assertIn("cold runs were cold", headroom("show", file).stdout)
        of_schema3 = (DATA / "record_schema3.json").read_text()
        self.assertIn('\\"parts\\"', of_schema3)
        for text in (file.read_text(), of_schema3, of_schema3.replace('{\\"request', "{request")):
            file.write_text(text.replace('\\"parts\\"', '\\"part\\"').replace('"parts"', '"part"'))
            self.assert_exit(headroom("show", file), 2, stderr="cache")

    def test_the_history_says_where_a_run_is_shown(self):
        self.assert_exit(faulty("fine", "--store", self.store), 0)
        self.assert_exit(headroom("history", "@1", "--store", self.store), 2, stderr="headroom show @1")

    def test_colours_are_asked_for(self):
        self.assert_exit(faulty("fine", "throws", "--store", self.store), 1)
        plain = headroom("show", "@1", "--store", self.store).stdout
        self.assertNotIn("\x1b", plain)
        coloured = headroom("show", "@1", "--store", self.store, "--color", "always").stdout
        self.assertIn("\x1b[31m", coloured, "what failed is red")
        for code in ("\x1b[31m", "\x1b[32m", "\x1b[90m", "\x1b[1m", "\x1b[0m"):
            coloured = coloured.replace(code, "")
        self.assertEqual(coloured, plain, "and nothing is told by colours alone")
        self.assertEqual(headroom("show", "@1", "--store", self.store, "--color", "sometimes").returncode, 2)


if __name__ == "__main__":
    unittest.main()
