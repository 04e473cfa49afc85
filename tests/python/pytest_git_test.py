# SPDX-License-Identifier: Apache-2.0
"""`pytest --headroom-git`, in repositories made here; exit code 77 without pytest."""
import importlib.util
import json
import subprocess
import sys
import textwrap
import unittest

from scratch import ScratchTest

NAPS = """
    import time, pytest, naps

    def test_nap(headroom): assert headroom(naps.nap) == 1

    @pytest.mark.parametrize("n", [1, 2])
    def test_sized(headroom, n): headroom(time.sleep, n / 1000)

    @pytest.mark.headroom(group="g")
    def test_member(benchmark): benchmark(naps.nap)

    @pytest.mark.headroom(group="g")
    def test_other_member(benchmark): benchmark(time.sleep, 0.001)

    def test_not_measured(): pass
"""
NAP = "import time\ndef nap():\n    time.sleep({})\n    return 1\n"


class Git(ScratchTest):
    def setUp(self):
        super().setUp()
        self.repository = self.folder / "repository"
        self.repository.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("config", "user.name", "A")
        self.git("config", "user.email", "a@example.org")

    def git(self, *arguments):
        return subprocess.run(["git", "-C", str(self.repository), *arguments], check=True, capture_output=True, text=True).stdout.strip()

    def commit(self, subject, **files):
        """Commits Python files, named with __ for /."""
        for name, text in files.items():
            path = self.repository / (name.replace("__", "/") + ".py")
            path.parent.mkdir(exist_ok=True, parents=True)
            path.write_text(textwrap.dedent(text))
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", subject)
        return self.git("rev-parse", "HEAD")[:10]

    def state(self):
        files = {str(path): path.read_bytes() for path in self.repository.rglob("*") if path.is_file() and ".git/objects" not in str(path)}
        return files, self.git("status", "--porcelain"), self.git("for-each-ref"), self.git("stash", "list")

    def compare(self, *arguments, ref="main", time="500ms", cwd=None, **variables):
        return self.call(sys.executable, "-m", "pytest", "-q", "-p", "headroom.pytest_plugin", "-p", "no:cacheprovider", f"--headroom-git={ref}",
                         "--headroom-max-time", time, "--headroom-no-store", *arguments, cwd=cwd or self.repository,
                         environment={"XDG_CACHE_HOME": str(self.folder / "cache"), **variables})

    def test_a_slower_branch_fails_the_gate(self):
        base = self.commit("Start", src__naps=NAP.format(0.002), tests__test_it=NAPS)
        self.git("checkout", "--quiet", "-b", "topic")
        self.commit("Nap longer", src__naps=NAP.format(0.01))
        self.git("checkout", "--quiet", "main")
        self.commit("Main goes on", src__naps=NAP.format(5))
        self.git("checkout", "--quiet", "topic")
        before, path = self.state(), {"PYTHONPATH": f"{self.repository}/src:{self.package()}"}
        result = self.compare("--headroom-gate", "30%", "--headroom-json", self.folder / "r.json", "tests", time="3s",
                              HEADROOM=str(self.quiet_headroom()), **path)
        self.assert_exit(result, 1, f"tests/test_it.py::test_nap: slower than main@{base}: latency", "beyond the margin of 30 %",
                         "tests/test_it.py::test_member: slower", f"compared with main@{base} Start, in the same rounds", "paired")
        for equal in ("test_sized", "test_other_member"):
            self.assertNotIn(f"{equal}: slower", result.stdout)
        self.assertEqual(self.state(), before)
        self.assertEqual({record["runner"] for record in self.records()}, {"python"}, "records of the user's side only")
        ratio = self.ratio_of("tests/test_it.py::test_nap")
        self.assertIn(base, ratio["to"], "both sides are sampled in the same rounds")
        self.assertGreater(ratio["ratio"], 3)
        self.assert_exit(self.compare("--headroom-gate", "30%", "-k", "test_sized", "tests", **path), 0, "2 passed")

    def records(self):
        return json.loads((self.folder / "r.json").read_text())["records"]

    def ratio_of(self, name):
        return next(record["ratio"] for record in self.records() if (record["model"]["name"], record["metric"]["name"]) == (name, "latency"))

    def package(self):
        return self.call(sys.executable, "-c", "import headroom, os; print(os.path.dirname(os.path.dirname(headroom.__file__)))").stdout.strip()

    def test_equal_trees_pass(self):
        self.commit("Start", naps=NAP.format(0.002), test_it=NAPS)
        result = self.compare("--headroom-gate", "60%", time="300ms")
        self.assert_exit(result, 0, "6 passed", "in the same rounds")
        self.assertNotIn("uncommitted", result.stdout)
        (self.repository / "naps.py").write_text(NAP.format(0.02))
        result = self.compare("-k", "test_nap", "--headroom-json", self.folder / "r.json", ref="HEAD")
        self.assert_exit(result, 0, "your uncommitted changes are measured, too")
        self.assertGreater(self.ratio_of("test_it.py::test_nap")["ratio"], 3)

    def test_why_a_test_is_not_compared(self):
        base = self.commit("Start", test_it="""
            import os, pytest, time
            def test_fails(headroom): headroom(lambda: 1 / 0)
            def test_ends(headroom): headroom(lambda: os._exit(3))
            @pytest.mark.skip
            def test_skipped(headroom): headroom(int)
            def test_idle(headroom): pass
            def test_fine(headroom): headroom(time.sleep, 0.001)
            @pytest.mark.headroom(group="g")
            def test_member(headroom): headroom(time.sleep, 0.001)
            """, test_broken="import absent\ndef test_it(headroom): headroom(int)\n")
        self.git("checkout", "--quiet", "-b", "topic")
        self.commit("More", test_it="import pytest, time\n" + "".join(
            f"def test_{name}(headroom): headroom(time.sleep, 0.001)\n" for name in ("fails", "ends", "skipped", "idle", "fine", "new"))
            + "".join(f"@pytest.mark.headroom(group='g')\ndef test_{name}(headroom): headroom(time.sleep, 0.001)\n"
                      for name in ("member", "new_member")),
            test_broken="def test_it(headroom): headroom(int)\n", test_added="def test_it(headroom): headroom(int)\n")
        result = self.compare("--headroom-gate", "90%", time="300ms")
        name = f"main@{base}"
        self.assert_exit(
            result, 0, "10 passed", f"not compared: fails (ZeroDivisionError: division by zero) in {name}: test_it.py::test_fails",
            f"not compared: pytest in {name} ended with exit code 3", f"not compared: is skipped in {name}: test_it.py::test_skipped",
            f"not compared: measures nothing in {name}: test_it.py::test_idle",
            f"cannot be collected (ModuleNotFoundError: No module named 'absent') in {name}: test_broken.py::test_it",
            f"not compared: not in {name}: test_added.py::test_it, test_it.py::test_new, test_it.py::test_new_member")
        self.assertRegex(result.stdout, r"test_it.py::test_fine .* paired")
        self.assertRegex(result.stdout, r"g +test_member .* paired")

    def test_a_gate_without_a_test_to_compare_fails(self):
        self.commit("Start")
        self.git("checkout", "--quiet", "-b", "topic")
        self.commit("Add", test_it="def test_it(headroom): headroom(int)\n")
        self.assert_exit(self.compare("--headroom-gate", "3%"), 1, "nothing was measured to compare with main@")
        self.assert_exit(self.compare(), 0, "not compared: not in main@")

    def test_the_base_is_built_once(self):
        log = self.folder / "builds"
        self.commit("Start", test_it="import built\ndef test_it(headroom): headroom(built.nap)\n")
        (self.repository / "built.py").write_text(NAP.format(0.03))
        build = f"echo built >> {log}; printf 'import time\\ndef nap(): time.sleep(0.001)\\n' > built.py"
        for _ in range(2):
            self.assert_exit(self.compare("--headroom-git-build", build, "--headroom-json", self.folder / "r.json"), 0, "1 comparison")
            self.assertGreater(self.ratio_of("test_it.py::test_it")["ratio"], 3)
        self.assertEqual(log.read_text(), "built\n")
        self.assertEqual((self.repository / "built.py").read_text(), NAP.format(0.03))
        self.assert_exit(self.compare("--headroom-git-build", "echo no; exit 4"), 4, stderr="Start does not build: exit code 4: no (all of it:")

    def test_the_users_modules_are_not_taken_for_the_base(self):
        self.commit("Start", test_it="import built\ndef test_it(headroom): headroom(built.nap)\n")
        library = self.repository / "build" / "lib"
        library.mkdir(parents=True)
        (library / "built.py").write_text(NAP.format(0.001))
        result = self.compare(PYTHONPATH=f"{library}:{self.package()}")
        self.assert_exit(result, 0, f"not compared: {library}/built.py of your tree is imported in main@")

    def test_what_cannot_be_compared(self):
        self.commit("Start", test_it="def test_it(headroom): headroom(int)\n")
        self.commit("More")
        self.assert_exit(self.compare(ref="nowhere"), 4, stderr="no commit 'nowhere'")
        self.assert_exit(self.compare("--headroom-baseline=@last"), 4, stderr="exclude each other")
        self.assert_exit(self.compare("--rootdir", self.folder), 4, stderr="is outside of the repository")
        clone = self.folder / "clone"
        subprocess.run(["git", "clone", "--quiet", "--depth", "1", f"file://{self.repository}", str(clone)], check=True)
        self.assert_exit(self.compare(ref="HEAD~1", cwd=clone), 4, stderr="git fetch --unshallow")
        outside = self.folder / "outside"
        outside.mkdir()
        (outside / "test_it.py").write_text("def test_it(headroom): headroom(int)\n")
        self.assert_exit(self.compare(cwd=outside), 4, stderr="in no git repository")
        plain = self.call(sys.executable, "-m", "pytest", "-p", "headroom.pytest_plugin", "--headroom-git-build", "make", cwd=outside)
        self.assert_exit(plain, 4, stderr="--headroom-git-build needs --headroom-git")

    def test_options_that_only_the_branch_has(self):
        self.commit("Start", test_it="def test_it(headroom): headroom(int)\n")
        self.commit("Add an option", conftest="def pytest_addoption(parser): parser.addoption('--size')\n")
        self.assert_exit(self.compare("--size=3", ref="HEAD~1"), 4, stderr="ended with exit code 4: ERROR")


if __name__ == "__main__":
    if importlib.util.find_spec("pytest") is None:
        sys.exit(77)
    unittest.main()
