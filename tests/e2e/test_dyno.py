# SPDX-License-Identifier: Apache-2.0
"""dyno with npuscope's daemon: output, exit status, JSON, waiting, several hosts."""

import json
import os
import re
import subprocess

import pytest
from conftest import BUILD, ROOT
from monitor import NpuClient, OldDaemon, dyno, dyno_start
from recorder import wait_until

NO_CERTS = "Running in no-certificate mode\n"
TRACE = ["nputrace", "--start-step", "10", "--iterations", "2", "--log-file", "/tmp/profile_data"]


def text(result):
    """Standard output without the warning for root: tests may run as any user."""
    lines = result.stdout.splitlines(keepends=True)
    assert (os.getuid() == 0) == lines[0].startswith("Security Warning: Do not run this tool as root. ")
    return "".join(lines[os.getuid() == 0:])


def test_status_and_version(dynolog):
    daemon = dynolog()
    result = dyno("version", port=daemon.port)
    assert (result.returncode, text(result)) == (0, NO_CERTS + '{"version":"0.3.2"}\n')
    result = dyno("status", port=daemon.port)
    assert result.returncode == 0
    status = json.loads(text(result).removeprefix(NO_CERTS))
    assert status == {"current_step": -1, "jobs": [], "npumonitor": "Uninitialized", "nputrace": "Uninitialized", "status": 1}


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_both_protocols(dynolog, host):
    daemon = dynolog()
    assert dyno("--hostname", host, "version", port=daemon.port).returncode == 0


def test_refusal_has_a_status_and_a_reason(dynolog):
    daemon = dynolog()
    for arguments in (TRACE, ["npu-monitor", "--npu-monitor-start"], ["npu-monitor", "--npu-monitor-stop"]):
        result = dyno(*arguments, port=daemon.port)
        assert result.returncode == 3
        assert '"commandStatus":"ineffective"' in result.stdout
        assert "no process" in result.stderr
        assert dyno(*arguments, port=daemon.port, env={"DYNO_LEGACY_EXIT": "1"}).returncode == 0
        assert dyno("--legacy-exit", *arguments, port=daemon.port).returncode == 0


def test_accepted_trace(idle_job):
    daemon, process = idle_job
    result = dyno(*TRACE, port=daemon.port)
    assert result.returncode == 0
    config, _, rest = text(result).removeprefix(NO_CERTS + "NpuTrace config = \n").partition("\nresponse = ")
    assert config.startswith("ACTIVITIES_LOG_FILE=/tmp/profile_data\nPROFILE_START_ITERATION=0\nPROFILE_START_STEP=10\n")
    assert config.endswith("\nPROFILE_RANK_LIST=None")
    assert rest == (f'{{"activityProfilersBusy":0,"activityProfilersTriggered":[{process.pid}],'
                    f'"commandStatus":"effective","eventProfilersBusy":0,"eventProfilersTriggered":[],'
                    f'"processesMatched":[{process.pid}]}}\nMatched 1 processes\n'
                    f"Trace output files will be written to:\n    /tmp/profile_data\n")
    received = process.poll()
    lines = [line.strip() for line in received.splitlines() if line.strip()]
    assert lines[:-1] == config.splitlines()
    assert re.fullmatch(r"REQUEST_TRACE_ID=\d+", lines[-1])


def test_gputrace_output(idle_job):
    daemon, process = idle_job
    result = dyno("gputrace", "--log-file", "/tmp/t.json", port=daemon.port)
    assert result.returncode == 0
    config, _, rest = result.stdout.removeprefix("Kineto config = \n").partition("\nresponse length = ")
    assert config.splitlines()[:3] == ["ACTIVITIES_LOG_FILE=/tmp/t.json", "PROFILE_START_TIME=0",
                                       "ACTIVITIES_DURATION_MSECS=500"]
    length, response, *tail = rest.split("\n")
    assert int(length) == len(response.removeprefix("response = "))
    assert tail == ["", "Matched 1 processes", "Trace output files will be written to:", f"    /tmp/t_{process.pid}.json", ""]


def test_gputrace_without_match(dynolog):
    daemon = dynolog()
    result = dyno("gputrace", "--log-file", "/tmp/t.json", port=daemon.port)
    assert result.returncode == 0
    assert result.stdout.endswith("\n\nNo processes were matched, please check --job-id or --pids flags\n")
    assert dyno("gputrace", "--log-file", "/tmp/t.json", "--fail-on-no-process", port=daemon.port).returncode == 1


def test_dcgm(dynolog):
    daemon = dynolog()
    result = dyno("dcgm-pause", "--duration-s", "5", port=daemon.port)
    assert (result.returncode, result.stdout) == (3, 'response length = 16\nresponse = {"status":false}\n')
    assert dyno("dcgm-resume", port=daemon.port).stdout == 'response length = 16\nresponse = {"status":false}\n'


def test_json(idle_job):
    daemon, process = idle_job
    result = dyno("--json", *TRACE, port=daemon.port)
    answer = json.loads(result.stdout)
    assert answer["result"] == "ok" and answer["exit_code"] == 0 and answer["host"] == "localhost"
    assert answer["response"]["processesMatched"] == [process.pid]
    assert "PROFILE_START_STEP=10" in answer["config"].splitlines()
    process.poll()
    answer = json.loads(dyno("--json", "status", port=1).stdout)
    assert answer["result"] == "unreachable" and answer["exit_code"] == 101 and "refused" in answer["message"]


def test_cancel(idle_job):
    daemon, process = idle_job
    assert dyno(*TRACE, port=daemon.port).returncode == 0
    result = dyno("--json", "cancel", port=daemon.port)
    assert json.loads(result.stdout)["response"]["processesCancelled"] == [process.pid]
    assert process.poll() == ""
    assert dyno("cancel", port=daemon.port).returncode == 3


def test_wait_for_a_trace(idle_job):
    daemon, process = idle_job
    waiting = dyno_start("--wait", "--wait-timeout", "60", *TRACE, port=daemon.port)
    wait_until(process.poll)
    process.status(b"npuTraceStatus", 2, 5, 10, 12)
    wait_until(lambda: daemon.rpc(fn="getStatus")["nputrace"] == "Ready")
    process.status(b"npuTraceStatus", 1, 10, 10, 12)
    wait_until(lambda: daemon.rpc(fn="getStatus")["nputrace"] == "Running")
    assert waiting.poll() is None
    process.status(b"npuTraceStatus", 0, 12)
    out, err = waiting.communicate(timeout=30)
    assert waiting.returncode == 0, err
    assert out.endswith("1 of 1 processes are done\n")


def test_wait_times_out(idle_job):
    daemon, process = idle_job
    result = dyno("--wait", "--wait-timeout", "1", *TRACE, port=daemon.port)
    assert result.returncode == 6
    assert "not done after 1 s: 0 of 1 processes are done, others pending" in result.stderr


def test_wait_for_the_monitor(idle_job):
    daemon, process = idle_job
    start = dyno_start("--wait", "npu-monitor", "--npu-monitor-start", port=daemon.port)
    wait_until(process.poll)
    process.status(b"npuMonitorStatus", 1)
    out, err = start.communicate(timeout=30)
    assert start.returncode == 0, err


@pytest.mark.parametrize("arguments, message", [
    (["nputrace", "--start-step", "1", "--log-file", "/tmp"], "the following required arguments were not provided:\n  --iterations"),
    (["nputrace", "--iterations", "0"], "invalid value '0' for '--iterations <N>': Must be a positive integer"),
    (["nputrace", "--iterations", "1", "--start-step", "-2"], "Must be non-negative integer or -1"),
    (["nputrace", "--rank-list", "1,x"], "invalid value '1,x' for '--rank-list <LIST>'"),
    (["npu-monitor", "--filter", "x" * 1025], "The input string is too long, max allowed: 1024"),
    (["npu-monitor", "--mspti-activity-kind", "Kernels"], "Marker, Kernel, API"),
    (["npu-monitor", "--duration", "-1"], "must be a number of at least 0"),
    (["gputrace", "--log-file", "a\nACTIVITIES_ENABLED=1"], "line breaks"),
    (["status", "--iterations", "1"], "unexpected argument '--iterations' found"),
    (["status", "now"], "unexpected argument 'now' found"),
    (["--port", "65536", "status"], "invalid value '65536' for '--port <PORT>'"),
    (["--port"], "a value is required for '--port <PORT>' but none was supplied"),
    (["--json=1", "status"], "unexpected value '1' for '--json' found"),
    (["start"], "unrecognized subcommand 'start'"),
    ([], "requires a subcommand"),
    (["--hosts", "n[1-", "status"], "missing ']'"),
    (["--slurm-job", "1;reboot", "status"], "is not a job id"),
    (["completion", "fish"], "supports bash and zsh"),
])
def test_invalid_options(arguments, message):
    result = dyno(*arguments)
    assert result.returncode == 2
    assert result.stderr.startswith("error: ") and message in result.stderr
    assert result.stdout == ""


def test_log_file_must_be_a_directory(tmp_path):
    file = tmp_path / "file"
    file.touch()
    result = dyno("nputrace", "--iterations", "1", "--start-step", "1", "--log-file", file)
    assert result.returncode == 1
    assert 'Error: CliError("--log-file must be a valid directory!")' in result.stderr
    assert f"ERROR: '{file}' is not a directory" in result.stdout
    result = dyno("--certs-dir", tmp_path / "nowhere", "status")
    assert (result.returncode, result.stderr) == (1, 'Error: CliError("--certs-dir must be a valid directory!")\n')


def test_unreachable():
    result = dyno("status", port=1)
    assert result.returncode == 101
    assert result.stderr == "Couldn't connect to the server... localhost port 1: Connection refused\n"
    assert dyno("--hostname", "no.such.host.invalid", "status").returncode == 101


def test_silent_daemon_times_out(tmp_path):
    daemon = OldDaemon({"getStatus": lambda request: wait_until(lambda: False, seconds=3)})
    try:
        result = dyno("--timeout", "1", "status", port=daemon.port, timeout=20)
        assert result.returncode == 1
        assert "timed out" in result.stderr
    finally:
        daemon.server.server_close()


def test_many_hosts(dynolog):
    first, second = dynolog(), dynolog()
    hosts = f"127.0.0.1:{first.port},localhost:{second.port},127.0.0.1:1"
    result = dyno("--hosts", hosts, "status")
    assert result.returncode == 5
    header, *rows, summary = text(result).removeprefix(NO_CERTS).splitlines()
    assert header.split() == ["HOST", "RESULT", "NPUTRACE", "NPUMONITOR", "STEP", "START", "STOP", "JOBS", "DETAIL"]
    assert [row.split()[:2] for row in rows] == [[f"127.0.0.1:{first.port}", "ok"], [f"localhost:{second.port}", "ok"],
                                                 ["127.0.0.1:1", "unreachable"]]
    assert summary == "2 of 3 hosts succeeded"
    result = json.loads(dyno("--json", "--hosts", hosts, "version").stdout)
    assert (result["asked"], result["succeeded"]) == (3, 2)
    assert [host["exit_code"] for host in result["hosts"]] == [0, 0, 101]


def test_hostfile_and_common_start(dynolog, tmp_path):
    daemons = [dynolog("--enable_ipc_monitor") for _ in range(3)]
    clients = []
    for daemon in daemons:
        clients.append(NpuClient(daemon))
        clients[-1].register()
        clients[-1].poll()
    (tmp_path / "hosts").write_text("# nodes\n" + "".join(f"127.0.0.1:{daemon.port} slots=8\n" for daemon in daemons))
    result = dyno("--hostfile", tmp_path / "hosts", "--start-delay", "60", "gputrace", "--log-file", "/tmp/t_%h.json")
    assert result.returncode == 0, result.stdout
    starts = set()
    for client in clients:
        lines = [line.strip() for line in client.poll().splitlines()]
        assert "ACTIVITIES_LOG_FILE=/tmp/t_127.0.0.1.json" in lines
        starts.update(line for line in lines if line.startswith("PROFILE_START_TIME="))
        client.close()
    assert len(starts) == 1 and int(starts.pop().split("=")[1]) > 1_700_000_000_000


def test_slurm(dynolog, tmp_path):
    """squeue and scontrol are queried if present; these print what the real ones print."""
    daemon = dynolog()
    squeue = tmp_path / "squeue"
    squeue.write_text('#!/bin/sh\n[ "$3" = --jobs=4711 ] && echo "127.0.0.[1-1]"\n')
    squeue.chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    assert dyno("--slurm-job", "4711", "status", port=daemon.port, env=env).returncode == 0
    result = dyno("--slurm-job", "4711", "gputrace", "--log-file", "/tmp/t.json", port=daemon.port, env=env)
    assert "for job 4711," in daemon.log()
    squeue.write_text("#!/bin/sh\nexit 1\n")
    scontrol = tmp_path / "scontrol"
    scontrol.write_text('#!/bin/sh\necho "JobId=4711 ReqNodeList=(null) NodeList=127.0.0.[1-1] NumNodes=1"\n')
    scontrol.chmod(0o755)
    assert dyno("--slurm-job", "4711", "status", port=daemon.port, env=env).returncode == 0
    scontrol.unlink()
    result = dyno("--slurm-job", "4711", "status", port=daemon.port, env=env)
    assert result.returncode == 2 and "neither squeue nor scontrol" in result.stderr


def test_help_and_versions():
    assert dyno("--version").stdout.startswith("dyno ")
    overview = dyno("--help")
    assert overview.returncode == 0 and "npu-monitor" in overview.stdout and "101" in overview.stdout
    for arguments in (["help", "nputrace"], ["nputrace", "--help"]):
        assert "--start-step STEP" in dyno(*arguments).stdout


def test_completion(tmp_path):
    script = tmp_path / "dyno.bash"
    script.write_text(dyno("completion", "bash").stdout)

    def complete(*words):
        line = " ".join(f'"{word}"' for word in words)
        code = f'source {script}; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _dyno; printf "%s\\n" "${{COMPREPLY[@]}}"'
        return subprocess.run(["bash", "-c", code], capture_output=True, text=True).stdout.split()

    assert complete("dyno", "npu") == ["nputrace", "npu-monitor"]
    assert complete("dyno", "nputrace", "--start") == ["--start-step"]
    assert complete("dyno", "nputrace", "--profiler-level", "") == ["Level0", "Level1", "Level2", "Level_none"]
    assert complete("dyno", "npu-monitor", "--export-type", "") == ["DB", "Jsonl"]
    assert subprocess.run(["sh", "-c", "command -v zsh >/dev/null || exit 0; exec zsh -n /dev/stdin"], text=True,
                          input=dyno("completion", "zsh").stdout).returncode == 0


def test_man_page_is_valid_and_current():
    page = dyno("completion", "man").stdout
    assert (BUILD / "src/cli/dyno/pages/dyno.1").read_text() == page
    for word in ("\\-\\-start\\-step", "EXIT STATUS", "npu\\-monitor"):
        assert word in page
    lint = subprocess.run(["sh", "-c", "command -v mandoc >/dev/null || exit 0; exec mandoc -T lint -W error"], input=page,
                          text=True, capture_output=True)
    assert lint.returncode == 0, lint.stdout


def test_reference_is_current():
    page = (ROOT / "docs/reference/dyno.md").read_text()
    marker = "<!-- From here on printed by: dyno completion markdown -->\n\n"
    assert page.partition(marker)[2] == dyno("completion", "markdown").stdout
