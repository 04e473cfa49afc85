#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what a JUnit file of ctest amounts to: "N passed, N failed[, N skipped]".

Exits with 1 when a test failed, when none ran, or when the file cannot be read.
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


def summarize(path):
    """The closing line, and whether all is well."""
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for test in ElementTree.parse(path).getroot().iter("testcase"):
        counts[outcome(test)] += 1
    line = "{passed} passed, {failed} failed".format(**counts)
    if counts["skipped"]:
        line += ", {skipped} skipped".format(**counts)
    return line, counts["failed"] == 0 and counts["passed"] > 0


def main(arguments):
    if len(arguments) != 1:
        print("usage: test_summary.py JUNIT_FILE", file=sys.stderr)
        return 2
    try:
        line, good = summarize(arguments[0])
    except (OSError, ElementTree.ParseError) as error:
        print(f"test_summary: {arguments[0]}: {error}; did ctest start?", file=sys.stderr)
        return 1
    print(line)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
