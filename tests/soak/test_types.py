"""The Python packages are typed, and mypy has nothing to say about them."""

import os
import subprocess
import sys

from conftest import ROOT


def test_types():
    done = subprocess.run([sys.executable, "-m", "mypy", f"--cache-dir={os.devnull}"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
