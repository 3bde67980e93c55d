# SPDX-License-Identifier: Apache-2.0
"""A daemon whose metrics are read, and training processes that report to it."""

import os
import re
import socket
import struct
import time
import urllib.request

from conftest import HOME
from monitor import Daemon, NpuClient


class ReportingDaemon(Daemon):
    """Ready once constructed; uses a machine of its own unless the test names another."""

    def __init__(self, folder, *flags, env=None, **more):
        machine = {"LD_LIBRARY_PATH": str(HOME / "lib64"), "SOFTNPU_MACHINE": f"{os.getpid()}-{os.urandom(4).hex()}"}
        super().__init__(folder, "--enable_ipc_monitor", "--prometheus_port=0", *flags, env=machine | (env or {}), **more)
        self.ready()

    def exporter(self):
        return int(re.search(r"Prometheus exporter: http://[^ ]*:(\d+)/metrics", self.log()).group(1))

    def metrics(self, *groups):
        """The text of /metrics."""
        query = "?" + "&".join(f"collect[]={g}" for g in groups) if groups else ""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.exporter()}/metrics{query}", timeout=10) as answer:
            assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
            return answer.read().decode()

    def value(self, metric, /, **labels):
        """The value of the series that has these labels, or None."""
        for line in self.metrics().splitlines():
            if line.startswith(metric + "{") and all(f'{k}="{v}"' in line for k, v in labels.items()):
                return float(line.rsplit(" ", 1)[1])
        return None


class ReportingClient(NpuClient):
    """A training process on the abstract sockets that also sends measurements."""

    def __init__(self, daemon, **more):
        super().__init__(daemon, **more)
        self.sock.settimeout(5)
        self.data_address = f"\0{daemon.name}_data\0"

    def socket_of(self, daemon):
        return f"\0{daemon.name}\0"

    def send(self, kind, payload, address=None):
        deadline = time.monotonic() + 10
        while True:
            try:
                return super().send(kind, payload, address)
            except (BlockingIOError, socket.timeout):
                assert time.monotonic() < deadline

    def register(self):
        super().register()
        assert self.sock.recv(4096)[8:12] == b"ctxt"
        self.status(b"npuTraceStatus", 0)
        return self.poll()

    def poll(self, mask=3):
        """A process that reports in a test always gets a reply."""
        self.request(mask)
        return self.reply()

    def data(self, text):
        self.send(b"data", text.encode() if isinstance(text, str) else text, self.data_address)

    def opstats(self, payload):
        self.send(b"npuOpStats", payload, self.data_address)


def bucket_of(duration_ns):
    """Four buckets per power of two, upper bound inclusive (docs/format/opstats.md)."""
    below = max(duration_ns - 1, 0)
    if below < 4:
        return below
    exponent = below.bit_length() - 1
    return 4 * (exponent - 1) + (below >> (exponent - 2) & 3)


def opstats(operators, kind="Kernel", device=0, rank=0, job=0, lost=0):
    """The payload of an npuOpStats message. operators: {name: [durations in ns]}"""
    out = struct.pack("=IHHiiiIq24sQQIIQ", 0x534F504E, 1, len(operators), os.getpid(), rank, device, 0, job,
                      kind.encode(), 1, 2, lost, 0, 0)
    for name, durations in operators.items():
        raw = name.encode()
        buckets = {}
        for d in durations:
            buckets[bucket_of(d)] = buckets.get(bucket_of(d), 0) + 1
        out += struct.pack("=HHIQQQQQ", len(raw), len(buckets), 0, len(durations), sum(durations), min(durations),
                           max(durations), 0)
        out += raw + bytes(-len(raw) % 8)
        for number in sorted(buckets):
            out += struct.pack("=II", number, buckets[number])
    return out
