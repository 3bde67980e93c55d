# SPDX-License-Identifier: Apache-2.0
"""TensorBoard's own reader and the OTLP message classes read the daemon's output."""

import http.server
import json
import threading

import pytest
from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality
from tensorboard.backend.event_processing import event_accumulator, plugin_event_multiplexer

from recorder import wait_until
from reporting import ReportingClient, ReportingDaemon, opstats

KINDS = ["Marker", "Kernel", "API", "AclAPI", "NodeAPI", "RuntimeAPI", "Hccl", "Memory", "MemSet", "MemCpy", "Communication"]


def report(kind, device, duration):
    more = {"domain": "train", "name": "n"} if kind == "Marker" else {}
    return json.dumps({"kind": kind, "deviceId": device, "duration": duration, "timestamp": 1} | more)


def scalars(path):
    events = event_accumulator.EventAccumulator(str(path), size_guidance={event_accumulator.SCALARS: 0})
    events.Reload()
    return {tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def test_tensorboard_reads_all_kinds(tmp_path):
    directory = tmp_path / "metrics"
    daemon = ReportingDaemon(tmp_path, f"--metric_log_dir={directory}")
    client = ReportingClient(daemon)
    for round_ in range(5):
        for kind in KINDS:
            client.data(report(kind, 0, 1000 * round_))
        client.data(report("API", -1, 7))
        client.data(report("Marker", 4294967295, 8))
    client.close()
    assert daemon.stop() == 0  # flushes pending events
    found = scalars(directory / "device_0")
    assert set(found) == {"Marker/train" if k == "Marker" else k for k in KINDS}
    for values in found.values():
        assert values == [(i, 1000.0 * i) for i in range(5)]
    assert scalars(directory / "device_host") == {"API": [(i, 7.0) for i in range(5)],
                                                 "Marker/train": [(i, 8.0) for i in range(5)]}
    runs = plugin_event_multiplexer.EventMultiplexer().AddRunsFromDirectory(str(directory))
    runs.Reload()
    assert set(runs.Runs()) == {"device_0", "device_host"}
    assert all(runs.GetAccumulator(name).file_version == 2.0 for name in runs.Runs())


def test_tensorboard_follows_rotation(tmp_path):
    """Files that reached their size limit are read in the order of their names, and no event is missed."""
    directory = tmp_path / "metrics"
    daemon = ReportingDaemon(tmp_path, f"--metric_log_dir={directory}", "--tensorboard_max_mb=1", "--tensorboard_keep=100")
    client = ReportingClient(daemon)
    third = directory / "device_0/tfevents.pb.000002"

    def fill():
        for i in range(1000):
            client.data(report("Kernel", 0, i))
        client.poll()  # not faster than the daemon
        return third.exists()

    wait_until(fill, "the third file", seconds=120)
    client.close()
    assert daemon.stop() == 0
    values = scalars(directory / "device_0")["Kernel"]
    assert [step for step, _ in values] == list(range(len(values)))  # no event is missing


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.server.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments):
        pass


def test_otlp_messages_match_protocol(tmp_path):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    server.bodies = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    daemon = ReportingDaemon(tmp_path, "--use_otlp", f"--otlp_endpoint=http://127.0.0.1:{server.server_port}/v1/metrics",
                    "--otlp_interval_s=1")
    client = ReportingClient(daemon, job=5)
    client.register()
    client.opstats(opstats({"MatMul": [1000, 2_000_000]}))

    def operators():
        for body in list(server.bodies):
            # Raises on a key, an enumeration or a type that the protocol does not have.
            request = json_format.Parse(body, ExportMetricsServiceRequest())
            for metric in request.resource_metrics[0].scope_metrics[0].metrics:
                if metric.name == "npu_operator_duration_seconds":
                    return metric
        return None

    try:
        metric = wait_until(operators, "an operator")
        assert metric.WhichOneof("data") == "histogram" and metric.unit == "s"
        assert metric.histogram.aggregation_temporality == AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE
        (point,) = metric.histogram.data_points
        assert point.count == 2 and sum(point.bucket_counts) == 2
        assert point.sum == pytest.approx(0.002001)
    finally:
        client.close()
        daemon.stop()
        server.shutdown()
        server.server_close()
