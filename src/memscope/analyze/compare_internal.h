/* SPDX-License-Identifier: Apache-2.0 */
/* Private to compare: what collecting (compare.c) hands to reporting (compare_report.c). */
#ifndef MS_ANALYZE_COMPARE_INTERNAL_H
#define MS_ANALYZE_COMPARE_INTERNAL_H

#include "base/intern.h"
#include "base/map.h"
#include "memscope/analyze/compare.h"

enum ms_compare_lane { MS_LANE_POOLS, MS_LANE_DRIVER, MS_LANE_COUNT };

struct ms_compare_item {
    uint32_t name;
    uint32_t step;
    uint64_t row;
    int64_t net[MS_LANE_COUNT], peak[MS_LANE_COUNT]; /* legacy: net[MS_LANE_POOLS] is its number */
    uint8_t event, type;
};

enum ms_compare_group_kind { MS_GROUP_BY_OWNER, MS_GROUP_BY_SITE, MS_GROUP_KIND_COUNT };

/* Bytes of one owner or call site. at_peak is valid if changed_at is the number of the current peak; otherwise the
 * group has not changed since the peak, and live is also its value at the peak. */
struct ms_compare_group {
    uint32_t name;
    uint8_t kind, lane;
    int64_t live, at_peak;
    uint64_t changed_at;
};

struct ms_compare_use { /* one lane of a device */
    uint64_t events;
    int64_t total, peak;
    uint64_t peak_number, peak_ns;
    uint32_t peak_step, peak_op; /* peak_op is a name */
};

struct ms_compare_device {
    uint32_t device;
    uint32_t step;  /* current; 0: between steps */
    bool step_seen; /* a step mark was seen */
    struct ms_compare_item *items;
    size_t item_count, item_room;
    struct ms_compare_use use[MS_LANE_COUNT];
    struct ms_compare_group *groups;
    size_t group_count, group_room;
    struct ms_map group_of; /* kind, lane and name -> index in groups */
    size_t legacy_pending;  /* items from here on still wait for a row of the framework */
};

struct ms_compare_side {
    struct ms_compare_device **devices;
    size_t device_count;
    unsigned framework; /* legacy: enum ms_row_type; 0: none seen */
    struct ms_compare_process *process;
};

struct ms_compare_pair { /* a device of each side; NULL: absent on that side */
    struct ms_compare_device *of[MS_COMPARE_SIDES];
    uint32_t *match; /* per item of the base */
    enum ms_compare_lane lane;
    uint64_t both;
};

struct ms_compare {
    struct ms_compare_options options;
    struct ms_intern names;
    struct ms_compare_side sides[MS_COMPARE_SIDES];
    struct ms_compare_pair *pairs;
    size_t pair_count;
    int error;
    char error_text[256];
};

struct ms_compare_device *ms__compare_device(struct ms_compare *compare, struct ms_compare_side *side, uint32_t device);

static inline int64_t ms__at_peak(const struct ms_compare_device *device, const struct ms_compare_group *group)
{
    return group->changed_at == device->use[group->lane].peak_number ? group->at_peak : group->live;
}

#endif
