# SPDX-License-Identifier: Apache-2.0
"""Each instruction set below this CPU's, forced through the command line: results are verified."""
import os
import pathlib
import platform
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from command_line import BRIEF, CommandLineTest, headroom, records_of  # noqa: E402

X86 = platform.machine() == "x86_64"


class LevelsTest(CommandLineTest):
    def assert_right_on(self, level, vectors):
        path = self.folder / "records.json"
        result = headroom("run", "gemv", "gather_gemv", "layer_norm", "mlp_layer_norm_gelu", "--backend", "native",
                          "-a", "D=160", "-a", "BS=16", "-a", "hidden=200", "--hot", "--no-limits", "--no-store",
                          "--processes", "1", *BRIEF, "--json", path, env=dict(os.environ, HEADROOM_ISA=level))
        self.assert_exit(result, 0)
        records = records_of(path)
        self.assertEqual({(r["model"]["name"], r["benchmark"]["dtype"]) for r in records},
                         {("gemv", "bf16"), ("gemv", "int8"), ("gather_gemv", "bf16"), ("gather_gemv", "int8"),
                          ("layer_norm", "bf16"), ("mlp_layer_norm_gelu", "bf16")})
        for record in records:
            self.assertTrue(record["verified"], record["model"])
            self.assertIn(vectors, record["model"]["extra_info"]["isa"])

    def test_baseline(self):
        self.assert_right_on("baseline", {"x86_64": "SSE2", "aarch64": "NEON"}.get(platform.machine(), ""))

    def test_avx2(self):
        if not X86:
            self.skipTest("an instruction set of x86")
        if " avx2 " not in pathlib.Path("/proc/cpuinfo").read_text():
            self.skipTest("this CPU has no avx2")
        self.assert_right_on("avx2", "AVX2")


if __name__ == "__main__":
    unittest.main()
