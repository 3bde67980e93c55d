# SPDX-License-Identifier: Apache-2.0
"""Exports of the libraries, checked against the function tables in src/abi: every name in the right file, the SONAME equal to
the file name, and calls between libraries open to interposition."""

import re
import subprocess

import pytest

from conftest import HOME, ROOT

TABLES = {  # table -> libraries that must export its names
    "acl": ["libascendcl.so", "libacl_rt.so"],
    "rt": ["libruntime.so"],
    "hal": ["libascend_hal.so"],
    "hccl": ["libhccl.so"],
    "mstx": ["libms_tools_ext.so"],
    "profapi": ["libprofapi.so"],
    "aclprof": ["libmsprofiler.so"],
}
LIBRARIES = sorted(
    {name for names in TABLES.values() for name in names}
    | {"libascendcl_impl.so", "libacl_rt_impl.so", "libascendalog.so", "libunified_dlog.so", "libc_sec.so", "libdcmi.so",
       "libnnopbase.so", "libopapi.so", "libhcomm.so"}
)


def rows(table):
    """(macro, status, name) of each row."""
    text = (ROOT / "src/abi" / f"{table}_functions.h").read_text()
    return re.findall(r"^(\w+_FN(?:_\w+)?)\((\w+),\s*[^,()]+,\s*(\w+),", text, re.M)


def dynamic_symbols(library, *options):
    out = subprocess.run(["nm", "-D", *options, HOME / "lib64" / library], capture_output=True, text=True, check=True)
    return {line.split()[-1].split("@")[0] for line in out.stdout.splitlines() if line.strip()}


def dynamic_section(library):
    return subprocess.run(["readelf", "-dW", HOME / "lib64" / library], capture_output=True, text=True, check=True).stdout


def needed(library):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic_section(library))


@pytest.mark.parametrize("table,library", [(t, lib) for t, libs in TABLES.items() for lib in libs])
def test_every_name_is_exported(table, library):
    names = {name for _, _, name in rows(table)}
    assert len(names) >= 14
    assert names - dynamic_symbols(library, "--defined-only") == set()


def test_every_acl_function_has_impl():
    twins = {name + "Impl" for macro, _, name in rows("acl") if macro != "ACL_FN_FRONT"}
    assert len(twins) == 398
    assert twins - dynamic_symbols("libascendcl_impl.so", "--defined-only") == set()
    for front in TABLES["acl"]:
        assert twins - dynamic_symbols(front, "--undefined-only") == set(), f"{front} does not call through the PLT"


def test_recommended_functions_are_implemented():
    assert [name for macro, status, name in rows("acl") if status != "IMPLEMENTED" and macro != "ACL_FN_EXTRA"] == []


@pytest.mark.parametrize("library", LIBRARIES)
def test_soname_is_the_file_name(library):
    text = dynamic_section(library)
    assert re.findall(r"\(SONAME\).*\[(.*)\]", text) == [library]
    assert "SYMBOLIC" not in text


def test_library_dependencies():
    """A program that links libascendcl.so has the driver in its global scope."""
    seen, todo = set(), ["libascendcl.so"]
    while todo:
        library = todo.pop()
        if library in seen or not (HOME / "lib64" / library).exists():
            continue
        seen.add(library)
        todo += needed(library)
    assert {"libascendcl_impl.so", "libruntime.so", "libprofapi.so", "libascend_hal.so"} <= seen
    assert needed("libacl_rt_impl.so")[:1] == ["libascendcl_impl.so"]


@pytest.mark.parametrize(
    "caller,callee,names",
    [
        ("libascendcl_impl.so", "libruntime.so", ["rtMalloc", "rtMallocPhysical", "rtMapMem", "rtUnmapMem", "rtReserveMemAddress"]),
        ("libruntime.so", "libascend_hal.so",
         ["halMemAlloc", "halMemFree", "halMemCreate", "halMemRelease", "halMemMap", "halMemUnmap", "halMemAddressReserve"]),
        ("libruntime.so", "libprofapi.so", ["MsprofReportCompactInfo", "MsprofReportApi"]),
    ],
)
def test_layers_call_each_other_through_plt(caller, callee, names):
    assert set(names) - dynamic_symbols(caller, "--undefined-only") == set()
    assert set(names) - dynamic_symbols(callee, "--defined-only") == set()
