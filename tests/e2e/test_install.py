# SPDX-License-Identifier: Apache-2.0
"""An installed msmemscope: regular files, shells prepared for it, libraries preloaded by hand."""

import itertools
import os
import re
import subprocess
import sys

import pytest

from conftest import BUILD
from recorder import Recording

LIBRARIES = ["libleaks_ascend_hal_hook.so", "libascend_mstx_hook.so", "libascend_kernel_hook.so", "libatb_abi_0_hook.so",
             "libatb_abi_1_hook.so"]
SHELLS = ["bash", "dash", "zsh"]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The files that `make install` puts below the prefix."""
    folder = tmp_path_factory.mktemp("install")
    subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet"], check=True, capture_output=True,
                   env=os.environ | {"DESTDIR": str(folder)})
    (home,) = [p for p in folder.rglob("msmemscope") if (p / "set_env.sh").exists()]
    return home


def test_files_are_regular_and_world_readable(installed):
    for path in ["bin/msmemscope", "bin/msmemscope.bin", "libexec/msmemscope-collector", "set_env.sh", "version.txt",
                 "lib64/libascend_leaks.so", *(f"lib64/{name}" for name in LIBRARIES)]:
        file = installed / path
        assert file.is_file() and not file.is_symlink(), path
        mode = file.stat().st_mode & 0o777
        assert mode & 0o022 == 0 and mode & 0o444 == 0o444, path
        assert mode & 0o111 == 0o111 or path in ("set_env.sh", "version.txt"), path
    for path in [*(installed / "lib64").iterdir(), *(installed / "libexec").iterdir()]:
        dynamic = subprocess.run(["readelf", "-d", path], check=True, capture_output=True, text=True).stdout
        assert str(BUILD) not in dynamic  # does not depend on the build tree


def test_softnpu_manual_page_is_installed(installed, build):
    (page,) = [page for folder in installed.parents for page in folder.glob("share/man/man1/softnpu.1")]
    assert page.read_text() == (build / "src/cli/softnpu/softnpu.1").read_text()


def test_operator_headers_are_installed(installed):
    (folder,) = [found for above in installed.parents for found in above.glob("lib/softnpu/*-linux/include/aclnnop")]
    for header in ("aclnn_add.h", "level2/aclnn_add.h"):
        assert (folder / header).is_file()
    assert "aclnnInplaceAddsGetWorkspaceSize(" in (folder / "aclnn_add.h").read_text()


def test_installation_can_be_moved(installed, softnpu, tmp_path, build):
    moved = tmp_path / "some where" / "else"
    moved.parent.mkdir()
    subprocess.run(["cp", "-a", installed, moved], check=True)
    (tmp_path / "link").symlink_to(installed / "bin" / "msmemscope")
    for number, command in enumerate([installed / "bin" / "msmemscope", tmp_path / "link", installed / "bin" / "msmemscope.bin"]):
        recording = Recording(softnpu, installed, tmp_path / f"out{number}")
        recording.command = str(command)
        done = recording.run(build / "examples" / "acl-train", "--steps", 1)
        assert done.returncode == 0, done.stderr
        assert len(recording.rows()) > 100
    # LD_PRELOAD cannot name a path with a blank: an error, not ignored.
    done = softnpu.run(moved / "bin" / "msmemscope", f"--output={tmp_path}/out", "--", "true")
    assert done.returncode == 125 and "blank" in done.stderr


def in_shell(shell, installed, script, path=""):
    done = subprocess.run([shell, "-c", script], capture_output=True, text=True,
                          env={"PATH": path + "/usr/bin:/bin", "HOME": "/nonexistent"})
    return done.stdout.splitlines(), done


def source(what, argument):
    """A form that works in all three shells; one of them passes no arguments to sourced files."""
    return f"set -- {argument}; . {what} {argument}"


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("by_path", [True, False])
def test_load_api_env_prepares_shell(installed, shell, by_path):
    lib64 = installed / "lib64"
    what = "msmemscope" if by_path else installed / "bin" / "msmemscope"
    path = f"{installed}/bin:" if by_path else ""
    lines, done = in_shell(shell, installed, f"""
        export LD_PRELOAD=/usr/lib/x86_64-linux-gnu/libm.so.6 LD_LIBRARY_PATH=/opt/x
        {source(what, "--load-api-env")}; echo "status $?"
        echo "P=$LD_PRELOAD"; echo "L=$LD_LIBRARY_PATH"; echo "M=$MSMEMSCOPE_LIB_PATH"
        {source(what, "--load-api-env")}
        {source(what, "--unload-api-env")}; echo "status $?"
        echo "P=$LD_PRELOAD"; echo "L=$LD_LIBRARY_PATH"; echo "M=${{MSMEMSCOPE_LIB_PATH-unset}}"
        {source(what, "--unload-api-env")}
        set | grep -a "^_msmemscope"; type _msmemscope_load 2>&1 | grep -c "function"
        """, path)
    reversed_list = ":".join(f"{lib64}/{name}" for name in reversed(LIBRARIES))
    foreign = "/usr/lib/x86_64-linux-gnu/libm.so.6"
    assert lines == [
        f"[msmemscope] LD_LIBRARY_PATH + {lib64}",
        *(f"[msmemscope] LD_PRELOAD   + {lib64}/{name}" for name in LIBRARIES),
        "[msmemscope] Environment setup completed (LD_PRELOAD: 5 .so(s) added).",
        "status 0",
        f"P={reversed_list}:{foreign}", f"L={lib64}:/opt/x", f"M={lib64}",
        f"[msmemscope] LD_LIBRARY_PATH already contains {lib64} -- skipped",
        "[msmemscope] Environment already set up -- nothing to do.",
        f"[msmemscope] LD_PRELOAD   - {lib64}/*", f"[msmemscope] LD_LIBRARY_PATH - {lib64}",
        "status 0",
        f"P={foreign}", "L=/opt/x", "M=unset",
        "[msmemscope] No msmemscope entries found in LD_PRELOAD or LD_LIBRARY_PATH -- nothing to unset.",
        "0"], done


@pytest.mark.parametrize("shell", SHELLS)
def test_load_api_env_reports_missing_libraries(installed, tmp_path, shell):
    subprocess.run(["cp", "-a", installed, tmp_path / "part"], check=True)
    for name in LIBRARIES[3:]:
        (tmp_path / "part" / "lib64" / name).unlink()
    lines, done = in_shell(shell, installed, source(tmp_path / "part" / "bin" / "msmemscope", "--load-api-env"))
    assert lines[-1] == "[msmemscope] Environment setup completed (LD_PRELOAD: 3 .so(s) added)."
    assert done.stderr.count("not found -- skipped") == 2
    subprocess.run(["rm", "-r", tmp_path / "part" / "lib64"], check=True)
    lines, done = in_shell(shell, installed,
                           source(tmp_path / "part" / "bin" / "msmemscope", "--load-api-env") + '; echo "status $?"')
    assert lines == ["status 1"]
    assert done.stderr.startswith("[msmemscope] ERROR: lib64 directory not found")
    subprocess.run(["cp", "-a", installed, tmp_path / "a blank"], check=True)
    lines, done = in_shell(shell, installed, source(f"'{tmp_path}/a blank/bin/msmemscope'", "--load-api-env") +
                           '; echo "status $? ${LD_PRELOAD-unset}"')
    assert lines == ["status 1 unset"] and "blanks or colons" in done.stderr


@pytest.mark.parametrize("shell", SHELLS)
def test_sourcing_other_options_is_refused(installed, shell):
    lines, done = in_shell(shell, installed, source(installed / "bin" / "msmemscope", "--help") + '; echo "status $?"')
    assert lines == ["status 1"] and "[msmemscope] ERROR" in done.stderr
    for word in ("--load-api-env", "--unload-api-env"):
        done = subprocess.run([installed / "bin" / "msmemscope", word], capture_output=True, text=True)
        assert done.returncode == 1 and done.stdout == ""
        assert "This command must be sourced so that environment" in done.stderr and f"source msmemscope {word}" in done.stderr


@pytest.mark.parametrize("shell", SHELLS)
def test_set_env_is_idempotent(installed, shell):
    lines, done = in_shell(shell, installed, f"""
        export PYTHONPATH=/a:/old/msmemscope/python:/b PATH=/old/msmemscope/bin:$PATH
        . {installed}/set_env.sh; echo "status $?"; echo "$PATH"; echo "$PYTHONPATH"; set | grep -a "^_msmemscope"
        . {installed}/set_env.sh; echo "$PATH" """)
    path = f"{installed}/bin:/usr/bin:/bin"
    assert lines == ["status 0", path, f"{installed}/python:/a:/b", path], done


@pytest.mark.parametrize("order", [LIBRARIES, LIBRARIES[::-1], [LIBRARIES[i] for i in (3, 1, 4, 0, 2)]],
                         ids=["forward", "backward", "mixed"])
def test_five_preloaded_libraries(installed, softnpu, tmp_path, build, order):
    """In any order, with both ATB ABIs at once: the program runs as without them, and a launcher around it records each event
    once."""
    preload = ":".join(str(installed / "lib64" / name) for name in order)
    train = build / "examples" / "acl-train"
    plain = softnpu.run(train, "--steps", 2, "--json")
    alone = softnpu.run(train, "--steps", 2, "--json", env={"LD_PRELOAD": preload})
    assert alone.returncode == 0 and alone.stderr == ""
    losses = re.compile(r'"loss": [0-9.]+')
    assert losses.findall(alone.stdout) == losses.findall(plain.stdout) != []
    counts = []
    for number, env in enumerate([{}, {"LD_PRELOAD": preload}]):
        recording = Recording(softnpu, installed, tmp_path / f"out{number}")
        assert recording.run(train, "--steps", 2, env=env).returncode == 0
        (process,) = recording.info()
        counts.append({k: n for k, n in process["kinds"].items() if k not in ("MARK", "THREAD", "USAGE")})
    assert counts[0] == counts[1]


@pytest.mark.parametrize("first, second", list(itertools.permutations(LIBRARIES, 2)))
def test_two_preloaded_libraries(installed, softnpu, first, second):
    preload = f"{installed}/lib64/{first}:{installed}/lib64/{second}"
    done = softnpu.run("sh", "-c", "true; exit 7", env={"LD_PRELOAD": preload})
    assert done.returncode == 7 and done.stderr == ""


def test_python_packages_are_found(installed, softnpu, tmp_path):
    """By a recorded program, and in a prepared shell."""
    code = "import msmemscope, mstx; print(msmemscope.__file__, mstx.__file__)"
    expected = f"{installed}/python/msmemscope/__init__.py {installed}/python/mstx/__init__.py\n"
    recording = Recording(softnpu, installed, tmp_path / "out")
    assert recording.run(sys.executable, "-c", code).stdout == expected
    done = softnpu.run("bash", "-c", f". {installed}/set_env.sh && exec {sys.executable} -c '{code}'")
    assert done.stdout == expected, done.stderr
    assert [path for path in (installed / "python").rglob("*.so") if not path.name.endswith(".abi3.so")] == []
