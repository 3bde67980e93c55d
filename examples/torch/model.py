# SPDX-License-Identifier: Apache-2.0
"""A small transformer and made-up text, for train.py and infer.py. Runs on any device: 'cpu', 'npu', 'npu:1', 'cuda'."""

import math

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x, cache=None):
        batch, tokens, width = x.shape
        q, k, v = (part.view(batch, tokens, self.heads, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
        if cache is not None:
            k, v = cache.extend(k, v)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        past = k.shape[2] - tokens
        future = torch.ones(tokens, k.shape[2], dtype=torch.bool, device=x.device).triu(past + 1)
        weights = scores.masked_fill(future, float("-inf")).softmax(dim=-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, tokens, width))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x, cache=None):
        x = x + self.attention(self.norm1(x), cache)
        return x + self.mlp(self.norm2(x))


class Transformer(nn.Module):
    def __init__(self, vocabulary=256, layers=4, width=128, heads=4, context=1024):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, ids, caches=None, past=0):
        x = self.tokens(ids) + self.positions(torch.arange(past, past + ids.shape[1], device=ids.device))
        for i, block in enumerate(self.blocks):
            x = block(x, caches[i] if caches is not None else None)
        return self.head(self.norm(x))


def device_named(name):
    """The device, with the package that provides it."""
    if name.partition(":")[0] == "npu":
        import torch_npu  # noqa: F401
    return torch.device(name)


def made_up_text(batch, tokens, vocabulary=256, seed=0):
    """Most tokens determine the next one, so that there is something to learn."""
    generator = torch.Generator().manual_seed(seed)
    ids = [torch.randint(vocabulary, (batch, 1), generator=generator)]
    for _ in range(tokens):
        noise = (torch.rand(batch, 1, generator=generator) < 0.1) * torch.randint(vocabulary, (batch, 1), generator=generator)
        ids.append((ids[-1] * 7 + 3 + noise) % vocabulary)
    return torch.cat(ids, dim=1)
