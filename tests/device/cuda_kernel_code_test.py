# SPDX-License-Identifier: Apache-2.0
"""Load instructions of headroom-cuda's compiled kernels.

Usage: cuda_kernel_code_test.py NVCC SOURCE_FOLDER. (Spilled registers are an error when the kernels are compiled.)
"""

import functools
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

NVCC, SOURCE = sys.argv[1], Path(sys.argv[2])
LOAD_ONCE = re.compile(r"ld\.global\.nc\.L1::no_allocate\.v4\.u32")
LOAD_WRITTEN_ONCE = re.compile(r"ld\.global\.L1::no_allocate\.v4\.u32")
LOAD_COMMON = re.compile(r"ld\.global\.nc\.v4\.u32")
STORE_ONCE = re.compile(r"st\.global\.cs\.v4\.u32")


@functools.cache
def kernels(name):
    """Returns the PTX of each kernel of kernels/NAME.cu by mangled name."""
    with tempfile.TemporaryDirectory() as folder:
        ptx = Path(folder) / "kernels.ptx"
        subprocess.run([NVCC, "-std=c++20", f"-I{SOURCE}/src", "-arch=compute_90", "-ptx", "-o", ptx,
                        SOURCE / "src/headroom_cuda/kernels" / f"{name}.cu"], check=True)
        text = ptx.read_text()
    return dict(re.findall(r"\.entry (\w+)\((.*?)\n\}\n", text, flags=re.S))


class Ptx(unittest.TestCase):
    def test_gemv_reads_each_batch_in_vectors_of_16_bytes_around_the_first_cache(self):
        found = 0
        for name, code in kernels("gemv").items():
            if "gemv_kernel" not in name:
                continue
            form = re.search(r"WeightsELi(\d)ELi(\d)ELb(\d)E", name)
            vectors, rows, aligned = map(int, form.groups())
            loads = len(LOAD_ONCE.findall(code))
            if aligned:
                # A multiple of a batch of loads.
                self.assertGreaterEqual(loads, 2 * vectors * rows, name)
                self.assertEqual(loads % (vectors * rows), 0, name)
                self.assertNotIn("ld.global.nc.u8", code, name)
            else:
                # Two loads per vector.
                self.assertGreaterEqual(len(LOAD_COMMON.findall(code)), 2 * 2 * vectors * rows, name)
            found += 1
        self.assertEqual(found, 2 * (6 + 1))

    def test_layer_norm_reads_and_writes_vectors_of_16_bytes(self):
        found = {}
        for name, code in kernels("norm").items():
            form = re.search(r"11norm_kernelILi(\d)ELb1E", name)
            if form:
                vectors = int(form.group(1))
                self.assertGreaterEqual(len(LOAD_WRITTEN_ONCE.findall(code)), 2 * vectors, name)
                self.assertGreaterEqual(len(STORE_ONCE.findall(code)), vectors, name)
                self.assertNotRegex(code, r"st\.global\.(u16|b16)", name)
                found[vectors] = name
        self.assertEqual(sorted(found), [1, 2, 4])

    def test_what_the_launch_before_writes_is_waited_for_and_never_read_as_constant(self):
        for file, kernel in (("gemv", "gemv_kernel"), ("gemv", "linear_kernel"), ("norm", "norm_kernelILi")):
            found = 0
            for name, code in kernels(file).items():
                if kernel not in name:
                    continue
                found += 1
                wait = code.index("griddepcontrol.wait")
                self.assertLess(code.index("griddepcontrol.launch_dependents"), wait, name)
                written = [code.find(text) for text in ("ld.global.cg", "ld.global.L1::no_allocate", "st.global")]
                self.assertLess(wait, min(at for at in written if at >= 0), name)
            self.assertGreater(found, 0, file)
        for name, code in kernels("norm").items():
            if "norm_kernelILi" in name and "ELb1E" in name:
                # Only gamma and beta, which no launch writes.
                self.assertFalse(LOAD_ONCE.search(code), name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
