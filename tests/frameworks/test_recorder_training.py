# SPDX-License-Identifier: Apache-2.0
"""A transformer that trains through the real torch_npu, recorded once with everything on. The program prints what it knows about
its memory; the tests look for each of these facts in the recording."""

import collections
import json
import re
import sys

import pytest
from conftest import BUILD, ROOT, Softnpu
from framework_runs import framework
from recorder import Recording
from torch_runs import program

sys.path.insert(0, str(ROOT / "tests" / "e2e"))
from reference_inefficient import reference  # noqa: E402

EXAMPLE = ROOT / "examples" / "torch_npu" / "train.py"

PROGRAM = f"""
    import json
    import sys
    import torch
    import torch_npu
    sys.path.insert(0, {str(EXAMPLE.parent)!r})
    from train import Statistics, Transformer, text_of
    import msmemscope
    import mstx

    class Table:
        states = []

    torch.manual_seed(1)
    model = Transformer(128, 2, 64, 4, 32).npu()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    first_use_is_late = torch.empty(70000, dtype=torch.uint8, device="npu")

    def addresses(tensors):
        return [tensor.data_ptr() for tensor in tensors]

    def say(step, loss):
        torch.npu.synchronize()
        mstx.mark(f"phase {{step}}")
        states = [value for state in optimizer.state.values() for value in state.values() if value.device.type == "npu"]
        blocks = {{}}
        for segment in torch.npu.memory._snapshot()["segments"]:
            address = segment["address"]
            for block in segment["blocks"]:
                if block["state"] == "active_allocated":
                    blocks[address] = block["size"]
                address += block["size"]
        print(json.dumps({{"step": step, "reserved": torch.npu.memory_reserved(), "allocated": torch.npu.memory_allocated(),
                          "weight": addresses(model.parameters()), "gradient": addresses(p.grad for p in model.parameters()),
                          "optimizer_state": addresses(states), "activation": addresses(Table.states), "aten": addresses([loss]),
                          "blocks": blocks}}), flush=True)

    for step in range(5):
        text = text_of(step, 4, 32, 128).npu()
        logits = model(text[:, :-1])
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            Table.states.append(model.norm(logits[..., :64].contiguous()))
        say(step, loss)
        del text, logits, loss
        msmemscope.step()
    first_use_is_late.fill_(1)
"""


class Trained:
    def __init__(self, folder, *options, **env):
        softnpu = Softnpu()
        self.recording = Recording(softnpu, BUILD / "msmemscope", folder / "out")
        self.script = program(folder, PROGRAM)
        try:
            self.done = self.recording.run(*options, "--", framework("torch_npu-2.7.1.post2"), self.script, timeout=300, **env)
        finally:
            softnpu.close()
        assert self.done.returncode == 0, self.done.stdout[-2000:] + self.done.stderr[-4000:]
        decode = json.JSONDecoder().raw_decode
        self.steps = [decode(line)[0] for line in self.done.stdout.splitlines() if line.startswith('{"step"')]
        self.rows = self.recording.rows()
        self.report = self.done.stdout

    def live_at(self, step):
        """Blocks of the pool that live when a phase ends: address -> row."""
        live = {}
        for row in self.rows:
            if row.event == "MSTX" and row.name == f"phase {step}":
                return live
            if row.type == "PTA" and row.event == "MALLOC":
                live[int(row.ptr, 16)] = row
            elif row.type == "PTA" and row.event == "FREE":
                del live[int(row.ptr, 16)]
        raise AssertionError(f"no mark of step {step}")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return Trained(tmp_path_factory.mktemp("trained"), "--events=alloc,free,launch,access", "--call-stack=python:15",
                   "--analysis=leaks,decompose,inefficient")


def test_memory_equals_that_of_torch_npu_at_every_step(trained):
    assert len(trained.steps) == 5
    for step in trained.steps:
        live = trained.live_at(step["step"])
        assert {str(address): row.number("size") for address, row in live.items()} == step["blocks"]
        last = [row for row in trained.rows if row.type == "PTA" and row.number("size") and row.event in ("MALLOC", "FREE")
                and "shadow" not in row.attr and row.id < next(r.id for r in trained.rows if r.name == f"phase {step['step']}")][-1]
        assert (last.number("total"), last.number("used")) == (step["reserved"], step["allocated"])


@pytest.mark.parametrize("owner, expected", [
    ("weight", "PTA@model@weight"), ("gradient", "PTA@model@gradient"), ("optimizer_state", "PTA@model@optimizer_state"),
    ("activation", "PTA@model@activation"), ("aten", "PTA@ops@aten")])
def test_blocks_have_their_owner(trained, owner, expected):
    for step in trained.steps:
        live = trained.live_at(step["step"])
        assert step[owner]
        assert {live[address].attr.get("owner") for address in step[owner]} == {expected}, step["step"]


def test_owners_add_up_to_the_memory_in_use(trained):
    sums, owners = collections.Counter(), {}
    for row in trained.rows:
        if row.type == "PTA" and row.event in ("MALLOC", "FREE") and "shadow" not in row.attr:
            block = row.attr["allocation_id"]
            if row.event == "MALLOC":
                owners[block] = row.attr.get("owner", "")
                sums[owners[block]] += row.number("size")
            else:
                sums[owners[block]] -= row.number("size")
            assert sum(sums.values()) == row.number("used")
    assert all(value >= 0 for value in sums.values())


def test_leak_is_found_with_its_line(trained):
    (line,) = [i for i, text in enumerate(trained.script.read_text().splitlines(), 1) if "Table.states.append" in text]
    sites = trained.report.partition("====== Leaks by call site ======")[2]
    first = re.search(r"^ +1\. .*?(?=^ +2\. |\Z)", sites, re.S | re.M)
    assert first and f"{trained.script}({line}): <module>" in first[0] and "confidence high" in first[0], sites[:4000]


def test_leak_has_its_holder(trained):
    held = trained.report.partition("its holders:\n")[2].splitlines()[0]
    assert "__main__.Table.states[...] (list)" in held and "holds a Tensor" in held


def test_operators_begin_and_end(trained):
    rows = [row for row in trained.rows if row.event == "OP_LAUNCH"]
    assert {"torch._ops.aten.embedding.default", "torch._ops.aten.addmm.default"} <= {row.name for row in rows}
    assert {row.device for row in rows} == {"0"}
    for tid in {row.tid for row in rows}:
        open_ = []
        for row in (row for row in rows if row.tid == tid):
            open_.append(row.name) if row.type == "ATEN_START" else open_.remove(row.name)
        assert not open_


def test_accesses_are_inside_live_blocks(trained):
    live, inside = {}, 0
    for row in trained.rows:
        address = int(row.ptr, 16) if row.ptr.startswith("0x") else None
        if row.type == "PTA" and row.event in ("MALLOC", "FREE"):
            live[address] = row.number("size")
            if row.event == "FREE":
                del live[address]
        elif row.event == "ACCESS" and row.device == "0":
            assert any(start <= address and address + row.number("size") <= start + size for start, size in live.items()), row
            inside += 1
    assert inside > 1000


def test_weights_are_read_by_forward_and_written_by_the_optimizer(trained):
    weights = set(trained.steps[0]["weight"])
    seen = collections.defaultdict(set)
    for row in trained.rows:
        if row.event == "ACCESS" and int(row.ptr, 16) in weights:
            seen[row.type].add(row.name.split(".")[3])
    assert {"embedding", "native_layer_norm"} <= seen["READ"], seen
    assert any(name.startswith(("addcdiv", "_foreach_addcdiv")) for name in seen["WRITE"]), seen


def test_inefficient_memory_is_marked_as_defined(trained):
    """A second implementation of the definitions finds the same blocks in the same rows."""
    expected = reference(trained.rows)
    found = {(row.pid, row.id): row.attr["inefficient_type"].split(",") for row in trained.rows
             if row.event == "MALLOC" and "inefficient_type" in row.attr}
    assert found == expected
    (late,) = [row for row in trained.rows if row.event == "MALLOC" and row.type == "PTA" and row.number("size") == 70144]
    assert "early_allocation" in late.attr["inefficient_type"]


def test_only_the_program_itself_is_recorded(trained):
    """torch_npu starts helper processes, such as inductor's compile workers; they use no NPU."""
    assert len(list(trained.recording.output.glob("msmemscope_*"))) == 1
