# SPDX-License-Identifier: Apache-2.0
"""headroom-torch-cuda on a GPU: ATen's operators verified, with our kernels in the same rounds, and compared with the device's limits.

Needs HEADROOM_BIN, the folder of the programs. Exits with 77 (skipped) and a reason without a GPU or headroom-torch-cuda.
"""
import json
import pathlib

from on_device import BIN, QUICK, CasesTest, main, run, why_not_listed

# Smaller and larger than any L2.
SIZES = {"gemv": ([], "D=1024,16384"), "gather_gemv": ([], "D=1024,8192"), "layer_norm": (["BS=4096"], "D=1024,16384"),
         "mlp_layer_norm_gelu": (["hidden=14336"], "D=1024,8192")}


def why_not():
    """Returns the reason for skipping, or an empty text."""
    for program in ("headroom-cuda", "headroom-torch-cuda"):
        if not (BIN / program).exists():
            return f"{program} was not built (docs/how-to/torch.md)"
    return why_not_listed("cuda,aten_cuda", timeout=600)


class TorchCudaDeviceTest(CasesTest):
    def test_every_experiment_is_right_and_beside_the_kernels_with_the_same_work(self):
        for name, (fixed, swept) in SIZES.items():
            axes = [part for axis in [*fixed, swept] for part in ("-a", axis)]
            found = self.cases(name, *axes, "--backend", "cuda,aten_cuda,aten_cuda_out")
            self.assertTrue(any(backend == "aten_cuda" for _, backend in found))
            with self.subTest(experiment=name):
                self.assert_beside_the_kernels(found)

    def test_short_launches_are_captured_and_long_ones_are_not(self):
        found = self.cases("gemv", "-a", "D=1024,32768", "-a", "dtype=int8", "--backend", "aten_cuda")
        notes = {axes[0]: metrics["latency"]["model"]["extra_info"]["launches"] for (axes, _), metrics in found.items()}
        self.assertEqual(notes, {"1024": "captured into graphs", "32768": "one by one"})

    def test_a_trace_has_the_kernels_of_an_operator(self):
        found = self.cases("gemv", "-a", "D=4096", "-a", "dtype=int8", "--backend", "aten_cuda", "--trace",
                           self.folder / "traces")
        notes = next(iter(found.values()))["latency"]["model"]["extra_info"]
        self.assertIn("trace", notes, notes.get("untraced"))
        trace = json.loads(pathlib.Path(notes["trace"]).read_text())
        self.assertEqual(trace["dropped_records"], 0)
        kernels = [event for event in trace["traceEvents"] if event.get("cat") == "kernel"]
        self.assertGreaterEqual(len(kernels), 2, "int8 becomes bf16, and is multiplied")

    def test_a_case_that_is_larger_than_the_device_is_skipped(self):
        file = self.folder / "records.json"
        run("gather_gemv", "-a", "D=1000000", "--backend", "aten_cuda", "--json", file, *QUICK, timeout=600)
        for record in json.loads(file.read_text())["records"]:
            self.assertEqual(record["outcome"]["kind"], "skipped")


if __name__ == "__main__":
    main(why_not())
