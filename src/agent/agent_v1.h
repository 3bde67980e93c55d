/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of libascend_kernel_hook.so for npuscope's other libraries in the same process: the ATB hooks and the
 * Python extension. They find it with dlsym(RTLD_DEFAULT, "ms_agent_v1"), check version and size, and record through
 * it, so a process has one recorder regardless of what was loaded from where. The table grows at its end. */
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

/* The current recording state of this process. */
struct ms_agent_state {
    uint32_t recorded;   /* 0: this process is not recorded; the rest is 0 then */
    uint32_t state;      /* enum ms_trace_state */
    uint32_t event_mask; /* MS_WANT_* */
    uint32_t analysis;   /* MS_ANALYSIS_* */
    uint32_t flags;      /* MS_SESSION_* */
    uint32_t npu_mask;
    uint32_t c_depth, python_depth;
};

/* reserved, its peak, allocated, its peak, total, free, in bytes; MS_AGENT_UNKNOWN: use the model's value. */
#define MS_AGENT_MEMORY  6
#define MS_AGENT_UNKNOWN UINT64_MAX

struct ms_agent_range {
    uint64_t addr, size_b;
};

struct ms_agent_v1 {
    uint32_t version; /* MS_AGENT_V1 */
    uint32_t size_b;

    /* MS_WANT_* currently traced; 0: record nothing. */
    uint32_t (*wants)(void);
    /* Current device of this thread, in driver numbering. */
    uint32_t (*device)(void);

    /* kind: MS_R_OP_START, OP_END, OP_KERNEL_START or OP_KERNEL_END. */
    void (*operation)(unsigned kind, uint32_t device, uint64_t workspace, uint64_t workspace_b,
                      struct ms_agent_text name, struct ms_agent_text path);
    /* pool: enum ms_pool; type: enum ms_access. */
    void (*access)(unsigned pool, uint32_t device, uint64_t addr, uint64_t size_b, unsigned type,
                   struct ms_agent_text name, struct ms_agent_text attributes);

    /* Implementation of the API functions, see agent/control.h. They wait. */
    int (*start)(char *why, size_t why_b);
    int (*stop)(char *why, size_t why_b);
    int (*step)(char *why, size_t why_b);
    int (*config)(const char *lines, char *why, size_t why_b);
    int (*output)(char *path, size_t path_b);

    /* For programs started without the agent: joins a session (NULL: the current one) and hooks what is loaded; call
     * again for libraries loaded since. Number of calls hooked, or -errno. Must not be called under a loader lock. */
    int (*attach)(const char *session);

    /* Events of the program itself; recorded while tracing, otherwise ignored. */
    void (*mark)(struct ms_agent_text text);
    void (*label_push)(uint32_t level, struct ms_agent_text label); /* of this thread, until popped */
    void (*label_pop)(uint32_t level, struct ms_agent_text label);
    void (*address_label)(uint32_t level, uint64_t addr, struct ms_agent_text label);

    /* Does not attach. */
    void (*state)(struct ms_agent_state *out);
    /* A snapshot of a device, also while not tracing; device in driver numbering, MS_DEV_CPU: the host. Creates the
     * output directory if there is none, so it waits, like start. */
    int (*snapshot)(uint32_t device, const uint64_t memory_b[MS_AGENT_MEMORY], struct ms_agent_text name, char *why,
                    size_t why_b);
    /* Driver's number of a device from the program's number. */
    uint32_t (*device_of_user)(uint32_t user);

    /* A call of a Python trace: stamp returns the current time (0: not tracing), slice records the time between two
     * stamps. missing: 1 no start, 2 no end. */
    uint64_t (*stamp)(void);
    void (*slice)(uint64_t start, uint64_t end, uint32_t missing, struct ms_agent_text text);

    /* Sets the listener for sanitizer marks ("sanitizer-op:..."), called in the marking thread and under its locks;
     * NULL: none. */
    void (*on_sanitizer_mark)(void (*listener)(const char *text, void *stream));

    /* Watches memory, see agent/watch.h. The name of a range has at most 64 bytes; dumps: how often its content is
     * recorded, negative: no limit. 0, -EINVAL, -ENOSPC (too many); remove: -ENOENT, size 0: any range that starts
     * there. */
    int (*watch_add)(uint64_t addr, uint64_t size_b, struct ms_agent_text name, int64_t dumps);
    int (*watch_remove)(uint64_t addr, uint64_t size_b);
    /* Around an operator or kernel that has a path instead of marks; outputs: what it writes. */
    void (*watch_begin)(struct ms_agent_text path, void *stream);
    void (*watch_end)(struct ms_agent_text path, void *stream, const struct ms_agent_range *outputs, size_t count);

    /* Starts or stops the trace of Python calls, see agent/python_trace.h; needs the GIL. python_own: functions of that
     * file, or of files in that directory, are not traced and not shown in stacks. */
    int (*python_trace)(int on, char *why, size_t why_b);
    void (*python_own)(const char *path);

    /* Stops recording this thread (on), or resumes it; calls nest. */
    void (*quiet)(int on);

    /* Like stop(), but tracing continues. */
    int (*suspects)(char *why, size_t why_b);

    /* How many tensors PyTorch will make of numbers in this thread because of us, see agent/numbers.h; 0: no more. */
    void (*numbers)(uint32_t count);
};

extern const struct ms_agent_v1 ms_agent_v1 MS_EXPORT;

#endif
