# SPDX-License-Identifier: Apache-2.0
"""Fused optimizers, the scale of mixed precision and the check for silent faults."""

import torch

from .cases import Out, Ref, operator

SINGLE = (torch.float32,)


def stored(x, like):
    return x.to(like.dtype)


@operator("ApplyAdamWV2")
def adam_w(g, dtype):
    """The step of the operator counts from 0: torch_npu passes one less than PyTorch's."""
    shape, step, amsgrad, maximize = g.shape(), g.random.randint(1, 20), g.random.random() < 0.5, g.random.random() < 0.5
    lr, beta1, beta2, decay, eps = 0.0078125, 0.875, 0.96875, 0.0625, 2.0 ** -20  # exact as float
    p, m, grad = (g.tensor(dtype, shape, specials=False) for _ in range(3))
    v, largest = (g.tensor(dtype, shape, low=0.01, high=2) for _ in range(2))
    parameter = p.float().clone().requires_grad_()
    parameter.grad = grad.float().clone()
    optimizer = torch.optim.AdamW([parameter], lr=lr, betas=(beta1, beta2), eps=eps, weight_decay=decay, amsgrad=amsgrad,
                                  maximize=maximize, foreach=False)
    optimizer.state[parameter] = {"step": torch.tensor(step - 1.0), "exp_avg": m.float().clone(),
                                  "exp_avg_sq": v.float().clone(), "max_exp_avg_sq": largest.float().clone()}
    optimizer.step()
    state = optimizer.state[parameter]
    count = torch.tensor([step - 1], dtype=g.random.choice([torch.int64, torch.float32]))
    return [Ref(p, stored(parameter.detach(), p)), Ref(m, stored(state["exp_avg"], m)),
            Ref(v, stored(state["exp_avg_sq"], v)),
            Ref(largest, stored(state["max_exp_avg_sq"], largest)) if amsgrad else None, grad, count, lr, beta1, beta2,
            decay, eps, amsgrad, maximize]


@operator("ApplyFusedEmaAdam")
def ema_adam(g, dtype):
    shape, step, mode, correct = g.shape(), g.random.randint(1, 20), g.random.randrange(2), g.random.random() < 0.5
    lr, ema, beta1, beta2, eps, decay = 0.01, 0.99, 0.9, 0.95, 1e-6, 0.1
    grad, p, m, s = (g.tensor(dtype, shape, specials=False) for _ in range(4))
    v = g.tensor(dtype, shape, low=0.01, high=2)
    c1, c2 = (1 - beta1 ** step, 1 - beta2 ** step) if correct else (1, 1)
    d = grad.double() + (0 if mode else decay * p.double())
    m2, v2 = beta1 * m.double() + (1 - beta1) * d, beta2 * v.double() + (1 - beta2) * d * d
    way = (m2 / c1) / ((v2 / c2).sqrt() + eps) + (decay * p.double() if mode else 0)
    p2 = p.double() - lr * way
    s2 = ema * s.double() + (1 - ema) * p2
    return [grad, Ref(p, stored(p2, p)), Ref(m, stored(m2, m)), Ref(v, stored(v2, v)), Ref(s, stored(s2, s)),
            torch.tensor([step]), lr, ema, beta1, beta2, eps, mode, correct, decay]


@operator("AmpUpdateScale")
def update_scale(g, dtype):
    scale, tracker = torch.tensor([g.random.choice([65536.0, 2.0, 3e38])]), torch.tensor([g.random.randrange(4)],
                                                                                         dtype=torch.int32)
    found = torch.tensor([g.random.choice([0.0, 1.0])])
    expected, count = scale.clone(), tracker.clone()
    torch._amp_update_scale_(expected, count, found, 2.0, 0.5, 4)
    return [scale, tracker, found, 2.0, 0.5, 4, Out(expected), Out(count)]


@operator("SilentCheck", dtypes=SINGLE)
def silent_check(g, dtype):
    """Values of ordinary training pass; infinite ones are a fault. The gradient stays as it is."""
    value = g.random.choice([0.3, 4.0, 90.0, float("inf")])
    state, step = torch.tensor([1.0, 0.5, 2.0]), torch.tensor([g.random.choice([5, 200])])
    bad = value == float("inf")
    after = state.clone() if bad else torch.tensor([value, min(value, 0.5), max(value, 2.0)])
    return [torch.tensor(value), torch.ones(4), Ref(state, after), Ref(step, step + 1), 100, 1e6, 1e5, 1e4, 5e3, 1,
            Out(torch.tensor([1 if bad else 0], dtype=torch.int32))]


@operator("SilentCheckV2", dtypes=SINGLE)
def silent_check_v2(g, dtype):
    value, step = g.random.choice([0.3, 4.0, 90.0, float("nan")]), g.random.choice([0, 1, 50])
    average = torch.tensor([1.0 - 0.5 ** step if step else 0.0])
    bad = value != value
    after = average.clone() if bad else 0.5 * average + 0.5 * value
    count = torch.tensor([step])
    return [torch.tensor(value), torch.tensor(value), Ref(average, after), torch.ones(4), Ref(count, count + 1), [4], [1], [0],
            1e6, 1e4, 0.5, 1, Out(torch.tensor([1 if bad else 0], dtype=torch.int32))]
