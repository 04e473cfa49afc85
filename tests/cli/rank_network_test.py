# SPDX-License-Identifier: Apache-2.0
"""Ranks on two hosts whose network goes away: both sides end within the time-out. Two network namespaces are the hosts,
the ranks need no libtorch."""
import pathlib
import subprocess
import sys
import time
import unittest

from command_line import HEADROOM, CommandLineTest, clean_environment

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "bench"))
from two_namespaces import ADDRESSES, HOSTS, cable, can_be_made, cut_cable, hosts  # noqa: E402

RANK = pathlib.Path(__file__).with_name("scripted_rank.py")
TIMEOUT = 3
PORT = "29540"


@unittest.skipUnless(can_be_made(), "no network namespaces: needs root, and a kernel that lets it make them")
class RankNetworkTest(CommandLineTest):
    def setUp(self):
        super().setUp()
        for part in (hosts(), cable()):
            part.__enter__()
            self.addCleanup(part.__exit__, None, None, None)

    def start(self, rank, *arguments):
        place = {"RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1",
                 "MASTER_ADDR": ADDRESSES[0], "MASTER_PORT": PORT}
        program = subprocess.Popen(["ip", "netns", "exec", HOSTS[rank], HEADROOM, "ddp", "--runner", str(RANK), "--no-store",
                                    "--timeout", f"{TIMEOUT}s", *arguments],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean_environment(**place))
        self.addCleanup(program.kill)
        return program

    def test_both_sides_end_within_the_time_out(self):
        report = self.folder / "report.json"
        leader, follower = [self.start(rank, "--iters", "1000000", "--json", str(report)) for rank in range(2)]
        for _ in range(400):
            if report.exists():  # a step is done: the other is in its middle
                break
            time.sleep(0.05)
        time.sleep(0.5)
        for program in (leader, follower):
            self.assertIsNone(program.poll(), "ended too early")
        cut_cable()
        began = time.monotonic()
        outputs = [program.communicate(timeout=60) for program in (leader, follower)]
        # What the kernels round up to whole seconds, and the processes of the ranks to end.
        self.assertLess(time.monotonic() - began, TIMEOUT + 5)
        self.assertEqual(leader.returncode, 2, outputs[0])
        self.assertRegex(outputs[0][1], "rank 1 of 2 (did not give|is gone: its connection broke)")
        self.assertEqual(follower.returncode, 2, outputs[1])
        self.assertRegex(outputs[1][1], r"the connection to rank 0 broke: .*; see whether rank 0's machine and the network run")
        left = subprocess.run(["ip", "netns", "pids", HOSTS[1]], capture_output=True, text=True).stdout
        self.assertEqual(left, "", "processes were left")

    def test_a_leader_that_cannot_be_reached_is_told_within_the_time_out(self):
        cut_cable()
        began = time.monotonic()
        follower = self.start(1)
        _, stderr = follower.communicate(timeout=60)
        self.assertLess(time.monotonic() - began, TIMEOUT + 5)
        self.assertEqual(follower.returncode, 2, stderr)
        self.assertIn(f"rank 1 found no rank 0 at {ADDRESSES[0]}:{PORT} within {TIMEOUT} s", stderr)


if __name__ == "__main__":
    unittest.main()
