# SPDX-License-Identifier: Apache-2.0
"""The package itself: its names, the cost of its import, where it works."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from python_target import HOME, Target

NAMES = ["RecordFunction", "TakeSnapshot", "analyze", "analyzer", "check_inefficient", "check_leaks", "config", "describe",
         "enable_npu_sanitizer", "get_analyzer_config", "list_analyzers", "start", "step", "stop", "take_snapshot", "watcher"]


def test_public_names(target):
    done = target.run("""
        import msmemscope
        missing = [name for name in msmemscope.__all__ if not hasattr(msmemscope, name)]
        assert not missing, missing
        assert set(msmemscope.__all__) <= set(dir(msmemscope))
        print(" ".join(msmemscope.__all__))
        try:
            msmemscope.nonsense
        except AttributeError as error:
            print(error)
    """)
    names, error = done.out.splitlines()
    assert set(NAMES) <= set(names.split())
    assert error == "module 'msmemscope' has no attribute 'nonsense'"


def test_import_loads_few_modules(target):
    """Only modules that the interpreter has loaded anyway, or that are built in."""
    done = target.run("""
        import sys
        before = set(sys.modules)
        import msmemscope
        print(*sorted(set(sys.modules) - before))
    """)
    brought = [name for name in done.out.split() if not name.startswith("msmemscope")]
    assert [name for name in brought if name not in sys.builtin_module_names] == ["__future__"]


def test_extension_works_in_every_interpreter(softnpu, tmp_path):
    """One extension file serves all of them."""
    found = {shutil.which(f"python3.{minor}") for minor in range(9, 15)} | {sys.executable, "/usr/bin/python3"}
    versions = pathlib.Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    found |= {str(path) for path in versions.glob("3.*/bin/python3")}
    usable = {path for path in found if path and subprocess.run(
        [path, "-c", "import sys; sys.exit(sys.version_info < (3, 9))"], capture_output=True).returncode == 0}
    for number, python in enumerate(sorted(usable)):
        target = Target(softnpu, tmp_path / f"target{number}", python=python)
        target.run("""
            import msmemscope, mstx, npu
            npu.init()
            msmemscope.config(call_stack="python")
            msmemscope.start()
            npu.work(3)
            with msmemscope.RecordFunction("part"):
                mstx.mark("hello")
            msmemscope.stop()
        """)
        assert len(target.mallocs()) == 3 and all("target.py" in row.python_stack for row in target.mallocs()), python
        assert [row.name for row in target.rows() if row.event == "MSTX"] == ["hello"], python


def test_module_runs_command(target, build):
    env = target.softnpu.env(**target.env)
    done = subprocess.run([sys.executable, "-m", "msmemscope", "--version"], capture_output=True, text=True, env=env)
    direct = subprocess.run([HOME / "bin" / "msmemscope", "--version"], capture_output=True, text=True, env=env)
    assert (done.returncode, done.stdout) == (0, direct.stdout)
    done = subprocess.run([sys.executable, "-m", "msmemscope", "--", "sh", "-c", "exit 7"], capture_output=True, text=True,
                          cwd=target.folder, env=env)
    assert done.returncode == 7
    done = subprocess.run([sys.executable, "-m", "msmemscope", "--quiet", "--", sys.executable, "-c",
                           "import os; print(os.environ.get('MSTX_INJECTION_PATH'))"],
                          capture_output=True, text=True, cwd=target.folder, env=env)
    assert done.stdout == "None\n"  # the package's variables are not passed on to the program


def test_incomplete_installation_is_reported(tmp_path):
    shutil.copytree(HOME / "python" / "msmemscope", tmp_path / "msmemscope", ignore=shutil.ignore_patterns("__pycache__"))
    done = subprocess.run([sys.executable, "-c", "import msmemscope"], capture_output=True, text=True, cwd=tmp_path,
                          env=os.environ | {"PYTHONPATH": str(tmp_path)})
    assert "incomplete installation: no lib64/libascend_kernel_hook.so in" in done.stderr


@pytest.mark.parametrize("call", ["config", "start"])
def test_unusable_collector_is_reported(tmp_path, call):
    """As when a library that it needs is missing."""
    shutil.copytree(HOME, tmp_path / "home", symlinks=True)
    collector = tmp_path / "home" / "libexec" / "msmemscope-collector"
    collector.unlink()
    collector.symlink_to("/bin/false")
    recorder = tmp_path / "home" / "lib64" / "libascend_kernel_hook.so"
    recorder.unlink()
    shutil.copy(HOME / "lib64" / "libascend_kernel_hook.so", recorder)
    done = subprocess.run([sys.executable, "-c", f"import msmemscope; msmemscope.{call}()"], capture_output=True, text=True,
                          cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(tmp_path / "home" / "python")})
    assert f"the collector does not respond; check that {collector} can run here" in done.stderr, done.stderr


SUBINTERPRETER = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
number = interpreters.create()
code = '''
try:
    import msmemscope
except ImportError as error:
    print(error, flush=True)
'''
result = interpreters.run_string(number, code)
"""


def test_subinterpreters_are_refused(target):
    done = target.run(SUBINTERPRETER)
    assert "subinterpreters" in done.out


@pytest.mark.parametrize("flags", [("-X", "dev"), ("-O",), ("-OO",), ("-S",)])
def test_interpreter_flags(target, flags):
    script = target.folder / "flags.py"
    script.write_text("import msmemscope, npu\nnpu.init()\nmsmemscope.start()\nnpu.work(2)\nmsmemscope.stop()\n")
    done = subprocess.run([sys.executable, *flags, str(script)], cwd=target.folder, capture_output=True, text=True,
                          env=target.softnpu.env(**target.env))
    assert done.returncode == 0 and "Error" not in done.stderr and "ResourceWarning" not in done.stderr, done.stderr
    assert len(target.mallocs()) == 2
