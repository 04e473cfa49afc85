# SPDX-License-Identifier: Apache-2.0
"""headroom-cuda on a GPU: every limit and experiment, verified and compared with the device's limits.

Needs HEADROOM_BIN, the folder of the programs. Exits with 77 (skipped) and a reason without a GPU or headroom-cuda.
"""
import json
import pathlib
import subprocess
import tempfile
import unittest

from on_device import BIN, HEADROOM, QUICK, main, run, why_not_listed

MIB = 1 << 20


def why_not():
    """Returns the reason for skipping, or an empty text."""
    if not (BIN / "headroom-cuda").exists():
        return "headroom-cuda was not built: CUDA 12 or newer was not found"
    return why_not_listed("cuda")


def busy_us(events):
    """Returns the union of events of processes labelled as GPUs, like PyTorch's compute_utilization."""
    gpus = {event["pid"] for event in events if event["name"] == "process_labels" and "GPU" in event["args"]["labels"]}
    spans = sorted((event["ts"], event["ts"] + event["dur"]) for event in events
                   if event["ph"] == "X" and event["pid"] in gpus)
    busy, end = 0, float("-inf")
    for start, stop in spans:
        busy += max(stop - max(start, end), 0)
        end = max(end, stop)
    return busy


class CudaDeviceTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def records(self, *arguments, code=0):
        file = self.folder / "records.json"
        result = run(*arguments, "--json", file, *QUICK)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return json.loads(file.read_text())["records"]

    def headlines(self, *arguments):
        found = {}
        for record in self.records(*arguments):
            if record["metric"].get("headline"):
                found[(record["model"]["name"], record["model"]["backend"], *map(str, record["axes"].values()))] = record
        return found

    def assert_measured(self, records):
        self.assertTrue(records)
        for case, record in records.items():
            with self.subTest(case=case):
                self.assertEqual(record["outcome"]["kind"], "measured", record["outcome"])
                self.assertTrue(record["verified"])
                self.assertGreater(record["metric"]["value"], 0)

    def test_bandwidths_are_verified_and_those_of_the_l2_above_those_of_memory(self):
        for limit in ("limit.read", "limit.write", "limit.copy"):
            memory = self.headlines(limit, "--backend", "cuda", "-a", f"bytes={1024 * MIB}")
            cached = self.headlines(limit, "--backend", "cuda", "-a", f"bytes={8 * MIB}", "--hot")
            self.assert_measured(memory)
            self.assert_measured(cached)
            best = [max(record["metric"]["value"] for record in found.values()) for found in (memory, cached)]
            self.assertGreater(best[1], best[0], limit)

    def test_working_sets_that_are_no_multiple_of_anything(self):
        for limit in ("limit.read", "limit.write", "limit.copy"):
            for size in (16, 32, 4095, 100_003, 3 * MIB + 17):
                if limit == "limit.copy" and size < 32:
                    continue
                self.assert_measured(self.headlines(limit, "--backend", "cuda", "-a", f"bytes={size}"))

    def traced(self, *arguments):
        """Returns the records by metric and the trace of each traced case."""
        cases = {}
        for record in self.records(*arguments, "--trace", self.folder / "traces"):
            trace = record["model"]["extra_info"].get("trace")
            self.assertIsNotNone(trace, record["model"]["extra_info"].get("untraced"))
            cases.setdefault(trace, {})[record["metric"]["name"]] = record["metric"]
        self.assertTrue(cases)
        return cases

    def test_a_trace_has_the_kernels_with_their_calls_and_the_share_of_the_time(self):
        for file, metrics in self.traced("gemv", "--backend", "cuda", "-a", "D=4096").items():
            valid = subprocess.run([HEADROOM, "trace", "validate", file], capture_output=True, text=True, timeout=60)
            self.assertEqual(valid.returncode, 0, valid.stdout + valid.stderr)
            trace = json.loads(pathlib.Path(file).read_text())
            self.assertEqual(trace["dropped_records"], 0)
            events = trace["traceEvents"]
            kernels = [event for event in events if event.get("cat") == "kernel"]
            launches = {event["args"]["correlation"] for event in events if event.get("cat") in ("cuda_runtime", "cuda_driver")}
            self.assertTrue(kernels)
            for kernel in kernels:
                self.assertIn(kernel["args"]["correlation"], launches)
                self.assertGreater(kernel["args"]["est. achieved occupancy %"], 0)
            length_s = metrics["latency"]["value"] * 1e-6
            asked = subprocess.run([HEADROOM, "trace", "utilization", "--pytorch-compat", "--length", repr(length_s), "--json",
                                    file], capture_output=True, text=True, timeout=60)
            self.assertEqual(asked.returncode, 0, asked.stderr)
            busy = busy_us(events)
            self.assertGreater(busy, 0)
            for figure in (json.loads(asked.stdout)["utilization"], metrics["gpu_utilization"]["value"]):
                self.assertAlmostEqual(figure, busy / (length_s * 1e6), delta=1e-6)

    def test_a_working_set_larger_than_the_device_is_skipped_with_both_sizes(self):
        records = self.records("limit.read", "--backend", "cuda", "-a", f"bytes={1 << 42}")
        for record in records:
            self.assertEqual(record["outcome"]["kind"], "skipped")
            self.assertRegex(record["outcome"]["reason"], "needs 4.* TiB of device memory, .* available")

    def test_peaks_are_verified_and_tensor_cores_above_ordinary_instructions(self):
        found = {case: record for case, record in self.headlines("limit.peak", "--backend", "cuda").items()
                 if record["outcome"]["kind"] != "skipped"}
        self.assert_measured(found)
        best = {}
        for (_, _, dtype, _), record in found.items():
            best[dtype] = max(best.get(dtype, 0), record["metric"]["value"])
        self.assertGreater(best["bf16"], 4 * best["f32"])
        self.assertGreater(best["f32"], 1.5 * best["f64"])
        self.assertGreater(best["int8"], 1.5 * best["bf16"])

    def test_experiments_are_verified_and_below_the_limits_of_their_device(self):
        offers = json.loads(run("--list", "--backend", "cuda", "--json", "-").stdout)
        cuda = next(offer for offer in offers if offer["runner"] == "cuda")
        names = [one["name"] for one in cuda["experiments"] if not one["limit"] and not one.get("on_request")]
        for name in names:
            found = {case: record for case, record in self.headlines(name, "--backend", "cuda").items()
                     if record["outcome"]["kind"] != "skipped"}
            self.assert_measured(found)
            for case, record in found.items():
                self.assertEqual(record["device"], "cuda")
                limit = record.get("limit")
                if limit:
                    self.assertLess(limit["fraction"], 1.05, (case, limit))
                    self.assertNotIn("thread", limit["name"])

    def test_experiments_are_right_for_sizes_that_are_no_multiple_of_anything(self):
        for size in (1, 3, 1023, 1025, 4097):
            for name in ("gemv", "gather_gemv"):
                self.assert_measured(self.headlines(name, "--backend", "cuda", "-a", f"D={size}"))
            self.assert_measured(self.headlines("layer_norm", "--backend", "cuda", "-a", f"D={size}", "-a", "BS=37"))
            self.assert_measured(self.headlines("mlp_layer_norm_gelu", "--backend", "cuda", "-a", f"D={size}", "-a",
                                                "hidden=1027"))
        # Rows too long for registers.
        self.assert_measured(self.headlines("layer_norm", "--backend", "cuda", "-a", "D=40000", "-a", "BS=300"))

    def test_the_device_is_named(self):
        record = next(iter(self.headlines("limit.peak", "--backend", "cuda", "-a", "dtype=f32", "-a",
                                          "pattern=fma").values()))
        self.assertTrue(record["benchmark"]["extra_info"]["arch"])


if __name__ == "__main__":
    main(why_not())
