# SPDX-License-Identifier: Apache-2.0
"""One bound for the numbers of all files: what lies beyond costs its case and nothing else."""
import json
import unittest

from command_line import CommandLineTest, headroom

BEYOND = (1.7e308, 1.01e100, 1e-310, 0.99e-100)
AT = (1e100, 1e-100)
SIX = [0.001, 0.00101, 0.00099, 0.001, 0.00102, 0.00098]


def hyperfine(times):
    return {"results": [{"command": name, "mean": 1, "times": values} for name, values in (("odd", times), ("even", SIX))]}


def google_benchmark(times):
    return {"context": {"date": "2026-01-01T00:00:00+00:00", "num_cpus": 2},
            "benchmarks": [{"name": name, "run_name": name, "run_type": "iteration", "repetitions": len(values),
                            "repetition_index": i, "iterations": 1, "real_time": value, "cpu_time": 1, "time_unit": "ns"}
                           for name, values in (("odd", times), ("even", SIX)) for i, value in enumerate(values)]}


def pytest_benchmark(times):
    return {"machine_info": {}, "commit_info": {}, "datetime": "2026-01-01T00:00:00", "version": "4.0.0",
            "benchmarks": [{"name": name, "fullname": name, "group": None, "params": None,
                            "stats": {"median": values[0], "rounds": len(values), "iterations": 1, "data": values}}
                           for name, values in (("odd", times), ("even", SIX))]}


def oss_v3(times):
    return [{"benchmark": {"name": "b"}, "model": {"name": name},
             "metric": {"name": "latency", "benchmark_values": values}}
            for name, values in (("odd", times), ("even", SIX))]


def headroom_json(times):
    return {"headroom": {"schema": 5}, "environments": [],
            "records": [{"instrument": "run", "benchmark": {"name": "b"}, "model": {"name": name},
                         "metric": {"name": "latency", "unit": "s", "direction": "lower", "value": values[0],
                                    "headline": True},
                         "outcome": {"kind": "measured"}, "samples": [{"values": values}]}
                        for name, values in (("odd", times), ("even", SIX))]}


FORMATS = (hyperfine, google_benchmark, pytest_benchmark, oss_v3, headroom_json)


class NumberBoundsTest(CommandLineTest):
    def test_a_case_beyond_is_a_failed_one(self):
        for of_format in FORMATS:
            for value in BEYOND:
                with self.subTest(of_format=of_format.__name__, value=value):
                    result = self.assert_exit(headroom("show", self.write_file("odd.json", of_format([value] * 6))), 0,
                                              "failed")
                    self.assertRegex(result.stdout, r"odd\.json: .*/metric/value: \S+ is no measurement; "
                                                    r"a number is 0 or from 1e-100 to 1e\+100")
                    self.assertNotIn("inf", result.stdout)
                    self.assertIn("even", result.stdout)

    def test_one_sample_is_named(self):
        for of_format in FORMATS:
            result = headroom("show", self.write_file("odd.json", of_format(SIX[:5] + [1e300])))
            self.assertRegex(result.stdout, r"odd\.json: .*/samples/\d/values/\d: 1e\+300 is no measurement")

    def test_a_unit_or_a_rate_that_overflows(self):
        content = google_benchmark([1e305] * 6)
        for benchmark in content["benchmarks"]:
            benchmark["time_unit"] = "s"
        lines = [{"model_type": name, "backends": "CPU", "n_prompt": 512, "n_gen": 0, "avg_ns": ns, "samples_ns": [ns] * 3,
                  "build_commit": "a", "build_number": 1, "n_threads": 2} for name, ns in (("odd", 1e-310), ("even", 1e6))]
        (self.folder / "b.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        for path in (self.write_file("a.json", content), self.folder / "b.jsonl"):
            result = self.assert_exit(headroom("show", path), 0)
            self.assertRegex(result.stdout, r"odd.*: \S+: /metric/value: inf is no measurement")
            self.assertIn("even", result.stdout)

    def test_at_the_bounds(self):
        for of_format in FORMATS:
            for value in AT:
                result = self.assert_exit(headroom("show", self.write_file("odd.json", of_format([value] * 6))), 0)
                self.assertNotIn("failed", result.stdout)
                self.assertNotIn("inf", result.stdout)

    def test_what_is_no_number_is_refused_as_before(self):
        for value in (0, -1, float("nan"), float("inf"), float("-inf")):
            result = headroom("show", self.write_file("odd.json", pytest_benchmark([value] * 6)))
            self.assert_refused(result, "odd.json: /benchmarks/0/stats/data/0: expected a time")

    def test_a_diff_goes_on_with_the_others(self):
        for of_format in FORMATS:
            good = self.write_file("good.json", of_format(SIX))
            for value in BEYOND:
                odd = self.write_file("odd.json", of_format([value] * 6))
                for operands in ((good, odd), (odd, good)):
                    with self.subTest(of_format=of_format.__name__, value=value):
                        result = self.assert_exit(headroom("diff", "--run-spread", "0%", "--json", "-", *operands), 0)
                        verdicts = {entry["case"]: entry["verdict"] for entry in json.loads(result.stdout)["comparisons"]
                                    if entry["metric"] in ("latency", "real_time")}
                        self.assertEqual(verdicts["odd"], "failed" if operands[1] is odd else "not compared")
                        self.assertIn(verdicts["even"], ("same", "inconclusive"))

    def test_ratios_at_the_bounds_fit_a_line(self):
        result = headroom("diff", self.write_file("a.json", hyperfine([1e-100] * 6)), self.write_file("b.json", hyperfine([1e100] * 6)))
        self.assert_exit(result, 0)
        self.assertIn("1.00e+200", result.stdout)
        self.assertLess(max(map(len, result.stdout.splitlines())), 200)

    def test_a_history_stays_usable(self):
        store = self.folder / "history.sqlite"
        for i in range(20):
            content = headroom_json([1.7e308] * 6 if i == 7 else [0.001 + 1e-6 * (i * 7 % 5)] * 6)
            content["environments"] = [{"timestamp": 1790000000 + i, "fingerprint": "m"}]
            for record in content["records"]:
                record["environment"] = 0
            self.assert_exit(headroom("history", "import", self.write_file(f"{i}.json", content), "--store", store), 0)
        for arguments in (("history",), ("history", "odd"), ("history", "even"), ("show", "@last"), ("show", "@8"),
                          ("diff", "@1", "@8"), ("diff", "@1", "@2"), ("history", "verify")):
            result = self.assert_exit(headroom(*arguments, "--store", store), 0)
            self.assertNotRegex(result.stdout, r"\b(inf|nan)\b")
        self.assertIn("19", headroom("history", "--store", store).stdout)

    def test_six_wild_samples_have_no_interval(self):
        wild = [0.001, 0.00102, 0.0048, 0.00099, 0.0005, 0.00101]
        result = headroom("show", self.write_file("wild.json", hyperfine(wild)))
        self.assertIn("?  no interval of 1 case: n is too small for samples that differ so much", result.stdout)
        self.assertNotIn("394 ms", result.stdout)

    def test_an_uneven_interval_has_no_sign(self):
        uneven = [0.001, 0.0013, 0.001, 0.0014, 0.00101, 0.0015, 0.001, 0.00101, 0.00102, 0.00135, 0.001, 0.00102]
        result = headroom("show", self.write_file("uneven.json", hyperfine(uneven)))
        self.assertIn("longest of 2 cases is odd: 1.02 ms (1.00 ms–1.36 ms)", result.stdout)
        result = headroom("show", self.write_file("even.json", hyperfine(SIX)))
        self.assertIn("longest of 2 cases is odd: 1.00 ms ±2.7 %", result.stdout)


if __name__ == "__main__":
    unittest.main()
