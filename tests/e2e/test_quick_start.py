# SPDX-License-Identifier: Apache-2.0
"""The quick start of msMonitor's documentation, with and without certificates, up to the part that needs the plugin."""

import pathlib
import subprocess
import sys

import pytest
from monitor import Authority, install_certs


@pytest.mark.parametrize("secure", [False, True])
def test_quick_start(build, tmp_path, secure):
    certs = "NO_CERTS"
    if secure:
        ca = Authority(tmp_path / "ca")
        certs = tmp_path / "home"
        for side in ("server", "client"):
            cert, key = ca.issue(side)
            install_certs(certs / f"{side}_certs", side, cert, key, ca.cert, ca.crl())
    program = pathlib.Path(__file__).with_name("quick_start.py")
    result = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "--net", sys.executable, program, build, certs],
                            capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stdout + result.stderr
    assert ("Running in certificate mode" in result.stdout) == secure
