# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of the command line."""
import contextlib
import json
import os
import pathlib
import socket
import subprocess
import tempfile
import time
import unittest

# Without the user's history, programs, variants and unfinished runs.
os.environ.pop("HEADROOM_STORE", None)
os.environ.pop("HEADROOM", None)
CACHE = tempfile.TemporaryDirectory()
os.environ["XDG_CACHE_HOME"] = CACHE.name
os.environ["XDG_STATE_HOME"] = CACHE.name
BIN = pathlib.Path(os.environ["HEADROOM_BIN"])
HEADROOM = str(BIN / "headroom")
NATIVE = str(BIN / "headroom-native")
FAULTY = str(BIN / "faulty_runner")
TORCH, TORCH_RANK = BIN / "headroom-torch", BIN / "headroom-torch-rank"
needs_torch, needs_torch_rank = (
    unittest.skipUnless(path.exists(), f"{path.name} was not built: libtorch was not found") for path in (TORCH, TORCH_RANK))
# A few rounds.
BRIEF = ["--max-time", "150ms", "--min-time", "0", "--threads", "1"]


def run_program(*command, **options):
    """Runs a program with text output, by default without input."""
    stdin = {} if "input" in options else {"stdin": subprocess.DEVNULL}
    return subprocess.run(list(map(str, command)),
                          **{"capture_output": True, "text": True, "timeout": 120, **stdin, **options})


def headroom(*arguments, **options):
    return run_program(HEADROOM, *arguments, **options)


def torch_ranks(pid):
    """Returns the ids of the libtorch ranks that a process has started."""
    return list(map(int, run_program("pgrep", "-P", pid, "-x", TORCH_RANK.name[:15]).stdout.split()))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


LAUNCHERS = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")


def clean_environment(**more):
    """Returns the environment without a launcher's variables."""
    kept = {name: value for name, value in os.environ.items()
            if name not in LAUNCHERS and not name.startswith(("OMPI_", "PMI", "SLURM_"))}
    return {**kept, **more}


def faulty(*arguments, **options):
    """Runs the faulty runner, without limits."""
    return headroom("run", "--runner", FAULTY, "--no-limits", *BRIEF, *arguments, **options)


def records_of(path):
    return json.loads(pathlib.Path(path).read_text())["records"]


def shape_of(path):
    """Returns the parts of each record that do not depend on measured values."""
    def fields(value):
        if not isinstance(value, dict):
            return type(value).__name__
        # Few samples have neither.
        return {name: fields(part) for name, part in value.items() if name not in ("interval", "modes")}
    return [(record["model"]["name"], record["metric"]["name"], record["metric"]["unit"], record["axes"],
             len(record["samples"]), fields(record)) for record in records_of(path)]


class CommandLineTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        os.environ["HEADROOM_TEST"] = folder.name  # marks the processes of this test

    def write_file(self, name, content):
        """Writes a text, or a value as JSON, below the test's folder and returns the path."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def make_folder(self, name):
        path = self.folder / name
        path.mkdir()
        return path

    def script(self, name, text):
        """Writes an executable shell script below the test's folder and returns its path."""
        path = self.write_file(name, f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path

    def start(self, *arguments, **options):
        """Starts headroom, which ends with the test."""
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        process = subprocess.Popen([HEADROOM, *map(str, arguments)], **{**pipes, **options})
        self.addCleanup(lambda: process.poll() is None and (process.kill(), process.communicate()))
        return process

    def wait_for(self, condition, process=None, seconds=60):
        end = time.monotonic() + seconds
        while not condition():
            if process:
                self.assertIsNone(process.poll(), "ended too early")
            self.assertLess(time.monotonic(), end, "waited in vain")
            time.sleep(0.01)

    def assert_ends(self, process, code, *words, signal_number=None, timeout=60, stderr=()):
        """Like assert_exit, of a process that was started and is sent a signal."""
        if signal_number is not None:
            process.send_signal(signal_number)
        output = process.communicate(timeout=timeout)
        return self.assert_exit(subprocess.CompletedProcess(process.args, process.returncode, *output), code, *words,
                                stderr=stderr)

    def running(self):
        """Returns the live processes of this test."""
        mark, found = f"HEADROOM_TEST={self.folder}".encode(), []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if mark in (process / "environ").read_bytes().split(b"\0"):
                    found.append((process.name, (process / "cmdline").read_bytes()))
            except OSError:  # ended, or another user's
                pass
        return found

    def assert_nothing_runs(self, seconds=5):
        """Allows killed processes a moment to end."""
        with contextlib.suppress(AssertionError):
            self.wait_for(lambda: not self.running(), seconds=seconds)
        self.assertEqual(self.running(), [])

    def assert_exit(self, result, code, *words, stderr=()):
        """Requires the exit code, `words` on standard output and those on standard error; returns `result`."""
        self.assertEqual(result.returncode, code, f"stdout:\n{result.stdout}\nstderr:\n{result.stderr}")
        for expected, output in ((words, result.stdout), ([stderr] if isinstance(stderr, str) else stderr, result.stderr)):
            for word in expected:
                self.assertIn(word, output)
        return result

    def assert_refused(self, result, *words):
        """Requires exit code 2, `words` on standard error and an empty standard output."""
        self.assert_exit(result, 2, stderr=words)
        self.assertEqual(result.stdout, "")
