# SPDX-License-Identifier: Apache-2.0
"""Runs ci/ on commits of a project made here, as GitHub and GitLab do. ci_root.sh calls it in a new Debian.

    ci_steps.py CI_FOLDER WORK_FOLDER        STUBS: the folder of the stubs
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree
import zipfile

import yaml

CI, WORK = map(pathlib.Path, sys.argv[1:])
STUBS = pathlib.Path(os.environ["STUBS"])
WHEEL = "https://example.org/headroom.whl"
BENCH = "int main(void) {\n  for (volatile long i = 0; i < %d000000L; ++i)\n    ;\n}\n"


def git(*words):
    return subprocess.run(["git", *words], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def commit(millions):
    (WORK / "project/bench.c").write_text(BENCH % millions)
    git("-C", WORK / "project", "add", "--all")
    git("-C", WORK / "project", "commit", "--quiet", "-m", f"Count to {millions},000,000")
    return git("-C", WORK / "project", "rev-parse", "HEAD")


def make_project():
    """Two branches from `start`; main went on to something slower than either."""
    project = WORK / "project"
    git("init", "--quiet", "--initial-branch=main", project)
    for name, value in (("user.name", "A"), ("user.email", "a@b")):
        git("config", "--global", name, value)
    (project / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.20)\nproject(p C)\nadd_executable(bench bench.c)\n")
    (project / "Makefile").write_text("bench: bench.c\n")
    commits = {"start": commit(20)}
    for branch, millions in (("slower", 80), ("faster", 5)):
        git("-C", project, "checkout", "--quiet", "-b", branch, commits["start"])
        commits[branch] = commit(millions)
    git("-C", project, "checkout", "--quiet", "main")
    return {**commits, "main": commit(320)}


def check_out(sha, folder):
    git("clone", "--quiet", WORK / "project", folder)
    git("-C", folder, "checkout", "--quiet", "--detach", sha)


def run_step(name, shell, script, folder, variables):
    print(f"--- {name}", flush=True)
    done = subprocess.run([*shell, "-c", script], cwd=folder, env={**os.environ, **variables}, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    print(f"{done.stdout}--- exit {done.returncode}", flush=True)
    return done.returncode, done.stdout


def github_job(file, facts, folder):
    """Runs the only job of a workflow: its exit code, and the output of its last shell step."""
    def resolved(values):
        return {name: re.sub(r"\$\{\{ *([\w.]+) *\}\}", lambda found: facts[found[1]], str(value)) for name, value in values.items()}
    job, = yaml.safe_load((CI / "github" / file).read_text())["jobs"].values()
    folder.mkdir(parents=True)
    code, output = 0, ""
    for step in job["steps"]:
        if code and step.get("if") != "always()":
            continue
        inputs = resolved(step.get("with", {}))
        if step.get("uses", "").startswith("actions/checkout@"):
            check_out(inputs["ref"], folder)
        elif step.get("uses", "").startswith("actions/upload-artifact@"):
            with zipfile.ZipFile(folder / "artifact.zip", "w") as archive:
                for path in (folder / inputs["path"]).glob("*"):
                    archive.write(path, path.name)
        else:
            variables = {**resolved(job.get("env", {})), **resolved(step.get("env", {})), "GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
            code, output = run_step(f"{file}: {step['name']}", ["bash", "-e"], step["run"], folder, variables)
    return code, output


def remove_headroom():
    """So that the next job has to install it."""
    subprocess.run(["dpkg", "--purge", "headroom"], check=True)


def measure(commits, branch):
    """Returns the exit code, the output, and the folder of the job on a pull request."""
    remove_headroom()
    folder = WORK / f"github-{branch}"
    code, output = github_job("measure.yml", {"github.event.pull_request.head.sha": commits[branch], "vars.HEADROOM_WHEEL": WHEEL,
                                              "github.event.pull_request.base.sha": commits["main"]}, folder)
    comment = (folder / "headroom/comment.md").read_text()
    assert (folder / "summary.md").read_text() == comment
    assert json.loads((folder / "headroom/result.json").read_text())["records"]
    return code, output, comment, folder / "artifact.zip"


def post(commits, artifact, comments, name):
    """Returns the calls of gh, and the text of the comment."""
    (STUBS / "calls").unlink(missing_ok=True)
    kept = [{"name": "headroom", "id": 9, "size_in_bytes": artifact.stat().st_size}]
    (STUBS / "answers.json").write_text(json.dumps([
        ("actions/runs/7/artifacts", {"artifacts": kept}), ("actions/artifacts/9/zip", str(artifact)),
        ("repos/o/r/pulls ", [{"number": 41, "head": {"sha": commits["slower"]}}]),
        ("--paginate repos/o/r/issues/41/comments", comments), ("-F body=@comment.md", {})]))
    event = "github.event.workflow_run."
    code, _ = github_job("comment.yml", {
        "github.token": "x", "github.repository": "o/r", event + "id": "7", event + "head_repository.owner.login": "someone",
        event + "head_branch": "slower", event + "head_sha": commits["slower"]}, WORK / name)
    assert code == 0, code
    return [json.loads(line) for line in (STUBS / "calls").read_text().splitlines()], (WORK / name / "comment.md").read_text()


def gitlab_job(commits, branch):
    remove_headroom()
    job = yaml.safe_load((CI / "gitlab.yml").read_text())["headroom"]
    folder = WORK / f"gitlab-{branch}"
    check_out(commits[branch], folder)
    code, _ = run_step("gitlab.yml", ["bash", "-eo", "pipefail"], "\n".join(job["script"]), folder,
                       {**job["variables"], "HEADROOM_WHEEL": WHEEL, "CI_MERGE_REQUEST_DIFF_BASE_SHA": commits["start"]})
    reports = job["artifacts"]["reports"]
    suites = xml.etree.ElementTree.parse(folder / reports["junit"]).getroot()
    assert (folder / reports["metrics"]).read_text().endswith("# EOF\n")
    return code, suites.get("tests"), suites.get("failures")


def main():
    WORK.mkdir()
    commits = make_project()
    code, output, comment, artifact = measure(commits, "slower")
    assert code == 1 and "::error title=headroom::1 of 1 slower by more than 3 %" in output, code
    assert comment.startswith("<!-- headroom -->\n❌ **headroom: 1 of 1 slower"), comment
    calls, posted = post(commits, artifact, [], "comment-new")
    assert calls[-1][2:5] == ["-X", "POST", "repos/o/r/issues/41/comments"], calls
    assert posted == comment.replace("@", ""), posted
    calls, _ = post(commits, artifact, [{"id": 5, "user": {"type": "Bot"}, "body": posted}], "comment-again")
    assert calls[-1][2:5] == ["-X", "PATCH", "repos/o/r/issues/comments/5"], calls
    code, output, comment, _ = measure(commits, "faster")
    assert code == 0 and "::notice title=headroom::not slower by more than 3 %" in output, code
    assert comment.startswith("<!-- headroom -->\n✅ **headroom: not slower"), comment
    assert gitlab_job(commits, "slower") == (1, "1", "1")
    assert gitlab_job(commits, "faster") == (0, "1", "0")
    print("all is well")


main()
