"""A daemon for one test: its own names, directory and ports; and a client that speaks as training processes do."""

import os
import re
import signal
import socket
import struct
import subprocess
import time
import urllib.request
import uuid

from conftest import BUILD, HOME

DYNOLOG = BUILD / "src/cli/dynolog/dynolog"


def wait_for(condition, what, timeout=20):
    """The first true value of condition(); never sleeps longer than needed to see it."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"not within {timeout} s: {what}"
        time.sleep(0.02)


class Daemon:
    def __init__(self, directory, *flags, env=None, program=DYNOLOG):
        self.directory = directory
        self.name = f"dyno-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self.log_path = directory / "dynolog.log"
        self.command = [
            str(program), "--port=0", "--enable_ipc_monitor", f"--ipc_name={self.name}", f"--ipc_home_dir={directory}",
            "--state_file=", f"--log_file={self.log_path}", "--prometheus_port=0", *map(str, flags),
        ]
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("SOFTNPU_", "OTEL_", "KINETO_"))}
        environment.update(LD_LIBRARY_PATH=str(HOME / "lib64"), SOFTNPU_MACHINE=self.name)
        environment.update(env or {})
        self.process = subprocess.Popen(self.command, env=environment, stderr=subprocess.PIPE, text=True)
        wait_for(lambda: "] ready" in self.log() or self.process.poll() is not None, "start of the daemon")
        assert self.process.poll() is None, self.log() + self.process.stderr.read()

    def log(self):
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

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

    def stop(self, timeout=10):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout)
        finally:
            self.process.kill()
            if not self.process.stderr.closed:
                self.process.stderr.close()


class Client:
    """A training process on the abstract sockets."""

    def __init__(self, daemon, job=0, rank=0, pid=None):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.settimeout(5)
        self.socket.bind(f"\0dynoconfigclient{uuid.uuid4()}\0")
        self.control = f"\0{daemon.name}\0"
        self.data_address = f"\0{daemon.name}_data\0"
        self.job, self.rank, self.pid = job, rank, pid or os.getpid()

    def send(self, kind, payload, address=None):
        message = struct.pack("=Q32s", len(payload), kind.encode()) + payload
        deadline = time.monotonic() + 10
        while True:
            try:
                self.socket.sendto(message, address or self.control)
                return
            except (BlockingIOError, socket.timeout):
                assert time.monotonic() < deadline

    def register(self):
        self.send("ctxt", struct.pack("=iiq", self.rank, self.pid, self.job))
        assert self.socket.recv(4096)[8:12] == b"ctxt"
        self.send("npuTraceStatus", struct.pack("=iiiiiiq", 0, -1, -1, -1, self.pid, 0, self.job))
        return self.poll()

    def poll(self):
        self.send("req", struct.pack("=iiqi", 3, 1, self.job, self.pid))
        return self.socket.recv(65536)[40:]

    def data(self, text):
        self.send("data", text.encode() if isinstance(text, str) else text, self.data_address)

    def opstats(self, payload):
        self.send("npuOpStats", payload, self.data_address)

    def close(self):
        self.socket.close()


def bucket_of(duration_ns):
    """Four buckets per power of two; the upper end belongs to a bucket (docs/format/opstats.md)."""
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
