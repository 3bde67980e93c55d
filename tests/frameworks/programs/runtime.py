# SPDX-License-Identifier: Apache-2.0
"""torch.npu around the operators: memory, streams, events, copies, graphs, printing.

usage: runtime.py [CHECK]...
"""

import os
import threading

import torch
import torch_npu  # noqa: F401

from checks import NPU, check, expect_close, run

MB = 1 << 20


@check
def devices():
    assert torch.npu.is_available() and torch.npu.device_count() >= 1
    torch.npu.set_device(0)
    assert torch.npu.current_device() == 0
    free, total = torch.npu.mem_get_info()
    assert 0 < free <= total
    properties = torch.npu.get_device_properties(0)
    assert properties.name == torch.npu.get_device_name(0) and properties.total_memory > 0
    with torch.npu.device(0):
        assert torch.ones(2, device="npu").device == NPU
    assert torch.tensor([1.0]).npu().is_npu
    assert torch.accelerator.current_accelerator().type == "npu"


@check
def memory_statistics():
    torch.npu.empty_cache()
    torch.npu.reset_peak_memory_stats()
    before, reserved = torch.npu.memory_allocated(), torch.npu.memory_reserved()
    block = torch.empty(8 * MB, dtype=torch.uint8, device=NPU)
    assert torch.npu.memory_allocated() - before >= 8 * MB
    assert torch.npu.memory_reserved() >= reserved + 8 * MB
    free, total = torch.npu.mem_get_info()
    stats = torch.npu.memory_stats()
    assert stats["allocated_bytes.all.current"] == torch.npu.memory_allocated()
    assert stats["reserved_bytes.all.current"] == torch.npu.memory_reserved()
    assert total - free >= torch.npu.memory_reserved()
    del block
    assert torch.npu.memory_allocated() == before
    assert torch.npu.max_memory_allocated() - before >= 8 * MB
    torch.npu.empty_cache()
    assert torch.npu.mem_get_info()[0] > free
    assert "Allocated memory" in torch.npu.memory_summary()


@check
def memory_snapshot():
    torch.npu.memory._record_memory_history()
    try:
        kept = torch.zeros(3 * MB, dtype=torch.uint8, device=NPU)
        dropped = torch.zeros(5 * MB, dtype=torch.uint8, device=NPU)
        address = dropped.data_ptr()
        del dropped
        snapshot = torch.npu.memory._snapshot()
    finally:
        torch.npu.memory._record_memory_history(None)
    blocks = [block for segment in snapshot["segments"] for block in segment["blocks"] if block["state"] == "active_allocated"]
    assert sum(block["size"] for block in blocks) == torch.npu.memory_allocated()
    assert any(block["address"] == kept.data_ptr() for block in blocks)
    actions = [event["action"] for event in snapshot["device_traces"][0] if event["addr"] == address]
    assert "alloc" in actions and "free_completed" in actions, actions
    assert sum(segment["total_size"] for segment in torch.npu.memory_snapshot()) == torch.npu.memory_reserved()


@check
def out_of_memory_and_recovery():
    _, total = torch.npu.mem_get_info()
    kept = torch.ones(1000, device=NPU)
    try:
        torch.empty(2 * total, dtype=torch.uint8, device=NPU)
        raise AssertionError("twice the memory was allocated")
    except RuntimeError as error:
        assert "NPU out of memory" in str(error), error
    assert kept.sum().item() == 1000
    held = []
    size = total // 8
    try:
        for _ in range(10):
            held.append(torch.empty(size, dtype=torch.uint8, device=NPU))
        raise AssertionError("more than the memory was allocated")
    except RuntimeError as error:
        assert "NPU out of memory" in str(error), error
    assert len(held) >= 6, len(held)
    held.clear()
    torch.npu.empty_cache()
    assert torch.empty(size, dtype=torch.uint8, device=NPU).numel() == size
    assert torch.npu.memory_stats()["num_ooms"] >= 2
    torch.npu.empty_cache()
    torch.npu.set_per_process_memory_fraction(0.01)
    try:
        torch.empty(total // 20, dtype=torch.uint8, device=NPU)
        raise AssertionError("more than the fraction was allocated")
    except RuntimeError as error:
        assert "NPU out of memory" in str(error), error
    finally:
        torch.npu.set_per_process_memory_fraction(1.0)
    torch.npu.empty_cache()


@check
def segments_grow():
    """PYTORCH_NPU_ALLOC_CONF=expandable_segments:True, as the environment of this process says."""
    torch.npu.empty_cache()
    torch.npu.memory._record_memory_history()
    tensors = [torch.full((size * MB // 4,), float(size), device=NPU) for size in (24, 48, 96)]
    for size, tensor in zip((24, 48, 96), tensors):
        assert tensor.sum().item() == float(size) * tensor.numel()
    segments = torch.npu.memory._snapshot()["segments"]
    expected = "expandable_segments:True" in os.environ.get("PYTORCH_NPU_ALLOC_CONF", "")
    assert any(segment["is_expandable"] for segment in segments) == expected
    torch.npu.memory._record_memory_history(None)
    del tensors, tensor
    torch.npu.empty_cache()
    again = torch.full((64 * MB,), 2.0, device=NPU)
    assert again[::MB].sum().item() == 128.0


@check
def streams():
    side = torch.npu.Stream()
    assert torch.npu.current_stream() == torch.npu.default_stream() != side
    a = torch.randn(300, 300, device=NPU)
    side.wait_stream(torch.npu.current_stream())
    with torch.npu.stream(side):
        assert torch.npu.current_stream() == side
        b = a @ a
        for _ in range(20):
            b = b / b.abs().max()
        b.record_stream(torch.npu.default_stream())
    torch.npu.current_stream().wait_stream(side)
    c = a @ a
    for _ in range(20):
        c = c / c.abs().max()
    expect_close(b, c, 1e-6)
    side.synchronize()
    assert side.query()
    torch.npu.synchronize()


@check
def events():
    begin, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    a = torch.randn(200, 200, device=NPU)
    begin.record()
    for _ in range(10):
        a = a @ a / 100
    end.record()
    end.synchronize()
    assert end.query() and begin.elapsed_time(end) >= 0
    side, done = torch.npu.Stream(), torch.npu.Event()
    with torch.npu.stream(side):
        b = torch.full((1000,), 3.0, device=NPU) * 2
        done.record()
    torch.npu.current_stream().wait_event(done)
    assert b.sum().item() == 6000


@check
def pinned_copies():
    host = torch.arange(100000, dtype=torch.float32).pin_memory()
    assert host.is_pinned()
    device = host.to(NPU, non_blocking=True)
    back = torch.empty(100000, pin_memory=True)
    back.copy_(device * 2, non_blocking=True)
    torch.npu.synchronize()
    assert back.equal(host * 2)
    for kind in (torch.float16, torch.int32, torch.bool):
        assert torch.ones(7, dtype=kind).npu().cpu().equal(torch.ones(7, dtype=kind))
    view = torch.arange(24).view(4, 6)
    assert view.t().npu().cpu().equal(view.t()) and view.npu()[:, ::2].cpu().equal(view[:, ::2])
    target = torch.zeros(4, 6, dtype=torch.int64, device=NPU)
    target[:, 1:3] = view[:, 3:5]
    assert target.cpu()[:, 1:3].equal(view[:, 3:5]) and target[:, 3:].sum().item() == 0


@check
def loaded_batches():
    data = torch.utils.data.TensorDataset(torch.arange(64, dtype=torch.float32).view(32, 2), torch.arange(32))
    total = 0.0
    for inputs, labels in torch.utils.data.DataLoader(data, batch_size=8, pin_memory=True):
        total += (inputs.to(NPU, non_blocking=True).sum() + labels.to(NPU).sum()).item()
    assert total == 64 * 63 / 2 + 32 * 31 / 2, total


@check
def printed_tensors():
    assert repr(torch.tensor([1.5, 2.0], device=NPU)) == "tensor([1.5000, 2.0000], device='npu:0')"
    assert repr(torch.tensor([[1, 2], [3, 4]], device=NPU)) == "tensor([[1, 2],\n        [3, 4]], device='npu:0')"
    assert repr(torch.tensor([True, False], device=NPU)) == "tensor([ True, False], device='npu:0')"
    assert "dtype=torch.float16" in repr(torch.ones(2, device=NPU).half())
    assert repr(torch.tensor([1e10, 1e-3, float("nan"), float("inf")], device=NPU)) == (
        repr(torch.tensor([1e10, 1e-3, float("nan"), float("inf")])).replace(")", ", device='npu:0')"))
    assert "..." in repr(torch.zeros(100, 100, device=NPU)) and f"{torch.tensor(2.5, device=NPU):.2f}" == "2.50"
    assert repr(torch.zeros(0, device=NPU)) == "tensor([], device='npu:0')"


@check
def graphs():
    weight = torch.randn(64, 64, device=NPU)
    static = torch.randn(8, 64, device=NPU)
    side = torch.npu.Stream()
    side.wait_stream(torch.npu.current_stream())
    with torch.npu.stream(side):
        for _ in range(2):
            torch.relu(static @ weight) + 1
    torch.npu.current_stream().wait_stream(side)
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        result = torch.relu(static @ weight) + 1
    for seed in range(3):
        values = torch.randn(8, 64, generator=torch.Generator().manual_seed(seed))
        static.copy_(values)
        graph.replay()
        expect_close(result, torch.relu(values @ weight.cpu()) + 1, 1e-5)
    graph.reset()


@check
def graph_of_a_training_step():
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4)).to(NPU)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    inputs, labels = torch.randn(8, 16, device=NPU), torch.randn(8, 4, device=NPU)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.mse_loss(model(inputs), labels)
        loss.backward()
        optimizer.step()
        return loss
    side = torch.npu.Stream()
    side.wait_stream(torch.npu.current_stream())
    with torch.npu.stream(side):
        for _ in range(3):
            step()
    torch.npu.current_stream().wait_stream(side)
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        loss = step()
    losses = []
    for _ in range(5):
        graph.replay()
        losses.append(loss.item())
    assert all(later < earlier for earlier, later in zip(losses, losses[1:])), losses


@check
def threads():
    results = {}

    def work(number):
        torch.npu.set_device(0)
        with torch.npu.stream(torch.npu.Stream()):
            a = torch.full((100, 100), float(number), device=NPU)
            for _ in range(30):
                a = a + 1
            results[number] = a.sum().item()
    workers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert results == {number: (number + 30) * 10000.0 for number in range(4)}, results


@check
def two_devices_in_a_process():
    if torch.npu.device_count() < 2:
        raise AssertionError("the machine of this test has two devices")
    one = torch.arange(1000.0, device="npu:0")
    other = one.to("npu:1")
    assert other.device.index == 1 and (other * 2).cpu().equal(one.cpu() * 2)
    assert (other.to("npu:0") + one).sum().item() == 999000.0


@check
def errors_are_exceptions():
    a = torch.ones(3, 4, device=NPU)
    for wrong in (lambda: a @ a, lambda: a + torch.ones(5, device=NPU), lambda: a.view(5), lambda: torch.ones(1, device="npu:99"),
                  lambda: torch.cat([a, torch.ones(2, 2, device=NPU)])):
        try:
            wrong()
            torch.npu.synchronize()
        except (RuntimeError, ValueError):
            continue
        raise AssertionError("a wrong call succeeded")
    assert a.sum().item() == 12.0


run()
