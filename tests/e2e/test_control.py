"""Recording under the control of the program itself, through the table that the API uses."""

import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# Executes words: a number allocates and frees so often, keepN allocates, freeN frees what was kept; the rest are calls of the
# table, answered by a line "word result text".
CLIENT = r"""
#define _GNU_SOURCE
#include <acl/acl.h>
#include <agent/agent_v1.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void *kept[1000];
static int keeps;
int main(int argc, char **argv)
{
    const struct ms_agent_v1 *agent = dlsym(RTLD_DEFAULT, "ms_agent_v1");
    char text[4096];
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
        } else if (strcmp(word, "line") == 0) {
            puts("waiting");
            fflush(stdout);
            while (getchar() != 10) { }
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


def test_only_what_lies_between_start_and_stop_is_written(recorder, client):
    done = recorder.run(client, 3, "keep2", "start", 4, "stop", 5, "free1", "start", 6, "stop", 7,
                        options=["--collect-mode=deferred", "--analysis=none"])
    assert done.stdout.split("\n")[:4] == ["start 0 ", "stop 0 ", "start 0 ", "stop 0 "]
    rows = recorder.rows()
    system = [row["Event Type"] for row in rows if row["Event"] == "SYSTEM"]
    assert system == ["START_TRACE", "STOP_TRACE", "START_TRACE", "STOP_TRACE"]
    seen = [row for row in events(recorder, "MALLOC") if "shadow" not in row["Attr"]]
    assert len(seen) == 10
    assert len([row for row in events(recorder, "MALLOC") if "shadow" in row["Attr"]]) == 2  # live when tracing began
    assert [int(row["ID"]) for row in rows] == list(range(len(rows)))


def test_files_are_complete_when_stop_returns(recorder, client):
    process = recorder.start(client, "start", 1000, "stop", "line", 10,
                             options=["--collect-mode=deferred", "--analysis=none"])
    assert [process.stdout.readline() for _ in range(3)] == ["start 0 \n", "stop 0 \n", "waiting\n"]
    before = recorder.rows()  # the program is alive
    assert len([row for row in before if row["Event"] == "FREE"]) == 1000
    assert before[-1]["Event Type"] == "STOP_TRACE"
    process.communicate("\n", timeout=30)
    assert recorder.rows() == before


def test_output_is_told(recorder, client):
    done = recorder.run(client, "output", "start", "output", options=["--collect-mode=deferred"])
    first, _, second = done.stdout.splitlines()
    assert first == f"output 0 {recorder.output}"
    assert second.startswith(f"output 0 {recorder.output}/msmemscope_")
    assert (pathlib.Path(second.split(" ", 2)[2]) / "config.json").exists()


def test_configuration_while_it_runs(recorder, client):
    done = recorder.run(client, 5, "events=none\nanalysis=none", 7, "events=alloc,free", 9, options=["--analysis=none"])
    assert [line.split(" ")[-2:] for line in done.stdout.splitlines() if " " in line] == [["0", ""], ["0", ""]]
    assert len(events(recorder, "MALLOC")) == 14
    assert '"eventType": 3' in next(recorder.output.glob("*/config.json")).read_text()


@pytest.mark.parametrize("lines, reason", [
    ("events=nonsense", "invalid event trace type input"),
    ("level=op\nnonsense=1", "nonsense"),
    ("output=/elsewhere", "output"),
    ("data-format=db", "cannot be changed after something was recorded"),
])
def test_wrong_configurations_change_nothing(recorder, client, lines, reason):
    done = recorder.run(client, 5, lines, 5, options=["--analysis=none"])
    status = done.stdout.replace(lines, "").split(" ", 2)
    assert int(status[1]) < 0 and reason in done.stdout
    assert len(events(recorder, "MALLOC")) == 10


def test_steps_of_the_api(recorder, client):
    recorder.run(client, 1, "step", 2, "step", 3, "step", 4, options=["--steps=2"])
    assert len([row for row in events(recorder, "MALLOC") if "shadow" not in row["Attr"]]) == 2
    assert [row["Name"] for row in events(recorder, "SYSTEM") if row["Event Type"] == "STEP"] == ["1", "2", "3"]


def test_calls_survive_the_death_of_the_collector(recorder, client, until):
    from recorder import collector_of
    import os
    import signal

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
