# SPDX-License-Identifier: Apache-2.0
"""--watch on real PyTorch: finds a write to a CPU tensor from outside PyTorch; accepts writes by operators."""

import re

from torch_runs import PYTHON, program

TEXT = """
    import ctypes
    import torch
    weight = torch.empty(64, 64).normal_()
    x = torch.ones(4, 64)
    for i in range(4):
        y = torch.mm(x, weight)
        if i == 2 and {corrupt}:
            ctypes.memset(weight.data_ptr(), 7, 256)
        y = torch.relu(y)
        weight.add_(1.0)
        torch.nn.functional.linear(x, weight).sum()
"""
OPTIONS = ["--device=cpu", "--events=launch,access", "--watch=torch._ops.aten.normal_.default,none"]


def run(recording, folder, corrupt):
    done = recording.run(*OPTIONS, "--", PYTHON, program(folder, TEXT.format(corrupt=corrupt)))
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_unannounced_write_is_found(recording, tmp_path):
    text = run(recording, tmp_path, True)
    assert text.count("====== WATCH: output 0 of torch._ops.aten.normal_.default was overwritten") == 1
    assert re.search(r"It changed after cpu_\d+/torch._ops.aten.mm.default_5 had ended and before "
                     r"cpu_\d+/torch._ops.aten.relu.default_3 began", text)
    (hashes,) = recording.output.glob("*/device_cpu/watch_dump/watch_dump_data_check_sum_*.csv")
    assert len({line.split(",")[1] for line in hashes.read_text().splitlines()[1:]}) == 6  # add_ four times, memset, first


def test_announced_writes_are_accepted(recording, tmp_path):
    text = run(recording, tmp_path, False)
    assert "overwritten" not in text and "no unannounced change" in text
