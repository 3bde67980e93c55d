/* SPDX-License-Identifier: Apache-2.0 */
#include "softnpu/hal/soc.h"

#include "base/macros.h"

#include <string.h>

/* Only the chip types of the families and the 20 + 40 + 6 cores of 910B3 are facts of the interface. The other core
 * counts, the control cores, frequencies and cache sizes are plausible values for programs to work with, not vendor
 * data. */
static const struct snpu_soc socs[] = {
    {"Ascend910B1", 5, 24, 48, 6, 1, 1850, 192},    {"Ascend910B2", 5, 24, 48, 6, 1, 1800, 192},
    {"Ascend910B2C", 5, 24, 48, 6, 1, 1800, 192},   {"Ascend910B3", 5, 20, 40, 6, 1, 1800, 192},
    {"Ascend910B4", 5, 20, 40, 6, 1, 1650, 96},     {"Ascend910B4-1", 5, 20, 40, 6, 1, 1650, 168},
    {"Ascend910_9391", 5, 24, 48, 6, 1, 1850, 192}, {"Ascend910_9392", 5, 24, 48, 6, 1, 1850, 192},
    {"Ascend910_9381", 5, 24, 48, 6, 1, 1800, 192}, {"Ascend910_9382", 5, 24, 48, 6, 1, 1800, 192},
    {"Ascend910_9372", 5, 20, 40, 6, 1, 1800, 192}, {"Ascend910_9362", 5, 20, 40, 6, 1, 1800, 192},
};

const struct snpu_soc *snpu_soc_find(const char *name)
{
    for (size_t i = 0; name != NULL && i < MS_COUNT_OF(socs); i++) {
        if (strcmp(socs[i].name, name) == 0) {
            return &socs[i];
        }
    }
    return NULL;
}

const struct snpu_soc *snpu_soc_at(size_t i)
{
    return i < MS_COUNT_OF(socs) ? &socs[i] : NULL;
}
