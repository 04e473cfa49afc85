# SPDX-License-Identifier: Apache-2.0
"""What the tests of the runners on a GPU share: the programs in HEADROOM_BIN, and how such a test is skipped."""
import os
import pathlib
import subprocess
import sys
import unittest

BIN = pathlib.Path(os.environ["HEADROOM_BIN"])
HEADROOM = str(BIN / "headroom")
SKIP = 77  # what ctest takes for one
QUICK = ["--quick", "--processes", "1", "--no-store"]


def run(*arguments, timeout=300):
    return subprocess.run([HEADROOM, "run", *map(str, arguments)], capture_output=True, text=True, timeout=timeout,
                          stdin=subprocess.DEVNULL)


def why_not_listed(backends, **options):
    """Why the runners of `backends` cannot run here, in their words; empty where they can."""
    result = run("--list", "--backend", backends, **options)
    return "" if result.returncode == 0 else result.stderr.strip()


def main(reason):
    """Runs the tests of the program, or says the `reason` why not, where there is one."""
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIP)
    unittest.main()
