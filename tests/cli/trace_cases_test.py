# SPDX-License-Identifier: Apache-2.0
"""`headroom trace` on small traces that once got a wrong answer (../shared/cases/trace), and on variations of them."""
import gzip
import json
import re
import unittest

from command_line import CommandLineTest, headroom
from trace_files import SHARED, kernel, trace, write_trace

CASES = SHARED.parent / "cases" / "trace"
MS = 1e6
FAMILIES = ("a10", "a1", "a2", "a3", "a4", "a5", "a7", "c1", "c3", "d1", "e1", "et", "f1", "f3", "g1", "h1", "i1", "j2",
            "k1", "n")
UNIT_NS = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}


def events_of(name):
    path = CASES / name
    return json.loads(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes())


def works(event):
    return event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")


@unittest.skipUnless(CASES.is_dir(), "the shared cases are not here")
class Case(CommandLineTest):
    def ask(self, analysis, path):
        result = trace(*([analysis] if analysis else []), path if hasattr(path, "parts") else CASES / path, "--json", "-")
        self.assert_exit(result, 0)
        return json.loads(result.stdout)["trace"]

    def findings(self, path):
        return self.ask("findings", path)["tables"]["findings"]

    def kinds(self, path):
        return [found["kind"] for found in self.findings(path)]

    def only(self, path, kind, gain_ns, within=0.01):
        """Returns the only finding, of that kind and gain."""
        found = self.findings(path)
        self.assertEqual([one["kind"] for one in found], [kind])
        self.assertAlmostEqual(found[0]["recoverable_ns"], gain_ns, delta=within * gain_ns)
        return found[0]

    def standing(self, path):
        """Returns (unit, length in ns, GPU busy or None) of the first line."""
        line = self.ask("findings", path)["standing"][0]
        unit, number, of, busy = re.match(r"(?:\d+ ranks: )?(step|trace) ([\d.]+) (\w+) · GPU busy(?: ([\d.]+) %|: unknown)", line).groups()
        return unit, float(number) * UNIT_NS[of], None if busy is None else float(busy) / 100

    def stands(self, path, unit, length_ns, busy):
        is_unit, is_length, is_busy = self.standing(path)
        self.assertEqual(is_unit, unit)
        self.assertAlmostEqual(is_length, length_ns, delta=0.01 * length_ns)
        self.assertAlmostEqual(is_busy, busy, delta=0.01)

    def trust(self, path):
        return "; ".join(self.ask("findings", path)["trust"])

    def headline(self, analysis, path, metric):
        return next((one["value"] for one in self.ask(analysis, path)["headlines"] if one["metric"] == metric), None)

    def changed(self, name, change):
        """A variation with changed complete events; None drops one."""
        document = events_of(name)
        document["traceEvents"] = [new for event in document["traceEvents"]
                                   if (new := change(dict(event)) if event.get("ph") == "X" else event) is not None]
        return self.write_file(name.removesuffix(".gz"), document)

    def cut_out(self, name, at_us, us):
        """A variation without `us` after `at_us` (from the first event)."""
        events = [event for event in events_of(name)["traceEvents"] if event.get("ph") == "X"]
        at = min(event["ts"] for event in events) + at_us

        def change(event):
            if event["ts"] >= at:
                event["ts"] -= us
            elif event["ts"] + event["dur"] >= at + us:
                event["dur"] -= us
            return event
        return self.changed(name, change)


class EveryCase(Case):
    def test_each_is_of_a_family_that_is_tested(self):
        for path in CASES.iterdir():
            self.assertTrue(path.name.startswith(FAMILIES), f"no test is about {path.name}")

    def test_the_summary_finds_what_findings_finds(self):
        for path in sorted(CASES.iterdir()):
            with self.subTest(path.name):
                summary, findings = self.ask("", path), self.ask("findings", path)
                self.assertEqual(summary["tables"].get("findings", []), findings["tables"].get("findings", []))
                self.assertEqual(summary["standing"], findings["standing"])
                self.assertEqual(summary["trust"], findings["trust"])

    def test_nothing_found_never_stands_alone(self):
        for path in sorted(CASES.iterdir()):
            with self.subTest(path.name):
                result = trace(path)
                if "no finding would" in result.stdout:
                    self.assertRegex(result.stdout, r"GPU idle or exposed [0-9]\.?[0-9]* % of the (step|trace)")

    def test_the_trust_line_is_the_first_of_every_analysis(self):
        for name, words in (("a1_overflow.json", "impossible duration"), ("a2_ts0.json", "of another clock"),
                            ("a3_graph_no_kernels.json", "have no work in the file")):
            for analysis in ("", "findings", "steps", "idle", "kernels", "ops", "utilization", "launch"):
                with self.subTest(name, analysis=analysis):
                    first = trace(*([analysis] if analysis else []), CASES / name).stdout.splitlines()[0]
                    self.assertRegex(first, f"^warning: .*{words}")


class Trust(Case):
    def test_an_impossible_duration(self):
        self.assertRegex(self.trust("a1_overflow.json"), r"^1 impossible duration left out \(3.40 s of 'sm90")
        self.stands("a1_overflow.json", "step", 10.26 * MS, 0.967)
        self.assertEqual(self.findings("a1_overflow.json"), [])
        self.assertLess(self.headline("utilization", "a1_overflow.json", "idle_share"), 0.03)
        self.assertEqual(self.trust("a1_clean.json"), "")
        self.stands("a1_clean.json", "step", 10.26 * MS, 0.975)
        self.assertEqual(self.findings("a1_clean.json"), [])

    def test_impossible_durations_elsewhere(self):
        for which, longer_us in ((5, 5e6), (40, 60_000), (100, 1e9)):
            count = iter(range(1000))

            def longer(event):
                if event["cat"] == "kernel" and next(count) == which:
                    event["dur"] = longer_us
                return event
            with self.subTest(which):
                path = self.changed("a1_clean.json", longer)
                self.assertIn("1 impossible duration", self.trust(path))
                self.stands(path, "step", 10.26 * MS, 0.967)
                self.assertEqual(self.findings(path), [])

    def test_a_long_kernel_with_nothing_inside_is_possible(self):
        last = max((e for e in events_of("a1_clean.json")["traceEvents"] if e.get("cat") == "kernel"), key=lambda e: e["ts"])

        def longer(event):
            if event["cat"] == "kernel" and event["ts"] == last["ts"]:
                event["dur"] = 100_000
            return event
        self.assertEqual(self.trust(self.changed("a1_clean.json", longer)), "")

    def test_times_of_another_clock(self):
        self.assertRegex(self.trust("a2_ts0.json"), "^20 events left out, with times of another clock")
        self.assertIn("1 of 3 steps lack work that they launch", self.trust("a2_ts0.json"))
        self.stands("a2_ts0.json", "step", 10.26 * MS, 0.975)
        self.assertEqual(self.findings("a2_ts0.json"), [], "the wait is for kernels whose times are lost")
        self.assertAlmostEqual(self.headline("steps", "a2_ts0.json", "step_utilization"), 0.976, delta=0.005)

    def test_operators_at_times_of_another_clock(self):
        count = iter(range(1000))

        def lost(event):
            if event["cat"] == "cpu_op" and next(count) % 9 == 3:
                event["ts"] = 0
            return event
        path = self.changed("a1_clean.json", lost)
        self.assertRegex(self.trust(path), r"^\d+ events left out, with times of another clock")
        self.stands(path, "step", 10.26 * MS, 0.975)
        self.assertEqual(self.findings(path), [])

    def test_graphs_whose_kernels_are_lost(self):
        name = "a3_graph_no_kernels.json"
        self.assertIn("32 of 64 launches have no work in the file", self.trust(name))
        self.assertIn("32 of 32 steps lack work", self.trust(name))
        self.assertEqual(self.standing(name), ("step", 10.0 * MS, None))
        self.assertEqual(self.findings(name), [])
        self.assertIsNone(self.headline("steps", name, "step_utilization"))
        for analysis in ("findings", "steps"):
            self.assertNotRegex(trace(analysis, CASES / name).stdout, "CUDA graph|GPU busy \\d|no finding would")

    def test_the_first_kernels_are_lost(self):
        name = "a7_first_kernels_dropped.json"
        self.assertIn("100 of 240 launches have no work in the file", self.trust(name))
        self.assertIn("3 of 6 steps lack work that they launch and are left out of figures per step", self.trust(name))
        self.stands(name, "step", 10.26 * MS, 0.975)
        self.assertEqual(self.findings(name), [])
        self.assertAlmostEqual(self.headline("steps", name, "step_utilization"), 0.976, delta=0.005)

    def test_kernels_in_the_middle_are_lost(self):
        """The longest run of whole steps counts."""
        first = min(e["ts"] for e in events_of("a1_clean.json")["traceEvents"] if e.get("ph") == "X")

        def lost(event):
            is_lost = event["cat"] == "kernel" and 10_300 < event["ts"] - first < 14_000
            return None if is_lost else event
        path = self.changed("a1_clean.json", lost)
        self.assertIn("1 of 3 steps lack work", self.trust(path))
        self.stands(path, "step", 10.26 * MS, 0.975)
        self.assertEqual(self.findings(path), [])

    def test_work_after_the_last_step(self):
        name = "a4_burst.json"
        self.assertEqual(self.standing(name), ("step", 18.4 * MS, None))
        self.assertIn("work comes after the last step", self.ask("findings", name)["standing"][1])
        self.assertEqual(self.findings(name), [])
        self.assertNotIn("no finding would", trace(CASES / name).stdout)
        self.assertIsNone(self.headline("steps", name, "step_utilization"))
        self.assertAlmostEqual(self.headline("steps", name, "step_time_ns"), 18.0 * MS, delta=0.01 * MS)

    def test_functions_that_cross_change_no_figure(self):
        self.assertIn("3 of 6 Python functions end after their caller", self.trust("a10_cross.json"))
        self.assertEqual(self.standing("a10_cross.json"), self.standing("a1_clean.json"))
        self.assertEqual(self.findings("a10_cross.json"), [])


class Host(Case):
    def test_the_start_of_the_profiler_costs_nothing(self):
        found = self.only("c1_start_trace_python.json", "synchronisation", 0.44 * MS)
        self.assertEqual(found["op"], "cudaDeviceSynchronize")
        self.stands("c1_start_trace_python.json", "trace", 30.7 * MS, 0.976)
        self.assertIn("no steps in the file: 30.7 ms", trace("steps", CASES / "c1_start_trace_python.json").stdout)

        def longer(event):
            if "start_trace" in event["name"]:
                event["ts"], event["dur"] = event["ts"] - 30e6, event["dur"] + 30e6
            return event
        path = self.changed("c1_start_trace_python.json", longer)
        self.only(path, "synchronisation", 0.44 * MS)
        self.stands(path, "trace", 30.7 * MS, 0.976)

    def test_a_first_launch(self):
        found = self.only("g1_first_launch.json", "first_use", 491 * MS)
        self.assertIn("one hipLaunchKernel call takes 494 ms", found["evidence"])
        self.assertIn("warm up", found["fix"])
        for us in (300_000, 450_000):
            path = self.cut_out("g1_first_launch.json", 250_000 if us < 400_000 else 30_000, us)
            self.only(path, "first_use", 491 * MS - us * 1000)

    def test_a_device_that_starts_late(self):
        found = self.only("h1b_no_wait_event.json", "device_late", 493 * MS)
        self.assertNotIn("graph", found["fix"])
        self.only("h1c_5ms.json", "device_late", 4.93 * MS)
        self.only(self.cut_out("h1b_no_wait_event.json", 100_000, 393_000), "device_late", 100 * MS)
        result = trace("idle", CASES / "h1c_5ms.json")
        self.assertIn("top cause: device late", result.stdout)


class Queues(Case):
    def test_a_copy_before_many_kernels_costs_its_length(self):
        for name, kernels in (("c3b_queue_never_full.json.gz", 9000), ("c3c_short.json.gz", 600)):
            with self.subTest(name):
                self.only(name, "exposed_copy", 60.0 * MS)
                self.assertEqual(sum(works(e) and e["cat"] == "kernel" for e in events_of(name)["traceEvents"]), kernels)

    def test_so_does_a_collective_where_the_queue_is_full(self):
        found = self.only("i1_queue_full_allreduce.json.gz", "exposed_communication", 60.0 * MS)
        self.assertAlmostEqual(found["share"], 60 / 153, delta=0.01)


class WithoutLaunches(Case):
    def test_collectives_of_a_trace_of_the_gpu_alone(self):
        found = self.only("f3_gpu_only_comm.json", "exposed_communication", 10.0 * MS)
        self.assertAlmostEqual(found["share"], 0.499, delta=0.005)
        self.assertIn("top cause: not recorded", trace("idle", CASES / "f3_gpu_only_comm.json").stdout)

        def computes(event):
            event["name"] = "gemm" if "nccl" in event["name"] else event["name"]
            return event
        path = self.changed("f3_gpu_only_comm.json", computes)
        self.assertEqual(self.findings(path), [])
        self.stands(path, "trace", 20.0 * MS, 0.998)

    def test_copies_of_an_export_of_nsight_without_calls(self):
        found = self.only("n_no_runtime.sqlite.gz", "exposed_copy", 921 * MS)
        self.assertNotIn("with_stack", found["fix"])
        self.assertEqual(self.ask("findings", "n_no_runtime.sqlite.gz")["trust"], [])
        self.assertNotIn("with_stack", trace("modules", CASES / "n_no_runtime.sqlite.gz").stdout)

    def test_waits_of_a_device_are_no_work(self):
        self.stands("d1_mtia_wait.json", "trace", 1.50 * MS, 0.999)
        kernels = self.ask("kernels", "d1_mtia_wait.json")["tables"]["kernels"]
        self.assertEqual([(row["name"], row["total_ns"]) for row in kernels], [("pe_exe", 1_500_000)])
        self.assertEqual(self.findings("d1_mtia_wait.json"), [])


class MergedRanks(Case):
    def apart(self, name, rank_of):
        """Splits a merged file into one file per rank."""
        document = events_of(name)
        folder = self.folder / name.removesuffix(".json")
        folder.mkdir(exist_ok=True)
        ranks = sorted({rank_of(event) for event in document["traceEvents"]})
        for rank in ranks:
            own = [event for event in document["traceEvents"] if rank_of(event) == rank]
            (folder / f"rank{rank}.json").write_text(json.dumps({**document, "traceEvents": own}))
        return folder

    def same(self, merged, folder):
        def of(path):
            found = self.ask("findings", path)
            # Equal longest times may differ in place.
            return [{**one, "at_ns": 0} for one in found["tables"]["findings"]], found["standing"]
        self.assertEqual(of(merged), of(folder))
        for analysis in ("", "idle"):
            by_rank = [[{**row, "file": ""} for row in self.ask(analysis, of)["tables"].get("ranks", [])] for of in (merged, folder)]
            self.assertEqual(*by_rank)
        self.assertEqual(self.ask("", merged)["standing"][0], self.ask("", folder)["standing"][0])
        for metric in ("steps", "step_time_ns", "step_utilization"):
            self.assertEqual(self.headline("steps", merged, metric), self.headline("steps", folder, metric))

    def test_steps_are_those_of_the_ranks(self):
        self.assertEqual(self.headline("steps", "a5_merged.json", "steps"), 3)
        self.assertEqual(trace("steps", CASES / "a5_merged.json").stdout.splitlines()[0],
                         "4 ranks: 3 steps, median 14.0 ms each, GPU busy 35.7 % of the time")
        self.assertAlmostEqual(self.standing("a5_merged.json")[1], 14.7 * MS, delta=0.05 * MS)
        self.assertRegex(trace(CASES / "a5_merged.json").stdout, "^4 ranks: step 14")
        idle = self.ask("idle", "a5_merged.json")
        self.assertEqual([row["rank"] for row in idle["tables"]["ranks"]], [0, 1, 2, 3])
        self.same("a5_merged.json", self.apart("a5_merged.json", lambda e: (e["pid"] - 1000) // 100 if e["pid"] > 99 else e["pid"]))

    def test_numbers_that_ranks_share(self):
        for name in ("f1_collide.json", "f1b_apart.json"):
            with self.subTest(name):
                ops = {row["name"]: row["self_device_ns"] for row in self.ask("ops", name)["tables"]["ops"]}
                self.assertEqual((ops["rank0_op"], ops["rank1_op"]), (8_000_000, 16_000_000))
                self.assertAlmostEqual(self.standing(name)[1], 9.95 * MS, delta=0.01 * MS)
                self.assertRegex(trace("steps", CASES / name).stdout, "^2 ranks: 2 steps, median 9.90 ms each")
        self.assertEqual(self.findings("f1_collide.json"), self.findings("f1b_apart.json"))

    def test_shares_are_of_the_step_of_the_job(self):
        last = max(e["ts"] for e in events_of("f1b_apart.json")["traceEvents"] if e["name"].startswith("ProfilerStep"))

        def longer(event):
            if event["name"].startswith("ProfilerStep") and event["ts"] == last and event["pid"] == 200:
                event["dur"] += 3000
            return event
        path = self.changed("f1b_apart.json", longer)
        step_ns = self.standing(path)[1]
        for found in self.findings(path):
            self.assertAlmostEqual(found["share"], found["recoverable_ns"] / step_ns, delta=0.005)

    def test_our_own_merged_files(self):
        for name in ("j2b_one_clock", "j2d_dp_major", "k1"):
            with self.subTest(name):
                merged = self.folder / f"{name}.json"
                self.assert_exit(headroom("trace", "merge", CASES / name, "-o", merged), 0)
                self.same(merged, CASES / name)
                self.assertRegex(trace("collectives", merged).stdout, "^4 ranks: ")


class Ranks(Case):
    def test_nobody_is_late(self):
        for name, gain_us in (("j2b_one_clock", 405), ("j2d_dp_major", 855)):
            with self.subTest(name):
                found = self.findings(name)
                self.assertEqual([one["kind"] for one in found], ["exposed_communication", "synchronisation"])
                self.assertAlmostEqual(found[0]["recoverable_ns"], gain_us * 1000, delta=0.01 * gain_us * 1000)
                self.assertRegex(trace("stragglers", CASES / name).stdout, "^no straggler")

    def test_a_slow_operator_of_one_rank(self):
        late, communication = self.findings("k1")
        self.assertEqual((late["kind"], late["rank"], late["op"]), ("straggler", 1, "aten::bmm"))
        self.assertAlmostEqual(late["recoverable_ns"], 2.0 * MS, delta=0.02 * MS)
        self.assertEqual(communication["kind"], "exposed_communication")
        self.assertLess(communication["recoverable_ns"], 0.25 * MS, "waits for rank 1 count once")

    def test_stragglers_says_that_a_recorder_started_late(self):
        for rank in range(4):
            document = json.loads((CASES / "k1" / f"rank{rank}.json").read_text())
            if rank == 3:
                end = min(e["ts"] + e["dur"] for e in document["traceEvents"] if e["name"].startswith("ProfilerStep"))
                document["traceEvents"] = [e for e in document["traceEvents"] if e["ph"] != "X" or e["ts"] >= end]
            (self.folder / f"rank{rank}.json").write_text(json.dumps(document))
        notes = self.ask("stragglers", self.folder)["notes"]
        self.assertEqual(len([note for note in notes if note.startswith("rank 3 started recording")]), 1, notes)
        notes = self.ask("stragglers", "k1")["notes"]
        self.assertFalse([note for note in notes if "started recording" in note])


class OtherFiles(Case):
    def test_memory_from_before_the_history(self):
        for name, allocations, frees, held in (("e1_pre_freed.pickle", 12, 6, 6), ("e1c_only_frees.pickle", 12, 10, 2)):
            with self.subTest(name):
                summary = self.ask("", name)
                row, = summary["tables"]["allocators"]
                self.assertEqual((row["allocations"], row["frees"]), (allocations, frees))
                self.assertEqual(row["left_bytes"], held << 20)
                self.assertEqual(row["held_before_bytes"], 10 << 20)
                self.assertEqual((row["peak_allocated_bytes"], row["unused_at_peak_bytes"]), (10 << 20, 2 << 20))
                self.assertIn(f"10 MiB allocated at the peak, 12 MiB reserved; {held} MiB held at the end", summary["answer"][0])
                for analysis in ("findings", "idle", "kernels", "utilization"):
                    text = trace(analysis, CASES / name).stdout
                    self.assertIn("run `headroom trace memory`", text)
                    self.assertNotRegex(text, "no finding|ProfilerActivity")

    def test_a_chakra_file_without_a_version(self):
        name = "et_min_empty_meta.et"
        op, = self.ask("ops", name)["tables"]["ops"]
        self.assertEqual((op["name"], op["calls"], op["self_cpu_ns"]), ("aten::mm", 1, 20_000))
        self.assertEqual(self.standing(name), ("trace", 20_000, None))
        text = trace(CASES / name).stdout
        self.assertIn("chakra_trace_link", text)
        self.assertNotRegex(text, "ProfilerActivity|no finding would")

    def test_files_without_times(self):
        """Execution traces have no times, and a viewer's events are no operators."""
        events = self.folder / "viewer.json"
        events.write_text(json.dumps([{"ph": "X", "cat": "PERF", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 5}]))
        nodes = self.folder / "et.json"
        nodes.write_text(json.dumps({"schema": "1.0.1", "pid": 1, "nodes": [
            {"name": f"aten::op{i}", "id": i + 2, "rf_id": i, "parent": 1, "fw_parent": 0, "seq_id": -1, "scope": 0, "tid": 1,
             "fw_tid": 0, "op_schema": "", "inputs": [], "input_shapes": [], "input_types": [], "outputs": [],
             "output_shapes": [], "output_types": []} for i in range(5)]}))
        at_once = write_trace(self.folder / "durations.json", [kernel(f"gemm{i}", 0, 100 + i, i) for i in range(20)])
        for path in (events, nodes, at_once):
            with self.subTest(path.name):
                result = self.assert_exit(trace(path), 0)
                self.assertRegex(result.stdout, "^the file has no start times")
                self.assertNotRegex(result.stdout, "no finding|GPU busy|of span")
        self.assertRegex(trace(at_once).stdout, "gemm19 +compute +1 +119 µs")
        again = write_trace(self.folder / "rank1.json", [kernel(f"gemm{i}", 0, 100 + i, i) for i in range(20)])
        for analysis in ("utilization", "idle", "launch", "queue", "overlap", "steps", "efficiency", "critical-path",
                         "collectives", "stragglers"):
            for files in ((at_once,), (at_once, again)):
                with self.subTest(analysis, files=len(files)):
                    result = self.assert_exit(trace(analysis, *files), 0, "the file has no start times")
                    self.assertNotRegex(result.stdout, r"\d %|\d ms|\d µs")
        sums = trace("kernels", at_once).stdout
        self.assertRegex(sums, "gemm19 +compute +GEMM +1 +119 µs")
        self.assertNotIn("of busy", sums)
        apart = write_trace(self.folder / "apart.json", [kernel(f"gemm{i}", 200 * i, 100 + i, i) for i in range(20)])
        self.assertRegex(trace("utilization", apart).stdout, "^GPU busy 55.9 % of the time")


if __name__ == "__main__":
    unittest.main()
