# SPDX-License-Identifier: Apache-2.0
"""Every operator of softnpu against PyTorch on the CPU. The table of verdicts goes to BUILD/meson-logs/operators.txt, which
scripts/test-frameworks prints."""

import os
import pathlib
import subprocess

from framework_runs import ROOT, framework

BUILD = pathlib.Path(os.environ["NPUSCOPE_BUILD"])


def test_operators_equal_pytorch():
    environment = dict(os.environ, TORCH_DEVICE_BACKEND_AUTOLOAD="0", PYTHONDONTWRITEBYTECODE="1")
    done = subprocess.run([BUILD / "home/bin/softnpu", "run", "--", framework("torch-2.7.1"), "-m", "oracle"],
                          cwd=ROOT / "tests/frameworks", env=environment, capture_output=True, text=True)
    (BUILD / "meson-logs" / "operators.txt").write_text(done.stdout)
    failures = [line for line in done.stdout.splitlines() if "FAILED" in line]
    assert done.returncode == 0 and not failures, "\n".join(failures) + done.stderr
    assert " ok" in done.stdout
