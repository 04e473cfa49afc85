# SPDX-License-Identifier: Apache-2.0
"""headroom-native on lesser CPUs in qemu: no unsupported instruction, correct results.

Usage: emulated_cpu_test.py UNIT_NATIVE. Exits with 77 (skipped) without qemu-x86_64.
"""

import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import unittest

UNIT_NATIVE = sys.argv[1]
NATIVE = str(pathlib.Path(os.environ["HEADROOM_BIN"]) / "headroom-native")
QEMU = shutil.which("qemu-x86_64")
# One of each kind: all would take a minute.
TESTS = ("*IsaLevel*:Isa.*:*EachIsa*:*GemvKernelTest*x33:*GemvKernelTest*x128:GemvKernel.*:NormKernel.V*:NormKernel.O*:"
         "*TokenKernels*:WriteKernels*:CopyKernels*:PeakKernels.E*")
os.environ.pop("HEADROOM_ISA", None)  # a level of this CPU, which others may lack


def emulated(cpu, *command):
    result = subprocess.run([QEMU, "-cpu", cpu, *command], capture_output=True, text=True, timeout=240)
    # Drop warnings about features that qemu does not emulate and no test needs.
    return result, "\n".join(line for line in (result.stdout + result.stderr).splitlines() if "TCG" not in line)


class EmulatedCpu(unittest.TestCase):
    def assert_all_pass(self, cpu, missing):
        result, said = emulated(cpu, UNIT_NATIVE, "--gtest_brief=1", f"--gtest_filter={TESTS}")
        self.assertEqual(result.returncode, 0, said)
        self.assertGreater(int(re.search(r"PASSED  \] (\d+) tests", said).group(1)), 50)
        for level in missing:
            self.assertIn(f"this CPU has no {level}: its kernels are not tested", said)

    def test_a_cpu_without_avx(self):
        self.assert_all_pass("Nehalem", ("avx2", "avx512", "avx512_vnni", "avx512_bf16"))

    def test_a_cpu_without_avx512(self):
        self.assert_all_pass("Haswell", ("avx512", "avx512_vnni", "avx512_bf16"))

    def test_the_runner_itself_on_the_least_of_x86_64(self):
        result, said = emulated("kvm64", NATIVE, "gemv", "-a", "D=96", "--hot", "--no-limits", "--threads", "1",
                                "--max-time", "200ms", "--min-time", "0")
        self.assertEqual(result.returncode, 0, said)
        self.assertIn("gemv", result.stdout)


if __name__ == "__main__":
    if platform.machine() != "x86_64":
        print("skipped: this machine is not of x86-64")
        sys.exit(77)
    if QEMU is None:
        print("skipped: there is no qemu-x86_64 here (tools/setup.sh machines)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
