# SPDX-License-Identifier: Apache-2.0
"""A child process and its resource usage."""
import dataclasses
import os
import subprocess
import sys
import time


@dataclasses.dataclass
class Finished:
    output: bytes
    wall_s: float
    cpu_s: float  # user and system, including waited-for children
    peak_bytes: int


def run(command, code=0, **options):
    """Runs the command and captures its standard output. An exit code other than `code` ends the benchmark."""
    command = [str(word) for word in command]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, **options)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.stdout.close()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != code:
        sys.exit(f"{' '.join(command)}: ended with {process.returncode}")
    return Finished(output, wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)
