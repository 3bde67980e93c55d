# SPDX-License-Identifier: Apache-2.0
"""Queues between processes: granted, attached, used from both sides, and what a killed process leaves behind."""

import pathlib
import subprocess
import sys

import pytest

from conftest import HOME

PERMISSION_DEQUEUE, PERMISSION_ENQUEUE = 2, 4
EMPTY, NO_PERMISSION, INVALID_QUEUE = 207013, 207006, 100032

PROCESS = """
import ctypes, sys
acl = ctypes.CDLL(sys.argv[1] + "/libascendcl.so")
tdt = ctypes.CDLL(sys.argv[1] + "/libacl_tdt_queue.so")
tdt.acltdtCreateQueueAttr.restype = ctypes.c_void_p
assert acl.aclInit(None) == 0 and acl.aclrtSetDevice(0) == 0
def create():
    attr = ctypes.c_void_p(tdt.acltdtCreateQueueAttr())
    qid = ctypes.c_uint32()
    assert tdt.acltdtCreateQueue(attr, ctypes.byref(qid)) == 0
    return qid.value
def attach(qid, timeout):
    permission = ctypes.c_uint32()
    return tdt.acltdtAttachQueue(qid, timeout, ctypes.byref(permission)), permission.value
def put(qid, text, timeout=-1):
    return tdt.acltdtEnqueueData(qid, text, ctypes.c_size_t(len(text)), None, ctypes.c_size_t(0), timeout, 0)
def take(qid, timeout=-1):
    room = ctypes.create_string_buffer(1 << 20)
    size = ctypes.c_size_t()
    rc = tdt.acltdtDequeueData(qid, room, ctypes.c_size_t(len(room)), ctypes.byref(size), None, ctypes.c_size_t(0), timeout)
    return rc, len(room.raw[:size.value]), room.raw[:min(size.value, 16)]
for line in sys.stdin:
    print(repr(eval(line)), flush=True)
"""


class Process:
    def __init__(self, softnpu):
        self.child = subprocess.Popen([sys.executable, "-c", PROCESS, str(HOME / "lib64")], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True, env=softnpu.env())

    def start(self, text):
        self.child.stdin.write(text + "\n")
        self.child.stdin.flush()

    def result(self):
        return eval(self.child.stdout.readline())

    def call(self, text):
        self.start(text)
        return self.result()

    def end(self):
        self.child.stdin.close()
        assert self.child.wait(timeout=60) == 0


@pytest.fixture
def pair(softnpu):
    processes = [Process(softnpu), Process(softnpu)]
    yield processes
    for process in processes:
        if process.child.poll() is None:
            process.end()


def files(softnpu):
    return sorted(path.name for path in pathlib.Path("/dev/shm").glob(f"softnpu-queue-*-{softnpu.name}-*"))


def test_a_queue_between_two_processes(softnpu, pair):
    owner, other = pair
    qid = owner.call("create()")
    assert other.call(f"put({qid}, b'x')") == INVALID_QUEUE  # not attached
    assert other.call(f"attach({qid}, 0)")[0] == NO_PERMISSION
    other.start(f"attach({qid}, -1)")  # waits for the grant
    assert owner.call(f"tdt.acltdtGrantQueue({qid}, {other.child.pid}, {PERMISSION_ENQUEUE}, 0)") == 0
    assert other.result() == (0, PERMISSION_ENQUEUE)
    assert other.call(f"take({qid}, 0)")[0] == NO_PERMISSION
    owner.start(f"take({qid})")  # waits for the data
    assert other.call(f"put({qid}, b'hello' + bytes(300000))") == 0
    assert owner.result() == (0, 300005, b"hello" + bytes(11))
    assert owner.call(f"take({qid}, 0)")[0] == EMPTY
    assert owner.call(f"tdt.acltdtDestroyQueue({qid})") == 0
    assert other.call(f"put({qid}, b'x')") == INVALID_QUEUE
    assert files(softnpu) == []


def test_a_process_that_ends_removes_its_queues(softnpu, pair):
    owner, _ = pair
    qid = owner.call("create()")
    assert owner.call(f"put({qid}, b'left')") == 0
    assert len(files(softnpu)) == 2
    owner.end()
    assert files(softnpu) == []


def test_the_number_of_a_killed_process_is_used_again(softnpu, pair):
    owner, other = pair
    qid = owner.call("create()")
    assert owner.call(f"put({qid}, b'left')") == 0
    owner.child.kill()
    owner.child.wait()
    assert other.call("create()") == qid
    assert other.call(f"take({qid}, 0)")[0] == EMPTY  # the old entry is gone
    assert len(files(softnpu)) == 1


def test_queues_of_living_processes_are_apart(softnpu, pair):
    owner, other = pair
    assert owner.call("create()") != other.call("create()")


def test_foreign_file_is_not_a_queue(softnpu, pair):
    owner, other = pair
    qid = owner.call("create()")
    (name,) = files(softnpu)
    damaged = pathlib.Path("/dev/shm") / name.replace(f"-0-{qid}", f"-0-{qid + 1}")
    damaged.write_bytes(b"not a queue")
    try:
        assert other.call(f"attach({qid + 1}, 0)")[0] == INVALID_QUEUE
    finally:
        damaged.unlink()
