# SPDX-License-Identifier: Apache-2.0
"""`python -m headroom`: becomes the program `headroom` that was installed with this package."""
import os
import sys
from importlib.metadata import files


def program():
    """The path of the program; where it lies differs between environments, users and targets, and is in the record."""
    for file in files("headroom") or []:
        if file.name == "headroom" and file.parent.name == "bin":
            return str(file.locate().resolve())
    sys.exit("headroom: the package's record names no program bin/headroom; install the package again: pip install --force-reinstall")


if __name__ == "__main__":
    path = program()
    try:
        os.execv(path, ["headroom", *sys.argv[1:]])
    except OSError as error:
        print(f"headroom: cannot start {path}: {error.strerror}; install the package again: pip install --force-reinstall",
              file=sys.stderr)
        sys.exit(2)
