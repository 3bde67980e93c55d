/* SPDX-License-Identifier: Apache-2.0 */
#include "agent_fixture.h"

#include "own_machine.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LISTENER_ENV  "AGENT_TEST_LISTENER"
#define DEADLINE_MS   10000
#define RECORDS_MAX   200000
#define PROCESSES_MAX 64

static struct process processes[PROCESSES_MAX];
static unsigned process_count;

static int listener(void)
{
    const char *text = getenv(LISTENER_ENV);
    assert_non_null(text);
    return atoi(text);
}

/* ARGV as it can be executed: programs built for another architecture run under meson's wrapper, which exec does not
 * know. */
static char **runnable(char **argv)
{
    static char words[1024], *line[64];
    size_t n = 0;
    const char *wrapper = getenv("MESON_EXE_WRAPPER");
    snprintf(words, sizeof(words), "%s", wrapper != NULL ? wrapper : "");
    for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " ")) {
        line[n++] = word;
    }
    do {
        assert_true(n < sizeof(line) / sizeof(line[0]));
        line[n++] = *argv;
    } while (*argv++ != NULL);
    return line;
}

void session_begin(char **argv, void (*configure)(struct ms_session *))
{
    if (getenv(MS_SESSION_ENV) != NULL) {
        own_machine_keep();
        return;
    }
    struct ms_session session;
    char text[MS_SESSION_MAX_B], number[32];
    ms_session_init(&session);
    session.event_mask = MS_WANT_ALLOC | MS_WANT_FREE;
    session.memory_mb = 64;
    if (configure != NULL) {
        configure(&session);
    }
    ms_session_new_socket(&session);
    int fd = ms_session_listen(&session, false);
    int kept = dup(fd); /* without close-on-exec */
    snprintf(number, sizeof(number), "%d", kept);
    ms_session_format(&session, text, sizeof(text));
    setenv(LISTENER_ENV, number, 1);
    setenv(MS_SESSION_ENV, text, 1);
    own_machine_name("2", "4G");
    argv[0] = realpath("/proc/self/exe", NULL);
    char **line = runnable(argv);
    execv(line[0], line);
    abort();
}

const char *session_text(void)
{
    return getenv(MS_SESSION_ENV);
}

static struct process *receive(int connection)
{
    assert_true(process_count < PROCESSES_MAX);
    struct process *process = &processes[process_count++];
    memset(process, 0, sizeof(*process));
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec parts[2] = {{&process->hello, sizeof(process->hello)}, {process->text, sizeof(process->text)}};
    struct msghdr header = {
        .msg_iov = parts, .msg_iovlen = 2, .msg_control = &control, .msg_controllen = sizeof(control)};
    ssize_t got = recvmsg(connection, &header, MSG_CMSG_CLOEXEC);
    assert_true(got >= (ssize_t)sizeof(process->hello));
    assert_int_equal(process->hello.head.length_b, got);
    struct cmsghdr *c = CMSG_FIRSTHDR(&header);
    assert_non_null(c);
    int memfd;
    memcpy(&memfd, CMSG_DATA(c), sizeof(memfd));
    process->shm_b = process->hello.shm_b;
    process->shm = mmap(NULL, process->shm_b, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
    assert_ptr_not_equal(process->shm, MAP_FAILED);
    assert_true(process->shm->magic == MS_SHM_MAGIC);
    close(memfd);
    close(connection);
    return process;
}

static struct process *accept_within(int timeout_ms)
{
    struct pollfd wait = {.fd = listener(), .events = POLLIN};
    int n;
    do {
        n = poll(&wait, 1, timeout_ms);
    } while (n < 0 && errno == EINTR);
    if (n <= 0) {
        return NULL;
    }
    int connection = accept4(listener(), NULL, NULL, SOCK_CLOEXEC);
    return connection >= 0 ? receive(connection) : NULL;
}

struct process *session_poll(void)
{
    return accept_within(0);
}

/* Uses system calls: the agent closes its files that way, which a sanitizer does not see, and the next descriptor with
 * the same number would seem to be the old one. */
void session_give_file(int file, char *name, size_t name_b)
{
    struct pollfd wait = {.fd = listener(), .events = POLLIN};
    assert_int_equal(poll(&wait, 1, DEADLINE_MS), 1);
    long connection = syscall(SYS_accept4, listener(), NULL, NULL, SOCK_CLOEXEC);
    union {
        struct ms_request request;
        char bytes[sizeof(struct ms_request) + MS_REQUEST_TEXT_B];
    } asked;
    ssize_t got = syscall(SYS_recvfrom, connection, &asked, sizeof(asked), 0, NULL, NULL);
    assert_true(got > 0 && ms_message_check(&asked, (size_t)got) == MS_MESSAGE_REQUEST);
    assert_int_equal(asked.request.kind, MS_REQUEST_WATCH);
    snprintf(name, name_b, "%.*s", (int)asked.request.text_b, asked.bytes + sizeof(asked.request));
    struct ms_reply reply = {.head = ms_message_head(MS_MESSAGE_REPLY, sizeof(reply), 0),
                             .status = file >= 0 ? 0 : -ENOSPC};
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {.head = {.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))}};
    memcpy(CMSG_DATA(&control.head), &file, sizeof(file));
    struct iovec part = {&reply, sizeof(reply)};
    struct msghdr header = {.msg_iov = &part,
                            .msg_iovlen = 1,
                            .msg_control = file >= 0 ? &control : NULL,
                            .msg_controllen = file >= 0 ? sizeof(control) : 0};
    assert_true(syscall(SYS_sendmsg, connection, &header, MSG_NOSIGNAL) == sizeof(reply));
    syscall(SYS_close, connection);
}

struct process *session_wait(void)
{
    struct process *process = accept_within(DEADLINE_MS);
    assert_non_null(process);
    return process;
}

struct process *own_process(void)
{
    for (unsigned i = 0; i < process_count; i++) {
        if (processes[i].hello.pid == (uint32_t)getpid()) {
            return &processes[i];
        }
    }
    for (;;) {
        struct process *process = session_wait();
        if (process->hello.pid == (uint32_t)getpid()) {
            return process;
        }
    }
}

static int by_stamp(const void *a, const void *b)
{
    const struct seen *x = a, *y = b;
    if (x->record->stamp != y->record->stamp) {
        return x->record->stamp < y->record->stamp ? -1 : 1;
    }
    if (x->stream != y->stream) {
        return x->stream < y->stream ? -1 : 1;
    }
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

size_t records_of(const struct process *process, struct seen *out, size_t max)
{
    size_t count = 0;
    uint32_t chunks = __atomic_load_n(&process->shm->fresh, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < chunks; i++) {
        const struct ms_chunk *chunk = ms_shm_chunk(process->shm, i);
        uint32_t used_b = __atomic_load_n(&chunk->used_b, __ATOMIC_ACQUIRE);
        uint64_t seq = chunk->first_seq;
        assert_true(used_b <= sizeof(chunk->data));
        for (uint32_t off = 0; off < used_b; seq++) {
            const struct ms_record *record = (const void *)(chunk->data + off);
            assert_non_null(ms_record_spec(record->kind));
            assert_true(record->words >= 2 && off + record->words * 8u <= used_b);
            assert_true(count < max);
            out[count++] = (struct seen){.record = record, .tid = chunk->tid, .stream = chunk->stream, .seq = seq};
            off += record->words * 8u;
        }
    }
    qsort(out, count, sizeof(out[0]), by_stamp);
    return count;
}

/* ---- one process, record by record ---- */

static struct seen all[RECORDS_MAX];
static size_t seen_of[PROCESSES_MAX]; /* records consumed so far */

static bool counts(const struct seen *seen)
{
    return seen->record->kind != MS_R_THREAD && ms_record_spec(seen->record->kind)->order != MS_ORDER_DEF;
}

void skip_records(struct process *process)
{
    seen_of[process - processes] = records_of(process, all, RECORDS_MAX);
}

const void *next_record(struct process *process, enum ms_record_kind kind, const struct ms_record **record)
{
    size_t *at = &seen_of[process - processes];
    size_t count = records_of(process, all, RECORDS_MAX);
    while (*at < count && !counts(&all[*at])) {
        (*at)++;
    }
    if (*at >= count) {
        fail_msg("no %s was recorded", ms_record_spec(kind)->name);
    }
    const struct ms_record *found = all[(*at)++].record;
    if (found->kind != kind) {
        fail_msg("%s instead of %s", ms_record_spec(found->kind)->name, ms_record_spec(kind)->name);
    }
    if (record != NULL) {
        *record = found;
    }
    return found + 1;
}

void no_more_records(struct process *process)
{
    size_t *at = &seen_of[process - processes];
    size_t count = records_of(process, all, RECORDS_MAX);
    for (; *at < count; (*at)++) {
        if (counts(&all[*at])) {
            fail_msg("one record too many: %s", ms_record_spec(all[*at].record->kind)->name);
        }
    }
}

const char *text_of(struct process *process, const struct ms_record *record, const struct ms_text_ref *refs, unsigned i)
{
    static char text[MS_RECORD_MAX_B + 1];
    const char *bytes = NULL;
    uint32_t length_b = refs[i].length_b;
    if (refs[i].id == 0) {
        bytes = (const char *)(record + 1) + ms_record_spec(record->kind)->payload_b;
        for (unsigned k = 0; k < i; k++) {
            bytes += refs[k].length_b;
        }
    } else {
        size_t count = records_of(process, all, RECORDS_MAX);
        uint32_t stream = UINT32_MAX;
        for (size_t k = 0; k < count; k++) {
            stream = all[k].record == record ? all[k].stream : stream;
        }
        for (size_t k = 0; k < count; k++) {
            if (all[k].stream == stream && all[k].record->kind == MS_R_DEF_TEXT && all[k].record->arg == refs[i].id) {
                const struct ms_p_text *definition = (const void *)(all[k].record + 1);
                bytes = (const char *)(definition + 1);
                length_b = definition->text.length_b;
            }
        }
    }
    assert_non_null(bytes);
    memcpy(text, bytes, length_b);
    text[length_b] = '\0';
    return text;
}

/* ---- recorded programs ---- */

const char *library_path;

static char *with(const char *name, const char *value)
{
    char *text = NULL;
    assert_true(asprintf(&text, "%s=%s", name, value) > 0);
    return text;
}

char *preload_list(const char *names)
{
    static char list[4096];
    const char *build = getenv("NPUSCOPE_BUILD");
    assert_non_null(build);
    list[0] = '\0';
    for (const char *s = names; *s != '\0';) {
        size_t length = strcspn(s, " ");
        size_t used = strlen(list);
        snprintf(list + used, sizeof(list) - used, "%s%s/msmemscope/lib64/lib%.*s.so", used > 0 ? ":" : "", build,
                 (int)length, s);
        s += length + (s[length] == ' ');
    }
    return list;
}

int run_program(const char *preload, const char *session, char **argv, char *out, size_t out_b)
{
    char *environment[] = {
        with("LD_PRELOAD", preload),
        with("LD_LIBRARY_PATH", library_path != NULL ? library_path : getenv("LD_LIBRARY_PATH")),
        with("ASCEND_HOME_PATH", getenv("ASCEND_HOME_PATH")), with("ASCEND_OPP_PATH", getenv("ASCEND_OPP_PATH")),
        with("SOFTNPU_MACHINE", getenv("SOFTNPU_MACHINE")),
        with("MSMEMSCOPE_TEST_PYTHON",
             getenv("MSMEMSCOPE_TEST_PYTHON") != NULL ? getenv("MSMEMSCOPE_TEST_PYTHON") : ""),
        /* preloaded libraries come before the sanitizer's, which refuses that */
        with("ASAN_OPTIONS", "verify_asan_link_order=0"), session != NULL ? with(MS_SESSION_ENV, session) : NULL, NULL};
    int pipe_fd[2];
    assert_int_equal(pipe2(pipe_fd, O_CLOEXEC), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe_fd[1], 1);
    posix_spawn_file_actions_adddup2(&actions, pipe_fd[1], 2);
    pid_t pid;
    char **line = runnable(argv);
    assert_int_equal(posix_spawn(&pid, line[0], &actions, NULL, line, environment), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(pipe_fd[1]);
    char sink[4096];
    size_t used = 0;
    ssize_t n;
    while ((n = out != NULL && used + 1 < out_b ? read(pipe_fd[0], out + used, out_b - used - 1)
                                                : read(pipe_fd[0], sink, sizeof(sink))) > 0) {
        used += out != NULL && used + 1 < out_b ? (size_t)n : 0;
    }
    if (out != NULL) {
        out[used] = '\0';
    }
    close(pipe_fd[0]);
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    for (char **e = environment; *e != NULL; e++) {
        free(*e);
    }
    return status;
}

char *build_path(const char *name)
{
    static char paths[4][4096];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof(paths[0]), "%s/%s", getenv("NPUSCOPE_BUILD"), name);
    return path;
}
