# SPDX-License-Identifier: Apache-2.0
"""Files of other tools: real ones of Google Benchmark and hyperfine, and drawn ones, of which every measurement has a row of
`headroom show` or is counted in a sentence."""
import gzip
import json
import pathlib
import random
import re
import shutil
import struct
import subprocess
import unittest
from collections import Counter

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


FILES = pathlib.Path(__file__).resolve().parents[1] / "data" / "readers"

# File, format, cases, and a result of its own values: case, metric, value, unit, samples by process.
TOOL_FILES = (
    ("pyperf.json", "pyperf", 1, "timeit", "latency", None, "s", [2] * 10),
    ("asv/results/vm/58056d72-existing-py_usr_bin_python3.json", "asv", 12,
     "bench.Sort.time_sort n=10 order=sorted", "latency", None, "s", [8]),
    ("asv/results/vm/58056d72-existing-py_usr_bin_python3.json", "asv", 12,
     "bench.Sort.track_length n=1000 order=sorted", "value", 1000, "items", []),
    ("asv/results/vm/58056d72-existing-py_usr_bin_python3.json", "asv", 12, "bench.mem_list", "memory", 2104, "B", []),
    ("criterion/Fibonacci/Recursive/10/new/sample.json", "criterion", 1, "Fibonacci/Recursive/10", "latency",
     440.82122974767594, "ns", [10]),  # the median of estimates.json beside it
    ("cargo_criterion.jsonl", "criterion", 1, "Queries/[LIGHT] Bam query all", "latency", 23353750 / 1906, "ns", [10]),
    ("go_testing.txt", "go-testing", 4, "BenchmarkAppendMsgitem-4 pkg=github.com/gofiber/fiber/v3/middleware/csrf",
     "latency", 0.3733, "ns", [1]),
    ("go_testing.txt", "go-testing", 4, "BenchmarkUnmarshalitem-4 pkg=github.com/gofiber/fiber/v3/middleware/cache",
     "MB/s", 907.83, "MB/s", [1]),
    ("jmh.json", "jmh", 2, "com.github.caffeine.caffeine.cache.ComputeBenchmark.compute_sameKey computeType=Caffeine",
     "throughput", 1.524957059947031e8, "ops/s", [3]),
    ("catch2.xml", "catch2", 3, "Fibonacci/larger/fib <20> & more", "latency", None, "ns", []),
    ("benchmark_dotnet.json", "benchmark-dotnet", 2, "BenchmarkDotNet.Samples.Memory.AllocEmptyList", "latency",
     77.41812467575073, "ns", [3]),
    ("benchmark_dotnet.json", "benchmark-dotnet", 2, "BenchmarkDotNet.Samples.Memory.AllocEmptyList",
     "Allocated Memory", 368, "B", []),
    ("nccl_tests.txt", "nccl-tests", 8, "all_reduce_perf size=2 GiB type=float redop=sum place=in-place ranks=2",
     "busbw", 318.52, "GB/s", [1]),
    ("nccl_tests.txt", "nccl-tests", 8, "all_reduce_perf size=8 B type=float redop=sum place=out-of-place ranks=2",
     "time", 135.8, "us", [1]),
    ("nccl_tests.json", "nccl-tests", 4, "all_reduce_perf size=1048576 B type=float redop=sum place=in-place ranks=2",
     "time", None, "us", [4]),
    ("nccl_tests.json", "nccl-tests", 4, "all_reduce_perf size=8 B type=float redop=sum place=out-of-place ranks=2",
     "algbw", 0.00085, "GB/s", [1]),
    ("vllm_bench.json", "vllm-bench", 1, "tiny backend=vllm request_rate=20.0 max_concurrency=4 num_prompts=8", "ttft",
     None, "s", [8]),
    ("vllm_bench.json", "vllm-bench", 1, "tiny backend=vllm request_rate=20.0 max_concurrency=4 num_prompts=8", "itl",
     None, "s", [96]),
    ("guidellm.json", "guidellm", 1, "tiny strategy=concurrent streams=2", "ttft", None, "s", [8]),
    ("bencher.json", "bmf", 1, "bench_play_game", "Total Bytes", 662, "", []),
    ("github_action_benchmark.json", "github-action-benchmark", 2,
     "My Custom Bigger Is Better Benchmark - Throughput", "value", 70, "req/s", []),
    ("github_action_data.js", "github-action-benchmark", 2, "http_connector suite=connect", "value", 39056, "ns/iter", []),
    ("google_benchmark.csv", "google-benchmark", 3, "sum/64", "latency", 18.5004, "ns", [3]),
    ("hyperfine.csv", "hyperfine", 2, "sleep {n} n=0.001", "latency", 0.0060787575, "s", []),
)

GO = "pkg: p\nBenchmarkF-8 10 5 ns/op\n"
NCCL = (FILES / "nccl_tests.txt").read_text()
XML = (FILES / "catch2.xml").read_text()

# Content, and words of the refusal: place and fault.
BAD_FILES = (
    (GO + "BenchmarkF-8 10 6\n", "line 3: expected pairs of a number and a unit"),
    (GO + "BenchmarkF-8 10 x ns/op\n", "line 3: expected a number, found 'x'"),
    (GO + "BenchmarkF-8 10 0 ns/op\n", "line 3: expected a time above zero"),
    (XML[:XML.index("lowerBound") + 3], "line 7: expected the value of the attribute 'low'", "cut off"),
    (XML.replace('mean value="', 'mean value="x'), "line 7, mean: expected the attribute value, a number"),
    (XML[:XML.index("</Catch>")], "the XML is cut off"),
    ('<Catch name="c"><TestCase name="t"/></Catch>', "has no benchmark"),
    (NCCL.replace("318.40      0    12641  169.88  318.52      0", "318.40"), "line 15: expected 13 columns", "found 8"),
    (NCCL.replace("  135.8 ", "   x "), "line 12: expected a number, found 'x'"),
    (NCCL[:NCCL.index("           8")], "has no row of results"),
    ("# nThread 1 nGpus 8 minBytes 8\n", "has no row of results"),
    ({"benchmarks": [{"metadata": {"name": "x", "unit": "mile"}, "runs": [{"values": [1]}]}]},
     "/benchmarks/0/metadata/unit: expected 'second', 'byte' or 'integer', found 'mile'"),
    ({"benchmarks": [{"metadata": {"name": "x"}, "runs": [{"values": [1, -1]}]}]},
     "/benchmarks/0/runs/0/values/1: expected a time above zero"),
    ({"benchmarks": [{"runs": [{"values": [1]}]}]}, "/metadata/name: missing"),
    ({"commit_hash": "c", "params": {}, "results": {"b.time_x": 0.5}}, "/results/b.time_x: expected an array", "asv update"),
    ({"commit_hash": "c", "params": {}, "result_columns": ["result"], "results": {"b.time_x": [[-1]]}},
     "/results/b.time_x/result/0: expected a time above zero"),
    ({"commit_hash": "c", "params": {}, "results": {"b.time_x": [[1], [["1"] * 9999] * 3]}}, "combinations"),
    ({"sampling_mode": "Flat", "iters": [1, 2], "times": [5]}, "/times: has 1 values, but iters has 2"),
    ({"sampling_mode": "Flat", "iters": [1, 0], "times": [5, 6]}, "/iters/1: expected a time above zero"),
    ({"reason": "benchmark-complete", "id": "x", "median": {"estimate": 1, "unit": "mile"}},
     "/median/unit: expected a unit of time, found 'mile'"),
    ({"reason": "group-complete", "group_name": "g", "benchmarks": []}, "has no message benchmark-complete"),
    ([{"jmhVersion": "1", "benchmark": "x", "primaryMetric": {"scoreUnit": "ns/op", "rawData": [[1, 0]]}}],
     "/primaryMetric/rawData/0/1: expected a time above zero"),
    ([{"jmhVersion": "1", "benchmark": "x", "primaryMetric": {"scoreUnit": "ns/op", "rawData": [7]}}],
     "/primaryMetric/rawData/0: expected an array"),
    ({"HostEnvironmentInfo": {}, "Benchmarks": [{"FullName": "x", "Statistics": {"OriginalValues": ["y"]}}]},
     "/Benchmarks/0/Statistics/OriginalValues/0: expected a number, found a string"),
    ({"HostEnvironmentInfo": {}, "Benchmarks": []}, "/Benchmarks: is empty"),
    ({"model_id": "m", "request_throughput": 1, "ttfts": [0.1, -0.1]}, "/ttfts/1: expected a time above zero"),
    ({"model_id": "m", "request_throughput": 1, "ttfts": [0.1], "itls": [7]}, "/itls/0: expected an array"),
    ({"benchmarks": [{"type_": "b", "metrics": {}}]}, "/benchmarks/0/args: missing"),
    ({"benchmarks": [{"type_": "b", "metrics": {}, "config": {"strategy": 7}}]}, "/config/strategy: expected an object"),
    ({"a": {"b": {"value": "x"}}}, "/a/b/value: expected a number, found a string"),
    ([{"name": "a", "unit": "s", "value": "x"}], "/0/value: expected a number, found a string"),
    ('window.BENCHMARK_DATA = {"entries": {"s": [{"commit": {}, "benches": 7}]}}', "/entries/s/0/benches: expected an array"),
    ("window.BENCHMARK_DATA = ", "not JSON"),
    ("command,mean,stddev,median,user,system,min,max\nx,1,,0,0,0,1,1\n", "row 2/median: expected a time above zero", "row 2"),
    ("command,mean,stddev,median,user,system,min,max\nx,1,2,3,4,5,6,7,8\n", "row 2: has 9 cells, but the header has 8"),
    ("name,iterations,real_time,cpu_time,time_unit\n", "has a header and no rows"),
    ('name,iterations,real_time,cpu_time,time_unit\n"f",1,,1,ns\n', "row 2/real_time: missing"),
)


class ToolFiles(CommandLineTest):
    """Each reader on a file by its tool (tests/data/readers/SOURCES.md)."""

    def records(self, path):
        return json.loads(self.assert_exit(headroom("show", path, "--json", "-"), 0).stdout)["records"]

    def name(self, record):
        def text(value):
            return f"{value / 2**30:g} GiB" if value >= 2**30 else f"{value} B"
        axes = " ".join(f"{key}={text(value['bytes']) if isinstance(value, dict) else value}"
                        for key, value in record["axes"].items())
        return f"{record['model']['name']} {axes}".strip()

    def test_each_has_its_cases_and_values(self):
        for file, tool, cases, case, metric, value, unit, samples in TOOL_FILES:
            with self.subTest(file, case=case, metric=metric):
                records = self.records(FILES / file)
                self.assertEqual({record["tool"] for record in records if "tool" in record} - {"hyperfine"},
                                 {tool} - {"hyperfine"})
                self.assertEqual(sum(record["metric"].get("headline", False) for record in records), cases)
                found = [record for record in records if self.name(record) == case and record["metric"]["name"] == metric]
                self.assertTrue(found, sorted({self.name(record) for record in records}))
                self.assertEqual(found[0]["metric"]["unit"], unit)
                self.assertEqual([len(process["values"]) for process in found[0]["samples"]], samples)
                if value is not None:
                    self.assertAlmostEqual(found[0]["metric"]["value"] / value, 1, places=2 if samples == [10] else 9)
                self.assert_exit(headroom("diff", FILES / file, FILES / file), 0)

    def test_samples_are_those_of_the_file(self):
        raw = json.loads((FILES / "pyperf.json").read_text())["benchmarks"][0]["runs"]
        pyperf = self.records(FILES / "pyperf.json")[0]
        self.assertEqual([process["values"] for process in pyperf["samples"]], [run["values"] for run in raw if "values" in run])
        self.assertEqual(pyperf["samples"][0]["iterations"], 131072)
        vllm = json.loads((FILES / "vllm_bench.json").read_text())
        read = {record["metric"]["name"]: record for record in self.records(FILES / "vllm_bench.json")}
        self.assertEqual(read["ttft"]["samples"][0]["values"], vllm["ttfts"])
        self.assertEqual(read["itl"]["samples"][0]["values"], [step for steps in vllm["itls"] for step in steps if step > 0])
        for metric in ("ttft", "itl", "tpot"):
            self.assertAlmostEqual(1000 * read[metric]["metric"]["value"], vllm[f"median_{metric}_ms"], delta=0.05)
        self.assertEqual(read["output_throughput"]["metric"]["direction"], "higher")
        guidellm = json.loads((FILES / "guidellm.json").read_text())["benchmarks"][0]
        read = {record["metric"]["name"]: record for record in self.records(FILES / "guidellm.json")}
        self.assertEqual(read["ttft"]["samples"][0]["values"],
                         [0.001 * request["time_to_first_token_ms"] for request in guidellm["requests"]["successful"]])
        self.assertEqual(read["requests_per_second"]["metric"]["value"],
                         guidellm["metrics"]["requests_per_second"]["successful"]["mean"])

    def test_failed_and_skipped_cases_stay(self):
        for file, words in (("asv/results/vm/58056d72-existing-py_usr_bin_python3.json",
                             ("bench.time_fails", "the benchmark failed", "the benchmark skipped these parameters")),
                            ("catch2.xml", ("throws/bad: no device", "The value is a mean")),
                            ("google_benchmark.csv", ("broken: this device is missing",))):
            self.assert_exit(headroom("show", FILES / file), 0, *words)
        go = self.write_file("go.txt", GO + "--- FAIL: BenchmarkG\n--- SKIP: BenchmarkH\n")
        self.assert_exit(headroom("show", go), 0, "BenchmarkG", "the benchmark failed", "the benchmark skipped itself")
        nccl = self.write_file("nccl.txt", NCCL.replace("318.40      0", "318.40      3"))
        self.assert_exit(headroom("show", nccl), 0, "3 wrong values in the result")
        vllm = self.write_file("v.json", {"request_throughput": 1, "ttfts": [0.1, 0.2, 0], "errors": ["", "", "x"]})
        self.assert_exit(headroom("show", vllm), 0, "1 of 3 requests failed")
        for requests in ({"ttfts": [0, 0]}, {"mean_ttft_ms": 0, "median_ttft_ms": 0}):
            vllm = self.write_file("v.json", {"request_throughput": 0, **requests})
            self.assertIn("no request was successful", headroom("show", vllm).stdout)

    def test_the_xml_of_catch2_version_3_has_another_root(self):
        other = XML.replace('<Catch name="c2">', '<Catch2TestRun name="c2" catch2-version="3.4.0">').replace("</Catch>", "</Catch2TestRun>")
        self.assert_exit(headroom("show", self.write_file("c.xml", other)), 0, "Fibonacci/fib 10")

    def test_repetitions_are_samples(self):
        go = self.records(self.write_file("go.txt", "cpu: c\n" + GO + "BenchmarkF\nBenchmarkF-8 11 7 ns/op 3 widgets\n"))
        self.assertEqual([(record["metric"]["name"], record["samples"][0]["values"]) for record in go],
                         [("latency", [5, 7]), ("widgets", [3])])
        self.assertEqual(go[1]["metric"]["direction"], "unknown")
        twice = NCCL + NCCL[NCCL.index("# nThread"):].replace("135.8", "137.8")
        read = self.records(self.write_file("nccl.txt", twice))
        self.assertEqual(read[0]["samples"][0]["values"], [135.8, 137.8])
        self.assertNotIn("algbw", [record["metric"]["name"] for record in read[:2]], "0.00 GB/s of 8 bytes is no result")

    def test_a_process_for_each_fork_or_launch(self):
        metric = {"scoreUnit": "us/op", "rawData": [[1, 2], [3, 4]]}
        other = {"scoreUnit": "B/op", "score": 24}
        read = self.records(self.write_file("jmh.json", [
            {"jmhVersion": "1", "benchmark": "x", "mode": "avgt", "primaryMetric": metric, "secondaryMetrics": {"gc.norm": other}},
            {"jmhVersion": "1", "benchmark": "x", "mode": "sample", "primaryMetric": {
                "scoreUnit": "ms/op", "rawDataHistogram": [[[[1, 3], [5, 1]]]]}}]))
        self.assertEqual([process["values"] for process in read[0]["samples"]], [[1000, 2000], [3000, 4000]])
        self.assertEqual((read[1]["metric"]["name"], read[1]["metric"]["unit"], read[1]["metric"]["value"]), ("gc.norm", "B/op", 24))
        self.assertEqual(read[2]["samples"][0]["values"], [2e6], "the mean of the histogram")
        measurements = [{"IterationStage": stage, "LaunchIndex": launch, "Operations": 4, "Nanoseconds": ns}
                        for stage, launch, ns in (("Warmup", 1, 9), ("Result", 1, 8), ("Result", 2, 4), ("Result", 2, 6))]
        read = self.records(self.write_file("dotnet.json", {"HostEnvironmentInfo": {}, "Benchmarks": [
            {"FullName": "x", "DisplayInfo": f"x: {job}", "Statistics": {}, "Measurements": measurements} for job in "AB"]}))
        self.assertEqual([process["values"] for process in read[0]["samples"]], [[2], [1, 1.5]])
        self.assertEqual([record["axes"] for record in read], [{"job": "A"}, {"job": "B"}])

    def test_a_folder_of_criterion_and_a_history_of_an_action(self):
        folder = self.assert_exit(headroom("show", FILES / "criterion"), 0, "Fibonacci/Recursive/10")
        self.assertIn("sample.json beside it has the samples", folder.stderr)
        estimates = FILES / "criterion/Fibonacci/Recursive/10/new/estimates.json"
        alone = self.write_file("target/criterion/f/20/new/estimates.json", estimates.read_text())
        read = self.records(alone)[0]
        self.assertEqual((read["model"]["name"], read["metric"]["value"]), ("f/20", 440.82122974767594))
        store = self.folder / "history.db"
        data = FILES / "github_action_data.js"
        added = self.assert_exit(headroom("history", "import", data, "--store", store), 0)
        self.assertIn("2 runs added", added.stdout + added.stderr)
        self.assert_exit(headroom("history", "http_connector", "--store", store), 0, "2020-11-16 22:34", "lower is better")
        environments = json.loads(headroom("show", data, "--json", "-").stdout)["environments"]
        self.assertEqual([environment["git_sha"][:7] for environment in environments], ["0fd7d3c", "af96ddf"])

    def test_names_of_parameters_need_asvs_list(self):
        path = FILES / "asv/results/vm/58056d72-existing-py_usr_bin_python3.json"
        alone = self.write_file("r.json", path.read_text())
        self.assertIn("bench.Sort.time_sort param1=10 param2=sorted", {self.name(record) for record in self.records(alone)})

    def test_bad_files_are_refused_with_the_place(self):
        for number, (content, *words) in enumerate(BAD_FILES):
            with self.subTest(str(content)[:80]):
                path = self.write_file(f"bad{number}", content)
                self.assert_refused(headroom("show", path), f"bad{number}: ", *words)


SEEDS = range(4)


def name_of(rng):
    """Few names, so that they repeat."""
    return rng.choice(["f", "g/8", "column_mean", "make -j{n}", "f (2)", "a|b", "x<int>"])


def times_of(rng, most=12):
    return [round(rng.uniform(1, 9), 6) for _ in range(rng.randint(1, most))]


class Written:
    """`cases`: the number of samples of each (0: a single number)."""

    def __init__(self, name, content, cases, beside=()):
        self.name, self.content, self.cases, self.beside = name, content, sorted(cases), beside


def hyperfine(rng):
    results, cases = [], []
    for _ in range(rng.randint(1, 12)):
        result = {"command": name_of(rng), "mean": 2.0}
        if rng.random() < 0.3:
            result["parameters"] = {"n": str(rng.randint(1, 3))}
        if rng.random() < 0.8:
            result["times"] = times_of(rng)
            result["exit_codes"] = [rng.choice([0, 0, 1, None]) for _ in result["times"]]
        if rng.random() < 0.5:
            result |= {"user": rng.random(), "system": 0.0}
        results.append(result)
        cases.append(len(result.get("times", [])))
    return Written("hyperfine.json", json.dumps({"results": results}), cases)


def google_benchmark(rng, indexes=True):
    entries, cases, names = [], [], set()
    for family in range(rng.randint(1, 5)):
        name = name_of(rng)
        for instance in range(rng.randint(1, 3)):
            own = name if indexes else f"{name}/{family}/{instance}"
            repetitions, counters = rng.randint(1, 8), {name: rng.random() for name in rng.sample(["a", "b", "hits"], 2)}
            base = {"run_name": own, "repetitions": repetitions, "threads": 1, "time_unit": rng.choice(["ns", "us", "ms"])}
            if indexes:
                base |= {"family_index": family, "per_family_instance_index": instance}
            aggregates_only = repetitions > 1 and rng.random() < 0.3
            for repetition in range(0 if aggregates_only else repetitions):
                entry = base | {"name": own, "run_type": "iteration", "iterations": 10, "real_time": rng.uniform(1, 9),
                                "cpu_time": 1.0, **counters}
                entries.append(entry | ({"repetition_index": repetition} if indexes else {}))
            for statistic in ["mean", "median", "stddev"] if repetitions > 1 else []:
                entries.append(base | {"name": f"{own}_{statistic}", "run_type": "aggregate", "aggregate_name": statistic,
                                       "real_time": rng.uniform(1, 9), "cpu_time": 1.0, **counters})
            cases.append(0 if aggregates_only else repetitions)
            names.add(own)
    return Written("google.json", json.dumps({"context": {"num_cpus": 2}, "benchmarks": entries}), cases)


def old_google_benchmark(rng):
    return google_benchmark(rng, indexes=False)


def pytest_benchmark(rng):
    benchmarks, cases = [], []
    for _ in range(rng.randint(1, 12)):
        stats = {"median": rng.uniform(1, 9), "iterations": 1}
        if rng.random() < 0.6:
            stats["data"] = times_of(rng)
        benchmarks.append({"name": "t", "fullname": "t.py::" + name_of(rng), "stats": stats,
                           "params": rng.choice([None, {"n": rng.randint(1, 2)}])})
        cases.append(len(stats.get("data", [])))
    return Written("pytest.json", json.dumps({"machine_info": {"node": "n"}, "benchmarks": benchmarks}), cases)


def nvbench(rng):
    benchmarks, cases, beside = [], [], []
    for _ in range(rng.randint(1, 4)):
        states = []
        for _ in range(rng.randint(1, 4)):
            number = {"name": "value", "type": "float64", "value": str(rng.uniform(0.1, 1))}
            summaries = [{"tag": "nv/cold/time/gpu/mean", "data": [number]}]
            samples = 0
            if rng.random() < 0.5:
                samples = rng.randint(1, 9)
                file = f"nvbench.json-bin/{len(beside)}.bin"
                beside.append((file, struct.pack(f"<{samples}f", *(rng.uniform(0.1, 1) for _ in range(samples)))))
                summaries.append({"tag": "nv/json/bin:nv/cold/sample_times", "data": [
                    {"name": "filename", "value": file}, {"name": "size", "value": str(samples)}]})
            states.append({"device": 0, "axis_values": [{"name": "n", "value": str(rng.randint(1, 2))}], "summaries": summaries})
            cases.append(samples)
        benchmarks.append({"name": name_of(rng), "axes": [], "states": states})
    document = {"meta": {"version": {"nvbench": {}}}, "devices": [{"id": 0, "name": "GPU"}], "benchmarks": benchmarks}
    return Written("nvbench.json", json.dumps(document), cases, beside)


def llama_bench(rng):
    """No duplicate rows."""
    rows, seen = [], set()
    for _ in range(rng.randint(1, 12)):
        setting = {"n_prompt": rng.choice([0, 512]), "n_batch": rng.choice([64, 128]), "devices": rng.choice(["CUDA0", "auto"]),
                   "of_next_year": rng.randint(0, 1), "build_commit": rng.choice(["a", "b"])}
        if tuple(setting.items()) in seen:
            continue
        seen.add(tuple(setting.items()))
        samples = [int(1e9 * time) for time in times_of(rng)]
        rows.append({"model_type": "llama", "n_gen": 128, "avg_ns": samples[0], "samples_ns": samples, **setting})
    return Written("llama.jsonl", "\n".join(map(json.dumps, rows)), [len(row["samples_ns"]) for row in rows])


def seed_csv(rng):
    lines, seen = ["name,metric,target,actual,dtype,device,arch,is_model"], set()
    for _ in range(rng.randint(1, 12)):
        case = f"{rng.choice(['gemv', 'mlp', 'norm'])},{{}},{rng.choice(['int8', 'bf16'])},{rng.choice(['cpu', 'cuda'])}"
        if case in seen:
            continue
        seen.add(case)
        name, metric, dtype, device = case.split(",")
        lines.append(f"{name},GB/s,,{rng.uniform(1, 9)},{dtype},{device},x,False")
    return Written("rows.csv", "\n".join(lines) + "\n", [0] * len(seen))


def oss_v3(rng):
    rows, cases, seen = [], [], set()
    for _ in range(rng.randint(1, 12)):
        mode, name, dtype, extra = rng.choice(["inference", "training"]), rng.choice("mn"), rng.choice(["int8", "bf16"]), rng.choice("12")
        if (mode, name, dtype, extra) in seen:
            continue
        seen.add((mode, name, dtype, extra))
        values = times_of(rng)
        rows.append({"benchmark": {"name": "b", "mode": mode, "dtype": dtype, "extra_info": {"batch": extra}},
                     "model": {"name": name}, "metric": {"name": "latency", "benchmark_values": values}})
        cases.append(len(values) if len(values) > 1 else 0)
    return Written("oss.json", json.dumps(rows), cases)


TOOLS = (hyperfine, google_benchmark, old_google_benchmark, pytest_benchmark, nvbench, llama_bench, seed_csv, oss_v3)


class ReaderProperties(CommandLineTest):
    def write(self, written):
        path = self.write_file(written.name, written.content)
        for name, content in written.beside:
            (self.folder / name).parent.mkdir(exist_ok=True)
            (self.folder / name).write_bytes(content)
        return path

    def shown_rows(self, path, *options):
        """Returns the sample counts of the rows, and the output."""
        shown = self.assert_exit(headroom("show", path, "--markdown", *options), 0)
        above, rows, counts, titles = "", [], [], []
        for line in shown.stdout.splitlines():
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|"))] if line.startswith("|") else []
            if cells and cells[0] == "case":
                titles = cells
            elif cells and "---" not in cells[0] and any(cells[1:]):
                rows.append(cells)
            elif not titles and ("sample" in line):
                above = line
        shared = re.search(r"(\d+|no) samples?", above)
        for cells in rows:
            counts.append(int(cells[titles.index("n")]) if "n" in titles else
                          int(shared.group(1).replace("no", "0")))
        return sorted(counts), shown.stdout

    def test_each_measurement_is_in_one_row(self):
        for tool in TOOLS:
            for seed in SEEDS:
                with self.subTest(tool.__name__, seed=seed):
                    written = tool(random.Random(seed))
                    path = self.write(written)
                    counts, text = self.shown_rows(path)
                    self.assertEqual(counts, written.cases, text)
                    self.assert_records_are_counted(path, text)

    def assert_records_are_counted(self, path, text):
        """--all-metrics has a row for each."""
        records = json.loads(self.assert_exit(headroom("show", path, "--json", "-"), 0).stdout)["records"]
        identities = Counter(json.dumps([record[key] for key in ("benchmark", "model", "axes", "device", "threads")] +
                                        [record["metric"]["name"]], sort_keys=True) for record in records)
        self.assertEqual(max(identities.values()), 1, "what diff and history pair by is unique")
        headlines = sum(1 for record in records if record["metric"].get("headline"))
        latencies = sum(1 for record in records if record["metric"]["name"] == "latency" and not record["metric"].get("headline"))
        others = len(records) - headlines - latencies
        counted = re.search(r"(\d+) more results?: ", text)
        if headlines:
            self.assertEqual(int(counted.group(1)) if counted else 0, others, text)
        every = self.assert_exit(headroom("show", path, "--all-metrics"), 0)
        self.assertNotIn("more result", every.stdout)

    def test_what_is_shown_of_a_file_is_compared_with_itself(self):
        for tool in TOOLS:
            with self.subTest(tool.__name__):
                written = tool(random.Random(7))
                path = self.write(written)
                compared = self.assert_exit(headroom("diff", path, path, "--json", "-"), 0)
                report = json.loads(compared.stdout)
                self.assertEqual(len(report["comparisons"]), len(written.cases))
                self.assertEqual({entry["ratio"] for entry in report["comparisons"]}, {1})
                self.assertNotIn("joined", compared.stderr)

    def test_each_round_of_a_ddp_report_has_a_row(self):
        for seed in SEEDS:
            rng, models, counts = random.Random(seed), [], []
            for batch in (32, 64, 128)[:rng.randint(1, 3)]:
                rounds = []
                for ranks in (1, 1, 2, 4)[:rng.randint(1, 4)]:
                    rounds.append({"ranks": list(range(ranks)), "measurements": [rng.uniform(0.1, 0.2) for _ in range(3 * ranks)]})
                    counts.append(3 * ranks)
                models.append({"model": rng.choice(["resnet", "bert"]), "batch_size": batch, "result": rounds})
            path = self.write_file("ddp.json", {"benchmark_results": models})
            records = json.loads(headroom("show", path, "--json", "-").stdout)["records"]
            self.assertEqual([sum(len(process["values"]) for process in record["samples"]) for record in records], counts)
            shown = self.assert_exit(headroom("show", path), 0)
            rows = re.findall(r"sec/iter.*\n─+\n((?:.+\n)+)", shown.stdout)
            self.assertEqual([int(row.split()[-1]) for table in rows for row in table.splitlines()], counts, shown.stdout)

    def test_failed_and_skipped_cases_have_rows(self):
        path = self.folder / "google.json"
        path.write_text(json.dumps({"context": {}, "benchmarks": [
            {"name": "f", "run_type": "iteration", "family_index": 0, "error_occurred": True, "error_message": "no device"},
            {"name": "f", "run_type": "iteration", "family_index": 1, "real_time": 1, "cpu_time": 1},
            {"name": "f", "run_type": "iteration", "family_index": 2, "skipped": "SKIPPED", "skip_message": "not here"}]}))
        shown = headroom("show", path).stdout
        for words in ("f ", "f (2)", "f (3)", "no device", "not here"):
            self.assertIn(words, shown)


if __name__ == "__main__":
    unittest.main()
