# SPDX-License-Identifier: Apache-2.0
"""A history in PostgreSQL that is stopped, silent or locked: nothing waits for ever, and no run is lost.

Started by with_postgresql.py, whose server is in HEADROOM_TEST_POSTGRESQL. HEADROOM_OUTAGES: how often the server falls silent.
"""
import ctypes
import ctypes.util
import json
import os
import random
import re
import signal
import socket
import subprocess
import threading
import time
import unittest
import urllib.error
import urllib.request

from command_line import HEADROOM, CommandLineTest, headroom
from history_crowd import check_crowd
from site_history import Served, fill

URL = os.environ["HEADROOM_TEST_POSTGRESQL"]
SOCKETS = re.search("host=([^&]*)", URL).group(1)
OUTAGES = int(os.environ.get("HEADROOM_OUTAGES", "8"))
MEASURE = ("time", "--runs", "5", "true")
SECONDS = 1


class SilentProxy:
    """In front of the server: after `count` bytes of answers it passes nothing on, and keeps the connection."""

    def __init__(self, folder, count):
        self.left, self.url = count, URL.replace(SOCKETS, str(folder))
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(folder / ".s.PGSQL.5432"))
        self.listener.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(f"{SOCKETS}/.s.PGSQL.5432")
            for source, to, counts in ((client, server, False), (server, client, True)):
                threading.Thread(target=self.pass_on, args=(source, to, counts), daemon=True).start()

    def pass_on(self, source, to, counts):
        try:
            while data := source.recv(65536):
                if counts:
                    data, self.left = data[:max(0, self.left)], self.left - len(data)
                if self.left > 0 or not counts:
                    to.sendall(data)
        except OSError:
            pass


class Lock:
    """A session that holds the table of runs for itself."""

    def __enter__(self):
        self.pq = ctypes.CDLL(ctypes.util.find_library("pq") or "libpq.so.5")
        self.pq.PQconnectdb.restype = self.pq.PQexec.restype = ctypes.c_void_p
        self.connection = ctypes.c_void_p(self.pq.PQconnectdb(URL.encode()))
        self.pq.PQexec(self.connection, b"BEGIN")
        self.pq.PQexec(self.connection, b"LOCK TABLE headroom.runs IN ACCESS EXCLUSIVE MODE")
        return self

    def __exit__(self, *_):
        self.pq.PQfinish(self.connection)


class HistoryServerTest(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.environment = {**os.environ, "XDG_DATA_HOME": str(self.folder / "data"), "HEADROOM_STORE_TIMEOUT": f"{SECONDS}s"}
        self.proxies = 0

    def measure(self, url, *more):
        start = time.monotonic()
        result = headroom(*MEASURE, "--store", url, *more, env=self.environment, timeout=60)
        self.assertLess(time.monotonic() - start, 10)
        self.assertIn("true", result.stdout)
        return result

    def silent_after(self, count):
        self.proxies += 1
        folder = self.make_folder(f"p{self.proxies}")
        return SilentProxy(folder, count)

    def outbox(self):
        return list((self.folder / "data").rglob("outbox/*/*.json"))

    def runs(self):
        result = self.assert_exit(headroom("history", "export", "-", "--store", URL, env=self.environment), 0)
        return {environment["session"] for environment in json.loads(result.stdout)["environments"]}

    def test_a_server_that_falls_silent_anywhere_loses_nothing(self):
        self.assert_exit(self.measure(URL), 0)
        before, failed, chance = self.runs(), 0, random.Random(22)
        for _ in range(OUTAGES):
            proxy = self.silent_after(chance.randrange(3000))
            result = self.measure(proxy.url)
            self.assertIn(result.returncode, (0, 2), result.stderr)
            if result.returncode == 2:
                failed += 1
                self.assertRegex(result.stderr, "did not answer within 1 s")
                self.assertRegex(result.stderr, "the run is queued in '.*/outbox/.*json'")
                self.assertEqual(self.outbox()[-1].stat().st_mode & 0o777, 0o600)
            proxy.listener.close()
        self.assertGreater(failed, 0)
        # The files name the proxy's history, as if the server had moved back.
        for file in self.outbox():
            self.assert_exit(headroom("history", "import", file, "--store", URL, env=self.environment), 0)
        self.assertEqual(len(self.runs() - before), OUTAGES)

    def test_a_run_that_waited_is_delivered_once_with_the_next(self):
        self.assert_exit(self.measure(URL), 0)
        before = self.runs()
        with Lock():
            self.assert_exit(self.measure(URL), 2)
            self.assert_exit(self.measure(URL), 2)
        self.assertEqual(len(self.outbox()), 2)
        self.assertEqual(self.runs(), before)
        for count in (3, 4):
            self.assert_exit(self.measure(URL), 0)
            self.assertEqual(len(self.runs() - before), count)
            self.assertEqual(self.outbox(), [])

    def test_writers_and_readers_at_once(self):
        self.assert_exit(self.measure(URL), 0)
        self.environment["HEADROOM_STORE_TIMEOUT"] = "30s"
        check_crowd(self, URL, self.environment)
        self.assertEqual(self.outbox(), [])

    def test_one_that_is_not_there_is_told_at_once(self):
        self.assert_exit(self.measure(URL.replace(SOCKETS, str(self.folder))), 2)
        self.assertEqual(len(self.outbox()), 1)

    def test_by_default_that_fails_no_run(self):
        self.environment["HEADROOM_STORE"] = URL.replace(SOCKETS, str(self.folder))
        self.assert_exit(headroom(*MEASURE, env=self.environment), 0, stderr="not stored in the history")
        self.assertEqual(len(self.outbox()), 1)

    def test_the_first_interrupt_ends_the_wait(self):
        self.assert_exit(self.measure(URL), 0)
        self.environment["HEADROOM_STORE_TIMEOUT"] = "60s"
        with Lock():
            with subprocess.Popen([HEADROOM, *MEASURE, "--store", URL], env=self.environment, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True) as process:
                time.sleep(2)
                self.assertIsNone(process.poll())
                process.send_signal(signal.SIGINT)
                start = time.monotonic()
                output = process.communicate(timeout=20)[1]
                self.assertLess(time.monotonic() - start, 2)
        self.assertIn("interrupted while waiting for the server", output)
        self.assertEqual(len(self.outbox()), 1)

    def test_its_site_is_that_of_the_same_history_in_a_file(self):
        (self.folder / "runs").mkdir()
        fill(self.folder / "runs", self.folder / "history.sqlite", fingerprint="of a site")
        fill(self.folder / "runs", URL, fingerprint="of a site")
        site = {}
        for store in (self.folder / "history.sqlite", URL):
            folder = self.folder / f"site{len(site)}"
            for written in (True, False):
                result = headroom("history", "--site", folder, "--store", store, "--json", "-", env=self.environment)
                self.assert_exit(result, 0)
                self.assertEqual(json.loads(result.stdout)["written"] > 0, written)
            site[store] = {re.sub("@[0-9]+", "@", re.sub('"run":(\\[[^]]*\\]|[0-9]+)', "", page.read_text()))
                           for page in (folder / "series").iterdir() if "of a site" in page.read_text()}
            self.assertNotIn("hunter", (folder / ".headroom-site.json").read_text())
        self.assertEqual(len(site[URL]), 2)
        self.assertEqual(*site.values())

    def test_pages_outlive_a_server_that_is_locked_or_silent(self):
        (self.folder / "runs").mkdir()
        fill(self.folder / "runs", URL, fingerprint="of a server")
        proxy = self.silent_after(1 << 40)
        with Served(proxy.url, env=self.environment) as served:
            def get(path):
                start = time.monotonic()
                try:
                    with urllib.request.urlopen(served.url + path, timeout=20) as answer:
                        return answer.status, answer.read().decode(), time.monotonic() - start
                except urllib.error.HTTPError as error:
                    return error.code, error.read().decode(), time.monotonic() - start

            def wait_for_problem(words):
                end = time.monotonic() + 20
                while words not in (told := json.loads(get("live.json")[1])["problem"]) or bool(words) != bool(told):
                    self.assertLess(time.monotonic(), end, told)
                    time.sleep(0.2)

            page = re.search('series/[0-9]+.html', get("")[1]).group()
            self.assertEqual(get(page)[0], 200)
            with Lock():
                wait_for_problem("did not answer within 1 s")
                status, text, seconds = get("")
                self.assertEqual(status, 200)
                self.assertIn("of a server", text)
                self.assertLess(seconds, 10)
                self.assertEqual(get(page)[0], 503)
            wait_for_problem("")
            proxy.left = 0
            wait_for_problem("did not answer within 1 s")
            proxy.left = 1 << 40
            wait_for_problem("")
            self.assertEqual(get(page)[0], 200)
            self.assertEqual(served.interrupt()[0], 0)

    def test_its_password_is_nowhere(self):
        path = self.folder / "records.json"
        url = URL.replace("postgresql:///", "postgresql://me:hunter2@/") + "&password=hunter3"
        result = self.assert_exit(headroom(*MEASURE, "--store", url, "--json", path, env=self.environment), 0)
        output = result.stdout + result.stderr + path.read_text()
        output += headroom("history", "export", "-", "--store", URL, env=self.environment).stdout
        output += headroom("history", "--store", URL, env=self.environment).stdout
        self.assertNotIn("hunter", output)
        self.assertIn("me:***@", path.read_text())


if __name__ == "__main__":
    unittest.main()
