# SPDX-License-Identifier: Apache-2.0
"""Snapshots of devices."""

import pytest

KEYS = ("reserved", "max_reserved", "allocated", "max_allocated", "total", "free", "device_rate", "reserved_rate")
DOCUMENTED = ("total_mem", "free_mem", "reserved", "peak_reserved", "allocated", "peak_allocated", "device_utilization",
              "pt_utilization")


def snapshots(target):
    return [row for row in target.rows() if row.event == "SNAPSHOT"]


def test_snapshot_without_tracing(target_any):
    target_any.run("""
        import msmemscope, npu
        npu.init()
        msmemscope.take_snapshot(0, "first")
        kept = npu.malloc(1 << 20)
        msmemscope.take_snapshot(device=0, name="second")
        msmemscope.start()
        msmemscope.take_snapshot(device_mask=[0])
        msmemscope.stop()
        msmemscope.take_snapshot(0, "last")
    """)
    rows = snapshots(target_any)
    assert [row.name for row in rows] == ["first", "second", "Memory Snapshot", "last"]
    assert {row.device for row in rows} == {"0"}
    for row in rows:
        assert {*KEYS, *DOCUMENTED} <= set(row.attr), row
        assert row.attr["total"] == row.attr["total_mem"] and row.attr["max_reserved"] == row.attr["peak_reserved"]


def test_values_come_from_recording(target):
    target.run("""
        import msmemscope, npu
        npu.init()
        pool = npu.Pool()
        msmemscope.start()
        a, b = pool.malloc(1 << 20), pool.malloc(1 << 20)
        pool.free(b)
        msmemscope.take_snapshot(0)
        msmemscope.stop()
    """)
    (row,) = snapshots(target)
    one = (1 << 20) + 512
    assert (row.number("allocated"), row.number("max_allocated")) == (one, 2 * one)
    assert row.number("reserved") >= row.number("max_allocated")


def test_default_is_all_devices(target):
    target.run("import msmemscope, npu; npu.init(); msmemscope.take_snapshot()", SOFTNPU_DEVICES=2)
    assert sorted((row.device, row.name) for row in snapshots(target)) == [("0", "Memory Snapshot"), ("1", "Memory Snapshot")]


def test_missing_devices_are_skipped(target):
    """With one warning."""
    done = target.run("""
        import msmemscope, npu
        npu.init()
        for _ in range(2):
            msmemscope.take_snapshot(device_mask=[0, 1, 2, 3])
        msmemscope.take_snapshot(31)
    """, SOFTNPU_DEVICES=2)
    assert sorted(row.device for row in snapshots(target)) == ["0", "0", "1", "1"]
    lines = [line for line in done.err.splitlines() if "no snapshot" in line]
    assert len(lines) == 2 and "device 2, 3:" in lines[0] and "device 31:" in lines[1], done.err


@pytest.mark.parametrize("device", ["Number()", "[Number()]", "'npu:1'", "(1, 1)"])
def test_forms_of_device(target, device):
    target.run(f"""
        import msmemscope, npu
        class Number:  # like numpy's integers
            def __index__(self): return 1
        npu.init()
        msmemscope.take_snapshot({device})
        msmemscope.take_snapshot("cpu:0")
    """, SOFTNPU_DEVICES=2)
    assert sorted(row.device for row in snapshots(target)) == ["1", "cpu"]


def test_host_is_used_without_devices(target):
    target.run("import msmemscope; msmemscope.take_snapshot(name='host')")
    (row,) = snapshots(target)
    assert row.name == "host" and row.number("total") > row.number("free") > 0


def test_values_come_from_framework(target):
    """A stub with the functions of torch_npu, which knows its own pool."""
    (target.folder / "torch_npu.py").write_text("""
class npu:
    device_count = staticmethod(lambda: 1)
    memory_reserved = staticmethod(lambda device: 100 + device)
    max_memory_reserved = staticmethod(lambda device: 200)
    memory_allocated = staticmethod(lambda device: 50)
    max_memory_allocated = staticmethod(lambda device: 60)
    mem_get_info = staticmethod(lambda device: (250, 1000))
""")
    target.run("import msmemscope, torch_npu; msmemscope.take_snapshot()")
    (row,) = snapshots(target)
    assert [row.number(key) for key in KEYS[:6]] == [100, 200, 50, 60, 1000, 250]
    assert float(row.attr["device_utilization"].rstrip("%")) == 75 and float(row.attr["pt_utilization"].rstrip("%")) == 50


def test_take_snapshot_context_manager(target):
    target.run("""
        import msmemscope
        with msmemscope.TakeSnapshot("cpu", "block"):
            pass
        @msmemscope.TakeSnapshot(device_mask="cpu", name="function")
        def function(fail):
            if fail:
                raise KeyError
        function(False)
        try:
            function(True)
        except KeyError:
            pass
    """)
    assert [row.name for row in snapshots(target)] == [
        "block Start", "block End", "function Start", "function End", "function Start", "function End"]


def test_snapshots_around_suspended_functions(target):
    target.run("""
        import asyncio, msmemscope
        @msmemscope.TakeSnapshot("cpu", "coroutine")
        async def coroutine():
            await asyncio.sleep(0)
            msmemscope.take_snapshot("cpu", "in it")
        @msmemscope.TakeSnapshot("cpu", "generator")
        def generator():
            yield
        @msmemscope.TakeSnapshot("cpu", "both")
        async def both():
            yield
        async def main():
            await coroutine()
            async for _ in both():
                msmemscope.take_snapshot("cpu", "between")
        for _ in generator():
            msmemscope.take_snapshot("cpu", "meanwhile")
        asyncio.run(main())
    """)
    assert [row.name for row in snapshots(target)] == [
        "generator Start", "meanwhile", "generator End", "coroutine Start", "in it", "coroutine End", "both Start", "between",
        "both End"]


@pytest.mark.parametrize("function, arguments, error", [
    ("take_snapshot", "-1", "ValueError: device -1 is not in the range 0 to 31"),
    ("take_snapshot", "32", "ValueError: device 32 is not in the range 0 to 31"),
    ("take_snapshot", "[0, 'gpu']", "TypeError: device must be an int, 'npu:N' or 'cpu', not 'gpu'"),
    ("take_snapshot", "True", "TypeError: device must be an int, 'npu:N' or 'cpu', not True"),
    ("take_snapshot", "0, device_mask=0", "TypeError: device and device_mask are aliases; give only one"),
    ("take_snapshot", "0, 1", "TypeError: name must be a str, not int"),
    ("TakeSnapshot", "0, 1", "TypeError: name must be a str, not int"),
])
def test_wrong_calls_raise(target, function, arguments, error):
    done = target.run(f"""
        import msmemscope
        try:
            msmemscope.{function}({arguments})
        except Exception as error:
            print(f"{{type(error).__name__}}: {{error}}")
    """)
    assert done.out == error + "\n"
    assert not target.output.exists()
