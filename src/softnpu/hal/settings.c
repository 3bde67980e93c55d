/* SPDX-License-Identifier: Apache-2.0 */
#include "softnpu/hal/settings.h"

#include "base/macros.h"
#include "base/parse.h"
#include "softnpu/hal/hal_ext.h"
#include "softnpu/hal/soc.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB             ((uint64_t)1 << 20)
#define CAPACITY_MIN_B  (16 * MIB)
#define CAPACITY_MAX_B  ((uint64_t)1 << 40) /* 32 devices with four times this much address space fit into 47 bits */
#define CAPACITY_UNIT_B (2 * MIB)           /* a huge page */

static int set_devices(struct snpu_settings *s, const char *value)
{
    uint64_t n;
    if (ms_parse_u64(value, 1, SNPU_MAX_DEVICES, &n) != 0) {
        return -EINVAL;
    }
    s->config.devices = (uint32_t)n;
    return 0;
}

static int set_hbm(struct snpu_settings *s, const char *value)
{
    uint64_t n;
    if (ms_parse_size(value, &n) != 0 || n < CAPACITY_MIN_B || n > CAPACITY_MAX_B) {
        return -EINVAL;
    }
    s->config.capacity_b = n / CAPACITY_UNIT_B * CAPACITY_UNIT_B;
    return 0;
}

static int set_soc(struct snpu_settings *s, const char *value)
{
    const struct snpu_soc *soc = snpu_soc_find(value);
    if (soc == NULL) {
        return -EINVAL;
    }
    snprintf(s->config.soc, sizeof(s->config.soc), "%s", soc->name);
    return 0;
}

static int set_machine(struct snpu_settings *s, const char *value)
{
    size_t len = strlen(value);
    if (len == 0 || len >= sizeof(s->machine) || value[0] == '.') {
        return -EINVAL;
    }
    for (size_t i = 0; i < len; i++) {
        if (!isalnum((unsigned char)value[i]) && strchr("._-", value[i]) == NULL) {
            return -EINVAL;
        }
    }
    memcpy(s->machine, value, len + 1);
    return 0;
}

static int set_cores(struct snpu_settings *s, const char *value)
{
    uint64_t n;
    if (ms_parse_u64(value, 1, 1024, &n) != 0) {
        return -EINVAL;
    }
    s->cores = (uint32_t)n;
    return 0;
}

static int set_context(struct snpu_settings *s, const char *value)
{
    uint64_t n;
    if (ms_parse_size(value, &n) != 0 || n > CAPACITY_MAX_B) {
        return -EINVAL;
    }
    s->context_b = n;
    return 0;
}

static const struct setting {
    const char *name;
    int (*set)(struct snpu_settings *s, const char *value);
    const char *expects;
    const char *meaning;
} settings[] = {
    {"SOFTNPU_DEVICES", set_devices, "a number from 1 to 64", "devices of the machine (default 2)"},
    {"SOFTNPU_HBM", set_hbm, "a size from 16M to 1T", "memory of each device (default 64G)"},
    {"SOFTNPU_SOC", set_soc, "a known chip such as Ascend910B3", "chip to simulate (default Ascend910B3)"},
    {"SOFTNPU_MACHINE", set_machine, "up to 63 letters, digits, '.', '_', '-', not beginning with '.'",
     "processes that name the same machine share its devices (default \"default\")"},
    {"SOFTNPU_CORES", set_cores, "a number from 1 to 1024", "threads for kernels of a process (default: CPUs online)"},
    {"SOFTNPU_CONTEXT_B", set_context, "a size", "memory charged to each process per device it opens (default 0)"},
};

static void defaults(struct snpu_settings *s)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    memset(s, 0, sizeof(*s));
    s->config.devices = 2;
    s->config.capacity_b = 65536 * MIB;
    strcpy(s->config.soc, "Ascend910B3");
    strcpy(s->machine, "default");
    s->cores = cpus > 0 ? (uint32_t)cpus : 1;
}

int snpu_settings_read(struct snpu_settings *out, char *why, size_t why_len)
{
    int bad = 0;
    size_t used = 0;
    defaults(out);
    if (why_len > 0) {
        why[0] = '\0';
    }
    for (size_t i = 0; i < MS_COUNT_OF(settings); i++) {
        const char *value = getenv(settings[i].name);
        if (value == NULL || settings[i].set(out, value) == 0) {
            continue;
        }
        bad++;
        if (used < why_len) {
            int n = snprintf(why + used, why_len - used, "%s%s=%.40s ignored: expects %s", used > 0 ? "\n" : "",
                             settings[i].name, value, settings[i].expects);
            used += n > 0 ? (size_t)n : 0;
        }
    }
    return bad;
}

int snpu_settings_check(const char *variable, const char *value, char *why, size_t why_len)
{
    for (size_t i = 0; i < MS_COUNT_OF(settings); i++) {
        if (strcmp(settings[i].name, variable) != 0) {
            continue;
        }
        struct snpu_settings scratch;
        defaults(&scratch);
        if (settings[i].set(&scratch, value) == 0) {
            return 0;
        }
        snprintf(why, why_len, "%s=%.40s: expects %s", variable, value, settings[i].expects);
        return -EINVAL;
    }
    return -ENOENT;
}

const char *snpu_settings_name(size_t i, const char **meaning)
{
    if (i >= MS_COUNT_OF(settings)) {
        return NULL;
    }
    if (meaning != NULL) {
        *meaning = settings[i].meaning;
    }
    return settings[i].name;
}
