#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks by text that headers compile alone.

    tools/check_includes.py [ROOT]        ROOT: the repository, default the one with this file

- A source file includes the header of the same name first, so that compiling it proves the header complete. (Only the preset
  `dev` proves it: precompiled headers and unity builds add includes.)
- A header that uses a name of a precompiled header (HEADROOM_LIBRARY_HEADERS in cmake/HeadroomSettings.cmake) includes that
  header, directly or through our headers. NAMES lists the names.

The rest is checked by the compiler: ctest headers_compile_alone for public headers without a source file, tools/soak.sh for
every public header.

Prints "file:line: include: what to do" for each breach. Exits with 1 if there is one, else 0.
"""
import os
import re
import sys

HEADERS = (".h", ".cuh")
SOURCES = (".cpp", ".cu")
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]')
SETTINGS = "cmake/HeadroomSettings.cmake"

# Names that require a header.
NAMES = {
    "algorithm": r"std::(?:ranges::)?(?:sort|stable_sort|partial_sort|nth_element|min|max|minmax|clamp|min_element|max_element"
                 r"|copy|copy_n|copy_if|fill|fill_n|find|find_if|any_of|all_of|none_of|count|count_if|transform|lower_bound"
                 r"|upper_bound|equal_range|binary_search|equal|reverse|rotate|shuffle|unique|generate|partition|for_each)\b",
    "array": r"std::array\b",
    "chrono": r"std::chrono\b",
    "cmath": r"std::(?:sqrt|cbrt|pow|hypot|exp|exp2|expm1|log|log2|log10|log1p|abs|fabs|fmod|fma|floor|ceil|round|lround|llround"
             r"|trunc|isnan|isinf|isfinite|signbit|sin|cos|tan|tanh|atan|atan2|tgamma|lgamma|erf|erfc)\b",
    "cstdint": r"std::u?int(?:8|16|32|64|ptr|max)_t\b",
    "filesystem": r"std::filesystem\b",
    "fmt/format.h": r"\bfmt::",
    "functional": r"std::(?:function|bind|bind_front|ref|cref|hash|less|greater|invoke|plus)\b",
    "map": r"std::(?:multi)?map\b",
    "memory": r"std::(?:(?:unique|shared|weak)_ptr|make_(?:unique|shared)|enable_shared_from_this)\b",
    "optional": r"std::(?:optional|nullopt)\b",
    "set": r"std::(?:multi)?set\b",
    "span": r"std::span\b",
    "string": r"std::(?:string|to_string|stoi|stol|stod)\b",
    "string_view": r"std::string_view\b",
    "utility": r"std::(?:move|forward|exchange|swap|pair|make_pair|in_place|index_sequence)\b",
    "variant": r"std::(?:variant|visit|get_if|holds_alternative|monostate)\b",
    "vector": r"std::vector\b",
}
# Headers that another header is documented to include, or must include for its declarations.
BRINGS = {
    "filesystem": {"string", "string_view"},
    "string": {"string_view"},
}


def files_of(root, endings):
    """Returns the '/'-separated paths, relative to root, of the files below src/ with these endings."""
    for folder, folders, names in os.walk(os.path.join(root, "src")):
        folders.sort()
        for name in sorted(names):
            if name.endswith(endings):
                yield os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/")


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def includes_of(text):
    """Yields (line number, included header) of each #include."""
    for number, line in enumerate(text.split("\n"), 1):
        if found := INCLUDE.match(line):
            yield number, found.group(1)


def own_header_breaches(root):
    for path in files_of(root, SOURCES):
        stem = os.path.splitext(path)[0]
        own = next((stem + ending for ending in HEADERS if os.path.exists(os.path.join(root, stem + ending))), None)
        first = next(includes_of(read(root, path)), (1, ""))
        if own and first[1] != own[len("src/"):]:
            yield f'{path}:{first[0]}: include: include "{own[len("src/"):]}" first, to prove that it compiles alone'


def reached(root, path, cache):
    """Returns the external headers that one of our headers includes, directly or through our headers."""
    if path not in cache:
        cache[path] = found = set()  # set first: ends the recursion on include cycles
        for _, included in includes_of(read(root, path)):
            ours = f"src/{included}"
            if os.path.exists(os.path.join(root, ours)):
                found |= reached(root, ours, cache)
            else:
                found |= {included} | BRINGS.get(included, set())
    return cache[path]


def missing_header_breaches(root):
    cache = {}
    for path in files_of(root, HEADERS):
        code = re.sub(r"//.*", "", re.sub(r'"(?:\\.|[^"\\])*"', '""', read(root, path)))
        for header, names in NAMES.items():
            found = re.search(names, code)
            if found and header not in reached(root, path, cache):
                line = code.count("\n", 0, found.start()) + 1
                yield f"{path}:{line}: include: {found.group()} needs #include <{header}>"


def unknown_header_breaches(root):
    """Reports precompiled headers missing from NAMES."""
    if not os.path.exists(os.path.join(root, SETTINGS)):
        return
    found = re.search(r"set\(HEADROOM_LIBRARY_HEADERS([^)]*)\)", read(root, SETTINGS))
    for header in re.findall(r"<([^>]+)>", found.group(1) if found else ""):
        if header not in NAMES:
            yield f"{SETTINGS}:1: include: add the names that need <{header}> to NAMES of tools/check_includes.py"


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    found = [*own_header_breaches(root), *missing_header_breaches(root), *unknown_header_breaches(root)]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
