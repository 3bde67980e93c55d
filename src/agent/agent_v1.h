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
};

extern const struct ms_agent_v1 ms_agent_v1 MS_EXPORT;

#endif
