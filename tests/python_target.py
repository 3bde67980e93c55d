# SPDX-License-Identifier: Apache-2.0
"""Python programs as targets: each on its own software NPU, started in any of the supported ways."""

import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

from recorder import Recording, read_dump, wait_until

ROOT = pathlib.Path(__file__).resolve().parent.parent
HOME = pathlib.Path(os.environ.get("NPUSCOPE_BUILD", ROOT / "build")).resolve() / "msmemscope"
SUPPORT = ROOT / "tests" / "python" / "support"
WAYS = ("launcher", "preload", "plain")


class Target:
    """A Python program that uses the package."""

    def __init__(self, softnpu, folder, way="plain", python=sys.executable):
        self.softnpu, self.folder, self.way, self.python = softnpu, folder, way, python
        folder.mkdir()
        self.output = folder / "memscopeDumpResults"
        self.env = {"PYTHONPATH": f"{HOME}/python:{SUPPORT}"}
        before = os.environ.get("NPUSCOPE_PRELOAD")  # a sanitizer's run-time library
        libraries = [before, str(HOME / "lib64" / "libascend_kernel_hook.so") if way == "preload" else None]
        if any(libraries):
            self.env["LD_PRELOAD"] = ":".join(filter(None, libraries))
        if way == "launcher":
            self.env["PYTHONPATH"] = f"{SUPPORT}"  # the launcher adds the package

    def argv(self, code, options=()):
        script = self.folder / "target.py"
        script.write_text(textwrap.dedent(code))
        program = [self.python, str(script)]
        if self.way == "launcher":
            return [str(HOME / "bin" / "msmemscope"), "--quiet", "--collect-mode=deferred", *options, "--", *program]
        return program

    def start(self, code, options=(), **env):
        return subprocess.Popen(self.argv(code, options), cwd=self.folder, text=True, env=self.softnpu.env(**self.env, **env),
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, code, options=(), status=0, **env):
        process = self.start(code, options, **env)
        process.out, process.err = process.communicate(timeout=120)
        assert process.returncode == status, process.out + process.err
        wait_until(lambda: not self.collectors())
        return process

    def collectors(self):
        """Running collectors. One that the program itself started exits shortly after it, when the files are complete."""
        found = []
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                command = pathlib.Path(f"/proc/{entry}/cmdline").read_bytes().split(b"\0")
                if command[0].endswith(b"/msmemscope-collector") and \
                        self.softnpu.name.encode() in pathlib.Path(f"/proc/{entry}/environ").read_bytes():
                    found.append(int(entry))
            except OSError:
                continue
        return found

    def files(self, output=None):
        found = (output or self.output).glob("*/device_*/dump/memscope_dump_*")
        return sorted(path for path in found if path.suffix in (".csv", ".db"))

    def rows(self, output=None):
        return [row for path in self.files(output) for row in read_dump(path)]

    def mallocs(self, kind=None, output=None):
        """Allocations made while tracing, without those made before."""
        return [row for row in self.rows(output) if row.event == "MALLOC" and "shadow" not in row.attr
                and kind in (None, row.type)]

    def kinds(self):
        """Number of records of each kind."""
        (process,) = Recording(self.softnpu, HOME, self.output).info()
        return process["kinds"]


@pytest.fixture
def target(softnpu, tmp_path):
    return Target(softnpu, tmp_path / "target")


@pytest.fixture(params=WAYS)
def target_any(softnpu, tmp_path, request):
    """A target for each way to start a program."""
    return Target(softnpu, tmp_path / "target", request.param)


@pytest.fixture(scope="session")
def requirement():
    """The documents whose examples must run unchanged; they are next to the repository, not in it."""
    named = os.environ.get("NPUSCOPE_REQUIREMENT")
    places = [pathlib.Path(named)] if named else [parent / "shared" / "requirement" for parent in ROOT.parents]
    return next((place for place in places if place.is_dir()), None)
