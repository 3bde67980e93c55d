/* SPDX-License-Identifier: Apache-2.0 */
/* What libascend_kernel_hook.so offers to other libraries of ours in the same process: the hooks of ATB, and the Python
 * extension. They find it with dlsym(RTLD_DEFAULT, "ms_agent_v1"), check version and size, and record through it, so
 * that a process has one recorder whatever was loaded from where. The table grows at its end. */
#ifndef MS_AGENT_AGENT_V1_H
#define MS_AGENT_AGENT_V1_H

#include "base/macros.h"

#include <stddef.h>
#include <stdint.h>

#define MS_AGENT_V1 1u

struct ms_agent_text {
    const char *text;
    size_t length_b;
};

/* What is asked of this process at the moment, by whoever recorded or configured it. */
struct ms_agent_state {
    uint32_t recorded;   /* 0: nobody records this process; the rest is 0 then */
    uint32_t state;      /* enum ms_trace_state */
    uint32_t event_mask; /* MS_WANT_* */
    uint32_t analysis;   /* MS_ANALYSIS_* */
    uint32_t flags;      /* MS_SESSION_* */
    uint32_t npu_mask;
    uint32_t c_depth, python_depth;
};

/* reserved, peak of it, allocated, peak of it, total, free, in bytes; MS_AGENT_UNKNOWN: as the model knows it. */
#define MS_AGENT_MEMORY  6
#define MS_AGENT_UNKNOWN UINT64_MAX

struct ms_agent_range {
    uint64_t addr, size_b;
};

struct ms_agent_v1 {
    uint32_t version; /* MS_AGENT_V1 */
    uint32_t size_b;

    /* MS_WANT_* that are being traced at this moment; 0: record nothing. */
    uint32_t (*wants)(void);
    /* Device that is current in this thread, in the driver's counting. */
    uint32_t (*device)(void);

    /* kind: MS_R_OP_START, OP_END, OP_KERNEL_START or OP_KERNEL_END. */
    void (*operation)(unsigned kind, uint32_t device, uint64_t workspace, uint64_t workspace_b,
                      struct ms_agent_text name, struct ms_agent_text path);
    /* pool: enum ms_pool; type: enum ms_access. */
    void (*access)(unsigned pool, uint32_t device, uint64_t addr, uint64_t size_b, unsigned type,
                   struct ms_agent_text name, struct ms_agent_text attributes);

    /* What the API's functions come down to, see agent/control.h. They wait. */
    int (*start)(char *why, size_t why_b);
    int (*stop)(char *why, size_t why_b);
    int (*step)(char *why, size_t why_b);
    int (*config)(const char *lines, char *why, size_t why_b);
    int (*output)(char *path, size_t path_b);

    /* For programs that were started without us: becomes part of a session (NULL: of the one it is in), and hooks what
     * is loaded; again for what was loaded since. How many calls were hooked, or -errno. Not under a lock of the
     * loader. */
    int (*attach)(const char *session);

    /* Events of the program itself; recorded while tracing, otherwise nothing. */
    void (*mark)(struct ms_agent_text text);
    void (*label_push)(uint32_t level, struct ms_agent_text label); /* of this thread, until popped */
    void (*label_pop)(uint32_t level, struct ms_agent_text label);
    void (*address_label)(uint32_t level, uint64_t addr, struct ms_agent_text label);

    /* Attaches nothing. */
    void (*state)(struct ms_agent_state *out);
    /* A snapshot of a device, also while nothing is traced; device in the driver's counting, MS_DEV_CPU: the host.
     * Makes the output directory if there is none: it waits, like start. */
    int (*snapshot)(uint32_t device, const uint64_t memory_b[MS_AGENT_MEMORY], struct ms_agent_text name, char *why,
                    size_t why_b);
    /* Number of a device in the driver's counting for one in the program's. */
    uint32_t (*device_of_user)(uint32_t user);

    /* A call of a Python trace: the clock now (0: nothing is traced), and a slice between two of its readings. missing:
     * 1 no start, 2 no end. */
    uint64_t (*stamp)(void);
    void (*slice)(uint64_t start, uint64_t end, uint32_t missing, struct ms_agent_text text);

    /* Who is told of marks for the sanitizer ("sanitizer-op:..."), in whatever thread makes them and under its locks;
     * NULL: nobody. */
    void (*on_sanitizer_mark)(void (*listener)(const char *text, void *stream));

    /* Watching memory, see agent/watch.h. The name of a range is at most 64 bytes; dumps: how often its content is
     * noted, negative: without limit. 0, -EINVAL, -ENOSPC (too many); remove: -ENOENT, size 0: whatever begins there.
     */
    int (*watch_add)(uint64_t addr, uint64_t size_b, struct ms_agent_text name, int64_t dumps);
    int (*watch_remove)(uint64_t addr, uint64_t size_b);
    /* An operator or kernel that has a path instead of marks: around it, and what it writes. */
    void (*watch_begin)(struct ms_agent_text path, void *stream);
    void (*watch_end)(struct ms_agent_text path, void *stream, const struct ms_agent_range *outputs, size_t count);

    /* Begins or ends the trace of Python calls, see agent/python_trace.h; with the GIL. Functions of that file, or of
     * files in that directory, are not traced, and not shown in stacks. */
    int (*python_trace)(int on, char *why, size_t why_b);
    void (*python_own)(const char *path);

    /* What this thread does is not recorded until it is taken back, as often as it was said. */
    void (*quiet)(int on);

    /* What stop() answers, while tracing goes on. */
    int (*suspects)(char *why, size_t why_b);
};

extern const struct ms_agent_v1 ms_agent_v1 MS_EXPORT;

#endif
