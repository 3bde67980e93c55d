# SPDX-License-Identifier: Apache-2.0
"""User programs in C and C++, compiled against the installed headers only and run on a software NPU."""
import json
import os
import pathlib
import subprocess

import pytest

from conftest import HOME, ROOT

PROGRAMS = pathlib.Path(__file__).parent / "programs"


@pytest.fixture
def program(compiler, softnpu, tmp_path):
    """Compiles and runs a program, which must report success."""

    def run(source, *libraries, argv=(), flags=(), **environment):
        name, suffix = source.split(".")
        binary = compiler(tmp_path / name, PROGRAMS / source, "ascendcl", *libraries,
                          language={"c": "c", "cpp": "c++"}[suffix], flags=["-Werror", "-pthread", *flags])
        result = softnpu.run(binary, *argv, env=environment)
        assert result.returncode == 0, result.stdout + result.stderr
        lines = result.stdout.splitlines()
        assert lines[-1] == f"{name}: all good"
        return lines[:-1]

    return run


@pytest.fixture
def shared_object(tmp_path):
    def build(source, name):
        target = tmp_path / name
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", f"-I{HOME}/include", PROGRAMS / source,
                        "-o", target], check=True)
        return target

    return build


@pytest.mark.parametrize("source", ["lifecycle.c", "memory.c", "share.c", "streams.c", "callbacks.cpp"])
def test_runtime(program, softnpu, source):
    assert program(source) == []
    assert all(device["used"] == 0 for device in softnpu.info()["devices"])


def test_kernels(program, shared_object):
    program("kernels.cpp", "runtime", argv=[shared_object("kernels_device.c", "kernels.o")])


def test_exceptions(program, shared_object):
    program("exceptions.c", argv=[shared_object("kernels_device.c", "kernels.o")])


def test_graph(program):
    program("graph.cpp", "nnopbase", "opapi")


def test_aclnn(program):
    program("aclnn.cpp", "nnopbase", "opapi")


def test_conveniences(program):
    program("conveniences.cpp", flags=["-rdynamic"])


def test_ranks_connect_by_root_info(program):
    program("ranks.c", "hccl", argv=["root"])


def test_ranks_connect_by_rank_table(program, tmp_path):
    devices = [{"device_id": str(i), "device_ip": f"192.168.1.{i + 1}", "rank_id": str(i)} for i in range(2)]
    table = tmp_path / "ranks.json"
    table.write_text(json.dumps({
        "version": "1.0", "status": "completed", "server_count": "1",
        "server_list": [{"server_id": f"node-{os.getpid()}", "device": devices}],
    }))
    program("ranks.c", "hccl", argv=[table])


def test_marks_reach_an_injected_tool(program, shared_object):
    calls = program("marks.c", "ms_tools_ext", MSTX_INJECTION_PATH=shared_object("mstx_tool.c", "tool.so"))
    assert calls == [
        "mark start",
        "range 1 begins: step start on a stream",
        "domain 1: pool",
        "mark inside in domain 1",
        "range 2 begins: work in domain 1",
        "heap of 1048576 bytes in domain 1",
        "2 regions in heap 7 of domain 1, the first of 512 bytes",
        "2 regions end in domain 1",
        "heap 7 ends in domain 1",
        "range 2 ends in domain 1",
        "domain 1 ends",
        "range 1 ends",
    ]


def test_marks_without_a_tool(program):
    assert program("marks.c", "ms_tools_ext") == []


def test_hostile_use(compiler, softnpu, tmp_path):
    binary = compiler(tmp_path / "hostile", PROGRAMS / "hostile.cpp", "ascendcl", "msprofiler", "hccl",
                      language="c++", flags=["-std=c++17", "-Werror", "-pthread", f"-I{ROOT}/src"])
    result = softnpu.run(binary, timeout=300)
    assert result.returncode == 0, result.stdout
