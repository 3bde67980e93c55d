/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder's interface for npuscope's other libraries. */
#include "agent/agent_v1.h"

#include "agent/agent.h"
#include "agent/control.h"
#include "agent/numbers.h"
#include "agent/python_trace.h"
#include "agent/record_text.h"
#include "agent/watch.h"

static uint32_t wants(void)
{
    return ms_tracing() ? __atomic_load_n(&ms_gate->shm->event_mask, __ATOMIC_RELAXED) : 0;
}

static void operation(unsigned kind, uint32_t device, uint64_t workspace, uint64_t workspace_b,
                      struct ms_agent_text name, struct ms_agent_text path)
{
    if (kind < MS_R_OP_START || kind > MS_R_OP_KERNEL_END || !ms_tracing()) {
        return;
    }
    struct ms_texts texts = {0};
    struct ms_slot slot;
    ms_texts_add(&texts, name.text, name.length_b, true);
    ms_texts_add(&texts, path.text, path.length_b, false); /* contains an execution count, so it recurs about twice */
    struct ms_p_op *p = ms_rec_begin(&slot, sizeof(*p) + ms_texts_tail_b(&texts), MS_ORDER_PLAIN);
    if (p != NULL) {
        *p = (struct ms_p_op){
            .workspace_ptr = workspace, .workspace_b = workspace_b, .name = texts.ref[0], .path = texts.ref[1]};
        ms_texts_put(&texts, p + 1);
        ms_rec_commit(&slot, (enum ms_record_kind)kind, texts.flags, device, ms_rec_stamp(&slot));
    }
}

static void access_to(unsigned pool, uint32_t device, uint64_t addr, uint64_t size_b, unsigned type,
                      struct ms_agent_text name, struct ms_agent_text attributes)
{
    if (addr == 0 || !ms_tracing()) {
        return;
    }
    if (ms_watching()) {
        ms_watch_access(addr, size_b, type == MS_ACCESS_WRITE);
    }
    if (pool == MS_POOL_HOST && (__atomic_load_n(&ms_gate->shm->event_mask, __ATOMIC_RELAXED) & MS_WANT_CPU) == 0) {
        return; /* its block is not recorded either */
    }
    struct ms_texts texts = {0};
    struct ms_slot slot;
    ms_texts_add(&texts, name.text, name.length_b, true);
    ms_texts_add(&texts, attributes.text, attributes.length_b, true);
    struct ms_p_access *p = ms_rec_begin(&slot, sizeof(*p) + ms_texts_tail_b(&texts), MS_ORDER_PLAIN);
    if (p != NULL) {
        *p = (struct ms_p_access){
            .addr = addr, .size_b = size_b, .type = type, .name = texts.ref[0], .attributes = texts.ref[1]};
        ms_texts_put(&texts, p + 1);
        ms_rec_commit(&slot, MS_R_ACCESS, texts.flags, MS_POOL_ARG(pool, device), ms_rec_stamp(&slot));
    }
}

static void mark(struct ms_agent_text text)
{
    struct ms_p_mark p = {.stream_id = -1};
    if (!ms_tracing()) {
        return;
    }
    if (ms_watching()) { /* before an end and after everything else, so that WATCH records are inside the operator */
        ms_watch_text(text.text, text.length_b, true);
    }
    ms_record_text(MS_R_MARK, ms_device_current(), &p, sizeof(p), text.text, text.length_b, false, true);
    if (ms_watching()) {
        ms_watch_text(text.text, text.length_b, false);
    }
}

/* Labels outlast start and stop of tracing, and blocks allocated earlier may be labelled: they are recorded whenever
 * memory is. */
static bool labels_count(void)
{
    return ms_rec_state() != MS_STATE_OFF && ms_self.suppressed == 0;
}

static void label(enum ms_record_kind kind, uint32_t level, struct ms_agent_text text)
{
    struct ms_p_label p = {{0, 0}};
    if (labels_count()) {
        ms_record_text(kind, level, &p, sizeof(p), text.text, text.length_b, true, false);
    }
}

static void label_push(uint32_t level, struct ms_agent_text text)
{
    label(MS_R_LABEL_PUSH, level, text);
}

static void label_pop(uint32_t level, struct ms_agent_text text)
{
    label(MS_R_LABEL_POP, level, text);
}

static void address_label(uint32_t level, uint64_t addr, struct ms_agent_text text)
{
    struct ms_p_addr_label p = {.addr = addr};
    if (labels_count()) {
        ms_record_text(MS_R_ADDR_LABEL, level, &p, sizeof(p), text.text, text.length_b, true, false);
    }
}

static void state_now(struct ms_agent_state *out)
{
    ms_agent_init();
    const struct ms_session *session = ms_agent_session();
    const struct ms_shm *shm = ms_rec_shm();
    *out = (struct ms_agent_state){0};
    if (session == NULL || (shm != NULL && shm->magic != MS_SHM_MAGIC)) {
        return;
    }
    *out = (struct ms_agent_state){.recorded = 1,
                                   .state = (uint32_t)session->state,
                                   .event_mask = (uint32_t)session->event_mask,
                                   .analysis = (uint32_t)session->analysis,
                                   .flags = (uint32_t)session->flags,
                                   .npu_mask = (uint32_t)session->npu_mask,
                                   .c_depth = (uint32_t)session->c_depth,
                                   .python_depth = (uint32_t)session->python_depth};
    if (shm != NULL) {
        out->state = __atomic_load_n(&shm->state, __ATOMIC_RELAXED);
        out->event_mask = __atomic_load_n(&shm->event_mask, __ATOMIC_RELAXED);
    }
}

static int snapshot(uint32_t device, const uint64_t memory_b[MS_AGENT_MEMORY], struct ms_agent_text name, char *why,
                    size_t why_b)
{
    struct ms_p_snapshot p = {.reserved_b = memory_b[0],
                              .max_reserved_b = memory_b[1],
                              .allocated_b = memory_b[2],
                              .max_allocated_b = memory_b[3],
                              .total_b = memory_b[4],
                              .free_b = memory_b[5]};
    int rc = ms_control_begin_files(why, why_b);
    if (rc == 0) {
        ms_record_text(MS_R_SNAPSHOT, device, &p, sizeof(p), name.text, name.length_b, true, true);
    }
    return rc;
}

static uint64_t stamp(void)
{
    if (!ms_tracing()) {
        return 0;
    }
    const struct ms_ctx *ctx = ms_ctx_tls; /* the slice goes into this thread's stream and uses its clock */
    return ms_stamp(ctx != NULL && ctx->shm == ms_gate->shm ? ctx->clock_kind : ms_gate->shm->clock_kind);
}

static void slice(uint64_t start, uint64_t end, uint32_t missing, struct ms_agent_text text)
{
    struct ms_p_slice p = {.start_stamp = start, .end_stamp = end};
    if (ms_tracing()) {
        ms_record_text(MS_R_SLICE, missing, &p, sizeof(p), text.text, text.length_b, true, false);
    }
}

static int python_trace(int on, char *why, size_t why_b)
{
    return ms_python_trace(on != 0, why, why_b);
}

static void quiet(int on)
{
    if (on) {
        ms_self.suppressed++;
    } else if (ms_self.suppressed != 0) {
        ms_self.suppressed--;
    }
}

const struct ms_agent_v1 ms_agent_v1 = {
    .version = MS_AGENT_V1,
    .size_b = sizeof(ms_agent_v1),
    .wants = wants,
    .device = ms_device_current,
    .operation = operation,
    .access = access_to,
    .start = ms_control_start,
    .stop = ms_control_stop,
    .step = ms_control_step,
    .config = ms_control_config,
    .output = ms_control_output,
    .attach = ms_agent_attach,
    .mark = mark,
    .label_push = label_push,
    .label_pop = label_pop,
    .address_label = address_label,
    .state = state_now,
    .snapshot = snapshot,
    .device_of_user = ms_device_of_user,
    .stamp = stamp,
    .slice = slice,
    .on_sanitizer_mark = ms_mstx_listen,
    .watch_add = ms_watch_add,
    .watch_remove = ms_watch_remove,
    .watch_begin = ms_watch_begin,
    .watch_end = ms_watch_end,
    .python_trace = python_trace,
    .python_own = ms_call_own,
    .quiet = quiet,
    .numbers = ms_numbers_expect,
    .suspects = ms_control_suspects,
};
