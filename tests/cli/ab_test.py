# SPDX-License-Identifier: Apache-2.0
"""`headroom ab`."""
import json
import os
import shutil
import subprocess
import time
import unittest

from command_line import FAULTY, CommandLineTest, headroom, records_of

FEW = ["--no-store", "--max-rounds", "16", "--min-time", "0"]


def ab(*arguments, **options):
    return headroom("ab", *FEW, *arguments, **options)


def of_metric(records, name):
    return [record for record in records if record["metric"]["name"] == name]


class AbTest(CommandLineTest):
    def test_tells_the_slower_one(self):
        # A machine that drifts leaves a few rounds without an interval.
        result = self.assert_exit(headroom("ab", "sleep 0.01", "sleep 0.05", "--no-store", "--runs", "40"), 0)
        self.assertRegex(result.stdout, r"x the time of sleep 0.01 \(95 % interval .* to .*\): slower")
        for word in ("± 95 %", "user", "system", "peak memory", "faults", "switches"):
            self.assertIn(word, result.stdout)

    def test_six_rounds_decide_where_the_time_is_up(self):
        path = self.folder / "records.json"
        result = self.assert_exit(headroom("ab", "sleep 0.1", "sleep 0.3", "--no-store", "--max-time", "100ms",
                                           "--min-time", "0", "--json", path), 0)
        self.assertEqual(len(of_metric(records_of(path), "latency")[0]["samples"][0]["values"]), 6)
        self.assertRegex(result.stdout, r"x the time of sleep 0.1 \(95 % interval .* to .*\): slower\n")

    def test_a_time_from_five_seconds_on_is_that_of_the_whole_run(self):
        path = self.folder / "records.json"
        result = headroom("ab", "sleep {t}", "sleep 4", "-L", "t", "4,4.1", "--max-time", "5", "--no-store", "--json", path)
        self.assert_exit(result, 3)
        rows = of_metric(records_of(path), "latency")
        self.assertEqual(len(rows), 4)
        late = [row for row in rows if row["outcome"]["kind"] == "skipped"]
        self.assertIn(len(late), (2, 3), "a run of the first two, and at most one of the others: no sixth round")
        for row in late:
            self.assertEqual((row["stop"], row["outcome"]["reason"]), ("max-time", "not reached within --max-time 5.00 s"))
        self.assertRegex(result.stdout, "of 4 commands were not measured: sleep .*: not reached within --max-time 5.00 s")

    def test_a_comparison_that_is_cut_is_inconclusive(self):
        result = headroom("ab", "sleep 1.5", "sleep 1.6", "--max-time", "5s", "--min-rounds", "50", "--no-store")
        self.assert_exit(result, 0)
        self.assertRegex(result.stdout, r"too few pairs for an interval\): inconclusive \(too few runs\)")
        self.assertNotRegex(result.stdout, "faster|slower")
        result = self.assert_exit(headroom("time", "sleep 2", "--runs", "50", "--max-time", "5s", "--no-store"), 0)
        self.assertRegex(result.stdout, r"without an interval \(median of [123] runs?\)")

    def test_a_first_look_keeps_its_time(self):
        start = time.monotonic()
        result = self.assert_exit(headroom("ab", "sleep 3", "sleep 4", "--quick", "--no-store"), 0)
        self.assertLess(time.monotonic() - start, 12, "5 s, or the one round that is longer")
        self.assertIn("too few runs", result.stdout)

    def test_a_time_that_is_two_times_is_told(self):
        path, flag = self.folder / "records.json", self.folder / "flag"
        switching = f"sh -c 'if rm {flag} 2>/dev/null; then sleep 0.01; else touch {flag}; sleep 0.3; fi'"
        result = self.assert_exit(headroom("time", switching, "--no-store", "--name", "switching", "--max-rounds", "24",
                                           "--min-time", "0", "--json", path), 0)
        self.assertRegex(result.stdout, r"modes: .* ms in \d+ % of the samples, .* ms in \d+ %")
        latency = of_metric(records_of(path), "latency")[0]
        medians = [group["median"] for group in latency["modes"]["groups"]]  # a busy machine may add one
        self.assertLess(medians[0], 0.2)
        self.assertGreater(medians[-1], 0.3)

    def test_the_first_is_the_baseline(self):
        self.assertRegex(ab("sleep 0.05", "sleep 0.01").stdout, r"x the time of sleep 0.05 .*: faster")

    def test_records_hold_all_samples_of_all_metrics_in_rounds(self):
        path = self.folder / "records.json"
        self.assert_exit(ab("true", "sh -c 'exit 0'", "--json", path), 0)
        records = records_of(path)
        names = [record["metric"]["name"] for record in records[:len(records) // 2]]
        for name in ("latency", "user_time", "system_time", "peak_memory", "page_faults", "context_switches"):
            self.assertIn(name, names)
        first, second = of_metric(records, "latency")
        self.assertEqual(first["samples"][0]["rounds"], list(range(16)))
        self.assertEqual(second["samples"][0]["rounds"], list(range(16)))
        self.assertEqual(first["metric"]["unit"], "s")
        self.assertEqual(second["ratio"]["to"], "true")
        self.assertEqual(second["model"]["name"], "sh -c 'exit 0'")
        self.assertIn("interval", second["ratio"])  # that of the time needs a quiet machine

    def test_records_go_to_standard_output(self):
        result = self.assert_exit(ab("true", "false", "--ignore-failure", "--json", "-"), 0)
        self.assertEqual(len(of_metric(json.loads(result.stdout)["records"], "latency")), 2)
        self.assertIn("command", result.stderr)

    def test_diff_gate_and_history_read_the_records(self):
        store = self.folder / "history.sqlite"
        before, after = self.folder / "before.json", self.folder / "after.json"
        for path, duration in ((before, "0.01"), (after, "0.05")):
            self.assert_exit(headroom("time", f"sleep {duration}", "--name", "nap", "--max-rounds", "30", "--min-time", "0",
                                      "--json", path, "--store", store), 0)
            # Noise of the machine would be a doubt.
            whole = json.loads(path.read_text())
            for record in whole["records"]:
                record.pop("busy_cpus", None)
                record["notes"] = [note for note in record.get("notes", []) if not note.startswith("busy: ")]
            path.write_text(json.dumps(whole))
        self.assert_exit(headroom("diff", "--gate", "10%", "--run-spread", "2%", "--metric", "latency", before, after),
                         1, "nap")
        self.assert_exit(headroom("history", "--store", store), 0)
        self.assertIn("nap", headroom("history", "nap", "--store", store).stdout)

    def test_history_is_the_default(self):
        environment = dict(os.environ, HEADROOM_STORE=str(self.folder / "mine.sqlite"))
        self.assert_exit(headroom("time", "true", "--max-rounds", "2", env=environment), 0)
        self.assertTrue((self.folder / "mine.sqlite").exists())

    def test_a_command_against_itself_has_two_names(self):
        path = self.folder / "records.json"
        self.assert_exit(ab("true", "true", "--json", path), 0)
        self.assertEqual([record["model"]["name"] for record in of_metric(records_of(path), "latency")],
                         ["true", "true (2)"])

    def test_names(self):
        self.assert_exit(ab("true", "true", "-n", "old", "-n", "new"), 0, "x the time of old")
        self.assert_refused(ab("true", "true", "-n", "old"), "1 names for 2 commands")


class ParameterTest(CommandLineTest):
    def test_several_commands_are_compared_at_each_point(self):
        path = self.folder / "records.json"
        self.assert_exit(ab("sh -c 'exit 0' {n}", "true {n}", "-L", "n", "1,2", "--json", path), 0,
                         "x the time of sh -c 'exit 0' 1", "x the time of sh -c 'exit 0' 2")
        latencies = of_metric(records_of(path), "latency")
        self.assertEqual([record["axes"] for record in latencies],
                         [{"n": 1}, {"n": 1}, {"n": 2}, {"n": 2}])
        self.assertEqual(latencies[3]["model"]["name"], "true {n}")

    def test_one_command_is_compared_with_its_first_point(self):
        result = self.assert_exit(ab("sleep {t}", "-P", "t", "0.01", "0.03", "0.01"), 0)
        self.assertEqual(result.stdout.count("x the time of sleep 0.01"), 2)
        self.assertIn("sleep 0.03", result.stdout)

    def test_parameters_reach_hooks_names_and_files(self):
        out = self.folder / "out-{n}"
        self.assert_exit(ab("echo {n} {print}", "-L", "n", "a,b", "--prepare", f"touch {self.folder}/prepared-{{n}}",
                            "--output", out, "-n", "say {n}"), 0, "say b")
        self.assertEqual((self.folder / "out-b").read_text(), "b {print}\n")
        self.assertTrue((self.folder / "prepared-a").exists())

    def test_what_changes_nothing_is_refused(self):
        self.assert_refused(ab("true", "-L", "n", "1,2"), "no command contains {n}")
        self.assert_refused(ab("true {n}", "-L", "n", "1,1"), "given twice")
        self.assert_refused(ab("true {n}", "-P", "n", "1", "5", "0"), "do not lead from 1 to 5")
        self.assert_refused(ab("true {n}", "-L", "n", "1", "-L", "n", "2"), "'n' is given twice")


class RunningTest(CommandLineTest):
    def log(self):
        return (self.folder / "log").read_text().split() if (self.folder / "log").exists() else []

    def test_hooks_run_where_they_belong(self):
        log = self.folder / "log"
        hooks = [f"--{name}=echo {name} >> {log}" for name in ("setup", "prepare", "conclude", "cleanup")]
        result = headroom("time", "--no-store", "--max-rounds", "3", "--shell", f"echo run >> {log}", *hooks)
        self.assert_exit(result, 0)
        self.assertEqual(self.log(), ["setup"] + 3 * ["prepare", "run", "conclude"] + ["cleanup"])

    def test_hooks_of_each_command(self):
        log = self.folder / "log"
        self.assert_exit(ab("true", "echo", "--prepare", f"echo one >> {log}", "--prepare", f"echo two >> {log}"), 0)
        self.assertEqual(sorted(self.log()), 16 * ["one"] + 16 * ["two"])
        self.assert_refused(ab("true", "echo", *(3 * ["--prepare", "true"])), "--prepare is given 3 times")

    def test_rounds_are_in_random_order(self):
        log = self.folder / "log"
        self.assert_exit(headroom("ab", "--no-store", "--max-rounds", "30", "--min-rounds", "30", "--precision", "0.0001%", "--shell",
                                  f"echo a >> {log}", f"echo b >> {log}"), 0)
        self.assertEqual(len(self.log()), 60)
        rounds = ["".join(self.log()[i:i + 2]) for i in range(0, 60, 2)]
        self.assertEqual(set(rounds), {"ab", "ba"})

    def test_without_a_shell_words_are_split_as_a_shell_would(self):
        out = self.folder / "out"
        self.assert_exit(headroom("time", "--no-store", "--max-rounds", "1", "--output", out,
                                  "printf '%s|' a 'b c' \"d\"e\\ f"), 0)
        self.assertEqual(out.read_text(), "a|b c|de f|")
        self.assert_refused(ab("true", "echo 'a"), "byte 6", "single quote is never closed")
        self.assert_refused(ab("true", "echo a | cat"), "'|' works only in a shell", "--shell")

    def test_shells(self):
        out = self.folder / "out"
        run = ["time", "--no-store", "--max-rounds", "1", "--output", out]
        self.assert_exit(headroom(*run, "--shell", "echo $((1 + 2)) | cat"), 0)
        self.assertEqual(out.read_text(), "3\n")
        bash = shutil.which("bash")
        self.assert_exit(headroom(*run, f"--shell={bash}", "echo ${BASH_VERSION:+bash}"), 0)
        self.assertEqual(out.read_text(), "bash\n")

    def test_the_word_after_shell_is_the_shell_where_it_is_one(self):
        out, bash = self.folder / "out", shutil.which("bash")
        run = ["time", "--no-store", "--max-rounds", "1", "--output", out]
        for shell in (["--shell", "bash"], ["--shell", bash], [f"--shell={bash} --norc"], ["-N", "--shell", "bash"]):
            with self.subTest(shell):
                self.assert_exit(headroom(*run, *shell, "echo ${BASH_VERSION:+bash}"), 0)
                self.assertEqual(out.read_text(), "bash\n")
        result = self.assert_exit(ab("--shell", "bash", "true; true", "true; true; true"), 0,
                                  "x the time of true; true ")
        for command in ("true ; true", "bash -c 'true; true'", "./bash/run; true"):
            result = headroom(*run, "--shell", command)
            self.assertIn(f"\n{command}  ", result.stdout, "a command is none")

    def test_no_shell(self):
        out = self.folder / "out"
        for none in (["-N"], ["--shell=none"], ["--shell", "none"], ["--shell", "-N"], []):
            with self.subTest(none):
                self.assert_exit(headroom("time", "--no-store", "--max-rounds", "1", "--output", out, *none, "echo 'a|b'"), 0)
                self.assertEqual(out.read_text(), "a|b\n")
                self.assert_refused(headroom("time", "--no-store", *none, "echo a | cat"), "'|' works only in a shell")
        self.assert_exit(headroom("time", "--no-store", "--runs", "1", "--shell", "default", "true | true"), 0)

    def test_shells_that_are_refused(self):
        programs = self.make_folder("bin")
        for name in ("true", "bash"):
            (programs / name).symlink_to(shutil.which(name))
        path = {**os.environ, "PATH": str(programs)}
        for shell in (["--shell", "zsh"], ["--shell=zsh"], ["--shell=zsh --no-rcs"]):
            self.assert_refused(headroom("ab", *shell, "true", "true x", env=path), "no program 'zsh' in PATH", "--shell=none")
        self.assert_refused(ab("--shell=/no/bash", "true", "true x"), "no program '/no/bash';")
        for empty in (["--shell="], ["--shell", ""]):
            self.assert_refused(ab(*empty, "true", "true x"), "--shell is empty")
        self.assert_refused(ab("--shell", "bash --norc", "true", "true x"), "--shell='bash --norc' uses it as the shell")
        self.assert_refused(headroom("time", "--shell", "bash"), "no command to measure")
        self.assert_refused(ab("--shell='bash", "true", "true x"), "quote is never closed")

    def test_exactly_so_many_runs(self):
        path = self.folder / "records.json"
        for option in ("-r", "--runs", "--num-samples"):
            self.assert_exit(headroom("ab", "--no-store", "true", "sleep 0.001", option, "7", "--json", path), 0)
            self.assertEqual({len(record["samples"][0]["values"]) for record in records_of(path)
                              if record["metric"]["name"] == "latency"}, {7})

    def test_as_many_runs_as_asked_for_are_no_cap(self):
        noisy = "sh -c 'sleep 0.00$(($$ % 9))'"
        asked = headroom("ab", "--no-store", "true", noisy, "--runs", "8")
        self.assertIn("8 runs", asked.stdout)
        self.assertNotIn("stopped by the cap", asked.stdout)
        self.assertIn("stopped by the cap", headroom("ab", "--no-store", "true", noisy, "--max-rounds", "8").stdout)

    def test_markdown(self):
        result = self.assert_exit(headroom("ab", "--no-store", "true", "sleep 0.001", "--runs", "6", "--markdown"), 0)
        lines = result.stdout.splitlines()
        table = [line for line in lines if line.startswith("|")]
        self.assertRegex(table[0], r"^\| command \|.* time \|")
        self.assertRegex(table[1], r"^\|[-:| ]+\|$")
        self.assertRegex(table[2], r"^\| true \|")
        self.assertIn("x the time of true", result.stdout)

    def test_input_and_output(self):
        text = self.write_file("in", "from a file")
        out = self.folder / "out"
        self.assert_exit(ab("cat", "cat -", "--input", text, "--output", out), 0)
        self.assertEqual(out.read_text(), "from a file")
        self.assert_exit(ab("cat", "cat -", "--output", "pipe"), 0)
        self.assert_refused(ab("cat", "cat -", "--input", self.folder / "absent"), "No such file")
        self.assert_exit(ab("cat", "cat -", "--input", self.folder / "absent", "--setup", "true"), 1, "No such file")

    def test_the_environment_changes_its_size(self):
        sizes = self.folder / "sizes"
        run = ["time", "--no-store", "--max-rounds", "12", "--min-time", "0", "--shell"]
        self.assert_exit(headroom(*run, f"echo ${{#HEADROOM_PADDING}} >> {sizes}"), 0)
        self.assertGreater(len(set(sizes.read_text().split())), 6, "on by default")
        sizes.unlink()
        self.assert_exit(headroom(*run, "--env-random", f"echo ${{#HEADROOM_PADDING}} >> {sizes}"), 0)
        self.assertGreater(len(set(sizes.read_text().split())), 6)
        sizes.unlink()
        self.assert_exit(headroom(*run, "--no-env-random", f"echo ${{#HEADROOM_PADDING}} >> {sizes}"), 0)
        self.assertEqual(set(sizes.read_text().split()), {"0"})

    def test_stops_at_its_goal_or_at_a_cap(self):
        path = self.folder / "records.json"
        headroom("time", "sleep 0.002", "--no-store", "--precision", "90%", "--min-time", "0", "--json", path)
        self.assertEqual(of_metric(records_of(path), "latency")[0]["stop"], "precision")
        headroom("time", "sleep 0.05", "--no-store", "--precision", "0.0001%", "--max-time", "1ms", "--json", path)
        latency = of_metric(records_of(path), "latency")[0]
        self.assertEqual(latency["stop"], "max-time")
        self.assertIn(len(latency["samples"][0]["values"]), range(6, 13))

    def test_runners_are_compared_by_run(self):
        self.assert_exit(headroom("ab", "--runner", FAULTY, "--runner", FAULTY, "fine", "--no-limits", "--no-store",
                                  "--max-time", "300ms", "--min-time", "0", "--threads", "1"), 0, "x the time of")

    def test_what_takes_commands_is_refused_for_runners_with_the_call_to_type(self):
        for option in (["--count", "instructions"], ["--count=callgrind"], ["--gate-count", "0.1%"], ["--why"]):
            for command in (["ab", "--runner", FAULTY, "--runner", FAULTY], ["run", "--runner", FAULTY]):
                result = headroom(*command, "fine", *option, "--no-store")
                self.assert_refused(result, option[0].split("=")[0] + ": takes commands, no runners: headroom ab --")
                self.assertEqual(len(result.stderr.splitlines()), 1)


class ExportTest(CommandLineTest):
    def test_hyperfine_file_reads_as_hyperfines(self):
        path = self.folder / "hyperfine.json"
        self.assert_exit(ab("sleep {t}", "-L", "t", "0.001,0.002", "--export", "hyperfine", path), 0)
        ours = json.loads(path.read_text())["results"]
        self.assertEqual([result["command"] for result in ours], ["sleep 0.001", "sleep 0.002"])
        self.assertEqual(ours[0]["parameters"], {"t": "0.001"})
        self.assertEqual(len(ours[0]["times"]), 16)
        self.assertEqual(ours[0]["exit_codes"], 16 * [0])
        self.assertTrue(ours[0]["min"] <= ours[0]["median"] <= ours[0]["max"])
        self.assert_exit(headroom("diff", path, path), 0, "sleep {t} t=0.001")

    @unittest.skipUnless(shutil.which("hyperfine"), "hyperfine is not installed")
    def test_every_key_of_hyperfine_is_there(self):
        ours, theirs = self.folder / "ours.json", self.folder / "theirs.json"
        self.assert_exit(ab("true", "echo", "--export", "hyperfine", ours), 0)
        subprocess.run(["hyperfine", "-N", "--runs", "3", "--export-json", theirs, "true"], capture_output=True, check=True)
        theirs = json.loads(theirs.read_text())["results"][0]
        ours = json.loads(ours.read_text())["results"][0]
        for key, value in theirs.items():
            self.assertIn(key, ours)
            self.assertIsInstance(ours[key], type(value) if not isinstance(value, (int, float)) else (int, float), key)

    def test_other_formats(self):
        path = self.folder / "oss.json"
        self.assert_exit(ab("true", "echo", "--export", "oss-v3", path), 0)
        self.assertIn("latency", path.read_text())
        result = self.assert_exit(ab("true", "echo", "--export", "headroom-json", "-"), 0)
        self.assertIn("records", json.loads(result.stdout))
        self.assert_refused(ab("true", "echo", "--export", "nvbench", path), "cannot write this format")
        self.assert_refused(ab("true", "echo", "--export", "hyperfin", path), "hyperfine")
        self.assert_refused(ab("true", "echo", "--export", "hyperfine", "/proc/no/file.json"), "/proc/no")


if __name__ == "__main__":
    unittest.main()
