# SPDX-License-Identifier: Apache-2.0
"""Tables in terminals of 80, 120 and 200 columns: the answer first, no line wider than the terminal, the key in each row, whole numbers, and
a line that names the columns left out. All tables are of stored records."""
import json
import os
import pathlib
import re
import unittest

from command_line import HEADROOM, CommandLineTest, headroom, run_program
from five_seconds_test import on_terminal
from site_history import START

WIDTHS = (80, 120, 200)
LONG = "softmax_cross_entropy_with_a_name_that_fits_no_terminal_of_eighty_columns"
DATA = pathlib.Path(__file__).resolve().parents[1] / "data"
SHARED = pathlib.Path("/work/shared")


def record(name, metric, unit, value, spread=0.01, **more):
    samples = more.pop("samples", 20)
    made = {"instrument": "run", "benchmark": {"name": "headroom", "mode": "inference", "dtype": "bf16"},
            "model": {"name": name, "backend": "native"}, "axes": {}, "device": "cpu", "runner": "native", "threads": 2,
            "metric": {"name": metric, "unit": unit, "direction": "higher" if unit.endswith("/s") else "lower", "value": value},
            "outcome": {"kind": "measured"}, "environment": 0, "stop": "precision",
            "samples": [{"pid": 1, "iterations": 10, "warmup": 0, "rounds": list(range(samples)),
                         "values": [value * (0.98 + 0.002 * (i % 20)) for i in range(samples)]}]}
    if spread:
        made["interval"] = {"low": value * (1 - spread), "high": value * (1 + 3 * spread), "confidence": 0.95}
    made["metric"].update(more.pop("of_metric", {}))
    made["model"].update(more.pop("model", {}))
    made["benchmark"].update(more.pop("benchmark", {}))
    return {**made, **more}


def limit(share, value, kind="read"):
    part = {"kind": kind, "bytes": 1 << 28, "pattern": "linear", "threads": 2}
    return {"name": f"{kind} 256 MiB linear, 2 threads", "parts": [part], "value": value, "fraction": share,
            "interval": {"low": share * 0.98, "high": share * 1.02, "confidence": 0.95}}


def case(name, us, share, backend="native", dtype="bf16", **more):
    """The latency and the headline of a case, near 20 GB/s."""
    common = {"model": {"name": name, "backend": backend}, "axes": {"D": 4096}, "benchmark": {"dtype": dtype}, **more}
    return [record(name, "latency", "us", us, limit=limit(share, us * share), **common),
            record(name, "GFLOP/s", "GFLOP/s", 2e4 / us, limit=limit(share, 2e4 / us / share), **common),
            record(name, "memory_bandwidth(GB/s)", "GB/s", 2e4 / us, limit=limit(share, 2e4 / us / share), **common,
                   of_metric={"headline": True, "target": 10, "target_share": 0.8})]


def write(path, records, hours=0, command=("headroom", "run", "gemv"), fingerprint="machine-a"):
    environment = {"fingerprint": fingerprint, "git_sha": f"{hours:x}" * 40, "git_branch": "main", "headroom_version": "0.2.0",
                   "command": list(command), "timestamp": START + 3600 * hours}
    path.write_text(json.dumps({"headroom": {"schema": 5, "version": "0.2.0"}, "environments": [environment], "records": records}))
    return path


def run_records(factor=1.0):
    failed = [{**one, "outcome": {"kind": "failed", "reason": "killed by signal 11"}, "samples": []} for one in case("crashing", 5, 0.5)[:1]]
    return (case("gemv", 100 * factor, 0.95) + case("gemv", 120 * factor, 0.7, backend="reference") + case(LONG, 12345 * factor, 0.5) +
            case("layer_norm", 7.5 * factor, 0.97, dtype="f32", busy_cpus=2.0) + failed)


def command_records():
    values = {"latency": ("s", 0.0123), "user_time": ("s", 0.01), "system_time": ("s", 0.001), "peak_memory": ("B", 6.4e6),
              "page_faults": ("1", 65), "context_switches": ("1", 3)}
    return [record(title, metric, unit, value, instrument="commands", model={"name": title, "type": "command", "backend": "",
                   "extra_info": {"command": title, "title": title}}, runner="", threads=0, benchmark={"mode": "", "dtype": ""},
                   of_metric={"headline": True} if metric == "latency" else {})
            for title in ("sort -n numbers.txt", "sort --parallel=4 --buffer-size=256M --temporary-directory=/var/tmp -n numbers.txt")
            for metric, (unit, value) in values.items()]


def rank_samples(ranks, value, count=8):
    return [{"pid": rank, "iterations": 1, "warmup": 0, "rounds": list(range(count)), "values": [value * (1 + 0.001 * i) for i in range(count)]}
            for rank in range(ranks)]


def ddp_records():
    made = []
    for ddp, ranks in (("no", 1), ("yes", 1), ("yes", 2), ("yes", 4)):
        axes = {"batch_size": 32, "ranks": ranks, "ddp": ddp, **({"bucket_size": 25} if ddp == "yes" else {})}
        step = "no ddp" if ddp == "no" else f"{ranks} rank{'s' if ranks > 1 else ''}"
        for metric, unit, value in (("latency", "s", 0.1 + 0.01 * ranks), ("throughput", "1/s", 32 * ranks / 0.1),
                                    ("without reduction", "us", 9e4), ("exposed communication", "us", 1.6e4),
                                    ("communication", "us", 5e4), ("overlap", "", 0.6), ("forward", "us", 2.5e4), ("backward", "us", 4e4),
                                    ("wait", "us", 2e4), ("step", "us", 5e3)):
            made.append(record("resnet50", metric, unit, value, instrument="ddp", axes=axes, benchmark={"name": "ddp", "mode": "training",
                               "dtype": "f32"}, model={"backend": "" if ddp == "no" else "headroom", "extra_info": {"step": step}},
                               samples=8, of_metric={"headline": metric == "latency"}))
            made[-1]["samples"] = rank_samples(ranks, value)
            if metric == "latency" and ddp == "yes":
                made[-1]["ratio"] = {"to": "no ddp", "backend": "", "runner": "native", "ratio": 1.2,
                                     "interval": {"low": 1.1, "high": 1.4, "confidence": 0.95}}
    return made


def collective_records():
    made = []
    for name in ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all"):
        for size in (4096, 1 << 20):
            for metric, unit, value in (("latency", "us", 110.0), ("latency p75", "us", 115.0), ("latency p90", "us", 120.0),
                                        ("latency p95", "us", 130.0), ("latency p99", "us", 150.0), ("algbw", "GB/s", 3.7),
                                        ("busbw", "GB/s", 3.8), ("skew", "us", 5.1)):
                made.append(record(name, metric, unit, value, instrument="collectives", axes={"bytes": size, "ranks": 2},
                                   model={"backend": "gloo", "type": "collective"}, of_metric={"headline": metric == "latency"}))
                if metric == "latency":
                    made[-1].update(limit=limit(0.6, 66, "exchange"), slowest={"rank": 1, "share": 0.9})
                made[-1]["samples"] = rank_samples(2, value)
    return made


def sweep_records(threads=16):
    made = []
    for count in (1, threads):
        for kind in ("read", "write", "zero_fill", "copy"):
            for power in range(14, 31):
                made.append(record(f"limit.{kind}", "memory_bandwidth(GB/s)", "GB/s", 1e4 / power * count, threads=count, model={"type": "limit"},
                                   axes={"bytes": 1 << power, "pattern": "linear"}, of_metric={"headline": True}, spread=0.03 if power < 28 else 0))
        for dtype, rate in (("f32", 80.0), ("bf16", 320.0), ("int8", 640.0)):
            unit = "GOP/s" if dtype == "int8" else "GFLOP/s"
            made.append(record("limit.peak", unit, unit, rate * count, threads=count, axes={"dtype": dtype, "pattern": "fma"},
                               of_metric={"headline": True}))
    return made


def cells(line):
    return re.split(r"\s{2,}", line.strip())


def tables(lines):
    """Returns (titles, rows) of each table; a row starts at the left, remarks are indented."""
    found = []
    for place, line in enumerate(lines):
        if not line.startswith("──") or set(line) != {"─"}:
            continue
        rows = []
        for row in lines[place + 1:]:
            if not row.strip() or row.startswith("  left out: "):
                break
            rows.append(row)
        found.append((lines[place - 1], rows))
    return found


class TableWidthTest(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.store = self.folder / "history.sqlite"
        before = os.environ.pop("COLUMNS", None)
        if before is not None:
            self.addCleanup(os.environ.__setitem__, "COLUMNS", before)

    def whole(self, *arguments):
        return self.assert_exit(headroom(*arguments), 0).stdout.split("\n")

    def check(self, *arguments, answer, keys, wider=()):
        """`keys`: pattern of each row of the first table with them. `wider`: starts of lines that are exempt: unbreakable words."""
        whole = self.whole(*arguments)
        known = {cell for line in whole for cell in cells(line)}
        for columns in WIDTHS:
            with self.subTest(f"{' '.join(map(str, arguments))} at {columns}"):
                code, lines = on_terminal(columns, *arguments)
                self.assertEqual(code, 0, lines)
                self.assertRegex(" ".join(lines[:3]), "^" + answer)
                for line in lines:
                    self.assertTrue(len(line) <= columns or line.startswith(tuple(wider)) and wider, line)
                self.assertNotIn("Traceback", "\n".join(lines))
                rows = [row for _, found in tables(lines) for row in found]
                for key in keys:
                    self.assertTrue(any(re.match(key, row) for row in rows), (key, lines))
                for row in rows:
                    if row.startswith("  ") or not re.match("|".join(keys), row):
                        continue
                    for cell in cells(row)[1:]:  # numbers are whole; texts may be cut
                        self.assertTrue(cell in known or "…" in cell and not re.fullmatch(r"[\d.… ]+", cell), (cell, row))
        return whole

    def test_run(self):
        path = write(self.folder / "run.json", run_records())
        whole = self.check("show", path, answer="1 of 5 cases failed: crashing",
                           keys=[r"gemv D=4096 ", r"softm.*(…|columns D=4096)", "layer_norm D=4096 ", "crashing D=4096 "])
        self.assertEqual(whole[1], "5 cases: 1 failed, 1 misses its target, 2 at the limit (90 % or more), 1 below 90 % of the limit"
                         if "at the limit" in whole[1] else "5 cases: 1 failed, 2 miss their target, 2 reach their target")
        _, lines = on_terminal(80, "show", path)
        titles = cells(tables(lines)[0][0])
        for title in ("case", "time", "± 95 %", "of limit", "target"):
            self.assertIn(title, titles)

    def test_run_without_failure_counts_first(self):
        whole = self.whole("show", write(self.folder / "run.json", case("gemv", 100, 0.95) + case("mlp", 300, 0.5)))
        self.assertEqual(whole[0], "2 cases: 1 misses its target, 1 reaches its target")

    def test_one_column_has_one_kind_of_number(self):
        lines = self.whole("show", write(self.folder / "run.json", run_records()))
        (titles, rows), *_ = tables(lines)
        self.assertIn("± 95 %", titles)
        rows = [row for row in rows if not row.startswith(" ") and "failed" not in row]
        self.assertEqual(len(rows), 4)
        for row in rows:
            self.assertNotIn("–", row)
            self.assertRegex(row, r" \d+\.\d %  ")

    def test_commands(self):
        path = write(self.folder / "ab.json", command_records())
        self.check("show", path, answer=r"sort --parallel=4 .*: \d+\.\d+ x the time of sort -n|longest of 2 commands",
                   keys=["sort -n numbers.txt ", r"sort --par.*(…|numbers\.txt  )"])

    def test_diff(self):
        before, after = write(self.folder / "a.json", run_records()), write(self.folder / "b.json", run_records(1.3), 1)
        keys = ["gemv D=4096 ", r"softm.*(…|columns D=4096)"]
        self.check("diff", before, after, answer=r"of \d+ comparisons ", keys=keys)
        self.check("diff", before, after, after, "--percentile", "90", answer=r"of \d+ comparisons ", keys=keys)
        _, lines = on_terminal(80, "diff", before, after)
        titles = next(titles for titles, _ in tables(lines) if titles.startswith("case"))
        for title in ("ratio", "verdict"):
            self.assertIn(title, cells(titles))

    def history(self):
        records = [write(self.folder / f"{i}.json", case("gemv", 100 + i, 0.9) + case(LONG, 12345 - i, 0.5), i,
                         ("headroom", "run", "gemv", LONG, "-a", "D=4096")) for i in range(16)]
        trace = record("resnet50.json", "gpu_busy", "1", 0.8, instrument="trace", benchmark={"mode": "trace"}, device="gpu", threads=0)
        traces = write(self.folder / "traces.json", [trace], 17, ("headroom", "trace", "resnet50.json"))
        self.assert_exit(headroom("history", "import", *records, traces, "--store", self.store), 0)

    def test_history(self):
        self.history()
        whole = self.check("history", "--store", self.store, answer=r"none of \d+ series changed|\d+ of \d+ series changed",
                           keys=[r" *@16  20", r" *\d+  gemv D=4096", r" *\d+  softm.*(…|columns D=4096)"],
                           wider=["in " + str(self.store)])
        text = "\n".join(whole)
        self.assertNotIn("gpu_busy", text)
        self.assertIn("  1 run of traces: headroom history trace shows their numbers", whole)
        self.assertLess(text.index("@16"), text.index("@15"), "the newest first")
        self.assertRegex(text, r"@16 .*  run gemv softmax.*  f{12} main +2 +6")
        latency = text[text.index("latency, against the run before"):]
        self.assertRegex(latency, r"gemv D=4096 .*  115 µs +114 µs +\+0\.9 %")
        self.assertNotIn("memory_bandwidth", latency[:latency.index("more series: ")])
        self.assertIn("headroom history METRIC", latency)

    def test_history_of_other_metrics_and_traces_on_request(self):
        self.history()
        common = {"wider": ["in " + str(self.store)], "answer": "(series |none of|[0-9]+ of)"}
        self.check("history", "memory_bandwidth(GB/s)", "--store", self.store, keys=[" *1 "], **common)
        self.assertIn("gpu_busy", "\n".join(self.whole("history", "trace", "--store", self.store)))

    def test_a_history_of_traces_alone_shows_them(self):
        trace = record("resnet50.json", "gpu_busy", "1", 0.8, instrument="trace", benchmark={"mode": "trace"}, device="gpu", threads=0)
        self.assert_exit(headroom("history", "import", write(self.folder / "traces.json", [trace]), "--store", self.store), 0)
        self.assertIn("gpu_busy", "\n".join(self.whole("history", "--store", self.store)))

    def test_machine(self):
        os.environ["XDG_DATA_HOME"] = str(self.folder)
        self.addCleanup(os.environ.pop, "XDG_DATA_HOME")
        fingerprint = self.whole("machine", "--topology")[1]
        folder = self.folder / "headroom" / "machines"
        folder.mkdir(parents=True)
        write(folder / f"{fingerprint}.json", sweep_records(), fingerprint=fingerprint)
        whole = self.check("machine", "--stored", answer=r"this CPU reads 1 GiB at 5330 GB/s, computes at most 10\S* GOP/s ±\S+ % in int8",
                           keys=[r" +1 GiB  +", r" +256 MiB  +", r" +64 KiB  +", r"bf16  +"])
        self.assertFalse([line for line in whole if re.match(r" +512 MiB ", line)], "powers of four")
        self.assertIn("  9 of 17 working sets; the plot has all, --json FILE also their patterns", whole)
        self.assertNotIn("too few samples)", "\n".join(whole))
        _, lines = on_terminal(80, "machine", "--stored")
        titles = next(titles for titles, _ in tables(lines) if "working set" in titles)
        for title in ("read 1t", "copy 1t", "read 16t", "copy 16t"):
            self.assertIn(title, cells(titles))

    def test_roofline(self):
        path = write(self.folder / "run.json", run_records())
        lines = self.check("roofline", path, answer=r"softmax.* is furthest from its limit: 50\.0 %",
                           keys=["a  gemv D=4096", r"c  softm.*(…|columns D=4096)"])
        for columns in WIDTHS:
            _, lines = on_terminal(columns, "roofline", path)
            self.assertTrue([line for line in lines if "┤" in line])

    def test_ddp(self):
        path = write(self.folder / "ddp.json", ddp_records())
        self.check("show", path, answer=r"resnet50 with buckets of 25 MiB: an iteration of 4 ranks takes 140 ms",
                   keys=["no ddp  ", "1 rank  ", "4 ranks  "])
        _, lines = on_terminal(80, "show", path)
        found = "\n".join(titles for titles, _ in tables(lines))
        for title in ("p50 sec/iter", "efficiency", "iteration ±95 %", "exposed ±95 %"):
            self.assertIn(title, found)

    def test_collectives(self):
        path = write(self.folder / "collectives.json", collective_records())
        self.check("show", path, answer=r"all_reduce of 4 KiB on 2 ranks is furthest from its limit",
                   keys=[r"all_reduce +4 KiB +2 ", r"reduce_scatter +1 MiB +2 "])
        _, lines = on_terminal(80, "show", path)
        titles = cells(tables(lines)[0][0])
        for title in ("p50 ±95 %", "busbw GB/s ±95 %", "of limit"):
            self.assertIn(title, titles)

    def test_results_of_other_tools(self):
        files = sorted(path for path in (DATA / "readers").iterdir() if path.suffix in (".json", ".jsonl", ".csv"))
        files += sorted(path for folder in ("results/gb", "results/gha", "cases/results") for path in (SHARED / folder).glob("*.json"))
        shown = 0
        for path in files:
            if headroom("show", path).returncode != 0:
                continue
            shown += 1
            for columns in WIDTHS:
                with self.subTest(f"{path.name} at {columns}"):
                    _, lines = on_terminal(columns, "show", path)
                    self.assertTrue(lines[0].strip())
                    self.assertEqual([line for line in lines if len(line) > columns and " " in line.strip()], [])
        self.assertGreater(shown, 4)

    def test_what_is_left_out_is_named_and_can_be_seen(self):
        path = write(self.folder / "ab.json", command_records())
        _, lines = on_terminal(60, "show", path)
        left_out = " ".join(line.strip() for line in lines if "left out" in line or "less -S" in line)
        wide, = set(re.findall(r"COLUMNS=(\d+)", left_out))
        for title in ("faults", "switches"):
            self.assertIn(title, left_out)
        _, more = on_terminal(60, "show", path, NO_COLOR="1", COLUMNS=wide)
        self.assertNotIn("left out", "\n".join(more))
        self.assertEqual(tables(more), tables(self.whole("show", path)))
        _, less = on_terminal(200, "show", path, NO_COLOR="1", COLUMNS="60")
        self.assertEqual(less, lines)
        for wrong in ("", "0", "-5", "wide", "1e300"):
            self.assertEqual(on_terminal(60, "show", path, NO_COLOR="1", COLUMNS=wrong)[1], lines, wrong)

    def test_pipes_and_markdown_are_whole(self):
        path = write(self.folder / "ab.json", command_records())
        for more in ((), ("--markdown",)):
            piped = run_program(HEADROOM, "show", path, *more, env={**os.environ, "COLUMNS": "40"})
            self.assertEqual(piped.stdout, "\n".join(self.whole("show", path, *more)))
            self.assertNotIn("left out", piped.stdout)

    def test_at_any_width_each_row_has_its_key(self):
        path = write(self.folder / "run.json", run_records())
        for columns in (30, 40, 50, 60, 70, 90, 100):
            _, lines = on_terminal(columns, "show", path)
            rows = [row for _, rows in tables(lines)[:1] for row in rows if not row.startswith(" ")]
            self.assertEqual([row[:3] for row in rows], ["gem", "gem", "sof", "lay", "cra"], columns)
            if columns >= 40:
                self.assertLessEqual(max(map(len, rows)), columns)


if __name__ == "__main__":
    unittest.main()
