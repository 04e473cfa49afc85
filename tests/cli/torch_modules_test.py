# SPDX-License-Identifier: Apache-2.0
"""`headroom run --module` and `--trace`."""
import csv
import json
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from command_line import BIN, BRIEF, TORCH, CommandLineTest, headroom, needs_torch, records_of, run_program

ROWS = "f32[4,16]"
LAYERS_FLOPS = 2 * 4 * 16 * 32 + 2 * 4 * 32 * 8


def run(*arguments, **options):
    return headroom("run", "--no-limits", "--no-store", "--processes", "1", *BRIEF, *arguments, **options)


def setUpModule():
    folder = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(folder.cleanup)
    ModulesTest.modules = TracesTest.modules = Path(folder.name)
    if TORCH.exists():
        subprocess.run([BIN / "torch_module_files", folder.name], check=True, timeout=120)


@needs_torch
class ModulesTest(CommandLineTest):
    def module(self, name):
        return self.modules / f"{name}.pt"

    def records(self, *arguments):
        file = self.folder / "records.json"
        result = self.assert_exit(run(*arguments, "--json", file), 0)
        return {(record["model"]["backend"], record["metric"]["name"]): record for record in records_of(file)}, result

    def flops(self, records, backend):
        """Returns the FLOPs of a call, from rate and time of a sample."""
        rate = records[backend, "GFLOP/s"]["samples"][0]["values"][0]
        return rate * records[backend, "latency"]["samples"][0]["values"][0] * 1e3

    def test_a_module_is_a_case_with_its_flops_and_throughput(self):
        records, result = self.records("--module", self.module("layers"), "--input", ROWS)
        latency = records["layers", "latency"]
        self.assertTrue(latency["verified"])
        self.assertEqual(latency["model"]["name"], "module")
        self.assertEqual(latency["axes"], {"input": ROWS})
        self.assertAlmostEqual(self.flops(records, "layers"), LAYERS_FLOPS, delta=1e-6 * LAYERS_FLOPS)
        samples = records["layers", "throughput"]["samples"][0]["values"][0]
        self.assertAlmostEqual(samples * latency["samples"][0]["values"][0] / 1e6, 4, places=6)
        self.assertEqual(records["layers", "throughput"]["metric"]["unit"], "samples/s")
        extra = latency["model"]["extra_info"]
        self.assertEqual(extra["flops_counted"], "aten::mm x2")
        self.assertRegex(extra["flops_not_counted"], r"aten::(relu|clamp_min)")
        self.assertEqual(extra["output"], "Float[4,8]")
        self.assertIn("module input=f32[4,16]", result.stdout)

    def test_convolutions_count_as_pytorch_counts_them(self):
        records, _ = self.records("--module", self.module("convolution"), "--input", "f32[1,2,8,8]")
        self.assertAlmostEqual(self.flops(records, "convolution"), 2 * 36 * 4 * 2 * 9, delta=1e-2)

    def test_several_inputs_and_several_outputs(self):
        records, _ = self.records("--module", self.module("two_inputs"), "--input", "f32[3,4,5]", "--input", "f32[3,5,6]")
        self.assertAlmostEqual(self.flops(records, "two_inputs"), 2 * 3 * 4 * 5 * 6, delta=1e-2)
        extra = records["two_inputs", "latency"]["model"]["extra_info"]
        self.assertEqual(extra["output"], "(Float[3,4,6], Float[3,4,5])")
        self.assertEqual(extra["input 1"], "f32[3,5,6] normal(0,1)")

    def test_integers_are_of_the_range_asked_for(self):
        records, _ = self.records("--module", self.module("embedding"), "--input", "i64[2,7]:90..99")
        self.assertNotIn(("embedding", "GFLOP/s"), records)
        self.assertIn("Float[2,7,8]", records["embedding", "latency"]["model"]["extra_info"]["output"])
        self.assert_exit(run("--module", self.module("embedding"), "--input", "i64[2,7]:90..110", "--seed", "3"), 1,
                         "index out of range")

    def test_modules_are_compared_in_the_same_rounds(self):
        records, result = self.records("--module", self.module("layers"), "--module", self.module("layers_twice"),
                                       "--input", ROWS)
        self.assertIn("x the time of layers@torch", result.stdout)
        self.assertAlmostEqual(self.flops(records, "layers_twice"), 2 * LAYERS_FLOPS, delta=1e-2)
        self.assertEqual(records["layers", "latency"]["samples"][0]["rounds"],
                         records["layers_twice", "latency"]["samples"][0]["rounds"])
        difference = float(records["layers_twice", "latency"]["model"]["extra_info"]["difference_to_layers"])
        self.assertLess(difference, 1e-5)

    def test_modules_of_one_name_are_told_apart_by_their_paths(self):
        copy = self.folder / "layers.pt"
        shutil.copy(self.module("layers"), copy)
        records, _ = self.records("--module", self.module("layers"), "--module", copy, "--input", ROWS)
        self.assertEqual({backend for backend, _ in records}, {str(copy), str(self.module("layers"))})

    def test_threads_are_those_asked_for(self):
        for threads in ("1", "2"):
            records, _ = self.records("--module", self.module("layers"), "--input", ROWS, "--threads", threads)
            self.assertEqual(records["layers", "latency"]["model"]["extra_info"]["torch_threads"], threads)

    def test_started_from_a_shell_the_runner_measures_modules_itself(self):
        self.assert_exit(run_program(TORCH, "--module", self.module("layers"), "--input", ROWS, "--no-limits",
                                     "--no-store", *BRIEF), 0, "module input=f32[4,16]")

    # Exit code 2, before anything is measured.

    def test_bad_usage_is_refused_with_what_to_do(self):
        text = self.write_file("text.pt", "this is not a module")
        empty = self.folder / "empty.pt"
        empty.touch()
        layers = ["--module", self.module("layers")]
        for arguments, words in [
                (["--module", self.folder / "absent.pt", "--input", ROWS], ["absent.pt", "no such file"]),
                (["--module", self.folder, "--input", ROWS], ["is not a file"]),
                (["--module", text, "--input", ROWS], ["text.pt", "is not a TorchScript module", "torch.jit.save"]),
                (["--module", empty, "--input", ROWS], ["empty.pt", "is not a TorchScript module"]),
                (["--module", self.module("no_forward"), "--input", ROWS], ["no_forward.pt", "no method forward()"]),
                ([*layers, "--input", "f32[4,,16]"], ["--input", "column 7", "a size"]),
                ([*layers, "--input", "float99[4]"], ["column 1", "bf16"]),
                ([*layers], ["forward(Tensor x)", "0 inputs", "--input"]),
                ([*layers, "--input", ROWS, "--input", ROWS], ["forward(Tensor x)", "2 inputs"]),
                (["--input", ROWS], ["--module"]),
                (["gemv", *layers, "--input", ROWS], ["gemv", "only modules"]),
                ([*layers, "--input", ROWS, "--backend", "aten"], ["aten"]),
                ([*layers, "--input", ROWS, "--runner", BIN / "headroom-native"], ["not '--module'"])]:
            with self.subTest(arguments=arguments):
                result = run(*arguments)
                self.assert_refused(result, *words)
                self.assertNotIn("frame #", result.stderr)
                said = [line for line in result.stderr.splitlines() if not line.startswith("headroom: busy:")]
                self.assertEqual(len(said), 1, result.stderr)

    def test_half_a_module_is_refused(self):
        whole = self.module("layers").read_bytes()
        half = self.folder / "half.pt"
        for size in (1, len(whole) // 2, len(whole) - 1):
            half.write_bytes(whole[:size])
            self.assert_refused(run("--module", half, "--input", ROWS), "half.pt", "is not a TorchScript module")

    def test_a_package_says_what_it_needs(self):
        package = self.folder / "compiled.pt2"
        package.write_bytes(b"PK\x05\x06" + bytes(18))
        self.assert_refused(run("--module", package, "--input", ROWS), "compiled.pt2", "AOTInductor package", "libtorch")

    # Found while measuring: a failed row, exit code 1.

    def test_a_module_that_cannot_be_measured_is_a_failed_row_beside_the_others(self):
        for name, spec, word in [("throws", ROWS, "is invalid for input of size 64"), ("nan", ROWS, "returns NaN"),
                                 ("random", ROWS, "differs from run 1")]:
            with self.subTest(module=name):
                result = self.assert_exit(run("--module", self.module(name), "--module", self.module("layers"),
                                              "--input", spec), 1, word)
                self.assertNotIn("frame #", result.stdout)
                self.assertRegex(result.stdout, r"layers .*µs")

    def test_inputs_of_the_wrong_shape_or_dtype_fail_with_torchs_sentence(self):
        result = self.assert_exit(run("--module", self.module("layers"), "--input", "f32[4,17]"), 1)
        self.assertRegex(result.stdout, r"the module threw: .*(4x17 and 16x32|size mismatch)")
        result = self.assert_exit(run("--module", self.module("layers"), "--input", "i64[4,16]"), 1)
        self.assertRegex(result.stdout, r"the module threw: .*(Long|long)")


@needs_torch
class TracesTest(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.layers = self.modules / "layers.pt"
        self.traces = self.folder / "traces"

    def events(self, file):
        return [event for event in json.loads(file.read_text())["traceEvents"] if event["ph"] == "X"]

    def test_the_trace_of_a_module_has_its_operators_with_shapes(self):
        result = self.assert_exit(run("--module", self.layers, "--input", ROWS, "--trace", self.traces), 0)
        files = list(self.traces.iterdir())
        self.assertEqual([file.name for file in files], ["module_input=f32_4,16_.layers.json"])
        self.assertIn(f"1 trace in {self.traces}", result.stderr)
        products = [event for event in self.events(files[0]) if event["name"] == "aten::mm"]
        self.assertEqual([event["args"]["Input Dims"] for event in products], [[[4, 16], [16, 32]], [[4, 32], [32, 8]]])
        for event in products:
            self.assertEqual(event["cat"], "cpu_op")
            self.assertEqual(event["args"]["Input type"], ["float", "float"])
            self.assertGreater(event["dur"], 0)
            self.assertIn("External id", event["args"])
        listed = self.assert_exit(headroom("trace", "ops", "--csv", "-", "--no-store", files[0]), 0)
        rows = csv.DictReader(line for line in listed.stdout.splitlines() if not line.startswith("#"))
        calls = {row["name"]: row["calls"] for row in rows}
        self.assertEqual(calls["aten::mm"], "2")
        self.assertEqual(calls["aten::relu"], "1")
        self.assertEqual(calls["ProfilerStep*"], "1")
        self.assert_exit(headroom("trace", "validate", files[0]), 0)
        self.assert_exit(headroom("trace", files[0]), 0)

    def test_each_case_has_a_trace_and_a_runner_that_cannot_says_so(self):
        result = run("gemv", "-a", "D=1024", "-a", "dtype=bf16", "--backend", "native,aten,aten_out", "--trace", self.traces)
        self.assert_exit(result, 0)
        self.assertEqual({file.name for file in self.traces.iterdir()},
                         {"gemv_D=1024_dtype=bf16.aten@torch.json", "gemv_D=1024_dtype=bf16.aten_out@torch.json"})
        self.assertIn("2 traces", result.stderr)
        self.assertIn("by native [native]: this runner cannot record traces", result.stderr)
        names = {event["name"] for event in self.events(self.traces / "gemv_D=1024_dtype=bf16.aten@torch.json")}
        self.assertIn("aten::mv", names)

    def test_the_record_names_the_trace_of_one_call(self):
        file = self.folder / "records.json"
        self.assert_exit(run("--module", self.layers, "--input", ROWS, "--trace", self.traces, "--json", file), 0)
        latency = next(record for record in records_of(file) if record["metric"]["name"] == "latency")
        trace = Path(latency["model"]["extra_info"]["trace"])
        step = next(event for event in self.events(trace) if event["name"] == "ProfilerStep#0")
        inside = [event for event in self.events(trace) if event["name"] == "aten::mm"]
        self.assertEqual(len(inside), 2)
        for event in inside:
            self.assertGreaterEqual(event["ts"], step["ts"])
            self.assertLessEqual(event["ts"] + event["dur"], step["ts"] + step["dur"] + 0.001)

    def test_a_run_that_cannot_be_traced_is_refused_before_it_begins(self):
        self.assert_refused(run("gemv", "-a", "D=1024", "--trace", self.traces), "native", "headroom-torch")
        self.assertFalse(self.traces.exists())
        taken = self.write_file("taken", "a file")
        self.assert_refused(run("--module", self.layers, "--input", ROWS, "--trace", taken), "taken")

    def test_a_trace_that_cannot_be_written_costs_neither_the_samples_nor_the_file_before(self):
        self.traces.mkdir()
        (self.traces / "module_input=f32_4,16_.layers.json").mkdir()
        self.assert_exit(run("--module", self.layers, "--input", ROWS, "--trace", self.traces), 0, "µs",
                         stderr="no trace of module")
        self.assertEqual(len(list(self.traces.iterdir())), 1)


if __name__ == "__main__":
    unittest.main()
