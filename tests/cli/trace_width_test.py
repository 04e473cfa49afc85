# SPDX-License-Identifier: Apache-2.0
"""`headroom trace` in terminals of 80, 120 and 200 columns: an answer first, then tables that fit and name what they leave out."""
import collections
import json
import os
import pathlib
import re
import unittest

from command_line import CommandLineTest, headroom
from five_seconds_test import on_terminal
from trace_files import kernel, launch, op, trace, write_trace

SHARED = pathlib.Path(os.environ.get("HEADROOM_SHARED", "/nowhere"))
WIDTHS = (80, 120, 200)
LEFT_OUT = re.compile(r"left out: ((?:.|\n)+?)\s\(pipe\s+into\s+less\s+-S\s+for\s+all\)")
KERNEL = "void at::native::vectorized_elementwise_kernel<4, at::native::{}<c10::BFloat16>, std::array<char*, 3ul>>(int, float*)"


def long_names(rank=0):
    """Two steps of kernels, copies, allocations and collectives with long names and numbers of all sizes."""
    events = []
    for step in (1, 2):
        at = step * 1e5
        events += [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 900, "tid": 900, "ts": at, "dur": 9e4},
                   {"ph": "X", "cat": "python_function", "name": "a/folder/of/the/model/transformer_layers.py(123): forward",
                    "pid": 900, "tid": 900, "ts": at + 1, "dur": 8e4, "args": {"Python id": step, "Python parent id": None}}]
        for i, functor in enumerate(("AddFunctor", "MulFunctor", "a_functor_whose_name_is_as_long_as_most_lines_of_a_terminal_are")):
            start, number = at + 10 + 2e4 * i, step * 10 + i
            events += [op("aten::scaled_dot_product_attention_of_a_long_name", start, 50), launch(start + 5, 2, number),
                       kernel(KERNEL.format(functor), start + 20, (3, 700, 15000.5)[i], number, grid=[1, 2, 3], block=[64, 1, 1])]
        events += [launch(at + 7e4, 2, step * 10 + 5), kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevComm*)", at + 7e4 + 5 + rank * 50,
                                                              9000, step * 10 + 5, stream=20, **{"Collective name": "allreduce"})]
    return events


def tables(text):
    """Yields (title, header, rows) of each table."""
    lines = text.split("\n")
    for place, line in enumerate(lines):
        if line.startswith("──"):
            end = next((i for i in range(place + 1, len(lines)) if not lines[i] or lines[i].startswith("left out: ")), len(lines))
            yield lines[place - 2], lines[place - 1], lines[place + 1:end]


def titles(header):
    return re.split(r"\s{2,}", header.strip())


def analyses(folder):
    """Returns their names."""
    path = folder / "analyses.json"
    assert trace("--list", "--json", path).returncode == 0
    return [one["name"] for one in json.loads(path.read_text())]


class WidthTest(CommandLineTest):
    def assert_fits(self, text, width):
        lines = text.rstrip("\n").split("\n")
        for line in lines:
            self.assertLessEqual(len(line), width, line)
            self.assertNotRegex(line, r"\d…\s*(ns|µs|ms|s|%|B|KiB|MiB|GiB)\b", "a number is cut")
        self.assertRegex(lines[0], r"\w \w|\w+: \w", "a sentence")
        self.assertFalse(any(line.startswith("──") for line in lines[:3]), "the answer comes before the tables")
        for title, header, rows in tables(text):
            self.assertTrue(title, f"{header}: a part of a table without its title")
            self.assertTrue(rows, title)
            key = len(re.match(r"\s*\S+(?: \S+)*", header)[0])
            for row in rows:
                self.assertTrue(row[:key].strip(), f"{title}: a row without its key: {row}")
                if len(titles(header)) > 1:
                    self.assertGreater(len(re.split(r"\s{2,}", row.strip())), 1, f"{title}: a key without its row: {row}")

    def assert_names_what_it_leaves_out(self, text, whole):
        def columns(output):
            return collections.Counter(title for _, header, _ in tables(output) for title in titles(header))
        named = [part for found in LEFT_OUT.findall(text) for part in re.split(r",\s", found)]
        missing = columns(whole) - columns(text)
        for title in missing:
            # A title may contain a comma.
            self.assertIn(re.split(r",\s", title)[0], [re.sub(r"\s+", " ", name) for name in named])
        self.assertEqual(bool(missing), bool(named))

    def check(self, names, *files, widths=WIDTHS):
        for name in names:
            whole = trace(name, *files)
            self.assertIn(whole.returncode, (0, 1), whole.stderr)
            self.assertNotIn("left out: ", whole.stdout.replace("events left out", ""))
            for width in widths:
                with self.subTest(f"{name} {files[0]} at {width}"):
                    code, lines = on_terminal(width, "trace", name, *files, "--no-store")
                    self.assertEqual(code, whole.returncode)
                    text = "\n".join(lines)
                    self.assert_fits(text, width)
                    self.assert_names_what_it_leaves_out(text, whole.stdout)


class TraceWidthTest(WidthTest):
    def test_each_analysis(self):
        path = write_trace(self.folder / "long.json", long_names())
        self.check(analyses(self.folder), path)

    def test_the_ranks_of_a_job(self):
        for rank in (0, 1):
            write_trace(self.folder / "job" / f"rank{rank}.json", long_names(rank), rank=rank)
        self.check(analyses(self.folder), self.folder / "job", widths=(80, 120))

    def test_diff(self):
        a = write_trace(self.folder / "a.json", long_names())
        b = write_trace(self.folder / "b.json", [{**event, "dur": event["dur"] * 2} if event["cat"] == "kernel" else event
                                                 for event in long_names()])
        for more in ((), ("--per-step",)):
            whole = trace("diff", a, b, *more)
            for width in WIDTHS:
                with self.subTest(f"{more} at {width}"):
                    code, lines = on_terminal(width, "trace", "diff", a, b, *more)
                    self.assertEqual(code, 0)
                    self.assert_fits("\n".join(lines), width)
                    self.assert_names_what_it_leaves_out("\n".join(lines), whole.stdout)
                    self.assertRegex(lines[0], r"^GPU time \S+ ms in A, \S+ ms in B \(\+100 %\)")
                    self.assertRegex(lines[1], r"^1\. \+\d\S* ms in \S")
                    self.assertTrue(any(line.startswith(("vectorized_elementwise_kernel", "at::native::vectorized")) and "increased" in line
                                        for line in lines) or width == 80, "name and numbers in one row")

    def test_what_tells_kernels_apart_is_shown(self):
        path = write_trace(self.folder / "long.json", long_names())
        _, lines = on_terminal(80, "trace", "kernels", path, "--no-store")
        rows = [line for line in lines if line.startswith("vectorized_")]
        for functor in ("AddF", "MulF", "a_functor"):
            self.assertTrue(any(functor in line for line in rows), f"{functor} not in {rows}")

    def test_findings_follow_the_first_line(self):
        path = write_trace(self.folder / "long.json", long_names())
        for name in ("summary", "findings"):
            _, lines = on_terminal(80, "trace", name, path, "--no-store")
            self.assertRegex(lines[0], r"^step \S+ ms · GPU busy \S+ % · exposed communication \S+ % · ")
            first = next(i for i, line in enumerate(lines) if line.startswith("1. "))
            self.assertLessEqual(first, 2)
            self.assertRegex(lines[first], r"^1\. \w+: saves \S+ \ws of \S+ ms/step \(\S+ %\)$")

    def test_whole_names_and_pipes_have_every_column(self):
        path = write_trace(self.folder / "long.json", long_names())
        self.assertIn(KERNEL.format("AddFunctor"), trace("kernels", "--whole-names", path).stdout)
        for output in (trace("kernels", path).stdout, "\n".join(on_terminal(80, "trace", "kernels", path, "--markdown", "--no-store")[1])):
            self.assertRegex(output, r"std\W+min\W+max")

    def test_the_list_of_analyses_has_a_line_each(self):
        _, lines = on_terminal(80, "trace", "--list")
        for name in analyses(self.folder):
            self.assertEqual(sum(line.startswith(name + " ") for line in lines), 1, name)
        self.assertLessEqual(max(map(len, lines)), 80)

    def test_merging_says_first_what_it_wrote(self):
        files = [write_trace(self.folder / f"rank{rank}.json", long_names(rank), rank=rank) for rank in (0, 1)]
        result = self.assert_exit(headroom("trace", "merge", *files, "-o", self.folder / "merged.json"), 0)
        self.assertRegex(result.stderr, r"^headroom: \d+ events of 2 ranks ")


class RealTraceWidthTest(WidthTest):
    def check_shared(self, *names, widths, only=None):
        files = [SHARED / name for name in names]
        if not all(path.exists() for path in files):
            self.skipTest(f"{names[0]} is not on this machine")
        self.check(only or analyses(self.folder), *files, widths=widths)

    def test_a_model_with_python_lines(self):
        self.check_shared("traces2/tracelens__h100_bert.json.gz", widths=(80, 120))

    def test_two_ranks(self):
        self.check_shared(*(f"traces/hta__trace_filter_sampled_rank-{rank}.json.gz" for rank in (0, 1)), widths=(80,),
                          only=("summary", "collectives", "stragglers", "critical-path", "overlap"))

    def test_other_profilers(self):
        self.check_shared("traces2/ascend__trace_view.json.gz", widths=(80,), only=("summary", "kernels", "launch"))
        self.check_shared("traces/tracelens__inference_vllm_decode_full_graph_execution.json.gz", widths=(80,), only=("summary", "kernels"))

    def test_small_cases(self):
        for name in ("a3_graph_no_kernels", "f3_gpu_only_comm", "a2_ts0"):
            self.check_shared(f"cases/trace/{name}.json", widths=(80,), only=("summary", "collectives", "validate"))


if __name__ == "__main__":
    unittest.main()
