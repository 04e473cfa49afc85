#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A link between two network namespaces that delays every packet, for kernels without netem: a TUN device in each, and
this process between them.

    bench/delayed_link.py NAMESPACE_A ADDRESS_A NAMESPACE_B ADDRESS_B DELAY_MS

Prints "ready" when packets pass; ends when its standard input does. Needs root.
"""
import collections
import ctypes
import errno
import fcntl
import os
import select
import struct
import subprocess
import sys
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)


def enter(namespace):
    with open(f"/run/netns/{namespace}") as file:
        if LIBC.setns(file.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"cannot enter the namespace {namespace}")


def device_in(namespace, address, peer):
    """Opens a TUN device in the namespace."""
    enter(namespace)
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", b"tun0", IFF_TUN | IFF_NO_PI))
    subprocess.run(["ip", "address", "add", address, "peer", peer, "dev", "tun0"], check=True)
    subprocess.run(["ip", "link", "set", "tun0", "up"], check=True)
    return device


def packets_of(device):
    while True:
        try:
            yield os.read(device, 65536)
        except BlockingIOError:
            return


def deliver(device, packet):
    try:
        os.write(device, packet)
    except OSError as error:
        if error.errno not in (errno.EAGAIN, errno.ENOBUFS):  # dropped, as on any full link
            raise


def forward(devices, delay_s):
    other = {devices[0]: devices[1], devices[1]: devices[0]}
    waiting = collections.deque()  # (when, device, packet), in order: the delay is constant
    while True:
        longest = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        readable, _, _ = select.select([*devices, sys.stdin], [], [], longest)
        if sys.stdin in readable:
            return
        now = time.monotonic()
        for device in readable:
            for packet in packets_of(device):
                waiting.append((now + delay_s, other[device], packet))
        while waiting and waiting[0][0] <= now:
            _, device, packet = waiting.popleft()
            deliver(device, packet)


def main():
    namespace_a, address_a, namespace_b, address_b, delay_ms = sys.argv[1:]
    devices = [device_in(namespace_a, address_a, address_b), device_in(namespace_b, address_b, address_a)]
    print("ready", flush=True)
    forward(devices, float(delay_ms) / 1e3)


if __name__ == "__main__":
    main()
