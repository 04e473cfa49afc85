# SPDX-License-Identifier: Apache-2.0
"""`headroom dispatch` on scripted ranks."""
import json
import os
import shutil
import signal
import socket
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

from command_line import HEADROOM, CommandLineTest, clean_environment, free_port, headroom, records_of, run_program, shape_of
from scripted_dispatch import RANK, SHORT, dispatch, ranks_left


class DispatchTest(CommandLineTest):
    def records(self, *arguments, **variables):
        file = self.folder / "records.json"
        result = self.assert_exit(dispatch(*arguments, "--json", file, **variables), 0)
        return result, records_of(file)

    def test_the_table_has_every_operator_and_names_the_worst_rank(self):
        result, _ = self.records()
        for word in ("add", "full", "hit ±95 %", "miss - hit ±95 %", "rank 1: 5.5", "9 hits, 1 misses, 1 plans",
                     "instructions of a call", "8000"):
            self.assertIn(word, result.stdout)
        self.assertNotIn("addmm", result.stdout)

    def test_records_hold_the_cycles_of_every_rank(self):
        _, records = self.records("--op", "add", "--ranks", "3", "--mesh", "3")
        by_metric = {record["metric"]["name"]: record for record in records}
        for metric in ("hit", "miss", "propagation", "plain", "local", "hit over local", "miss over local", "hit key",
                       "miss look-up", "instructions hit"):
            self.assertIn(metric, by_metric)
        hit = by_metric["hit"]
        self.assertEqual(len(hit["samples"]), 3)
        self.assertGreaterEqual(min(len(process["values"]) for process in hit["samples"]), 40)
        self.assertEqual(hit["metric"]["unit"], "us")
        self.assertAlmostEqual(hit["metric"]["value"], 5.1, delta=0.5)
        self.assertAlmostEqual(by_metric["hit over local"]["metric"]["value"], 1.1, delta=0.5)
        self.assertEqual(by_metric["instructions hit"]["metric"]["value"], 8000)

    def test_an_operator_without_a_plain_counterpart_has_no_such_records(self):
        _, records = self.records("--op", "full")
        metrics = {record["metric"]["name"] for record in records}
        self.assertIn("hit", metrics)
        self.assertFalse(metrics & {"plain", "local", "hit over local"})

    def test_list_measures_nothing(self):
        result = self.assert_exit(dispatch("--list"), 0, "addmm")
        self.assertNotIn("hit ±", result.stdout)

    def test_per_rank_shows_each(self):
        result = self.assert_exit(dispatch("--op", "add", "--per-rank", "--ranks", "2"), 0)
        self.assertRegex(result.stdout, r"add +0 .*\n *add +1 ")

    def test_two_runners_are_measured_in_the_same_rounds(self):
        result, records = self.records("--op", "add", "--runner", RANK)
        self.assertRegex(result.stdout, r"(?m)^add \(torch-rank\) |^add \(.*scripted_rank.py\) ")
        self.assertRegex(result.stdout, r"x the time of gloo@.* \(95 % interval")
        hits = [record for record in records if record["metric"]["name"] == "hit"]
        self.assertEqual(len({record["runner"] for record in hits}), 2)
        self.assertAlmostEqual(hits[1]["ratio"]["ratio"], 1, delta=0.05)
        self.assertGreaterEqual(hits[1]["ratio"]["pairs"], 20)

    def test_records_on_standard_output_are_alone_there(self):
        result = self.assert_exit(dispatch("--op", "add", "--ranks", "2", "--json", "-"), 0)
        self.assertTrue(json.loads(result.stdout)["records"])
        self.assertIn("hit ±95 %", result.stderr)

    def test_the_history_keeps_a_run(self):
        store = self.folder / "history.db"
        self.assert_exit(headroom("dispatch", *[part for part in SHORT if part != "--no-store"], "--op", "add",
                                  "--store", store, env=clean_environment()), 0)
        self.assertIn("add", headroom("history", "--store", store).stdout)


class BadInputTest(CommandLineTest):
    def test_what_does_not_fit_is_refused_before_anything_starts(self):
        for arguments, words in (
                (["--mesh", "3x2"], ["3x2", "6 ranks"]),
                (["--mesh", "2x2", "--ranks", "3"], ["2x2", "4 ranks", "3"]),
                (["--mesh", "2x0"], ["--mesh"]),
                (["--placements", "S(2)"], ["S(2)", "512x512", "0 to 1"]),
                (["--placements", "S(x)"], ["S(x)", "R"]),
                (["--placements", "S(0),R"], ["2 placement"]),
                (["--shape", "12xy"], ["--shape", "12xy"]),
                (["--update-expect"], ["--expect FILE"]),
                (["--max-time", "0"], ["--max-time"]),
                (["--expect", "/no/such/file.toml"], ["/no/such/file.toml"])):
            with self.subTest(arguments=arguments):
                given = ["--ranks", "4"] if "3x2" in arguments else []
                self.assert_refused(dispatch(*given, *arguments), *words)
        self.assertEqual(ranks_left(), [])

    def test_an_unknown_operator_is_refused_with_the_nearest(self):
        self.assert_refused(dispatch("--op", "addm"), "'addm'", "did you mean", "addmm")

    def test_a_runner_that_is_not_there_is_refused(self):
        self.assert_refused(headroom("dispatch", "--runner", "/no/such/rank", env=clean_environment()), "/no/such/rank")

    def test_half_of_a_launchers_variables_is_refused(self):
        self.assert_refused(dispatch(RANK="1"), "RANK", "WORLD_SIZE")
        self.assert_refused(dispatch(RANK="x", WORLD_SIZE="2"), "RANK='x'")
        self.assert_refused(dispatch("--ranks", "3", RANK="0", WORLD_SIZE="2"), "--ranks 3", "torchrun started 2")

    def test_expectations_are_checked_by_line(self):
        file = self.write_file("expect.toml", '[[expect]]\nop = "add"\nmetric = "hit"\nuss = 3\n')
        self.assert_refused(dispatch("--expect", file), str(file), "line 4", "'uss'", "did you mean 'us'")


class ExpectationTest(CommandLineTest):
    def test_within_outside_and_faster(self):
        file = self.folder / "expect.toml"
        for hit_ns, code, word in (("5000", 0, " ok"), ("9000", 1, "TOO SLOW"), ("2000", 0, "faster")):
            file.write_text('[[expect]]\nop = "add"\nmetric = "hit"\nmesh = "4"\nus = 5.2\ntolerance = 0.3\n')
            self.assert_exit(dispatch("--op", "add", "--expect", file, SCRIPTED_HIT_NS=hit_ns), code, word)

    def test_what_the_interval_cannot_decide_is_inconclusive(self):
        file = self.folder / "expect.toml"
        # Rank 1 is a tenth slower: the interval has the limit.
        file.write_text('[[expect]]\nop = "add"\nmetric = "hit"\nus = 5.1\ntolerance = 0.001\n')
        self.assert_exit(dispatch("--op", "add", "--expect", file), 3)

    def test_updated_expectations_hold_for_what_was_measured(self):
        file = self.folder / "expect.toml"
        self.assert_exit(dispatch("--op", "add", "--expect", file, "--update-expect"), 0)
        text = file.read_text()
        self.assertIn('metric = "hit"', text)
        self.assertIn('metric = "propagation"', text)
        self.assert_exit(dispatch("--op", "add", "--expect", file), 0)
        self.assert_exit(dispatch("--op", "add", "--expect", file, SCRIPTED_HIT_NS="20000"), 1)

    def test_pytorchs_reference_is_shipped(self):
        result = self.assert_exit(dispatch("--op", "add", "--expect", "pytorch"), 0)
        self.assertRegex(result.stdout, r"add +propagation +880 µs")
        self.assertRegex(result.stdout, r"add +hit +90.0 µs")


class LauncherTest(CommandLineTest):
    def under_variables(self, size, *arguments, **variables):
        """Starts the programs as a launcher does."""
        programs = [self.start("dispatch", *SHORT, *arguments, env=clean_environment(
            RANK=str(rank), WORLD_SIZE=str(size), LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE=str(size), **variables))
                    for rank in range(size)]
        return [(program, *program.communicate(timeout=60)) for program in programs]

    def test_rank_0_reports_for_all_and_the_others_are_silent(self):
        file = self.folder / "records.json"
        done = self.under_variables(3, "--op", "add", "--json", file, MASTER_ADDR="127.0.0.1",
                                    MASTER_PORT=free_port())
        self.assertEqual([program.returncode for program, _, _ in done], [0, 0, 0], done)
        self.assertIn("hit ±95 %", done[0][1])
        for _, stdout, stderr in done[1:]:
            self.assertEqual((stdout, stderr), ("", ""))
        hit = next(record for record in records_of(file) if record["metric"]["name"] == "hit")
        self.assertEqual(len(hit["samples"]), 3)

    def test_without_a_meeting_one_machine_needs_none(self):
        done = self.under_variables(2, "--op", "add", TORCHELASTIC_RUN_ID=str(os.getpid()))
        self.assertEqual([program.returncode for program, _, _ in done], [0, 0], done)

    def test_a_rank_that_dies_elsewhere_is_named(self):
        done = self.under_variables(2, "--op", "add", SCRIPTED_RANK="die:1:sample",
                                    TORCHELASTIC_RUN_ID=f"die{os.getpid()}")
        self.assertEqual(done[0][0].returncode, 2)
        self.assertIn("rank 1 of 2 ended with exit code 7; its last output: rank 1 dies at sample", done[0][2])
        self.assertEqual(ranks_left(), [])

    @unittest.skipUnless(shutil.which("mpirun"), "no mpirun here")
    def test_mpirun_gives_the_records_that_our_own_launcher_gives(self):
        ours, theirs = self.folder / "ours.json", self.folder / "theirs.json"
        self.assert_exit(dispatch("--op", "add,full", "--ranks", "2", "--json", ours), 0)
        result = run_program("mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", HEADROOM, "dispatch",
                             *SHORT, "--op", "add,full", "--json", theirs, env=clean_environment())
        self.assert_exit(result, 0)
        self.assertEqual(shape_of(ours), shape_of(theirs))


class FaultTest(CommandLineTest):
    def fault(self, fault, *arguments):
        began = time.monotonic()
        until_then = ["--max-time", "60s"] if "#" in fault else []
        result = dispatch("--timeout", "20s", *until_then, *arguments, SCRIPTED_RANK=fault)
        self.assertLess(time.monotonic() - began, 40)
        self.assert_exit(result, 2)
        self.assertEqual(ranks_left(), [])
        return result

    def test_a_rank_that_dies_is_named_at_every_moment(self):
        for moment in ("start", "meet", "describe", "prepare", "sample", "sample#20", "release"):
            with self.subTest(moment=moment):
                result = self.fault(f"die:2:{moment}", "--op", "add")
                self.assertIn("rank 2 of 4 ended with exit code 7", result.stderr)
                self.assertIn(f"rank 2 dies at {moment}", result.stderr)

    def test_a_rank_that_is_killed_is_named(self):
        self.assertIn("rank 1 of 4 was killed by signal 9", self.fault("kill:1:sample", "--op", "add").stderr)

    def test_a_rank_that_says_nothing_is_named_within_the_time_out(self):
        expected = {"hang:3:sample": ("rank 3 of 4 did not report a sample of dispatch.add",
                                  "its last output: rank 3 hangs at sample"),
                "stop:0:sample": ("rank 0 is stopped by a signal",),
                "hang:2:start": ("rank 2 of 4 did not report its start within 6 s",)}
        began = time.monotonic()
        with ThreadPoolExecutor() as together:  # each takes a time-out
            results = list(together.map(lambda fault: dispatch("--op", "add", "--timeout", "6s", SCRIPTED_RANK=fault), expected))
        self.assertLess(time.monotonic() - began, 40)
        for (fault, words), result in zip(expected.items(), results):
            with self.subTest(fault=fault):
                self.assert_exit(result, 2, stderr=words)
        self.assertEqual(ranks_left(), [])

    def test_a_rank_that_fails_at_its_end_is_named_after_the_report(self):
        result = self.fault("die:1:end", "--op", "add")
        self.assertIn("hit ±95 %", result.stdout)
        self.assertIn("rank 1 of 4 ended with exit code 7", result.stderr)

    def test_what_was_measured_before_a_loss_is_kept(self):
        file = self.folder / "records.json"
        self.assert_exit(dispatch("--timeout", "20s", "--max-time", "60s", "--json", file, SCRIPTED_RANK="die:1:sample#50"), 2, "hit ±95 %")
        self.assertEqual(records_of(file)[0]["stop"], "runner-lost")

    def test_nonsense_from_a_rank_is_refused(self):
        result = self.fault("babble:1:sample", "--op", "add")
        self.assertIn("the answer of rank 1", result.stderr)

    def test_an_answer_that_is_given_twice_or_late_is_never_anothers(self):
        expected = {"twice:1:sample#20": "it sent a message without a request|it answered request [0-9]+ instead of [0-9]+",
                "twice:2:describe": "it sent a message without a request|it answered request 2 instead of 3",
                "late:3:sample#20": "it answered request [0-9]+ instead of [0-9]+", "late:0:prepare": "it answered request 2 instead of 3",
                "nameless:2:sample": "id"}
        for fault, words in expected.items():
            with self.subTest(fault=fault):
                result = self.fault(fault, "--op", "add")
                self.assertRegex(result.stderr, f"rank {fault.split(':')[1]} of 4 broke the protocol: .*({words})")

    def test_ranks_of_before_there_were_ids_are_measured(self):
        self.assert_exit(dispatch("--op", "add", SCRIPTED_RANK="old::"), 0)

    def test_an_operator_that_ranks_refuse_is_a_failure_of_that_one(self):
        self.assert_exit(dispatch("--op", "add", SCRIPTED_RANK="refuse:0:prepare"), 1,
                         "FAILED: add: there is no such thing")

    def test_samples_that_differ_from_the_others_fail_their_case(self):
        for fault, why in {"short:2:sample": "different number of columns", "timeless:2:sample#20": "times of more or fewer ranks"}.items():
            with self.subTest(fault=fault):
                self.assert_exit(dispatch("--op", "add", SCRIPTED_RANK=fault), 1, "FAILED: add: a sample has", why)

    def test_a_port_in_use_is_not_needed(self):
        with socket.socket() as taken:
            taken.bind(("0.0.0.0", 0))
            taken.listen()
            self.assert_exit(dispatch("--op", "add", "--port", str(taken.getsockname()[1])), 0)


class InterruptTest(CommandLineTest):
    ENDLESS = ("--max-time", "100s", "--cycles", "100000")

    def start(self, *arguments, **variables):
        return super().start("dispatch", "--runner", RANK, "--no-store", "--op", "add", *arguments,
                             env=clean_environment(**variables))

    def test_ctrl_c_keeps_what_was_measured(self):
        file, begun = self.folder / "records.json", self.folder / "begun"
        program = self.start(*self.ENDLESS, "--json", file, SCRIPTED_BEGUN=str(begun))
        self.wait_for(begun.exists, program)  # some cycles have run
        self.assert_ends(program, 130, "hit ±95 %", signal_number=signal.SIGINT, stderr="interrupted")
        self.assertTrue(records_of(file))
        self.assertEqual(ranks_left(), [])

    def test_ctrl_c_before_the_first_sample_promises_no_results(self):
        file = self.folder / "records.json"
        program = self.start("--json", file, SCRIPTED_RANK="hang:2:start")
        self.wait_for(ranks_left, program)
        result = self.assert_ends(program, 130, signal_number=signal.SIGINT,
                                  stderr="interrupted before anything was measured")
        self.assertEqual(result.stdout, "")
        self.assertFalse(file.exists())

    def test_no_rank_outlives_a_command_line_that_is_killed(self):
        program = self.start(*self.ENDLESS)
        self.wait_for(lambda: len(ranks_left()) == 4)
        program.kill()
        program.communicate(timeout=20)
        self.wait_for(lambda: not ranks_left())


if __name__ == "__main__":
    unittest.main()
