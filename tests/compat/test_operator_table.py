# SPDX-License-Identifier: Apache-2.0
"""The table of two-phase operators: what the library exports, what the headers declare, and how missing operators answer."""
import re
import subprocess

import pytest

from conftest import HOME, ROOT

TABLE = ROOT / "src/abi/aclnn_operators.txt"
GENERATOR = ROOT / "scripts/aclnn-table"
ROWS = [line.split("|") for line in TABLE.read_text().splitlines() if line and not line.startswith("#")]
NAMES = [row[0].strip() for row in ROWS]


@pytest.fixture(scope="module")
def exported():
    listing = subprocess.run(["nm", "-D", "--defined-only", f"{HOME}/lib64/libopapi.so"], capture_output=True, text=True,
                             check=True).stdout
    return {line.split()[-1] for line in listing.splitlines()}


def implemented():
    sources = (ROOT / "src/softnpu/aclnn/operators").glob("*.c")
    return {name for source in sources for name in re.findall(r"^NN_[A-Z0-9_]+\((\w+)[,)]", source.read_text(), re.M)}


def test_both_phases_are_exported_or_neither(exported):
    rows = implemented()
    versions = {re.sub(r"V\d+$", "", name) for name in rows}
    for name in NAMES:
        phases = [phase in exported for phase in (f"aclnn{name}", f"aclnn{name}GetWorkspaceSize")]
        base = re.sub(r"V\d+$", "", name)
        # Frameworks prefer a later version: it must not exist if only an earlier one is implemented.
        assert phases == [name in rows or base == name or base not in versions] * 2, name


def test_headers_compile_and_declare_every_operator(tmp_path):
    headers = sorted({row[2].strip() for row in ROWS} - {"-"})
    calls = [name for name, row in zip(NAMES, ROWS) if row[2].strip() != "-"]
    source = "".join(f'#include "aclnnop/{h}"\n#include "aclnnop/level2/{h}"\n' for h in headers)
    source += "void *all[] = {" + ", ".join(f"(void *)aclnn{n}, (void *)aclnn{n}GetWorkspaceSize" for n in calls) + "};\n"
    (tmp_path / "all.c").write_text(source)
    for compiler, language in (("cc", "c"), ("c++", "c++")):
        subprocess.run([compiler, "-x", language, "-fsyntax-only", "-Wall", "-Werror", f"-I{HOME}/include",
                        tmp_path / "all.c"], check=True)


def test_missing_operator_names_itself(compiler, softnpu, tmp_path):
    rows = implemented()
    missing = next(name for name in NAMES if name not in rows and not re.search(r"V\d+$", name))
    (tmp_path / "call.c").write_text(f"""
        #include <acl/acl.h>
        #include <stdio.h>
        int aclnn{missing}GetWorkspaceSize();
        int main(void)
        {{
            aclInit(NULL);
            printf("%d ", aclnn{missing}GetWorkspaceSize());
            puts(aclGetRecentErrMsg());
            return 0;
        }}""")
    binary = compiler(tmp_path / "call", tmp_path / "call.c", "ascendcl", "nnopbase", "opapi", language="c")
    printed = softnpu.run(binary).stdout
    assert printed.startswith("561003 ") and f"aclnn{missing}: softnpu does not implement this operator" in printed


@pytest.mark.parametrize("line, reason", [
    ("Abs | const aclTensor *self", "expected 'Name | arguments | header'"),
    ("Abs | const aclTensor | aclnn_abs.h", "unknown parameter type"),
    ("Abs | const aclTensor *self, | aclnn_abs.h", "cannot parse argument"),
    ("Abs | struct stat *self | aclnn_abs.h", "unknown parameter type"),
])
def test_malformed_table_is_refused(tmp_path, line, reason):
    (tmp_path / "table.txt").write_text(line + "\n")
    (tmp_path / "row.c").write_text("NN_OPERATOR(Abs, plan)\n")
    done = subprocess.run([GENERATOR, "entries", tmp_path / "table.txt", tmp_path / "out.c", tmp_path / "row.c"],
                          capture_output=True, text=True)
    assert done.returncode == 1 and reason in done.stderr, done.stderr
    assert not (tmp_path / "out.c").exists()


def test_row_without_signature_is_refused(tmp_path):
    (tmp_path / "table.txt").write_text("Abs | const aclTensor *self | aclnn_abs.h\n")
    (tmp_path / "row.c").write_text("NN_OPERATOR(Absolute, plan)\n")
    done = subprocess.run([GENERATOR, "entries", tmp_path / "table.txt", tmp_path / "out.c", tmp_path / "row.c"],
                          capture_output=True, text=True)
    assert done.returncode == 1 and "rows without an entry in the table: Absolute" in done.stderr
