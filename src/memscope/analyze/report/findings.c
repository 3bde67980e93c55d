/* SPDX-License-Identifier: Apache-2.0 */
/* See findings.h. */
#include "memscope/analyze/report/findings.h"

#include <errno.h>
#include <stdlib.h>

struct ms_finding *ms_finding_at(struct ms_findings *findings, enum ms_pattern_id pattern, uint32_t device_at,
                                 uint32_t site, uint32_t op)
{
    if (site != MS_REPORT_NO_SITE) {
        op = 0; /* the site already contains it */
    }
    uint64_t key = ms_hash_u64((uint64_t)site << 32 | op) ^ ms_hash_u64((uint64_t)device_at << 8 | pattern);
    for (;; key++) {
        bool added;
        uint64_t *at = ms_map_at(&findings->of, key, findings->count, &added);
        if (at == NULL) {
            findings->error = -ENOMEM;
            return NULL;
        }
        struct ms_finding *there = added ? NULL : &findings->list[*at];
        if (there != NULL && there->pattern == pattern && there->site == site && there->device_at == device_at &&
            (site != MS_REPORT_NO_SITE || there->op == op)) {
            return there;
        }
        if (!added) {
            continue;
        }
        if (findings->count == findings->room && findings->room < MS_FINDINGS_MAX) {
            size_t room = findings->room != 0 ? findings->room * 2 : 64;
            struct ms_finding *list = realloc(findings->list, room * sizeof(*list));
            if (list != NULL) {
                findings->list = list;
                findings->room = room;
            }
        }
        if (findings->count == findings->room) {
            findings->dropped = true;
            ms_map_remove(&findings->of, key, NULL);
            return NULL;
        }
        findings->list[findings->count] =
            (struct ms_finding){.pattern = pattern, .device_at = device_at, .site = site, .op = op};
        return &findings->list[findings->count++];
    }
}

static void add_cut(struct ms_findings *findings, struct ms_finding *finding, struct ms_cut cut)
{
    if (finding->cut_count == finding->cut_room) {
        size_t room = finding->cut_room != 0 ? finding->cut_room * 2 : 4;
        struct ms_cut *cuts = findings->cut_total < MS_CUTS_MAX ? realloc(finding->cuts, room * sizeof(*cuts)) : NULL;
        if (cuts == NULL) {
            findings->dropped = true;
            return;
        }
        findings->cut_total += room - finding->cut_room;
        finding->cuts = cuts;
        finding->cut_room = room;
    }
    finding->cuts[finding->cut_count++] = cut;
}

void ms_findings_add(struct ms_findings *findings, const struct ms_ledger_entry *entry, const struct ms_waste *waste)
{
    if (waste->from >= waste->to || waste->bytes == 0) {
        return; /* nothing happened in the meantime */
    }
    struct ms_finding *finding = ms_finding_at(findings, waste->pattern, entry->device_at, waste->site, waste->op);
    if (finding == NULL) {
        return;
    }
    if (finding->blocks == 0) {
        finding->first_step = entry->step;
        finding->time_ns = entry->malloc_ns;
    }
    finding->steps += finding->blocks == 0 || entry->step != finding->last_step;
    finding->first_step = entry->step < finding->first_step ? entry->step : finding->first_step;
    finding->last_step = entry->step > finding->last_step ? entry->step : finding->last_step;
    finding->blocks++;
    finding->bytes += waste->bytes;
    finding->op = waste->op;
    if (entry->size_b > finding->size_b) {
        finding->size_b = entry->size_b;
        finding->addr = entry->addr;
        finding->from_op = waste->from_op;
        finding->to_op = waste->to_op;
    }
    add_cut(findings, finding, (struct ms_cut){waste->from, waste->to, waste->bytes});
}

void ms_findings_free(struct ms_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        free(findings->list[i].cuts);
    }
    free(findings->list);
    ms_map_free(&findings->of);
    *findings = (struct ms_findings){0};
}
