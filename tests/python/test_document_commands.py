# SPDX-License-Identifier: Apache-2.0
"""Runs the commands and the C++ program of the collection guide unchanged; see test_documents."""

import re
import textwrap

from python_target import HOME, Target
from test_documents import snippets

# In the order of the guide's table.
LIBRARIES = ("libascend_kernel_hook.so", "libascend_mstx_hook.so", "libatb_abi_0_hook.so", "libatb_abi_1_hook.so",
             "libleaks_ascend_hal_hook.so")
USE = "void *p; aclInit(nullptr); aclrtSetDevice(0); aclrtMalloc(&p, 4096, ACL_MEM_MALLOC_HUGE_FIRST);"
WORK = "import npu\nnpu.init()\nnpu.work(4)\n"


def test_hand_written_preload_records_once(softnpu, tmp_path, requirement):
    """Five libraries in LD_PRELOAD load one recorder; no event is recorded twice."""
    for code in [code for code in snippets(requirement, "001") if "msmemscope.step()" in code]:
        target = Target(softnpu, tmp_path / "target")
        script = target.folder / "script.py"
        script.write_text("import npu\nnpu.init()\ndef train(): npu.work(3)\n" + code)
        commands = f"""
            export memscope_install_path={HOME}
            export LD_PRELOAD={":".join("${memscope_install_path}/lib64/" + name for name in LIBRARIES)}
            export LD_LIBRARY_PATH=${{memscope_install_path}}/lib64/:${{LD_LIBRARY_PATH}}
            cd {target.folder} && python3 script.py
        """
        done = softnpu.run("bash", "-c", textwrap.dedent(commands), **target.env)
        assert done.returncode == 0 and "not seen" not in done.stderr, done.stdout + done.stderr
        assert len(target.mallocs("HAL")) == 30


def test_program_command_forms(softnpu, tmp_path):
    for number, (options, after) in enumerate([("", "bash user.sh"), ("--events=alloc", "-- python3 work.py first second"),
                                               ("--events=alloc", "./user.sh")]):
        target = Target(softnpu, tmp_path / f"target{number}")
        (target.folder / "work.py").write_text(WORK)
        (target.folder / "user.sh").write_text("#!/bin/bash\nexec python3 work.py\n")
        (target.folder / "user.sh").chmod(0o755)
        done = softnpu.run("bash", "-c", f"cd {target.folder} && {HOME}/bin/msmemscope {options} {after}", **target.env)
        assert done.returncode == 0, done.stdout + done.stderr
        assert len(target.mallocs("HAL")) == 4, after


def test_c_program_of_document(softnpu, tmp_path, requirement, compiler, recording):
    """A mark and a step; the dots are replaced with user code."""
    if requirement is None:
        return
    (document,) = requirement.glob("001*.txt")
    (code,) = re.findall(r"```cpp\n(.*?)```", document.read_text(), re.S)
    source = tmp_path / "marks.cpp"
    source.write_text(re.sub(r"^ *\.{3,} *$", USE, code, flags=re.M))
    program = compiler(tmp_path / "marks", source, "ascendcl", "ms_tools_ext", language="c++")
    done = recording.run("--", program)
    assert done.returncode == 0, done.stderr
    mark, begin, end = [row for row in recording.rows() if row.event == "MSTX"]
    assert (mark.type, mark.name) == ("Mark", "MarkA") and "step start" in begin.name and end.name.endswith("id 1")
