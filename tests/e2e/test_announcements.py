# SPDX-License-Identifier: Apache-2.0
"""What the examples announce to a tool: steps, operators, tensor accesses and pool blocks, all consistent."""

import pathlib
import re

import pytest

HERE = pathlib.Path(__file__).parent
ACCESS = re.compile(
    r"memscope-aten-ac:ptr=(\d+);is_write=(True|False);is_read=(True|False);is_output=(True|False);name=([\w.]+);"
    r"shape=torch\.Size\(\[([\d, ]*)\]\);dtype=torch\.(float32|int32);tensor_size=(\d+);device=npu:(\d+)$"
)


@pytest.fixture(scope="session")
def tool(compiler, tmp_path_factory):
    return compiler(tmp_path_factory.mktemp("tool") / "libmstx_log.so", HERE / "mstx_log.c", flags=["-shared", "-fPIC"])


@pytest.fixture
def listen(softnpu, home, build, tool, tmp_path):
    """Runs an example with the tool; returns the result and the announcements of each process."""

    def run(name, *argv, hook=True):
        env = {"MSTX_INJECTION_PATH": str(tool), "MSTX_LOG": str(tmp_path / "log")}
        if hook:
            env["LD_PRELOAD"] = str(build / "tests" / "unit" / "libascend_kernel_hook.so")
        result = softnpu.run(home / "bin" / name, *argv, env=env)
        assert result.returncode == 0, result.stderr
        logs = []
        for path in sorted(tmp_path.glob("log.*"), key=lambda p: int(p.suffix[1:])):
            logs.append(path.read_text().splitlines())
            path.unlink()
        return result, logs

    return run


def replay(lines, device=0):
    """Replays the announcements as a tool does; returns the blocks live at the end and some counts."""
    live, operator, step, counts = {}, None, 0, {"operators": 0, "accesses": 0, "steps": 0, "reserved": 0, "workspace": 0}
    born = {}
    for line in lines:
        kind, _, rest = line.partition(" ")
        if kind == "start":
            number, text = rest.split(" ", 1)
            assert text == "step start"
            step = int(number)
        elif kind == "end":
            assert int(rest) == step
            counts["steps"] += 1
        elif kind == "heap":
            domain, dev, ptr, size = rest.split()
            assert int(dev) == device
            counts["reserved" if domain == "ptaCaching" else "workspace"] = int(size)
        elif kind == "region":
            domain, dev, ptr, size = rest.split()
            if domain == "ptaCaching":
                assert int(dev) == device and int(ptr) not in live
                assert int(size) % 512 == 0
                live[int(ptr)] = int(size)
                born[int(ptr)] = (operator, step)
                assert sum(live.values()) <= counts["reserved"]
        elif kind == "gone":
            domain, ptr = rest.split()
            if domain == "ptaCaching":
                del live[int(ptr)]
        elif rest.startswith("memscope-aten-b: name="):
            assert operator is None
            operator = rest.removeprefix("memscope-aten-b: name=")
            assert operator.startswith("torch._ops.aten.")
            counts["operators"] += 1
        elif rest.startswith("memscope-aten-e: name="):
            assert operator == rest.removeprefix("memscope-aten-e: name=")
            operator = None
        else:
            match = ACCESS.match(rest)
            assert match, line
            ptr, write, read, output, name, shape, _, size, dev = match.groups()
            assert name == operator and int(dev) == device
            assert (write == "True") != (read == "True")
            count = 4
            for dim in shape.split(","):
                count *= int(dim)
            assert count == int(size)
            assert live[int(ptr)] >= int(size) + 32  # inside a live block
            counts["accesses"] += 1
    assert operator is None
    return live, born, counts


def test_training_announcements_are_consistent(listen):
    result, (log,) = listen("acl-train", "--steps", 3)
    live, _, counts = replay(log)
    assert live == {}
    assert counts["steps"] == 3
    assert counts["operators"] > 3 * 100 and counts["accesses"] > 3 * counts["operators"] // 2
    assert counts["workspace"] == 0  # freed at the end
    assert any(line.startswith("region ptaWorkspace 0 ") for line in log)


def test_two_ranks_announce_separately(listen):
    _, logs = listen("acl-train", "--steps", 2, "--devices", 2)
    assert len(logs) == 2  # the parent announces nothing
    devices = {next(line for line in log if line.startswith("region")).split()[2] for log in logs}
    assert devices == {"0", "1"}
    for log in logs:
        device = int(next(line for line in log if line.startswith("region")).split()[2])
        assert replay(log, device)[0] == {}


def test_planted_leaks_are_live_at_end(listen):
    result, (log,) = listen("acl-train", "--steps", 4, "--leak=2M")
    live, born, _ = replay(log)
    said = {}
    for line in result.stdout.splitlines():
        if line.startswith("planted: "):
            pairs = dict(pair.split("=", 1) for pair in line.removeprefix("planted: ").split())
            said[int(pairs["address"], 16)] = pairs
    assert live == {address: int(pairs["block"]) for address, pairs in said.items()}
    for address, pairs in said.items():
        assert born[address] == (pairs["operator"], int(pairs["step"]))


def events_of(log, address):
    """Positions, counted in operators, of the events of the last block at this address: allocation, accesses, free."""
    events, operators = [], 0
    for line in log:
        if line.startswith("mark memscope-aten-b:"):
            operators += 1
        elif line.startswith("region ptaCaching") and int(line.split()[3]) == address:
            events = [("alloc", operators)]
        elif line.startswith(f"mark memscope-aten-ac:ptr={address};"):
            events.append(("access", operators))
        elif line == f"gone ptaCaching {address}":
            events.append(("free", operators))
    return events


def address_of(result):
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("planted: ")]
    return int(dict(pair.split("=", 1) for pair in line.removeprefix("planted: ").split())["address"], 16)


def test_planted_inefficiencies_show_in_accesses(listen):
    result, (log,) = listen("acl-train", "--steps", 2, "--early-alloc")
    kinds = events_of(log, address_of(result))
    assert [kind for kind, _ in kinds] == ["alloc", "access", "free"]
    assert kinds[1][1] - kinds[0][1] > 50  # operators between the allocation and the first use
    result, (log,) = listen("acl-train", "--steps", 2, "--late-free")
    kinds = events_of(log, address_of(result))
    assert kinds[0][0] == "alloc" and kinds[-1][0] == "free"
    assert kinds[-1][1] - kinds[-2][1] > 50
    result, (log,) = listen("acl-train", "--steps", 2, "--idle")
    kinds = [at for kind, at in events_of(log, address_of(result)) if kind == "access"]
    assert max(b - a for a, b in zip(kinds, kinds[1:])) > 3000


def test_corruption_is_not_announced(listen):
    result, (log,) = listen("acl-train", "--steps", 2, "--corrupt", "gelu")
    clean, (other,) = listen("acl-train", "--steps", 2)
    strip = lambda lines: [re.sub(r"\d{9,}", "P", line) for line in lines]  # noqa: E731
    assert strip(log) == strip(other)


def test_only_steps_are_marked_without_hook(listen):
    _, (log,) = listen("acl-train", "--steps", 2, hook=False)
    assert [line.split()[0] for line in log] == ["start", "end"] * 2
    _, (log,) = listen("acl-train", "--steps", 2, "--announce", hook=False)
    assert any("memscope-aten-b" in line for line in log)
    assert not any(line.startswith(("region", "heap")) for line in log)


def test_inference_announcements_are_consistent(listen):
    _, (log,) = listen("acl-infer", "--requests", 6)
    live, _, counts = replay(log)
    assert live == {} and counts["steps"] > 6
    result, (log,) = listen("acl-infer", "--requests", 8, "--leak")
    live, _, _ = replay(log)
    leaked = [int(re.search(r"address=0x(\w+)", line).group(1), 16)
              for line in result.stdout.splitlines() if line.startswith("planted: ")]
    assert len(leaked) == 2 and set(leaked) <= set(live)
    assert len(live) == 2 * 2 * 2  # keys and values of two layers each
