#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that a static build's archives and programs link what they use, and nothing else.

Usage: links_test.py BUILD_FOLDER. Exits with 77 (skipped) for shared libraries.
"""
import collections
import functools
import re
import subprocess
import sys
import unittest
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[2]
BUILD = Path(sys.argv[1] if len(sys.argv) > 1 else SOURCES / "build/release").resolve()
sys.path.insert(0, str(SOURCES / "tools"))
import check_layers  # noqa: E402

MODULES = {name: module for name, module in check_layers.read_modules(SOURCES).items() if not module.is_runner}
OF_TRACES = re.compile(r"\bheadroom::trace::")


def symbols(path, *options):
    """Yields (type, name) of each symbol of an archive or program."""
    text = subprocess.run(["nm", *options, path], check=True, capture_output=True, text=True).stdout
    return [found.groups() for found in re.finditer(r"^[0-9a-f ]{16,} (\w) (.*)$", text, re.MULTILINE)]


@functools.cache
def archives():
    """Returns {module: (defined symbols, undefined symbols)} of the archives."""
    found = {}
    for name in MODULES:
        path = BUILD / f"lib/libheadroom_{name}.a"
        if path.exists():
            kinds = collections.defaultdict(set)
            for kind, symbol in symbols(path):
                kinds[kind].add(symbol)
            defined = set().union(*(of for kind, of in kinds.items() if kind not in "Uvw"))
            found[name] = set().union(*(kinds[kind] for kind in "TDBR")), kinds["U"] - defined
    return found


def linked_by(name):
    """Returns the modules that linking module `name` brings in."""
    found, waiting = set(), [name]
    while waiting:
        new = set(MODULES[waiting.pop()].uses) - found
        found |= new
        waiting += new
    return found


def needed_by(name):
    """Returns {module: one of its symbols that module `name` leaves undefined}."""
    missing = archives()[name][1]
    return {other: min(missing & defined) for other, (defined, _) in archives().items() if other != name and missing & defined}


class Archives(unittest.TestCase):
    def test_there_are_archives_with_symbols(self):
        self.assertIn("base", archives())
        for name, (defined, _) in archives().items():
            self.assertTrue(defined, name)

    def test_what_a_module_calls_it_links(self):
        for name in archives():
            for other, symbol in needed_by(name).items():
                with self.subTest(f"{name} calls {other}"):
                    self.assertIn(other, linked_by(name), f"{MODULES[name].where}: add {other} to USES of {name}: {symbol}")

    def test_what_a_module_links_it_calls(self):
        for name in archives():
            for other in MODULES[name].uses:
                if other in archives():
                    with self.subTest(f"{name} uses {other}"):
                        self.assertIn(other, needed_by(name), f"{MODULES[name].where}: {name} needs only TYPES_OF {other}")


class Programs(unittest.TestCase):
    def archives_of(self, program):
        """Returns the modules whose archives the program's link command names."""
        if not (BUILD / "build.ninja").exists():
            self.skipTest("no build.ninja")
        text = (BUILD / "build.ninja").read_text(encoding="utf-8")
        line = re.search(rf"^build bin/{program}: (?:.+\n)*?  LINK_LIBRARIES = (.*)$", text, re.MULTILINE)
        self.assertTrue(line, program)
        found = re.findall(r"\blibheadroom_(\w+)\.a", line.group(1))
        return [name for name in found if name in MODULES]

    def test_headroom_needs_each_archive(self):
        linked = self.archives_of("headroom")
        self.assertIn("cli", linked)
        held = {symbol for _, symbol in symbols(BUILD / "bin/headroom")}
        self.assertEqual([name for name in linked if not held & archives()[name][0]], [])

    def test_those_that_know_no_traces(self):
        for program in ("headroom", "headroom-native"):
            with self.subTest(program):
                self.assertEqual([name for name in self.archives_of(program) if re.match("trace|pages", name)], [])
                held = [symbol for _, symbol in symbols(BUILD / "bin" / program, "--demangle")]
                self.assertTrue(held, "stripped")
                self.assertEqual([symbol for symbol in held if OF_TRACES.search(symbol)], [])


if __name__ == "__main__":
    if not (BUILD / "lib/libheadroom_base.a").exists():
        print(f"{BUILD}/lib has no archives: libraries are shared")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
