# SPDX-License-Identifier: Apache-2.0
"""Contents and dependencies of the packages of `make deb`. bare_root.sh runs them in a bare Debian.

    deb_test.py BUILD_FOLDER WORK_FOLDER        exit code 77: no dpkg-deb or no dpkg-shlibdeps here
"""
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import unittest

BUILD, WORK = map(pathlib.Path, sys.argv[1:3])
os.environ["SOURCE_DATE_EPOCH"] = "1767225600"


def output_of(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{command}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


class DebTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shutil.rmtree(WORK, ignore_errors=True)
        WORK.mkdir(parents=True)
        cls.packages = cls.pack(WORK / "first")

    @staticmethod
    def pack(folder):
        # Fast compression; the contents are the same.
        output_of("cpack", "--config", BUILD / "CPackConfig.cmake", "-B", folder, "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip")
        return {path.name.split("_")[0]: path for path in folder.glob("*.deb")}

    def files_of(self, package):
        return [line.split()[-1] for line in output_of("dpkg-deb", "-c", self.packages[package]).splitlines()]

    def field(self, package, name):
        return output_of("dpkg-deb", "-f", self.packages[package], name).strip()

    def test_the_same_build_gives_the_same_bytes(self):
        again = self.pack(WORK / "second")
        self.assertEqual(again.keys(), self.packages.keys())
        for name, path in self.packages.items():
            self.assertEqual(path.read_bytes(), again[name].read_bytes(), name)

    def test_the_version_names_the_release(self):
        system = platform.freedesktop_os_release()
        suffix = f"deb{system['VERSION_ID']}u1" if system["ID"] == "debian" else system['ID'] + system['VERSION_ID']
        for package in self.packages:
            self.assertRegex(self.field(package, "Version"), rf"^[0-9.]+-1~{re.escape(suffix)}$")

    def test_the_program_and_its_data(self):
        files = self.files_of("headroom")
        for file in ("./usr/bin/headroom", "./usr/bin/headroom-native", "./usr/bin/headroom-pages",
                     "./usr/bin/headroom-trace", "./usr/share/headroom/suites/ccache.toml"):
            self.assertIn(file, files)
        self.assertFalse([file for file in files if file.endswith((".a", ".h", ".cmake")) and "/share/headroom/source/" not in file])

    def test_the_library(self):
        files = self.files_of("headroom-dev")
        self.assertIn("./usr/include/headroom/experiment/state.h", files)
        for ending in ("/cmake/headroom/headroomConfig.cmake", "/cmake/headroom/headroomRunnerTargets.cmake",
                       "/pkgconfig/headroom-runner.pc", "/libheadroom_runner.a", "/libheadroom_base.a"):
            self.assertTrue([file for file in files if file.endswith(ending)], ending)
        self.assertFalse([file for file in files if file.startswith("./usr/bin/headroom")])

    def test_the_package_of_python(self):
        if "python3-headroom" not in self.packages:
            self.skipTest("built without the headers of Python")
        files = self.files_of("python3-headroom")
        for file in ("headroom/__init__.py", "headroom/_core.abi3.so", "headroom/py.typed"):
            self.assertIn(f"./usr/lib/python3/dist-packages/{file}", files)
        self.assertTrue([file for file in files if file.endswith(".dist-info/entry_points.txt")])
        self.assertIn("headroom (= ", self.field("python3-headroom", "Depends"))

    def test_what_they_need(self):
        depends = self.field("headroom", "Depends")
        for package in ("libc6", "libhwloc15", "libsimdjson"):
            self.assertIn(package, depends)
        self.assertEqual(self.field("headroom-dev", "Depends"), "")
        if "headroom-torch" in self.packages:
            self.assertIn("headroom (= ", self.field("headroom-torch", "Depends"))
            self.assertIn("libtorch", self.field("headroom-torch", "Depends"))


if __name__ == "__main__":
    if not shutil.which("dpkg-deb") or not shutil.which("dpkg-shlibdeps"):
        print("skipped: dpkg-deb or dpkg-shlibdeps is not here (Debian: dpkg-dev)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
