# SPDX-License-Identifier: Apache-2.0
"""`make wheel`: pip installs the wheel in a clean environment.

    wheel_test.py BUILD_FOLDER WORK_FOLDER      exit code 77: this Python cannot make environments
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

BUILD, WORK = map(pathlib.Path, sys.argv[1:3])
ROOT = pathlib.Path(__file__).resolve().parents[2]
BRIEF = ("--max-time", "100ms", "--min-time", "0", "--threads", "1", "--no-store")
# Excludes the user's headroom and history.
CLEAN = {name: value for name, value in os.environ.items() if name not in ("HEADROOM", "HEADROOM_STORE", "LD_LIBRARY_PATH")}
CLEAN.update(HOME=str(WORK), XDG_CACHE_HOME=str(WORK / "cache"), PATH="/usr/bin:/bin")


def call(*command, **options):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=240, env=CLEAN,
                          stdin=subprocess.DEVNULL, check=False, **options)


class WheelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shutil.rmtree(WORK, ignore_errors=True)
        WORK.mkdir(parents=True)
        made = subprocess.run(["cmake", "--build", BUILD, "--target", "headroom_wheel"], capture_output=True, text=True, check=False)
        if made.returncode != 0:
            raise AssertionError(made.stdout + made.stderr)
        cls.wheel = pathlib.Path(re.findall(r"^/.*\.whl$", made.stdout, re.MULTILINE)[-1])
        cls.venv = WORK / "venv"
        for command in ([sys.executable, "-m", "venv", cls.venv],
                        [cls.venv / "bin/pip", "install", "--quiet", "--no-index", cls.wheel]):
            done = call(*command)
            if done.returncode != 0:
                raise AssertionError(done.stdout + done.stderr)

    def call_installed(self, program, *arguments):
        return call(self.venv / "bin" / program, *arguments, cwd=WORK)

    def assert_says(self, result, *words):
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        for word in words:
            self.assertIn(word, result.stdout)

    def test_the_command_line_runs(self):
        version = self.call_installed("headroom", "--version")
        self.assert_says(version, "headroom ")
        self.assertEqual(self.call_installed("python", "-m", "headroom", "--version").stdout, version.stdout)
        self.assert_says(self.call_installed("python", "-c", "import headroom; print('headroom', headroom.__version__)"),
                         version.stdout.strip())

    def test_it_measures(self):
        self.assert_says(self.call_installed("headroom", "run", "gemv", "-a", "D=64", "--hot", *BRIEF), "gemv D=64", "native")
        self.assert_says(self.call_installed("headroom-native", "--list"), "gemv")
        self.assert_says(self.call_installed("headroom", "ab", "true", "sleep 0.001", "--max-time", "300ms", "--no-store"), "sleep 0.001")

    def test_experiments_in_python(self):
        (WORK / "bench.py").write_text("import headroom as hr\n@hr.experiment\ndef case(state):\n    state.measure(lambda: None)\nhr.main()\n")
        for command in (("python", "bench.py"), ("headroom", "run", "bench.py")):
            self.assert_says(self.call_installed(*command, *BRIEF), "case")
        self.assert_says(self.call_installed("python", "-c", "import headroom as hr; print(hr.time(sum, [1, 2], quick=True))"), "sum: ")

    def test_it_reads_traces(self):
        trace = WORK / "trace.json"
        trace.write_text('{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 5, '
                         '"args": {"stream": 7, "device": 0}}]}')
        self.assert_says(self.call_installed("headroom", "trace", "summary", trace), "5.00 µs")

    def test_what_is_not_of_every_system_comes_along(self):
        libraries = self.venv / "lib/headroom"
        self.assertIn("libsimdjson", " ".join(file.name for file in libraries.iterdir()))
        for program in ("headroom", "headroom-native", "headroom-pages", "headroom-trace"):
            for line in call("ldd", self.venv / "bin" / program).stdout.splitlines():
                name = line.split()[0]
                if "/" not in name and (libraries / name).exists():
                    self.assertIn(str(self.venv), line, f"{program} finds another {name}")
                else:
                    self.assertRegex(name, r"^(linux-vdso|/lib.*/ld-|lib(c|m|stdc\+\+|gcc_s|dl|rt|pthread)\.)")

    def test_the_tag_keeps_it_from_other_systems(self):
        for platform in ("musllinux_1_2_x86_64", "manylinux_2_31_x86_64"):
            refused = call(self.venv / "bin/pip", "install", "--no-index", "--only-binary=:all:", "--platform", platform,
                           "--target", WORK / "elsewhere", self.wheel)
            self.assertNotEqual(refused.returncode, 0, platform)
            self.assertIn("not a supported wheel on this platform", refused.stderr)

    def test_an_older_c_library_is_not_promised(self):
        refused = call(sys.executable, ROOT / "tools/make_wheel.py", BUILD / "wheel", WORK, "1.0", "--glibc", "2.27")
        self.assertEqual(refused.returncode, 2)
        self.assertRegex(refused.stderr, r"needs .*GLIBC_2\.3\d.*manylinux_2_27")

    def test_uninstalled_nothing_is_left(self):
        other = WORK / "other"
        self.assert_says(call(sys.executable, "-m", "venv", other))
        before = sorted(other.rglob("*"))
        self.assert_says(call(other / "bin/pip", "install", "--no-index", "--no-compile", self.wheel))
        self.assert_says(call(other / "bin/pip", "uninstall", "--yes", "headroom"))
        left = [path for path in other.rglob("*") if path not in before and path.is_file() and "__pycache__" not in path.parts]
        self.assertEqual(left, [])

    def test_the_sources_of_headroom_torch_are_whole(self):
        source = self.venv / "share/headroom/source"
        files = [path for path in (source / "src").rglob("*") if path.suffix in (".h", ".cpp", ".cu", ".in")]
        self.assertGreater(len(files), 300)
        includes = {name for path in files for name in re.findall(r'^#include "(headroom\w*/.+)"', path.read_text(), re.MULTILINE)}
        self.assertEqual([name for name in includes if not (source / "src" / name).exists()], [])
        if not list(pathlib.Path("/usr/lib").glob("*/cmake/Torch/TorchConfig.cmake")):
            self.skipTest("no libtorch-dev to configure with")
        commands = self.call_installed("headroom", "install", "torch", "--torch", "system", "-D", "HEADROOM_CUDA=OFF", "--dry-run")
        self.assert_says(commands, str(source))
        self.assert_says(call("/bin/sh", "-c", commands.stdout.splitlines()[0]), "headroom-torch: libtorch")

    def test_a_prefix_without_programs_is_refused(self):
        refused = call(sys.executable, ROOT / "tools/make_wheel.py", WORK / "nothing", WORK, "1.0")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("nothing/bin/headroom", refused.stderr)

    def test_a_library_that_is_absent_is_named(self):
        refused = call(sys.executable, ROOT / "tools/make_wheel.py", BUILD / "wheel", WORK, "1.0", "--load", "libabsent.so.1")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("cannot find libabsent.so.1", refused.stderr)


if __name__ == "__main__":
    if call(sys.executable, "-c", "import venv, ensurepip").returncode != 0:
        print("skipped: this Python makes no environments (Debian: python3-venv)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
