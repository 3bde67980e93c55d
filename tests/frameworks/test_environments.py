# SPDX-License-Identifier: Apache-2.0
"""The environments of scripts/frameworks, and what it says about wrong names."""

import subprocess

import pytest

from framework_runs import ROOT, framework

SCRIPT = str(ROOT / "scripts" / "frameworks")


@pytest.mark.parametrize("name", ["torch-2.7.1", "torch-newest"])
def test_torch_computes(name):
    done = subprocess.run([framework(name), "-c", "import torch; print(torch.__version__, (torch.ones(3) * 2).sum().item())"],
                          capture_output=True, text=True, check=True)
    version, total = done.stdout.split()
    assert total == "6.0"
    assert name == "torch-newest" or name.endswith(version.split("+")[0])


def test_unknown_name_is_refused():
    done = subprocess.run([SCRIPT, "torch-0"], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("frameworks: unknown name 'torch-0'; known: torch-2.7.1 ")
    assert subprocess.run([SCRIPT], capture_output=True, text=True).returncode == 2


def test_failed_download_is_not_kept(tmp_path):
    env = {"PATH": "/usr/bin:/bin", "NPUSCOPE_FRAMEWORKS": str(tmp_path), "PIP_NO_INDEX": "1", "HOME": str(tmp_path)}
    for _ in range(2):
        done = subprocess.run([SCRIPT, "torch-2.7.1"], capture_output=True, text=True, env=env)
        assert done.returncode == 1
        assert "downloads about" in done.stderr and "the whole log is" in done.stderr, done.stderr
