/* SPDX-License-Identifier: Apache-2.0 */
/* See inefficient.h. */
#include "memscope/analyze/inefficient.h"

#include "base/macros.h"

unsigned ms_inefficient_framework(unsigned space)
{
    switch (space) {
    case MS_SPACE_PTA:
        return MS_FRAMEWORK_PTA;
    case MS_SPACE_ATB:
        return MS_FRAMEWORK_ATB;
    case MS_SPACE_HOST:
        return MS_FRAMEWORK_HOST;
    default:
        return MS_FRAMEWORK_NONE;
    }
}

unsigned ms_inefficient_operator(unsigned row_type, bool *begins)
{
    *begins = row_type == MS_TYPE_ATEN_START || row_type == MS_TYPE_ATB_START;
    switch (row_type) {
    case MS_TYPE_ATEN_START:
    case MS_TYPE_ATEN_END: /* ATen operators use both kinds of memory */
        return 1u << MS_FRAMEWORK_PTA | 1u << MS_FRAMEWORK_HOST;
    case MS_TYPE_ATB_START:
    case MS_TYPE_ATB_END:
        return 1u << MS_FRAMEWORK_ATB;
    default:
        return 0;
    }
}

static void finish(struct ms_api_counter *counter)
{
    if (counter->has_malloc) {
        counter->last_malloc = counter->api;
    }
    if (counter->has_free) {
        counter->last_free = counter->api;
    }
    counter->has_malloc = counter->has_free = false;
}

void ms_inefficient_op(struct ms_inefficient *all, unsigned row_type)
{
    bool begins;
    unsigned frameworks = ms_inefficient_operator(row_type, &begins);
    for (unsigned i = 0; i < MS_FRAMEWORK_COUNT; i++) {
        struct ms_api_counter *counter = &all->counters[i];
        if ((frameworks >> i & 1) == 0) {
            continue;
        }
        if (begins) {
            counter->api++;
            counter->inside = true;
        } else if (counter->inside) {
            finish(counter);
            counter->inside = false;
        }
    }
}

/* An event outside of operators is an api in its own right. */
static void enter(struct ms_api_counter *counter)
{
    counter->api += !counter->inside;
}

static void leave(struct ms_api_counter *counter)
{
    if (!counter->inside) {
        finish(counter);
    }
}

uint8_t ms_inefficient_add(uint8_t found, unsigned pattern)
{
    unsigned shift = 0;
    for (uint8_t rest = found; rest != 0; rest >>= 2, shift += 2) {
        if ((rest & 3) == pattern) {
            return found;
        }
    }
    return (uint8_t)(found | pattern << shift);
}

static unsigned add(struct ms_stamps *stamps, unsigned pattern)
{
    uint8_t found = ms_inefficient_add(stamps->found, pattern);
    bool added = found != stamps->found;
    stamps->found = found;
    return added ? 1u << pattern : 0;
}

void ms_inefficient_malloc(struct ms_inefficient *all, unsigned framework, struct ms_stamps *stamps)
{
    struct ms_api_counter *counter = &all->counters[framework];
    enter(counter);
    *stamps = (struct ms_stamps){.malloc_api = counter->api, .last_api = counter->api};
    counter->has_malloc = true;
    leave(counter);
}

unsigned ms_inefficient_access(struct ms_inefficient *all, unsigned framework, struct ms_stamps *stamps)
{
    struct ms_api_counter *counter = &all->counters[framework];
    unsigned found = 0;
    enter(counter);
    if (stamps->malloc_api != 0) {
        if (stamps->first_api == 0 && counter->api != stamps->malloc_api) {
            stamps->first_api = counter->api;
        }
        uint64_t freed = counter->last_free;
        if (freed != 0 && stamps->malloc_api < freed && freed < stamps->first_api) {
            found |= add(stamps, MS_INEFFICIENT_EARLY);
        }
        if (stamps->last_is_access && counter->api - stamps->last_api > all->threshold) {
            found |= add(stamps, MS_INEFFICIENT_IDLE);
        }
        stamps->last_api = counter->api;
        stamps->last_is_access = true;
    }
    leave(counter);
    return found;
}

unsigned ms_inefficient_free(struct ms_inefficient *all, unsigned framework, struct ms_stamps *stamps)
{
    struct ms_api_counter *counter = &all->counters[framework];
    unsigned found = 0;
    enter(counter);
    if (stamps->malloc_api != 0 && stamps->last_is_access && stamps->last_api < counter->last_malloc &&
        counter->last_malloc < counter->api) {
        found = add(stamps, MS_INEFFICIENT_LATE);
    }
    counter->has_free = true;
    leave(counter);
    return found;
}
