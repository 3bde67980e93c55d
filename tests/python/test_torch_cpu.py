# SPDX-License-Identifier: Apache-2.0
"""Real PyTorch on the CPU, recorded with --device=cpu: every tensor, every operator, in every process and thread."""

import os
import re
import subprocess
import textwrap

import pytest
from python_target import Target
from torch_runs import EXAMPLES, OPERATORS, PYTHON, compare_operators, number, program


def tensors(recording, event="MALLOC"):
    return [row for row in recording.rows() if row.event == event and row.type == "HOST"]


def test_each_tensor_is_a_block(recording):
    done = recording.run("--device=cpu", "--events=alloc,free", "--", PYTHON, "-c", textwrap.dedent("""
        import torch
        kept = torch.empty(1000003, dtype=torch.uint8)
        for _ in range(10):
            torch.empty(500009, dtype=torch.uint8)
        print(kept.data_ptr())
    """))
    assert done.returncode == 0, done.stderr
    (kept,) = [row for row in tensors(recording) if row.number("size") == 1000003]
    assert int(kept.attr["addr"], 16) == number(done) and kept.device == "cpu"
    passing = [row for row in tensors(recording) if row.number("size") == 500009]
    assert len(passing) == 10
    freed = {row.attr["allocation_id"] for row in tensors(recording, "FREE") if "shadow" not in row.attr}
    assert all(row.attr["allocation_id"] in freed for row in passing)


def test_cpu_tensors_are_recorded_only_on_request(recording):
    done = recording.run("--events=alloc,free", "--", PYTHON, "-c", "import torch; torch.ones(1000)")
    assert done.returncode == 0, done.stderr
    assert not tensors(recording)


@pytest.mark.parametrize("device", ["npu", "cpu"])
def test_unrecorded_cpu_tensors_are_reported(softnpu, tmp_path, device):
    """With one warning."""
    done = Target(softnpu, tmp_path / "target", python=PYTHON).run(f"""
        import msmemscope
        msmemscope.start()
        msmemscope.stop()
        import torch
        msmemscope.config(device="{device}")
        for _ in range(2):
            msmemscope.start()
            msmemscope.stop()
    """)
    assert done.err.count('To record them, use config(device="cpu").') == (device == "npu")


def test_totals_add_up(recording):
    done = recording.run("--device=cpu", "--events=alloc,free", "--", PYTHON, EXAMPLES / "train.py", "--steps=2", "--layers=2")
    assert done.returncode == 0, done.stderr
    live = 0
    for row in recording.rows():
        if row.type == "HOST" and "shadow" not in row.attr:
            live += row.number("size") if row.event == "MALLOC" else -row.number("size")
            assert row.number("total") == live


def test_tensor_has_python_stack(recording):
    script = program(recording.output.parent, """
        import torch
        def make():
            return torch.empty(1000003, dtype=torch.uint8)
        make()
    """)
    done = recording.run("--device=cpu", "--events=alloc,free", "--call-stack=python:10", "--", PYTHON, script)
    assert done.returncode == 0, done.stderr
    (row,) = [row for row in tensors(recording) if row.number("size") == 1000003]
    lines = row.python_stack.splitlines()
    assert f"{script}(4): make" in lines[0] and f"{script}(5): <module>" in lines[1], row.python_stack


def test_stacks_show_only_the_program(recording):
    """Functions of the package are not shown; those of a program in a folder of the same name are."""
    folder = recording.output.parent / "msmemscope"
    folder.mkdir(parents=True)
    (folder / "mine.py").write_text("def call(function):\n    return function()\n")
    script = program(recording.output.parent, f"""
        import sys
        sys.path.insert(0, {str(folder)!r})
        import mine
        import torch
        from msmemscope.describe import describer
        class Model(torch.nn.Module):
            @describer(owner="made")
            def forward(self):
                return torch.empty(1000003, dtype=torch.uint8)
        mine.call(Model())
    """)
    done = recording.run("--device=cpu", "--events=alloc,free", "--analysis=decompose", "--call-stack=python:20", "--", PYTHON, script)
    assert done.returncode == 0, done.stderr
    (row,) = [row for row in tensors(recording) if row.number("size") == 1000003]
    assert "made" in row.attr["owner"]
    shown = [line for line in row.python_stack.splitlines() if "torch/nn/modules/module.py" not in line]
    assert shown == [f"{script}(10): Model.forward", f"{folder}/mine.py(2): call", f"{script}(11): <module>"]


def test_operators_of_all_threads_are_recorded(recording):
    script = program(recording.output.parent, """
        import threading
        import torch
        x = torch.ones(8, 8, requires_grad=True)
        def work():
            torch.mm(x, x).sum().backward()
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with torch.no_grad():
            x.add_(1)
    """)
    done = recording.run("--device=cpu", "--events=launch", "--", PYTHON, script)
    assert done.returncode == 0, done.stderr
    rows = [row for row in recording.rows() if row.event == "OP_LAUNCH"]
    starts = [row for row in rows if row.type == "ATEN_START"]
    products = [row for row in starts if row.name == "torch._ops.aten.mm.default"]
    assert len({row.tid for row in products}) == 2 and len(products) >= 4  # forward, and backward in any thread
    assert [row.name for row in starts if row.name.startswith("torch._ops.aten.add_.")][-1:] == ["torch._ops.aten.add_.Scalar"] \
        or "torch._ops.aten.add_.Tensor" in {row.name for row in starts}
    assert not [row.name for row in starts if "Backward" in row.name]
    for tid in {row.tid for row in rows}:
        depth = []
        for row in (row for row in rows if row.tid == tid):
            if row.type == "ATEN_START":
                depth.append(row.name)
            else:
                assert depth.pop() == row.name
        assert not depth


def test_operators_match_dispatch_mode(recording):
    """Plus the composite operators around them, without the operators that kernels call."""
    script = program(recording.output.parent, OPERATORS)
    done = subprocess.run([PYTHON, script, "count"], capture_output=True, text=True, check=True)
    counted = done.stdout
    done = recording.run("--device=cpu", "--events=launch", "--", PYTHON, script, "plain")
    assert done.returncode == 0, done.stderr
    missing, further = compare_operators(counted, recording.rows())
    assert not missing
    assert further == {"linear", "conv1d", "layer_norm", "reshape"}


def ranges(recording):
    """Types and names of operator rows, by range."""
    found = []
    for row in recording.rows():
        if row.type == "START_TRACE":
            found.append([])
        elif row.event == "OP_LAUNCH":
            found[-1].append((row.type, row.name))
    return found


def test_operators_are_recorded_in_each_range(recording):
    """Also in ranges that another thread begins while the main thread is blocked."""
    script = program(recording.output.parent, """
        import threading
        import msmemscope
        import torch
        x = torch.rand(8)
        def work():
            for _ in range(8):
                msmemscope.start()
                for _ in range(50):
                    torch.neg(x)
                msmemscope.stop()
                for _ in range(37):
                    torch.neg(x)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    """)
    done = recording.run("--device=cpu", "--events=launch", "--call-stack=python", "--collect-mode=deferred", "--", PYTHON, script)
    assert done.returncode == 0, done.stderr
    assert [len(rows) for rows in ranges(recording)] == [100] * 8


def test_operator_ends_have_their_begin(recording):
    """An operator may run while one range ends and another begins."""
    script = program(recording.output.parent, """
        import msmemscope
        import torch
        class Slow(torch.Tensor):
            @staticmethod
            def __new__(cls, inner):
                return torch.Tensor._make_wrapper_subclass(cls, inner.size(), dtype=inner.dtype)
            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                msmemscope.stop()
                msmemscope.start()
                return torch.ones(3)
        slow = Slow(torch.ones(3))
        msmemscope.start()
        torch.neg(slow)
        torch.sin(torch.ones(3))
        msmemscope.stop()
    """)
    done = recording.run("--device=cpu", "--events=launch", "--collect-mode=deferred", "--", PYTHON, script)
    assert done.returncode == 0, done.stderr
    first, second = ranges(recording)
    assert first[-1] == ("ATEN_START", "torch._ops.aten.neg.default")
    assert second[-2:] == [(kind, "torch._ops.aten.sin.default") for kind in ("ATEN_START", "ATEN_END")]
    assert [kind for kind, _ in second].count("ATEN_END") == len(second) // 2


def test_only_operators_are_recorded(recording):
    """torch.distributed reports other ranges through the same interface."""
    script = program(recording.output.parent, """
        import sys
        import torch
        torch.distributed.init_process_group("gloo", init_method=f"file://{sys.argv[1]}", rank=0, world_size=1)
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4))
        for _ in range(2):
            model(torch.ones(2, 4)).sum().backward()
    """)
    done = recording.run("--device=cpu", "--events=launch", "--", PYTHON, script, recording.output.parent / "meeting")
    assert done.returncode == 0, done.stderr
    names = {row.name for row in recording.rows() if row.type == "ATEN_START"}
    assert "torch._ops.c10d.allreduce_.default" in names
    assert not [name for name in names if not re.fullmatch(r"torch\._ops\.\w+\.\w+\.\w+", name)]


def test_failing_operator_has_end(recording):
    done = recording.run("--device=cpu", "--events=launch", "--", PYTHON, "-c", textwrap.dedent("""
        import torch
        for _ in range(3):
            for fails in (lambda: torch.embedding(torch.ones(2, 2), torch.tensor([9])),  # in a function that its kernel calls
                          lambda: torch.mm(torch.ones(2, 3), torch.ones(2, 3))):
                try:
                    fails()
                except (IndexError, RuntimeError):
                    print("failed")
    """))
    assert done.stdout.count("failed") == 6, done.stderr
    rows = [row for row in recording.rows() if row.name == "torch._ops.aten.mm.default"]
    assert [row.type for row in rows] == ["ATEN_START", "ATEN_END"] * 3


def test_data_loader_workers(recording):
    script = program(recording.output.parent, """
        import torch
        from torch.utils.data import DataLoader, Dataset
        class Data(Dataset):
            def __len__(self):
                return 8
            def __getitem__(self, i):
                return torch.full((100003,), i, dtype=torch.uint8)
        if __name__ == "__main__":
            total = sum(int(batch.sum()) for batch in DataLoader(Data(), batch_size=2, num_workers=2))
            print(total)
    """)
    done = recording.run("--device=cpu", "--events=alloc,free", "--", PYTHON, script)
    assert done.returncode == 0, done.stderr
    assert number(done) == 2800084
    items = [row for row in tensors(recording) if row.number("size") == 100003]
    assert len(items) == 8 and len({row.pid for row in items}) == 2
    main = {row.pid for row in tensors(recording)} - {row.pid for row in items}
    batches = [row for row in tensors(recording) if row.pid in main and row.number("size") >= 200006]
    assert batches, "batches sent through shared memory are memory of the receiver, too"


def test_with_pytorch_profiler(recording):
    """Its reports also pass through the recorder's hooks; they are not counted twice."""
    done = recording.run("--device=cpu", "--events=alloc,free", "--", PYTHON, "-c", textwrap.dedent("""
        import torch
        from torch.profiler import ProfilerActivity, profile
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
            torch.empty(1000003, dtype=torch.uint8)
        print(max(event.cpu_memory_usage for event in profiler.key_averages()))
    """))
    assert done.returncode == 0, done.stderr
    assert number(done) == 1000003
    assert len([row for row in tensors(recording) if row.number("size") == 1000003]) == 1


@pytest.mark.parametrize("events", ["alloc,free", "alloc,free,launch", "access,launch"])
def test_recording_does_not_change_results(recording, events):
    plain = subprocess.run([PYTHON, EXAMPLES / "train.py", "--steps=3", "--layers=2", "--threads=1"], capture_output=True, text=True,
                           env={k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}, check=True)
    done = recording.run("--device=cpu", f"--events={events}", "--call-stack=python,c", "--",
                         PYTHON, EXAMPLES / "train.py", "--steps=3", "--layers=2", "--threads=1")
    assert re.findall(r"step \d+: loss [0-9.]+", done.stdout) == plain.stdout.splitlines()
