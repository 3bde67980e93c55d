/* SPDX-License-Identifier: Apache-2.0 */
#include "softnpu/hal/fault_plan.h"

#include "base/macros.h"
#include "base/parse.h"
#include "softnpu/hal/hal_ext.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HAS_DEV = 1, HAS_NAME = 2 };

static int parse_nth(const char *text, struct snpu_fault_rule *rule)
{
    char number[24];
    size_t len = strlen(text);
    rule->onward = len > 0 && text[len - 1] == '+';
    len -= rule->onward;
    if (len >= sizeof(number)) {
        return -EINVAL;
    }
    memcpy(number, text, len);
    number[len] = '\0';
    return ms_parse_u64(number, 1, UINT64_MAX, &rule->nth);
}

static int parse_above(const char *text, struct snpu_fault_rule *rule)
{
    return ms_parse_size(text, &rule->size_b);
}

static int parse_factor(const char *text, struct snpu_fault_rule *rule)
{
    char *end;
    rule->factor = strtod(text, &end);
    /* Also rejects infinities and NaN. */
    return end != text && *end == '\0' && rule->factor >= 1.0 && rule->factor <= 1e6 ? 0 : -EINVAL;
}

static const struct fault_form {
    const char *head; /* up to and including '=' */
    enum snpu_fault_kind kind;
    int (*parse)(const char *text, struct snpu_fault_rule *rule);
    const char *expects;
    unsigned options;
} forms[] = {
    {"oom@call=", SNPU_RULE_OOM_CALL, parse_nth, "a count from 1, or N+", HAS_DEV},
    {"oom@above=", SNPU_RULE_OOM_ABOVE, parse_above, "a size", HAS_DEV},
    {"slow=", SNPU_RULE_SLOW, parse_factor, "a factor from 1 to 1000000", HAS_DEV},
    {"kernel-error@launch=", SNPU_RULE_KERNEL_ERROR, parse_nth, "a count from 1, or N+", HAS_DEV | HAS_NAME},
    {"lost-task@launch=", SNPU_RULE_LOST_TASK, parse_nth, "a count from 1, or N+", HAS_DEV | HAS_NAME},
    {"reset@launch=", SNPU_RULE_RESET, parse_nth, "a count from 1, or N+", HAS_DEV | HAS_NAME},
};

static int parse_option(const char *text, unsigned allowed, struct snpu_fault_rule *rule)
{
    uint64_t dev;
    if ((allowed & HAS_DEV) != 0 && strncmp(text, "dev=", 4) == 0) {
        if (ms_parse_u64(text + 4, 0, SNPU_MAX_DEVICES - 1, &dev) != 0) {
            return -EINVAL;
        }
        rule->dev = (int32_t)dev;
        return 0;
    }
    if ((allowed & HAS_NAME) != 0 && strncmp(text, "name=", 5) == 0 && text[5] != '\0' &&
        strlen(text + 5) < sizeof(rule->name)) {
        strcpy(rule->name, text + 5);
        return 0;
    }
    return -EINVAL;
}

/* Parses one item, in place. */
static int parse_item(char *item, struct snpu_fault_rule *rule, char *why, size_t why_len)
{
    memset(rule, 0, sizeof(*rule));
    rule->dev = -1;
    for (size_t i = 0; i < MS_COUNT_OF(forms); i++) {
        const struct fault_form *form = &forms[i];
        size_t head_len = strlen(form->head);
        if (strncmp(item, form->head, head_len) != 0) {
            continue;
        }
        char *rest = NULL;
        char *value = strtok_r(item + head_len, ",", &rest);
        rule->kind = form->kind;
        if (value == NULL || form->parse(value, rule) != 0) {
            snprintf(why, why_len, "%s expects %s", form->head, form->expects);
            return -EINVAL;
        }
        for (char *option; (option = strtok_r(NULL, ",", &rest)) != NULL;) {
            if (parse_option(option, form->options, rule) != 0) {
                snprintf(why, why_len, "%s does not take \"%.40s\"", form->head, option);
                return -EINVAL;
            }
        }
        return 0;
    }
    snprintf(why, why_len,
             "unknown fault \"%.60s\": expects oom@call=, oom@above=, slow=, kernel-error@launch=, "
             "lost-task@launch= or reset@launch=",
             item);
    return -EINVAL;
}

int snpu_fault_parse(const char *text, struct snpu_fault_plan *out, char *why, size_t why_len)
{
    memset(out, 0, sizeof(*out));
    if (text == NULL || text[0] == '\0') {
        return 0;
    }
    char *copy = strdup(text);
    if (copy == NULL) {
        snprintf(why, why_len, "out of memory");
        return -EINVAL;
    }
    int rc = 0;
    char *rest = NULL;
    for (char *item = strtok_r(copy, ";", &rest); item != NULL && rc == 0; item = strtok_r(NULL, ";", &rest)) {
        item += strspn(item, " ");
        if (out->count == SNPU_FAULT_RULES) {
            snprintf(why, why_len, "more than %d faults", SNPU_FAULT_RULES);
            rc = -EINVAL;
            break;
        }
        rc = parse_item(item, &out->rules[out->count], why, why_len);
        out->count++;
    }
    free(copy);
    if (rc != 0) {
        memset(out, 0, sizeof(*out));
    }
    return rc;
}
