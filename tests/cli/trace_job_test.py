# SPDX-License-Identifier: Apache-2.0
"""`headroom trace critical-path`, `collectives`, `stragglers` and `roofline` on generated traces."""
import json
import unittest

from command_line import CommandLineTest, headroom


def event(category, name, start, duration, tid, **arguments):
    return {"ph": "X", "cat": category, "name": name, "pid": 0 if tid == 7 else 1, "tid": tid, "ts": start,
            "dur": duration, "args": arguments}


def product(start, late=0):
    """An aten::mm of 64 x 64 whose kernel is launched at once, and an all-reduce that ends at start + 900 us;
    the host waits for both."""
    return [
        event("cpu_op", "aten::mm", start, 50, 2, **{"External id": start + 1, "Input Dims": [[64, 64], [64, 64]],
                                                     "Input type": ["float", "float"]}),
        event("cuda_runtime", "cudaLaunchKernel", start + 10, 5, 2, correlation=start + 1),
        event("cuda_runtime", "cudaDeviceSynchronize", start + 860, 100, 2),
        event("kernel", "sgemm", start + 30, 100, 7, correlation=start + 1, device=0, stream=7),
        event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", start + 200 + late, 700 - late, 7, device=0, stream=7,
              **{"Collective name": "allreduce", "Process Group Name": "0", "Process Group Ranks": "[0, 1]",
                 "Group size": 2, "dtype": "Float", "In msg nelems": 175000, "Out msg nelems": 175000})]


class TraceOfAJob(CommandLineTest):
    def write(self, name, late=0, rank=0):
        events = []
        for step in range(2):
            start = 1000 * step
            events.append(event("user_annotation", f"ProfilerStep#{step + 5}", start, 1000, 2))
            events += product(start, late)
        path = self.folder / name
        path.write_text(json.dumps({"traceEvents": events, "distributedInfo": {"rank": rank, "world_size": 2},
                                    "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}]}))
        return path

    def tables(self, *arguments):
        result = self.assert_exit(headroom("trace", *arguments, "--no-store", "--json", "-"), 0)
        return json.loads(result.stdout)["trace"]["tables"]

    def test_the_critical_path_and_its_overlay(self):
        overlay = self.folder / "overlay.json"
        tables = self.tables("critical-path", self.write("a.json"), "--step", "6", "--overlay", overlay)
        times = {row["class"]: row["time_ns"] for row in tables["classes"]}
        self.assertEqual((times["operators"], times["launch"], times["gpu compute"]), (10_000, 20_000, 100_000))
        self.assertEqual((times["gpu communication"], times["synchronisation"]), (700_000, 60_000))
        # Before the all-reduce, whose launch is not in the file, and after the last call of the step.
        self.assertEqual(times["not recorded"], 70_000 + 40_000)
        self.assertEqual(tables["path"][0]["path_ns"], sum(times.values()))
        events = json.loads(overlay.read_text())["traceEvents"]
        path = [e for e in events if e.get("cat") == "critical_path" and e["ph"] == "X"]
        self.assertAlmostEqual(sum(e["dur"] for e in path), 1000.0)

    def test_a_step_that_is_not_there(self):
        self.assert_exit(headroom("trace", "critical-path", self.write("a.json"), "--step", "99", "--no-store"), 2,
                         stderr="the trace has the steps 5, 6")

    def test_who_waits_for_whom(self):
        ranks = [self.write("rank0.json"), self.write("rank1.json", late=300, rank=1)]
        tables = self.tables("collectives", *ranks)
        self.assertEqual(len(tables["skews"]), 2)
        row = tables["skews"][0]
        self.assertEqual((row["latency_ns"], row["skew_ns"], row["last_rank"]), (400_000, 300_000, 1))
        self.assertAlmostEqual(row["bus_bandwidth_gb_s"], 1.75)  # 700,000 bytes in 400 us, factor 2 (2 - 1) / 2
        self.assertEqual(tables["unmatched"], [])
        tables = self.tables("stragglers", *ranks)
        late, first = tables["ranks"][0], tables["lateness"][0]
        self.assertEqual((late["rank"], late["imposed_ns"], late["last"]), (1, 300_000, 2))
        self.assertEqual((first["rank"], first["late_ns"], first["last"]), (1, 300_000, 2))

    def test_raw_rows_are_not_printed(self):
        result = self.assert_exit(headroom("trace", "collectives", self.write("a.json"), "--no-store"), 0,
                                  "communication kernels of this rank")
        self.assertNotIn("group_ranks", result.stdout)
        self.assertEqual(result.stdout.count("all_reduce"), 1)

    def test_the_roof(self):
        row = self.tables("roofline", self.write("a.json"))["roofline"][0]
        self.assertEqual((row["op"], row["calls"], row["bound"]), ("aten::mm", 2, "memory"))
        self.assertAlmostEqual(row["gflops_per_second"], 524288 / 100_000)
        self.assertAlmostEqual(row["roof_share"], 49152 / 3350e9 / 100e-6)
        self.assert_exit(headroom("trace", "roofline", self.write("a.json"), "--peaks-of", "abacus", "--no-store"), 2,
                         stderr="abacus")


if __name__ == "__main__":
    unittest.main()
