# SPDX-License-Identifier: Apache-2.0
"""Analyses of dumps, through the functions and through the classes."""

import shutil

import pytest
from python_target import Target

# Marks around allocations: one block of 2 MiB leaks between the first two marks, one of 4 MiB after them.
RECORD = """
    import msmemscope, mstx, npu
    npu.init()
    msmemscope.config(events="alloc,free", analysis="", data_format="{form}")
    msmemscope.start()
    kept = []
    for round in range(3):
        mstx.mark("test")
        npu.work(2)
        if round < 2:
            kept.append(npu.malloc((round + 1) << 21))
    msmemscope.stop()
"""


@pytest.fixture(params=["csv", "db"])
def dump(softnpu, tmp_path, request):
    target = Target(softnpu, tmp_path / "recorded")
    target.run(RECORD.format(form=request.param))
    (file,) = target.files()
    return file


def run(target, dump, code, **more):
    (target.folder / "user").mkdir(exist_ok=True)
    shutil.copy(dump, target.folder / "user")
    return target.run(f"import msmemscope\nPATH = 'user/{dump.name}'\n{code}", **more)


CALLS = [
    "msmemscope.check_leaks(PATH, 'test', 0)",
    "msmemscope.check_leaks(input_path=PATH, mstx_info='test', start_index=0)",
    "msmemscope.analyze('leaks', input_path=PATH, mstx_info='test', start_index=0)",
    "from msmemscope.analyzer import LeaksAnalyzer, LeaksConfig\n"
    "LeaksAnalyzer().analyze(LeaksConfig(input_path=PATH, mstx_info='test', start_index=0))",
]


def test_analysis_works_without_stdout(target, dump):
    run(target, dump, "import sys; sys.stdout = sys.stderr = None; msmemscope.check_leaks(PATH, 'test', 0)")


@pytest.mark.parametrize("call", CALLS)
def test_leaks_between_marks_are_reported(target, dump, call):
    lines = run(target, dump, call).out.splitlines()
    assert "INFO: Starting to analyze data for device 0..." in lines
    assert "====== ERROR: Detected memory leaks on device 0 ======" in lines
    (leak,) = [line for line in lines if line.startswith("Direct Hal memory leak of ")]
    assert leak.startswith("Direct Hal memory leak of 2.0")


def test_missing_marks_are_reported(target, dump):
    done = run(target, dump, "msmemscope.check_leaks(PATH, 'other', 0); msmemscope.check_leaks(PATH, 'test', 1)")
    assert "ERROR: Device 0 has fewer than 3 data points. Please re-collect the data points." in done.out
    assert "INFO: Start index 1 is out of bounds." in done.out


def test_inefficient_analysis_runs(target, dump):
    done = run(target, dump, """
msmemscope.check_inefficient(PATH)
msmemscope.analyze("inefficient", input_path=PATH, mem_size=0, inefficient_type="late_deallocation", idle_threshold=1)
""")
    assert "INFO" in done.out


def test_analyzers_are_listed(target):
    done = target.run("""
        import msmemscope
        print(msmemscope.list_analyzers())
        for kind in msmemscope.list_analyzers():
            print(msmemscope.get_analyzer_config(kind))
    """)
    assert done.out.splitlines() == [
        "['leaks', 'inefficient']",
        "{'config_class': 'LeaksConfig', 'parameters': ['input_path', 'mstx_info', 'start_index']}",
        "{'config_class': 'InefficientConfig', 'parameters': ['input_path', 'mem_size', 'inefficient_type', 'idle_threshold']}",
    ]


@pytest.mark.parametrize("call, error", [
    ("analyze('nonsense')", "ValueError: Unknown analyzer type: nonsense. Available types are ['leaks', 'inefficient']"),
    ("get_analyzer_config('x')", "ValueError: Unknown analyzer type: x. Available types are ['leaks', 'inefficient']"),
    ("check_leaks('none.csv', 'test', 0)", "FileNotFoundError"),
    ("check_leaks('.', 'test', 0)", "FileNotFoundError"),
    ("check_leaks('target.py', 'test', 0)", "ValueError"),
    ("check_leaks('x' * 5000 + '.csv', 'test', 0)", "ValueError"),
    ("check_leaks('', 'test', 0)", "ValueError"),
    ("check_leaks(1, 'test', 0)", "TypeError"),
    ("check_leaks('none.csv', ' ', 0)", "ValueError"),
    ("check_leaks('none.csv', 1, 0)", "TypeError"),
    ("check_leaks('none.csv', 'test', -1)", "ValueError"),
    ("check_leaks('none.csv', 'test', '0')", "TypeError"),
    ("check_leaks('none.csv', 'test', True)", "TypeError"),
    ("analyze('leaks', input_path='none.csv')", "TypeError"),
    ("check_inefficient('none.csv')", "FileNotFoundError"),
    ("check_inefficient('none.csv', mem_size=-1)", "ValueError"),
    ("check_inefficient('none.csv', inefficient_type=['x'])", "ValueError"),
    ("check_inefficient('none.csv', inefficient_type=[])", "ValueError"),
    ("check_inefficient('none.csv', inefficient_type=1)", "TypeError"),
    ("check_inefficient('none.csv', idle_threshold=0)", "ValueError"),
])
def test_wrong_calls_raise(target, call, error):
    done = target.run(f"""
        import msmemscope
        try:
            msmemscope.{call}
        except Exception as error:
            print(f"{{type(error).__name__}}: {{error}}")
    """)
    assert done.out.startswith(error), done.out


def test_oversized_file_is_refused(target):
    with open(target.folder / "large.csv", "wb") as file:
        file.truncate((8 << 30) + 1)
    done = target.run("""
        import msmemscope
        try:
            msmemscope.check_leaks("large.csv", "test", 0)
        except ValueError as error:
            print(error)
    """)
    assert "Max allowed size is 8.00GB" in done.out


def test_exception_while_printing_ends_analysis(target, dump):
    done = run(target, dump, """
import sys
class Broken:
    def write(self, text):
        raise BrokenPipeError("gone")
    def flush(self):
        pass
console, sys.stdout = sys.stdout, Broken()
try:
    msmemscope.check_leaks(PATH, "test", 0)
except BrokenPipeError as error:
    sys.stdout = console
    print("ended:", error)
""")
    assert done.out == "ended: gone\n"
