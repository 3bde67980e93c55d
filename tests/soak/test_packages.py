# SPDX-License-Identifier: Apache-2.0
"""The rpm is built, installed and run; a real Prometheus scrapes a thousand daemons."""

import json
import os
import subprocess

from conftest import BUILD, ROOT
from reporting import ReportingDaemon


def run(*argv, **more):
    return subprocess.run([str(a) for a in argv], capture_output=True, text=True, **more)


def test_rpm_can_be_installed(tmp_path):
    result = run(ROOT / "deploy/packaging/build-package", "rpm", BUILD, tmp_path)
    assert result.returncode == 0, result.stderr
    package = result.stdout.strip()
    assert os.path.basename(package).startswith("dynolog-")
    names = run("rpm", "-qlp", package).stdout.splitlines()
    for name in ("/usr/bin/dynolog", "/usr/bin/dyno", "/usr/lib/systemd/system/dynolog.service", "/etc/dynolog.gflags",
                 "/etc/logrotate.d/dynolog.conf", "/usr/share/man/man8/dynolog.8.gz"):
        assert name in names
    assert "/etc/dynolog.gflags" in run("rpm", "-qcp", package).stdout
    root = tmp_path / "root"
    root.mkdir()
    result = run("rpm", "--root", root, "--dbpath", "/var/lib/rpm", "-ivh", "--nodeps", "--noscripts", package)
    assert result.returncode == 0, result.stderr
    daemon = ReportingDaemon(tmp_path, program=root / "usr/bin/dynolog")
    assert daemon.stop() == 0


def test_prometheus_scrapes_thousand_nodes():
    result = run(ROOT / "scripts/simulate-cluster", BUILD, "--nodes", 1000, "--seconds", 45, timeout=400)
    assert result.returncode == 0, result.stdout + result.stderr
    figures = json.loads(result.stdout)
    assert figures["nodes_down"] == 0 and figures["hosts_seen"] == 1000
    assert figures["scrapes_over_limit"] == 0
    # Every node every 15 seconds, as configured: no scrape is late or missing.
    expected = 1000 * (figures["page_samples"] + 5) / 15
    assert figures["samples_per_s"] > 0.9 * expected
