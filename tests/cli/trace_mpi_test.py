# SPDX-License-Identifier: Apache-2.0
"""headroom-trace-mpi: the same tables for any number of processes."""
import json
import os
import shutil
import unittest

from command_line import BIN, CommandLineTest, headroom, run_program
from trace_files import SHARED, step_events, write_trace

PROGRAM = BIN / "headroom-trace-mpi"
MPIRUN = shutil.which("mpirun")


def mpirun(processes, *arguments):
    # OpenMPI refuses root and oversubscription unless allowed.
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}
    return run_program(MPIRUN, "-n", processes, PROGRAM, *arguments, "--no-store", env={**os.environ, **allowed})


@unittest.skipUnless(MPIRUN and PROGRAM.exists(), "MPI was not found: headroom-trace-mpi is not built")
class TraceMpi(CommandLineTest):
    def job(self, ranks):
        for rank in range(ranks):
            write_trace(self.folder / "job" / f"rank-{rank}.json.gz", step_events(slow=rank % 3 + 1), rank=rank)
        return self.folder / "job"

    def assert_same(self, *arguments, processes=2):
        one = headroom("trace", *arguments, "--no-store")
        many = mpirun(processes, *arguments)
        self.assertEqual(many.stdout, one.stdout)
        self.assert_exit(many, one.returncode)
        return many

    def test_the_same_tables_as_one_process(self):
        job = self.job(5)
        names = [entry["name"] for entry in json.loads(headroom("trace", "--list", "--json", "-").stdout)]
        for name in names:
            with self.subTest(name):
                result = self.assert_same(name, job)
                self.assertTrue(result.stdout)

    def test_the_same_json_to_the_last_digit(self):
        job = self.job(4)
        self.assert_same("utilization", job, "--json", "-", processes=3)

    def test_more_processes_than_traces(self):
        self.assert_same("utilization", self.job(2), processes=4)

    def test_one_trace(self):
        self.assert_same("utilization", self.job(1), processes=2)

    def test_a_broken_file_of_another_process_is_said_and_the_rest_is_shown(self):
        job = self.job(3)
        (job / "rank-1.json.gz").write_text("no trace at all")
        result = self.assert_exit(self.assert_same("utilization", job), 2)
        self.assertEqual(result.stderr.count("not a Chrome trace"), 1)
        self.assertIn("rank-1.json.gz", result.stderr)

    def test_wrong_usage_is_said_once(self):
        result = self.assert_exit(mpirun(2, "utilisation", self.job(1)), 2)
        self.assertEqual(result.stderr.count("did you mean 'utilization'?"), 1)
        self.assertEqual(mpirun(2, "--help").stdout.count("analyses (first word"), 1)

    def test_files_are_written_once(self):
        path = self.folder / "out.json"
        self.assert_exit(mpirun(2, "utilization", self.job(2), "--json", path), 0)
        self.assertEqual(len(json.loads(path.read_text())["trace"]["ranks"]), 2)

    @unittest.skipUnless(SHARED.is_dir(), "the shared traces are not here")
    def test_collectives_of_a_real_job(self):
        files = sorted(SHARED.glob("hta__trace_filter_sampled_rank-*"))
        self.assert_same("collectives", *files)
        self.assert_same("stragglers", *files)


if __name__ == "__main__":
    unittest.main()
