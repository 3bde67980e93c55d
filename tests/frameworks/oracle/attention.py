# SPDX-License-Identifier: Apache-2.0
"""Attention against the formula in float32, with the gradients of autograd."""

import math

import torch

from .cases import Out, operator

FAR = 2147483647
LAYOUTS = {"BNSD": lambda x: x, "BSND": lambda x: x.transpose(1, 2), "BSH": lambda x: x.transpose(1, 2).flatten(2),
           "SBH": lambda x: x.permute(2, 0, 1, 3).flatten(2)}


def limits(expected, dtype):
    return Out(expected.to(dtype), **({"rtol": 2e-4, "atol": 2e-4} if dtype is torch.float32 else
                                      {"rtol": 1e-2, "atol": 5e-3} if dtype is torch.float16 else {"atol": 4e-2}))


def pack_bits(keep):
    """A bit per element, lowest first, padded to 16 bytes."""
    flat = keep.flatten()
    padded = torch.zeros((flat.numel() + 127) // 128 * 128, dtype=torch.uint8)
    padded[:flat.numel()] = flat
    return (padded.view(-1, 8) << torch.arange(8, dtype=torch.uint8)).sum(1).to(torch.uint8)


class Attention:
    """Random heads, lengths, mask, bias and dropout; [batch, heads, sequence, columns]."""

    def __init__(self, g, dtype, infer=False, one_row=False):
        pick = g.random.randint
        most = 150 if g.round >= 8 else 12
        self.batch, self.kv_heads, group = pick(1, 3), pick(1, 2), pick(1, 3)
        self.heads = self.kv_heads * group
        self.rows, self.cols, self.width = 1 if one_row else pick(1, most), pick(1, most), 8 * pick(1, 3)
        self.scale = 1 / math.sqrt(self.width)
        self.q, self.k, self.v = (torch.randn(self.batch, n, s, self.width).to(dtype) for n, s in (
            (self.heads, self.rows), (self.kv_heads, self.cols), (self.kv_heads, self.cols)))
        self.pse = torch.randn(self.batch, self.heads, self.rows, self.cols).to(dtype) if pick(0, 2) == 0 else None
        self.before = self.after = FAR
        self.mask = self.keep = self.drop = None
        self.probability = 1.0
        self.mode = 0 if one_row else g.random.choice([0, 0, 1, 2, 3, 4])
        distance = torch.arange(self.cols)[None, :] - torch.arange(self.rows)[:, None]
        shift = self.cols - self.rows
        if self.mode < 2:
            if pick(0, 1) or self.mode == 1:
                self.mask = torch.rand(self.batch, 1, self.rows, self.cols) < 0.3
                self.mask[..., 0] = False
            hidden = self.mask if self.mask is not None else torch.zeros(1, dtype=torch.bool)
        else:
            self.mask = torch.ones(2048, 2048, dtype=torch.bool).triu(1)
            if self.mode == 4:
                self.before, self.after = pick(0, self.cols), pick(0, self.cols)
            hidden = {2: distance > 0, 3: distance > shift,
                      4: (distance > shift + self.after) | (distance < shift - self.before)}[self.mode]
        self.hidden = hidden.expand(self.batch, self.heads, self.rows, self.cols)
        self.bias_first = not infer
        if not infer and pick(0, 2) == 0:
            self.probability = 0.75
            self.keep = torch.rand(self.batch, self.heads, self.rows, self.cols) < self.probability
            self.drop = pack_bits(self.keep)

    def scores(self, q, k, pse):
        scores = q @ k.repeat_interleave(self.heads // self.kv_heads, 1).transpose(2, 3)
        if pse is None:
            pse = torch.zeros(1)
        scores = (scores + pse) * self.scale if self.bias_first else scores * self.scale + pse
        return scores.masked_fill(self.hidden, -torch.inf)

    def __call__(self, q, k, v, pse):
        """Rows without any element are 0."""
        empty = self.hidden.all(3, keepdim=True)
        p = torch.softmax(self.scores(q, k, pse).masked_fill(empty, 0), 3).masked_fill(empty, 0)
        if self.keep is not None:
            p = p * self.keep / self.probability
        return p @ v.repeat_interleave(self.heads // self.kv_heads, 1)


def rows_of(a):
    """Max and sum of every row, eight times each."""
    scores = a.scores(a.q.float(), a.k.float(), None if a.pse is None else a.pse.float())
    top = scores.amax(3, keepdim=True)
    total = torch.exp(scores - top.masked_fill(torch.isinf(top), 0)).sum(3, keepdim=True)
    top = top.masked_fill(torch.isinf(top), torch.finfo(torch.float32).min)
    return [Out(x.expand(*x.shape[:3], 8).contiguous(), rtol=1e-3, atol=1e-3) for x in (top, total)]


def floats(a):
    return [None if x is None else x.float().requires_grad_() for x in (a.q, a.k, a.v, a.pse)]


def forward(name, later):
    @operator(name)
    def case(g, dtype):
        a = Attention(g, dtype)
        layout, place = g.random.choice(list(LAYOUTS.items()))
        expected = a(*floats(a)).detach()
        q, k, v = (g.lay_out(place(x).contiguous()) for x in (a.q, a.k, a.v))
        return [q, k, v, a.pse, a.drop, None, a.mask, None, *([None, None] if later else []), a.scale, a.probability,
                a.before, a.after, a.heads, layout, 0, a.mode, *([1] if later else []), *rows_of(a),
                torch.zeros(0, dtype=dtype), limits(place(expected).contiguous(), dtype)]


def backward(name, later):
    @operator(name)
    def case(g, dtype):
        a = Attention(g, dtype)
        layout, place = g.random.choice(list(LAYOUTS.items()))
        leaves = floats(a)
        y = a(*leaves)
        grad = torch.randn_like(y).to(dtype)
        y.backward(grad.float())
        q, k, v, dy, out = (g.lay_out(place(x).contiguous()) for x in (a.q, a.k, a.v, grad, y.detach().to(dtype)))
        top, total = (x.expected for x in rows_of(a))
        outs = [limits(place(x.grad).contiguous(), dtype) for x in leaves[:3]]
        bias = torch.zeros(0, dtype=dtype) if a.pse is None else limits(leaves[3].grad, dtype)
        return [q, k, v, dy, a.pse, a.drop, None, a.mask, top, total, None, out, None,
                *([None, None] if later else []), a.scale, a.probability, a.before, a.after, a.heads, layout, 0, a.mode,
                *([1] if later else []), *outs, bias]


forward("FlashAttentionScore", False)
forward("FlashAttentionScoreV2", True)
backward("FlashAttentionScoreGrad", False)
backward("FlashAttentionScoreGradV2", True)


# ---- sequences one after another ----

class Sequences:
    """Several attentions with common heads, mode and width, joined as [tokens, heads, columns]."""

    def __init__(self, g, dtype):
        first = Attention(g, dtype)
        while first.pse is not None or first.mode < 2 or first.keep is not None:
            first = Attention(g, dtype)
        self.parts, self.head = [], first
        for _ in range(g.random.randint(1, 3)):
            part = Attention(g, dtype)
            for name in ("kv_heads", "heads", "width", "scale", "mode", "before", "after"):
                setattr(part, name, getattr(first, name))
            part.batch, part.pse, part.keep = 1, None, None
            part.q, part.k, part.v = (torch.randn(1, n, s, first.width).to(dtype) for n, s in (
                (part.heads, part.rows), (part.kv_heads, part.cols), (part.kv_heads, part.cols)))
            distance = torch.arange(part.cols)[None, :] - torch.arange(part.rows)[:, None]
            shift = part.cols - part.rows
            part.hidden = {2: distance > 0, 3: distance > shift,
                           4: (distance > shift + part.after) | (distance < shift - part.before)}[part.mode]
            part.hidden = part.hidden.expand(1, part.heads, part.rows, part.cols)
            self.parts.append(part)
        self.ends = [[sum(getattr(p, size) for p in self.parts[:i + 1]) for i in range(len(self.parts))]
                     for size in ("rows", "cols")]

    def join(self, tensors):
        return torch.cat([t.squeeze(0).transpose(0, 1) for t in tensors]).contiguous()


def joined(names, later, layout_text):
    @operator(names[0])
    def forward_case(g, dtype):
        s = Sequences(g, dtype)
        a = s.head
        out = s.join([p(*floats(p)).detach() for p in s.parts])
        rows = [[x.expected for x in rows_of(p)] for p in s.parts]
        stats = [Out(s.join([r[i] for r in rows]), rtol=1e-3, atol=1e-3) for i in range(2)]
        return [*(s.join([getattr(p, x) for p in s.parts]) for x in "qkv"), None, None, None, a.mask, None, *s.ends,
                *([None, None] if later else []), a.scale, 1.0, a.before, a.after, a.heads, "TND", 0, a.mode,
                *([1] if later else []), *([""] if layout_text else []), *stats, torch.zeros(0, dtype=dtype),
                limits(out, dtype)]

    @operator(names[1])
    def backward_case(g, dtype):
        s = Sequences(g, dtype)
        a = s.head
        grads, leaves = [], []
        for part in s.parts:
            leaves.append(floats(part))
            y = part(*leaves[-1])
            grads.append(torch.randn_like(y).to(dtype))
            y.backward(grads[-1].float())
        outs = [limits(s.join([x[i].grad for x in leaves]), dtype) for i in range(3)]
        return [*(s.join([getattr(p, x) for p in s.parts]) for x in "qkv"), s.join(grads), None, None, None, a.mask,
                None, None, None, None, None, *s.ends, *([None, None] if later else []), a.scale, 1.0, a.before, a.after,
                a.heads, "TND", 0, a.mode, *([1] if later else []), *outs, None, *([""] if layout_text else [])]


joined(["FlashAttentionVarLenScore", "FlashAttentionUnpaddingScoreGrad"], False, False)
joined(["FlashAttentionVarLenScoreV2", "FlashAttentionUnpaddingScoreGradV2"], True, False)
joined(["FlashAttentionVarLenScoreV4", "FlashAttentionUnpaddingScoreGradV4"], False, True)


# ---- inference ----

def infer(name, arguments, one_row=False):
    """arguments(a, q, k, v, layout, lse, out) in the order of the signature."""
    @operator(name)
    def case(g, dtype):
        a = Attention(g, dtype, infer=True, one_row=one_row)
        if "sparse" not in name and a.mode > 1:
            a.mode = a.mode if "V" in name or "Fused" in name else 0
            if a.mode == 0:
                a.mask = None
                a.hidden = torch.zeros_like(a.hidden)
        if one_row and a.mask is not None:
            a.mask = a.mask[:, 0, 0]
        layout, place = g.random.choice([x for x in LAYOUTS.items() if x[0] != "SBH"])
        expected = a(*floats(a)).detach()
        q, k, v = (g.lay_out(place(x).contiguous()) for x in (a.q, a.k, a.v))
        pse = None if a.pse is None else a.pse.float()
        lse = torch.logsumexp(a.scores(a.q.float(), a.k.float(), pse), 3, keepdim=True)
        lse = Out(lse.masked_fill(torch.isinf(lse), torch.inf), rtol=1e-3, atol=2e-3)
        return arguments(a, q, k, v, layout, lse, limits(place(expected).contiguous(), dtype))


def many(count):
    return [None] * count


for version, scales, extra in (("", 10, []), ("V2", 16, [0, 0]), ("V3", 16, [0, 0])):
    infer(f"FusedInferAttentionScore{version}", lambda a, q, k, v, layout, lse, out, version=version, scales=scales,
          extra=extra: [q, [k], [v], a.pse, a.mask, None, None, *many(scales), *many({"": 0, "V2": 1, "V3": 4}[version]),
                        a.heads, a.scale, a.before, a.after, layout, a.kv_heads, a.mode, 0, 0, 0, True, *extra, out, lse])
infer("PromptFlashAttention", lambda a, q, k, v, layout, lse, out: [
    q, k, v, a.pse, a.mask, None, a.heads, a.scale, a.before, a.after, layout, a.kv_heads, out])
for version, inner in (("V2", []), ("V3", [1])):
    infer(f"PromptFlashAttention{version}", lambda a, q, k, v, layout, lse, out, inner=inner: [
        q, k, v, a.pse, a.mask, None, [a.cols], *many(5), a.heads, a.scale, a.before, a.after, layout, a.kv_heads, a.mode,
        *inner, out])
for version, scales, block in (("", 0, []), ("V2", 5, []), ("V3", 8, [0, 0]), ("V4", 9, [0, 0])):
    infer(f"IncreFlashAttention{version}", lambda a, q, k, v, layout, lse, out, scales=scales, block=block: [
        q, [k], [v], a.pse, a.mask, [a.cols] * a.batch, *many(scales), a.heads, a.scale, layout, a.kv_heads, *block,
        out], one_row=True)
