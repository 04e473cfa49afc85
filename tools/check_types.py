#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that no two headers define a type of the same name in the same namespace.

Linkers silently keep one of two inline functions with the same name, so a program with both types would run the wrong code.

    tools/check_types.py [ROOT]        ROOT: the repository, default the one with this file

Prints "file:line: type: what to do" for each breach. Exits with 1 if there is one, else 0.
"""
import os
import re
import sys

NAMESPACE = re.compile(r"^namespace ([\w:]+) \{")
NAMESPACE_END = re.compile(r"^\}  // namespace")
TYPE = re.compile(r"^(?:template <.*> )?(?:struct|class|enum class|enum) (?:alignas\(.*?\) )?(\w+(?:<[^;{]*>)?)[^;]*\{")


def types_of(text):
    """Yields (line number, qualified name) of each type that a header defines at namespace scope."""
    namespaces = []
    for number, line in enumerate(text.split("\n"), 1):
        if found := NAMESPACE.match(line):
            namespaces.append(found.group(1))
        elif NAMESPACE_END.match(line) and namespaces:
            namespaces.pop()
        elif found := TYPE.match(line):
            yield number, "::".join([*namespaces, found.group(1)])


def breaches(root):
    first = {}
    for folder, folders, names in os.walk(os.path.join(root, "src")):
        folders.sort()
        for name in sorted(names):
            if not name.endswith((".h", ".cuh")):
                continue
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read()
            place = os.path.relpath(path, root).replace(os.sep, "/")
            for number, qualified in types_of(text):
                if qualified in first and first[qualified] != place:
                    yield f"{place}:{number}: type: {qualified} is defined in {first[qualified]} too: rename one of them"
                first.setdefault(qualified, place)


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    found = list(breaches(root))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
