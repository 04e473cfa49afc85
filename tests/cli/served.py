# SPDX-License-Identifier: Apache-2.0
"""`headroom serve` for tests."""
import os
import re
import signal
import subprocess

from command_line import HEADROOM


class Served:
    """A server on a free port."""

    def __init__(self, store, *arguments, **options):
        self.process = subprocess.Popen([HEADROOM, "serve", "--port", "0", "--store", str(store), *arguments], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
        line = self.process.stdout.readline()
        found = re.fullmatch(r"(http://127\.0\.0\.1:(\d+)/) until Ctrl-C\n", line)
        if not found:
            self.process.kill()
            raise AssertionError(f"{line!r}: {self.process.communicate()}")
        self.url, self.port = found.group(1), int(found.group(2))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def interrupt(self, number=signal.SIGINT):
        """Returns the exit code and the output."""
        os.kill(self.process.pid, number)
        said = self.process.communicate(timeout=20)
        return self.process.returncode, said
