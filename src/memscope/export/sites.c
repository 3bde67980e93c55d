/* SPDX-License-Identifier: Apache-2.0 */
/* See sites.h.
 *
 * The peak costs O(1) per event: a site's amount at the peak is not copied when there is a new peak, but when the site
 * first changes after it (settle); until then it equals the live amount. So at any time, for every site,
 *     amount at the account's last peak = peak_of == account.peaks ? amount[PEAK] : amount[END]
 * where amount[END] is the live amount.
 *
 * Memory is O(live blocks + sites). A block moves to a new owner if the owner becomes known while the block is live;
 * owners of freed blocks are ignored. One thread at a time. */
#include "memscope/export/sites.h"

#include "base/intern.h"
#include "base/map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct site_key {
    uint32_t account, c_stack, python_stack, op, owner;
};

struct ms_sites {
    const struct ms_model *model;
    struct ms_stack_source stacks;
    int (*write)(void *argument, const struct ms_sites *sites);
    void *argument;
    struct ms_account *accounts;
    size_t account_count;
    struct ms_map account_of; /* device and type -> index */
    struct ms_intern keys;    /* of sites: number n is sites[n - 1] */
    struct ms_site *sites;
    size_t site_count, site_room;
    struct ms_map live; /* allocation id -> site and the account's peaks before it (32 bits each) */
    uint64_t first_ns, last_ns;
};

/* ---- lookup ---- */

static int account_of(struct ms_sites *sites, const struct ms_block *block, uint32_t *out)
{
    bool added;
    uint64_t *slot =
        ms_map_at(&sites->account_of, (uint64_t)block->device << 8 | block->type, sites->account_count, &added);
    if (slot == NULL) {
        return -ENOMEM;
    }
    if (added) {
        struct ms_account *accounts = realloc(sites->accounts, (sites->account_count + 1) * sizeof(*accounts));
        if (accounts == NULL) {
            ms_map_remove(&sites->account_of, (uint64_t)block->device << 8 | block->type, NULL);
            return -ENOMEM;
        }
        accounts[sites->account_count++] = (struct ms_account){.device = block->device, .type = block->type};
        sites->accounts = accounts;
    }
    *out = (uint32_t)*slot;
    return 0;
}

static int site_of(struct ms_sites *sites, const struct ms_block *block, uint32_t *out)
{
    struct site_key key = {.c_stack = block->c_stack,
                           .python_stack = block->python_stack == MS_STACK_NO_GIL ? 0 : block->python_stack,
                           .op = block->op,
                           .owner = block->owner};
    int rc = account_of(sites, block, &key.account);
    if (rc != 0) {
        return rc;
    }
    if (sites->site_count == sites->site_room) {
        size_t room = sites->site_room != 0 ? sites->site_room * 2 : 64;
        struct ms_site *grown = realloc(sites->sites, room * sizeof(*grown));
        if (grown == NULL) {
            return -ENOMEM;
        }
        sites->sites = grown;
        sites->site_room = room;
    }
    uint32_t number = ms_intern(&sites->keys, (const char *)&key, sizeof(key));
    if (number == 0) {
        return -ENOMEM;
    }
    if (number > sites->site_count) {
        sites->sites[sites->site_count++] = (struct ms_site){.account = key.account,
                                                             .c_stack = key.c_stack,
                                                             .python_stack = key.python_stack,
                                                             .op = key.op,
                                                             .owner = key.owner};
    }
    *out = number - 1;
    return 0;
}

/* ---- counting ---- */

static struct ms_account *settle(struct ms_sites *sites, struct ms_site *site)
{
    struct ms_account *account = &sites->accounts[site->account];
    if (site->peak_of != account->peaks) {
        site->amount[MS_MEASURE_PEAK] = site->amount[MS_MEASURE_END];
        site->peak_of = account->peaks;
    }
    return account;
}

static void add(struct ms_amount *amount, uint64_t size_b)
{
    amount->objects++;
    amount->bytes += size_b;
}

static void take(struct ms_amount *amount, uint64_t size_b)
{
    amount->objects--;
    amount->bytes -= size_b;
}

static void seen_at(struct ms_sites *sites, uint64_t time_ns)
{
    sites->first_ns = sites->first_ns == 0 || time_ns < sites->first_ns ? time_ns : sites->first_ns;
    sites->last_ns = time_ns > sites->last_ns ? time_ns : sites->last_ns;
}

static int on_malloc(void *self, const struct ms_block *block, const struct ms_pool_state *pool)
{
    (void)pool;
    struct ms_sites *sites = self;
    uint32_t at;
    int rc = site_of(sites, block, &at);
    if (rc != 0) {
        return rc;
    }
    struct ms_site *site = &sites->sites[at];
    struct ms_account *account = settle(sites, site);
    bool added;
    if (ms_map_at(&sites->live, block->allocation_id, (uint64_t)at << 32 | (uint32_t)account->peaks, &added) == NULL) {
        return -ENOMEM;
    }
    if (!added) {
        return 0;
    }
    seen_at(sites, block->malloc_ns);
    if (block->revived == 0) { /* otherwise its free failed, and it is already counted */
        add(&site->amount[MS_MEASURE_ALLOCATED], block->size_b);
    }
    add(&site->amount[MS_MEASURE_END], block->size_b);
    account->live_b += block->size_b;
    if (account->live_b > account->peak_b) {
        account->peak_b = account->live_b;
        account->peaks++;
    }
    return 0;
}

static int on_free(void *self, const struct ms_block *block, enum ms_block_end how, const struct ms_pool_state *pool,
                   uint64_t time_ns)
{
    (void)pool;
    struct ms_sites *sites = self;
    uint64_t value;
    if (how == MS_END_EXIT || !ms_map_remove(&sites->live, block->allocation_id, &value)) {
        return 0;
    }
    seen_at(sites, time_ns);
    struct ms_site *site = &sites->sites[value >> 32];
    settle(sites, site)->live_b -= block->size_b;
    take(&site->amount[MS_MEASURE_END], block->size_b);
    return 0;
}

static int on_late(void *self, const struct ms_block *block)
{
    struct ms_sites *sites = self;
    uint64_t *slot = ms_map_get(&sites->live, block->allocation_id);
    uint32_t at;
    if (slot == NULL) {
        return 0;
    }
    int rc = site_of(sites, block, &at);
    if (rc != 0 || at == *slot >> 32) {
        return rc;
    }
    struct ms_site *from = &sites->sites[*slot >> 32], *to = &sites->sites[at];
    const struct ms_account *account = settle(sites, from);
    settle(sites, to);
    bool at_peak = (uint32_t)*slot != (uint32_t)account->peaks;
    for (unsigned i = 0; i < MS_MEASURE_COUNT; i++) {
        if (i != MS_MEASURE_PEAK || at_peak) {
            take(&from->amount[i], block->size_b);
            add(&to->amount[i], block->size_b);
        }
    }
    *slot = (uint64_t)at << 32 | (uint32_t)*slot;
    return 0;
}

static int on_close(void *self)
{
    struct ms_sites *sites = self;
    for (size_t i = 0; i < sites->site_count; i++) {
        settle(sites, &sites->sites[i]);
    }
    return sites->write(sites->argument, sites);
}

/* ---- queries ---- */

size_t ms_sites_count(const struct ms_sites *sites)
{
    return sites->site_count;
}

const struct ms_site *ms_sites_at(const struct ms_sites *sites, size_t at)
{
    return &sites->sites[at];
}

size_t ms_sites_accounts(const struct ms_sites *sites)
{
    return sites->account_count;
}

const struct ms_account *ms_sites_account(const struct ms_sites *sites, size_t at)
{
    return &sites->accounts[at];
}

struct ms_text ms_sites_owner(const struct ms_sites *sites, const struct ms_site *site)
{
    return ms_model_owner(sites->model, site->owner);
}

struct ms_text ms_sites_op(const struct ms_sites *sites, const struct ms_site *site)
{
    return site->op != 0 ? ms_model_text(sites->model, site->op) : (struct ms_text){.s = ""};
}

void ms_sites_times(const struct ms_sites *sites, uint64_t *first_ns, uint64_t *last_ns)
{
    *first_ns = sites->first_ns;
    *last_ns = sites->last_ns;
}

void ms_device_text(uint32_t device, char out[24])
{
    if (device == MS_DEV_CPU || device == MS_DEV_UNKNOWN) {
        snprintf(out, 24, "%s", device == MS_DEV_CPU ? "cpu" : "no device");
    } else {
        snprintf(out, 24, "npu %u", device);
    }
}

int ms_sites_calls(const struct ms_sites *sites, const struct ms_site *site, struct ms_calls *out)
{
    static const struct ms_text unknown = {.s = "no call stack", .length_b = 13};
    const struct ms_stack_source *stacks = &sites->stacks;
    out->count = 0;
    int rc = 0;
    if (site->python_stack != 0 && stacks->python_stack != NULL) {
        rc = ms__calls_add(out, stacks->python_stack(stacks->self, site->python_stack), true);
    }
    if (rc == 0 && site->c_stack != 0 && stacks->c_stack != NULL) {
        rc = ms__calls_add(out, stacks->c_stack(stacks->self, site->c_stack), false);
    }
    struct ms_text op = ms_sites_op(sites, site);
    if (rc == 0 && op.length_b != 0) {
        rc = ms__calls_push(out, (struct ms_call){.function = op});
    }
    return rc == 0 && out->count == 0 ? ms__calls_push(out, (struct ms_call){.function = unknown}) : rc;
}

/* ---- interface ---- */

static int add_live(void *argument, const struct ms_block *block)
{
    return block->state == MS_BLOCK_LIVE ? on_malloc(argument, block, NULL) : 0;
}

int ms_sites_open(const struct ms_model *model, struct ms_stack_source stacks,
                  int (*write)(void *argument, const struct ms_sites *sites), void *argument, struct ms_sites **out)
{
    struct ms_sites *sites = calloc(1, sizeof(*sites));
    if (sites == NULL) {
        return -ENOMEM;
    }
    *sites = (struct ms_sites){.model = model, .stacks = stacks, .write = write, .argument = argument};
    int rc = ms_model_blocks(model, false, add_live, sites); /* of a checkpoint */
    if (rc != 0) {
        ms_sites_free(sites);
        return rc;
    }
    *out = sites;
    return 0;
}

struct ms_consumer ms_sites_consumer(struct ms_sites *sites)
{
    return (struct ms_consumer){
        .self = sites, .on_malloc = on_malloc, .on_free = on_free, .on_late = on_late, .on_close = on_close};
}

void ms_sites_free(struct ms_sites *sites)
{
    if (sites != NULL) {
        free(sites->accounts);
        free(sites->sites);
        ms_map_free(&sites->account_of);
        ms_map_free(&sites->live);
        ms_intern_free(&sites->keys);
        free(sites);
    }
}
