# SPDX-License-Identifier: Apache-2.0
"""Small models, and text and images made up for them. A seed gives the same weights and data on every device."""

import torch
from torch import nn
from torch.nn import functional as f


def mlp():
    return nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 5))


class Block(nn.Module):
    """Attention written out, with a mask, as many programs do."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.qkv(self.first(x)).chunk(3, -1))
        weights = q @ k.transpose(-1, -2) / (width // self.heads) ** 0.5
        mask = torch.triu(torch.ones(length, length, dtype=torch.bool, device=x.device), 1)
        weights = weights.masked_fill(mask, float("-inf")).softmax(-1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))
        return x + self.down(f.gelu(self.up(self.second(x))))


class Transformer(nn.Module):
    def __init__(self, layers=2, width=32, heads=4, words=50):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(64, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, text):
        places = torch.arange(text.shape[1], device=text.device)
        return self.head(self.norm(self.blocks(self.words(text) + self.places(places))))


class Encoder(nn.Module):
    """PyTorch's own encoder; its attention is scaled_dot_product_attention."""

    def __init__(self, dropout=0.0, words=50, width=32):
        super().__init__()
        self.words = nn.Embedding(words, width)
        layer = nn.TransformerEncoderLayer(width, 4, 64, dropout=dropout, batch_first=True, activation="gelu")
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, words)

    def forward(self, text):
        return self.head(self.encoder(self.words(text)))


class Residual(nn.Module):
    def __init__(self, inner, outer, stride):
        super().__init__()
        self.one, self.two = nn.Conv2d(inner, outer, 3, stride, 1, bias=False), nn.Conv2d(outer, outer, 3, 1, 1, bias=False)
        self.norm_one, self.norm_two = nn.BatchNorm2d(outer), nn.BatchNorm2d(outer)
        self.short = nn.Sequential(nn.Conv2d(inner, outer, 1, stride, bias=False), nn.BatchNorm2d(outer))

    def forward(self, x):
        y = f.relu(self.norm_one(self.one(x)))
        return f.relu(self.norm_two(self.two(y)) + self.short(x))


def resnet(classes=10):
    return nn.Sequential(nn.Conv2d(3, 8, 3, 1, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
                         Residual(8, 8, 1), Residual(8, 16, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, classes))


def cnn(classes=10):
    return nn.Sequential(nn.Conv2d(3, 8, 5, padding=2), nn.ReLU(), nn.AvgPool2d(2), nn.Conv2d(8, 16, 3, groups=2), nn.GELU(),
                         nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16 * 3 * 3, classes))


def seeded(make, *arguments, **options):
    torch.manual_seed(1)
    return make(*arguments, **options)


def text(batch=4, length=16, words=50):
    """Sequences with a rule that can be learned."""
    start = torch.randint(words, (batch, 1), generator=torch.Generator().manual_seed(2))
    return (start + torch.arange(length + 1) * 3) % words


def images(batch=8, size=16, classes=10):
    source = torch.Generator().manual_seed(3)
    return torch.randn(batch, 3, size, size, generator=source), torch.randint(classes, (batch,), generator=source)


def vectors(batch=16):
    source = torch.Generator().manual_seed(4)
    return torch.randn(batch, 20, generator=source), torch.randint(5, (batch,), generator=source)
