# SPDX-License-Identifier: Apache-2.0
"""Labels of program parts, functions and single blocks."""

import pytest

PREPARE = """
import msmemscope, npu
from msmemscope import describe
npu.init()
pool = npu.Pool()
msmemscope.config(analysis="decompose", events="alloc,free")
"""


def owners(target):
    """Owners of blocks by size."""
    return {row.number("size"): row.attr.get("owner", "") for row in target.rows()
            if row.event == "MALLOC" and row.type == "PTA"}


def sizes(target, code):
    """Owners by n, for a program that allocates blocks of n * 512 bytes."""
    target.run(PREPARE + code)
    return {size // 512: owner for size, owner in owners(target).items()}


def test_describer_as_context_manager(target_any):
    found = sizes(target_any, """
def block(n):
    return pool.malloc(n * 512 - 32)
with describe.describer(owner="early"):
    kept = [pool.malloc(n * 512 - 32) for n in (8, 9)]
    msmemscope.start()
    block(1)
with describe.describer(owner="outer"):
    block(2)
    with describe.describer(owner="inner"), describe.describer(owner="innermost"):
        block(3)
    block(4)
block(5)
label = describe.describer(owner="by hand")
label.__enter__()
block(6)
describe.describer(owner="by hand").__exit__()
block(7)
msmemscope.stop()
""")
    assert found == {1: "PTA@early", 2: "PTA@outer", 3: "PTA@outer@inner@innermost", 4: "PTA@outer", 5: "PTA",
                     6: "PTA@by hand", 7: "PTA",
                     8: "PTA@early", 9: "PTA@early"}


def test_describer_as_decorator(target):
    found = sizes(target, """
import asyncio, threading
@describe.describer(owner="function")
def function(n, fail=False):
    "Says something."
    pool.malloc(n * 512 - 32)
    if fail:
        raise KeyError(n)
    return n
@describe.describer(owner="coroutine")
async def coroutine(n):
    return pool.malloc(n * 512 - 32)
msmemscope.start()
assert function(1) == 1 and function.__name__ == "function" and function.__doc__ == "Says something."
try:
    function(2, fail=True)
except KeyError:
    pass
pool.malloc(3 * 512 - 32)
asyncio.run(coroutine(4))
with describe.describer(owner="of this thread"):
    other = threading.Thread(target=lambda: (npu.set_device(0), pool.malloc(5 * 512 - 32)))
    other.start()
    other.join()
msmemscope.stop()
""")
    assert found == {1: "PTA@function", 2: "PTA@function", 3: "PTA", 4: "PTA@coroutine", 5: "PTA"}


def test_suspended_functions_do_not_label_others(target):
    found = sizes(target, """
import asyncio, inspect
def block(n):
    return pool.malloc(n * 512 - 32)
@describe.describer(owner="generator")
def generator(n):
    block(n)
    try:
        got = yield n
    except KeyError:
        block(n + 1)
        got = "caught"
    finally:
        block(n + 2)
    return got
@describe.describer(owner="coroutine")
async def coroutine(n):
    block(n)
    await asyncio.sleep(0)
    block(n + 1)
    return n
@describe.describer(owner="both")
async def both(n):
    try:
        while True:
            block(n)
            await asyncio.sleep(0)
            block(n + 1)
            n = yield n
    except KeyError:
        block(n + 2)
        yield -1
    finally:
        block(n + 3)
async def other(n):
    await asyncio.sleep(0)
    block(n)
async def main():
    assert (await asyncio.gather(coroutine(10), other(12)))[0] == 10
    things = both(20)
    assert await things.asend(None) == 20
    block(24)
    assert await things.asend(30) == 30
    assert await things.athrow(KeyError()) == -1
    await things.aclose()
    [n async for n in empty()]
@describe.describer(owner="empty")
async def empty():
    return
    yield
msmemscope.start()
for kind, function in ((inspect.isgeneratorfunction, generator), (inspect.iscoroutinefunction, coroutine),
                       (inspect.isasyncgenfunction, both)):
    assert kind(function)
thing = generator(1)
block(4)
assert next(thing) == 1
block(5)
try:
    thing.throw(KeyError())
except StopIteration as end:
    assert end.value == "caught"
thing = generator(6)
next(thing)
thing.close()
asyncio.run(main())
msmemscope.stop()
""")
    named = {size: owner.partition("@")[2] for size, owner in found.items()}
    assert named == {1: "generator", 2: "generator", 3: "generator", 4: "", 5: "", 6: "generator", 8: "generator",
                     10: "coroutine", 11: "coroutine", 12: "", 20: "both", 21: "both", 24: "", 30: "both", 31: "both",
                     32: "both", 33: "both"}


def test_describer_of_one_block(target):
    found = sizes(target, """
class Tensor:
    def __init__(self, pointer):
        self.pointer = pointer
    def data_ptr(self):
        return self.pointer
early = pool.malloc(1 * 512 - 32)
msmemscope.start()
blocks = [pool.malloc(n * 512 - 32) for n in (2, 3)]
assert describe.describer(blocks[0], owner="by address") is None
describe.describer(Tensor(blocks[1] + 64), owner="a view of a tensor")
describe.describer(Tensor(early), owner="from before")
describe.describer(0, owner="nothing")
describe.describe_addr(blocks[0], [("kv", describe.DETAIL_1)])
msmemscope.stop()
""")
    assert found == {1: "PTA@from before", 2: "PTA@model@kv@by address", 3: "PTA@a view of a tensor"}


def test_label_levels(target):
    found = sizes(target, """
msmemscope.start()
describe.describe_label("serve", describe.PROCESS)
describe.describe_label("vllm", describe.COMPONENT)
pool.malloc(1 * 512 - 32)
describe.undescribe_label("serve", describe.PROCESS)
describe.undescribe_label("vllm", describe.COMPONENT)
describe.undescribe_label("never", describe.COMPONENT)
pool.malloc(2 * 512 - 32)
msmemscope.stop()
""")
    assert found == {1: "PTA@vllm@serve", 2: "PTA"}


@pytest.mark.parametrize("call, error", [
    ("describer(owner='x' * 129)", "ValueError: Input owner exceeds maximum allowed length 128."),
    ("describer(owner='\u4e2d' * 43)", "ValueError: Input owner exceeds maximum allowed length 128."),
    ("describe_label('x', 8)", "ValueError: level 8 is not in the range 0 to 7"),
    ("undescribe_label('x', -1)", "ValueError: level -1 is not in the range 0 to 7"),
    ("describe_addr(4096, [('x', '1')])", "ValueError: level '1' is not in the range 0 to 7"),
    ("describer(owner=1)", "TypeError: owner must be a str, not int"),
    ("describer(object(), owner='x')", "NotImplementedError: Unsupported tensor type"),
    ("describer('text', owner='x')", "NotImplementedError: Unsupported tensor type"),
    ("describer(True, owner='x')", "NotImplementedError: Unsupported tensor type"),
    ("describer(-1, owner='x')", "ValueError: invalid address: -1"),
    ("describer(1 << 64, owner='x')", "ValueError: invalid address: 18446744073709551616"),
])
def test_wrong_calls_raise(target, call, error):
    done = target.run(f"""
        from msmemscope import describe
        try:
            describe.{call}
        except Exception as error:
            print(f"{{type(error).__name__}}: {{error}}")
    """, PYTHONUTF8=1)
    assert done.out == error + "\n"


def test_long_and_unusual_labels(target):
    found = sizes(target, r"""
msmemscope.start()
for n, label in enumerate(["x" * 128, "a\nb\tc\x7f", "\udc80"], 1):
    with describe.describer(owner=label):
        pool.malloc(n * 512 - 32)
with describe.describer():
    pool.malloc(4 * 512 - 32)
msmemscope.stop()
""")
    assert found == {1: "PTA@" + "x" * 128, 2: "PTA@a\\nb\\tc\\x7f", 3: "PTA@?", 4: "PTA"}
