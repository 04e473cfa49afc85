# SPDX-License-Identifier: Apache-2.0
"""The program itself; unknown options, missing values, conflicts, in every command."""
import subprocess
import time
import unittest

from command_line import FAULTY, HEADROOM, CommandLineTest, headroom
from trace_files import write_trace


class ProgramTest(CommandLineTest):
    def test_version(self):
        result = self.assert_exit(headroom("--version"), 0)
        self.assertRegex(result.stdout, r"^headroom \d+\.\d+\.\d+\n$")

    def test_help_names_every_command(self):
        for arguments in (["--help"], ["help"]):
            self.assert_exit(headroom(*arguments), 0, "run ", "machine ", "--version")

    def test_each_command_has_help_with_examples(self):
        for command in ("run", "machine", "diff", "history"):
            for arguments in ([command, "--help"], ["help", command]):
                self.assert_exit(headroom(*arguments), 0, "examples:")

    def test_no_command_shows_help_and_fails(self):
        self.assert_refused(headroom(), "usage: headroom COMMAND")

    def test_unknown_command(self):
        self.assert_refused(headroom("rnu"), "unknown command 'rnu'", "did you mean 'run'")

    def test_unknown_option(self):
        self.assert_refused(headroom("run", "--presicion", "1%"), "--presicion")

    def test_links_neither_torch_nor_cuda(self):
        listed = subprocess.run(["ldd", HEADROOM], capture_output=True, text=True, check=True).stdout
        # Names only: an address may contain "c10".
        libraries = [line.split()[0] for line in listed.splitlines()]
        self.assertTrue(any("libc.so" in library for library in libraries), listed)
        for library in ("torch", "cuda", "c10"):
            self.assertFalse([found for found in libraries if library in found], listed)

    def test_starts_in_milliseconds(self):
        times = []
        for _ in range(20):
            start = time.perf_counter()
            subprocess.run([HEADROOM, "--version"], stdout=subprocess.DEVNULL, check=True)
            times.append(time.perf_counter() - start)
        # With Python's fork and wait; the program's goal is 5 ms.
        self.assertLess(min(times), 0.015)


class ArgumentsTest(CommandLineTest):
    def test_an_option_that_is_not_there(self):
        self.assert_refused(headroom("run", "--presicion", "1%"),
                            "headroom: unknown option '--presicion'; did you mean '--precision'?",
                            "headroom run --help")
        self.assert_refused(headroom("trace", "kernels", "--thread=3"), "unknown option '--thread'", "'--threads'")
        self.assert_refused(headroom("diff", "a", "b", "-z"), "headroom: unknown option '-z' (headroom diff --help")
        self.assert_refused(headroom("machine", "now"), "headroom: unexpected argument: 'now'")

    def test_a_value_that_is_not_there(self):
        self.assert_refused(headroom("time", "true", "--max-time"), "--max-time needs a value: maximum measuring time")
        self.assert_refused(headroom("time", "true", "--export", "hyperfine"), "--export needs 2 values: write FILE as FORMAT: ")
        self.assert_refused(headroom("run", "--processes", "0"), "headroom: --processes: Value 0 not in range 1 to 1000")
        self.assert_refused(headroom("run", "--threads", "0"), "headroom: --threads 0: expected numbers from 1 to 4096")
        self.assert_refused(headroom("diff", "a"), "headroom: BASELINE CANDIDATE: At least 2 required", "headroom diff --help")

    def test_those_who_look_for_warm_up_find_why_there_is_none(self):
        for command in ("time", "ab"):
            self.assertIn("Warm-up needs no option", headroom(command, "--help").stdout)

    def test_help_names_values_briefly(self):
        for command in ("run", "ab", "cache", "dispatch", "ddp", "machine", "history"):
            shown = headroom(command, "--help").stdout
            self.assertNotRegex(shown, r"in \[\d|\bU?INT\b|TEXT:", command)
        self.assertRegex(headroom("run", "--help").stdout, r"--layers N +layers of the model")
        self.assertRegex(headroom("ddp", "--help").stdout, r"--backend gloo\|nccl\s+gloo")

    def test_the_last_of_an_option_given_twice_counts(self):
        first, last = self.folder / "first.json", self.folder / "last.json"
        self.assert_exit(headroom("time", "true", "--no-store", "--runs", "6", "--json", first, "--json", last), 0)
        self.assertFalse(first.exists())
        self.assert_exit(headroom("diff", last, last, "--json", first, "--json", "-"), 0)
        self.assertFalse(first.exists())

    def test_bounds_that_exclude_each_other(self):
        self.assert_refused(headroom("time", "true", "--min-time", "10s", "--max-time", "1s"),
                            "--min-time 10s exceeds --max-time 1s")
        self.assert_refused(headroom("run", "gemv", "--min-time", "10s", "--max-time", "1s"), "--min-time 10s exceeds")
        self.assert_refused(headroom("ab", "true", "echo", "--min-rounds", "20", "--max-rounds", "10"),
                            "--min-rounds 20 exceeds --max-rounds 10")
        self.assert_refused(headroom("time", "true", "--runs", "20", "--max-rounds", "10"), "--runs conflicts with")
        self.assert_refused(headroom("machine", "--topology", "--json", self.folder / "m.json"), "--topology conflicts with")

    def test_a_share_that_is_more_than_all_of_it(self):
        for command in (["run", "gemv"], ["time", "true"], ["ab", "true", "echo"], ["dispatch", "--op", "add"],
                        ["ddp", "--collectives"]):
            with self.subTest(command):
                self.assert_refused(headroom(*command, "--precision", "3"),
                                    "--precision: '3' is more than 100 %")
                self.assert_refused(headroom(*command, "--precision", "150%"), "--precision 150% must be above 0 and")
                self.assert_refused(headroom(*command, "--precision", "0"), "--precision 0 must be above 0 and below")
        self.assert_refused(headroom("diff", "--gate", "3", "a", "b"), "'3' is more than 100 %")

    def test_one_file_for_two_outputs(self):
        path = self.folder / "both.json"
        self.assert_refused(headroom("time", "true", "--json", path, "--oss", path), "--json and --oss name the same file")
        self.assert_refused(headroom("time", "true", "--json", "-", "--oss", "-"), "--json and --oss name the same file")
        run, cache = ("run", "--runner", FAULTY, "fine"), ("cache", "--layer", f"folder:{self.folder / 'c'}")
        for command, options, names in (
                (("time", "true"), ("--json", path, "--export", "hyperfine", path), "--json and --export hyperfine"),
                (("time", "true"), ("--export", "seed-csv", path, "--export", "headroom-json", path),
                 "--export seed-csv and --export headroom-json"),
                (run, ("--json", path, "--output", path), "--json and --output"),
                (run, ("--json", path, "--output", path.with_suffix(".csv")), "--json and the JSON lines beside --output"),
                (run, ("--output", path), "--output and the JSON lines beside --output"),
                (cache, ("--json", path, "--output", path, "--", "true"), "--json and --output")):
            with self.subTest(options):
                self.assert_refused(headroom(*command, *options), names + " name the same file")
        self.assertFalse(path.exists())

    def test_a_file_in_a_folder_that_is_not_there_is_refused_before_anything_runs(self):
        kept, trace, mark = self.folder / "kept.json", write_trace(self.folder / "trace.json"), self.folder / "mark"
        store = self.folder / "history.sqlite"
        self.assert_exit(headroom("time", "true", "--runs", "6", "--json", kept, "--store", store), 0)
        before = sorted(self.folder.rglob("*"))
        outputs = [
            *((["time", f"touch {mark}"], option) for option in ("--json", "--oss", "--export hyperfine", "--export seed-csv", "--output")),
            *((["ab", f"touch {mark}", "true"], option) for option in ("--json", "--output")),
            *((["run", "--runner", FAULTY, "fine"], option) for option in ("--json", "--oss", "--output")),
            (["run", "--runner", FAULTY, "--list"], "--json"),
            *((["cache", "--layer", f"folder:{self.folder}", "--", "touch", mark], option) for option in ("--json", "--output")),
            (["cache", "--suite", "list"], "--json"),
            *((["show", kept], option) for option in ("--json", "--oss")),
            (["diff", kept, kept], "--json"),
            (["history", "--store", store], "--json"),
            (["history", "export", "--store", store], ""),
            *((["trace", "kernels", trace], option) for option in ("--json", "--csv")),
            (["trace", "merge", trace, trace], "-o"),
            (["trace", "merge", trace, trace, "-o", self.folder / "merged.json"], "--json"),
            (["trace", "convert", trace], ""),
            (["trace", "diff", trace, trace], "--json"),
            (["trace", "--list"], "--json"),
            (["report", kept], "-o"),
            (["roofline", kept], "--svg"),
        ]
        for folder in ("deep", "deep/deeper"):
            for command, option in outputs:
                with self.subTest(command=command, option=option):
                    file = self.folder / folder / ("x.csv" if option == "--output" else "x.json")
                    # The measured command is the last argument.
                    at = command.index("--") if "--" in command else len(command)
                    self.assert_exit(headroom(*command[:at], *option.split(), file, *command[at:]), 2,
                                     stderr=f"cannot write '{file}': there is no folder '{file.parent}'")
                    self.assertEqual(sorted(self.folder.rglob("*")), before)

    def test_folders_that_headroom_keeps_things_in_are_made(self):
        deep = self.folder / "deep"
        store = deep / "a" / "history.sqlite"
        self.assert_exit(headroom("time", "true", "--runs", "6", "--store", store), 0)
        self.assertTrue(store.exists())
        self.assert_exit(headroom("history", "--site", deep / "b" / "site", "--store", store), 0)
        self.assertTrue((deep / "b" / "site" / "index.html").exists())

    def test_an_input_that_cannot_be_read_is_said_before_anything_runs(self):
        start = time.monotonic()
        self.assert_refused(headroom("time", "cat", "--input", self.folder / "none"), "--input", "No such file")
        self.assert_refused(headroom("time", "cat", "--input", self.folder), "is a folder")
        self.assert_refused(headroom("time", "ulimit -n"), "no program 'ulimit' in PATH", "need --shell")
        self.assertLess(time.monotonic() - start, 20)


if __name__ == "__main__":
    unittest.main()
