# SPDX-License-Identifier: Apache-2.0
"""The Python packages are typed: mypy reports nothing for them, nor for a program that uses them."""

import os
import subprocess
import sys

from conftest import ROOT


def test_packages_are_typed():
    done = subprocess.run([sys.executable, "-m", "mypy", f"--cache-dir={os.devnull}"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


PROGRAM = """
import msmemscope, mstx
from msmemscope import describe, watcher

class Tensor:
    def data_ptr(self) -> int: return 0
    def numel(self) -> int: return 0
    def element_size(self) -> int: return 0

@describe.describer(owner="forward")
@msmemscope.RecordFunction("forward")
@msmemscope.TakeSnapshot(0, "forward")
def forward(x: int, *, y: str = "") -> str: return y

def text(x: str) -> None: ...
def number(x: int) -> None: ...

msmemscope.config(call_stack="python", analysis="leaks")
msmemscope.start(), msmemscope.tracer.start()
text(forward(1, y=""))
with describe.describer(owner="a"), msmemscope.RecordFunction("b"), msmemscope.TakeSnapshot([0], "c"):
    describe.describer(Tensor(), owner="d"), describe.describer(0x1000, owner="d")
msmemscope.take_snapshot(), msmemscope.take_snapshot("cpu", "e"), msmemscope.take_snapshot(device_mask=[0, "npu:1"])
watcher.watch(Tensor(), name="f"), watcher.watch(0x1000, length=8, name="g", dump_nums=3), watcher.remove(Tensor())
msmemscope.step(), msmemscope.tracer.stop(), msmemscope.stop()
for holder in msmemscope.holders(Tensor()):
    text(holder.name + holder.type + holder.where + holder.held), number(holder.cycle)
msmemscope.tell_holders()
for name in msmemscope.list_analyzers():
    text(msmemscope.get_analyzer_config(name)["config_class"])
msmemscope.analyze("leaks", input_path="a.csv", mstx_info="mark", start_index=0)
msmemscope.check_leaks("a.csv", "mark", 0), msmemscope.check_inefficient("a.db", inefficient_type=["early_allocation"])
msmemscope.analyzer.LeaksAnalyzer().analyze(msmemscope.analyzer.LeaksConfig("a.csv", "mark", 0))
msmemscope.init_framework_hooks("pytorch", "2.6", "fsdp1", "decompose"), msmemscope.cleanup_framework_hooks()
msmemscope.enable_npu_sanitizer()
mstx.mark("h"), mstx.range_end(mstx.range_start("i", None)), number(mstx.get_tool_id())
with mstx.Domain("j") as domain:
    domain.mark("k"), domain.range_end(domain.range_start("l", stream=5))
"""


def test_program_that_uses_packages_is_typed(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run([sys.executable, "-m", "mypy", "--disable-error-code=func-returns-value", f"--cache-dir={os.devnull}",
                           tmp_path / "program.py"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
