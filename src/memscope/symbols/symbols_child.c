/* SPDX-License-Identifier: Apache-2.0 */
/* The child of a symbolizer: opens the files it receives, answers one request after the other, and exits when the
 * parent closes its end of the socket. Anything may fail here; the parent copes. */
#include "memscope/symbols/symbolizer.h"

#include "memscope/symbols/image.h"
#include "memscope/symbols/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define MEMORY_MAX_B (16ull << 30) /* includes mapped files */
#define FILES_MAX    65536u

static struct ms_image *images[FILES_MAX];

/* False: the parent has exited. */
static bool receive(struct ms_symbols_request *request, int fds[2])
{
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(2 * sizeof(int))];
    } control;
    struct iovec part = {request, sizeof(*request)};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    fds[0] = fds[1] = -1;
    ssize_t n;
    do {
        n = recvmsg(MS_SYMBOLS_FD, &message, MSG_CMSG_CLOEXEC | MSG_WAITALL);
    } while (n < 0 && errno == EINTR);
    struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (c != NULL && c->cmsg_type == SCM_RIGHTS) {
        size_t fds_b = c->cmsg_len - CMSG_LEN(0);
        memcpy(fds, CMSG_DATA(c), fds_b < 2 * sizeof(int) ? fds_b : 2 * sizeof(int));
    }
    return n == (ssize_t)sizeof(*request);
}

static bool answer(int error, const void *text, size_t text_b)
{
    struct ms_symbols_answer head = {.error = error, .text_b = (uint32_t)text_b};
    struct iovec parts[2] = {{&head, sizeof(head)}, {(void *)(uintptr_t)text, text_b}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    size_t left_b = sizeof(head) + text_b;
    while (left_b > 0) {
        ssize_t n = sendmsg(MS_SYMBOLS_FD, &message, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return false;
        }
        left_b -= (size_t)n;
        for (unsigned i = 0; i < 2; i++) {
            size_t done = (size_t)n < parts[i].iov_len ? (size_t)n : parts[i].iov_len;
            parts[i].iov_base = (char *)parts[i].iov_base + done;
            parts[i].iov_len -= done;
            n -= (ssize_t)done;
        }
    }
    return true;
}

static bool open_file(const struct ms_symbols_request *request, const int fds[2])
{
    const uint8_t *id = NULL;
    size_t id_b = 0;
    int rc = request->file < FILES_MAX && images[request->file] == NULL && fds[0] >= 0
                 ? ms_image_open(fds[0], fds[1], (request->flags & MS_SYMBOLS_LINES) != 0, &images[request->file])
                 : -EINVAL;
    if (rc == 0) {
        id_b = ms_image_build_id(images[request->file], &id);
    }
    return answer(rc, id, id_b);
}

static bool describe(const struct ms_symbols_request *request)
{
    struct ms_image *image = request->file < FILES_MAX ? images[request->file] : NULL;
    char *text = NULL;
    size_t text_b = 0;
    FILE *out = image != NULL ? open_memstream(&text, &text_b) : NULL;
    if (out != NULL) {
        ms_image_describe(image, request->address, out);
        fclose(out);
    }
    bool sent = answer(image != NULL ? 0 : -EINVAL, text, text_b < MS_SYMBOLS_TEXT_B ? text_b : 0);
    free(text);
    return sent;
}

int ms_symbols_main(void)
{
    struct rlimit memory = {MEMORY_MAX_B, MEMORY_MAX_B}, core = {0, 0}, files;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* these map terabytes themselves */
    setrlimit(RLIMIT_AS, &memory);
#else
    (void)memory;
#endif
    setrlimit(RLIMIT_CORE, &core);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    struct ms_symbols_request request;
    int fds[2];
    while (receive(&request, fds) &&
           (request.kind == MS_SYMBOLS_OPEN ? open_file(&request, fds) : describe(&request))) {
    }
    return 0;
}
