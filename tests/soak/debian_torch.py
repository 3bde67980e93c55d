# SPDX-License-Identifier: Apache-2.0
"""Fixtures for tests with real PyTorch from Debian's newer suites, each in its own folder (created once; takes minutes and 1 to
2 GB). NPUSCOPE_TORCH names an existing folder for the unstable suite."""

import os
import pathlib
import subprocess

import pytest

from conftest import BUILD, ROOT


def mirror():
    """The package mirror of this machine."""
    targets = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"],
                             capture_output=True, text=True, check=True)
    return targets.stdout.split()[0]


def folder_of(suite):
    """A folder with the PyTorch of a suite."""
    root = BUILD / ("soak-torch" if suite == "sid" else f"soak-torch-{suite}")
    if suite == "sid":
        root = pathlib.Path(os.environ.get("NPUSCOPE_TORCH", root))
    if not (root / "usr/lib/python3/dist-packages/torch").exists():
        subprocess.run(["mmdebstrap", "--variant=minbase", "--include=python3-torch",
                        '--aptopt=Acquire::Check-Valid-Until "false"', suite, str(root), mirror()], check=True)
    return root


def inside(root, script, *arguments):
    """The command that runs a script inside the folder, with /proc, /dev and the recorder's libraries of this machine."""
    mounts = []
    for folder in ("/proc", "/dev", BUILD, ROOT / "python"):
        (root / str(folder).lstrip("/")).mkdir(parents=True, exist_ok=True)
        mounts.append(f"mount --bind {folder} {root}{folder}")
    enter = " ".join(["exec chroot", str(root), "/usr/bin/python3", script, *arguments])
    return ["unshare", "-m", "sh", "-c", " && ".join([*mounts, enter])]


@pytest.fixture(scope="session")
def torch_root():
    """The folder with the newest PyTorch."""
    return folder_of("sid")
