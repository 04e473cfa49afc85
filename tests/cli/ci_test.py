#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every shell step of ci/ in a repository made here. `gh` and the installers are stubs that record their calls."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap
import unittest
import zipfile

from command_line import BIN, CommandLineTest

CI = pathlib.Path(__file__).resolve().parents[2] / "ci"
QUICK, SLOW = "0.02", "0.1"
COMMENT = "<!-- headroom -->\n✅ **headroom: not slower by more than 3 %**\n"
STUB = f"#!{sys.executable}\n" + (pathlib.Path(__file__).parent / "ci_command.py").read_text()


def steps_of(path):
    """Returns the shell steps: texts after `run:`, or the items of `script:`."""
    lines, found, i, in_script = path.read_text().splitlines(), [], 0, None
    while i < len(lines):
        indent = len(lines[i]) - len(lines[i].lstrip())
        key = re.fullmatch(r"\s*(?:- )?(run|script):(.*)", lines[i])
        if in_script is not None and indent <= in_script:
            in_script = None
        item = re.fullmatch(r"\s*- (.*)", lines[i]) if in_script is not None else None
        i += 1
        if key and key[1] == "script":
            in_script = indent
        elif key or item:
            text = (key[2] if key else item[1]).strip()
            block = []
            while text == "|" and i < len(lines) and (not lines[i].strip() or len(lines[i]) - len(lines[i].lstrip()) > indent + 1):
                block.append(lines[i])
                i += 1
            found.append(textwrap.dedent("\n".join(block)) + "\n" if text == "|" else text)
    return found


class CiTest(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.repository = self.make_folder("repository")
        self.stubs = self.make_folder("stubs")
        for name in ("gh", "pip", "pipx"):
            stub = self.write_file(f"stubs/{name}", STUB)
            stub.chmod(0o755)
        self.answers = []
        for words in (("init", "--quiet", "--initial-branch=main"), ("config", "user.name", "A"), ("config", "user.email", "a@b")):
            self.git(*words)
        self.base = self.commit(QUICK)

    def git(self, *words):
        return subprocess.run(["git", "-C", self.repository, *words], check=True, capture_output=True, text=True).stdout.strip()

    def commit(self, seconds):
        (self.repository / "seconds").write_text(seconds)
        self.git("add", "--all")
        self.git("commit", "--quiet", "-m", f"Sleep {seconds}")
        return self.git("rev-parse", "HEAD")

    def run_step(self, script, **variables):
        """As GitHub and GitLab do; `bash -e`."""
        (self.stubs / "answers.json").write_text(json.dumps(self.answers))
        summary = self.folder / "summary.md"
        environment = {**os.environ, "PATH": f"{self.stubs}:{BIN}:{os.environ['PATH']}", "STUBS": str(self.stubs),
                       "GITHUB_STEP_SUMMARY": str(summary), **variables}
        return subprocess.run(["bash", "-e", "-c", script], cwd=self.repository, env=environment, text=True, capture_output=True,
                              timeout=120, stdin=subprocess.DEVNULL)

    def calls(self):
        return [json.loads(line) for line in (self.stubs / "calls").read_text().splitlines()]

    def stub_headroom(self, code):
        self.write_file("stubs/headroom", f"#!/bin/sh\nexit {code}\n").chmod(0o755)


class Files(unittest.TestCase):
    def test_untrusted_values_reach_the_shell_as_variables_only(self):
        for path in (CI / "github").iterdir():
            for step in steps_of(path):
                self.assertNotIn("${{", step, path)

    def test_the_measurement_has_no_rights(self):
        text = (CI / "github" / "measure.yml").read_text()
        self.assertIn("permissions:\n  contents: read\njobs:", text)
        self.assertIn("on: pull_request\n", text)
        self.assertNotIn("secrets.", text)
        self.assertNotIn("actions/checkout", (CI / "github" / "comment.yml").read_text(), "runs nothing of the pull request")

    def test_the_steps_are_those_of_a_yaml_parser(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("PyYAML is not installed")
        for path in (CI / "github").iterdir():
            jobs = yaml.safe_load(path.read_text())["jobs"].values()
            self.assertEqual(steps_of(path), [step["run"] for job in jobs for step in job["steps"] if "run" in step])
        self.assertEqual(steps_of(CI / "gitlab.yml"), yaml.safe_load((CI / "gitlab.yml").read_text())["headroom"]["script"])


class Measure(CiTest):
    VARIABLES = {"BUILD": "echo \"exec sleep $(cat seconds)\" > run.sh", "BENCHMARK": "sh run.sh", "MARGIN": "20%",
                 "HEADROOM_WHEEL": "https://example.org/headroom.whl"}

    def run_all(self, path, **variables):
        result = None
        for step in steps_of(path):
            result = self.run_step(step, **self.VARIABLES, **variables)
            if result.returncode:
                break
        return result

    def test_github(self):
        self.git("checkout", "--quiet", "-b", "topic")
        self.commit(SLOW)
        result = self.run_all(CI / "github" / "measure.yml", BASE=self.base)
        self.assert_exit(result, 1, "::error title=headroom::1 of 1 slower by more than 20 %")
        self.assertEqual(self.calls(), [["pipx", "install", "https://example.org/headroom.whl"]])
        comment = (self.repository / "headroom" / "comment.md").read_text()
        self.assertTrue(comment.startswith("<!-- headroom -->\n❌ **headroom: 1 of 1 slower"))
        self.assertIn("| <code>sh run&#46;sh</code> |", comment)
        self.assertEqual((self.folder / "summary.md").read_text(), comment)
        self.assertIn("records", json.loads((self.repository / "headroom" / "result.json").read_text()))

    def test_github_fails_for_errors_and_not_for_doubts(self):
        compare = steps_of(CI / "github" / "measure.yml")[-1]
        for code, expected in ((0, 0), (1, 1), (2, 1), (3, 0)):
            self.stub_headroom(code)
            self.assertEqual(self.run_step(compare, **self.VARIABLES, BASE=self.base).returncode, expected, code)
        result = self.run_step(steps_of(CI / "github" / "measure.yml")[0], HEADROOM_WHEEL="")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("set this variable of the repository", result.stderr)

    def test_gitlab(self):
        self.git("checkout", "--quiet", "-b", "topic")
        self.commit(SLOW)
        result = self.run_all(CI / "gitlab.yml", CI_MERGE_REQUEST_DIFF_BASE_SHA=self.base)
        self.assert_exit(result, 1)
        self.assertEqual(self.calls(), [["pip", "install", "--quiet", "https://example.org/headroom.whl"]])
        junit = (self.repository / "headroom" / "junit.xml").read_text()
        self.assertIn('<testcase classname="headroom" name="sh run.sh, latency"><failure', junit)
        metrics = (self.repository / "headroom" / "metrics.txt").read_text()
        value, = re.findall(r'headroom_latency_seconds\{case="sh run.sh"\} (\S+)', metrics)
        self.assertGreater(float(value), 0.09, "of the last commit")


@unittest.skipUnless(shutil.which("jq") and shutil.which("unzip"), "jq or unzip is not installed")
class Comment(CiTest):
    VARIABLES = {"REPOSITORY": "o/r", "RUN": "7", "HEAD": "someone:topic", "SHA": "5ha", "GH_TOKEN": "x"}

    def setUp(self):
        super().setUp()
        self.artifact({"comment.md": COMMENT, "result.json": "{}", "number": "666"})
        self.comments = []

    def artifact(self, files):
        with zipfile.ZipFile(self.folder / "artifact.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in files.items():
                archive.writestr(name, text)

    def run_all(self, size=1000, refused=False, heads=("5ha",)):
        pulls = [{"number": 41 + i, "head": {"sha": sha}} for i, sha in enumerate(heads)]
        artifacts = [{"name": "other", "id": 1, "size_in_bytes": 1}, {"name": "headroom", "id": 9, "size_in_bytes": size}]
        self.answers = [("actions/runs/7/artifacts", {"artifacts": artifacts}),
                        ("actions/artifacts/9/zip", str(self.folder / "artifact.zip")),
                        ("repos/o/r/pulls ", pulls),
                        ("--paginate repos/o/r/issues/41/comments", self.comments),
                        ("-F body=@comment.md", None if refused else {})]
        return [self.assert_exit(self.run_step(step, **self.VARIABLES), 0) for step in steps_of(CI / "github" / "comment.yml")]

    def posts(self):
        return [call for call in self.calls() if "body=@comment.md" in call]

    def posted(self):
        return (self.repository / "comment.md").read_text()

    def test_it_is_posted_once(self):
        self.comments = [{"id": 4, "user": {"type": "User"}, "body": COMMENT}, {"id": 5, "user": {"type": "Bot"}, "body": "else"}]
        self.run_all()
        self.assertEqual(self.posts(), [["gh", "api", "-X", "POST", "repos/o/r/issues/41/comments", "-F", "body=@comment.md", "--silent"]])
        self.assertEqual(self.posted(), COMMENT)
        self.assertIn("head=someone:topic", self.calls()[2])

    def test_then_updated(self):
        self.comments = [{"id": 5, "user": {"type": "Bot"}, "body": COMMENT}]
        self.run_all()
        self.assertEqual([call[2:5] for call in self.posts()], [["-X", "PATCH", "repos/o/r/issues/comments/5"]])

    def test_without_permission_it_is_the_summary(self):
        result = self.run_all(refused=True)[-1]
        self.assertIn("::warning title=headroom::may not comment", result.stdout)
        self.assertEqual((self.folder / "summary.md").read_text(), COMMENT)

    def test_an_older_commit_is_not_commented(self):
        self.assertIn("no open pull request ends in this commit", self.run_all(heads=("other",))[-1].stdout)
        self.assertEqual(self.posts(), [])

    def test_the_artifact_is_not_trusted(self):
        for files in ({}, {"comment.md": "buy\n" + COMMENT}, {"other.md": COMMENT}, {"comment.md": COMMENT + "[a](b)"},
                      {"comment.md": COMMENT + "https://example.org"}, {"comment.md": COMMENT + "<IMG src=x>"}, {"../comment.md": COMMENT}):
            self.artifact(files)
            self.assertIn("::warning", self.run_all()[0].stdout, files)
        self.artifact({"comment.md": COMMENT})
        self.assertIn("too large", self.run_all(size=60_000_000)[0].stdout)
        self.assertEqual(self.posts(), [])

    def test_its_text_is_bounded_and_mentions_nobody(self):
        self.artifact({"comment.md": COMMENT + "@all " * 1_000_000})
        self.run_all()
        self.assertLess(len(self.posted()), 65536)
        self.assertNotIn("@", self.posted())

    def test_without_an_artifact(self):
        self.answers = [("actions/runs/7/artifacts", {"artifacts": []})]
        for step in steps_of(CI / "github" / "comment.yml"):
            self.assert_exit(self.run_step(step, **self.VARIABLES), 0)
        self.assertEqual(len(self.calls()), 1)


if __name__ == "__main__":
    unittest.main()
