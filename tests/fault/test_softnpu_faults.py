# SPDX-License-Identifier: Apache-2.0
"""Every switch of --fault, as seen by an ordinary program; and death in the middle of a job."""

import os
import signal
import time

import pytest

KERNELS = r"""
#include <stdint.h>
#include <time.h>
static void wait_ms(long ms)
{
    struct timespec now, end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += ms * 1000000;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    do clock_gettime(CLOCK_MONOTONIC, &now);
    while (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
}
void first(void *args, uint32_t block, uint32_t blocks) { ++*(*(uint64_t **)args); }
void second(void *args, uint32_t block, uint32_t blocks) { ++*(*(uint64_t **)args); }
void five_ms(void *args, uint32_t block, uint32_t blocks) { wait_ms(5); }
"""

PROGRAM = r"""
#include <acl/acl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static aclrtBinHandle bin;
static aclrtStream stream;
static uint64_t *counter;

static aclError launch(const char *name)
{
    aclrtFuncHandle f;
    aclError rc = aclrtBinaryGetFunction(bin, name, &f);
    return rc != 0 ? rc : aclrtLaunchKernel(f, 1, &counter, sizeof(counter), stream);
}

static void set_up(int device, const char *binary)
{
    if (aclrtSetDevice(device) != 0 || aclrtCreateStream(&stream) != 0 ||
        aclrtMallocHost((void **)&counter, sizeof(*counter)) != 0 || aclrtBinaryLoadFromFile(binary, NULL, &bin) != 0) {
        fprintf(stderr, "set-up: %s\n", aclGetRecentErrMsg());
        exit(9);
    }
    *counter = 0;
}

int main(int argc, char **argv)
{
    const char *what = argv[1];
    int device = atoi(argv[2]);
    aclInit(NULL);
    if (strcmp(what, "alloc") == 0) {
        aclrtSetDevice(device);
        for (int i = 3; i < argc; i++) {
            void *p = NULL;
            printf("%d\n", aclrtMalloc(&p, strtoull(argv[i], NULL, 10), ACL_MEM_MALLOC_NORMAL_ONLY));
        }
        const char *text = aclGetRecentErrMsg();
        printf("%s\n", text != NULL ? text : "");
        return 0;
    }
    set_up(device, argv[3]);
    if (strcmp(what, "time") == 0) {
        aclrtEvent a, b;
        float ms = 0;
        aclrtCreateEvent(&a);
        aclrtCreateEvent(&b);
        aclrtRecordEvent(a, stream);
        launch("five_ms");
        aclrtRecordEvent(b, stream);
        printf("%d\n", aclrtSynchronizeStream(stream));
        aclrtEventElapsedTime(&ms, a, b);
        printf("%f\n", (double)ms);
        return 0;
    }
    for (int i = 4; i < argc; i++) {
        printf("launch %d\n", launch(argv[i]));
        printf("sync %d\n", aclrtSynchronizeStreamWithTimeout(stream, 300));
    }
    printf("ran %llu\n", (unsigned long long)*counter);
    if (strcmp(what, "recover") == 0) {
        printf("reset %d\n", aclrtResetDeviceForce(device));
        set_up(device, argv[3]);
        printf("launch %d\n", launch("first"));
        printf("sync %d\n", aclrtSynchronizeStream(stream));
        printf("ran %llu\n", (unsigned long long)*counter);
    }
    printf("destroy %d\n", aclrtDestroyStreamForce(stream));
    printf("end %d\n", aclFinalize());
    return 0;
}
"""


@pytest.fixture(scope="module")
def tools(tmp_path_factory, compiler):
    folder = tmp_path_factory.mktemp("faults")
    (folder / "kernels.c").write_text(KERNELS)
    (folder / "program.c").write_text(PROGRAM)
    kernels = compiler(folder / "kernels.so", folder / "kernels.c", flags=["-shared", "-fPIC"])
    return compiler(folder / "program", folder / "program.c", "ascendcl"), kernels


def run(softnpu, fault, *argv):
    done = softnpu.cli("run", "--hbm", "1G", "--fault", fault, "--", *argv)
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done.stdout.splitlines()


def test_oom_at_a_call(softnpu, tools):
    program, _ = tools
    assert run(softnpu, "oom@call=2", program, "alloc", 0, 4096, 4096, 4096)[:3] == ["0", "207001", "0"]
    assert run(softnpu, "oom@call=2+", program, "alloc", 0, 4096, 4096, 4096)[:3] == ["0", "207001", "207001"]
    assert run(softnpu, "oom@call=1,dev=1", program, "alloc", 0, 4096)[:1] == ["0"]
    lines = run(softnpu, "oom@call=1,dev=1", program, "alloc", 1, 4096)
    assert lines[0] == "207001" and lines[1] != ""


def test_oom_above_a_size(softnpu, tools):
    program, _ = tools
    assert run(softnpu, "oom@above=1M", program, "alloc", 0, 4096, 2 << 20, 4096)[:3] == ["0", "207001", "0"]


def test_slow_device(softnpu, tools):
    program, kernels = tools
    code, ms = run(softnpu, "slow=6,dev=1", program, "time", 1, kernels)
    assert code == "0" and float(ms) >= 29
    assert run(softnpu, "slow=6,dev=1", program, "time", 0, kernels)[0] == "0"


def test_kernel_error(softnpu, tools):
    program, kernels = tools
    lines = run(softnpu, "kernel-error@launch=2", program, "run", 0, kernels, "first", "first")
    assert lines[:4] == ["launch 0", "sync 0", "launch 0", "sync 507015"]
    assert "ran 1" in lines and lines[-1] == "end 0"
    lines = run(softnpu, "kernel-error@launch=1,name=second", program, "run", 0, kernels, "first", "second")
    assert lines[:4] == ["launch 0", "sync 0", "launch 0", "sync 507015"]


def test_lost_task(softnpu, tools):
    program, kernels = tools
    lines = run(softnpu, "lost-task@launch=1", program, "run", 0, kernels, "first")
    assert lines == ["launch 0", "sync 507046", "ran 0", "destroy 0", "end 0"]


def test_reset_restores_lost_device(softnpu, tools):
    program, kernels = tools
    lines = run(softnpu, "reset@launch=2", program, "recover", 0, kernels, "first", "first")
    assert lines[:5] == ["launch 0", "sync 0", "launch 0", "sync 507010", "ran 1"]
    assert lines[5:9] == ["reset 0", "launch 0", "sync 0", "ran 1"]


@pytest.mark.parametrize("lines", [1, 5, 40])
def test_killed_rank_leaves_nothing_behind(softnpu, home, lines):
    """kill -9 of one rank during two-device training: its memory is freed, no process hangs, the next run works."""
    job = softnpu.start(home / "bin" / "acl-train", "--devices", "2", "--steps", "100000")
    try:
        for _ in range(lines):
            assert job.stdout.readline()
        ranks = [p["pid"] for p in softnpu.info()["processes"]]
        os.kill(ranks[0], signal.SIGKILL)
        job.communicate(timeout=60)
        assert job.returncode != 0
        deadline = time.monotonic() + 60
        while softnpu.info()["processes"]:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert softnpu.used(0) == softnpu.used(1) == 0
    finally:
        job.kill()
    again = softnpu.run(home / "bin" / "acl-train", "--devices", "2", "--steps", "2")
    assert again.returncode == 0, again.stderr
