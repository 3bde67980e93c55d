/* SPDX-License-Identifier: Apache-2.0 */
/* pprof's profile.proto, uncompressed, which its readers accept as well. Sample types are those of heap profiles
 * (alloc_*, and inuse_* for memory live at the end) and peak_* for memory live at the pool's maximum; labels are
 * device, pool, owner and operator. The operator is used as a call only if there are no others: with stacks it would
 * hide the call sites that `top` is meant to show.
 *
 * Messages that are referenced by number (strings, functions, locations) are written after the samples, in numeric
 * order: only the tables that assign the numbers are kept in memory. Calls are already symbolized, so locations have no
 * addresses, and the one mapping says that nothing needs to be looked up. */
#include "memscope/export/stacks.h"

#include "base/buffer.h"
#include "base/intern.h"

#include <errno.h>

#define BUFFER_B (64u * 1024)

/* Field numbers of profile.proto. */
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING_TABLE = 6,
    PROFILE_TIME_NANOS = 9,
    PROFILE_DURATION_NANOS = 10,
    PROFILE_DEFAULT_SAMPLE_TYPE = 14,
    VALUE_TYPE_TYPE = 1,
    VALUE_TYPE_UNIT = 2,
    SAMPLE_LOCATION_ID = 1,
    SAMPLE_VALUE = 2,
    SAMPLE_LABEL = 3,
    LABEL_KEY = 1,
    LABEL_STR = 2,
    MAPPING_ID = 1,
    MAPPING_FILENAME = 5,
    MAPPING_HAS_FUNCTIONS = 7,
    MAPPING_HAS_FILENAMES = 8,
    MAPPING_HAS_LINE_NUMBERS = 9,
    MAPPING_HAS_INLINE_FRAMES = 10,
    LOCATION_ID = 1,
    LOCATION_MAPPING_ID = 2,
    LOCATION_LINE = 4,
    LINE_FUNCTION_ID = 1,
    LINE_LINE = 2,
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_SYSTEM_NAME = 3,
    FUNCTION_FILENAME = 4,
};

enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };

static const struct {
    const char *name, *unit;
    enum ms_measure measure;
} types[] = {
    {"alloc_objects", "count", MS_MEASURE_ALLOCATED}, {"alloc_space", "bytes", MS_MEASURE_ALLOCATED},
    {"inuse_objects", "count", MS_MEASURE_END},       {"inuse_space", "bytes", MS_MEASURE_END},
    {"peak_objects", "count", MS_MEASURE_PEAK},       {"peak_space", "bytes", MS_MEASURE_PEAK},
};
#define TYPES        (sizeof(types) / sizeof(types[0]))
#define DEFAULT_TYPE "peak_space"

struct function_key {
    uint32_t name, file;
};

struct location_key {
    uint32_t function, line;
};

struct pprof {
    const struct ms_sites *sites;
    int fd;
    bool failed;                           /* out of memory for a table */
    struct ms_buffer out, part, list;      /* part: a nested message; list: one nested in that */
    struct ms_buffer text;                 /* a string */
    struct ms_intern strings;              /* as in the string table: number 0 is the empty string */
    struct ms_intern functions, locations; /* keys */
    struct ms_calls calls;
};

/* ---- wire format ---- */

static void add_varint(struct ms_buffer *out, uint64_t number)
{
    for (; number >= 0x80; number >>= 7) {
        ms_buffer_char(out, (char)(number | 0x80));
    }
    ms_buffer_char(out, (char)number);
}

static void add_number(struct ms_buffer *out, unsigned field, uint64_t number)
{
    add_varint(out, field << 3 | WIRE_VARINT);
    add_varint(out, number);
}

static void add_bytes(struct ms_buffer *out, unsigned field, const char *bytes, size_t bytes_b)
{
    add_varint(out, field << 3 | WIRE_BYTES);
    add_varint(out, bytes_b);
    ms_buffer_add(out, bytes, bytes_b);
}

/* Adds the message (or packed list) in `from` and empties it. */
static void add_message(struct ms_buffer *out, unsigned field, struct ms_buffer *from)
{
    add_bytes(out, field, from->s, from->used);
    from->used = 0;
}

static int flush(struct pprof *p, size_t from)
{
    return p->failed || p->out.failed || p->part.failed || p->list.failed ? -ENOMEM
           : p->out.used >= from                                          ? ms_buffer_write(&p->out, p->fd)
                                                                          : 0;
}

/* ---- numbered tables ---- */

static uint32_t number_of(struct pprof *p, struct ms_intern *table, const void *key, size_t key_b)
{
    uint32_t number = ms_intern(table, key, key_b);
    p->failed |= number == 0 && key_b != 0;
    return number;
}

/* Strings must be UTF-8. */
static uint32_t string_of(struct pprof *p, struct ms_text text)
{
    p->text.used = 0;
    ms_buffer_utf8(&p->text, text.s, text.length_b);
    p->failed |= p->text.failed;
    return number_of(p, &p->strings, p->text.s, p->text.used);
}

static uint32_t word(struct pprof *p, const char *text)
{
    return string_of(p, (struct ms_text){.s = text, .length_b = (uint32_t)strlen(text)});
}

static uint32_t location_of(struct pprof *p, const struct ms_call *call)
{
    struct function_key function = {string_of(p, call->function), string_of(p, call->file)};
    struct location_key location = {number_of(p, &p->functions, &function, sizeof(function)), call->line};
    return number_of(p, &p->locations, &location, sizeof(location));
}

/* ---- messages ---- */

static void add_types(struct pprof *p)
{
    for (size_t i = 0; i < TYPES; i++) {
        add_number(&p->part, VALUE_TYPE_TYPE, word(p, types[i].name));
        add_number(&p->part, VALUE_TYPE_UNIT, word(p, types[i].unit));
        add_message(&p->out, PROFILE_SAMPLE_TYPE, &p->part);
    }
    add_number(&p->out, PROFILE_DEFAULT_SAMPLE_TYPE, word(p, DEFAULT_TYPE));
}

static void add_label(struct pprof *p, const char *key, struct ms_text value)
{
    if (value.length_b != 0) {
        add_number(&p->list, LABEL_KEY, word(p, key));
        add_number(&p->list, LABEL_STR, string_of(p, value));
        add_message(&p->part, SAMPLE_LABEL, &p->list);
    }
}

/* All of its blocks were given another owner later. */
static bool is_empty(const struct ms_site *site)
{
    uint64_t objects = 0;
    for (unsigned i = 0; i < MS_MEASURE_COUNT; i++) {
        objects |= site->amount[i].objects;
    }
    return objects == 0;
}

static int add_sample(struct pprof *p, const struct ms_site *site)
{
    const struct ms_account *account = ms_sites_account(p->sites, site->account);
    const char *pool = ms_type_name(account->type);
    char device[24];
    struct ms_text op = ms_sites_op(p->sites, site);
    int rc = ms_sites_calls(p->sites, site, &p->calls);
    if (rc != 0) {
        return rc;
    }
    size_t count = p->calls.count - (op.length_b != 0 && p->calls.count > 1);
    while (count-- > 0) { /* innermost first */
        add_varint(&p->list, location_of(p, &p->calls.calls[count]));
    }
    add_message(&p->part, SAMPLE_LOCATION_ID, &p->list);
    for (size_t i = 0; i < TYPES; i++) {
        const struct ms_amount *amount = &site->amount[types[i].measure];
        add_varint(&p->list, i % 2 == 0 ? amount->objects : amount->bytes);
    }
    add_message(&p->part, SAMPLE_VALUE, &p->list);
    ms_device_text(account->device, device);
    add_label(p, "device", (struct ms_text){.s = device, .length_b = (uint32_t)strlen(device)});
    add_label(p, "pool", (struct ms_text){.s = pool, .length_b = (uint32_t)strlen(pool)});
    add_label(p, "owner", ms_sites_owner(p->sites, site));
    add_label(p, "operator", op);
    add_message(&p->out, PROFILE_SAMPLE, &p->part);
    return flush(p, BUFFER_B);
}

static void add_mapping(struct pprof *p, const char *process)
{
    add_number(&p->part, MAPPING_ID, 1);
    add_number(&p->part, MAPPING_FILENAME, word(p, process != NULL ? process : "memory"));
    for (unsigned has = MAPPING_HAS_FUNCTIONS; has <= MAPPING_HAS_INLINE_FRAMES; has++) {
        add_number(&p->part, has, 1);
    }
    add_message(&p->out, PROFILE_MAPPING, &p->part);
}

static int add_locations(struct pprof *p)
{
    int rc = 0;
    for (uint32_t i = 1; i <= p->locations.count && rc == 0; i++) {
        struct location_key key;
        memcpy(&key, ms_intern_get(&p->locations, i).s, sizeof(key));
        add_number(&p->list, LINE_FUNCTION_ID, key.function);
        add_number(&p->list, LINE_LINE, key.line);
        add_number(&p->part, LOCATION_ID, i);
        add_number(&p->part, LOCATION_MAPPING_ID, 1);
        add_message(&p->part, LOCATION_LINE, &p->list);
        add_message(&p->out, PROFILE_LOCATION, &p->part);
        rc = flush(p, BUFFER_B);
    }
    return rc;
}

static int add_functions(struct pprof *p)
{
    int rc = 0;
    for (uint32_t i = 1; i <= p->functions.count && rc == 0; i++) {
        struct function_key key;
        memcpy(&key, ms_intern_get(&p->functions, i).s, sizeof(key));
        add_number(&p->part, FUNCTION_ID, i);
        add_number(&p->part, FUNCTION_NAME, key.name);
        add_number(&p->part, FUNCTION_SYSTEM_NAME, key.name);
        add_number(&p->part, FUNCTION_FILENAME, key.file);
        add_message(&p->out, PROFILE_FUNCTION, &p->part);
        rc = flush(p, BUFFER_B);
    }
    return rc;
}

static int add_strings(struct pprof *p)
{
    int rc = 0;
    for (uint32_t i = 0; i <= p->strings.count && rc == 0; i++) {
        struct ms_intern_text text = ms_intern_get(&p->strings, i);
        add_bytes(&p->out, PROFILE_STRING_TABLE, text.s, text.length_b);
        rc = flush(p, BUFFER_B);
    }
    return rc;
}

int ms_pprof_write(const struct ms_sites *sites, const char *process, int fd)
{
    struct pprof p = {.sites = sites, .fd = fd};
    uint64_t first_ns, last_ns;
    int rc = 0;
    add_types(&p);
    ms_sites_times(sites, &first_ns, &last_ns);
    add_number(&p.out, PROFILE_TIME_NANOS, first_ns);
    add_number(&p.out, PROFILE_DURATION_NANOS, last_ns - first_ns);
    add_mapping(&p, process);
    for (size_t i = 0; i < ms_sites_count(sites) && rc == 0; i++) {
        rc = is_empty(ms_sites_at(sites, i)) ? 0 : add_sample(&p, ms_sites_at(sites, i));
    }
    rc = rc != 0 ? rc : add_locations(&p);
    rc = rc != 0 ? rc : add_functions(&p);
    rc = rc != 0 ? rc : add_strings(&p);
    rc = rc != 0 ? rc : flush(&p, 0);
    ms_calls_free(&p.calls);
    ms_buffer_free(&p.out);
    ms_buffer_free(&p.part);
    ms_buffer_free(&p.list);
    ms_buffer_free(&p.text);
    ms_intern_free(&p.strings);
    ms_intern_free(&p.functions);
    ms_intern_free(&p.locations);
    return rc;
}
