# SPDX-License-Identifier: Apache-2.0
"""Every measurement in another tool's file has a row of `headroom show`, or is counted in a sentence."""
import json
import random
import re
import struct
import unittest
from collections import Counter

from command_line import CommandLineTest, headroom

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
