#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`headroom ab --count`, `--gate-count` and `--why`, of programs that this test compiles."""
import os
import pathlib
import shutil
import subprocess
import unittest

from command_line import CommandLineTest, headroom, records_of

SOURCE = """
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) void spin(long n) { for (long i = 0; i < n; i++) __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void hot(long n) { for (long i = 0; i < n; i++) __asm__ volatile("" ::: "memory"); }
int main(int count, char** words) {
  spin(900000);
  if (FORKS && fork() == 0) { hot(HOT); _exit(0); }
  if (FORKS) wait(0); else hot(HOT);
  return 0;
}
"""
FEW = ("--runs", "6", "--no-store")
needs_valgrind = unittest.skipUnless(shutil.which("valgrind"), "valgrind is not installed")


class CountsTest(CommandLineTest):
    def program(self, name, hot=100000, forks=0, rename=None):
        source, path = self.write_file("program.c", SOURCE), self.folder / name
        built = self.folder / "program.o"
        subprocess.run(["cc", "-O1", f"-DHOT={hot}", f"-DFORKS={forks}", "-c", source, "-o", built], check=True)
        if rename:
            subprocess.run(["objcopy", "--redefine-sym", f"hot={rename}", built], check=True)
        subprocess.run(["cc", built, "-o", path], check=True)
        return str(path)

    def count(self, *commands, options=(), few=FEW[:2], **more):
        self.json = self.folder / "out.json"
        return headroom("ab", "--count", "callgrind", "--no-store", *few, *options, "--json", self.json, *commands, **more)

    def counts(self):
        """Returns the records of instructions."""
        return [record for record in records_of(self.json) if record["metric"]["name"] == "instructions"]

    def path_without(self, *programs):
        """Returns an environment whose PATH has only these programs."""
        folder = self.make_folder("path")
        for program in programs:
            (folder / program).symlink_to(shutil.which(program))
        return {**os.environ, "PATH": str(folder)}


@needs_valgrind
class Counts(CountsTest):
    def test_the_same_program_twice(self):
        program = self.program("a")
        result = self.count(program, program)
        self.assert_exit(result, 0, "the same within 0.01 % (counted once each by callgrind", "a count is not a time")
        first, second = self.counts()
        values = [value for record in (first, second) for process in record["samples"] for value in process["values"]]
        self.assertEqual(len(values), 3)
        self.assertLess(max(values) - min(values), 1e-4 * min(values))
        self.assertEqual(second["metric"]["extra_info"]["counted_by"], "callgrind")
        self.assertTrue(second["metric"]["extra_info"]["isa"])

    def test_the_size_of_the_environment_is_that_of_both_sides(self):
        program = self.program("a")
        totals = []
        for padding in ("", "x" * 3000):
            self.assert_exit(self.count(program, program, env={**os.environ, "PADDING": padding}), 0, "the same within 0.01 %")
            totals.append(self.counts()[0]["metric"]["value"])
        self.assertLess(abs(totals[1] - totals[0]), 0.1 * totals[0])

    def test_a_change_of_layout_alone(self):
        parts = {"main": "void f(void); void g(void); int main() { f(); g(); return 0; }"}
        for name in "fg":
            parts[name] = f'void {name}(void) {{ for (long i = 0; i < 500000; i++) __asm__ volatile("" ::: "memory"); }}'
        for name, text in parts.items():
            subprocess.run(["cc", "-O1", "-c", self.write_file(name + ".c", text), "-o", self.folder / (name + ".o")], check=True)
        programs = []
        for order in (("main", "f", "g"), ("g", "f", "main")):
            programs.append(str(self.folder / "-".join(order)))
            subprocess.run(["cc", *(self.folder / (name + ".o") for name in order), "-o", programs[-1]], check=True)
        result = self.count(*programs, options=("--gate-count", "0.1%"))
        self.assert_exit(result, 0, "the same within 0.01 %", stderr="gate of instructions: not more by more than 0.1 %")

    def test_half_a_percent_is_found_and_named(self):
        slow, fast = self.program("slow", hot=105000), self.program("fast")
        result = self.count(fast, slow, options=("--gate-count", "0.1%"))
        self.assert_exit(result, 1, "most in hot (+0.", stderr="gate of instructions: 1 of 1 more by more than 0.1 %")
        first, second = (record["metric"] for record in self.counts())
        self.assertAlmostEqual(second["value"] / first["value"], 1.005, delta=0.001)
        self.assertAlmostEqual(second["numbers"]["hot"], 0.005, delta=0.001)
        shown = headroom("show", self.json)
        self.assertIn("most in hot (+0.", shown.stdout)
        self.assert_exit(self.count(slow, fast, options=("--gate-count", "0.1%")), 0, "instructions: -0.")

    def test_commits_are_counted(self):
        repository = self.make_folder("repository")

        def git(*words):
            subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@example.org", *words], cwd=repository, check=True,
                           capture_output=True)
        git("init", "--quiet", "--initial-branch=main")
        for hot in (100000, 150000):
            (repository / "program.c").write_text(SOURCE.replace("HOT", str(hot)).replace("FORKS", "0"))
            git("add", "--all")
            git("commit", "-m", f"Spin {hot} times")
        result = self.count("./program", options=("--git", "HEAD~1..HEAD", "--build", "cc -O1 program.c -o program"), cwd=repository)
        self.assert_exit(result, 0, "Spin 150000 times", "most in hot (+")

    def test_the_graver_exit_code_counts(self):
        slow, fast = self.program("slow", hot=150000), self.program("fast")
        result = self.count(fast, slow, options=("--gate", "0.001%", "--max-rounds", "6", "--gate-count", "0.1%"), few=())
        self.assert_exit(result, 1, stderr="gate of instructions: 1 of 1 more")

    def test_counts_of_two_calls_are_not_compared(self):
        program = self.program("a")
        self.count(program, program)
        before = self.json.rename(self.folder / "before.json")
        self.count(program, program)
        result = headroom("diff", "--metric", "instructions", before, self.json)
        self.assertIn("counted apart", result.stdout)

    def test_the_child_of_a_fork_counts_once(self):
        self.count(self.program("a"), self.program("b", forks=1))
        first, second = (record["metric"]["value"] for record in self.counts())
        self.assertAlmostEqual(second / first, 1, delta=0.02)

    def test_the_programs_of_a_shell_count(self):
        program = self.program("a")
        self.count(program, f"{program} && {program}", options=("--shell",))
        first, second = (record["metric"]["value"] for record in self.counts())
        self.assertGreater(second, 1.8 * first)

    @unittest.skipUnless(shutil.which("objcopy"), "objcopy is not installed")
    def test_names_of_functions_are_shown_on_one_line(self):
        result = self.count(self.program("fast"), self.program("slow", hot=150000, rename="bad\033[31m|\nx"))
        self.assertNotIn("\033", result.stdout)
        self.assertIn(r"bad\x1B[31m|", result.stdout)

    def test_an_instruction_that_valgrind_does_not_know(self):
        if "avx512f" not in pathlib.Path("/proc/cpuinfo").read_text():
            self.skipTest("this processor has no AVX-512")
        source = self.write_file("wide.c", 'int main() { __asm__ volatile("vpxord %zmm0, %zmm0, %zmm0"); return 0; }')
        wide = str(self.folder / "wide")
        subprocess.run(["cc", source, "-o", wide], check=True)
        result = self.count("true", wide, options=("--gate-count", "1%"))
        if len(self.counts()) == 2:
            self.skipTest("this valgrind knows AVX-512")
        self.assert_exit(result, 2, "instructions were not counted: valgrind does not know one of its instructions",
                         stderr="1 of 1 not counted")


class Messages(CountsTest):
    def test_a_missing_valgrind(self):
        result = self.count("true", "true", env=self.path_without("true"))
        self.assert_exit(result, 2, stderr="valgrind is not in PATH")
        self.assertIn("apt install valgrind", result.stderr)

    def test_a_missing_perf(self):
        result = headroom("ab", "--why", *FEW, "sleep 0.02", "sleep 0.3", env=self.path_without("sleep"))
        self.assert_exit(result, 0, "perf is not in PATH")

    def test_a_perf_that_may_not_sample(self):
        self.script("perf", "echo Error: >&2; echo 'Access to performance monitoring is limited.' >&2; echo advice >&2; exit 255")
        path = f"{self.folder}:{os.environ['PATH']}"
        result = headroom("ab", "--why", *FEW, "sleep 0.02", "sleep 0.3", env={**os.environ, "PATH": path})
        self.assert_exit(result, 0, "perf cannot sample here: Access to performance monitoring is limited.")

    def test_margins_are_checked(self):
        self.assert_exit(headroom("ab", "--gate-count", "3", "true", "true"), 2, stderr="--gate-count")
        self.assert_exit(headroom("ab", "--count", "cycles", "true", "true"), 2, stderr="--count")


class Why(CountsTest):
    def test_the_function_that_became_slower(self):
        fast, slow = self.program("fast", hot=100000000), self.program("slow", hot=500000000)
        probe = subprocess.run(["perf", "record", "-q", "-N", "-o", self.folder / "probe", "--", fast],
                               capture_output=True) if shutil.which("perf") else None
        if probe is None or probe.returncode != 0:
            self.skipTest("perf cannot sample here")
        result = headroom("ab", "--why", "--no-store", "--gate", "50%", fast, slow)
        self.assert_exit(result, 1, "CPU time by function", "hot (+", "samples)")

    def test_nothing_is_recorded_without_a_regression(self):
        result = headroom("ab", "--why", *FEW, "sleep 0.1", "sleep 0.02")
        self.assertNotIn("CPU time", result.stdout)


if __name__ == "__main__":
    unittest.main()
