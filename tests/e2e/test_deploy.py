# SPDX-License-Identifier: Apache-2.0
"""The contents of deploy/ work: programs accept their configurations, packages can be built and installed."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import time

import pytest
import yaml

from conftest import BUILD, ROOT
from monitor import DYNOLOG
from recorder import wait_until
from reporting import ReportingDaemon

DEPLOY = ROOT / "deploy"


def run(*argv, **more):
    return subprocess.run([str(a) for a in argv], capture_output=True, text=True, **more)


def metric_table():
    """name -> (type, labels), from the reference page printed by the build."""
    page = run(BUILD / "src/monitor/store/metrics_reference").stdout
    rows = re.findall(r"^\| `(\w+)` \| (counter|gauge|histogram) \| \S+ \| (.*?) \| \d+ \|", page, re.M)
    assert len(rows) > 50
    return {name: (kind, set(re.findall(r"`(\w+)`", labels))) for name, kind, labels in rows}


def check_expression(expression, table, recorded=()):
    """Every metric in a query exists and has the labels used in it."""
    given = {"cluster", "host", "job", "instance", "le"}
    plain = re.sub(r'"(?:[^"\\]|\\.)*"', '""', expression)
    for match in re.finditer(r"\b([a-z]\w*_\w+)\b(?:\{([^}]*)\})?(?!\s*\()", plain):
        name, selector = match.groups()
        if name in recorded or name in ("group_left", "count_values") or name.startswith("__"):
            continue
        base = re.sub(r"_(bucket|sum|count)$", "", name)
        base = base if base in table and table[base][0] == "histogram" else name
        assert base in table, f"{name} in {expression}"
        for label in re.findall(r"(\w+)\s*[=!]", selector or ""):
            assert label in table[base][1] | given, f"{label} of {name} in {expression}"


def test_reference_page_is_up_to_date():
    page = run(BUILD / "src/monitor/store/metrics_reference").stdout
    assert (ROOT / "docs/reference/metrics.md").read_text() == page, "run: scripts/metrics-reference build"


def test_prometheus_configuration():
    result = run("promtool", "check", "config", "prometheus.yml", cwd=DEPLOY / "prometheus")
    assert result.returncode == 0, result.stdout + result.stderr
    rules = yaml.safe_load((DEPLOY / "prometheus/rules.yml").read_text())
    all_rules = [rule for group in rules["groups"] for rule in group["rules"]]
    recorded = {rule["record"].split(":")[1] for rule in all_rules if "record" in rule}
    table = metric_table()
    for rule in all_rules:
        check_expression(re.sub(r"\w+:(\w+):\w+", r"\1", rule["expr"]), table, recorded)
    config = yaml.safe_load((DEPLOY / "prometheus/prometheus.yml").read_text())
    page = run(BUILD / "src/monitor/store/metrics_reference").stdout
    groups = set(re.findall(r"^## Group `(\w+)`", page, re.M))
    scraped = [g for job in config["scrape_configs"] for g in job["params"]["collect[]"]]
    assert set(scraped) == groups - {"legacy"} and len(scraped) == len(set(scraped))


def test_targets_from_a_host_list(tmp_path):
    tool = DEPLOY / "prometheus/targets"
    result = run(tool, "9090", 'a"b', input="n1\n# comment\n\n  n2\n10.0.0.3\n")
    (entry,) = json.loads(result.stdout)
    assert entry == {"targets": ["n1:9090", "n2:9090", "10.0.0.3:9090"], "labels": {"cluster": 'a"b'}}
    bad = run(tool, input='n1\nrm -rf "x\n')
    assert bad.returncode != 0 and "not a host name" in bad.stderr
    assert run(tool, "80a", input="").returncode == 2


def test_dashboard(tmp_path):
    board = json.loads((DEPLOY / "grafana/dynolog.json").read_text())
    panels = board["panels"]
    assert len({p["id"] for p in panels}) == len(panels)
    cells = set()
    for p in panels:
        g = p["gridPos"]
        assert g["x"] + g["w"] <= 24
        mine = {(x, y) for x in range(g["x"], g["x"] + g["w"]) for y in range(g["y"], g["y"] + g["h"])}
        assert not mine & cells, p["title"]
        cells |= mine
    table = metric_table()
    expressions = [t["expr"] for p in panels for t in p.get("targets", [])]
    expressions += [v["query"]["query"] for v in board["templating"]["list"] if v["type"] == "query"]
    assert len(expressions) > 25
    for e in expressions:
        check_expression(re.sub(r"label_values\((.*), \w+\)", r"\1", e), table)
    # Prometheus itself parses the queries if they are in a rules file.
    queries = [e.replace("$__rate_interval", "5m") for e in expressions if not e.startswith("label_values")]
    rules = {"groups": [{"name": "g", "rules": [{"record": f"a{i}", "expr": e} for i, e in enumerate(queries)]}]}
    (tmp_path / "rules.yml").write_text(yaml.safe_dump(rules))
    result = run("promtool", "check", "rules", tmp_path / "rules.yml")
    assert result.returncode == 0, result.stdout + result.stderr


def flags_are_accepted(text, tmp_path):
    path = tmp_path / "flags"
    path.write_text(text)
    result = run(DYNOLOG, f"--flagfile={path}", "--version")
    assert result.returncode == 0 and "version" in result.stdout, result.stderr


def test_daemonset(tmp_path):
    documents = list(yaml.safe_load_all((DEPLOY / "kubernetes/daemonset.yaml").read_text()))
    by_kind = {d["kind"]: d for d in documents}
    assert set(by_kind) == {"Namespace", "ConfigMap", "DaemonSet", "Service"}
    spec = by_kind["DaemonSet"]["spec"]
    template = spec["template"]
    assert spec["selector"]["matchLabels"] == template["metadata"]["labels"] == by_kind["Service"]["spec"]["selector"]
    pod = template["spec"]
    (container,) = pod["containers"]
    assert {m["name"] for m in container["volumeMounts"]} == {v["name"] for v in pod["volumes"]}
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert all(d["metadata"].get("namespace") == "dynolog" for d in documents if d["kind"] != "Namespace")
    flags = by_kind["ConfigMap"]["data"]["dynolog.gflags"]
    flags_are_accepted(flags, tmp_path)
    port = int(re.search(r"prometheus_port=(\d+)", flags).group(1))
    assert port in [p["containerPort"] for p in container["ports"]]


def fake(directory, name, body):
    path = directory / name
    path.write_text("#!/bin/sh\n" + body)
    path.chmod(0o755)


@pytest.fixture
def node(tmp_path):
    """A node with fake programs that log their calls in `calls`."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("sh", "sleep", "timeout", "cat", "touch", "env"):
        (programs / name).symlink_to(shutil.which(name))
    fake(programs, "logger", f'echo "logger $*" >>{tmp_path}/calls\n')
    fake(programs, "dyno", f'echo "dyno $*" >>{tmp_path}/calls\n[ -e {tmp_path}/up ]\n')
    fake(programs, "setsid", 'exec "$@"\n')

    class Node:
        directory = tmp_path
        calls = staticmethod(lambda: (tmp_path / "calls").read_text() if (tmp_path / "calls").exists() else "")
        add = staticmethod(lambda name, body: fake(programs, name, body))

        @staticmethod
        def prolog(script="prolog.sh", **env):
            return run("/bin/sh", DEPLOY / "slurm" / script, timeout=30,
                       env={"PATH": str(programs), "SLURM_JOB_ID": "42", "DYNOLOG_WAIT_S": "1",
                            "DYNOLOG_FLAGFILE": str(tmp_path / "gflags")} | env)

    return Node


def test_prolog_with_a_running_daemon(node):
    (node.directory / "up").touch()
    assert node.prolog().returncode == 0
    assert node.calls() == "dyno --certs-dir NO_CERTS status\n"


def test_prolog_starts_the_unit(node):
    up = node.directory / "up"
    node.add("systemctl", f'echo "systemctl $*" >>{node.directory}/calls\n[ "$1" != start ] || touch {up}\n')
    assert node.prolog(DYNOLOG_CERTS_DIR="/certs").returncode == 0
    assert "systemctl start dynolog.service" in node.calls() and "--certs-dir /certs status" in node.calls()
    assert "logger" not in node.calls()


def test_prolog_without_systemd(node):
    node.add("dynolog", f'echo "dynolog $*" >>{node.directory}/calls\ntouch {node.directory}/up\n')
    (node.directory / "gflags").touch()
    assert node.prolog().returncode == 0
    assert f"dynolog --flagfile={node.directory}/gflags" in node.calls() and "logger" not in node.calls()


@pytest.mark.parametrize("systemctl", [None, "exit 0\n", '[ "$1" = cat ]\n', '[ "$1" = cat ] || exec sleep 60\n'])
def test_prolog_never_drains_a_node(node, systemctl):
    if systemctl:
        node.add("systemctl", systemctl)
    begun = time.monotonic()
    assert node.prolog().returncode == 0
    assert time.monotonic() - begun < 10
    assert "logger -t dynolog-prolog job 42: " in node.calls()


def test_task_prolog(node):
    assert node.prolog("task_prolog.sh").stdout == "export MSMONITOR_USE_DAEMON=1\n"
    assert node.prolog("task_prolog.sh", MSMONITOR_USE_DAEMON="0").stdout == ""
    assert node.prolog("task_prolog.sh", DYNOLOG_KINETO="1", MSMONITOR_USE_DAEMON="").stdout == "export KINETO_USE_DAEMON=1\n"


def test_scripts_are_clean():
    scripts = [DEPLOY / p for p in ("prometheus/targets", "slurm/prolog.sh", "slurm/task_prolog.sh", "packaging/build-package",
                                    "packaging/postinst", "packaging/prerm", "packaging/postrm")]
    result = run("shellcheck", *scripts)
    assert result.returncode == 0, result.stdout


def test_unit_and_its_flags(tmp_path):
    unit = (DEPLOY / "systemd/dynolog.service").read_text()
    (tmp_path / "dynolog.service").write_text(unit.replace("/usr/bin/dynolog", str(DYNOLOG)))
    result = run("systemd-analyze", "verify", "--man=no", tmp_path / "dynolog.service")
    mine = [line for line in result.stderr.splitlines() if "dynolog" in line and "User=" not in line]
    assert mine == [] and result.returncode == 0, result.stderr
    flags_are_accepted((DEPLOY / "systemd/dynolog.gflags").read_text(), tmp_path)
    result = run("systemd-sysusers", "--dry-run", DEPLOY / "systemd/dynolog.sysusers")
    assert result.returncode == 0, result.stderr


def test_packaged_flags_start_a_daemon(tmp_path):
    """The unit's flag file, except for names that only one daemon per machine can use."""
    daemon = ReportingDaemon(tmp_path, f"--flagfile={DEPLOY}/systemd/dynolog.gflags", "--port=0", f"--ipc_name=pkg{os.getpid()}",
                    f"--ipc_socket_dir={tmp_path}", "--ipc_socket_group=", f"--state_file={tmp_path}/state",
                    f"--log_file={tmp_path}/dynolog.log")
    assert (tmp_path / "dynolog").is_socket()
    assert daemon.stop() == 0


def test_log_is_rotated(tmp_path):
    daemon = ReportingDaemon(tmp_path)
    try:
        conf = (DEPLOY / "logrotate/dynolog.conf").read_text()
        assert "systemctl reload dynolog.service" in conf
        conf = conf.replace("/var/log/dynolog.log", str(daemon.log_path)).replace("dynolog adm", "root root")
        conf = conf.replace("systemctl reload dynolog.service", f"kill -HUP {daemon.process.pid}")
        conf = conf.replace("root root", f"{os.getuid()} {os.getgid()}") if os.getuid() else conf
        path = tmp_path / "logrotate.conf"
        path.write_text(conf)
        path.chmod(0o600)
        tmp_path.chmod(0o700)
        result = run("/usr/sbin/logrotate", "--force", "--state", tmp_path / "state", path)
        assert result.returncode == 0, result.stderr
        wait_until(lambda: "reloaded" in daemon.log(), "a line in the new file")
        (old,) = tmp_path.glob("dynolog.log-*")
        assert "] ready" in old.read_text() and "] ready" not in daemon.log()
    finally:
        assert daemon.stop() == 0


@pytest.fixture(scope="module")
def deb(tmp_path_factory):
    out = tmp_path_factory.mktemp("deb")
    result = run(DEPLOY / "packaging/build-package", "deb", BUILD, out, env=os.environ | {"SOURCE_DATE_EPOCH": "1"})
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def test_deb(deb, tmp_path):
    control = run("dpkg-deb", "--field", deb).stdout
    assert "Package: dynolog\n" in control and "libevent" in control and "libssl" in control
    root = tmp_path / "root"
    (root / "var/lib/dpkg/info").mkdir(parents=True)
    (root / "var/lib/dpkg/updates").mkdir()
    (root / "var/lib/dpkg/status").touch()
    result = run("dpkg", f"--root={root}", "--force-depends", "--force-script-chrootless", "--force-not-root",
                 "--install", deb, env=os.environ | {"PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"})
    assert result.returncode == 0, result.stderr
    for path in ("usr/bin/dynolog", "usr/bin/dyno", "usr/lib/systemd/system/dynolog.service", "etc/dynolog.gflags",
                 "etc/logrotate.d/dynolog.conf", "usr/lib/sysusers.d/dynolog.conf", "usr/share/man/man8/dynolog.8.gz",
                 "usr/share/man/man1/dyno.1.gz", "usr/share/bash-completion/completions/dyno"):
        assert (root / path).is_file(), path
    assert run(root / "usr/bin/dynolog", "--version").returncode == 0
    assert run(root / "usr/bin/dyno", "--version").returncode == 0
    daemon = ReportingDaemon(tmp_path, program=root / "usr/bin/dynolog")
    assert daemon.stop() == 0
    # Changes by an administrator survive reinstallation and removal.
    (root / "etc/dynolog.gflags").write_text("# mine\n")
    for action in (["--install", deb], ["--remove", "dynolog"]):
        result = run("dpkg", f"--root={root}", "--force-depends", "--force-script-chrootless", "--force-confold", *action,
                     env=os.environ | {"PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"})
        assert result.returncode == 0, result.stderr
        assert (root / "etc/dynolog.gflags").read_text() == "# mine\n"
    assert not (root / "usr/bin/dynolog").exists()


def test_deb_is_reproducible(deb, tmp_path):
    again = run(DEPLOY / "packaging/build-package", "deb", BUILD, tmp_path, env=os.environ | {"SOURCE_DATE_EPOCH": "1"})
    digest = [hashlib.sha256(open(p, "rb").read()).hexdigest() for p in (deb, again.stdout.strip())]
    assert digest[0] == digest[1]
