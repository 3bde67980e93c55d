/* SPDX-License-Identifier: Apache-2.0 */
/* Inside compare: what the collecting half leaves for the reporting half. */
#ifndef MS_ANALYZE_COMPARE_INTERNAL_H
#define MS_ANALYZE_COMPARE_INTERNAL_H

#include "base/intern.h"
#include "base/map.h"
#include "memscope/analyze/compare.h"

enum lane { POOLS, DRIVER, LANES };

struct item {
    uint32_t name;
    uint32_t step;
    uint64_t row;
    int64_t net[LANES], peak[LANES]; /* legacy: net[POOLS] is its number */
    uint8_t event, type;
};

enum group_kind { BY_OWNER, BY_SITE, GROUP_KINDS };

/* Bytes of one owner or call site. at_peak is right if changed_at is the current peak's number; otherwise the group has
 * not changed since the peak, and live is what it was then. */
struct group {
    uint32_t name;
    uint8_t kind, lane;
    int64_t live, at_peak;
    uint64_t changed_at;
};

struct use { /* of one lane of a device */
    uint64_t events;
    int64_t total, peak;
    uint64_t peak_number, peak_ns;
    uint32_t peak_step, peak_op; /* peak_op: name */
};

struct device {
    uint32_t device;
    uint32_t step;  /* now; 0: between steps */
    bool step_seen; /* a mark came */
    struct item *items;
    size_t item_count, item_room;
    struct use use[LANES];
    struct group *groups;
    size_t group_count, group_room;
    struct ms_map group_of; /* kind, lane and name: to the index above */
    size_t legacy_pending;  /* items from here on wait for a row of the framework */
};

struct side {
    struct device **devices;
    size_t device_count;
    unsigned framework; /* legacy: enum ms_row_type; 0: none met */
    struct recorded *process;
};

struct pair { /* a device of each side; NULL: that side has none */
    struct device *of[MS_COMPARE_SIDES];
    uint32_t *match; /* of the base's items */
    enum lane lane;
    uint64_t both;
};

struct ms_compare {
    struct ms_compare_options options;
    struct ms_intern names;
    struct side sides[MS_COMPARE_SIDES];
    struct pair *pairs;
    size_t pair_count;
    int error;
    char error_text[256];
};

struct device *ms__compare_device(struct ms_compare *compare, struct side *side, uint32_t device);

static inline int64_t ms__at_peak(const struct device *device, const struct group *group)
{
    return group->changed_at == device->use[group->lane].peak_number ? group->at_peak : group->live;
}

#endif
