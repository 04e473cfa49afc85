#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that files which are compiled together (headroom_compile_together) do not take each other's names.

What the files of a folder define in unnamed namespaces is then in one: two types or constants of a name do not compile where
they meet, and of two functions a call may silently take the other file's, also in place of one from a header. So such names
differ, but for functions that no call confuses: of other numbers of parameters, or of other types of ours at one place.

    tools/check_names.py [ROOT]        ROOT: the repository, default the one that this file is in

Prints "file:line: name: what to do" for each breach. Exits with 0 when there is none, 1 when there is one.
"""
import os
import re
import sys

# Folders whose files are compiled one by one, as their CMakeLists.txt say.
ALONE = {"src/headroom/record/formats", "src/headroom/trace/analyses", "src/headroom_cuda/kernels", "src/headroom_cuda_device",
         "src/headroom_cuda_device/cupti", "src/headroom_native", "src/headroom_native/llm", "src/headroom_native/peers",
         "tests/cli", "tests/fuzz", "tests/unit/cuda_device", "tests/unit/cuda_kernels"}

UNNAMED = re.compile(r"^namespace \{\n(.*?)^\}  // namespace$", re.S | re.M)
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)
TYPE = re.compile(r"(?:template <[^{]*> ?)?(?:struct|class|enum class|enum|union) (?:alignas\(.*?\) )?(\w+)(?: final)?(?: : .*)?$")
FUNCTION = re.compile(r"(?:\[\[.*?\]\] ?|template <[^{]*?> )*[\w:][^={(]*?[ &*]([\w:]+)\(")
CONSTANT = re.compile(r"[^={;(]*?\b(\w+)(?:\[[^\]]*\])*\s*[={;(]")
OTHER = ("using ", "namespace ", "static_assert", "template class", "extern ", "friend ")
MACRO = re.compile(r"[A-Z][A-Z_0-9]+\(")
# Types of ours that much may be made into: a call does not tell them from others.
ANYTHING = {"Json", "Cell"}


def split_outside(text, separator):
    """The parts of `text` between separators that are in no brackets."""
    parts, depth, start = [], 0, 0
    for at, c in enumerate(text):
        depth += (c in "(<[{") - (c in ")>]}")
        if c == separator and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return parts + [text[start:]]


def parameters_of(text):
    """(number that a call needs, types): a type is None where a call may convert to it."""
    given = [p.strip() for p in split_outside(text, ",") if p.strip() not in ("", "void")]
    types = []
    for parameter in given:
        words = " ".join(re.sub(r"=.*|\bconst\b|[&*]|\[\]", " ", re.sub(r"\[\[.*?\]\]", "", parameter)).split())
        named = re.fullmatch(r"(?:\w+::)*([A-Z]\w*)(?: \w+)?", words)
        held = re.fullmatch(r"std::(?:vector|map|set|unordered_map|array|pair|tuple|shared_ptr|unique_ptr)<(.*)>(?: \w+)?", words)
        if named and named.group(1) not in ANYTHING:
            types.append(named.group(1))
        else:
            types.append("std::" + held.group(1).replace(" ", "") if held else None)
    return len([p for p in given if "=" not in p]), types


def inside_parentheses(text):
    depth = 1
    for at, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if depth == 0:
            return text[:at]
    return text


def definitions(text, first_line):
    """(line number, name, what) of what stands at the left margin: ("function", parameters), ("alias", text), ("other", "")."""
    lines = text.split("\n")
    for at, line in enumerate(lines):
        if not re.match(r"[A-Za-z\[]", line) or MACRO.match(line):
            continue
        whole, next_line = line, at + 1
        while next_line < len(lines) and (not re.search(r"[{;=]", whole) or whole.count("(") > whole.count(")")):
            whole += " " + lines[next_line].strip()
            next_line += 1
        head = whole.split("{")[0].split(";")[0].rstrip()
        function = FUNCTION.match(whole)
        if found := re.match(r"using (\w+) = ", whole):
            yield first_line + at, found.group(1), ("alias", whole)
        elif whole.startswith(OTHER):
            continue
        elif found := TYPE.match(head):
            if "{" in whole:
                yield first_line + at, found.group(1), ("other", "")
        elif function:
            if "::" not in function.group(1):
                yield first_line + at, function.group(1), ("function", parameters_of(inside_parentheses(whole[function.end():])))
        elif found := CONSTANT.match(whole):
            yield first_line + at, found.group(1), ("other", "")


def unnamed_definitions(text):
    for block in UNNAMED.finditer(text):
        yield from definitions(block.group(1), text[:block.start(1)].count("\n") + 1)


def clash(a, b):
    if a[0] != "function" or b[0] != "function":
        return a[0] != "alias" or a != b
    (least_a, types_a), (least_b, types_b) = a[1], b[1]
    if least_a > len(types_b) or least_b > len(types_a):
        return False
    return not any(x and y and x != y for x, y in zip(types_a, types_b))


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def header_functions(root, folder, included, cache):
    """The functions that a header of ours declares; nothing where it is not ours."""
    for path in (os.path.join(root, "src", included), os.path.join(folder, included)):
        path = os.path.normpath(path)
        if path not in cache and os.path.isfile(path):
            text = UNNAMED.sub("", read(path))
            cache[path] = [(name, what) for _, name, what in definitions(text, 1) if what[0] == "function"]
        if path in cache:
            return cache[path]
    return []


def breaches_in(root, place, folder, names, cache):
    texts = {name: read(os.path.join(folder, name)) for name in names}
    unnamed = {name: list(unnamed_definitions(text)) for name, text in texts.items()}
    seen = {}
    for name in names:
        for included in INCLUDE.findall(texts[name]):
            for word, what in header_functions(root, folder, included, cache):
                seen.setdefault(word, []).append((name, what, included))
    known = {}
    for name in names:
        for number, word, what in unnamed[name]:
            where = [f"the unnamed namespace of {other}" for other, said in known.get(word, []) if other != name and clash(what, said)]
            if what[0] == "function":
                where += [f"{header}, which {other} includes" for other, said, header in seen.get(word, [])
                          if other != name and clash(what, said)]
            if where:
                yield (f"{place}/{name}:{number}: name: {word} is in {where[0]} too, and these may be compiled together: "
                       "rename one, or share it")
        for _, word, what in unnamed[name]:
            known.setdefault(word, []).append((name, what))


def breaches(root):
    cache = {}
    for top in ("src", "tests"):
        for folder, folders, names in os.walk(os.path.join(root, top)):
            folders.sort()
            place = os.path.relpath(folder, root).replace(os.sep, "/")
            if place not in ALONE:
                yield from breaches_in(root, place, folder, sorted(n for n in names if n.endswith(".cpp")), cache)


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    found = list(breaches(root))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
