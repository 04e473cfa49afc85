# SPDX-License-Identifier: Apache-2.0
"""A history that another process holds never outlasts one Ctrl-C, and a pipe among files that are looked through hangs nothing.

HEADROOM_LOCKS: how often each command is interrupted.
"""
import json
import os
import signal
import sqlite3
import subprocess
import time
import unittest
import urllib.error
import urllib.request

from command_line import BRIEF, FAULTY, CommandLineTest, headroom

LOCKS = int(os.environ.get("HEADROOM_LOCKS", "1"))
# Limit on ending after Ctrl-C.
SECONDS = 2
COMMANDS = {
    "time": ("time", "--runs", "3", "true"),
    "ab": ("ab", "--runs", "3", "true", "/bin/true"),
    "run": ("run", "fine", "--runner", FAULTY, "--no-limits", *BRIEF),
}


class HistoryLocks(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.store, self.json = self.folder / "history.sqlite", self.folder / "results.json"
        self.environment = {**os.environ, "HOME": str(self.folder), "XDG_DATA_HOME": str(self.folder / "data"),
                            "XDG_STATE_HOME": str(self.folder / "state")}
        self.call("time", "--runs", "3", "true")

    def call(self, *words):
        result = self.assert_exit(headroom(*words, "--store", self.store, env=self.environment), 0)
        return result

    def lock(self, *before):
        connection = sqlite3.connect(self.store, isolation_level=None)
        self.addCleanup(connection.close)
        for statement in (*before, "BEGIN EXCLUSIVE"):
            connection.execute(statement)
        return connection

    def lock_out_readers(self):
        return self.lock("PRAGMA locking_mode = EXCLUSIVE", "PRAGMA user_version")

    def start(self, *words):
        return super().start(*words, "--store", self.store, env=self.environment)

    def interrupt(self, process):
        """One Ctrl-C; returns what was printed, the exit code, and the seconds that it took."""
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=60)
        return out, error, time.monotonic() - start

    def waiting(self):
        return sorted((self.folder / "data" / "headroom" / "outbox").glob("*/*.json"))

    def runs(self):
        return len(json.loads(self.call("history", "--runs", "1000", "--json", "-").stdout)["runs"])

    def test_one_interrupt_ends_a_command_that_waits_to_keep_its_results(self):
        for words in COMMANDS.values():
            for _ in range(LOCKS):
                before, lock = self.runs(), self.lock()
                process = self.start(*words)
                while "─" not in (line := process.stdout.readline()):
                    self.assertTrue(line, "ended without a table")
                time.sleep(1.2)
                self.assertIsNone(process.poll(), "it waits for the lock")
                _, error, seconds = self.interrupt(process)
                self.assertLess(seconds, SECONDS)
                self.assertIn("is locked: another process holds it", error)
                self.assertEqual(process.returncode, 2)
                self.assertEqual(len(self.waiting()), 1)
                lock.close()
                self.call("time", "--runs", "3", "true")
                self.assertEqual((self.runs(), self.waiting()), (before + 2, []))

    def test_one_interrupt_while_measuring_is_enough(self):
        self.lock()
        process = self.start("time", "--max-time", "60s", "sleep 0.05")
        time.sleep(1)
        out, error, seconds = self.interrupt(process)
        self.assertLess(seconds, SECONDS)
        self.assertIn("─", out)
        self.assertEqual(len(self.waiting()), 1, error)

    def test_runs_that_wait_are_those_of_one_file(self):
        lock = self.lock()
        process = self.start(*COMMANDS["time"])
        process.stdout.readline()
        self.interrupt(process)
        lock.close()
        other = headroom("time", "--runs", "3", "true", "--store", "history.sqlite", env=self.environment, cwd=self.other())
        self.assert_exit(other, 0)
        self.assertEqual(len(self.waiting()), 1, "another history.sqlite in another folder")
        self.assert_exit(headroom("time", "--runs", "3", "true", "--store", "history.sqlite", env=self.environment, cwd=self.folder), 0)
        self.assertEqual(self.waiting(), [])

    def other(self):
        (self.folder / "other").mkdir()
        return self.folder / "other"

    def test_the_server_says_that_the_history_is_locked(self):
        process = self.start("serve", "--port", "0")
        address = process.stdout.readline().split()[0]
        with urllib.request.urlopen(address, timeout=10) as page:
            self.assertEqual(page.status, 200)
        self.lock_out_readers()
        start = time.monotonic()
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(address + "series/1.html", timeout=30)
        self.assertLess(time.monotonic() - start, 5)
        self.assertIn("is locked", refused.exception.read().decode())
        asker = subprocess.Popen(["python3", "-c", f"import urllib.request; urllib.request.urlopen('{address}series/1.html', timeout=30)"],
                                 stderr=subprocess.DEVNULL)
        self.addCleanup(asker.wait)
        time.sleep(0.5)
        _, _, seconds = self.interrupt(process)
        self.assertLess(seconds, 1)

    def test_a_server_that_finds_it_locked_says_so_and_ends(self):
        self.lock_out_readers()
        start = time.monotonic()
        process = self.start("serve", "--port", "0")
        self.assert_ends(process, 2, stderr="is locked: another process holds it")
        self.assertLess(time.monotonic() - start, 5)

    def test_pipes_among_journals_and_runs_that_wait_hang_nothing(self):
        journals = self.folder / "state" / "headroom" / "journal"
        journals.mkdir(parents=True, exist_ok=True)
        for name in ("0000000000000001-1.journal", "9999999999999999-1.journal"):
            os.mkfifo(journals / name)
        (journals / "5.journal").symlink_to(journals / "0000000000000001-1.journal")
        lock = self.lock()
        process = self.start(*COMMANDS["time"])
        process.stdout.readline()
        self.interrupt(process)
        lock.close()
        waiting, = self.waiting()
        os.mkfifo(waiting.parent / "0.json")
        self.call(*COMMANDS["time"])
        self.assert_exit(headroom("show", "@unfinished", env=self.environment, timeout=20), 0)
        process = self.start("serve", "--port", "0")
        address = process.stdout.readline().split()[0]
        with urllib.request.urlopen(address + "live.json", timeout=10) as page:
            self.assertEqual(page.status, 200)
        self.assertLess(self.interrupt(process)[2], SECONDS)


if __name__ == "__main__":
    unittest.main()
