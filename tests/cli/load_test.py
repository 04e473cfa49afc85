# SPDX-License-Identifier: Apache-2.0
"""Under load, results are right or marked as uncertain. HEADROOM_LOADS: comparisons under each load."""
import contextlib
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import unittest

from command_line import HEADROOM, NATIVE, CommandLineTest, headroom, records_of, run_program

TIMES = int(os.environ.get("HEADROOM_LOADS", "1"))
IS_LONG = TIMES > 1
CPUS = len(os.sched_getaffinity(0))
STRESS = {
    "cpu": ["--cpu", str(CPUS), "--cpu-method", "matrixprod"],
    "memory": ["--stream", str(CPUS)],
    "io": ["--hdd", "2", "--hdd-bytes", "64m", "--iomix", "1", "--iomix-bytes", "64m"],
}
# Some milliseconds of CPU time, and 1.5 times as much.
LOOPS, MORE = 6000, 9000
# More misses of a 95 % interval have a chance of 1 in 10,000.
PROMISED, CHANCE = 0.05, 1e-4


def most(times):
    """Returns the most misses that are consistent with the promise."""
    allowed, tail = 0, 1.0
    while True:
        tail -= math.comb(times, allowed) * PROMISED**allowed * (1 - PROMISED)**(times - allowed)
        if tail < CHANCE or allowed == times:
            return allowed
        allowed += 1


@contextlib.contextmanager
def stressed(kind):
    with tempfile.TemporaryDirectory() as folder:
        with subprocess.Popen(["stress-ng", *STRESS[kind], "--temp-path", folder, "--timeout", "3600"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                time.sleep(0.5)
                yield []
            finally:
                process.terminate()
                process.wait(30)


@contextlib.contextmanager
def throttled():
    """Yields words that start a command with 3 of 10 ms of one CPU."""
    is_v2 = pathlib.Path("/sys/fs/cgroup/cgroup.controllers").exists()
    group = pathlib.Path("/sys/fs/cgroup" if is_v2 else "/sys/fs/cgroup/cpu") / f"headroom-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        raise unittest.SkipTest(f"no control group can be made: {error}") from error
    try:
        try:
            if is_v2:
                (group / "cpu.max").write_text("3000 10000")
            else:
                (group / "cpu.cfs_period_us").write_text("10000")
                (group / "cpu.cfs_quota_us").write_text("3000")
        except OSError as error:
            raise unittest.SkipTest(f"a control group takes no quota: {error}") from error
        yield ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$0" "$@"']
    finally:
        end = time.monotonic() + 5
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                group.rmdir()
                break
            time.sleep(0.05)


class LoadTest(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.spin = self.script("spin", "i=0\nwhile [ $i -lt $1 ]; do i=$((i+1)); done")
        self.environment = {**os.environ, "XDG_DATA_HOME": str(self.folder / "data"), "XDG_STATE_HOME": str(self.folder / "state")}

    def call(self, start, *words):
        if not start:
            return headroom(*words, "--no-store", env=self.environment)
        return run_program(*start, HEADROOM, *words, "--no-store", env=self.environment)

    def compared(self, start, other, seconds):
        """Returns verdict and interval of `headroom ab`."""
        result = self.call(start, "ab", f"{self.spin} {LOOPS}", f"{self.spin} {other}", "--max-time", seconds, "--margin", "1%")
        self.assert_exit(result, 0)
        found = re.search(r"x the time of .* \(95 % interval ([0-9.]+) to ([0-9.]+)\): (.*)", result.stdout)
        self.assertTrue(found, result.stdout)
        return found[3], float(found[1]), float(found[2])

    def check_commands(self, start):
        """Interleaved commands."""
        wrong, seconds = [], "1s" if IS_LONG else "400ms"
        for _ in range(TIMES):
            verdict, low, high = self.compared(start, LOOPS, seconds)
            if verdict.startswith(("slower", "faster")):
                wrong.append((verdict, low, high))
            planted = self.compared(start, MORE, seconds)
            self.assertNotRegex(planted[0], "^(faster|the same)", planted)
        self.assertLessEqual(len(wrong), most(TIMES), wrong)

    def timed(self, name, start=(), loops=LOOPS):
        path = self.folder / name
        self.assert_exit(self.call(start, "time", f"{self.spin} {loops}", "--name", "x", "--runs", "60" if IS_LONG else "40", "--json", path), 0)
        return path

    def check_apart(self, start, quiet):
        """A run under load says so, and claims nothing."""
        for number in range(1 + TIMES // 5):
            loaded = self.timed(f"loaded{number}.json", start)
            result = headroom("diff", quiet, loaded, "--run-spread", "1%", "--json", "-")
            self.assert_exit(result, 0)  # without a gate
            one, = (one for one in json.loads(result.stdout)["comparisons"] if one["metric"] == "latency")
            is_claimed = one["verdict"] in ("regression", "improvement")
            self.assertTrue(not is_claimed or 0.8 < one["ratio"] < 1.25, (one, records_of(loaded)[0]["notes"]))

    def share(self, start, name):
        path = self.folder / name
        result = self.call(start, "run", "gemv", "--runner", NATIVE, "--backend", "native", "-a", "D=512", "-a", "dtype=bf16", "--max-time",
                           "1s" if IS_LONG else "400ms", "--threads", "1", "--json", path)
        self.assert_exit(result, 0)
        record = next(record for record in records_of(path) if record.get("limit"))
        return record, result

    def check_share(self, start, quiet):
        """The share of the limit is that of a quiet machine, or a note explains it."""
        record, result = self.share(start, "share.json")
        loaded, before = record["limit"].get("interval"), quiet["limit"].get("interval")
        if not loaded or not before or (loaded["low"] <= before["high"] and before["low"] <= loaded["high"]):
            return
        self.assertRegex(result.stdout, "other programs used these CPUs|CPU quota|hypervisor gave|limit itself moved", result.stderr)

    def test_beside_stress(self):
        if shutil.which("stress-ng") is None:
            self.skipTest("there is no stress-ng")
        quiet, (share, _) = self.timed("quiet.json"), self.share([], "quiet_share.json")
        for kind in STRESS:
            with self.subTest(kind), stressed(kind) as start:
                self.check_apart(start, quiet)
                if IS_LONG or kind == "cpu":
                    self.check_commands(start)
                    self.check_share(start, share)

    def test_under_a_quota(self):
        quiet, (share, _) = self.timed("quiet.json"), self.share([], "quiet_share.json")
        with throttled() as start:
            self.check_commands(start)
            self.check_apart(start, quiet)
            self.check_share(start, share)
            notes = records_of(self.timed("held.json", start))[0]["notes"]
            self.assertTrue(any(note.startswith("quota: ") for note in notes), notes)


if __name__ == "__main__":
    unittest.main()
