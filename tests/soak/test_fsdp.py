# SPDX-License-Identifier: Apache-2.0
"""Real sharded training, of both kinds, on two ranks of the newest PyTorch: sharded, gathered and reduced memory has labels."""

import textwrap

import pytest

from debian_torch import folder_of, inside

PROGRAM = textwrap.dedent("""
    import os, subprocess, sys, torch
    import torch.distributed as dist
    kind, rank, store = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    other = subprocess.Popen([sys.executable, __file__, kind, "1", store], stdin=subprocess.PIPE) if rank == 0 else None
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 256))
    if kind == "fsdp2":
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard
        mesh = init_device_mesh("cpu", (2,))
        for part in (model[0], model[2], model):
            fully_shard(part, mesh=mesh)
    else:
        from torch.distributed.fsdp import FullyShardedDataParallel
        model = FullyShardedDataParallel(model, device_id=torch.device("cpu"))
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(3):
        model(torch.randn(8, 256)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    # Neither rank closes its connections while the other may still be in the last collective, which would fail there.
    if other is not None:
        other.communicate()  # signals that this rank has finished, and waits for the other
    else:
        sys.stdin.read()
    dist.destroy_process_group()
    print("trained", rank, flush=True)
    sys.exit(other.returncode if other is not None else 0)
""")

# Parts of owners that must occur in addition to those of any model.
OWNERS = {
    "fsdp1": {"sharded_weight@fsdp1", "all_gather@fsdp1@activation", "gradient@fsdp1@backward"},
    "fsdp2": {"weight@fsdp2", "all_gather_output@fsdp2@activation", "gradient@fsdp2@backward"},
}


@pytest.mark.parametrize("kind", OWNERS)
def test_sharded_training_is_labelled(kind, recording):
    root = folder_of("sid")
    (root / "tmp/sharded.py").write_text(PROGRAM)
    (root / f"tmp/store-{kind}").unlink(missing_ok=True)
    recording.options.remove("--analysis=none")
    done = recording.run("--device=cpu", "--events=alloc,free", "--analysis=decompose", "--",
                         *inside(root, "/tmp/sharded.py", kind, "0", f"/tmp/store-{kind}"), timeout=300)
    assert done.returncode == 0 and "trained 0" in done.stdout and "trained 1" in done.stdout, done.stdout + done.stderr
    owners = {}
    for row in recording.rows():
        if row.event == "MALLOC":
            owners.setdefault(row.pid, set()).add(row.attr.get("owner", "").partition("@model@")[2])
    ranks = [found for found in owners.values() if "optimizer_state" in found]
    assert len(ranks) == 2 and all(OWNERS[kind] <= found for found in ranks), owners
