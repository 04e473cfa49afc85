# SPDX-License-Identifier: Apache-2.0
"""`headroom serve`."""
import concurrent.futures
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import threading
import time
import unittest

from command_line import HEADROOM, CommandLineTest, headroom
from site_history import Served, fill, record, run_file


class ServeTest(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.store = self.folder / "history.sqlite"

    def serve(self, *arguments, **options):
        served = Served(self.store, *arguments, **options)
        self.addCleanup(served.__exit__)
        return served

    def ask(self, served, path, method="GET", host=None, headers=()):
        """Returns status, headers and body."""
        connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=30)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name in [f"127.0.0.1:{served.port}"] if host is None else host:
            connection.putheader("Host", name)
        for name, value in headers:
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        body = answer.read().decode()
        connection.close()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, body

    def live(self, served):
        status, _, body = self.ask(served, "/live.json")
        self.assertEqual(status, 200)
        return json.loads(body)

    def wait_for(self, served, test, seconds=20):
        """Waits until `test` holds of live.json, and returns it."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            told = self.live(served)
            if test(told):
                return told
            time.sleep(0.1)
        self.fail(f"still {told}")

    def test_pages_and_what_they_load(self):
        fill(self.folder, self.store)
        served = self.serve()
        status, headers, page = self.ask(served, "/")
        self.assertEqual((status, headers["content-type"]), (200, "text/html; charset=utf-8"))
        self.assertEqual((headers["cache-control"], headers["x-content-type-options"]), ("no-store", "nosniff"))
        self.assertIn("frame-ancestors 'none'", headers["content-security-policy"])
        self.assertNotIn("access-control-allow-origin", headers)
        self.assertIn("gemv D=64 native cpu 2t latency", page)
        files = re.findall('(?:href|src)="(assets/[^"]*)"', page)
        self.assertEqual(len(files), 2)
        for file in files:
            status, headers, _ = self.ask(served, "/" + file)
            self.assertEqual(status, 200)
            self.assertIn("immutable", headers["cache-control"])
        status, _, series = self.ask(served, "/series/1.html?since=1")
        self.assertEqual(status, 200)
        self.assertIn("gemv D=64 native cpu 2t latency", series)
        status, headers, feed = self.ask(served, "/feed.xml")
        self.assertEqual((status, headers["content-type"], feed.count("<entry>")), (200, "application/atom+xml; charset=utf-8", 1))
        status, headers, nothing = self.ask(served, "/", method="HEAD")
        self.assertEqual((status, nothing), (200, ""))
        self.assertEqual(int(headers["content-length"]), len(page.encode()))

    def test_what_it_refuses(self):
        fill(self.folder, self.store, runs=2)
        served = self.serve()
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "get"):
            status, headers, _ = self.ask(served, "/", method=method)
            self.assertEqual((status, headers["allow"]), (405, "GET, HEAD"), method)
        for host in (["evil.example"], [f"evil.example:{served.port}"], ["127.0.0.1"], ["localhost:1"], [""], [],
                     [f"127.0.0.1:{served.port}", "evil.example"]):
            status, _, body = self.ask(served, "/", host=host)
            self.assertIn(status, (400, 421), host)
            self.assertNotIn("gemv", body)
        self.assertEqual(self.ask(served, "/", host=[f"localhost:{served.port}"])[0], 200)
        for path in ("/../etc/passwd", "/series/../index.html", "/series/9.html", "/series/1", "/series/01.html", "/series/-1.html",
                     "/series/.html", "/series/1.html%00", "/%2e%2e/etc/passwd", "//", "/assets/", "/assets/../index.html", "/history.sqlite",
                     "/.headroom-site.json", "/series/99999999999999999999.html", "/index.html/"):
            self.assertEqual(self.ask(served, path)[0], 404, path)
        self.assertIn(self.ask(served, "/" + "x" * 30_000)[0], (413, 414, 431))
        self.assertIn(self.ask(served, "/", headers=[("X-Long", "x" * 30_000)])[0], (413, 431))
        idle = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(8)]
        for data in (b"\0\xff\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"):
            with socket.create_connection(("127.0.0.1", served.port), timeout=20) as broken:
                broken.sendall(data)
                broken.shutdown(socket.SHUT_WR)
                self.assertNotIn(b"gemv", broken.recv(65536))
        self.assertEqual(self.ask(served, "/")[0], 200)
        for one in idle:
            one.close()
        self.assertEqual(served.interrupt()[0], 0)

    def test_only_this_machine_can_connect(self):
        fill(self.folder, self.store, runs=2)
        served = self.serve()
        listening = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
        places = [line[1] for line in listening if line[1].endswith(f":{served.port:04X}") and line[3] == "0A"]
        self.assertEqual(places, [f"0100007F:{served.port:04X}"])

    def test_a_run_that_is_added_is_shown(self):
        fill(self.folder, self.store, runs=14)
        served = self.serve()
        tag = self.live(served)["tag"]
        self.assertEqual(self.live(served)["tag"], tag)
        self.assert_exit(headroom("history", "import", run_file(self.folder, 50, [record("softmax", 3)]), "--store", self.store), 0)
        told = self.wait_for(served, lambda told: told["tag"] != tag)
        self.assertEqual((told["problem"], told["running"]), ("", []))
        self.assertIn("softmax", self.ask(served, "/")[2])
        self.assertEqual(self.ask(served, "/series/3.html")[0], 200)

    def test_a_history_that_goes_and_comes_back(self):
        fill(self.folder, self.store, runs=14)
        served = self.serve()
        away = self.make_folder("away")
        files = list(self.folder.glob("history.sqlite*"))
        for file in files:
            file.rename(away / file.name)
        self.assertIn("there is no history", self.wait_for(served, lambda told: told["problem"])["problem"])
        status, _, page = self.ask(served, "/")
        self.assertEqual(status, 200)
        self.assertIn("gemv", page)
        status, _, said = self.ask(served, "/series/1.html")
        self.assertEqual(status, 503)
        self.assertIn("there is no history", said)
        for file in files:
            (away / file.name).rename(file)
        self.wait_for(served, lambda told: not told["problem"])
        self.assertEqual(self.ask(served, "/series/1.html")[0], 200)
        self.store.write_bytes(b"something else" * 100)
        self.assertIn("not a headroom history", self.wait_for(served, lambda told: told["problem"])["problem"])
        self.assertEqual(served.interrupt(), (0, ("", "")))

    def test_a_run_at_work_is_told(self):
        state = {**os.environ, "XDG_STATE_HOME": str(self.folder / "state")}
        fill(self.folder, self.store, runs=2)
        served = self.serve(env=state)
        self.assertEqual(self.live(served)["running"], [])
        tag = self.live(served)["tag"]
        with subprocess.Popen([HEADROOM, "time", "--runs", "60", "--store", str(self.store), "sleep 0.03"], env=state,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            told = self.wait_for(served, lambda told: told["running"] and told["running"][0]["cases"])
            run, = told["running"]
            self.assertIn("headroom time", run["command"])
            case = next(case for case in run["cases"] if case["case"].startswith("sleep"))
            self.assertGreater(case["samples"], 0)
            self.assertEqual(run["problem"], "")
            self.wait_for(served, lambda now: now["running"][0]["cases"][0]["samples"] > case["samples"])
            self.assertEqual(process.wait(60), 0)
        told = self.wait_for(served, lambda told: told["tag"] != tag)
        self.assertEqual(told["running"], [])

    def drip(self, served, count, end):
        """Connections that send headers byte by byte until `end`; returns how many the server closed."""
        sockets = [socket.create_connection(("127.0.0.1", served.port), timeout=30) for _ in range(count)]
        closed = 0
        for one in sockets:
            one.setblocking(False)
        while sockets and not end.wait(0.3):
            for one in list(sockets):
                try:
                    one.send(b"G")
                    if one.recv(1) == b"":
                        raise ConnectionError
                except BlockingIOError:
                    continue
                except OSError:
                    closed += 1
                    sockets.remove(one)
                    one.close()
        for one in sockets:
            one.close()
        return closed

    def test_slow_connections_do_not_keep_others_out(self):
        fill(self.folder, self.store)
        for count, all_go_within in ((40, None), (300, 10)):
            served = self.serve()
            end = threading.Event()
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                dripped = pool.submit(self.drip, served, count, end)
                try:
                    time.sleep(1)
                    for _ in range(5):
                        start = time.monotonic()
                        self.assertEqual(self.ask(served, "/")[0], 200)
                        self.assertLess(time.monotonic() - start, 8)
                    if all_go_within:
                        time.sleep(all_go_within / 2)
                    start = time.monotonic()
                    self.assertEqual(served.interrupt()[0], 0)
                    self.assertLess(time.monotonic() - start, 5)
                finally:
                    end.set()
                if all_go_within:
                    self.assertGreater(dripped.result(), count / 2)

    def test_a_reader_that_never_reads_does_not_keep_it_from_ending(self):
        fill(self.folder, self.store)
        served = self.serve()
        idle = [socket.create_connection(("127.0.0.1", served.port), timeout=30) for _ in range(8)]
        for one in idle[:4]:
            one.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % served.port)
        self.assertEqual(self.ask(served, "/")[0], 200)
        start = time.monotonic()
        self.assertEqual(served.interrupt()[0], 0)
        self.assertLess(time.monotonic() - start, 5)
        for one in idle:
            one.close()

    def test_how_it_ends_and_what_keeps_it_from_starting(self):
        self.assert_refused(headroom("serve", "--store", self.store), "there is no history")
        fill(self.folder, self.store, runs=2)
        served = self.serve()
        self.assert_refused(headroom("serve", "--store", self.store, "--port", served.port), f"127.0.0.1:{served.port}", "another program uses it")
        self.assert_refused(headroom("serve", "--store", self.store, "--port", "70000"), "--port")
        self.assert_refused(headroom("serve", "--store", self.store, "--min-magnitude", "much"), "much")
        self.assertEqual(served.interrupt(signal.SIGTERM), (0, ("", "")))
        again = Served(self.store)
        with again:
            self.assertEqual(again.interrupt(), (0, ("", "")))


if __name__ == "__main__":
    unittest.main()
