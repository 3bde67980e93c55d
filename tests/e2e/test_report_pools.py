# SPDX-License-Identifier: Apache-2.0
"""msmemscope report on pools that waste reserved memory: through remainders, and through streams that wait for each other."""

import json
import pathlib

import pytest

MIB = 1 << 20


@pytest.fixture(scope="module")
def program(compiler, tmp_path_factory):
    source = pathlib.Path(__file__).with_name("pool_program.c")
    return compiler(tmp_path_factory.mktemp("pools") / "pool_program", source, "npupool", "ascendcl", "ms_tools_ext", flags=["-g"])


@pytest.fixture
def advice(recording, program, memscope, softnpu):
    """The report's advice for the NPU, and the waste that the program reports."""
    def run(mode):
        recording.options[1:] = ["--quiet", "--call-stack=c"]
        done = recording.run("--", program, mode)
        assert done.returncode == 0, done.stderr
        planted = [dict(pair.split("=") for pair in line.split()[1:]) for line in done.stdout.splitlines()
                   if line.startswith("planted:")]
        report = softnpu.run(memscope, "report", recording.output, "--json", "--device=npu")
        assert report.returncode == 0, report.stderr
        (process,) = json.loads(report.stdout)["processes"]
        findings = [f for f in process["devices"][0]["advice"] if not f["minor"]]
        for finding in findings:
            site = process["sites"][finding["site"]] if finding["site"] is not None else {"frames": []}
            finding["functions"] = [frame["function"] for frame in site["frames"]]
        return findings, planted
    return run


def test_useless_remainders(advice):
    (finding,), (planted,) = advice("split")
    assert finding["pattern"] == "split_waste" and finding["saves_reserved_b"] == int(planted["wasted"])
    assert "15 MiB are free in pieces smaller than any request" in finding["text"].replace("15.0", "15")


def test_memory_of_another_stream(advice):
    (finding,), (planted,) = advice("blocked")
    assert finding["pattern"] == "stream_blocked_free" and finding["saves_reserved_b"] == int(planted["reserved"]) == 20 * MIB
    assert 8 * MIB <= finding["block_b"] <= 8 * MIB + 1024 and finding["blocks"] == 1
    assert "of_another_stream" in finding["functions"]


def test_pool_without_waste(advice):
    assert advice("clean") == ([], [])
