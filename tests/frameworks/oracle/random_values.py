# SPDX-License-Identifier: Apache-2.0
"""Random operators: range, distribution, and the same values for the same seed and offset; dropout masks bit by bit."""

import torch

from .cases import REALS, Out, Ref, operator, precise

SEEN = {}  # (operator, type, shape, ...): the values of an earlier call with the same seed and offset


def seeds(g):
    return g.random.choice([(7, 0), (7, 12), (2**40 + 1, 24)])


def as_tensors(seed, offset):
    """The forms of captured graphs: tensors, and a number that is added to the offset."""
    return torch.tensor([seed]), torch.tensor([offset - offset // 2]), offset // 2


def values_of(got):
    return got.double().reshape(-1)


def check(key, mean=None, spread=None, low=None, high=None, whole=False):
    """A function that checks values; mean and spread within six standard errors."""
    def verify(got):
        v = values_of(got)
        earlier = SEEN.setdefault((*key, tuple(got.shape)), v)
        assert torch.equal(v, earlier), f"{key}: other values for the same seed and offset"
        for other, values in SEEN.items():
            if other[:-2] == key[:-1] and other[-2] != key[-1] and other[-1] == tuple(got.shape) and len(v) > 500:
                same = (values == v).double().mean()
                assert same < 0.8, f"{key}: values like those of {other}"
        if v.numel() == 0:
            return
        assert low is None or (v >= low).all(), f"{key}: below {low}"
        assert high is None or (v <= high).all(), f"{key}: above {high}"
        assert not whole or torch.equal(v, v.round())
        if v.numel() > 500 and mean is not None:
            slack = 6 * spread / v.numel() ** 0.5 + 0.01 * abs(mean) + 0.01 * spread
            assert abs(v.mean() - mean) < slack, f"{key}: mean {v.mean()}"
            assert abs(v.std() - spread) < 0.2 * spread + 0.01, f"{key}: deviation {v.std()}"
    return verify


def changed(name, parameters, *, tensors=False):
    """In-place operators; parameters(g, dtype): arguments before the seed, and what to check."""
    @operator(name)
    def call(g, dtype):
        made = parameters(g, dtype)
        if made is None:
            return None
        args, expected = made
        seed, offset = seeds(g)
        x = g.tensor(dtype, specials=False)
        verify = check((name.replace("Tensor", ""), dtype, str(args), (seed, offset)), **expected)
        return [Ref(x, x, check=verify), *args, *(as_tensors(seed, offset) if tensors else (seed, offset))]


def both(name, parameters):
    changed(name, parameters)
    changed(name + "Tensor", parameters, tensors=True)


def uniform(g, dtype):
    if dtype not in REALS:
        return None
    return (-1.0, 3.0), {"low": -1, "high": 3, "mean": 1, "spread": 4 / 12 ** 0.5}


def normal(g, dtype):
    if dtype not in REALS:
        return None
    return (0.5, 2.0), {"mean": 0.5, "spread": 2}


def whole(g, dtype):
    low, high = (0, 2) if dtype is torch.bool else (3, 90)
    return (low, high), {"low": low, "high": high - 1, "whole": True, "mean": (low + high - 1) / 2,
                         "spread": (((high - low) ** 2 - 1) / 12) ** 0.5}


def whole_type(g, dtype):
    top = {torch.float32: 2**24, torch.float16: 2**11, torch.bfloat16: 2**8, torch.float64: 2**53, torch.bool: 2,
           torch.uint8: 256, torch.int8: 128, torch.int16: 2**15, torch.int32: 2**31, torch.int64: 2**63}[dtype]
    return (), {"low": 0, "high": top, "whole": True, "mean": top / 2, "spread": top / 12 ** 0.5} \
        if dtype is not torch.bool else {"low": 0, "high": 1, "mean": 0.5, "spread": 0.5}


both("InplaceUniform", uniform)
both("InplaceNormal", normal)
both("InplaceRandom", whole)
both("InplaceRandomWithoutFromTo", whole_type)


def normal_of(name, mean_tensor, std_tensor):
    @operator(name)
    def call(g, dtype):
        shape = g.shape()
        mean, std = 1.5, 0.5
        first = torch.full(shape, mean, dtype=dtype) if mean_tensor else mean
        second = torch.full(shape[-1:], std, dtype=dtype) if std_tensor else std
        seed, offset = seeds(g)
        verify = check((name, dtype, (seed, offset)), mean=mean, spread=std)
        return [first, second, seed, offset, Out(torch.empty(shape, dtype=dtype), check=verify)]


normal_of("NormalFloatFloat", False, False)
normal_of("NormalFloatTensor", False, True)
normal_of("NormalTensorFloat", True, False)
normal_of("NormalTensorTensor", True, True)


def bernoulli(name, tensor, inplace):
    @operator(name)
    def call(g, dtype):
        x, p = g.tensor(dtype, specials=False), g.random.choice([0.0, 0.3, 1.0])
        prob = torch.full(x.shape, p) if tensor else p
        seed, offset = seeds(g)
        verify = check((name, dtype, p, (seed, offset)), low=0 if p < 1 else 1, high=1 if p > 0 else 0, mean=p,
                       spread=(p - p * p) ** 0.5) if p == 0.3 else check((name, dtype, p, 0), low=p, high=p)
        return [Ref(x, x, check=verify), prob, seed, offset] if inplace else [
            x, prob, seed, offset, Out(torch.empty(x.shape, dtype=dtype), check=verify)]


bernoulli("Bernoulli", False, False)
bernoulli("BernoulliTensor", True, False)
bernoulli("InplaceBernoulli", False, True)
bernoulli("InplaceBernoulliTensor", True, True)


@operator("Randperm")
def randperm(g, dtype):
    n, (seed, offset) = g.random.choice([0, 1, 2, 100]), seeds(g)

    def verify(got):
        assert got.long().sort().values.tolist() == list(range(n))
        assert n < 100 or got.long().tolist() != list(range(n))
    return [n, seed, offset, Out(torch.empty(n, dtype=dtype), check=verify)]


def multinomial(name, tensors):
    @operator(name)
    def call(g, dtype):
        rows, count, replacement = g.random.choice([None, 3]), 8, bool(g.random.randrange(2))
        weights = torch.rand(8) * (torch.arange(8) % 3 != 1)
        if rows:
            weights = weights.expand(rows, count)
        samples, (seed, offset) = 2000 if replacement else 5, seeds(g)
        shape = (rows, samples) if rows else (samples,)

        def verify(got):
            found = got.reshape(-1, samples)
            for row in found:
                counts = torch.bincount(row, minlength=count)
                assert (counts[weights.reshape(-1, count)[0] == 0] == 0).all() and len(counts) == count
                if replacement:
                    share = weights.reshape(-1, count)[0] / weights.reshape(-1, count)[0].sum()
                    assert ((counts / samples - share).abs() < 0.06).all(), f"{counts} for {share}"
                else:
                    assert (counts <= 1).all()
        return [g.lay_out(weights.to(dtype)), samples, replacement,
                *(as_tensors(seed, offset) if tensors else (seed, offset)), Out(torch.empty(shape).long(), check=verify)]


multinomial("Multinomial", False)
multinomial("MultinomialTensor", True)


def bits(mask, count):
    return (mask.reshape(-1, 1).int() >> torch.arange(8)).reshape(-1)[:count] & 1


def mask_bytes(count):
    return (count + 127) // 128 * 16


def check_mask(count, p):
    def verify(got):
        kept = bits(got, count).double()
        assert p > 0 or kept.sum() == count
        assert p < 1 or kept.sum() == 0
        assert count < 500 or abs(kept.mean() - (1 - p)) < 6 * (p - p * p) ** 0.5 / count ** 0.5 + 1e-9
    return verify


def gen_mask(name, *more, tensors=False):
    @operator(name)
    def call(g, dtype):
        shape, p, (seed, offset) = g.shape(1), g.random.choice([0.0, 0.1, 0.5, 1.0]), seeds(g)
        count = torch.Size(shape).numel()
        return [list(shape), p, *(as_tensors(seed, offset) if tensors else (seed, offset)), *more,
                Out(torch.empty(mask_bytes(count), dtype=torch.uint8), check=check_mask(count, p))]


gen_mask("DropoutGenMask")
gen_mask("DropoutGenMaskV2", torch.float32)
gen_mask("DropoutGenMaskV2Tensor", torch.float32, tensors=True)


def masked(x, mask, scale):
    kept = bits(mask, x.numel()).reshape(x.shape)
    return precise(lambda v: torch.where(kept != 0, v * scale, torch.zeros_like(v)))(x)


@operator("DropoutDoMask")
def do_mask(g, dtype):
    x, p = g.tensor(dtype), g.random.choice([0.0, 0.1, 0.5])
    mask = torch.randint(0, 256, (mask_bytes(x.numel()),), dtype=torch.uint8)
    return [x, mask, p, Out(masked(x, mask, 1 / (1 - p)))]


@operator("DropoutBackward", "DropoutV3Grad")
def dropout_backward(g, dtype):
    x, scale = g.tensor(dtype), g.random.choice([1.0, 1.25, 2.0])
    mask = torch.randint(0, 256, (mask_bytes(x.numel()),), dtype=torch.uint8)
    return [x, mask, scale, Out(masked(x, mask, scale))]


def dropout(name, arguments):
    @operator(name)
    def call(g, dtype):
        x, p, train = g.tensor(dtype, specials=False, low=1, high=2), g.random.choice([0.1, 0.5]), True
        seen = {}

        def verify_out(got):
            seen["kept"] = (got != 0).reshape(-1).int()
            scaled = precise(lambda v: v / (1 - p))(x)
            torch.testing.assert_close(got, torch.where(got != 0, scaled, torch.zeros_like(scaled)))

        def verify_mask(got):
            check_mask(x.numel(), p)(got)
            assert torch.equal(bits(got, x.numel()).int(), seen["kept"])
        return [*arguments(x, p, train), *seeds(g), Out(torch.empty(x.shape, dtype=dtype), check=verify_out),
                Out(torch.empty(mask_bytes(x.numel()), dtype=torch.uint8), check=verify_mask)]


dropout("Dropout", lambda x, p, train: [x, p, train])
dropout("DropoutV3", lambda x, p, train: [x, None, p])
