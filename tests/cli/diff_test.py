# SPDX-License-Identifier: Apache-2.0
"""`headroom diff`."""
import gzip
import json
import os
import pathlib
import random
import re
import subprocess
import unittest

from command_line import HEADROOM, CommandLineTest, headroom, run_program

PAIRS = pathlib.Path(__file__).parent.parent / "data" / "ddp_diff"


def record(name, values, unit="us", metric="latency", higher=False, lone=None, outcome="measured", reason=""):
    made = {"benchmark": {"name": "headroom"}, "model": {"name": name, "backend": "native"},
            "metric": {"name": metric, "unit": unit, "direction": "higher" if higher else "lower",
                       "value": lone if lone is not None else sorted(values)[len(values) // 2] if values else 0},
            "axes": {"D": "64"}, "device": "cpu", "threads": 2, "outcome": {"kind": outcome, "reason": reason},
            "environment": 0}
    if values:
        made["samples"] = [{"pid": 1, "iterations": 1, "warmup": 0, "values": values,
                            "rounds": list(range(len(values)))}]
    return made


def run_diff(*arguments):
    """Two files say nothing of the spread between runs."""
    return headroom("diff", "--run-spread", "0%", *arguments)


def samples(center, seed=1, count=40, noise=0.005):
    source = random.Random(seed)
    return [center * (1 + noise * source.gauss(0, 1)) for _ in range(count)]


class DiffTest(CommandLineTest):
    def write(self, name, records, **environment):
        environment = {"timestamp": 1790000000 + len(name), "fingerprint": "machine-a", **environment}
        return self.write_file(name, {"headroom": {"schema": 1, "version": "0.1.0"}, "environments": [environment],
                                      "records": records})

    def sides(self, factor, **options):
        before = [record("gemv", samples(10, 1, **options)), record("mlp", samples(50, 2))]
        after = [record("mlp", samples(50, 3)), record("gemv", samples(10 * factor, 4, **options))]
        return self.write("before.json", before), self.write("after.json", after)

    def test_table(self):
        result = self.assert_exit(run_diff(*self.sides(1.2)), 0)
        self.assertRegex(result.stdout, r"gemv D=64 +\S+ µs +\S+ µs "
                                        r"+1\.(19|20)\d .* regression +40 unpaired")
        self.assertRegex(result.stdout, r"mlp D=64 .* same +40 unpaired")
        self.assertIn("geometric mean of 2 matched cases", result.stdout)
        self.assertEqual(result.stderr, "")

    def test_gate_exit_codes(self):
        for factor, code, words in ((1.0, 0, "all 2 cases are the same or better"), (0.8, 0, "same or better"),
                                    (1.2, 1, "1 of 2 cases regressed"), (1.03, 3, "1 of 2 cases are inconclusive")):
            with self.subTest(factor):
                self.assert_exit(run_diff("--gate", "3%", *self.sides(factor)), code, words)

    def test_two_files_know_nothing_of_what_differs_from_run_to_run(self):
        self.assert_exit(headroom("diff", "--gate", "3%", *self.sides(1.2)), 3, "of 2 comparisons 2 are inconclusive",
                         "give several runs of each side", "(2: run-to-run spread assumed up to 16 %)")

    def hyperfine(self, name, center, seed):
        times = samples(center, seed, 10, 0.01)
        return self.write_file(name, {"results": [{"command": "make", "times": times, "median": sorted(times)[5]}]})

    def test_two_files_of_ten_runs_decide_what_no_spread_explains(self):
        for factor, code, verdict in ((10, 1, "regression"), (2, 1, "regression"), (1.05, 3, "inconclusive"),
                                      (1, 3, "inconclusive"), (1 / 1.05, 3, "inconclusive"), (0.5, 0, "improvement"),
                                      (0.1, 0, "improvement")):
            with self.subTest(factor):
                sides = self.hyperfine("a.json", 1, 1), self.hyperfine("b.json", factor, 2)
                gated = self.assert_exit(headroom("diff", "--gate", "3%", "--json", "-", *sides), code)
                [entry] = json.loads(gated.stdout)["comparisons"]
                self.assertEqual(entry["verdict"], verdict)
                self.assertEqual(entry["reason"], "run-to-run spread assumed up to 16 %" if code == 3 else "")
                self.assertEqual(entry["within_runs"]["assumed_run_spread"], 0.16)
                self.assertLess(entry["within_runs"]["high"] / entry["within_runs"]["low"], 1.2)
                self.assertGreater(entry["high"] / entry["low"], 2)
                self.assertIsNone(entry["run_spread"])
                plain = self.assert_exit(headroom("diff", *sides), 0)
                self.assertRegex(plain.stdout, rf"make .* {verdict} ")
                self.assertIn("run-to-run spread assumed up to 16 %", plain.stdout)

    def test_the_answer_says_the_assumed_spread_in_a_clause(self):
        clause = r"; run-to-run spread assumed up to 16 %\)"
        one, ten = self.hyperfine("a.json", 1, 1), self.hyperfine("b.json", 10, 2)
        for options in ([], ["--gate", "3%"], ["--markdown"]):
            self.assertRegex(headroom("diff", *options, one, ten).stdout,
                             r"most: make latency: (9\.9|10\.0|10\.1)\d* x slower \(9\.\d+ to 10\.\d within the runs" + clause)
            self.assertRegex(headroom("diff", *options, ten, one).stdout,
                             r"most: make latency: (9\.9|10\.0|10\.1)\d* x faster \(9\.\d+ to 10\.\d within the runs" + clause)
        known = self.assert_exit(headroom("diff", "--run-spread", "2%", "--gate", "3%", one, ten), 1)
        self.assertNotIn("assumed", known.stdout)
        self.assert_exit(headroom("diff", "--run-spread", "80%", "--gate", "3%", self.hyperfine("c.json", 2, 3), one), 3)

    def counter_files(self, name, before, after):
        def written(path, value):
            runs = [{"name": "sum", "run_name": "sum", "run_type": "iteration", "repetition_index": i, "iterations": 100,
                     "real_time": 10, "cpu_time": 10, "time_unit": "ns", name: value(i)} for i in range(10)]
            return self.write_file(path, {"context": {"host_name": "a", "num_cpus": 2}, "benchmarks": runs})
        return written("before.json", lambda i: before * (1 + 0.001 * (i % 3))), written("after.json", lambda i: after * (1 + 0.001 * (i % 3)))

    def counter(self, name, before, after, *options):
        result = run_diff("--gate", "3%", "--metric", name, "--json", "-", *options, *self.counter_files(name, before, after))
        return json.loads(result.stdout)["comparisons"][0], result.returncode

    def test_the_direction_of_a_counter(self):
        for name in ("Throughput", "GFLOPS", "FPS", "tokens/sec", "MB/sec", "frames per second", "hit_rate", "FOM: GB per second"):
            self.assertEqual((self.counter(name, 4, 8)[0]["verdict"], self.counter(name, 8, 4)[1]), ("improvement", 1), name)
        for name in ("p99", "misses", "bytes", "allocs", "error_rate", "miss_rate"):
            self.assertEqual((self.counter(name, 8, 4)[0]["verdict"], self.counter(name, 4, 8)[1]), ("improvement", 1), name)

    def test_a_counter_of_unknown_direction_changes(self):
        for before, after, change in ((4, 8, "changed"), (8, 4, "changed"), (4, 4, "same")):
            entry, code = self.counter("widgets", before, after)
            self.assertEqual((entry["verdict"], entry["lower_is_better"]), (change, None))
            self.assertEqual(code, 3, "nothing with a known direction was compared")
        files = self.counter_files("widgets", 4, 8)
        among = self.assert_exit(run_diff("--gate", "3%", "--all-metrics", *files), 0,
                                 "all 2 cases are the same or better; not gated: 1 (1 changed)",
                                 "changed: the better direction is unknown; give --higher-is-better NAME")
        self.assertRegex(among.stdout, r"widgets .* changed ")
        for option, before, after, verdict, code in (
                ("--higher-is-better", 4, 8, "improvement", 0), ("--higher-is-better", 8, 4, "regression", 1),
                ("--lower-is-better", 4, 8, "regression", 1), ("--lower-is-better", 8, 4, "improvement", 0)):
            entry, exit_code = self.counter("widgets", before, after, option, "widgets")
            self.assertEqual((entry["verdict"], exit_code), (verdict, code), option)
        self.assert_refused(run_diff("--higher-is-better", "gadgets", *files), "'gadgets'", "no such metric")
        self.assert_refused(run_diff("--higher-is-better", "x", "--lower-is-better", "x", *files), "keep one")

    def test_zero_has_a_verdict(self):
        for name, before, after, verdict, code in (
                ("allocs", 0, 0, "same", 0), ("allocs", 0, 4, "regression", 1), ("allocs", 4, 0, "improvement", 0),
                ("hits", 0, 4, "improvement", 0), ("hits", 4, 0, "regression", 1)):
            entry, exit_code = self.counter(name, before, after)
            self.assertEqual((entry["verdict"], entry["ratio"], exit_code), (verdict, None, code), (name, before, after))
        self.assert_exit(run_diff("--gate", "3%", "--all-metrics", *self.counter_files("allocs", 0, 0)), 0,
                         "all 3 cases are the same or better")
        self.assertIn("no ratio: one value is 0", run_diff("--all-metrics", *self.counter_files("allocs", 0, 4)).stdout)

    def test_several_runs_of_each_side_decide(self):
        for i, (side, factor) in enumerate([("old", 1), ("new", 1.2)] * 4):
            self.write(f"{side}/{i}.json", [record("gemv", samples(10 * factor * (1 + 0.004 * (i % 3)), 20 + i)),
                                            record("mlp", samples(50 * (1 + 0.004 * (i % 3)), 40 + i))])
        result = self.assert_exit(headroom("diff", "--gate", "3%", self.folder / "old", self.folder / "new"), 1)
        self.assertRegex(result.stdout, r"gemv D=64 .* regression +160 unpaired")
        self.assertRegex(result.stdout, r"mlp D=64 .* same +160 unpaired")
        self.assertIn("known from 4 and 4 runs", result.stdout)
        self.assertIn("joined 4 runs of 2 results", result.stderr)

    def test_two_machines_are_refused_by_a_gate(self):
        before, _ = self.sides(1)
        after = self.write("after.json", [record("gemv", samples(10)), record("mlp", samples(50))], fingerprint="machine-b")
        self.assert_refused(headroom("diff", "--gate", "3%", before, after), "different machines", "--across-machines")
        self.assert_exit(run_diff("--gate", "3%", "--across-machines", before, after), 0)
        self.assertIn("all inconclusive: measured on different machines", run_diff(before, after).stdout)

    def test_a_busy_run_is_no_evidence(self):
        before, after = self.sides(1.2)
        text = json.loads(after.read_text())
        for made in text["records"]:
            made["notes"] = ["busy: 1.5 of 2 CPUs were at work for other programs before measuring"]
        after.write_text(json.dumps(text))
        self.assert_exit(run_diff("--gate", "3%", before, after), 3, "the candidate was busy with other programs")

    def test_files_of_one_second_are_no_session(self):
        values = samples(10)
        before = self.write("aa.json", [record("gemv", values)], session="1", command=["headroom", "time", "x"])
        after = self.write("bb.json", [record("gemv", values)], session="2", command=["headroom", "time", "x"])
        self.assertIn("40 unpaired", headroom("diff", before, after).stdout)

    def test_one_command_timed_twice_in_a_second_is_no_session(self):
        before, after = self.folder / "a.json", self.folder / "b.json"
        for path in (before, after):
            self.assert_exit(headroom("time", "true", "--runs", "6", "--no-store", "--json", path), 0)
        run_diff = headroom("diff", before, after)
        self.assertIn("6 unpaired", run_diff.stdout)
        self.assertNotIn(" paired", run_diff.stdout)

    def test_gate_on_a_failed_case(self):
        before, _ = self.sides(1)
        after = self.write("after.json", [record("gemv", [], outcome="failed", reason="killed by signal 9"),
                                          record("mlp", samples(50, 3))])
        self.assert_exit(headroom("diff", "--gate", "3%", before, after), 1, "the candidate failed: killed by signal 9")

    def test_gate_on_a_missing_case(self):
        before, _ = self.sides(1)
        result = headroom("diff", "--gate", "3%", before, self.write("after.json", [record("mlp", samples(50, 3))]))
        self.assert_exit(result, 3)
        self.assertIn("missing from the candidate: 1", result.stdout)

    def test_gate_on_few_samples_and_on_lone_numbers(self):
        self.assert_exit(headroom("diff", "--gate", "3%", *self.sides(1, count=3)), 3, "too few samples")
        lone = self.assert_exit(headroom("diff", "--gate", "3%", self.write("a.json", [record("x", [], lone=1)]),
                                         self.write("b.json", [record("x", [], lone=2)])), 3,
                                "no samples: a difference of two single values may be noise")
        self.assertNotRegex(lone.stdout, "x D=64 .*regression")

    def modes(self, name, factor, slow_share, count=100, seed=1):
        """10 us, or 13 us in `slow_share` of the samples, in random order."""
        source = random.Random(seed)
        values = [value * (1.3 if source.random() < slow_share else 1)
                  for value in samples(10 * factor, seed, count)]
        return self.write(name, [record("gemv", values)])

    def test_modes_are_compared_each_with_its_like(self):
        before, after = self.modes("before.json", 1, 0.5), self.modes("after.json", 1.03, 0.5, seed=2)
        result = self.assert_exit(run_diff("--gate", "1%", before, after), 1)
        self.assertRegex(result.stdout, r"gemv D=64 .* 1\.0[23]\d .* regression +100 modes")
        self.assertRegex(result.stdout, r"modes: 10\.0 µs to 10\.3 µs \(1\.0(29|30|31)\), from \d+ to \d+ % of the samples")

    def test_a_change_of_the_shares_of_modes_is_a_change(self):
        before, after = self.modes("before.json", 1, 0.2), self.modes("after.json", 1, 0.6, seed=2)
        self.assert_exit(run_diff("--gate", "1%", "--json", self.folder / "diff.json", before, after), 1,
                         "the shares alone change the mean by a factor of 1.")
        modes = json.loads((self.folder / "diff.json").read_text())["comparisons"][0]["modes"]
        self.assertEqual([len(modes[side]["groups"]) for side in ("baseline", "test")], [2, 2])
        self.assertGreater(modes["share_effect"]["low"], 1.01)
        self.assertGreater(modes["matched"][1]["share_change_low"], 0)
        self.assertLess(modes["matched"][0]["share_change_high"], 0)

    def test_modes_of_one_side_are_never_the_same(self):
        before, after = self.modes("before.json", 1, 0), self.modes("after.json", 1, 0.3, seed=2)
        result = self.assert_exit(run_diff("--gate", "10%", before, after), 3)
        self.assertRegex(result.stdout, r"modes: baseline one group, candidate \S+ µs in \d+ % of the samples, 13\.0 µs")

    def test_a_gate_on_the_tail_finds_what_the_median_does_not_show(self):
        source = random.Random(5)
        slow = [value * (10 if source.random() < 0.1 else 1) for value in samples(10, 4, count=400)]
        before = self.write("before.json", [record("gemv", samples(10, 1, count=400))])
        after = self.write("after.json", [record("gemv", slow)])
        self.assert_exit(run_diff("--gate", "3%", before, after), 0)
        result = self.assert_exit(run_diff("--gate", "3%,p95 5%", before, after), 1)
        self.assertRegex(result.stdout, r"gemv D=64 +latency +p95 .* regression \(margin 5.00 %\)")
        self.assertIn("1 in the tail", result.stdout)
        alone = self.assert_exit(run_diff("--gate", "p95 5%", before, after), 1)
        self.assertNotRegex(alone.stdout, r"p95 .* same \(margin")
        self.assert_exit(run_diff("--gate", "p95 5%", before, before), 0)
        self.assert_exit(run_diff("--gate", "3%,p99 5%", *self.sides(1)), 3)
        for text in ("p95", "p0 5%", "p200 5%", "px 5%", "p95 x"):
            self.assert_refused(run_diff("--gate", text, before, after), "")

    def test_the_shift_function_tells_which_part_moved(self):
        source = random.Random(6)
        slow = [value * (4 if source.random() < 0.2 else 1) for value in samples(10, 4, count=300)]
        before = self.write("before.json", [record("gemv", samples(10, 1, count=300)), record("x", [], lone=1)])
        after = self.write("after.json", [record("gemv", slow), record("x", [], lone=1)])
        result = self.assert_exit(run_diff("--shift", before, after), 0)
        self.assertRegex(result.stdout, r"gemv D=64, latency: the slowest tenth is [34]\.\d\d x slower \([34]\.\d\d to [34]\.\d\d\), "
                                        r"the median the same\n")
        self.assertEqual(len(re.findall(r"^ *p\d0 ", result.stdout, re.M)), 9)
        comparisons = json.loads(run_diff("--shift", "--json", "-", before, after).stdout)["comparisons"]
        shift = comparisons[0]["shift"]
        self.assertEqual([point["percentile"] for point in shift], list(range(10, 100, 10)))
        self.assertEqual([shift[i]["verdict"] for i in (0, 4, 8)], ["same", "same", "regression"])
        self.assertLessEqual(shift[8]["low"], shift[8]["ratio"])
        self.assertEqual(comparisons[1]["shift"], [])
        apart = headroom("diff", "--shift", before, after).stdout
        self.assertRegex(apart, r"the slowest tenth is [34]\.\d\d x slower .*, the median inconclusive")
        again = self.write("before_.json", [record("gemv", slow)])  # same second and machine: one session
        paired = headroom("diff", "--shift", self.write("before2.json", [record("gemv", samples(10, 1, count=300))]), again)
        self.assertIn("300 paired", paired.stdout)
        self.assertRegex(paired.stdout, r"the slowest tenth is [34]\.\d\d x slower")
        self.assertNotIn("decile", run_diff(before, after).stdout)

    def test_gate_file(self):
        gate = self.write_file("gate.toml", 'margin = "3%"\n[[case]]\nname = "gemv*"\nmargin = "30%"\n')
        self.assert_exit(run_diff("--gate-file", gate, *self.sides(1.2)), 0)
        gate.write_text('[[case]]\nname = "mlp*"\nmargin = "30%"\n')
        self.assert_refused(headroom("diff", "--gate-file", gate, *self.sides(1.2)), "no margin for all cases")
        self.assert_exit(run_diff("--gate", "3%", "--gate-file", gate, *self.sides(1.2)), 1)

    def test_one_session_is_paired(self):
        drift = [1 + i / 40 for i in range(40)]
        values = samples(10, 1)
        before = self.write("aa.json", [record("gemv", [v * d for v, d in zip(values, drift)])])
        after = self.write("bb.json", [record("gemv", [v * d * 1.05 for v, d in zip(values, drift)])])
        result = self.assert_exit(headroom("diff", "--gate", "1%", before, after), 1, "40 paired")
        self.assertNotIn("separate runs", result.stdout)

    def test_what_differs_comes_first(self):
        before = self.write("before.json", [record("gemv", samples(10))], governor="performance", git_sha="aaaa")
        after = self.write("after.json", [record("gemv", samples(10))], governor="powersave", git_sha="bbbb",
                           fingerprint="machine-b")
        lines = headroom("diff", before, after).stdout.splitlines()
        self.assertIn("different machines", lines[0])
        text = "\n".join(lines)
        for row in (r"machine +machine-a +machine-b", r"governor +performance +powersave", r"git revision +aaaa +bbbb"):
            self.assertRegex(text, row)
        self.assertLess(text.index("governor"), text.index("gemv D=64"))

    def test_json(self):
        before, after = self.sides(1.2)
        to_file = self.folder / "diff.json"
        self.assert_exit(run_diff("--gate", "3%", "--percentile", "50,95", "--json", to_file, before, after), 1)
        only = self.assert_exit(run_diff("--gate", "3%", "--percentile", "50,95", "--json", "-", before, after), 1)
        self.assertEqual(json.loads(only.stdout), json.loads(to_file.read_text()))
        parsed = json.loads(only.stdout)
        self.assertEqual(set(parsed), {"headroom_diff", "baseline", "tests", "comparisons", "correction", "answer", "gate"})
        self.assertEqual(parsed["answer"][0], "gate: " + parsed["gate"]["sentence"])
        self.assertEqual(parsed["headroom_diff"], {"schema": 1})
        self.assertEqual(parsed["gate"]["exit"], 1)
        self.assertEqual(parsed["gate"]["counts"], {"regression": 1, "same": 1})
        self.assertEqual(parsed["correction"], "holm")
        gemv = next(c for c in parsed["comparisons"] if c["case"] == "gemv D=64")
        self.assertEqual(gemv["verdict"], "regression")
        self.assertTrue(gemv["low"] < gemv["ratio"] < gemv["high"])
        self.assertLess(gemv["p"], 1e-3)
        self.assertEqual([p["percentile"] for p in gemv["percentiles"]], [50, 95])
        self.assertIsNone(gemv["percentiles"][1]["low"])

    def test_markdown_and_sort(self):
        result = self.assert_exit(headroom("diff", "--markdown", "--sort", "time", *self.sides(1)), 0)
        rows = [line for line in result.stdout.splitlines() if line.startswith("| mlp") or line.startswith("| gemv")]
        self.assertEqual([row.split()[1] for row in rows], ["mlp", "gemv"])

    def test_metrics(self):
        records = [record("gemv", samples(10)), record("gemv", samples(3), "GB/s", "memory_bandwidth(GB/s)", True)]
        before, after = self.write("before.json", records), self.write("after.json", records)
        self.assertNotIn("GB/s", headroom("diff", before, after).stdout)
        self.assertIn("GB/s", headroom("diff", "--all-metrics", before, after).stdout)
        only = headroom("diff", "--metric", "memory_bandwidth(GB/s)", before, after).stdout
        self.assertNotIn("latency", only)
        self.assert_refused(headroom("diff", "--metric", "bandwith", before, after),
                            "its metrics are latency, memory_bandwidth")

    def test_filter(self):
        result = headroom("diff", "--filter", "^ml", *self.sides(1))
        self.assertNotIn("gemv", result.stdout)
        self.assert_refused(headroom("diff", "--filter", "(", *self.sides(1)), "not a regular expression")

    def test_units_are_converted_or_refused(self):
        before = self.write("before.json", [record("gemv", samples(10))])
        same = self.write("after.json", [record("gemv", samples(0.01, 4), "ms")])
        self.assertIn(" same ", run_diff(before, same).stdout)
        other = self.write("after.json", [record("gemv", samples(10), "tokens/s")])
        self.assert_exit(headroom("diff", "--gate", "3%", before, other), 2,
                         "the baseline is in 'us', the candidate in 'tokens/s'")

    def test_values_that_have_no_ratio(self):
        before = self.write("before.json", [record("gemv", samples(10))])
        after = self.write("after.json", [record("gemv", [0.0, -1.0] + samples(10, 4))])
        self.assertIn("2 of 42 values of the candidate are zero, negative or not a number",
                      headroom("diff", before, after).stdout)

    def test_duplicates_are_further_runs(self):
        before, after = self.sides(1)
        twice = self.write("twice.json", [record("gemv", samples(10, 7)), record("gemv", samples(10, 8))])
        self.assert_exit(headroom("diff", before, twice), 0, stderr="joined 2 runs of 1 result")

    def test_several_tests_side_by_side(self):
        before, after = self.sides(1.2)
        other = self.write("other.json", [record("gemv", samples(8, 9))])
        result = self.assert_exit(run_diff(before, after, other), 0)
        self.assertRegex(result.stdout, r"gemv D=64 .*regression.*improvement")
        self.assertIn(f"only in {before} (1)", result.stdout)

    def test_folder(self):
        self.write("left/deep/a.json", [record("gemv", samples(10))])
        with gzip.open(self.folder / "left" / "b.json.gz", "wb") as file:
            file.write(self.write("b.json", [record("mlp", samples(50))]).read_bytes())
        (self.folder / "left" / "broken.json").write_text("{")
        (self.folder / "left" / "notes.txt").write_text("not read")
        result = self.assert_exit(headroom("diff", self.folder / "left", self.sides(1)[1]), 0, stderr="broken.json")
        self.assertNotIn("notes.txt", result.stderr)
        self.assertRegex(result.stdout, r"(?s)mlp D=64.*gemv D=64")

    def test_folders_without_anything(self):
        before, _ = self.sides(1)
        empty = self.make_folder("empty")
        self.assert_refused(headroom("diff", before, empty), "no *.json, *.jsonl or *.csv file")
        (empty / "broken.json").write_text("{")
        self.assert_refused(headroom("diff", before, empty), "none of 1 files can be read")

    def test_bad_files(self):
        before, _ = self.sides(1)
        for name, text, words in (("empty.json", "", "empty"), ("cut.json", before.read_text()[:700], "byte"),
                                  ("other.json", '{"a": 1}', "unknown file format"),
                                  ("none.json", '{"headroom": {"schema": 1}, "environments": [], "records": []}',
                                   "no results"),
                                  ("type.json", before.read_text().replace('"us"', "7"), "/records/0/metric/unit")):
            with self.subTest(name):
                path = self.write_file(name, text)
                self.assert_refused(headroom("diff", before, path), words, name)
        self.assert_refused(headroom("diff", before, self.folder / "missing.json"), "missing.json")
        self.assert_refused(headroom("diff", before), "")

    def test_nothing_matches(self):
        before, _ = self.sides(1)
        self.assert_exit(headroom("diff", before, self.write("x.json", [record("unknown", samples(1))])), 2,
                         stderr="nothing was compared")

    def test_a_pipe(self):
        before, after = self.sides(1)
        self.assert_exit(run_program("bash", "-c", f"'{HEADROOM}' diff <(cat '{before}') <(cat '{after}')"), 0,
                         "gemv D=64")

    def test_bad_options(self):
        before, after = self.sides(1)
        for options, words in ((["--gate", "none"], "none"), (["--gate", "200%"], "invalid margin"),
                               (["--percentile", "50,x"], "'x' is not a number from 0 to 100"),
                               (["--format", "ddp", "--gate", "3%"], "--format ddp conflicts with"), (["--sort", "size"], "size"),
                               (["--format", "ddp", str(after)], "two files")):
            with self.subTest(options):
                self.assert_refused(headroom("diff", *options, before, after), words)


class DdpFormTest(CommandLineTest):
    def test_all_pairs_byte_for_byte(self):
        for name in ("plain", "meta", "mismatch", "uneven"):
            with self.subTest(name):
                result = subprocess.run([HEADROOM, "diff", "--format", "ddp", PAIRS / f"{name}.a.json",
                                         PAIRS / f"{name}.b.json"], capture_output=True, timeout=60)
                self.assertEqual(result.returncode, 0)
                self.assertEqual(result.stdout, (PAIRS / f"{name}.expected.txt").read_bytes())
                self.assertEqual(result.stderr, b"")

    def test_edge_cases(self):
        """Inputs that PyTorch's diff.py accepts; ranks that no benchmark writes are errors."""
        edge = pathlib.Path(os.environ.get("HEADROOM_SHARED", "")) / "parity" / "ddp_diff_edge"
        if not edge.is_dir():
            self.skipTest(f"{edge} is not here")
        pairs = sorted(edge.glob("*.a.json"))
        self.assertEqual(len(pairs), 6)
        for first in pairs:
            with self.subTest(first.name):
                stem = first.name.removesuffix(".a.json")
                pair = first, edge / f"{stem}.b.json"
                if stem in ("28_ranks_dict", "29_ranks_string"):
                    self.assert_refused(headroom("diff", "--format", "ddp", *pair), "result/1/ranks: expected a list")
                    continue
                result = subprocess.run([HEADROOM, "diff", "--format", "ddp", *pair], capture_output=True, timeout=60)
                self.assertEqual(result.stdout, (edge / f"{stem}.expected.txt").read_bytes(), result.stderr)
                self.assertEqual(result.returncode, 0)

    def test_compressed_and_piped(self):
        packed = self.folder / "a.json.gz"
        packed.write_bytes(gzip.compress((PAIRS / "plain.a.json").read_bytes()))
        command = f"'{HEADROOM}' diff --format ddp '{packed}' <(cat '{PAIRS}/plain.b.json')"
        result = subprocess.run(["bash", "-c", command], capture_output=True, timeout=60)
        self.assertEqual(result.stdout, (PAIRS / "plain.expected.txt").read_bytes(), result.stderr)

    def test_bad_reports(self):
        good = PAIRS / "plain.a.json"
        path = self.folder / "bad.json"
        for text, words in (("", "the file is empty"), (good.read_text()[:5000], "at byte 5000"),
                            ("{}", "benchmark_results: missing"), ("[]", "expected an object")):
            with self.subTest(words):
                path.write_text(text)
                self.assert_refused(headroom("diff", "--format", "ddp", good, path), "bad.json", words)
        self.assert_refused(headroom("diff", "--format", "ddp", good, self.folder), "folder")

    def test_default_form_matches_what_the_original_cannot(self):
        result = self.assert_exit(headroom("diff", PAIRS / "uneven.a.json", PAIRS / "uneven.b.json"), 0)
        self.assertRegex(result.stdout, r"resnet101 batch_size=32 ranks=2 ddp=yes +\S+ ms")
        self.assertRegex(result.stdout, r"efficiency, baseline +candidate +points +rank skew")
        self.assertIn("only in", result.stdout)


if __name__ == "__main__":
    unittest.main()
