# SPDX-License-Identifier: Apache-2.0
"""Tokens in the order of their experts, and back."""

import torch

from .cases import Out, operator, precise


def routing(g, dtype):
    """Tokens, experts of each token, rows in the order of the experts, and where each copy of a token is."""
    count, top_k, width = g.random.randint(1, 9), g.random.randint(1, 4), g.random.choice([1, 5, 33])
    tokens = g.tensor(dtype, (count, width), specials=False)
    experts = torch.randint(0, 6, (count, top_k)).to(g.random.choice([torch.int32, torch.int64]))
    order = torch.argsort(experts.reshape(-1), stable=True)
    return tokens, experts, order, torch.argsort(order).int()


@operator("MoeTokenPermute")
def permute(g, dtype):
    tokens, experts, order, rank = routing(g, dtype)
    kept = g.random.randint(1, len(order)) if g.round % 2 else len(order)
    return [tokens, experts, kept, False, Out(tokens[order[:kept] // experts.shape[1]]), Out(rank)]


@operator("MoeTokenPermuteGrad")
def permute_grad(g, dtype):
    tokens, experts, order, rank = routing(g, dtype)
    grad = g.tensor(dtype, (len(order), tokens.shape[1]), specials=False)
    compute = precise(lambda x: x[rank.long()].reshape(*experts.shape, -1).sum(1))
    return [grad, rank, experts.shape[1], False, Out(compute(grad))]


@operator("MoeTokenUnpermute")
def unpermute(g, dtype):
    tokens, experts, order, rank = routing(g, dtype)
    rows, probs = g.tensor(dtype, (len(order), tokens.shape[1]), specials=False), g.tensor(dtype, experts.shape, low=0,
                                                                                          high=1)
    if g.round % 3 == 1:
        return [rows, rank, None, False, None, Out(rows[rank.long()])]
    compute = precise(lambda x, y: (x[rank.long()].reshape(*experts.shape, -1) * y[..., None]).sum(1))
    return [rows, rank, probs, False, None, Out(compute(rows, probs))]


@operator("MoeTokenUnpermuteGrad")
def unpermute_grad(g, dtype):
    tokens, experts, order, rank = routing(g, dtype)
    rows, probs = g.tensor(dtype, (len(order), tokens.shape[1]), specials=False), g.tensor(dtype, experts.shape, low=0,
                                                                                          high=1)
    x, y = rows.float().requires_grad_(), probs.float().requires_grad_()
    out = (x[rank.long()].reshape(*experts.shape, -1) * y[..., None]).sum(1)
    grad = g.tensor(dtype, out.shape, specials=False)
    of_x, of_y = torch.autograd.grad(out, (x, y), grad.float())
    return [rows, grad, rank, probs, False, None, Out(of_x.to(dtype)), Out(of_y.to(dtype), atol=1e-3 if dtype is
                                                                           torch.float32 else 2e-2, rtol=1e-2)]
