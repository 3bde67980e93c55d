# SPDX-License-Identifier: Apache-2.0
"""Distributed programs on softnpu, selected by environment only: results, death of a rank, memory, interposition."""

import json
import pathlib
import signal
import time

import pytest

HERE = pathlib.Path(__file__).parent
MIB = 1 << 20


@pytest.fixture(scope="module")
def job(tmp_path_factory, compiler):
    return compiler(tmp_path_factory.mktemp("hccl") / "job", HERE / "hccl_job.c", "hccl", "ascendcl")


class Job:
    """The ranks of one run."""

    def __init__(self, softnpu, program, size, folder, **env):
        self.softnpu = softnpu
        env = {"SOFTNPU_DEVICES": size, "SOFTNPU_HBM": "4G", "RANK_SIZE": size, "ROOT_INFO": folder / "root_info",
               "HCCL_BUFFSIZE": 16} | env
        self.ranks = [softnpu.start(program, RANK_ID=r, **env) for r in range(size)]

    def outputs(self, timeout=60):
        return [rank.communicate(timeout=timeout) for rank in self.ranks]

    def codes(self):
        return [rank.returncode for rank in self.ranks]


def sums(outputs):
    return [line.split()[1] for out, _ in outputs for line in out.splitlines() if line.startswith("sum ")]


def expected_sum(size, steps, count=100000):
    """The expected sum in double precision; rounding to float changes it only slightly."""
    total = 0.0
    for step in range(steps):
        base = sum(range(size)) + size * step
        for i in range(97 * 7):
            hits = (count - i + 97 * 7 - 1) // (97 * 7)
            total += hits * (size * 0.1 * (i % 97) + base) * (i % 7 + 1)
    return total


@pytest.mark.parametrize("size", [1, 2, 4])
def test_all_ranks_get_the_same_bits(softnpu, job, tmp_path, size):
    run = Job(softnpu, job, size, tmp_path, STEPS=5)
    found = sums(run.outputs())
    assert run.codes() == [0] * size
    assert len(found) == size and len(set(found)) == 1
    assert float(found[0]) == pytest.approx(expected_sum(size, 5), rel=1e-6)


def test_two_runs_give_the_same_bits(softnpu, job, tmp_path):
    results = []
    for name in "ab":
        (tmp_path / name).mkdir()
        results += sums(Job(softnpu, job, 3, tmp_path / name, STEPS=5).outputs())
    assert len(results) == 6 and len(set(results)) == 1


def test_rank_table_is_used(softnpu, job, tmp_path):
    devices = [{"device_id": str(i), "device_ip": f"192.168.1.{i}", "rank_id": str(i)} for i in range(3)]
    table = tmp_path / "table.json"
    table.write_text(json.dumps({"status": "completed", "version": "1.0", "server_count": "1",
                                 "server_list": [{"server_id": "node_0", "device": devices}]}))
    run = Job(softnpu, job, 3, tmp_path, RANK_TABLE_FILE=table)
    assert len(set(sums(run.outputs()))) == 1
    assert run.codes() == [0, 0, 0]


def test_bad_rank_table_is_reported(softnpu, job, tmp_path):
    table = tmp_path / "table.json"
    table.write_text('{"status": "completed",\n "version": "1.0",\n "server_list": oops}')
    run = Job(softnpu, job, 1, tmp_path, RANK_TABLE_FILE=table)
    (out, _), = run.outputs()
    assert run.codes() == [10]
    assert "table.json" in out and "line 3" in out


def test_killed_rank_ends_the_others_soon_and_frees_its_memory(softnpu, job, tmp_path):
    start = time.monotonic()
    run = Job(softnpu, job, 3, tmp_path, STEPS=50, STOP_AT=3)
    outputs = run.outputs()
    assert time.monotonic() - start < 30
    assert run.codes() == [10, -signal.SIGKILL, 10]
    for out, _ in (outputs[0], outputs[2]):
        assert "507057" in out or ": 21:" in out  # from the stream, or from the call if the death was already known
    assert [softnpu.used(device) for device in range(3)] == [0, 0, 0]


def test_communicator_memory_is_on_the_device(softnpu, job, tmp_path):
    run = Job(softnpu, job, 2, tmp_path, WAIT=1)
    for rank in run.ranks:
        assert rank.stdout.readline() == "ready\n"
    used = [softnpu.used(device) for device in range(2)]
    for rank in run.ranks:
        rank.stdin.write("\n")
        rank.stdin.flush()
    run.outputs()
    assert run.codes() == [0, 0]
    for bytes_used in used:
        assert 32 * MIB <= bytes_used <= 32 * MIB + 4 * MIB  # two buffers of HCCL_BUFFSIZE, and the program's own
    assert [softnpu.used(device) for device in range(2)] == [0, 0]


def test_communicator_out_of_memory(softnpu, job, tmp_path):
    run = Job(softnpu, job, 1, tmp_path, SOFTNPU_HBM="256M", HCCL_BUFFSIZE=200)
    (out, _), = run.outputs()
    assert run.codes() == [10]
    assert ": 24:" in out and "HCCL_BUFFSIZE" in out


def test_missing_rank_is_reported(softnpu, job, tmp_path):
    run = Job(softnpu, job, 1, tmp_path, RANK_SIZE=2, HCCL_CONNECT_TIMEOUT=1)
    (out, _), = run.outputs()
    assert run.codes() == [10]
    assert ": 9:" in out and "1 of 2 ranks did not join" in out


PRELOAD = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdint.h>
int halMemAlloc(void **p, unsigned long long size, unsigned long long flag)
{
    int (*real)(void **, unsigned long long, unsigned long long) = dlsym(RTLD_NEXT, "halMemAlloc");
    int result = real(p, size, flag);
    fprintf(stderr, "alloc module=%llu size=%llu\n", flag >> 56, size);
    return result;
}
int HcclAllReduce(void *send, void *recv, uint64_t count, int type, int op, void *comm, void *stream)
{
    int (*real)(void *, void *, uint64_t, int, int, void *, void *) = dlsym(RTLD_NEXT, "HcclAllReduce");
    fprintf(stderr, "all-reduce count=%llu\n", (unsigned long long)count);
    return real(send, recv, count, type, op, comm, stream);
}
"""


def test_preload_sees_buffers_and_calls(softnpu, job, tmp_path, compiler):
    source = tmp_path / "preload.c"
    source.write_text(PRELOAD)
    preload = compiler(tmp_path / "libpreload.so", source, flags=("-shared", "-fPIC"))
    run = Job(softnpu, job, 2, tmp_path, STEPS=3, LD_PRELOAD=preload)
    outputs = run.outputs()
    assert run.codes() == [0, 0]
    for _, err in outputs:
        assert err.count(f"alloc module=3 size={16 * MIB}\n") == 2
        assert err.count("all-reduce count=100000\n") == 3


SAMPLE = r"""
// All devices of one process, one thread each: the shape of the vendor's own examples, in C++.
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>
#include "acl/acl.h"
#include "hccl/hccl.h"
#include "hccl/hccl_types.h"

#define CHECK(x) do { int r_ = static_cast<int>(x); if (r_ != 0) { std::printf("%s: %d\n", #x, r_); std::exit(1); } } while (0)

static void rank_main(int device, HcclComm comm, int size)
{
    const uint64_t count = 8;
    void *sendBuf = nullptr, *recvBuf = nullptr;
    CHECK(aclrtSetDevice(device));
    aclrtStream stream;
    CHECK(aclrtCreateStream(&stream));
    CHECK(aclrtMalloc(&sendBuf, count * size * sizeof(float), ACL_MEM_MALLOC_HUGE_ONLY));
    CHECK(aclrtMalloc(&recvBuf, count * size * sizeof(float), ACL_MEM_MALLOC_HUGE_ONLY));
    std::vector<float> host(count * size);
    for (uint64_t i = 0; i < host.size(); i++) host[i] = static_cast<float>(device * 100 + i);
    CHECK(aclrtMemcpy(sendBuf, host.size() * 4, host.data(), host.size() * 4, ACL_MEMCPY_HOST_TO_DEVICE));
    CHECK(HcclAlltoAll(sendBuf, count, HCCL_DATA_TYPE_FP32, recvBuf, count, HCCL_DATA_TYPE_FP32, comm, stream));
    CHECK(aclrtSynchronizeStream(stream));
    CHECK(aclrtMemcpy(host.data(), host.size() * 4, recvBuf, host.size() * 4, ACL_MEMCPY_DEVICE_TO_HOST));
    for (int from = 0; from < size; from++)
        for (uint64_t i = 0; i < count; i++)
            if (host[from * count + i] != static_cast<float>(from * 100 + device * count + i)) { std::printf("wrong\n"); std::exit(2); }
    CHECK(HcclBarrier(comm, stream));
    CHECK(aclrtSynchronizeStream(stream));
    CHECK(HcclCommDestroy(comm));
    CHECK(aclrtFree(sendBuf));
    CHECK(aclrtFree(recvBuf));
    CHECK(aclrtDestroyStream(stream));
    CHECK(aclrtResetDevice(device));
}

int main()
{
    CHECK(aclInit(nullptr));
    uint32_t count = 0;
    CHECK(aclrtGetDeviceCount(&count));
    std::vector<int32_t> devices(count);
    for (uint32_t i = 0; i < count; i++) devices[i] = static_cast<int32_t>(i);
    std::vector<HcclComm> comms(count);
    CHECK(HcclCommInitAll(count, devices.data(), comms.data()));
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < count; i++) threads.emplace_back(rank_main, devices[i], comms[i], static_cast<int>(count));
    for (auto &t : threads) t.join();
    CHECK(aclFinalize());
    std::printf("done %u\n", count);
    return 0;
}
"""


@pytest.mark.parametrize("devices", [1, 6])
def test_one_process_uses_all_devices(softnpu, tmp_path, compiler, devices):
    source = tmp_path / "sample.cpp"
    source.write_text(SAMPLE)
    program = compiler(tmp_path / "sample", source, "hccl", "ascendcl", language="c++", flags=("-pthread",))
    done = softnpu.run(program, SOFTNPU_DEVICES=devices, HCCL_BUFFSIZE=4)
    assert (done.returncode, done.stdout) == (0, f"done {devices}\n"), done.stdout + done.stderr


def test_visible_devices_are_renumbered(softnpu, tmp_path, compiler):
    source = tmp_path / "sample.cpp"
    source.write_text(SAMPLE)
    program = compiler(tmp_path / "sample", source, "hccl", "ascendcl", language="c++", flags=("-pthread",))
    done = softnpu.run(program, SOFTNPU_DEVICES=4, HCCL_BUFFSIZE=4, ASCEND_RT_VISIBLE_DEVICES="3,1")
    assert (done.returncode, done.stdout) == (0, "done 2\n"), done.stdout + done.stderr
