# SPDX-License-Identifier: Apache-2.0
"""Real PyTorch with libkineto's client writes a trace when dyno requests one.

PyTorch comes from Debian's unstable suite (debian_torch.py): the packages of the stable suites have either no client or one
with a race at startup.
"""

import json
import os
import pathlib
import subprocess
import tempfile
import textwrap

import pytest

from debian_torch import torch_root  # noqa: F401
from monitor import Daemon, dyno
from recorder import wait_until

TRAINING = textwrap.dedent("""
    import time
    import torch
    model = torch.nn.Linear(64, 64)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    print("training", flush=True)
    end = time.monotonic() + 120
    while time.monotonic() < end:
        optimizer.zero_grad()
        model(torch.ones(8, 64)).sum().backward()
        optimizer.step()
        time.sleep(0.01)
""")


@pytest.fixture
def place():
    with tempfile.TemporaryDirectory(prefix="dynolog-") as folder:
        yield pathlib.Path(folder)


class Job:
    """The training inside the folder, with /proc and /dev of this machine and a shared directory."""

    def __init__(self, root, shared, **variables):
        (root / "tmp/train.py").write_text(TRAINING)
        (root / shared.relative_to("/")).mkdir(parents=True, exist_ok=True)
        mounts = [f"mount --bind {folder} {root}{folder}" for folder in ("/proc", "/dev", shared)]
        script = " && ".join([*mounts, f"exec chroot {root} /usr/bin/python3 /tmp/train.py"])
        self.process = subprocess.Popen(["unshare", "-m", "sh", "-c", script], text=True, stdout=subprocess.PIPE,
                                        env=os.environ | {"KINETO_USE_DAEMON": "1"} | variables)
        assert self.process.stdout.readline() == "training\n"

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def registered(daemon):
    return [process for job in daemon.rpc(fn="getStatus")["jobs"] for process in job["processes"]]


@pytest.mark.parametrize("way", ["abstract address", "directory"])
def test_dyno_gets_a_trace_of_real_pytorch(torch_root, place, tmp_path, way):
    variables, flags = {}, ["--ipc_name=dynolog"]
    if way == "directory":
        variables, flags = {"KINETO_IPC_SOCKET_DIR": str(place)}, ["--ipc_name=", f"--ipc_socket_dir={place}"]
    daemon = Daemon(tmp_path / "daemon", "--enable_ipc_monitor", *flags)
    daemon.ready()
    job = Job(torch_root, place, **variables)
    try:
        process = wait_until(lambda: next(iter(registered(daemon)), None), seconds=60)
        assert process["client"] == "kineto" and process["nputrace"] == "Idle"
        result = dyno("gputrace", "--log-file", "/tmp/trace.json", "--duration-ms", "500", "--record-shapes",
                      port=daemon.port)
        assert result.returncode == 0 and "Matched 1 processes" in result.stdout, result.stdout + result.stderr
        path = torch_root / f"tmp/trace_{process['pid']}.json"
        wait_until(path.exists, seconds=60)
        trace = json.loads(path.read_text())
        assert any(event.get("cat") == "cpu_op" for event in trace["traceEvents"])
        wait_until(lambda: registered(daemon)[0]["command"]["stage"] == "completed", seconds=30)
        assert trace["trace_id"] == registered(daemon)[0]["command"]["trace_id"]
        assert job.process.poll() is None, "the training did not survive"
    finally:
        job.close()
        assert daemon.stop() == 0
