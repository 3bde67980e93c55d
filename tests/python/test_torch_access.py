# SPDX-License-Identifier: Apache-2.0
"""Memory that operators of real PyTorch read and write."""

import textwrap

from torch_runs import PYTHON, number, program


def accesses(recording, text, *options):
    script = program(recording.output.parent, text)
    done = recording.run("--device=cpu", "--events=access", *options, "--", PYTHON, script)
    assert done.returncode == 0, done.stderr
    return done, [row for row in recording.rows() if row.event == "ACCESS"]


def of(rows, name):
    return [(row.type, int(row.attr["size"]), row.attr["shape"]) for row in rows if row.name == f"torch._ops.aten.{name}"]


def test_reads_and_writes_of_operators(recording):
    _, rows = accesses(recording, """
        import torch
        a, b = torch.ones(301), torch.ones(301)
        torch.add(a, b)                 # two reads, one write
        a.add_(b)                       # writes the first
        a.view(7, 43)                   # a view accesses nothing
        torch.empty_like(a)             # same here
        torch.zeros_like(b)             # writes the result, does not read the argument
        torch.cat([a, b])               # lists
        torch.add(a, b, out=torch.empty(301))
    """)
    whole, shape = 4 * 301, "torch.Size([301])"
    assert of(rows, "add.Tensor") == [("READ", whole, shape), ("READ", whole, shape), ("WRITE", whole, shape)]
    assert of(rows, "add_.Tensor") == [("WRITE", whole, shape), ("READ", whole, shape), ("WRITE", whole, shape)]
    assert not of(rows, "view.default") and not of(rows, "empty_like.default")
    assert ("READ", whole, shape) not in of(rows, "zeros_like.default") and of(rows, "zeros_like.default")
    assert of(rows, "cat.default") == [("READ", whole, shape), ("READ", whole, shape), ("WRITE", 2 * whole, "torch.Size([602])")]
    assert of(rows, "add.out") == [("READ", whole, shape), ("READ", whole, shape), ("WRITE", whole, shape), ("WRITE", whole, shape)]
    assert {row.attr["dtype"] for row in rows if row.name.startswith("torch._ops.aten.add")} == {"torch.float32"}
    assert {row.attr["type"] for row in rows} == {"HOST"} and {row.device for row in rows} == {"cpu"}


def test_stacks_show_only_the_program(recording):
    """PyTorch 1.13 wraps a dispatch mode in a function of its own, which must not be shown."""
    script = program(recording.output.parent, """
        import torch
        x = torch.ones(301, requires_grad=True)
        torch.mul(x, 2).sum().backward()
    """)
    done = recording.run("--device=cpu", "--events=access", "--call-stack=python", "--", PYTHON, script)
    assert done.returncode == 0, done.stderr
    stacks = {row.python_stack for row in recording.rows() if row.event == "MALLOC" and row.type == "HOST"}
    assert f"{script}(3): <module>" in "".join(stacks)
    assert not [stack for stack in stacks if "dispatch" in stack], stacks


def test_accesses_belong_to_blocks(recording):
    done, rows = accesses(recording, """
        import torch
        a = torch.ones(1000)
        torch.neg(a[500:])
        print(a.data_ptr())
    """)
    start = number(done)
    (read,) = [row for row in rows if row.name == "torch._ops.aten.neg.default" and row.type == "READ"]
    (block,) = [row for row in recording.rows() if row.event == "MALLOC" and int(row.ptr, 16) == start]
    assert int(read.ptr, 16) == start + 2000 and read.attr["allocation_id"] == block.attr["allocation_id"]


def test_accesses_in_threads_and_backward_pass(recording):
    _, rows = accesses(recording, """
        import threading
        import torch
        import msmemscope
        x = torch.ones(31, 31, requires_grad=True)
        torch.mm(x, x).sum().backward()
        def work():
            with torch.no_grad():
                torch.mm(x, x)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    """)
    products = [row for row in rows if row.name == "torch._ops.aten.mm.default" and row.type == "WRITE"]
    assert len(products) == 4  # forward, twice in backward, in the thread
    assert len({row.tid for row in products}) == 2


def test_operators_are_recorded_once(recording):
    """Although a dispatch mode causes PyTorch to report them twice."""
    script = program(recording.output.parent, """
        import torch
        a = torch.ones(301)
        for _ in range(5):
            torch.neg(a)
    """)
    done = recording.run("--device=cpu", "--events=access,launch", "--", PYTHON, script)
    assert done.returncode == 0, done.stderr
    rows = [row for row in recording.rows() if row.name == "torch._ops.aten.neg.default"]
    assert [row.type for row in rows] == ["ATEN_START", "READ", "WRITE", "ATEN_END"] * 5


def test_operator_exceptions_propagate(recording):
    done, rows = accesses(recording, """
        import torch
        try:
            torch.mm(torch.ones(2, 3), torch.ones(2, 3))
        except RuntimeError:
            print("failed")
        torch.neg(torch.ones(7))
    """)
    assert "failed" in done.stdout
    assert [kind for kind, *_ in of(rows, "mm.default")] == ["READ", "READ"]
    assert of(rows, "neg.default")


# Operations that PyTorch 1.13 refuses in any dispatch mode, and programs use.
DELICATE = """
    import sys
    import torch
    import torch.utils.checkpoint
    class Kind(torch.Tensor):
        pass
    def numbers(x):
        return (x * 1.5 + 2).pow(3) * True
    def gradient(function):
        x = torch.linspace(0, 1, 301, requires_grad=True)
        function(x).sum().backward()
        return x.grad.double().sum().item()
    def saved(x):
        with torch.autograd.graph.save_on_cpu():
            return numbers(x)
    def behave():
        said, whole = [], torch.arange(6.)
        said.append((gradient(lambda x: torch.utils.checkpoint.checkpoint(numbers, x, use_reentrant=False)), gradient(saved)))
        said.append((torch.Tensor([1, 2]), torch.Tensor(2, 3).shape, torch.Tensor(whole), torch.Tensor(), Kind([1., 2.]), Kind(whole)))
        said.append((whole.as_subclass(Kind), torch.Tensor(whole.as_subclass(Kind)), torch.nn.Parameter(torch.Tensor(2, 3)).shape))
        for wrong in (lambda: torch.Tensor("x"), lambda: torch.mm(whole, whole), lambda: torch.ops.aten.detach("x")):
            try:
                wrong()
            except (RuntimeError, TypeError) as error:
                said.append((type(error), str(error).splitlines()[0]))
        return str(said)
"""


def test_program_results_do_not_change(recording, softnpu):
    script = program(recording.output.parent, textwrap.dedent(DELICATE) + "print(behave(), file=open(sys.argv[1], 'w'))")
    plain, recorded = recording.output.parent / "plain.txt", recording.output.parent / "recorded.txt"
    done = softnpu.run(PYTHON, script, plain)
    assert done.returncode == 0, done.stderr
    done = recording.run("--device=cpu", "--events=access,launch", "--", PYTHON, script, recorded)
    assert done.returncode == 0, done.stderr
    assert recorded.read_text() == plain.read_text() and plain.read_text().count("Error") == 3


def test_program_results_do_not_change_after_stop(softnpu, recording):
    """And PyTorch's classes are restored."""
    script = program(recording.output.parent, textwrap.dedent(DELICATE) + textwrap.dedent(f"""
        import msmemscope
        plain = behave()
        msmemscope.config(device="cpu", events="access", analysis="", output={str(recording.output)!r})
        for _ in range(2):
            msmemscope.start()
            assert behave() == plain
            msmemscope.stop()
            assert behave() == plain
            assert not {{"__new__", "as_subclass"}} & vars(torch.Tensor).keys()
    """))
    done = softnpu.run(PYTHON, script, PYTHONPATH=str(recording.command).replace("bin/msmemscope", "python"))
    assert done.returncode == 0, done.stderr


def test_accesses_between_start_and_stop(softnpu, recording):
    """Through the Python API: only between start() and stop(); the program's own modes are unaffected."""
    script = program(recording.output.parent, f"""
        import torch
        import msmemscope
        from torch.utils._python_dispatch import TorchDispatchMode
        class Count(TorchDispatchMode):
            seen = 0
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                Count.seen += 1
                return func(*args, **(kwargs or {{}}))
        a = torch.ones(301)
        msmemscope.config(device="cpu", events="access", analysis="", output={str(recording.output)!r})
        torch.neg(a)
        for _ in range(2):
            msmemscope.start()
            with Count():
                torch.neg(a)
                msmemscope.stop()
                torch.neg(a)
            torch.neg(a)
        print(Count.seen)
    """)
    done = softnpu.run(PYTHON, script, PYTHONPATH=str(recording.command).replace("bin/msmemscope", "python"))
    assert done.returncode == 0, done.stderr
    assert number(done) == 4, done.stdout
    rows = [row for row in recording.rows() if row.name == "torch._ops.aten.neg.default"]
    assert [row.type for row in rows] == ["READ", "WRITE"] * 2


# Setup of a program that requests accesses through the Python API.
LOOKING = """
    import torch
    import msmemscope
    from msmemscope import _native
    msmemscope.config(device="cpu", events="access,launch", analysis="", output={output!r})
    msmemscope.start()
    msmemscope.stop()
"""


def by_interface(softnpu, recording, text):
    script = program(recording.output.parent, textwrap.dedent(LOOKING.format(output=str(recording.output))) + textwrap.dedent(text))
    done = softnpu.run(PYTHON, script, PYTHONPATH=str(recording.command).replace("bin/msmemscope", "python"))
    assert done.returncode == 0, done.stderr
    return done


def test_memory_and_methods_agree(softnpu, recording):
    """Tensors read from memory give the same values as their methods, or their methods are used."""
    by_interface(softnpu, recording, """
        import torch.nested
        def both(tensor):
            seen, asked = _native.access_of(tensor, True), _native.access_of(tensor, False)
            assert seen == asked or seen is None, (tensor, seen, asked)
            return seen
        whole = torch.arange(5040)
        views = [whole, whole[17:], whole[::3], whole[7], whole.view(7, 8, 9, 10).transpose(0, 3), whole.view(2, 3, 4, 5, 42),
                 whole.unfold(0, 5, 2), whole.to(torch.float32).t(), torch.nn.Parameter(torch.ones(3, 4)),
                 torch.ones(3, requires_grad=True) * 2, torch.frombuffer(bytearray(b"123456789"), dtype=torch.uint8)[3:]]
        types = [torch.ones(3, 5).to(getattr(torch, name))[1:] for name in (
            "uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128 bool").split()]
        for tensor in views + types:
            address, size, *_ = both(tensor)
            assert address == tensor.data_ptr() and size == tensor.numel() * tensor.element_size()
        others = [torch.ones(1, 1, 1, 1, 1, 2), torch.ones(0, 3), torch.ones(3, 3).to_sparse(), torch.ones(3, device="meta"),
                  torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.quint8), torch.ones(4, 4).to_mkldnn(),
                  torch.empty(3, 3).to_sparse_csr(), torch.nested.nested_tensor([torch.ones(3), torch.ones(5)])]
        for tensor in others:
            both(tensor)
        assert _native.access_of("no tensor", True) is None and _native.access_of(None, False) is None
    """)


def test_probe_tensors_are_not_recorded(softnpu, recording):
    """They are neither in the files nor visible to the program's modes."""
    script = program(recording.output.parent, f"""
        import torch
        import msmemscope
        from torch.utils._python_dispatch import TorchDispatchMode
        class Count(TorchDispatchMode):
            seen = 0
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                Count.seen += 1
                return func(*args, **(kwargs or {{}}))
        msmemscope.config(device="cpu", events="access,launch", analysis="", output={str(recording.output)!r})
        with Count():
            msmemscope.start()
            torch.ones(301)
        msmemscope.stop()
        print(Count.seen)
    """)
    done = softnpu.run(PYTHON, script, PYTHONPATH=str(recording.command).replace("bin/msmemscope", "python"))
    assert done.returncode == 0, done.stderr
    assert number(done) == 1
    assert {row.attr["size"] for row in recording.rows() if row.event in ("MALLOC", "FREE")} == {str(4 * 301)}


def test_operators_leak_nothing(softnpu, recording):
    """References and memory do not grow, whether operators succeed or fail."""
    by_interface(softnpu, recording, """
        import gc, resource, sys, tracemalloc
        mode = object()
        aten, dispatch = torch.ops.aten, _native.access_bind(mode)
        assert dispatch.__self__ is mode  # required by newer versions
        a, b, nothing = torch.ones(7, 9), torch.ones(7, 9), {}
        pair, listed, out, deep = (a, b), ([a, b],), {"out": torch.empty(7, 9)}, (torch.ones(1, 1, 1, 1, 1, 2),)
        class Unknown:
            def __call__(self, *arguments):
                return arguments
        unknown = Unknown()
        def failing(*call):
            try:
                dispatch(*call)
            except (RuntimeError, TypeError):
                return
            raise SystemExit("no error")
        def once():
            dispatch(aten.add.Tensor, (), pair, nothing)
            dispatch(aten.add.Tensor, (), pair)
            dispatch(aten.add.Tensor, (), list(pair), None)
            dispatch(aten.cat.default, (), listed)
            dispatch(aten.add.out, (), pair, out)
            dispatch(aten.neg.default, (), deep)
            dispatch(aten.max.dim, (), (a, 0))
            dispatch(unknown, (), pair)
            failing(aten.mm.default, (), pair)
            failing(aten.mm.default, (), ("no tensor", a))
            failing(aten.mm.default)
            failing(aten.mm.default, (), 3)
        watched = [None, mode, a, b, nothing, pair, listed[0], listed, out, out["out"], deep, deep[0], unknown, Unknown,
                   aten.add.Tensor, aten.add.Tensor._op, aten.add.out, aten.max.dim, torch.float32, torch.Tensor, torch.Size,
                   _native.access_of]
        msmemscope.start()
        assert dispatch(unknown, (), pair) == pair
        def state():
            gc.collect()
            return ([sys.getrefcount(thing) for thing in watched], len(gc.get_objects()), tracemalloc.get_traced_memory()[0],
                    resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        def drift(before, after):
            return {str(thing)[:60]: there - here for thing, here, there in zip(watched, before[0], after[0]) if abs(there - here) > 20}
        tracemalloc.start(1)
        for _ in range(50):
            once()
        before = state()
        for _ in range(1500):
            once()
        after = state()
        msmemscope.stop()
        assert not drift(before, after), drift(before, after)
        # The interpreter's cache of attribute names keeps some of the strings.
        assert abs(after[1] - before[1]) < 50 and after[2] - before[2] < 120000 and after[3] - before[3] < 8192, (before[1:], after[1:])
    """)


def test_numbers_leak_nothing(softnpu, recording):
    by_interface(softnpu, recording, """
        import gc, sys
        aten, dispatch = torch.ops.aten, _native.access_bind(object())
        number = float("1.5")
        arguments, named, nothing = (number,), {"self": number}, {}
        watched = [number, arguments, named, nothing, None, RuntimeError, aten.detach.default, aten.detach.default._op, torch.float64]
        def once():
            for call in ((arguments,), (arguments, nothing), ((), named)):
                assert dispatch(aten.detach.default, (), *call).item() == number
            try:
                dispatch(aten.cat.default, (), ([number, number],))
            except RuntimeError as error:
                assert "zero-dimensional tensor" in str(error)
        def state():
            gc.collect()
            return [sys.getrefcount(thing) for thing in watched] + [len(gc.get_objects())]
        msmemscope.start()
        once()
        before = state()
        for _ in range(300):
            once()
        after = state()
        msmemscope.stop()
        assert all(abs(there - here) < 20 for here, there in zip(before, after)), (before, after)
    """)
