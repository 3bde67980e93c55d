/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of the chips that the software NPU can simulate. */
#ifndef SOFTNPU_HAL_SOC_H
#define SOFTNPU_HAL_SOC_H

#include <stddef.h>
#include <stdint.h>

struct snpu_soc {
    const char *name;    /* as aclrtGetSocName returns it */
    uint32_t chip_type;  /* 5: 910B and 910_93, 7: 310B, 15: 950 */
    uint32_t cube_cores; /* AI cores of the matrix kind */
    uint32_t vector_cores;
    uint32_t aicpu_cores;
    uint32_t ctrl_cores;
    uint32_t frequency_mhz;
    uint32_t l2_mib;
};

/* NULL if the chip is unknown. */
const struct snpu_soc *snpu_soc_find(const char *name);

/* The i-th known chip, NULL after the last: for help texts. */
const struct snpu_soc *snpu_soc_at(size_t i);

#endif
