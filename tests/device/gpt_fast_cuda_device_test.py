# SPDX-License-Identifier: Apache-2.0
"""PyTorch on a GPU, eager and by torch.compile, with our kernels in the same rounds: `headroom run --python gpt_fast_cuda`.

Needs HEADROOM_BIN, the folder of the programs, with the Python package next to it, and a torch with CUDA in HEADROOM_PYTHON (default:
this Python). Exits with 77 (skipped) and a reason if one of these or a GPU is missing.
"""
import os
import subprocess
import sys

from on_device import BIN, CasesTest, main, why_not_listed

PYTHON = os.environ.setdefault("HEADROOM_PYTHON", os.environ.get("HEADROOM_TORCH_PYTHON") or sys.executable)
ALL = ("--backend", "cuda,torch_cuda,torch_compile_cuda", "--timeout", "400s")


def why_not():
    """Returns the reason for skipping, or an empty text."""
    if not (BIN / "headroom-cuda").exists():
        return "headroom-cuda was not built: CUDA 12 or newer was not found"
    if not (BIN.parent / "python" / "headroom" / "_core.abi3.so").exists():
        return "the package of Python was not built"
    probe = "import sys, torch; sys.exit(not torch.cuda.is_available())"
    if subprocess.run([PYTHON, "-c", probe], capture_output=True, check=False).returncode != 0:
        return f"{PYTHON} has no torch that sees a GPU"
    return why_not_listed("cuda")


class GptFastCudaDeviceTest(CasesTest):
    def test_the_experiments(self):
        for name in ("gemv", "gather_gemv", "layer_norm", "mlp_layer_norm_gelu"):
            found = self.cases("--python", "gpt_fast_cuda", name, "-a", "D=4096", *ALL)
            self.assertEqual({backend for _, backend in found}, {"cuda", "torch_cuda", "torch_compile_cuda"})
            with self.subTest(experiment=name):
                self.assert_beside_the_kernels(found)
            for (_, backend), metrics in found.items():
                if backend != "cuda":
                    self.assertEqual(metrics["latency"]["model"]["extra_info"]["launches"], "captured into graphs")

    def test_a_model(self):
        found = self.cases("--python", "gpt_fast_cuda", "llama2_7b_int8", "--layers", "2", "-a", "max_new_tokens=20", *ALL)
        self.assertEqual(len(found), 3)
        self.assert_beside_the_kernels(found)


if __name__ == "__main__":
    main(why_not())
