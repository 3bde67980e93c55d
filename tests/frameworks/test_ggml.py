# SPDX-License-Identifier: Apache-2.0
"""llama.cpp's back end ggml-cann, unmodified, on software NPUs: its own operator tests, and generation with a small model.

Operators are compared with ggml's CPU back end by llama.cpp's test-backend-ops. Excluded are cases that the back end
declares as supported but computes wrongly on every device; each has its reason here.
"""

import re

import pytest

from llama_runs import build_llama
from tiny_llama import write_model

# operator: (cases, why no device can pass them)
DEFECTS = {
    "CONCAT": (r"type=q", "declares every type, passes quantized blocks as elements of type INT4 or of no type"),
    "GET_ROWS": (r"type=q8_0.*vs0=1", "stores scales after all rows, and does not find them in a view of rows"),
    "MUL_MAT_ID": (r"type_a=q.*amax=100000", "converts activations to half precision, where 100000 is infinite"),
    "SET_ROWS": (r"type_src=b?f16.*type_dst=f32", "reads every source as float"),
}
# Cases of ROPE that need a process of their own: the back end keeps its table of angles from case to case, and allocates a new one
# only for more positions, not for more dimensions.
ROPE_ALONE = (r"ne_a=\[256,8,512,1\],n_dims=256,mode=2,", r"ne_a=\[512,8,512,1\],n_dims=128,mode=2,")
ROPE_TOGETHER = f"^(?!.*({'|'.join(ROPE_ALONE)}))"

CASE = re.compile(r"^.*?(\w+)\((.*)\): (OK|FAIL|not supported .*)$")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
PROMPT = "<5><17><99><3><42>"

# Threads of ggml's CPU back end wait actively for each other, which takes hours if there are more of them than free cores.
THREADS = {"OMP_THREAD_LIMIT": "1"}


@pytest.fixture(scope="module")
def programs():
    return build_llama()


@pytest.fixture
def backend_test(softnpu, programs):
    """Runs test-backend-ops on the first device; gives [(operator, parameters, verdict)]."""

    def run(*options):
        done = softnpu.cli("run", "--", programs / "test-backend-ops", "test", "-b", "CANN0", *options, timeout=1800, **THREADS)
        lines = [COLOUR.sub("", line) for line in done.stdout.splitlines()]
        cases = [match.groups() for match in map(CASE.match, lines) if match]
        failed = [line for line in lines if line.endswith(": FAIL")]
        assert done.returncode == 0 and cases, "\n".join(failed + lines[-3:]) + done.stderr[-2000:]
        return cases

    return run


@pytest.fixture
def supported(softnpu, programs):
    """Operators of which the back end supports a case."""
    done = softnpu.cli("run", "--", programs / "test-backend-ops", "support", "-b", "CANN0", "--output", "csv", **THREADS)
    rows = [line.split('","') for line in done.stdout.splitlines()]
    return sorted({row[1] for row in rows if len(row) > 5 and row[5] == "yes"})


def passed(cases):
    return {(operator, parameters) for operator, parameters, verdict in cases if verdict == "OK"}


def test_backend_operators_equal_the_cpu(backend_test, supported):
    others = [operator for operator in supported if operator not in DEFECTS and operator not in ("ROPE", "FLASH_ATTN_EXT")]
    assert len(others) > 65, supported
    cases = backend_test("-o", ",".join(others))
    for operator, (excluded, _) in DEFECTS.items():
        cases += backend_test("-o", operator, "-p", f"^(?!.*{excluded})")
    good = passed(cases)
    assert {operator for operator, _ in good} == {*others, *DEFECTS}
    assert len(good) > 3000


def test_excluded_cases_are_few(softnpu, programs):
    done = softnpu.cli("run", "--", programs / "test-backend-ops", "support", "-b", "CANN0", "--output", "csv", **THREADS)
    rows = [line.split('","') for line in done.stdout.splitlines()]
    claimed = [row for row in rows if len(row) > 5 and row[5] == "yes"]
    excluded = [row for row in claimed if row[1] in DEFECTS and re.search(DEFECTS[row[1]][0], row[2])]
    assert len(excluded) < len(claimed) / 20, (len(excluded), len(claimed))


def test_rotary_embedding_equals_the_cpu(backend_test):
    assert len(passed(backend_test("-o", "ROPE", "-p", ROPE_TOGETHER))) > 400
    for case in ROPE_ALONE:
        assert len(passed(backend_test("-o", "ROPE", "-p", case))) == 1


def test_attention_equals_the_cpu(backend_test):
    # Without seven cases that the CPU computes for minutes.
    assert len(passed(backend_test("-o", "FLASH_ATTN_EXT", "-p", "^(?!.*(kv=4096,nb=512|kv=16384))"))) > 700


@pytest.fixture
def generate(softnpu, programs, tmp_path):
    """Tokens that a model generates greedily after the prompt."""

    def run(kind, layers, count, **environment):
        model = tmp_path / f"{kind}.gguf"
        if not model.exists():
            write_model(model, kind)
        done = softnpu.cli("run", "--", programs / "llama-simple", "-m", model, "-ngl", layers, "-n", count, PROMPT,
                           **THREADS, **environment)
        assert done.returncode == 0, done.stderr[-3000:]
        on_device = "CANN0 model buffer size" in done.stderr and "CANN1 KV buffer size" in done.stderr
        assert on_device == (layers > 0), done.stderr
        prompt, tokens = done.stdout.strip().split(PROMPT)
        assert prompt == "<s>"
        return tokens

    return run


# The CPU back end rounds activations to 8 bits for quantized weights, so that long texts differ.
@pytest.mark.parametrize("kind, count", [("f32", 64), ("f16", 64), ("q8_0", 10), ("q4_0", 10)])
def test_model_generates_the_tokens_of_the_cpu(generate, kind, count):
    expected = generate(kind, 0, count)
    assert expected.count("<") == count
    assert generate(kind, 99, count) == expected


@pytest.mark.parametrize("option", ["ACL_GRAPH=off", "PREFILL_USE_GRAPH=on", "OPERATOR_FUSION=on", "MEM_POOL=prio", "MEM_POOL=leg",
                                    "WEIGHT_NZ=off"])
def test_options_of_the_back_end_keep_the_tokens(generate, option):
    name, value = option.split("=")
    assert generate("f16", 99, 32, **{f"GGML_CANN_{name}": value}) == generate("f16", 0, 32)
