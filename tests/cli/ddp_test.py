# SPDX-License-Identifier: Apache-2.0
"""`headroom ddp` on scripted ranks."""
import json
import pathlib
import signal
import time
import unittest

from command_line import HEADROOM, CommandLineTest, clean_environment, free_port, headroom, records_of, run_program

RANK = pathlib.Path(__file__).with_name("scripted_rank.py")
SHORT = ["--runner", RANK, "--iters", "8", "--warmup", "1", "--no-store"]


def ddp(*arguments, **variables):
    return headroom("ddp", *SHORT, *arguments, env=clean_environment(**variables))


class DdpTest(CommandLineTest):
    def test_the_table_has_percentiles_scaling_and_buckets(self):
        result = self.assert_exit(ddp("--ranks", "1,2,4"), 0)
        for word in ("Benchmark: resnet18 with batch size 32, 64x64 pixels, buckets of 25 MiB", "p50 sec/iter", "p95 sec/iter",
                     "no ddp", "4 ranks", "efficiency", "overlap", "60.0 %", "rank skew", "10.0 % (rank 1)", "wait for buckets",
                     "all_reduce alone takes 1"):
            self.assertIn(word, result.stdout)
        self.assertRegex(result.stdout, r"(?m)^4 ranks +4 +0\.10\ds +3[12]\d/s")
        self.assertRegex(result.stdout, r"(?m)^1 +4 MiB +9 +15\.0 ms +35\.0 ms +20\.0 ms")
        self.assertRegex(result.stdout, r"(?m)^4 ranks .* (70\.0|69\.9|70\.1) % ±0\.\d")

    def test_ranks_of_an_older_build_are_read(self):
        file = self.folder / "report.json"
        result = self.assert_exit(ddp("--ranks", "1,2", "--report", file, SCRIPTED_RANK="old"), 0)
        self.assertRegex(result.stdout, r"(?m)^1 +4 MiB +9 +15\.0 ms +35\.0 ms +20\.0 ms")
        self.assertEqual(json.loads(file.read_text())["pytorch_version"], "1.0")

    def test_facts_of_the_ranks_are_values(self):
        file = self.folder / "records.json"
        self.assert_exit(ddp("--ranks", "1,2", "--json", file, SCRIPTED_RANK="uncounted"), 0)
        content = json.loads(file.read_text())
        environment = content["environments"][0]
        self.assertEqual((environment["options"]["counters"], environment["options"]["no_counters"]), ("none", "it has none"))
        self.assertEqual(environment["dependencies"]["scripted ranks"]["version"], "1.0 beta")
        buckets = {record["metric"]["name"]: record["metric"] for record in content["records"] if "bucket" in record["metric"]["name"]}
        self.assertEqual(buckets["bucket 1 launched"]["numbers"], {"bytes": 4 << 20, "tensors": 9})
        self.assertEqual(buckets["bucket 1 launched"]["extra_info"], {})

    def test_the_sweep_of_pytorch_is_the_default(self):
        result = self.assert_exit(ddp("--world", "4"), 0)
        for step in ("no ddp", "1M/1G", "1M/2G", "1M/4G"):
            self.assertRegex(result.stdout, f"(?m)^{step} ")
        self.assertNotIn("warm-up", result.stdout)

    def test_the_report_is_pytorchs(self):
        file = self.folder / "report.json"
        self.assert_exit(ddp("--ranks", "1,2", "--model", "resnet18,mlp", "--report", file), 0)
        report = json.loads(file.read_text())
        self.assertEqual(report["pytorch_version"], "1.0 beta")
        self.assertEqual((report["distributed_backend"], report["bucket_size"], report["cuda_version"]), ("gloo", 25, None))
        self.assertEqual([entry["model"] for entry in report["benchmark_results"]], ["resnet18", "mlp"])
        entry = report["benchmark_results"][0]
        self.assertEqual((entry["batch_size"], entry["image_size"]), (32, 64))
        self.assertEqual(set(report["benchmark_results"][1]), {"model", "batch_size", "result"})
        self.assertEqual([step["ranks"] for step in entry["result"]], [[0], [0], [0, 1]])
        self.assertEqual([len(step["measurements"]) for step in entry["result"]], [8, 8, 16])
        self.assertAlmostEqual(entry["result"][0]["measurements"][0], 0.070, places=3)
        self.assert_exit(headroom("diff", "--format", "ddp", file, file), 0)

    def test_several_bucket_sizes_share_the_step_without_ddp(self):
        file = self.folder / "report.json"
        self.assert_exit(ddp("--ranks", "2", "--bucket-size", "1,5", "--report", file), 0, "buckets of 1 MiB",
                         "buckets of 5 MiB")
        results = json.loads(file.read_text())["benchmark_results"]
        self.assertEqual([entry["bucket_size"] for entry in results], [1, 5])
        self.assertEqual(results[0]["result"][0], results[1]["result"][0])
        same = self.assert_exit(headroom("diff", file, file), 0)
        for bucket in ("1", "5"):
            self.assertIn(f"resnet18 batch_size=32 ranks=2 ddp=yes image_size=64 bucket_size={bucket}", same.stdout)

    def test_bucket_sizes_are_told_as_they_were_asked_for(self):
        file, records = self.folder / "report.json", self.folder / "records.json"
        self.assert_exit(ddp("--ranks", "2", "--bucket-size", "0.1,1.3,1.001,1.002", "--report", file, "--json", records), 0)
        results = json.loads(file.read_text())["benchmark_results"]
        self.assertEqual([entry["bucket_size"] for entry in results], [0.1, 1.3, 1.001, 1.002])
        compared = headroom("diff", file, records)
        self.assertNotIn("no case", compared.stdout + compared.stderr)
        self.assertIn("bucket_size=1.002", compared.stdout)

    def test_records_hold_the_iterations_of_every_rank(self):
        file = self.folder / "records.json"
        self.assert_exit(ddp("--ranks", "2", "--json", file), 0)
        of_two = {record["metric"]["name"]: record for record in reversed(records_of(file)) if record["axes"]["ranks"] == 2}
        self.assertEqual([len(process["values"]) for process in of_two["latency"]["samples"]], [8, 8])
        for metric in ("without reduction", "exposed communication", "overlap", "throughput", "bucket 1 completed", "alpha"):
            self.assertIn(metric, of_two)
        self.assertEqual([len(process["values"]) for process in of_two["bucket 1 completed"]["samples"]], [8, 8])

    def test_reports_on_standard_output_are_alone_there(self):
        result = self.assert_exit(ddp("--ranks", "2", "--report", "-"), 0)
        self.assertTrue(json.loads(result.stdout)["benchmark_results"])
        self.assertIn("p50 sec/iter", result.stderr)

    def test_per_rank_shows_each(self):
        result = ddp("--ranks", "2", "--per-rank")
        self.assertRegex(result.stdout, r"(?m)^resnet18 +2 ranks +1 +100 ms +88\.0 ms")

    def test_list_trains_nothing(self):
        result = self.assert_exit(ddp("--list", "--world", "1"), 0, "mlp")
        self.assertNotIn("sec/iter", result.stdout)

    def test_ranks_that_share_a_cpu_are_warned_of(self):
        self.assert_exit(run_program("taskset", "-c", "0", HEADROOM, "ddp", *SHORT, "--ranks", "2",
                                     env=clean_environment()), 0, stderr="warning: 2 ranks of 1 thread share 1 CPU")

    def test_unused_parameters_are_told(self):
        result = ddp("--ranks", "2", SCRIPTED_RANK="unused")
        self.assertIn("no rank used the parameters fc.bias", result.stdout)

    def test_blas_is_told_the_threads_of_a_rank(self):
        for arguments, variables, threads in (([], {}, "1"), (["--threads", "2"], {}, "2"), ([], {"OPENBLAS_NUM_THREADS": "7"}, "7")):
            result = ddp("--ranks", "2", *arguments, SCRIPTED_RANK="threads", **variables)
            self.assertIn(f"no rank used the parameters {threads}", result.stdout)

    def test_c10ds_reducer_is_for_two_ranks_or_more(self):
        self.assert_refused(ddp("--ranks", "1", "--reducer", "c10d"), "at least 2 ranks")
        result = self.assert_exit(ddp("--ranks", "1,2", "--reducer", "c10d"), 0, "reduced by c10d")
        self.assertNotRegex(result.stdout, r"(?m)^1 rank ")

    def test_the_history_keeps_a_run(self):
        store = self.folder / "history.db"
        self.assert_exit(headroom("ddp", *[part for part in SHORT if part != "--no-store"], "--ranks", "2", "--store",
                                  store, env=clean_environment()), 0)
        self.assertIn("resnet18", headroom("history", "--store", store).stdout)


class BadInputTest(CommandLineTest):
    def test_what_makes_no_sense_is_refused(self):
        for arguments, words in ((["--ranks", "4", "--world", "2"], ["4 ranks in a world of 2"]),
                                 (["--model", "resnet19"], ["'resnet19'", "did you mean 'resnet18'"]),
                                 (["--bucket-size", "0"], ["--bucket-size 0"]),
                                 (["--batch-size", "0"], ["--batch-size"]),
                                 (["--backend", "mpi"], ["--backend"]),
                                 (["--report", "/proc/nothing/report.json"], ["/proc/nothing"])):
            with self.subTest(arguments=arguments):
                self.assert_refused(ddp(*arguments), *words)
        self.assert_refused(headroom("ddp", "--runner", "/no/such/rank", env=clean_environment()), "/no/such/rank")

    def test_a_launcher_with_fewer_ranks_than_asked_is_refused(self):
        self.assert_refused(ddp("--ranks", "1,4", RANK="0", WORLD_SIZE="2"), "4 ranks in a world of 2")
        self.assert_refused(ddp("--world", "4", RANK="0", WORLD_SIZE="2"), "torchrun started 2")

    def test_a_batch_that_does_not_fit_is_refused_before_it_is_made(self):
        self.assert_exit(ddp("--ranks", "2", "--batch-size", "2000000"), 2, "skipped: ",
                         "a batch of 2000000 takes more than there is")


class FaultTest(CommandLineTest):
    def fault(self, what, *arguments):
        file = self.folder / "report.json"
        began = time.monotonic()
        result = ddp("--ranks", "1,2", "--timeout", "2s", "--report", file, *arguments, SCRIPTED_RANK=what)
        self.assertLess(time.monotonic() - began, 30)
        return result, json.loads(file.read_text())["benchmark_results"] if file.exists() else []

    def test_a_rank_that_dies_is_named_and_what_was_measured_is_kept(self):
        for what in ("die:1:sample#20", "kill:1:sample#20"):
            with self.subTest(what=what):
                result, report = self.fault(what)
                self.assert_exit(result, 2, stderr="rank 1 of 2")
                self.assertEqual([step["ranks"] for step in report[0]["result"]][0], [0])
                self.assertGreaterEqual(len(report[0]["result"]), 2)
                self.assertIn("1 rank", result.stdout)

    def test_a_rank_that_does_not_answer_is_named_within_the_time_out(self):
        result, report = self.fault("hang:1:sample#20")
        self.assert_exit(result, 2, stderr=("rank 1 of 2 did not report a sample of ddp.resnet18", "within 2 s"))
        self.assertGreaterEqual(len(report[0]["result"]), 2)

    def test_replicas_that_drift_apart_are_a_failure(self):
        result, report = self.fault("diverge:1")
        self.assert_exit(result, 1, "FAILED: ", "rank 1 has other parameters than rank 0 after 9 iterations")
        self.assertEqual(report, [])

    def test_a_rank_that_refuses_fails_its_step(self):
        result, _ = self.fault("refuse:0:prepare")
        self.assert_exit(result, 1, "there is no such thing")

    def test_a_rank_without_the_backend_ends_the_sweep_before_it_begins(self):
        result = ddp("--ranks", "1,2", "--backend", "nccl", SCRIPTED_RANK="refuse:1:backend")
        self.assert_refused(result, "there is no such thing")

    def test_results_of_nccl_are_a_gpus(self):
        file = self.folder / "records.json"
        self.assert_exit(ddp("--ranks", "2", "--backend", "nccl", "--json", file), 0)
        self.assertEqual({record["device"] for record in records_of(file)}, {"cuda"})

    def test_an_interrupt_keeps_what_was_measured(self):
        file = self.folder / "report.json"
        begun = self.folder / "begun"
        program = self.start("ddp", *SHORT, "--ranks", "2", "--iters", "10000", "--report", file,
                             env=clean_environment(SCRIPTED_BEGUN=str(begun)))
        self.wait_for(begun.exists, program)
        result = self.assert_ends(program, 130, signal_number=signal.SIGINT, stderr="interrupted")
        self.assertRegex(result.stdout, r"(?m)^no ddp ")
        self.assertTrue(json.loads(file.read_text())["benchmark_results"])

    def test_two_programs_are_compared_step_by_step(self):
        result = self.assert_exit(ddp("--ranks", "1,2", "--runner", RANK), 0)
        self.assertEqual(result.stdout.count("x the time of"), 4, "of three steps in tables, of the largest in the answer")
        self.assertIn(", by ", result.stdout)
        self.assertRegex(result.stdout, r"(?m)^1 rank .* % ±\d", "the efficiency of the first")

    def test_a_precision_goes_on_until_it_is_met(self):
        file = self.folder / "records.json"
        self.assert_exit(ddp("--ranks", "2", "--precision", "5%", "--json", file), 0)
        latencies = [record for record in records_of(file) if record["metric"]["name"] == "latency" and "ddp" in record["axes"]]
        self.assertEqual({record["stop"] for record in latencies}, {"precision"})


class LauncherTest(CommandLineTest):
    def launch(self, *arguments_of_rank):
        port = free_port()
        programs = [self.start("ddp", *SHORT, *arguments, env=clean_environment(
            RANK=str(rank), WORLD_SIZE=str(len(arguments_of_rank)), LOCAL_RANK=str(rank), MASTER_ADDR="127.0.0.1",
            MASTER_PORT=port)) for rank, arguments in enumerate(arguments_of_rank)]
        outputs = [program.communicate(timeout=60) for program in programs]
        return [(program.returncode, *output) for program, output in zip(programs, outputs)]

    def test_ranks_of_a_launcher_are_measured_and_rank_0_reports(self):
        first, second = self.launch([], [])
        self.assertEqual(first[0], 0, first[2])
        self.assertRegex(first[1], r"(?m)^1M/2G ")
        self.assertEqual(second[:2], (0, ""))

    def test_ranks_that_were_asked_for_different_things_are_named(self):
        first, _ = self.launch([], ["--batch-size", "16"])
        self.assertEqual(first[0], 2)
        self.assertRegex(first[2], r"rank 1 was started with .*--batch-size 16.*, rank 0 with .*--batch-size 32")
        first, _ = self.launch([], ["--model", "mlp"])
        self.assertRegex(first[2], r"rank 1 was started with --model mlp")


if __name__ == "__main__":
    unittest.main()
