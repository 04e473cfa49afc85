# SPDX-License-Identifier: Apache-2.0
"""Messages of tools/setup.sh with a failing apt-get, and of tools/with_reason.sh."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"


class WithFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def script(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/bash\n" + text)
        path.chmod(0o755)


class SetupTest(WithFolder):
    """Replaces apt-get, dpkg-query and dpkg by scripts; the one wanted package is never installed."""

    def setUp(self):
        super().setUp()
        (self.root / "packages").mkdir()
        (self.root / "packages/part.txt").write_text("libabsent-dev  file /nowhere/absent.h\n")
        (self.root / "tools").mkdir()
        shutil.copy(TOOLS / "setup.sh", self.root / "tools")
        self.script("bin/dpkg-query", "exit 1\n")
        self.script("bin/dpkg", 'echo "dpkg $*" >>"$CALLS"\n')
        self.script("bin/sudo", '[ "$1" = -n ] && shift\nexec "$@"\n')

    def setup_where_apt_says(self, install, update=""):
        """Runs setup.sh with apt-get failing with these messages; an empty `update` succeeds."""
        self.script("bin/apt-get", 'echo "apt-get $*" >>"$CALLS"\ncase "$*" in\n'
                    f"  update*) echo {update!r}; exit {100 if update else 0} ;;\n  *) echo {install!r}; exit 100 ;;\nesac\n")
        environment = {**os.environ, "PATH": f"{self.root}/bin:{os.environ['PATH']}", "CALLS": str(self.root / "calls")}
        result = subprocess.run([self.root / "tools/setup.sh", "part"], capture_output=True, text=True, timeout=30,
                                env=environment, stdin=subprocess.DEVNULL, check=False)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertIn("run the same command again", result.stderr)
        return result.stderr

    def test_what_apt_says_becomes_a_sentence(self):
        for said, sentence in (
                ("E: Failed to fetch http://x Temporary failure resolving 'x'", "no network"),
                ("E: Unable to locate package libabsent-dev", "archives do not have libabsent-dev"),
                ("E: Package 'libabsent-dev' has no installation candidate", "archives do not have libabsent-dev"),
                ("E: You don't have enough free space in /var/cache/apt/archives/.", "the disk is full"),
                ("E: Could not get lock /var/lib/dpkg/lock-frontend.", "another apt-get or dpkg is at work"),
                ("sudo: a password is required", "as root: apt-get install"),
                ("E: the roof is on fire", "the roof is on fire")):
            with self.subTest(said):
                self.assertIn(sentence, self.setup_where_apt_says(said))

    def test_a_package_is_not_called_unknown_where_the_lists_cannot_be_fetched(self):
        told = self.setup_where_apt_says("E: Unable to locate package libabsent-dev", "W: Failed to fetch x  Could not connect to x")
        self.assertIn("no network", told)
        self.assertNotIn("archives do not have", told)

    def test_an_installation_that_was_cut_off_is_finished_first(self):
        self.setup_where_apt_says("E: dpkg was interrupted")
        calls = (self.root / "calls").read_text().splitlines()
        finished = calls.index("dpkg --configure -a")
        self.assertTrue([call for call in calls[finished:] if call.startswith("apt-get install -y")], calls)


class WithReasonTest(WithFolder):
    def run_with_reason(self, build, *command):
        return subprocess.run([TOOLS / "with_reason.sh", build, *command], capture_output=True, text=True, timeout=30, check=False)

    def test_the_command_is_all_there_is_where_nothing_is_lacking(self):
        fine = self.run_with_reason(self.root, "echo", "built")
        self.assertEqual((fine.returncode, fine.stdout, fine.stderr), (0, "built\n", ""))
        failed = self.run_with_reason(self.root, "bash", "-c", "echo error: no such thing >&2; exit 3")
        self.assertEqual((failed.returncode, failed.stderr), (3, "error: no such thing\n"))
        self.assertEqual(list(self.root.iterdir()), [])

    def test_a_folder_that_cannot_be_written_to_is_named(self):
        failed = self.run_with_reason("/proc/build", "false")
        self.assertEqual(failed.returncode, 1)
        self.assertIn("nothing can be written to /proc/build", failed.stderr)
        self.assertIn("goes on from here", failed.stderr)

    def test_an_interrupted_command_goes_on_by_the_same_one(self):
        command = ("import pathlib, signal, time; signal.signal(signal.SIGINT, signal.SIG_DFL); "
                   "pathlib.Path('started').touch(); time.sleep(30)")
        # A test run in the background inherits the ignored signal.
        process = subprocess.Popen([TOOLS / "with_reason.sh", self.root, sys.executable, "-c", command], cwd=self.root,
                                   stderr=subprocess.PIPE, text=True, start_new_session=True,
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        while not (self.root / "started").exists():
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)
        _, told = process.communicate(timeout=20)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(told, "make: interrupted; the same command goes on from here\n")


if __name__ == "__main__":
    unittest.main()
