# SPDX-License-Identifier: Apache-2.0
"""Files that other tools really write, read by `headroom diff`: Google Benchmark and hyperfine."""
import gzip
import json
import shutil
import subprocess
import unittest

from command_line import BIN, CommandLineTest, headroom

GOOGLE_PROGRAM = BIN / "google_benchmark_program"


class Readers(CommandLineTest):
    def compared(self, *arguments):
        """What `headroom diff --json` tells, by case and metric."""
        result = headroom("diff", *arguments, "--all-metrics", "--json", "-")
        self.assert_exit(result, 0)
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
                self.assertIn(latency["n"], range(1, 9))  # what looks like warm-up is left out
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
        shown = headroom("show", path)
        self.assert_exit(shown, 0)
        self.assertIn("5.00 ns", shown.stdout)
        self.assertIn(("f", "latency"), self.compared(path, path))

    def test_what_is_no_file_of_results(self):
        good = self.folder / "good.json"
        good.write_text('{"results": [{"command": "x", "mean": 1.5, "times": [1, 2]}]}')
        bad = self.folder / "bad.json"
        for text, words in (("", "is empty"), ("what", "not a file of results"),
                            ('{"results": [{"command": "x", "times": [1, ', "not JSON at byte"),
                            ('{"results": [{"command": "x", "times": [1, 0]}]}', "/results/0/times/1")):
            bad.write_text(text)
            self.assert_refused(headroom("diff", good, bad), "bad.json", words)


if __name__ == "__main__":
    unittest.main()
