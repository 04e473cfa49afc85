# SPDX-License-Identifier: Apache-2.0
"""headroom-native: cost of an idle runner, forced instruction sets, kept variants."""
import json
import os
import pathlib
import socket
import subprocess
import time
import unittest

from command_line import BRIEF, NATIVE, CommandLineTest, headroom, records_of


class Runner:
    """headroom-native on a socket."""

    def __init__(self):
        ours, theirs = socket.socketpair()
        environment = dict(os.environ, HEADROOM_FD=str(theirs.fileno()))
        self.process = subprocess.Popen([NATIVE], env=environment, pass_fds=[theirs.fileno()])
        theirs.close()
        self.lines = ours.makefile("rw")
        self.hello = json.loads(self.lines.readline())

    def ask(self, **request):
        self.lines.write(json.dumps(request) + "\n")
        self.lines.flush()
        return json.loads(self.lines.readline())

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self):
        self.ask(**{"do": "describe"})
        self.lines.write('{"do": "quit"}\n')
        self.lines.flush()
        self.process.wait(30)


class NativeRunnerTest(CommandLineTest):
    def test_an_idle_runner_uses_no_cpu(self):
        runner = Runner()
        try:
            spec = {"experiment": "gemv", "axes": {"D": "512", "dtype": "int8"}, "backend": "native", "threads": 2,
                    "cold": False, "seed": 1}
            self.assertEqual(runner.ask(do="prepare", case=1, spec=spec)["outcome"], "ready")
            self.assertGreater(runner.ask(do="sample", case=1, iterations=1000, lead_in=1)["elapsed_ns"], 0)
            time.sleep(0.05)
            before = runner.cpu_seconds()
            time.sleep(5)
            # CPU time is counted in ticks of 10 ms.
            self.assertLessEqual(runner.cpu_seconds() - before, 0.0101)
        finally:
            runner.end()

    def test_huge_pages_are_had_refused_and_told(self):
        policy = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text()
        paths, text = {}, {}
        for wish in ("yes", "no"):
            paths[wish] = self.folder / f"{wish}.json"
            self.assert_exit(headroom("run", "gemv", "-a", "D=2048", "-a", "dtype=bf16", "--huge-pages", wish,
                                      "--no-store", *BRIEF, "--processes", "1", "--json", paths[wish]), 0)
            shares = {record["model"]["extra_info"]["huge pages"] for record in records_of(paths[wish])}
            self.assertEqual(len(shares), 1)
            text[wish] = shares.pop()
            environment = json.loads(paths[wish].read_text())["environments"][0]["extra_info"]
            self.assertTrue(environment["huge_pages"].startswith(wish), environment)
            # Its limit uses the same pages.
            self.assertNotIn("pages:", " ".join(records_of(paths[wish])[0]["notes"]))
        self.assertEqual(text["no"], "0 %")
        if "[never]" in policy:
            self.assertEqual(text["yes"], "0 %")
        else:
            self.assertNotEqual(text["yes"], "0 %")
        compared = headroom("diff", paths["yes"], paths["no"])
        self.assertRegex(compared.stdout, r"huge_pages +yes.* +no")
        self.assert_refused(headroom("run", "gemv", "--huge-pages", "maybe"), "--huge-pages", "maybe")
        wrong = headroom("run", "gemv", "-a", "D=64", "--no-store", *BRIEF, env=dict(os.environ, HEADROOM_HUGE_PAGES="maybe"))
        self.assert_refused(wrong, "HEADROOM_HUGE_PAGES is 'maybe'", "yes, no or default")

    def test_a_limit_of_other_pages_is_not_held_against_a_case_without_a_word(self):
        if "[never]" in pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text():
            self.skipTest("the kernel gives no huge pages")
        words = []
        for wish in ("yes", "no"):
            words += ["--runner", self.script(wish, f"HEADROOM_HUGE_PAGES={wish} exec '{NATIVE}' \"$@\"")]
        path = self.folder / "both.json"
        # The limits are the first runner's.
        result = self.assert_exit(headroom("run", "gemv", "-a", "D=2048", "-a", "dtype=bf16", "--backend", "native",
                                           *words, "--no-store", *BRIEF, "--processes", "1", "--json", path), 0)
        self.assertRegex(" ".join(result.stdout.split()), "P pages: its inputs and outputs have a different share of huge pages than its limit")
        notes = {pathlib.Path(record["runner"]).name: " ".join(record["notes"]) for record in records_of(path)}
        self.assertIn("pages: 0 % of its inputs and outputs", notes["no"])
        self.assertNotIn("pages:", notes["yes"])

    def test_everything_is_right_on_a_forced_baseline(self):
        path = self.folder / "records.json"
        self.assert_exit(headroom("run", "gemv", "gather_gemv", "layer_norm", "mlp_layer_norm_gelu", "--backend",
                                  "native,native_strict", "-a", "D=96", "-a", "BS=16", "-a", "hidden=200", "--hot",
                                  "--no-limits", "--no-store", "--processes", "1", *BRIEF, "--json", path,
                                  env=dict(os.environ, HEADROOM_ISA="baseline")), 0)
        records = records_of(path)
        self.assertGreaterEqual(len({(r["model"]["name"], r["benchmark"]["dtype"]) for r in records}), 6)
        for record in records:
            self.assertTrue(record["verified"], record["model"])
            self.assertNotIn("avx", record["model"]["extra_info"]["isa"].lower())

    def test_an_instruction_set_that_is_none_is_refused(self):
        result = headroom("run", "gemv", "-a", "D=64", "--no-limits", "--no-store", *BRIEF,
                          env=dict(os.environ, HEADROOM_ISA="avx9"))
        self.assert_exit(result, 1)
        self.assertIn("HEADROOM_ISA is 'avx9'; it must be baseline, ", result.stdout)

    def test_variants_are_chosen_once_and_anew_when_asked(self):
        environment = dict(os.environ, XDG_CACHE_HOME=str(self.folder))

        def run(*more):
            path = self.folder / "records.json"
            self.assert_exit(headroom("run", "gemv", "-a", "D=256", "-a", "dtype=bf16", "--hot", "--no-limits",
                                      "--no-store", "--threads", "1", "--min-time", "0", "--max-time", "4s",
                                      "--precision", "20%", "--json", path, *more, env=environment), 0)
            return records_of(path)[0]["model"]["extra_info"]["variant"]

        run()
        files = list((self.folder / "headroom" / "tuning").glob("*.json"))
        self.assertEqual(len(files), 1)
        kept = json.loads(files[0].read_text())
        # The suite may force an instruction set.
        key = " ".join(filter(None, ["gemv D=256 dtype=bf16 native 1 thread hot", os.environ.get("HEADROOM_ISA")]))
        self.assertEqual(list(kept["variants"]), [key])
        # Never chosen: proves that it was read.
        kept["variants"][key] = "2 rows, 8 KiB ahead"
        files[0].write_text(json.dumps(kept))
        self.assertEqual(run(), "2 rows, 8 KiB ahead")
        files[0].write_text(json.dumps({"schema": 1, "variants": {key: "no such variant"}}))
        chosen = run("--retune")
        self.assertEqual(json.loads(files[0].read_text())["variants"], {key: chosen})
        files[0].write_text("{damaged")
        self.assertTrue(run())


if __name__ == "__main__":
    unittest.main()
