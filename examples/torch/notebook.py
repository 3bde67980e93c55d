# SPDX-License-Identifier: Apache-2.0
# %% [markdown]
# What does this cell cost? Each cell between start() and stop() is one range of the recording; the results are in
# ./memscope as CSV. Works in Jupyter (open as a notebook with jupytext, or copy the cells), and as a script.

# %%
import contextlib
import csv
import pathlib

import msmemscope
import torch

msmemscope.config(device="cpu", events="alloc,free", call_stack="python:10", analysis="decompose", output="./memscope")


@contextlib.contextmanager
def recorded(label):
    """Records a cell; tensors created in it have the label as their owner."""
    msmemscope.start()
    try:
        with msmemscope.describe.describer(owner=label):
            yield
    finally:
        msmemscope.stop()


# %%
with recorded("setup"):
    model = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 10))

# %%
with recorded("forward"):
    loss = model(torch.ones(64, 512)).sum()
    loss.backward()

# %%
newest = max(pathlib.Path("memscope").glob("*/device_cpu/dump/memscope_dump_*.csv"), key=lambda p: p.stat().st_mtime)
with open(newest, newline="") as file:
    rows = [row for row in csv.DictReader(file) if row["Event"] == "MALLOC"]
print(f"{len(rows)} tensors, {newest}")
for row in rows[-3:]:
    print(row["Event Type"], row["Attr"])
