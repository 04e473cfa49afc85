# SPDX-License-Identifier: Apache-2.0
"""`python -m headroom`: runs the program `headroom`."""
import os
import sys

from ._program import program

if __name__ == "__main__":
    try:
        path = program()
        os.execv(path, ["headroom", *sys.argv[1:]])
    except OSError as error:
        print(f"headroom: {error.strerror or error}; install the package again: pip install --force-reinstall headroom",
              file=sys.stderr)
        sys.exit(2)
