# SPDX-License-Identifier: Apache-2.0
"""Two network namespaces of this machine as two hosts, connected by a cable. Needs root."""
import contextlib
import os
import subprocess

ADDRESSES = ("10.77.0.1", "10.77.0.2")
HOSTS = tuple(f"hr{os.getpid()}{name}" for name in "ab")


def ip(*words, check=True):
    return subprocess.run(["ip", *map(str, words)], check=check, capture_output=True, text=True)


def tc(host, *words):
    return subprocess.run(["ip", "netns", "exec", host, "tc", *map(str, words)], capture_output=True, text=True)


def can_be_made():
    """Returns whether namespaces can be made: needs root, kernel support, and permission in a container."""
    try:
        made = os.geteuid() == 0 and ip("netns", "add", HOSTS[0], check=False).returncode == 0
    except FileNotFoundError:
        return False
    if made:
        ip("netns", "delete", HOSTS[0])
    return made


@contextlib.contextmanager
def hosts():
    try:
        for host in HOSTS:
            ip("netns", "add", host)
            ip("-n", host, "link", "set", "lo", "up")
        yield
    finally:
        for host in HOSTS:
            ip("netns", "delete", host, check=False)


@contextlib.contextmanager
def cable():
    ip("-n", HOSTS[0], "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", HOSTS[1])
    try:
        for host, address in zip(HOSTS, ADDRESSES):
            ip("-n", host, "address", "add", f"{address}/24", "dev", "cable")
            ip("-n", host, "link", "set", "cable", "up")
        yield
    finally:
        ip("-n", HOSTS[0], "link", "delete", "cable", check=False)


def cut_cable():
    """Drops all packets silently from now on, as when a machine or switch is turned off."""
    for host in HOSTS:
        ip("-n", host, "link", "set", "cable", "down")
