"""What a recording survives: the collector's death, the death of everybody."""

import os
import signal

import pytest

from recorder import collector_of, wait_until

PROGRAM = r"""
#include <acl/acl.h>
#include <stdio.h>
#include <unistd.h>
static void work(int n)
{
    for (int i = 0; i < n; i++) {
        void *p = NULL;
        aclrtMalloc(&p, 4096, ACL_MEM_MALLOC_HUGE_FIRST);
        aclrtFree(p);
    }
}
int main(void)
{
    aclInit(NULL);
    aclrtSetDevice(0);
    work(1000);
    puts("ready");
    fflush(stdout);
    while (getchar() != 'g') { }
    work(1000);
    puts("more");
    fflush(stdout);
    while (getchar() != 'g') { }
    work(1000);
    return 6;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory, compiler):
    folder = tmp_path_factory.mktemp("collector")
    (folder / "steps.c").write_text(PROGRAM)
    return compiler(folder / "steps", folder / "steps.c", "ascendcl")


@pytest.fixture
def job(recording, program):
    process = recording.start("--quiet", "--", program)
    process.recording, process.output, process.info = recording, recording.output, recording.info
    yield process
    process.kill()
    process.communicate()


def step(job):
    job.stdin.write("g")
    job.stdin.flush()


def rows(job):
    found = [row.event for row in job.recording.rows() if row.type == "HAL"]
    return found.count("MALLOC"), found.count("FREE")


def test_killed_collector_is_started_again_and_nothing_is_lost(job):
    assert job.stdout.readline() == "ready\n"
    wait_until(lambda: [p["kinds"].get("HAL_FREE", 0) for p in job.info()] == [1000])
    first = collector_of(job.output)
    os.kill(first, signal.SIGKILL)
    step(job)
    assert job.stdout.readline() == "more\n"
    wait_until(lambda: collector_of(job.output) not in (None, first))
    step(job)
    _, errors = job.communicate(timeout=30)
    assert job.returncode == 6
    assert "the collector died and was started again; nothing is lost" in errors
    (process,) = job.info()
    assert process["kinds"]["HAL_ALLOC"] == process["kinds"]["HAL_FREE"] == 3000
    assert process["lost"] == process["damages"] == 0
    assert rows(job) == (3000, 3000)


def test_collector_killed_twice_never_holds_the_program_up(job):
    assert job.stdout.readline() == "ready\n"
    first = collector_of(job.output)
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: collector_of(job.output) not in (None, first))
    os.kill(collector_of(job.output), signal.SIGKILL)
    step(job)
    assert job.stdout.readline() == "more\n"
    step(job)
    _, errors = job.communicate(timeout=60)
    assert job.returncode == 6
    assert "recording has ended" in errors


def test_killed_launcher_leaves_program_and_recording_alone(job):
    assert job.stdout.readline() == "ready\n"
    job.send_signal(signal.SIGKILL)
    job.wait(20)
    step(job)
    assert job.stdout.readline() == "more\n"
    step(job)
    wait_until(lambda: [p["ending"] for p in job.info()] == [1])
    assert [p["kinds"]["HAL_ALLOC"] for p in job.info()] == [3000]
    wait_until(lambda: rows(job) == (3000, 3000))


def test_everybody_killed_at_once(job):
    assert job.stdout.readline() == "ready\n"
    wait_until(lambda: [p["kinds"].get("HAL_FREE", 0) for p in job.info()] == [1000])
    (pid,) = [p["pid"] for p in job.info()]
    for who in (collector_of(job.output), pid, job.pid):
        os.kill(who, signal.SIGSTOP)
    for who in (job.pid, collector_of(job.output), pid):
        os.kill(who, signal.SIGKILL)
    job.wait(20)
    (process,) = job.info()
    assert process["kinds"]["HAL_ALLOC"] == process["kinds"]["HAL_FREE"] == 1000
    assert job.recording.tool("recover").returncode == 0
    assert rows(job) == (1000, 1000)
