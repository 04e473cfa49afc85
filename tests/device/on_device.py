# SPDX-License-Identifier: Apache-2.0
"""Shared by the GPU runners' tests: the programs in HEADROOM_BIN, and skipping."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BIN = pathlib.Path(os.environ["HEADROOM_BIN"])
HEADROOM = str(BIN / "headroom")
SKIP = 77  # ctest's exit code for a skipped test
QUICK = ["--quick", "--processes", "1", "--no-store"]


def run(*arguments, timeout=300):
    return subprocess.run([HEADROOM, "run", *map(str, arguments)], capture_output=True, text=True, timeout=timeout,
                          stdin=subprocess.DEVNULL)


def why_not_listed(backends, **options):
    """Returns why the runners of `backends` cannot run here, in their words, or an empty text."""
    result = run("--list", "--backend", backends, **options)
    return "" if result.returncode == 0 else result.stderr.strip()


class CasesTest(unittest.TestCase):
    """Compares cases of other runners with headroom-cuda's."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def cases(self, *arguments):
        """Returns the records of each case by metric: {(axes, backend): {"latency": record}}."""
        file = self.folder / "records.json"
        result = run(*arguments, "--json", file, *QUICK, timeout=600)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.text = result.stdout
        found = {}
        for record in json.loads(file.read_text())["records"]:
            case = (tuple(map(str, record["axes"].values())), record["model"]["backend"])
            found.setdefault(case, {})[record["metric"]["name"]] = record
        return found

    @staticmethod
    def work(metrics):
        """Returns the work per iteration in the units of each rate."""
        times = metrics["latency"]["samples"][0]["values"]
        return {name: metrics[name]["samples"][0]["values"][0] * times[0]
                for name in ("memory_bandwidth(GB/s)", "GFLOP/s", "GOP/s") if name in metrics}

    def assert_beside_the_kernels(self, found):
        """Checks that all of `found` are correct, within the device's limits, and do the same work as cuda."""
        self.assertIn("x the time of cuda", self.text)
        for (point, backend), metrics in found.items():
            with self.subTest(point=point, backend=backend):
                record = metrics["latency"]
                self.assertEqual(record["outcome"]["kind"], "measured", record["outcome"])
                self.assertTrue(record["verified"])
                self.assertEqual(record["device"], "cuda")
                self.assertTrue(record["model"]["extra_info"]["gpu"])
                work, expected = self.work(metrics), self.work(found[(point, "cuda")])
                self.assertTrue(work)
                self.assertEqual(work.keys(), expected.keys())
                for rate, amount in work.items():
                    self.assertAlmostEqual(amount / expected[rate], 1, delta=1e-6)
                if record.get("limit"):
                    self.assertLess(record["limit"]["fraction"], 1.05, record["limit"])


def main(reason):
    """Runs the tests, or prints `reason` and skips them."""
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIP)
    unittest.main()
