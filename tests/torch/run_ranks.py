#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program once per rank, with torchrun's environment.

    run_ranks.py RANKS TIMEOUT_SECONDS PROGRAM [ARGUMENT ...]

Prints the ranks' output, rank 0's last. Exits with the first non-zero status. When a rank fails, the others are killed after five
seconds; at the time-out, all at once.
"""
import os
import socket
import subprocess
import sys
import tempfile
import time


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def main():
    ranks, limit, command = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
    shared = {"WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    outputs = [tempfile.TemporaryFile() for _ in range(ranks)]
    running = [subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT,
                                env={**os.environ, **shared, "RANK": str(rank), "LOCAL_RANK": str(rank)})
               for rank, output in enumerate(outputs)]
    deadline = time.monotonic() + limit
    failed = False
    while any(process.poll() is None for process in running):
        if not failed and any(process.poll() for process in running):
            failed = True
            deadline = min(deadline, time.monotonic() + 5)
        if time.monotonic() > deadline:
            for process in running:
                process.kill()
        time.sleep(0.02)
    for rank in reversed(range(ranks)):
        outputs[rank].seek(0)
        text = outputs[rank].read().decode(errors="replace")
        if rank == 0 or running[rank].returncode != 0:
            print(f"--- rank {rank}, exit status {running[rank].returncode}\n{text}")
    return next((abs(process.returncode) for process in running if process.returncode != 0), 0)


if __name__ == "__main__":
    sys.exit(main())
