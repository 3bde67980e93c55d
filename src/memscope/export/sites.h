/* SPDX-License-Identifier: Apache-2.0 */
/* What each call site holds of each pool: the numbers behind the formats that show call stacks.
 *
 * An account is a pool (or HAL, HOST ...) of a device; pool bytes are inside HAL's, so accounts are never added up. A
 * site is an account with a call stack, operator and owner. For each site: everything it allocated, what was live when
 * the account was at its (first) maximum, and what was live at the end. */
#ifndef MS_EXPORT_SITES_H
#define MS_EXPORT_SITES_H

#include "memscope/model/calls.h"
#include "memscope/model/model.h"
#include "memscope/model/stacks.h"

enum ms_measure { MS_MEASURE_ALLOCATED, MS_MEASURE_PEAK, MS_MEASURE_END, MS_MEASURE_COUNT };

struct ms_amount {
    uint64_t objects, bytes;
};

struct ms_account {
    uint32_t device;
    uint32_t type; /* enum ms_row_type */
    uint64_t live_b, peak_b;
    uint64_t peaks; /* number of new peaks so far */
};

struct ms_site {
    uint32_t account; /* index */
    uint32_t c_stack, python_stack, op, owner;
    uint64_t peak_of; /* value of the account's `peaks` that the amount at the peak belongs to */
    struct ms_amount amount[MS_MEASURE_COUNT];
};

struct ms_sites;

/* Sites are in order of their first allocation. */
size_t ms_sites_count(const struct ms_sites *sites);
const struct ms_site *ms_sites_at(const struct ms_sites *sites, size_t at);
size_t ms_sites_accounts(const struct ms_sites *sites);
const struct ms_account *ms_sites_account(const struct ms_sites *sites, size_t at);
struct ms_text ms_sites_owner(const struct ms_sites *sites, const struct ms_site *site);
struct ms_text ms_sites_op(const struct ms_sites *sites, const struct ms_site *site);
/* Times of the first and of the last allocation or free; 0: none. */
void ms_sites_times(const struct ms_sites *sites, uint64_t *first_ns, uint64_t *last_ns);
/* "npu 0", "cpu" */
void ms_device_text(uint32_t device, char out[24]);

/* Outermost call first: Python, then C, then the operator, which remains if no stacks were recorded. Never empty. 0 or
 * -ENOMEM. */
int ms_sites_calls(const struct ms_sites *sites, const struct ms_site *site, struct ms_calls *out);

/* ---- collecting ---- */

/* write is called once, when the model ends: numbers are final, texts are still available. Blocks that are already live
 * in the model count as allocated now. */
int ms_sites_open(const struct ms_model *model, struct ms_stack_source stacks,
                  int (*write)(void *argument, const struct ms_sites *sites), void *argument, struct ms_sites **out);
struct ms_consumer ms_sites_consumer(struct ms_sites *sites);
void ms_sites_free(struct ms_sites *sites);

#endif
