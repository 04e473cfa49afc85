# SPDX-License-Identifier: Apache-2.0
"""headroom install torch, up to the build: fake tools record how they are called."""
import shutil
import signal
import unittest

from command_line import HEADROOM, CommandLineTest, run_program


class Install(CommandLineTest):
    def setUp(self):
        super().setUp()
        (self.folder / "venv/bin").mkdir(parents=True)
        self.program = self.folder / "venv/bin/headroom"
        shutil.copy(HEADROOM, self.program)
        self.write_file("venv/share/headroom/source/src/headroom_torch/CMakeLists.txt", "")
        self.torch = self.write_file("venv/torch/share/cmake/Torch/TorchConfig.cmake", "").parents[3]
        self.write_file("venv/pyvenv.cfg", "")
        self.script("venv/bin/python3", f"printf %s '{self.torch}'")
        for name in ("cmake", "ninja", "pkg-config", "c++"):
            self.script(f"tools/{name}", f'echo "$@" >> {self.folder}/calls')
        self.environment = {"PATH": str(self.folder / "tools"), "HOME": str(self.folder), "XDG_CACHE_HOME": str(self.folder / "cache")}

    def install(self, *arguments, **options):
        return run_program(self.program, "install", *arguments, **{"env": self.environment, "cwd": self.folder, **options})

    def calls(self):
        calls = self.folder / "calls"
        return calls.read_text().splitlines() if calls.exists() else []

    def test_it_configures_compiles_and_installs_beside_headroom(self):
        self.assert_exit(self.install("torch"), 0, stderr=("compiling", f"installed headroom-torch in {self.folder}/venv/bin"))
        configure, compile_, install = self.calls()
        self.assertIn(f"-S {self.folder}/venv/share/headroom/source", configure)
        self.assertIn(f"-DHEADROOM_TORCH={self.torch}", configure)
        self.assertIn("--build", compile_)
        self.assertIn(f"--component torch --strip --prefix {self.folder}/venv", install)

    def test_a_dry_run_prints_these_commands_and_runs_none(self):
        printed = self.assert_exit(self.install("torch", "--dry-run"), 0).stdout
        self.assertEqual(self.calls(), [])
        self.assertFalse((self.folder / "cache/headroom/install").exists())
        self.install("torch")
        self.assertEqual([line.removeprefix("cmake ") for line in printed.splitlines()], self.calls())

    def test_options_reach_the_build(self):
        self.install("torch", "--jobs", "3", "--prefix", self.folder / "else", "-D", "A=1", "-D", "B=2 3")
        configure, compile_, install = self.calls()
        self.assertIn("-DA=1 -DB=2 3", configure)
        self.assertTrue(compile_.endswith("--parallel 3"))
        self.assertTrue(install.endswith(f"--prefix {self.folder}/else"))

    def test_system_is_the_torch_that_cmake_finds(self):
        self.assert_exit(self.install("torch", "--torch", "system", "--dry-run"), 0, "-DHEADROOM_TORCH=ON")

    def test_without_an_environment_the_python_of_path_is_asked(self):
        (self.folder / "venv/pyvenv.cfg").unlink()
        self.script("venv/bin/python3", "exit 1")
        other = self.write_file("other/share/cmake/Torch/TorchConfig.cmake", "").parents[3]
        self.script("tools/python3", f"printf %s '{other}'")
        self.assert_exit(self.install("torch", "--dry-run"), 0, f"-DHEADROOM_TORCH={other}")

    def test_missing_tools_are_named_at_once(self):
        for name in ("cmake", "c++"):
            (self.folder / "tools" / name).unlink()
        self.assert_refused(self.install("torch"), "needs cmake, c++", "apt-get install cmake g++", "pip install cmake")
        self.assert_refused(self.install("torch", env={**self.environment, "CXX": "clang++"}), "needs cmake, not found")
        self.assert_exit(self.install("torch", "--dry-run"), 0)

    def test_a_python_without_torch_is_named(self):
        self.script("venv/bin/python3", "")
        self.assert_refused(self.install("torch"), f"{self.folder}/venv/bin/python3 has no module torch", "--torch FOLDER")
        self.script("venv/bin/python3", "echo broken >&2; exit 3")
        self.assert_refused(self.install("torch"), "exit code 3", "broken")
        (self.folder / "venv/bin/python3").unlink()
        self.assert_refused(self.install("torch"), "no python3 in PATH")

    def test_folders_that_are_not_what_they_should_be(self):
        self.assert_refused(self.install("torch", "--torch", self.folder), "no libtorch", "TorchConfig.cmake", "--torch system")
        self.assert_refused(self.install("torch", "--source", self.folder), "not a source tree")
        shutil.rmtree(self.folder / "venv/share")
        self.assert_refused(self.install("torch"), "no sources of headroom-torch", "--source FOLDER")

    def test_places_it_must_not_install_into(self):
        self.write_file("file", "")
        self.assert_refused(self.install("torch", "--prefix", self.folder / "file"), "file/bin")
        self.write_file("venv/CMakeCache.txt", "")
        self.assert_refused(self.install("torch"), "build folder", "--prefix FOLDER")
        self.assertEqual(self.calls(), [])

    def test_only_torch_can_be_installed(self):
        self.assert_refused(self.install("cuda"), "torch")
        self.assert_refused(self.install(), "WHAT")

    def test_a_failing_build_says_why_and_is_kept(self):
        self.script("tools/cmake", '/bin/mkdir -p "$4"; echo checking; echo "fmt was not found" >&2; exit 1')
        self.assert_exit(self.install("torch"), 2, stderr=("checking", "configuring failed (exit code 1)", "fmt was not found"))
        self.assertEqual(len(list((self.folder / "cache/headroom/install").iterdir())), 1)

    def test_an_interrupted_build_leaves_no_process(self):
        self.script("tools/cmake", f"echo begun >> {self.folder}/calls; exec /bin/sleep 60")
        process = self.start("install", "torch", executable=self.program, env={**self.environment, "HEADROOM_TEST": str(self.folder)})
        self.wait_for(self.calls, process)
        self.assert_ends(process, 130, signal_number=signal.SIGINT, stderr="interrupted")
        self.assert_nothing_runs()


if __name__ == "__main__":
    unittest.main()
