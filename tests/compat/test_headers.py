# SPDX-License-Identifier: Apache-2.0
"""Each public header compiles alone, and all of them together, in C and C++ without warnings; the layouts also hold for the
other architecture."""

import subprocess

import pytest

from conftest import ROOT

INCLUDE = ROOT / "include"
HEADERS = sorted(str(p.relative_to(INCLUDE)) for p in INCLUDE.rglob("*.h"))
WARNINGS = ["-Wall", "-Wextra", "-pedantic", "-Werror"]
COMPILERS = {
    "c99": ["cc", "-x", "c", "-std=c99"],
    "c11": ["cc", "-x", "c", "-std=c11"],
    "c++11": ["c++", "-x", "c++", "-std=c++11"],
    "c++17": ["c++", "-x", "c++", "-std=c++17"],
}


def check(command, text, include=INCLUDE):
    # A declaration after the includes: a file that only defines macros would be an empty translation unit.
    result = subprocess.run(
        [*command, "-fsyntax-only", f"-I{include}", "-"], input=text + "\nextern int at_least_one_declaration;\n",
        capture_output=True, text=True,
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("standard", ["c99", "c++11"])
@pytest.mark.parametrize("header", HEADERS)
def test_header_compiles_alone(header, standard):
    check(COMPILERS[standard] + WARNINGS, f'#include "{header}"')


@pytest.mark.parametrize("standard", ["c11", "c++17"])
@pytest.mark.parametrize("order", [1, -1])
def test_headers_compile_together(standard, order):
    check(COMPILERS[standard] + WARNINGS, "\n".join(f'#include "{h}"' for h in HEADERS[::order]))


@pytest.mark.parametrize("text", ['#include "runtime/rt.h"', '#include "rt.h"'])
def test_runtime_headers_compile_from_their_folder(text):
    check(COMPILERS["c11"] + WARNINGS, text, INCLUDE / "experiment/runtime")


@pytest.mark.parametrize("standard", ["c11", "c++17"])
def test_mstx_is_usable_from_several_files(tmp_path, standard):
    """Header-only: two files of one program share a context without linking a library."""
    other = '#include "mstx/ms_tools_ext.h"\n' + ('extern "C" ' if "++" in standard else "") + \
        "void other(void);\nvoid other(void) { mstxMarkA(\"x\", NULL); }\n"
    main = '#include "mstx/ms_tools_ext.h"\n' + ('extern "C" ' if "++" in standard else "") + \
        "void other(void);\nint main(void) { mstxMarkA(\"x\", NULL); other(); return mstxRangeStartA(\"y\", NULL) != 0; }\n"
    suffix = "cc" if "++" in standard else "c"
    files = []
    for name, text in (("main", main), ("other", other)):
        files.append(tmp_path / f"{name}.{suffix}")
        files[-1].write_text(text)
    compiler = "c++" if "++" in standard else "cc"
    subprocess.run([compiler, f"-std={standard}", *WARNINGS, f"-I{INCLUDE}", *files, "-o", tmp_path / "program"], check=True)
    assert subprocess.run([tmp_path / "program"]).returncode == 0


@pytest.mark.parametrize("compiler", ["cc", "aarch64-linux-gnu-gcc"])
def test_layouts_hold(compiler):
    """Assertions of src/abi/layout_check.c, for this machine's architecture and the other one with Ascend devices."""
    result = subprocess.run(
        [compiler, "-std=gnu11", "-Wall", "-Werror", "-fsyntax-only", f"-I{INCLUDE}", f"-I{ROOT}/src",
         ROOT / "src/abi/layout_check.c"], capture_output=True, text=True,
    )
    assert result.returncode == 0, result.stderr
