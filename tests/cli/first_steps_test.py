# SPDX-License-Identifier: Apache-2.0
"""What people type first, from habit of other tools or by mistake: each works, or is answered by one line."""
import concurrent.futures
import os
import shlex
import unittest

from command_line import BIN, CommandLineTest, headroom
from trace_files import write_trace

PLACES = {"{once}": "--runs 1 --no-store",
          "{brief}": "--threads 1 --max-time 20ms --min-time 0 --processes 1 --no-limits --no-store"}

# What is typed, exit code, expected output; in a folder with a.json and b.json (results), trace.json,
# notes.txt, bench.py, an executable `mine` that is no runner, and a history of one run.
STEPS = [
    # The program itself.
    ("headroom", 2, "usage: headroom COMMAND"),
    ("headroom help", 0, "headroom run gemv --quick                  start here"),
    ("headroom -h", 0, "start here:"),
    ("headroom help diff", 0, "usage: headroom diff"),
    ("headroom --help diff", 0, "usage: headroom diff"),
    ("headroom diff -h", 0, "usage: headroom diff"),
    ("headroom help list", 0, "usage: headroom run"),
    ("headroom --version", 0, "headroom "),
    ("headroom -V", 0, "headroom "),
    ("headroom version", 0, "headroom "),
    ("headroom -v", 2, "headroom --version shows the version"),
    ("headroom --quick", 2, "options follow a command"),
    ("headroom list", 0, "layer_norm"),
    ("headroom list --json -", 0, '"experiments"'),
    ("headroom lst", 2, "did you mean 'list'?"),
    ("headroom rnu", 2, "did you mean 'run'?"),
    ("headroom help dif", 2, "did you mean 'diff'?"),
    # Commands of other tools.
    ("headroom bench", 2, "headroom run NAME measures experiments, headroom time 'COMMAND' a command"),
    ("headroom benchmark gemv", 2, "headroom run NAME measures experiments"),
    ("headroom help bench", 2, "headroom run NAME measures experiments"),
    ("headroom compare a.json b.json", 2, "headroom diff OLD NEW compares results"),
    ("headroom profile ./mine", 2, "headroom run NAME --trace FOLDER records traces"),
    ("headroom perf stat true", 2, "headroom time 'COMMAND' measures time"),
    ("headroom stat true", 2, "headroom time 'COMMAND' measures time"),
    ("headroom ls", 2, "headroom list shows the experiments"),
    ("headroom log", 2, "headroom show last shows the last one"),
    ("headroom last", 2, "headroom show last shows the last run"),
    ("headroom gate a.json b.json", 2, "headroom diff --gate 3% OLD NEW"),
    ("headroom kernels trace.json", 2, "headroom trace kernels FILE"),
    ("headroom merge trace.json", 2, "headroom trace merge"),
    ("headroom import a.json", 2, "headroom history import"),
    ("headroom info", 2, "headroom machine measures and shows this machine"),
    ("headroom plot a.json", 2, "headroom report RESULT writes a page"),
    ("headroom a.json", 2, "headroom show a.json shows a file of results"),
    ("headroom bench.py", 2, "headroom run bench.py measures its experiments"),
    ("headroom ./mine", 2, "headroom time ./mine measures this program"),
    ("headroom sleep 0.1", 2, "headroom time sleep measures this command"),
    ("headroom 'sleep 0.1'", 2, "headroom time 'sleep 0.1' measures this command"),
    ("headroom .", 2, "headroom show . shows the results in it"),
    # time
    ("headroom time", 2, "no command to measure"),
    ("headroom time true {once}", 0, "true takes"),
    ("headroom time {once} sleep 0.001", 0, "sleep 0.001 takes"),
    ("headroom time {once} ls -l", 0, "ls -l takes"),
    ("headroom time {once} ls -la", 0, "ls -la takes"),
    ("headroom time {once} sort -r notes.txt", 0, "sort -r notes.txt takes"),
    ("headroom time {once} sh -c :", 0, "sh -c : takes"),
    ("headroom time {once} -- sh -c ':'", 0, "sh -c : takes"),
    ("headroom time --no-store true -r 1", 0, "-r is an option of headroom here; headroom time -- true -r gives it to true"),
    ("headroom time --no-store sleep 0.001 --runs 1", 1, "--runs is an argument of sleep; options of headroom go before the command"),
    ("headroom time 'sleep 0.001' 'sleep 0.002'", 2, "headroom ab compares several"),
    ("headroom time {once} true false", 0, "true false is one command; headroom ab compares several"),
    ("headroom time ./none", 2, "no program './none'"),
    ("headroom time 'ulimit -n'", 2, "need --shell"),
    ("headroom time --warmup 3 {once} true", 0, "--warmup: warm-up is detected; no option needed"),
    ("headroom time --warmup=3 {once} true", 0, "warm-up is detected; no option needed"),
    ("headroom time -w3 {once} true", 0, "-w: warm-up is detected; no option needed"),
    ("headroom time {once} true --warmup 3", 0, "warm-up is detected; no option needed"),
    ("headroom time true --warmup", 2, "--warmup needs a value"),
    ("headroom time -m 2 -M 2 --no-store true", 0, "median of 2 runs"),
    ("headroom time --min-runs 2 --max-runs 2 --no-store true", 0, "median of 2 runs"),
    ("headroom time --repeat 2 --no-store true", 0, "median of 2 runs"),
    ("headroom time -r2 --no-store 'sh -c :'", 0, "median of 2 runs"),
    ("headroom time -N {once} true", 0, "true takes"),
    ("headroom time -S sh {once} 'true | true'", 0, "true | true takes"),
    ("headroom time --shell sh {once} ': && :'", 0, ": && : takes"),
    ("headroom time false {once}", 1, "exit code 1"),
    ("headroom time -i {once} false", 0, "false takes"),
    ("headroom time --ignore-failure {once} false", 0, "false takes"),
    ("headroom time -n nothing {once} true", 0, "nothing takes"),
    ("headroom time --command-name nothing {once} true", 0, "nothing takes"),
    ("headroom time --export-json theirs.json {once} true", 0, "true takes"),
    ("headroom time --export-markdown t.md true", 2, "give --markdown and redirect the output: --markdown > FILE"),
    ("headroom time --export-csv t.csv true", 2, "give --export seed-csv FILE for the means as CSV"),
    ("headroom time --markdown {once} true", 0, "| true |"),
    ("headroom time --reference true false", 2, "give the reference as the first command of headroom ab"),
    ("headroom time --show-output true", 2, "give --stdout FILE, or --stdout /dev/tty"),
    ("headroom time --output null {once} true", 0, "--output: the same as --stdout"),
    ("headroom time -o out.txt {once} 'echo x'", 0, "--json FILE has the results"),
    ("headroom time --stdout out2.txt {once} 'echo x'", 0, "echo x takes"),
    ("headroom time -p true {once} true", 0, "true takes"),
    ("headroom time -s true -c true -C true {once} true", 0, "true takes"),
    ("headroom time --style basic {once} true", 0, "--style: ignored; --color never prints no colours"),
    ("headroom time -u millisecond {once} true", 0, "each time has the unit that fits it"),
    ("headroom time true --precision 2", 2, "did you mean 2 % or 0.02?"),
    ("headroom time 'sleep 0.001' --max-time 1 --runs 2 --no-store", 0, "median of 2 runs"),
    ("headroom time true --max-time 5x", 2, "--max-time: '5x' is not a time; write it like 500ms, 2s"),
    # ab
    ("headroom ab", 2, "no command to measure"),
    ("headroom ab true", 2, "headroom time measures a single command"),
    ("headroom ab sleep 0.1", 2, "command '0.1': no program '0.1' in PATH"),
    ("headroom ab {once} true 'sh -c :'", 0, "the time of true"),
    ("headroom ab {once} 'sh -c :' --reference true", 0, "the time of true"),
    ("headroom ab {once} -w 1 -i true false", 0, "warm-up is detected; no option needed"),
    ("headroom ab -P n 1 2 'sleep 0.00{n}' {once}", 0, "the time of sleep 0.001"),
    ("headroom ab -P n 1 3 -D 2 'sleep 0.00{n}' {once}", 0, "sleep 0.003"),
    ("headroom ab --parameter-scan n 1 3 2 'sleep 0.00{n}' {once}", 0, "sleep 0.003"),
    ("headroom ab -L n 1,2 'sleep 0.00{n}' {once}", 0, "the time of sleep 0.001"),
    ("headroom ab -D 2 true false", 2, "-D: needs -P NAME FIRST LAST"),
    ("headroom ab {once} -n one -n two true 'sh -c :'", 0, "the time of one"),
    ("headroom ab --sort command {once} true 'sh -c :'", 0, "commands are shown in their order"),
    # run
    ("headroom run gemw", 2, "did you mean 'gemv'?"),
    ("headroom run ./none", 2, "no program './none': give a runner (./mine), a Python file (bench.py) or the name of an experiment"),
    ("headroom run ./mine", 2, "'./mine' is not a headroom runner: it ended with exit code 0"),
    ("headroom run none.py", 2, "'none.py' is not a file"),
    ("headroom run a.json", 2, "'a.json' is not an experiment: headroom show reads results, headroom trace reads traces"),
    ("headroom run 'gem*' D=64 dtype=bf16 {brief}", 0, "gemv D=64"),
    ("headroom run sort/1024", 2, "unknown experiment 'sort/1024'"),
    ("headroom run 'sum, fast'", 2, "unknown experiment 'sum, fast'"),
    ("headroom run 'x*'", 2, "unknown experiment 'x*'"),
    ("headroom run gemv,layer_norm D=64 {brief}", 0, "layer_norm D=64"),
    ("headroom run 'gemv D=64 dtype=int8' {brief}", 0, "gemv D=64 takes"),
    ("headroom run gemv D=64,128 --filter bf16 {brief}", 0, "gemv D=128"),
    ("headroom run gemv -k 'D=64 .*bf16' D=64 {brief}", 0, "gemv D=64"),
    ("headroom run gemv --filter fp4", 2, "--filter 'fp4': no case has a name that matches"),
    ("headroom run gemv --filter '('", 2, "'(' is not a regular expression"),
    ("headroom run gemv E=1", 2, "no selected experiment has an axis 'E'"),
    ("headroom run gemv D=big", 2, "axis D cannot be 'big'"),
    ("headroom run --csv", 2, "--csv needs a value"),
    ("headroom run gemv --csv r.csv D=64 {brief}", 0, "gemv D=64"),
    ("headroom run gemv -o r2.csv D=64 {brief}", 0, "gemv D=64"),
    ("headroom run gemv -o r.json", 2, "--output takes a CSV file; --json r.json writes records"),
    ("headroom run gemv --precision 2", 2, "did you mean 2 % or 0.02?"),
    ("headroom run gemv -r 2 D=64 --threads 1 --no-limits --no-store", 0, "gemv D=64"),
    ("headroom run gemv --warmup 5 D=64 {brief}", 0, "warm-up is detected; no option needed"),
    ("headroom run --benchmark_list_tests", 0, "layer_norm"),
    ("headroom run --benchmark_list_tests=true", 0, "layer_norm"),
    ("headroom run --benchmark_filter=gemv.*bf16 --benchmark_min_time=0.01 --benchmark_repetitions=3 D=64 gemv {brief}", 0,
     "--benchmark_repetitions: ignored; sampling ends at --precision"),
    ("headroom run --benchmark_out=records.json --benchmark_out_format=json gemv D=64 {brief}", 0,
     "--benchmark_out: writes headroom's records, as --json FILE"),
    ("headroom run --benchmark_counters_tabular=true", 2, "no such option of Google Benchmark"),
    ("headroom run --benchmark-only gemv D=64 {brief}", 0, "no option needed"),
    ("headroom run --benchmark-autosave", 2, "give it to pytest --headroom"),
    ("headroom run -b gemv -a D=64 {brief}", 0, "gemv D=64"),
    ("headroom run -l", 0, "layer_norm"),
    ("headroom run --md t.md", 2, "give --markdown and redirect the output"),
    ("headroom run -d 0 gemv", 2, "CUDA_VISIBLE_DEVICES=N headroom run"),
    ("headroom run --run-once gemv", 2, "give --num-samples 1 --processes 1"),
    ("headroom run --list gemv", 0, "gemv"),
    # Results.
    ("headroom diff", 2, "BASELINE CANDIDATE is required"),
    ("headroom diff a.json", 2, "At least 2 required"),
    ("headroom diff a.json none.json", 2, "cannot read 'none.json': No such file"),
    ("headroom diff a.json b.json", 0, "inconclusive"),
    ("headroom diff a.json last", 0, "of 1 comparison 1 is inconclusive"),
    ("headroom diff --threshold 3 a.json b.json", 2, "did you mean 3 % or 0.03?"),
    ("headroom diff --threshold 3% a.json b.json", 3, "gate"),
    ("headroom diff --fail-above 3% a.json b.json", 3, "gate"),
    ("headroom diff -o d.json a.json b.json", 2, "give --json FILE for the comparison"),
    ("headroom show", 2, "RESULT is required"),
    ("headroom show last", 0, "true takes"),
    ("headroom show .", 0, "true takes"),
    ("headroom show none.json", 2, "cannot read 'none.json': No such file"),
    ("headroom show notes.txt", 2, "notes.txt"),
    ("headroom show a.json --csv", 2, "give --json FILE for the records"),
    ("headroom show trace.json", 0, "GPU"),
    ("headroom history", 0, "true"),
    ("headroom history last", 2, "headroom show last shows the last run"),
    ("headroom history @last", 2, "use headroom show @last instead"),
    ("headroom history -n 1", 0, "true"),
    ("headroom history --runs 1", 0, "give --last N"),
    ("headroom trace", 2, "no trace given: headroom trace [ANALYSIS] FILE..."),
    ("headroom trace a.json", 2, "no list of events (traceEvents) in this JSON"),
    ("headroom trace kernel trace.json", 2, "did you mean 'kernels'?"),
    ("headroom report", 2, "WHAT is required"),
    ("headroom report b.json", 0, "wrote b.html"),
    ("headroom report last", 0, "wrote last.html"),
    ("headroom report trace.json", 0, "wrote trace.html"),
    ("headroom report --diff a.json b.json", 0, "wrote diff.html"),
    ("headroom report a.json", 2, "a.html exists and is not a headroom page"),
    ("headroom roofline none.json", 2, "cannot read 'none.json': No such file"),
    ("headroom cache true", 2, "put the command to measure after --"),
    ("headroom machine now", 2, "unexpected argument: 'now'"),
    ("headroom completion powershell", 2, "supported are bash, zsh and fish"),
]


@unittest.skipUnless((BIN / "headroom-pages").exists() and (BIN / "headroom-trace").exists(), "needs headroom-pages and headroom-trace")
class FirstSteps(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.environment = {**os.environ, "HOME": str(self.folder), "XDG_DATA_HOME": str(self.folder / "data")}
        self.write_file("notes.txt", "what I did\n")
        self.write_file("a.html", "<p>mine</p>")
        self.write_file("bench.py", "import headroom as hr\n")
        self.script("mine", "exit 0")
        write_trace(self.folder / "trace.json")
        for name in ("a.json", "b.json"):
            self.assert_exit(self.type(f"headroom time --runs 2 --json {name} true"), 0)

    def type(self, line):
        for place, words in PLACES.items():
            line = line.replace(place, words)
        return headroom(*shlex.split(line)[1:], cwd=self.folder, env=self.environment)

    def test_each_works_or_is_answered_by_one_line(self):
        with concurrent.futures.ThreadPoolExecutor(max(2, os.cpu_count() or 2)) as pool:
            results = list(pool.map(lambda step: self.type(step[0]), STEPS))
        for (line, code, wanted), result in zip(STEPS, results):
            with self.subTest(line):
                self.assertEqual(result.returncode, code, result.stdout + result.stderr)
                shown = [one for one in (result.stdout + "\n" + result.stderr).splitlines() if wanted in one]
                self.assertTrue(shown, result.stdout + result.stderr)
        self.assertEqual((self.folder / "a.html").read_text(), "<p>mine</p>")
        self.assertEqual((self.folder / "out.txt").read_text(), "x\n")
        self.assertIn('"results"', (self.folder / "theirs.json").read_text())

    def test_the_rows_are_ninety_and_different(self):
        self.assertGreaterEqual(len(STEPS), 90)
        typed = [line for line, _, _ in STEPS]
        self.assertEqual(sorted(set(typed)), sorted(typed))


if __name__ == "__main__":
    unittest.main()
