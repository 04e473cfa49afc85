# SPDX-License-Identifier: Apache-2.0
"""`headroom trace critical-path` across ranks."""
import json
import subprocess
import sys
import unittest

from command_line import CommandLineTest
from trace_files import SHARED, tables_of, trace, write_trace

PLANT = SHARED.parent / "planted" / "plant.py"


@unittest.skipUnless(PLANT.is_file(), "the shared traces are not here")
class JobPath(CommandLineTest):
    def plant(self, seed):
        """Returns the files of four ranks, the late one, and its extra ns per step."""
        subprocess.run([sys.executable, PLANT, self.folder, "--seed", str(seed)], check=True, timeout=60)
        planted = json.loads((self.folder / "expected.json").read_text())["late_rank"]
        return sorted((self.folder / "late_rank").iterdir()), planted["rank"], 1000 * planted["cost_us_per_step"]

    def move_clocks(self, files):
        for place, file in enumerate(files):
            document = json.loads(file.read_text())
            for event in document["traceEvents"]:
                if event["ph"] == "X":
                    event["ts"] = round(event["ts"] + 777.125 * place, 3)
            file.write_text(json.dumps(document))

    def test_it_leads_over_the_late_rank_and_holds_its_extra_work(self):
        for seed in (1, 5):
            files, late, cost_ns = self.plant(seed)
            for _ in ("as they are", "apart"):
                with self.subTest(seed=seed):
                    result = self.assert_exit(trace("critical-path", *files, "--json", "-", "--top", "0"), 0)
                    tables = tables_of(result)
                    path = tables["job_path"]
                    self.assertEqual(path[0]["rank"], late)
                    for before, after in zip(path, path[1:]):
                        self.assertEqual(before["to_ns"], after["from_ns"])
                        self.assertRegex(before["until"], r"^all_reduce \d+ of group 0$")
                    total = sum(row["time_ns"] for row in path)
                    self.assertEqual(total, path[-1]["to_ns"] - path[0]["from_ns"])
                    times = {}
                    for row in tables["job_classes"]:
                        times[row["class"]] = times.get(row["class"], 0) + row["time_ns"]
                    self.assertEqual(sum(times.values()), total)
                    # 20 kernels of 400 us and two all-reduces of 500 us, without waits for another rank.
                    self.assertAlmostEqual(times["gpu compute"], 8_000_000, delta=10_000)
                    self.assertAlmostEqual(times["gpu communication"], 1_000_000, delta=10_000)
                    self.assertAlmostEqual(times["operators"], cost_ns, delta=50_000)
                self.move_clocks(files)

    def test_the_answer_comes_first(self):
        files, late, _ = self.plant(5)
        result = self.assert_exit(trace("critical-path", *files), 0)
        self.assertNotEqual(late, 0)
        self.assertRegex(result.stdout, rf"^the job's critical path takes 12.5 ms and ends on rank 0; .* is on rank {late}, ")
        self.assertNotIn("path_stretches", result.stdout)

    def test_what_the_late_rank_does_is_named(self):
        # A host that runs ahead of a full device launches early: the slow kernels are the path, not their launches.
        for case, answer in (("k1", r"is on rank 1, 5\.00 ms of that gpu compute"),
                             ("j2b_one_clock", r"rank 0, entirely on that rank: 2\.00 ms of that gpu compute")):
            with self.subTest(case=case):
                result = self.assert_exit(trace("critical-path", SHARED.parent / "cases" / "trace" / case), 0)
                self.assertRegex(result.stdout.splitlines()[0], answer)


class WithoutCollectives(CommandLineTest):
    def test_ranks_have_rows_and_a_note(self):
        for rank in range(2):
            write_trace(self.folder / f"rank{rank}.json")
        result = self.assert_exit(trace("critical-path", self.folder, "--json", "-"), 0)
        self.assertEqual(list(tables_of(result)), ["ranks", "spread"])
        self.assertIn("no collective appears in the traces of several ranks", result.stdout)


if __name__ == "__main__":
    unittest.main()
