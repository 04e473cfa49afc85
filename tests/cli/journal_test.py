# SPDX-License-Identifier: Apache-2.0
"""Every round is in the journal before the next begins."""
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import time
import unittest

from command_line import FAULTY, HEADROOM, CommandLineTest, headroom

RUNNER = str(pathlib.Path(__file__).with_name("hostile_runner.py"))
KILLS = int(os.environ.get("HEADROOM_KILLS", "12"))


class JournalTest(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.log = self.folder / "log"
        self.environment = {**os.environ, "XDG_STATE_HOME": str(self.folder / "state"), "HOSTILE_LOG": str(self.log),
                            "HOSTILE_BACKENDS": "2", "HEADROOM_STORE": str(self.folder / "history.sqlite")}
        self.random = random.Random(int(os.environ.get("HEADROOM_SEED", "1")))
        for script, letter in (("a", "a"), ("b", "b")):
            self.script(script, f"printf {letter} >> {self.log}")

    def journals(self):
        return sorted((self.folder / "state/headroom/journal").glob("*"))

    def call(self, *arguments, **more):
        return headroom(*arguments, env={**self.environment, **more}, cwd=self.folder)

    def start(self, *arguments, **more):
        return super().start(*arguments, env={**self.environment, **more}, cwd=self.folder, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)

    def killed(self, *arguments, least=1, **more):
        """Kills a command once its log has grown; returns the log."""
        process = self.start(*arguments, **more)
        self.wait_for(lambda: self.log.exists() and self.log.stat().st_size >= least)
        time.sleep(self.random.random() * 0.3)
        process.kill()
        process.wait()
        self.assert_nothing_runs()  # its children write no more
        return self.log.read_text()

    def shown(self, metric):
        """Returns the number of samples in `@unfinished` by backend or command."""
        path = self.folder / "shown.json"
        self.assert_exit(self.call("show", "@unfinished", "--json", path), 0, stderr="did not end")
        return {record["model"]["backend"] or record["model"]["name"]: sum(len(part["values"]) for part in record["samples"])
                for record in json.loads(path.read_text())["records"] if record["metric"]["name"] == metric}

    def test_kill_9_while_commands_are_compared_loses_no_round(self):
        for _ in range(KILLS // 2):
            log = self.killed("ab", "./a", "./b", "--max-time", "60", least=self.random.randrange(4, 100))
            whole = (len(log) - 1) // 2
            shown = self.shown("latency")
            for command in ("./a", "./b"):
                self.assertGreaterEqual(shown[command], whole, log)
                self.assertLessEqual(shown[command], log.count(command[-1]), log)
            self.journals()[-1].unlink()
            self.log.unlink()

    def test_kill_9_while_a_runner_is_sampled_loses_no_round(self):
        for _ in range(KILLS - KILLS // 2):
            log = self.killed("run", "e", "--runner", RUNNER, "--no-limits", "--all-backends", "--max-time", "60", "--processes", "1",
                              "--num-samples", "100000000", least=self.random.randrange(40, 400))
            # Rounds begin with the second case, after calibration.
            whole = log[log.index("1"):].count("0") - 1
            shown = self.shown("latency")
            for backend in ("b0", "b1"):
                self.assertGreaterEqual(shown[backend], whole, log)
                self.assertLessEqual(shown[backend], log.count(backend[-1]), log)
            self.journals()[-1].unlink()
            self.log.unlink()

    def test_pairs_of_caches_are_there(self):
        (self.folder / "kept").mkdir()
        log = self.killed("cache", "--layer", f"folder:{self.folder}/kept", "--repeat", "1000", "--", self.folder / "a", least=40)
        self.assertGreaterEqual(min(self.shown("Warm wall time (s)").values()), (len(log) - 1) // 2 - 1)

    def test_what_was_kept_is_in_no_journal(self):
        for command in (["time", "--runs", "3", "true"], ["time", "--runs", "3", "--no-store", "true"],
                        ["run", "fine", "--runner", FAULTY, "--no-limits", "--num-samples", "5"]):
            self.assert_exit(self.call(*command), 0)
            self.assertEqual(self.journals(), [])
        self.assert_refused(self.call("show", "@unfinished"), "no unfinished run")
        self.assert_refused(self.call("run", "--resume"), "no unfinished run")

    def test_a_history_that_cannot_be_written_leaves_the_journal_and_says_so(self):
        result = self.call("time", "--runs", "5", "true", "--name", "t", HEADROOM_STORE="/proc/none/history.sqlite")
        self.assert_exit(result, 0)
        self.assertIn("`headroom show @unfinished` shows the results", result.stderr)
        self.assertEqual(self.shown("latency"), {"t": 5})

    def test_a_state_folder_that_cannot_be_written_stops_nothing(self):
        result = self.assert_exit(self.call("time", "--runs", "5", "true", XDG_STATE_HOME="/proc/none"), 0)
        self.assertEqual(result.stderr.count("/proc/none"), 1)
        self.assertIn("─", result.stdout)

    def test_a_closed_terminal_keeps_what_was_measured(self):
        process = super().start("ab", "./a", "./b", "--max-time", "60", env=self.environment, cwd=self.folder)
        self.wait_for(lambda: self.log.exists() and self.log.stat().st_size >= 20)
        process.stdout.close()
        process.stderr.close()
        process.send_signal(signal.SIGHUP)
        process.wait(30)
        kept = self.call("show", "@last")
        self.assertIn("./b", kept.stdout if kept.returncode == 0 else self.call("show", "@unfinished").stdout)

    def test_a_run_is_gone_on_with(self):
        process = self.start(*self.sweep())
        self.wait_for(lambda: any(path.read_text().count('{"finished"') >= 2 for path in self.journals()))
        process.kill()
        process.wait()
        before = self.shown_cases()
        elsewhere = headroom("run", "--resume", "--json", "x.json", env=self.environment)
        self.assert_refused(elsewhere, "takes no other option")
        result = self.assert_exit(headroom("run", "--resume", env=self.environment, cwd="/"), 0)
        taken = int(re.search(r"(\d) groups are taken from that run", result.stderr)[1])
        self.assertGreaterEqual(taken, 2)
        self.assertEqual(self.journals(), [])
        path = self.folder / "all.json"
        self.assert_exit(self.call("show", "@last", "--json", path), 0)
        records = json.loads(path.read_text())
        self.assertEqual(len(records["environments"]), 1)
        self.assertIn("was killed", records["environments"][0]["extra_info"]["resumed"])
        after = self.cases(records)
        self.assertEqual(len(after), 5)
        for case in list(after)[:taken]:
            self.assertEqual(before[case], after[case], "not measured again")

    def sweep(self):
        return ["run", "gemv", "--runner", str(pathlib.Path(HEADROOM).with_name("headroom-native")), "--backend", "native", "-a", "D=64,96,128,160,192",
                "-a", "dtype=bf16", "--no-limits", "--max-time", "300ms", "--processes", "1"]

    def cases(self, document):
        return {json.dumps(record["axes"]): [part["values"] for part in record["samples"]] for record in document["records"]
                if record["metric"]["name"] == "latency"}

    def shown_cases(self):
        path = self.folder / "shown.json"
        self.assert_exit(self.call("show", "@unfinished", "--json", path), 0)
        return self.cases(json.loads(path.read_text()))

    def test_a_journal_that_is_cut_short_is_shown_as_far_as_it_goes(self):
        self.killed("run", "e", "--runner", RUNNER, "--no-limits", "--max-time", "60", "--processes", "1", "--num-samples", "100000000",
                    least=100, HOSTILE_BACKENDS="1")
        journal = self.journals()[0]
        whole = journal.read_bytes()
        # Without the first line nothing can be read.
        for cut, code, words in ((10, 2, "headroom: "), (len(whole) // 2, 0, "did not end"), (len(whole) - 3, 0, "did not end")):
            journal.write_bytes(whole[:cut])
            result = self.assert_exit(self.call("show", "@unfinished"), code, stderr=words)
            self.assertNotIn("terminate", result.stderr)
        journal.write_bytes(whole[:-3])
        self.assertIn("damaged", self.call("show", "@unfinished").stderr)


if __name__ == "__main__":
    unittest.main()
