# SPDX-License-Identifier: Apache-2.0
"""Training on an NPU: losses, gradients and weights equal those of the CPU.

usage: training.py [CHECK]...
"""

import copy
import os

import torch
import torch_npu  # noqa: F401
from torch import nn
from torch.nn import functional as f

import models
from checks import CPU, NPU, check, expect_close, expect_same_state, run

STEPS = 5
EXACT = 2e-4  # float32: the order of additions differs


def next_word(model, text):
    logits = model(text[:, :-1])
    return f.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten())


def classify(model, inputs, labels):
    return f.cross_entropy(model(inputs), labels)


def train(model, optimizer, loss_of, data, device, clip=None):
    """Trains in place; returns the losses."""
    model.to(device).train()
    optimizer = optimizer(model.parameters())
    data = [tensor.to(device) for tensor in data]
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(model, *data)
        loss.backward()
        if clip is not None:
            norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
            losses.append(norm.item())
        optimizer.step()
        losses.append(loss.item())
    return losses


def compare(model, optimizer, loss_of, data, tolerance=EXACT, clip=None):
    """Trains copies of the model on both devices."""
    ours, theirs = copy.deepcopy(model), copy.deepcopy(model)
    expected = train(theirs, optimizer, loss_of, data, CPU, clip)
    got = train(ours, optimizer, loss_of, data, NPU, clip)
    expect_close(got, expected, tolerance)
    assert clip is not None or expected[-1] < expected[0], "nothing was learned"
    expect_same_state(ours, theirs, 20 * tolerance)
    return ours, theirs


@check
def mlp_with_sgd():
    for options in ({}, {"momentum": 0.9}, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.01}, {"foreach": True, "momentum": 0.9},
                    {"foreach": False, "momentum": 0.9}):
        compare(models.seeded(models.mlp), lambda parameters, options=options: torch.optim.SGD(parameters, 0.1, **options), classify,
                models.vectors())


@check
def transformer_with_adam():
    for options in ({}, {"foreach": False}, {"foreach": True}, {"amsgrad": True}, {"weight_decay": 0.01}):
        compare(models.seeded(models.Transformer), lambda parameters, options=options: torch.optim.Adam(parameters, 3e-3, **options),
                next_word, [models.text()])


@check
def transformer_with_adamw():
    for options in ({}, {"foreach": False}, {"foreach": True}):
        compare(models.seeded(models.Transformer), lambda parameters, options=options: torch.optim.AdamW(parameters, 3e-3, **options),
                next_word, [models.text()])


@check
def fused_adam():
    for kind in (torch.optim.Adam, torch.optim.AdamW):
        ours, theirs = models.seeded(models.mlp), models.seeded(models.mlp)
        expected = train(theirs, lambda parameters, kind=kind: kind(parameters, 3e-3), classify, models.vectors(), CPU)
        got = train(ours, lambda parameters, kind=kind: kind(parameters, 3e-3, fused=True), classify, models.vectors(), NPU)
        expect_close(got, expected, EXACT)


@check
def npu_fused_optimizers():
    for name, kind in (("NpuFusedAdamW", torch.optim.AdamW), ("NpuFusedAdam", torch.optim.Adam), ("NpuFusedSGD", torch.optim.SGD)):
        ours, theirs = models.seeded(models.mlp), models.seeded(models.mlp)
        expected = train(theirs, lambda parameters, kind=kind: kind(parameters, 3e-3), classify, models.vectors(), CPU)
        fused = getattr(torch_npu.optim, name)
        got = train(ours, lambda parameters, fused=fused: fused(parameters, 3e-3), classify, models.vectors(), NPU)
        expect_close(got, expected, EXACT)


@check
def other_optimizers():
    for kind, rate in ((torch.optim.RMSprop, 1e-3), (torch.optim.Adagrad, 1e-2), (torch.optim.Adadelta, 1.0), (torch.optim.Adamax, 1e-3),
                       (torch.optim.NAdam, 1e-3), (torch.optim.RAdam, 1e-3)):
        compare(models.seeded(models.mlp), lambda parameters, kind=kind, rate=rate: kind(parameters, rate), classify, models.vectors())


@check
def learning_rate_schedule():
    rates = []
    for device in (CPU, NPU):
        model = models.seeded(models.mlp).to(device)
        optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
        inputs, labels = (tensor.to(device) for tensor in models.vectors())
        for _ in range(STEPS):
            optimizer.zero_grad()
            loss = classify(model, inputs, labels)
            loss.backward()
            optimizer.step()
            schedule.step()
        rates.append([loss.item(), schedule.get_last_lr()[0]])
    expect_close(rates[1], rates[0], EXACT)


@check
def clipped_gradients():
    compare(models.seeded(models.Transformer), lambda parameters: torch.optim.AdamW(parameters, 3e-3), next_word, [models.text()], clip=0.5)
    model = models.seeded(models.mlp)
    for norm in (1.0, 2.0, float("inf")):
        totals = []
        for device in (CPU, NPU):
            one = copy.deepcopy(model).to(device)
            classify(one, *(tensor.to(device) for tensor in models.vectors())).backward()
            totals.append(nn.utils.clip_grad_norm_(one.parameters(), 0.1, norm_type=norm).item())
            totals.append(sum(parameter.grad.abs().sum().item() for parameter in one.parameters()))
            nn.utils.clip_grad_value_(one.parameters(), 0.001)
        expect_close(totals[2:], totals[:2], EXACT)


def train_mixed(kind, device, scaler=None, model=None):
    """Autocast on the device; returns the losses and the scales."""
    model = (model or models.seeded(models.Transformer)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3)
    text = models.text().to(device)
    losses, scales = [], []
    for _ in range(STEPS):
        optimizer.zero_grad()
        with torch.autocast(device.type, dtype=kind):
            loss = next_word(model, text)
        if scaler is None:
            loss.backward()
            optimizer.step()
        else:
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            scales.append(scaler.get_scale())
        losses.append(loss.item())
    assert all(parameter.dtype == torch.float32 for parameter in model.parameters())
    return losses, scales


@check
def autocast_bfloat16():
    expected, _ = train_mixed(torch.bfloat16, CPU)
    got, _ = train_mixed(torch.bfloat16, NPU)
    expect_close(got, expected, 2e-2)
    assert got[-1] < got[0]


@check
def autocast_float16_with_scaler():
    expected, expected_scales = train_mixed(torch.float16, CPU, torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=2))
    got, scales = train_mixed(torch.float16, NPU, torch.amp.GradScaler("npu", init_scale=1024.0, growth_interval=2))
    expect_close(got, expected, 1e-2)
    assert scales == expected_scales, (scales, expected_scales)
    got, scales = train_mixed(torch.float16, NPU, torch.npu.amp.GradScaler(init_scale=1024.0, growth_interval=2))
    expect_close(got, expected, 1e-2)


@check
def scaler_skips_steps_that_overflow():
    model = models.seeded(models.mlp).to(NPU)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    scaler = torch.amp.GradScaler("npu", init_scale=2.0 ** 16)
    inputs, labels = (tensor.to(NPU) for tensor in models.vectors())
    for bad in (float("inf"), float("nan")):
        scale = scaler.get_scale()
        scaler.scale(classify(model, inputs, labels)).backward()
        next(model.parameters()).grad[0, 0] = bad
        scaler.step(optimizer)
        scaler.update()
        assert scaler.get_scale() == scale / 2, scaler.get_scale()
        optimizer.zero_grad()
    for parameter, old in zip(model.parameters(), before):
        assert torch.equal(parameter, old)
    scaler.scale(classify(model, inputs, labels)).backward()
    scaler.step(optimizer)
    scaler.update()
    assert not torch.equal(next(model.parameters()), before[0])


@check
def half_precision_models():
    for kind, tolerance in ((torch.float16, 1e-2), (torch.bfloat16, 5e-2)):
        results = []
        for device in (CPU, NPU):
            model = models.seeded(models.Transformer).to(kind).to(device)
            loss = next_word(model, models.text().to(device))
            loss.backward()
            results.append([loss.item(), *(parameter.grad.float().norm().item() for parameter in model.parameters())])
        expect_close(results[1], results[0], tolerance)


@check
def encoder_without_dropout():
    # SGD: the gradient of the keys' bias is 0 except for rounding, which Adam would make as large as any other.
    compare(models.seeded(models.Encoder), lambda parameters: torch.optim.SGD(parameters, 0.1), next_word, [models.text()])


@check
def encoder_with_dropout():
    model = models.seeded(models.Encoder, dropout=0.2)
    text = models.text()
    reference = copy.deepcopy(model).eval()
    ours = copy.deepcopy(model).to(NPU)

    def losses(seed):
        torch.manual_seed(seed)
        return [next_word(ours, text.to(NPU)).item() for _ in range(3)]
    first = losses(7)
    assert len(set(first)) == 3, f"every pass drops the same: {first}"
    assert losses(7) == first, "the same seed gives other numbers"
    assert losses(8) != first, "another seed gives the same numbers"
    ours.eval()
    expect_close(ours(text.to(NPU)), reference(text), EXACT)
    ours.train()
    optimizer = torch.optim.Adam(ours.parameters(), 3e-3)
    values = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = next_word(ours, text.to(NPU))
        loss.backward()
        optimizer.step()
        values.append(loss.item())
    assert min(values[-3:]) < values[0] * 0.9, values


@check
def dropout_statistics():
    ones = torch.ones(200, 500, device=NPU, requires_grad=True)
    for rate in (0.1, 0.5, 0.9):
        torch.manual_seed(3)
        kept = f.dropout(ones, rate)
        share = (kept != 0).float().mean().item()
        assert abs(share - (1 - rate)) < 0.02, (rate, share)
        expect_close(kept.max(), 1 / (1 - rate), 1e-5)
        gradient, = torch.autograd.grad(kept.sum(), ones)
        assert torch.equal(gradient, kept), "the gradient has another mask"
    assert f.dropout(ones, 0.0).equal(ones)
    assert f.dropout(ones, 1.0).eq(0).all()
    state = torch.npu.get_rng_state()
    first = f.dropout(ones, 0.5)
    second = f.dropout(ones, 0.5)
    torch.npu.set_rng_state(state)
    assert f.dropout(ones, 0.5).equal(first) and not second.equal(first)
    drop2d = nn.Dropout2d(0.5)(torch.ones(4, 50, 3, 3, device=NPU)).flatten(2)
    assert (drop2d == drop2d[:, :, :1]).all(), "channels are dropped as a whole"


@check
def dropout_in_attention():
    q, k, v = (torch.randn(2, 4, 32, 16, device=NPU) for _ in range(3))
    torch.manual_seed(5)
    one = f.scaled_dot_product_attention(q, k, v, dropout_p=0.3)
    torch.manual_seed(5)
    again = f.scaled_dot_product_attention(q, k, v, dropout_p=0.3)
    other = f.scaled_dot_product_attention(q, k, v, dropout_p=0.3)
    assert one.equal(again) and not one.equal(other)
    many = torch.stack([f.scaled_dot_product_attention(q, k, v, dropout_p=0.3) for _ in range(200)]).mean(0)
    expect_close(many, f.scaled_dot_product_attention(q, k, v), 0.15)


@check
def random_numbers():
    torch.manual_seed(11)
    normal, uniform = torch.randn(300, 300, device=NPU), torch.rand(300, 300, device=NPU)
    torch.manual_seed(11)
    assert torch.randn(300, 300, device=NPU).equal(normal)
    assert abs(normal.mean().item()) < 0.02 and abs(normal.std().item() - 1) < 0.02
    assert 0 <= uniform.min().item() and uniform.max().item() < 1 and abs(uniform.mean().item() - 0.5) < 0.01
    whole = torch.randint(3, 9, (5000,), device=NPU)
    assert sorted(whole.unique().tolist()) == [3, 4, 5, 6, 7, 8]
    order = torch.randperm(100, device=NPU)
    assert sorted(order.tolist()) == list(range(100))
    coins = torch.bernoulli(torch.full((10000,), 0.25, device=NPU))
    assert abs(coins.mean().item() - 0.25) < 0.03
    drawn = torch.multinomial(torch.tensor([0.0, 1.0, 3.0], device=NPU), 4000, replacement=True)
    assert abs((drawn == 2).float().mean().item() - 0.75) < 0.04 and (drawn == 0).sum().item() == 0
    assert abs(torch.empty(10000, device=NPU).normal_(5, 2).mean().item() - 5) < 0.1
    assert abs(torch.empty(10000, device=NPU).uniform_(-1, 3).mean().item() - 1) < 0.1
    assert abs(torch.empty(10000, device=NPU).exponential_(2).mean().item() - 0.5) < 0.05
    for init in (nn.init.xavier_uniform_, nn.init.kaiming_normal_, nn.init.trunc_normal_, nn.init.orthogonal_):
        assert torch.isfinite(init(torch.empty(8, 8, device=NPU))).all(), init


@check
def small_resnet():
    ours, theirs = compare(models.seeded(models.resnet), lambda parameters: torch.optim.SGD(parameters, 0.05, momentum=0.9), classify,
                           models.images(), tolerance=1e-3)
    for model in (ours, theirs):
        model.eval()
    inputs, _ = models.images()
    expect_close(ours(inputs.to(NPU)), theirs(inputs), 2e-2)
    fresh = models.seeded(models.resnet).eval()
    expect_close(copy.deepcopy(fresh).to(NPU)(inputs.to(NPU)), fresh(inputs), 1e-3)


@check
def small_cnn():
    compare(models.seeded(models.cnn), lambda parameters: torch.optim.AdamW(parameters, 1e-3), classify, models.images(), tolerance=1e-3)


@check
def saved_state_moves_between_devices():
    model = models.seeded(models.Transformer).to(NPU)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    text = models.text()
    next_word(model, text.to(NPU)).backward()
    optimizer.step()
    path = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"state-{os.getpid()}.pt")
    try:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
        state = torch.load(path, map_location="cpu")
        again = torch.load(path, map_location="npu:0")
    finally:
        os.unlink(path)
    reference = models.seeded(models.Transformer)
    reference.load_state_dict(state["model"])
    expect_same_state(model, reference, 0)
    model.load_state_dict(again["model"])
    optimizer.load_state_dict(again["optimizer"])
    expect_close(model(text.to(NPU)), reference(text), EXACT)


@check
def checkpointed_gradients():
    from torch.utils.checkpoint import checkpoint
    results = []
    for again in (False, True):
        model = models.seeded(models.Transformer).to(NPU)
        x = torch.randn(2, 8, 32, generator=torch.Generator().manual_seed(1)).to(NPU).requires_grad_()
        y = checkpoint(model.blocks, x, use_reentrant=False) if again else model.blocks(x)
        y.square().mean().backward()
        results.append(x.grad)
    expect_close(results[1], results[0], 1e-6)


@check
def custom_autograd_functions():
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            context.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(context, gradient):
            return 2 * context.saved_tensors[0] * gradient
    x = torch.randn(5, device=NPU, requires_grad=True)
    Square.apply(x).sum().backward()
    expect_close(x.grad, 2 * x, 1e-6)
    seen = []
    x.register_hook(lambda gradient: seen.append(gradient.norm().item()))
    (x * 3).sum().backward()
    expect_close(seen, [3 * 5 ** 0.5], 1e-5)


@check
def gradient_accumulation():
    inputs, labels = models.vectors()
    model, reference = models.seeded(models.mlp).to(NPU), models.seeded(models.mlp)
    for part in range(4):
        rows = slice(part * 4, part * 4 + 4)
        (classify(model, inputs[rows].to(NPU), labels[rows].to(NPU)) / 4).backward()
    classify(reference, inputs, labels).backward()
    for one, other in zip(model.parameters(), reference.parameters()):
        expect_close(one.grad, other.grad, EXACT)


run()
