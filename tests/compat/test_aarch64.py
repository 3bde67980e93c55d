# SPDX-License-Identifier: Apache-2.0
"""Agent and recorder built for aarch64: a program under qemu-user records, and its records are read here. The two sides of
the shared memory are then different architectures, which its layout permits."""

import json
import mmap
import os
import re
import secrets
import shutil
import socket
import struct
import subprocess

import pytest

from conftest import ROOT

CC = ["aarch64-linux-gnu-gcc", "-std=gnu11", "-O2", "-D_GNU_SOURCE", f"-I{ROOT}/include", f"-I{ROOT}/src", "-fPIC"]
PAIRS, THREADS = 1000, 3
PROGRAM = f"""
#include "ascend_hal.h"
#include <pthread.h>
#include <signal.h>
static void *work(void *unused)
{{
    for (int i = 0; i < {PAIRS}; i++) {{
        void *p;
        halMemAlloc(&p, 512, MEM_DEV | MEM_TYPE_HBM);
        halMemFree(p);
    }}
    return unused;
}}
int main(void)
{{
    pthread_t threads[{THREADS}];
    for (int i = 0; i < {THREADS}; i++) {{
        pthread_create(&threads[i], NULL, work, NULL);
    }}
    for (int i = 0; i < {THREADS}; i++) {{
        pthread_join(threads[i], NULL);
    }}
    raise(SIGKILL);
}}
"""


def run(*command, **more):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, **more)
    assert result.returncode == 0, result.stderr


@pytest.fixture(scope="module")
def agent(tmp_path_factory):
    """The agent library, from the same sources as in the build."""
    path = tmp_path_factory.mktemp("aarch64") / "libascend_kernel_hook.so"
    build = os.environ.get("NPUSCOPE_BUILD", ROOT / "build")
    commands = json.loads(subprocess.run(["ninja", "-C", str(build), "-t", "compdb"], capture_output=True, text=True,
                                         check=True).stdout)
    sources = {os.path.join(c["directory"], c["file"]) for c in commands
               if c["output"].startswith("src/agent/libascend_kernel_hook.so.p/") and c["file"].endswith(".c")}
    assert len(sources) > 15
    run(*CC, "-shared", "-fvisibility=hidden", "-fexceptions", "-ftls-model=initial-exec", "-DMS_GLIBC_FLOOR", "-Wall",
        "-Wextra", "-Wno-unused-parameter", "-Werror", "-include", ROOT / "src/agent/glibc_floor.h", "-Wl,-z,lazy",
        "-Wl,-Bsymbolic", "-o", path, *sorted(sources))
    return path


def test_symbol_versions(agent):
    """Nothing newer than glibc 2.28."""
    listing = subprocess.run(["readelf", "--dyn-syms", "-W", agent], capture_output=True, text=True, check=True).stdout
    versions = {tuple(map(int, v.split("."))) for v in re.findall(r"@+GLIBC_([0-9.]+)", listing)}
    assert versions and max(versions) <= (2, 28)


def records_of(memory):
    """(kind, stamp) of each record by stream."""
    chunk_b, stream_max, chunk_max = struct.unpack_from("<12x3I", memory)
    streams_off, table_off, chunks_off = struct.unpack_from("<24x3Q", memory)
    streams = {}
    for i in range(stream_max):
        reserved, committed = struct.unpack_from("<2Q", memory, streams_off + 128 * i)
        if reserved == 0:
            break
        assert reserved == committed
        streams[i] = (committed, [])
    for i in range(chunk_max):
        state = struct.unpack_from("<I", memory, table_off + 8 * i)[0]
        if state == 0:
            break
        at = chunks_off + i * chunk_b
        stream, used = struct.unpack_from("<I20xI", memory, at)
        at, end = at + 64, at + 64 + used
        while at < end:
            kind, _, words, _, stamp = struct.unpack_from("<BBHIQ", memory, at)
            streams[stream][1].append((kind, stamp))
            at += 8 * words
    for committed, records in streams.values():
        assert committed == len(records)
    return [records for _, records in streams.values()]


def test_records_are_read_on_this_machine(agent, tmp_path):
    assert shutil.which("qemu-aarch64"), "scripts/bootstrap test installs qemu-user"
    run(*CC, "-shared", "-o", tmp_path / "libascend_hal.so", ROOT / "bench/null_driver/hal.c")
    run(*CC, "-x", "c", "-", "-o", tmp_path / "program", "-L", tmp_path, "-lascend_hal", "-lpthread", input=PROGRAM)
    name = secrets.token_hex(16)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(f"\0msmemscope-{name}")
        listener.listen()
        listener.settimeout(30)
        result = subprocess.run(
            ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", "-E", f"LD_LIBRARY_PATH={tmp_path}", "-E",
             f"LD_PRELOAD={agent}", "-E", f"MSMEMSCOPE_SESSION=1;s={name};t=2;e=3;k=3;m=64", str(tmp_path / "program")],
            capture_output=True, text=True, timeout=60)
        assert result.returncode == -9, result.stderr
        connection, _ = listener.accept()
        with connection:
            _, fds, _, _ = socket.recv_fds(connection, 65536, 4)
    with mmap.mmap(fds[0], os.fstat(fds[0]).st_size, mmap.MAP_SHARED, mmap.PROT_READ) as memory:
        streams = records_of(memory)
    os.close(fds[0])
    kinds = [kind for records in streams for kind, _ in records]
    counts = sorted(kinds.count(kind) for kind in set(kinds))
    assert counts == [THREADS, THREADS * PAIRS, THREADS * PAIRS]  # THREAD, HAL_ALLOC, HAL_FREE
    for records in streams:
        stamps = [stamp for _, stamp in records]
        assert stamps == sorted(stamps) and stamps[0] > 0


def test_stacks_match_c_library(tmp_path):
    walker = [ROOT / "src/agent" / name for name in ("unwind.c", "unwind_table.c", "stack_range.c", "loaded.c")]
    run(*CC, f"-I{ROOT}/tests/unit", "-o", tmp_path / "walk", ROOT / "tests/compat/unwind_walk.c", *walker)
    run("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", tmp_path / "walk")
