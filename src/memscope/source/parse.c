/* SPDX-License-Identifier: Apache-2.0 */
/* Converts cells to rows. Attributes keep their order and spelling: a number or an address that would be written back
 * the same way becomes a number, everything else stays text. */
#include "memscope/source/internal.h"

#include "base/swar.h"

#include <string.h>

/* ---- numbers ---- */

/* A number of 20 digits may overflow; one of 19 cannot. */
static bool parse_20(const char *s, uint64_t *out)
{
    uint64_t number = 0;
    for (size_t i = 0; i < 20; i++) {
        unsigned digit = (unsigned)(unsigned char)s[i] - '0';
        if (digit > 9 || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, digit, &number)) {
            return false;
        }
    }
    *out = number;
    return true;
}

bool ms__parse_u64(const char *s, size_t length_b, uint64_t *out)
{
    if (length_b == 0 || length_b >= 20) {
        return length_b == 20 && parse_20(s, out);
    }
    uint64_t number = 0;
    for (; length_b >= MS_SWAR_B; length_b -= MS_SWAR_B, s += MS_SWAR_B) {
        uint64_t word = ms_swar_load(s);
        if (!ms_swar_is_decimal(word)) {
            return false;
        }
        number = number * 100000000 + ms_swar_decimal(word);
    }
    for (; length_b != 0; length_b--, s++) {
        unsigned digit = (unsigned)(unsigned char)*s - '0';
        if (digit > 9) {
            return false;
        }
        number = number * 10 + digit;
    }
    *out = number;
    return true;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

bool ms__parse_hex(const char *s, size_t length_b, uint64_t *out)
{
    uint64_t number = 0;
    if (length_b < 3 || length_b > 18 || s[0] != '0' || (s[1] != 'x' && s[1] != 'X')) {
        return false;
    }
    for (s += 2, length_b -= 2; length_b >= MS_SWAR_B; length_b -= MS_SWAR_B, s += MS_SWAR_B) {
        uint32_t digits;
        if (!ms_swar_hex(ms_swar_load(s), &digits)) {
            return false;
        }
        number = number << 32 | digits;
    }
    for (; length_b != 0; length_b--, s++) {
        int digit = hex_digit(*s);
        if (digit < 0) {
            return false;
        }
        number = number << 4 | (unsigned)digit;
    }
    *out = number;
    return true;
}

bool ms__is_none(struct ms_text cell)
{
    return cell.s == NULL || cell.length_b == 0 || (cell.length_b == 3 && memcmp(cell.s, "N/A", 3) == 0);
}

static bool parse_id32(struct ms_text cell, uint32_t *out)
{
    uint64_t number;
    if (ms__is_none(cell)) {
        *out = MS_ID_NONE;
        return true;
    }
    if (!ms__parse_u64(cell.s, cell.length_b, &number) || number >= MS_ID_NONE) {
        return false;
    }
    *out = (uint32_t)number;
    return true;
}

static bool parse_device(struct ms_text cell, uint32_t *out)
{
    if (ms__is_none(cell) || (cell.length_b == 4 && memcmp(cell.s, "host", 4) == 0)) {
        *out = MS_DEV_UNKNOWN;
        return true;
    }
    if (cell.length_b == 3 && memcmp(cell.s, "cpu", 3) == 0) {
        *out = MS_DEV_CPU;
        return true;
    }
    return parse_id32(cell, out) && *out <= MS_DEV_UNKNOWN;
}

/* ---- attributes ---- */

const struct ms_attr *ms__attr(const struct ms_row *row, enum ms_attr_key key)
{
    for (uint32_t i = 0; i < row->attr_count; i++) {
        if (row->attr[i].key == key) {
            return &row->attr[i];
        }
    }
    return NULL;
}

struct attrs { /* of a row being read */
    struct ms_row *row;
    uint64_t wanted; /* bits of keys still to be found: the first occurrence of a key counts */
    unsigned seen;   /* the capacity of a row counts all of them, needed or not */
};

static bool is_wanted(struct attrs *attrs, unsigned key)
{
    if (attrs->wanted == MS_EVERY_ATTR) {
        return true;
    }
    bool wanted = key < MS_ATTR_KEY_COUNT && (attrs->wanted >> key & 1) != 0;
    attrs->wanted &= wanted ? ~(UINT64_C(1) << key) : MS_EVERY_ATTR;
    return wanted;
}

static void add_attr(struct attrs *attrs, struct ms_text key, struct ms_text value)
{
    while (key.length_b != 0 && *key.s == ' ') {
        key.s++;
        key.length_b--;
    }
    if (attrs->seen == MS_ROW_ATTRS_MAX || key.length_b == 0) {
        return;
    }
    attrs->seen++;
    unsigned number = ms__attr_of(key.s, key.length_b);
    if (!is_wanted(attrs, number)) {
        return;
    }
    struct ms_attr *attr = &attrs->row->attr[attrs->row->attr_count++];
    attr->key = (uint8_t)number;
    attr->other_key = key.s;
    attr->other_key_b = key.length_b;
    const char *s = value.s;
    bool digit = value.length_b != 0 && *s >= '0' && *s <= '9';
    if (digit && (*s != '0' || value.length_b == 1) && value.length_b < 20 &&
        ms__parse_u64(s, value.length_b, &attr->number)) {
        attr->form = MS_FORM_NUMBER;
    } else if (digit && value.length_b == 18 && ms__parse_hex(s, value.length_b, &attr->number)) {
        attr->form = MS_FORM_ADDR;
    } else {
        attr->form = MS_FORM_TEXT;
        attr->text = value;
    }
}

static struct ms_text between(const char *begin, const char *end)
{
    return (struct ms_text){.s = begin, .length_b = (uint32_t)(end - begin)};
}

/* Values may hold commas ("shape:[1,5,]"): a key begins after the last comma before its colon. */
static void parse_plain(struct attrs *attrs, const char *s, const char *end)
{
    const char *key = s, *colon = NULL, *comma = NULL;
    size_t length_b = (size_t)(end - s);
    for (size_t i = 0; i < length_b && attrs->wanted != 0; i += MS_SWAR_B) {
        uint64_t word = ms_swar_load_part(s + i, length_b - i);
        uint64_t marks = ms_swar_equal(word, ',') | ms_swar_equal(word, ':');
        for (; marks != 0; marks &= marks - 1) {
            const char *at = s + i + ms_swar_first(marks);
            if (*at == ',') {
                comma = colon != NULL ? at : NULL;
            } else if (colon == NULL) {
                colon = at;
            } else if (comma != NULL) {
                add_attr(attrs, between(key, colon), between(colon + 1, comma));
                key = comma + 1;
                colon = at;
                comma = NULL;
            }
        }
    }
    if (colon != NULL) {
        add_attr(attrs, between(key, colon), between(colon + 1, end));
    }
}

static void add_utf8(struct ms_buffer *out, unsigned code)
{
    if (code < 0x80) {
        ms_buffer_char(out, (char)code);
    } else if (code < 0x800) {
        ms_buffer_char(out, (char)(0xc0 | code >> 6));
        ms_buffer_char(out, (char)(0x80 | (code & 0x3f)));
    } else {
        ms_buffer_char(out, (char)(0xe0 | code >> 12));
        ms_buffer_char(out, (char)(0x80 | (code >> 6 & 0x3f)));
        ms_buffer_char(out, (char)(0x80 | (code & 0x3f)));
    }
}

/* A JSON string or a bare value at s, to its end. NULL: invalid. The caller has reserved space in scratch. */
static const char *json_value(struct ms_buffer *scratch, const char *s, const char *end, struct ms_text *out)
{
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    if (s < end && *s != '"') {
        const char *begin = s;
        while (s < end && *s != ',' && *s != '}' && *s != ':') {
            s++;
        }
        *out = between(begin, s);
        return s;
    }
    const char *begin = ++s;
    while (s < end && *s != '"' && *s != '\\') {
        s++;
    }
    if (s < end && *s == '"') {
        *out = between(begin, s);
        return s + 1;
    }
    size_t used = scratch->used;
    ms_buffer_add(scratch, begin, s < end ? (size_t)(s - begin) : 0);
    while (s < end && *s != '"') {
        if (*s != '\\') {
            ms_buffer_char(scratch, *s++);
            continue;
        }
        if (++s == end) {
            return NULL;
        }
        const char *letter = *s != 0 ? strchr(from, *s) : NULL;
        if (*s == 'u' && end - s > 4) {
            unsigned code = 0;
            for (int i = 1; i <= 4; i++) {
                int digit = hex_digit(s[i]);
                code = code << 4 | (unsigned)(digit < 0 ? 0 : digit);
            }
            add_utf8(scratch, code);
            s += 5;
        } else {
            ms_buffer_char(scratch, letter != NULL ? to[letter - from] : *s);
            s++;
        }
    }
    if (s >= end) {
        return NULL;
    }
    *out = between(scratch->s + used, scratch->s + scratch->used);
    return s + 1;
}

static const char *pass_blanks(const char *s, const char *end)
{
    while (s < end && (*s == ' ' || *s == '\t' || *s == '\n' || *s == '\r')) {
        s++;
    }
    return s;
}

static void parse_json(struct ms_buffer *scratch, struct attrs *attrs, const char *s, const char *end)
{
    while (attrs->wanted != 0 && (s = pass_blanks(s, end)) < end && *s == '"') {
        struct ms_text key, value;
        s = json_value(scratch, s, end, &key);
        if (s == NULL || (s = pass_blanks(s, end)) == end || *s != ':') {
            return;
        }
        s = json_value(scratch, pass_blanks(s + 1, end), end, &value);
        if (s == NULL) {
            return;
        }
        add_attr(attrs, key, value);
        s = pass_blanks(s, end);
        s += s < end && *s == ',';
    }
}

/* "{k:v,k:v}" or JSON, as far as it can be parsed. */
static void parse_attrs(struct ms_buffer *scratch, struct ms_text text, uint64_t wanted, struct ms_row *row)
{
    const char *s = text.s, *end = text.s + text.length_b;
    struct attrs attrs = {.row = row, .wanted = wanted};
    scratch->used = 0;
    if (text.length_b < 2 || *s != '{' || !ms_buffer_reserve(scratch, text.length_b)) {
        return;
    }
    s++;
    end -= end[-1] == '}';
    if (s < end && *s == '"') {
        parse_json(scratch, &attrs, s, end);
    } else {
        parse_plain(&attrs, s, end);
    }
}

/* ---- rows ---- */

static struct ms_text strip_quotes(struct ms_text text, enum ms_name_quotes how)
{
    while (how != MS_QUOTES_NONE && text.length_b >= 2 && text.s[0] == '"' && text.s[text.length_b - 1] == '"') {
        text.s++;
        text.length_b -= 2;
        how = how == MS_QUOTES_ALL ? how : MS_QUOTES_NONE;
    }
    return text;
}

/* Databases keep the quotes of CSV cells around stacks. */
static uint32_t stack_of(struct ms_intern *texts, struct ms_text cell, bool python)
{
    cell = strip_quotes(cell, MS_QUOTES_ONE);
    if (ms__is_none(cell)) {
        return 0;
    }
    if (python && cell.length_b == 2 && memcmp(cell.s, "NA", 2) == 0) {
        return MS_STACK_NO_GIL;
    }
    return ms_intern(texts, cell.s, cell.length_b);
}

enum ms_parse ms__parse_row(struct ms_stack_texts *stacks, struct ms_buffer *scratch, const struct ms_cells *cells,
                            struct ms_row *row, enum ms_dump_column *column)
{
    const struct ms_text *at = cells->at;
    memset(row, 0, offsetof(struct ms_row, attr));
#define NEED(name, condition)                                                                                          \
    if (!(condition)) {                                                                                                \
        *column = MS_COL_##name;                                                                                       \
        return MS_UNREADABLE;                                                                                          \
    }
    NEED(ID, at[MS_COL_ID].s == NULL || ms__parse_u64(at[MS_COL_ID].s, at[MS_COL_ID].length_b, &row->id));
    NEED(TIME,
         ms__is_none(at[MS_COL_TIME]) || ms__parse_u64(at[MS_COL_TIME].s, at[MS_COL_TIME].length_b, &row->time_ns));
    NEED(PID, parse_id32(at[MS_COL_PID], &row->pid));
    NEED(TID, parse_id32(at[MS_COL_TID], &row->tid));
    NEED(DEVICE, parse_device(at[MS_COL_DEVICE], &row->device));
    struct ms_text ptr = at[MS_COL_PTR];
    row->has_addr = !ms__is_none(ptr);
    NEED(PTR, !row->has_addr || ms__parse_hex(ptr.s, ptr.length_b, &row->addr) ||
                  ms__parse_u64(ptr.s, ptr.length_b, &row->addr));
#undef NEED
    unsigned event = ms__event_of(at[MS_COL_EVENT].s, at[MS_COL_EVENT].length_b);
    unsigned type = ms__type_of(at[MS_COL_TYPE].s, at[MS_COL_TYPE].length_b);
    if (event == MS_EV_COUNT || type == MS_TYPE_COUNT) {
        *column = event == MS_EV_COUNT ? MS_COL_EVENT : MS_COL_TYPE;
        return MS_UNKNOWN;
    }
    row->event = (uint8_t)event;
    row->type = (uint8_t)type;
    row->name = (struct ms_text){.s = ""};
    if (event == MS_EV_MSTX) {
        row->name = at[MS_COL_NAME].s != NULL ? strip_quotes(at[MS_COL_NAME], cells->name_quotes) : row->name;
    } else if (!ms__is_none(at[MS_COL_NAME])) {
        row->name = at[MS_COL_NAME];
    }
    bool addr_in_attr = !row->has_addr && (event == MS_EV_MALLOC || event == MS_EV_FREE || event == MS_EV_ACCESS);
    uint64_t wanted = (cells->wish != NULL ? cells->wish->attrs[event] : MS_EVERY_ATTR) | (uint64_t)addr_in_attr
                                                                                              << MS_ATTR_ADDR;
    if (at[MS_COL_ATTR].s != NULL && wanted != 0) {
        parse_attrs(scratch, at[MS_COL_ATTR], wanted, row);
    }
    const struct ms_attr *attr = ms__attr(row, MS_ATTR_ALLOCATION_ID);
    row->allocation_id = attr != NULL && attr->form == MS_FORM_NUMBER ? attr->number : 0;
    if (addr_in_attr) {
        attr = ms__attr(row, MS_ATTR_ADDR);
        row->has_addr = attr != NULL && attr->form == MS_FORM_ADDR;
        row->addr = row->has_addr ? attr->number : 0;
    }
    if (cells->wish == NULL || cells->wish->stacks) {
        row->python_stack = stack_of(&stacks->python, at[MS_COL_PYTHON_STACK], true);
        row->c_stack = stack_of(&stacks->c, at[MS_COL_C_STACK], false);
    }
    return MS_PARSED;
}

bool ms__parse_slice(const struct ms_text cells[MS_SLICE_COLUMN_COUNT], struct ms_slice *slice)
{
    struct ms_text start = cells[MS_SLICE_COL_START], end = cells[MS_SLICE_COL_END];
    *slice = (struct ms_slice){.device = MS_DEV_UNKNOWN, .function = cells[MS_SLICE_COL_FUNCTION]};
    return slice->function.s != NULL && parse_id32(cells[MS_SLICE_COL_TID], &slice->tid) &&
           parse_id32(cells[MS_SLICE_COL_PID], &slice->pid) &&
           (ms__is_none(start) || ms__parse_u64(start.s, start.length_b, &slice->start_ns)) &&
           (ms__is_none(end) || ms__parse_u64(end.s, end.length_b, &slice->end_ns));
}
