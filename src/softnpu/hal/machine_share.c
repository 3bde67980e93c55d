/* SPDX-License-Identifier: Apache-2.0 */
/* The table of shares. Entries are changed and read under the file lock: sharing is rare, and an entry is too large
 * to be read atomically. A token is a random number whose low bits are the entry's index. It is not a secret from
 * processes of the same user, who could read everything anyway, but a stale token does not match. */
#include "softnpu/hal/machine_internal.h"

#include "base/clock.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define INDEX_MASK ((uint64_t)SNPU_MACHINE_SHARES - 1)

static uint64_t new_token(uint32_t index)
{
    uint64_t random;
    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random)) {
        random = ms_clock_raw_ns() * 0x9e3779b97f4a7c15u;
    }
    /* Bit 62 keeps it from being 0; bit 63 stays clear so that the token survives a signed variable. */
    return (((random | (uint64_t)1 << 62) & ~((uint64_t)1 << 63)) & ~INDEX_MASK) | index;
}

/* File lock held. */
static struct machine_share *find(struct snpu_machine *m, uint64_t token)
{
    uint32_t index = (uint32_t)(token & INDEX_MASK);
    struct machine_share *s = &m->file->shares[index];
    return token != 0 && index < m->file->shares_high && s->token == token ? s : NULL;
}

void snpu__drop_shares(struct snpu_machine *m, uint32_t slot)
{
    for (uint32_t i = 0; i < m->file->shares_high; i++) {
        struct machine_share *s = &m->file->shares[i];
        if (s->token != 0 && s->owner_slot == slot) {
            s->token = 0;
        }
        s->users[slot / 64] &= ~((uint64_t)1 << (slot % 64));
    }
}

/* File lock held. */
static struct machine_share *find_free(struct snpu_machine *m)
{
    uint32_t high = m->file->shares_high;
    for (uint32_t i = 0; i < high; i++) {
        if (m->file->shares[i].token == 0) {
            return &m->file->shares[i];
        }
    }
    struct machine_share *next = &m->file->shares[high];
    return high < SNPU_MACHINE_SHARES && snpu__machine_allocate(m, next, sizeof(*next)) == 0 ? next : NULL;
}

int snpu_share_publish(struct snpu_machine *m, const struct snpu_share_desc *share, uint64_t *token)
{
    int rc = -ENOSPC;
    snpu__machine_lock(m);
    struct machine_share *s = find_free(m);
    if (s == NULL) {
        snpu__clear_dead_slots(m);
        s = find_free(m);
    }
    if (s != NULL) {
        uint32_t index = (uint32_t)(s - m->file->shares);
        s->owner_slot = m->slot;
        s->pid_count = 0;
        s->withdrawn = 0;
        memset(s->users, 0, sizeof(s->users));
        s->what = *share;
        s->what.pid = getpid();
        s->token = *token = new_token(index);
        if (index >= m->file->shares_high) {
            m->file->shares_high = index + 1;
        }
        rc = 0;
    }
    snpu__machine_unlock(m);
    return rc;
}

static bool listed(const struct machine_share *s, int32_t pid)
{
    for (uint32_t i = 0; i < s->pid_count; i++) {
        if (s->pids[i] == pid) {
            return true;
        }
    }
    return false;
}

int snpu_share_import(struct snpu_machine *m, uint64_t token, struct snpu_share_desc *out)
{
    int rc = 0;
    snpu__machine_lock(m);
    struct machine_share *s = find(m, token);
    if (s == NULL || s->withdrawn || !snpu__slot_alive(m, s->owner_slot)) {
        rc = -ENOENT;
    } else if (!s->what.open_to_all && s->what.pid != getpid() && !listed(s, getpid())) {
        rc = -EPERM;
    } else {
        s->users[m->slot / 64] |= (uint64_t)1 << (m->slot % 64);
        *out = s->what;
    }
    snpu__machine_unlock(m);
    return rc;
}

void snpu_share_release(struct snpu_machine *m, uint64_t token)
{
    snpu__machine_lock(m);
    struct machine_share *s = find(m, token);
    if (s != NULL) {
        s->users[m->slot / 64] &= ~((uint64_t)1 << (m->slot % 64));
    }
    snpu__machine_unlock(m);
}

/* The entry of a token that this process has published, or NULL and an error in *rc. File lock held. */
static struct machine_share *find_own(struct snpu_machine *m, uint64_t token, int *rc)
{
    struct machine_share *s = find(m, token);
    *rc = s == NULL ? -ENOENT : s->owner_slot != m->slot ? -EPERM : 0;
    return *rc == 0 ? s : NULL;
}

int snpu_share_admit(struct snpu_machine *m, uint64_t token, const int *pids, size_t count)
{
    int rc;
    snpu__machine_lock(m);
    struct machine_share *s = find_own(m, token, &rc);
    if (s != NULL) {
        uint32_t had = s->pid_count;
        for (size_t i = 0; i < count && rc == 0; i++) {
            if (listed(s, pids[i])) {
                continue;
            }
            if (s->pid_count == SNPU_SHARE_PIDS) {
                s->pid_count = had;
                rc = -ENOSPC;
            } else {
                s->pids[s->pid_count++] = pids[i];
            }
        }
    }
    snpu__machine_unlock(m);
    return rc;
}

int snpu_share_open_to_all(struct snpu_machine *m, uint64_t token)
{
    int rc;
    snpu__machine_lock(m);
    struct machine_share *s = find_own(m, token, &rc);
    if (s != NULL) {
        s->what.open_to_all = 1;
    }
    snpu__machine_unlock(m);
    return rc;
}

int snpu_share_withdraw(struct snpu_machine *m, uint64_t token)
{
    int rc;
    snpu__machine_lock(m);
    struct machine_share *s = find_own(m, token, &rc);
    if (s != NULL) {
        s->withdrawn = 1;
    }
    snpu__machine_unlock(m);
    return rc;
}

bool snpu_share_is_unused(struct snpu_machine *m, uint64_t token)
{
    int rc;
    bool over = true;
    snpu__machine_lock(m);
    struct machine_share *s = find_own(m, token, &rc);
    for (uint32_t i = 0; s != NULL && over && i < SNPU_MAX_PROCESSES; i++) {
        over = (s->users[i / 64] >> (i % 64) & 1) == 0 || !snpu__slot_alive(m, i);
    }
    if (s != NULL && over) {
        s->token = 0;
    }
    snpu__machine_unlock(m);
    return over;
}
