# SPDX-License-Identifier: Apache-2.0
"""Clang compiles the kernels without warnings.

Usage: clang_test.py SOURCE_FOLDER COMPILER_ID. Only the files in which compilers differ (targets, vectors, assembly), at -O1,
because some errors appear only during code generation. Exits with 77 (skipped) without clang++, or if Clang built headroom.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE, COMPILER = Path(sys.argv[1]), sys.argv[2]
FOLDER = SOURCE / "src/headroom_native"
CLANG = next(filter(None, map(shutil.which, ["clang++", *(f"clang++-{n}" for n in range(30, 13, -1))])), None)
OPTIONS = ["-std=c++20", "-O1", "-DNDEBUG", f"-I{SOURCE}/src", "-Wall", "-Wextra", "-Wshadow", "-Wconversion",
           "-Wno-sign-conversion", "-Werror", "-c"]
DIFFERS = re.compile(r"HEADROOM_BEGIN_TARGET|highway_dispatch\.h|memory_kernels\.h|\basm\b|vector_size|__builtin_cpu")


def files():
    """Returns the files to compile, without peers, whose headers may be missing."""
    return [path for path in sorted(FOLDER.rglob("*.cpp"))
            if path.parent.name != "peers" and not path.name.startswith("limit_") and DIFFERS.search(path.read_text())]


class Clang(unittest.TestCase):
    def test_the_files_in_which_compilers_differ(self):
        found = files()
        self.assertGreaterEqual(len(found), 12)
        with tempfile.TemporaryDirectory() as folder:
            for path in found:
                with self.subTest(path.name):
                    result = subprocess.run([CLANG, *OPTIONS, path, "-o", f"{folder}/object.o"], capture_output=True,
                                            text=True)
                    self.assertEqual((result.returncode, result.stderr), (0, ""))


if __name__ == "__main__":
    if COMPILER == "Clang":
        print("skipped: Clang has compiled all of this already")
        sys.exit(77)
    if CLANG is None:
        print("skipped: there is no clang++ here (tools/setup.sh machines)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
