/* SPDX-License-Identifier: Apache-2.0 */
/* See unwind_table.h. The tables are memory of loaded modules and trusted to be what the linker wrote, but every read
 * stays within the entry it belongs to, and anything not understood ends the walk. */
#include "agent/glibc_floor.h"
#include "agent/unwind_table.h"

#include <stddef.h>
#include <string.h>

#if defined(__x86_64__)
enum { REG_FP = 6, REG_SP = 7, REG_PC = 16 };
#elif defined(__aarch64__)
enum { REG_FP = 29, REG_SP = 31, REG_PC = 30 };
#else
enum { REG_FP = -1, REG_SP = -2, REG_PC = -3 };
#endif

/* ---- reading ---- */

struct eh_cursor {
    const uint8_t *at, *end;
    bool bad;
};

static uint64_t fixed(struct eh_cursor *c, size_t size_b)
{
    uint64_t value = 0;
    if ((size_t)(c->end - c->at) < size_b) {
        c->bad = true;
        c->at = c->end;
        return 0;
    }
    memcpy(&value, c->at, size_b); /* little endian, like all supported machines */
    c->at += size_b;
    return value;
}

static uint64_t leb(struct eh_cursor *c, bool is_signed)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = (uint8_t)fixed(c, 1);
        value |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
        shift += 7;
    } while ((byte & 0x80) != 0);
    return is_signed && (byte & 0x40) != 0 && shift < 64 ? value | ~(uint64_t)0 << shift : value;
}

static uint64_t uleb(struct eh_cursor *c)
{
    return leb(c, false);
}

static int64_t sleb(struct eh_cursor *c)
{
    return (int64_t)leb(c, true);
}

static void skip(struct eh_cursor *c, uint64_t size_b)
{
    if (size_b > (size_t)(c->end - c->at)) {
        c->bad = true;
        size_b = (size_t)(c->end - c->at);
    }
    c->at += size_b;
}

/* A pointer with encoding DW_EH_PE_*. relative: base for 0x30 (datarel). */
static uintptr_t pointer(struct eh_cursor *c, uint8_t encoding, uintptr_t relative)
{
    uintptr_t here = (uintptr_t)c->at, value = 0;
    switch (encoding & 0x0f) {
    case 0x00: /* absptr */
    case 0x04: /* udata8 */
    case 0x0c: /* sdata8 */
        value = fixed(c, 8);
        break;
    case 0x02:
        value = fixed(c, 2);
        break;
    case 0x03:
        value = fixed(c, 4);
        break;
    case 0x0a:
        value = (uintptr_t)(int16_t)fixed(c, 2);
        break;
    case 0x0b:
        value = (uintptr_t)(int32_t)fixed(c, 4);
        break;
    default:
        c->bad = true;
    }
    switch (encoding & 0x70) {
    case 0x00:
        return value;
    case 0x10:
        return value + here;
    case 0x30:
        return value + relative;
    default:
        c->bad = true;
        return 0;
    }
}

/* An entry of .eh_frame, starting at its length. */
static struct eh_cursor entry_at(const uint8_t *at)
{
    uint32_t length_b;
    memcpy(&length_b, at, sizeof(length_b));
    bool bad = length_b == 0 || length_b >= 0xfffffff0u;
    return (struct eh_cursor){.at = at + 4, .end = at + 4 + (bad ? 0 : length_b), .bad = bad};
}

/* ---- state of a register ---- */

enum way { WAY_KEPT, WAY_AT, WAY_LOST }; /* WAY_AT: in memory, at base + offset */
struct reg_rule {
    enum way way;
    enum ms_unwind_base base;
    int64_t off_b;
};

struct row {
    enum ms_unwind_base cfa_base;
    bool cfa_load, cfa_bad;
    int64_t cfa_off_b;
    struct reg_rule pc, fp;
};

static bool base_of(uint64_t reg, enum ms_unwind_base *out)
{
    *out = reg == (uint64_t)REG_SP ? MS_UNWIND_SP : MS_UNWIND_FP;
    return reg == (uint64_t)REG_SP || reg == (uint64_t)REG_FP;
}

/* Expressions that compilers use: register + offset, or the value stored there. */
static bool expression(struct eh_cursor *c, enum ms_unwind_base *base, int64_t *off_b, bool *load)
{
    uint64_t length_b = uleb(c);
    struct eh_cursor e = {.at = c->at, .end = c->at, .bad = c->bad};
    skip(c, length_b);
    e.end = c->at;
    uint8_t op = (uint8_t)fixed(&e, 1);
    bool good = op >= 0x70 && op <= 0x8f && base_of(op - 0x70u, base); /* DW_OP_breg0 ... 31 */
    *off_b = sleb(&e);
    *load = false;
    while (good && !e.bad && e.at < e.end) {
        op = (uint8_t)fixed(&e, 1);
        if (op == 0x23 && !*load) { /* DW_OP_plus_uconst */
            *off_b += (int64_t)uleb(&e);
        } else if (op == 0x06 && !*load) { /* DW_OP_deref */
            *load = true;
        } else {
            good = false;
        }
    }
    return good && !e.bad && !c->bad;
}

/* ---- running the instructions ---- */

struct cie {
    uint64_t code_align;
    int64_t data_align;
    uint8_t encoding;
    bool interrupted, has_more; /* has_more: data before the instructions of each function */
    struct eh_cursor code;      /* instructions common to all its functions */
};

struct machine {
    const struct cie *unit;
    struct row now, first, saved[8]; /* first: at the start of a function */
    unsigned saves;
};

static struct reg_rule *place_of(struct machine *m, uint64_t reg)
{
    return reg == (uint64_t)REG_PC ? &m->now.pc : reg == (uint64_t)REG_FP ? &m->now.fp : NULL;
}

static void put(struct machine *m, uint64_t reg, enum way way, int64_t off_b)
{
    struct reg_rule *place = place_of(m, reg);
    if (place != NULL) {
        *place = (struct reg_rule){.way = way, .base = MS_UNWIND_CFA, .off_b = off_b};
    }
}

static void restore(struct machine *m, uint64_t reg)
{
    struct reg_rule *place = place_of(m, reg);
    if (place != NULL) {
        *place = reg == (uint64_t)REG_PC ? m->first.pc : m->first.fp;
    }
}

static void define_cfa(struct machine *m, uint64_t reg, int64_t off_b)
{
    m->now.cfa_bad = !base_of(reg, &m->now.cfa_base);
    m->now.cfa_load = false;
    m->now.cfa_off_b = off_b;
}

/* False: not understood. *advance: of the location, in units. */
static bool one(struct machine *m, struct eh_cursor *c, uint64_t *advance)
{
    uint8_t byte = (uint8_t)fixed(c, 1), low = byte & 0x3f;
    int64_t scale = m->unit->data_align;
    uint64_t reg;
    *advance = 0;
    switch (byte & 0xc0) {
    case 0x40:
        *advance = low;
        return true;
    case 0x80:
        put(m, low, WAY_AT, (int64_t)uleb(c) * scale);
        return true;
    case 0xc0:
        restore(m, low);
        return true;
    }
    switch (byte) {
    case 0x00: /* nop */
        return true;
    case 0x02:
    case 0x03:
    case 0x04: /* advance_loc1, 2, 4 */
        *advance = fixed(c, (size_t)1 << (byte - 2));
        return true;
    case 0x05: /* offset_extended */
        reg = uleb(c);
        put(m, reg, WAY_AT, (int64_t)uleb(c) * scale);
        return true;
    case 0x11: /* offset_extended_sf */
        reg = uleb(c);
        put(m, reg, WAY_AT, sleb(c) * scale);
        return true;
    case 0x2f: /* GNU_negative_offset_extended */
        reg = uleb(c);
        put(m, reg, WAY_AT, -(int64_t)uleb(c) * scale);
        return true;
    case 0x06: /* restore_extended */
        restore(m, uleb(c));
        return true;
    case 0x07: /* undefined */
        put(m, uleb(c), WAY_LOST, 0);
        return true;
    case 0x08: /* same_value */
        put(m, uleb(c), WAY_KEPT, 0);
        return true;
    case 0x09: /* register */
    case 0x14: /* val_offset */
        put(m, uleb(c), WAY_LOST, 0);
        uleb(c);
        return true;
    case 0x15: /* val_offset_sf */
        put(m, uleb(c), WAY_LOST, 0);
        sleb(c);
        return true;
    case 0x0a: /* remember_state */
        if (m->saves == sizeof(m->saved) / sizeof(m->saved[0])) {
            return false;
        }
        m->saved[m->saves++] = m->now;
        return true;
    case 0x0b: /* restore_state */
        if (m->saves == 0) {
            return false;
        }
        m->now = m->saved[--m->saves];
        return true;
    case 0x0c: /* def_cfa */
        reg = uleb(c);
        define_cfa(m, reg, (int64_t)uleb(c));
        return true;
    case 0x12: /* def_cfa_sf */
        reg = uleb(c);
        define_cfa(m, reg, sleb(c) * scale);
        return true;
    case 0x0d: /* def_cfa_register */
        define_cfa(m, uleb(c), m->now.cfa_off_b);
        return true;
    case 0x0e: /* def_cfa_offset */
        m->now.cfa_off_b = (int64_t)uleb(c);
        return true;
    case 0x13: /* def_cfa_offset_sf */
        m->now.cfa_off_b = sleb(c) * scale;
        return true;
    case 0x0f: /* def_cfa_expression */
        m->now.cfa_bad = !expression(c, &m->now.cfa_base, &m->now.cfa_off_b, &m->now.cfa_load);
        return true;
    case 0x10:   /* expression */
    case 0x16: { /* val_expression */
        struct reg_rule place = {.way = WAY_AT};
        bool load;
        reg = uleb(c);
        bool good = expression(c, &place.base, &place.off_b, &load) && !load && byte == 0x10;
        place.way = good ? WAY_AT : WAY_LOST;
        struct reg_rule *to = place_of(m, reg);
        if (to != NULL) {
            *to = place;
        }
        return true;
    }
    case 0x2d: /* AARCH64_negate_ra_state: signatures are always stripped */
        return true;
    case 0x2e: /* GNU_args_size */
        uleb(c);
        return true;
    default:
        return false;
    }
}

/* Runs up to `distance` after the start of the function. */
static bool run(struct machine *m, struct eh_cursor c, uint64_t distance)
{
    uint64_t at = 0, advance;
    while (!c.bad && c.at < c.end) {
        if (!one(m, &c, &advance)) {
            return false;
        }
        at += advance * m->unit->code_align;
        if (at > distance) {
            return true;
        }
    }
    return !c.bad;
}

/* ---- entries ---- */

static bool read_unit(const uint8_t *at, struct cie *out)
{
    struct eh_cursor c = entry_at(at);
    uint32_t id = (uint32_t)fixed(&c, 4);
    uint8_t version = (uint8_t)fixed(&c, 1);
    const char *letters = (const char *)c.at;
    size_t length_b = strnlen(letters, (size_t)(c.end - c.at));
    skip(&c, length_b + 1);
    *out = (struct cie){.code_align = uleb(&c), .data_align = sleb(&c)};
    uint64_t pc_register = version == 1 ? fixed(&c, 1) : uleb(&c);
    if (c.bad || id != 0 || (version != 1 && version != 3) || pc_register != (uint64_t)REG_PC) {
        return false;
    }
    out->has_more = letters[0] == 'z';
    if (out->has_more) {
        struct eh_cursor more = c;
        uint64_t more_b = uleb(&c);
        more.at = c.at;
        skip(&c, more_b);
        more.end = c.at;
        for (size_t i = 1; i < length_b; i++) {
            switch (letters[i]) {
            case 'R':
                out->encoding = (uint8_t)fixed(&more, 1);
                break;
            case 'P':
                pointer(&more, (uint8_t)fixed(&more, 1) & 0x7f, 0);
                break;
            case 'L':
                fixed(&more, 1);
                break;
            case 'S':
                out->interrupted = true;
                break;
            case 'B':
                break;
            default:
                return false;
            }
        }
        c.bad |= more.bad;
    } else if (length_b != 0) {
        return false;
    }
    out->code = c;
    return !c.bad;
}

/* The entry of the function that contains `place`, by the sorted table; NULL: none. */
static const uint8_t *find_entry(const uint8_t *table, uintptr_t place)
{
    struct eh_cursor c = {.at = table, .end = table + 32};
    uint8_t head[4];
    memcpy(head, table, sizeof(head));
    skip(&c, sizeof(head));
    pointer(&c, head[1], (uintptr_t)table);
    uint64_t count = pointer(&c, head[2], (uintptr_t)table);
    if (head[0] != 1 || head[3] != 0x3b || c.bad) { /* pairs of 32 bits, relative to the table */
        return NULL;
    }
    uint64_t low = 0, high = count;
    int32_t pair[2];
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        memcpy(pair, c.at + middle * sizeof(pair), sizeof(pair));
        if ((uintptr_t)table + (uintptr_t)(intptr_t)pair[0] <= place) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0) {
        return NULL;
    }
    memcpy(pair, c.at + (low - 1) * sizeof(pair), sizeof(pair));
    return table + pair[1];
}

static bool find_row(const uint8_t *table, uintptr_t place, struct cie *unit, struct row *out)
{
    const uint8_t *entry = find_entry(table, place);
    if (entry == NULL) {
        return false;
    }
    struct eh_cursor c = entry_at(entry);
    const uint8_t *back_from = c.at;
    uint32_t back_b = (uint32_t)fixed(&c, 4);
    if (c.bad || back_b == 0 || !read_unit(back_from - back_b, unit)) {
        return false;
    }
    uintptr_t begin = pointer(&c, unit->encoding, 0);
    uintptr_t length_b = pointer(&c, unit->encoding & 0x0f, 0);
    skip(&c, unit->has_more ? uleb(&c) : 0);
    if (c.bad || place - begin >= length_b) {
        return false;
    }
    struct machine m = {.unit = unit};
    m.now.cfa_bad = true;
    if (!run(&m, unit->code, UINT64_MAX)) {
        return false;
    }
    m.first = m.now;
    if (!run(&m, c, place - begin)) {
        return false;
    }
    *out = m.now;
    return true;
}

#if defined(__aarch64__)
/* On newer kernels the return address of a signal handler deliberately has no entry in the tables: it is recognised by
 * its two instructions. The interrupted registers are in the context that the kernel put on the stack. */
static bool returns_from_signal(uintptr_t pc, struct ms_unwind_rule *out)
{
    static const uint32_t trampoline[] = {0xd2801168, 0xd4000001}; /* mov x8, #__NR_rt_sigreturn; svc #0 */
    enum { CONTEXT = 128 + 176, X0 = CONTEXT + 8, FP = X0 + 29 * 8, SP = X0 + 31 * 8, PC = SP + 8 };
    bool one_page = (pc - 1) / 4096 == (pc + sizeof(trampoline) - 1) / 4096; /* the module may end with the page */
    if (pc % 4 != 0 || !one_page || memcmp((const void *)pc, trampoline, sizeof(trampoline)) != 0) {
        return false;
    }
    *out = (struct ms_unwind_rule){.cfa_off_b = SP,
                                   .pc_off = PC / 8,
                                   .fp_off = FP / 8,
                                   .pc_base = MS_UNWIND_SP,
                                   .fp_base = MS_UNWIND_SP,
                                   .cfa_base = MS_UNWIND_SP,
                                   .cfa_load = 1,
                                   .interrupted = 1,
                                   .known = 1};
    return true;
}
#else
static bool returns_from_signal(uintptr_t pc, struct ms_unwind_rule *out)
{
    return false; /* the tables cover it */
}
#endif

struct ms_unwind_rule ms_unwind_table_look(const uint8_t *table, uintptr_t pc)
{
    struct ms_unwind_rule end = {.known = 1, .last = 1}, after_signal;
    struct cie unit;
    struct row row;
    if (table == NULL) {
        return end;
    }
    if (!find_row(table, pc - 1, &unit, &row)) {
        return returns_from_signal(pc, &after_signal) ? after_signal : end;
    }
    if (row.cfa_bad || row.pc.way != WAY_AT || row.fp.way == WAY_LOST) {
        return end;
    }
    struct ms_unwind_rule rule = {
        .cfa_off_b = row.cfa_off_b,
        .pc_off = row.pc.off_b / 8,
        .fp_off = row.fp.off_b / 8,
        .pc_base = row.pc.base,
        .fp_base = row.fp.way == WAY_KEPT ? MS_UNWIND_KEPT : row.fp.base,
        .cfa_base = row.cfa_base,
        .cfa_load = row.cfa_load,
        .interrupted = unit.interrupted,
        .known = 1,
    };
    rule.uses_fp = rule.cfa_base == MS_UNWIND_FP || rule.pc_base == MS_UNWIND_FP || rule.fp_base == MS_UNWIND_FP;
    rule.plain = !rule.cfa_load && !rule.interrupted && rule.pc_base == MS_UNWIND_CFA && rule.pc_off == -1 &&
                 (rule.fp_base == MS_UNWIND_KEPT || (rule.fp_base == MS_UNWIND_CFA && rule.fp_off < 0));
    bool fits = rule.cfa_off_b == row.cfa_off_b && rule.pc_off * 8 == row.pc.off_b && rule.fp_off * 8 == row.fp.off_b;
    return fits ? rule : end;
}
