#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs headroom-cuda into a wheel, for `pip install 'headroom[cuda]'`.

    tools/make_cuda_wheel.py PREFIX OUTPUT_FOLDER VERSION CUDA_VERSION

PREFIX is where `cmake --install BUILD --component cuda --strip` put the program. The tag is the oldest C library that headroom's wheel
can have and that has the symbols it needs. The same program gives the same wheel, byte for byte. Needs readelf; no Python packages.
Exit codes: 0 the wheel is written, its path on standard output; 2 it cannot be, and why.
"""
import argparse
import pathlib
import platform
import re
import sys

from make_wheel import NEWEST, ON_EVERY_SYSTEM, ROOT, CannotPack, licences, needed_by, output_of, write_wheel


def oldest_glibc(program):
    """Returns the version of the C library, "2_34"; refuses a program that needs more than the system has everywhere."""
    if others := [name for name in needed_by(program) if not ON_EVERY_SYSTEM.match(name)]:
        raise CannotPack(f"{program} needs {', '.join(others)}, which a system may lack: link it statically, or load it")
    versions = output_of("readelf", "--wide", "--version-info", program)
    if "GLIBCXX_" in versions:
        raise CannotPack(f"{program} needs the C++ library of this system: build it as a release")
    needed = map(int, re.findall(r"Name: GLIBC_2\.(\d+)", versions))
    least = min(int(version.removeprefix("2.")) for version in NEWEST)
    return f"2_{max(least, *needed)}"


def contents(program, version, cuda, tag):
    """Returns [(name in the wheel, bytes, is executable)]."""
    info = f"headroom_cuda-{version}.dist-info"
    yield f"headroom_cuda-{version}.data/scripts/{program.name}", program.read_bytes(), True
    yield f"{info}/licenses/LICENSE", (ROOT / "LICENSE").read_bytes(), False
    yield from ((f"{info}/licenses/{package}.txt", text, False) for package, text in licences({}).items())
    yield f"{info}/METADATA", "\n".join((
        "Metadata-Version: 2.1", "Name: headroom-cuda", f"Version: {version}", "License: Apache-2.0",
        "Summary: headroom's runner of NVIDIA GPUs", "Requires-Python: >=3.9", f"Requires-Dist: headroom=={version}",
        "Description-Content-Type: text/markdown", "",
        "The program `headroom-cuda`, which `headroom run --backend cuda` starts: kernels, cuBLAS and the limits of an NVIDIA GPU.",
        f"It contains CUDA runtime {cuda}, and loads the driver of the system.", "")).encode(), False
    yield f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: headroom\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(), False


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("prefix", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("version")
    parser.add_argument("cuda")
    arguments = parser.parse_args()
    program, version = arguments.prefix / "bin/headroom-cuda", arguments.version
    try:
        if not program.is_file():
            raise CannotPack(f"{program} is missing: make wheel installs it there")
        tag = f"py3-none-manylinux_{oldest_glibc(program)}_{platform.machine()}"
        path = arguments.output / f"headroom_cuda-{version}-{tag}.whl"
        write_wheel(path, contents(program, version, arguments.cuda, tag), f"headroom_cuda-{version}.dist-info")
    except (CannotPack, OSError) as error:
        print(f"make_cuda_wheel: {error}", file=sys.stderr)
        return 2
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
