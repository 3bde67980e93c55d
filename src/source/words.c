/* The words of columns.h, back to their numbers: one small hash table per family, made at first use, and the spellings
 * of other generations and of the documentation beside them. */
#include "source/internal.h"

#include <pthread.h>
#include <string.h>
#include <strings.h>

#define SLOTS 256u /* at least twice as many as the longest family */

struct words {
    uint8_t slots[SLOTS]; /* number + 1 */
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

static unsigned hash_of(const char *s, size_t length_b)
{
    unsigned h = (unsigned)length_b;
    for (size_t i = 0; i < length_b; i++) {
        h = h * 31 + (unsigned char)s[i];
    }
    return (h ^ h >> 8) % SLOTS;
}

static void fill(struct words *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        unsigned at = hash_of(words->texts[i], strlen(words->texts[i]));
        while (words->slots[at] != 0) {
            at = (at + 1) % SLOTS;
        }
        words->slots[at] = (uint8_t)(i + 1);
    }
}

static void fill_all(void)
{
    fill(&events, MS_COUNT_OF(event_texts));
    fill(&types, MS_COUNT_OF(type_texts));
    fill(&attrs, MS_COUNT_OF(attr_texts));
}

static unsigned find(const struct words *words, const char *s, size_t length_b, unsigned none)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fill_all);
    for (unsigned at = hash_of(s, length_b); words->slots[at] != 0; at = (at + 1) % SLOTS) {
        const char *text = words->texts[words->slots[at] - 1];
        if (strncmp(text, s, length_b) == 0 && text[length_b] == 0) {
            return words->slots[at] - 1u;
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

/* Headers are read once per file, in any case of letters: documentation and program differ in it. */
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
