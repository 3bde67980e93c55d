/* SPDX-License-Identifier: Apache-2.0 */
/* Hash ids of texts, and names of record types.
 *
 * The id of a text is two 32-bit polynomials over its characters (plain char), factors 29 and 131, in the high and
 * the low half. Ids need no store; the store serves the reverse lookup (MsprofId2Str), type names, and replaying the
 * texts to a tool that registers late. If two texts have the same id, the first one stays.
 *
 * The store is a hash table of chains whose nodes never change and are never freed. Readers take no lock; a node is
 * linked in by compare-and-swap. At most STORE_MAX_B bytes are kept; texts beyond that still get their id. Type
 * names are an array that only grows; a name may be replaced, an entry is never removed.
 *
 * Threads: any. `type_lock` serialises writers of the type array and is a leaf. */
#include "softnpu/profapi/profapi.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 4096, STORE_MAX_B = 16 << 20, TYPES_MAX = 4096 };

struct interned_text {
    struct interned_text *next;
    uint64_t id;
    size_t len;
    char chars[];
};

static struct interned_text *buckets[BUCKETS];
static size_t store_b;

static struct named_type {
    uint32_t type;
    uint16_t level;
    const char *name; /* interned */
} types[TYPES_MAX];
static uint32_t type_count;
static pthread_mutex_t type_lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t hash_of(const char *text, size_t len)
{
    uint32_t high = 0, low = 0;
    for (size_t i = 0; i < len; i++) {
        uint32_t c = (uint32_t)text[i]; /* sign-extended where char is signed, as tools do */
        high = high * 29 + c;
        low = low * 131 + c;
    }
    return (uint64_t)high << 32 | low;
}

static struct interned_text **bucket_of(uint64_t id)
{
    return &buckets[(id ^ id >> 32) % BUCKETS];
}

static const struct interned_text *find(uint64_t id, const struct interned_text *first, const struct interned_text *end)
{
    for (const struct interned_text *t = first; t != end; t = t->next) {
        if (t->id == id) {
            return t;
        }
    }
    return NULL;
}

const char *snpu_profapi_intern(const char *text, size_t len, uint64_t *id)
{
    *id = hash_of(text, len);
    struct interned_text **bucket = bucket_of(*id);
    struct interned_text *first = __atomic_load_n(bucket, __ATOMIC_ACQUIRE);
    const struct interned_text *known = find(*id, first, NULL);
    if (known != NULL) {
        return known->chars;
    }
    size_t node_b = sizeof(struct interned_text) + len + 1;
    struct interned_text *t = NULL;
    if (node_b <= STORE_MAX_B && __atomic_add_fetch(&store_b, node_b, __ATOMIC_RELAXED) <= STORE_MAX_B) {
        t = malloc(node_b);
    }
    if (t == NULL) {
        if (node_b <= STORE_MAX_B) {
            __atomic_sub_fetch(&store_b, node_b, __ATOMIC_RELAXED);
        }
        return NULL;
    }
    t->id = *id;
    t->len = len;
    memcpy(t->chars, text, len);
    t->chars[len] = '\0';
    struct interned_text *seen = NULL;
    do {
        /* Another thread may have linked the same text since: check the new nodes. */
        known = find(*id, first, seen);
        if (known != NULL) {
            free(t);
            __atomic_sub_fetch(&store_b, node_b, __ATOMIC_RELAXED);
            return known->chars;
        }
        t->next = seen = first;
    } while (!__atomic_compare_exchange_n(bucket, &first, t, false, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE));
    return t->chars;
}

void snpu_profapi_replay_hashes(snpu_profapi_hash_fn fn)
{
    for (int i = 0; i < BUCKETS; i++) {
        for (struct interned_text *t = __atomic_load_n(&buckets[i], __ATOMIC_ACQUIRE); t != NULL; t = t->next) {
            fn(t->chars, t->len);
        }
    }
}

uint64_t MsprofStr2Id(const char *hashInfo, size_t length)
{
    uint64_t id = 0;
    if (hashInfo != NULL && length != 0) {
        snpu_profapi_intern(hashInfo, strnlen(hashInfo, length), &id);
    }
    return id;
}

uint64_t MsprofGetHashId(const char *hashInfo, size_t length)
{
    uint64_t id = MsprofStr2Id(hashInfo, length);
    snpu_profapi_hash_fn fn = snpu_profapi_callback(PROFILE_REPORT_GET_HASH_ID_C_CALLBACK);
    return fn != NULL && hashInfo != NULL && length != 0 ? fn(hashInfo, strnlen(hashInfo, length)) : id;
}

char *MsprofId2Str(const uint64_t Id)
{
    const struct interned_text *t = find(Id, __atomic_load_n(bucket_of(Id), __ATOMIC_ACQUIRE), NULL);
    return t != NULL ? (char *)t->chars : NULL;
}

static struct named_type *find_type(uint16_t level, uint32_t type)
{
    uint32_t n = __atomic_load_n(&type_count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < n; i++) {
        if (types[i].type == type && types[i].level == level) {
            return &types[i];
        }
    }
    return NULL;
}

const char *snpu_profapi_type_name(uint16_t level, uint32_t type)
{
    const struct named_type *t = find_type(level, type);
    return t != NULL ? __atomic_load_n(&t->name, __ATOMIC_ACQUIRE) : NULL;
}

int32_t MsprofRegTypeInfo(uint16_t level, uint32_t typeId, const char *typeName)
{
    if (typeName == NULL) {
        return SNPU_PROFAPI_ERROR;
    }
    uint64_t id;
    const char *name = snpu_profapi_intern(typeName, strlen(typeName), &id);
    int32_t result = SNPU_PROFAPI_OK;
    pthread_mutex_lock(&type_lock);
    struct named_type *t = find_type(level, typeId);
    if (name == NULL || (t == NULL && type_count == TYPES_MAX)) {
        result = SNPU_PROFAPI_ERROR; /* it is still reported to a registered tool */
    } else if (t != NULL) {
        __atomic_store_n(&t->name, name, __ATOMIC_RELEASE);
    } else {
        types[type_count] = (struct named_type){.level = level, .type = typeId, .name = name};
        __atomic_store_n(&type_count, type_count + 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&type_lock);
    snpu_profapi_type_fn fn = snpu_profapi_callback(PROFILE_REPORT_REG_TYPE_INFO_C_CALLBACK);
    return fn != NULL ? fn(level, typeId, typeName, strlen(typeName)) : result;
}

void snpu_profapi_replay_types(snpu_profapi_type_fn fn)
{
    uint32_t n = __atomic_load_n(&type_count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < n; i++) {
        const char *name = __atomic_load_n(&types[i].name, __ATOMIC_ACQUIRE);
        fn(types[i].level, types[i].type, name, strlen(name));
    }
}

int32_t MsprofRegDataFormat(uint16_t level, uint32_t typeId, const char *dataFormat)
{
    /* Formats serve the vendor's offline parser; tools in the process do not use them. */
    (void)level;
    (void)typeId;
    return dataFormat != NULL ? SNPU_PROFAPI_OK : SNPU_PROFAPI_ERROR;
}
