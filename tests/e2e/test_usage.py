# SPDX-License-Identifier: Apache-2.0
"""Wrong usage gives the original's messages and exit status 2, and starts nothing; hostile environments."""

import os
import re
import subprocess

import pytest

LONG = "x" * 5000

MESSAGES = {
    "invalid steps input.": ["--steps=0", "--steps=01", "--steps=1,2,3,4,5,6", "--steps=4294967296", "--steps=-1",
                             "--steps=1.5", "--steps=a", "--steps=1 2"],
    "invalid analysis type input.": ["--analysis=x", "--analysis=oomxyz", "--analysis=leak", "--analysis=leaks;oom"],
    "invalid OOM top-K value '0', valid range is [1, 1000].": ["--analysis=oom:0"],
    "invalid OOM top-K value '1001', valid range is [1, 1000].": ["--analysis=leaks,oom:1001"],
    "invalid OOM top-K value '', valid range is [1, 1000].": ["--analysis=oom:"],
    "invalid call-stack depth input.": ["--call-stack=x", "--call-stack=c:1001", "--call-stack=c:01", "--call-stack=c:",
                                        "--call-stack=python:-1", "--call-stack=c:5,perl"],
    "invalid data trace level input.": ["--level=2", "--level=", "--level=op,x", "--level=Kernel"],
    "invalid event trace type input.": ["--events=foo", "--events=alloc,x", "--events=ALLOC"],
    "invalid watch config.": ["--watch=a,b,c", "--watch=a:01,b", "--watch=a,", "--watch=,", f"--watch=a,{LONG[:300]}",
                              "--watch=a,b,full-content,x"],
    "--log-level param is invalid. Log level: debug|info|warning|error.": ["--log-level=x", "--log-level="],
    "--data-format param is invalid. DATA_FORMAT can only be set csv,db.": ["--data-format=x", "--format=CSV", "--format="],
    "invalid device.": ["--device=", "--device=gpu", "--device=npu:32", "--device=npu:0x1", "--device=npu:", "--device=npu:01"],
    "--collect-mode param is invalid. Collect mode can only be set to immediate,deferred.": [
        "--collect-mode=x", "--collect-mode="],
    "invalid output path.\nPlease use correct output path!": [
        "--output=a*b", "--output=a\nb;", f"-o{LONG[:256]}", "--output-path=" + "/d" * 33, "--output=é"],
    "Parameter --input length exceeds the maximum length:4096.": [f"--input={LONG}", f"-i{LONG}"],
    "invalid paths input.": ["--input=/nonexistent,/etc/passwd", "--input-path=/etc/passwd,/etc/group,/etc/hosts"],
    "unrecognized command ": ["--nonsense", "-x", "--verbose=1", "--l=op"],
}


@pytest.mark.parametrize("option, message", [(option, message) for message, options in MESSAGES.items() for option in options],
                         ids=lambda value: value[:40])
def test_wrong_values_are_refused(recorder, tmp_path, option, message):
    done = recorder.softnpu.run(recorder.command, option, "--", "touch", tmp_path / "ran")
    assert done.returncode == 2 and done.stdout == ""
    assert f"[msmemscope] Error: {message}" in done.stderr, done.stderr
    assert "--help" in done.stderr  # the hint
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("options, text", [
    (["--output= "], "[msmemscope] Warn: empty output path.\nPlease use correct output path!\n"),
    (["--compare"], "Please use compare command with correct input paths!\n"),
    (["--compare", "--input=/etc/passwd"], "Please use compare command with correct input paths!\n"),
    (["--input=/etc/passwd,/etc/group"], "Please use compare command with correct input paths!\n"),
])
def test_wrong_combinations_are_refused(recorder, tmp_path, options, text):
    done = recorder.softnpu.run(recorder.command, *options, "--", "touch", tmp_path / "ran")
    assert done.returncode == 2 and done.stdout == "" and text in done.stderr
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("option, warning", [
    ("--analysis=none,leaks", "[msmemscope] Warn: 'none' mixed with other analysis types, all analysis cleared.\n"),
    ("--events=alloc,none", "[msmemscope] Warn: 'none' mixed with other event types, all events cleared.\n"),
    (f"--output={LONG}", "[msmemscope] Error: Parameter --output length exceeds the maximum length:4096 output path will be "
                         "set to default(./memscopeDumpResults).\n"),
])
def test_warnings_are_printed(recorder, tmp_path, option, warning):
    done = subprocess.run([recorder.command, option, "--", "sh", "-c", "exit 5"], cwd=tmp_path, env=recorder.softnpu.env(),
                          capture_output=True, text=True)
    assert done.returncode == 5 and warning in done.stderr


@pytest.mark.parametrize("options", [
    ["--steps=1,2,3，4,,5,"], ["--events="], ["--events=none"], ["--analysis="], ["--analysis=none"], ["--call-stack="],
    ["--call-stack=c:0,python:1000"], ["--level=0,1"], ["--device=npu,npu:3,cpu"], ["--watch=start:12,end,full-content"],
    ["--watch=,end"], ["--log-level=warning"], ["--log-level", "warn"], ["--data-f", "db"], ["--format=db"],
    ["--collect-mode=deferred"], ["-q"], ["--verbose", "--quiet", "--debug"], ["--event=alloc"], ["--linger", "0"]],
    ids=lambda value: value[0])
def test_valid_options_are_accepted(recorder, tmp_path, options):
    done = subprocess.run([recorder.command, f"--output={tmp_path}/中文 dir", *options, "--", "sh", "-c", "exit 5"],
                          env=recorder.softnpu.env(), capture_output=True, text=True)
    assert done.returncode == 5, done.stderr


def test_options_after_program_are_parsed_until_double_dash(recorder, tmp_path):
    env = recorder.softnpu.env()
    done = subprocess.run([recorder.command, "echo", "a", "--output", tmp_path, "b", "--quiet", "--", "--steps=x", "-h"],
                          env=env, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "a b --steps=x -h\n")
    done = subprocess.run([recorder.command, "echo", "--steps=x"], env=env, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")


def test_root_gets_notice(recorder):
    done = recorder.softnpu.run(recorder.command, f"--output={recorder.output}", "--", "true")
    notice = "[msmemscope] Warn: Current user is root, skip permission check.\n"
    assert (notice in done.stderr) == (os.geteuid() == 0)
    assert notice not in recorder.softnpu.run(recorder.command, "-q", f"--output={recorder.output}", "--", "true").stderr


def test_version_names_the_commit(recorder):
    done = recorder.softnpu.run(recorder.command, "--version")
    assert re.search(r"\nmsmemscope version \d+\.\d+\.\d+-[0-9a-z]+\n$", done.stdout)


def test_loose_permissions_give_warning(recorder, tmp_path):
    loose = tmp_path / "loose"
    loose.mkdir()
    loose.chmod(0o777)
    done = recorder.softnpu.run(recorder.command, f"--output={loose}", "--", "true")
    assert done.returncode == 0
    assert f"[msmemscope] Warn: The path {loose} can be modified by other users. Please confirm it is trusted." in done.stderr
    link = tmp_path / "link"
    link.symlink_to(loose)
    done = recorder.softnpu.run(recorder.command, "--strict-paths", f"--output={link}", "--", "touch", tmp_path / "ran")
    assert done.returncode == 2 and "soft link is not allowed." in done.stderr
    assert not (tmp_path / "ran").exists()


SESSIONS = ["", "1", ";;;;", "2;s=" + "a" * 32, "1;s=xyz", "1;s=" + "0" * 32, "1;s=" + "0" * 32 + ";f=/etc/passwd",
            "1;s=" + "0" * 32 + ";f=/proc/self/fd/0;t=2;e=4294967295;c=1000;p=1000;m=16384",
            "1;s=" + "0" * 32 + ";t=99999999999999999999999", "1;s=" + "0" * 31 + "G", "%", "1;s=%zz;f=%00",
            "1;" + ";".join(f"k{i}=1" for i in range(500)), "A" * 100000, "1;s=" + "0" * 32 + ";f=" + "/x" * 5000]


@pytest.mark.parametrize("session", SESSIONS, ids=lambda text: text[:20])
def test_hostile_session_strings_are_ignored(softnpu, build, session):
    """A preloaded program with any session string runs as without the recorder."""
    hook = build / "msmemscope" / "lib64" / "libascend_kernel_hook.so"
    done = softnpu.run(build / "examples" / "acl-train", "--steps", 1, env={"LD_PRELOAD": str(hook), "MSMEMSCOPE_SESSION": session})
    assert done.returncode == 0 and done.stderr == ""


@pytest.mark.parametrize("env", [
    {"ASCEND_RT_VISIBLE_DEVICES": "0,x,-1,,99999999999"}, {"ASCEND_RT_VISIBLE_DEVICES": "0," * 5000},
    {"ATB_HOME_PATH": "/x/" + "y" * 9000}, {"ATB_HOME_PATH": "\n\t"}, {"LD_PRELOAD": "/nonexistent.so: :"},
    {"LD_PRELOAD_PATH": "/nonexistent"}, {"LD_PRELOAD_PATH": "/x" * 5000}, {"TERM": "\033[2J"}, {"PATH": ""},
    {"MSMEMSCOPE_SESSION": "1;s=" + "0" * 32}, {"MSMEMSCOPE_CONFIG_PATH": "/etc/passwd"}, {"TZ": "../../etc/passwd"},
    {"HOME": ""}, {"LANG": "xx_XX.UTF-99"}, {"TMPDIR": "/nonexistent"}], ids=lambda env: " ".join(env))
def test_hostile_environment_is_survived(recording, build, env):
    done = recording.run(build / "examples" / "acl-train", "--steps", 1, env=env)
    assert done.returncode == 0, done.stderr
    assert len(recording.info()) == 1 and len(recording.rows()) > 100


def test_empty_environment_works(recorder, build, tmp_path):
    done = subprocess.run([recorder.command, f"--output={tmp_path}/out", "--", "/bin/sh", "-c", "exit 9"], env={},
                          capture_output=True, text=True)
    assert done.returncode == 9, done.stderr


def test_unusable_output_directories_are_refused(recorder, tmp_path):
    (tmp_path / "file").write_text("")
    for path, reason in [(tmp_path / "file", "Not a directory"), (tmp_path / "file" / "x", "Not a directory"),
                         ("/proc/nonexistent", "No such file or directory"), ("/dev/null/x", "Not a directory")]:
        done = recorder.softnpu.run(recorder.command, f"--output={path}", "--", "touch", tmp_path / "ran")
        assert done.returncode == 2 and f"cannot use the output directory {path}: {reason}." in done.stderr, done
    assert not (tmp_path / "ran").exists()
