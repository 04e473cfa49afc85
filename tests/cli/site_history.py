# SPDX-License-Identifier: Apache-2.0
"""Histories and servers that the tests of pages made of one share."""
import json
import os
import re
import signal
import subprocess

from command_line import HEADROOM, headroom

START = 1_790_000_000
HOSTILE = ("<script>alert(1)</script>", "../../../etc/passwd", '"><img src=x onerror=alert(1)>', "</script><!--", "a\u202eb\x1b[31m",
           "\u2028\u2029 ]]> &amp; \ufffe\uffff", "'; drop table runs; --", "wide " + "w" * 3000)


def record(name, value, unit="us"):
    return {"benchmark": {"name": "headroom"}, "model": {"name": name, "backend": "native"},
            "metric": {"name": "latency", "unit": unit, "direction": "lower", "value": value},
            "axes": {"D": "64"}, "device": "cpu", "threads": 2, "outcome": {"kind": "measured"}, "environment": 0,
            "interval": {"low": value * 0.99, "high": value * 1.01, "confidence": 0.95},
            "samples": [{"pid": 1, "iterations": 10, "warmup": 0, "rounds": [0, 1, 2, 3, 4],
                         "values": [value * share for share in (0.98, 0.99, 1, 1.01, 1.02)]}]}


def run_file(folder, number, records, fingerprint="machine-a", sha="a" * 40, timestamp=None):
    """A file of one run, `number` hours after the first."""
    environment = {"fingerprint": fingerprint, "git_sha": sha, "headroom_version": "0.1.0", "command": ["headroom", "run", "gemv"],
                   "timestamp": int(START + 3600 * number) if timestamp is None else timestamp}
    path = folder / f"run{number}{fingerprint}.json"
    path.write_text(json.dumps({"headroom": {"schema": 1, "version": "0.1.0"}, "environments": [environment], "records": records}))
    return path


def fill(folder, store, runs=40, change=20, fingerprint="machine-a"):
    """gemv takes 10 us, and 12 us from run `change` on; layer_norm stays."""
    files = [run_file(folder, i, [record("gemv", (10 if i < change else 12) + i * 7 % 11 / 100), record("layer_norm", 5 + i * 5 % 7 / 100)],
                      fingerprint, ("a" if i < change else "b") * 40) for i in range(runs)]
    imported = headroom("history", "import", *files, "--store", store)
    assert imported.returncode == 0 and f"{runs} runs added" in imported.stdout, imported


def records_of_run(folder, number, name, fingerprint="machine-a"):
    """The samples of each process of what run_file wrote."""
    records = json.loads((folder / f"run{number}{fingerprint}.json").read_text())["records"]
    return [process["values"] for record in records if record["model"]["name"] == name for process in record["samples"]]


class Served:
    """A server on a free port."""

    def __init__(self, store, *arguments, **options):
        self.process = subprocess.Popen([HEADROOM, "serve", "--port", "0", "--store", str(store), *arguments], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
        line = self.process.stdout.readline()
        found = re.fullmatch(r"(http://127\.0\.0\.1:(\d+)/) until Ctrl-C\n", line)
        if not found:
            self.process.kill()
            raise AssertionError(f"{line!r}: {self.process.communicate()}")
        self.url, self.port = found.group(1), int(found.group(2))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def interrupt(self, number=signal.SIGINT):
        """Returns the exit code and the output."""
        os.kill(self.process.pid, number)
        said = self.process.communicate(timeout=20)
        return self.process.returncode, said
