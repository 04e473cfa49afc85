# SPDX-License-Identifier: Apache-2.0
"""`headroom cache` with bad commands, suites and disks."""
import json
import os
import signal
import subprocess
import sys
import time
import unittest

from command_line import HEADROOM, CommandLineTest, headroom, records_of

# "Compiles" for 8 in a cold cache, 2 in a warm one.
SUITE = """
models = [{models}]
layers = ["env:MINE"]
order = "listed"
repeat = 2
command = ["sh", "-c", '''
mark=$MINE/mark; if test -e $mark; then n=2; else n=8; fi; touch $mark
{faults}
printf 'name,cost\\nx,%s\\n' $n > "{{output}}"
''']
metric = {{from = "csv", column = "cost", unit = "s"}}
"""


class CacheFaultsTest(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()
        self.environment = dict(os.environ, TMPDIR=str(self.temporary), XDG_DATA_HOME=str(self.folder / "data"),
                                HEADROOM_PYTHON=sys.executable)
        self.output, self.records = self.folder / "output.json", self.folder / "records.json"

    def tearDown(self):
        self.assertEqual(list(self.temporary.iterdir()), [], "temporary folders are removed in every case")

    def write_suite(self, text, name="mine.toml"):
        path = self.folder / name
        path.write_text(text)
        return path

    def suite_of(self, faults):
        """Writes a suite with a model for each of `faults` (name: shell code), and 'fine'."""
        cases = "\n".join(f'if test "{{model}}" = {name}; then {code}; fi' for name, code in faults.items())
        models = ", ".join(f'"{name}"' for name in [*faults, "fine"])
        return self.write_suite(SUITE.format(models=models, faults=cases))

    def cache(self, *arguments, **options):
        return headroom("cache", "--no-store", *arguments, env=self.environment, **options)

    def start(self, *arguments):
        return subprocess.Popen([HEADROOM, "cache", "--no-store", *map(str, arguments)], env=self.environment,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def wait_for(self, path):
        for _ in range(3000):
            if path.exists():
                return
            time.sleep(0.01)
        self.fail(f"{path} did not appear")


class FailingModelsTest(CacheFaultsTest):
    def check(self, faults, messages, *arguments):
        result = self.assert_exit(self.cache("--suite", self.suite_of(faults), "--output", self.output, "--json",
                                             self.records, *arguments), 1)
        for name, message in messages.items():
            self.assertRegex(result.stdout, rf"(?m)^FAILED: {name}: .*{message}")
        written = json.loads(self.output.read_text())
        self.assertEqual({record["model"]["name"] for record in written}, {"fine"})
        self.assertEqual(written[0]["metric"]["benchmark_values"], [8, 8])
        self.assertEqual(written[2]["metric"]["benchmark_values"], [75.0])
        outcomes = {record["model"]["name"]: record["outcome"]["kind"] for record in records_of(self.records)}
        self.assertEqual(outcomes["fine"], "measured")
        for name in faults:
            self.assertEqual(outcomes[name], "failed")

    def test_commands(self):
        self.check({"fails": "echo out of luck >&2; exit 3", "dies": "kill -9 $$", "hangs": "sleep 600",
                    "destroys": "rm -r $MINE", "warm-only": "test $n = 8 || exit 4"},
                   {"fails": "exit code 3: out of luck", "dies": "killed by signal 9", "hangs": "timed out after 2 s",
                    "destroys": "removed the folder of the cache layer", "warm-only": "warm run of pair 1: exit code 4"},
                   "--timeout", "2s")

    def test_csv_files(self):
        def written(text):
            return f"printf '{text}' > \"{{output}}\"; exit 0"
        self.check({"other-column": written("name,costs\\nx,1\\n"), "two-rows": written("cost\\n1\\n2\\n"),
                    "no-row": written("cost\\n"), "empty": written(""), "none": "exit 0",
                    "text": written("cost\\nOOM\\n"), "nan": written("cost\\nnan\\n")},
                   {"other-column": "no column 'cost'; did you mean 'costs'", "two-rows": "2 rows of values",
                    "no-row": "0 rows of values", "empty": "is empty", "none": "it wrote no file",
                    "text": "is not a number: 'OOM'", "nan": "not a number|finite"})

    def test_a_full_disk(self):
        disk = self.folder / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("no file system can be mounted here")
        self.addCleanup(subprocess.run, ["umount", str(disk)], check=True)
        self.environment["TMPDIR"] = str(disk)
        self.check({"large": "dd if=/dev/zero of=$MINE/big bs=64k count=64 status=none || exit 7"},
                   {"large": "exit code 7: .*No space left.*the disk of the cache layer 'env:MINE' is full"})
        self.assertEqual(list(disk.iterdir()), [])

    def test_no_program(self):
        result = self.cache("--layer", "ccache", "--", "no-such-program", "x")
        self.assert_refused(result, "the program no-such-program")

    def test_no_place_for_temporary_folders(self):
        self.environment["TMPDIR"] = "/proc/none"
        self.assert_refused(self.cache("--suite", self.suite_of({})), "/proc/none")


class BadInputTest(CacheFaultsTest):
    def refused(self, text, *words):
        self.assert_refused(self.cache("--suite", self.write_suite(text)), "mine.toml", *words)

    def test_suite_files(self):
        good = 'layers = ["ccache"]\ncommand = ["true"]\n'
        self.refused(good + 'models = ["a"]\nrepeats = 3\n', "line 4, column 1", "'repeats'", "did you mean 'repeat'")
        self.refused('models = ["a"]\nlayers = ["ccache"]\ncommand = ["true", "{modl}"]\n', "line 3, column 20", "{modl}")
        self.refused(good, "no models")
        self.refused(good + "models = []\n", "line 3", "no models")
        self.refused("models = [", "line 1")
        self.assert_refused(self.cache("--suite", self.folder / "none.toml"), "none.toml", "No such file")
        self.assert_refused(self.cache("--suite", "ccach"), "did you mean 'ccache'")

    def test_arguments(self):
        suite = self.suite_of({})
        self.assert_exit(self.cache("--suite", suite, "--repeat", "0"), 2)
        self.assert_exit(self.cache("--benchmark", "timm", "--output", "x"), 2)
        self.assert_refused(self.cache("--suite", suite, "--unknown"), "--unknown")
        self.assert_refused(self.cache("--suite", suite, "-m", "fin"), "did you mean 'fine'")
        self.assert_refused(self.cache("--suite", suite, "--mode", "training"), "no option 'mode'")
        self.assert_refused(self.cache("--suite", suite, "--timeout", "0s"), "must be above 0")
        self.assert_refused(self.cache(), "--suite")
        self.assert_refused(self.cache("--", "true"), "--layer")
        self.assert_refused(self.cache("--layer", "inductr", "--", "true"), "did you mean 'inductor'")
        self.assert_refused(self.cache("--layer", "ccache", "--metric", "csv:t", "--", "true"), "--unit")
        self.assert_refused(self.cache("--layer", "ccache", "--"), "no command")
        self.assert_refused(self.cache("--suite", suite, "--output", "/proc/x/y"), "/proc/x/y")
        self.assert_refused(self.cache("--benchmark", "torchbench", "--output", self.output), "HEADROOM_SUITE_DIR")
        self.assert_refused(self.cache("--benchmark", "torchbench", "--pytorch", self.folder, "--output", self.output),
                            "benchmarks/dynamo/torchbench.py")


class EndedRunsTest(CacheFaultsTest):
    def test_the_file_is_there_after_every_model(self):
        suite = self.write_suite(SUITE.format(models='"first", "second"',
                                              faults='if test "{model}" = second; then sleep 5; fi'))
        process = self.start("--suite", suite, "--output", self.output, "--json", self.records, "--repeat", 1)
        self.wait_for(self.output)
        process.kill()
        process.communicate(timeout=10)
        self.assertEqual({record["model"]["name"] for record in json.loads(self.output.read_text())}, {"first"})
        self.assertTrue(records_of(self.records))
        # The next run removes leftovers older than a minute.
        for left in self.temporary.iterdir():
            os.utime(left, (1, 1))
        self.assert_exit(self.cache("--suite", suite, "-m", "first"), 0)

    def test_ctrl_c_keeps_what_was_measured(self):
        suite = self.write_suite(SUITE.format(models='"first", "second"',
                                              faults='if test "{model}" = second; then sleep 600; fi'))
        process = self.start("--suite", suite, "--output", self.output, "--json", self.records, "--repeat", 1)
        self.wait_for(self.output)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 130, stderr)
        self.assertIn("interrupted", stderr)
        self.assertIn("first", stdout)
        self.assertEqual({record["model"]["name"] for record in json.loads(self.output.read_text())}, {"first"})

    def set_aside(self, before_sleeping=""):
        """A run in the middle of a command, with a folder set aside."""
        self.cached = self.folder / "cache"
        self.cached.mkdir()
        (self.cached / "precious").write_text("precious")
        started = self.folder / "started"
        process = self.start("--layer", f"folder:{self.cached}", "--repeat", 1, "--", "sh", "-c",
                             f"test ! -e {self.cached}/precious || exit 9; echo new > {self.cached}/new; "
                             f"{before_sleeping} touch {started}; sleep 5")
        self.wait_for(started)
        self.assertFalse((self.cached / "precious").exists())
        return process

    def assert_back(self):
        self.assertEqual([entry.name for entry in self.cached.iterdir()], ["precious"])
        self.assertEqual((self.cached / "precious").read_text(), "precious")

    def test_a_folder_is_put_back_on_ctrl_c(self):
        process = self.set_aside()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, 130)
        self.assert_back()

    def test_a_folder_is_put_back_however_often_ctrl_c_is_pressed(self):
        process = self.set_aside("trap '' INT TERM;")
        for _ in range(3):
            process.send_signal(signal.SIGINT)
            time.sleep(0.05)
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, 130)
        self.assert_back()

    def test_a_folder_is_put_back_when_the_terminal_goes_away(self):
        for number in (signal.SIGHUP, signal.SIGTERM):
            with self.subTest(number):
                process = self.set_aside()
                process.send_signal(number)
                process.communicate(timeout=30)
                self.assertEqual(process.returncode, 130)
                self.assert_back()
                (self.cached / "precious").unlink()
                self.cached.rmdir()
                (self.folder / "started").unlink()

    def test_a_folder_is_put_back_after_a_kill(self):
        process = self.set_aside()
        process.kill()
        process.communicate(timeout=10)
        self.assert_exit(self.cache("--recover"), 0, stderr="restored ")
        self.assert_back()
        left = self.folder / ".cache.headroom-left"
        self.assertEqual((left / "new").read_text(), "new\n")
        self.assertEqual(self.cache("--recover").stderr, "")
        for folder in self.temporary.iterdir():
            os.utime(folder, (1, 1))
        self.assert_exit(self.cache("--layer", "ccache", "--repeat", 1, "--", "true"), 0)


class UseTest(CacheFaultsTest):
    def test_its_time_is_that_of_the_whole_run(self):
        result = self.cache("--suite", self.suite_of({"slow": "sleep 1", "slower": "sleep 5"}), "--repeat", "50", "--max-time", "5s", "--json", self.records)
        self.assert_exit(result, 3)
        rows = {}
        for record in records_of(self.records):
            rows.setdefault(record["model"]["name"], []).append(record)
        self.assertEqual({row["outcome"]["kind"] for row in rows["slow"]}, {"measured"})
        for model in ("slower", "fine"):
            self.assertEqual([row["outcome"]["kind"] for row in rows[model]], ["skipped"], "not even a pair")
        self.assertEqual({row["stop"] for row in rows["slow"] + rows["slower"] + rows["fine"]}, {"max-time"})
        self.assertIn("skipped: slower: not reached within --max-time 5.00 s", result.stdout)
        shown = headroom("show", self.records)
        self.assertIn("skipped: slower: not reached within --max-time 5.00 s", shown.stdout)

    def test_a_shorter_time_is_that_of_a_model(self):
        result = self.assert_exit(self.cache("--suite", self.suite_of({"slow": "sleep 0.3"}), "--repeat", "50",
                                             "--max-time", "500ms", "--json", self.records), 0)
        self.assertRegex(result.stdout, r"slow: [12] of 50 pairs: time ran out")
        self.assertEqual({record["outcome"]["kind"] for record in records_of(self.records)}, {"measured"})
        self.assertRegex(self.cache("--suite", self.suite_of({}), "--max-time", "0").stderr, "--max-time must be above 0")

    def test_a_command_with_its_own_layer_and_metric(self):
        script = ("if test -e $MINE/m; then echo took 250 ms; else touch $MINE/m; echo took 1000 ms; fi; "
                  "echo | awk '{print 1}' >&2")
        result = self.cache("--layer", "env:MINE", "--metric", "output:took ([0-9]+) ms", "--unit", "ms", "--repeat", 7,
                            "--warm2", "--json", self.records, "--", "sh", "-c", script)
        self.assert_exit(result, 0)
        self.assertRegex(result.stdout, r"1000 ms .* 250 ms .* 4\.00x +4\.00x to 4\.00x +75\.0 % +1\.00x")
        self.assertRegex(result.stdout, r"env:MINE +fresh folder in MINE +0 +1 +1 ")
        self.assertIn("cold runs were cold: before each of the 7, every layer was empty", result.stdout)

    def test_a_layer_that_no_command_uses(self):
        self.assert_exit(self.cache("--layer", "triton", "--repeat", 1, "--", "true"), 0,
                         "unused: no command wrote to triton")

    def test_models_in_random_order_in_every_round(self):
        log = self.folder / "log"
        suite = self.write_suite(f'models = ["a", "b", "c"]\nlayers = ["ccache"]\nrepeat = 12\n'
                                 f'command = ["sh", "-c", "echo {{model}} >> {log}"]\n')
        self.assert_exit(self.cache("--suite", suite), 0)
        runs = log.read_text().split()
        pairs = runs[::2]
        self.assertEqual(pairs, runs[1::2], "cold, then warm")
        rounds = [tuple(pairs[i:i + 3]) for i in range(0, 36, 3)]
        for order in rounds:
            self.assertEqual(sorted(order), ["a", "b", "c"])
        self.assertGreater(len(set(rounds)), 2)

    def test_one_output_file_a_run(self):
        log = self.folder / "log"
        program = self.folder / "torchbench.py"
        program.write_text(f"import sys\nprint(sum(a.startswith('--output=') for a in sys.argv), file=open('{log}', 'a'))\n"
                           "open(sys.argv[-1][9:], 'w').write('compilation_latency\\n1.5\\n')\n")
        self.environment["HEADROOM_SUITE_DIR"] = str(self.folder)
        result = self.cache("--benchmark", "torchbench", "-m", "mine", "--repeat", 3, "--output", self.output)
        self.assert_exit(result, 0)
        self.assertEqual(log.read_text().split(), ["1"] * 6)

    def test_records_are_compared_and_kept(self):
        suite, store = self.suite_of({}), self.folder / "history.sqlite"
        self.assert_exit(headroom("cache", "--suite", suite, "--repeat", 6, "--output", self.output, "--json",
                                  self.records, "--store", store, env=self.environment), 0)
        for path in (self.output, self.records):
            self.assert_exit(headroom("diff", path, path), 0, "fine")
        self.assert_exit(headroom("history", "fine", "--all", "--store", store), 0, "speedup")

    def test_records_on_standard_output(self):
        result = self.assert_exit(self.cache("--suite", self.suite_of({}), "--json", "-"), 0)
        self.assertTrue(json.loads(result.stdout)["records"])
        self.assertIn("speed-up", result.stderr)


if __name__ == "__main__":
    unittest.main()
