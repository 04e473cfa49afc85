# SPDX-License-Identifier: Apache-2.0
"""headroom-native on CPUs that have less than this one, by qemu: no instruction that they lack, and every answer right.

Usage: emulated_cpu_test.py UNIT_NATIVE. Skipped, exit code 77, where there is no qemu-x86_64.
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
# Of each kind one: all of them take a minute.
TESTS = ("*IsaLevel*:Isa.*:*EachIsa*:*GemvKernelTest*x33:*GemvKernelTest*x128:GemvKernel.*:NormKernel.V*:NormKernel.O*:"
         "*TokenKernels*:WriteKernels*:CopyKernels*:PeakKernels.E*")
os.environ.pop("HEADROOM_ISA", None)  # a level of this CPU, which others may lack


def emulated(cpu, *command):
    result = subprocess.run([QEMU, "-cpu", cpu, *command], capture_output=True, text=True, timeout=240)
    # What qemu does not emulate, no test asks for.
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
