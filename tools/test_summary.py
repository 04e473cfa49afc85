#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Summarises JUnit files of ctest in a line: "N passed, N failed[, N skipped]".

A second file has the tests that failed in the first and were rerun alone. Lines before the last count and name those that
passed then, and those that failed again.
--failed FILE prints only the names of the failed tests, one a line. Exits with 1 if a test failed, if none ran, or
if a file cannot be read.
"""
import sys
import xml.etree.ElementTree as ElementTree

# ctest's `message` of a test that asked to be skipped. Any other reason (missing executable, failed fixture) means that a test should have
# run.
ASKED_TO_SKIP = ("SKIP_RETURN_CODE", "SKIP_REGULAR_EXPRESSION", "Disabled")


def outcome(test):
    """Returns passed, failed or skipped for one <testcase>."""
    if test.get("status") == "run":
        return "passed"
    if test.get("status") == "disabled":
        return "skipped"
    skipped = test.find("skipped")
    if skipped is not None and skipped.get("message", "").startswith(ASKED_TO_SKIP):
        return "skipped"
    return "failed"


def outcomes(path):
    """Returns {name: outcome} of the tests of a file."""
    return {test.get("name"): outcome(test) for test in ElementTree.parse(path).getroot().iter("testcase")}


def repeated(kind, names):
    """Returns the line on rerun tests with this outcome."""
    return f"{len(names)} timing {'test' if len(names) == 1 else 'tests'} {kind}: {', '.join(sorted(names))}"


def summarize(first, alone):
    """Returns the closing lines and whether all tests passed."""
    again = {name: result for name, result in alone.items() if first.get(name) == "failed"}
    rescued = [name for name, result in again.items() if result == "passed"]
    lost = [name for name, result in again.items() if result == "failed"]
    lines = [repeated(kind, names) for kind, names in (("passed only alone", rescued), ("failed alone, too", lost)) if names]
    results = list({**first, **{name: "passed" for name in rescued}}.values())
    counts = {kind: results.count(kind) for kind in ("passed", "failed", "skipped")}
    lines.append("{passed} passed, {failed} failed".format(**counts))
    if counts["skipped"]:
        lines[-1] += ", {skipped} skipped".format(**counts)
    return lines, counts["failed"] == 0 and counts["passed"] > 0


def main(arguments):
    only_names = arguments[:1] == ["--failed"]
    paths = arguments[1:] if only_names else arguments
    if len(paths) not in ((1,) if only_names else (1, 2)):
        print("usage: test_summary.py [--failed] JUNIT_FILE [JUNIT_FILE_OF_THOSE_RUN_ALONE]", file=sys.stderr)
        return 2
    results = []
    for path in paths:
        try:
            results.append(outcomes(path))
        except (OSError, ElementTree.ParseError) as error:
            print(f"test_summary: {path}: {error}; did ctest start?", file=sys.stderr)
            return 1
    if only_names:
        for name, result in results[0].items():
            if result == "failed":
                print(name)
        return 0
    lines, good = summarize(results[0], results[1] if len(results) > 1 else {})
    print("\n".join(lines))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
