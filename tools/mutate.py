#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mutation testing: changes the code in one place at a time and checks whether a test fails.

    tools/mutate.py [--since REVISION] [--build build/release] [--most 40] [--seed 1] [--tests REGEX]
                    [--target TARGET] [FILE[:LINE[-LINE]]...]

Without a FILE it takes the lines of src/ that differ from REVISION (default: HEAD~1). Each mutation is built and tested with the
unit tests (or --tests). A mutation that builds and passes has survived: a test is missing, or the code is not needed.
Files are always restored. Exits with 1 if a mutation survived.
"""
import argparse
import pathlib
import random
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Replacements. The blanks around comparisons exclude templates and shifts.
OPERATORS = [(r" == ", " != "), (r" != ", " == "), (r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "), (r" && ", " || "),
             (r" \|\| ", " && "), (r"\btrue\b", "false"), (r"\bfalse\b", "true"), (r" \+ ", " - "), (r" - ", " + "), (r" \* ", " / "),
             (r"\bstd::min\b", "std::max"), (r"\bstd::max\b", "std::min"), (r"\bif \((?!const|auto|int)([^;]*)\) ", r"if (!(\1)) "),
             (r"FULL\b", "OFF"), (r" ASC\b| DESC\b", "")]
# A call as a whole statement on one line.
STATEMENT = re.compile(r"^\s+(?!return|throw|const|auto|using|break|continue|case|default)[\w:>.()\-*]+\(.*\);$")


def run(*command, limit=900):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=limit, check=False)


def changed_lines(revision):
    """Yields (file, line number) of the lines of src/ added or changed since `revision`."""
    found, file, line = [], None, 0
    for text in run("git", "diff", "-U0", revision, "--", "src").stdout.splitlines():
        if text.startswith("+++ "):
            file = text[6:] if text.startswith("+++ b/") else None
        elif text.startswith("@@"):
            line = int(re.search(r"\+(\d+)", text)[1])
        elif text.startswith("+"):
            if file and file.endswith((".cpp", ".h")):
                found.append((file, line))
            line += 1
    return found


def named_lines(names):
    found = []
    for name in names:
        file, _, lines = name.partition(":")
        first, _, last = lines.partition("-")
        count = len((ROOT / file).read_text().splitlines())
        found += [(file, line) for line in range(int(first or 1), int(last or first or count) + 1)]
    return found


def mutations(places):
    """Yields (file, line number, mutated line)."""
    found = []
    for file, number in places:
        line = (ROOT / file).read_text().splitlines()[number - 1]
        code = line.split("//")[0]
        if code.lstrip().startswith(("#", "*")) or not code.strip():
            continue
        for pattern, replacement in OPERATORS:
            for match in re.finditer(pattern, code):
                found.append((file, number, line[:match.start()] + match.expand(replacement) + line[match.end():]))
        if STATEMENT.match(line):
            found.append((file, number, ""))
    return found


def survives(build, target, tests, file, number, line):
    """Returns None if the mutation does not build."""
    path = ROOT / file
    before = path.read_text()
    lines = before.splitlines(keepends=True)
    lines[number - 1] = line + "\n"
    try:
        path.write_text("".join(lines))
        if run("cmake", "--build", build, *target).returncode != 0:
            return None
        return run("ctest", "--test-dir", build, "-j2", "--stop-on-failure", *tests).returncode == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        path.write_text(before)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--since", default="HEAD~1")
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--most", type=int, default=40, help="number of mutations, drawn at random")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tests", help="regular expression on the names of tests (default: all unit tests)")
    parser.add_argument("--target", help="target to build for each mutation (default: all)")
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    target = ["--target", options.target] if options.target else []
    tests = ["-R", options.tests] if options.tests else ["-L", "unit"]
    candidates = mutations(named_lines(options.files) if options.files else changed_lines(options.since))
    chosen = candidates if len(candidates) <= options.most else random.Random(options.seed).sample(candidates, options.most)
    if not chosen:
        print("nothing to mutate")
        return 0
    survivors = unbuilt = 0
    for file, number, line in chosen:
        outcome = survives(options.build, target, tests, file, number, line)
        survivors += outcome is True
        unbuilt += outcome is None
        word = {True: "SURVIVED", False: "noticed", None: "does not build"}[outcome]
        print(f"{word:>14}  {file}:{number}: {line.strip() or '(statement removed)'}", flush=True)
    run("cmake", "--build", options.build, *target)
    print(f"{len(chosen)} of {len(candidates)} mutations: {len(chosen) - survivors - unbuilt} noticed, {survivors} survived, {unbuilt} do not build")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
