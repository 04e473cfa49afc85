# SPDX-License-Identifier: Apache-2.0
"""`headroom ddp` on libtorch ranks."""
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import time
import unittest

from command_line import (HEADROOM, TORCH_RANK, CommandLineTest, clean_environment, headroom, needs_torch_rank,
                          records_of, run_program, torch_ranks)

# About 0.1 s per iteration.
SMALL = ["--batch-size", "2", "--image-size", "32", "--no-store"]
DIFF = pathlib.Path(os.environ.get("HEADROOM_SHARED", "")) / "seeds" / "000_a479e36eaa3810a0.txt"


def ddp(*arguments, timeout=240):
    return headroom("ddp", *SMALL, *arguments, env=clean_environment(), timeout=timeout)


def steps_in(file):
    """The steps in a report so far."""
    results = json.loads(file.read_text())["benchmark_results"] if file.exists() else []
    return results[0]["result"] if results else []


def has_numpy():
    return subprocess.run(["/usr/bin/python3", "-c", "import numpy"], capture_output=True).returncode == 0


@needs_torch_rank
class DdpTorchTest(CommandLineTest):
    def test_a_sweep_measures_and_its_replicas_agree(self):
        file = self.folder / "records.json"
        self.assert_exit(ddp("--ranks", "2", "--model", "mlp,transformer", "--batch-size", "1", "--iters", "2",
                             "--warmup", "1", "--bucket-size", "4", "--json", file), 0, "no ddp")
        of_two = {record["metric"]["name"]: record for record in records_of(file)
                  if record["axes"]["ranks"] == 2 and record["model"]["name"] == "mlp"}
        for metric in ("latency", "without reduction", "exposed communication", "overlap", "bucket 4 completed"):
            self.assertIn(metric, of_two)
        self.assertIn("alpha", {record["metric"]["name"] for record in records_of(file)})
        # Needs headroom-native.
        limit = of_two["latency"]["limit"]
        self.assertIn(limit["parts"][0]["kind"], ("peak", "read", "write", "copy", "exchange"))
        self.assertTrue(0 < limit["fraction"] < 1.5, limit)
        self.assertGreater(of_two["GFLOP/s"]["metric"]["value"], 0)
        buckets = [record["metric"]["numbers"]["bytes"] for name, record in of_two.items()
                   if name.endswith(" launched")]
        self.assertEqual(sum(buckets), 4 * 5_223_400)
        self.assertTrue(0 <= of_two["overlap"]["metric"]["value"] <= 1)

    @unittest.skipUnless(DIFF.exists() and has_numpy(), "no diff.py of PyTorch's, or no numpy for it")
    def test_pytorchs_diff_reads_the_report_and_ours_prints_the_same(self):
        diff = self.write_file("diff.py", re.search(r"```python\n(.*?)```", DIFF.read_text(), re.S).group(1))
        files = [self.folder / "a.json", self.folder / "b.json"]
        self.assert_exit(ddp("--model", "resnet18", "--ranks", "1,2", "--iters", "2", "--warmup", "1", "--report", files[0]), 0)
        report = json.loads(files[0].read_text())
        for step in report["benchmark_results"][0]["result"]:
            step["measurements"] = [seconds * random.uniform(0.8, 1.2) for seconds in step["measurements"]]
        files[1].write_text(json.dumps(report))
        theirs = self.assert_exit(run_program("/usr/bin/python3", diff, *files), 0,
                                  "Benchmark: resnet18 with batch size 2", "2 GPUs:")
        ours = headroom("diff", "--format", "ddp", *files)
        self.assertEqual(ours.stdout, theirs.stdout)

    def test_run_measures_what_ranks_run_with_their_limits(self):
        file = self.folder / "records.json"
        result = headroom("run", "ddp.mlp", "all_reduce", "-a", "ranks=2", "-a", "bytes=65536", "-a", "batch_size=1", "-a", "ddp=yes",
                          "--num-samples", "5", "--no-store", "--json", file)
        self.assert_exit(result, 0)
        latencies = {record["model"]["name"]: record for record in records_of(file) if record["metric"]["name"] == "latency"}
        self.assertEqual(set(latencies), {"ddp.mlp", "all_reduce"})
        self.assertEqual(latencies["all_reduce"]["limit"]["parts"][0]["kind"], "exchange")
        self.assertGreater(latencies["ddp.mlp"]["limit"]["fraction"], 0)
        self.assertEqual(latencies["ddp.mlp"]["threads"], 1)
        self.assert_exit(headroom("run", "dispatch.add", "-a", "mesh=1x2", "-a", "placements=RxS(0)", "--num-samples",
                                  "5", "--no-store", "--json", file), 0)
        self.assertEqual(records_of(file)[0]["axes"]["mesh"], "1x2")
        self.assert_exit(headroom("run", "all_reduce", "gemv", "--runner", TORCH_RANK, "--no-store"), 2, stderr="in two runs")
        torn = headroom("run", "all_reduce", "-a", "ranks=1", "--num-samples", "5", "--no-store")
        self.assertIn("at least 2 ranks", torn.stdout)

    def test_the_reducer_of_c10d_is_measured_too(self):
        file = self.folder / "records.json"
        result = ddp("--ranks", "1,2", "--model", "mlp", "--reducer", "c10d", "--iters", "3", "--warmup", "2", "--json", file)
        if "is not available with libtorch" in result.stdout:
            self.skipTest(result.stdout)
        self.assert_exit(result, 0)
        metrics = {(record["axes"]["ranks"], record["metric"]["name"]) for record in records_of(file)
                   if record["axes"].get("ddp") == "yes"}
        self.assertIn((2, "exposed communication"), metrics)
        self.assertNotIn((1, "latency"), metrics)
        self.assertNotIn((2, "overlap"), metrics)

    def test_a_batch_that_no_machine_holds_is_refused(self):
        began = time.monotonic()
        self.assert_exit(ddp("--ranks", "1", "--model", "resnet18", "--batch-size", "100000000"), 2,
                         "a batch of 100000000 on 1 rank of one machine needs about")
        self.assertLess(time.monotonic() - began, 60)

    def test_nccl_is_refused_where_there_is_none(self):
        if os.path.exists("/dev/nvidiactl"):
            self.skipTest("this machine has a GPU")
        for ranks in ("1", "2"):
            result = self.assert_exit(ddp("--ranks", ranks, "--backend", "nccl"), 2)
            self.assertRegex(result.stderr, r"headroom: (this headroom-torch-rank has no nccl|nccl needs a GPU for each rank)")
            self.assertEqual(result.stdout, "")

    def test_a_trace_of_each_rank_is_one_job_with_its_collectives(self):
        folder = self.folder / "traces"
        self.assert_exit(ddp("--ranks", "1,2", "--model", "mlp", "--bucket-size", "4", "--iters", "2", "--warmup", "1", "--trace",
                             folder), 0)
        self.assertEqual(sorted(os.listdir(folder)), ["rank-0.json.gz", "rank-1.json.gz"])
        steps = self.assert_exit(headroom("trace", "steps", folder), 0)
        self.assertEqual(steps.stderr, "")
        self.assert_exit(headroom("trace", "collectives", folder), 0, "all_reduce")
        ops = headroom("trace", "ops", folder / "rank-1.json.gz")
        self.assertIn("aten::addmm", ops.stdout)

    def lose(self, signal_number, delay, in_step):
        """The error if a rank is lost `delay` seconds after the start or (`in_step`) the first model."""
        file = self.folder / "report.json"
        file.unlink(missing_ok=True)
        program = self.start("ddp", *SMALL, "--ranks", "2", "--model", "mlp,transformer", "--iters", "40", "--warmup", "1",
                             "--timeout", "5s", "--report", file, env=clean_environment())
        self.wait_for(lambda: len(torch_ranks(program.pid)) == 2)
        ranks = torch_ranks(program.pid)
        self.wait_for(lambda: not in_step or steps_in(file), program)  # the first model's steps are reported together
        time.sleep(delay)
        victim = random.randrange(2)
        os.kill(ranks[victim], signal_number)
        began = time.monotonic()
        result = self.assert_ends(program, 2)
        self.assertLess(time.monotonic() - began, 5 + 5)
        for rank in ranks:
            self.assertFalse(os.path.exists(f"/proc/{rank}"), "a rank was left")
        if in_step:
            self.assertEqual(steps_in(file)[0]["ranks"], [0], "what was measured is lost")
        return victim, result.stderr

    def test_a_rank_that_is_killed_at_any_moment_is_named(self):
        for kill in range(int(os.environ.get("HEADROOM_KILLS", "2"))):
            in_step, delay = kill % 2 == 1, random.uniform(0, 1)
            with self.subTest(kill=kill, in_step=in_step, delay=delay):
                victim, stderr = self.lose(signal.SIGKILL, delay, in_step)
                self.assertIn(f"rank {victim} of 2 was killed by signal 9", stderr)

    def test_a_rank_that_sleeps_is_named_within_the_time_out(self):
        victim, stderr = self.lose(signal.SIGSTOP, 0.5, True)
        self.assertIn(f"rank {victim} is stopped by a signal", stderr)

    @unittest.skipUnless(shutil.which("mpirun"), "no mpirun here")
    def test_under_mpirun_the_sweep_is_the_same(self):
        file = self.folder / "report.json"
        result = run_program("mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", HEADROOM, "ddp", *SMALL,
                             "--model", "mlp", "--iters", "2", "--warmup", "1", "--report", file, env=clean_environment())
        self.assert_exit(result, 0)
        rounds = json.loads(file.read_text())["benchmark_results"][0]["result"]
        self.assertEqual([step["ranks"] for step in rounds], [[0], [0], [0, 1]])


if __name__ == "__main__":
    unittest.main()
