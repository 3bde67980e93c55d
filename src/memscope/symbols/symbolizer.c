/* SPDX-License-Identifier: Apache-2.0 */
/* See symbolizer.h. The parent waits at most ANSWER_MS for a reply; a child that does not reply is killed. Files are
 * sent again to the next child; for the file that was being processed, less is requested. */
#include "memscope/symbols/symbolizer.h"

#include "memscope/symbols/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_MS  60000
#define STARTS_MAX 64 /* limits retries if a child cannot be started at all */

enum quality { LINES, NAMES, NOTHING }; /* what is still requested for a file */

struct symbol_file {
    int fd, debug_fd;
    enum quality quality;
    unsigned opened_in; /* number of the child that has it, from 1; 0: none yet */
    uint8_t build_id[64];
    size_t build_id_b;
};

struct ms_symbolizer {
    pthread_mutex_t lock; /* protects everything */
    pid_t pid;            /* 0: no child */
    int socket;
    unsigned starts;
    struct symbol_file *files;
    uint32_t count, room;
};

struct ms_symbolizer *ms_symbolizer_new(void)
{
    struct ms_symbolizer *s = calloc(1, sizeof(*s));
    if (s != NULL) {
        pthread_mutex_init(&s->lock, NULL);
        s->socket = -1;
    }
    return s;
}

/* ---- the child ---- */

static void stop_child(struct ms_symbolizer *s)
{
    if (s->pid > 0) {
        close(s->socket);
        s->socket = -1;
        kill(s->pid, SIGKILL);
        while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR) {
        }
        s->pid = 0;
    }
}

static bool start_child(struct ms_symbolizer *s)
{
    if (s->pid > 0) {
        return true;
    }
    int ends[2];
    if (s->starts >= STARTS_MAX || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return false;
    }
    static char name[] = "msmemscope-symbols", argument[] = MS_SYMBOLS_ARGUMENT;
    char *argv[] = {name, argument, NULL}, *environment[] = {NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], MS_SYMBOLS_FD);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    s->starts++;
    int error = posix_spawn(&s->pid, "/proc/self/exe", &actions, &attributes, argv, environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    close(ends[1]);
    if (error != 0) {
        close(ends[0]);
        s->pid = 0;
        return false;
    }
    s->socket = ends[0];
    return true;
}

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static bool take(struct ms_symbolizer *s, void *out, size_t out_b, uint64_t until_ms)
{
    for (size_t done = 0; done < out_b;) {
        struct pollfd wait = {.fd = s->socket, .events = POLLIN};
        uint64_t now = now_ms();
        int n = now < until_ms ? poll(&wait, 1, (int)(until_ms - now)) : 0;
        if (n < 0 && errno == EINTR) {
            continue;
        }
        ssize_t got = n > 0 ? read(s->socket, (char *)out + done, out_b - done) : 0;
        if (got <= 0 && !(got < 0 && errno == EINTR)) {
            return false;
        }
        done += got > 0 ? (size_t)got : 0;
    }
    return true;
}

/* The reply's text, terminated, to be freed; NULL: the child failed and is gone. */
static char *ask(struct ms_symbolizer *s, const struct ms_symbols_request *request, const int *fds, unsigned fd_count,
                 struct ms_symbols_answer *answer)
{
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(2 * sizeof(int))];
    } control;
    struct iovec part = {(void *)(uintptr_t)request, sizeof(*request)};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (fd_count > 0) {
        memset(&control, 0, sizeof(control));
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&message);
        *c = (struct cmsghdr){
            .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(fd_count * sizeof(int))};
        memcpy(CMSG_DATA(c), fds, fd_count * sizeof(int));
    }
    ssize_t sent;
    do {
        sent = sendmsg(s->socket, &message, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    uint64_t until_ms = now_ms() + ANSWER_MS;
    char *text = NULL;
    if (sent == (ssize_t)sizeof(*request) && take(s, answer, sizeof(*answer), until_ms) &&
        answer->text_b <= MS_SYMBOLS_TEXT_B && (text = malloc(answer->text_b + 1)) != NULL &&
        take(s, text, answer->text_b, until_ms)) {
        text[answer->text_b] = '\0';
        return text;
    }
    free(text);
    stop_child(s);
    return NULL;
}

/* ---- files ---- */

/* Ensures that the child has the file open. False: it cannot be queried about it. */
static bool have_file(struct ms_symbolizer *s, uint32_t number)
{
    struct symbol_file *file = &s->files[number];
    while (file->quality != NOTHING) {
        if (!start_child(s)) {
            return false;
        }
        if (file->opened_in == s->starts) {
            return true;
        }
        struct ms_symbols_answer answer;
        struct ms_symbols_request request = {
            .kind = MS_SYMBOLS_OPEN, .file = number, .flags = (file->quality == LINES ? MS_SYMBOLS_LINES : 0u)};
        const int fds[2] = {file->fd, file->debug_fd};
        char *id = ask(s, &request, fds, file->debug_fd >= 0 ? 2 : 1, &answer);
        if (id == NULL) {
            file->quality++;
            continue;
        }
        file->opened_in = s->starts;
        file->build_id_b = answer.text_b <= sizeof(file->build_id) ? answer.text_b : 0;
        memcpy(file->build_id, id, file->build_id_b);
        free(id);
        if (answer.error != 0) {
            file->quality = NOTHING;
        }
    }
    return false;
}

int ms_symbolizer_file(struct ms_symbolizer *s, int fd, int debug_fd, const uint8_t *build_id, size_t build_id_b)
{
    int rc = -ENOMEM;
    pthread_mutex_lock(&s->lock);
    if (s->count == s->room) {
        uint32_t room = s->room > 0 ? 2 * s->room : 64;
        struct symbol_file *files = realloc(s->files, room * sizeof(*files));
        s->files = files != NULL ? files : s->files;
        s->room = files != NULL ? room : s->room;
    }
    if (s->count < s->room) {
        uint32_t number = s->count++;
        struct symbol_file *file = &s->files[number];
        *file = (struct symbol_file){.fd = fd, .debug_fd = debug_fd};
        bool good = have_file(s, number);
        bool right =
            build_id_b == 0 || (file->build_id_b == build_id_b && memcmp(file->build_id, build_id, build_id_b) == 0);
        rc = !good ? -ENOEXEC : right ? (int)number : -ESTALE;
    }
    pthread_mutex_unlock(&s->lock);
    return rc;
}

char *ms_symbolizer_text(struct ms_symbolizer *s, int file, uint64_t address, size_t *length_b)
{
    char *text = NULL;
    pthread_mutex_lock(&s->lock);
    while (file >= 0 && (uint32_t)file < s->count && have_file(s, (uint32_t)file)) {
        struct ms_symbols_request request = {.kind = MS_SYMBOLS_DESCRIBE, .file = (uint32_t)file, .address = address};
        struct ms_symbols_answer answer;
        text = ask(s, &request, NULL, 0, &answer);
        if (text != NULL) {
            *length_b = answer.text_b;
            break;
        }
        s->files[file].quality++;
    }
    pthread_mutex_unlock(&s->lock);
    if (text != NULL && *length_b == 0) {
        free(text);
        text = NULL;
    }
    return text;
}

void ms_symbolizer_free(struct ms_symbolizer *s)
{
    if (s != NULL) {
        stop_child(s);
        pthread_mutex_destroy(&s->lock);
        free(s->files);
        free(s);
    }
}
