# SPDX-License-Identifier: Apache-2.0
"""The aarch64 kernels compile and are correct in qemu, on each level.

Usage: aarch64_test.py SOURCE_FOLDER. Exits with 77 (skipped) without a cross compiler.
"""

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from kernel_files import ANSWERING

FOLDER = Path(sys.argv[1]) / "src/headroom_native"
COMPILER = shutil.which("aarch64-linux-gnu-g++")
QEMU = shutil.which("qemu-aarch64")
OPTIONS = ["-std=c++20", "-O1", "-DNDEBUG", f"-I{FOLDER.parent}", "-Wall", "-Wextra", "-Werror"]
VECTORS = ("kernels/gemv/gemv_kernel.cpp", "kernels/norm_kernel.cpp", "llm/token_kernels.cpp")
MOVES = ("limits/memory_kernels.cpp",)
FILES = VECTORS + MOVES + ("kernels/gemv/gemv_avx512_bf16.cpp", "kernels/gemv/gemv_neon.cpp", "kernels/gemv/gemv_sve.cpp", "kernels/norm_sve.cpp", "kernels/isa.cpp", "kernels/thread_pool.cpp",
                   "limits/peak_kernels.cpp")
os.environ.pop("HEADROOM_ISA", None)  # a level of this CPU, which others may lack


class Aarch64(unittest.TestCase):
    def test_the_kernels_compile(self):
        for name in FILES:
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                assembly = Path(folder) / "kernels.s"
                result = subprocess.run([COMPILER, *OPTIONS, "-S", FOLDER / name, "-o", assembly], capture_output=True,
                                        text=True)
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                if name in VECTORS:
                    self.assertRegex(assembly.read_text(), r"\tfmla\tv\d+\.4s")
                if name in MOVES:  # by pairs of 16 bytes, and with SVE by vectors of 32 and 64
                    self.assertRegex(assembly.read_text(), r"[ls][dt]n?p[\t ]q\d+, q\d+")
                    self.assertRegex(assembly.read_text(), r"[ls][dt]r[\t ]z\d+")

    @unittest.skipIf(QEMU is None, "there is no qemu-aarch64 (tools/setup.sh machines)")
    def test_their_answers(self):
        driver = Path(__file__).resolve().parent / "aarch64_kernels.cpp"
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "kernels"
            subprocess.run([COMPILER, *OPTIONS, "-static", driver, *(FOLDER / name for name in ANSWERING), "-o", program], check=True)
            for cpu, level in (("cortex-a57", "baseline"), ("neoverse-n1", "neon_dot"), ("max,sve=off", "neon_bf16")):
                self.check_answers(program, cpu, level)
            # Three vector lengths; a64fx has SVE without bf16 products, and no NEON sdot.
            self.check_answers(program, "a64fx", "sve", r"peak int8 dot: sdot z\.s\n")
            for bits in (128, 256, 512):
                self.check_answers(program, f"max,sve{bits}=on,sve-max-vq={bits // 128}", "sve_bf16", rf"peak bf16 dot: bfdot z\.s\n")
            # Levels other than SVE can still be forced.
            self.check_answers(program, "max", "neon_bf16", forced="neon_bf16")

    def check_answers(self, program, cpu, level, line="peak", forced=None):
        with self.subTest(cpu, forced=forced):
            setting = [] if forced is None else ["-E", f"HEADROOM_ISA={forced}"]
            result = subprocess.run([QEMU, "-cpu", cpu, *setting, program], capture_output=True, text=True)
            self.assertEqual(result.returncode, 0, result.stdout[-2000:] + result.stderr)
            self.assertRegex(result.stdout, rf"{level}: [1-9]\d{{4,}} answers checked, 0 wrong")
            self.assertRegex(result.stdout, line)


if __name__ == "__main__":
    if platform.machine() == "aarch64":
        print("skipped: this machine is one")
        sys.exit(77)
    if COMPILER is None:
        print("skipped: there is no compiler for aarch64 here (tools/setup.sh machines)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
