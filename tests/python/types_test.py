# SPDX-License-Identifier: Apache-2.0
"""The package's types, by mypy --strict; exit code 77 without mypy."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "python" / "headroom"
USE = """
import headroom as hr

@hr.experiment(axes={"D": [1024]}, backends=["a"])
def plain(state: hr.State) -> None:
    column: hr.Column = state.column("x", "ns")
    state.measure(lambda: column.add(1.0))

@hr.experiment
def bare(state: hr.State) -> None:
    state.skip("no")

measured: hr.Measurement = hr.time(sum, [1, 2])
compared: hr.Comparison = hr.compare({"a": lambda: 1}, precision=0.01)
table: hr.Table = hr.read("x.json").samples
"""
WRONG = "import headroom as hr\nx: int = hr.time(sum, [1])\nhr.experiment(axes=3)\n"


class Types(unittest.TestCase):
    def check(self, *arguments):
        with tempfile.TemporaryDirectory() as cache:
            return subprocess.run([shutil.which("mypy"), "--strict", "--cache-dir", cache, *map(str, arguments)], capture_output=True,
                                  text=True, check=False, env={"MYPYPATH": str(PACKAGE.parent), "PATH": "/usr/bin:/bin"})

    def test_the_package(self):
        checked = self.check(PACKAGE)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)

    def test_programs_that_use_it(self):
        for text, good in ((USE, True), (WRONG, False)):
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / "use.py"
                path.write_text(text)
                checked = self.check(path)
                self.assertEqual(checked.returncode == 0, good, checked.stdout + checked.stderr)


if __name__ == "__main__":
    if shutil.which("mypy") is None:
        print("skipped: mypy is not installed (apt-get install mypy)")
        sys.exit(77)
    unittest.main()
