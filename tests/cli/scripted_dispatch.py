# SPDX-License-Identifier: Apache-2.0
"""`headroom dispatch` on scripted ranks (scripted_rank.py)."""
import os
import pathlib
import subprocess

from command_line import clean_environment, headroom

RANK = pathlib.Path(__file__).with_name("scripted_rank.py")
# Distinguishes our ranks from those of concurrent tests.
os.environ["SCRIPTED_OWNER"] = str(os.getpid())
SHORT = ["--runner", RANK, "--max-time", "300ms", "--min-time", "0", "--cycles", "40", "--no-store"]


def dispatch(*arguments, timeout=60, env=None, **variables):
    return headroom("dispatch", *SHORT, *arguments, timeout=timeout, env=env or clean_environment(**variables))


def ranks_left():
    """Live rank processes of this test."""
    found = subprocess.run(["pgrep", "-f", f"^python3 {RANK}"], capture_output=True, text=True).stdout.split()
    return [pid for pid in found if is_ours(pid) and state_of(pid) not in ("", "Z")]


def is_ours(pid):
    try:
        return f"SCRIPTED_OWNER={os.getpid()}".encode() in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False


def state_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""
