# SPDX-License-Identifier: Apache-2.0
"""Files are synced, in the right order, before success is reported."""
import os
import pathlib
import unittest

from command_line import BIN, CommandLineTest, headroom

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
