# SPDX-License-Identifier: Apache-2.0
"""Files of other tools: real ones of Google Benchmark and hyperfine, and drawn ones, of which every measurement has a row of
`headroom show` or is counted in a sentence."""
import gzip
import json
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
