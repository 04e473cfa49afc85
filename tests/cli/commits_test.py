#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`headroom ab --gate`, `headroom ab --git` and `headroom bisect`, in repositories made here."""
import os
import pathlib
import subprocess
import unittest

from command_line import BIN, CommandLineTest, headroom, records_of

FAST = ("--max-time", "60s")
SLOW = "0.1"
QUICK = "0.02"


class CommitsTest(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.repository = pathlib.Path(self.folder) / "repository"
        self.repository.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("config", "user.name", "A")
        self.git("config", "user.email", "a@example.org")

    def git(self, *arguments):
        return subprocess.run(["git", "-C", str(self.repository), *arguments], check=True, capture_output=True,
                              text=True).stdout.strip()

    def commit(self, seconds, subject, **files):
        """Commits a program that sleeps, made by its build from seconds.txt."""
        texts = {"seconds.txt": seconds, "build.sh": "echo \"exec sleep $(cat seconds.txt)\" > run.sh\n", **files}
        for name, text in texts.items():
            (self.repository / name).write_text(text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", subject)
        return self.git("rev-parse", "HEAD")

    def run_here(self, *arguments, **options):
        return headroom(*arguments, "--no-store", cwd=options.pop("cwd", self.repository), **options)

    def state(self):
        files = sorted(str(path.relative_to(self.repository)) for path in self.repository.rglob("*")
                       if ".git/objects" not in str(path))
        return files, self.git("status", "--porcelain"), self.git("for-each-ref"), self.git("stash", "list")


class Gate(CommitsTest):
    def test_the_exit_code_is_the_answer(self):
        slower = self.run_here("ab", "--gate", "10%", *FAST, f"sleep {QUICK}", f"sleep {SLOW}")
        self.assert_exit(slower, 1)
        self.assertIn("gate: 1 of 1 slower by more than 10 %", slower.stderr)
        same = self.run_here("ab", "--gate", "60%", *FAST, f"sleep {QUICK}", f"sleep {QUICK}")
        self.assertIn((same.returncode, "gate: not slower by more than 60 %" in same.stderr), ((0, True), (3, False)))
        faster = self.run_here("ab", "--gate", "10%", *FAST, f"sleep {SLOW}", f"sleep {QUICK}")
        self.assert_exit(faster, 0)

    def test_too_little_time_is_inconclusive(self):
        result = self.run_here("ab", "--gate", "0.01%", "--max-rounds", "6", f"sleep {QUICK}", f"sleep {QUICK}")
        self.assert_exit(result, 3)
        self.assertIn("may be slower by more than 0.01 %", result.stderr)

    def test_a_failed_command_fails_the_gate(self):
        self.assert_exit(self.run_here("ab", "--gate", "10%", "true", "false"), 1)

    def test_goals_that_conflict_are_refused(self):
        for option in ("--margin", "--precision"):
            self.assert_exit(self.run_here("ab", "--gate", "3%", option, "1%", "true", "true"), 2, stderr="leave " + option + " out")
        self.assert_exit(self.run_here("ab", "--gate", "3", "true", "true"), 2, stderr="--gate")


class Git(CommitsTest):
    def test_the_merge_base_is_the_baseline(self):
        self.commit(QUICK, "Start")
        self.git("checkout", "--quiet", "-b", "topic")
        head = self.commit(SLOW, "Sleep longer")
        self.git("checkout", "--quiet", "main")
        self.commit("0.5", "Another branch")
        self.git("checkout", "--quiet", "topic")
        before = self.state()
        out = pathlib.Path(self.folder) / "out.json"
        result = self.run_here("ab", "--git", "main", "--build", "sh build.sh", "--gate", "10%", "--json", out, *FAST, "sh run.sh")
        self.assert_exit(result, 1)
        self.assertRegex(result.stdout, rf"{head[:10]} Sleep longer: .* x the time of \w{{10}} Start")
        self.assertEqual(self.state(), before)
        commits = [dict(record["axes"])["commit"] for record in records_of(out) if record["metric"]["name"] == "latency"]
        self.assertEqual(len(commits), 2)
        self.assertEqual(commits[1], head[:10])

    def test_a_tree_is_built_once(self):
        self.commit(QUICK, "Start")
        self.commit(QUICK, "Same")
        log = pathlib.Path(self.folder) / "builds"
        command = ("ab", "--git", "HEAD~1", "--build", f"sh build.sh; echo built >> {log}", "--runs", "2", "sh run.sh")
        for _ in range(2):
            self.assert_exit(self.run_here(*command), 0)
        self.assertEqual(log.read_text().split(), ["built", "built"])

    def test_each_commit_has_a_row(self):
        for i in range(4):
            self.commit(QUICK, f"Commit {i}")
        self.commit(QUICK, "Does not build", **{"build.sh": "echo no compiler; exit 3\n"})
        self.commit(QUICK, "Builds again")
        result = self.run_here("ab", "--git", "HEAD~5", "--each", "--build", "sh build.sh", "--runs", "2", "sh run.sh")
        self.assert_exit(result, 0)
        for subject in ("Commit 0", "Commit 1", "Commit 2", "Commit 3", "Builds again"):
            self.assertRegex(result.stdout, rf"(?m)^\w{{10}} {subject}")
        self.assertRegex(result.stderr, r"left out: \w{10} does not build: exit code 3: no compiler \(all of it: .*build.log\)")

    def test_from_a_folder_below(self):
        self.commit(QUICK, "Start")
        (self.repository / "below").mkdir()
        for seconds in ("0.01", "0.02"):
            (self.repository / "below" / "run.sh").write_text(f"exec sleep {seconds}\n")
            self.commit(QUICK, seconds)
        result = self.run_here("ab", "--git", "HEAD~1", "--runs", "2", "sh run.sh", cwd=self.repository / "below")
        self.assert_exit(result, 0)

    def test_the_working_tree(self):
        self.commit(QUICK, "Start")
        self.commit(QUICK, "Next")
        (self.repository / "seconds.txt").write_text(SLOW)
        command = ("ab", "--git", "HEAD~1", "--build", "sh build.sh", "--runs", "6", "sh run.sh")
        told = self.run_here(*command)
        self.assertIn("uncommitted changes are left out; --worktree measures them", told.stderr)
        before = self.state()
        result = self.run_here(*command, "--worktree")
        self.assert_exit(result, 0)
        self.assertRegex(result.stdout, r"\w{10} uncommitted changes: .* x the time .* slower")
        self.assertEqual(self.state(), before)
        result = self.run_here("ab", "--git", "HEAD", *command[3:], "--worktree")
        self.assert_exit(result, 0)
        self.assertRegex(result.stdout, r"\w{10} uncommitted changes: .* x the time of \w{10} Next .* slower")
        self.git("checkout", "--quiet", "seconds.txt")
        self.assert_exit(self.run_here(*command, "--worktree"), 2, stderr="no tracked file has uncommitted changes")

    def test_submodules_and_tags_are_there(self):
        other = pathlib.Path(self.folder) / "other"
        other.mkdir()
        for words in (("init", "--quiet"), ("-c", "user.name=A", "-c", "user.email=a@b", "commit", "--quiet", "--allow-empty", "-m", "x")):
            subprocess.run(["git", "-C", str(other), *words], check=True)
        self.commit(QUICK, "Start")
        self.git("tag", "v1")
        self.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "sub")
        self.commit(QUICK, "With a submodule")
        self.commit(QUICK, "Next")
        result = self.run_here("ab", "--git", "HEAD~1", "--build", "test -e sub/.git && git describe --tags && sh build.sh", "--runs", "2",
                               "sh run.sh")
        self.assert_exit(result, 0)

    def test_what_cannot_be_compared_is_refused(self):
        self.commit(QUICK, "Start")
        self.commit(QUICK, "Next", **{"build.sh": "exit 4\n"})
        command = ("--runs", "2", "sh run.sh")
        self.assert_exit(self.run_here("ab", "--git", "HEAD", *command), 2, stderr="no commit after")
        self.assert_exit(self.run_here("ab", "--git", "nowhere", *command), 2, stderr="no commit 'nowhere'")
        self.assert_exit(self.run_here("ab", "--git", "main...HEAD", *command), 2, stderr="write two dots")
        self.assert_exit(self.run_here("ab", "--git", "HEAD~1", "--build", "sh build.sh", *command), 2, stderr="does not build: exit code 4")
        self.assert_exit(self.run_here("ab", "--git", "HEAD~1", "--runs", "2", "./absent"), 2, stderr="no program")
        self.assert_exit(self.run_here("ab", "--build", "make", *command, "true"), 2, stderr="need --git")
        self.assert_exit(self.run_here("ab", "--git", "main", *command, cwd=self.folder), 2, stderr="no git repository")

    def test_a_shallow_clone_says_how_to_deepen_it(self):
        for i in range(3):
            self.commit(QUICK, str(i))
        clone = pathlib.Path(self.folder) / "shallow"
        subprocess.run(["git", "clone", "--quiet", "--depth", "1", f"file://{self.repository}", str(clone)], check=True)
        self.assert_exit(self.run_here("ab", "--git", "HEAD~1", "--runs", "2", "sh build.sh", cwd=clone), 2, stderr="git fetch --unshallow")
        subprocess.run(["git", "-C", str(clone), "fetch", "--quiet", "--deepen", "1"], check=True)
        self.assert_exit(self.run_here("ab", "--git", "HEAD~1", "--runs", "2", "sh build.sh", cwd=clone), 0)


class Run(CommitsTest):
    """A runner of the repository: a Python file, whose function sleeps."""
    def setUp(self):
        super().setUp()
        if not (BIN.parent / "python/headroom/_core.abi3.so").exists():
            self.skipTest("needs the package of Python")
        for seconds in ("0.001", "0.001", "0.004"):
            (self.repository / "bench.py").write_text(
                "import time\nimport headroom\n\n@headroom.experiment\ndef nap(state):\n"
                f"    state.measure(lambda: time.sleep({seconds}))\n")
            self.commit(QUICK, seconds)

    def run_bench(self, *arguments):
        return self.run_here("run", "bench.py", "--quick", "--no-limits", *arguments,
                             env={**os.environ, "PYTHONPATH": str(BIN.parent / "python")})

    def test_a_slower_commit_fails_the_gate(self):
        result = self.run_bench("--git", "HEAD~1", "--gate", "20%")
        self.assert_exit(result, 1, "bench.py@", stderr="gate: 1 of 1 cases regressed")

    def test_equal_commits_pass(self):
        self.git("reset", "--quiet", "--hard", "HEAD~1")
        self.commit(QUICK, "nothing")
        result = self.run_bench("--git", "HEAD~1", "--gate", "60%")
        self.assertIn(result.returncode, (0, 3), result.stderr)

    def test_what_is_not_in_the_repository_is_refused(self):
        self.assert_exit(self.run_here("run", "gemv", "--git", "HEAD~1"), 2, stderr="give a runner (./mine)")
        self.assert_exit(self.run_here("run", "--build", "make", "gemv"), 2, stderr="need --git")


class Bisect(CommitsTest):
    BUILD = ("--build", "sh build.sh")

    def branch(self, slow_from, count=8, broken=()):
        commits = []
        for i in range(count):
            build = {"build.sh": "exit 1\n"} if i in broken else {}
            commits.append(self.commit(SLOW if i >= slow_from else QUICK, f"Commit {i}", **build))
        return commits

    def bisect(self, *arguments):
        return self.run_here("bisect", "--git", "HEAD~7", *self.BUILD, "--margin", "20%", *arguments, "sh run.sh")

    def test_the_commit_is_named(self):
        commits = self.branch(5)
        before = self.state()
        result = self.bisect()
        self.assert_exit(result, 0)
        self.assertRegex(result.stdout, rf"\Afirst slower version: {commits[5][:10]} Commit 5 \(probability (9\d|over 99)")
        self.assertEqual(self.state(), before)

    def test_a_faster_one_too(self):
        commits = [self.commit(QUICK if i >= 3 else SLOW, f"Commit {i}") for i in range(8)]
        self.assertRegex(self.bisect().stdout, rf"\Afirst faster version: {commits[3][:10]}")

    def test_without_a_change_nothing_is_searched(self):
        self.branch(99)
        result = self.bisect("--max-time", "60s")
        told = result.stdout.startswith("no change beyond 20 %: ")
        self.assertIn((result.returncode, told), ((1, True), (3, False)), "a busy machine may not decide")
        self.assertNotIn("first slower", result.stdout)

    def test_what_does_not_build_makes_a_range(self):
        commits = self.branch(5, broken=(4,))
        result = self.bisect()
        self.assert_exit(result, 3)
        self.assertRegex(result.stdout, rf"\Athe first slower version is one of 2: {commits[4][:10]} Commit 4 to {commits[5][:10]} Commit 5")
        self.assertIn("left out: " + commits[4][:10], result.stderr)

    def test_an_interrupted_search_goes_on(self):
        self.branch(5)
        result = self.bisect("--max-time", "1s")
        self.assertIn(result.returncode, (0, 3))
        again = self.bisect()
        if result.returncode == 3:
            self.assertRegex(again.stderr, r"goes on with \d+ rounds? of an earlier search")
        self.assert_exit(again, 0)

    def test_a_list_of_versions(self):
        versions = pathlib.Path(self.folder) / "versions.txt"
        versions.write_text("# oldest first\n" + "".join(f"{QUICK if i < 3 else SLOW}#{i}\n" for i in range(6)))
        pin = pathlib.Path(self.folder) / "pin"
        result = self.run_here("bisect", "--list", versions, "--checkout", f"echo {{}} | cut -d'#' -f1 > {pin}", "--shell",
                               "--margin", "20%", f"sleep $(cat {pin})")
        self.assert_exit(result, 0)
        self.assertRegex(result.stdout, rf"\Afirst slower version: {SLOW}#3 ")

    def test_what_is_missing_is_said(self):
        self.commit(QUICK, "Start")
        self.assert_exit(self.run_here("bisect", "true"), 2, stderr="--git RANGE, or --list FILE")
        self.assert_exit(self.run_here("bisect", "--list", "x", "true"), 2, stderr="--checkout with {}")
        self.assert_exit(self.run_here("bisect", "--git", "HEAD", "--checkout", "x", "true"), 2, stderr="--checkout needs --list")
        self.assert_exit(self.run_here("bisect", "--git", "HEAD", "--confidence", "30%", "true"), 2, stderr="--confidence")


if __name__ == "__main__":
    unittest.main()
