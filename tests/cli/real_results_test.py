# SPDX-License-Identifier: Apache-2.0
"""Real result files of other tools: read, refused with a reason, or named.
`HEADROOM_BIN=build/release/bin python3 tests/cli/real_results_test.py --table` prints them as Markdown."""
import json
import pathlib
import re
import sys
import unittest

from command_line import CommandLineTest, headroom

SHARED = pathlib.Path(__file__).resolve().parents[3] / "shared" / "results"
MEMPOOL = [f"kokkos/Kokkos_PerformanceTest_Mempool_2026-{day}.json" for day in (
    "04-07_T15-55-06", "04-13_T15-47-40", "04-14_T21-55-45", "04-15_T20-44-30", "04-15_T22-36-27", "04-17_T00-29-04",
    "04-20_T17-05-20", "04-29_T22-48-13", "04-30_T01-58-13", "04-30_T18-32-39", "05-05_T12-04-03")]
COMMIT = "5b78858eb718649a31fb93d8dc96ca2cee41a4cd"
OLD_PYTEST = [f"pb/{number}_{COMMIT}_20150815_{time}_uncommitted-changes.json" for number, time in (
    ("0011", "030238"), ("0012", "030243"), ("0013", "030248"), ("0014", "030253"), ("0015", "030259"), ("0027", "030402"))]

# Rows of `headroom show`.
READ = {
    "gb/test1_run1.json": 14, "gb/test1_run2.json": 14, "gb/test2_run.json": 10, "gb/test3_run0.json": 4,
    "gb/test3_run1.json": 4, "gb/test5_run0.json": 1, "gb/test5_run1.json": 1, "gha/googlecpp_output.json": 2,
    "kokkos/Kokkos_PerformanceTest_MDRangePolicy_Stream_2026-05-01_T14-44-24.json": 6,
    **{name: 2 for name in MEMPOOL}, **{name: 1 for name in OLD_PYTEST},
    "gha/benchmarkdotnet.json": 2, "gha/customBiggerIsBetter_output.json": 2, "gha/customSmallerIsBetter_output.json": 2,
    "gha/customSmallerIsBetter_output2.json": 4, "gha/go_fiber_duplicate_names_output.txt": 4,
    "gha/go_fiber_output.txt": 6, "gha/go_output.txt": 8, "gha/go_single_package_output.txt": 2,
    "gha/jmh_output.json": 1, "gha/jmh_output_2.json": 1, "pyperf/mult_list_py36.json": 3, "pyperf/track_memory.json": 1,
}
REFUSED = {
    "gb/test4_run.json": "/benchmarks/0/real_time: missing",
    "gb/test4_run0.json": "holds only aggregates, without a median or a mean",
    "gb/test4_run1.json": "holds only aggregates, without a median or a mean",
    "gha/benchmarkluau_output.txt": "unknown file format",
    "gha/pytest_output.json": "/benchmarks/0/stats/data/4: expected a number, found a string",
    "gha/pytest_several_units.json": "/benchmarks/0/stats/data/4: expected a number, found a string",
}
# Tools whose files headroom does not read.
NAMED = {
    "gha/benchmarkjs_output.txt": "benchmark.js", "gha/cargo_output.txt": "cargo bench",
    "gha/cargo_output2.txt": "cargo bench", "gha/cargo_output3.txt": "cargo bench",
    "gha/cargo_output_units.txt": "cargo bench", "gha/catch2_output_v2.txt": "Catch2's text (use --reporter xml)",
    "gha/catch2_output_v3.txt": "Catch2's text (use --reporter xml)",
    "gha/criterion_output.txt": "Criterion's text (read target/criterion/**/new/sample.json)",
    "gha/issue16_output.txt": "Catch2's text (use --reporter xml)", "gha/julia_output.json": "BenchmarkTools.jl",
}


def rows_of(markdown):
    """Reasons of failed cases have separate lines."""
    lines = [re.split(r"(?<!\\) \| ", line.strip("| ")) for line in markdown.splitlines() if line.startswith("|")]
    return [cells for cells in lines[2:] if any(cell.strip(" |") for cell in cells[1:])]


def files():
    return sorted(str(path.relative_to(SHARED)) for path in SHARED.rglob("*") if path.is_file() and path.suffix != ".md")


@unittest.skipUnless(SHARED.exists(), f"the real result files are not in {SHARED}")
class RealResults(CommandLineTest):
    def test_every_file_is_classified(self):
        self.assertEqual(files(), sorted([*READ, *REFUSED, *NAMED]))

    def test_what_is_read_has_its_rows(self):
        for name, rows in READ.items():
            with self.subTest(name):
                shown = self.assert_exit(headroom("show", SHARED / name, "--markdown"), 0)
                self.assertEqual(len(rows_of(shown.stdout)), rows, shown.stdout)
                if name.startswith("kokkos"):  # an independent count: no benchmark was repeated
                    self.assertEqual(len(json.loads((SHARED / name).read_text())["benchmarks"]), rows)

    def test_what_is_not_read_has_a_reason(self):
        for name, reason in REFUSED.items():
            with self.subTest(name):
                self.assert_refused(headroom("show", SHARED / name), pathlib.Path(name).name, reason)
        for name, tool in NAMED.items():
            with self.subTest(name):
                self.assert_refused(headroom("show", SHARED / name), f"looks like {tool}, which headroom does not read")

    def test_a_folder_of_them_is_shown_and_compared(self):
        self.assert_exit(headroom("show", SHARED / "kokkos"), 0, "11 runs of ")
        self.assert_exit(headroom("diff", SHARED / MEMPOOL[0], SHARED / MEMPOOL[1]), 0, "Mempool_Fill")


def table():
    yield "| file | outcome | what `headroom show` says first |\n| --- | --- | --- |"
    for name in files():
        shown = headroom("show", SHARED / name, "--markdown")
        if name in READ:
            rows = rows_of(shown.stdout)
            outcome, says = f"read, {len(rows)} case{'s' * (len(rows) != 1)}", ": ".join(rows[0][:2])
        else:
            outcome = f"named: {NAMED[name]}" if name in NAMED else "refused"
            says = shown.stderr.replace(str(SHARED / name) + ": ", "").removeprefix("headroom: ").split("; it reads")[0].split("; headroom reads")[0].strip()
        yield f"| {name} | {outcome} | {says} |"


if __name__ == "__main__":
    if "--table" in sys.argv:
        print("\n".join(table()))
    else:
        unittest.main()
