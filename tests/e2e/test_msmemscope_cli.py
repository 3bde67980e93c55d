# SPDX-License-Identifier: Apache-2.0
"""The msmemscope command line: help, version, errors, commands on recordings, sourcing the script."""

import shutil
import subprocess

import pytest

from conftest import ROOT


@pytest.fixture
def command(build):
    return str(build / "msmemscope" / "bin" / "msmemscope")


def test_help_matches_reference_page(softnpu, command):
    done = softnpu.run(command, "--help")
    assert done.returncode == 0 and done.stderr == ""
    for words in ("Usage", "msmemscope [options] -- <prog> [args]", "Environment setup", "Examples", "Output"):
        assert words in done.stdout
    assert softnpu.run(command, "python", "t.py", "-h").stdout == done.stdout
    assert softnpu.run(command, "--help=md").stdout == (ROOT / "docs/reference/msmemscope-options.md").read_text()
    assert softnpu.run(command, "--help=man").stdout == (ROOT / "deploy/man/msmemscope.1").read_text()


def test_version_is_printed(softnpu, command):
    for option in ("--version", "-v", "-V"):
        done = softnpu.run(command, option)
        assert done.returncode == 0
        assert "msmemscope version " in done.stdout
        assert ">>>>>   MindStudio   <<<<<" in done.stderr and "\033" not in done.stderr


@pytest.mark.parametrize("options, message", [
    (["--steps=0"], "[msmemscope] Error: invalid steps input."),
    (["--events=x"], "[msmemscope] Error: invalid event trace type input."),
    (["--nonsense"], "[msmemscope] Error: unrecognized command "),
    (["--compare"], "Please use compare command with correct input paths!"),
    ([], "[msmemscope] Error: no program to run."),
])
def test_wrong_usage_is_refused(softnpu, command, options, message):
    done = softnpu.run(command, *options, *(["true"] if options else []))
    assert done.returncode == 2 and done.stdout == ""
    assert message in done.stderr


def test_unusable_output_is_refused_before_the_program_runs(softnpu, command, tmp_path):
    (tmp_path / "file").write_text("")
    done = softnpu.run(command, f"--output={tmp_path}/file/out", "--", "touch", tmp_path / "ran")
    assert done.returncode == 2
    assert "cannot use" in done.stderr
    assert not (tmp_path / "ran").exists()


def test_commands_on_recordings(softnpu, command, build, tmp_path):
    out = tmp_path / "out"
    assert softnpu.run(command, f"--output={out}", "--", build / "examples" / "acl-train", "--steps", "2").returncode == 0
    (dump,) = out.glob("*/device_0/dump/memscope_dump_*.csv")
    again = tmp_path / "again"
    assert softnpu.run(command, "export", out, "--format=csv", "-o", again).returncode == 0
    (copy,) = again.glob("*/device_0/dump/memscope_dump_*.csv")
    assert copy.read_bytes() == dump.read_bytes()
    before = dump.read_bytes()
    assert softnpu.run(command, "recover", out).returncode == 0
    assert dump.read_bytes() == before
    assert "events" in softnpu.run(command, "info", out).stdout
    assert softnpu.run(command, "info", tmp_path).returncode == 1


@pytest.mark.parametrize("word", ["info", "recover", "export", "report", "query", "check"])
def test_program_may_have_name_of_command(softnpu, command, tmp_path, word):
    """A command word that is not followed by a directory is a program's name, if that program exists."""
    program = tmp_path / "bin" / word
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho own program, $*\n")
    program.chmod(0o755)
    env = softnpu.env(PATH=f"{program.parent}:{softnpu.env()['PATH']}")
    done = subprocess.run([command, word, "nothing"], env=env, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "own program, nothing" in done.stdout
    arguments = {"query": [word, "nothing", "SELECT 1"], "check": [word, "inefficient", "nothing"]}.get(word, [word, "nothing"])
    program.unlink()
    (program.parent / "readlink").symlink_to(shutil.which("readlink"))
    done = softnpu.run(command, *arguments, PATH=program.parent)
    assert done.returncode in (1, 2) and "nothing: No such file or directory" in done.stderr


def test_script_can_be_sourced(softnpu, command, build):
    lib64 = str(build / "msmemscope" / "lib64")
    script = (f'. {command} --load-api-env; echo "P=$LD_PRELOAD"; . {command} --load-api-env | tail -n1; '
              f'. {command} --unload-api-env; echo "L=${{LD_PRELOAD-unset}}"; . {command} --unload-api-env; set | grep -c _msmemscope')
    env = softnpu.env()
    env.pop("LD_LIBRARY_PATH")
    done = subprocess.run(["bash", "-c", script], env=env, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert f"[msmemscope] LD_LIBRARY_PATH + {lib64}" in lines
    assert "[msmemscope] Environment already set up -- nothing to do." in lines
    assert any(line.startswith("P=") and f"{lib64}/libascend_kernel_hook.so" in line for line in lines)
    assert "L=unset" in lines
    assert "[msmemscope] No msmemscope entries found in LD_PRELOAD or LD_LIBRARY_PATH -- nothing to unset." in lines
    done = softnpu.run(command, "--load-api-env")
    assert done.returncode == 1 and "This command must be sourced so that environment" in done.stderr
