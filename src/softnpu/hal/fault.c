/* SPDX-License-Identifier: Apache-2.0 */
/* Injects the faults of SOFTNPU_FAULT. Each rule counts its own occasions, per process, in one atomic. If there is
 * no rule of a kind, its functions cost one load. */
#include "softnpu/hal/process.h"

#include <string.h>

static uint64_t counts[SNPU_FAULT_RULES]; /* apart from the plan, which is constant */

void snpu__fault_forget(void)
{
    memset(counts, 0, sizeof(counts));
}

/* Counts this occasion; true if the rule applies to it. */
static bool due(const struct snpu_fault_plan *plan, uint32_t i)
{
    const struct snpu_fault_rule *rule = &plan->rules[i];
    uint64_t n = __atomic_add_fetch(&counts[i], 1, __ATOMIC_RELAXED);
    return n == rule->nth || (rule->onward && n > rule->nth);
}

static bool on_device(const struct snpu_fault_rule *rule, uint32_t dev)
{
    return rule->dev < 0 || (uint32_t)rule->dev == dev;
}

bool snpu__fault_oom(uint32_t dev, uint64_t size_b)
{
    const struct snpu_fault_plan *plan = snpu__fault_plan();
    bool fails = false;
    if (dev >= SNPU_MAX_DEVICES) { /* host memory */
        return false;
    }
    for (uint32_t i = 0; i < plan->count; i++) {
        const struct snpu_fault_rule *rule = &plan->rules[i];
        if (!on_device(rule, dev)) {
            continue;
        }
        /* No early exit: every rule counts every call. */
        fails |= rule->kind == SNPU_RULE_OOM_CALL && due(plan, i);
        fails |= rule->kind == SNPU_RULE_OOM_ABOVE && size_b > rule->size_b;
    }
    return fails;
}

enum snpu_fault snpu_fault_on_kernel(uint32_t dev, const char *kernel_name)
{
    const struct snpu_fault_plan *plan = snpu__fault_plan();
    enum snpu_fault fault = SNPU_FAULT_NONE;
    for (uint32_t i = 0; i < plan->count; i++) {
        const struct snpu_fault_rule *rule = &plan->rules[i];
        enum snpu_fault candidate = rule->kind == SNPU_RULE_KERNEL_ERROR ? SNPU_FAULT_KERNEL_ERROR
                                    : rule->kind == SNPU_RULE_LOST_TASK  ? SNPU_FAULT_LOST_TASK
                                    : rule->kind == SNPU_RULE_RESET      ? SNPU_FAULT_RESET
                                                                         : SNPU_FAULT_NONE;
        bool named = rule->name[0] == '\0' || (kernel_name != NULL && strcmp(rule->name, kernel_name) == 0);
        /* If several rules apply, the most severe fault wins; the enumeration is in that order. */
        if (candidate != SNPU_FAULT_NONE && on_device(rule, dev) && named && due(plan, i) && candidate > fault) {
            fault = candidate;
        }
    }
    return fault;
}

double snpu_fault_slow_factor(uint32_t dev)
{
    const struct snpu_fault_plan *plan = snpu__fault_plan();
    double factor = 1.0;
    for (uint32_t i = 0; i < plan->count; i++) {
        const struct snpu_fault_rule *rule = &plan->rules[i];
        if (rule->kind == SNPU_RULE_SLOW && on_device(rule, dev) && rule->factor > factor) {
            factor = rule->factor;
        }
    }
    return factor;
}
