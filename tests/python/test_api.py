# SPDX-License-Identifier: Apache-2.0
"""config, start, stop and step, for each way to start a program."""

import os
import resource
import signal

import pytest
from python_target import HOME, Target

RECORD = """
    import msmemscope, npu
    npu.init()
    npu.work(3)
    kept = [npu.malloc(), npu.malloc()]
    msmemscope.config(analysis="", events="alloc,free")
    msmemscope.start()
    npu.work(4)
    msmemscope.stop()
    npu.work(5)
    npu.free(kept.pop())
    msmemscope.start()
    npu.work(6)
    msmemscope.stop()
    npu.work(7)
"""


def test_records_between_start_and_stop(target_any):
    done = target_any.run(RECORD)
    assert done.out.splitlines() == ["[msmemscope] Info: Start tracing.", "[msmemscope] Info: Stop tracing.",
                                     "[msmemscope] Info: Fflush temporary cache events to file!"] * 2
    assert len(target_any.mallocs("HAL")) == 10
    rows = target_any.rows()
    assert [row.type for row in rows if row.event == "SYSTEM"] == ["START_TRACE", "STOP_TRACE"] * 2
    assert len([row for row in rows if row.event == "MALLOC" and "shadow" in row.attr]) == 2  # live at start()


def test_start_hooks_driver_loaded_earlier(target):
    """start() hooks its calls; earlier allocations are unknown, which is reported once."""
    done = target.run("""
        import npu
        npu.init()
        before = npu.malloc()
        import msmemscope
        msmemscope.config(analysis="", events="alloc,free")
        msmemscope.start()
        npu.work(4)
        npu.free(before)
        msmemscope.stop()
        msmemscope.start()
        npu.work(2)
        msmemscope.stop()
    """)
    assert len(target.mallocs("HAL")) == 6
    (line,) = done.err.splitlines()
    assert line.startswith("[msmemscope] Warn: this program was started without the recorder; not recorded: ")
    assert "allocations before msmemscope was imported" in line and "source msmemscope --load-api-env" in line


def test_events_before_start_are_not_reported_as_deleted(target):
    target.run(RECORD)
    for word in ("info", "report"):
        done = target.softnpu.run(HOME / "bin" / "msmemscope", word, target.output)
        assert done.returncode == 0 and "deleted" not in done.stdout + done.stderr


def test_no_warning_if_recorder_was_preloaded(softnpu, tmp_path):
    for way in ("launcher", "preload"):
        done = Target(softnpu, tmp_path / way, way).run(RECORD)
        assert "not recorded" not in done.err


def test_files_are_complete_when_stop_returns(target_any):
    process = target_any.start("""
        import msmemscope, npu
        npu.init()
        msmemscope.config(analysis="")
        msmemscope.start()
        npu.work(500)
        msmemscope.stop()
        print("waiting", flush=True)
        input()
    """)
    while process.stdout.readline() != "waiting\n":
        assert process.poll() is None
    rows = target_any.rows()
    assert len([row for row in rows if row.event == "FREE"]) == 500 and rows[-1].type == "STOP_TRACE"
    process.communicate("\n", timeout=60)
    assert len(target_any.rows()) == len(rows)


@pytest.mark.parametrize("data_format", ["csv", "db"])
def test_rows_without_device_are_complete_when_stop_returns(target, data_format):
    process = target.start(f"""
        import msmemscope, mstx
        msmemscope.config(analysis="", data_format="{data_format}")
        msmemscope.start()
        mstx.mark("hello")
        msmemscope.stop()
        print("waiting", flush=True)
        input()
    """)
    while process.stdout.readline() != "waiting\n":
        assert process.poll() is None
    assert [row.type for row in target.rows()] == ["START_TRACE", "Mark", "STOP_TRACE"]
    process.communicate("\n", timeout=60)
    assert len(target.rows()) == 3


@pytest.mark.parametrize("end", ["", "import os; os._exit(0)", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"])
def test_program_exit_without_stop_completes_files(target, until, end):
    process = target.start(f"""
        import msmemscope, npu
        npu.init()
        msmemscope.config(analysis="")
        msmemscope.start()
        npu.work(100)
        {end}
    """)
    process.communicate(timeout=60)
    until(lambda: not target.collectors())  # files are incomplete until it ends
    assert len([row for row in target.rows() if row.event == "FREE"]) == 100


def test_step_writes_rows_while_tracing(target_any):
    target_any.run("""
        import msmemscope, npu
        npu.init()
        msmemscope.step()
        msmemscope.config()
        msmemscope.step()
        msmemscope.start()
        for _ in range(3):
            npu.work(1)
            msmemscope.step()
        msmemscope.stop()
        msmemscope.step()
    """)
    assert [row.name for row in target_any.rows() if row.type == "STEP"] == ["1", "2", "3"]


def test_stop_without_start_warns(target_any):
    done = target_any.run("import msmemscope; msmemscope.stop()")
    assert done.out == "" and "tracing is not active" in done.err
    assert not target_any.output.exists()


def test_import_alone_writes_nothing(target_any):
    done = target_any.run("import msmemscope, npu; npu.init(); npu.work(10); kept = npu.malloc()")
    assert (done.out, done.err) == ("", "")
    assert not list(target_any.output.glob("*/device_*"))


# ---- settings ----


def fails(target, call, error, message, **more):
    done = target.run(f"""
        import msmemscope
        try:
            {call}
        except {error} as error:
            print(type(error).__name__, error)
    """, **more)
    assert done.out.splitlines() == [f"{error} {message}"], done.out + done.err
    return done


@pytest.mark.parametrize("call, error, message", [
    ("msmemscope.config('alloc')", "TypeError", "config() takes no positional arguments"),
    ("msmemscope.config(events=1)", "TypeError", "Value for argument 'events' must be a string (use quotes)"),
    ("msmemscope.config(level=0)", "TypeError", "Value for argument 'level' must be a string (use quotes)"),
    ("msmemscope.config(nonsense='1')", "ValueError", "Set msmemscope trace config failed!"),
    ("msmemscope.config(steps='1')", "ValueError", "Set msmemscope trace config failed!"),
    ("msmemscope.config(events='alloc\\nring=')", "ValueError", "Set msmemscope trace config failed!"),
    ("msmemscope.config(events='alloc\\0')", "ValueError", "Set msmemscope trace config failed!"),
    ("msmemscope.config(events='\\udc80')", "ValueError", "Set msmemscope trace config failed!"),
    ("msmemscope.start(1)", "TypeError", "start() takes 0 positional arguments but 1 was given"),
])
def test_wrong_calls_raise(target, call, error, message):
    fails(target, call, error, message)


@pytest.mark.parametrize("setting, words", [
    ("events='alloc,nonsense'", "[msmemscope] Error: invalid event trace type input."),
    ("level='2'", "[msmemscope] Error: invalid data trace level input."),
    ("device='gpu'", "[msmemscope] Error: invalid device."),
    ("device=''", "[msmemscope] Error: invalid device."),
    ("call_stack='c:1001'", "[msmemscope] Error: invalid call-stack depth input."),
    ("analysis='leak'", "[msmemscope] Error: invalid analysis type input."),
    ("analysis='oom:0'", "[msmemscope] Error: invalid OOM top-K value '0', valid range is [1, 1000]."),
    ("watch='op0,'", "[msmemscope] Error: invalid watch config."),
    ("data_format='xml'", "[msmemscope] Error: --data-format param is invalid. DATA_FORMAT can only be set csv,db."),
    ("output='/tmp/a*b'", "[msmemscope] Error: invalid output path."),
    ("nonsense=''", "unknown setting 'nonsense'"),
])
def test_wrong_values_give_messages_of_command_line(target, setting, words):
    done = fails(target, f"msmemscope.config({setting})", "ValueError", "Set msmemscope trace config failed!")
    assert words in done.err


def test_wrong_config_changes_nothing(target):
    target.run("""
        import msmemscope, npu
        npu.init()
        msmemscope.config(data_format="db", analysis="")
        try:
            msmemscope.config(events="none", level="nonsense")
        except ValueError:
            pass
        msmemscope.start()
        npu.work(2)
        msmemscope.stop()
    """)
    (file,) = target.files()
    assert file.suffix == ".db" and len(target.mallocs()) == 2


def test_each_config_starts_from_defaults(target):
    target.run("""
        import msmemscope, npu
        npu.init()
        msmemscope.config(events="none", analysis="")
        msmemscope.config()
        msmemscope.start()
        npu.work(2)
        msmemscope.stop()
        msmemscope.config(events="none", analysis="none")
        msmemscope.start()
        npu.work(3)
        msmemscope.stop()
    """)
    assert len(target.mallocs()) == 2


@pytest.mark.parametrize("names", [("data_format", "output"), ("format", "output_path")])
def test_output_and_format_can_be_set_once(target, tmp_path, names):
    form, output = names
    done = target.run(f"""
        import msmemscope, npu
        npu.init()
        msmemscope.config({form}="db", {output}="{tmp_path}/first")
        msmemscope.config({form}="csv", {output}="{tmp_path}/second", watch="a,b", analysis="none")
        msmemscope.start()
        npu.work(2)
        msmemscope.stop()
    """)
    assert '[msmemscope] Warn: Config:"format","output_path","watch" can only be set once.' in done.err
    assert [file.suffix for file in target.files(tmp_path / "first")] == [".db"]
    assert not (tmp_path / "second").exists()


def test_first_of_two_alias_settings_wins(target):
    """The other settings of the same call apply."""
    done = target.run("""
        import msmemscope, npu
        npu.init()
        msmemscope.config(data_format="db", format="csv", output="here")
        msmemscope.start()
        npu.work(1)
        msmemscope.stop()
    """)
    assert "can only be set once" in done.err
    assert [file.suffix for file in target.files(target.folder / "here")] == [".db"]


@pytest.mark.parametrize("use", ["msmemscope.start(); msmemscope.stop()", "msmemscope.take_snapshot(0)"])
def test_config_keeps_existing_files(target, use):
    done = target.run(f"""
        import msmemscope, npu
        npu.init()
        {use}
        msmemscope.config(format="db", output="elsewhere", events="none", analysis="none")
        msmemscope.start()
        npu.work(1)
        msmemscope.stop()
    """)
    assert "can only be set once" in done.err
    assert [file.suffix for file in target.files()] == [".csv"] and not target.mallocs()
    assert not (target.folder / "elsewhere").exists()


def test_command_line_overrides_config(softnpu, tmp_path):
    target = Target(softnpu, tmp_path / "target", "launcher")
    done = target.run("import msmemscope, npu; npu.init(); msmemscope.config(format='db'); msmemscope.start(); npu.work(1)")
    assert "can only be set once" in done.err
    assert [file.suffix for file in target.files()] == [".csv"]


def test_excluded_process_warns_and_continues(softnpu, tmp_path):
    target = Target(softnpu, tmp_path / "target", "launcher")
    (target.folder / "child.py").write_text("""
import msmemscope
msmemscope.config()
msmemscope.start()
msmemscope.step()
msmemscope.take_snapshot()
msmemscope.tracer.start()
msmemscope.tracer.stop()
msmemscope.watcher.watch(4096, length=4, name="mine")
msmemscope.watcher.remove(4096, length=4)
msmemscope.stop()
""")
    done = target.run("""
        import subprocess, sys
        subprocess.run([sys.executable, "child.py"], check=True)
    """, options=["--no-children"])
    assert done.err.count("this process is not recorded") == 5 and done.out == "", done.out + done.err


def test_relative_output_is_below_working_directory(target):
    target.run("""
        import msmemscope, npu
        npu.init()
        msmemscope.config(output="here/there")
        msmemscope.start()
        npu.work(2)
        msmemscope.stop()
    """)
    assert len(target.mallocs(output=target.folder / "here" / "there")) == 2


def test_relative_output_in_deleted_working_directory_is_refused(target):
    fails(target, "import os; os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone'); msmemscope.config(output='there')",
          "ValueError", "Set msmemscope trace config failed!")


def test_config_reports_unwritable_output(target):
    """config() may then be called with another one."""
    done = target.run("""
        import msmemscope, npu
        npu.init()
        try:
            msmemscope.config(output="/proc/nowhere")
        except ValueError as error:
            print(error)
        msmemscope.config(output="good")
        msmemscope.start()
        npu.work(2)
        msmemscope.stop()
    """)
    assert "Set msmemscope trace config failed!\n" in done.out
    assert "[msmemscope] Error: cannot write to /proc/nowhere: " in done.err
    assert len(target.mallocs(output=target.folder / "good")) == 2


@pytest.mark.parametrize("where, words", [
    ("os.mkdir('here'); os.chdir('here')\nmsmemscope.config(output='there')\nos.rmdir('there'); open('there', 'w')",
     "cannot write to {folder}/here/there: "),
    ("os.mkdir('here'); os.chdir('here'); os.rmdir('../here')", "cannot write to the working directory, which was deleted: "),
    ("os.mkdir(b'\\xff'); os.chdir(b'\\xff'); open('memscopeDumpResults', 'w')",
     "cannot write to {folder}/\ufffd/memscopeDumpResults: "),
])
def test_start_reports_unwritable_output(target, where, words):
    done = target.run(f"import os\n{where.replace('msmemscope', 'import msmemscope; msmemscope')}\n" + """
import msmemscope
try:
    msmemscope.start()
except OSError as error:
    print(error.strerror)
msmemscope.stop()
""")
    assert words.format(folder=target.folder) in done.out
    assert "Start tracing" not in done.out


def test_stop_reports_incomplete_files(target):
    """The program continues."""
    process = target.start("""
        import msmemscope, npu
        npu.init()
        msmemscope.config(analysis="")
        msmemscope.start()
        input()
        npu.work(20000)
        msmemscope.stop()
        msmemscope.step()
        print("goes on")
    """)
    assert "Start tracing" in process.stdout.readline()
    for collector in target.collectors():
        resource.prlimit(collector, resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    out, err = process.communicate("\n", timeout=60)
    assert process.returncode == 0 and out.endswith("goes on\n") and "Fflush" not in out, out + err
    (directory,) = target.output.iterdir()
    assert f"[msmemscope] Error: results in {directory} are incomplete: File too large." in err.splitlines()


def test_listeners_get_new_state(target):
    done = target.run("""
        import msmemscope
        from msmemscope import _recorder
        def show(state):
            print(state.tracing, bool(state.events & _recorder.ACCESS), bool(state.analysis & _recorder.DECOMPOSE))
        def fail(state):
            raise RuntimeError("oh")
        _recorder.listen(fail)
        _recorder.listen(show)
        msmemscope.config(analysis="decompose")
        msmemscope.start()
        msmemscope.stop()
        msmemscope.config(analysis="")
    """)
    shown = [line for line in done.out.splitlines() if not line.startswith("[msmemscope]")]
    assert shown == ["False True True", "True True True", "False True True", "False False False"]
    assert done.err.count("failed: RuntimeError: oh") == 4


def test_environment_switches_recording_off(target):
    target.run("import msmemscope, npu; npu.init(); npu.work(5)", MSMEMSCOPE_SHADOW=0)
    assert not target.output.exists()


def test_other_functions_work_without_recorder(target):
    done = target.run("""
        import msmemscope, mstx
        from msmemscope import describe
        msmemscope.step()
        mstx.mark("not recorded")
        with msmemscope.RecordFunction("nor this"), describe.describer(owner="nor that"):
            describe.describer(4096, owner="nothing")
            msmemscope.watcher.remove(4096, length=4)
            msmemscope.init_framework_hooks("verl", "0.7.0", "TaskRunner", "snapshot")
            msmemscope.cleanup_framework_hooks()
    """, MSMEMSCOPE_SHADOW=0)
    assert (done.out, done.err) == ("", "") and not target.output.exists()


def test_start_works_with_shadow_recording_off(target):
    target.run(RECORD, MSMEMSCOPE_SHADOW=0)
    assert len(target.mallocs("HAL")) == 10


@pytest.mark.parametrize("spoil", [
    "sys.stdout.close(); sys.stderr.close()",
    "sys.stdout = sys.stderr = None",
    "sys.stdout = sys.stderr = open('/dev/full', 'w')",
    "sys.stdout = sys.stderr = type('Odd', (), {'write': lambda self, text: 1 / 0, 'flush': lambda self: None})()",
])
def test_unusable_console_is_ignored(target, spoil):
    """Only messages are lost."""
    target.run(f"""
        import os, sys
        import msmemscope, npu
        npu.init()
        {spoil}
        msmemscope.stop()
        msmemscope.init_framework_hooks("nothing", "1", "of", "that")
        try:
            msmemscope.config(level="nonsense")
        except ValueError:
            pass
        msmemscope.config(analysis="")
        msmemscope.start()
        npu.work(3)
        msmemscope.stop()
        os._exit(0)
    """)
    assert len(target.mallocs()) == 3


def test_concurrent_calls_are_serialised(target):
    target.run("""
        import msmemscope, npu, threading
        from msmemscope import _hijack
        npu.init()
        ready, errors = threading.Barrier(8), []
        calls = [msmemscope.start, lambda: msmemscope.config(analysis="decompose"), lambda: msmemscope.take_snapshot(0),
                 msmemscope.stop]
        def go(number):
            ready.wait()
            for call in range(10):
                try:
                    calls[(number + call) % len(calls)]()
                except Exception as error:
                    errors.append(error)
        threads = [threading.Thread(target=go, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not errors, errors
        targets = [patch.target for patch in _hijack._patches]
        assert len(targets) == len(set(targets)), targets
    """)


def test_fork_while_another_thread_is_in_stop(target):
    """The child does not inherit the lock."""
    process = target.start("""
        import msmemscope, os, sys, threading
        from msmemscope import _native
        msmemscope.config(analysis="")
        msmemscope.start()
        input()
        sys.setswitchinterval(1000)  # a thread runs until it blocks
        under_way, stop = threading.Event(), _native.stop
        def stop_it():
            under_way.set()
            return stop()
        _native.stop = stop_it
        thread = threading.Thread(target=msmemscope.stop)
        thread.start()
        under_way.wait()
        child = os.fork()
        if child == 0:
            _native.stop = stop
            print("forked", flush=True)
            msmemscope.start()
            msmemscope.stop()
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        thread.join()
    """)
    assert "Start tracing" in process.stdout.readline()
    collectors = target.collectors()
    for collector in collectors:
        os.kill(collector, signal.SIGSTOP)
    process.stdin.write("\n")
    process.stdin.flush()
    while process.stdout.readline() != "forked\n":
        assert process.poll() is None
    for collector in collectors:
        os.kill(collector, signal.SIGCONT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
