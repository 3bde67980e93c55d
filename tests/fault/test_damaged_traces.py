# SPDX-License-Identifier: Apache-2.0
"""Trace files that were truncated, overwritten or replaced: the error names file, offset and reason; readable parts are shown;
existing files stay."""

import os
import shutil

import pytest

from recorder import read_dump


@pytest.fixture(scope="module")
def original(tmp_path_factory, build):
    """A finished recording of one thread, created once."""
    from conftest import BUILD, Softnpu
    from recorder import Recording
    machine = Softnpu()
    recording = Recording(machine, BUILD / "msmemscope", tmp_path_factory.mktemp("original") / "out", "--max-trace-size=16M")
    assert recording.run(build / "examples" / "acl-train", "--steps", 20).returncode == 0
    machine.close()
    return recording.output


@pytest.fixture
def damaged(recording, original):
    shutil.copytree(original, recording.output)
    (recording.segment,) = recording.output.glob("*/trace/*.seg")
    return recording


def scribble(path, offset, data):
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(data)


def as_directory(path):
    path.unlink()
    path.mkdir()


def as_pipe(path):
    path.unlink()
    os.mkfifo(path)


def as_link(path):
    path.unlink()
    path.symlink_to("/etc/passwd")


@pytest.mark.parametrize("spoil, offset, reason", [
    (lambda path: os.truncate(path, 0), 0, "the file is empty"),
    (lambda path: os.truncate(path, 20), 0, "the file ends inside its first block"),
    (lambda path: path.write_bytes(os.urandom(20000)), 0, "not a block"),
    (lambda path: path.write_text("ID,Event,Event Type\n" * 99), 0, "not a block"),
    (lambda path: scribble(path, 8, b"\xff\xff"), 0, "the head of the block is damaged"),
    (as_directory, 0, "not a regular file"), (as_pipe, 0, "not a regular file"), (as_link, 0, "not a block")],
    ids=["empty", "cut", "garbage", "text", "head", "directory", "pipe", "link"])
@pytest.mark.parametrize("command", ["info", "export", "recover"])
def test_unusable_trace_is_reported(damaged, command, spoil, offset, reason):
    spoil(damaged.segment)
    (dump,) = damaged.dumps()
    before = dump.read_bytes()
    done = damaged.tool(command, timeout=30)
    assert done.returncode == 1  # also for export, although it falls back to the dump
    assert f"msmemscope: {damaged.segment}: offset {offset}: {reason}\n" in done.stderr
    assert done.stderr.count(str(damaged.segment)) == 1
    assert dump in damaged.dumps() and dump.read_bytes() == before


@pytest.mark.parametrize("command", ["info", "export", "recover"])
def test_foreign_file_next_to_trace(damaged, command):
    foreign = damaged.segment.with_name("p1.000001.seg")
    shutil.copy("/bin/ls", foreign)
    done = damaged.tool(command, *(["-o", damaged.output.parent / "again"] if command == "export" else []))
    assert done.returncode == 1 and f"{foreign}: offset 0: not a block" in done.stderr
    if command == "export":
        (copy,) = (damaged.output.parent / "again").glob("*/device_0/dump/*.csv")
        assert copy.read_bytes() == damaged.dumps()[0].read_bytes()


@pytest.mark.parametrize("where", [0.2, 0.5, 0.9])
def test_overwritten_block_is_reported(damaged, where):
    """One block is lost and reported; the rest is complete and in order, and no better file is replaced."""
    at = int(damaged.segment.stat().st_size * where)
    scribble(damaged.segment, at, b"\xa5\x5a\xa5")
    (dump,) = damaged.dumps()
    complete = read_dump(dump)
    done = damaged.tool("info")
    assert done.returncode == 1 and f"{damaged.segment}: offset " in done.stderr and "damaged" in done.stderr
    assert "gaps        none" not in done.stdout
    again = damaged.output.parent / "again"
    done = damaged.tool("export", "-o", again)
    assert done.returncode == 1 and "damaged" in done.stderr
    (part,) = again.glob("*/device_0/dump/*.csv")
    rows = read_dump(part)
    assert rows
    assert all(a.time < b.time for a, b in zip(rows, rows[1:]))
    done = damaged.tool("recover")
    assert done.returncode == 1
    assert dump in damaged.dumps() and [r.id for r in read_dump(dump)] == [r.id for r in complete]


@pytest.mark.parametrize("keep", [0.3, 0.7, 0.99])
def test_truncated_trace_is_recovered(damaged, keep):
    """As after all processes were killed: everything before the end is recovered."""
    os.truncate(damaged.segment, int(damaged.segment.stat().st_size * keep))
    done = damaged.tool("info")
    assert done.returncode == 0 and "open: being recorded, or the recorder was killed" in done.stdout
    again = damaged.output.parent / "again"
    assert damaged.tool("export", "-o", again).returncode == 0
    (part,) = again.glob("*/device_0/dump/*.csv")
    (dump,) = damaged.dumps()
    whole, rows = read_dump(dump), read_dump(part)
    assert 0 < len(rows) < len(whole)
    real = [r for r in rows if "shadow" not in r.attr]
    assert [(r.id, r.event, r.ptr, r.attr) for r in real] == [(r.id, r.event, r.ptr, r.attr) for r in whole[:len(real)]]
    assert all(abs(a.time - b.time) < 1000 for a, b in zip(real, whole))  # extrapolated after the last clock mark


def test_trailing_zeros_are_ignored(damaged):
    """Not an error, and not read endlessly."""
    os.truncate(damaged.segment, 3 << 30)
    assert damaged.tool("info", timeout=60).returncode == 0


def test_wrong_usage_is_refused(damaged, tmp_path):
    for arguments in (["info", damaged.output, "--wrong"], ["export", damaged.output, "--format=xml"],
                      ["recover", damaged.output, "--format=chrome"], ["info", damaged.output, "another"]):
        done = damaged.softnpu.run(damaged.command, *arguments)
        assert done.returncode == 2 and done.stderr.startswith(f"msmemscope {arguments[0]}: "), done
    for command in ("info", "export", "recover"):
        done = damaged.softnpu.run(damaged.command, command, "--help")
        assert done.returncode == 0 and f"usage: msmemscope {command} DIR" in done.stdout, done
        (tmp_path / "empty").mkdir(exist_ok=True)
        assert damaged.softnpu.run(damaged.command, command, tmp_path / "empty").returncode == 1


def test_export_overwrites_nothing(damaged):
    again = damaged.output.parent / "again"
    for _ in range(3):
        assert damaged.tool("export", "-o", again).returncode == 0
    copies = list(again.glob("*/device_0/dump/*.csv"))
    assert len(copies) == 3 and len({p.read_bytes() for p in copies}) == 1
