# SPDX-License-Identifier: Apache-2.0
"""Instructions of the compiled limit kernels: 16-byte accesses, no spills.

Needs HEADROOM_NVCC and HEADROOM_SOURCE. Checks machine code if cuobjdump is found: in PATH, next to nvcc, or in HEADROOM_CUOBJDUMP.
"""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

NVCC = os.environ["HEADROOM_NVCC"]
SOURCE = pathlib.Path(os.environ["HEADROOM_SOURCE"]) / "src"
CUDA = SOURCE / "headroom_cuda"
CUOBJDUMP = os.environ.get("HEADROOM_CUOBJDUMP") or shutil.which(
    "cuobjdump", path=os.pathsep.join([str(pathlib.Path(NVCC).parent), os.environ.get("PATH", "")]))
# By file: the architecture, and what its PTX and machine code must contain.
FILES = {
    "limits/bandwidth_kernels.cu": ("90", ["ld.global.nc.L1::no_allocate.v4.u32", "st.global.cs.v4.u32"],
                                    [r"LDG\.E\.\S*128", r"STG\.E\.128", r"STG\.E\.EF\.128"]),
    "limits/peak_kernels.cu": ("80", ["fma.rn.f32", "fma.rn.f64", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
                                      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"],
                               [r"FFMA", r"DFMA", r"HMMA\.16816\.F32\.BF16", r"IMMA\.16832\.S8\.S8"]),
    "sm90a/wgmma_peak.cu": ("90a", ["wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16",
                              "wgmma.mma_async.sync.aligned.m64n256k32.f32.e4m3.e4m3",
                              "wgmma.mma_async.sync.aligned.m64n256k32.s32.s8.s8"], [r"HGMMA\.64x256x16", r"QGMMA\.64x256x32", r"IGMMA\.64x256x32"]),
}


class CudaCodeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.ptx, cls.cubin, cls.report = {}, {}, {}
        assembler = pathlib.Path(NVCC).parent / "ptxas"
        for name, (architecture, _, _) in FILES.items():
            ptx = pathlib.Path(cls.folder.name) / f"{pathlib.Path(name).stem}.ptx"
            subprocess.run([NVCC, "-ptx", "-O3", "-std=c++20", "--expt-relaxed-constexpr", f"-I{SOURCE}",
                            f"-gencode=arch=compute_{architecture},code=compute_{architecture}", CUDA / name, "-o", ptx],
                           check=True)
            cls.ptx[name] = ptx.read_text()
            cls.cubin[name] = ptx.with_suffix(".cubin")
            made = subprocess.run([assembler, "-v", f"-arch=sm_{architecture}", ptx, "-o", cls.cubin[name]], check=True,
                                  capture_output=True, text=True)
            cls.report[name] = made.stdout + made.stderr

    def test_the_ptx_has_the_instructions_that_the_limits_are_about(self):
        for name, (_, instructions, _) in FILES.items():
            for instruction in instructions:
                self.assertTrue(instruction in self.ptx[name], f"{name}: no {instruction}")

    def test_nothing_is_spilled_and_no_wgmma_waits_for_another(self):
        for name, report in self.report.items():
            spills = re.findall(r"(\d+) bytes spill stores, (\d+) bytes spill loads", report)
            self.assertTrue(spills, report)
            self.assertEqual({("0", "0")}, set(spills), f"{name}\n{report}")
            self.assertNotIn("Potential Performance Loss", report, name)

    @unittest.skipUnless(CUOBJDUMP, "cuobjdump was not found: the machine code is not looked at")
    def test_the_machine_code_has_them_too(self):
        for name, (_, _, instructions) in FILES.items():
            code = subprocess.run([CUOBJDUMP, "-sass", self.cubin[name]], check=True, capture_output=True,
                                  text=True).stdout
            for instruction in instructions:
                self.assertTrue(re.search(instruction, code), f"{name}: no {instruction}")


if __name__ == "__main__":
    unittest.main()
