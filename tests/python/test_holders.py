# SPDX-License-Identifier: Apache-2.0
"""Holders of blocks: variables, attributes, classes, closures, generators, running functions, cycles; with and without PyTorch."""

import json
import re

import pytest
from python_target import Target
from test_trace import PYTHONS
from torch_runs import PYTHON

PRELUDE = """\
import gc, json, sys
import msmemscope
class Tensor:
    def __init__(self, address, size=64): self.address, self.nbytes = address, size
    def data_ptr(self): return self.address
def show(what, *limit):
    print(json.dumps([holder._asdict() for holder in msmemscope.holders(what, *limit)]))
class Model:
    shared = None
    def __init__(self): self.kept = []
class Slim:
    __slots__ = ("field",)
"""


@pytest.fixture(params=PYTHONS.values(), ids=PYTHONS.keys())
def target(softnpu, tmp_path, request):
    return Target(softnpu, tmp_path / "target", python=request.param)


@pytest.fixture
def torch_target(softnpu, tmp_path):
    return Target(softnpu, tmp_path / "target", python=PYTHON)


def asked(target, code, prelude=PRELUDE, **env):
    done = target.run(prelude + code, **env)
    assert done.err == ""
    return [json.loads(line) for line in done.out.splitlines() if line.startswith("[{") or line == "[]"]


WAYS = {
    "list": ("losses = [1, Tensor(0x1000)]", "__main__.losses[1]", "list"),
    "dictionaries": ("cache = {'a': {2: (Tensor(0x1000),)}}", "__main__.cache['a'][2][0]", "tuple"),
    "attribute": ("model = Model(); model.kept.append(Tensor(0x1000))", "__main__.model.kept[0]", "list"),
    "class": ("Model.shared = Tensor(0x1000)", "__main__.Model.shared", "type"),
    "slot": ("slim = Slim(); slim.field = Tensor(0x1000)", "__main__.slim.field", "Slim"),
    "set": ("several = {Tensor(0x1000)}", "__main__.several{...}", "set"),
    "block": ("inside = Tensor(0xf00, 0x200)", "__main__.inside", "Tensor"),  # an address inside the block
    "generator": ("def numbers():\n    local = Tensor(0x1000)\n    yield\nsuspended = numbers(); next(suspended)",
                  "__main__.suspended.local", "generator"),
}


@pytest.mark.parametrize("way", WAYS)
def test_holders_of_each_kind(target, way):
    code, name, kind = WAYS[way]
    line = PRELUDE.count("\n") + 1 + code.count("\n")
    ((holder,),) = asked(target, f"{code}\nshow(0x1000)\n")
    assert (holder["name"], holder["type"], holder["cycle"]) == (name, kind, False)
    assert holder["held"] == "Tensor"
    assert way == "class" or holder["where"] == f"assigned at {target.folder}/target.py:{line}"


def test_variables_of_running_functions_are_found(target):
    """In all threads; the search itself leaves no reference to them."""
    first, second, third = asked(target, """
import threading, weakref
def work():
    activation = Tensor(0x1000)
    show(0x1000)
    died = weakref.ref(activation)
    del activation
    assert died() is None
    show(0x1000)
ready, go = threading.Event(), threading.Event()
def other():
    def hook(): return captured
    captured = Tensor(0x2000)
    ready.set()
    go.wait()
work()
thread = threading.Thread(target=other)
thread.start()
ready.wait()
show(0x2000)
go.set()
thread.join()
""")
    assert first[0]["name"] == "activation in work()" and re.match(r"running at .*target\.py:\d+$", first[0]["where"])
    assert second == []
    assert third[0]["name"] == "captured in other()"


def test_closures_and_hooks_are_found(target):
    (found,) = asked(target, """
def register():
    kept = Tensor(0x1000)
    def hook(): return kept
    return hook
hooks = {"forward": register()}
show(0x1000)
""")
    assert re.fullmatch(r"__main__\.hooks\['forward'\]\.(register\.<locals>\.)?hook\.__closure__\[0\]", found[0]["name"])


def test_cycles_are_marked(target):
    """Objects held only by a cycle are marked, and are gone after a collection."""
    before, after = asked(target, """
gc.disable()
model = Model()
model.me, model.tensor = model, Tensor(0x1000)
del model
show(0x1000)
gc.collect()
show(0x1000)
assert not gc.isenabled()
""")
    assert [(holder["name"], holder["cycle"]) for holder in before] == [("<Model>.tensor", True)]
    assert after == []


def test_limit_of_holders(target):
    many, few, none = asked(target, """
a = b = Tensor(0x1000)
c = [a]
show(a)
show(0x1000, 2)
show(0x1000, 0)
""")
    names = [holder["name"] for holder in many]
    assert set(names) == {"__main__.a", "__main__.c[0]", "what in show()"}  # one name per scope
    assert len(few) == 2 and none == []


def test_tracemalloc_gives_exact_location(target):
    (found,) = asked(target, "def make():\n    return Slim()\nkept = make()\nkept.field = Tensor(0x1000)\nshow(0x1000)\n",
                     PYTHONTRACEMALLOC="5")
    assert found[0]["where"] == f"created at {target.folder}/target.py:{PRELUDE.count(chr(10)) + 2}"


LEAKING = PRELUDE + """
import npu
npu.init()
pool = npu.Pool()
msmemscope.config(analysis="leaks")
def train(leaks):
    for step in range(6):
        block = pool.malloc(1 << 20)
        if leaks:
            losses.append(Tensor(block, 1 << 20))
        else:
            pool.free(block)
        msmemscope.step()
losses = []
msmemscope.start()
train({leaks})
msmemscope.stop()
print("stopped")
"""
HELD = r"    4\.\d+ Mb\(s\) in 4 allocation\(s\): __main__\.losses\[\.\.\.\] \(list\), assigned at .*target\.py:\d+, holds a Tensor"


def reported(done):
    """Whether stop() reported leaks, and the lines about their holders."""
    before, _, after = done.out.partition("stopped\n")
    assert "its holders:" not in before  # stop() does not search
    return "outlived their step" in before, [line for line in after.splitlines() if "Mb(s) in" in line]


def test_leaks_are_reported_with_holders_at_exit(target):
    """A clean run reports nothing."""
    assert reported(target.run(LEAKING.replace("{leaks}", "False"))) == (False, [])
    noticed, (line,) = reported(target.run(LEAKING.replace("{leaks}", "True")))
    assert noticed and re.fullmatch(HELD, line)


def test_tell_holders_reports_leaks(target):
    """Once. Blocks freed since have no holder; at exit they are not reported."""
    leaking = LEAKING.replace("{leaks}", "True")
    _, (line,) = reported(target.run(leaking + "msmemscope.tell_holders()\nlosses.clear()\nmsmemscope.tell_holders()\n"))
    assert re.fullmatch(HELD, line)
    _, (line,) = reported(target.run(leaking + "losses.clear()\nmsmemscope.tell_holders()\n"))
    assert line.endswith("in 4 allocation(s): no Python object")
    assert reported(target.run(leaking + "losses.clear()\n")) == (True, [])


# ---- PyTorch ----

TORCH = """\
import json, sys
import msmemscope, torch
from torch import nn
from msmemscope._holders import memory_of
def show(what, *limit):
    print(json.dumps([holder._asdict() for holder in msmemscope.holders(what, *limit)]))
"""


def test_holders_of_torch_tensors(torch_target):
    """A list of losses whose graph keeps activations without a Python reference; a hook; an optimizer; a view."""
    loss, activation, hook, weight, state, view = asked(torch_target, """
model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))
kept, inner = {}, []
model[0].register_forward_hook(lambda module, inputs, output: kept.update(first=output))
model[1].register_forward_hook(lambda module, inputs, output: inner.append(memory_of(output)[0]))
losses = [model(torch.ones(4, 8)).pow(2).sum()]
show(memory_of(losses[0])[0])
show(inner[0])
show(memory_of(kept["first"])[0])
show(memory_of(model[0].weight)[0])
losses[0].backward()
optimizer = torch.optim.Adam(model.parameters())
optimizer.step()
show(memory_of(next(iter(optimizer.state.values()))["exp_avg"])[0])
base = torch.ones(100)
view = base[10:20]
address = memory_of(base)[0]
del base
show(address)
""", TORCH)
    assert loss[0]["name"] == "__main__.losses[0]" and loss[0]["held"] == "Tensor"
    assert activation[0]["name"] == "__main__.losses[0]" and re.match(r"graph whose \w+Backward0 keeps", activation[0]["held"])
    assert "__main__.kept['first']" in [holder["name"] for holder in hook]
    assert weight[0]["name"] == "__main__.model._modules['0']._parameters['weight']"
    assert re.match(r"__main__\.optimizer\.state\[.*\]\['exp_avg'\]", state[0]["name"])
    assert view[0]["name"] == "__main__.view"


def test_report_of_training_that_keeps_losses(torch_target):
    done = torch_target.run("""
        import msmemscope, torch
        msmemscope.config(device="cpu", analysis="leaks", events="alloc,free")
        losses = []
        weight = torch.ones(1000, 1000, requires_grad=True)
        msmemscope.start()
        for _ in range(6):
            losses.append((weight * 2).exp().sum())
            msmemscope.step()
        msmemscope.stop()
    """)
    lines = [line for line in done.out.splitlines() if "__main__.losses" in line]
    assert lines and re.search(r"Mb\(s\) in \d+ allocation\(s\): __main__\.losses\[\.\.\.\] \(list\), .*graph whose \w+ keeps the block",
                               lines[0]), done.out


def test_names_differing_in_indices_are_merged(target):
    """Only the indices that differ are replaced."""
    done = target.run("""
        from msmemscope._holders import _common
        print(_common(["a[0].b[1]", "a[0].b[12]"]), _common(["a[0]"]), _common(["a['[1]']", "a['[2]']"]), _common(["", ""]) == "")
    """)
    assert done.out == "a[0].b[...] a[0] a['[...]'] True\n"


def test_holders_are_reported_at_exit_without_stop(softnpu, tmp_path):
    """The command line traces until exit: holders are reported while objects still exist, and tracing is not stopped."""
    target = Target(softnpu, tmp_path / "target", "launcher")
    done = target.run("""
        import msmemscope, npu
        pool = None
        npu.init()
        pool = npu.Pool()
        class Tensor:
            def __init__(self): self.address = pool.malloc(1 << 20)
            def data_ptr(self): return self.address
        msmemscope.start()
        kept = []
        for _ in range(6):
            kept.append(Tensor())
            msmemscope.step()
    """)
    assert re.search(r"its holders:\n    4\.\d+ Mb\(s\) in 4 allocation\(s\): __main__\.kept\[\.\.\.\] \(list\), "
                     r"assigned at .*target\.py:10, holds a Tensor", done.out), done.out
    assert [row.type for row in target.rows() if row.event == "SYSTEM"] == ["START_TRACE", *["STEP"] * 6]


# Objects whose methods return anything or raise; and containers and suspended functions of all kinds.
HOSTILE = """
import collections, types
class Refusing(type):
    def __getattribute__(cls, name): raise ImportError(name)
class Refused(metaclass=Refusing):
    __slots__ = ("field",)
class Items(dict):
    def items(self): raise RuntimeError
    __getitem__ = __iter__ = get = items
class Row(list):
    def __iter__(self): raise RuntimeError
class Queue(collections.deque):
    __iter__ = Row.__iter__
class Key(str):
    def __repr__(self): raise RuntimeError
class Strange:
    __dict__ = property(lambda self: 5)
    __eq__ = __bool__ = __len__ = __getattr__ = __repr__ = None
async def coroutine(held):
    await pause()
@types.coroutine
def pause():
    yield
async def generator(held):
    yield
def make(n): return Tensor(0x700000000000 + 4096 * n)
refused = object.__new__(Refused)
object.__setattr__(refused, "field", make(0))
items, row, queue, key = Items(a=make(1)), Row([make(2)]), Queue([0, make(3)]), {Key("a"): make(4)}
strange = Strange()
plain = collections.deque([0, 0, make(5)])
waiting = coroutine(make(6))
waiting.send(None)
giving = generator(make(7))
try:
    giving.asend(None).send(None)
except StopIteration:
    pass
for n in range(8):
    print(json.dumps([holder._asdict() for holder in msmemscope.holders(0x700000000000 + 4096 * n)]))
waiting.close()
"""


def test_search_calls_no_object(target):
    found = asked(target, HOSTILE)
    assert [[holder["name"] for holder in holders] for holders in found] == [[f"__main__.{name}"] for name in (
        "refused.field", "items['a']", "row[0]", "queue[1]", "key[<Key>]", "plain[2]", "waiting.held", "giving.held")]
