#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Starts a temporary PostgreSQL server and runs a program against it.

    with_postgresql.py PROGRAM [ARGUMENT...]

The server keeps its data in a temporary folder and listens only on a Unix socket there; HEADROOM_TEST_POSTGRESQL has
its URL. Exits with the program's code, or with 77 without PostgreSQL.
"""
import glob
import os
import pathlib
import pwd
import shutil
import subprocess
import sys
import tempfile
import time

SKIPPED = 77


def find(program):
    """On Debian initdb and postgres are not in PATH, but in a folder per version."""
    debian = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{program}"), key=lambda p: int(p.split("/")[4]))
    return debian[-1] if debian else shutil.which(program)


def server_user():
    """The server refuses to run as root: returns postgres or nobody."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            account = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    return None


class Server:
    def __init__(self, folder, initdb, postgres, user):
        self.folder, self.user = folder, user
        if user:
            os.chown(folder, user["user"], user["group"])
        self.data = folder / "data"
        self.environment = {**os.environ, "LC_ALL": "C"}
        subprocess.run([initdb, "-D", self.data, "-U", "headroom", "-A", "trust", "-E", "UTF8", "--no-sync"], check=True,
                       stdout=subprocess.DEVNULL, env=self.environment, cwd=folder, **user)
        self.log = open(folder / "log", "w", encoding="utf-8")
        self.process = subprocess.Popen([postgres, "-D", self.data, "-k", folder, "-c", "listen_addresses="],
                                        stdout=self.log, stderr=self.log, env=self.environment, cwd=folder, **user)

    def url(self):
        return f"postgresql:///postgres?host={self.folder}&user=headroom"

    def wait_until_ready(self):
        status = self.data / "postmaster.pid"
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            if status.exists() and "ready" in status.read_text():
                return
            time.sleep(0.05)
        raise SystemExit("PostgreSQL did not start:\n" + (self.folder / "log").read_text())

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()


def main(arguments):
    if not arguments:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    initdb, postgres, user = find("initdb"), find("postgres"), server_user()
    if not initdb or not postgres or user is None:
        print("skipped: there is no PostgreSQL server here (Debian: postgresql), or no account that may run it")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="headroom-pg-") as folder:
        server = Server(pathlib.Path(folder), initdb, postgres, user)
        try:
            server.wait_until_ready()
            return subprocess.run(arguments, env={**os.environ, "HEADROOM_TEST_POSTGRESQL": server.url()},
                                  check=False).returncode
        finally:
            server.stop()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
