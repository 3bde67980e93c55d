#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small transformer on npu:0 with PyTorch and torch_npu, on a card or on softnpu:

    softnpu run -- python3 train.py
    softnpu run -- msmemscope --call-stack=python -- python3 train.py

It has a mistake for msmemscope to find: an object for statistics keeps the hidden state of every step. --no-leak trains without
it; --device=cpu trains on the CPU, with the same losses up to rounding."""

import argparse
import math

import torch
from torch import nn

try:
    import msmemscope
except ImportError:  # not recorded
    msmemscope = None


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def attend(self, x):
        batch, tokens, width = x.shape
        q, k, v = (part.view(batch, tokens, self.heads, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        future = torch.ones(tokens, tokens, dtype=torch.bool, device=x.device).triu(1)
        weights = scores.masked_fill(future, float("-inf")).softmax(dim=-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, tokens, width))

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Transformer(nn.Module):
    def __init__(self, vocabulary, layers, width, heads, context):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, ids):
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Statistics:
    """Watches the hidden states."""

    def __init__(self, leak):
        self.leak = leak
        self.seen, self.norms = [], []

    def watch(self, module, inputs, output):
        if self.leak:
            self.seen.append(output.detach().clone())  # the mistake
        else:
            self.norms.append(output.detach().norm().item())


def text_of(step, batch, tokens, vocabulary):
    """Each token determines the next one, so that there is something to learn."""
    generator = torch.Generator().manual_seed(step)
    ids = [torch.randint(vocabulary, (batch, 1), generator=generator)]
    for _ in range(tokens):
        ids.append((ids[-1] * 7 + 3) % vocabulary)
    return torch.cat(ids, dim=1)


def train(options):
    if options.device.startswith("npu"):
        import torch_npu  # noqa: F401
    torch.manual_seed(1)
    model = Transformer(options.vocabulary, options.layers, options.width, options.heads, options.tokens)
    model.to(options.device)
    statistics = Statistics(leak=not options.no_leak)
    model.norm.register_forward_hook(statistics.watch)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(options.steps):
        text = text_of(step, options.batch, options.tokens, options.vocabulary).to(options.device)
        logits = model(text[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        print(f"step {step + 1}: loss {loss.item():.4f}", flush=True)
        del text, logits, loss
        if msmemscope is not None:
            msmemscope.step()
    return statistics, model, optimizer


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("steps", 8), ("layers", 2), ("width", 64), ("heads", 4), ("batch", 4), ("tokens", 32),
                        ("vocabulary", 128)):
        parser.add_argument(f"--{name}", type=int, default=value, help="(default %(default)s)")
    parser.add_argument("--device", default="npu:0", help="npu:0, npu:1, cpu ... (default %(default)s)")
    parser.add_argument("--no-leak", action="store_true", help="train without the mistake")
    return train(parser.parse_args())


if __name__ == "__main__":
    trained = main()
