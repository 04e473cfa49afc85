# SPDX-License-Identifier: Apache-2.0
"""Random arguments for every command. Each call must end within LIMIT with a documented exit code; refusals have a reason; no escape codes
or C++ library words; --json - prints JSON or nothing. HEADROOM_RANDOM_SECONDS: how long new ones are drawn; HEADROOM_SEED: repeats them."""
import json
import os
import random
import re
import subprocess
import tempfile
import time
import unittest

from command_line import FAULTY, HEADROOM, clean_environment, headroom

SECONDS = float(os.environ.get("HEADROOM_RANDOM_SECONDS", 0))
LIMIT = 20  # seconds for one call
CODES = {0, 1, 2, 3, 130}
COMMANDS = ["run", "time", "ab", "diff", "trace", "cache", "dispatch", "ddp", "history", "roofline", "machine"]
ANALYSES = ["summary", "utilization", "kernels", "ops", "idle", "queue", "memory", "steps", "critical-path", "collectives",
            "stragglers", "roofline", "validate", "diff", "convert"]
# Later options win. Ranks and caches have other tests.
BRIEF = {"run": ["--runner", FAULTY, "--no-limits", "--max-time", "30ms", "--timeout", "1s"],
         "time": ["--max-time", "30ms", "--min-time", "0", "--max-rounds", "8"],
         "ab": ["--max-time", "30ms", "--min-time", "0", "--max-rounds", "8"],
         "cache": ["--timeout", "5s", "--repeat", "1"],
         "dispatch": ["--runner", "false", "--timeout", "1s", "--ranks", "2"],
         "ddp": ["--runner", "false", "--timeout", "1s", "--world", "2"],
         "machine": ["--topology"]}
NUMBERS = ["0", "1", "2", "3", "-1", "99999999999999999999", "1.5", "x", "", "nan", "inf", "0x10", "1e3"]
TEXTS = ["1%", "0.1", "10ms", "0s", "1e400s", "-5s", "f32", "S(0)", "1,2", "a=b", "=", ",", "{x}", "*", "(", "µ", "a b", "\n",
         "null", "list", "hyperfine", "ddp", "name", "@last", "@1", "@git:", "2x2", "1K", "'", "\\", "--", "none=1"]
WORDS = {"run": ["fine", "fine", "fine", "nope", ""], "time": ["true", "true", "false", "nope", "'", "true {n}"],
         "ab": ["true", "true", "false", "echo {n}", "echo"],
         "history": ["fine", "prune", "export", "import", "true"], "cache": ["true"]}
# Valid values, so that most calls pass the parser.
GOOD = {"--json": ["out.json", "-"], "--oss": ["oss.json"], "--csv": ["out.csv", "-"], "--store": ["store.sqlite"], "--svg": ["x.svg"],
        "--output": ["out.csv", "null", "pipe"], "--precision": ["50%"], "--margin": ["2%"], "--gate": ["3%"], "--seed": ["7"],
        "--min-time": ["0", "1ms"], "--max-time": ["20ms"], "--timeout": ["5s"], "--threads": ["1"], "--processes": ["1", "2"],
        "--export": ["hyperfine", "junit", "bmf"], "--name": ["it"], "-n": ["it"], "--filter": ["a", "f.*"], "--metric": ["latency"], "-L": ["n"],
        "--sort": ["ratio"], "--percentile": ["50,95"], "--gate-file": ["margins.toml"], "--input": ["text.csv"],
        "--trace": ["traces"], "--targets": ["margins.toml"], "--backend": ["native", "gloo"], "--series": ["1"], "--limits": ["records.json"],
        "--setup": ["true"], "--prepare": ["true"], "--cleanup": ["true"], "--conclude": ["true"], "--format": ["table", "ddp"],
        "--layer": ["ccache"], "--suite": ["list"], "--op": ["add"], "--ranks": ["1", "2"], "--mesh": ["2"], "--confirm": ["false"]}
OPERANDS = {"diff": (2, 3), "trace": (1, 2), "roofline": (0, 1), "time": (1, 1), "ab": (2, 3), "run": (1, 1), "history": (0, 1)}
GOOD_FILES = ["trace.json", "google.json", "records.json", "jobs", "@last"]
UNTOLD = re.compile(r"\x1b\[|terminate called|std::|basic_string|vector::|stod|stoi|Assertion|Sanitizer|\[json\.exception")


def options_of(*command):
    """Returns {option: whether it takes a value} from a command's help."""
    found = {}
    for line in headroom(*command, "--help").stdout.splitlines():
        match = re.match(r"  (?:    |(-\w), )(--[\w-]+(?:, --[\w-]+)*)(?: (\S+(?: \S+)*))?(?:  |$)", line)
        if match:
            for name in (match[1], *match[2].split(", ")):
                found[name] = match[3] is not None
    found.pop(None, None)
    for name in ("-h", "--help", "--pytorch", "--recover", "--port"):
        found.pop(name, None)
    return found


class RandomArguments:
    def __init__(self, folder, seed):
        self.folder, self.random = folder, random.Random(seed)
        self.options = {command: options_of(command) for command in COMMANDS}
        self.files = self.make_files()

    def make_files(self):
        trace = {"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 2, "pid": 0, "tid": 7,
                                  "args": {"stream": 7, "device": 0, "correlation": 1}}]}
        benchmark = {"context": {}, "benchmarks": [{"name": "a", "run_type": "iteration", "real_time": 1, "cpu_time": 1,
                                                    "time_unit": "ns", "iterations": 1}]}
        texts = {"trace.json": json.dumps(trace), "google.json": json.dumps(benchmark), "empty.json": "", "half.json": '{"a": [1,',
                 "deep.json": "[" * 5000, "text.csv": "name,value\n1\n", "bom.json": "\ufeff" + json.dumps(benchmark),
                 "margins.toml": 'margin = "3%"\n', "odd\nname.json": json.dumps(trace), "list.json": "[]", "null.json": "null"}
        for name, text in texts.items():
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        os.makedirs(os.path.join(self.folder, "jobs"))
        for rank in range(2):
            with open(os.path.join(self.folder, "jobs", f"rank{rank}.json"), "w", encoding="utf-8") as file:
                file.write(json.dumps({**trace, "distributedInfo": {"rank": rank, "world_size": 2}}))
        headroom("run", "fine", *BRIEF["run"], "--no-store", "--json", "records.json", cwd=self.folder)
        return [*texts, "records.json", "jobs", "absent.json", "/dev/null", "-"]

    def value(self, option):
        if option in GOOD and self.random.random() < 0.8:
            return self.random.choice(GOOD[option])
        return self.random.choice(self.random.choice((NUMBERS, TEXTS, self.files)))

    def operand(self, command):
        if self.random.random() < 0.2:
            return self.random.choice(self.files)
        if command == "trace":
            return self.random.choice(["trace.json", "jobs", "odd\nname.json"])
        return self.random.choice(WORDS.get(command, GOOD_FILES))

    def arguments(self):
        command = self.random.choice(COMMANDS)
        made = [command, *([self.random.choice(ANALYSES)] if command == "trace" and self.random.random() < 0.8 else []),
                *BRIEF.get(command, [])]
        if command == "machine" and self.random.random() < 0.3:
            made[1:] = ["--stored"]
        for name in self.random.sample(sorted(self.options[command]), self.random.randint(0, 4)):
            made.append(name)
            if self.options[command][name] or self.random.random() < 0.05:
                count = 2 if name == "--export" or name == "-L" else self.random.choice((1,) * 12 + (2, 4))
                made += [self.value(name) for _ in range(count)]
        if self.random.random() < 0.3:
            made += ["--json", "-"]
        fewest, most = OPERANDS.get(command, (0, 0))
        odd = self.random.random() < 0.05
        made += [self.operand(command) for _ in range(self.random.randint(1, 4) if odd else self.random.randint(fewest, most))]
        if command == "cache" and self.random.random() < 0.7:
            made += ["--", "true"]
        return made

    def problem(self, arguments):
        """Returns what went wrong, or None."""
        environment = clean_environment(HOME=self.folder, XDG_DATA_HOME=self.folder, XDG_CACHE_HOME=self.folder)
        try:
            result = subprocess.run([HEADROOM, *arguments], capture_output=True, stdin=subprocess.DEVNULL, timeout=LIMIT,
                                    cwd=self.folder, env=environment)
        except subprocess.TimeoutExpired:
            return f"still running after {LIMIT} s"
        stderr, shown = result.stderr.decode(errors="replace"), result.stdout.decode(errors="replace")
        if result.returncode not in CODES:
            return f"exit code {result.returncode}: {stderr[-500:]}"
        if result.returncode == 2 and "headroom: " not in stderr:
            return f"refused without a reason: {stderr!r}"
        if UNTOLD.search(stderr) or UNTOLD.search(shown):
            return f"not for users' eyes: {(UNTOLD.search(stderr) or UNTOLD.search(shown))[0]!r} in {stderr[-500:]!r}"
        return self.json_problem(arguments, shown)

    @staticmethod
    def json_problem(arguments, shown):
        last = max((i for i, argument in enumerate(arguments) if argument == "--json"), default=None)
        alone = last is not None and arguments[last + 1] == "-" and arguments.count("-") == 1
        if not alone or not shown or "--" in arguments[:last] or {"--help", "export", "convert", "--csv", "--collectives"} & set(arguments):
            return None
        try:
            json.loads(shown)
        except ValueError as error:
            return f"no JSON on standard output ({error}): {shown[:200]!r}"
        return None


def problems(seconds, seed, least=0):
    """Returns the number of calls and the failures."""
    found, calls, end = [], 0, time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        source = RandomArguments(folder, seed)
        while time.monotonic() < end or calls < least:
            arguments = source.arguments()
            calls += 1
            problem = source.problem([text.replace("\0", "") for text in arguments])
            if problem:
                found.append(f"headroom {' '.join(map(repr, arguments))}\n    {problem}")
    return calls, found


class RandomArgumentsTest(unittest.TestCase):
    def test_every_call_ends_as_documented(self):
        seed = int(os.environ.get("HEADROOM_SEED", time.time() if SECONDS else 20))
        calls, found = problems(SECONDS, seed, least=200)
        self.assertGreaterEqual(calls, 200)
        self.assertEqual(found, [], f"HEADROOM_SEED={seed}:\n" + "\n".join(found))


if __name__ == "__main__":
    unittest.main()
