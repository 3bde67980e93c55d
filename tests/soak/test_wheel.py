"""pip install . into an empty environment: everything is built, and the commands and packages work from there."""

import os
import subprocess
import sys

import pytest
from conftest import ROOT, Softnpu

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
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    done = subprocess.run([folder / "bin" / "pip", "install", ROOT], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def run(venv, folder, *argv, **env):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "ASCEND_", "SOFTNPU_", "LD_"))}
    clean.update(PATH=f"{venv}/bin:/usr/bin:/bin", **env)
    return subprocess.run([str(a) for a in argv], cwd=folder, env=clean, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("command", ["msmemscope --version", "dyno --help", "dynolog --help", "softnpu --help",
                                     "python -m msmemscope --version"])
def test_commands(venv, tmp_path, command):
    done = run(venv, tmp_path, *command.split())
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("around", [[], ["msmemscope", "--collect-mode=deferred", "--"]])
def test_example(venv, tmp_path, around):
    machine = Softnpu()
    (tmp_path / "example.py").write_text(EXAMPLE)
    done = run(venv, tmp_path, "softnpu", "run", "--machine", machine.name, "--", *around, "python", "example.py",
               ROOT / "tests/python/support")
    machine.close()
    assert done.returncode == 0, done.stdout + done.stderr
    (dump,) = tmp_path.glob("memscopeDumpResults/*/device_0/dump/memscope_dump_*.csv")
    assert dump.read_text().count("FREE,HAL") == 5 and "example.py" in dump.read_text()


def test_a_shell_is_prepared(venv, tmp_path):
    done = run(venv, tmp_path, "bash", "-c", "source msmemscope --load-api-env && echo $LD_PRELOAD && source msmemscope --unload-api-env")
    assert done.returncode == 0 and f"{venv}/lib/msmemscope/lib64/libascend_kernel_hook.so" in done.stdout


def test_removed_again(venv):
    """Last: nothing of it stays behind."""
    assert run(venv, venv, "pip", "uninstall", "-y", "npuscope").returncode == 0
    left = [path for path in venv.rglob("*") if path.is_file() and ("memscope" in path.name or path.name.startswith(("softnpu", "dyno", "libascend")))]
    assert left == []
