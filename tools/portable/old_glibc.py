#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a folder from which GCC links programs that run on an old C library: g++ -B FOLDER ...

    old_glibc.py MACHINE VERSION FOLDER [--compiler GCC]       for example: x86_64 2.27 build/old_glibc

MACHINE is x86_64 or aarch64. Start files and stubs of the C library come from zig (the package ziglang of PyPI, in this Python);
old_glibc.c supplies what this machine's compiler expects of a newer one. Exit codes: 0 made; 2 it cannot be, and why.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
LIBRARIES = ("m", "pthread", "dl", "rt", "resolv", "util")


class CannotMake(Exception):
    pass


def run(*command, **options):
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    except FileNotFoundError:
        raise CannotMake(f"cannot find {command[0]} in PATH") from None
    if done.returncode != 0:
        raise CannotMake(f"{' '.join(map(str, command))}:\n{done.stderr.strip()}")


def make(machine, version, folder, compiler):
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        cache = pathlib.Path(scratch)
        (cache / "empty.c").write_text("int main(void) { return 0; }\n")
        for place_of_code in ("-pie", "-no-pie"):
            run(sys.executable, "-m", "ziglang", "cc", "-target", f"{machine}-linux-gnu.{version}", place_of_code, cache / "empty.c",
                "-o", cache / "program", *(f"-l{name}" for name in LIBRARIES),
                env={**os.environ, "ZIG_GLOBAL_CACHE_DIR": scratch, "ZIG_LOCAL_CACHE_DIR": scratch})
        for name in ("crt1.o", "Scrt1.o", "libc_nonshared.a", "libc.so.6", "libld.so.2", *(f"lib{name}.so.*" for name in LIBRARIES)):
            found = sorted(cache.glob(f"o/*/{name}"))
            if not found:
                raise CannotMake(f"zig made no {name} for {machine}: another version of ziglang?")
            shutil.copy(found[0], folder)
    for name in LIBRARIES:
        link = folder / f"lib{name}.so"
        link.unlink(missing_ok=True)
        link.symlink_to(next(folder.glob(f"lib{name}.so.*")).name)
    run(compiler, "-std=c11", "-O2", "-fPIC", "-Wall", "-Wextra", "-c", HERE / "old_glibc.c", "-o", folder / "old_glibc.o")
    # Symbols that moved into libc.so.6 in 2.34 are found where they were.
    names = [path.resolve() for path in sorted(folder.glob("lib*.so.*")) if path.name != "libc.so.6"]
    (folder / "libc.so").write_text(
        f"GROUP({folder / 'old_glibc.o'} {folder / 'libc.so.6'} {folder / 'libc_nonshared.a'} AS_NEEDED({' '.join(map(str, names))}))\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("machine", choices=("x86_64", "aarch64"))
    parser.add_argument("version")
    parser.add_argument("folder", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--compiler", default="gcc")
    given = parser.parse_args()
    try:
        make(given.machine, given.version, given.folder, given.compiler)
    except (CannotMake, OSError) as error:
        print(f"old_glibc.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
