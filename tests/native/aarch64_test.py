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
VECTORS = ("kernels/gemv_kernel.cpp", "kernels/norm_kernel.cpp", "llm/token_kernels.cpp")
FILES = VECTORS + ("kernels/gemv_avx512_bf16.cpp", "kernels/isa.cpp", "kernels/thread_pool.cpp", "limits/amx_peak.cpp",
                   "limits/copy_kernels.cpp", "limits/peak_kernels.cpp", "limits/read_kernels.cpp", "limits/write_kernels.cpp")


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


if __name__ == "__main__":
    if platform.machine() == "aarch64":
        print("skipped: this machine is one")
        sys.exit(77)
    if COMPILER is None:
        print("skipped: there is no compiler for aarch64 here (tools/setup.sh machines)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
