# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own tool for memory snapshots reads exported ones."""

import importlib.util
import pickle

from debian_torch import torch_root  # noqa: F401


def test_pytorch_reads_snapshots(torch_root, softnpu, memscope, build, tmp_path):  # noqa: F811
    done = softnpu.run(memscope, f"--output={tmp_path / 'run'}", "--call-stack=c", "--", build / "examples" / "acl-train",
                       "--steps", 3, "--leak=1M")
    assert done.returncode == 0, done.stderr
    assert softnpu.run(memscope, "export", tmp_path / "run", "--format=memory_viz", "-o", tmp_path / "out").returncode == 0
    (path,) = (tmp_path / "out").rglob("*.pickle")
    file = torch_root / "usr/lib/python3/dist-packages/torch/cuda/_memory_viz.py"  # does not need the rest of PyTorch
    spec = importlib.util.spec_from_file_location("memory_viz_of_pytorch", file)
    reader = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reader)
    snapshot = pickle.loads(path.read_bytes())
    live = sum(segment["allocated_size"] for segment in snapshot["segments"])
    assert f"total_allocated: {reader.Bytes(live)}" in reader.segsum(snapshot) and live >= 3 << 20
    trace = reader.trace(snapshot)
    assert trace.count("cudaMalloc(") == sum(e["action"] == "segment_alloc" for t in snapshot["device_traces"] for e in t)
    flames = reader.memory(snapshot, format_flamegraph=lambda text: text).splitlines()
    assert sum(int(line.rsplit(" ", 1)[1]) for line in flames if "plant_leak" in line) == live
    assert "MemoryViz.js" in reader.trace_plot(snapshot)
