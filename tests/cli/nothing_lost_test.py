# SPDX-License-Identifier: Apache-2.0
"""Results survive a file that cannot be written, and are synced in the right order before success is reported; secrets are never written."""
import json
import os
import pathlib
import unittest

from command_line import BIN, BRIEF, FAULTY, CommandLineTest, headroom

COMMANDS = {
    "time": ("time", "--runs", "5", "true"),
    "run": ("run", "fine", "--runner", FAULTY, "--no-limits", *BRIEF),
    "cache": ("cache", "--layer", "folder:{folder}/kept", "--repeat", "1", "--", "true"),
}


class NothingLostTest(CommandLineTest):
    def setUp(self):
        super().setUp()
        (self.folder / "kept").mkdir()
        self.environment = {**os.environ, "HEADROOM_STORE": str(self.folder / "history.sqlite"),
                            "XDG_STATE_HOME": str(self.folder / "state")}

    def call(self, name, *more):
        words = [word.format(folder=self.folder) for word in COMMANDS[name]]
        place = words.index("--") if "--" in words else len(words)
        return headroom(*words[:place], *more, *words[place:], env=self.environment)

    def kept_runs(self):
        result = headroom("history", "export", "-", env=self.environment)
        return json.loads(result.stdout)["records"] if result.returncode == 0 else []

    def test_a_full_disk_takes_neither_the_table_nor_the_history(self):
        for name in COMMANDS:
            before = len(self.kept_runs())
            result = self.call(name, "--json", "/dev/full")
            self.assert_exit(result, 2)
            self.assertIn("─", result.stdout)
            self.assertIn("/dev/full", result.stderr)
            self.assertIn("the results are above, and in the history as @last", result.stderr)
            self.assertGreater(len(self.kept_runs()), before)

    def test_a_store_that_was_asked_for_and_fails_is_no_success(self):
        path = self.folder / "records.json"
        for name in COMMANDS:
            self.assert_exit(self.call(name, "--store", "/proc/none/history.sqlite", "--json", path), 2, "─",
                             stderr="not stored in the history")
            self.assertTrue(json.loads(path.read_text())["records"])
            path.unlink()

    def test_one_that_is_there_by_default_and_fails_is_only_told(self):
        self.environment["HEADROOM_STORE"] = "/proc/none/history.sqlite"
        self.assert_exit(self.call("time"), 0, stderr="not stored in the history")

    def test_secrets_of_a_command_line_are_nowhere(self):
        path = self.folder / "records.json"
        for words in (["time", "--runs", "2", "--", "true", "--db-password", "hunter2", "API_TOKEN=hunter2", "http://me:hunter2@x/"],
                      ["time", "--runs", "2", "env PGPASSWORD=hunter2 true -H 'Authorization: Bearer hunter2'"],
                      ["cache", "--layer", f"folder:{self.folder}/kept", "--repeat", "1", "--json", path, "--", "true", "--token=hunter2"]):
            more = [] if words[0] == "cache" else ["--json", path]
            result = self.assert_exit(headroom(words[0], *more, *words[1:], env=self.environment), 0)
            output = result.stdout + result.stderr + path.read_text()
            output += headroom("history", env=self.environment).stdout + headroom("history", "export", "-", env=self.environment).stdout
            self.assertNotIn("hunter2", output)
            self.assertIn("***", path.read_text())

    def test_a_history_knows_when_it_was_altered(self):
        self.assert_exit(self.call("time"), 0)
        self.assert_exit(headroom("history", "verify", env=self.environment), 0, "no damage in 1 run")
        file = self.folder / "history.sqlite"
        self.assertEqual(file.stat().st_mode & 0o777, 0o600)
        content = file.read_bytes()
        place = content.index(b"\x28\xb5\x2f\xfd") + 40  # within the first frame of Zstandard
        file.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1:])
        self.assert_exit(headroom("history", "verify", env=self.environment), 1, "damaged")
        self.assert_exit(headroom("history", "repair", env=self.environment), 0, stderr="before-repair-1")
        self.assert_exit(headroom("history", "verify", env=self.environment), 0)


LIBRARY = next((BIN.parent / "lib").glob("libsync_log.so"))


class Durability(CommandLineTest):
    def log_of(self, *arguments):
        """Returns the command's syncs and renames, in order."""
        log = self.folder / "sync.log"
        log.unlink(missing_ok=True)
        environment = {**os.environ, "LD_PRELOAD": str(LIBRARY), "SYNC_LOG": str(log), "XDG_STATE_HOME": str(self.folder / "state")}
        self.assert_exit(headroom(*arguments, env=environment), 0)
        return [line.split(" ") for line in log.read_text().splitlines()] if log.exists() else []

    def assert_written_safely(self, log, path):
        """The content is synced, then renamed, then the folder is synced."""
        path = str(pathlib.Path(path).resolve())
        renamed = [place for place, entry in enumerate(log) if entry[0] == "rename" and entry[2] == path]
        self.assertTrue(renamed, log)
        for place in renamed:
            self.assertIn(["sync", log[place][1]], log[:place])
            self.assertIn(["sync", str(pathlib.Path(path).parent)], log[place:])

    def test_files_of_results(self):
        results, packed = self.folder / "results.json", self.folder / "trace.json.gz"
        self.assert_written_safely(self.log_of("time", "--runs", "3", "true", "--no-store", "--json", results), results)
        trace = self.folder / "trace.json"
        trace.write_text('{"traceEvents":[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":2,"args":{"stream":7}}]}')
        self.assert_written_safely(self.log_of("trace", "convert", trace, packed), packed)

    def test_a_disk_that_breaks_is_told_and_the_old_file_stays(self):
        results, old = self.folder / "results.json", self.folder / "old.json"
        self.assert_exit(headroom("time", "--runs", "3", "true", "--no-store", "--json", results), 0)
        old.write_text("old")
        result = headroom("show", results, "--json", old, env={**os.environ, "LD_PRELOAD": str(LIBRARY), "SYNC_FAILS": "1"})
        self.assert_exit(result, 2)
        self.assertIn("Input/output error", result.stderr)
        self.assertEqual(old.read_text(), "old")
        self.assertEqual(sorted(self.folder.iterdir()), [old, results])

    def test_a_run_in_the_history_is_on_the_disk_before_its_journal_goes(self):
        store = self.folder / "history.sqlite"
        self.log_of("time", "--runs", "3", "true", "--store", store)
        log = self.log_of("time", "--runs", "3", "true", "--store", store)
        self.assertIn(["sync", str(store) + "-wal"], log, "synchronous = FULL syncs the log at each commit")

    def test_rounds_in_the_journal(self):
        log = self.log_of("time", "--max-time", "2.5s", "--min-time", "2.5s", "--no-store", "sleep 0.01")
        synced = [path for kind, path, *_ in log if kind == "sync" and path.endswith(".journal")]
        self.assertGreaterEqual(len(synced), 2, "once a second")


if __name__ == "__main__":
    unittest.main()
