# SPDX-License-Identifier: Apache-2.0
"""Shared: a scratch folder, and runs of headroom with scripts in it."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

HEADROOM = os.environ["HEADROOM"]
BRIEF = ("--max-time", "100ms", "--min-time", "0", "--processes", "1", "--threads", "1", "--no-store", "--no-limits")

# headroom whose `diff` ignores noise of other programs and the hypervisor.
QUIET_DIFF = """#!{python}
import json, os, sys
for path in sys.argv[2:] if sys.argv[1] == "diff" else ():
    if os.path.isfile(path):
        whole = json.load(open(path))
        for record in whole["records"]:
            record.pop("busy_cpus", None)
            record["notes"], record["note_values"] = [], []
            for process in record.get("samples", ()):
                process.pop("noise", None)
        json.dump(whole, open(path, "w"))
os.execv("{program}", ["headroom", *sys.argv[1:]])
"""


class ScratchTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    def quiet_headroom(self):
        path = self.write("quiet_headroom", QUIET_DIFF.format(python=sys.executable, program=HEADROOM))
        path.chmod(0o755)
        return path

    def call(self, *command, environment=None, timeout=120, cwd=None):
        told = {"HEADROOM_PYTHON": sys.executable, **os.environ, **(environment or {})}
        return subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=cwd or self.folder, check=False, timeout=timeout,
                              stdin=subprocess.DEVNULL, env=told)

    def measure(self, *arguments, **options):
        """Returns (exit code, records, standard error)."""
        result = self.call(HEADROOM, "run", *arguments, *BRIEF, "--json", "-", **options)
        records = json.loads(result.stdout)["records"] if result.stdout.strip() else []
        return result.returncode, records, result.stderr

    def measured(self, *arguments, code=0, **options):
        """Returns (records, standard error) of a run that ends with `code`."""
        ended, records, said = self.measure(*arguments, **options)
        self.assertEqual(ended, code, f"{arguments}: {said}")
        return records, said

    def assert_exit(self, result, code, *words, stderr=()):
        """Requires the exit code, `words` on standard output and those on standard error; returns `result`."""
        self.assertEqual(result.returncode, code, f"{result.args}\nstdout:\n{result.stdout}\nstderr:\n{result.stderr}")
        for expected, output in ((words, result.stdout), ([stderr] if isinstance(stderr, str) else stderr, result.stderr)):
            for word in expected:
                self.assertIn(word, output)
        return result

    def one(self, records, backend="python", metric=None):
        """Returns the record of a backend and metric."""
        found = [record for record in records if record["model"]["backend"] == backend and
                 (metric is None or record["metric"]["name"] == metric)]
        self.assertTrue(found, f"no {backend} {metric} in {[(r['model'], r['metric']) for r in records]}")
        return found[0]
