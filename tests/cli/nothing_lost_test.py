# SPDX-License-Identifier: Apache-2.0
"""Results survive a file that cannot be written; secrets are never written."""
import json
import os
import unittest

from command_line import BRIEF, FAULTY, CommandLineTest, headroom

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


if __name__ == "__main__":
    unittest.main()
