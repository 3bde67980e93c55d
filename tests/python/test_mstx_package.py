# SPDX-License-Identifier: Apache-2.0
"""The package mstx: marks and ranges for the injected tool."""

import pathlib

import pytest
from python_target import Target

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module")
def tool(tmp_path_factory, compiler):
    """A foreign tool that logs its calls in $MSTX_LOG.<pid>."""
    return compiler(tmp_path_factory.mktemp("tool") / "libmstx_log.so", ROOT / "tests/e2e/mstx_log.c", flags=["-shared", "-fPIC"])


def test_calls_without_tool(target):
    done = target.run("""
        import mstx
        print(mstx.get_tool_id(), mstx.mark("a"), mstx.range_start("b"), mstx.range_end(0))
        with mstx.Domain("io") as domain:
            print(domain, domain.mark("c"), domain.range_start("d", None), domain.range_end(0))
        domain.mark("after the end")
    """)
    assert done.out == "0 None 0 None\nmstx.Domain('io') None 0 None\n"


def test_marks_and_ranges_are_recorded(softnpu, tmp_path):
    target = Target(softnpu, tmp_path / "target", "launcher")
    done = target.run("""
        import mstx, msmemscope, npu
        npu.init()
        msmemscope.start()
        print(hex(mstx.get_tool_id()))
        mstx.mark(message="one", stream=None)
        mstx.mark("two")
        first = mstx.range_start("step start", None)
        npu.work(2)
        mstx.range_end(first)
        second = mstx.range_start(message="step start")
        mstx.range_end(rangeId=second)
        print(second - first)
    """)
    assert done.out.splitlines()[-2:] == ["0x1003", "1"]
    rows = [row for row in target.rows() if row.event == "MSTX"]
    assert [row.name for row in rows if row.type == "Mark"] == ["one", "two"]
    assert [row.type for row in rows if row.type != "Mark"] == ["Range_start", "Range_end"] * 2


def test_marks_reach_foreign_tool(target, tool):
    done = target.run("""
        import mstx, os
        mstx.mark("hello")
        number = mstx.range_start("a range", 0)
        mstx.range_end(number)
        print(os.getpid(), number)
    """, MSTX_INJECTION_PATH=tool, MSTX_LOG=target.folder / "log")
    pid, number = done.out.split()
    assert (target.folder / f"log.{pid}").read_text() == f"mark hello\nstart {number} a range\nend {number}\n"


def test_recorder_loaded_after_first_mark(target):
    target.run("""
        import mstx
        mstx.mark("not recorded")
        import msmemscope, npu
        npu.init()
        msmemscope.start()
        mstx.mark("heard")
        msmemscope.stop()
        mstx.mark("not traced")
    """)
    assert [row.name for row in target.rows() if row.event == "MSTX"] == ["heard"]


@pytest.mark.parametrize("call, error", [
    ("mark(1)", "TypeError"),
    ("mark()", "TypeError"),
    ("mark('a', 'b')", "TypeError: stream must be an integer (aclrtStream handle) or None"),
    ("range_start('a', stream=1.5)", "TypeError: stream must be an integer (aclrtStream handle) or None"),
    ("mark('a', 1 << 70)", "OverflowError"),
    ("mark('a\\0b')", "ValueError"),
    ("range_end('a')", "TypeError"),
    ("range_end()", "TypeError"),
    ("get_tool_id(1)", "TypeError"),
    ("Domain(1)", "TypeError"),
    ("_mstx.domain_mark(7, 'a')", "ValueError"),
])
def test_wrong_calls_raise(target, call, error):
    done = target.run(f"""
        import mstx
        from mstx import _mstx
        try:
            mstx.{call}
        except Exception as error:
            print(f"{{type(error).__name__}}: {{error}}")
    """)
    assert done.out.startswith(error), done.out


def test_messages_with_unusual_text(softnpu, tmp_path):
    target = Target(softnpu, tmp_path / "target", "launcher")
    target.run("""
        import mstx, msmemscope
        msmemscope.start()
        for text in ("", "\u4e2d\u6587", "a,b", "x" * 5000):
            mstx.mark(text)
    """, PYTHONUTF8=1)
    names = [row.name for row in target.rows() if row.event == "MSTX"]
    assert names[:3] == ["", "\u4e2d\u6587", "a,b"] and names[3].startswith("x" * 1000)
