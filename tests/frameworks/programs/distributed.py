# SPDX-License-Identifier: Apache-2.0
"""Two ranks on two NPUs: collectives, DistributedDataParallel, fully_shard. Gradients equal those of one process that has the whole
batch.

usage: distributed.py RENDEZVOUS [CHECK]...     RENDEZVOUS is a file that does not exist
"""

import copy
import datetime
import sys
import traceback

import torch
import torch.distributed as dist
import torch.multiprocessing
import torch_npu  # noqa: F401
from torch.nn import functional as f

import models
from checks import CHECKS, check, expect_close

RANKS = 2


def next_word(model, text):
    return f.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten())


def part(tensor):
    """The share of this rank."""
    return tensor.chunk(RANKS)[dist.get_rank()]


def device():
    return torch.device("npu", dist.get_rank())


@check
def collectives():
    rank = dist.get_rank()
    one = torch.full((5,), float(rank + 1), device=device())
    dist.all_reduce(one)
    assert one.tolist() == [3.0] * 5
    largest = torch.tensor([rank, 1 - rank], device=device())
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    assert largest.tolist() == [1, 1]
    pieces = [torch.empty(2, device=device()) for _ in range(RANKS)]
    dist.all_gather(pieces, torch.full((2,), float(rank), device=device()))
    assert torch.cat(pieces).tolist() == [0, 0, 1, 1]
    whole = torch.empty(4, dtype=torch.int64, device=device())
    dist.all_gather_into_tensor(whole, torch.full((2,), rank, device=device()))
    assert whole.tolist() == [0, 0, 1, 1]
    share = torch.empty(2, device=device())
    dist.reduce_scatter_tensor(share, torch.arange(4.0, device=device()))
    assert share.tolist() == [4.0 * rank, 4.0 * rank + 2]
    text = torch.arange(3.0, device=device()) if rank == 0 else torch.zeros(3, device=device())
    dist.broadcast(text, 0)
    assert text.tolist() == [0, 1, 2]
    swapped = torch.empty(2, device=device())
    dist.all_to_all_single(swapped, torch.tensor([10.0 * rank, 10.0 * rank + 1], device=device()))
    assert swapped.tolist() == [rank, 10.0 + rank]
    if rank == 0:
        dist.send(torch.tensor([7.0], device=device()), 1)
    else:
        got = torch.zeros(1, device=device())
        dist.recv(got, 0)
        assert got.item() == 7
    dist.barrier()
    objects = [None] * RANKS
    dist.all_gather_object(objects, {"rank": rank})
    assert objects == [{"rank": 0}, {"rank": 1}]


@check
def data_parallel():
    model = models.seeded(models.Transformer)
    reference = copy.deepcopy(model)
    parallel = torch.nn.parallel.DistributedDataParallel(model.to(device()), device_ids=[dist.get_rank()])
    ours = torch.optim.AdamW(parallel.parameters(), 3e-3)
    theirs = torch.optim.AdamW(reference.parameters(), 3e-3)
    text = models.text()
    for _ in range(3):
        ours.zero_grad(), theirs.zero_grad()
        next_word(parallel, part(text).to(device())).backward()
        next_word(reference, text).backward()
        for one, other in zip(parallel.parameters(), reference.parameters()):
            expect_close(one.grad, other.grad, 1e-3)
        ours.step(), theirs.step()
    with parallel.no_sync():
        next_word(parallel, part(text).to(device())).backward()


@check
def fully_sharded():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    model = models.seeded(models.Transformer)
    reference = copy.deepcopy(model)
    mesh = init_device_mesh("npu", (RANKS,))
    model.to(device())
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    ours = torch.optim.AdamW(model.parameters(), 3e-3)
    theirs = torch.optim.AdamW(reference.parameters(), 3e-3)
    text = models.text()
    for _ in range(3):
        ours.zero_grad(), theirs.zero_grad()
        loss = next_word(model, part(text).to(device()))
        loss.backward()
        expected = next_word(reference, text)
        expected.backward()
        dist.all_reduce(loss)
        expect_close(loss / RANKS, expected, 1e-3)
        ours.step(), theirs.step()
    for one, other in zip(model.parameters(), reference.parameters()):
        expect_close(one.full_tensor(), other, 1e-3)


def rank_main(rank, rendezvous, names):
    torch.npu.set_device(rank)
    dist.init_process_group("hccl", init_method=f"file://{rendezvous}", rank=rank, world_size=RANKS,
                            timeout=datetime.timedelta(seconds=120))
    for name in names or CHECKS:
        try:
            CHECKS[name]()
        except Exception:
            print(f"{name}: rank {rank} FAILED\n{traceback.format_exc()}", flush=True)
            sys.exit(1)
        if rank == 0:
            print(f"{name}: ok", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    torch.multiprocessing.spawn(rank_main, (sys.argv[1], sys.argv[2:]), RANKS)
    print("both ranks: ok")
