/* SPDX-License-Identifier: Apache-2.0 */
/* Events held back: an allocation at a live address waits for a free that a coarse clock put after it.
 *
 * The order between threads is the order of stamps, and two threads may pass on an address within one tick. If the
 * free arrives from another stream within 2 us, both are swapped; otherwise it is a double allocation. Later events
 * wait as well, so that rows keep their order. */
#include "memscope/model/model_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW_NS 2000u
#define HELD_MAX  4096u

static void drop(struct ms_model *model, uint32_t at)
{
    free(model->held[at].texts);
    if (at == model->held_first) {
        model->held_first++;
    } else {
        model->held_end--;
        memmove(&model->held[at], &model->held[at + 1], (model->held_end - at) * sizeof(*model->held));
    }
    if (model->held_first == model->held_end) {
        model->held_first = model->held_end = 0;
    }
}

static void copy_text(struct ms_text *text, char *to)
{
    if (text->length_b != 0) {
        memcpy(to, text->s, text->length_b);
        text->s = to;
    }
}

int ms__hold(struct ms_model *model, const struct ms_event *event)
{
    if (model->held_end == model->held_room) {
        uint32_t room = model->held_room != 0 ? model->held_room * 2 : 16;
        struct ms_held *held = realloc(model->held, room * sizeof(*held));
        if (held == NULL) {
            return -ENOMEM;
        }
        model->held = held;
        model->held_room = room;
    }
    struct ms_held *held = &model->held[model->held_end];
    *held = (struct ms_held){.event = *event};
    size_t texts_b = (size_t)event->text.length_b + event->text2.length_b;
    if (texts_b != 0) {
        held->texts = malloc(texts_b);
        if (held->texts == NULL) {
            return -ENOMEM;
        }
        copy_text(&held->event.text, held->texts);
        copy_text(&held->event.text2, held->texts + event->text.length_b);
    }
    model->held_end++;
    return 0;
}

/* The free that the first held event waits for; 0: not among the held events. */
static uint32_t find_free(const struct ms_model *model)
{
    const struct ms_event *alloc = &model->held[model->held_first].event;
    for (uint32_t i = model->held_first + 1; i < model->held_end; i++) {
        const struct ms_event *event = &model->held[i].event;
        if (event->time_ns <= alloc->time_ns + WINDOW_NS && event->stream != alloc->stream &&
            ms__frees_same(alloc, event)) {
            return i;
        }
    }
    return 0;
}

int ms__release(struct ms_model *model, uint64_t now_ns, bool all)
{
    int rc = 0;
    while (model->held_end != 0) {
        struct ms_event *first = &model->held[model->held_first].event;
        int one = ms__process(model, first);
        if (one == MS_HOLD) {
            uint32_t at = find_free(model);
            if (at != 0) {
                model->held[at].event.time_ns = first->time_ns;
                one = ms__process(model, &model->held[at].event);
                drop(model, at);
                model->stats.reordered++;
                rc = rc != 0 ? rc : one;
                continue;
            }
            if (!all && now_ns <= first->time_ns + WINDOW_NS && model->held_end - model->held_first < HELD_MAX) {
                return rc;
            }
            model->forced = true;
            one = ms__process(model, first);
            model->forced = false;
        }
        drop(model, model->held_first);
        rc = rc != 0 ? rc : one;
    }
    return rc;
}

void ms__held_free(struct ms_model *model)
{
    while (model->held_end != 0) {
        drop(model, model->held_first);
    }
    free(model->held);
}
