/* The recorder as other libraries of ours see it. */
#include "agent/agent_v1.h"

#include "agent/agent.h"
#include "agent/control.h"
#include "trace/definitions.h"

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
    ms_texts_add(&texts, path.text, path.length_b, false); /* counts executions, comes twice or so */
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

/* A payload that ends in the reference to a text, and the text behind it. */
static void record_text(enum ms_record_kind kind, uint32_t arg, void *payload, size_t payload_b,
                        struct ms_agent_text text, bool recurring, bool with_stacks)
{
    struct ms_stack_ids ids;
    const struct ms_stack_ids *stacks = with_stacks ? ms_stacks(MS_STATE_ON, &ids) : NULL;
    struct ms_texts texts = {0};
    struct ms_slot slot;
    ms_texts_add(&texts, text.text, text.length_b, recurring);
    size_t text_b = ms_texts_tail_b(&texts);
    char *p = ms_rec_begin(&slot, payload_b + text_b + (stacks != NULL ? sizeof(*stacks) : 0), MS_ORDER_PLAIN);
    if (p == NULL) {
        return;
    }
    memcpy(p, payload, payload_b - sizeof(texts.ref[0]));
    memcpy(p + payload_b - sizeof(texts.ref[0]), &texts.ref[0], sizeof(texts.ref[0]));
    ms_texts_put(&texts, p + payload_b);
    if (stacks != NULL) {
        memcpy(p + payload_b + text_b, stacks, sizeof(*stacks));
        texts.flags |= MS_RECORD_STACKS;
    }
    ms_rec_commit(&slot, kind, texts.flags, arg, ms_rec_stamp(&slot));
}

static void mark(struct ms_agent_text text)
{
    struct ms_p_mark p = {.stream_id = -1};
    if (ms_tracing()) {
        record_text(MS_R_MARK, ms_device_current(), &p, sizeof(p), text, false, true);
    }
}

static void label_push(uint32_t level, struct ms_agent_text label)
{
    struct ms_p_label p = {{0, 0}};
    if (ms_tracing()) {
        record_text(MS_R_LABEL_PUSH, level, &p, sizeof(p), label, true, false);
    }
}

static void label_pop(uint32_t level, struct ms_agent_text label)
{
    struct ms_p_label p = {{0, 0}};
    if (ms_tracing()) {
        record_text(MS_R_LABEL_POP, level, &p, sizeof(p), label, true, false);
    }
}

static void address_label(uint32_t level, uint64_t addr, struct ms_agent_text label)
{
    struct ms_p_addr_label p = {.addr = addr};
    if (ms_tracing()) {
        record_text(MS_R_ADDR_LABEL, level, &p, sizeof(p), label, true, false);
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
};
