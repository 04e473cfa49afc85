# SPDX-License-Identifier: Apache-2.0
"""The kernels compile for aarch64, where NEON is the baseline and the only level.

Usage: aarch64_test.py SOURCE_FOLDER. Skipped, exit code 77, where there is no compiler for it.
"""

import platform
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

FOLDER = Path(sys.argv[1]) / "src/headroom_native"
COMPILER = shutil.which("aarch64-linux-gnu-g++")
OPTIONS = ["-std=c++20", "-O1", "-DNDEBUG", f"-I{FOLDER.parent}", "-Wall", "-Wextra", "-Werror"]
FILES = ("amx_peak.cpp", "copy_kernels.cpp", "gemv_avx512_bf16.cpp", "gemv_kernel.cpp", "isa.cpp", "llm/token_kernels.cpp",
         "norm_kernel.cpp", "peak_kernels.cpp", "read_kernels.cpp", "thread_pool.cpp", "write_kernels.cpp")


class Aarch64(unittest.TestCase):
    def test_the_kernels_compile(self):
        for name in FILES:
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                assembly = Path(folder) / "kernels.s"
                result = subprocess.run([COMPILER, *OPTIONS, "-S", FOLDER / name, "-o", assembly], capture_output=True,
                                        text=True)
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                if name in ("gemv_kernel.cpp", "norm_kernel.cpp", "llm/token_kernels.cpp"):
                    self.assertRegex(assembly.read_text(), r"\tfmla\tv\d+\.4s")


if __name__ == "__main__":
    if platform.machine() == "aarch64":
        print("skipped: this machine is one")
        sys.exit(77)
    if COMPILER is None:
        print("skipped: there is no compiler for aarch64 here (tools/setup.sh machines)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
