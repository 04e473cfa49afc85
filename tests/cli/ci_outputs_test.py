#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files for CI systems and dashboards (`--export`), read back by their rules; every name in them is hostile."""
import json
import os
import re
import shutil
import sys
import tarfile
import unittest
import xml.etree.ElementTree
from html import unescape

from command_line import BRIEF, FAULTY, CommandLineTest, headroom, run_program

HOSTILE = ("a|b\nc <b>x</b> \"q\" & \x1b[31m ::error::x %0A `tick` ``` \\| @all #1 <!-- y --> ]]> [l](u) www.x.y http://x.y "
           "\u202e \ufffe * _i_ , :")
SHOWN = HOSTILE.replace("\n", " ").replace("\x1b", r"\x1B").replace("\u202e", r"\u202E")
NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
SAMPLE = re.compile(rf"({NAME})(\{{(?:{LABEL}(?:,{LABEL})*)?\}}) ([-+0-9.e]+)")
ESCAPED = re.compile(r"\\(.)")


def openmetrics(text):
    """Reads text format 1.0 of OpenMetrics strictly, as far as gauges go: {family: {labels: value}}, {family: unit}."""
    lines = text.split("\n")
    assert lines[-2:] == ["# EOF", ""], lines[-2:]
    families, units, current = {}, {}, None
    for line in lines[:-2]:
        if line.startswith("# "):
            kind, name, rest = line[2:].split(" ", 2)
            if kind == "TYPE":
                assert name not in families and re.fullmatch(NAME, name) and rest == "gauge", line
                families[name], current = {}, name
            assert kind in ("TYPE", "UNIT", "HELP") and name == current and not families[name], line
            if kind == "UNIT":
                assert name.endswith("_" + rest), line
                units[name] = rest
            continue
        name, labels, value = SAMPLE.fullmatch(line).groups()
        assert name == current, "families are not interleaved"
        pairs = tuple((label.split("=", 1)[0], ESCAPED.sub(lambda m: "\n" if m[1] == "n" else m[1], label.split("=", 1)[1][1:-1]))
                      for label in re.findall(LABEL, labels))
        assert len(dict(pairs)) == len(pairs) and pairs not in families[name], line
        families[name][pairs] = float(value)
    return families, units


def commands(output):
    """Reads workflow commands as GitHub's runner does: (command, title, message)."""
    def unescaped(text):
        for code, character in (("%0A", "\n"), ("%0D", "\r"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
            text = text.replace(code, character)
        return text
    found = [re.fullmatch(r"::(\w+) title=([^:,]*)::(.*)", line).groups() for line in output.splitlines()]
    return [(command, unescaped(title), unescaped(message)) for command, title, message in found]


def cells(row):
    """Splits a row as GitHub's Markdown does: at each | without a backslash before it."""
    assert row.startswith("| ") and row.endswith(" |"), row
    return re.split(r"(?<!\\) \| ", row[2:-2])


def plain(text):
    """Undoes the escapes of Markdown."""
    return re.sub(r"&#(\d+);", lambda match: chr(int(match[1])), re.sub(r"</?code>", "", text))


class Exports(CommandLineTest):
    def hyperfine(self, name, times):
        """Runs of commands as hyperfine writes them, with 0.1 % of noise."""
        return self.write_file(name, {"results": [
            {"command": command, "times": [seconds * (1 + 0.001 * (i * 7 % 5 - 2)) for i in range(20)], "mean": seconds}
            for command, seconds in times.items()]})

    def sides(self):
        return (self.hyperfine("a.json", {HOSTILE: 1, "same": 1, "faster": 1, "gone": 1, "shaky": 1}),
                self.hyperfine("b.json", {HOSTILE: 1.5, "same": 1, "faster": 0.5, "new": 1, "shaky": 1.0301}))

    def diff(self, *options, **more):
        return headroom("diff", *self.sides(), "--gate", "3%", "--run-spread", "0.1%", *options, **more)

    def exported(self, form, *options, code=1):
        path = self.folder / form
        self.assert_exit(self.diff("--export", form, path, *options), code)
        return path.read_text()

    def shown(self, form):
        path = self.folder / form
        self.assert_exit(headroom("show", self.sides()[1], "--export", form, path), 0, "same")
        return path.read_text()


class Gates(Exports):
    def test_junit(self):
        root = xml.etree.ElementTree.fromstring(self.exported("junit"))
        self.assertEqual((root.tag, [suite.tag for suite in root]), ("testsuites", ["testsuite"]))
        suite = root[0]
        self.assertEqual({name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")},
                         {"tests": "5", "failures": "1", "errors": "0", "skipped": "2"})
        self.assertEqual([child.tag for child in suite], ["properties"] + ["testcase"] * 5)
        outcomes = {case.get("name"): [child.tag for child in case] for case in suite.iter("testcase")}
        name = SHOWN.replace("\ufffe", "\ufffd") + ", latency"
        self.assertEqual(outcomes, {name: ["failure"], "same, latency": ["system-out"], "faster, latency": ["system-out"],
                                    "shaky, latency": ["skipped"], "gone, latency": ["skipped"]})
        failure, = suite.iter("failure")
        self.assertEqual(failure.get("message"), failure.text)
        self.assertRegex(failure.text, r"^latency 1\.00 s to 1\.50 s, ratio 1\.5\d* \(1\.4\d* to 1\.5\d*\): regression beyond 3")
        self.assertEqual({one.get("message").split(":", 1)[1].strip() for one in suite.iter("skipped")} & {"missing from b.json"}, set())
        self.assertTrue(any("missing from" in one.text for one in suite.iter("skipped")))
        self.assertTrue(any("the interval crosses the margin" in one.text for one in suite.iter("skipped")))

    def test_failed_commands_are_errors(self):
        path = self.folder / "junit.xml"
        self.assert_exit(headroom("ab", "--gate", "50%", "--no-store", "--export", "junit", path, "-n", "fine", "-n", HOSTILE,
                                  "true", "false"), 1)
        case, = xml.etree.ElementTree.parse(path).getroot().iter("testcase")
        self.assertEqual([child.tag for child in case], ["error"])

    @unittest.skipUnless(shutil.which("xmllint"), "xmllint is not installed")
    def test_junit_by_its_schema(self):
        """junit-10.xsd of Jenkins' xUnit plugin, which pytest's source has."""
        source, schema = self.make_folder("source"), self.folder / "junit-10.xsd"
        got = run_program(sys.executable, "-m", "pip", "download", "--quiet", "--retries", "0", "--timeout", "10", "--no-deps", "--no-binary",
                          "pytest", "pytest==8.3.4", "--dest", source)
        if got.returncode:
            self.skipTest("pip cannot download the source of pytest")
        with tarfile.open(*source.iterdir()) as archive:
            schema.write_bytes(archive.extractfile("pytest-8.3.4/testing/example_scripts/junit-10.xsd").read())
        paths = {"diff": self.folder / "junit", "failed": self.folder / "failed.xml", "one": self.folder / "one.xml"}
        self.exported("junit")
        self.assert_exit(headroom("ab", "--gate", "50%", "--no-store", "--export", "junit", paths["failed"], "-n", "fine", "-n", HOSTILE,
                                  "true", "false"), 1)
        same = self.hyperfine("same.json", {HOSTILE: 1})
        self.assert_exit(headroom("diff", "--gate", "3%", "--run-spread", "0.1%", same, same, "--export", "junit", paths["one"]), 0)
        for path in paths.values():
            self.assert_exit(run_program("xmllint", "--noout", "--schema", schema, path), 0)
        for part in (' value="', "testcase", ' tests="', "system-out"):
            wrong = self.write_file("wrong.xml", paths["diff"].read_text().replace(part, part.replace("t", "x").replace("v", "x")))
            self.assertIn("fails to validate", run_program("xmllint", "--noout", "--schema", schema, wrong).stderr, part)

    def test_the_comment(self):
        text = self.exported("comment")
        lines = text.splitlines()
        self.assertEqual(lines[0], "<!-- headroom -->", "a bot finds it by this line")
        self.assertRegex(lines[1], r"^❌ \*\*headroom: 1 of 4 cases regressed\*\*$")
        self.assertEqual(sorted(set(re.findall(r"<[^>]*>", text.split("```")[0]))),
                         ["<!-- headroom -->", "</code>", "</summary>", "<code>", "<details>", "<summary>"])
        self.assertNotRegex(text, r"[\x00-\x09\x0b-\x1f\u202e]")
        rows = [cells(line) for line in lines if line.startswith("| <code>")]
        self.assertEqual({len(row) for row in rows}, {6})
        self.assertEqual([plain(row[0]) for row in rows], [SHOWN, "faster", "same", "shaky", "gone"])
        self.assertNotRegex(rows[0][0], r"[|`@*\[\]_]|www\.|://|(?<!&)#")
        folded = text.index("<details><summary>3 cases without a change, 2 of them inconclusive</summary>")
        self.assertLess(text.index("<code>faster"), folded)
        self.assertLess(folded, text.index("<code>same"))
        self.assertTrue(text.endswith("\n</details>\n"))
        self.assertEqual(text, self.exported("comment"), "the same input gives the same comment")

    def test_the_comment_by_the_parser_of_github(self):
        try:
            import cmarkgfm
        except ImportError:
            self.skipTest("cmarkgfm is not installed")
        html = cmarkgfm.github_flavored_markdown_to_html(self.exported("comment"), cmarkgfm.cmark.Options.CMARK_OPT_UNSAFE)
        self.assertEqual(set(re.findall(r"<(\w+)", html)),
                         {"p", "strong", "code", "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "pre"})
        names = [unescape(name) for name in re.findall(r"<td><code>(.*?)</code></td>", html)]
        self.assertEqual(names, [SHOWN, "faster", "same", "shaky", "gone"])

    def test_the_comment_of_many_cases_fits(self):
        before, after = (self.hyperfine(name, {f"{i}" + HOSTILE + "|" * 200: 1 + 9 * slower * (i % 2) for i in range(60)})
                         for name, slower in (("a.json", 0), ("b.json", 1)))
        comment, annotations = self.folder / "comment.md", self.folder / "annotations"
        self.assert_exit(headroom("diff", before, after, "--gate", "3%", "--export", "comment", comment, "--export", "github",
                                  annotations), 1)
        text = comment.read_text()
        self.assertLess(len(text.encode()), 65536)
        self.assertRegex(text, r"\| and \d+ more \|")
        self.assertTrue(text.endswith("\n</details>\n"))
        self.assertEqual([command for command, _, _ in commands(annotations.read_text())], ["error"] * 10 + ["warning"] * 9)

    def test_annotations_and_the_step_summary(self):
        summary = self.write_file("summary.md", "before\n")
        result = self.assert_exit(self.diff("--export", "github", "-", env={**os.environ, "GITHUB_STEP_SUMMARY": str(summary)}), 1,
                                  stderr="1 of 4 cases regressed")
        found = commands(result.stdout)
        self.assertEqual([(command, title) for command, title, _ in found],
                         [("error", "headroom"), ("error", SHOWN), ("warning", "shaky"), ("warning", "gone")])
        self.assertRegex(found[1][2], r"^latency 1\.00 s to 1\.50 s, ratio .*: regression beyond 3")
        self.assertEqual(summary.read_text(), "before\n" + self.exported("comment"))

    def test_without_a_summary_file_there_are_annotations(self):
        without = {name: value for name, value in os.environ.items() if name != "GITHUB_STEP_SUMMARY"}
        self.assertIn("::error title=headroom::", self.diff("--export", "github", "-", env=without).stdout)
        lost = self.diff("--export", "github", "-", env={**without, "GITHUB_STEP_SUMMARY": "/proc/none/x"})
        self.assert_exit(lost, 2, "::error title=headroom::", stderr="cannot write the step summary '/proc/none/x'")

    def test_what_needs_a_gate_is_refused_without(self):
        for command in (("diff", *self.sides()), ("ab", "true", "true"), ("show", self.sides()[0])):
            self.assert_exit(headroom(*command, "--export", "junit", self.folder / "x"), 2, stderr="--gate")
        self.assertFalse((self.folder / "x").exists())
        self.assert_exit(self.diff("--export", "bmf", self.folder / "x"), 2, stderr="headroom show FILE --export bmf")
        self.assert_exit(self.diff("--export", "github", "-", "--json", "-"), 2, stderr="both write to standard output")
        self.assert_exit(headroom("show", self.sides()[0], "--export", "nvbench", self.folder / "x"), 2, stderr="cannot write this format, only read it")
        self.assert_exit(headroom("ab", "true", "true", "--export", "jnuit", self.folder / "x"), 2, stderr="unknown format 'jnuit'")


class Results(Exports):
    def test_openmetrics(self):
        text = self.shown("openmetrics")
        families, units = openmetrics(text)
        self.assertEqual(units["headroom_latency_seconds"], "seconds")
        latencies = {dict(labels)["case"]: value for labels, value in families["headroom_latency_seconds"].items()}
        self.assertEqual(set(latencies), {SHOWN, "same", "faster", "new", "shaky"})
        self.assertAlmostEqual(latencies[SHOWN], 1.5, places=2)

    def test_openmetrics_by_its_own_parser(self):
        try:
            from prometheus_client.openmetrics.parser import text_string_to_metric_families
        except ImportError:
            self.skipTest("prometheus_client is not installed")
        text = self.shown("openmetrics")
        read = {family.name: {tuple(sample.labels.items()): sample.value for sample in family.samples}
                for family in text_string_to_metric_families(text)}
        self.assertEqual(read, openmetrics(text)[0])

    def test_bencher(self):
        """https://bencher.dev/docs/reference/bencher-metric-format: names of at most 1024 and 64 characters."""
        long_name = self.hyperfine("long.json", {"x" * 5000: 1})
        path = self.folder / "long"
        self.assert_exit(headroom("show", long_name, "--export", "bmf", path), 0)
        for document in (json.loads(self.shown("bmf")), json.loads(path.read_text())):
            for name, measures in document.items():
                self.assertTrue(0 < len(name) <= 1024)
                for measure, metric in measures.items():
                    self.assertTrue(0 < len(measure) <= 64)
                    self.assertIn("value", metric)
                    self.assertLessEqual(set(metric), {"value", "lower_value", "upper_value"})
                    self.assertTrue(all(isinstance(value, (int, float)) for value in metric.values()))
        latency = json.loads(self.shown("bmf"))[SHOWN]["latency"]
        self.assertAlmostEqual(latency["value"] / 1e9, 1.5, places=2)
        self.assertTrue(latency["lower_value"] <= latency["value"] <= latency["upper_value"])

    def test_github_action_benchmark(self):
        """src/extract.ts of that action: name, unit and a number; range and extra are texts."""
        charts = json.loads(self.shown("customSmallerIsBetter"))
        for chart in charts:
            self.assertEqual({name: type(value) for name, value in chart.items() if name not in ("value", "range", "extra")},
                             {"name": str, "unit": str})
            self.assertIsInstance(chart["value"], float)
            self.assertRegex(chart["range"], r"^± [0-9.e-]+$")
        self.assertEqual({chart["name"] for chart in charts}, {SHOWN, "same", "faster", "new", "shaky"})
        self.assertEqual(json.loads(self.shown("customBiggerIsBetter")), [])

    def test_what_is_measured(self):
        """Bandwidths go up; failed cases have no number."""
        paths = {form: self.folder / form for form in ("openmetrics", "bmf", "customSmallerIsBetter", "customBiggerIsBetter")}
        exports = [word for form, path in paths.items() for word in ("--export", form, path)]
        self.assert_exit(headroom("run", "--runner", FAULTY, "--no-limits", "--no-store", *BRIEF, "fine", "is_wrong", *exports), 1)
        families, _ = openmetrics(paths["openmetrics"].read_text())
        self.assertEqual({dict(labels)["case"] for samples in families.values() for labels in samples}, {"fine"})
        names = {form: [chart["name"] for chart in json.loads(paths[form].read_text())] for form in paths if form.startswith("custom")}
        self.assertEqual(len(names["customSmallerIsBetter"]), 1)
        self.assertTrue(all("fine" in name for one in names.values() for name in one))
        self.assertEqual(len(json.loads(paths["bmf"].read_text())), 1)

    def test_headroom_reads_them_back(self):
        for form in ("bmf", "customSmallerIsBetter"):
            self.shown(form)
            result = headroom("show", self.folder / form, "--json", "-")
            if "headroom reads" in result.stderr or "does not read" in result.stderr:
                self.skipTest(f"headroom has no reader of {form}")
            self.assert_exit(result, 0)
            self.assertEqual({record["model"]["name"] for record in json.loads(result.stdout)["records"]},
                             {SHOWN, "same", "faster", "new", "shaky"})

    def test_one_number_without_samples_is_a_result(self):
        single = self.write_file("single.json", [{"benchmark": {"name": "b"}, "model": {"name": "m"},
                                                  "metric": {"name": "latency", "benchmark_values": [5], "extra_info": {"unit": "us"}}}])
        path = self.folder / "bmf"
        self.assert_exit(headroom("show", single, "--export", "bmf", path), 0)
        self.assertEqual(json.loads(path.read_text()), {"m": {"latency": {"value": 5000}}})
        self.assert_exit(headroom("show", single, "--export", "hyperfine", self.folder / "x"), 2, stderr="hyperfine")

    def test_a_commit_is_no_part_of_a_name(self):
        records = self.folder / "records.json"
        self.assert_exit(headroom("ab", "sleep 0.0{commit}", "-L", "commit", "1,3", "--runs", "3", "--no-store", "--json", records), 0)
        path = self.folder / "bmf"
        self.assert_exit(headroom("show", records, "--export", "bmf", path), 0)
        (name, measures), = json.loads(path.read_text()).items()
        self.assertEqual(name, "sleep 0.0{commit}")
        self.assertGreater(measures["latency"]["value"], 30e6, "the last commit counts")


if __name__ == "__main__":
    unittest.main()
