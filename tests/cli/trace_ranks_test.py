# SPDX-License-Identifier: Apache-2.0
"""`headroom trace` on the ranks of one job."""
import json
import unittest

from command_line import CommandLineTest
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


if __name__ == "__main__":
    unittest.main()
