# SPDX-License-Identifier: Apache-2.0
"""`headroom trace` on the ranks of one job, real and generated: tables, collectives, stragglers, the critical path; the same tables for
any number of MPI processes."""
import json
import os
import shutil
import subprocess
import sys
import unittest

from command_line import BIN, CommandLineTest, headroom, run_program
from trace_files import SHARED, step_events, tables_of, trace, write_trace


class ManyRanks(CommandLineTest):
    def job(self, *names, **options):
        for number, name in enumerate(names):
            write_trace(self.folder / name, step_events(slow=number + 1), **options)
        return self.folder

    def ranks(self, result):
        return {row["rank"]: row for row in tables_of(result)["ranks"]}

    def test_a_folder_is_a_job(self):
        self.job("job/rank-0.json", "job/rank-1.json.gz", "job/sub/rank_2.json")
        (self.folder / "job" / "notes.txt").write_text("no trace")
        result = self.assert_exit(trace("utilization", self.folder / "job", "--json", "-"), 0)
        self.assertEqual(result.stderr, "")
        ranks = self.ranks(result)
        self.assertEqual(sorted(ranks), [0, 1, 2])
        for rank, busy in enumerate((30, 50, 70)):
            self.assertAlmostEqual(ranks[rank]["utilization"], busy / 90, places=12)
        spread = {row["statistic"]: row["utilization"] for row in tables_of(result)["spread"]}
        self.assertAlmostEqual(spread["min"], 30 / 90, places=12)
        self.assertAlmostEqual(spread["median"], 50 / 90, places=12)
        self.assertAlmostEqual(spread["max"], 70 / 90, places=12)

    def test_the_records_have_an_axis_for_the_rank(self):
        self.job("job/rank-0.json", "job/rank-1.json")
        document = json.loads(trace("utilization", self.folder / "job", "--json", "-").stdout)
        axes = [r["axes"] for r in document["records"] if r["metric"]["name"] == "utilization"]
        self.assertEqual(axes, [{}, {"rank": 0}, {"rank": 1}])
        self.assertEqual(document["records"][0]["model"]["name"], "job")

    def test_a_pattern_is_a_job(self):
        self.job("t.10.json", "t.9.json", "other.json")
        result = self.assert_exit(trace("utilization", self.folder / "t.*.json", "--json", "-"), 0)
        files = [row["file"] for row in tables_of(result)["ranks"]]
        self.assertEqual([f.split("/")[-1] for f in files], ["t.9.json", "t.10.json"])

    def test_what_the_trace_says_comes_before_its_name(self):
        write_trace(self.folder / "rank-0.json", rank=1)
        write_trace(self.folder / "rank-1.json", step_events(slow=2), rank=0)
        ranks = self.ranks(trace("utilization", self.folder, "--json", "-"))
        self.assertAlmostEqual(ranks[0]["utilization"], 50 / 90, places=12)

    def test_ranks_that_are_not_told_or_told_twice_are_named(self):
        self.job("a.json", "b.json")
        self.assert_exit(trace("utilization", self.folder, "--json", "-"), 0, stderr="2 files do not name their rank")
        self.job("x/rank0.json", "y/rank0.json")
        result = self.assert_exit(trace("utilization", self.folder / "x" / "rank0.json", self.folder / "y", "--json",
                                        "-"), 0, stderr="both claim rank 0")
        self.assertEqual(sorted(self.ranks(result)), [0, 1])

    def test_a_process_id_is_no_rank(self):
        self.job("host_27702.1695835535123.pt.trace.json.gz", "host_27703.1695835535124.pt.trace.json.gz")
        result = self.assert_exit(trace("utilization", self.folder, "--json", "-"), 0,
                                  stderr="2 files do not name their rank")
        self.assertEqual(sorted(self.ranks(result)), [0, 1])

    def test_a_file_named_twice_is_read_once(self):
        self.job("rank-0.json", "rank-1.json")
        result = self.assert_exit(trace("utilization", self.folder / "rank-0.json", self.folder, "--json", "-"), 0,
                                  stderr="named twice")
        self.assertEqual(sorted(self.ranks(result)), [0, 1])

    def test_a_broken_file_does_not_keep_the_others(self):
        self.job("rank-0.json", "rank-1.json")
        (self.folder / "rank-2.json").write_text("no trace at all")
        result = self.assert_exit(trace("utilization", self.folder, "--json", "-"), 2, stderr="rank-2.json")
        self.assertEqual(sorted(self.ranks(result)), [0, 1])

    def test_one_process_or_many_threads_give_the_same(self):
        self.job(*(f"rank-{i}.json" for i in range(9)))
        one = trace("utilization", self.folder, "--json", "-", "--threads", "1")
        many = trace("utilization", self.folder, "--json", "-", "--threads", "7")
        self.assert_exit(one, 0)
        self.assertEqual(one.stdout, many.stdout)

    @unittest.skipUnless(SHARED.is_dir(), "the shared traces are not here")
    def test_two_ranks_of_a_real_job(self):
        result = trace("utilization", *sorted(SHARED.glob("hta__trace_filter_sampled_rank-*")), "--json", "-")
        self.assert_exit(result, 0)
        self.assertEqual(sorted(self.ranks(result)), [0, 1])


CASES = SHARED.parent / "cases" / "trace"


@unittest.skipUnless(CASES.is_dir(), "the shared cases are not here")
class LateRanks(CommandLineTest):
    def files(self, case, change=lambda rank, events: events):
        """Writes the ranks of a case with changed events."""
        folder = self.folder / case
        folder.mkdir(exist_ok=True)
        for rank in range(4):
            document = json.loads((CASES / case / f"rank{rank}.json").read_text())
            document["traceEvents"] = change(rank, document["traceEvents"])
            (folder / f"rank{rank}.json").write_text(json.dumps(document))
        return folder

    def moved(self, apart_us):
        """The second node's clocks are ahead."""
        return lambda rank, events: [{**e, "ts": e["ts"] + (apart_us if rank >= 2 else 0)} for e in events]

    def found(self, folder):
        result = self.assert_exit(trace("findings", folder, "--json", "-"), 0)
        return tables_of(result)["findings"], json.loads(result.stdout)["trace"]["notes"]

    def test_clocks_of_two_nodes_make_no_straggler(self):
        for case in ("j2b_one_clock", "j2d_dp_major"):
            for apart_us in (0, 50, -50, 5000, -5000):
                with self.subTest(case, apart_us=apart_us):
                    folder = self.files(case, self.moved(apart_us))
                    found, _ = self.found(folder)
                    self.assertEqual({f["kind"] for f in found}, {"exposed_communication", "synchronisation"})
                    self.assert_exit(trace("stragglers", folder), 0, "no straggler")
                    self.assertEqual([row["last"] for row in tables_of(trace("stragglers", folder, "--json", "-"))["ranks"]],
                                     [0, 0, 0, 0])

    def test_a_late_rank_has_its_reason(self):
        for apart_us in (0, 5000):
            with self.subTest(apart_us=apart_us):
                found, _ = self.found(self.files("k1", self.moved(apart_us)))
                late = [f for f in found if f["kind"] == "straggler"]
                self.assertEqual([(f["rank"], f["op"]) for f in late], [(1, "aten::bmm")])
                self.assertAlmostEqual(late[0]["recoverable_ns"], 2_000_000, delta=2000)
                self.assertIn("aten::bmm takes 2.00 ms/step more on the GPU", late[0]["evidence"])
                self.assertNotIn("imbalance", {f["kind"] for f in found})

    def test_a_recorder_that_starts_later_is_a_note(self):
        def without_first_step(rank, events):
            first_end = min(e["ts"] + e["dur"] for e in events if e["name"].startswith("ProfilerStep"))
            return [e for e in events if rank != 3 or e["ph"] != "X" or e["ts"] >= first_end]
        found, notes = self.found(self.files("j2b_one_clock", without_first_step))
        self.assertFalse({"straggler", "imbalance"} & {f["kind"] for f in found}, found)
        self.assertEqual(len([note for note in notes if "rank 3 started recording" in note]), 1, notes)


def event(category, name, start, duration, tid, **arguments):
    return {"ph": "X", "cat": category, "name": name, "pid": 0 if tid == 7 else 1, "tid": tid, "ts": start,
            "dur": duration, "args": arguments}


def product(start, late=0):
    """An aten::mm of 64 x 64 whose kernel is launched at once, and an all-reduce that ends at start + 900 us;
    the host waits for both."""
    return [
        event("cpu_op", "aten::mm", start, 50, 2, **{"External id": start + 1, "Input Dims": [[64, 64], [64, 64]],
                                                     "Input type": ["float", "float"]}),
        event("cuda_runtime", "cudaLaunchKernel", start + 10, 5, 2, correlation=start + 1),
        event("cuda_runtime", "cudaDeviceSynchronize", start + 860, 100, 2),
        event("kernel", "sgemm", start + 30, 100, 7, correlation=start + 1, device=0, stream=7),
        event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", start + 200 + late, 700 - late, 7, device=0, stream=7,
              **{"Collective name": "allreduce", "Process Group Name": "0", "Process Group Ranks": "[0, 1]",
                 "Group size": 2, "dtype": "Float", "In msg nelems": 175000, "Out msg nelems": 175000})]


class TraceOfAJob(CommandLineTest):
    def write(self, name, late=0, rank=0):
        events = []
        for step in range(2):
            start = 1000 * step
            events.append(event("user_annotation", f"ProfilerStep#{step + 5}", start, 1000, 2))
            events += product(start, late)
        return self.write_file(name, {"traceEvents": events, "distributedInfo": {"rank": rank, "world_size": 2},
                                      "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}]})

    def tables(self, *arguments):
        result = self.assert_exit(headroom("trace", *arguments, "--no-store", "--json", "-"), 0)
        return json.loads(result.stdout)["trace"]["tables"]

    def test_the_critical_path_and_its_overlay(self):
        overlay = self.folder / "overlay.json"
        tables = self.tables("critical-path", self.write("a.json"), "--step", "6", "--overlay", overlay)
        times = {row["class"]: row["time_ns"] for row in tables["classes"]}
        self.assertEqual((times["operators"], times["launch"], times["gpu compute"]), (10_000, 20_000, 100_000))
        self.assertEqual((times["gpu communication"], times["synchronisation"]), (700_000, 60_000))
        # Before the all-reduce, launched outside the file, and after the step's last call.
        self.assertEqual(times["not recorded"], 70_000 + 40_000)
        self.assertEqual(tables["path"][0]["path_ns"], sum(times.values()))
        events = json.loads(overlay.read_text())["traceEvents"]
        path = [e for e in events if e.get("cat") == "critical_path" and e["ph"] == "X"]
        self.assertAlmostEqual(sum(e["dur"] for e in path), 1000.0)

    def test_a_step_that_is_not_there(self):
        self.assert_exit(headroom("trace", "critical-path", self.write("a.json"), "--step", "99", "--no-store"), 2,
                         stderr="the trace has the steps 5, 6")

    def test_who_waits_for_whom(self):
        ranks = [self.write("rank0.json"), self.write("rank1.json", late=300, rank=1)]
        tables = self.tables("collectives", *ranks)
        self.assertEqual(len(tables["skews"]), 2)
        row = tables["skews"][0]
        self.assertEqual((row["latency_ns"], row["skew_ns"], row["last_rank"]), (400_000, 300_000, 1))
        self.assertAlmostEqual(row["bus_bandwidth_gb_s"], 1.75)  # 700,000 bytes in 400 us, factor 2 (2 - 1) / 2
        self.assertEqual(tables["unmatched"], [])
        tables = self.tables("stragglers", *ranks)
        late, first = tables["ranks"][0], tables["lateness"][0]
        self.assertEqual((late["rank"], late["imposed_ns"], late["last"]), (1, 300_000, 2))
        self.assertEqual((first["rank"], first["late_ns"], first["last"]), (1, 300_000, 2))

    def test_raw_rows_are_not_printed(self):
        result = self.assert_exit(headroom("trace", "collectives", self.write("a.json"), "--no-store"), 0,
                                  "communication kernels of this rank")
        self.assertNotIn("group_ranks", result.stdout)
        self.assertEqual(result.stdout.count("all_reduce"), 1)

    def test_the_roof(self):
        row = self.tables("roofline", self.write("a.json"))["roofline"][0]
        self.assertEqual((row["op"], row["calls"], row["bound"]), ("aten::mm", 2, "memory"))
        self.assertAlmostEqual(row["gflops_per_second"], 524288 / 100_000)
        self.assertAlmostEqual(row["roof_share"], 49152 / 3350e9 / 100e-6)
        self.assert_exit(headroom("trace", "roofline", self.write("a.json"), "--peaks-of", "abacus", "--no-store"), 2,
                         stderr="abacus")


PLANT = SHARED.parent / "planted" / "plant.py"


@unittest.skipUnless(PLANT.is_file(), "the shared traces are not here")
class JobPath(CommandLineTest):
    def plant(self, seed):
        """Returns the files of four ranks, the late one, and its extra ns per step."""
        subprocess.run([sys.executable, PLANT, self.folder, "--seed", str(seed)], check=True, timeout=60)
        planted = json.loads((self.folder / "expected.json").read_text())["late_rank"]
        return sorted((self.folder / "late_rank").iterdir()), planted["rank"], 1000 * planted["cost_us_per_step"]

    def move_clocks(self, files):
        for place, file in enumerate(files):
            document = json.loads(file.read_text())
            for event in document["traceEvents"]:
                if event["ph"] == "X":
                    event["ts"] = round(event["ts"] + 777.125 * place, 3)
            file.write_text(json.dumps(document))

    def test_it_leads_over_the_late_rank_and_holds_its_extra_work(self):
        for seed in (1, 5):
            files, late, cost_ns = self.plant(seed)
            for _ in ("as they are", "apart"):
                with self.subTest(seed=seed):
                    tables = tables_of(self.assert_exit(trace("critical-path", *files, "--json", "-", "--top", "0"), 0))
                    path = tables["job_path"]
                    self.assertEqual(path[0]["rank"], late)
                    for before, after in zip(path, path[1:]):
                        self.assertEqual(before["to_ns"], after["from_ns"])
                        self.assertRegex(before["until"], r"^all_reduce \d+ of group 0$")
                    total = sum(row["time_ns"] for row in path)
                    self.assertEqual(total, path[-1]["to_ns"] - path[0]["from_ns"])
                    times = {}
                    for row in tables["job_classes"]:
                        times[row["class"]] = times.get(row["class"], 0) + row["time_ns"]
                    self.assertEqual(sum(times.values()), total)
                    # 20 kernels of 400 us, two all-reduces of 500 us, no waits.
                    self.assertAlmostEqual(times["gpu compute"], 8_000_000, delta=10_000)
                    self.assertAlmostEqual(times["gpu communication"], 1_000_000, delta=10_000)
                    self.assertAlmostEqual(times["operators"], cost_ns, delta=50_000)
                self.move_clocks(files)

    def test_the_answer_comes_first(self):
        files, late, _ = self.plant(5)
        result = self.assert_exit(trace("critical-path", *files), 0)
        self.assertNotEqual(late, 0)
        self.assertRegex(result.stdout, rf"^the job's critical path takes 12.5 ms and ends on rank 0; .* is on rank {late}, ")
        self.assertNotIn("path_stretches", result.stdout)

    def test_what_the_late_rank_does_is_named(self):
        # The host runs ahead: slow kernels are the path, not launches.
        for case, answer in (("k1", r"is on rank 1, 5\.00 ms of that gpu compute"),
                             ("j2b_one_clock", r"rank 0, entirely on that rank: 2\.00 ms of that gpu compute")):
            with self.subTest(case=case):
                result = self.assert_exit(trace("critical-path", SHARED.parent / "cases" / "trace" / case), 0)
                self.assertRegex(result.stdout.splitlines()[0], answer)


class WithoutCollectives(CommandLineTest):
    def test_ranks_have_rows_and_a_note(self):
        for rank in range(2):
            write_trace(self.folder / f"rank{rank}.json")
        result = self.assert_exit(trace("critical-path", self.folder, "--json", "-"), 0)
        self.assertEqual(list(tables_of(result)), ["ranks", "spread"])
        self.assertIn("no collective appears in the traces of several ranks", result.stdout)


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
