# SPDX-License-Identifier: Apache-2.0
"""Programs on the real torch_npu whose memory msmemscope has to explain: the example with its planted leak, exhausted memory,
overwritten memory, workspaces, and two ranks."""

import re
import socket

import pytest
from conftest import ROOT
from torch_runs import program

EXAMPLE = ROOT / "examples" / "torch_npu" / "train.py"
MIB = 1 << 20


def line_of(file, text):
    (number,) = [i for i, line in enumerate(file.read_text().splitlines(), 1) if text in line]
    return number


def run(recording, *arguments, **env):
    done = recording.run(*arguments, timeout=300, **env)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done


def test_planted_leak_of_the_example(recording, torch_npu):
    recording.options.remove("--analysis=none")
    done = run(recording, "--call-stack=python", "--", torch_npu, EXAMPLE)
    assert "ERROR: Detected memory leaks on device 0" in done.stdout
    sites = done.stdout.partition("====== Leaks by call site ======")[2]
    assert f"{EXAMPLE}({line_of(EXAMPLE, '# the mistake')}): Statistics.watch" in sites.splitlines()[2]
    assert "confidence high" in sites.splitlines()[1]
    assert "__main__.trained[0].seen[...] (list), assigned at" in done.stdout.partition("its holders:\n")[2].splitlines()[0]


def test_correct_example_reports_nothing(recording, torch_npu, softnpu):
    recording.options.remove("--analysis=none")
    done = run(recording, "--call-stack=python", "--", torch_npu, EXAMPLE, "--no-leak")
    assert "leak" not in done.stdout.lower() and "its holders" not in done.stdout, done.stdout
    losses = [float(text) for text in re.findall(r"loss (\d+\.\d+)", done.stdout)]
    plain = softnpu.run(torch_npu, EXAMPLE, "--no-leak", "--device=cpu", timeout=300)
    expected = [float(text) for text in re.findall(r"loss (\d+\.\d+)", plain.stdout)]
    assert len(losses) == 8 and losses == pytest.approx(expected, abs=2e-4)


def test_exhausted_memory_is_explained(recording, torch_npu):
    recording.options[1:] = ["--quiet"]
    script = program(recording.output.parent, """
        import torch
        import torch_npu
        kept = []
        def fill():
            while True:
                kept.append(torch.empty(100 << 20, dtype=torch.uint8, device="npu"))
        try:
            fill()
        except RuntimeError as error:
            print("refused:", error)
        kept.clear()
        print("then", torch.zeros(1 << 20, device="npu").shape)
    """)
    done = run(recording, "--analysis=oom:2", "--call-stack=python", "--", torch_npu, script, SOFTNPU_HBM="1G")
    assert "refused: NPU out of memory" in done.stdout and "then torch.Size" in done.stdout
    report = done.stdout.partition("====== ERROR: Out of memory ======\n")[2]
    assert re.match(r"halMemAlloc of 102\.0+ Mb\(s\) was refused on device 0, in torch\._ops\.aten\.empty\.memory_format, called by\n"
                    rf" +{re.escape(str(script))}\({line_of(script, 'kept.append')}\): fill\n", report), report[:500]
    count = int(re.search(r"In use at the time: [\d.]+ Mb\(s\) in (\d+) block\(s\) of PTA", report)[1])
    rows = recording.rows()
    refused = next(row for row in rows if row.type == "OOM_TRIGGER")
    live = sum({"MALLOC": 1, "FREE": -1}.get(row.event, 0) for row in rows if row.type == "PTA" and row.id < refused.id)
    assert count == live == 10
    assert f"====== SUMMARY: {sum(row.type == 'OOM_TRIGGER' for row in rows)} request(s) refused" in done.stdout


@pytest.mark.parametrize("corrupt", [True, False])
def test_write_from_outside_is_found(recording, torch_npu, corrupt):
    script = program(recording.output.parent, f"""
        import ctypes
        import torch
        import torch_npu
        print((torch.ones(3, device="npu") + 1).sum())  # recording of accesses begins with the first tensors
        weight = torch.empty(64, 64, device="npu").fill_(3)
        x = torch.ones(4, 64, device="npu")
        for i in range(4):
            y = torch.mm(x, weight)
            torch.npu.synchronize()
            if i == 2 and {corrupt}:
                ctypes.memset(weight.data_ptr(), 7, 256)  # softnpu's device memory is mapped
            y = torch.relu(y)
            weight.add_(1.0)
        torch.npu.synchronize()
    """)
    done = run(recording, "--events=launch,access", "--watch=torch._ops.aten.fill_.Scalar,none", "--", torch_npu, script,
               ASCEND_LAUNCH_BLOCKING=1)  # otherwise operators end before torch_npu has launched them
    found = done.stdout.count("====== WATCH: output 0 of torch._ops.aten.fill_.Scalar was overwritten")
    assert found == (1 if corrupt else 0), done.stdout[-3000:]
    if corrupt:
        assert re.search(r"torch\._ops\.aten\.mm\.default_\d+ had ended and before \S*torch\._ops\.aten\.relu\.default_\d+ began",
                         done.stdout), done.stdout[-3000:]


def test_workspaces_are_rows(recording, torch_npu):
    script = program(recording.output.parent, """
        import torch
        import torch_npu
        x = torch.randn(300, 200).npu()
        for _ in range(3):
            torch.nn.functional.layer_norm(x.t(), [300])  # softnpu needs a workspace for a transposed tensor
        torch.npu.synchronize()
    """)
    run(recording, "--events=alloc,free", "--", torch_npu, script, TASK_QUEUE_ENABLE=2)
    rows = [row for row in recording.rows() if row.type == "PTA_WORKSPACE"]
    events = [row.event for row in rows if "shadow" not in row.attr]
    assert events == ["MALLOC", "FREE"] * (len(events) // 2) and len(events) >= 6
    assert len({row.ptr for row in rows}) == 1 and {row.number("size") % (2 * MIB) for row in rows} == {0}
    segments = {row.ptr: row.number("size") for row in recording.rows() if row.type == "HAL" and row.event == "MALLOC"}
    assert segments[rows[0].ptr] == rows[0].number("size")
    assert {(row.number("total"), row.number("used")) for row in rows if "shadow" not in row.attr} == {
        (rows[0].number("size"), rows[0].number("size")), (rows[0].number("size"), 0)}


def test_both_ranks_are_recorded(recording, torch_npu):
    script = program(recording.output.parent, """
        import os
        import torch
        import torch_npu
        import torch.distributed as dist
        import torch.multiprocessing as mp
        import msmemscope
        kept = []
        def work(rank):
            torch.npu.set_device(rank)
            dist.init_process_group("hccl", rank=rank, world_size=2)
            model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 64).npu(), device_ids=[rank])
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(5):
                loss = model(torch.ones(8, 64, device="npu")).sum()
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                optimizer.step()
                if rank == 1:
                    kept.append(torch.ones(5000, device="npu"))
                msmemscope.step()
            print(f"rank {rank}: {torch.npu.memory_reserved()} {torch.npu.memory_allocated()}", flush=True)
            dist.destroy_process_group()
        if __name__ == "__main__":
            os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=os.environ["TEST_PORT"])
            mp.spawn(work, nprocs=2)
    """)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    recording.options.remove("--analysis=none")
    done = run(recording, "--call-stack=python", "--analysis=leaks,decompose", "--", torch_npu, script, SOFTNPU_DEVICES=2, TEST_PORT=port)
    said = {rank: (int(total), int(used)) for rank, total, used in re.findall(r"rank (\d): (\d+) (\d+)", done.stdout)}
    rows = recording.rows()
    assert set(said) == {"0", "1"}
    for device in said:
        mine = [row for row in rows if row.device == device and row.type == "PTA" and row.event in ("MALLOC", "FREE")]
        assert len({row.pid for row in mine}) == 1
        assert {"PTA@model@weight", "PTA@model@gradient", "PTA@model@activation"} <= {row.attr.get("owner") for row in mine}
        assert said[device] in {(row.number("total"), row.number("used")) for row in mine if "shadow" not in row.attr}
    assert "Detected memory leaks on device 1" in done.stdout and "Detected memory leaks on device 0" not in done.stdout
    assert f"{script}({line_of(script, 'kept.append')}): work" in done.stdout
