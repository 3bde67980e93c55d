# SPDX-License-Identifier: Apache-2.0
"""A preloaded library sees the documented calls, however the program obtained the functions."""

import pytest

FOLDER = "tests/interpose"

# Calls between the libraries, which a preload intercepts with every style of binding.
INNER = {
    "aclInitImpl": 1, "aclrtSetDeviceImpl": 1, "aclrtMallocImpl": 5, "aclrtFreeImpl": 5, "aclrtMallocPhysicalImpl": 1,
    "aclrtLaunchKernelImpl": 1, "aclrtLaunchKernelV2Impl": 1, "aclrtLaunchKernelWithConfigImpl": 1,
    "aclrtLaunchKernelWithHostArgsImpl": 1, "aclrtHostRegisterV2Impl": 1, "aclrtHostUnregisterImpl": 1, "aclFinalizeImpl": 1,
    "rtMalloc": 5, "rtMallocPhysical": 1, "rtMapMem": 1,
    "halMemCreate": 1, "halMemAddressReserve": 1, "halMemAddressFree": 1, "halMemMap": 1, "halMemUnmap": 1,
    "halMemRetainAllocationHandle": 1, "halMemRelease": 2,
}
# Calls of the program itself, intercepted only if it binds through the global scope.
OUTER = {
    "aclInit": 1, "aclrtSetDevice": 1, "aclrtMalloc": 5, "aclrtFree": 5, "aclrtHostRegisterV2": 1, "aclrtHostUnregister": 1,
    "aclrtLaunchKernel": 1, "aclrtLaunchKernelV2": 1, "aclrtLaunchKernelWithConfig": 1, "aclrtLaunchKernelWithHostArgs": 1,
    "rtLaunchKernelByFuncHandleV3": 1, "aclFinalize": 1,
}
# One launch of the runtime for each launch through ACL.
LAUNCHES = ["rtsLaunchKernelWithDevArgs", "rtsLaunchKernelWithConfig", "rtsLaunchKernelWithHostArgs",
            "rtLaunchKernelByFuncHandleV3", "rtKernelLaunch", "rtKernelLaunchWithHandleV2", "rtKernelLaunchWithFlagV2"]


def calls(softnpu, build, tmp_path, program, style):
    report = tmp_path / "report"
    done = softnpu.run(
        build / FOLDER / program, style, build / FOLDER / "count_kernel.so",
        env={"LD_PRELOAD": str(build / FOLDER / "libspy.so"), "SPY_OUTPUT": str(report)},
    )
    assert done.returncode == 0, done.stderr
    return {name: int(count) for name, count in (line.split() for line in report.read_text().splitlines())}


@pytest.mark.parametrize("program, style", [("bindings_linked", "linked"), ("bindings_linked", "default"), ("bindings_lazy", "handle")])
def test_calls_are_seen(softnpu, build, tmp_path, program, style):
    seen = calls(softnpu, build, tmp_path, program, style)
    expected = INNER if style == "handle" else INNER | OUTER
    assert {name: seen.get(name, 0) for name in expected} == expected
    # pinned host memory is also a driver allocation
    assert seen["halMemAlloc"] >= 7 and seen["halMemFree"] >= 7
    acl_launches = 4
    assert sum(seen.get(name, 0) for name in LAUNCHES) == acl_launches + (0 if style == "handle" else 1)


def test_functions_looked_up_by_handle_bypass_a_preload(softnpu, build, tmp_path):
    seen = calls(softnpu, build, tmp_path, "bindings_lazy", "handle")
    assert not any(name in seen for name in OUTER)


@pytest.mark.parametrize("library", ["libascendcl.so", "libascendcl_impl.so", "libruntime.so", "libascend_hal.so", "libhccl.so", "libopapi.so"])
def test_no_library_binds_symbols_to_itself(home, library):
    """Calls between the layers go through the global scope: no -Bsymbolic; the SONAME is the file name."""
    import subprocess

    text = subprocess.run(["readelf", "-d", str(home / "lib64" / library)], capture_output=True, text=True).stdout
    assert "SYMBOLIC" not in text
    assert f"[{library}]" in [line.split()[-1] for line in text.splitlines() if "SONAME" in line]


def test_libraries_can_be_opened_at_run_time(home):
    """Frameworks dlopen the libraries at run time; static thread-local storage would make that fail."""
    import subprocess

    for library in (home / "lib64").glob("*.so"):
        text = subprocess.run(["readelf", "-dW", str(library)], capture_output=True, text=True).stdout
        assert "STATIC_TLS" not in text, library
