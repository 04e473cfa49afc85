#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes all of a release from the last commit, in build/dist/headroom-VERSION; the same commit gives the same bytes.

    tools/make_dist.py [--suite SUITE]... [--check]

Source archive, wheels, Debian packages for each SUITE (bookworm, trixie), an SBOM of each, the version's part of CHANGELOG.md, and
SHA256SUMS. Each step is a target of make. --check: only whether the tree is fit for a release. A step that cannot be tried here (no
debootstrap, no lintian) is skipped and named at the end.
Exit codes: 0 complete; 3 something was skipped; 2 cannot be made, and why.
"""
import argparse
import gzip
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

SKIPPED = 77


class CannotRelease(Exception):
    pass


def output_of(root, *command):
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CannotRelease(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def project_version(root):
    found = re.search(r"^project\(headroom VERSION ([0-9.]+)", (root / "CMakeLists.txt").read_text(), re.MULTILINE)
    if not found:
        raise CannotRelease("CMakeLists.txt has no line project(headroom VERSION ...)")
    return found[1]


def changelog_excerpt(root, version):
    """Returns the section of a version, without its heading."""
    text = (root / "CHANGELOG.md").read_text()
    section = re.search(rf"^## \[{re.escape(version)}\][^\n]*\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if not section or not section[1].strip():
        raise CannotRelease(f"CHANGELOG.md has no section '## [{version}] - DATE' with what changed: write it, or correct the version "
                            "in CMakeLists.txt")
    return section[1].strip() + "\n"


def check_tree(root):
    """Returns (version, excerpt of the changelog). Refuses a tree that differs from its last commit."""
    if not (root / ".git").exists():
        raise CannotRelease(f"{root} is not a clone of git: a release is made from a commit")
    changed = output_of(root, "git", "status", "--porcelain").splitlines()
    if changed:
        names = ", ".join(line[3:] for line in changed[:5]) + (f" and {len(changed) - 5} more" if len(changed) > 5 else "")
        raise CannotRelease(f"files differ from the last commit: {names}. Commit them, or put them aside with git stash -u")
    version = project_version(root)
    return version, changelog_excerpt(root, version)


def write_source_archive(root, version, folder):
    archive = subprocess.run(["git", "archive", "--format=tar", f"--prefix=headroom-{version}/", "HEAD"], cwd=root, capture_output=True,
                             check=True).stdout
    path = folder / f"headroom-{version}.tar.gz"
    with open(path, "wb") as file, gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=9, mtime=0) as packed:
        packed.write(archive)


def write_checksums(folder):
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(folder.iterdir())]
    (folder / "SHA256SUMS").write_text("".join(lines))


class Release:
    def __init__(self, root, version, suites):
        self.root, self.version, self.suites = root, version, suites
        self.skipped = []
        epoch = output_of(root, "git", "log", "-1", "--format=%ct").strip()
        self.environment = dict(os.environ, SOURCE_DATE_EPOCH=epoch)

    def step(self, name, *command):
        """Runs a command; returns whether it was done, not skipped."""
        print(f"dist: {name} ...", flush=True)
        start = time.monotonic()
        log = self.root / "build" / "dist.log"
        with open(log, "w", encoding="utf-8") as output:
            status = subprocess.run(list(map(str, command)), cwd=self.root, env=self.environment, stdout=output, stderr=subprocess.STDOUT,
                                    stdin=subprocess.DEVNULL, check=False).returncode
        text = log.read_text(errors="replace")
        # make reports the status of a recipe as its own 2.
        if status == SKIPPED or f"Error {SKIPPED}" in text:
            self.skipped.append(f"{name}: {' '.join(re.findall(r'skipped: .*', text)[:1]) or 'skipped'}")
            return False
        if status != 0:
            raise CannotRelease(f"{name} failed:\n{text[-3000:]}\nAll it said: {log}")
        print(f"dist: {name}: {time.monotonic() - start:.0f} s", flush=True)
        return True

    def make(self, folder):
        wheels = []
        if self.step("wheels", "make", "wheels"):
            wheels = sorted((self.root / "build/wheels").glob("*.whl"))
            self.step("SBOM of the wheels", sys.executable, "tools/make_sbom.py", *wheels)
        packages = []
        for suite in self.suites:
            if self.step(f"Debian packages for {suite}", "make", "deb", f"SUITE={suite}"):
                packages += sorted((self.root / f"build/deb-{suite}").iterdir())
        for kind, made in (("wheel", wheels), ("Debian packages", packages)):
            if made and not any(re.match(r"headroom[_-]cuda[_-]", path.name) for path in made):
                self.skipped.append(f"headroom-cuda of the {kind}: no nvcc, or HEADROOM_CUDA=OFF")
        for path in [*wheels, *(wheel.with_suffix(".cdx.json") for wheel in wheels), *packages]:
            shutil.copyfile(path, folder / path.name)
        if packages and shutil.which("lintian"):
            self.step("lintian", "lintian", "--fail-on=error,warning", *(path for path in packages if path.suffix == ".deb"))
        elif packages:
            self.skipped.append("lintian: not in PATH (apt-get install lintian)")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--suite", action="append", default=[], metavar="SUITE")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    root = arguments.root
    try:
        version, excerpt = check_tree(root)
        if arguments.check:
            print(f"headroom {version} can be released")
            return 0
        folder = root / "build/dist" / f"headroom-{version}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        release = Release(root, version, arguments.suite)
        write_source_archive(root, version, folder)
        (folder / "CHANGELOG.md").write_text(excerpt)
        release.make(folder)
        write_checksums(folder)
    except (CannotRelease, OSError) as error:
        print(f"dist: {error}", file=sys.stderr)
        return 2
    for path in sorted(folder.iterdir()):
        print(f"{path.stat().st_size:>12,}  {path.relative_to(root)}")
    for reason in release.skipped:
        print(f"dist: left out: {reason}")
    return 3 if release.skipped else 0


if __name__ == "__main__":
    sys.exit(main())
