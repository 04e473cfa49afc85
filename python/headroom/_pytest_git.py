# SPDX-License-Identifier: Apache-2.0
"""The merge base of `pytest --headroom-git`: a second pytest, in its work tree, serves the same tests."""
from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Iterable, Mapping, Sequence

import pytest

from ._program import CommandFailed, environment, run_command
from ._pytest_names import Name

LARGEST_MESSAGE = 1 << 17
_END_S = 5.0
_START = "import sys; sys.path.insert(0, sys.argv[1]); from headroom import _pytest_serve; _pytest_serve.main()"


class Moved:
    """Finds the counterparts of files of the user's tree `top` in the work tree `tree`."""

    def __init__(self, top: str, tree: str) -> None:
        self.top, self.tree = os.path.realpath(top), os.path.realpath(tree)

    def is_of_user(self, path: str) -> bool:
        """Whether `path` is in the user's tree."""
        real = os.path.realpath(path) + os.sep
        return real.startswith(self.top + os.sep) and not real.startswith(self.tree + os.sep)

    def counterpart(self, path: str) -> str:
        """Returns the path in the work tree; `path` if it has none there."""
        if not self.is_of_user(path):
            return path
        there = self.tree + os.path.realpath(path)[len(self.top):]
        return there if os.path.exists(there) else path

    def word(self, word: str) -> str:
        """Returns a word of a command line, with its absolute path moved."""
        option, equals, value = word.rpartition("=")
        return option + equals + self.counterpart(value) if os.path.isabs(value) else word


class Base:
    """The merge base of `ref` and HEAD.

    records: of its side. reasons: {test: why it has none}. A process serves its tests; it is started when needed.
    """

    def __init__(self, config: pytest.Config, ref: str, build: str) -> None:
        self._config, self._ref, self._build = config, ref, build
        self._tree: Mapping[str, Any] = {}
        self._files: list[str] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None
        self._log = tempfile.TemporaryFile()  # pylint: disable=consider-using-with
        self.records: list[dict[str, Any]] = []
        self.reasons: dict[str, str] = {}

    @property
    def label(self) -> str:
        """Its runner in records."""
        return str(self._tree["commit"])

    @property
    def name(self) -> str:
        """Its name in sentences."""
        return f"{self._ref}@{self.label}"

    def prepare(self, paths: Iterable[Path]) -> None:
        """Builds its tree, and starts the process that serves these files of tests. Raises pytest.UsageError."""
        try:
            self._tree = run_command(["--merge-base", self._ref, self._build])
        except CommandFailed as error:
            raise pytest.UsageError(f"--headroom-git {self._ref}: {error}") from None
        moved, root = self._moved(), str(self._config.rootpath)
        if not moved.is_of_user(root):
            raise pytest.UsageError(f"--headroom-git {self._ref}: pytest's rootdir {root} is outside of the repository {moved.top}: add "
                                    f"--rootdir {moved.top}")
        if not os.path.isdir(self._tree["folder"]):
            raise pytest.UsageError(f"--headroom-git {self._ref}: {self._tree['commit']} has no folder {os.getcwd()}: call pytest in "
                                    f"{moved.top}")
        self._files = [there for path in dict.fromkeys(map(str, paths)) if (there := moved.counterpart(path)) != path]
        if self._files and not self._start():
            raise pytest.UsageError(f"--headroom-git {self._ref}: {self._end()}")

    def summary(self) -> list[str]:
        """Returns remarks on what was compared."""
        if not self._tree:
            return []
        changes = "; your uncommitted changes are measured, too" if self._tree["has_changes"] else ""
        remarks = [f"compared with {self.name} {self._tree['subject']}, in the same rounds{changes}"]
        tests: dict[str, list[str]] = {}
        for nodeid, reason in self.reasons.items():
            tests.setdefault(reason, []).append(nodeid)
        return remarks + [f"not compared: {reason}: {', '.join(nodeids)}" for reason, nodeids in tests.items()]

    def offer(self, tests: Mapping[str, Name]) -> bool:
        """Runs tests up to the calls that they measure. Returns whether there is one to serve(). Notes the reasons of others."""
        for nodeid in tests:
            self.reasons.pop(nodeid, None)
        if not self._files:
            self.reasons.update(dict.fromkeys(tests, f"not in {self.name}"))
            return False
        asked = {nodeid: {"experiment": name.experiment, "backend": name.backend, "axes": name.axes} for nodeid, name in tests.items()}
        answer = self._ask(asked) if self._channel is not None or self._start() else None
        if answer is None:
            self.reasons.update(dict.fromkeys(tests, self._end()))
            return False
        self.reasons.update((nodeid, f"{reason} {self.name}") for nodeid, reason in answer["reasons"].items())
        return bool(answer["ready"])

    def serve(self, connection: socket.socket) -> None:
        """Gives it one end of its conversation with `headroom run`."""
        if self._channel is not None:
            socket.send_fds(self._channel, [b"serve"], [connection.fileno()])

    def keep(self, record: dict[str, Any], nodeid: str) -> None:
        """Keeps a record of its side."""
        record["environment"] = 0
        if record["outcome"]["kind"] == "measured":
            self.records.append(record)
        elif record["metric"]["name"] != "python":
            self.reasons[nodeid] = f"{record['outcome']['kind']} ({record['outcome']['reason']}) in {self.name}"

    def begin_again(self) -> list[dict[str, Any]]:
        """Takes its records; the next test starts a new process, whose memory has another layout."""
        taken, self.records = self.records, []
        self.close()
        return taken

    def close(self) -> None:
        """Ends its process."""
        if self._channel is not None:
            self._channel.close()
        if self._process is not None:
            try:
                self._process.wait(_END_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._channel = self._process = None

    def _moved(self) -> Moved:
        return Moved(self._tree["top"], self._tree["tree"])

    def _words(self) -> list[str]:
        """Returns the user's command line for the work tree, with its files in place of the user's."""
        config, moved, words = self._config, self._moved(), list(map(str, self._config.invocation_params.args))
        source = getattr(config, "args_source", None)
        if source is not None and source.name == "ARGS":
            words = [word for word in words if word not in config.args]
        words = [moved.word(word) for word in words]
        if config.inipath is not None and (inifile := moved.counterpart(str(config.inipath))) != str(config.inipath):
            words += ["-c", inifile]
        if config.getoption("xmlpath", None):
            words.append("--junitxml=")
        if config.getoption("basetemp", None):
            words.append(f"--basetemp={os.path.join(self._tree['tree'], '.pytest_basetemp')}")
        return [*words, f"--rootdir={moved.counterpart(str(config.rootpath))}", "--maxfail=0", *self._files]

    def _start(self) -> bool:
        """Returns whether its process is ready."""
        moved = self._moved()
        known = environment()
        if "PYTHONPATH" in known:
            known["PYTHONPATH"] = os.pathsep.join(map(moved.counterpart, known["PYTHONPATH"].split(os.pathsep)))
        started = {"top": moved.top, "tree": moved.tree, "words": self._words(), "path": [moved.counterpart(one) for one in sys.path]}
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._log.truncate(0)
        with theirs:
            self._process = subprocess.Popen(  # pylint: disable=consider-using-with
                [sys.executable, "-c", _START, str(Path(__file__).parent.parent), str(theirs.fileno())], cwd=self._tree["folder"],
                stdin=subprocess.PIPE, stdout=self._log, stderr=self._log, pass_fds=(theirs.fileno(),), env=known, start_new_session=True)
        with self._process.stdin as stdin:  # type: ignore[union-attr]
            stdin.write(json.dumps(started).encode())
        return self._receive() is not None

    def _ask(self, asked: Mapping[str, Any]) -> Any:
        assert self._channel is not None
        try:
            self._channel.send(json.dumps(asked).encode())
        except OSError:
            return None
        return self._receive()

    def _receive(self) -> Any:
        """Returns the answer; None if it has ended."""
        assert self._channel is not None
        try:
            text = self._channel.recv(LARGEST_MESSAGE)
        except ConnectionResetError:
            return None
        return json.loads(text) if text else None

    def _end(self) -> str:
        """Returns why its process has ended; the next test starts it again."""
        process = self._process
        self.close()
        code = process.returncode if process is not None else 0
        self._log.seek(0)
        lines = [line.strip() for line in self._log.read().decode(errors="replace").splitlines() if line.strip()]
        said = _telling(lines)
        return f"pytest in {self.name} ended with {f'signal {-code}' if code < 0 else f'exit code {code}'}{said and ': ' + said}"


def _telling(lines: Sequence[str]) -> str:
    """Returns the first line that says what failed, else the last."""
    return next((line for line in lines if line.startswith("ERROR")), lines[-1] if lines else "")
