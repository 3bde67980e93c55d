# SPDX-License-Identifier: Apache-2.0
"""The daemon's metrics as users see them: /metrics, the log, event files, an OTLP receiver, a real Prometheus."""

import http.server
import json
import os
import re
import socket
import ssl
import struct
import subprocess
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request

import pytest

from recorder import wait_until
from reporting import ReportingClient, ReportingDaemon, opstats
from otlp_check import check_request
from tfevents import read_events

KINDS = ["Marker", "Kernel", "API", "AclAPI", "NodeAPI", "RuntimeAPI", "Hccl", "Memory", "MemSet", "MemCpy", "Communication"]
MODERN = ["host", "process", "npu", "activity", "operator", "daemon"]


@pytest.fixture
def start(tmp_path):
    started = []

    def begin(*flags, **more):
        daemon = ReportingDaemon(tmp_path, *flags, **more)
        started.append(daemon)
        return daemon

    yield begin
    for status in [daemon.stop() for daemon in started]:
        assert status == 0


def report(kind, device=0, duration=5_000_000, **more):
    return json.dumps({"deviceId": device, "duration": duration, "kind": kind, "timestamp": 1735689600000000000} | more,
                      separators=(",", ":"), sort_keys=True)


def lint(text):
    """The complaints of promtool; a format error fails at once."""
    result = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
    assert result.returncode in (0, 3), result.stderr
    return (result.stdout + result.stderr).splitlines()


def test_activity_of_a_job_is_visible(start, softnpu, home):
    daemon = start("--use_prometheus", "--kernel_monitor_reporting_interval_s=1", "--process_reporting_interval_s=1",
                   "--npu_reporting_interval_s=1", env={"SOFTNPU_MACHINE": softnpu.name, "SOFTNPU_DEVICES": "2"})
    training = softnpu.start(home / "bin/acl-train", "--devices", "1", "--steps", "100000", SOFTNPU_DEVICES=2)
    client = ReportingClient(daemon, job=77, rank=3)
    try:
        client.register()
        for kind in KINDS:
            client.data(report(kind, device=1))
        client.data(report("API", device=-1))
        client.data(report("Marker", device=4294967295, domain="train", name="forward"))
        client.opstats(opstats({"MatMulV3": [1000, 900_000, 1_000_000], "Add": [2000]}, device=1, rank=3, lost=4))
        wait_until(lambda: daemon.value("npu_records_lost_total", job="77"), "the last message")
        for kind in KINDS:
            assert daemon.value("npu_activity_seconds_total", job="77", rank="3", device="1", kind=kind) == 0.005
        assert daemon.value("npu_activity_reports_total", device="host", kind="API") == 1
        assert daemon.value("npu_marker_duration_seconds_count", device="host", domain="train", name="forward") == 1
        operator = dict(job="77", rank="3", device="1", kind="Kernel", name="MatMulV3")
        assert daemon.value("npu_operator_duration_seconds_bucket", le="1.024e-06", **operator) == 1
        assert daemon.value("npu_operator_duration_seconds_bucket", le="0.001048576", **operator) == 3
        assert daemon.value("npu_operator_duration_seconds_count", **operator) == 3
        assert daemon.value("npu_operator_duration_seconds_sum", **operator) == pytest.approx(0.001901)
        assert daemon.value("npu_operator_duration_max_seconds", **operator) == 0.001
        # This process and its memory; the device memory of the training process, and its owner.
        wait_until(lambda: daemon.value("job_process_resident_bytes", job="77", rank="3", pid=os.getpid()), "own memory")
        assert daemon.value("job_process_threads", pid=os.getpid()) >= 1
        wait_until(lambda: daemon.value("npu_process_memory_bytes", device="0", pid=training.pid), "memory on the device")
        assert daemon.value("npu_memory_used_bytes", device="0") > 0
        assert daemon.value("npu_health_status", device="1") == 0
        wait_until(lambda: daemon.value("cpu_util") is not None, "the second sample of /proc")
        assert daemon.value("host_cpu_seconds_total", mode="user") > 0
        assert daemon.value("dynolog_ipc_messages_total", kind="data") == len(KINDS) + 2
        assert daemon.value("dynolog_build_info") == 1
        # Names and help follow Prometheus conventions, except those chosen by upstream.
        assert lint(daemon.metrics(*MODERN)) == []
        assert all(re.match(r"cpu_\w+ metric names should not contain abbreviated units", x) for x in lint(daemon.metrics()))
    finally:
        training.kill()
        training.communicate()
        client.close()
    wait_until(lambda: daemon.value("npu_process_memory_bytes", pid=training.pid) is None, "the end of the training")


HELPER = """
import os, sys, time
sys.path[:0] = sys.argv[2].split(":")
from reporting import ReportingClient
class Daemon: name = sys.argv[1]
parent = os.getpid()
if os.fork() == 0:
    client = ReportingClient(Daemon, job=0, rank=2)
    client.register()
    print(parent, flush=True)
    while os.getppid() == parent:
        time.sleep(0.5)
        client.poll()
else:
    time.sleep(60)
"""


def test_training_process_behind_a_helper(start):
    """torch_npu forks a process to talk to the daemon and registers with job 0: the training process itself must be
    shown."""
    daemon = start("--use_prometheus", "--process_reporting_interval_s=1", "--noenable_npu_metrics")
    paths = os.pathsep.join(p for p in sys.path if p)
    training = subprocess.Popen([sys.executable, "-c", HELPER, daemon.name, paths], stdout=subprocess.PIPE, text=True,
                                env=os.environ | {"SLURM_JOB_ID": "4711"})
    try:
        assert int(training.stdout.readline()) == training.pid
        wait_until(lambda: daemon.value("job_process_resident_bytes", job="4711", rank="2", pid=training.pid), "the training")
    finally:
        training.kill()
        training.wait()
        training.stdout.close()
    wait_until(lambda: daemon.value("job_process_resident_bytes", pid=training.pid) is None, "its end")


CLIENTS = """
import os, sys, time
sys.path[:0] = sys.argv[2].split(":")
from reporting import ReportingClient
class Daemon: name = sys.argv[1]
parent = os.getpid()
for rank in range(40):
    if os.fork() == 0:
        client = ReportingClient(Daemon, job=3, rank=rank)
        client.register()
        while os.getppid() == parent and (rank % 4 == 0 or not os.path.exists(sys.argv[3])):
            time.sleep(0.2)
            client.poll()
        os._exit(0)
sys.stdin.read()
"""


def test_many_processes_start_and_end(start, tmp_path):
    daemon = start("--use_prometheus", "--process_reporting_interval_s=1", "--noenable_npu_metrics")
    leave = tmp_path / "leave"
    paths = os.pathsep.join(p for p in sys.path if p)
    launcher = subprocess.Popen([sys.executable, "-c", CLIENTS, daemon.name, paths, str(leave)], stdin=subprocess.PIPE)

    def shown():
        return len(re.findall(r"^job_process_threads\{", daemon.metrics("process"), re.M))

    try:
        wait_until(lambda: shown() == 40, "all ranks, without the launcher")
        leave.touch()
        wait_until(lambda: shown() == 10, "the remaining processes")
    finally:
        launcher.communicate()
    wait_until(lambda: shown() == 0, "the end of all processes")


def test_real_prometheus_scrapes(start, tmp_path):
    daemon = start("--use_prometheus")
    client = ReportingClient(daemon, job=5, rank=0)
    client.register()
    client.data(report("Kernel", duration=2_000_000_000))
    config = tmp_path / "prometheus.yml"
    config.write_text(
        "global: {scrape_interval: 1s, scrape_timeout: 1s}\n"
        "scrape_configs:\n"
        f"- {{job_name: dynolog, static_configs: [{{targets: ['127.0.0.1:{daemon.exporter()}']}}]}}\n"
    )
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    prometheus = subprocess.Popen(
        ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={tmp_path}/tsdb",
         f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def query(expression):
        url = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return json.load(answer)["data"]["result"]
        except (urllib.error.URLError, ConnectionError):
            return []

    try:
        found = wait_until(lambda: query("npu_activity_seconds_total"), "a scrape", seconds=60)
        labels = found[0]["metric"]
        assert (labels["job"], labels["exported_job"]) == ("dynolog", "5") and labels["host"] == socket.gethostname()
        assert (labels["rank"], labels["device"], labels["kind"]) == ("0", "0", "Kernel")
        assert float(found[0]["value"][1]) == 2
        assert query("up")[0]["value"][1] == "1"
        assert float(query("scrape_samples_scraped")[0]["value"][1]) > 50
    finally:
        prometheus.terminate()
        _, errors = prometheus.communicate()
        client.close()
    assert "level=error" not in errors


def test_json_lines(start):
    daemon = start("--use_JSON", "--kernel_monitor_reporting_interval_s=1", "--noenable_npu_metrics")
    client = ReportingClient(daemon)
    client.data(report("Kernel", duration=123456))
    client.data(report("Marker", device=4294967295, domain="d", name='q"uote'))

    def records():
        lines = [line.split("] ", 1)[1] for line in daemon.log().splitlines() if "backend_json.c" in line]
        pairs = list(zip(lines[0::2], lines[1::2]))
        out = []
        for count, data in pairs:
            match = re.fullmatch(r"time = (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3})Z data = (\{.*\})", data)
            values = json.loads(match.group(2))
            assert count == f"Logging : {len(values)} values"
            assert list(values) == sorted(values)
            assert not match.group(1).startswith("19")
            out.append((match.group(2), values))
        return out

    kernel = wait_until(lambda: [v for _, v in records() if "cpu_u" in v], "a record with differences")[0]
    assert re.fullmatch(r"\d+\.\d{3}", kernel["cpu_u"]) and isinstance(kernel["uptime"], int)
    assert isinstance(kernel["rx_bytes.lo"], int) and isinstance(kernel["cpu_u_ms"], int)
    texts = [text for text, _ in records()]
    assert any(list(v) == ["uptime"] for _, v in records())  # the first one
    assert '{"deviceId":"0","duration":123456,"kind":"Kernel","timestamp":1735689600000000000}' in texts
    assert ('{"deviceId":"-1","domain":"d","duration":5000000,"kind":"Marker","name":"q\\"uote",'
            '"timestamp":1735689600000000000}') in texts
    client.close()


def test_event_files(start, tmp_path):
    directory = tmp_path / "new" / "metrics"
    daemon = start("--metric_log_dir", directory)
    client = ReportingClient(daemon)
    for _ in range(3):
        for kind in KINDS:
            client.data(report(kind, duration=250_000_000, **({"domain": "dom"} if kind == "Marker" else {})))
        client.data(report("API", device=-1))
    client.close()
    device, host = directory / "device_0/tfevents.pb", directory / "device_host/tfevents.pb"
    wait_until(lambda: host.exists() and len(list(read_events(host))) == 4, "the last event")
    events = list(read_events(device))
    assert events[0]["file_version"] == "brain.Event:2"
    for kind in KINDS:
        tag = "Marker/dom" if kind == "Marker" else kind
        assert [(e["step"], e["value"]) for e in events[1:] if e["tag"] == tag] == [(i, 250e6) for i in range(3)]
    assert sorted(p.name for p in directory.iterdir()) == ["device_0", "device_host"]


def test_event_directory_is_a_file(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(AssertionError, match="Not a directory.*--metric_log_dir"):
        ReportingDaemon(tmp_path, f"--metric_log_dir={tmp_path}/file")


class Receiver(http.server.BaseHTTPRequestHandler):
    """Accepts OTLP requests; refuses every second one with a retryable error."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.seen.append((self.path, dict(self.headers), body))
        self.send_response(503 if len(self.server.seen) % 2 == 1 else 200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *arguments):
        pass


def test_otlp_receiver(start):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    server.seen = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        daemon = start("--use_otlp", f"--otlp_endpoint=http://127.0.0.1:{server.server_port}", "--otlp_interval_s=1",
                       "--otlp_headers=authorization=Bearer 7", "--otlp_service_name=unused", "--use_prometheus",
                       env={"OTEL_SERVICE_NAME": "monitor"})
        client = ReportingClient(daemon, job=5)
        client.register()
        client.opstats(opstats({"MatMul": [1000, 2_000_000]}))
        points = {}

        def arrived():
            for path, headers, body in list(server.seen):
                assert path == "/v1/metrics"
                assert headers["Content-Type"] == "application/json" and headers["authorization"] == "Bearer 7"
                resource, found = check_request(body)
                assert resource == {"service.name": "monitor", "host.name": socket.gethostname()}
                points.update(found)
            return "npu_operator_duration_seconds" in points and "host_cpu_seconds_total" in points

        wait_until(arrived, "an operator in a request")
        (labels, histogram), = points["npu_operator_duration_seconds"]
        assert labels["name"] == "MatMul" and histogram["count"] == "2" and histogram["bucketCounts"][0] == "1"
        assert len({body for _, _, body in server.seen}) < len(server.seen)  # a refused one was sent again
        assert daemon.value("dynolog_sink_dropped_total", sink="otlp") is None
        client.close()
    finally:
        server.shutdown()
        server.server_close()


def test_otlp_over_tls(start, tmp_path):
    def openssl(*argv):
        subprocess.run(["openssl", *argv], check=True, capture_output=True, cwd=tmp_path)

    for name in ("ca", "other"):
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", "-days", "1", "-keyout", f"{name}.key",
                "-out", f"{name}.crt")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=receiver", "-keyout", "server.key", "-out", "server.csr")
    (tmp_path / "san").write_text("subjectAltName=IP:127.0.0.1")
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "1",
            "-extfile", "san", "-out", "server.crt")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.crt", tmp_path / "server.key")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    server.seen = []
    server.handle_error = lambda *arguments: None  # handshakes aborted by the daemon
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    flags = ["--use_otlp", f"--otlp_endpoint=https://127.0.0.1:{server.server_port}", "--otlp_interval_s=1"]
    try:
        wrong = start(*flags, f"--otlp_ssl_ca_cert_path={tmp_path}/other.crt")
        wait_until(lambda: "OTLP: 127.0.0.1" in wrong.log(), "a refused certificate")
        assert server.seen == []
        wrong.stop()
        start(*flags, f"--otlp_ssl_ca_cert_path={tmp_path}/ca.crt")
        wait_until(lambda: len(server.seen) >= 4, "requests over TLS")
        for _, _, body in server.seen:
            check_request(body)
    finally:
        server.shutdown()
        server.server_close()


def test_hanging_devices_do_not_delay_the_daemon(start, build):
    daemon = start("--use_prometheus", f"--dcmi_lib_path={build}/tests/unit/libdcmi_fake.so", env={"DCMI_FAKE": "hang"})
    client = ReportingClient(daemon, job=1)
    client.register()
    for _ in range(50):
        assert client.poll() == b""
    assert daemon.value("dynolog_build_info") == 1
    client.close()
    assert daemon.stop(seconds=5) == 0
    assert "no answer from the driver's library" in daemon.log()


def test_missing_driver_is_logged_once(start):
    daemon = start("--use_prometheus", "--dcmi_lib_path=libnot_there.so")
    wait_until(lambda: "NPU metrics are disabled" in daemon.log(), "the reason")
    assert daemon.metrics("npu") == ""


def test_exporter_with_valid_and_invalid_requests(start):
    daemon = start("--use_prometheus")
    port = daemon.exporter()

    def ask(request):
        with socket.create_connection(("127.0.0.1", port), timeout=5) as s:
            s.sendall(request)
            s.shutdown(socket.SHUT_WR)
            answer = b""
            while more := s.recv(65536):
                answer += more
            return answer

    assert b" 404 " in ask(b"GET /other HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert b'href="/metrics"' in ask(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert b" 400 " in ask(b"GET /metrics?collect[]=nonsense HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert b" 200 " in ask(b"GET /metrics?collect[]=host&other=1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    for bad in (b"POST /metrics HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", b"\0\1\2\3\r\n\r\n",
                b"GET " + b"/" * 100000 + b" HTTP/1.1\r\n\r\n", b"GET /metrics HTTP/1.1\r\nX: " + b"y" * 200000):
        try:
            assert b" 200 " not in ask(bad)
        except OSError:
            pass  # an early close is also an answer
    # Connections that stop in the middle of a request: others are served meanwhile.
    slow = [socket.create_connection(("127.0.0.1", port)) for _ in range(300)]
    for s in slow:
        s.sendall(b"GET /metrics HT")
    for _ in range(20):
        assert daemon.value("dynolog_build_info") == 1
    for s in slow:
        s.close()
    wait_until(lambda: daemon.value("dynolog_scrapes_total") >= 20, "the count of scrapes")


def test_number_of_names_is_bounded(start):
    daemon = start("--use_prometheus", "--noenable_npu_metrics", "--metric_operators=200")
    client = ReportingClient(daemon, job=9)
    client.register()
    for i in range(40):
        client.opstats(opstats({f"op{i}_{j}": [1000] for j in range(100)}))
        client.data(report("Marker", domain="d", name=f"step {i}"))
        client.poll()  # wait until the daemon has caught up
    wait_until(lambda: daemon.value("dynolog_ipc_messages_total", kind="npuOpStats") == 40, "all messages")
    text = daemon.metrics()
    assert len(re.findall(r"^npu_operator_duration_seconds_count", text, re.M)) <= 201
    total = sum(float(x) for x in re.findall(r"^npu_operator_duration_seconds_count.* (\S+)$", text, re.M))
    assert total == 4000  # nothing is lost: the rest is in "other"
    assert daemon.value("npu_operator_duration_seconds_count", name="other") == 4000 - 200
    assert daemon.value("dynolog_series_merged_total", name="npu_operator_duration_seconds") == 4000 - 200
    client.close()


@pytest.mark.parametrize("payload", [b"{}", b"[1", b"\xff\xfe", b'{"kind":"Kernel"}', b'{"a":' * 20 + b"1" + b"}" * 20])
def test_invalid_messages_are_counted(start, payload):
    daemon = start("--use_prometheus", "--noenable_npu_metrics")
    client = ReportingClient(daemon, job=9)
    client.register()
    client.data(payload)
    client.opstats(struct.pack("=I", 0x534F504E) + bytes(84))
    wait_until(lambda: sum(float(x) for x in re.findall(r"^dynolog_ipc_refused_total.* (\S+)$", daemon.metrics(), re.M)) >= 2,
             "two refusals")
    assert daemon.value("npu_activity_reports_total") is None
    client.close()
