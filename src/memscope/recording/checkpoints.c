/* SPDX-License-Identifier: Apache-2.0 */
/* See checkpoints.h. The payload of a CHECKPOINT block: head, settings as lines (padded to 8 bytes), state of the
 * model. */
#include "memscope/recording/checkpoints.h"

#include "base/macros.h"
#include "memscope/options/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC          0x5052534du /* "MSRP" */
#define VERSION        1u
#define SETTINGS_MAX_B 4096

struct payload_head {
    uint32_t magic, version;
    uint64_t settings_b;
};

void ms_checkpoints_init(struct ms_checkpoints *c, struct ms_trace *trace, struct ms_model *model, struct ms_aux *aux,
                         struct ms_reclaim *reclaim)
{
    *c = (struct ms_checkpoints){.trace = trace, .model = model, .aux = aux, .reclaim = reclaim, .segment = UINT64_MAX};
}

/* ---- writing ---- */

static bool idle(const struct ms_checkpoints *c, uint64_t *rows)
{
    struct ms_model_stats stats;
    ms_model_stats(c->model, &stats);
    *rows = stats.rows;
    return !ms_model_active(c->model);
}

static void enter_segment(struct ms_checkpoints *c, uint64_t segment)
{
    uint64_t rows;
    bool now_idle = idle(c, &rows);
    if (!now_idle || c->idle_from == 0 || rows != c->idle_rows) {
        c->idle_from = now_idle ? segment : 0;
        c->idle_rows = rows;
    }
    c->due |= segment > 1;
    c->segment = segment;
}

static int write_checkpoint(struct ms_checkpoints *c, const struct ms_position *position,
                            const struct ms_settings *settings)
{
    void *state = NULL;
    size_t state_b = 0, id_count = 0;
    uint32_t *ids = NULL;
    int rc = ms_model_save(c->model, &state, &state_b);
    rc = rc != 0 ? rc : ms_model_definitions(c->model, &ids, &id_count);
    char text[SETTINGS_MAX_B + 8] = "";
    size_t text_b = ms_options_format(settings, text, SETTINGS_MAX_B);
    rc = rc == 0 && text_b >= SETTINGS_MAX_B ? -E2BIG : rc;
    struct payload_head head = {MAGIC, VERSION, text_b};
    struct iovec payload[] = {{&head, sizeof(head)}, {text, MS_ROUND_UP(text_b, 8)}, {state, state_b}};
    rc = rc != 0 ? rc : ms_aux_checkpoint(c->aux, position, payload, MS_COUNT_OF(payload), ids, id_count);
    free(ids);
    free(state);
    return rc;
}

int ms_checkpoints_make(struct ms_checkpoints *c, const struct ms_settings *settings)
{
    struct ms_position position;
    uint64_t segment = ms_trace_segment(c->trace), rows;
    if (segment != c->segment) {
        enter_segment(c, segment);
    }
    if (!c->due || !ms_trace_position(c->trace, &position)) {
        return 0;
    }
    int rc = write_checkpoint(c, &position, settings);
    if (rc == -EAGAIN) {
        return 0; /* the model holds events back: retried at the next sweep */
    }
    c->due = false;
    if (rc != 0) {
        bool reported = c->too_large;
        c->too_large = true;
        return reported ? 0 : rc;
    }
    __atomic_store_n(&c->reclaim->covered, position.segment, __ATOMIC_RELEASE);
    if (idle(c, &rows) && c->idle_from != 0 && rows == c->idle_rows && position.segment > c->idle_from) {
        uint64_t freed_b = ms_trace_forget(c->trace, c->idle_from, position.segment);
        __atomic_fetch_add(&c->reclaim->freed_b, freed_b, __ATOMIC_RELAXED);
        c->idle_from = position.segment;
    }
    return 0;
}

/* ---- restoring ---- */

/* Splits the payload; false: there is none, or it is invalid. */
static bool read_payload(const struct ms_trace *trace, struct payload_head *head, const char **text,
                         struct ms_checkpoint *checkpoint)
{
    if (!ms_trace_checkpoint(trace, checkpoint) || checkpoint->payload_b < sizeof(*head)) {
        return false;
    }
    memcpy(head, checkpoint->payload, sizeof(*head));
    *text = (const char *)checkpoint->payload + sizeof(*head);
    return head->magic == MAGIC && head->version == VERSION && head->settings_b < SETTINGS_MAX_B &&
           MS_ROUND_UP(head->settings_b, 8) <= checkpoint->payload_b - sizeof(*head);
}

bool ms_checkpoints_settings(const struct ms_trace *trace, struct ms_settings *settings)
{
    struct payload_head head;
    const char *text;
    struct ms_checkpoint checkpoint;
    if (!read_payload(trace, &head, &text, &checkpoint)) {
        return false;
    }
    char copy[SETTINGS_MAX_B];
    memcpy(copy, text, head.settings_b);
    copy[head.settings_b] = '\0';
    struct ms_settings found;
    struct ms_why why;
    ms_settings_init(&found);
    if (ms_options_apply_text(&found, copy, &why) != 0) {
        return false;
    }
    memcpy(found.output, settings->output, sizeof(found.output)); /* does not belong to the trace */
    *settings = found;
    return true;
}

int ms_checkpoints_restore(struct ms_trace *trace, struct ms_model *model, const struct ms_model_options *options)
{
    struct payload_head head;
    const char *text;
    struct ms_checkpoint checkpoint;
    if (!read_payload(trace, &head, &text, &checkpoint)) {
        return -EPROTO;
    }
    size_t at = sizeof(head) + MS_ROUND_UP(head.settings_b, 8);
    return ms_model_restore(model, options, (const char *)checkpoint.payload + at, checkpoint.payload_b - at);
}
