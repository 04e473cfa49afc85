# SPDX-License-Identifier: Apache-2.0
"""A hostile runner hurts only itself, within bounds of time and memory. HEADROOM_ALL_FAULTS=1: all faults at each request, and
../shared/faults/bad_runner.py."""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import time
import unittest

from command_line import HEADROOM, CommandLineTest, headroom, records_of
from hostile_runner import ANSWERS, ENDS

HERE = pathlib.Path(__file__).resolve().parent
HOSTILE = HERE / "hostile_runner.py"
SHARED = pathlib.Path(os.environ.get("HEADROOM_SHARED", HERE.parents[2] / "shared")) / "faults" / "bad_runner.py"
ALL = os.environ.get("HEADROOM_ALL_FAULTS") == "1"
PHASES = ("hello", "describe", "prepare", "sample", "release")
# An endless line is read up to 64 MiB.
MOST_BYTES = 400 << 20
MOST_SECONDS = 30
# Samples beyond HOSTILE_AFTER, and an honest runner's start, also on a busy machine.
OPTIONS = ("--timeout", "4s", "--no-limits", "--no-store", "--num-samples", "8", "--max-time", "4s", "--min-time", "0", "--processes", "1",
           "--threads", "1")
# A case without information, one that ends when released, or answers after all samples.
HARMLESS = {"release:nothing", "release:null", "release:list", *(f"count:{how}" for how in ANSWERS["count"])}


def ways():
    """Returns values of HOSTILE; in the short form each way once."""
    found = [f"{phase}:{how}" for phase, answers in ANSWERS.items() for how in answers]
    found += [f"{phase}:twice" for phase in PHASES[1:4]]
    ends = [(phase, how) for how in ENDS for phase in PHASES]
    if not ALL:
        ends = [(PHASES[place % len(PHASES)], how) for place, how in enumerate(ENDS)]
    return found + [f"{phase}:{how}" for phase, how in ends]


class HostileRunnerTest(CommandLineTest):
    def wrapper(self, name, hostile, runner=HOSTILE, variable="HOSTILE"):
        return self.script(name, f"export HOSTILE_AFTER=4 {variable}='{hostile}'; exec '{runner}'")

    def measure(self, *runners, number):
        """Returns (exit code, output, records or None, seconds, peak bytes)."""
        path = self.folder / f"records{number}.json"
        words = [word for runner in runners for word in ("--runner", runner)]
        start = time.monotonic()
        with subprocess.Popen(list(map(str, [HEADROOM, "run", "e", *words, *OPTIONS, "--json", path])), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
            output = process.stdout.read().decode(errors="replace")
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        records = records_of(path) if path.exists() else None
        return process.returncode, output, records, time.monotonic() - start, usage.ru_maxrss << 10

    def check(self, hostile, number, runner=HOSTILE, variable="HOSTILE"):
        """Returns the problems found."""
        bad = self.wrapper(f"bad{number}", hostile, runner, variable)
        good = self.wrapper(f"good{number}", "none")
        problems = []
        for beside in (False, True):
            where = f"{hostile} {'beside an honest one' if beside else 'alone'}"
            code, output, records, seconds, most = self.measure(*([bad, good] if beside else [bad]), number=number)
            if code not in (1, 2) and not (code == 0 and (hostile in HARMLESS or runner != HOSTILE)):
                problems.append(f"{where}: exit code {code}: {output[-400:]}")
            if seconds > MOST_SECONDS or most > MOST_BYTES:
                problems.append(f"{where}: {seconds:.1f} s, {most >> 20} MiB")
            if re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", output):
                problems.append(f"{where}: control characters in {output[-400:]!r}")
            if "std::" in output or "[json.exception" in output:
                problems.append(f"{where}: no sentence: {output[-400:]}")
            if not beside:
                continue
            kept = [r for r in records or () if r["outcome"]["kind"] == "measured" and r["samples"]]
            if not any(good.name in record["runner"] or record["runner"] == "hostile" for record in kept):
                problems.append(f"{where}: the honest one has no samples: {output[-600:]}")
        return problems

    def check_all(self, hostile_ways, seconds=5, **more):
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            results = pool.map(lambda way: self.check(way[1], way[0], **more), enumerate(hostile_ways))
            problems = [problem for found in results for problem in found]
        self.assertEqual(problems, [], "\n".join(problems))
        self.assert_nothing_runs(seconds)

    def test_each_way_ends_that_runner_alone_with_a_sentence(self):
        self.check_all(ways())

    @unittest.skipUnless(ALL and SHARED.exists(), "HEADROOM_ALL_FAULTS=1, where ../shared/faults is")
    def test_others_too(self):
        text = SHARED.read_text()
        phases = {"hello": "hello", "desc": "desc", "prep": "prep", "samp": "samp", "rel": "rel", "quit": "quit"}
        common = re.findall(r"if how=='(\w+)'", text[text.index("def die"):text.index("ph,_,how")])
        own = {"hello": ("hugeproto", "nanproto"),
               "desc": ("many", "bigaxis", "dup", "dupaxis", "esc", "none", "negint"),
               "prep": ("naninfo", "neginfo", "huge", "metric", "resp2", "notverified"),
               "samp": ("nan", "inf", "1e999", "neg", "zero", "tiny", "huge", "wrongiter", "iter0", "iterneg", "str", "noise", "noise2",
                        "dup", "device", "esc")}
        # One of them leaves a daemon for a minute.
        self.check_all([f"{phase}:{how}" for phase in phases for how in (*common, *own.get(phase, ()))], seconds=70, runner=SHARED,
                       variable="BAD")

    def test_an_answer_to_another_request_is_not_believed(self):
        result = headroom("run", "e", "--runner", self.wrapper("bad", "sample:other_id"), *OPTIONS)
        self.assertIn("it answered request 1 instead", result.stdout + result.stderr)

    def test_a_runner_without_ids_is_heard(self):
        path = self.wrapper("old", "none")
        path.write_text(path.read_text().replace("exec", "HOSTILE_IDS=0 exec"))
        self.assert_exit(headroom("run", "e", "--runner", path, *OPTIONS), 0)


if __name__ == "__main__":
    unittest.main()
