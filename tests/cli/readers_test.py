# SPDX-License-Identifier: Apache-2.0
"""Real files of Google Benchmark and hyperfine."""
import gzip
import json
import shutil
import subprocess
import unittest

from command_line import BIN, CommandLineTest, headroom

GOOGLE_PROGRAM = BIN / "google_benchmark_program"


class Readers(CommandLineTest):
    def compared(self, *arguments):
        """Returns comparisons by (case, metric)."""
        result = self.assert_exit(headroom("diff", *arguments, "--all-metrics", "--json", "-"), 0)
        return {(entry["case"], entry["metric"]): entry for entry in json.loads(result.stdout)["comparisons"]}

    def google_file(self, name):
        path = self.folder / name
        subprocess.run([GOOGLE_PROGRAM, "--benchmark_min_time=0.005", "--benchmark_repetitions=7",
                        f"--benchmark_out={path}", "--benchmark_out_format=json"], check=True, capture_output=True)
        return path

    @unittest.skipUnless(GOOGLE_PROGRAM.exists(), "built without Google Benchmark (libbenchmark-dev)")
    def test_google_benchmark(self):
        first, second = self.google_file("a.json"), self.google_file("b.json")
        raw = json.loads(first.read_text().replace("NaN", "null").replace("Infinity", "null"))
        times = sorted(run["real_time"] for run in raw["benchmarks"]
                       if run["run_name"].startswith("sum/64") and run["run_type"] == "iteration")
        self.assertEqual(len(times), 7)
        compared = self.compared(first, second)
        name = next(case for case, _ in compared if case.startswith("sum/64"))
        latency = compared[name, "latency"]
        self.assertAlmostEqual(latency["baseline"], 1000 * times[3], places=6, msg="microseconds become nanoseconds")
        self.assertEqual(latency["unit"], "ns")
        self.assertFalse(compared[name, "items_per_second"]["lower_is_better"])
        self.assertNotIn((name, "no_end"), compared)
        self.assertFalse(any("_mean" in case or "_stddev" in case for case, _ in compared))

    @unittest.skipUnless(shutil.which("hyperfine"), "hyperfine is not installed")
    def test_hyperfine(self):
        paths = [self.folder / "a.json", self.folder / "b.json"]
        for path in paths:
            subprocess.run(["hyperfine", "--shell=none", "--runs", "6", "--warmup", "1", "--export-json", path,
                            "--parameter-list", "code", "0,1", "--ignore-failure", "sh -c 'exit {code}'"],
                           check=True, capture_output=True)
        packed = self.folder / "b.json.gz"
        packed.write_bytes(gzip.compress(paths[1].read_bytes()))
        raw = json.loads(paths[0].read_text())["results"][0]
        compared = self.compared(paths[0], packed)
        latency = compared["sh -c 'exit {code}' code=0", "latency"]
        self.assertAlmostEqual(latency["baseline"], raw["median"], places=12)
        self.assertEqual(latency["unit"], "s")
        self.assertIn(("sh -c 'exit {code}' code=1", "latency"), compared)

    @unittest.skipUnless(shutil.which("hyperfine"), "hyperfine is not installed")
    def test_hyperfines_file_and_our_own_of_the_same_command_match(self):
        theirs, ours = self.folder / "hyperfine.json", self.folder / "headroom.json"
        for command, parameters in (["sleep 0.002"], []), (["sleep {t}"], ["0.002,0.003"]):
            given = [text for values in parameters for text in ("-L", "t", values)]
            subprocess.run(["hyperfine", "-N", "--runs", "8", "--export-json", theirs, *given, *command], check=True,
                           capture_output=True)
            tool = "ab" if parameters else "time"
            self.assert_exit(headroom(tool, *command, *given, "--runs", "8", "--no-store", "--json", ours), 0)
            compared = self.compared(theirs, ours)
            cases = [f"{command[0]} t={value}" for value in ("0.002", "0.003")] if parameters else command
            for case in cases:
                latency = compared[case, "latency"]
                self.assertGreater(latency["ratio"], 0, latency)
                self.assertIn(latency["n"], range(1, 9))  # apparent warm-up is excluded
                self.assertIn((case, "user_time"), compared)

    def test_show_names_failed_runs_of_an_imported_file(self):
        path = self.folder / "hf.json"
        result = {"command": "make", "times": [1.0, 1.1, 1.2, 1.3], "exit_codes": [0, 1, 0, None]}
        path.write_text(json.dumps({"results": [result, {"command": "true", "times": [0.0, 0.0]}]}))
        shown = headroom("show", path)
        self.assertIn("make: 2 of 4 runs of the command failed", shown.stdout)
        self.assertIn("/results/1/times/0", shown.stdout)
        result["exit_codes"] = [0, 0, 0, 0]
        path.write_text(json.dumps({"results": [result]}))
        self.assertNotIn("failed", headroom("show", path).stdout)

    def test_show_names_a_benchmark_of_aggregates_beside_others(self):
        path = self.folder / "gb.json"
        median = {"name": "f_median", "run_name": "f", "run_type": "aggregate", "aggregate_name": "median",
                  "real_time": 5, "cpu_time": 5, "time_unit": "ns"}
        path.write_text(json.dumps({"context": {}, "benchmarks": [
            median, {"name": "g", "run_type": "iteration", "real_time": 7, "cpu_time": 7, "time_unit": "ns"}]}))
        self.assert_exit(headroom("show", path), 0, "5.00 ns")
        self.assertIn(("f", "latency"), self.compared(path, path))

    def hyperfine(self, name, *results):
        return self.write_file(name, {"results": [{"command": command, "times": times} for command, times in results]})

    def rows(self, *arguments):
        """Returns the rows of `headroom show` by case."""
        shown = self.assert_exit(headroom("show", *arguments, "--markdown"), 0)
        cells = [line.split(" | ") for line in shown.stdout.splitlines() if line.startswith("| ")]
        return [line[0].removeprefix("| ") for line in cells if line[0] not in ("| case", "| ---")], shown.stdout

    def test_commands_of_one_name_are_compared_with_their_like(self):
        cold, warm = [5 + i / 100 for i in range(10)], [1 + i / 100 for i in range(10)]
        paths = [self.hyperfine(name, ("make", cold), ("make", warm)) for name in ("a.json", "b.json")]
        self.assertEqual(self.rows(paths[0])[0], ["make", "make (2)"])
        compared = self.compared(*paths)
        self.assertAlmostEqual(compared["make", "latency"]["baseline"], 5.045)
        self.assertAlmostEqual(compared["make (2)", "latency"]["baseline"], 1.045)
        self.assertEqual(compared["make (2)", "latency"]["ratio"], 1)

    def test_runs_of_the_same_cases_are_shown_as_runs(self):
        first = self.hyperfine("a.json", ("make", [1, 2, 3]), ("ls", [7]))
        second = self.hyperfine("b.json", ("make", [4, 5, 6]))
        names, text = self.rows(first, second)
        self.assertEqual(names, ["make", "ls", "make"])
        self.assertLess(text.index("a.json"), text.index("b.json"))
        self.assertNotIn("joined", text)
        other = self.hyperfine("c.json", ("echo", [9]))
        self.assertNotIn("c.json", self.rows(first, other)[1], "without a case in common they are one run")
        self.assertEqual(self.rows(first, other)[0], ["make", "ls", "echo"])

    def test_many_runs_are_joined_and_counted(self):
        for i in range(80):
            self.hyperfine(f"runs/{i:02}.json", ("make", [1 + i / 1000]), ("ls", [2 + i / 1000]))
        self.hyperfine("runs/90.json", ("other", [3]))
        names, text = self.rows(self.folder / "runs")
        self.assertEqual(names, ["make", "ls", "other"])
        self.assertIn("joined 80 runs of 2 results", text)
        records = json.loads(headroom("show", self.folder / "runs", "--json", "-").stdout)["records"]
        self.assertEqual(len(records), 161, "as they are in the files")
        self.assert_exit(headroom("report", self.folder / "runs", "-o", "-"), 0, "joined 80 runs of 2 results")

    def test_rows_that_a_file_has_twice_are_runs(self):
        path = self.folder / "rows.csv"
        header = "name,metric,target,actual,dtype,device,arch,is_model\n"
        path.write_text(header + "gemv,GB/s,,10,int8,cpu,x86_64,False\n" * 2)
        names, text = self.rows(path)
        self.assertEqual(names, ["gemv", "gemv"])
        self.assertIn("rows.csv, run 2", text)
        path.write_text(header + "gemv,GB/s,,10,int8,cpu,x86_64,False\n" * 7)
        self.assertIn("joined 7 runs of 1 result", self.rows(path)[1])

    def google(self, name, *benchmarks):
        return self.write_file(name, {"context": {}, "benchmarks": [
            {"run_type": "iteration", "cpu_time": 1, "time_unit": "ns", **benchmark} for benchmark in benchmarks]})

    def test_counters_are_shown_where_asked(self):
        path = self.google("a.json", {"name": "f", "real_time": 2, "items_per_second": 5, "depth": 3})
        plain = headroom("show", path).stdout
        self.assertIn("3 more results: cpu_time, items_per_second, depth; --all-metrics shows them", plain)
        self.assertIn("1 sample\n", plain)
        self.assertNotIn("mean over shapes", plain)
        self.assertIn("no interval: fewer than 6 samples", plain)
        every = headroom("show", path, "--all-metrics").stdout
        for metric in ("cpu_time", "items_per_second", "depth"):
            self.assertIn(metric, every)
        one = headroom("show", path, "--metric", "depth").stdout
        self.assertRegex(one, "f +depth +3.00")
        self.assert_refused(headroom("show", path, "--metric", "width"), "no result has the metric 'width'", "depth")

    def test_many_samples_have_an_interval(self):
        path = self.google("a.json", *({"name": "f", "real_time": 10 + i % 7, "repetition_index": i} for i in range(4000)))
        shown = headroom("show", path).stdout
        self.assertIn("4000 samples", shown)
        self.assertNotIn("?", shown)

    def test_long_parameters_are_shortened(self):
        path, other = self.folder / "a.json", self.folder / "b.json"
        for file in (path, other):
            file.write_text(json.dumps({"machine_info": {}, "benchmarks": [
                {"fullname": "t", "params": {"text": "x" * 1_000_000 + ending}, "stats": {"median": 1.5}}
                for ending in "ab"]}))
        shown = self.assert_exit(headroom("show", path), 0)
        self.assertLess(len(shown.stdout), 2000)
        names = self.rows(path)[0]
        self.assertEqual(len(set(names)), 2, names)
        self.assertLess(len(headroom("diff", path, other).stdout), 4000)

    def test_a_format_can_be_forced(self):
        path = self.hyperfine("a.json", ("make", [1.0, 2.0]))
        folder = self.hyperfine("folder/b.json", ("make", [1.0, 2.0])).parent
        store = self.folder / "history.db"
        for arguments in (["show", path], ["show", folder], ["show", path, "--json", "-"], ["diff", path, folder],
                          ["report", path, "-o", "-"], ["show", path, "--html"],
                          ["history", "import", path, "--store", store]):
            self.assert_exit(headroom(*arguments, "--from", "hyperfine"), 0)
            for name, words in (("google-benchmark", "/benchmarks: missing"), ("seed-csv", "no column 'name'"),
                                ("llama-bench", "/build_commit: missing"), ("nvbench", "/benchmarks: missing")):
                self.assert_refused(headroom(*arguments, "--from", name), f"cannot read it as {name}", words, "hyperfine")
            self.assert_refused(headroom(*arguments, "--from", "junit"), "junit", "hyperfine", "google-benchmark")
        odd = self.folder / "odd.json"  # no tool matches these keys
        odd.write_text('{"results": [{"times": [1.5], "command": "x"}], "headroom": 1}')
        self.assert_exit(headroom("show", odd), 2)
        self.assert_exit(headroom("show", odd, "--from", "hyperfine"), 0)

    def test_a_setting_that_all_rows_of_a_file_share_is_named_where_it_differs(self):
        paths = []
        for layers in (0, 99):
            paths.append(self.folder / f"{layers}.jsonl")
            paths[-1].write_text("".join(json.dumps({
                "build_commit": "a", "model_type": "m", "n_gpu_layers": layers, "n_prompt": prompt, "n_gen": 0,
                "avg_ns": 1000}) + "\n" for prompt in (8, 16)))
        compared = headroom("diff", *paths)
        self.assertRegex(compared.stdout, "n_gpu_layers +0 +99")
        self.assertIn("2 matched cases", compared.stdout)
        without = self.write_file("older.jsonl", paths[1].read_text().replace('"n_gpu_layers": 99, ', ""))
        self.assertRegex(headroom("diff", without, paths[1]).stdout, "n_gpu_layers +99")

    def test_what_is_no_file_of_results(self):
        good = self.write_file("good.json", '{"results": [{"command": "x", "mean": 1.5, "times": [1, 2]}]}')
        bad = self.folder / "bad.json"
        for text, words in (("", "is empty"), ("what", "unknown file format"),
                            ('{"results": [{"command": "x", "times": [1, ', "not JSON at byte"),
                            ('{"results": [{"command": "x", "times": [1, 0]}]}', "/results/0/times/1")):
            bad.write_text(text)
            self.assert_refused(headroom("diff", good, bad), "bad.json", words)


if __name__ == "__main__":
    unittest.main()
