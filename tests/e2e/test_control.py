# SPDX-License-Identifier: Apache-2.0
"""Recording controlled by the program itself, through the function table that the Python API uses."""

import os
import pathlib
import signal
import subprocess

import pytest
from recorder import collector_of

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# Executes its arguments: a number allocates and frees that many times, keepN allocates, freeN frees kept blocks; other words
# are calls of the table, each answered by a line "word result text".
CLIENT = r"""
#define _GNU_SOURCE
#include <acl/acl.h>
#include <agent/agent_v1.h>
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
static volatile sig_atomic_t got;
static void note(int number) { (void)number; got++; }
static void *kept[1000];
static int keeps;
int main(int argc, char **argv)
{
    const struct ms_agent_v1 *agent = dlsym(RTLD_DEFAULT, "ms_agent_v1");
    char text[4096];
    signal(SIGCHLD, note);
    aclInit(NULL);
    aclrtSetDevice(0);
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        int rc = 0;
        text[0] = 0;
        if (word[0] >= '0' && word[0] <= '9') {
            for (long n = atol(word); n > 0; n--) {
                void *p = NULL;
                aclrtMalloc(&p, 4096, ACL_MEM_MALLOC_NORMAL_ONLY);
                aclrtFree(p);
            }
            continue;
        } else if (strncmp(word, "keep", 4) == 0) {
            for (long n = atol(word + 4); n > 0; n--) aclrtMalloc(&kept[keeps++], 8192, ACL_MEM_MALLOC_NORMAL_ONLY);
            continue;
        } else if (strncmp(word, "free", 4) == 0) {
            for (long n = atol(word + 4); n > 0; n--) aclrtFree(kept[--keeps]);
            continue;
        } else if (strcmp(word, "children") == 0) { /* as the program sees it */
            int none = waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD;
            printf("children %d %d\n", !none, got);
            fflush(stdout);
            continue;
        } else if (strcmp(word, "line") == 0) {
            puts("waiting");
            fflush(stdout);
            for (int c = 0; c != EOF && c != 10; c = getchar()) { }
            continue;
        }
        if (strcmp(word, "start") == 0) rc = agent->start(text, sizeof(text));
        else if (strcmp(word, "stop") == 0) rc = agent->stop(text, sizeof(text));
        else if (strcmp(word, "step") == 0) rc = agent->step(text, sizeof(text));
        else if (strcmp(word, "output") == 0) rc = agent->output(text, sizeof(text));
        else rc = agent->config(word, text, sizeof(text));
        printf("%s %d %s\n", word, rc, text);
        fflush(stdout);
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def client(tmp_path_factory, compiler):
    folder = tmp_path_factory.mktemp("client")
    (folder / "client.c").write_text(CLIENT)
    return compiler(folder / "client", folder / "client.c", "ascendcl", flags=[f"-I{ROOT}/src"])


def events(recorder, kind):
    return [row for row in recorder.rows() if row["Event"] == kind]


def test_only_events_between_start_and_stop_are_written(recorder, client):
    done = recorder.run(client, 3, "keep2", "start", 4, "stop", 5, "free1", "start", 6, "stop", 7,
                        options=["--collect-mode=deferred", "--analysis=none"])
    assert done.stdout.split("\n")[:4] == ["start 0 ", "stop 0 ", "start 0 ", "stop 0 "]
    rows = recorder.rows()
    system = [row["Event Type"] for row in rows if row["Event"] == "SYSTEM"]
    assert system == ["START_TRACE", "STOP_TRACE", "START_TRACE", "STOP_TRACE"]
    seen = [row for row in events(recorder, "MALLOC") if "shadow" not in row["Attr"]]
    assert len(seen) == 10
    assert len([row for row in events(recorder, "MALLOC") if "shadow" in row["Attr"]]) == 2  # live when tracing started
    assert [int(row["ID"]) for row in rows] == list(range(len(rows)))


def test_files_are_complete_when_stop_returns(recorder, client):
    process = recorder.start(client, "start", 1000, "stop", "line", 10,
                             options=["--collect-mode=deferred", "--analysis=none"])
    assert [process.stdout.readline() for _ in range(3)] == ["start 0 \n", "stop 0 \n", "waiting\n"]
    before = recorder.rows()  # the program still runs
    assert len([row for row in before if row["Event"] == "FREE"]) == 1000
    assert before[-1]["Event Type"] == "STOP_TRACE"
    process.communicate("\n", timeout=30)
    assert recorder.rows() == before


def test_output_returns_directory(recorder, client):
    done = recorder.run(client, "output", "start", "output", options=["--collect-mode=deferred"])
    first, _, second = done.stdout.splitlines()
    assert first == f"output 0 {recorder.output}"
    assert second.startswith(f"output 0 {recorder.output}/msmemscope_")
    assert (pathlib.Path(second.split(" ", 2)[2]) / "config.json").exists()


def test_config_while_running(recorder, client):
    done = recorder.run(client, 5, "events=none\nanalysis=none", 7, "events=alloc,free", 9, options=["--analysis=none"])
    assert [line.split(" ")[-2:] for line in done.stdout.splitlines() if " " in line] == [["0", ""], ["0", ""]]
    assert len(events(recorder, "MALLOC")) == 14
    assert '"eventType": 3' in next(recorder.output.glob("*/config.json")).read_text()


@pytest.mark.parametrize("lines, reason", [
    ("events=nonsense", "invalid event trace type input"),
    ("level=op\nnonsense=1", "nonsense"),
    ("output=/elsewhere", "output"),
    ("data-format=db", "cannot be changed once recording has begun"),
])
def test_wrong_config_changes_nothing(recorder, client, lines, reason):
    done = recorder.run(client, 5, lines, 5, options=["--analysis=none"])
    status = done.stdout.replace(lines, "").split(" ", 2)
    assert int(status[1]) < 0 and reason in done.stdout
    assert len(events(recorder, "MALLOC")) == 10


def test_api_steps(recorder, client):
    recorder.run(client, 1, "step", 2, "step", 3, "step", 4, options=["--steps=2"])
    assert len([row for row in events(recorder, "MALLOC") if "shadow" not in row["Attr"]]) == 2
    assert [row["Name"] for row in events(recorder, "SYSTEM") if row["Event Type"] == "STEP"] == ["1", "2", "3"]


def test_calls_survive_death_of_collector(recorder, client, until):
    process = recorder.start(client, "start", 100, "line", 100, "stop", "line",
                             options=["--collect-mode=deferred", "--analysis=none"])
    assert [process.stdout.readline() for _ in range(2)] == ["start 0 \n", "waiting\n"]
    first = collector_of(recorder.output)
    os.kill(first, signal.SIGKILL)
    process.stdin.write("\n")
    process.stdin.flush()
    assert [process.stdout.readline() for _ in range(2)] == ["stop 0 \n", "waiting\n"]
    assert len(events(recorder, "FREE")) == 200
    process.communicate("\n", timeout=30)
    assert len(events(recorder, "FREE")) == 200


# ---- preloaded by hand, without the msmemscope launcher ----


class Alone:
    def __init__(self, softnpu, build, folder):
        self.softnpu, self.folder = softnpu, folder
        self.hook = build / "msmemscope" / "lib64" / "libascend_kernel_hook.so"
        folder.mkdir()

    def start(self, *argv, **extra):
        env = self.softnpu.env(**({"LD_PRELOAD": self.hook} | extra))
        return subprocess.Popen([str(a) for a in argv], cwd=self.folder, text=True, env=env,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, *argv, **extra):
        process = self.start(*argv, **extra)
        process.out, process.err = process.communicate(timeout=60)
        return process

    def helpers(self):
        """Supervisors and collectors of programs on this test's machine."""
        found = []
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                command = open(f"/proc/{entry}/cmdline").read().split("\0")
                if command[0].endswith("msmemscope-collector") and self.softnpu.name in open(f"/proc/{entry}/environ").read():
                    found.append((int(entry), command[1]))
            except OSError:
                continue
        return found


@pytest.fixture
def alone(softnpu, build, tmp_path, recorder):
    recorder.output = tmp_path / "alone" / "memscopeDumpResults"
    return Alone(softnpu, build, tmp_path / "alone")


def test_preloaded_program_without_start_writes_nothing(alone, client, until):
    done = alone.run(client, 100, "keep3", "children")
    assert (done.returncode, done.err) == (0, "")
    assert done.out == "children 0 0\n"  # no child, no SIGCHLD
    assert list(alone.folder.iterdir()) == []
    until(lambda: alone.helpers() == [])


def test_environment_switches_recording_off(alone, client):
    process = alone.start(client, 5, "start", "line", MSMEMSCOPE_SHADOW=0)
    assert process.stdout.readline().startswith("start -107 ")
    assert process.stdout.readline() == "waiting\n"
    assert alone.helpers() == []
    process.communicate("\n", timeout=30)


def test_program_starts_its_own_recording(alone, recorder, client, until, tmp_path):
    done = alone.run(client, 3, "keep2", "start", 4, "stop", 5, "free1", "start", 6, "stop", 7, "children")
    assert done.out.splitlines() == ["start 0 ", "stop 0 ", "start 0 ", "stop 0 ", "children 0 0"]
    until(lambda: alone.helpers() == [])
    rows = recorder.rows()
    assert [int(row["ID"]) for row in rows] == list(range(len(rows)))
    assert len([row for row in rows if row["Event"] == "MALLOC" and "shadow" not in row["Attr"]]) == 10
    assert len([row for row in rows if row["Event"] == "MALLOC" and "shadow" in row["Attr"]]) == 2
    again = recorder.tool("export", "-o", tmp_path / "again")
    assert again.returncode == 0 and again.stderr == ""
    (path,) = (tmp_path / "again").glob("*/device_0/dump/*.csv")
    assert recorder.rows(path) == rows


def test_config_before_start(alone, recorder, client, tmp_path):
    lines = f"output={tmp_path}/elsewhere\ndata-format=db\nevents=alloc,free"
    done = alone.run(client, 3, lines, 3, "start", 4, "output", "stop")
    assert " 0 \n" in done.out, done.out
    recorder.output = tmp_path / "elsewhere"
    (database,) = recorder.dumps("db")
    assert f"output 0 {database.parent.parent.parent}" in done.out
    assert not (alone.folder / "memscopeDumpResults").exists()


def test_unwritable_output_is_reported(alone, client):
    done = alone.run(client, 3, "output=/proc/nowhere", "start", 4, "output=/tmp", "output")
    assert "cannot write to /proc/nowhere" in done.out
    assert done.returncode == 0


def test_supervisor_restarts_dead_collector(alone, recorder, client, until):
    process = alone.start(client, "start", 100, "line", 100, "stop", "line")
    assert [process.stdout.readline() for _ in range(2)] == ["start 0 \n", "waiting\n"]
    (first,) = [pid for pid, role in alone.helpers() if role == "--collect"]
    os.kill(first, signal.SIGKILL)
    process.stdin.write("\n")
    process.stdin.flush()
    assert [process.stdout.readline() for _ in range(2)] == ["stop 0 \n", "waiting\n"]
    assert len(events(recorder, "FREE")) == 200
    process.communicate("\n", timeout=30)
    until(lambda: alone.helpers() == [])


def test_forked_children_use_the_same_collector(alone, recorder, compiler, tmp_path, until):
    source = tmp_path / "family.c"
    source.write_text("""#include <acl/acl.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) { void *p; aclInit(NULL); aclrtSetDevice(0); aclrtMalloc(&p, 512, ACL_MEM_MALLOC_NORMAL_ONLY);
  for (int i = 0; i < 3; i++) if (fork() == 0) { aclInit(NULL); aclrtSetDevice(0); aclrtMalloc(&p, 512, ACL_MEM_MALLOC_NORMAL_ONLY); pause(); }
  while (wait(NULL) > 0) { } return 0; }""")
    program = compiler(tmp_path / "family", source, "ascendcl")
    process = alone.start(program)
    until(lambda: [role for _, role in alone.helpers()].count("--collect") == 1)
    children = until(lambda: (lambda found: found if len(found) == 3 else None)(
        open(f"/proc/{process.pid}/task/{process.pid}/children").read().split()))
    assert sorted(role for _, role in alone.helpers()) == ["--collect", "--supervise"]
    for child in children:
        os.kill(int(child), signal.SIGKILL)
    process.communicate(timeout=30)
    until(lambda: alone.helpers() == [])


STARTS_ITSELF = r"""
#define _GNU_SOURCE
#include <agent/agent_v1.h>
#include <dlfcn.h>
static __attribute__((constructor)) void begin(void)
{
    const struct ms_agent_v1 *agent = dlsym(RTLD_DEFAULT, "ms_agent_v1");
    char why[256];
    agent->start(why, sizeof(why));
}
"""


def test_self_recording_program_gets_report_file(alone, recorder, build, compiler, tmp_path, until):
    (tmp_path / "starts.c").write_text(STARTS_ITSELF)
    starts = compiler(tmp_path / "starts.so", tmp_path / "starts.c", flags=[f"-I{ROOT}/src", "-shared", "-fPIC"])
    plain = alone.softnpu.run(build / "examples" / "acl-train", "--steps", 5, "--leak")
    done = alone.run(build / "examples" / "acl-train", "--steps", 5, "--leak", LD_PRELOAD=f"{starts}:{alone.hook}")
    assert done.returncode == 0 and done.err == plain.stderr
    assert "leak of" not in done.out  # the report is not in the program's output
    until(lambda: alone.helpers() == [])
    (report,) = recorder.output.glob("*/report.txt")
    assert report.read_text().count("Direct Pytorch Caching memory pool leak of ") == 3
    assert "====== Leaks by " in report.read_text() and "Gap Analysis of Device 0" in report.read_text()
    assert list(recorder.output.glob("*/.report*")) == []


LATE = r"""
#include <acl/acl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
/* Goes into the background and records its first event when msmemscope (its grandparent) has ended. */
int main(int argc, char **argv)
{
    pid_t launcher = getppid();
    if (fork() != 0) return 0;
    setsid();
    for (int i = 0; i < 3; i++) close(i);
    while (kill(launcher, 0) == 0) usleep(1000);
    while (access(argv[1], F_OK) == 0) usleep(1000); /* the collector as well: its directory is gone */
    aclInit(NULL);
    aclrtSetDevice(0);
    for (int i = 0; i < 20; i++) {
        void *p = NULL;
        aclrtMalloc(&p, 4096, ACL_MEM_MALLOC_NORMAL_ONLY);
        aclrtFree(p);
    }
    void *lost = NULL;
    aclrtMalloc(&lost, 3 << 20, ACL_MEM_MALLOC_NORMAL_ONLY);
    return 0;
}
"""


def test_late_process_starts_its_own_collector(recorder, compiler, tmp_path, until):
    (tmp_path / "late.c").write_text(LATE)
    program = compiler(tmp_path / "late", tmp_path / "late.c", "ascendcl")
    assert recorder.run(program, recorder.output, options=["--linger=0", "--format=db"]).returncode == 0
    until(lambda: [p["ending"] for p in recorder.info()] == [1])
    assert [p["kinds"]["HAL_FREE"] for p in recorder.info()] == [20]
    until(lambda: len(recorder.dumps("db")) == 1)  # the format of the session
    (report,) = until(lambda: list(recorder.output.glob("*/report.txt")))  # no console is left
    assert "Detected HAL memory leaks on device 0" in report.read_text()
    assert " leak of 3.0000" in report.read_text()
