# SPDX-License-Identifier: Apache-2.0
"""cmake/write_manual.cmake writes completions and man pages to the standard folders of share/.

    manual_test.py PROGRAM      PROGRAM: the command line
"""
import gzip
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(sys.argv[1])
SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "cmake/write_manual.cmake"


class ManualTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, program):
        return subprocess.run(["cmake", f"-DPROGRAM={program}", f"-DOUTPUT={self.folder}/share", "-P", SCRIPT],
                              capture_output=True, text=True, check=False)

    def program(self, text):
        path = self.folder / "program"
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        return path

    def files(self):
        return {str(path.relative_to(self.folder / "share")) for path in (self.folder / "share").rglob("*") if path.is_file()}

    def test_each_has_its_place(self):
        written = self.write(self.program("[ \"$2\" = candidates ] && { printf 'run\\tx\\n'; exit; }\nprintf '%s\\n' \"of [$*]; \\\\fB\"\n"))
        self.assertEqual(written.returncode, 0, written.stderr)
        self.assertLessEqual({"bash-completion/completions/headroom", "zsh/vendor-completions/_headroom",
                              "fish/vendor_completions.d/headroom.fish", "man/man1/headroom.1.gz",
                              "man/man1/headroom-run.1.gz"}, self.files())
        page = self.folder / "share/man/man1/headroom-run.1.gz"
        self.assertEqual(gzip.decompress(page.read_bytes()), b"of [help --man run]; \\fB\n")

    def test_a_page_that_cannot_be_printed_stops_the_build(self):
        failed = self.write(self.program('[ "$1" = completion ] || { echo no page >&2; exit 2; }\necho fine\n'))
        self.assertNotEqual(failed.returncode, 0)
        self.assertIn("no page", failed.stderr)

    def test_every_command_has_a_page(self):
        self.assertEqual(self.write(PROGRAM).returncode, 0)
        listed = re.findall(r"^(?:[a-z ]{8} |\s{9})([a-z]+)  ", subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, check=True).stdout,
                            re.MULTILINE)
        self.assertTrue(listed)
        self.assertLessEqual({f"man/man1/headroom-{command}.1.gz" for command in listed}, self.files())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
