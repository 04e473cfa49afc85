# SPDX-License-Identifier: Apache-2.0
"""`headroom trace merge`."""
import collections
import gzip
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import unittest

from command_line import HEADROOM, CommandLineTest, headroom
from trace_files import SHARED, document, kernel, launch, op, tables_of, trace

FORMATS = pathlib.Path(__file__).parent.parent / "data" / "trace" / "formats"
PLANT = SHARED.parent / "planted" / "plant.py"


def all_reduce(ts, dur, correlation):
    return kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", ts, dur, correlation, stream=20,
                  **{"Collective name": "allreduce", "In msg nelems": 1024, "Out msg nelems": 1024, "Group size": 2,
                     "dtype": "Float", "Process Group Name": "0", "External id": correlation})


def rank_events(lateness, ahead=0.0, steps=3):
    """Per step an operator, its kernel, and an all-reduce joined `lateness` late."""
    events = [{"ph": "M", "name": "process_name", "pid": 900, "tid": 0, "args": {"name": "python"}},
              {"ph": "M", "name": "process_sort_index", "pid": 900, "tid": 0, "args": {"sort_index": 900}}]
    for step in range(steps):
        at = 1000 * step + ahead
        id = 2 * step + 1
        events += [op("aten::mm", at + 1, 10) | {"args": {"External id": id, "Sequence number": step}},
                   launch(at + 5, 2, id), launch(at + 20, 2, id + 1),
                   kernel("sgemm", at + 30, 100, id), all_reduce(at + 140 + lateness, 300 - lateness, id + 1),
                   {"ph": "s", "id": id, "pid": 900, "tid": 900, "ts": at + 5, "cat": "ac2g", "name": "ac2g"},
                   {"ph": "f", "id": id, "pid": 0, "tid": 7, "ts": at + 30, "cat": "ac2g", "name": "ac2g", "bp": "e"}]
    return events


class Merge(CommandLineTest):
    def merge(self, *arguments, **options):
        return headroom("trace", "merge", *arguments, **options)

    def write(self, name, events, **members):
        return self.write_file(name, document(events, **members))

    def job(self):
        """Rank 1 is 50 us late; its clock is 40 us ahead, with another origin."""
        return [self.write("rank0.json", rank_events(0), rank=0, baseTimeNanoseconds=5_000_000),
                self.write("rank1.json", rank_events(50, ahead=40), rank=1, baseTimeNanoseconds=7_000_000)]

    def merged(self, *files):
        out = self.folder / "merged.json"
        result = self.assert_exit(self.merge(*files, "-o", out, "--json", "-"), 0)
        return json.loads(out.read_text(), parse_constant=self.fail), result

    def test_a_merge_is_analysed_as_its_files(self):
        files = []
        for rank, late in enumerate((0, 50)):
            steps = [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 900, "tid": 900,
                      "ts": 1000 * step, "dur": 1000} for step in range(3)]
            files.append(self.write(f"rank{rank}.json", steps + rank_events(late), rank=rank))
        out = self.folder / "merged.json"
        self.assert_exit(self.merge(*files, "-o", out), 0)
        for analysis in ("findings", "steps", "stragglers", "summary"):
            apart, merged = trace(analysis, *files, "--json", "-"), trace(analysis, out, "--json", "-")
            self.assert_exit(merged, 0)
            tables = [{name: [{key: cell for key, cell in row.items() if key != "file"} for row in rows]
                       for name, rows in tables_of(result).items()} for result in (apart, merged)]
            self.assertEqual(*tables, analysis)

    def test_clocks_are_aligned(self):
        # 2,040 us between the clocks; the median rank gets half.
        merged, result = self.merged(*self.job())
        clocks = tables_of(result)["clocks"]
        self.assertEqual([row["moved_ns"] for row in clocks], [1_020_000, -1_020_000])
        self.assertEqual([(row["rank"], row["collectives"], row["events"]) for row in clocks], [(0, 3, 23), (1, 3, 23)])
        self.assertIn("rank 0: clock moved forward by 1.02 ms, from 3 collectives", result.stderr)
        self.assertIn("rank 1: clock moved back by 1.02 ms, from 3 collectives", result.stderr)
        self.assertIn("46 events of 2 ranks and 3 arrows between them written to", result.stderr)
        reduces = [e for e in merged["traceEvents"] if e["name"].startswith("nccl")]
        ends = collections.defaultdict(list)
        for event in reduces:
            ends[event["pid"]].append(round(merged["baseTimeNanoseconds"] + 1000 * (event["ts"] + event["dur"])))
        self.assertEqual(*ends.values())
        self.assertEqual(list(ends.values())[0][0], 5_000_000 + 440_000 + 1_020_000)

    def test_no_time_is_below_zero(self):
        merged, _ = self.merged(*self.job())
        self.assertGreaterEqual(min(event["ts"] for event in merged["traceEvents"] if "ts" in event), 0)

    def test_ranks_share_no_process_device_or_id(self):
        merged, _ = self.merged(*self.job())
        of_rank = [[e for e in merged["traceEvents"] if e.get("pid") in pids and e.get("cat") != "collective"]
                   for pids in ((0, 900), (10_000_000, 10_000_900))]
        # Without names that only the host has.
        self.assertEqual([len(events) for events in of_rank], [25, 25])
        self.assertEqual({e["args"]["device"] for e in of_rank[1] if e.get("cat") == "kernel"}, {100})
        for key in ("correlation", "External id", "Sequence number"):
            first, second = ({e["args"][key] for e in events if key in e.get("args", {})} for events in of_rank)
            self.assertEqual((len(first), first & second), (len(second), set()), key)
            self.assertEqual({id - 10**12 for id in second}, first)
        flows = [[e["id"] for e in events if e["ph"] in "sf"] for events in of_rank]
        self.assertEqual(flows[1], [id + 10**12 for id in flows[0]])

    def test_ranks_of_other_formats_share_nothing_either(self):
        for kind in ("nsight.sqlite", "rocprofv3.json", "kineto.pftrace", "gpu.xplane.pb"):
            files = [self.folder / f"rank{rank}.{kind}" for rank in range(2)]
            for file in files:
                shutil.copy(FORMATS / kind, file)
            merged, _ = self.merged(*files)
            by_rank = [[event for event in merged["traceEvents"] if event["ph"] == "X" and self.is_of(event, rank)]
                       for rank in range(2)]
            with self.subTest(kind):
                self.assertTrue(by_rank[0])
                self.assertEqual([event["name"] for event in by_rank[0]], [event["name"] for event in by_rank[1]])
                for key in ("correlation", "device"):
                    values = [{event["args"][key] for event in events if key in event.get("args", {})} for events in by_rank]
                    self.assertTrue(values[0])
                    self.assertFalse(values[0] & values[1], key)
                names = {event["args"]["name"] for event in merged["traceEvents"]
                         if event["ph"] == "M" and event["name"] == "process_name"}
                self.assertEqual(len({name.split(":")[0] for name in names}), 2, names)

    def is_of(self, event, rank):
        pid = event["pid"]
        return rank == (pid // 10_000_000 if isinstance(pid, int) else int(pid.split()[1]))

    def test_ranks_stand_under_each_other_by_name(self):
        merged, _ = self.merged(*self.job())
        said = {what: {e["pid"]: e["args"] for e in merged["traceEvents"] if e["name"] == what}
                for what in ("process_name", "process_sort_index")}
        self.assertEqual({pid: args["name"] for pid, args in said["process_name"].items()},
                         {0: "rank 0", 900: "rank 0: python", 10_000_000: "rank 1", 10_000_900: "rank 1: python"})
        order = sorted(said["process_sort_index"], key=lambda pid: said["process_sort_index"][pid]["sort_index"])
        self.assertEqual(order, [900, 0, 10_000_900, 10_000_000])

    def test_arrows_lead_from_the_last_to_come(self):
        merged, _ = self.merged(*self.job())
        arrows = [e for e in merged["traceEvents"] if e.get("cat") == "collective"]
        self.assertEqual([e["ph"] for e in arrows], ["s", "f"] * 3)
        reduces = [e for e in merged["traceEvents"] if e["name"].startswith("nccl")]
        for begin, end in zip(arrows[::2], arrows[1::2]):
            self.assertEqual((begin["pid"], begin["tid"], end["pid"], end["tid"]), (10_000_000, 20, 0, 20))
            self.assertEqual((begin["id"], begin["ts"], begin["name"]), (end["id"], end["ts"], "all_reduce"))
            # Viewers attach each end to an enclosing event.
            for point in (begin, end):
                self.assertTrue([e for e in reduces if e["pid"] == point["pid"] and e["ts"] <= point["ts"] < e["ts"] + e["dur"]])
        self.assertEqual(len({e["id"] for e in arrows}), 3)

    def test_members_of_each_rank_are_kept(self):
        merged, _ = self.merged(*self.job())
        self.assertEqual([merged[f"rank {rank}"]["distributedInfo"]["rank"] for rank in range(2)], [0, 1])
        self.assertEqual([merged[f"rank {rank}"]["baseTimeNanoseconds"] for rank in range(2)], [5_000_000, 7_000_000])
        self.assertEqual(merged["rank 1"]["merged"], {"file": str(self.folder / "rank1.json"), "clock_moved_ns": -1_020_000})
        self.assertEqual([device["id"] for device in merged["deviceProperties"]], [0, 100])
        self.assertNotIn("distributedInfo", merged)

    def test_what_stands_without_a_mark_of_its_own(self):
        """No process, text as a process or an id, no device, no arguments."""
        odd = [{"ph": "X", "name": "lost", "ts": 1, "dur": 1}, {"ph": "X", "name": "span", "pid": "Spans", "tid": "a", "ts": 1, "dur": 1},
               {"ph": "b", "name": "task", "cat": "x", "id": "0x1f", "pid": 1, "tid": 1, "ts": 2},
               {"ph": "e", "name": "task", "cat": "x", "id": "one", "id2": {"global": 5}, "pid": 1, "tid": 1, "ts": 2,
                "args": {"correlation": -1, "External id": 0}},
               {"ph": "X", "cat": "kernel", "name": "k", "pid": 3, "tid": 7, "ts": 5, "dur": 1,
                "args": {"correlation": 4, "stream": 7, "device": -1}},
               {"ph": "X", "cat": "cpu_op", "name": "o", "pid": 98765432109, "tid": 7, "ts": "6.5", "dur": 1, "args": {"nested": {"device": 3}}}]
        merged, _ = self.merged(self.write("rank0.json", odd), self.write("rank7.json", odd))
        second = [e for e in merged["traceEvents"] if e["ph"] != "M"][len(odd):]
        self.assertEqual([e["pid"] for e in second],
                         ["rank 7", "rank 7 Spans", 10_000_001, 10_000_001, 10_000_003, "rank 7 98765432109"])
        self.assertEqual([e.get("id") for e in second[2:4]], [hex(0x1f + 10**12), "rank 7 one"])
        self.assertEqual(second[3]["id2"], {"global": 5 + 10**12})
        self.assertEqual(second[3]["args"], {"correlation": -1, "External id": 0})
        self.assertEqual(second[4]["args"], {"correlation": 4 + 10**12, "stream": 7, "device": 103})
        self.assertEqual((second[5]["args"], second[5]["ts"]), ({"nested": {"device": 3}}, 6.5))

    def test_without_collectives_the_clocks_stay(self):
        files = [self.write(f"rank{rank}.json", [kernel("k", 10 * rank, 5, 1)]) for rank in range(2)]
        merged, result = self.merged(*files)
        self.assertIn("no collective appears in the traces of several ranks", result.stderr)
        self.assertIn("rank 1: clock unchanged, from 0 collectives", result.stderr)
        self.assertEqual([e["ts"] for e in merged["traceEvents"] if e["ph"] == "X"], [0, 10])

    def test_packed_outputs_and_standard_output(self):
        files = self.job()
        self.assert_exit(self.merge(*files, "-o", self.folder / "m.json"), 0)
        self.assert_exit(self.merge(*files, "-o", self.folder / "m.json.gz"), 0)
        plain = (self.folder / "m.json").read_bytes()
        self.assertEqual(gzip.decompress((self.folder / "m.json.gz").read_bytes()), plain)
        piped = subprocess.run([HEADROOM, "trace", "merge", *files, "-o", "-"], capture_output=True, timeout=60)
        self.assertEqual((piped.returncode, piped.stdout), (0, plain))
        for threads in (1, 7):
            self.assert_exit(self.merge(*files, "-o", self.folder / "n.json", "--threads", str(threads)), 0)
            self.assertEqual((self.folder / "n.json").read_bytes(), plain)

    def test_refuses_and_leaves_nothing(self):
        first, second = self.job()
        text = self.write_file("text.json", "hello")
        before = sorted(self.folder.iterdir())
        out = self.folder / "out.json"
        self.assert_refused(self.merge("-o", out), "no traces given")
        self.assert_refused(self.merge(first, second), "no output given")
        self.assert_refused(self.merge(first, "-o", out), "cannot merge a single trace")
        twice = self.merge(first, first, "-o", out)
        self.assert_refused(twice, "cannot merge a single trace")
        self.assertIn("named twice; read once", twice.stderr)
        self.assert_refused(self.merge(first, second, "-o", second), "is an input trace")
        self.assert_refused(self.merge(first, second, "-o", out, "--json", first), "is an input trace")
        self.assert_refused(self.merge(first, self.folder / "absent.json", "-o", out), "absent.json")
        self.assert_refused(self.merge(first, text, "-o", out), "not a Chrome trace")
        self.assert_refused(self.merge(first, second, "-o", "-", "--json", "-"), "standard output")
        self.assert_refused(self.merge(first, second, "-o", self.folder / "out.csv.gz"), "is not a name of a trace")
        self.assert_refused(self.merge(first, "-", "-o", out), "can be read only once")
        self.assert_refused(self.merge(first, second, "-o", first / "out.json"), "out.json")
        self.assertEqual(sorted(self.folder.iterdir()), before)
        self.assertIn("headroom trace merge 'job/rank*.json.gz' -o merged.json.gz", self.merge("--help").stdout)

    def test_a_damaged_rank_is_said_and_used(self):
        first, second = self.job()
        second.write_text(second.read_text()[:-60])
        merged, result = self.merged(first, second)
        self.assertIn(f"{second}: ", result.stderr)
        self.assertIn("validate", result.stderr)
        self.assertEqual(len([e for e in merged["traceEvents"] if e["name"].startswith("nccl")]), 6)

    def test_ranks_that_are_not_told_are_named(self):
        files = [self.write(name, rank_events(0)) for name in ("a.json", "b.json")]
        _, result = self.merged(*files)
        self.assertIn("2 files do not name their rank", result.stderr)

    def test_clocks_of_different_eras_are_refused(self):
        """Without a collective that relates them."""
        first = self.write("rank0.json", [kernel("k", 10, 5, 1)], baseTimeNanoseconds=2 * 10**18)
        second = self.write("rank1.json", [kernel("k", 10, 5, 1)], baseTimeNanoseconds=-2 * 10**18)
        self.assert_refused(self.merge(first, second, "-o", self.folder / "out.json"), "decades")

    def test_links_are_not_followed_when_asked(self):
        target = self.write_file("target.json", "kept")
        (self.folder / "link.json").symlink_to(target)
        self.assert_exit(self.merge(*self.job(), "--no-follow", "-o", self.folder / "link.json"), 2)
        self.assertEqual(target.read_text(), "kept")

    def test_too_little_memory_is_said(self):
        events = rank_events(0, steps=15_000)
        files = [self.write(f"rank{rank}.json", events) for rank in range(2)]
        self.assert_exit(self.merge(*files, "-o", self.folder / "out.json", "--max-memory", "20M"), 2, stderr="memory")
        self.assertFalse((self.folder / "out.json").exists())

    def interrupted_merge(self, steps):
        """Returns exit code, output and leftovers; the merge may finish before the interrupt."""
        out = self.folder / "out.json"
        files = [self.write(f"rank{rank}.json", rank_events(0, steps=steps)) for rank in range(2)]
        before = sorted(self.folder.iterdir())
        process = subprocess.Popen([HEADROOM, "trace", "merge", *files, "-o", out], stderr=subprocess.PIPE, text=True)
        # Once pieces are written, both readings have begun.
        while process.poll() is None and sorted(self.folder.iterdir()) == before:
            pass
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        left = [path for path in self.folder.iterdir() if path not in before]
        out.unlink(missing_ok=True)
        return process.returncode, said, left

    def test_interrupted_it_leaves_nothing(self):
        steps = 20_000
        while (ended := self.interrupted_merge(steps))[0] == 0 and steps < 200_000:
            steps *= 2
        self.assertEqual(ended, (130, "headroom: interrupted; nothing was written\n", []))


def gpu_times(tables):
    return [row["busy_ns"] for row in tables["devices"] if row["device"] != "all"]


@unittest.skipUnless(PLANT.is_file(), "the shared traces are not here")
class RealRanks(CommandLineTest):
    def assert_holds_all(self, files):
        """The merge is valid and has each rank's events and GPU time."""
        out = self.folder / "merged.json.zst"
        merging = self.assert_exit(headroom("trace", "merge", *files, "-o", out, "--json", "-"), 0)
        document = json.loads(merging.stdout)["trace"]
        busy, events = [], 0
        for file in files:
            busy += gpu_times(tables_of(trace("utilization", file, "--json", "-")))
            events += self.counts(file)["events"]
        self.assertEqual(sum(row["events"] for row in document["tables"]["clocks"]), events)
        self.assertEqual(gpu_times(tables_of(trace("utilization", out, "--json", "-"))), busy)
        checked = self.assert_exit(trace("validate", out, "--json", "-"), 0)
        wrong = [row["check"] for row in tables_of(checked)["checks"] if row["verdict"] == "wrong"]
        self.assertEqual(wrong, [])
        return document["tables"]["clocks"]

    def counts(self, file):
        return json.loads(trace("validate", file, "--json", "-").stdout)["trace"]["files"][0]

    def test_two_ranks_of_pytorch(self):
        files = [SHARED / f"hta__trace_filter_sampled_rank-{rank}.json.gz" for rank in range(2)]
        clocks = self.assert_holds_all(files)
        self.assertEqual([row["rank"] for row in clocks], [0, 1])

    def test_four_ranks_with_clocks_apart(self):
        subprocess.run([sys.executable, PLANT, self.folder, "--seed", "5"], check=True, timeout=60)
        files = sorted((self.folder / "late_rank").iterdir())
        ahead = {"rank1.json": 1234.567, "rank3.json": -250.5}
        for file in files:
            document = json.loads(file.read_text())
            for event in document["traceEvents"]:
                if event["ph"] == "X":
                    event["ts"] = round(event["ts"] + ahead.get(file.name, 0), 3)
            file.write_text(json.dumps(document))
        before = trace("collectives", *files, "--json", "-").stdout
        clocks = self.assert_holds_all(files)
        # The median rank has an offset of zero.
        self.assertEqual([row["moved_ns"] for row in clocks], [0, -1_234_567, 0, 250_500])
        self.assertEqual(trace("collectives", *files, "--json", "-").stdout, before)


if __name__ == "__main__":
    unittest.main()
