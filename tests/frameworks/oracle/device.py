# SPDX-License-Identifier: Apache-2.0
"""Calls two-phase operators of libopapi.so on tensors of PyTorch, through the vendor's C interface."""

import ctypes
import os
import pathlib
import re

import torch

ROOT = pathlib.Path(__file__).resolve().parents[3]
TYPES = {torch.float32: 0, torch.float16: 1, torch.int8: 2, torch.int32: 3, torch.uint8: 4, torch.int16: 6,
         torch.int64: 9, torch.float64: 11, torch.bool: 12, torch.bfloat16: 27,
         torch.uint16: 7, torch.uint32: 8, torch.uint64: 10}
H2D, D2H, ND = 1, 2, 2


class Row(ctypes.Structure):
    """struct nn_operator of src/softnpu/aclnn/op.h."""
    _fields_ = [("plan", ctypes.c_void_p), ("kernel", ctypes.c_char_p), ("roles", ctypes.c_char_p),
                ("types", ctypes.c_uint32), ("out_types", ctypes.c_uint32)]


class NamedRow(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("op", ctypes.POINTER(Row))]


class OperatorError(Exception):
    def __init__(self, name, status, message):
        super().__init__(f"{name}: status {status}: {message}")
        self.status = status
        self.message = message


class Float(float):
    """A scalar that is passed as float32 instead of double."""


def table():
    """{operator: [(kind, parameter)]} from the table that the headers come from."""
    found = {}
    for line in open(ROOT / "src/abi/aclnn_operators.txt", encoding="ascii"):
        if not line.startswith("#") and line.strip():
            name, arguments, _ = (field.strip() for field in line.split("|"))
            parameters = [re.fullmatch(r"\s*(.*?[ *])(\w+)", text).groups() for text in arguments.split(",")]
            found[name] = [(ctype.replace("const ", "").strip(), parameter) for ctype, parameter in parameters]
    return found


class Device:
    """One software NPU. The environment of `softnpu run` is required."""

    def __init__(self):
        home = os.environ["ASCEND_HOME_PATH"]
        for name in ("libascendcl.so", "libnnopbase.so", "libopapi.so"):
            library = ctypes.CDLL(f"{home}/lib64/{name}", mode=ctypes.RTLD_GLOBAL)
            setattr(self, name[3:-3], library)
        for name in ("Tensor", "Scalar", "IntArray", "FloatArray", "BoolArray", "TensorList", "ScalarList"):
            getattr(self.nnopbase, "aclCreate" + name).restype = ctypes.c_void_p
        self.libc = ctypes.CDLL(None)
        self.ascendcl.aclGetRecentErrMsg.restype = ctypes.c_char_p
        self.check("aclInit", self.ascendcl.aclInit(None))
        self.check("aclrtSetDevice", self.ascendcl.aclrtSetDevice(0))
        self.stream = ctypes.c_void_p()
        self.check("aclrtCreateStream", self.ascendcl.aclrtCreateStream(ctypes.byref(self.stream)))
        self.signatures = table()

    def check(self, what, status):
        if status != 0:
            raise OperatorError(what, status, (self.ascendcl.aclGetRecentErrMsg() or b"").decode())

    def rows(self):
        """{operator: set of torch types of its inputs}"""
        rows, found = (NamedRow * 4096).in_dll(self.opapi, "snpu_nn_operators"), {}
        for row in rows:
            if row.name is None:
                return found
            types = row.op.contents.types
            found[row.name.decode()[5:]] = {t for t, number in TYPES.items() if types >> number & 1}
        raise AssertionError("the table of operators has no end")

    def run(self, name, *args):
        """Runs aclnn<name>; every tensor among the arguments has its device's content afterwards."""
        call = Call(self)
        try:
            values = [call.argument(kind, value) for (kind, _), value in zip(self.signatures[name], args, strict=True)]
            size, executor = ctypes.c_uint64(), ctypes.c_void_p()
            first = getattr(self.opapi, f"aclnn{name}GetWorkspaceSize")
            self.check(name, first(*values, ctypes.byref(size), ctypes.byref(executor)))
            workspace = call.allocate(size.value) if size.value else None
            second = getattr(self.opapi, f"aclnn{name}")
            self.check(name, second(workspace, ctypes.c_uint64(size.value), executor, self.stream))
            self.check(name, self.ascendcl.aclrtSynchronizeStream(self.stream))
            call.read_back()
        finally:
            call.release()


class Call:
    """The device memory and the objects of one call."""

    def __init__(self, device):
        self.device, self.memory, self.tensors, self.objects, self.keep = device, [], [], [], []

    def allocate(self, size_b):
        pointer = ctypes.c_void_p()
        self.device.check("aclrtMalloc",
                          self.device.ascendcl.aclrtMalloc(ctypes.byref(pointer), ctypes.c_size_t(size_b), 0))
        self.memory.append(pointer)
        return pointer

    def make(self, kind, *args):
        handle = ctypes.c_void_p(getattr(self.device.nnopbase, "aclCreate" + kind)(*args))
        if not handle.value:
            self.device.check("aclCreate" + kind, 1)
        return handle

    def own(self, kind, handle):
        self.objects.append((kind, handle))
        return handle

    def tensor(self, t):
        storage = t.untyped_storage()
        for other, pointer, _ in self.tensors:  # views of one storage share device memory
            if other.untyped_storage().data_ptr() == storage.data_ptr() and storage.nbytes():
                break
        else:
            pointer = self.allocate(max(storage.nbytes(), 1))
            self.copy(pointer, storage.data_ptr(), storage.nbytes(), H2D)
        longs = ctypes.c_int64 * max(t.dim(), 1)
        elements = (ctypes.c_int64 * 1)(storage.nbytes() // t.element_size())
        handle = self.make("Tensor", longs(*t.shape), ctypes.c_uint64(t.dim()), TYPES[t.dtype], longs(*t.stride()),
                           ctypes.c_int64(t.storage_offset()), ND, elements, ctypes.c_uint64(1), pointer)
        self.tensors.append((t, pointer, handle))
        return handle

    def scalar(self, value):
        made = (ctypes.c_bool(value), 12) if isinstance(value, bool) else (
            ctypes.c_int64(value), 9) if isinstance(value, int) else (
            ctypes.c_float(value), 0) if isinstance(value, Float) else (ctypes.c_double(value), 11)
        return self.make("Scalar", ctypes.byref(made[0]), made[1])

    def array(self, kind, values, ctype):
        return self.own(kind, self.make(kind, (ctype * max(len(values), 1))(*values), ctypes.c_uint64(len(values))))

    def argument(self, kind, value):
        if value is None:
            return None
        if kind == "aclTensor *":
            return self.own("Tensor", self.tensor(value))
        if kind == "aclScalar *":
            return self.own("Scalar", self.scalar(value))
        if kind in ("aclTensorList *", "aclScalarList *"):
            member = self.tensor if "Tensor" in kind else self.scalar
            return self.array(kind[3:-2], [member(v) for v in value], ctypes.c_void_p)
        if kind in ("aclIntArray *", "aclFloatArray *", "aclBoolArray *"):
            ctype = {"I": ctypes.c_int64, "F": ctypes.c_float, "B": ctypes.c_bool}[kind[3]]
            return self.array(kind[3:-2], list(value), ctype)
        if kind == "char *":
            text = ctypes.create_string_buffer(value.encode())
            self.keep.append(text)
            return text
        if isinstance(value, torch.dtype):
            return TYPES[value]
        return {"double": ctypes.c_double, "float": ctypes.c_float, "bool": ctypes.c_bool, "int8_t": ctypes.c_int8,
                "int64_t": ctypes.c_int64, "uint64_t": ctypes.c_uint64, "int32_t": ctypes.c_int32,
                "int": ctypes.c_int, "aclDataType": ctypes.c_int}[kind](value)

    def copy(self, to, source, size_b, direction):
        if size_b:
            self.device.check("aclrtMemcpy", self.device.ascendcl.aclrtMemcpy(
                to, ctypes.c_size_t(size_b), ctypes.c_void_p(source) if isinstance(source, int) else source,
                ctypes.c_size_t(size_b), direction))

    def numbers(self, getter, handle):
        values, count = ctypes.POINTER(ctypes.c_int64)(), ctypes.c_uint64()
        self.device.check(getter, getattr(self.device.nnopbase, getter)(handle, ctypes.byref(values),
                                                                        ctypes.byref(count)))
        found = values[:count.value]
        self.device.libc.free(values)
        return found

    def read_back(self):
        for t, pointer, handle in self.tensors:
            storage = t.untyped_storage()
            self.copy(ctypes.c_void_p(storage.data_ptr()), pointer, storage.nbytes(), D2H)
            shape = self.numbers("aclGetViewShape", handle)
            if shape != list(t.shape):  # an output whose shape depends on data
                t.as_strided_(shape, self.numbers("aclGetViewStrides", handle))

    def release(self):
        for kind, handle in self.objects:
            getattr(self.device.nnopbase, "aclDestroy" + kind)(handle)
        for pointer in self.memory:
            self.device.ascendcl.aclrtFree(pointer)
