#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/reference/commands.md: the help of every command.

  tools/make_reference.py build/release/bin [--check]     --check: write nothing, exit with 1 if the file differs
"""
import argparse
import os
import pathlib
import subprocess
import sys

PAGE = pathlib.Path(__file__).parents[1] / "docs" / "reference" / "commands.md"
COMMANDS = ("run", "time", "cache", "ddp", "ddp --collectives", "dispatch", "machine", "ab", "bisect", "diff", "show", "trace", "trace diff",
            "trace merge", "trace convert", "history", "history export", "history gate", "history import", "history prune",
            "history verify", "history repair", "history views", "report", "serve", "roofline", "install", "completion")
HEAD = """# Commands

Every command with its options, as `headroom COMMAND --help` prints them; `headroom trace ANALYSIS --help` adds the options of an
[analysis](trace-analyses.md). Exit codes: [exit codes](exit-codes.md). Made by `tools/make_reference.py`.
"""


def help_of(program, command):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HEADROOM_")}
    return subprocess.run([program, *command.split(), "--help"], capture_output=True, text=True, check=True, env=environment).stdout


def page(bin_folder):
    program = bin_folder / "headroom"
    parts = [HEAD]
    for command in COMMANDS:
        parts.append(f"\n## headroom {command}\n\n```text\n{help_of(program, command).rstrip()}\n```\n")
    return "".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    made = page(options.bin.resolve())
    if options.check:
        if PAGE.read_text(encoding="utf-8") == made:
            return 0
        print(f"{PAGE} differs from the help: tools/make_reference.py {options.bin} writes it", file=sys.stderr)
        return 1
    PAGE.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
