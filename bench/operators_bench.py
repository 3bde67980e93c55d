# SPDX-License-Identifier: Apache-2.0
"""Time of operators on the software NPU against PyTorch on the CPU with the same threads. Prints lines in the format of bench.h.

usage: operators_bench.py BUILD [WORD]...      rows whose name contains one of the words; default: all

Both sides run in one process and alternate, in batches of several calls; each batch of the device ends with one wait for the
stream. The fastest batch of each side counts. A call of the device includes its first phase, as in a program; PyTorch writes into
existing outputs.

A family adds rows to ROWS: name, operator, budget, and a function of the type that returns the arguments of the operator and what
PyTorch does instead. The last argument or arguments are outputs.
"""

import ctypes
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
INNER = "NPUSCOPE_OPERATORS_BENCH"
ROUNDS, BATCH = 12, 10
TYPES = {"float32": "f32", "float16": "f16", "bfloat16": "bf16"}
ELEMENTS = 1 << 20


def start(build, words):
    """Runs this file again with PyTorch from PyPI on a software NPU."""
    python = os.environ.get("NPUSCOPE_TORCH_PYTHON")
    if python is None:
        found = subprocess.run([ROOT / "scripts/frameworks", "torch-2.7.1"], stdout=subprocess.PIPE, text=True)
        if found.returncode != 0:
            print("operators_bench: PyTorch cannot be installed; skipped", file=sys.stderr)
            return 0
        python = found.stdout.strip()
    environment = dict(os.environ, **{INNER: "1"}, TORCH_DEVICE_BACKEND_AUTOLOAD="0", PYTHONDONTWRITEBYTECODE="1")
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        environment.pop(name, None)
    return subprocess.run([f"{build}/home/bin/softnpu", "run", "--", python, __file__, build, *words],
                          env=environment).returncode


# ---- rows ----

def rows(torch):
    functional = torch.nn.functional

    def values(dtype, low=None):
        x = torch.randn(1024, 1024)
        return (x if low is None else x.abs() + low).to(dtype)

    def unary(name, function, low=None):
        def make(dtype):
            x, z = values(dtype, low), torch.empty(1024, 1024, dtype=dtype)
            return [x, z], (lambda: function(x, out=z)) if function.__module__ != functional.__name__ else lambda: function(x)
        return (name.lower(), name, "<= 1.5", make)

    def plain(name, function, arguments):
        def make(dtype):
            x, y, z = values(dtype), values(dtype), torch.empty(1024, 1024, dtype=dtype)
            return arguments(x, y, z), lambda: function(x, y, z)
        return (name.lower(), name, "<= 1.5", make)

    def other(kind):
        return lambda x, y, z: [x, y, z.to(kind)]

    return [
        plain("Add", lambda x, y, z: torch.add(x, y, alpha=2, out=z), lambda x, y, z: [x, y, 2.0, z]),
        plain("Mul", lambda x, y, z: torch.mul(x, y, out=z), lambda x, y, z: [x, y, z]),
        plain("Muls", lambda x, y, z: torch.mul(x, 3.0, out=z), lambda x, y, z: [x, 3.0, z]),
        plain("Div", lambda x, y, z: torch.div(x, y, out=z), lambda x, y, z: [x, y, z]),
        plain("Maximum", lambda x, y, z: torch.maximum(x, y, out=z), lambda x, y, z: [x, y, z]),
        plain("GtTensor", lambda x, y, z: torch.gt(x, y), lambda x, y, z: [x, y, torch.empty(x.shape, dtype=torch.bool)]),
        plain("SWhere", lambda x, y, z: torch.where(x > 0, x, y), lambda x, y, z: [x > 0, x, y, z])[:3]
        + (lambda dtype: where(torch, values(dtype), values(dtype)),),
        plain("Lerps", lambda x, y, z: torch.lerp(x, y, 0.3, out=z), lambda x, y, z: [x, y, 0.3, z]),
        plain("Addcmul", lambda x, y, z: torch.addcmul(x, x, y, value=0.5, out=z), lambda x, y, z: [x, x, y, 0.5, z]),
        plain("Addcdiv", lambda x, y, z: torch.addcdiv(x, x, y, value=0.5, out=z), lambda x, y, z: [x, x, y, 0.5, z]),
        plain("PowTensorScalar", lambda x, y, z: torch.pow(x, 2.5, out=z), lambda x, y, z: [x, 2.5, z]),
        unary("Exp", torch.exp), unary("Log", torch.log, 0.01), unary("Log1p", torch.log1p, 0.01),
        unary("Expm1", torch.expm1), unary("Sqrt", torch.sqrt, 0.01), unary("Rsqrt", torch.rsqrt, 0.01),
        unary("Reciprocal", torch.reciprocal), unary("Sin", torch.sin), unary("Cos", torch.cos), unary("Tanh", torch.tanh),
        unary("Erf", torch.erf), unary("Sigmoid", torch.sigmoid), unary("Abs", torch.abs), unary("Floor", torch.floor),
        plain("Relu", lambda x, y, z: torch.relu(x), lambda x, y, z: [x, z]),
        plain("Gelu", lambda x, y, z: functional.gelu(x), lambda x, y, z: [x, z]),
        plain("GeluV2", lambda x, y, z: functional.gelu(x, approximate="tanh"), lambda x, y, z: [x, 1, z]),
        plain("GeluBackward", lambda x, y, z: torch.ops.aten.gelu_backward(x, y), lambda x, y, z: [x, y, z]),
        plain("Silu", lambda x, y, z: functional.silu(x), lambda x, y, z: [x, z]),
        plain("SiluBackward", lambda x, y, z: torch.ops.aten.silu_backward(x, y), lambda x, y, z: [x, y, z]),
        plain("Softplus", lambda x, y, z: functional.softplus(x), lambda x, y, z: [x, 1.0, 20.0, z]),
        plain("TanhBackward", lambda x, y, z: torch.ops.aten.tanh_backward(x, y), lambda x, y, z: [x, y, z]),
        plain("ThresholdBackward", lambda x, y, z: torch.ops.aten.threshold_backward(x, y, 0.0),
              lambda x, y, z: [x, y, 0.0, z]),
        plain("Cast", lambda x, y, z: x.to(torch.float16 if x.dtype is torch.float32 else torch.float32),
              lambda x, y, z: [x] + (lambda t: [t, torch.empty(x.shape, dtype=t)])(
                  torch.float16 if x.dtype is torch.float32 else torch.float32)),
    ]


def where(torch, x, y):
    mask, z = x > 0, torch.empty_like(x)
    return [mask, x, y, z], lambda: torch.where(mask, x, y, out=z)


# ---- measuring ----

class Prepared:
    """A call whose tensors stay on the device."""

    def __init__(self, device, call, name, args):
        self.device, self.name, self.call = device, name, call
        self.values = [call.argument(kind, value) for (kind, _), value in zip(device.signatures[name], args, strict=True)]
        self.first = getattr(device.opapi, f"aclnn{name}GetWorkspaceSize")
        self.second = getattr(device.opapi, f"aclnn{name}")
        self.workspace, self.workspace_b = None, 0

    def launch(self):
        size, executor = ctypes.c_uint64(), ctypes.c_void_p()
        self.device.check(self.name, self.first(*self.values, ctypes.byref(size), ctypes.byref(executor)))
        if size.value > self.workspace_b:
            self.workspace, self.workspace_b = self.call.allocate(size.value), size.value
        self.device.check(self.name, self.second(self.workspace, size, executor, self.device.stream))

    def batch(self):
        begin = time.perf_counter()
        for _ in range(BATCH):
            self.launch()
        self.device.check("wait", self.device.ascendcl.aclrtSynchronizeStream(self.device.stream))
        return (time.perf_counter() - begin) / BATCH


def reference(function):
    begin = time.perf_counter()
    for _ in range(BATCH):
        function()
    return (time.perf_counter() - begin) / BATCH


def measure(words):
    sys.path.insert(0, str(ROOT / "tests" / "frameworks"))
    import torch
    from oracle.device import Call, Device
    torch.set_num_threads(os.cpu_count())
    torch.manual_seed(1)
    device = Device()
    for name, operator, goal, make in rows(torch):
        for dtype, short in TYPES.items():
            figure = f"{name}, 1 M {short}"
            if words and not any(word in figure for word in words):
                continue
            args, instead = make(getattr(torch, dtype))
            call = Call(device)
            try:
                prepared = Prepared(device, call, operator, args)
                pairs = [(prepared.batch(), reference(instead)) for _ in range(ROUNDS)]
            finally:
                call.release()
            own, theirs = (min(pair[side] for pair in pairs) for side in (0, 1))
            print(f"| {figure} | {own * 1e6:.4g} us | PyTorch {theirs * 1e6:.4g} us | {own / theirs:.2f} | {goal} |  |",
                  flush=True)


if __name__ == "__main__":
    if INNER in os.environ:
        measure(sys.argv[2:])
    else:
        sys.exit(start(sys.argv[1], sys.argv[2:]))
