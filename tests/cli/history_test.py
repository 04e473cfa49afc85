# SPDX-License-Identifier: Apache-2.0
"""`headroom history`: what it lists and shows, export, import, prune, and what it refuses."""
import json
import os
import re
import sqlite3
import subprocess
import time
import unittest

from command_line import BRIEF, FAULTY, HEADROOM, CommandLineTest, headroom
from site_history import HOSTILE, fill, record, run_file


class HistoryTest(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.store = self.folder / "store" / "history.sqlite"

    def write_run(self, number, records, *more, **options):
        return run_file(self.folder, number, records, *more, **options)

    def history(self, *arguments, store=None, **options):
        return headroom("history", *arguments, "--store", store or self.store, **options)

    def fill(self, **how):
        fill(self.folder, self.store, **how)

    def test_overview(self):
        self.fill()
        result = self.assert_exit(self.history("--last", "3"), 0, str(self.store), "@40")
        self.assertNotIn("@37 ", result.stdout)
        self.assertIn("gemv D=64 native cpu 2t", result.stdout)
        self.assertEqual(result.stderr, "")

    def test_the_overview_says_what_changed_when_and_by_how_much(self):
        self.fill()
        lines = self.history().stdout.splitlines()
        self.assertRegex(lines[0], r"^1 of 2 series changed: gemv D=64 native cpu 2t latency at @21, "
                                   r"\+\d\d\.\d % \(\+\d+\.\d \.\. \+\d+\.\d\) worse$")
        rows = [line for line in lines if re.match(r" *\d+  (gemv|layer_norm) ", line)]
        self.assertEqual(len(rows), 2, "each latency once")
        self.assertRegex(rows[0], r"2026-09-\d\d \d\d:\d\d @21  \+\d\d\.\d % .* worse")
        self.assertRegex(rows[1], r"never$")
        listed = {s["name"]: s["last_change"] for s in json.loads(self.history("--json", "-").stdout)["series"]}
        self.assertEqual(listed["gemv D=64 native cpu 2t"]["run"], 21)
        self.assertEqual(listed["gemv D=64 native cpu 2t"]["verdict"], "worse")
        self.assertIsNone(listed["layer_norm D=64 native cpu 2t"])

    def test_an_exit_code_for_a_series_that_became_worse_lately(self):
        self.fill(runs=40, change=30)
        for arguments, code, sentence in (
                (["--fail-on-regression", "10"], 1, "1 of 2 series became worse within the last 10 values: gemv"),
                (["--fail-on-regression", "9"], 0, "none of 2 series became worse within the last 9 values"),
                (["--fail-on-regression", "10", "--min-magnitude", "30%"], 0, "none of 2 series"),
                (["layer_norm", "--fail-on-regression", "10"], 0, "none of 1 series"),
                (["gemv", "--fail-on-regression", "10"], 1, "1 of 1 series")):
            result = self.assert_exit(self.history(*arguments), code)
            self.assertIn(sentence, result.stdout.splitlines()[-1])
        for arguments in ([], ["gemv"]):
            told = self.assert_exit(self.history(*arguments, "--fail-on-regression", "10", "--json", "-"), 1,
                                    stderr="became worse")
            json.loads(told.stdout)
        self.assert_refused(self.history("--fail-on-regression", "0"), "--fail-on-regression")
        self.assert_refused(self.history("--min-magnitude", "much"), "much")

    def test_a_gate_names_the_series_the_run_and_the_commits(self):
        self.fill(runs=40, change=30)
        call = f"headroom bisect --git {'a' * 12}..{'b' * 12} --build 'BUILD' 'COMMAND'"
        lines = self.assert_exit(self.history("gate"), 1).stdout.splitlines()
        self.assertRegex(lines[0], r"^1 of 2 series became worse within the last 10 values: gemv D=64 native cpu 2t latency at @31, \+\d\d\.")
        row = next(line for line in lines if re.match(r" *\d+  gemv ", line))
        self.assertRegex(row, rf"\+\d\d\.\d % .* worse +@31 +{'b' * 12} +2026-09-\d\d \d\d:\d\d +{'a' * 12}$")
        self.assertEqual(lines[-1], "find the commit: " + call)
        for arguments, code, sentence in (
                (["--last", "9"], 0, "none of 2 series became worse within the last 9 values"),
                (["--min-magnitude", "30%"], 0, "none of 2 series"),
                (["layer_norm"], 0, "none of 1 series"),
                (["gemv", "latency"], 1, "1 of 1 series")):
            result = self.assert_exit(self.history("gate", *arguments), code)
            self.assertIn(sentence, result.stdout.splitlines()[0])
        self.history("import", *[self.write_run(i, [record("young", 1)]) for i in range(50, 55)])
        self.assert_exit(self.history("gate", "--last", "1"), 0, "the last 1 values; 1 have fewer than the 14 values needed")
        self.assertIn("no series has the 14 values", self.assert_exit(self.history("gate", "young"), 3).stdout)
        self.assert_refused(self.history("gate", "gmev"), "did you mean 'gemv'")
        for arguments in (["--last", "0"], ["--min-magnitude", "much"]):
            self.assert_refused(self.history("gate", *arguments), arguments[1])
        self.assert_refused(self.history("views"), "is a file; views need a history in PostgreSQL")

    def test_a_gate_writes_the_facts_of_its_verdict(self):
        self.fill(runs=40, change=30)
        self.history("import", *[self.write_run(i, [record("young", 1)]) for i in range(50, 55)])
        path = self.folder / "gate.json"
        shown = self.assert_exit(self.history("gate", "--json", path), 1, "1 of 3 series became worse")
        facts = json.loads(path.read_text())
        self.assertEqual((facts["store"], facts["gate"]), (str(self.store), {"exit": 1, "sentence": shown.stdout.splitlines()[0], "last": 10}))
        series = {one["name"].split()[0]: one for one in facts["series"]}
        self.assertEqual({name: (one["verdict"], one["values"]) for name, one in series.items()},
                         {"gemv": ("worse", 40), "layer_norm": ("not worse", 40), "young": ("inconclusive", 5)})
        change = series["gemv"]["last_change"]
        self.assertEqual({key: change[key] for key in ("run", "values_since", "drifts", "git_sha", "git_sha_before", "verdict")},
                         {"run": 31, "values_since": 10, "drifts": False, "git_sha": "b" * 40, "git_sha_before": "a" * 40, "verdict": "worse"})
        self.assertTrue(change["ratio_interval"]["low"] < change["ratio"] < change["ratio_interval"]["high"])
        self.assertIn(change["bisect"], shown.stdout)
        only = self.assert_exit(self.history("gate", "--json", "-", "--last", "9", "gemv"), 0, stderr="none of 1 series became worse")
        facts = json.loads(only.stdout)
        self.assertEqual((facts["gate"]["exit"], facts["gate"]["last"], [one["verdict"] for one in facts["series"]]), (0, 9, ["not worse"]))
        self.assertEqual(json.loads(self.assert_exit(self.history("gate", "young", "--json", "-"), 3).stdout)["gate"]["exit"], 3)
        self.assert_refused(self.history("gate", "--json", self.folder / "none" / "x.json"), "none")

    def test_the_facts_of_a_gate_on_hostile_names(self):
        self.assert_exit(self.history("import", *[self.write_run(i, [record(name, 1 + i * 7 % 11 / 1000) for name in HOSTILE])
                                                  for i in range(14)]), 0)
        facts = json.loads(self.assert_exit(self.history("gate", "--json", "-"), 0).stdout)
        self.assertEqual([one["verdict"] for one in facts["series"]], ["not worse"] * len(HOSTILE))

    def test_a_change_offers_the_call_that_finds_its_commit(self):
        """With the command if `headroom time` measured it, and only for two commits."""
        def call(command, before="a" * 40, after="b" * 40, name="make 'it' -j4"):
            store = self.folder / f"{len(list(self.folder.iterdir()))}.sqlite"
            files = []
            for i in range(40):
                files.append(self.write_run(i, [record(name, (10 if i < 20 else 12) + i * 7 % 11 / 100)], sha=before if i < 20 else after))
                content = json.loads(files[-1].read_text())
                content["environments"][0]["command"] = ["headroom", *command]
                files[-1].write_text(json.dumps(content))
            self.assert_exit(self.history("import", *files, store=store), 0)
            found = re.findall("^find the commit of @21: (.*)$", self.history("latency", store=store).stdout, re.M)
            [series] = json.loads(self.history("latency", "--json", "-", store=store).stdout)["series"]
            self.assertEqual(found, [segment["bisect"] for segment in series["segments"] if "bisect" in segment])
            return found
        known = f"headroom bisect --git {'a' * 12}..{'b' * 12} --build 'BUILD' "
        name = "make 'it' -j4"
        self.assertEqual(call(["time", "--runs", "5", name]), [known + "'make '\\''it'\\'' -j4'"])
        for command in (["run", name], ["time", "-n", name, "true"], ["time"], []):
            self.assertEqual(call(command), [known + "'COMMAND'"], command)
        self.assertEqual(call(["ab", "make -j{n}"], name="make -j{n}"), [known + "'COMMAND'"])
        for before, after in (("a" * 40, "a" * 40), ("", "b" * 40), ("a" * 40, "$(reboot)"), ("-n", "b" * 40)):
            self.assertEqual(call(["time", name], before, after), [], (before, after))

    def test_series_that_are_too_short_leave_it_open(self):
        self.fill(runs=10, change=5)
        result = self.assert_exit(self.history("--fail-on-regression", "5"), 3)
        self.assertIn("14 values", result.stdout.splitlines()[-1])
        self.assertIn("too few values", result.stdout)

    def test_small_changes_are_left_out(self):
        self.fill()
        self.assertIn("no change found", self.history("gemv", "--min-magnitude", "50%").stdout)
        self.assertIn("none of 2 series changed", self.history("--min-magnitude", "50%").stdout)
        self.assertIn("1 of 2 series changed", self.history("--min-magnitude", "2%").stdout)

    def test_a_drift_and_a_spread_that_grew(self):
        files = [self.write_run(i, [record("creeping", 10 + i * 0.03 + i * 7 % 11 / 100),
                                    record("noisier", 10 + (i * 7 % 11 - 5) / (100 if i < 40 else 20))])
                 for i in range(70)]
        self.assert_exit(self.history("import", *files), 0)
        overview = self.assert_exit(self.history("--fail-on-regression", "1"), 1, "1 of 2 series changed: creeping")
        self.assertRegex(overview.stdout, r"drifts by \+\d+\.\d % over 70 values, worse")
        self.assertRegex(self.history("creeping").stdout.splitlines()[0], r"latency: drifts by \+\d+\.\d % over 70 values, worse$")
        self.assertRegex(self.history("noisier").stdout, r"spread \d\.?\d* times the earlier one from @4\d ")

    def test_a_series_with_its_change(self):
        self.fill()
        self.assert_exit(self.history("gemv"), 0, "1 change found", "@1 .. @20", "@21 .. @40", "worse",
                         "git revision: " + "a" * 40 + " -> " + "b" * 40, "┤")
        self.assertIn("no change found", self.history("layer_norm", "latency").stdout)

    def test_two_runners_of_one_run_are_two_series(self):
        for runners in ([FAULTY], [FAULTY, FAULTY]):
            options = [option for runner in runners for option in ("--runner", runner)]
            self.assert_exit(headroom("run", "fine", *options, "--no-limits", *BRIEF, "--store", self.store), 0)
        series = [s for s in json.loads(self.history("--json", "-").stdout)["series"] if s["metric"] == "latency"]
        self.assertEqual(sorted(s["values"] for s in series), [1, 1, 1])
        names = sorted(s["name"] for s in series)
        self.assertEqual(names[1], f"{names[0]} runner={FAULTY}")
        self.assertEqual(names[2], f"{names[0]} runner={FAULTY}#2")

    def test_json(self):
        self.fill()
        series = json.loads(self.assert_exit(self.history("gemv", "--json", "-"), 0).stdout)["series"]
        self.assertEqual(len(series), 1)
        self.assertEqual(len(series[0]["values"]), 40)
        self.assertEqual([segment["first_run"] for segment in series[0]["segments"]], [1, 21])
        overview = json.loads(self.history("--json", "-").stdout)
        self.assertEqual((len(overview["runs"]), len(overview["series"])), (20, 2))
        path = self.folder / "out.json"
        self.assert_exit(self.history("--series", "1", "--json", path), 0, "series 1:")
        self.assertEqual(json.loads(path.read_text())["series"][0]["id"], 1)

    def test_patterns(self):
        self.fill(runs=2)
        for words in (["D=64", "gemv"], ["gemv D=64"], ["gem?"], ["gemv*latency"], ["*norm*"], ["us", "gemv"], ["gemv D=* cpu*latency"]):
            result = self.assert_exit(self.history(*words), 0)
            self.assertEqual(result.stdout.count("series "), 1, words)
        self.assertEqual(self.history("native").stdout.count("values are too few"), 2)
        self.assert_refused(self.history("gmev"), "no series that matches 'gmev'", "did you mean 'gemv'")
        self.assert_refused(self.history("gemv", "bandwidth"), "no series that matches")
        self.assert_refused(self.history("--series", "99"), "no series 99")

    def test_a_name_with_blanks_is_one_word(self):
        self.history("import", self.write_run(1, [record("make -j 4", 1), record("make -l 4 -j 8", 1)]))
        for words in (["make -j 4"], ["make -j ?"], ["make -j 4", "D=64"]):
            shown = self.assert_exit(self.history(*words), 0)
            self.assertEqual(shown.stdout.count("series "), 1, words)
            self.assertIn("make -j 4 D=64", shown.stdout)
        for words in (["make"], ["native make"], ["make 4"]):
            self.assertEqual(self.history(*words).stdout.count("machine machine-a"), 2, words)

    def test_many_series_are_listed_rather_than_plotted(self):
        self.history("import", self.write_run(1, [record(f"gemv{i}", 1) for i in range(6)]))
        listed = self.assert_exit(self.history("native"), 0, "6 series match")
        self.assertNotIn("┤", listed.stdout)
        self.assertEqual(self.history("native", "--all").stdout.count("machine machine-a"), 6)

    def test_machines_are_never_pooled(self):
        for machine, value in (("machine-a", 10), ("machine-b", 20)):
            self.history("import", *[self.write_run(i, [record("gemv", value + i / 100)], machine) for i in range(20)])
        result = self.history("gemv")
        self.assertEqual(result.stdout.count("\nmachine machine-"), 2)
        self.assertNotIn("change found", result.stdout.replace("no change found", ""))
        self.assertEqual(self.history("gemv", "machine-b").stdout.count("\nmachine machine-"), 1)

    def test_hosts_of_other_tools_are_never_pooled(self):
        for number, host in enumerate(("build-a", "build-b", "build-a", "build-b")):
            path = self.folder / f"google{number}.json"
            path.write_text(json.dumps({
                "context": {"date": f"2026-09-21T14:13:0{number}+00:00", "host_name": host, "num_cpus": 2},
                "benchmarks": [{"name": "BM", "run_name": "BM", "run_type": "iteration", "threads": 1,
                                "iterations": 10, "real_time": 4, "cpu_time": 3, "time_unit": "ns"}]}))
            self.assert_exit(self.history("import", path), 0)
            path = self.pytest_run(number, {"brand_raw": "a CPU", "count": 2}, host)
            self.assert_exit(self.history("import", path), 0)
        series = [s for s in json.loads(self.history("--json", "-").stdout)["series"] if s["metric"] == "latency"]
        self.assertEqual([s["values"] for s in series], [2, 2, 2, 2])
        self.assertEqual(len({s["fingerprint"] for s in series}), 4)
        self.assertEqual(sorted(s["fingerprint"][:7] for s in series), ["build-a"] * 2 + ["build-b"] * 2)

    def pytest_run(self, number, cpu, host="h"):
        return self.write_file(f"pytest{number}.json", {
            "machine_info": {"node": host, "machine": "x86_64", "cpu": cpu}, "version": "4.0.0",
            "datetime": f"2026-09-21T14:14:{number:02}+00:00",
            "benchmarks": [{"name": "t", "fullname": "test.py::t", "stats": {"median": 0.5 + number / 1000}}]})

    def latencies(self, **options):
        return [s for s in json.loads(self.history("--json", "-", **options).stdout)["series"] if s["metric"] == "latency"]

    def test_versions_of_py_cpuinfo_name_one_machine(self):
        cpus = ({"brand": "a CPU", "count": 2}, {"brand_raw": "a CPU", "count": 2}, {"brand_raw": "a CPU", "brand": "other", "count": 2})
        for number, cpu in enumerate(cpus):
            self.assert_exit(self.history("import", self.pytest_run(number, cpu)), 0)
        self.assertEqual([s["values"] for s in self.latencies()], [3])
        for number, cpu in enumerate(({"brand": "another", "count": 2}, {"brand": "a CPU", "count": 4}, {}), start=3):
            self.assert_exit(self.history("import", self.pytest_run(number, cpu)), 0)
        self.assertEqual(len(self.latencies()), 4, "other machines stay apart")

    def test_import_for_a_machine_that_is_named(self):
        files = [self.pytest_run(number, {"brand_raw": "a CPU"}, f"container-{number}") for number in range(3)]
        files.append(self.write_run(5, [record("gemv", 1)], "machine-a"))
        for file in files:
            self.assert_exit(self.history("import", "--machine", "ci large", file), 0)
        self.assertEqual(sorted((s["fingerprint"], s["values"]) for s in self.latencies()), [("ci large", 1), ("ci large", 3)])
        self.assertIn("0 runs added", self.history("import", "--machine", "ci large", *files).stdout)
        self.assertIn("machine ci large", self.history("test.py::t").stdout)
        # Another machine name gives other series.
        self.assertIn("4 runs added", self.history("import", "--machine", "other", *files).stdout)
        self.assertIn("4 runs added", self.history("import", *files).stdout)
        self.assertEqual(len(self.latencies()), 2 + 2 + 4)

    def test_names_that_no_machine_can_have(self):
        file = self.pytest_run(1, {})
        for name in ("", " ", "a\nb", "\x1b[31m", "\u202e"):
            self.assert_refused(self.history("import", "--machine", name, file), "--machine")
        self.assertFalse(self.store.exists())

    def test_export_and_import_are_inverse(self):
        self.fill(runs=3)
        first, second, other = self.folder / "1.json", self.folder / "2.json", self.folder / "other.sqlite"
        self.assert_exit(self.history("export", first), 0)
        self.assert_exit(self.history("import", first, store=other), 0)
        self.assert_exit(self.history("export", second, store=other), 0)
        self.assertEqual(first.read_text(), second.read_text())
        again = self.history("import", first)
        self.assertIn("0 runs added", again.stdout)
        self.assertIn("3 already there", again.stdout)
        last = self.history("export", "-", "@last", "@git:aaaaaaa")
        self.assertEqual(len(json.loads(last.stdout)["records"]), 4)
        self.assertIn("4 results of 2 runs", last.stderr)
        self.assert_refused(self.history("export", first, "@99"), "no run 99")

    def test_import_is_all_or_nothing(self):
        good = self.write_run(1, [record("gemv", 1)])
        bad = self.write_file("bad.json", '{"headroom": {"schema": 1}, "records": [')
        self.assert_refused(self.history("import", good, bad), "bad.json")
        self.assertFalse(self.store.exists())
        self.assert_refused(self.history("import", self.folder / "missing.json"), "missing.json")

    def test_of_an_option_given_twice_the_last_one_holds_and_of_files_all(self):
        runs = [self.write_run(i, [record("gemv", i)]) for i in (1, 2)]
        other, out = self.folder / "other.sqlite", self.folder / "both.json"
        for arguments in (("import", *runs), ("export", out, "@1", "@2"), ("prune", "--keep", "1", "--keep", "9")):
            self.assert_exit(headroom("history", *arguments, "--store", other, "--store", self.store), 0)
        self.assertFalse(other.exists())
        self.assertEqual(len(json.loads(out.read_text())["records"]), 2)

    def test_import_of_a_folder(self):
        folder = self.folder / "results"
        (folder / "deep").mkdir(parents=True)
        for at, name in ((3, "b.json"), (2, "deep/c.json"), (1, "a.json")):
            self.write_run(at, [record("gemv", at)]).rename(folder / name)
        (folder / "notes.txt").write_text("no results")
        (folder / "broken.json").write_text("{")
        result = self.assert_exit(self.history("import", folder), 0, "3 runs added")
        self.assertRegex(result.stderr, r"^headroom: .*broken.json.*; left out\n$")
        self.assertIn("0 runs added", self.history("import", folder, folder / "a.json").stdout)

    def test_import_of_a_folder_without_results(self):
        empty = self.make_folder("empty")
        self.assert_refused(self.history("import", empty), "no *.json, *.jsonl or *.csv file in this folder")
        (empty / "broken.json").write_text("{")
        self.assert_refused(self.history("import", empty), "none of 1 files can be read", "broken.json")

    def test_import_of_a_file_that_tells_no_time(self):
        path = self.write_run(1, [record("gemv", 1)])
        content = json.loads(path.read_text())
        del content["environments"][0]["timestamp"]
        path.write_text(json.dumps(content))
        os.utime(path, (1700000000, 1700000000))
        self.assert_exit(self.history("import", path), 0, stderr="time of the file")
        self.assertEqual(json.loads(self.history("--json", "-").stdout)["runs"][0]["time"], 1700000000)

    def test_prune(self):
        self.fill(runs=5)
        self.assert_exit(self.history("prune", "--keep", "2"), 0, "6 results removed")
        self.assertEqual(len(json.loads(self.history("--json", "-").stdout)["runs"]), 2)
        self.assertIn("0 results removed", self.history("prune", "--older-than", "1000y").stdout)
        # The runs are of 2026-09-21.
        if time.time() > 1790100000:
            self.assertIn("4 results removed", self.history("prune", "--older-than", "1h").stdout)
        self.assert_refused(self.history("prune"), "--keep N or --older-than AGE")
        self.assert_refused(self.history("prune", "--older-than", "soon"), "'soon' is not an age")
        for keep in ("-1", "0", "1.5", "soon", "", "99999999999999999999", "d"):
            self.assert_refused(self.history("prune", "--keep", keep), "--keep")
        self.assert_refused(self.history("prune", "--older-than", ""), "is not an age")

    def test_prune_keeps_a_number_of_results_or_an_age(self):
        now = time.time()
        self.history("import", *[run_file(self.folder, i, [record("gemv", i + 1)], timestamp=int(now - days * 86400))
                                 for i, days in enumerate((100, 80, 10, 1))])
        self.assert_exit(self.history("prune", "--keep", "90d"), 0, "1 result removed")
        self.assert_exit(self.history("prune", "--keep", "1e300y"), 0, "0 results removed")
        self.assert_exit(self.history("prune", "--keep", "5", "--older-than", "11w"), 0, "1 result removed")
        self.assert_exit(self.history("prune", "--keep", "1", "--older-than", "1y"), 0, "1 result removed")
        self.assert_refused(self.history("prune", "--keep", "90d", "--older-than", "1y"), "--keep '90d' is an age", "give one")

    def test_nothing_yet(self):
        for arguments in ([], ["gemv"], ["gate"], ["prune", "--keep", "1"], ["export", self.folder / "x.json"]):
            self.assert_refused(self.history(*arguments), "there is no history", str(self.store))
        self.assertFalse(self.store.parent.exists())

    def test_files_of_others_are_refused_and_kept(self):
        other = self.folder / "other.sqlite"
        with sqlite3.connect(other) as database:
            database.execute("CREATE TABLE mine (x)")
        text = self.write_file("notes.txt", "my notes\n")
        run = self.write_run(1, [record("gemv", 1)])
        for path in (other, text):
            before = path.read_bytes()
            for arguments in ([], ["import", run], ["prune", "--keep", "1"]):
                self.assert_refused(self.history(*arguments, store=path), "is not a headroom history")
            self.assertEqual(path.read_bytes(), before)
        self.assert_refused(self.history(store="mysql://host/db"), "mysql")
        self.assert_refused(self.history(store="postgresql://me:secret@127.0.0.1:1/db"), "cannot open the history")
        self.assertNotIn("secret", self.history(store="postgresql://me:secret@127.0.0.1:1/db").stderr)

    def peak_of(self, *arguments):
        """The most memory that an export takes, in bytes."""
        process = subprocess.Popen([HEADROOM, "history", "export", *map(str, arguments), "--store", self.store], stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        return used.ru_maxrss * 1024

    def test_an_export_takes_no_more_memory_for_more_runs(self):
        samples = [{"pid": 1, "iterations": 1, "warmup": 0, "rounds": list(range(20_000)), "values": [i / 7 for i in range(20_000)]}]
        self.assert_exit(self.history("import", *(self.write_run(i, [{**record("gemv", 10 + i), "samples": samples}]) for i in range(40))), 0)
        one, all_of_them = self.folder / "one.json", self.folder / "all.json"
        least = self.peak_of(one, "@1")
        self.assertLess(self.peak_of(all_of_them), least + 10e6)
        self.assertGreater(all_of_them.stat().st_size, 15e6)
        self.assertEqual(len(json.loads(all_of_them.read_text())["records"]), 40)

    def test_place_comes_from_the_environment(self):
        run = self.write_run(1, [record("gemv", 1)])
        environment = {**os.environ, "HEADROOM_STORE": str(self.store)}
        self.assert_exit(headroom("history", "import", run, env=environment), 0)
        self.assertTrue(self.store.exists())
        environment = {**os.environ, "XDG_DATA_HOME": str(self.folder / "data")}
        environment.pop("HEADROOM_STORE", None)
        self.assert_exit(headroom("history", "import", run, env=environment), 0)
        self.assertTrue((self.folder / "data" / "headroom" / "history.sqlite").exists())

    def test_help_and_usage(self):
        for arguments in ([], ["export"], ["gate"], ["import"], ["prune"], ["views"]):
            self.assert_exit(headroom("history", *arguments, "--help"), 0, "examples:")
        self.assert_refused(headroom("history", "--nonsense"), "--nonsense")
        self.assert_refused(headroom("history", "import"), "FILE")

    def test_the_client_library_of_postgresql_is_not_loaded_at_start(self):
        libraries = subprocess.run(["ldd", HEADROOM], capture_output=True, text=True, check=True).stdout
        self.assertNotIn("libpq", libraries)
        self.assertIn("libc.so", libraries)


if __name__ == "__main__":
    unittest.main()
