#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks include rules between folders, and rules for every source file.

    tools/check_layers.py [--summary] [ROOT]        ROOT: the repository, default the one with this file

Modules and their allowed includes are read from the headroom_module() calls of src/**/CMakeLists.txt. A runner's folder
may include the modules that its CMakeLists.txt links.

Prints "file:line: rule: what to do" for each breach. Exits with 1 if there is one, else 0.
--summary prints the size and structure of src instead.
"""
import argparse
import collections
import os
import re
import statistics
import sys

# Parts of a folder and the parts that each may include. "." is the folder's own files, "*" all parts.
PARTS = {
    "headroom/ranks": {".": "", "collectives": "", "dispatch": "", "ddp": "collectives"},
    "headroom_trace": {
        "columns": "", "bytes": "", "tables": "columns", "cost": "columns", "json": "", "readers": "columns json",
        "formats": "bytes columns json readers",
        ".": "columns readers tables",
        "work": "columns cost tables",
        "collectives": ". columns tables",
        "peers": ". collectives columns readers tables work",
        "recording": "columns peers readers work",
        "critical_path": ". collectives columns index tables work",
        "index": "collectives columns work",
        "findings": ". collectives columns cost critical_path index tables work",
        "ranks": ". collectives columns critical_path findings index",
        "report": ". columns findings index ranks readers tables",
        "merge": "collectives columns index json readers report tables",
        "timeline": "collectives columns index merge readers tables work",
        "analyses": ". collectives columns cost critical_path findings index peers ranks tables work",
        "program": ". columns formats merge peers readers report"},
    "headroom_native": {
        ".": "*", "kernels": "", "limits": "kernels", "llm": "kernels", "peers": "kernels", "gpt_fast": "kernels peers"},
    "headroom_torch": {
        "absent_headers": "", "tensors": "", "calls": "tensors", "llm": "tensors", "nccl": "tensors",
        "modules": "calls tensors", "dtensor": "nccl tensors", "ranks": "dtensor tensors",
        "collectives": "dtensor ranks tensors", "dispatch": "dtensor ranks tensors",
        "ddp": "calls dtensor nccl ranks tensors", ".": "calls llm modules nccl ranks tensors", "cuda": ". tensors"},
    "headroom_cuda": {
        ".": "*", "kernels": "", "device": "kernels", "limits": "device", "sm90a": "limits", "peers": "device kernels",
        "llm": "device kernels", "gpt_fast": "device kernels peers"},
}
# Definitions of other tools, and the only files outside their folder that may include them. Findings use only our definitions.
OTHER_TOOLS = "headroom_trace/peers/"
SHOW_OTHER_TOOLS = {"src/headroom_trace/" + path for path in (
    "analyses/collectives.cpp", "analyses/idle.cpp", "analyses/utilization.cpp", "program/main.cpp", "recording/measure_utilization.h")}
# Rule: which headers of others, and the folders that may include them.
OTHERS = {
    "torch": (re.compile(r"^(torch|ATen|c10|caffe2)/"), ("headroom_torch",)),
    "cuda": (re.compile(r"^(cuda|cublas|cudnn|cufft|curand|cusolver|cusparse|cutlass|cub|cupti|nccl|nvml|nvtx3?|thrust)"
                        r"([_./]|[A-Z0-9].*\.h|.*\.h$)|^nvToolsExt"), ("headroom_cuda_device", "headroom_cuda")),
    "mpi": (re.compile(r"^mpi(-ext)?\.h$"), ("headroom_mpi",)),
}
# Modules that may print, besides program/ and the runners' main().
PRINTING = {"console", "cli"}
# The library's caller may be a server, a test, or a program drawing a table.
PRINTS = re.compile(r"\bstd::(cout|cerr|clog)\b|\b(printf|puts|putchar|perror|vprintf)\s*\("
                    r"|\bfprintf\s*\(\s*std(out|err)\b|\bfputs\s*\([^;]*\bstd(out|err)\b|\bfmt::print\w*\s*\(")
EXITS = re.compile(r"\bstd::(exit|abort|quick_exit|terminate)\s*\(|(?<![\w.>:])(::)?(exit|abort|quick_exit)\s*\(")
EXPERIMENT = re.compile(r"^void (\w+)\((?:headroom::)?State&\s*\w*(?:, const Place& \w+)?\);", re.MULTILINE)
KEYWORDS = "USES|TYPES_OF|FOLDER|EXCLUDE|APART|LEVEL|PRIVATE|EXPORT"  # arguments of headroom_module()
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
CEREMONY = re.compile(r"// SPDX-|#pragma once|\s*#\s*include\b|(inline )?namespace\b[^;=]*\{$|\}\s*// namespace")

SOURCE_FOLDERS = ("src", "tests", "examples", "bench", "tools", "cmake")
SKIPPED_FOLDERS = {"build", "data", "golden", "__pycache__"}
CODE = (".cpp", ".h", ".cu", ".cuh")
SCRIPTS = (".py", ".sh", ".cmake", ".in")
FOREIGN_ENDINGS = {".cc": ".cpp", ".cxx": ".cpp", ".hpp": ".h", ".hh": ".h", ".hxx": ".h"}
VAGUE_WORDS = {"util", "utils", "manager", "helper", "helpers", "common", "shared", "impl"}
SNAKE_CASE = re.compile(r"^[a-z][a-z0-9]*(_[a-z0-9]+)*$")
LICENCE = "SPDX-License-Identifier: Apache-2.0"
MOST_FILES = 25  # limit of C++ files in a folder of src


# A library folder of src or a runner's folder. where: "CMakeLists.txt:line".
Module = collections.namedtuple("Module", "name folder where uses types_of is_runner")


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def source_files(root):
    """Returns the '/'-separated paths, relative to root, of every checked file."""
    for top in SOURCE_FOLDERS:
        for folder, folders, names in os.walk(os.path.join(root, top)):
            folders[:] = sorted(f for f in folders if f not in SKIPPED_FOLDERS and not f.startswith("."))
            for name in sorted(names):
                ending = os.path.splitext(name)[1]
                if name == "CMakeLists.txt" or ending in CODE + SCRIPTS or ending in FOREIGN_ENDINGS:
                    yield os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/")


def read_modules(root):
    """Returns {name: Module} from the CMakeLists.txt files below src."""
    modules, runners = {}, {}
    for path in source_files(root):
        if not path.startswith("src/") or not path.endswith("/CMakeLists.txt"):
            continue
        text, here = re.sub("#.*", "", read(root, path)), os.path.dirname(path)
        for call in re.finditer(r"headroom_module\(\s*(\w+)([^)]*)\)", text):
            name, *words = re.split(rf"\s+({KEYWORDS})\s+", call.group(1) + call.group(2))
            fields = dict(zip(words[::2], map(str.split, words[1::2])))
            folder = os.path.normpath(os.path.join(here, fields.get("FOLDER", [name.strip()])[0]))
            modules[name.strip()] = Module(name.strip(), folder, f"{path}:{text.count(chr(10), 0, call.start()) + 1}",
                                           fields.get("USES", []), fields.get("TYPES_OF", []), False)
        if "headroom_module(" not in text and re.search("add_(library|executable)[(]", text):
            runners[os.path.basename(here)] = here, text
    libraries = {f"headroom_{name}": name for name in modules}
    for name, (_, text) in runners.items():
        if re.search(rf"add_library\({name}\s+(?!MODULE)", text):
            libraries[name] = name
    for name, (folder, text) in runners.items():
        uses = {libraries[word] for word in re.findall(r"\w+", text) if libraries.get(word, name) != name}
        modules[name] = Module(name, folder, f"{folder}/CMakeLists.txt:1", sorted(uses),
                               ["runner"] if "headroom_runner_main" in text else [], True)
    return modules


def module_of(modules, path):
    """Returns the module with the longest folder that contains `path`, or None."""
    return max((m for m in modules.values() if path.startswith(m.folder + "/")), key=lambda m: len(m.folder), default=None)


def read_includes(root, modules):
    """Returns {path of each C++ file in src: [(line number, quote, included file, its Module or None)]}."""
    return {path: [(number, *found.groups(), module_of(modules, "src/" + found.group(2)))
                   for number, found in enumerate(map(INCLUDE.match, read(root, path).splitlines()), 1) if found]
            for path in source_files(root) if path.startswith("src/") and path.endswith(CODE)}


def arrows_of(modules, includes):
    """Returns {module name: names of the other modules whose headers its files include}."""
    arrows = {name: set() for name in modules}
    for path, found in includes.items():
        if module := module_of(modules, path):
            arrows[module.name] |= {other.name for *_, other in found if other and other is not module}
    return arrows


def in_circles(graph):
    """Returns the nodes of {node: nodes} that lie on a cycle."""
    reached = {node: set(others) for node, others in graph.items()}
    for middle in graph:
        for others in reached.values():
            others |= reached[middle] if middle in others else set()
    return sorted(node for node in reached if node in reached[node])


def without_comments(text):
    """Returns the text without comments and string contents; line numbers are kept."""
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"',
                  lambda found: '""' if found.group()[0] == '"' else "\n" * found.group().count("\n"), text, flags=re.DOTALL)


def part_breach(path, target):
    """Returns why one part of a folder may not include another, or None."""
    for folder, parts in PARTS.items():
        if path.startswith(f"src/{folder}/") and target.startswith(folder + "/"):
            own, other = (rest.split("/")[0] if "/" in rest else "."
                          for rest in (path[len(f"src/{folder}/"):], target[len(f"{folder}/"):]))
            if own not in parts:
                return f"{own} is not a known part of {folder}: add its allowed includes to PARTS of tools/check_layers.py"
            if own != other and other not in parts[own].split() and parts[own] != "*":
                return f"{own} may include only {parts[own] or 'itself'} of {folder}, not {other}: move the code"
    if target.startswith(OTHER_TOOLS) and not path.startswith("src/" + OTHER_TOOLS) and path not in SHOW_OTHER_TOOLS:
        return f"{OTHER_TOOLS} is for parity with other tools: use our own definition"
    return None


def include_breach(module, path, quote, target, other):
    """Returns (rule, what to do) for one #include of a file in src, or None."""
    for rule, (headers, folders) in OTHERS.items():
        if headers.match(target):
            return None if path.split("/")[1] in folders else (
                rule, f"{target}: only {' and '.join(folders)} may include it: move this code there")
    if other and other is not module and other.name not in module.uses + module.types_of:
        return "layer", (f"{module.name} does not use {other.name} ({module.where}): move the code, pass the data as a "
                         "parameter, or link it")
    if other and (breach := part_breach(path, target)):
        return "layer", breach
    if other and quote == "<":
        return "include", f'write #include "{target}": angle brackets are for other libraries'
    is_relative = quote == '"' and ("/" not in target or target.startswith("."))
    return ("include", f'write the path from src/: "headroom/.../{target.split("/")[-1]}"') if is_relative else None


def check_code(module, path, text, includes):
    if not module:
        yield 1, "layer", "in no module: add headroom_module() to a CMakeLists.txt, with its uses"
        return
    for number, quote, target, other in includes:
        if breach := include_breach(module, path, quote, target, other):
            yield number, *breach
    if module.is_runner or module.name in PRINTING or "/program/" in path or "main" in os.path.basename(path):
        return
    for number, line in enumerate(without_comments(text).splitlines(), 1):
        if PRINTS.search(line):
            yield number, "prints", "the library never prints: return the text, or throw headroom::Error"
        if EXITS.search(line):
            yield number, "exits", "the library never exits: throw headroom::Error, or return an outcome"


def check_name(path):
    folder, name = os.path.split(path)
    stem, ending = os.path.splitext(name)
    if ending in FOREIGN_ENDINGS:
        yield 1, "name", f"rename it to {stem}{FOREIGN_ENDINGS[ending]}: sources end in .cpp, headers in .h"
    is_named = ending in CODE + (".py", ".sh") or ending in FOREIGN_ENDINGS
    for word in folder.split("/")[1:] + [stem] * is_named:
        if not SNAKE_CASE.match(word):
            yield 1, "name", f"'{word}' is not snake_case: rename it"
        if vague := VAGUE_WORDS.intersection(word.lower().split("_")):
            yield 1, "name", f"'{word}' is too vague ({', '.join(sorted(vague))}): use a specific name"


def check_licence(text):
    first = int(text.startswith("#!"))
    if LICENCE not in "".join(text.splitlines()[first:first + 1]):
        yield first + 1, "licence", f"begin the file with a comment '{LICENCE}'"


def check_experiments(root, path, text):
    """Checks that the runner's experiments.cpp has every experiment that its headers declare."""
    table = "/".join(path.split("/")[:2]) + "/experiments.cpp"
    entries = without_comments(read(root, table)) if os.path.exists(os.path.join(root, table)) else ""
    for found in EXPERIMENT.finditer(text):
        if not re.search(rf"\b{found.group(1)}\b", entries):
            yield (text.count("\n", 0, found.start()) + 1, "table",
                   f"the experiment '{found.group(1)}' is not in {table}: add its line there")


def check_modules(modules, includes):
    """Checks what modules link and the number of files per folder."""
    arrows = arrows_of(modules, includes)
    for module in modules.values():
        for other in module.uses + ([] if module.is_runner else module.types_of):
            if other not in modules:
                yield f"{module.where}: layer: {module.name} uses {other}, which is not a module"
            elif other not in arrows[module.name]:
                yield f"{module.where}: layer: {module.name} links {other} but includes none of its headers: remove it"
    if circle := in_circles({m.name: [n for n in m.uses + m.types_of if n in modules] for m in modules.values()}):
        yield f"{modules[circle[0]].where}: layer: {', '.join(circle)} use each other in a circle: move the code"
    for folder, count in sorted(collections.Counter(map(os.path.dirname, includes)).items()):
        if count > MOST_FILES:
            yield f"{folder}:1: folder: {count} C++ files, {MOST_FILES} at most: move related files to a folder"


def check(root):
    """Returns every breach below root as a line to print."""
    modules = read_modules(root)
    includes = read_includes(root, modules)
    breaches = list(check_modules(modules, includes))
    for path in source_files(root):
        text = read(root, path)
        found = [*check_name(path), *check_licence(text)]
        if path in includes:
            found += check_code(module_of(modules, path), path, text, includes[path])
        if path.startswith("src/headroom_") and path.endswith(".h"):
            found += check_experiments(root, path, text)
        breaches += [f"{path}:{number}: {rule}: {what}" for number, rule, what in sorted(found)]
    return breaches


def summary(root):
    """Returns the size and structure of src as lines to print."""
    modules = read_modules(root)
    includes = read_includes(root, modules)
    arrows = arrows_of(modules, includes)
    texts = [read(root, path).splitlines() for path in includes]
    lines = sum(texts, [])
    users = collections.Counter("src/" + target for path, found in includes.items() for _, _, target, _ in found
                                if os.path.splitext(target)[0] != os.path.splitext(path[len("src/"):])[0])
    headers = [users[path] for path in includes if path.endswith((".h", ".cuh"))]
    return [f"files                  {len(texts)}",
            f"lines                  {len(lines)}",
            f"median lines           {statistics.median(map(len, texts)):g}",
            f"ceremony               {sum(bool(CEREMONY.match(line)) for line in lines) / len(lines):.1%} of lines",
            f"headers with one user  {headers.count(1)} of {len(headers)}, besides their source",
            f"modules                {len(modules)}",
            f"arrows                 {sum(map(len, arrows.values()))}",
            f"modules in circles     {len(in_circles(arrows))}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--summary", action="store_true")
    parser.add_argument("root", nargs="?", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    options = parser.parse_args()
    if not os.path.isdir(os.path.join(options.root, "src")):
        parser.error(f"{options.root} has no src folder: give the repository's root")
    lines = summary(options.root) if options.summary else check(options.root)
    print("\n".join(lines), end="\n" if lines else "")
    return 1 if lines and not options.summary else 0


if __name__ == "__main__":
    sys.exit(main())
