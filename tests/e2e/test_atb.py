# SPDX-License-Identifier: Apache-2.0
"""The test ATB library: the names that tools hook, in both ABIs and both layouts, with working operators."""

import struct
import subprocess

import pytest

COMMON = [
    "_ZN3atb6Runner7ExecuteERNS_17RunnerVariantPackE",
    "_ZNK3atb6Runner12IsSaveTensorEv",
    "_ZN3atb5Probe17IsSaveTensorAfterEv",
    "_ZN3atb5Probe18IsSaveTensorBeforeEv",
    "_ZN3atb5Probe16IsSaveTensorDescEv",
    "_ZN3atb5Probe21IsExecuteCountInRangeEm",
    "_ZNK3atb6Runner16GetExecuteStreamEPNS_7ContextE",
    "_ZN3Mki11LaunchParam12GetInTensorsEv",
    "_ZN3Mki11LaunchParam13GetOutTensorsEv",
]
STRING = {"0": "Ss", "1": "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"}
TAG = {"0": "", "1": "B5cxx11"}


def names_of(abi):
    return COMMON + [
        f"_ZN3atb9StoreUtil15SaveLaunchParamEPvRKN3Mki11LaunchParamERK{STRING[abi]}",
        f"_ZN3atb5Probe16IsTensorNeedSaveERKSt6vectorIlSaIlEERK{STRING[abi]}",
        f"_ZN3atb5Probe25IsSaveTensorInSpecificDirERK{STRING[abi]}",
        f"_ZNK3atb6Runner16GetOperationName{TAG[abi]}Ev",
        f"_ZNK3atb6Runner16GetSaveTensorDir{TAG[abi]}Ev",
    ]


@pytest.fixture(params=["cxx_abi_0", "cxx_abi_1", "older/cxx_abi_0", "older/cxx_abi_1"])
def atb(request, build, softnpu, home):
    class Atb:
        folder = build / "tests" / "atb" / request.param
        abi = request.param[-1]
        pack = 13824 if request.param.startswith("older") else 13848
        kernels = home / "opp/built-in/op_impl/ai_core/tbe/kernel/transformer_kernels.so"

        def run(self, times=1, **env):
            path = f"{self.folder}/lib:{home}/lib64"
            return softnpu.run(self.folder / "lib" / "atb_run", self.kernels, times,
                               env={"LD_LIBRARY_PATH": path, "ATB_HOME_PATH": str(self.folder)} | env)

    return Atb()


def test_exported_names(atb):
    table = subprocess.run(["nm", "-D", "--defined-only", str(atb.folder / "lib" / "libatb.so")],
                           capture_output=True, text=True, check=True).stdout
    defined = {line.split()[-1] for line in table.splitlines()}
    assert not [name for name in names_of(atb.abi) if name not in defined]
    assert not [name for name in names_of("1" if atb.abi == "0" else "0") if name not in COMMON and name in defined]


def test_calls_can_be_interposed(atb):
    relocations = subprocess.run(["readelf", "-rW", str(atb.folder / "lib" / "libatb.so")],
                                 capture_output=True, text=True, check=True).stdout
    for name in ("_ZN3atb5Probe18IsSaveTensorBeforeEv", "_ZN3atb9StoreUtil15SaveLaunchParam",
                 "_ZN3atb5Probe16IsTensorNeedSave"):
        assert any("JUMP_SLO" in line and name in line for line in relocations.splitlines()), name


def test_operation_executes(atb):
    result = atb.run(3)
    assert result.returncode == 0, result.stdout + result.stderr
    assert f"pack {atb.pack}, LinearGeluOperation executed 3 times" in result.stdout


def test_preload_can_answer_probe(atb, tmp_path):
    log = tmp_path / "log"
    result = atb.run(2, LD_PRELOAD=str(atb.folder / "lib" / "libatb_preload.so"), ATB_PRELOAD_LOG=str(log))
    assert result.returncode == 0, result.stdout + result.stderr
    lines = [line.split() for line in log.read_text().splitlines()]
    assert [line[0] for line in lines] == (["op"] + ["save"] * 6 + ["end"]) * 2
    for execution in range(2):
        block = lines[8 * execution:8 * execution + 8]
        root = block[0][2].split("/")[0]
        assert block[0][1:] == ["LinearGeluOperation", f"{root}/{execution}/0_LinearGeluOperation", "inputs=3",
                                "workspace=15360", "stream=1"]
        paths = [line[1] for line in block[1:7]]
        kernels = ["0_MatMulF32Kernel", "1_BiasAddF32Kernel", "2_GeluF32Kernel"]
        assert paths == [f"{root}/{execution}/0_LinearGeluOperation/{kernel}/{when}"
                         for kernel in kernels for when in ("before", "after")]
        assert [line[2:] for line in block[1:7]] == [["2", "1"]] * 4 + [["1", "1"]] * 2


def test_tensors_are_saved_on_request(atb, tmp_path):
    result = atb.run(1, ATB_SAVE_TENSOR="1", ATB_SAVE_TENSOR_PATH=str(tmp_path))
    assert result.returncode == 0, result.stdout + result.stderr
    (operation,) = tmp_path.glob("*/0/0_LinearGeluOperation")
    gelu = operation / "2_GeluF32Kernel"
    x = struct.unpack("<1344f", (gelu / "before" / "intensor0.bin").read_bytes())
    y = struct.unpack("<1344f", (gelu / "after" / "outtensor0.bin").read_bytes())
    assert all(abs(b) <= abs(a) + 1e-6 for a, b in zip(x, y))
    assert y == struct.unpack("<1344f", (operation / "after" / "outtensor0.bin").read_bytes())
    assert len(list(operation.glob("*/*/*.bin"))) == 16
