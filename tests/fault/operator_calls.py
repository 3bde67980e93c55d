# SPDX-License-Identifier: Apache-2.0
"""Calls two-phase operators with wrong arguments: NULL, foreign and destroyed objects, random shapes, types and numbers.

usage: softnpu run -- python3 operator_calls.py SEED [OPERATOR]...     prints the operator before each call, 'done' at the end

A call may be refused or succeed; the process must survive, and a refusal must have a message that names the operator."""

import ctypes
import os
import pathlib
import random
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HOME = os.environ["ASCEND_HOME_PATH"]
ACL, BASE, OPS = (ctypes.CDLL(f"{HOME}/lib64/{name}", mode=ctypes.RTLD_GLOBAL)
                  for name in ("libascendcl.so", "libnnopbase.so", "libopapi.so"))
ACL.aclGetRecentErrMsg.restype = ctypes.c_char_p
for kind in ("Tensor", "Scalar", "IntArray", "FloatArray", "BoolArray", "TensorList", "ScalarList"):
    getattr(BASE, "aclCreate" + kind).restype = ctypes.c_void_p
TYPES = [0, 1, 2, 3, 4, 6, 9, 11, 12, 27, 7, 16, 29, 35, 99, -1]  # aclDataType, some of them unknown
MEMORY_B = 1 << 22


class Calls:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.memory = ctypes.c_void_p()
        self.stream = ctypes.c_void_p()
        assert ACL.aclInit(None) == 0 and ACL.aclrtSetDevice(0) == 0
        assert ACL.aclrtMalloc(ctypes.byref(self.memory), ctypes.c_size_t(MEMORY_B), 0) == 0
        assert ACL.aclrtCreateStream(ctypes.byref(self.stream)) == 0
        self.keep, self.owned = [], []

    def longs(self, values):
        array = (ctypes.c_int64 * max(len(values), 1))(*values)
        self.keep.append(array)
        return array

    def tensor(self, like):
        """Mostly a small tensor of one shape and type, so that many calls get past the first checks."""
        r = self.random
        shape = list(like[0]) if r.random() < 0.6 else [r.choice([0, 1, 2, 3, 7, 2**31, 2**62]) for _ in range(r.randint(0, 9))]
        dtype = like[1] if r.random() < 0.7 else r.choice(TYPES)
        # A stride of 0 makes a huge tensor of little memory: valid, and hours of work.
        strides = None if r.random() < 0.8 or max(shape, default=0) > 7 else self.longs([r.choice([0, 1, 5, 2**40]) for _ in shape])
        offset = 0 if r.random() < 0.9 else r.choice([3, 2**50])
        data = self.memory if r.random() < 0.9 else ctypes.c_void_p(r.choice([0, 8, 2**46]))
        return BASE.aclCreateTensor(self.longs(shape), ctypes.c_uint64(len(shape)), dtype, strides, ctypes.c_int64(offset), 2,
                                    self.longs([MEMORY_B // 8]), ctypes.c_uint64(1), data)

    def scalar(self):
        value = ctypes.c_double(self.random.choice([0, 1, -1, 0.5, 1e300, float("nan"), float("inf")]))
        return BASE.aclCreateScalar(ctypes.byref(value), self.random.choice([11, 0, 9, 12]))

    def own(self, kind, handle):
        if handle:
            self.owned.append((kind, handle))
            if self.random.random() < 0.02:  # destroyed before the call
                getattr(BASE, "aclDestroy" + kind)(ctypes.c_void_p(handle))
                self.owned.pop()
        return ctypes.c_void_p(handle)

    def argument(self, kind, like):
        r = self.random
        if kind.endswith("*") and kind != "char *" and r.random() < 0.08:
            return ctypes.c_void_p(r.choice([0, 0, 0, 16, 0xdeadbeef000, self.memory.value]))
        if kind == "aclTensor *":
            return self.own("Tensor", self.tensor(like))
        if kind == "aclScalar *":
            return self.own("Scalar", self.scalar())
        if kind in ("aclTensorList *", "aclScalarList *"):
            members = [self.tensor(like) if "Tensor" in kind else self.scalar() for _ in range(r.randint(0, 3))]
            array = (ctypes.c_void_p * max(len(members), 1))(*[m if r.random() < 0.95 else None for m in members])
            self.keep.append(array)
            return self.own(kind[3:-2], getattr(BASE, "aclCreate" + kind[3:-2])(array, ctypes.c_uint64(len(members))))
        if kind in ("aclIntArray *", "aclFloatArray *", "aclBoolArray *"):
            count = r.randint(0, 6)
            ctype = {"I": ctypes.c_int64, "F": ctypes.c_float, "B": ctypes.c_bool}[kind[3]]
            array = (ctype * max(count, 1))(*[r.choice([0, 1, 1, 2, 3, -1] + ([2**62, -2**63] if kind[3] == "I" else []))
                                              for _ in range(count)])
            self.keep.append(array)
            return self.own(kind[3:-2], getattr(BASE, "aclCreate" + kind[3:-2])(array, ctypes.c_uint64(count)))
        if kind == "char *":
            return r.choice([None, b"", b"mean", b"BSH", b"BNSD", b"TND", b"none", b"x" * 300])
        if kind in ("double", "float"):
            return {"double": ctypes.c_double, "float": ctypes.c_float}[kind](r.choice([0, 1, 0.5, -1, 1e-5, float("nan")]))
        whole = r.choice([0, 0, 1, 1, 2, 3, -1, 8, 2**31, 2**62, -2**63])
        return ctypes.c_bool(whole & 1) if kind == "bool" else {
            "int8_t": ctypes.c_int8, "int32_t": ctypes.c_int32, "int": ctypes.c_int, "aclDataType": ctypes.c_int,
            "uint64_t": ctypes.c_uint64}.get(kind, ctypes.c_int64)(whole)

    def call(self, name, kinds):
        like = (self.random.choice([[2, 3], [4], [1, 2, 4, 4], [2, 2, 3], []]), self.random.choice([0, 0, 1, 27, 3, 9, 12]))
        size, executor = ctypes.c_uint64(77), ctypes.c_void_p(88)
        ACL.aclGetRecentErrMsg()
        status = getattr(OPS, f"aclnn{name}GetWorkspaceSize")(*(self.argument(kind, like) for kind in kinds),
                                                              ctypes.byref(size), ctypes.byref(executor))
        if status != 0:
            message = (ACL.aclGetRecentErrMsg() or b"").decode()
            assert f"aclnn{name}" in message, f"{name}: status {status} with the message '{message}'"
            assert size.value == 77 and executor.value == 88, f"{name}: a refused call changed its outputs"
        elif size.value <= MEMORY_B // 2:
            workspace = ctypes.c_void_p(self.memory.value + MEMORY_B // 2)
            getattr(OPS, f"aclnn{name}")(workspace, ctypes.c_uint64(MEMORY_B // 2), executor, self.stream)
            ACL.aclrtSynchronizeStream(self.stream)
        else:
            BASE.aclDestroyAclOpExecutor(executor)
        for kind, handle in self.owned:
            getattr(BASE, "aclDestroy" + kind)(ctypes.c_void_p(handle))
        self.keep, self.owned = [], []


def main():
    calls, only = Calls(int(sys.argv[1])), set(sys.argv[2:])
    for line in open(ROOT / "src/abi/aclnn_operators.txt", encoding="ascii"):
        if line.startswith("#") or not line.strip():
            continue
        name, arguments, _ = (field.strip() for field in line.split("|"))
        if (only and name not in only) or not hasattr(OPS, f"aclnn{name}"):
            continue
        kinds = [re.fullmatch(r"\s*(.*?[ *])\w+", text)[1].replace("const ", "").strip() for text in arguments.split(",")]
        print(name, flush=True)
        for _ in range(int(os.environ.get("CALLS", "12"))):
            calls.call(name, kinds)
    print("done", flush=True)


main()
