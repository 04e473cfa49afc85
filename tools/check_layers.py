#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks which folder may include which, and the rules that hold for every source file.

    tools/check_layers.py [ROOT]        ROOT: the repository, default the one that this file is in

Prints "file:line: rule: what to do" for each breach. Exits with 0 when there is none, 1 when there is one.
"""
import os
import re
import sys

# The modules of src/headroom, and the modules that each may include beside itself. This is the dependency graph of
# docs/architecture.md; to change it is a design decision.
LIBRARY = {
    "base": "",
    "stats": "base",
    "process": "base",
    "record": "base stats",
    "machine": "base process record",
    "report": "base stats record machine",
    "compare": "base stats record report",
    "command": "base stats process record machine compare report",
    "experiment": "base record machine",
    "runner": "base process experiment",
    "workload": "base experiment",
    "ranks": "base stats process record machine compare experiment runner report",
    "schedule": "base stats process record machine experiment runner ranks",
    "trace": "base stats record report",
    "page": "base stats record report compare trace",
    "history": "base stats record compare report page",
}
# The rooms of src/headroom/trace, and those that each may include; "." is what every analysis is described by.
TRACE_ROOMS = {
    "columns": "",
    "tables": "columns",
    "readers": "columns",
    ".": "columns tables readers",
    "cost": "columns",
    "work": ". columns tables cost",
    "collectives": ". columns tables",
    "critical_path": ". columns tables work collectives",
    "findings": ". columns tables cost work collectives critical_path",
    "recording": "columns readers work",
    "report": ". columns tables readers",
    "merge": "columns tables readers collectives report",
    "timeline": ". columns tables readers work collectives merge",
    "analyses": ". columns tables readers cost work collectives critical_path findings recording",
}
# The rooms of src/headroom/ranks; "." is how ranks meet and are talked to.
RANK_ROOMS = {
    ".": "",
    "collectives": ".",
    "dispatch": ".",
    "ddp": ". collectives",
}
# The rooms of the runners; "." is the roof, with main(), and includes all of them.
NATIVE_ROOMS = {
    "kernels": "",
    "limits": "kernels",
    "llm": "kernels",
    "peers": "kernels",
    "gpt_fast": "kernels peers",
}
TORCH_ROOMS = {
    "tensors": "",
    "calls": "tensors",
    "modules": "tensors calls",
    "gpt_fast": "tensors",
    "llm": "tensors",
    "dtensor": "tensors",
    "ranks": "tensors dtensor",
    "collectives": "tensors dtensor ranks",
    "dispatch": "tensors dtensor ranks",
    "ddp": "tensors calls dtensor ranks",
    "cuda": "tensors .",
}
CUDA_ROOMS = {
    "kernels": "",
    "device": "kernels",
    "limits": "device kernels",
    "peers": "device kernels",
    "gpt_fast": "device kernels peers",
}
ROOMS = {"trace": TRACE_ROOMS, "ranks": RANK_ROOMS, "headroom_native": NATIVE_ROOMS, "headroom_torch": TORCH_ROOMS,
         "headroom_cuda": CUDA_ROOMS}
RUNNER_MAY = "base stats process record machine experiment runner ranks workload trace"
RUNNERS = ("headroom_native", "headroom_torch", "headroom_cuda")
# What several runners share with the help of a library that the command line shall not load, and who may include it.
BESIDE_RUNNERS = {
    "headroom_nvml": RUNNERS + ("headroom_cuda_device",),
    "headroom_cuda_device": ("headroom_torch", "headroom_cuda"),
}
CUDA_FOLDERS = ("headroom_cuda_device", "headroom_cuda")
# Programs of their own around the command line's parts, for a library that the command line shall not be linked with.
PROGRAMS = ("headroom_mpi",)

TORCH = re.compile(r"^(torch|ATen|c10|caffe2)/")
CUDA = re.compile(r"^(cuda|cublas|cudnn|cufft|curand|cusolver|cusparse|cutlass|cub|cupti|nccl|nvml|nvtx3?|thrust)"
                  r"([_./]|[A-Z0-9].*\.h|.*\.h$)|^nvToolsExt")
MPI = re.compile(r"^mpi(-ext)?\.h$")
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')

# The library never prints and never exits: its callers may be a server, a test, or a table being drawn.
PRINTS = re.compile(r"\bstd::(cout|cerr|clog)\b|\b(printf|puts|putchar|perror|vprintf)\s*\("
                    r"|\bfprintf\s*\(\s*std(out|err)\b|\bfputs\s*\([^;]*\bstd(out|err)\b|\bfmt::print\w*\s*\(")
EXITS = re.compile(r"\bstd::(exit|abort|quick_exit|terminate)\s*\(|(?<![\w.>:])(::)?(exit|abort|quick_exit)\s*\(")

SOURCE_FOLDERS = ("src", "tests", "examples", "bench", "tools", "cmake")
SKIPPED_FOLDERS = {"build", "data", "golden", "__pycache__"}
CODE = (".cpp", ".h", ".cu", ".cuh")
SCRIPTS = (".py", ".sh", ".cmake", ".in")
FOREIGN_ENDINGS = {".cc": ".cpp", ".cxx": ".cpp", ".hpp": ".h", ".hh": ".h", ".hxx": ".h"}
VAGUE_WORDS = {"util", "utils", "manager", "helper", "helpers", "common", "impl"}
SNAKE_CASE = re.compile(r"^[a-z][a-z0-9]*(_[a-z0-9]+)*$")
MAX_LINES = 500
LICENCE = "SPDX-License-Identifier: Apache-2.0"


def source_files(root):
    """Paths relative to root, '/'-separated, of every file that the rules are about."""
    for top in SOURCE_FOLDERS:
        for folder, folders, names in os.walk(os.path.join(root, top)):
            folders[:] = sorted(f for f in folders if f not in SKIPPED_FOLDERS and not f.startswith("."))
            for name in sorted(names):
                ending = os.path.splitext(name)[1]
                if name == "CMakeLists.txt" or ending in CODE + SCRIPTS or ending in FOREIGN_ENDINGS:
                    yield os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/")


def without_comments(lines):
    """The lines with comments and the text of string literals blanked, line by line."""
    inside = False
    for line in lines:
        out = ""
        while line:
            if inside:
                end = line.find("*/")
                if end < 0:
                    break
                line, inside = line[end + 2:], False
                continue
            token = re.search(r'//|/\*|"(?:\\.|[^"\\])*"', line)
            if not token:
                out += line
                break
            out += line[:token.start()]
            if token.group() == "//":
                break
            if token.group() == "/*":
                inside = True
            else:
                out += '""'
            line = line[token.end():]
        yield out


def place(path):
    """(kind, module) of a file: ("library", "stats"), ("library", "trace/work"), ("runner", "headroom_native"), ("beside", "headroom_nvml"),
    ("program", "headroom_mpi"), ("cli", "shared"), ("cli", ""), or (None, "")."""
    parts = path.split("/")
    if parts[0] != "src" or len(parts) < 3:
        return None, ""
    if parts[1] == "headroom":
        room = "/" + parts[3] if parts[2] in ROOMS and len(parts) > 4 else ""
        return "library", parts[2] + room if len(parts) > 3 else ""
    if parts[1] in RUNNERS:
        return "runner", parts[1] + ("/" + parts[2] if len(parts) > 3 else "")
    if parts[1] in BESIDE_RUNNERS:
        return "beside", parts[1]
    if parts[1] in PROGRAMS:
        return "program", parts[1]
    if parts[1] == "cli":
        return "cli", "shared" if parts[2] == "shared" else ""
    return None, ""


def room_breach(module, room, included):
    """Why a file in that room of the module may not include one of another, or None."""
    rooms = ROOMS[module]
    if room == included or room not in rooms or included in rooms[room].split():
        return None
    return f"{module}/{room} may include only {rooms[room] or 'itself'} of {module}, not {included}: move the code"


def project_include_breach(kind, module, target):
    """Why a file at (kind, module) may not include the project header `target`, or None."""
    parts = target.split("/")
    if parts[0] == "headroom":
        included = parts[1] if len(parts) > 2 else ""
        module, _, room = module.partition("/")
        if kind == "library" and module == included and module in ROOMS:
            return room_breach(module, room or ".", parts[2] if len(parts) > 3 else ".")
        if kind in ("cli", "program") or included == module and kind == "library":
            return None
        if not included:
            return f"{target} includes everything: include the headers of single modules instead"
        if kind == "library" and module not in LIBRARY:
            return None  # said once, for the folder
        allowed = (LIBRARY[module] if kind == "library" else RUNNER_MAY).split()
        if included in allowed:
            return None
        return (f"{module} may include only {', '.join([module] + allowed)}, not {included}: "
                "move the code, or pass what it needs as a parameter")
    if parts[0] == "cli":
        if kind == "cli" and module == "shared" and parts[1] != "shared":
            return "cli/shared is the ground of all commands, and includes none of them: move the code into shared"
        if kind in ("cli", "program"):
            return None
        return f"only src/cli includes cli/: move what {module} needs into src/headroom"
    module, _, room = module.partition("/")
    if parts[0] == module and kind in ("runner", "beside", "program"):
        return room_breach(module, room or ".", parts[1] if len(parts) > 2 else ".") if module in ROOMS else None
    if module in BESIDE_RUNNERS.get(parts[0], ()):
        return None
    if parts[0] in BESIDE_RUNNERS:
        return f"only {', '.join(BESIDE_RUNNERS[parts[0]])} may include {parts[0]}: move the code there"
    if parts[0] in PROGRAMS:
        return f"{parts[0]} is a program of its own, which nothing else includes: move the shared code into src/headroom"
    return (f"{parts[0]} is a runner, a process of its own: {module or kind} reaches it over the runner's protocol, "
            "or move the shared code into src/headroom")


def include_breach(kind, module, quote, target):
    """(rule, what to do) for one #include in src/, or None."""
    top = target.split("/")[0]
    runner = module.partition("/")[0]
    if TORCH.match(target):
        if runner == "headroom_torch":
            return None
        return "torch", f"{target}: only src/headroom_torch includes torch: move this code there"
    if CUDA.match(target):
        if runner in CUDA_FOLDERS:
            return None
        return "cuda", f"{target}: only {' and '.join(CUDA_FOLDERS)} include CUDA: move this code there"
    if MPI.match(target):
        return None if module == "headroom_mpi" else (
            "mpi", f"{target}: only src/headroom_mpi includes MPI: move this code there")
    if top in ("headroom", "cli", *RUNNERS, *BESIDE_RUNNERS, *PROGRAMS) and "/" in target:
        breach = project_include_breach(kind, module, target)
        if breach:
            return "layer", breach
        return None if quote == '"' else ("include", f'write #include "{target}": angle brackets are for other libraries')
    if quote == '"' and ("/" not in target or target.startswith(".")):
        return "include", f'write the path from src/: "headroom/.../{target.split("/")[-1]}"'
    return None


def check_includes(path, lines):
    kind, module = place(path)
    if kind is None:
        return
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        breach = match and include_breach(kind, module, *match.groups())
        if breach:
            yield (number,) + breach


def check_library_manners(path, lines):
    """The library neither prints nor exits; the main() that it offers to runners may."""
    kind, _ = place(path)
    if kind != "library" or "main" in os.path.basename(path):
        return
    for number, line in enumerate(without_comments(lines), 1):
        if PRINTS.search(line):
            yield number, "prints", "the library never prints: return the text, or throw headroom::Error"
        if EXITS.search(line):
            yield number, "exits", "the library never exits: throw headroom::Error, or return an outcome"


def check_name(path):
    folder, name = os.path.split(path)
    stem, ending = os.path.splitext(name)
    if ending in FOREIGN_ENDINGS:
        yield 1, "name", f"rename it to {stem}{FOREIGN_ENDINGS[ending]}: sources end in .cpp, headers in .h"
    judged = [part for part in folder.split("/")[1:] if part]
    if ending in CODE + (".py", ".sh") or ending in FOREIGN_ENDINGS:
        judged.append(stem)
    for word in judged:
        if not SNAKE_CASE.match(word):
            yield 1, "name", f"'{word}' is not snake_case: rename it"
        vague = VAGUE_WORDS.intersection(word.lower().split("_"))
        if vague:
            yield 1, "name", f"'{word}' says nothing of what is inside ({', '.join(sorted(vague))}): name the thing"


def check_text(lines):
    first = 1 if lines and lines[0].startswith("#!") else 0
    if len(lines) <= first or LICENCE not in lines[first]:
        yield first + 1, "licence", f"begin the file with a comment '{LICENCE}'"
    if len(lines) > MAX_LINES:
        yield MAX_LINES + 1, "length", f"{len(lines)} lines, {MAX_LINES} at most: split it by what its parts are about"


def check_modules(root):
    library = os.path.join(root, "src", "headroom")
    for name in sorted(os.listdir(library) if os.path.isdir(library) else []):
        if os.path.isdir(os.path.join(library, name)) and name not in LIBRARY:
            yield (f"src/headroom/{name}:1: layer: an unknown module: say in LIBRARY of tools/check_layers.py "
                   "what it may include, and in docs/architecture.md why")


def check(root):
    """Every breach in the tree at root, as lines to print."""
    breaches = list(check_modules(root))
    for path in source_files(root):
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
        found = list(check_name(path)) + list(check_text(lines))
        if path.endswith(CODE):
            found += list(check_includes(path, lines)) + list(check_library_manners(path, lines))
        breaches += [f"{path}:{number}: {rule}: {text}" for number, rule, text in sorted(found)]
    return breaches


def main(arguments):
    if len(arguments) > 1 or arguments[:1] in (["-h"], ["--help"]):
        print(__doc__.strip())
        return 2
    root = arguments[0] if arguments else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    if not os.path.isdir(os.path.join(root, "src")):
        print(f"check_layers: {root} has no src folder: give the repository's root", file=sys.stderr)
        return 2
    breaches = check(root)
    for breach in breaches:
        print(breach)
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
