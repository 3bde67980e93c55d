# SPDX-License-Identifier: Apache-2.0
"""pip install . into an empty environment builds everything; commands and packages work from there."""

import os
import re
import subprocess
import sys

import pytest
from conftest import ROOT, Softnpu
from recorder import wait_until

EXAMPLE = """
import msmemscope, mstx, sys
sys.path.insert(0, sys.argv[1])
import npu
npu.init()
msmemscope.config(events="alloc,free", call_stack="python")
msmemscope.start()
npu.work(5)
mstx.mark("done")
msmemscope.stop()
"""


@pytest.fixture(scope="module")
def venv(tmp_path_factory):
    folder = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    subprocess.run(["git", "clone", "-q", ROOT, folder / "clone"], check=True)  # only committed files
    folder = folder / "venv"
    done = subprocess.run([folder / "bin" / "pip", "install", folder.parent / "clone"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def folder(venv):
    """The same wheel installed with --target into one directory."""
    built = venv.parent / "wheel"
    subprocess.run([venv / "bin" / "pip", "wheel", "-q", "-w", built, venv.parent / "clone"], check=True)
    subprocess.run([venv / "bin" / "pip", "install", "-q", "--target", venv.parent / "folder", *built.glob("*.whl")], check=True)
    return venv.parent / "folder"


def run(venv, folder, *argv, **env):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "ASCEND_", "SOFTNPU_", "LD_"))}
    clean.update(PATH=f"{venv}/bin:/usr/bin:/bin", **env)
    return subprocess.run([str(a) for a in argv], cwd=folder, env=clean, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("command", ["msmemscope --version", "dyno --help", "dynolog --help", "softnpu --help",
                                     "python -m msmemscope --version"])
def test_commands_run(venv, tmp_path, command):
    done = run(venv, tmp_path, *command.split())
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("around", [[], ["msmemscope", "--collect-mode=deferred", "--"]])
def test_example_is_recorded(venv, tmp_path, around):
    machine = Softnpu()
    (tmp_path / "example.py").write_text(EXAMPLE)
    done = run(venv, tmp_path, "softnpu", "run", "--machine", machine.name, "--", *around, "python", "example.py",
               ROOT / "tests/python/support")
    machine.close()
    assert done.returncode == 0, done.stdout + done.stderr
    (dump,) = tmp_path.glob("memscopeDumpResults/*/device_0/dump/memscope_dump_*.csv")
    assert dump.read_text().count("FREE,HAL") == 5 and "example.py" in dump.read_text()


@pytest.mark.parametrize("around", [[], ["msmemscope", "--collect-mode=deferred", "--"]])
def test_target_directory_install(folder, tmp_path, around):
    machine = Softnpu()
    (tmp_path / "example.py").write_text(EXAMPLE)
    done = run(folder, tmp_path, "softnpu", "run", "--machine", machine.name, "--", *around, sys.executable, "example.py",
               ROOT / "tests/python/support", PYTHONPATH=str(folder))
    machine.close()
    assert done.returncode == 0, done.stdout + done.stderr
    (dump,) = tmp_path.glob("memscopeDumpResults/*/device_0/dump/memscope_dump_*.csv")
    assert dump.read_text().count("FREE,HAL") == 5


def test_editable_install(tmp_path):
    """The packages are used from the checkout."""
    clone, own = tmp_path / "clone", tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", own], check=True)
    subprocess.run(["git", "clone", "-q", ROOT, clone], check=True)
    backend = re.search(r'"(meson-python==[^"]+)"', (ROOT / "pyproject.toml").read_text())[1]
    subprocess.run([own / "bin" / "pip", "install", "-q", backend], check=True)
    subprocess.run([own / "bin" / "pip", "install", "-q", "--no-build-isolation", "--editable", clone], check=True)
    done = run(own, tmp_path, "python", "-c", "import msmemscope; msmemscope.start(); msmemscope.stop(); print(msmemscope.__file__)")
    assert done.returncode == 0 and f"{clone}/python/msmemscope/__init__.py" in done.stdout, done.stdout + done.stderr
    assert run(own, tmp_path, "python", "-m", "msmemscope", "--version").returncode == 0


def test_files_do_not_contain_build_path(venv):
    clone = str(venv.parent / "clone").encode()
    installed = [path for part in ("bin", "lib", "libexec", "share") for path in (venv / part).rglob("*")]
    assert [path for path in installed if path.is_file() and path.name != "direct_url.json" and clone in path.read_bytes()] == []


def test_readme_example_runs(venv, tmp_path):
    """Unchanged, on a machine without device and framework."""
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)[1]
    (tmp_path / "example.py").write_text("data = range(3)\ndef train(batch): pass\n" + code)
    done = run(venv, tmp_path, "python", "example.py")
    assert done.returncode == 0 and "Stop tracing." in done.stdout, done.stdout + done.stderr
    # Events without a device are written when it is certain that no device follows.
    pattern = "memscopeDumpResults/*/device_cpu/dump/memscope_dump_*.csv"
    wait_until(lambda: [path.read_text().count("SYSTEM,STEP") for path in tmp_path.glob(pattern)] == [3])


def test_load_api_env_prepares_shell(venv, tmp_path):
    done = run(venv, tmp_path, "bash", "-c", "source msmemscope --load-api-env && echo $LD_PRELOAD && source msmemscope --unload-api-env")
    assert done.returncode == 0 and f"{venv}/libexec/msmemscope/lib64/libascend_kernel_hook.so" in done.stdout


def test_uninstall_removes_all_files(venv):
    """Must be the last test."""
    assert run(venv, venv, "pip", "uninstall", "-y", "npuscope").returncode == 0
    left = [path for path in venv.rglob("*") if path.is_file() and ("memscope" in path.name or path.name.startswith(("softnpu", "dyno", "libascend")))]
    assert left == []
