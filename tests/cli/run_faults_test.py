# SPDX-License-Identifier: Apache-2.0
"""`headroom run` with bad input or a bad runner, interrupted or killed: what it says, what it keeps, how it exits."""
import json
import os
import random
import signal
import subprocess
import time
import unittest

from command_line import BRIEF, FAULTY, HEADROOM, CommandLineTest, faulty, headroom, records_of


class BadInputTest(CommandLineTest):
    def test_unknown_experiment(self):
        self.assert_refused(headroom("run", "gemm"), "unknown experiment 'gemm'", "gemv")

    def test_unknown_only(self):
        self.assert_refused(headroom("run", "--only", "gemvv"), "unknown experiment 'gemvv'", "gemv")

    def test_axes(self):
        self.assert_refused(headroom("run", "gemv", "-a", "D=zero"), "'zero'", "positive integer")
        self.assert_refused(headroom("run", "gemv", "-a", "D=0"), "'0'", "positive integer")
        self.assert_refused(headroom("run", "gemv", "-a", "dtype=fp4"), "'fp4'", "int8, bf16")
        self.assert_refused(headroom("run", "gemv", "-a", "E=3"), "axis 'E'", "D")
        self.assert_refused(headroom("run", "gemv", "-a", "D"), "name=value")
        self.assert_refused(headroom("run", "gemv", "-a", "D=8-4*2"), "8-4*2")

    def test_backend(self):
        self.assert_refused(headroom("run", "gemv", "--backend", "tpu"), "backend 'tpu'", "native")

    def test_numbers(self):
        self.assert_refused(headroom("run", "--precision", "lots"), "lots")
        self.assert_refused(headroom("run", "--precision", "0"), "--precision")
        self.assert_refused(headroom("run", "--max-time", "-3s"), "-3s")
        self.assert_refused(headroom("run", "--threads", "0"), "--threads")
        self.assert_refused(headroom("run", "--processes", "none"), "--processes")

    def test_unwritable_outputs_are_refused_before_measuring(self):
        for option in ("--json", "--oss", "--output"):
            start = time.monotonic()
            self.assert_refused(faulty("hangs", option, "/proc/version/results.csv"), "/proc/version")
            self.assertLess(time.monotonic() - start, 5)

    def test_output_that_is_a_folder(self):
        self.assert_refused(faulty("fine", "--json", self.folder), str(self.folder))

    def test_output_and_json_must_not_collide(self):
        self.assert_refused(faulty("fine", "--output", self.folder / "a.csv", "--json", self.folder / "a.json"), "a.json")

    def test_malformed_targets_name_line_and_column(self):
        targets = self.write_file("targets.toml", '[[target]]\nexperiment = "gemv"\nmetric = \n')
        self.assert_refused(headroom("run", "--targets", targets), str(targets), "3")
        targets.write_text('[[target]]\nexperiment = "gemv"\ncolour = "red"\nvalue = 1\n')
        self.assert_refused(headroom("run", "--targets", targets), "colour", "3")
        self.assert_refused(headroom("run", "--targets", self.folder / "none.toml"), "none.toml")


class BadRunnerTest(CommandLineTest):
    def refused(self, runner, *words):
        self.assert_refused(headroom("run", "--runner", runner, "--timeout", "1s", "--no-limits"), *words)

    def test_missing(self):
        self.refused("/nowhere/runner", "/nowhere/runner", "no such file")

    def test_not_executable(self):
        path = self.write_file("plain.txt", "hello")
        self.refused(path, "plain.txt")

    def test_not_a_runner(self):
        self.refused("/bin/true", "/bin/true", "not a headroom runner")

    def test_silent(self):
        start = time.monotonic()
        self.refused(self.script("runner", "sleep 1000"), "not a headroom runner", "did not answer within 1 s")
        self.assertLess(time.monotonic() - start, 10)
        self.assert_nothing_runs()

    def test_garbage(self):
        self.refused(self.script("runner", "echo 'Hello!' >&$HEADROOM_FD; sleep 5"), "not a headroom runner")

    def test_other_protocol(self):
        greeting = '{"headroom_runner":"old","protocol":999,"version":"9"}'
        self.refused(self.script("runner", f"echo '{greeting}' >&$HEADROOM_FD; sleep 5"), "protocol 999", "rebuild")

    def test_garbage_after_the_greeting(self):
        greeting = '{"headroom_runner":"x","protocol":1,"version":"9"}'
        self.refused(self.script("runner", f"echo '{greeting}' >&$HEADROOM_FD; echo '[[[' >&$HEADROOM_FD; sleep 5"), "protocol")


class PrecisionTest(CommandLineTest):
    def run_one(self, *options, backend="declared"):
        path = self.folder / "records.json"
        result = faulty("sums_in_bf16", "--backend", backend, "--json", path, *options)
        return result, records_of(path)

    def test_sums_in_bf16_are_held_against_their_bound_and_said(self):
        result, records = self.run_one()
        self.assert_exit(result, 0)
        self.assertRegex(result.stdout, r"    sums in bf16, error 0\.\d+ \(bound 0\.25\)\n")
        self.assertIn("latency", [record["metric"]["name"] for record in records])
        for record in records:
            self.assertEqual(record["sums_in"], "bf16")
            self.assertTrue(record["verified"])
            # Above the error of f32, within that of bf16.
            self.assertGreater(record["max_error"], 0.0049)
            self.assertLess(record["max_error"], record["error_bound"])

    def test_strictly_they_are_refused(self):
        result, records = self.run_one("--strict")
        self.assert_exit(result, 1)
        self.assertRegex(result.stdout, r"failed\n    sums in bf16, error 0\.\d+ \(bound 0\.25\), but --strict requires f32\n")
        self.assertEqual([record["outcome"]["kind"] for record in records], ["failed"])
        self.assertEqual(records[0]["samples"], [])

    def test_what_does_not_declare_it_is_wrong(self):
        result, records = self.run_one(backend="undeclared")
        self.assert_exit(result, 1)
        self.assertIn("wrong answer at index", records[0]["outcome"]["reason"])
        self.assertIn("for sums in f32", records[0]["outcome"]["reason"])

    def test_strictly_sums_in_f32_are_fine(self):
        result = self.assert_exit(headroom("run", "gemv", "-a", "D=64", "-a", "dtype=bf16", "--hot", "--no-limits",
                                           "--strict", *BRIEF, "--no-store"), 0)
        self.assertNotIn("sums in", result.stdout)


class KeptWrongTest(CommandLineTest):
    def test_a_wrong_answer_is_timed_where_asked_and_marked_in_the_table_and_in_the_records(self):
        path = self.folder / "records.json"
        result = self.assert_exit(faulty("is_wrong", "--keep-wrong", "--json", path), 1)
        self.assertRegex(result.stdout, r"is_wrong .* µs .*X")
        self.assertIn("    WRONG: wrong answer at index 1 of 2: 2.5, the float64 reference is 2", result.stdout)
        self.assertIn("  X  the answer is wrong", result.stdout)
        record = next(r for r in records_of(path) if r["metric"]["name"] == "latency")
        self.assertTrue(record["kept_wrong"])
        self.assertFalse(record["verified"])
        self.assertEqual(record["outcome"]["kind"], "failed")
        self.assertIn("wrong answer at index 1", record["outcome"]["reason"])
        self.assertGreater(record["metric"]["value"], 0)
        self.assertTrue(record["samples"][0]["values"])

    def test_it_is_nowhere_the_nearest_or_the_baseline_and_in_no_mean(self):
        means, oss = self.folder / "means.csv", self.folder / "all.oss.json"
        result = self.assert_exit(faulty("one_is_wrong", "--backend", "fast,right", "--keep-wrong", "--processes", "1",
                                         "--output", means, "--oss", oss), 1, "WRONG: ")
        self.assertNotIn("nearest the limit", result.stdout)
        self.assertNotRegex(result.stdout, r"the time of fast")
        self.assertNotIn("fast", means.read_text())
        self.assertIn("one_is_wrong", means.read_text())
        self.assertNotIn("fast", oss.read_text())

    def test_it_reaches_no_target(self):
        targets = self.folder / "targets.toml"
        targets.write_text('[[target]]\nexperiment = "one_is_wrong"\nmetric = "GFLOP/s"\ndevice = "cpu"\nvalue = 1e-9\n')
        for backend, reached in (("right", True), ("fast", False)):
            result = faulty("one_is_wrong", "--backend", backend, "--keep-wrong", "--targets", targets)
            self.assert_exit(result, 0 if reached else 1)
            # On a busy machine the rate may be inconclusive.
            verdict = self.assertRegex if reached else self.assertNotRegex
            verdict(result.stdout, r"1\.00e-09 (ok|inconclusive)")

    def test_a_comparison_of_files_has_it_as_failed(self):
        right, wrong = self.folder / "right.json", self.folder / "wrong.json"
        self.assert_exit(faulty("fine", "--json", right), 0)
        self.assert_exit(faulty("is_wrong", "--keep-wrong", "--json", wrong), 1)
        result = headroom("diff", wrong, wrong)
        self.assertIn("wrong answer", result.stdout + result.stderr)

    def test_without_it_a_wrong_answer_is_not_timed(self):
        path = self.folder / "records.json"
        self.assert_exit(faulty("is_wrong", "--json", path), 1)
        self.assertEqual(records_of(path)[0]["samples"], [])


class FailingCaseTest(CommandLineTest):
    def measured_beside(self, name, *words, options=(), code=1):
        """Runs the bad experiment beside a good one: the good one is measured, the bad one says why not."""
        path = self.folder / "records.json"
        result = self.assert_exit(faulty(name, "fine", "--json", path, *options), code)
        records = {r["model"]["name"]: r for r in records_of(path)}
        self.assertEqual(records["fine"]["outcome"]["kind"], "measured")
        self.assertTrue(records["fine"]["samples"])
        bad = records[name]
        for word in words:
            self.assertIn(word, bad["outcome"]["reason"])
            self.assertIn(word, result.stdout)
        return bad

    def test_segfault_while_preparing(self):
        bad = self.measured_beside("segfaults_while_preparing", "signal 11", "about to touch a null pointer")
        self.assertEqual(bad["outcome"]["kind"], "failed")

    def test_segfault_while_sampling(self):
        self.measured_beside("segfaults_while_sampling", "signal 11", "the 200th iteration is the last")

    def test_hang_ends_at_the_time_out_with_its_children(self):
        for name in ("hangs", "hangs_with_a_child"):
            start = time.monotonic()
            self.measured_beside(name, "did not answer within 1 s", options=("--timeout", "1s"))
            self.assertLess(time.monotonic() - start, 20)
        time.sleep(0.2)
        self.assert_nothing_runs()

    def test_out_of_memory(self):
        self.measured_beside("throws_bad_alloc", "out of memory")

    def test_killed(self):
        self.measured_beside("is_killed", "signal 9", "perhaps out of memory")

    def test_nan(self):
        self.measured_beside("returns_nan", "index 1", "nan", "reference is 2")

    def test_wrong_answer(self):
        self.measured_beside("is_wrong", "index 1", "2.5", "reference is 2")

    def test_exception(self):
        self.measured_beside("throws", "the device said no")

    def test_never_measures(self):
        self.measured_beside("never_measures", "never called measure()")

    def test_skip_is_not_a_failure(self):
        bad = self.measured_beside("skips", "no frobnicator", code=0)
        self.assertEqual(bad["outcome"]["kind"], "skipped")

    def test_too_large_for_memory(self):
        bad = self.measured_beside("needs_too_much", "needs", "are available", code=0)
        self.assertEqual(bad["outcome"]["kind"], "skipped")

    def test_a_crash_of_one_compared_runner_keeps_the_other(self):
        path = self.folder / "records.json"
        self.assert_exit(headroom("run", "segfaults_while_sampling", "fine", "--runner", FAULTY, "--runner", FAULTY,
                                  "--no-limits", *BRIEF, "--json", path), 1)
        fine = [r for r in records_of(path) if r["model"]["name"] == "fine"]
        self.assertTrue(all(r["outcome"]["kind"] == "measured" for r in fine))

    def test_result_above_its_limit_is_an_accounting_error(self):
        path = self.folder / "records.json"
        result = headroom("run", "above_its_limit", "--runner", FAULTY, "--hot", "--threads", "1", "--max-time", "1s",
                          "--json", path)
        record = records_of(path)[0]
        notes = " ".join(record["notes"])
        self.assertIn("above its limit", notes)
        self.assertIn("the declared work is wrong", result.stdout)
        self.assert_exit(result, 1)
        self.assertRegex(result.stderr, "[0-9] results? lies? above the limits of this machine|results lie above")


class RunTimeTest(CommandLineTest):
    """--max-time from 5 s on is a promise of the whole run."""

    def ends(self, *arguments):
        begin = time.monotonic()
        result = headroom(*arguments, "--no-limits", "--no-store", "--threads", "1", "--min-time", "0", "--json", str(self.folder / "r.json"))
        self.assertLess(time.monotonic() - begin, 60)
        rows = {}
        for record in records_of(str(self.folder / "r.json")):
            rows.setdefault(record["model"]["name"], []).append(record)
        return result, rows

    def test_what_was_not_reached_is_a_row_that_says_so(self):
        result, rows = self.ends("run", "--runner", FAULTY, "fine", "hangs", "sums_in_bf16", "--max-time", "5", "--num-samples", "5")
        self.assert_exit(result, 3)
        self.assertEqual({record["outcome"]["kind"] for record in rows["fine"]}, {"measured"})
        self.assertEqual(len(rows["hangs"]), 1)
        for record in rows["hangs"] + rows["sums_in_bf16"]:
            self.assertEqual((record["outcome"]["kind"], record["stop"]), ("skipped", "max-time"))
            self.assertRegex(record["outcome"]["reason"], "not reached within --max-time 5")
        self.assertIn("not reached within --max-time 5", result.stdout)

    def test_two_runners_share_it(self):
        result, rows = self.ends("run", "--runner", FAULTY, "--runner", FAULTY, "fine", "--max-time", "5s", "--precision", "0.0001%")
        self.assert_exit(result, 0)
        self.assertEqual({record["stop"] for record in rows["fine"] if record["metric"]["name"] == "latency"}, {"max-time"})

    def test_a_runner_that_has_not_started_in_time_is_a_row(self):
        late = self.script("late", "exec sleep 100")
        result, rows = self.ends("run", "--runner", late, "--runner", FAULTY, "fine", "--max-time", "8s", "--num-samples", "5")
        self.assert_exit(result, 3)
        kinds = {record["runner"]: record["outcome"]["kind"] for record in rows["fine"]}
        self.assertEqual(kinds.pop(str(late)), "skipped")
        self.assertEqual(set(kinds.values()), {"measured"})
        self.assertIn("not reached within --max-time 8.00 s: the runner had not started", result.stdout)
        result, rows = self.ends("run", "--runner", late, "fine", "throws", "--max-time", "5s")
        self.assert_exit(result, 3)
        self.assertEqual([record["stop"] for record in rows["fine"] + rows["throws"]], 2 * ["max-time"])

    def test_below_five_seconds_it_is_of_sampling_alone(self):
        result, rows = self.ends("run", "--runner", FAULTY, "fine", "prints", "--max-time", "50ms")
        self.assert_exit(result, 0)
        self.assertEqual({record["outcome"]["kind"] for record in rows["fine"] + rows["prints"]}, {"measured"})


class InterruptTest(CommandLineTest):
    def start(self, *arguments):
        return super().start("run", "--runner", FAULTY, "--no-limits", "--threads", "1", *arguments)

    def test_ctrl_c_keeps_what_was_measured(self):
        path = self.folder / "records.json"
        process = self.start("fine", "slow", "--max-time", "60s", "--precision", "0.0001%", "--json", path)
        time.sleep(1.5)
        self.assert_ends(process, 130, "fine", signal_number=signal.SIGINT, stderr="interrupted")
        records = records_of(path)
        self.assertTrue(records[0]["samples"][0]["values"])
        self.assertEqual(records[0]["stop"], "interrupted")

    def test_a_terminal_that_closes_keeps_what_was_measured(self):
        path = self.folder / "records.json"
        process = self.start("fine", "--max-time", "60s", "--precision", "0.0001%", "--no-store", "--json", path)
        time.sleep(1.5)
        process.send_signal(signal.SIGHUP)
        self.assert_ends(process, 130, signal_number=signal.SIGHUP)
        self.assertTrue(records_of(path)[0]["samples"][0]["values"])

    def test_nohup_goes_on(self):
        path = self.folder / "records.json"
        process = subprocess.Popen(["nohup", HEADROOM, "run", "fine", "--runner", FAULTY, "--no-limits", "--max-time", "2s",
                                    "--min-time", "2s", "--no-store", "--json", str(path)], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(1)
        self.assert_ends(process, 0, signal_number=signal.SIGHUP)
        self.assertNotEqual(records_of(path)[0]["stop"], "interrupted")

    def test_ctrl_c_in_a_sample_that_never_ends(self):
        process = self.start("hangs")
        time.sleep(1)
        self.assert_ends(process, 130, signal_number=signal.SIGINT, timeout=5)

    def test_ctrl_c_leaves_no_runner(self):
        process = self.start("hangs_with_a_child")
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=5)
        time.sleep(0.3)
        self.assert_nothing_runs()

    def test_kill_leaves_files_as_they_were_or_whole(self):
        seed = int(os.environ.get("HEADROOM_SEED", "1"))
        chance = random.Random(seed)
        path, table = self.folder / "records.json", self.folder / "means.csv"
        for attempt in range(int(os.environ.get("HEADROOM_KILLS", "15"))):
            process = self.start("fine", "prints", "fine", "skips", "--max-time", "40ms", "--min-time", "0", "--json", path,
                            "--output", table)
            time.sleep(chance.uniform(0.0, 0.35))
            process.kill()
            process.communicate(timeout=10)
            if path.exists():
                self.assertTrue(records_of(path), f"attempt {attempt}")
            if table.exists():
                self.assertTrue(table.read_text().endswith("\n"))
            lines = table.with_suffix(".json")
            if lines.exists():
                for line in lines.read_text().splitlines():
                    json.loads(line)
        process = self.start("fine", "prints", "fine", "skips", "--max-time", "40ms", "--min-time", "0", "--json", path, "--output", table)
        self.assert_ends(process, 0)  # if not killed, goes on
        self.assertEqual({"fine", "prints", "skips"}, {record["model"]["name"] for record in records_of(path)})
        self.assertTrue(table.read_text().endswith("\n"))
        self.assertTrue([json.loads(line) for line in table.with_suffix(".json").read_text().splitlines()])
        # A kill may leave temporary files.
        results = {"records.json", "means.csv", "means.json"}
        for name in {entry.name for entry in self.folder.iterdir()} - results:
            self.assertRegex(name, r"^\.headroom-\d+-\d+\.tmp$")


if __name__ == "__main__":
    unittest.main()
