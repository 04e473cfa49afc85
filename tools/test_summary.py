#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what JUnit files of ctest amount to: "N passed, N failed[, N skipped][; passed only alone: NAME...]".

The second file, where there is one, is of the tests that failed in the first and ran again, alone.
--failed FILE prints only how many failed. Exits with 1 when a test failed, when none ran, or when a file cannot be read.
"""
import sys
import xml.etree.ElementTree as ElementTree

# ctest gives these in the `message` of a <skipped> test that asked to be skipped; any other reason (an executable
# that is missing, a failed fixture) means that a test that should have run did not.
ASKED_TO_SKIP = ("SKIP_RETURN_CODE", "SKIP_REGULAR_EXPRESSION", "Disabled")


def outcome(test):
    """passed, failed or skipped, for one <testcase>."""
    if test.get("status") == "run":
        return "passed"
    if test.get("status") == "disabled":
        return "skipped"
    skipped = test.find("skipped")
    if skipped is not None and skipped.get("message", "").startswith(ASKED_TO_SKIP):
        return "skipped"
    return "failed"


def outcomes(path):
    """The outcome of each test of a file, by name."""
    return {test.get("name"): outcome(test) for test in ElementTree.parse(path).getroot().iter("testcase")}


def summarize(first, alone):
    """The closing line, and whether all is well."""
    rescued = sorted(name for name, result in alone.items() if result == "passed" and first.get(name) == "failed")
    results = list({**first, **{name: "passed" for name in rescued}}.values())
    counts = {kind: results.count(kind) for kind in ("passed", "failed", "skipped")}
    line = "{passed} passed, {failed} failed".format(**counts)
    if counts["skipped"]:
        line += ", {skipped} skipped".format(**counts)
    if rescued:
        line += "; passed only alone: " + ", ".join(rescued)
    return line, counts["failed"] == 0 and counts["passed"] > 0


def main(arguments):
    only_count = arguments[:1] == ["--failed"]
    paths = arguments[1:] if only_count else arguments
    if len(paths) not in ((1,) if only_count else (1, 2)):
        print("usage: test_summary.py [--failed] JUNIT_FILE [JUNIT_FILE_OF_THOSE_RUN_ALONE]", file=sys.stderr)
        return 2
    results = []
    for path in paths:
        try:
            results.append(outcomes(path))
        except (OSError, ElementTree.ParseError) as error:
            print(f"test_summary: {path}: {error}; did ctest start?", file=sys.stderr)
            return 1
    if only_count:
        print(list(results[0].values()).count("failed"))
        return 0
    line, good = summarize(results[0], results[1] if len(results) > 1 else {})
    print(line)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
