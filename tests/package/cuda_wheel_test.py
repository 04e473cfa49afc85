# SPDX-License-Identifier: Apache-2.0
"""`make wheel` with nvcc: pip installs headroom[cuda] in a clean environment, and headroom finds its runner.

    cuda_wheel_test.py BUILD_FOLDER WORK_FOLDER      exit code 77: no nvcc, or this Python cannot make environments
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest
import zipfile

BUILD, WORK = map(pathlib.Path, sys.argv[1:3])
ROOT = pathlib.Path(__file__).resolve().parents[2]
HAS_DRIVER = pathlib.Path("/proc/driver/nvidia/version").exists()
# Excludes the user's headroom and history.
CLEAN = {name: value for name, value in os.environ.items() if name not in ("HEADROOM", "HEADROOM_STORE", "LD_LIBRARY_PATH")}
CLEAN.update(HOME=str(WORK), XDG_CACHE_HOME=str(WORK / "cache"), PATH="/usr/bin:/bin")


def call(*command, **options):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=240, stdin=subprocess.DEVNULL,
                          check=False, **{"env": CLEAN, **options})


def make_wheel(target):
    made = call("cmake", "--build", BUILD, "--target", target, env=None)
    if made.returncode != 0:
        raise AssertionError(made.stdout + made.stderr)
    return pathlib.Path(re.findall(r"^/.*\.whl$", made.stdout, re.MULTILINE)[-1])


class CudaWheelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shutil.rmtree(WORK, ignore_errors=True)
        cls.wheels = WORK / "wheels"
        cls.wheels.mkdir(parents=True)
        cls.main, cls.wheel = (pathlib.Path(shutil.copy(make_wheel(target), cls.wheels)) for target in ("headroom_wheel", "headroom_cuda_wheel"))
        cls.bin = WORK / "venv/bin"
        for command in ([sys.executable, "-m", "venv", WORK / "venv"],
                        [cls.bin / "pip", "install", "--quiet", "--no-index", "--find-links", cls.wheels, "headroom[cuda]"]):
            done = call(*command)
            if done.returncode != 0:
                raise AssertionError(done.stdout + done.stderr)

    def assert_reports_the_missing_device(self, result):
        if HAS_DRIVER:
            return self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.returncode, 2, result.stdout)
        self.assertIn("no CUDA device: libcuda.so.1 was not found", result.stderr)

    def test_the_extra_brings_the_runner_of_the_same_version(self):
        installed = call(self.bin / "pip", "list", "--format", "freeze").stdout
        versions = dict(re.findall(r"^(headroom(?:-cuda)?)==(.*)$", installed, re.MULTILINE))
        self.assertEqual(set(versions), {"headroom", "headroom-cuda"})
        self.assertEqual(len(set(versions.values())), 1)
        self.assertEqual(call(self.bin / "pip", "check").returncode, 0)

    def test_it_starts_without_a_gpu_and_says_so(self):
        self.assert_reports_the_missing_device(call(self.bin / "headroom-cuda", "--list"))

    def test_headroom_finds_it(self):
        self.assert_reports_the_missing_device(call(self.bin / "headroom", "run", "--list", "--backend", "cuda"))

    def test_without_it_headroom_says_how_to_get_it(self):
        other = WORK / "other"
        for command in ([sys.executable, "-m", "venv", other],
                        [other / "bin/pip", "install", "--quiet", "--no-index", "--find-links", self.wheels, "headroom"]):
            self.assertEqual(call(*command).returncode, 0)
        refused = call(other / "bin/headroom", "run", "--list", "--backend", "cuda")
        self.assertEqual(refused.returncode, 2, refused.stdout)
        self.assertIn("pip install 'headroom[cuda]'", refused.stderr)

    def test_it_needs_nothing_but_the_c_library_of_its_tag(self):
        promised = tuple(map(int, re.search(r"manylinux_(\d+)_(\d+)_", self.wheel.name).groups()))
        text = call("readelf", "--wide", "--dynamic", "--version-info", self.bin / "headroom-cuda").stdout
        for name in re.findall(r"\(NEEDED\).*\[(.+)\]", text):
            self.assertRegex(name, r"^(ld-linux-.*|lib(c|m|dl|rt|pthread|gcc_s))\.so")
        needed = {tuple(map(int, version.split("."))) for version in re.findall(r"Name: GLIBC_([0-9.]+)", text)}
        self.assertEqual(max(*needed, (2, 27)), promised)

    def test_it_has_the_licence_and_one_program(self):
        with zipfile.ZipFile(self.wheel) as wheel:
            names = wheel.namelist()
        self.assertEqual([name for name in names if ".data/" in name and not name.endswith("scripts/headroom-cuda")], [])
        self.assertTrue(any(name.endswith("licenses/LICENSE") for name in names))

    def test_the_same_program_gives_the_same_wheel(self):
        with zipfile.ZipFile(self.wheel) as wheel:
            cuda = re.search(rb"CUDA runtime ([\d.]*\d)", wheel.read(next(name for name in wheel.namelist() if name.endswith("/METADATA"))))[1].decode()
        again = call(sys.executable, ROOT / "tools/make_cuda_wheel.py", BUILD / "cuda_wheel", WORK, self.wheel.name.split("-")[1], cuda)
        self.assertEqual(pathlib.Path(again.stdout.strip()).read_bytes(), self.wheel.read_bytes(), again.stderr)

    def test_a_program_that_needs_more_is_refused(self):
        (WORK / "bad/bin").mkdir(parents=True)
        shutil.copy(BUILD / "bin/headroom-native", WORK / "bad/bin/headroom-cuda")
        refused = call(sys.executable, ROOT / "tools/make_cuda_wheel.py", WORK / "bad", WORK, "1", "13.0")
        self.assertEqual(refused.returncode, 2)
        self.assertRegex(refused.stderr, "bad/bin/headroom-cuda needs lib.*link it statically")
        refused = call(sys.executable, ROOT / "tools/make_cuda_wheel.py", WORK / "nothing", WORK, "1", "13.0")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("nothing/bin/headroom-cuda is missing", refused.stderr)


if __name__ == "__main__":
    if not (BUILD / "bin/headroom-cuda").exists():
        print("skipped: headroom-cuda was not built: nvcc of CUDA 12 or newer was not found")
        sys.exit(77)
    if call(sys.executable, "-c", "import venv, ensurepip").returncode != 0:
        print("skipped: this Python makes no environments (Debian: python3-venv)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
