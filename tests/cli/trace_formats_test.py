# SPDX-License-Identifier: Apache-2.0
"""`headroom trace` on other profilers' files (tests/data/trace/formats)."""
import json
import pathlib
import shutil
import unittest

from command_line import CommandLineTest, headroom
from trace_files import kernel, tables_of, trace

FORMATS = pathlib.Path(__file__).resolve().parents[1] / "data" / "trace" / "formats"


class Formats(CommandLineTest):
    def kernels_of(self, path):
        result = self.assert_exit(trace("kernels", path, "--whole-names", "--json", "-"), 0)
        self.assertEqual(result.stderr, "")
        return {row["name"]: row["total_ns"] for row in tables_of(result)["kernels"]}

    def test_every_form_has_the_same_kernel(self):
        for name, kernel in (("kineto.pftrace", "sgemm_128x64_nn"), ("gpu.xplane.pb", "gemm_fusion_dot"),
                             ("nsight.sqlite", "sgemm_128x64_nn(float*, float*)"), ("rocprofv3.json", "axpy(float*)")):
            with self.subTest(name):
                self.assertEqual(self.kernels_of(FORMATS / name)[kernel], 100250)

    def test_converted_it_says_the_same(self):
        for name in ("kineto.pftrace", "rocprofv3.pftrace", "gpu.xplane.pb", "nsight.sqlite", "rocprofv3.json"):
            with self.subTest(name):
                out = self.folder / f"{name}.json"
                self.assert_exit(headroom("trace", "convert", FORMATS / name, out), 0)
                json.loads(out.read_text())
                self.assertEqual(self.kernels_of(out), self.kernels_of(FORMATS / name))

    def test_converted_steps_of_jax_have_the_name_that_other_tools_read(self):
        out, again = self.folder / "jax.json", self.folder / "again.json"
        self.assert_exit(headroom("trace", "convert", FORMATS / "gpu.xplane.pb", out), 0)
        named = [event for event in json.loads(out.read_text())["traceEvents"] if event["name"].startswith("ProfilerStep#")]
        self.assertEqual({event["cat"] for event in named}, {"user_annotation"})
        self.assertNotIn("step_num#", out.read_text())
        self.assert_exit(headroom("trace", "convert", out, again), 0)
        steps = [tables_of(trace("steps", path, "--json", "-"))["steps"] for path in (FORMATS / "gpu.xplane.pb", out, again)]
        self.assertEqual([row["step"] for row in steps[0]], [event["name"].split("#")[1] for event in named])
        self.assertEqual(steps[0], steps[1])
        self.assertEqual(steps[1], steps[2])
        old = self.write_file("old.json", out.read_text().replace("ProfilerStep#", "step_num#"))
        self.assertEqual(tables_of(trace("steps", old, "--json", "-"))["steps"], steps[0])

    def test_memory_of_a_snapshot(self):
        result = self.assert_exit(trace("memory", FORMATS / "snapshot_protocol5.pickle", "--json", "-"), 0)
        row = tables_of(result)["allocators"][0]
        self.assertEqual((row["peak_allocated_bytes"], row["peak_reserved_bytes"], row["unused_at_peak_bytes"]),
                         (16 << 20, 24 << 20, 8 << 20))

    def test_the_lines_that_hold_the_memory_of_a_snapshot(self):
        chrome = self.folder / "snapshot.json"
        self.assert_exit(headroom("trace", "convert", FORMATS / "snapshot_protocol5.pickle", chrome), 0)
        for path in (FORMATS / "snapshot_protocol5.pickle", chrome):
            self.assert_exit(trace("memory", path), 0, "of the peak 16 MiB, 14 MiB (87.5 %): train.py(12): forward",
                             "10 MiB of 24 MiB reserved are free in partly used segments")
            leaks = tables_of(trace("memory", path, "--json", "-"))["leaks"]
            self.assertEqual([(row["line"], row["bytes"]) for row in leaks if row["device"] == "0"],
                             [("train.py(20): loss", 4 << 20), ("model.py(3): __init__", 2 << 20)])
            lines = tables_of(trace("modules", path, "--json", "-", "--top", "0"))["lines"]
            held = {row["line"]: row["peak_bytes"] for row in lines}
            self.assertEqual(held["train.py(12): forward"], (14 + 3) << 20)

    def test_operators_of_an_execution_trace(self):
        self.assert_exit(trace("ops", FORMATS / "pytorch_execution.json"), 0, "aten::mm")

    def test_a_folder_of_them(self):
        for rank in (0, 1):
            shutil.copy(FORMATS / "rocprofv3.pftrace", self.folder / f"rank{rank}.pftrace")
        result = self.assert_exit(trace("kernels", self.folder), 0)
        for rank in (0, 1):
            self.assertRegex(result.stdout, rf"\n +{rank} +\S+rank{rank}.pftrace +1 +40.0 µs ")

    def test_what_is_none_says_what_it_looks_like(self):
        report = self.folder / "run.nsys-rep"
        report.write_bytes(b"\1\2\3 a report")
        self.assert_refused(trace("summary", report), "Nsight Systems report",
                            f"nsys export --type sqlite {report}")
        image = self.folder / "plot.json"
        image.write_bytes(b"\x89PNG\r\n\x1a\n")
        self.assert_refused(trace("summary", image), "it looks like a PNG image")

    def test_a_graph_for_the_feeder_of_chakra_is_named(self):
        graph = self.folder / "chakra.0.json"
        nodes = [{"Id": 1, "Name": "aten::mm", "NodeType": 4, "runtime": 318, "data_deps": [], "is_cpu_op": True}]
        for text in (json.dumps({"workload_graph": nodes}, indent=4), json.dumps({"workload_graph": nodes})):
            graph.write_text(text)
            self.assert_refused(trace("summary", graph), "it looks like a graph for Chakra's feeder", "Kineto trace")
        graph.write_text(json.dumps({"graph": nodes}))
        self.assert_refused(trace("summary", graph), "no list of events")
        graph.write_text(json.dumps({"traceEvents": [kernel("workload_graph", 0, 10, 1)]}))
        self.assert_exit(trace("summary", graph), 0)


if __name__ == "__main__":
    unittest.main()
