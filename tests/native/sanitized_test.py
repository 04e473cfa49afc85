# SPDX-License-Identifier: Apache-2.0
"""The kernels under the address and undefined behaviour sanitizers, on each level of this CPU and, in qemu, of aarch64.

Usage: sanitized_test.py SOURCE_FOLDER COMPILER. Levels that this CPU lacks are skipped.
"""

import concurrent.futures
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from kernel_files import ANSWERING

SOURCES = Path(sys.argv[1]) / "src"
FOLDER = SOURCES / "headroom_native"
COMPILER = sys.argv[2]
CROSS = shutil.which("aarch64-linux-gnu-g++")
QEMU = shutil.which("qemu-aarch64")
CROSS_LIBRARIES = "/usr/aarch64-linux-gnu"
OPTIONS = ["-std=c++20", "-O1", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer", f"-I{SOURCES}"]
OF_X86 = ["kernels/gemv/gemv_avx512_bf16.cpp", "kernels/gemv/gemv_avx512_blocks.cpp", "kernels/gemv/gemv_avx512_table.cpp",
          "kernels/gemv/gemv_avx512_vnni.cpp", "kernels/gemv/gemv_avx_vnni.cpp", "kernels/norm_avx512_bf16.cpp"]
LEVELS = ("baseline", "avx2", "avx_vnni", "avx512", "avx512_vnni", "avx512_bf16")
CPUS = (("cortex-a57", "baseline"), ("neoverse-n1", "neon_dot"), ("max,sve=off", "neon_bf16"), ("a64fx", "sve"), ("max", "sve_bf16"))
# GCC 12 has an internal error for SVE vectors on the stack with the address sanitizer.
WITHOUT_ADDRESSES = {"gemv_sve.cpp": ["-fno-sanitize=address"]}


def build(compiler, options, files, folder, libraries=()):
    """Builds the program of the driver and `files` with as many processes as CPUs."""
    sources = [Path(__file__).resolve().parent / "aarch64_kernels.cpp", *(FOLDER / name for name in files)]
    objects = [folder / (source.stem + ".o") for source in sources]

    def compiled(source, target):
        subprocess.run([compiler, *options, *WITHOUT_ADDRESSES.get(source.name, ()), "-c", source, "-o", target], check=True)

    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(compiled, sources, objects))
    subprocess.run([compiler, *options, *objects, "-o", folder / "kernels", *libraries], check=True)
    return folder / "kernels"


class Sanitized(unittest.TestCase):
    def assert_right(self, command, level, **variables):
        result = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, **variables))
        self.assertEqual(result.returncode, 0, result.stdout[-2000:] + result.stderr[-4000:])
        self.assertEqual(result.stderr, "")
        self.assertRegex(result.stdout, rf"{level}: [1-9]\d{{4,}} answers checked, 0 wrong")

    @unittest.skipUnless(platform.machine() == "x86_64", "levels of x86")
    def test_each_level_of_this_cpu(self):
        with tempfile.TemporaryDirectory() as folder:
            program = build(COMPILER, OPTIONS, [*ANSWERING, *OF_X86], Path(folder), ["-lhwy"])
            for level in LEVELS:
                with self.subTest(level):
                    probe = subprocess.run([program], capture_output=True, text=True, env=dict(os.environ, HEADROOM_ISA=level))
                    if "which this CPU lacks" in probe.stderr:
                        self.skipTest(f"this CPU has no {level}")
                    self.assert_right([program], level, HEADROOM_ISA=level)

    @unittest.skipIf(CROSS is None or QEMU is None, "there is no compiler or no qemu for aarch64 (tools/setup.sh machines)")
    def test_each_level_of_aarch64(self):
        with tempfile.TemporaryDirectory() as folder:
            program = build(CROSS, OPTIONS, ANSWERING, Path(folder))
            for cpu, level in CPUS:
                with self.subTest(cpu):
                    self.assert_right([QEMU, "-L", CROSS_LIBRARIES, "-cpu", cpu, program], level, ASAN_OPTIONS="detect_leaks=0")  # leaks need ptrace


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
