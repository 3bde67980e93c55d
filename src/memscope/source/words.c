/* SPDX-License-Identifier: Apache-2.0 */
/* Maps the words of columns.h back to numbers: one small hash table per family, built on first use, plus the
 * spellings of other generations and of the documentation.
 *
 * A word is identified by its length, its first eight and its last eight bytes, which cover most words: two
 * comparisons. */
#include "memscope/source/internal.h"

#include "base/swar.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <strings.h>

#define SLOT_BITS 7u /* at least three slots per word of the longest family */
#define SLOTS     (1u << SLOT_BITS)

struct ends { /* equal for equal texts */
    uint64_t head, tail;
};

struct known_word {
    struct ends ends;
    const char *text; /* NULL: the slot is free */
    uint32_t length_b;
    uint32_t number;
};

struct words {
    struct known_word slots[SLOTS];
    const char *const *texts;
};

static const char *const event_texts[] = {
#define X(name, text) text,
    MS_EVENTS(X)
#undef X
};

static const char *const type_texts[] = {
#define X(event, name, text, meaning) text,
    MS_EVENT_TYPES(X)
#undef X
};

static const char *const attr_texts[] = {
#define X(name, text) text,
    MS_ATTR_KEYS(X)
#undef X
};

static struct words events = {.texts = event_texts}, types = {.texts = type_texts}, attrs = {.texts = attr_texts};

_Static_assert(MS_ATTR_KEY_COUNT < 64, "a bit for each in a wish");
_Static_assert(3 * MS_ATTR_KEY_COUNT <= SLOTS && 3 * MS_TYPE_COUNT <= SLOTS, "longer families than slots");

/* Of a non-empty text. */
static struct ends ends_of(const char *s, size_t length_b)
{
    if (length_b >= 8) {
        return (struct ends){ms_swar_load(s), ms_swar_load(s + length_b - 8)};
    }
    if (length_b >= 4) {
        uint32_t head, tail;
        memcpy(&head, s, 4);
        memcpy(&tail, s + length_b - 4, 4);
        return (struct ends){head, tail};
    }
    return (struct ends){(unsigned char)s[0] | (uint64_t)(unsigned char)s[length_b / 2] << 8,
                         (unsigned char)s[length_b - 1]};
}

static unsigned slot_of(struct ends ends, size_t length_b)
{
    return (unsigned)((ends.head + ends.tail * 31 + length_b) * 0x9e3779b97f4a7c15ull >> (64 - SLOT_BITS));
}

static void fill(struct words *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *text = words->texts[i];
        struct ends ends = ends_of(text, strlen(text));
        unsigned at = slot_of(ends, strlen(text));
        while (words->slots[at].text != NULL) {
            at = (at + 1) % SLOTS;
        }
        words->slots[at] = (struct known_word){ends, text, (uint32_t)strlen(text), (uint32_t)i};
    }
}

static atomic_bool filled;

static void fill_all(void)
{
    fill(&events, MS_COUNT_OF(event_texts));
    fill(&types, MS_COUNT_OF(type_texts));
    fill(&attrs, MS_COUNT_OF(attr_texts));
    atomic_store_explicit(&filled, true, memory_order_release);
}

static unsigned find(const struct words *words, const char *s, size_t length_b, unsigned none)
{
    if (!atomic_load_explicit(&filled, memory_order_acquire)) {
        static pthread_once_t once = PTHREAD_ONCE_INIT;
        pthread_once(&once, fill_all);
    }
    if (length_b == 0) {
        return none;
    }
    struct ends ends = ends_of(s, length_b);
    for (unsigned at = slot_of(ends, length_b); words->slots[at].text != NULL; at = (at + 1) % SLOTS) {
        const struct known_word *word = &words->slots[at];
        if (word->ends.head == ends.head && word->ends.tail == ends.tail && word->length_b == length_b &&
            (length_b <= 16 || memcmp(word->text, s, length_b) == 0)) {
            return word->number;
        }
    }
    return none;
}

static bool is(const char *s, size_t length_b, const char *word)
{
    return strlen(word) == length_b && strncasecmp(s, word, length_b) == 0;
}

unsigned ms__event_of(const char *s, size_t length_b)
{
    return find(&events, s, length_b, MS_EV_COUNT);
}

unsigned ms__type_of(const char *s, size_t length_b)
{
    unsigned type = find(&types, s, length_b, MS_TYPE_COUNT);
    /* the documentation's spelling */
    return type == MS_TYPE_COUNT && is(s, length_b, "MindSpore") ? MS_TYPE_MINDSPORE : type;
}

unsigned ms__attr_of(const char *s, size_t length_b)
{
    unsigned attr = find(&attrs, s, length_b, MS_ATTR_OTHER);
    return attr == MS_ATTR_OTHER && is(s, length_b, "inefficient") ? MS_ATTR_INEFFICIENT_TYPE : attr;
}

/* Headers are read once per file and ignore case: documentation and program differ. */
int ms__column_of(const char *s, size_t length_b)
{
#define X(name, text, sql)                                                                                             \
    if (is(s, length_b, text)) {                                                                                       \
        return MS_COL_##name;                                                                                          \
    }
    MS_DUMP_COLUMNS(X)
#undef X
    return -1;
}

int ms__slice_column_of(const char *s, size_t length_b)
{
#define X(name, text, sql)                                                                                             \
    if (is(s, length_b, text)) {                                                                                       \
        return MS_SLICE_COL_##name;                                                                                    \
    }
    MS_SLICE_COLUMNS(X)
#undef X
    return -1;
}
