# SPDX-License-Identifier: Apache-2.0
"""`headroom ddp --collectives`, on scripted and libtorch ranks."""
import pathlib
import shutil
import unittest

from command_line import (HEADROOM, CommandLineTest, clean_environment, headroom, needs_torch_rank, records_of,
                          run_program, shape_of)

SCRIPTED = pathlib.Path(__file__).with_name("scripted_rank.py")
SHORT = ["--max-time", "200ms", "--min-time", "0", "--iters", "20", "--no-store"]
OPS = ["all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all"]


def collectives(*arguments, which="--collectives", env=None, **variables):
    return headroom("ddp", which, *SHORT, *arguments, env=env or clean_environment(**variables))


def scripted(*arguments, **options):
    return collectives("--runner", SCRIPTED, *arguments, **options)


class ScriptedTest(CommandLineTest):
    def records(self, *arguments, **options):
        file = self.folder / "records.json"
        ranks = [] if "--ranks" in arguments else ["--ranks", "2"]
        result = self.assert_exit(scripted(*ranks, *arguments, "--json", file, **options), 0)
        return result, records_of(file)

    def test_every_collective_and_size_has_its_row(self):
        result, records = self.records("--min-bytes", "1K", "--max-bytes", "16K", "--factor", "4")
        latencies = [record for record in records if record["metric"]["name"] == "latency"]
        self.assertEqual([record["model"]["name"] for record in latencies], [op for op in OPS for _ in range(3)])
        self.assertEqual([record["axes"]["bytes"] for record in latencies], [1024, 4096, 16384] * 5)
        for word in ("p50 ±95 %", "busbw GB/s ±95 %", "skew p50", "latency [95 %]", "rank 1 in 100 %", "right"):
            self.assertIn(word, result.stdout)

    def test_bandwidths_are_those_of_nccl_tests(self):
        _, records = self.records("--min-bytes", "1M", "--max-bytes", "1M", "--ranks", "4")
        for op, factor in zip(OPS, (1.5, 0.75, 0.75, 1.0, 0.75)):
            found = {record["metric"]["name"]: record for record in records if record["model"]["name"] == op}
            latency = found["latency"]["metric"]["value"]
            self.assertAlmostEqual(found["algbw"]["metric"]["value"], 1048576 / latency / 1e3, delta=0.03 * 1e3 / latency)
            self.assertAlmostEqual(found["busbw"]["metric"]["value"] / found["algbw"]["metric"]["value"], factor, places=6)
            self.assertEqual(len(found["rank latency"]["samples"]), 4)
            for percentile in (75, 90, 95, 99):
                self.assertGreaterEqual(found[f"latency p{percentile}"]["metric"]["value"], latency)

    def test_sweeps_over_rank_counts_leave_the_others_idle(self):
        _, records = self.records("--ranks", "2,3", "--min-bytes", "64", "--max-bytes", "64", which="--collectives=broadcast")
        counts = [len(record["samples"]) for record in records if record["metric"]["name"] == "rank latency"]
        self.assertEqual(counts, [2, 3])

    def test_names_are_read_as_people_write_them(self):
        result, _ = self.records("--min-bytes", "64", "--max-bytes", "64", which="--collectives=all-reduce,broadcast")
        self.assertIn("all_reduce", result.stdout)
        self.assertNotIn("all_to_all", result.stdout)

    def test_wrong_data_is_a_failed_row(self):
        self.assert_exit(scripted("--ranks", "2", "--min-bytes", "64", "--max-bytes", "64",
                                  which="--collectives=broadcast", SCRIPTED_RANK="wrong:1:sample"), 1,
                         "FAILED: broadcast of 64 B: wrong data on rank 1: element 3 of 16 is 7, not 5")

    def test_what_does_not_fit_in_memory_is_skipped_and_said(self):
        self.assert_exit(scripted("--ranks", "2", "--min-bytes", "64", "--max-bytes", "64",
                                  which="--collectives=broadcast", SCRIPTED_RANK="skip:0:prepare"), 0,
                         "skipped: broadcast of 64 B: too little memory")

    def test_ranks_that_share_a_core_are_warned_of(self):
        result, records = self.records("--min-bytes", "64", "--max-bytes", "64", which="--collectives=broadcast",
                                       SCRIPTED_CORE="5")
        self.assertIn("warning: ranks 0, 1 share core 5: they take turns", result.stderr)
        self.assertIn("ranks 0, 1 share core 5", " ".join(records[0]["notes"]))
        self.assertNotIn("share core", self.records("--min-bytes", "64", "--max-bytes", "64")[0].stderr)

    def test_a_rank_that_is_lost_leaves_what_was_measured(self):
        file = self.folder / "records.json"
        self.assert_exit(scripted("--ranks", "2", "--min-bytes", "64", "--max-bytes", "64", "--json", file,
                                  which="--collectives=broadcast", SCRIPTED_RANK="die:1:sample"), 2,
                         stderr="rank 1 of 2 ended with exit code 7")

    def test_bad_input_is_refused(self):
        for arguments, words in ((["--min-bytes", "0"], ["--min-bytes 0"]),
                                 (["--min-bytes", "2M", "--max-bytes", "1M"], ["--max-bytes 1M", "the smaller first"]),
                                 (["--factor", "1"], ["--factor 1", "above 1"]),
                                 (["--factor", "1.0001"], ["more than 200 sizes"]),
                                 (["--ranks", "1"], ["need a second one", "2 or more"])):
            with self.subTest(arguments=arguments):
                self.assert_refused(scripted(*arguments), *words)
        self.assert_refused(scripted(which="--collectives=all_reduced"), "'all_reduced'", "did you mean 'all_reduce'")
        self.assertEqual(headroom("ddp", "--collectives", "--dtype", "bf16", env=clean_environment()).returncode, 2)

    def test_help_is_of_collectives(self):
        self.assert_exit(headroom("ddp", "--collectives", "--help"), 0, "--min-bytes")


@needs_torch_rank
class LibtorchTest(CommandLineTest):
    def test_the_data_of_every_collective_is_right_in_every_type_and_size(self):
        for ranks, dtype in (("2", "f32"), ("3", "f64"), ("3", "f16"), ("2", "i32"), ("3", "i64")):
            with self.subTest(ranks=ranks, dtype=dtype):
                file = self.folder / "records.json"
                result = collectives("--ranks", ranks, "--dtype", dtype, "--min-bytes", "1", "--max-bytes", "100K",
                                     "--factor", "300", "--iters", "3", "--max-time", "50ms", "--json", file)
                self.assert_exit(result, 0)
                latencies = [record for record in records_of(file) if record["metric"]["name"] == "latency"]
                self.assertEqual(len(latencies), 3 * len(OPS))
                self.assertTrue(all(record["verified"] for record in latencies))
                self.assertIn("measured as all_to_all, then a sum on each rank", result.stdout)

    def test_each_has_the_limit_of_the_transport_in_its_rounds(self):
        file = self.folder / "records.json"
        sizes = ["--ranks", "2", "--min-bytes", "64K", "--max-bytes", "4M", "--factor", "8", "--json", file]
        self.assert_exit(collectives(*sizes, which="--collectives=all_reduce,broadcast"), 0,
                         "limit: sending a rank's bytes")
        latencies = [record for record in records_of(file) if record["metric"]["name"] == "latency"]
        self.assertEqual(sorted((record["model"]["name"], record["axes"]["bytes"]) for record in latencies),
                         [(name, size << 10) for name in ("all_reduce", "broadcast") for size in (64, 512, 4096)])
        for record in latencies:
            part, = record["limit"]["parts"]
            self.assertEqual(part["kind"], "exchange")
            self.assertIn(part["pattern"], ("shared_memory", "loopback"))
            sent = record["axes"]["bytes"] * (1 if record["model"]["name"] == "all_reduce" else 0.5)
            self.assertEqual(part["bytes"], sent)
            self.assertGreater(record["limit"]["fraction"], 0)
            # A busy machine may give too few calls.
            if interval := record["limit"].get("interval"):
                self.assertGreater(interval["high"], interval["low"])
        alone = self.assert_exit(collectives(*sizes, "--no-limits", which="--collectives=all_reduce"), 0)
        self.assertNotIn("limit: ", alone.stdout)
        self.assertEqual(["limit" in record for record in records_of(file) if record["metric"]["name"] == "latency"], 3 * [False])

    def test_more_than_there_is_memory_for_is_skipped(self):
        result = collectives("--ranks", "2", "--min-bytes", "4096G", "--max-bytes", "4096G", which="--collectives=all_reduce")
        self.assert_exit(result, 0)
        self.assertRegex(result.stdout, r"skipped: all_reduce of .* lower --max-bytes")

    @unittest.skipUnless(shutil.which("mpirun"), "no mpirun here")
    def test_mpirun_gives_the_records_that_our_own_launcher_gives(self):
        ours, theirs = self.folder / "ours.json", self.folder / "theirs.json"
        sizes = ["--min-bytes", "64", "--max-bytes", "4K", "--factor", "8"]
        self.assert_exit(collectives("--ranks", "2", *sizes, "--json", ours), 0)
        self.assert_exit(run_program("mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", HEADROOM, "ddp",
                                     "--collectives", *SHORT, *sizes, "--json", theirs, env=clean_environment()), 0)
        self.assertEqual(shape_of(ours), shape_of(theirs))


if __name__ == "__main__":
    unittest.main()
