# SPDX-License-Identifier: Apache-2.0
"""Labels of a model's memory: weight, gradient, optimizer_state, activation and the rest add up to the total."""

import pytest
from torch_runs import EXAMPLES, PYTHON, live_sums, program

KINDS = ("weight", "gradient", "optimizer_state", "activation")


def kind_of(owner):
    words = owner.split("@")
    return words[2] if words[:2] == ["HOST", "model"] else "rest"


def by_kind(sums):
    kinds = dict.fromkeys((*KINDS, "rest"), 0)
    for owner, size in sums.items():
        kinds[kind_of(owner)] += size
    return kinds


def run(recording, script, *arguments, options=("--analysis=decompose",)):
    recording.options.remove("--analysis=none")
    done = recording.run("--device=cpu", *options, "--", PYTHON, script, *arguments)
    assert done.returncode == 0, done.stderr
    return done


def test_label_sums_equal_total(recording):
    run(recording, EXAMPLES / "train.py", "--steps=3", "--layers=2")
    peaks = dict.fromkeys(KINDS, 0)
    rows = 0
    for row, sums in live_sums(recording.rows()):
        assert row.attr.get("owner", "HOST").split("@")[0] == "HOST"
        if "shadow" in row.attr:
            continue
        rows += 1
        kinds = by_kind(sums)
        assert sum(kinds.values()) == row.number("total")
        for kind in KINDS:
            peaks[kind] = max(peaks[kind], kinds[kind])
    assert rows > 1000
    parameters = parameter_bytes(2, 128)
    assert peaks["weight"] == peaks["gradient"] == parameters
    assert peaks["optimizer_state"] >= 2 * parameters
    assert peaks["activation"] > 1 << 20


def parameter_bytes(layers, width, vocabulary=256, context=1024):
    linear = lambda inputs, outputs: (inputs + 1) * outputs  # noqa: E731
    block = linear(width, 3 * width) + linear(width, width) + 2 * linear(width, 4 * width) - 4 * width + width + 4 * width
    return 4 * (vocabulary * width + context * width + layers * block + 2 * width + linear(width, vocabulary))


def test_optimizer_with_doubled_state(recording):
    run(recording, EXAMPLES / "train.py", "--steps=6", "--layers=1", "--defect=optimizer")
    most = max(by_kind(sums)["optimizer_state"] for _, sums in live_sums(recording.rows()))
    parameters = parameter_bytes(1, 128)
    assert 4 * parameters <= most < 4.1 * parameters


def test_inference_has_weights_and_activations_only(recording):
    run(recording, EXAMPLES / "infer.py", "--requests=1", "--tokens=4")
    peaks = dict.fromkeys((*KINDS, "rest"), 0)
    for _, sums in live_sums(recording.rows()):
        for kind, size in by_kind(sums).items():
            peaks[kind] = max(peaks[kind], size)
    assert peaks["weight"] == parameter_bytes(4, 128) and peaks["activation"] > 0
    assert peaks["gradient"] == peaks["optimizer_state"] == 0


def test_labels_survive_exceptions(recording):
    """A failing module leaves no label behind."""
    script = program(recording.output.parent, """
        import torch
        class Fails(torch.nn.Module):
            def forward(self, x):
                torch.empty(100003, dtype=torch.uint8)
                raise ValueError("no")
        for _ in range(3):
            try:
                Fails()(torch.ones(2))
            except ValueError:
                pass
            torch.empty(200003, dtype=torch.uint8)
    """)
    run(recording, script)
    owners = {size: {row.attr["owner"] for row in recording.rows() if row.event == "MALLOC" and row.number("size") == size}
              for size in (100003, 200003)}
    assert owners[100003] == {"HOST@model@activation"}
    assert "activation" not in "".join(owners[200003])


def test_schedulers_and_custom_optimizers(recording):
    script = program(recording.output.parent, """
        import torch
        class Plain(torch.optim.Optimizer):
            def __init__(self, parameters):
                super().__init__(parameters, {"lr": 0.1})
            @torch.no_grad()
            def step(self, closure=None):
                for group in self.param_groups:
                    for p in group["params"]:
                        self.state[p].setdefault("sum", torch.zeros_like(p)).add_(p.grad)
        def train(kind, width):
            model = torch.nn.Linear(width, width, bias=False)
            optimizer = kind(model.parameters())
            scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
            for _ in range(2):
                model(torch.ones(1, width)).sum().backward()
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad(set_to_none=True)
        train(Plain, 301)
        train(lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), 303)
    """)
    run(recording, script)
    for width in (301, 303):
        owners = [kind_of(row.attr["owner"]) for row in recording.rows()
                  if row.event == "MALLOC" and row.type == "HOST" and row.number("size") == 4 * width * width]
        assert {"weight", "gradient", "optimizer_state"} <= set(owners), owners


def test_failing_steps(recording):
    """The program gets its own exceptions only, and later memory is still labelled."""
    script = program(recording.output.parent, """
        import torch
        import msmemscope
        class Odd(torch.optim.SGD):
            def step(self, closure=None):
                if closure is not None:
                    raise KeyError("no")
                super().step()
        def failing(call):
            try:
                call()
            except KeyError as error:
                assert error.args == ("no",)
            else:
                raise AssertionError
        def optimizer_of(width):
            model = torch.nn.Linear(width, width, bias=False)
            optimizer = Odd(model.parameters(), lr=0.1, momentum=0.9)
            return model, optimizer, torch.optim.lr_scheduler.StepLR(optimizer, 1)
        early = optimizer_of(301)  # its scheduler stored a step() in the instance
        msmemscope.config(device="cpu", analysis="decompose", events="alloc,free")
        msmemscope.start()
        for width, (model, optimizer, scheduler) in ((301, early), (303, optimizer_of(303))):
            failing(lambda: optimizer.step(lambda: None))
            groups, optimizer.param_groups = optimizer.param_groups, [{}]  # malformed
            failing(lambda: optimizer.step(lambda: None))
            optimizer.param_groups = groups
            model(torch.ones(1, width)).sum().backward()
            optimizer.step()
        msmemscope.stop()
    """)
    done = run(recording, script, options=("--analysis=decompose", "--collect-mode=deferred"))
    assert "a hook of msmemscope failed: KeyError: 'params'" in done.stderr
    for width in (301, 303):
        owners = [kind_of(row.attr["owner"]) for row in recording.rows()
                  if row.event == "MALLOC" and row.type == "HOST" and row.number("size") == 4 * width * width]
        assert "optimizer_state" in owners, (width, owners)


def test_user_labels_follow_automatic_ones(recording):
    script = program(recording.output.parent, """
        import torch
        import msmemscope.describe as describe
        with describe.describer(owner="mine"):
            torch.empty(100003, dtype=torch.uint8)
            torch.nn.Linear(501, 501)(torch.ones(1, 501))
    """)
    run(recording, script, options=("--analysis=decompose",))
    owners = {row.number("size"): row.attr["owner"] for row in recording.rows() if row.event == "MALLOC" and row.type == "HOST"}
    assert owners[100003].startswith("HOST") and owners[100003].endswith("@mine")
    assert owners[4 * 501 * 501] == "HOST@model@weight@mine"


@pytest.mark.parametrize("way", ["before", "after"])
def test_labels_with_plain_start(recording, way):
    """start() in a program started without the launcher, before or after the model was created."""
    script = program(recording.output.parent, f"""
        import sys
        import torch
        import msmemscope
        msmemscope.config(device="cpu", analysis="decompose", events="alloc,free", output={str(recording.output)!r})
        def start():
            msmemscope.start()
        if {way!r} == "before":
            start()
        model = torch.nn.Linear(301, 301, bias=False)
        optimizer = torch.optim.Adam(model.parameters())
        if {way!r} == "after":
            start()
        for _ in range(2):
            model(torch.ones(1, 301)).sum().backward()
            optimizer.step()
        msmemscope.stop()
    """)
    done = recording.softnpu.run(PYTHON, script, PYTHONPATH=str(recording.command).replace("bin/msmemscope", "python"))
    assert done.returncode == 0, done.stderr
    owners = [kind_of(row.attr["owner"]) for row in recording.rows()
              if row.event == "MALLOC" and row.type == "HOST" and row.number("size") == 4 * 301 * 301]
    assert owners.count("weight") == 1 and owners.count("optimizer_state") == 2 and "gradient" in owners
