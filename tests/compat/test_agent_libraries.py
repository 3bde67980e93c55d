# SPDX-License-Identifier: Apache-2.0
"""The libraries loaded into user programs: dependencies, exports, and the oldest supported system."""
import re
import resource
import subprocess

import pytest

from conftest import ROOT

FLOOR = (2, 28)
LIBRARIES = ["ascend_kernel_hook", "ascend_leaks", "leaks_ascend_hal_hook", "ascend_mstx_hook"]
OTHER_NAMES = {"InitInjectionMstx", "ms_agent_v1"}
ATB = ["atb_abi_0_hook", "atb_abi_1_hook"]


def readelf(build, name, *options):
    path = build / "msmemscope" / "lib64" / f"lib{name}.so"
    return subprocess.run(["readelf", "-W", *options, path], check=True, capture_output=True, text=True).stdout


def symbols(build, name):
    for line in readelf(build, name, "--dyn-syms").splitlines():
        fields = line.split()
        if len(fields) >= 8 and fields[0].rstrip(":").isdigit():
            yield fields[6], fields[4], fields[7]


@pytest.mark.parametrize("name", LIBRARIES + ATB)
def test_needs_only_libc(build, name):
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", readelf(build, name, "-d"))
    assert set(needed) <= {"libc.so.6"}


@pytest.mark.parametrize("name", LIBRARIES + ATB)
def test_loads_on_old_systems(build, name):
    for section, _, symbol in symbols(build, name):
        if section == "UND" and "@GLIBC_" in symbol:
            version = tuple(int(part) for part in symbol.split("@GLIBC_")[1].split()[0].split("."))
            assert version[:2] <= FLOOR, symbol


@pytest.mark.parametrize("name", LIBRARIES + ATB)
def test_binds_lazily(build, name):
    assert "BIND_NOW" not in readelf(build, name, "-d") and "Flags: NOW" not in readelf(build, name, "-d")


def test_exports_only_hooks(build):
    source = (ROOT / "src" / "agent" / "hooks.h").read_text()
    hooks = set(re.findall(r"X\([A-Z0-9_]+, [a-zA-Z0-9_]+, ([a-zA-Z0-9_]+), \(", source))
    hooks |= set(re.findall(r"MS_RT\(X, ([a-zA-Z0-9_]+), \(", source))
    for name in re.findall(r"MS_TWINS\(X, ([a-zA-Z0-9_]+), \(", source):
        hooks |= {name, name + "Impl"}
    assert {"halMemAlloc", "rtKernelLaunch", "aclrtLaunchKernelImpl"} <= hooks
    shown = {symbol for section, _, symbol in symbols(build, "ascend_kernel_hook") if section not in ("UND", "ABS")}
    assert shown == hooks | OTHER_NAMES


@pytest.mark.parametrize("name", LIBRARIES[1:])
def test_alias_libraries_export_nothing(build, name):
    assert not [symbol for section, _, symbol in symbols(build, name) if section not in ("UND", "ABS")]
    assert "libascend_kernel_hook.so" in readelf(build, name, "-d")


def test_uses_little_thread_local_storage(build):
    """Libraries loaded at run time share a small reserve: one word each for the recorder and the hooks."""
    total = sum(int(line.split()[5], 16) for line in readelf(build, "ascend_kernel_hook", "-l").splitlines()
                if line.strip().startswith("TLS"))
    assert 0 < total <= 16


def test_writes_few_pages_in_a_program_without_events(build):
    """Each written page costs one fault in every program of a job: relocations, the session, the library's address."""
    agent = build / "msmemscope" / "lib64" / "libascend_kernel_hook.so"
    env = {"LD_PRELOAD": str(agent), "MSMEMSCOPE_SESSION": "1;s=" + "0" * 32 + ";t=2;e=71;k=2"}
    maps = subprocess.run(["cat", "/proc/self/smaps"], env=env, check=True, capture_output=True, text=True).stdout
    written_kb, ours, end = 0, False, None
    for line in maps.splitlines():
        mapping = re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line)
        if mapping:  # its .bss follows directly, without a name
            ours = agent.name in line or (ours and len(line.split()) == 5 and mapping[1] == end)
            end = mapping[2]
        elif line.startswith("Anonymous:") and ours:
            written_kb += int(line.split()[1])
    assert 0 < written_kb * 1024 <= 7 * resource.getpagesize()


@pytest.mark.parametrize("name", ATB)
def test_atb_library_exports_only_its_names(build, name):
    shown = {symbol for section, _, symbol in symbols(build, name) if section not in ("UND", "ABS")}
    assert len(shown) == 8 and all(symbol.startswith("_ZN") and "3atb" in symbol for symbol in shown)
    assert "TLS" not in [line.split()[0] for line in readelf(build, name, "-l").splitlines() if line.split()]


def test_hook_never_resolves_to_itself(build, softnpu, tmp_path):
    """A driver library that lacks a function and depends on the agent: a search in it ends at the hook."""
    library = build / "msmemscope" / "lib64" / "libascend_kernel_hook.so"
    (tmp_path / "driver.c").write_text("int driver_is_here;\n")
    (tmp_path / "program.c").write_text("""
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    void *driver = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL), *memory = NULL;
    int (*allocate)(void **, unsigned long long, unsigned long long) = driver ? dlsym(RTLD_DEFAULT, "halMemAlloc") : NULL;
    int (*through)(void **, unsigned long long, unsigned long long) = driver ? dlsym(driver, "halMemAlloc") : NULL;
    if (allocate == NULL || allocate != through) {
        return 1;
    }
    printf("%d\\n", allocate(&memory, 4096, 0));
    return 0;
}
""")
    driver, program = tmp_path / "libascend_hal.so", tmp_path / "program"
    subprocess.run(["gcc", "-shared", "-fPIC", tmp_path / "driver.c", "-Wl,--no-as-needed", library, "-Wl,-soname,libascend_hal.so",
                    f"-Wl,-rpath,{library.parent}", "-o", driver], check=True)
    subprocess.run(["gcc", tmp_path / "program.c", "-o", program], check=True)
    done = softnpu.run(program, driver, env={"LD_PRELOAD": str(library)})
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().isdigit() and int(done.stdout) != 0
