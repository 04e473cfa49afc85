#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs an install of the command line, the CPU runner and the Python package into a wheel for CPython 3.9 and newer.

    tools/make_wheel.py PREFIX OUTPUT_FOLDER VERSION [--load SONAME]... [--glibc 2.27] [--machine aarch64 --root FOLDER]

PREFIX is where `cmake --install BUILD --strip` put the components headroom and python. Libraries that the programs link or load
(SONAME), except those of every manylinux system, are copied to lib/headroom, where RPATH finds them. The same files give the same
wheel, byte for byte. The tag promises the C library --glibc, which is checked; libraries of another machine are under --root.
Needs readelf and ldconfig; no Python packages.
Exit codes: 0 the wheel is written, its path on standard output; 2 it cannot be, and why.
"""
import argparse
import base64
import csv
import hashlib
import io
import os
import pathlib
import platform
import re
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = ("headroom", "headroom-native", "headroom-pages", "headroom-trace")
# What systems with a C library have at least (PEP 600): that of GCC 12, of GCC 7.
NEWEST = {
    "2.36": {"GLIBC": (2, 36), "GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13), "GCC": (12, 0, 0)},
    "2.27": {"GLIBC": (2, 27), "GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11), "GCC": (7, 0, 0)},
}
# Libraries of manylinux systems that our programs may need.
ON_EVERY_SYSTEM = re.compile(r"^(ld-linux-.*|lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s))\.so(\.\d+)*$")


class CannotPack(Exception):
    pass


def output_of(*command):
    try:
        return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True).stdout
    except FileNotFoundError:
        raise CannotPack(f"cannot find {command[0]} in PATH (Debian: binutils, libc-bin, dpkg)") from None
    except subprocess.CalledProcessError as error:
        raise CannotPack(f"{' '.join(map(str, command))}: {error.stderr.strip()}") from None


def needed_by(file):
    return re.findall(r"\(NEEDED\).*\[(.+)\]", output_of("readelf", "--wide", "--dynamic", file))


def too_new_versions(file, newest):
    """Yields versions of system libraries that `file` needs and are not in `newest`."""
    needs = output_of("readelf", "--wide", "--version-info", file).split("Version needs section", 1)
    for name, version in sorted(set(re.findall(r"Name: ([A-Z]+)_([0-9.]+)", needs[1] if len(needs) > 1 else ""))):
        # Other names belong to bundled libraries.
        if name in newest and tuple(map(int, version.split("."))) > newest[name]:
            yield f"{name}_{version}"


def find_library(soname, root):
    if root:
        found = sorted(root.glob(f"usr/lib/*/{soname}")) + sorted(root.glob(f"lib/*/{soname}"))
        if not found:
            raise CannotPack(f"cannot find {soname} under {root}")
        return found[0]
    known = re.search(rf"^\s*{re.escape(soname)} \(.*=> (/\S+)$", output_of("/sbin/ldconfig", "-p"), re.MULTILINE)
    if not known:
        raise CannotPack(f"cannot find {soname}: install the packages of packages/library.txt")
    return pathlib.Path(known[1])


def libraries_of(programs, loaded, root):
    """Returns {soname: path} of the programs' dependencies, transitively, without those of every system."""
    found, wanted = {}, list(loaded)
    for program in programs:
        wanted += needed_by(program)
    while wanted:
        soname = wanted.pop()
        if not ON_EVERY_SYSTEM.match(soname) and soname not in found:
            found[soname] = find_library(soname, root)
            wanted += needed_by(found[soname])
    return found


def library_packages():
    """Returns the Debian packages that the programs are built on."""
    lines = (ROOT / "packages/library.txt").read_text().splitlines()
    return {line.split()[0] for line in lines if line.strip() and not line.startswith("#")}


def licences(libraries):
    """Returns {package: text} for the Debian packages of the libraries, including header-only and static ones."""
    packages = library_packages()
    for path in libraries.values():
        owner = subprocess.run(["dpkg-query", "-S", os.path.realpath(path)], capture_output=True, text=True, check=False)
        packages.update(re.findall(r"^([a-z0-9.+-]+)[:,]", owner.stdout))
    texts = {package: pathlib.Path("/usr/share/doc", package, "copyright") for package in sorted(packages)}
    return {package: path.read_bytes() for package, path in texts.items() if path.is_file()}


def contents(prefix, version, tag, newest, loaded, root):
    """Yields (name in the wheel, bytes, is executable)."""
    programs = [prefix / "bin" / name for name in PROGRAMS]
    for program in programs:
        if not program.is_file():
            raise CannotPack(f"{program} is missing: make wheel installs it there")
    package = prefix / "lib/python3/dist-packages/headroom"
    extension = package / "_core.abi3.so"
    if not extension.is_file():
        raise CannotPack(f"{extension} is missing: it is built where Python's headers are (apt-get install libpython3-dev)")
    libraries = libraries_of(programs, loaded, root)
    for file in [*programs, *libraries.values(), extension]:
        if too_new := ", ".join(too_new_versions(file, newest)):
            raise CannotPack(f"{file} needs {too_new}, which the tag {tag} does not promise")
    data, info = f"headroom-{version}.data", f"headroom-{version}.dist-info"
    yield from ((f"{data}/scripts/{program.name}", program.read_bytes(), True) for program in programs)
    yield from ((f"{data}/data/lib/headroom/{soname}", path.read_bytes(), True) for soname, path in libraries.items())
    for path in sorted((prefix / "share").rglob("*")):
        if path.is_file():
            yield f"{data}/data/share/{path.relative_to(prefix / 'share')}", path.read_bytes(), False
    for path in sorted(package.rglob("*")):
        if path.is_file():
            yield f"headroom/{path.relative_to(package)}", path.read_bytes(), False
    yield f"{info}/entry_points.txt", (package.parent / info / "entry_points.txt").read_bytes(), False
    yield f"{info}/licenses/LICENSE", (ROOT / "LICENSE").read_bytes(), False
    yield from ((f"{info}/licenses/{package}.txt", text, False) for package, text in licences(libraries).items())
    yield f"{info}/METADATA", "\n".join((
        "Metadata-Version: 2.1", "Name: headroom", f"Version: {version}", "License: Apache-2.0",
        "Summary: How fast tensor programs are, and how fast this machine could run them", "Requires-Python: >=3.9",
        "Provides-Extra: cuda", f'Requires-Dist: headroom-cuda=={version}; extra == "cuda"',
        "Description-Content-Type: text/markdown", "", (ROOT / "README.md").read_text())).encode(), False
    yield f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: headroom\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(), False


def write_wheel(path, files, info):
    record = io.StringIO()
    rows = csv.writer(record, lineterminator="\n")
    unfinished = path.with_suffix(".unfinished")
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        def add(name, text, executable):
            entry = zipfile.ZipInfo(name)  # dated 1980 for reproducibility
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, text)
        for name, text, executable in files:
            digest = base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()
            rows.writerow((name, f"sha256={digest}", len(text)))
            add(name, text, executable)
        rows.writerow((f"{info}/RECORD", "", ""))
        add(f"{info}/RECORD", record.getvalue().encode(), False)
    unfinished.replace(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("prefix", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("version")
    parser.add_argument("--load", action="append", default=[], metavar="SONAME")
    parser.add_argument("--glibc", choices=NEWEST, default="2.36")
    parser.add_argument("--machine", default=platform.machine())
    parser.add_argument("--root", type=pathlib.Path)
    arguments = parser.parse_args()
    version = arguments.version
    tag = f"cp39-abi3-manylinux_{arguments.glibc.replace('.', '_')}_{arguments.machine}"
    try:
        files = list(contents(arguments.prefix, version, tag, NEWEST[arguments.glibc], arguments.load, arguments.root))
        arguments.output.mkdir(parents=True, exist_ok=True)
        path = arguments.output / f"headroom-{version}-{tag}.whl"
        write_wheel(path, files, f"headroom-{version}.dist-info")
    except (CannotPack, OSError) as error:
        print(f"make_wheel: {error}", file=sys.stderr)
        return 2
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
