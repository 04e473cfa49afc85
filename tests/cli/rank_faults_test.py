# SPDX-License-Identifier: Apache-2.0
"""libtorch ranks lost in collectives."""
import os
import pathlib
import random
import signal
import socket
import time
import unittest

from command_line import CommandLineTest, clean_environment, free_port, needs_torch_rank, torch_ranks

RANKS = 3
KILLS = int(os.environ.get("HEADROOM_RANK_KILLS", "3"))
# Never ends.
ENDLESS = ["ddp", "--collectives", "--ranks", str(RANKS), "--min-bytes", "4K", "--max-bytes", "64K", "--max-time", "600s",
           "--iters", "1000000", "--no-store"]


def rank_of(pid):
    """The rank of a process, or None."""
    try:
        words = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return None
    return next((int(word[5:]) for word in words if word.startswith(b"RANK=")), None)


def ranks_of(pid):
    """Returns {rank: process id}."""
    return {rank_of(child): child for child in torch_ranks(pid) if rank_of(child) is not None}


@needs_torch_rank
class RankFaultsTest(CommandLineTest):
    def start(self, *arguments, env=None):
        return super().start(*arguments, env=env or clean_environment())

    def ranks_once_started(self, program):
        self.wait_for(lambda: len(ranks_of(program.pid)) == RANKS)
        return ranks_of(program.pid)

    def end_of(self, program, ranks, seconds):
        """Returns standard error; nothing may be left."""
        began = time.monotonic()
        stderr = self.assert_ends(program, 2, timeout=seconds).stderr
        self.assertLess(time.monotonic() - began, seconds)
        for pid in ranks.values():
            self.assertFalse(os.path.exists(f"/proc/{pid}"), "a rank was left")
        return stderr

    def test_a_rank_that_is_killed_at_any_moment_is_named(self):
        moments = random.Random(os.environ.get("HEADROOM_RANK_SEED"))
        for kill in range(KILLS):
            victim, moment = moments.randrange(RANKS), moments.uniform(0, 4)
            with self.subTest(kill=kill, victim=victim, moment=moment):
                program = self.start(*ENDLESS, "--timeout", "30s")
                ranks = self.ranks_once_started(program)
                time.sleep(moment)
                os.kill(ranks[victim], signal.SIGKILL)
                stderr = self.end_of(program, ranks, 35)
                self.assertIn(f"rank {victim} of {RANKS} was killed by signal 9", stderr)

    def test_a_rank_that_sleeps_is_named_with_who_waits_for_it(self):
        # Between calls nobody waits; on a busy machine it starts late.
        for moment in (4, 5, 10, 20, 30):
            program = self.start(*ENDLESS, "--max-bytes", "4M", "--min-bytes", "4M", "--timeout", f"{2 * moment}s")
            ranks = self.ranks_once_started(program)
            time.sleep(moment)
            os.kill(ranks[1], signal.SIGSTOP)
            stderr = self.end_of(program, ranks, 20 + 4 * moment)
            self.assertIn("rank 1 is stopped by a signal", stderr)
            if "waited for" in stderr:
                break
        self.assertRegex(stderr, r"ranks? \d(, \d)* ha(s|ve) waited for .* in \w+ \d+ of 'collectives'")
        # Or it had contributed to the call.
        self.assertRegex(stderr, r"rank 1 (did not arrive: its last was|.*, running for)|ranks? (0, )?1(, 2)? ha(s|ve) waited for")
        self.assertIn("last collectives of each rank:", stderr)

    def test_a_second_job_at_the_same_port_takes_another(self):
        brief = ["ddp", "--collectives=broadcast", "--ranks", "2", "--min-bytes", "4", "--max-bytes", "4", "--max-time", "1s",
                 "--no-store", "--port", free_port()]
        for program in [self.start(*brief), self.start(*brief)]:
            self.assert_ends(program, 0)

    def test_a_second_job_at_a_launchers_port_is_told(self):
        with socket.socket() as taken:
            taken.bind(("0.0.0.0", 0))
            taken.listen()
            # LOCAL_WORLD_SIZE would move the meeting place.
            place = {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1",
                     "MASTER_PORT": str(taken.getsockname()[1])}
            program = self.start("ddp", "--collectives", "--no-store", "--timeout", "5s",
                                 env={**clean_environment(), **place})
            self.assert_ends(program, 2, stderr=("rank 0 cannot listen at 127.0.0.1", "choose another MASTER_PORT"))


if __name__ == "__main__":
    unittest.main()
