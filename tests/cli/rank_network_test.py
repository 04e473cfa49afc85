# SPDX-License-Identifier: Apache-2.0
"""Ranks on two hosts whose network goes away: both sides end within the time-out. Two network namespaces are the hosts,
the ranks need no libtorch. And ranks that meet others than those of their job: other programs, other users."""
import contextlib
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

from command_line import BIN, HEADROOM, CommandLineTest, clean_environment, free_port

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

    def start(self, rank, *arguments, **variables):
        place = {"RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1",
                 "MASTER_ADDR": ADDRESSES[0], "MASTER_PORT": PORT, **variables}
        program = subprocess.Popen(["ip", "netns", "exec", HOSTS[rank], HEADROOM, "ddp", "--runner", str(RANK), "--no-store",
                                    "--timeout", f"{TIMEOUT}s", *arguments],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean_environment(**place))
        self.addCleanup(program.kill)
        return program

    def test_both_sides_end_within_the_time_out(self):
        begun = self.folder / "begun"
        leader, follower = [self.start(rank, "--iters", "1000000", SCRIPTED_BEGUN=str(begun)) for rank in range(2)]
        self.wait_for(begun.exists, leader)
        for program in (leader, follower):
            self.assertIsNone(program.poll(), "ended too early")
        cut_cable()
        began = time.monotonic()
        of_leader, of_follower = (self.assert_ends(program, 2) for program in (leader, follower))
        # For rounding to seconds and the ranks' end.
        self.assertLess(time.monotonic() - began, TIMEOUT + 5)
        self.assertRegex(of_leader.stderr, "rank 1 of 2 (did not report|is gone: its connection broke)")
        self.assertRegex(of_follower.stderr, r"lost the connection to rank 0: .*; check rank 0's machine and the network")
        left = subprocess.run(["ip", "netns", "pids", HOSTS[1]], capture_output=True, text=True).stdout
        self.assertEqual(left, "", "processes were left")

    def test_a_leader_that_cannot_be_reached_is_told_within_the_time_out(self):
        cut_cable()
        began = time.monotonic()
        self.assert_ends(self.start(1), 2, stderr=f"rank 1 found no rank 0 at {ADDRESSES[0]}:{PORT} within {TIMEOUT} s")
        self.assertLess(time.monotonic() - began, TIMEOUT + 5)


class Job(CommandLineTest):
    """Two ranks that are started by hand, as a launcher would."""
    variables, user = {}, None

    def start(self, rank, *arguments, timeout="20s", **variables):
        place = {"RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": str(rank), **self.variables, **variables}
        as_user = {"user": self.user, "group": self.user, "extra_groups": []} if self.user else {}
        return super().start("dispatch", "--runner", RANK, "--op", "add", "--cycles", "40", "--max-time", "200ms",
                             "--min-time", "0", "--no-store", "--timeout", timeout, *arguments, cwd="/",
                             env=clean_environment(**place), **as_user)

    def end_of(self, program, code, *words):
        return self.assert_ends(program, code, stderr=words).stderr

    def assert_ranks_connect(self):
        for program in [self.start(1), self.start(0)]:
            self.assertEqual(self.end_of(program, 0), "")


def listener(family=socket.AF_INET, at=("127.0.0.1", 0)):
    server = socket.socket(family)
    server.bind(at)
    server.listen()
    return server


class RanksAmongOtherPrograms(Job):
    def setUp(self):
        super().setUp()
        self.taken = listener()
        self.addCleanup(self.taken.close)
        self.variables = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(self.taken.getsockname()[1])}

    def test_a_rank_whose_leader_does_not_come_ends_with_2(self):
        self.taken.close()
        for place in ({}, {"LOCAL_WORLD_SIZE": "2"}):
            stderr = self.end_of(self.start(1, timeout="300ms", **place), 2, "rank 1 found no rank 0 at ", "within 0.3 s")
            self.assertEqual(stderr.count("\n"), 1)
        self.end_of(self.start(0, timeout="300ms"), 2, "rank 1 of 2 did not connect within 0.3 s")

    def test_a_rank_that_waits_for_the_others_ends_on_ctrl_c(self):
        self.taken.close()
        for place in ({}, {"LOCAL_WORLD_SIZE": "3"}):
            leader, rank = [self.start(number, timeout="60s", WORLD_SIZE="3", **place) for number in range(2)]
            time.sleep(1)
            began = time.monotonic()
            for program in (rank, leader):
                self.assert_ends(program, 130, signal_number=signal.SIGINT)
            self.assertLess(time.monotonic() - began, 5)

    def test_a_rank_whose_leader_is_killed_ends_with_2(self):
        self.taken.close()
        begun = self.folder / "begun"
        for place in ({}, {"LOCAL_WORLD_SIZE": "2"}):
            begun.unlink(missing_ok=True)
            endless = ["--min-time", "600s", "--max-time", "600s"]
            leader, rank = [self.start(number, *endless, SCRIPTED_BEGUN=str(begun), **place) for number in range(2)]
            self.wait_for(begun.exists)
            leader.kill()
            leader.communicate()
            self.end_of(rank, 2, "rank 0")

    def test_a_port_that_another_program_has_is_told_by_both(self):
        rank = self.start(1)
        connection, _ = self.taken.accept()
        self.addCleanup(connection.close)
        began = time.monotonic()
        self.end_of(rank, 2, f"127.0.0.1:{self.variables['MASTER_PORT']}: the listener sends nothing",
                    "choose another MASTER_PORT")
        self.assertLess(time.monotonic() - began, 15, "long before the time-out")
        self.assertEqual(connection.recv(1), b"", "said something")
        self.end_of(self.start(0), 2, "rank 0 cannot listen at 127.0.0.1", "choose another MASTER_PORT")

    def test_a_program_that_greets_otherwise_is_told_and_hears_nothing(self):
        for sent, word in ((b"220 mail ESMTP\n", "does not answer like rank 0"), (b"", "closes the connection")):
            rank = self.start(1, timeout="2s")
            heard = b""
            self.taken.settimeout(0.2)
            while rank.poll() is None:
                with contextlib.suppress(OSError):
                    connection, _ = self.taken.accept()
                    connection.settimeout(5)
                    connection.sendall(sent)
                    connection.shutdown(socket.SHUT_WR)
                    heard += connection.recv(100)
                    connection.close()
            self.end_of(rank, 2, word)
            self.assertEqual(heard, b"")

    def test_the_token_is_not_on_the_wire(self):
        """Rank 1 reaches rank 0 through a relay that keeps all bytes."""
        port = free_port()
        self.variables["HEADROOM_RANK_TOKEN"] = "much too secret"
        leader, rank = self.start(0, MASTER_PORT=port), self.start(1)
        near, _ = self.taken.accept()
        for _ in range(400):
            with contextlib.suppress(OSError):
                far = socket.create_connection(("127.0.0.1", int(port)))
                break
            time.sleep(0.02)
        wire, ends = b"", {near: far, far: near}
        while ends:
            for end in select.select(list(ends), [], [], 30)[0]:
                some = end.recv(1 << 16)
                wire += some
                with contextlib.suppress(OSError):
                    (near if end is far else far).sendall(some) if some else (near if end is far else far).shutdown(socket.SHUT_WR)
                if not some:
                    del ends[end]
        for end in (near, far):
            end.close()
        for program in (leader, rank):
            self.end_of(program, 0)
        self.assertIn(b'"proof"', wire)
        self.assertIn(b"released", wire)  # at the end of the job
        self.assertNotIn(b"secret", wire)

    def test_a_token_that_differs_is_told(self):
        self.taken.close()
        ranks = [self.start(0, timeout="6s", HEADROOM_RANK_TOKEN="a"), self.start(1, HEADROOM_RANK_TOKEN="b")]
        self.end_of(ranks[1], 2, "does not prove that it has this rank's HEADROOM_RANK_TOKEN")
        self.end_of(ranks[0], 2, "rank 1 of 2 did not connect within 6 s", "refused")

    def test_the_environment_does_not_part_the_ranks_of_one_machine(self):
        self.variables["LOCAL_WORLD_SIZE"] = "2"
        for name in ("XDG_RUNTIME_DIR", "TMPDIR", "HOME"):
            programs = [self.start(1, **{name: str(self.folder)}), self.start(0)]
            for program in programs:
                self.end_of(program, 0)

    def test_an_abstract_socket_of_the_job_stops_nobody(self):
        """Where ranks met before, and any user could be first."""
        self.variables["LOCAL_WORLD_SIZE"] = "2"
        name = f"headroom/{os.getuid()}/torchrun/127.0.0.1:{self.variables['MASTER_PORT']}"
        with contextlib.closing(listener(socket.AF_UNIX, f"\0{name}")) as planted:
            self.assert_ranks_connect()
            planted.settimeout(0)
            self.assertRaises(BlockingIOError, planted.accept)


USER = 64321  # nobody's


@unittest.skipUnless(os.geteuid() == 0, "not root: cannot be another user")
class RanksAmongOtherUsers(Job):
    user, meeting = USER, pathlib.Path(f"/tmp/headroom-{USER}")

    def setUp(self):
        super().setUp()
        if subprocess.run([BIN / "headroom", "--version"], user=USER, group=USER, extra_groups=[], cwd="/",
                          stdout=subprocess.DEVNULL).returncode != 0:
            self.skipTest("another user cannot run the programs that are tested")
        self.remove_meeting()
        self.addCleanup(self.remove_meeting)
        self.folder.chmod(0o711)
        home = self.make_folder("home")
        os.chown(home, USER, USER)
        self.variables = {"LOCAL_WORLD_SIZE": "2", "TORCHELASTIC_RUN_ID": "strangers", "HOME": str(home),
                          **{f"XDG_{name}_HOME": str(home / name) for name in ("CACHE", "STATE", "DATA")}}

    def remove_meeting(self):
        if self.meeting.is_dir() and not self.meeting.is_symlink():
            shutil.rmtree(self.meeting)
        else:
            self.meeting.unlink(missing_ok=True)

    def socket_of_job(self):
        """Where the job's rank 0 listens, from a rank that does not find it."""
        stderr = self.end_of(self.start(1, timeout="100ms"), 2, str(self.meeting))
        return stderr.partition(f" {self.meeting}")[2].partition(" within")[0]

    def test_they_meet_in_a_folder_of_their_own_and_leave_no_socket(self):
        self.assert_ranks_connect()
        self.assertEqual((self.meeting.stat().st_uid, self.meeting.stat().st_mode & 0o7777), (USER, 0o700))
        self.assertEqual(list(self.meeting.iterdir()), [])

    def make_session(self):
        """What systemd does when a user logs in."""
        session = pathlib.Path(f"/run/user/{USER}")
        for folder in (session.parent, session):
            if not folder.exists():
                folder.mkdir()
                self.addCleanup(shutil.rmtree, folder)
        session.chmod(0o700)
        os.chown(session, USER, USER)
        return session

    def test_they_meet_in_the_folder_of_their_session_where_there_is_one(self):
        session = self.make_session()
        self.meeting.mkdir(mode=0o777)  # another user's
        self.assert_ranks_connect()
        self.assertEqual((session / "headroom").stat().st_mode & 0o7777, 0o700)
        self.remove_meeting()
        session.chmod(0o755)
        self.assert_ranks_connect()
        self.assertTrue(self.meeting.exists(), "met where others may enter")

    def test_a_login_between_does_not_part_them(self):
        leader = self.start(0)
        self.wait_for(lambda: self.meeting.exists() and list(self.meeting.iterdir()))
        self.make_session()
        for program in (self.start(1), leader):
            self.end_of(program, 0)

    def test_a_folder_of_another_user_is_refused_by_both(self):
        self.meeting.mkdir(mode=0o777)
        for mode in (0o777, 0o700):
            self.meeting.chmod(mode)
            for rank in range(2):
                self.end_of(self.start(rank), 2, f"the ranks cannot meet in '{self.meeting}'", "belongs to user 0")
        self.assertEqual(list(self.meeting.iterdir()), [])

    def test_a_folder_that_lets_others_in_is_refused_by_both(self):
        self.meeting.mkdir()
        os.chown(self.meeting, USER, USER)
        for mode in (0o755, 0o701, 0o720):
            self.meeting.chmod(mode)
            for rank in range(2):
                self.end_of(self.start(rank), 2, f"its mode {mode:04o} lets other users in", "chmod 700")

    def test_a_link_or_a_file_in_its_place_is_refused(self):
        own = self.folder / "own"
        own.mkdir(mode=0o700)
        os.chown(own, USER, USER)
        for plant in (lambda: self.meeting.symlink_to(own), self.meeting.touch):
            plant()
            for rank in range(2):
                self.end_of(self.start(rank), 2, f"the ranks cannot meet in '{self.meeting}'", "not a folder")
            self.remove_meeting()

    def test_a_socket_of_another_user_hears_nothing(self):
        self.assert_ranks_connect()
        path = f"{self.meeting}{self.socket_of_job()}"
        with contextlib.closing(listener(socket.AF_UNIX, path)) as planted:
            os.chmod(path, 0o777)
            self.end_of(self.start(1), 2, f"it belongs to user 0, not to this one ({USER})", path)
            connection, _ = planted.accept()
            self.addCleanup(connection.close)
            connection.settimeout(5)
            self.assertEqual(connection.recv(1), b"")
            self.end_of(self.start(0), 2, "rank 0 cannot listen at", "end the other job")

    def test_another_user_who_connects_first_is_no_rank(self):
        self.assert_ranks_connect()
        path = f"{self.meeting}{self.socket_of_job()}"
        leader = self.start(0)
        intruder = socket.socket(socket.AF_UNIX)
        for _ in range(400):
            with contextlib.suppress(OSError):
                intruder.connect(path)
                break
            time.sleep(0.02)
        intruder.settimeout(10)
        self.assertEqual(intruder.recv(1), b"", "was greeted")
        intruder.close()
        for program in (self.start(1), leader):
            self.end_of(program, 0)


if __name__ == "__main__":
    unittest.main()
