# SPDX-License-Identifier: Apache-2.0
"""`headroom roofline`."""
import json
import pathlib
import unittest
import xml.etree.ElementTree

from command_line import BRIEF, CommandLineTest, clean_environment, headroom, records_of

CASES = ["gemv", "limit.peak", "-a", "D=64,256", "-a", "dtype=bf16", "-a", "pattern=fma,dot"]


class RooflineTest(CommandLineTest):
    def run_cases(self, *more):
        path = self.folder / "run.json"
        store = self.folder / "history.sqlite"
        self.assert_exit(headroom("run", *CASES, *BRIEF, "--json", path, "--store", store, *more), 0)
        return path, store

    def test_a_run_as_text_svg_and_json(self):
        path, store = self.run_cases("--num-samples", "30", "--max-time", "30s")
        svg, numbers = self.folder / "roof.svg", self.folder / "roof.json"
        result = self.assert_exit(headroom("roofline", path, "--svg", svg, "--json", numbers), 0)
        self.assertEqual(result.stderr, "")
        for words in ("GFLOP/s", "FLOP/byte", "gemv D=64", "gemv D=256", "bf16 peak, 1 thread"):
            self.assertIn(words, result.stdout)
        root = xml.etree.ElementTree.parse(svg).getroot()
        self.assertTrue(root.tag.endswith("svg"))
        self.assertEqual(len(root.findall(".//{http://www.w3.org/2000/svg}circle")), 2)

        told = json.loads(numbers.read_text())
        self.assertEqual([case["name"] for case in told["cases"]], ["gemv D=64", "gemv D=256"])
        for case in told["cases"]:
            self.assertAlmostEqual(case["flop_per_byte"], 1, places=6)  # 2 D^2 FLOPs over 2 D^2 bytes
            self.assertGreaterEqual(case["n"], 20, "enough for an interval")
            self.assertLessEqual(case["low"], case["gflops"])
            self.assertLessEqual(case["gflops"], case["high"])
        kinds = {(roof["kind"], roof["what"]) for roof in told["roofs"]}
        self.assertIn(("peak", "bf16"), kinds)
        self.assertIn("bandwidth", {kind for kind, _ in kinds})

        # The same run from the history.
        last = self.assert_exit(headroom("roofline", "--store", store, "--json", "-"), 0)
        self.assertEqual(json.loads(last.stdout), told)

    def test_a_size_that_is_no_power_of_two(self):
        path = self.folder / "g.json"
        self.assert_exit(headroom("run", "gemv", "-a", "D=3000", "-a", "dtype=int8", *BRIEF, "--no-store", "--json", path), 0)
        result = self.assert_exit(headroom("roofline", path), 0, "gemv D=3000")
        self.assertNotIn("no roofs", result.stdout)

    def test_caches_whose_sizes_older_files_have_rounded(self):
        """A Xeon's L3 of 36,608 KiB was written as 35.8 MiB, not a whole number of bytes."""
        path, _ = self.run_cases()
        told = json.loads(path.read_text())
        for record in told["records"]:
            record["caches"] = "hot"
        machine = told["environments"][0]["machines"][0]
        machine["extra_info"]["caches"] = "32 KiB, 1.00 MiB, 35.8 MiB"
        machine["cache_bytes"] = [32 << 10, 1 << 20, 36608 << 10]
        path.write_text(json.dumps(told))
        newest = headroom("roofline", path)
        del machine["cache_bytes"], told["environments"][0]["options"]
        path.write_text(json.dumps(told))
        older = headroom("roofline", path)
        for result in (newest, older):
            self.assert_exit(result, 0, "L1 read")
        self.assertEqual(older.stdout, newest.stdout)

    def test_without_limits_it_says_so(self):
        path, _ = self.run_cases("--no-limits", "--only", "gemv")
        told = json.loads(path.read_text())
        told["records"] = [record for record in told["records"] if record["model"]["name"] == "gemv"]
        path.write_text(json.dumps(told))
        self.assert_exit(headroom("roofline", path), 0, "no roofs")

    def test_limits_of_another_machine_are_refused(self):
        path, _ = self.run_cases()
        told = json.loads(path.read_text())
        told["environments"][0]["fingerprint"] = "elsewhere-8c-00000000"
        other = self.write_file("other.json", told)
        self.assert_refused(headroom("roofline", path, "--limits", other), "elsewhere-8c-00000000", "--limits")
        both = self.make_folder("both")
        path.rename(both / "a.json")
        other.rename(both / "b.json")
        self.assert_refused(headroom("roofline", both), "several machines")

    def run_counted(self, counts, info, *more):
        """Runs hostile_runner.py with these hardware counts; returns the record file and the result."""
        path = self.folder / "counted.json"
        environment = clean_environment(HOSTILE_COUNTS=json.dumps(counts), HOSTILE_INFO=json.dumps(info))
        runner = pathlib.Path(__file__).resolve().parent / "hostile_runner.py"
        result = self.assert_exit(headroom("run", "e", "--runner", runner, "--no-limits", "--no-store", "--num-samples",
                                           "30", "--processes", "3", "--json", path, *more, env=environment), 0)
        return path, result

    def test_bytes_that_the_memory_controllers_counted(self):
        # 1e5 ns, 2e6 FLOPs, 1e6 declared bytes, twice as many moved.
        counts = {"instructions": 5e5, "cycles": 2e5, "cache_misses": 100, "memory_bytes": 2e6, "background_bytes": 1e4}
        path, run = self.run_counted(counts, {"flops": 2e6, "bytes": 1e6, "copies": 4})
        finding = r"e b0 moves 2.00 times its declared bytes: the memory controllers counted 1.91 MiB"
        self.assertRegex(" ".join(run.stdout.split()), finding)
        self.assertRegex(run.stdout, r"instructions +cycles +a cycle +misses x line +from memory")
        metrics = {record["metric"]["name"]: record for record in records_of(path)}
        self.assertEqual(metrics["instructions"]["metric"]["value"], 5e5)
        self.assertEqual(metrics["data_volume"]["metric"]["unit"], "B")
        self.assertEqual([len(process["values"]) for process in metrics["data_volume"]["samples"]], [1, 1, 1])
        result = self.assert_exit(headroom("roofline", path, "--json", self.folder / "roof.json"), 0)
        self.assertRegex(" ".join(result.stdout.split()), finding)
        self.assertIn("counted by the memory controllers", result.stdout)
        told = json.loads((self.folder / "roof.json").read_text())
        self.assertEqual(told["work"], "counted")
        self.assertEqual(len(told["findings"]), 1)
        case = told["cases"][0]
        self.assertAlmostEqual(case["flop_per_byte"], 1)
        self.assertAlmostEqual(case["declared_flop_per_byte"], 2)
        self.assertAlmostEqual(case["bandwidth_gb_s"], 20)
        self.assertEqual(case["counted_bytes"], {"value": 2e6, "low": 2e6, "high": 2e6, "n": 3})
        shown = self.assert_exit(headroom("show", path), 0)
        self.assertRegex(" ".join(shown.stdout.split()), finding)
        self.assert_exit(headroom("diff", path, path), 0, "of 1 comparison")

    def test_counters_that_are_not_asked_count_nothing(self):
        path, _ = self.run_counted({"instructions": 5}, {}, "--no-counters")
        self.assertNotIn("instructions", {record["metric"]["name"] for record in records_of(path)})
        environment = json.loads(path.read_text())["environments"][0]
        self.assertIn("--no-counters", environment["extra_info"]["hardware_counters"])
        machine = headroom("machine", "--topology")
        self.assertRegex(machine.stdout, r"(?m)^  hardware counters: .{20,}")

    def test_what_it_cannot_plot(self):
        self.assert_refused(headroom("roofline", self.folder / "none.json"), "none.json")
        self.assert_refused(headroom("roofline", "--store", self.folder / "none.sqlite"), "none.sqlite")
        times = self.write_file("hyperfine.json", {"results": [{"command": "true", "times": [0.1, 0.2, 0.3]}]})
        self.assert_refused(headroom("roofline", times), "FLOPs and bytes", "headroom run gemv")
        path, _ = self.run_cases()
        self.assert_refused(headroom("roofline", path, "--svg", self.folder / "run.json" / "x.svg"), "x.svg")
        self.assert_exit(headroom("roofline", "--no-such-option"), 2)


if __name__ == "__main__":
    unittest.main()
