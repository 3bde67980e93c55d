"""A fixture for tests with real PyTorch: from Debian's unstable suite, in a folder of its own (some minutes, 2 GB, made once).
NPUSCOPE_TORCH names another such folder."""

import os
import pathlib
import subprocess

import pytest

from conftest import BUILD


def mirror():
    """Where this machine gets its packages from."""
    targets = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"],
                             capture_output=True, text=True, check=True)
    return targets.stdout.split()[0]


@pytest.fixture(scope="session")
def torch_root():
    """A folder with Debian's newest PyTorch."""
    root = pathlib.Path(os.environ.get("NPUSCOPE_TORCH", BUILD / "soak-torch"))
    if not (root / "usr/lib/python3/dist-packages/torch").exists():
        subprocess.run(["mmdebstrap", "--variant=minbase", "--include=python3-torch",
                        '--aptopt=Acquire::Check-Valid-Until "false"', "sid", str(root), mirror()], check=True)
    return root
