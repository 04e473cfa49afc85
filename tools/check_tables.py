#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that nothing that was written is left out: of its table, or of the build.

A table is a file X.cpp beside a folder X/ (commands.cpp and commands/): it lists what the folder's files define.
  table    every .cpp in such a folder is mentioned by its stem in the table: run.cpp by `run`, `run_command`, "run" …;
           run_options.cpp is a part of that entry
  table    every experiment of a runner, `void name(State&)` or `void name(State&, const Place&)` in a header of src/headroom_*/, is in its experiments.cpp
  build    every .cpp and .h under src/ is listed in a CMakeLists.txt

    tools/check_tables.py [ROOT]        ROOT: the repository, default the one that this file is in

Prints "file:line: rule: what to do" for each breach. Exits with 0 when there is none, 1 when there is one.
"""
import os
import re
import sys

# Folders that must have a table: one file is one entry.
TABLE_FOLDERS = {"commands", "formats", "analyses", "experiments"}
CODE = (".cpp", ".h", ".cu", ".cuh")
UNITS = (".cpp", ".cu")
EXPERIMENT = re.compile(r"^void (\w+)\((?:headroom::)?State&\s*\w*(?:, const Place& \w+)?\);", re.MULTILINE)
VARIABLES = {"${CMAKE_CURRENT_SOURCE_DIR}": "{here}", "${CMAKE_CURRENT_LIST_DIR}": "{here}",
             "${PROJECT_SOURCE_DIR}": "{root}", "${headroom_SOURCE_DIR}": "{root}", "${CMAKE_SOURCE_DIR}": "{root}"}


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def folders_of(root):
    """(path relative to root, folder names, file names) of src and all below it."""
    for folder, folders, names in os.walk(os.path.join(root, "src")):
        folders.sort()
        yield os.path.relpath(folder, root).replace(os.sep, "/"), folders, sorted(names)


def entries_text(text):
    """What of a table's source can be an entry: neither comments nor includes."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
    text = re.sub(r"//[^\n]*", " ", text)
    return re.sub(r"^\s*#\s*include[^\n]*", " ", text, flags=re.MULTILINE)


def mentions(text, stem):
    """Whether `stem` is in the text as a word, or as whole words of a longer snake_case name."""
    return re.search(rf"(?<![A-Za-z0-9]){re.escape(stem)}(?![A-Za-z0-9])", text) is not None


def check_tables(root):
    for folder, folders, names in folders_of(root):
        for entry_folder in folders:
            table = f"{folder}/{entry_folder}.cpp"
            has_table = f"{entry_folder}.cpp" in names
            inside = sorted(os.listdir(os.path.join(root, folder, entry_folder)))
            units = [name for name in inside if name.endswith(UNITS)]
            if not units or (not has_table and entry_folder not in TABLE_FOLDERS):
                continue
            if not has_table:
                yield f"{folder}/{entry_folder}:1: table: its table is missing: write {table} with an entry for each file"
                continue
            text = entries_text(read(os.path.join(root, table)))
            stems = [os.path.splitext(name)[0] for name in units]
            for name, stem in zip(units, stems):
                is_part = any(stem.startswith(entry + "_") for entry in stems if mentions(text, entry))
                if not is_part and not mentions(text, stem):
                    yield (f"{folder}/{entry_folder}/{name}:1: table: '{stem}' is not in {table}: add its line there, "
                           f"or move the file out of {entry_folder}/ when it is not an entry")


def check_experiments(root):
    """The experiments of a runner lie in one folder with its kernels: what they are is told by their signature."""
    for folder, _, names in folders_of(root):
        runner = folder.split("/")[1] if "/" in folder else ""
        if not runner.startswith("headroom_"):
            continue
        table = f"src/{runner}/experiments.cpp"
        full = os.path.join(root, table)
        text = entries_text(read(full)) if os.path.exists(full) else ""
        for name in names:
            header = read(os.path.join(root, folder, name)) if name.endswith(".h") else ""
            for match in EXPERIMENT.finditer(header):
                if not mentions(text, match.group(1)):
                    line = header.count("\n", 0, match.start()) + 1
                    yield f"{folder}/{name}:{line}: table: the experiment '{match.group(1)}' is not in {table}: add its line there"


def listed_files(root):
    """The source files that the CMakeLists.txt below src list: {path: "CMakeLists.txt:line"}."""
    listed = {}
    for folder, _, names in folders_of(root):
        if "CMakeLists.txt" not in names:
            continue
        text = read(os.path.join(root, folder, "CMakeLists.txt"))
        made = re.findall(r"configure_file\([^\s)]+\s+([^\s)]+)", text)  # in the build folder
        for number, line in enumerate(text.splitlines(), 1):
            # <ATen/ATen.h> is a header of somebody else's; $<CONFIG> and its like are CMake's.
            own = re.sub(r"(?<!\$)<[\w./+-]+>", "", line.split("#")[0])
            for token in re.split(r'[\s()";<>:]+', own):
                if token and token.endswith(CODE) and os.path.basename(token) not in made:
                    for variable, value in VARIABLES.items():
                        token = token.replace(variable, value)
                    token = token.replace("{here}", folder) if "{" in token else f"{folder}/{token}"
                    path = os.path.normpath(token.replace("{root}/", ""))
                    listed[path] = f"{folder}/CMakeLists.txt:{number}"
    return listed


def nearest_list(root, folder):
    while not os.path.exists(os.path.join(root, folder, "CMakeLists.txt")) and "/" in folder:
        folder = os.path.dirname(folder)
    return f"{folder}/CMakeLists.txt"


def check_build(root):
    listed = listed_files(root)
    for folder, _, names in folders_of(root):
        for name in names:
            path = f"{folder}/{name}"
            # Headers are listed where they are installed: those of the library.
            private = name.endswith((".h", ".cuh")) and not folder.startswith("src/headroom/")
            if name.endswith(CODE) and path not in listed and not private:
                where = nearest_list(root, folder)
                kind = "among the headers" if name.endswith((".h", ".cuh")) else "among the sources"
                yield f"{path}:1: build: listed in no CMakeLists.txt: add it to {where}, {kind}"
    for path, where in sorted(listed.items()):
        if path.startswith("src/") and not os.path.exists(os.path.join(root, path)):
            yield f"{where}: build: {path} does not exist: take it out, or write it"


def check(root):
    """Every breach in the tree at root, as lines to print."""
    return list(check_tables(root)) + list(check_experiments(root)) + list(check_build(root))


def main(arguments):
    if len(arguments) > 1 or arguments[:1] in (["-h"], ["--help"]):
        print(__doc__.strip())
        return 2
    root = arguments[0] if arguments else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    if not os.path.isdir(os.path.join(root, "src")):
        print(f"check_tables: {root} has no src folder: give the repository's root", file=sys.stderr)
        return 2
    breaches = check(root)
    for breach in breaches:
        print(breach)
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
