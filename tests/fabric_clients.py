# SPDX-License-Identifier: Apache-2.0
"""Clients of the IPC fabric as in training processes: libkineto, and each version of the NPU plugin.

Written from the published layout and the behaviour of those clients, including their mistakes: libkineto terminates its
process if a reply comes from an unexpected kind of address; the plugin takes the next datagram for the reply to its poll.
As a program, it polls until it has received a command:  fabric_clients.py kineto|npu ADDRESS [JOB]
"""

import os
import socket
import struct
import sys
import time
import uuid

WINDOW_S = 5.0  # real clients give up after 50 or 90 ms; a loaded test machine needs more


class Abort(Exception):
    """libkineto would have terminated the training process here."""


def ancestors(pid, limit):
    pids = [pid]
    while len(pids) < limit and pids[-1] > 1:
        with open(f"/proc/{pids[-1]}/stat") as stat:
            pids.append(int(stat.read().rsplit(")", 1)[1].split()[1]))
    return [p for p in pids if p > 0]


class Client:
    """A socket, and the messages that all clients share."""

    def __init__(self, address, job=0, pid=None, folder=None):
        self.address, self.job, self.pid = address, job, pid or os.getpid()
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        name = f"dynoconfigclient{uuid.uuid4()}"
        self.sock.bind(f"{folder}/{name}" if folder else f"\0{name}\0")
        self.sock.settimeout(WINDOW_S)

    def close(self):
        self.sock.close()

    def send(self, kind, payload, address=None):
        self.sock.sendto(struct.pack("=Q32s", len(payload), kind.encode()) + payload, address or self.address)

    def receive(self):
        """Type and payload of the next datagram; checks its source as the client does."""
        data, source = self.sock.recvfrom(1 << 17)
        self.check_source(source)
        size, kind = struct.unpack("=Q32s", data[:40])
        assert size == len(data) - 40
        return kind.rstrip(b"\0").decode(), data[40:]

    def request(self, mask, limit):
        pids = ancestors(self.pid, limit)
        self.send("req", struct.pack(f"=iiq{len(pids)}i", mask, len(pids), self.job, *pids))


class Kineto(Client):
    """libkineto; with a directory: KINETO_IPC_SOCKET_DIR."""

    def __init__(self, address, job=0, pid=None, folder=None):
        super().__init__(address, job, pid, folder)
        self.folder = folder

    def check_source(self, source):
        good = source.startswith(f"{self.folder}/") if self.folder else isinstance(source, bytes) and source[:1] == b"\0"
        if not good:
            raise Abort(source)

    def context(self, device=0):
        self.send("ctxt", struct.pack("=iiq", device, self.pid, self.job))
        kind, payload = self.receive()
        assert kind == "ctxt"
        return struct.unpack("=i", payload)[0]

    def poll(self, mask=2):
        self.request(mask, 11)
        kind, payload = self.receive()
        assert kind == "req"
        return payload.decode()


class Plugin(Client):
    """The NPU plugin. generation: 8.1 (no status messages), 8.2, 8.3 (16 bytes), 26.0 (32 bytes, steps)."""

    def __init__(self, daemon_name, home, generation, pid=None):
        self.files = generation >= (8, 3)
        self.home, self.generation = str(home), generation
        super().__init__(f"{home}/dynolog.sock" if self.files else f"\0{daemon_name}\0", 0, pid)
        self.data_address = f"{home}/dynolog_data.sock" if self.files else f"\0{daemon_name}_data\0"

    def check_source(self, source):
        good = source.startswith(f"{self.home}/") if self.files else isinstance(source, bytes)
        assert good, f"a reply from {source} would block the plugin's queue for ever"

    def init(self, rank=0):
        self.send("ctxt", struct.pack("=iiq", rank, self.pid, 0))  # the reply stays in the queue
        self.trace_status(0)
        self.monitor_status(0)

    def status(self, kind, state, current, start, stop):
        if self.generation >= (26, 0):
            self.send(kind, struct.pack("=iiiii4xq", state, current, start, stop, self.pid, 0))
        elif self.generation >= (8, 2):
            self.send(kind, struct.pack("=iiq", state, self.pid, 0))

    def trace_status(self, state, current=-1, start=-1, stop=-1):
        self.status("npuTraceStatus", state, current, start, stop)

    def monitor_status(self, state):
        self.status("npuMonitorStatus", state, -1, -1, -1)

    def poll(self):
        """The next datagram is the reply, whatever it is; four bytes are the reply to a context message and are
        ignored."""
        self.request(3, 6)
        _, payload = self.receive()
        return "" if len(payload) == 4 else payload.decode()

    def data(self, text):
        self.send("data", text.encode(), self.data_address)


def main(family, address, job="0"):
    if family == "kineto":
        client = Kineto(address if address.startswith("/") else f"\0{address}\0", int(job),
                        folder=os.path.dirname(address) if address.startswith("/") else None)
    else:
        client = Plugin(None, os.path.dirname(address), (26, 0))
        client.init()
    client.poll()
    print("registered", os.getpid(), flush=True)
    text = ""
    while not text:
        time.sleep(0.05)
        text = client.poll()
    print(text.strip(), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
