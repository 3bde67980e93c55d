# SPDX-License-Identifier: Apache-2.0
"""The softnpu command: run, env, info, top, clean, help, the manual page, and error messages."""

import json
import os
import re
import shutil
import signal
import subprocess

import pytest

from conftest import HOME

from recorder import wait_until


HOLDER = r"""
#include <acl/acl.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int device = atoi(argv[1]);
    size_t size = strtoull(argv[2], NULL, 10);
    void *p = NULL;
    if (aclInit(NULL) != 0 || aclrtSetDevice(device) != 0) return 3;
    aclError rc = aclrtMalloc(&p, size, ACL_MEM_MALLOC_HUGE_FIRST);
    printf("%d\n", rc);
    fflush(stdout);
    getchar();
    return rc == 0 ? 0 : 4;
}
"""


@pytest.fixture(scope="module")
def holder(tmp_path_factory, compiler):
    folder = tmp_path_factory.mktemp("holder")
    source = folder / "holder.c"
    source.write_text(HOLDER)
    return compiler(folder / "holder", source, "ascendcl")


def test_run_is_transparent(softnpu):
    done = softnpu.cli("run", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == (7, "out\n", "err\n")


def test_run_passes_signals(softnpu):
    process = softnpu.start(softnpu.command, "run", "--", "sh", "-c", "trap 'exit 5' TERM; echo ready; while :; do sleep 0.05; done")
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 5


def test_run_sets_the_environment(softnpu, home):
    done = softnpu.cli("run", "--devices", "3", "--hbm", "8G", "--visible", "2,0", "--", "env")
    env = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    assert env["ASCEND_HOME_PATH"] == str(home)
    assert env["LD_LIBRARY_PATH"].split(":")[0] == f"{home}/lib64"
    assert env["SOFTNPU_DEVICES"] == "3"
    assert env["SOFTNPU_HBM"] == "8G"
    assert env["ASCEND_RT_VISIBLE_DEVICES"] == "2,0"


def test_env_prints_what_run_sets(softnpu):
    exports = softnpu.cli("env", "--devices", "3", "--soc", "Ascend910B4").stdout
    done = subprocess.run(["sh", "-c", exports + 'echo "$SOFTNPU_DEVICES $SOFTNPU_SOC"'], capture_output=True, text=True)
    assert done.stdout == "3 Ascend910B4\n"


@pytest.mark.parametrize(
    "arguments, status, text",
    [
        ([], 2, "usage"),
        (["fly"], 2, "unknown command 'fly'"),
        (["run"], 2, "needs a program"),
        (["run", "--devices", "0", "--", "true"], 2, "--devices '0'"),
        (["run", "--devices", "65", "--", "true"], 2, "--devices '65'"),
        (["run", "--hbm", "lots", "--", "true"], 2, "--hbm 'lots'"),
        (["run", "--machine", "../x", "--", "true"], 2, "--machine '../x'"),
        (["run", "--fault", "sometimes", "--", "true"], 2, "--fault 'sometimes'"),
        (["run", "--visible", "1,,2", "--", "true"], 2, "--visible '1,,2'"),
        (["run", "--colour", "--", "true"], 2, "unknown option '--colour'"),
        (["run", "--devices"], 2, "needs a value"),
        (["run", "--", "no-such-program-here"], 127, "cannot run"),
        (["run", "--", "/etc/passwd"], 126, "cannot run"),
        (["info", "extra"], 2, "takes no argument"),
        (["top", "--interval", "0"], 2, "--interval '0'"),
        (["clean", "extra"], 2, "--machine NAME"),
    ],
)
def test_usage_errors_are_explained(softnpu, arguments, status, text):
    done = softnpu.cli(*arguments)
    assert done.returncode == status
    assert text in done.stderr + done.stdout


def test_help_shows_every_command(softnpu):
    assert "softnpu run" in softnpu.cli("--help").stdout
    for command in ("run", "env", "info", "top", "clean"):
        done = softnpu.cli(command, "--help")
        assert done.returncode == 0 and f"usage: softnpu {command}" in done.stdout
    assert "oom@call=" in softnpu.cli("run", "--help").stdout


def test_man_page_is_current_and_clean(softnpu, build):
    page = softnpu.cli("help", "--man").stdout
    assert page == (build / "src/cli/softnpu/softnpu.1").read_text()
    for command in ("run", "env", "info", "top", "clean"):
        assert f".SS softnpu {command} " in page
        documented = re.findall(rf"^\\fB\\-\\-([a-z]+).*\n\(.*\b{command}\b.*\)", page, re.M)
        assert documented == re.findall(r"^  --([a-z]+)", softnpu.cli(command, "--help").stdout, re.M)
    for word in ("EXIT STATUS", "SOFTNPU_DEVICES", "SOFTNPU_CONTEXT_B", "oom@call="):
        assert word in page
    lint = subprocess.run(["sh", "-c", "command -v mandoc >/dev/null || exit 0; exec mandoc -T lint -W error"], input=page,
                          text=True, capture_output=True)
    assert lint.returncode == 0, lint.stdout


def test_info_before_the_machine_exists(softnpu):
    info = json.loads(softnpu.cli("info", "--json", SOFTNPU_DEVICES=4, SOFTNPU_HBM="2G").stdout)
    assert info["exists"] is False
    assert [d["capacity"] for d in info["devices"]] == [2 << 30] * 4
    assert info["processes"] == []
    assert "no process" in softnpu.cli("info").stdout


def test_info_shows_processes_and_drops_killed_ones(softnpu, holder):
    size = 64 << 20
    processes = [softnpu.start(holder, d, size, SOFTNPU_HBM="4G") for d in (0, 1, 1)]
    for p in processes:
        assert p.stdout.readline() == "0\n"
    info = softnpu.info()
    assert {p["pid"] for p in info["processes"]} == {p.pid for p in processes}
    assert info["devices"][0]["used"] >= size
    assert info["devices"][1]["used"] >= 2 * size
    assert info["devices"][0]["used"] < 2 * size
    text = softnpu.cli("info").stdout
    assert "holder" in text and str(processes[0].pid) in text

    processes[1].kill()
    processes[1].wait()
    wait_until(lambda: softnpu.used(1) < 2 * size)
    assert softnpu.used(1) >= size
    for p in (processes[0], processes[2]):
        p.communicate("\n")
        assert p.returncode == 0
    assert softnpu.used(0) == softnpu.used(1) == 0


def test_json_keeps_any_process_name(softnpu, holder, tmp_path):
    name = 'h\u00f6lder"\\'
    shutil.copy(holder, tmp_path / name)
    process = softnpu.start(tmp_path / name, 0, 1 << 20)
    assert process.stdout.readline() == "0\n"
    assert [p["name"] for p in softnpu.info()["processes"]] == [name]
    process.communicate("\n")


def test_memory_of_a_killed_process_is_available_to_others(softnpu, holder):
    hog = softnpu.start(holder, 0, 900 << 20, SOFTNPU_HBM="1G")
    assert hog.stdout.readline() == "0\n"
    late = softnpu.start(holder, 0, 900 << 20, SOFTNPU_HBM="1G")
    assert late.stdout.readline() == "207001\n"
    late.communicate("\n")
    hog.kill()
    hog.wait()
    after = softnpu.start(holder, 0, 900 << 20, SOFTNPU_HBM="1G")
    assert after.stdout.readline() == "0\n"
    after.communicate("\n")
    assert after.returncode == 0


def test_a_machine_in_use_keeps_its_configuration(softnpu, holder):
    user = softnpu.start(holder, 0, 1 << 20, SOFTNPU_DEVICES=2, SOFTNPU_HBM="1G")
    assert user.stdout.readline() == "0\n"
    done = softnpu.cli("run", "--devices", "5", "--", "true")
    assert done.returncode == 1
    assert "in use with 2 device(s) of 1 GiB" in done.stderr
    assert softnpu.cli("run", "--devices", "2", "--", "true").returncode == 0
    user.communicate("\n")
    assert softnpu.cli("run", "--devices", "5", "--", "true").returncode == 0


def test_clean_removes_unused_machines(softnpu, holder):
    user = softnpu.start(holder, 0, 1 << 20)
    assert user.stdout.readline() == "0\n"
    done = softnpu.cli("clean", "--machine", softnpu.name)
    assert done.returncode == 1 and "a process uses it" in done.stderr
    user.kill()
    user.wait()
    assert softnpu.info()["exists"] is True
    assert softnpu.cli("clean", "--machine", softnpu.name).returncode == 0
    assert softnpu.info()["exists"] is False
    assert softnpu.cli("clean", "--machine", softnpu.name).returncode == 0


def test_top_reports_in_a_pipe(softnpu, holder):
    user = softnpu.start(holder, 1, 32 << 20)
    assert user.stdout.readline() == "0\n"
    done = softnpu.cli("top", "--batch", "2", "--interval", "0.1")
    assert done.returncode == 0
    assert done.stdout.count("machine ") == 2
    assert "holder" in done.stdout
    last = softnpu.cli("top", "--batch", "1", "--interval", "0.1", "--json").stdout
    assert json.loads(last)["processes"][0]["pid"] == user.pid
    user.communicate("\n")


def test_top_draws_a_screen_and_quits(softnpu):
    import pty

    pid, fd = pty.fork()
    if pid == 0:
        env = softnpu.env(TERM="xterm")
        os.execve(softnpu.command, [softnpu.command, "top", "--interval", "0.1"], env)
    shown = b""
    while b"quit" not in shown:
        shown += os.read(fd, 65536)
    os.write(fd, b"q")
    assert b"capacity" in shown
    while True:
        try:
            if not os.read(fd, 65536):
                break
        except OSError:
            break
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_coverage_comes_from_the_tables(softnpu):
    done = softnpu.cli("info", "--coverage")
    assert done.returncode == 0 and "libascendcl.so" in done.stdout
    libraries = json.loads(softnpu.cli("info", "--coverage", "--json").stdout)["libraries"]
    names = {n["name"]: n for lib in libraries if lib["key"] == "acl" for n in lib["names"]}
    recommended = [n for n in names.values() if n["recommended"]]
    missing = [n["name"] for n in recommended if not n["implemented"]]
    assert missing == []
    assert names["aclrtMalloc"]["implemented"]


def test_coverage_agrees_with_the_libraries(softnpu):
    exported = {}
    for library in (HOME / "lib64").glob("*.so"):
        listed = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
        exported[library.name] = {line.split()[-1] for line in listed.splitlines()}
    everywhere = set().union(*exported.values())
    families = json.loads(softnpu.cli("info", "--coverage", "--json").stdout)["libraries"]
    for family in families:
        for name in family["names"]:
            if name["status"] == "absent":
                assert name["name"] not in everywhere, (family["key"], name)
            else:
                assert name["name"] in exported[family["file"]], (family["key"], name)
    text = softnpu.cli("info", "--coverage").stdout
    for family in families:
        counts = [sum(name["status"] == word for name in family["names"]) for word in ("implemented", "unsupported", "absent")]
        row = next(line for line in text.splitlines() if line.split()[:2] == [family["key"], family["file"]])
        assert row.split()[2:6] == [str(len(family["names"])), *map(str, counts)]
