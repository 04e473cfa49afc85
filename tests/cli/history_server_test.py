# SPDX-License-Identifier: Apache-2.0
"""A history in PostgreSQL: stopped, silent or locked, nothing waits for ever and no run is lost; its views and roles for a team.

Started by with_postgresql.py, whose server is in HEADROOM_TEST_POSTGRESQL. HEADROOM_OUTAGES: how often the server falls silent.
"""
import ctypes
import ctypes.util
import json
import os
import pathlib
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
from site_history import HOSTILE, Served, fill, record, run_file

URL = os.environ["HEADROOM_TEST_POSTGRESQL"]
SOCKETS = re.search("host=([^&]*)", URL).group(1)
OUTAGES = int(os.environ.get("HEADROOM_OUTAGES", "8"))
MEASURE = ("time", "--runs", "5", "true")
DATA = pathlib.Path(__file__).parents[2] / "data"
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


class Session:
    """SQL of another program, as a role of the server."""

    def __init__(self, role="headroom"):
        self.pq = ctypes.CDLL(ctypes.util.find_library("pq") or "libpq.so.5")
        self.pq.PQconnectdb.restype = self.pq.PQexec.restype = ctypes.c_void_p
        self.pq.PQresultErrorMessage.restype = self.pq.PQgetvalue.restype = ctypes.c_char_p
        self.connection = ctypes.c_void_p(self.pq.PQconnectdb(as_role(role).encode()))
        self.execute("SET client_min_messages TO warning")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.pq.PQfinish(self.connection)

    def execute(self, sql):
        """Returns the rows as texts, or the message of the error."""
        result = ctypes.c_void_p(self.pq.PQexec(self.connection, sql.encode()))
        if error := self.pq.PQresultErrorMessage(result):
            return error.decode()
        return [tuple(self.pq.PQgetvalue(result, row, column).decode() for column in range(self.pq.PQnfields(result)))
                for row in range(self.pq.PQntuples(result))]


class Lock(Session):
    """A session that holds the table of runs for itself."""

    def __init__(self):
        super().__init__()
        self.execute("BEGIN")
        self.execute("LOCK TABLE headroom.runs IN ACCESS EXCLUSIVE MODE")


def as_role(role):
    return URL.replace("user=headroom", f"user={role}")


def queries(node):
    """All SQL of a Grafana dashboard."""
    if isinstance(node, dict):
        found = [node[key] for key in ("rawSql", "query") if "SELECT" in str(node.get(key))]
        return found + [sql for child in node.values() for sql in queries(child)]
    return [sql for child in node for sql in queries(child)] if isinstance(node, list) else []


def filled_in(sql, **variables):
    """A query as Grafana sends it."""
    sql = re.sub(r"\$__timeFilter\(([^)]*)\)", r"\1 BETWEEN '2026-01-01T00:00:00Z' AND '2027-01-01T00:00:00Z'", sql)
    for name, values in variables.items():
        texts = ["'" + value.replace("'", "''") + "'" for value in values]
        sql = sql.replace(f"${{{name}:sqlstring}}", ",".join(texts))
    assert "$" not in sql, sql
    return sql


class HistoryServerTest(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.environment = {**os.environ, "XDG_DATA_HOME": str(self.folder / "data"), "HEADROOM_STORE_TIMEOUT": "30s"}
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
        self.environment["HEADROOM_STORE_TIMEOUT"] = f"{SECONDS}s"
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
        self.environment["HEADROOM_STORE_TIMEOUT"] = "30s"
        # As if the server had moved back.
        for file in self.outbox():
            self.assert_exit(headroom("history", "import", file, "--store", URL, env=self.environment), 0)
        self.assertEqual(len(self.runs() - before), OUTAGES)

    def test_a_run_that_waited_is_delivered_once_with_the_next(self):
        self.assert_exit(self.measure(URL), 0)
        before = self.runs()
        with Lock():
            self.environment["HEADROOM_STORE_TIMEOUT"] = f"{SECONDS}s"
            self.assert_exit(self.measure(URL), 2)
            self.assert_exit(self.measure(URL), 2)
        self.environment["HEADROOM_STORE_TIMEOUT"] = "30s"
        self.assertEqual(len(self.outbox()), 2)
        self.assertEqual(self.runs(), before)
        for count in (3, 4):
            self.assert_exit(self.measure(URL), 0)
            self.assertEqual(len(self.runs() - before), count)
            self.assertEqual(self.outbox(), [])

    def test_writers_and_readers_at_once(self):
        self.assert_exit(self.measure(URL), 0)
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
        self.environment["HEADROOM_STORE_TIMEOUT"] = f"{SECONDS}s"
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

    def fill(self, machine):
        self.make_folder("runs")
        fill(self.folder / "runs", URL, fingerprint=machine)

    def views(self, *more):
        return self.assert_exit(headroom("history", "views", *more, "--store", URL, env=self.environment), 0, "schema headroom_views")

    def test_a_run_that_several_import_at_once_is_added_once(self):
        self.assert_exit(self.measure(URL), 0)
        file = run_file(self.folder, 1, [record(f"case{i}", 1) for i in range(50)], "of many")
        imports = [self.start("history", "import", file, "--store", URL, env=self.environment) for _ in range(8)]
        outputs = [self.assert_ends(process, 0).stdout for process in imports]
        self.assertEqual(sorted(output.split(" added")[0] for output in outputs), ["0 runs"] * 7 + ["1 run"])

    def test_views_tell_values_intervals_and_changes(self):
        self.fill("of views")
        names = [name for name in HOSTILE if name.isprintable()] + ["nul\0name"]
        files = [run_file(self.folder, number, [record(name, 1)], "of bad names", timestamp=time)
                 for number, (name, time) in enumerate((name, time) for name in names for time in (0, 2**62, 2**64 - 1))]
        self.assert_exit(headroom("history", "import", *files, "--store", URL, env=self.environment), 0)
        with Session() as session:
            for magnitude, changes in (("0", "1"), ("50%", "0"), ("2%", "1")):
                self.views("--min-magnitude", magnitude)
                self.assertEqual(session.execute("SELECT count(*) FROM headroom_views.changes WHERE machine = 'of views'"), [(changes,)])
            self.assertEqual(session.execute("SELECT count(*) FROM headroom_views.results WHERE machine = 'of bad names' AND time IS NOT NULL"),
                             [(str(len(files)),)])
            [(case, backend, metric, commit, verdict, fits)] = session.execute(
                "SELECT case_name, backend, metric, commit, verdict, ratio BETWEEN 1.19 AND 1.21 AND low < ratio AND ratio < high "
                "FROM headroom_views.changes WHERE machine = 'of views'")
            self.assertEqual((case, backend, metric, commit, verdict, fits),
                             ("gemv D=64 native cpu 2t", "native", "latency", "b" * 40, "worse", "t"))
            [(values, with_interval)] = session.execute("SELECT count(*), count(*) FILTER (WHERE low < value AND value < high) "
                                                        "FROM headroom_views.results WHERE machine = 'of views' AND unit = 'us'")
            self.assertEqual((values, with_interval), ("80", "80"))
            self.assert_exit(headroom("history", "prune", "--keep", "5", "--store", URL, env=self.environment), 0, "results removed")
            self.assertEqual(session.execute("SELECT (SELECT count(*) FROM headroom_views.results WHERE machine = 'of views'), count(*) "
                                             "FROM headroom_views.changes"), [("10", "0")])

    def test_views_are_not_written_into_tables_of_another_role(self):
        self.assert_exit(self.measure(URL), 0)
        with Session() as session:
            session.execute("DROP SCHEMA IF EXISTS headroom_views CASCADE")
            session.execute("CREATE ROLE stranger SUPERUSER LOGIN")
            with Session("stranger") as stranger:
                self.assertEqual(stranger.execute("CREATE SCHEMA headroom_views"), [])
            self.assert_refused(headroom("history", "views", "--store", URL), "belongs to another role")
            session.execute("DROP SCHEMA headroom_views")
        self.views()

    def test_every_query_of_the_dashboard(self):
        self.fill("of a 'dashboard'")
        self.views()
        dashboard = json.loads((DATA / "grafana" / "headroom.json").read_text())
        for key in ("uid", "title", "schemaVersion", "templating", "annotations", "time"):
            self.assertTrue(dashboard[key], key)
        places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in dashboard["panels"]]
        self.assertEqual(len(set(places)), len(places))
        for panel in dashboard["panels"]:
            self.assertTrue(panel["id"] and panel["type"] and panel["title"] and all("rawSql" in target for target in panel["targets"]))
        variables = {variable["name"]: variable for variable in dashboard["templating"]["list"]}
        self.assertEqual(set(variables), {"datasource", "machine", "metric", "case"})
        chosen = {"machine": ["of a 'dashboard'"], "metric": ["latency us"]}
        with Session() as session:
            self.assertIn(("of a 'dashboard'",), session.execute(variables["machine"]["query"]))
            self.assertEqual(session.execute(filled_in(variables["metric"]["query"], **chosen)), [("latency us",)])
            cases = session.execute(filled_in(variables["case"]["query"], **chosen))
            self.assertEqual([text for text, _ in cases],
                             ["of a 'dashboard': gemv D=64 native cpu 2t", "of a 'dashboard': layer_norm D=64 native cpu 2t"])
            found = [session.execute(filled_in(sql, **chosen, case=[value for _, value in cases])) for sql in queries(dashboard)]
            self.assertEqual(len(found), len(dashboard["panels"]) + 4)
            for rows in found:
                self.assertIsInstance(rows, list, rows)
                self.assertTrue(rows)
            sql = filled_in(dashboard["annotations"]["list"][0]["target"]["rawSql"], case=[value for _, value in cases])
            [(annotation,)] = session.execute(f"SELECT text FROM ({sql}) shown")
            self.assertRegex(annotation, r"^gemv D=64 native cpu 2t latency 20\.\d % worse at run \d+, commit bbbbbbbbbbbb$")
            # Nothing chosen: Grafana sends an empty text.
            for sql in queries(dashboard):
                self.assertIsInstance(session.execute(filled_in(sql, machine=[""], metric=[""], case=[""])), list, sql)

    def test_roles_may_do_their_part_and_no_more(self):
        self.fill("of roles")
        self.views()
        with Session() as session:
            for _ in range(2):
                self.assertEqual(session.execute((DATA / "postgresql" / "roles.sql").read_text()), [])
            for role, of in (("ci", "writer"), ("grafana", "reader")):
                self.assertEqual(session.execute(f"CREATE ROLE {role} LOGIN IN ROLE headroom_{of}"), [])
        ci = as_role("ci")

        def call(*words, code=0, words_of_error=()):
            return self.assert_exit(headroom("history", *words, "--store", ci, env=self.environment), code, stderr=words_of_error)

        before = self.runs()
        with Lock():
            self.environment["HEADROOM_STORE_TIMEOUT"] = f"{SECONDS}s"
            self.assert_exit(self.measure(ci), 2)
        self.environment["HEADROOM_STORE_TIMEOUT"] = "30s"
        self.assert_exit(self.measure(ci), 0)
        self.assertEqual((len(self.runs() - before), self.outbox()), (2, []))
        file = run_file(self.folder, 70, [record("gemv", 12), record("new", 1)], "of roles")
        self.assertIn("1 run added", call("import", file).stdout)
        self.assertIn("0 runs added", call("import", file).stdout)
        call("gate", "*roles", "gemv", "--last", "30", code=1)
        for words in ([], ["export", "-"], ["prune", "--keep", "1"], ["repair"], ["views"]):
            call(*words, code=2, words_of_error=["ermission denied"] if words != ["views"] else [])
        self.assert_exit(headroom("history", "verify", "--store", URL, env=self.environment), 0)
        refused = {
            "ci": ["SELECT command FROM headroom.runs", "SELECT git_repo FROM headroom.runs", "SELECT * FROM headroom.environments",
                   "SELECT content FROM headroom.records", "DELETE FROM headroom.runs", "DELETE FROM headroom.records",
                   "UPDATE headroom.runs SET time = 0", "UPDATE headroom.records SET value = 0", "TRUNCATE headroom.environments",
                   "DROP TABLE headroom.records", "DROP SCHEMA headroom CASCADE", "CREATE TABLE headroom.mine (x BIGINT)",
                   "ALTER TABLE headroom.runs DROP COLUMN command", "SELECT * FROM headroom_views.results"],
            "grafana": ["SELECT * FROM headroom.runs", "SELECT * FROM headroom.series", "SELECT * FROM headroom_views.change_points",
                        "INSERT INTO headroom_views.change_points VALUES (1, 1)", "DELETE FROM headroom_views.runs",
                        "DROP VIEW headroom_views.results", "CREATE VIEW headroom_views.mine AS SELECT 1"]}
        for role, statements in refused.items():
            with Session(role) as session:
                for sql in statements:
                    self.assertRegex(str(session.execute(sql)), "permission denied|must be owner", sql)
        with Session("grafana") as session:
            for view in ("series", "runs", "results", "changes"):
                rows = session.execute(f"SELECT * FROM headroom_views.{view}")
                self.assertIsInstance(rows, list, rows)
                self.assertNotIn("headroom run gemv", str(rows))  # the command line of the runs
            self.assertNotEqual(rows, [])

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
