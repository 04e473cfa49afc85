# SPDX-License-Identifier: Apache-2.0
"""`headroom dispatch` on libtorch ranks."""
import json
import os
import shutil
import signal
import socket
import subprocess
import time
import unittest

from command_line import (HEADROOM, TORCH_RANK, CommandLineTest, clean_environment, free_port, headroom,
                          needs_torch_rank, records_of, run_program, shape_of, torch_ranks)

TORCHRUN = os.environ.get("HEADROOM_TORCHRUN") or shutil.which("torchrun")
BRIEF = ["--max-time", "100ms", "--min-time", "0", "--cycles", "10", "--repeats", "3", "--no-store", "--shape", "32x32"]


def dispatch(*arguments):
    return headroom("dispatch", *BRIEF, *arguments, env=clean_environment())


@needs_torch_rank
class DispatchTorchTest(CommandLineTest):
    def test_answers_carry_the_ids_of_their_requests(self):
        ours, theirs = socket.socketpair()
        environment = clean_environment(RANK="0", WORLD_SIZE="1", LOCAL_RANK="0", LOCAL_WORLD_SIZE="1", HEADROOM_FD=str(theirs.fileno()))
        with ours, subprocess.Popen([TORCH_RANK], env=environment, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL) as process:
            theirs.close()
            with ours.makefile("rw") as lines:
                self.assertTrue(json.loads(lines.readline())["ids"])
                lines.write('{"do": "describe", "id": 7}\n{"do": "meet", "timeout_s": 20, "id": 8}\n{"do": "describe", "id": 9}\n')
                lines.flush()
                replies = [json.loads(lines.readline()) for _ in range(3)]
            ours.shutdown(socket.SHUT_RDWR)
            self.assertEqual(process.wait(30), 0)
        self.assertEqual([reply["id"] for reply in replies], [7, 8, 9])
        self.assertIn("not connected", replies[0]["error"])
        self.assertIn("experiments", replies[2])

    def test_every_operator_is_measured_on_two_ranks(self):
        listed = self.assert_exit(dispatch("--list", "--ranks", "1"), 0)
        ops = [line.split()[0] for line in listed.stdout.splitlines()[2:]]
        self.assertGreaterEqual(len(ops), 12)
        file = self.folder / "records.json"
        self.assert_exit(dispatch("--ranks", "2", "--op", ",".join(ops), "--json", file), 0)
        measured = {record["model"]["name"]: record for record in records_of(file)
                    if record["metric"]["name"] == "miss"}
        self.assertEqual(set(measured), set(ops))
        for name, record in measured.items():
            self.assertEqual(len(record["samples"]), 2, name)
            cache = record["model"]["extra_info"]["cache"]
            if name in ("redistribute", "from_local", "full"):
                self.assertEqual(cache, "0 hits, 0 misses, 0 plans")
            else:
                self.assertRegex(cache, r"^[1-9]\d* hits, [1-9]\d* misses, [1-9]\d* plans$", name)

    def test_meshes_and_placements(self):
        for arguments in (["--ranks", "1"], ["--ranks", "2", "--placements", "R"], ["--ranks", "2", "--placements", "S(1)"],
                          ["--ranks", "2", "--placements", "P"], ["--mesh", "2x2", "--placements", "S(0),S(1)"]):
            with self.subTest(arguments=arguments):
                self.assert_exit(dispatch("--op", "add,sum,detach", *arguments), 0, "hit ±95 %")

    def test_what_an_operator_does_not_take_is_its_own_failure(self):
        result = self.assert_exit(dispatch("--op", "mm,add", "--ranks", "1", "--shape", "8x8x8"), 1,
                                  "FAILED: mm: mm needs a matrix")
        self.assertRegex(result.stdout, r"(?m)^add .*µs|^add .*ns")

    def test_nccl_is_refused_where_there_is_none(self):
        if os.path.exists("/dev/nvidiactl"):
            self.skipTest("this machine has a GPU")
        result = self.assert_exit(dispatch("--op", "add", "--ranks", "1", "--backend", "nccl"), 2)
        self.assertRegex(result.stderr, r"headroom: (this headroom-torch-rank has no nccl|nccl needs a GPU)")
        self.assertIn("leave --backend out", result.stderr)

    def lose_a_rank(self, signal_number, timeout):
        program = self.start("dispatch", "--op", "add", "--ranks", "2", "--cycles", "1000000", "--max-time", "300s",
                             "--timeout", timeout, "--no-store", env=clean_environment())
        self.wait_for(lambda: len(torch_ranks(program.pid)) == 2)
        ranks = torch_ranks(program.pid)
        time.sleep(2.5)  # starting takes about a second
        os.kill(ranks[1], signal_number)
        stderr = self.assert_ends(program, 2, timeout=90).stderr
        for rank in ranks:
            self.assertFalse(os.path.exists(f"/proc/{rank}"), "a rank was left")
        return stderr

    def test_a_rank_that_is_killed_is_named(self):
        self.assertIn("rank 1 of 2 was killed by signal 9", self.lose_a_rank(signal.SIGKILL, "60s"))

    def test_a_rank_that_is_stopped_is_named_within_the_time_out(self):
        self.assertIn("rank 1 is stopped by a signal", self.lose_a_rank(signal.SIGSTOP, "6s"))

    def records_under(self, *launcher):
        """Compares the shape of records with and without the launcher."""
        ours, theirs = self.folder / "ours.json", self.folder / "theirs.json"
        self.assert_exit(dispatch("--op", "add,full", "--ranks", "4", "--json", ours), 0)
        self.assert_exit(run_program(*launcher, HEADROOM, "dispatch", *BRIEF, "--op", "add,full", "--json", theirs,
                                     env=clean_environment()), 0)
        self.assertEqual(len(records_of(ours)[0]["samples"]), 4)
        self.assertEqual(shape_of(ours), shape_of(theirs))

    @unittest.skipUnless(shutil.which("mpirun"), "no mpirun here")
    def test_under_mpirun_the_records_are_the_same(self):
        self.records_under("mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "4")

    @unittest.skipUnless(TORCHRUN, "no torchrun here: neither in PATH nor named by HEADROOM_TORCHRUN")
    def test_under_torchrun_the_records_are_the_same(self):
        # Under Python 3.11 torchrun 1.13 needs a redirection: of a rank that does not exist.
        self.records_under(TORCHRUN, "--nproc_per_node=4", f"--master_port={free_port()}", "--redirects=4:1", "--tee=4:1",
                           "--no_python")


if __name__ == "__main__":
    unittest.main()
