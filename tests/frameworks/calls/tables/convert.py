# SPDX-License-Identifier: Apache-2.0
"""Types, devices, copies."""

import torch

from ..table import B, C, D, F, I, SPECIAL, V, call

KINDS = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16, "float64": torch.float64, "int8": torch.int8,
         "int16": torch.int16, "int32": torch.int32, "int64": torch.int64, "uint8": torch.uint8, "bool": torch.bool}
WHOLE = [0.0, 1.0, 2.0, 3.0, 100.0, 7.0, 63.0]

for one in KINDS:
    for other in KINDS:
        call(f"{one} to {other}", lambda a, one=one, other=other: a.to(KINDS[one]).to(KINDS[other]), V(WHOLE))
call("float to int truncates", lambda a: a.to(torch.int32), F(40, low=-9, high=9))
call("float to half special", lambda a: a.half(), SPECIAL)
call("float to bfloat16 special", lambda a: a.bfloat16(), SPECIAL)
call("half to float", lambda a: a.half().float(), F(300))
call("to strided", lambda a: a.t().half(), F(3, 4))
call("type methods", lambda a: (a.int(), a.long(), a.bool(), a.double(), a.half(), a.bfloat16(), a.byte()), I(9))
call("type_as", lambda a, b: a.type_as(b), I(9), F(1))
call("to device and back", lambda a: a.to("cpu").to(a.device), F(9))
call("non_blocking", lambda a: a.to("cpu", non_blocking=False), F(9))
call("numpy", lambda a: torch.from_numpy(a.cpu().numpy()), F(9))
call("view of type", lambda a: a.view(torch.int32), F(9))
call("double arithmetic", lambda a: (a * 2).sum(), D(9))
call("real imag", lambda a: (a.real + 0, a.imag + 0), C(9))
call("bool sum", lambda a: a.sum(0), B(5, 3))
