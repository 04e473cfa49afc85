# SPDX-License-Identifier: Apache-2.0
"""`headroom trace ANALYSIS FILE`."""
import contextlib
import csv
import io
import json
import os
import pty
import signal
import subprocess
import time
import unittest

from command_line import HEADROOM, CommandLineTest, headroom
from trace_files import document, kernel, step_events, tables_of, trace, write_trace


class OneTrace(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.file = write_trace(self.folder / "run.json.gz")

    def test_utilization_of_a_small_trace(self):
        result = self.assert_exit(trace("utilization", self.file), 0)
        self.assertEqual(result.stderr, "")
        # 30 of 90 us.
        self.assertRegex(result.stdout, r"0 .* 90.0 µs +30.0 µs +33.3 %")

    def test_json_has_tables_and_records(self):
        document = json.loads(self.assert_exit(trace("utilization", self.file, "--json", "-"), 0).stdout)
        row = document["trace"]["tables"]["devices"][0]
        self.assertEqual((row["span_ns"], row["busy_ns"], row["idle_ns"]), (90000, 30000, 60000))
        self.assertEqual(document["trace"]["analysis"], "utilization")
        record = next(r for r in document["records"] if r["metric"]["name"] == "utilization")
        self.assertAlmostEqual(record["metric"]["value"], 1 / 3, places=12)
        self.assertEqual((record["model"]["name"], record["benchmark"]["mode"]), ("run", "trace"))
        self.assertEqual(document["environments"][0]["fingerprint"], "trace-tesla-v100")

    def test_json_file_stands_beside_the_table(self):
        path = self.folder / "out.json"
        self.assert_exit(trace("utilization", self.file, "--json", path), 0, "33.3 %")
        self.assertEqual(json.loads(path.read_text())["trace"]["files"][0]["events"], 7)

    def test_csv_puts_each_table_in_a_file(self):
        path = self.folder / "out.csv"
        self.assert_exit(trace("utilization", self.file, "--csv", path), 0)
        rows = list(csv.DictReader(io.StringIO(path.read_text())))
        self.assertEqual(rows[0]["busy_ns"], "30000")
        others = sorted(p.name for p in self.folder.glob("out.*.csv"))
        self.assertEqual(others, ["out.matmul_convolution.csv", "out.within_steps.csv"])

    def test_csv_on_standard_output_has_all_tables(self):
        result = self.assert_exit(trace("utilization", self.file, "--csv", "-"), 0)
        keys = [line.split(":")[0] for line in result.stdout.splitlines() if line.startswith("# ")]
        self.assertEqual(keys, ["# devices", "# matmul_convolution", "# within_steps"])

    def test_markdown(self):
        self.assert_exit(trace("utilization", self.file, "--markdown"), 0, "### devices\n\n| device |")

    def test_pytorch_compat_prints_the_pair_alone(self):
        path = self.folder / "pair.json"
        labels = {"ph": "M", "name": "process_labels", "pid": 0, "args": {"labels": "GPU 0"}}
        file = write_trace(self.folder / "labelled.json", step_events() + [labels])
        self.assert_exit(trace("utilization", "--pytorch-compat", "--length", "0.001", "--json", path, file), 0)
        self.assertEqual(json.loads(path.read_text()), {"utilization": 0.03, "mm_conv_utilization": 0.02})
        self.assertEqual(list(json.loads(path.read_text())), ["utilization", "mm_conv_utilization"])
        result = trace("utilization", "--pytorch-compat", "--length", "0.001", "--json", "-", file)
        self.assertEqual(json.loads(result.stdout), {"utilization": 0.03, "mm_conv_utilization": 0.02})

    def test_pytorch_compat_takes_the_trace_as_json_where_nothing_else_is_named(self):
        labels = {"ph": "M", "name": "process_labels", "pid": 0, "args": {"labels": "GPU 0"}}
        file = write_trace(self.folder / "labelled.json", step_events() + [labels])
        before = file.read_bytes()
        result = self.assert_exit(trace("utilization", "--pytorch-compat", "--length", "0.001", "--json", file), 0)
        self.assertEqual(json.loads(result.stdout), {"utilization": 0.03, "mm_conv_utilization": 0.02})
        self.assertEqual(result.stdout, json.dumps({"utilization": 0.03, "mm_conv_utilization": 0.02}) + "\n")
        self.assertEqual(file.read_bytes(), before)
        absent = trace("utilization", "--pytorch-compat", "--length", "0.001", "--json", self.folder / "absent.json")
        self.assert_refused(absent, "absent.json")
        self.assertFalse((self.folder / "absent.json").exists())
        # Only PyTorch's figure lets --json name the trace.
        self.assert_refused(trace("utilization", "--json", file), "no trace given")
        self.assertEqual(file.read_bytes(), before)

    def test_a_trace_that_is_read_is_not_written(self):
        before = self.file.read_bytes()
        for option in ("--json", "--csv"):
            with self.subTest(option):
                self.assert_refused(trace("utilization", self.file, option, self.file), "run.json.gz", "another file")
        compat = ("utilization", "--pytorch-compat", "--length", "1")
        self.assert_refused(trace(*compat, self.file, "--json", self.file), "another file")
        self.assert_refused(headroom("trace", "diff", self.file, self.file, "--json", self.file), "another file")
        self.assertEqual(self.file.read_bytes(), before)

    def test_pytorch_compat_needs_a_length_and_one_file(self):
        self.assert_refused(trace("utilization", "--pytorch-compat", self.file), "--length")
        self.assert_refused(trace("utilization", "--length", "3", self.file), "--pytorch-compat")
        other = write_trace(self.folder / "other.json")
        self.assert_refused(trace("utilization", "--pytorch-compat", "--length", "1", self.file, other), "one file")

    def test_a_wrong_value_is_said_before_the_file_is_read(self):
        result = trace("utilization", "--pytorch-compat", "--length", "soon", self.folder / "absent.json")
        self.assert_refused(result, "--length 'soon'")
        self.assertNotIn("absent.json", result.stderr)

    def test_without_an_analysis_the_first_of_the_list_is_made(self):
        self.assert_exit(trace(self.file), 0, "utili")

    def test_every_analysis_says_first_what_is_wrong_with_the_file(self):
        events = [kernel("gemm", 10 * i, 8, i + 1) for i in range(40)]
        events[20]["dur"] = 5_000_000
        file = write_trace(self.folder / "overrun.json", events)
        names = [entry["name"] for entry in json.loads(headroom("trace", "--list", "--json", "-").stdout)]
        for name in names:
            with self.subTest(name):
                shown = trace(name, file)
                first = shown.stdout.splitlines()[0]
                if name == "validate":
                    self.assertNotIn("warning: ", shown.stdout)
                else:
                    self.assertEqual(first[:48], "warning: 1 impossible duration left out (5.00 s ")
        busy = json.loads(trace("utilization", file, "--json", "-").stdout)["trace"]
        self.assertIn("warning: 1 impossible duration", busy["answer"][0])
        both = trace("kernels", file, write_trace(self.folder / "other.json", events), "--json", "-")
        self.assertEqual(sum("warning: " in line for line in json.loads(both.stdout)["trace"]["answer"]), 1)

    def test_list_and_help(self):
        self.assert_exit(headroom("trace", "--list"), 0, "utilization", "--pytorch-compat")
        names = [entry["name"] for entry in json.loads(headroom("trace", "--list", "--json", "-").stdout)]
        self.assertIn("utilization", names)
        general = self.assert_exit(headroom("trace", "--help"), 0)
        for name in names:
            with self.subTest(name):
                self.assertIn(f"\n  {name} ", general.stdout)
                self.assert_exit(headroom("trace", name, "--help"), 0, f"headroom trace {name} trace.json.gz")
        self.assertNotIn("--pytorch-compat", headroom("trace", "memory", "--help").stdout)

    def test_wrong_names_get_the_nearest_ones(self):
        self.assert_refused(trace("utilisation", self.file), "'utilisation'", "did you mean 'utilization'?")
        self.assert_refused(trace("nonsense", self.file), "--list")
        self.assert_refused(trace("nonsense/../absent.json"), "absent.json")

    def test_usage_errors(self):
        self.assert_refused(trace(), "no trace given")
        self.assert_refused(trace("utilization", self.file, "--json", "-", "--csv", "-"), "standard output")
        self.assert_exit(trace("utilization", self.file, "--top", "-1"), 2)
        self.assert_refused(trace("utilization", self.file, "--json", self.folder / "run.json.gz" / "x"), "run.json.gz")

    def test_options_may_come_first(self):
        result = self.assert_exit(trace("--top", "5", "--name", "idle", "utilization", self.file, "--json", "-"), 0)
        self.assertEqual(json.loads(result.stdout)["trace"]["name"], "idle")

    def test_standard_input(self):
        data = self.file.read_bytes()
        result = subprocess.run([HEADROOM, "trace", "utilization", "-", "--no-store"], input=data, capture_output=True,
                                timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("33.3 %", result.stdout.decode())

    def test_problems_are_one_line_on_standard_error(self):
        bad = kernel("broken", "soon", 1, 5)
        file = write_trace(self.folder / "bad.json", step_events() + [bad])
        result = self.assert_exit(trace("utilization", file), 0)
        self.assertEqual(result.stderr.count("\n"), 1)
        offset = file.read_text().index('{"ph": "X", "cat": "kernel", "name": "broken"')
        for words in (f"{file}: 1 problem, 1 event left out", f"at byte {offset}:", "headroom trace validate"):
            self.assertIn(words, result.stderr)
        self.assertIn("33.3 %", result.stdout)

    def test_a_file_of_which_no_event_can_be_read_is_a_failure(self):
        named = {"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": "python"}}
        file = write_trace(self.folder / "lost.json", [named, kernel("a", 1e30, 1, 1), kernel("b", "x", 1, 2)])
        for arguments in (("utilization",), ("summary",), ("diff", file)):
            result = headroom("trace", *arguments, file)
            self.assert_refused(result, f"'{file}': no event could be read, 2 of 3 are lost")
            self.assertIn("ts is out of range", result.stderr)
        good = write_trace(self.folder / "good.json")
        self.assert_exit(trace("utilization", good, file), 2, "33.3 %")
        self.assert_exit(trace("validate", file), 1)

    def test_kernels_that_the_user_calls_communication(self):
        file = write_trace(self.folder / "trace.json")
        before = tables_of(trace("utilization", file, "--json", "-"))["devices"][0]
        self.assertEqual(before["exposed_communication_ns"], 0)
        for given in (["add"], ["nothing,ad?"], ["nothing", "--communication", "add*"]):
            result = self.assert_exit(trace("utilization", "--communication", *given, file, "--json", "-"), 0)
            self.assertEqual(tables_of(result)["devices"][0]["exposed_communication_ns"], 10000)
        self.assertIn("--communication 'nothing': no kernel name matches",
                      trace("overlap", "--communication", "nothing", file).stdout)
        result = trace("kernels", "--communication", "add", file, "--json", "-")
        rows = {row["type"]: row for row in tables_of(result)["types"]}
        self.assertEqual(rows["communication"]["sum_ns"], 10000)
        self.assert_refused(trace("utilization", "--communication", "", file), "--communication")

    def test_a_cut_off_file_is_used_and_said(self):
        whole = write_trace(self.folder / "whole.json").read_text()
        cut = self.write_file("cut.json", whole[:whole.rindex("]")])
        self.assert_exit(trace("utilization", cut), 0, "33.3 %", stderr=f"{cut}: the file is truncated")

    def test_files_that_are_no_traces(self):
        empty = self.write_file("empty.json", "")
        text = self.write_file("text.json", "hello")
        for path in (empty, text, self.folder / "absent.json"):
            with self.subTest(path.name):
                self.assert_refused(trace("utilization", path), path.name)
        self.assert_refused(trace("utilization", self.folder / "*.nothing"), "no file matches")


class Records(CommandLineTest):
    def store(self, *arguments):
        return headroom(*arguments, "--store", self.folder / "history.sqlite")

    def runs(self):
        return json.loads(self.store("history", "--json", "-").stdout)["runs"]

    def test_diff_reads_what_trace_writes(self):
        before, after = self.folder / "before.json", self.folder / "after.json"
        for path, slow in ((before, 1), (after, 3)):
            file = write_trace(self.folder / "run.json", step_events(slow=slow))
            self.assert_exit(trace("utilization", file, "--json", path), 0)
        result = self.assert_exit(headroom("diff", before, after, "--metric", "utilization"), 0)
        # 30 of 90 us before, 70 of 90 after.
        self.assertRegex(result.stdout, r"run +0.333 +0.778 +2.333")

    def test_history_keeps_a_trace_once(self):
        file = write_trace(self.folder / "run.json")
        for _ in range(2):
            self.assert_exit(self.store("trace", "utilization", file), 0)
        self.assertEqual(len(self.runs()), 1)
        time.sleep(0.01)
        write_trace(file, step_events(slow=2))
        self.assert_exit(self.store("trace", "utilization", file), 0)
        self.assertEqual(len(self.runs()), 2)
        self.assertIn("run", self.store("history", "run", "utilization").stdout)

    def test_nothing_is_kept_unless_asked(self):
        file, store = write_trace(self.folder / "run.json"), self.folder / "h.sqlite"
        environment = {**os.environ, "HEADROOM_STORE": str(store)}
        for arguments in ([], ["--no-store"], ["--keep", "--no-store"], ["--store", store, "--no-store"]):
            for analysis in (["utilization"], ["kernels"], []):
                self.assert_exit(headroom("trace", *analysis, file, *arguments, env=environment), 0)
                self.assertFalse(store.exists(), arguments)
        self.assert_exit(headroom("trace", "utilization", file, "--keep", env=environment), 0)
        self.assertTrue(store.exists())
        self.assertEqual(headroom("show", "@last", "--store", store).stdout, trace("utilization", file).stdout)
        other = self.folder / "other.sqlite"
        self.assert_exit(headroom("trace", "utilization", file, "--keep", "--store", other, env=environment), 0)
        self.assertTrue(other.exists())

    def test_a_history_that_is_asked_for_must_be_had(self):
        file = write_trace(self.folder / "run.json")
        no_history = {**os.environ, "HEADROOM_STORE": str(file)}
        self.assert_exit(headroom("trace", "utilization", file, "--keep", env=no_history), 2, "Tesla V100",
                         stderr="not kept in the history")
        self.assert_exit(headroom("trace", "utilization", file, env=no_history), 0)
        homeless = {name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_DATA_HOME", "HEADROOM_STORE")}
        self.assert_exit(headroom("trace", "utilization", file, env=homeless), 0)
        self.assert_refused(headroom("trace", "utilization", file, "--keep", env=homeless), "nor HOME is set")

    def test_a_store_that_cannot_be_written_is_said_after_the_results(self):
        file = write_trace(self.folder / "run.json")
        self.assert_exit(headroom("trace", "utilization", file, "--store", file / "h.sqlite"), 2, "Tesla V100",
                         stderr="not kept in the history")


class SlowFiles(CommandLineTest):
    """A pipe makes them independent of the machine's speed."""

    def start(self, *arguments, **options):
        self.pipe = self.folder / "slow.json"
        os.mkfifo(self.pipe)
        process = super().start("trace", "utilization", self.pipe, "--no-store", *arguments, **options)
        text = json.dumps(document(step_events() * 20000)).encode()
        return process, text

    def test_ctrl_c_ends_it_cleanly(self):
        output = self.folder / "out.json"
        process, text = self.start("--json", output)
        with open(self.pipe, "wb", buffering=0) as pipe:  # opens once the program reads
            pipe.write(text[:1000])
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(BrokenPipeError):
                pipe.write(text[1000:])
        result = self.assert_ends(process, 130)
        self.assertEqual((result.stdout, result.stderr), ("", "headroom: interrupted; nothing was written\n"))
        self.assertFalse(output.exists())

    def test_progress_is_drawn_on_a_terminal_and_wiped(self):
        ours, theirs = pty.openpty()
        process, text = self.start("--threads", "1", stderr=theirs)
        os.close(theirs)
        with open(self.pipe, "wb", buffering=0) as pipe:
            pipe.write(text[:-1000])
            time.sleep(0.6)  # progress is drawn after half a second
            pipe.write(text[-1000:])
        self.assert_ends(process, 0, "33.3 %")
        seen = b""
        with contextlib.suppress(OSError):  # the end of a terminal
            while piece := os.read(ours, 4096):
                seen += piece
        os.close(ours)
        self.assertIn(b"reading", seen)
        self.assertTrue(seen.endswith(b"\x1b[2K"), seen[-80:])


if __name__ == "__main__":
    unittest.main()
