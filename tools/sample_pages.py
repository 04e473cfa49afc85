#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes sample pages of made-up inputs: a run, a comparison, a trace, the site of a history. `make docs` puts them into its site.

    tools/sample_pages.py FOLDER            programs: HEADROOM_BIN, else build/release/bin
"""
import importlib
import json
import os
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGES = {"run": "run.html", "diff": "diff.html", "trace": "trace.html", "site": "site/index.html"}


def test_module(name):
    for folder in ("cli", "page"):
        if str(ROOT / "tests" / folder) not in sys.path:
            sys.path.append(str(ROOT / "tests" / folder))
    return importlib.import_module(name)


def write_pages(folder):
    """Returns {name: path}."""
    os.environ.setdefault("HEADROOM_BIN", str(ROOT / "build" / "release" / "bin"))
    records, trace, history = (test_module(name) for name in ("made_records", "made_trace", "site_history"))
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        made = pathlib.Path(made)
        for name, content in zip(("baseline.json", "candidate.json"), records.made_pair()):
            (made / name).write_text(json.dumps(content))
        trace.write(made / "rank-0.json")
        store = made / "history.sqlite"
        history.fill(made, store)
        history.fill(made, store, runs=5, fingerprint="machine-b")
        for command in (["report", "baseline.json", "-o", folder / PAGES["run"]],
                        ["report", "--diff", "baseline.json", "candidate.json", "-o", folder / PAGES["diff"]],
                        ["report", "rank-0.json", "-o", folder / PAGES["trace"]],
                        ["history", "--site", folder / "site", "--store", store]):
            done = history.headroom(*command, cwd=made)
            if done.returncode != 0:
                raise SystemExit(f"sample_pages: {done.stderr.strip()}")
    return {name: folder / path for name, path in PAGES.items()}


def on_files(files, config):
    """A hook of MkDocs (mkdocs.yml): adds samples/run.html and the others to the site."""
    from mkdocs.structure.files import File
    folder = ROOT / "build" / "sample_pages"
    write_pages(folder / "samples")
    for path in sorted((folder / "samples").rglob("*")):
        if path.is_file() and not path.name.startswith("."):
            files.append(File(str(path.relative_to(folder)), str(folder), config["site_dir"], False))
    return files


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__.strip())
    for page in write_pages(pathlib.Path(sys.argv[1]).resolve()).values():
        print(page)
