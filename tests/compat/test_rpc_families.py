# SPDX-License-Identifier: Apache-2.0
"""Both families on the wire: command lines written from the published bytes with our daemon, and their daemons with our
command line."""

import json
import socket
import struct

import pytest
from monitor import NpuClient, OldDaemon, call, dyno, old_cli, old_request, receive
from recorder import wait_until

MONITOR = ("NPU_MONITOR_START=true\nNPU_MONITOR_STOP=false\nREPORT_INTERVAL_S=30\nDURATION=0\nMSPTI_ACTIVITY_KIND=Marker,Kernel\n"
           "NPU_MONITOR_LOG_FILE=\nNPU_MONITOR_EXPORT_TYPE=DB\nJSONL_ROTATE_LOG_LINES=\nJSONL_ROTATE_LOG_FILES=\n"
           "NPU_MONITOR_FILTER=")
KINETO = "ACTIVITIES_LOG_FILE=/tmp/t.json\nPROFILE_START_TIME=0\nACTIVITIES_DURATION_MSECS=500"
VERSION_REQUEST = bytes.fromhex("13000000 7b22666e223a2267657456657273696f6e227d")
VERSION_ANSWER = bytes.fromhex("13000000 7b2276657273696f6e223a22302e332e32227d")


def test_version_bytes(dynolog):
    """The dump of the specification, in both directions; then the daemon closes, as scripts that read until the end
    expect."""
    daemon = dynolog()
    with daemon.connect() as sock:
        sock.sendall(VERSION_REQUEST)
        assert receive(sock, len(VERSION_ANSWER)) == VERSION_ANSWER
        assert sock.recv(1) == b""


def test_half_closed_requests_are_answered(dynolog):
    daemon = dynolog()
    with daemon.connect() as sock:
        sock.sendall(VERSION_REQUEST)
        sock.shutdown(socket.SHUT_WR)
        assert receive(sock, len(VERSION_ANSWER)) == VERSION_ANSWER
        assert sock.recv(1) == b""


def test_fork_effective(idle_job):
    daemon, client = idle_job
    expected = (f'{{"activityProfilersBusy":0,"activityProfilersTriggered":[{client.pid}],"commandStatus":"effective",'
                f'"eventProfilersBusy":0,"eventProfilersTriggered":[],"processesMatched":[{client.pid}]}}')
    assert old_cli(daemon.port, old_request(MONITOR)) == expected
    received = client.poll()
    assert [line.strip() for line in received.strip().splitlines()][:-1] == MONITOR.splitlines()


def test_fork_refused(dynolog):
    daemon = dynolog()
    answer = json.loads(old_cli(daemon.port, old_request(MONITOR)))
    assert answer.pop("reason")
    assert answer == {"commandStatus": "ineffective"}


def test_upstream_never_panics(dynolog):
    """Upstream's command line assumes that processesMatched exists."""
    daemon = dynolog()
    answer = json.loads(old_cli(daemon.port, old_request(KINETO, job=7, pids="1,2")))
    assert answer["processesMatched"] == [] and answer["activityProfilersTriggered"] == []
    assert {"activityProfilersBusy", "eventProfilersBusy", "eventProfilersTriggered"} <= answer.keys()


def test_upstream_effective(idle_job):
    daemon, client = idle_job
    answer = json.loads(old_cli(daemon.port, old_request(KINETO)))
    assert answer["activityProfilersTriggered"] == answer["processesMatched"] == [client.pid]
    second = json.loads(old_cli(daemon.port, old_request(KINETO)))
    assert (second["activityProfilersBusy"], second["activityProfilersTriggered"]) == (1, [])
    assert second["processesMatched"] == [client.pid]


def test_status_satisfies_both(dynolog):
    status = json.loads(old_cli(dynolog().port, b'{"fn":"getStatus"}'))
    assert status["status"] == 1
    assert (status["current_step"], status["nputrace"], status["npumonitor"]) == (-1, "Uninitialized", "Uninitialized")


@pytest.mark.parametrize("request_text, answer", [
    ('{"fn":"setKinetOnDemandRequest","config":"A=1"}', '{"status":"failed"}'),
    ('{"fn":"setKinetOnDemandRequest","pids":[0]}', '{"status":"failed"}'),
    ('{"fn":"dcgmProfPause"}', '{"status":"failed"}'),
    ('{"fn":"dcgmProfPause","duration_s":300}', '{"status":false}'),
    ('{"fn":"dcgmProfResume"}', '{"status":false}'),
    ('\n\t {"fn" : "getVersion"} \n', '{"version":"0.3.2"}'),
])
def test_exact_answers(dynolog, request_text, answer):
    assert old_cli(dynolog().port, request_text.encode()) == answer


@pytest.mark.parametrize("fields", ['"config":"A=1","pids":["1"]', '"config":1,"pids":[0]', '"config":"A","pids":0',
                                    '"config":"A","pids":[0],"job_id":"x"', '"config":"A","pids":[0],"process_limit":-1',
                                    '"config":"A","pids":[99999999999]', '"config":"\\u001b[2J","pids":[0]'])
def test_wrong_types(dynolog, fields):
    answer = json.loads(old_cli(dynolog().port, ('{"fn":"setKinetOnDemandRequest",%s}' % fields).encode()))
    assert answer.keys() == {"status"}
    assert answer["status"].startswith("failed with exception = ")


@pytest.mark.parametrize("body", [b"x", b"[]", b"{}", b'{"fn":1}', b'{"fn":"nothing"}', b"{" * 3000, b'{"a":' * 11 + b"1" + b"}" * 11,
                                  b'{"fn":"getStatus","fn":"getVersion"}', b"\xff\xfe\x00", b'{"fn":"getStatus"} x'])
def test_invalid_requests_get_an_answer(dynolog, body):
    daemon = dynolog()
    with daemon.connect() as sock:
        answer = json.loads(call(sock, body))
        assert answer["status"] == "failed" and answer["error"]
        assert call(sock, b'{"fn":"getVersion"}') == b'{"version":"0.3.2"}'


@pytest.mark.parametrize("length", [0, -1, -(1 << 31), 65537, (1 << 31) - 1])
def test_wrong_lengths_get_an_answer(dynolog, length):
    daemon = dynolog()
    with daemon.connect() as sock:
        sock.sendall(struct.pack("=i", length) + b"{" * 100)
        answer = json.loads(receive(sock, struct.unpack("=i", receive(sock, 4))[0]))
        assert answer["status"] == "failed" and "65536" in answer["error"]
        assert sock.recv(1) == b""


def test_largest_request(dynolog):
    daemon = dynolog()
    body = b'{"fn":"getVersion"' + b" " * (65536 - 19) + b"}"
    with daemon.connect() as sock:
        assert call(sock, body) == b'{"version":"0.3.2"}'


def test_many_requests_on_a_connection(dynolog):
    """One after the other, and pipelined."""
    daemon = dynolog()
    with daemon.connect() as sock:
        for _ in range(100):
            assert call(sock, b'{"fn":"getVersion","keep":true}') == b'{"version":"0.3.2"}'
        sock.sendall(VERSION_REQUEST * 5000)
        assert receive(sock, 5000 * len(VERSION_ANSWER)) == VERSION_ANSWER * 5000


# ---- our command line with their daemons ----

FORK = {
    "getStatus": b'{"current_step":1,"npumonitor":"Idle","nputrace":"Ready","start_step":5,"stop_step":10}',
    "getVersion": b'{"version":"0.3.2"}',
    "setKinetOnDemandRequest":
        b'{"activityProfilersBusy":0,"activityProfilersTriggered":[4242],"commandStatus":"effective","eventProfilersBusy":0,'
        b'"eventProfilersTriggered":[],"processesMatched":[4242]}',
}
UPSTREAM = {
    "getStatus": b'{"status":1}',
    "getVersion": b'{"version":"0.6.0"}',
    "dcgmProfPause": b'{"status":true}',
    "dcgmProfResume": b'{"status":true}',
    "setKinetOnDemandRequest":
        b'{"activityProfilersBusy":0,"activityProfilersTriggered":[151419],"eventProfilersBusy":0,"eventProfilersTriggered":[],'
        b'"processesMatched":[151419]}',
}


@pytest.fixture
def old_daemon():
    daemons = []

    def start(answers, **options):
        daemons.append(OldDaemon(answers, **options))
        return daemons[-1]

    yield start
    for daemon in daemons:
        daemon.close()


def test_requests_to_the_fork(old_daemon):
    daemon = old_daemon(FORK)
    result = dyno("npu-monitor", "--npu-monitor-start", "--report-interval-s", "30", "--mspti-activity-kind", "Marker,Kernel",
                  port=daemon.port)
    assert result.returncode == 0
    assert daemon.requests == [old_request(MONITOR)]
    assert result.stdout.endswith(f"Npu monitor config = \n{MONITOR}\nresponse = {FORK['setKinetOnDemandRequest'].decode()}\n")
    result = dyno("status", port=daemon.port)
    assert result.stdout.splitlines()[-1] == FORK["getStatus"].decode()
    assert json.loads(daemon.requests[-1]) == {"fn": "getStatus"}


@pytest.mark.parametrize("answer, status", [(b'{"commandStatus":"ineffective"}', 3), (b'{"commandStatus":"unknown"}', 4),
                                            (b'{"status":"failed"}', 1), (b"nonsense", 1)])
def test_refusals_of_the_fork(old_daemon, answer, status):
    daemon = old_daemon({"setKinetOnDemandRequest": answer})
    result = dyno("npu-monitor", "--npu-monitor-stop", port=daemon.port)
    assert result.returncode == status
    assert result.stdout.endswith(f"response = {answer.decode()}\n")


def test_upstream_commands(old_daemon):
    daemon = old_daemon(UPSTREAM)
    result = dyno("gputrace", "--log-file", "/tmp/t.json", "--job-id", "7", "--pids", "1,2", "--process-limit", "8",
                  port=daemon.port)
    assert result.returncode == 0
    request = json.loads(daemon.requests[-1])
    assert (request["job_id"], request["pids"], request["process_limit"]) == (7, [1, 2], 8)
    answer = UPSTREAM["setKinetOnDemandRequest"].decode()
    assert result.stdout.endswith(f"response length = {len(answer)}\nresponse = {answer}\n\nMatched 1 processes\n"
                                  "Trace output files will be written to:\n    /tmp/t_151419.json\n")
    assert dyno("dcgm-pause", port=daemon.port).returncode == 0
    assert daemon.requests[-1] == b'{"fn":"dcgmProfPause","duration_s":300}'
    assert dyno("dcgm-resume", port=daemon.port).returncode == 0
    assert dyno("status", port=daemon.port).returncode == 0


def test_missing_answer_is_explained(old_daemon):
    daemon = old_daemon({})
    result = dyno("status", port=daemon.port)
    assert result.returncode == 1
    assert "closed the connection without an answer" in result.stderr
    result = dyno("cancel", port=daemon.port)
    assert result.returncode == 1 and "for unknown functions" in result.stderr


def test_wait_with_the_fork(old_daemon):
    """It reports one state for all processes: active first, then idle."""
    states = ["Idle", "Ready", "Running", "Idle"]

    def status(request):
        return json.dumps({"current_step": 1, "npumonitor": "Idle", "nputrace": states.pop(0)}).encode()

    daemon = old_daemon(FORK | {"getStatus": status})
    result = dyno("--wait", "nputrace", "--start-step", "5", "--iterations", "1", "--log-file", "/tmp", port=daemon.port)
    assert (result.returncode, states) == (0, [])


def test_user_text_is_escaped(old_daemon):
    """The originals do not escape quotes in their JSON."""
    daemon = old_daemon(UPSTREAM)
    assert dyno("gputrace", "--log-file", '/tmp/"a\\b.json', port=daemon.port).returncode == 0
    assert json.loads(daemon.requests[-1])["config"].splitlines()[0] == 'ACTIVITIES_LOG_FILE=/tmp/"a\\b.json'
