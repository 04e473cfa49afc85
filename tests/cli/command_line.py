# SPDX-License-Identifier: Apache-2.0
"""What the tests of the command line share: where the programs are, and how to run them."""
import json
import os
import pathlib
import subprocess
import tempfile
import time
import unittest

# The history of whoever runs the tests is not theirs to write to.
os.environ.pop("HEADROOM_STORE", None)
# Nor is another headroom to be measured with than the one that is tested.
os.environ.pop("HEADROOM", None)
# Nor are the variants of kernels that were found fastest: brief tests would leave poor choices there.
CACHE = tempfile.TemporaryDirectory()
os.environ["XDG_CACHE_HOME"] = CACHE.name
# Nor are runs that these tests kill the user's to go on with.
os.environ["XDG_STATE_HOME"] = CACHE.name
BIN = pathlib.Path(os.environ["HEADROOM_BIN"])
HEADROOM = str(BIN / "headroom")
NATIVE = str(BIN / "headroom-native")
FAULTY = str(BIN / "faulty_runner")
# Short enough for a test, long enough for a few rounds.
BRIEF = ["--max-time", "150ms", "--min-time", "0", "--threads", "1"]


def headroom(*arguments, timeout=120, **options):
    """Runs the command line; returns its CompletedProcess with text output."""
    return subprocess.run([HEADROOM, *map(str, arguments)], capture_output=True, text=True, timeout=timeout,
                          stdin=subprocess.DEVNULL, **options)


LAUNCHERS = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")


def clean_environment(**more):
    """The environment without what a launcher of ranks may have put there, and with `more`."""
    kept = {name: value for name, value in os.environ.items()
            if name not in LAUNCHERS and not name.startswith(("OMPI_", "PMI", "SLURM_"))}
    return {**kept, **more}


def faulty(*arguments, **options):
    """`headroom run` on the faulty runner, without limits unless asked for."""
    return headroom("run", "--runner", FAULTY, "--no-limits", *BRIEF, *arguments, **options)


def records_of(path):
    return json.loads(pathlib.Path(path).read_text())["records"]


def shape_of(path):
    """What does not depend on what was measured: of each record its case, its metric, and the fields that it has."""
    def fields(value):
        if not isinstance(value, dict):
            return type(value).__name__
        # Few samples have no interval, few times fall into modes.
        return {name: fields(part) for name, part in value.items() if name not in ("interval", "modes")}
    return [(record["model"]["name"], record["metric"]["name"], record["metric"]["unit"], record["axes"],
             len(record["samples"]), fields(record)) for record in records_of(path)]


class CommandLineTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        os.environ["HEADROOM_TEST"] = folder.name  # by which processes that this test started are known

    def running(self):
        """The processes that this test started, and theirs, that run now."""
        mark, found = f"HEADROOM_TEST={self.folder}".encode(), []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if mark in (process / "environ").read_bytes().split(b"\0"):
                    found.append((process.name, (process / "cmdline").read_bytes()))
            except OSError:  # it has ended, or is another user's
                pass
        return found

    def assert_nothing_runs(self, seconds=5):
        """What was killed may take a moment to go, on a busy machine."""
        end = time.monotonic() + seconds
        while self.running() and time.monotonic() < end:
            time.sleep(0.02)
        self.assertEqual(self.running(), [])

    def assert_exit(self, result, code):
        self.assertEqual(result.returncode, code, f"stdout:\n{result.stdout}\nstderr:\n{result.stderr}")

    def assert_refused(self, result, *words):
        """Exit code 2, one message on standard error that contains `words`, nothing on standard output."""
        self.assert_exit(result, 2)
        self.assertEqual(result.stdout, "")
        for word in words:
            self.assertIn(word, result.stderr)
