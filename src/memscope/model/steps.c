/* SPDX-License-Identifier: Apache-2.0 */
/* Steps: mstx ranges called "step start", or calls of step(); the first kind that occurs counts, the other is
 * refused.
 *
 * A device counts its own marks. Devices without marks, and events without a device, follow the leader: the device
 * (or the threads without a device) that marked first. A step ends with the same range that began it. */
#include "memscope/model/model_internal.h"

static bool own_steps(const struct ms_device *device)
{
    return device->steps.used;
}

const struct ms_step_state *ms__steps_of(struct ms_model *model, uint32_t device)
{
    if (device != MS_DEV_UNKNOWN) {
        struct ms_device *entry = ms__device(model, device);
        if (entry != NULL && own_steps(entry)) {
            return &entry->steps;
        }
    }
    return &model->steps;
}

bool ms__step_wanted(struct ms_model *model, uint32_t device)
{
    if (model->options.step_count == 0) {
        return true;
    }
    const struct ms_step_state *steps = ms__steps_of(model, device);
    for (uint32_t i = 0; steps->inside && i < model->options.step_count; i++) {
        if (model->options.steps[i] == steps->number) {
            return true;
        }
    }
    return false;
}

static bool take_source(struct ms_model *model, enum ms_step_source source)
{
    if (model->step_source == MS_STEPS_NONE) {
        model->step_source = (uint8_t)source;
    }
    if (model->step_source == source) {
        return true;
    }
    if (!model->step_conflict_reported) {
        model->step_conflict_reported = true;
        ms__note(model, 3, "%s cannot be used simultaneously to update the step.",
                 source == MS_STEPS_MSTX ? "'Mstx' and 'msmemcope.step()'" : "'msmemcope.step()' and 'Mstx'");
    }
    return false;
}

/* Notifies consumers, once for each device that follows this state. */
static void notify(struct ms_model *model, const struct ms_step_state *state, uint32_t device, bool begins,
                   uint64_t time_ns)
{
    for (uint32_t i = 0; i < model->device_count; i++) {
        const struct ms_device *entry = model->devices[i];
        if (entry->device != MS_DEV_UNKNOWN &&
            (entry->device == device || (state == &model->steps && !own_steps(entry)))) {
            struct ms_step_info info = {.device = entry->device,
                                        .step = state->number,
                                        .begins = begins,
                                        .time_ns = time_ns,
                                        .row = model->next_row};
            MS__CALL(model, on_step, MS__SELF, &info);
        }
    }
}

static void begin(struct ms_model *model, struct ms_step_state *state, uint32_t device, const struct ms_event *event)
{
    if (state->inside) { /* its end was lost, or ranges overlap */
        state->inside = false;
        notify(model, state, device, false, event->time_ns);
    }
    state->number++;
    state->inside = true;
    state->used = true;
    state->range_id = event->range_id;
    notify(model, state, device, true, event->time_ns);
}

void ms__step_begin(struct ms_model *model, const struct ms_event *event)
{
    if (!take_source(model, MS_STEPS_MSTX)) {
        return;
    }
    if (!model->steps.used) {
        model->step_leader = event->device;
    }
    struct ms_device *entry = event->device != MS_DEV_UNKNOWN ? ms__device(model, event->device) : NULL;
    if (entry != NULL) {
        entry->steps.used = true; /* before the leader's state is reported: this device has marks of its own */
    }
    if (event->device == model->step_leader) {
        begin(model, &model->steps, MS_DEV_UNKNOWN, event);
    }
    if (entry != NULL) {
        begin(model, &entry->steps, entry->device, event);
    }
}

static bool end(struct ms_model *model, struct ms_step_state *state, uint32_t device, const struct ms_event *event)
{
    if (!state->inside || state->range_id != event->range_id) {
        return false;
    }
    state->inside = false;
    notify(model, state, device, false, event->time_ns);
    return true;
}

bool ms__step_end(struct ms_model *model, const struct ms_event *event)
{
    if (model->step_source != MS_STEPS_MSTX) {
        return false;
    }
    bool ended = end(model, &model->steps, MS_DEV_UNKNOWN, event);
    for (uint32_t i = 0; i < model->device_count; i++) { /* the thread's device may have changed since the start */
        ended = end(model, &model->devices[i]->steps, model->devices[i]->device, event) || ended;
    }
    return ended;
}

/* Call k ends step k and begins step k + 1. */
void ms__step_api(struct ms_model *model, const struct ms_event *event)
{
    if (!take_source(model, MS_STEPS_API)) {
        return;
    }
    struct ms_step_state *state = &model->steps;
    uint32_t ends = event->value != 0 ? (uint32_t)event->value : state->number + !state->used;
    state->number = ends;
    state->inside = false;
    notify(model, state, MS_DEV_UNKNOWN, false, event->time_ns);
    state->number = ends + 1;
    state->inside = true;
    state->used = true;
    notify(model, state, MS_DEV_UNKNOWN, true, event->time_ns);
}

uint32_t ms_model_step(const struct ms_model *model, uint32_t device)
{
    for (uint32_t i = 0; i < model->device_count; i++) {
        if (model->devices[i]->device == device && own_steps(model->devices[i])) {
            return model->devices[i]->steps.number;
        }
    }
    return model->steps.number;
}
