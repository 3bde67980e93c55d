"""Which memory operators of real PyTorch read and write."""

from torch_runs import PYTHON, number, program


def accesses(recording, text, *options):
    script = program(recording.output.parent, text)
    done = recording.run("--device=cpu", "--events=access", *options, "--", PYTHON, script)
    assert done.returncode == 0, done.stderr
    return done, [row for row in recording.rows() if row.event == "ACCESS"]


def of(rows, name):
    return [(row.type, int(row.attr["size"]), row.attr["shape"]) for row in rows if row.name == f"torch._ops.aten.{name}"]


def test_rules(recording):
    _, rows = accesses(recording, """
        import torch
        a, b = torch.ones(301), torch.ones(301)
        torch.add(a, b)                 # two are read, one is written
        a.add_(b)                       # the first is written
        a.view(7, 43)                   # a view touches nothing
        torch.empty_like(a)             # nor does this
        torch.zeros_like(b)             # the result is written, the model of it is not read
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


def test_threads_and_the_backward_pass(recording):
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


def test_operators_are_told_once(recording):
    """A dispatch mode announces an operator twice."""
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


def test_exceptions_of_operators(recording):
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


def test_start_and_stop(softnpu, recording):
    """Through the interface: only between start() and stop(), and user's own modes stay what they are."""
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
