# SPDX-License-Identifier: Apache-2.0
"""Completion in real shells, and man pages."""
import os
import pty
import re
import select
import shutil
import subprocess
import time
import unittest

import command_line
from command_line import CommandLineTest, headroom, run_program

SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "source <(headroom completion bash)"),
    "zsh": (["zsh", "-f", "-i"], "autoload -Uz compinit; compinit -u -d $ZCACHE; source <(headroom completion zsh)"),
}


def candidates(*words):
    result = headroom("completion", "candidates", "--", *words)
    return [line.split("\t")[0] for line in result.stdout.splitlines()]


class Terminal:
    """A shell on a pseudo-terminal."""

    def __init__(self, shell, folder):
        arguments, setup = SHELLS[shell]
        environment = {**os.environ, "PATH": f"{command_line.BIN}:{os.environ['PATH']}", "PS1": "> ", "TERM": "dumb",
                       "ZCACHE": str(folder / "zcompdump"), "HISTFILE": ""}
        self.process, self.descriptor = pty.fork()
        if self.process == 0:
            os.chdir(folder)
            os.execvpe(arguments[0], arguments, environment)
        self.type(setup + "; echo re''ady\n", "ready")

    def type(self, text, until, patience_s=30):
        """Types, and returns the output up to a match of `until`."""
        os.write(self.descriptor, text.encode())
        shown, end = "", time.monotonic() + patience_s
        while time.monotonic() < end:
            if select.select([self.descriptor], [], [], 0.1)[0]:
                shown += os.read(self.descriptor, 65536).decode(errors="replace")
            if re.search(until, shown):
                return shown
        raise AssertionError(f"typed {text!r}, waited for {until!r}, saw {shown!r}")

    def close(self):
        os.close(self.descriptor)
        os.kill(self.process, 9)
        os.waitpid(self.process, 0)


class Completion(CommandLineTest):
    def test_commands_options_experiments_axes_backends(self):
        self.assertEqual(candidates("ro"), ["roofline"])
        self.assertEqual(candidates("run", "--back"), ["--backend"])
        self.assertIn("gemv", candidates("run", "ge"))
        self.assertIn("D=", candidates("run", "gemv", "-a", ""))
        self.assertIn("D=4096", candidates("run", "gemv", "-a", "D=4"))
        self.assertEqual(candidates("run", "--backend", "native_s"), ["native_strict"])
        self.assertEqual(candidates("run", "--backend=native,ref"), ["--backend=native,reference"])
        self.assertEqual(candidates("diff", "--sort", ""), ["name", "ratio", "time"])
        self.assertEqual(candidates("trace", "kern")[0], "kernels")
        self.assertIn("--by", candidates("trace", "kernels", "--"))
        self.assertIn("export", candidates("history", "ex"))
        self.assertIn("--reducer", candidates("ddp", "--"))
        self.assertIn("--min-bytes", candidates("ddp", "--collectives", "--"))
        self.assertEqual(candidates("cache", "--suite", "ccac"), ["ccache", ":files"])
        self.assertEqual(candidates("diff", "a.j"), [":files"])
        self.assertEqual(candidates("ab", "--", "x"), [":files"])

    def test_no_command_runs(self):
        self.assertEqual(candidates("completion", "candidates", ""), [])
        self.assertEqual(candidates("history", "repair", "--store", "/no/such/folder/h.db", "--no-f"), ["--no-follow"])
        self.assertIn("--top", candidates("trace", "diff", "no", "files", "--"))

    def test_references_to_the_history(self):
        store = self.folder / "history.db"
        self.assert_exit(headroom("time", "--runs", "6", "--store", store, "true"), 0)
        result = headroom("completion", "candidates", "--", "diff", "@", env={**os.environ, "HEADROOM_STORE": str(store)})
        self.assertEqual([line.split("\t")[0] for line in result.stdout.splitlines()], ["@last", "@unfinished", "@1", ":files"])

    def test_nothing_that_is_typed_breaks_it(self):
        for words in ((), ("",), ("nonsense", ""), ("run", "--nonsense", ""), ("run", "--runner", "/no/such", "-a", ""),
                      ("trace", "nonsense", "--"), ("help", ""), ("run", "="), ("run", "--="), ("diff", "--", "")):
            result = self.assert_exit(headroom("completion", "candidates", "--", *words), 0)
            self.assertEqual(result.stderr, "", words)

    def test_at_the_terminal_of_bash_and_zsh(self):
        for shell in SHELLS:
            with self.subTest(shell):
                if shutil.which(shell) is None:
                    self.skipTest(f"{shell} is not installed")
                terminal = Terminal(shell, self.folder)
                self.addCleanup(terminal.close)
                terminal.type("headroom roo\t", r"headroom roofline ")
                terminal.type("\x15headroom run --markd\t", r"headroom run --markdown ")
                terminal.type("\x15headroom run gemv -a D=163\t", r"D=16384")
                terminal.type("\x15headroom run --backend=native_s\t", r"--backend=native_strict")
                terminal.type("\x15headroom diff @la\t", r"@last")
                (self.folder / "some_results.json").write_text("{}")
                terminal.type("\x15headroom diff some_r\t", r"some_results\.json")

    def test_in_fish(self):
        if shutil.which("fish") is None:
            self.skipTest("fish is not installed")
        (self.folder / "some_results.json").write_text("{}")
        for line, wanted in (("headroom roo", "roofline"), ("headroom run --markd", "--markdown"),
                             ("headroom run gemv -a D=163", "D=16384"), ("headroom diff @la", "@last"),
                             ("headroom diff some_r", "some_results.json")):
            script = f"headroom completion fish | source; complete -C '{line}'"
            shown = subprocess.run(["fish", "--no-config", "-c", script], capture_output=True, text=True, cwd=self.folder, timeout=60,
                                   env={**os.environ, "PATH": f"{command_line.BIN}:{os.environ['PATH']}"})
            self.assertIn(wanted, [one.split("\t")[0] for one in shown.stdout.splitlines()], shown)

    def test_another_shell_is_refused(self):
        self.assert_refused(headroom("completion", "bsh"), "'bsh'", "did you mean 'bash'")


class ManPages(CommandLineTest):
    def test_each_command_has_one_that_renders(self):
        names = [word for word in candidates("help", "") if word.isalpha() and word != "help"]
        self.assertGreater(len(names), 10)
        for name in [None, *names]:
            with self.subTest(name):
                page = self.assert_exit(headroom("help", "--man", *[name] if name else []), 0)
                if shutil.which("man") is None:
                    self.skipTest("man is not installed")
                shown = run_program("man", "-l", "-", input=page.stdout, env={**os.environ, "MANWIDTH": "100",
                                                                              "MANROFFOPT": "-ww", "LC_ALL": "C.UTF-8"})
                self.assert_exit(shown, 0)
                self.assertEqual(shown.stderr, "")
                self.assertIn(f"headroom-{name}" if name else "headroom", shown.stdout)

    def test_it_has_every_option_of_the_help(self):
        page = headroom("help", "--man", "run").stdout.replace("\\-", "-")
        options = set(re.findall(r"^\s+(?:-\w,)?(--[a-z-]+)", headroom("run", "--help").stdout, re.M)) - {"--help"}
        self.assertGreaterEqual(len(options), 20)
        for option in options:
            self.assertIn(option, page)


if __name__ == "__main__":
    unittest.main()
