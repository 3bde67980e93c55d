# SPDX-License-Identifier: Apache-2.0
"""Checks an OTLP metrics request in JSON encoding against the protocol: known keys only, correct types.

From the protocol's definition (opentelemetry-proto, metrics/v1): 64-bit integers are decimal strings, enumerations are
numbers, keys are lowerCamelCase. The contents are returned for the test to check.
"""

import json


def attributes(items):
    out = {}
    for item in items:
        assert set(item) == {"key", "value"} and set(item["value"]) == {"stringValue"}, item
        assert isinstance(item["key"], str) and isinstance(item["value"]["stringValue"], str)
        assert item["key"] not in out
        out[item["key"]] = item["value"]["stringValue"]
    return out


def is_u64(value):
    return isinstance(value, str) and value.isdigit() and int(value) < 2**64


def check_point(point, cumulative, histogram):
    keys = {"attributes", "timeUnixNano"} | ({"startTimeUnixNano"} if cumulative else set())
    keys |= {"count", "sum", "bucketCounts", "explicitBounds"} if histogram else {"asDouble"}
    assert set(point) == keys, point
    assert is_u64(point["timeUnixNano"])
    if cumulative:
        assert is_u64(point["startTimeUnixNano"]) and int(point["startTimeUnixNano"]) <= int(point["timeUnixNano"])
    if histogram:
        assert len(point["bucketCounts"]) == len(point["explicitBounds"]) + 1
        assert all(map(is_u64, point["bucketCounts"])) and sum(map(int, point["bucketCounts"])) == int(point["count"])
        assert point["explicitBounds"] == sorted(set(point["explicitBounds"]))
    else:
        assert isinstance(point["asDouble"], (int, float))
    return attributes(point["attributes"]), point


def check_request(body):
    """Returns the resource attributes and {metric: [(labels, point)]}."""
    request = json.loads(body)
    assert set(request) == {"resourceMetrics"}
    (resource,) = request["resourceMetrics"]
    assert set(resource) == {"resource", "scopeMetrics"} and set(resource["resource"]) == {"attributes"}
    (scope,) = resource["scopeMetrics"]
    assert set(scope) == {"scope", "metrics"} and set(scope["scope"]) == {"name", "version"}
    found = {}
    for metric in scope["metrics"]:
        kind = (set(metric) - {"name", "description", "unit"}).pop()
        assert set(metric) == {"name", "description", "unit", kind}
        data = metric[kind]
        if kind == "sum":
            assert set(data) == {"dataPoints", "aggregationTemporality", "isMonotonic"} and data["isMonotonic"] is True
        elif kind == "histogram":
            assert set(data) == {"dataPoints", "aggregationTemporality"}
        else:
            assert kind == "gauge" and set(data) == {"dataPoints"}
        assert data.get("aggregationTemporality", 2) == 2
        found[metric["name"]] = [check_point(p, kind != "gauge", kind == "histogram") for p in data["dataPoints"]]
    return attributes(resource["resource"]["attributes"]), found
