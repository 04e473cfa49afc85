# SPDX-License-Identifier: Apache-2.0
"""`headroom cache`: like PyTorch's cachebench.py, with bad commands, suites and disks, with tools that write below TMPDIR, and --each-layer."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest

from command_line import CommandLineTest, headroom, records_of

PARITY = pathlib.Path(os.environ.get("HEADROOM_SHARED", "")) / "parity" / "cachebench"
# Models that fail in the recorded runs.
FAILING = {"failures": "moco,llama", "all_failed": "nanogpt"}


@unittest.skipUnless(PARITY.is_dir(), "the recorded runs of cachebench.py are not on this machine")
class ParityTest(CommandLineTest):
    def setUp(self):
        super().setUp()
        for name in ("torchbench.py", "huggingface.py"):
            shutil.copyfile(PARITY / "fake_suite.py", self.folder / name)
        self.log, self.output = self.folder / "log", self.folder / "result.json"

    def run_case(self, name, *more):
        environment = dict(os.environ, HEADROOM_SUITE_DIR=str(self.folder), HEADROOM_PYTHON=sys.executable,
                           FAKE_LOG=str(self.log), FAKE_FAIL=FAILING.get(name, ""))
        arguments = (PARITY / f"{name}.args").read_text().split()
        return headroom("cache", *arguments, "--output", self.output, "--no-store", *more, env=environment)

    def assert_same_commands(self, name):
        expected = [json.loads(line) for line in (PARITY / f"{name}.commands.jsonl").read_text().splitlines()]
        self.assertEqual([json.loads(line) for line in self.log.read_text().splitlines()], expected)

    def assert_same_json(self, name):
        expected = json.loads((PARITY / f"{name}.expected.json").read_text())
        self.assertEqual(json.loads(self.output.read_text()), expected)

    def check(self, name, code=0):
        result = self.assert_exit(self.run_case(name), code)
        self.assert_same_commands(name)
        self.assert_same_json(name)
        return result

    def test_default(self):
        self.check("default_torchbench")

    def test_repeats_on_the_cpu(self):
        self.check("huggingface_inference_cpu")

    def test_unknown_flags_are_tolerated_and_named(self):
        result = self.check("dynamic_one")
        self.assertIn("--some-unknown-flag 7", result.stderr)

    def test_failing_models_are_left_out_and_told(self):
        result = self.check("failures", code=1)
        for model in ("moco", "llama"):
            self.assertRegex(result.stdout, rf"{model}.*exit code 3: simulated failure")

    def test_no_results_no_file(self):
        self.assert_exit(self.run_case("all_failed"), 1)
        self.assert_same_commands("all_failed")
        self.assertFalse(self.output.exists())


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

    def suite_of(self, faults):
        """Writes a suite with a model for each of `faults` (name: shell code), and 'fine'."""
        cases = "\n".join(f'if test "{{model}}" = {name}; then {code}; fi' for name, code in faults.items())
        models = ", ".join(f'"{name}"' for name in [*faults, "fine"])
        return self.write_file("mine.toml", SUITE.format(models=models, faults=cases))

    def cache(self, *arguments, **options):
        return headroom("cache", "--no-store", *arguments, env=self.environment, **options)

    def start(self, *arguments):
        return super().start("cache", "--no-store", *arguments, env=self.environment)


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
        disk = self.make_folder("disk")
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
        self.assert_refused(self.cache("--suite", self.write_file("mine.toml", text)), "mine.toml", *words)

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
        suite = self.write_file("mine.toml", SUITE.format(models='"first", "second"',
                                              faults='if test "{model}" = second; then sleep 5; fi'))
        process = self.start("--suite", suite, "--output", self.output, "--json", self.records, "--repeat", 1)
        self.wait_for(self.output.exists)
        process.kill()
        process.communicate(timeout=10)
        self.assertEqual({record["model"]["name"] for record in json.loads(self.output.read_text())}, {"first"})
        self.assertTrue(records_of(self.records))
        # The next run removes leftovers older than a minute.
        for left in self.temporary.iterdir():
            os.utime(left, (1, 1))
        self.assert_exit(self.cache("--suite", suite, "-m", "first"), 0)

    def test_ctrl_c_keeps_what_was_measured(self):
        suite = self.write_file("mine.toml", SUITE.format(models='"first", "second"',
                                              faults='if test "{model}" = second; then sleep 600; fi'))
        process = self.start("--suite", suite, "--output", self.output, "--json", self.records, "--repeat", 1)
        self.wait_for(self.output.exists)
        self.assert_ends(process, 130, "first", signal_number=signal.SIGINT, stderr="interrupted")
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
        self.wait_for(started.exists)
        self.assertFalse((self.cached / "precious").exists())
        return process

    def assert_back(self):
        self.assertEqual([entry.name for entry in self.cached.iterdir()], ["precious"])
        self.assertEqual((self.cached / "precious").read_text(), "precious")

    def test_a_folder_is_put_back_on_ctrl_c(self):
        self.assert_ends(self.set_aside(), 130, signal_number=signal.SIGINT)
        self.assert_back()

    def test_a_folder_is_put_back_however_often_ctrl_c_is_pressed(self):
        process = self.set_aside("trap '' INT TERM;")
        for _ in range(3):
            process.send_signal(signal.SIGINT)
            time.sleep(0.05)
        self.assert_ends(process, 130)
        self.assert_back()

    def test_a_folder_is_put_back_when_the_terminal_goes_away(self):
        for number in (signal.SIGHUP, signal.SIGTERM):
            with self.subTest(number):
                self.assert_ends(self.set_aside(), 130, signal_number=number)
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
        suite = self.write_file("mine.toml", f'models = ["a", "b", "c"]\nlayers = ["ccache"]\nrepeat = 12\n'
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


# Costs 1, plus a cost per empty cache. A cached kernel needs no header.
COMPILER = """
cost=1
pay() { if ! test -e "$1"; then cost=$((cost + $2)); mkdir -p "$(dirname "$1")"; echo compiled > "$1"; fi; }
pay "$TORCHINDUCTOR_CACHE_DIR/fxgraph/graph" 2
if ! test -e "$TORCHINDUCTOR_CACHE_DIR/ab/kernel.so"; then
  pay "$TMPDIR/torchinductor_me/precompiled_headers/h.gch" 20
  pay "$TORCHINDUCTOR_CACHE_DIR/ab/kernel.so" 4
fi
pay "$TRITON_CACHE_DIR/0/kernel" 8
printf 123456789 > "$TMPDIR/scratch-file"
mkdir -p "$TMPDIR/tool/cache"; printf '%2000s' x > "$TMPDIR/tool/cache/most"
echo cost $cost
"""


class PartsTest(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()
        self.environment = dict(os.environ, TMPDIR=str(self.temporary), XDG_DATA_HOME=str(self.folder / "data"),
                                TRITON_CACHE_DIR=str(self.folder / "ours"))
        self.records = self.folder / "records.json"

    def tearDown(self):
        self.assertEqual(list(self.temporary.iterdir()), [], "what is in TMPDIR goes with the run")

    def cache(self, *arguments, script=COMPILER):
        return headroom("cache", "--no-store", "--metric", "output:cost ([0-9]+)", "--unit", "s", "--name", "tool",
                        "--json", self.records, *arguments, "--", "sh", "-c", script, env=self.environment)

    def values_of(self, phase):
        """The samples of "Cold" or "Warm" runs."""
        return next(record["samples"][0]["values"] for record in records_of(self.records)
                    if record["metric"]["name"].startswith(phase))

    def without(self):
        """Returns {cache: samples of the runs without it}."""
        return {record["metric"]["extra_info"]["cache"]: record["samples"][0]["values"] for record in records_of(self.records)
                if record["metric"]["name"].startswith("Without")}

    def test_what_lies_below_tmpdir_is_cold_and_told(self):
        result = self.cache("--layer", "ccache", "--repeat", 3,
                            script='if test -e "$TMPDIR/tool/x"; then echo cost 1; else mkdir "$TMPDIR/tool"; echo cost 9; fi; '
                                   'printf %2000s x > "$TMPDIR/tool/x"')
        self.assert_exit(result, 0)
        self.assertIn("cold runs were cold: before each of the 3,", result.stdout)
        self.assertRegex(result.stdout, r"in no layer: commands left 1 file, 1.95 KiB, in TMPDIR, mostly in TMPDIR/tool; "
                                        "it was also empty before")
        self.assertEqual(self.values_of("Cold"), [9, 9, 9])
        told = [record["metric"]["extra_info"].get("in no layer") for record in records_of(self.records)]
        self.assertIn("files 1, bytes 2000, in TMPDIR/tool", told)

    def test_nothing_is_said_of_a_tmpdir_that_stays_empty(self):
        result = self.assert_exit(self.cache("--layer", "ccache", "--repeat", 1, script="echo cost 1"), 0)
        self.assertNotIn("in no layer", result.stdout)

    def test_what_each_cache_saves(self):
        result = self.assert_exit(self.cache("--layer", "inductor", "--each-layer", "--repeat", 7), 0)
        self.assertEqual((self.values_of("Cold"), self.values_of("Warm")), ([35] * 7, [1] * 7))
        # Without headers, code would pay for them.
        self.assertEqual(self.without(), {"inductor.fx_graph": [3] * 7, "inductor.headers": [1] * 7, "inductor.triton": [9] * 7,
                                          "inductor.code": [5] * 7})
        records = {record["metric"]["name"]: record for record in records_of(self.records)}
        code = records["speedup by inductor.code"]
        for value in (code["metric"]["value"], code["interval"]["low"], code["interval"]["high"]):
            self.assertAlmostEqual(value, 5)
        saved = {record["metric"]["extra_info"]["cache"]: record["metric"]["numbers"]["saves"]
                 for name, record in records.items() if name.startswith("Without")}
        self.assertEqual(saved["inductor.code"], 4)
        self.assertRegex(result.stdout, r"inductor\.code +9.*B +5.*s +5\.00x +5\.00x to 5\.00x +4.*s")
        self.assertIn("empty: inductor.aot_autograd, inductor.autotune", result.stdout)
        self.assertIn("savings do not add up", result.stdout)
        self.assertRegex(result.stdout, r"in no layer: commands left 2 files, .* TMPDIR/tool/cache;")
        self.assertFalse((self.folder / "ours").exists(), "the triton of inductor is inductor's")

    def test_triton_as_a_layer_of_its_own_in_any_order(self):
        for layers in (("inductor", "triton"), ("triton", "inductor")):
            result = self.cache(*(word for layer in layers for word in ("--layer", layer)), "--each-layer", "--repeat", 1)
            self.assert_exit(result, 0)
            self.assertEqual(self.without()["triton"], [9])
            self.assertNotIn("inductor.triton", self.without())

    def test_a_folder_at_its_place_is_as_it_was_after_each(self):
        cached = self.make_folder("cached")
        (cached / "precious").write_text("precious")
        log = self.folder / "log"
        result = self.cache("--layer", f"folder:{cached}", "--layer", "env:MINE", "--each-layer", "--repeat", 4, script=f"""
            if test -e {cached}/x; then cost=1; else cost=9; echo $$ > {cached}/x; fi; cat {cached}/x >> {log}
            echo x >> $MINE/runs; echo cost $cost""")
        self.assert_exit(result, 0)
        self.assertEqual(self.without(), {f"folder:{cached}": [9] * 4, "env:MINE": [1] * 4})
        # The run without the cache differs.
        runs = log.read_text().split()
        for pair in (runs[i:i + 5] for i in range(0, 20, 5)):
            self.assertEqual(sorted(pair.count(run) for run in set(pair)), [1, 4])
        self.assertEqual([entry.name for entry in cached.iterdir()], ["precious"])
        self.assertEqual([entry.name for entry in self.folder.glob(".cached*")], [])

    def test_a_run_that_fails_without_a_cache_says_which(self):
        result = self.cache("--layer", "env:MINE", "--layer", "env:OTHER", "--each-layer", "--repeat", 1, script="""
            touch $MINE/x; n=$(ls $OTHER | wc -l); if test -e $MINE/second && test $n = 0; then exit 4; fi
            touch $MINE/second $OTHER/x; echo cost 1""")
        self.assert_exit(result, 1)
        self.assertIn("FAILED: tool: env:OTHER cold run of pair 1: exit code 4", result.stdout)

    def test_records_are_compared(self):
        self.assert_exit(self.cache("--layer", "inductor", "--each-layer", "--repeat", 2), 0)
        self.assert_exit(headroom("diff", self.records, self.records), 0, "tool")

    def test_names_are_for_commands(self):
        self.assert_refused(headroom("cache", "--suite", "ccache", "--name", "x", "--no-store"), "--name")


if __name__ == "__main__":
    unittest.main()
