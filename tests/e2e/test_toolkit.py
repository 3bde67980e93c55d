# SPDX-License-Identifier: Apache-2.0
"""The toolkit tree, built and installed: programs are compiled and run against it as against the vendor's, without
LD_LIBRARY_PATH; scripts find its files under the older names."""

import os
import platform
import re
import subprocess
import sys

import pytest

from conftest import BUILD, HOME

ARCH = platform.machine()
PROGRAM = """
#include <acl/acl.h>
#include <acl/acl_op_compiler.h>
#include <stdio.h>
int main(void)
{
    size_t free_b = 0, total_b = 0;
    aclopAttr *attr = aclopCreateAttr();
    int rc = aclInit(NULL) != 0 || aclrtSetDevice(0) != 0 || aclrtGetMemInfo(ACL_HBM_MEM, &free_b, &total_b) != 0;
    printf("%d %zu %d\\n", rc, total_b >> 30, attr != NULL);
    aclopDestroyAttr(attr);
    return rc;
}
"""
HOLDER = """
import ctypes, sys
acl = ctypes.CDLL(sys.argv[1])
block = ctypes.c_void_p()
assert acl.aclInit(None) == 0 and acl.aclrtSetDevice(1) == 0
assert acl.aclrtMalloc(ctypes.byref(block), ctypes.c_size_t(100 << 20), 0) == 0
print("ready", flush=True)
sys.stdin.read()
"""
LINKS = ["runtime/include/acl/acl.h", "runtime/lib64/libascendcl.so", "runtime/lib64/stub/libascendcl.so",
         "acllib/include/acl/acl.h", "acllib/lib64/libascendcl.so", "compiler/include/acl/acl_op_compiler.h",
         "compiler/lib64/libacl_op_compiler.so", "fwkacllib/lib64/libge_runner.so", "hccl/include/hccl/hccl.h",
         "hccl/lib64/libhccl.so", "lib64/stub/libascend_hal.so", f"{ARCH}-linux/devlib/libascendcl.so",
         f"{ARCH}-linux/devlib/linux/{ARCH}/libascend_hal.so", "devlib/libascendcl.so", "tools/mspti/lib64/libascendcl.so",
         "tools/mstx/include/mstx/ms_tools_ext.h", "toolkit/tools/mstx/include", "opp/built-in", "bin/npu-smi"]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("install")
    subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet"], check=True, capture_output=True,
                   env=os.environ | {"DESTDIR": str(folder)})
    (home,) = [path.parent for path in folder.rglob("set_env.sh") if path.parent.name == "softnpu"]
    return home


@pytest.fixture(params=["built", "installed"])
def home(request):
    return HOME if request.param == "built" else request.getfixturevalue("installed")


def clean(softnpu, **more):
    """The environment of a shell that does not know softnpu."""
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(("SOFTNPU_", "ASCEND_", "LD_", "CMAKE_", "PKG_CONFIG"))}
    return env | {"SOFTNPU_MACHINE": softnpu.name} | {name: str(value) for name, value in more.items()}


def call(softnpu, *argv, cwd=None, **more):
    done = subprocess.run([str(word) for word in argv], cwd=cwd, env=clean(softnpu, **more), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def source(tmp_path):
    (tmp_path / "program.c").write_text(PROGRAM)
    return tmp_path / "program.c"


@pytest.mark.parametrize("libraries", ["lib64", "runtime/lib64/stub", "devlib"])
def test_plain_compiler(home, softnpu, source, libraries):
    program = source.parent / "program"
    call(softnpu, "gcc", source, f"-I{home}/include", f"-L{home}/{libraries}", "-lascendcl", "-lacl_op_compiler",
         f"-Wl,-rpath,{home}/lib64", "-o", program)
    assert call(softnpu, program) == "0 64 1\n"


def test_pkg_config(home, softnpu, source):
    flags = call(softnpu, "pkg-config", "--cflags", "--libs", "softnpu-aclnn", "softnpu-hccl",
                 PKG_CONFIG_PATH=home / "lib64/pkgconfig").split()
    program = source.parent / "program"
    call(softnpu, "gcc", source, *flags, "-o", program)
    assert call(softnpu, program) == "0 64 1\n"


def test_cmake(home, softnpu, source):
    (source.parent / "CMakeLists.txt").write_text("""
cmake_minimum_required(VERSION 3.13)
project(program C)
find_package(softnpu REQUIRED)
add_executable(program program.c)
target_link_libraries(program softnpu::softnpu softnpu::acl_op_compiler softnpu::opapi softnpu::hccl)
""")
    call(softnpu, "cmake", "-S", source.parent, "-B", source.parent / "b", CMAKE_PREFIX_PATH=home)
    call(softnpu, "cmake", "--build", source.parent / "b")
    assert call(softnpu, source.parent / "b" / "program") == "0 64 1\n"


def test_older_layout(home):
    assert [name for name in LINKS if not (home / name).exists()] == []


def test_installed_tree_does_not_name_the_build(installed):
    for library in (installed / "lib64").glob("*.so"):
        dynamic = subprocess.run(["readelf", "-d", library], check=True, capture_output=True, text=True).stdout
        assert str(BUILD) not in dynamic, library
        assert "Library runpath: [$ORIGIN]" in dynamic, library


@pytest.mark.parametrize("shell", ["bash", "zsh", "dash"])
def test_set_env_prepares_a_shell(home, softnpu, shell):
    script = f". {home}/set_env.sh && . {home}/set_env.sh && npu-smi info -l && env"
    out = call(softnpu, shell, "-c", script)
    assert re.search(r"Total Count +: 2", out)
    values = dict(line.split("=", 1) for line in out.splitlines() if "=" in line)
    assert values["ASCEND_HOME_PATH"] == values["ASCEND_TOOLKIT_HOME"] == values["ASCEND_AICPU_PATH"] == str(home)
    assert values["ASCEND_OPP_PATH"] == f"{home}/opp"
    assert values["LD_LIBRARY_PATH"] == f"{home}/lib64"
    assert values["PATH"].split(":").count(f"{home}/bin") == 1
    assert values["CMAKE_PREFIX_PATH"] == str(home)


def test_setenv_bash(home, softnpu):
    assert call(softnpu, "bash", "-c", f"source {home}/bin/setenv.bash; echo $ASCEND_HOME_PATH").strip() == str(home)


def test_set_env_agrees_with_the_command(softnpu):
    listed = dict(re.findall(r"export (\w+)='([^']*)'", call(softnpu, HOME / "bin" / "softnpu", "env")))
    sourced = call(softnpu, "bash", "-c", f". {HOME}/set_env.sh && env")
    for name in ("ASCEND_HOME_PATH", "ASCEND_OPP_PATH", "TOOLCHAIN_HOME", "CMAKE_PREFIX_PATH", "PKG_CONFIG_PATH"):
        assert f"{name}={listed[name]}" in sourced.splitlines()


def test_version_files_agree_with_the_library(home, softnpu, source):
    source.write_text("""
#include <acl/acl.h>
#include <stdio.h>
int main(void)
{
    char version[ACL_PKG_VERSION_MAX_SIZE];
    char name[] = "runtime";
    return aclsysGetVersionStr(name, version) != 0 || puts(version) < 0;
}
""")
    call(softnpu, "gcc", source, f"-I{home}/include", f"-L{home}/lib64", "-lascendcl", f"-Wl,-rpath,{home}/lib64", "-o",
         source.parent / "program")
    version = call(softnpu, source.parent / "program").strip()
    for package in ("runtime", "compiler", "opp"):
        assert f"Version={version}" in (home / package / "version.info").read_text().splitlines()
    assert f"[{version}:{version}]" in (home / "version.cfg").read_text()


class TestNpuSmi:
    @pytest.fixture
    def smi(self, softnpu):
        return lambda *words, **more: subprocess.run([HOME / "bin" / "npu-smi", *words], capture_output=True, text=True,
                                                     env=clean(softnpu, **more))

    def test_table_as_scripts_parse_it(self, smi):
        lines = smi("info", SOFTNPU_DEVICES=3, SOFTNPU_SOC="Ascend910B2", SOFTNPU_HBM="8G").stdout.splitlines()
        assert lines[6].split()[:3] == ["|", "0", "910B2"]  # line 7, third word: how ggml-cann finds the chip
        assert len({len(line) for line in lines}) == 1
        devices = [line for line in lines if "| OK " in line]
        assert [line.split()[1] for line in devices] == ["0", "1", "2"]
        assert sum(re.search(r"\b0 +/ 8192 ", line) is not None for line in lines) == 3
        assert sum("No running processes found in NPU" in line for line in lines) == 3

    def test_shows_processes_and_their_memory(self, softnpu, smi):
        holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(HOME / "lib64/libascendcl.so")], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True, env=softnpu.env())
        try:
            assert holder.stdout.readline() == "ready\n"
            out = smi("info").stdout
            row = re.search(rf"^\| 1 +0 +\| {holder.pid} +\| \S+ +\| (\d+) ", out, re.M)
            assert row and int(row[1]) >= 100
            assert re.search(r"^\| 0 +\| 0000:82:00.0 +\| \d+ +0 +/ 0 +(\d+) */ 65536", out, re.M)[1] == row[1]
            assert re.search(rf"Process id:{holder.pid} .*Process memory\(MB\):{row[1]}$", smi("info", "-t", "proc-mem", "-i", "1").stdout,
                             re.M)
        finally:
            holder.stdin.close()
            assert holder.wait(timeout=60) == 0

    def test_lists(self, smi):
        assert re.search(r"Total Count +: 2\n", smi("info", "-l").stdout)
        assert re.search(r"^\s+1 +0 +1 +Ascend 910B3$", smi("info", "-m").stdout, re.M)

    @pytest.mark.parametrize("topic, text", [
        ("memory", r"HBM Capacity\(MB\) +: 65536"), ("usages", r"HBM Usage Rate\(%\) +: 0"),
        ("board", r"Chip Name +: 910B3"), ("health", r"Health Status +: OK"), ("common", r"Aicore Count +: 20"),
        ("temp", r"NPU Temperature \(C\) +: 40"), ("power", r"NPU Real-time Power\(W\) +: 90.0")])
    def test_topics(self, smi, topic, text):
        done = smi("info", "-t", topic, "-i", "1", "-c", "0")
        assert done.returncode == 0 and re.search(r"NPU ID +: 1\n", done.stdout) and re.search(text, done.stdout)

    @pytest.mark.parametrize("words, text", [
        (["info", "-t", "memory", "-i", "2"], "0 to 1"), (["info", "-t", "memory"], "-i N"), (["info", "-t", "sensors"], "sensors"),
        (["info", "-x"], "-x"), (["set", "-t", "reset"], "'set' is not supported"), (["info", "-i"], "number"),
        (["info", "-t", "memory", "-i", "0", "-c", "1"], "-c")])
    def test_bad_requests_are_named(self, smi, words, text):
        done = smi(*words)
        assert done.returncode == 2 and text in done.stderr and done.stderr.startswith("npu-smi: ") and done.stdout == ""
