/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of waste and names of memory classes: the one table from which text, JSON, page and documentation are
 * generated. */
#include "memscope/analyze/report/report.h"

#include "base/macros.h"

#include <string.h>

const struct ms_pattern ms_patterns[MS_PATTERN_COUNT] = {
    [MS_PATTERN_OOM] = {"out_of_memory", "Out of memory", "The driver refused a request for lack of memory.",
                        "Check which blocks that are live at the peak (see below) are not needed; a recording with "
                        "--analysis=oom also lists the blocks that were live at that moment."},
    [MS_PATTERN_LEAK] =
        {"leak", "Leak",
         "Blocks that were allocated in a step after the first, were not used again, and were kept until the program ended.",
         "Drop the last reference: a list that only grows, a loss kept with its graph, a cache without a limit."},
    [MS_PATTERN_EARLY] = {MS_EARLY_ALLOCATION, "Allocated too early",
                          "Other memory was freed between the allocation of a block and its first use.",
                          "Allocate the block just before the operator that uses it first."},
    [MS_PATTERN_LATE] = {MS_LATE_DEALLOCATION, "Freed too late",
                         "Other memory was allocated between the last use of a block and its free.",
                         "Free the block (del, or the end of its scope) right after the operator that uses it last."},
    [MS_PATTERN_IDLE] = {MS_TEMPORARY_IDLENESS, "Idle for a long time",
                         "A block was not used for thousands of operators, then used again.",
                         "Move it to the host in the meantime, or recompute it when it is needed."},
    [MS_PATTERN_UNUSED] = {"unused", "Never used", "No operator ever read or wrote the block.", "Do not allocate it."},
    [MS_PATTERN_REDUNDANT] =
        {"redundant_allocation", "Could reuse a dead block",
         "When a block was first used, another one of the same size was still allocated although it was never used "
         "again.",
         "Write the result into the dead block (out=, an in-place operator), or free the dead block first."},
    [MS_PATTERN_DEAD_WRITE] = {"dead_write", "Written twice without a read",
                               "A block was written, and written again by another operator before it was read.",
                               "Omit the first write (empty instead of zeros), and allocate just before the second."},
    [MS_PATTERN_OVERALLOCATION] = {"overallocation", "Larger than needed",
                                   "A large part of the block was never read or written.",
                                   "Request only what is used: check padding, capacities and maximum lengths."},
    [MS_PATTERN_GROWING] = {"growing_requests", "Growing requests",
                            "The same call site requests more memory each time.",
                            "Find the length or capacity that only ever increases, and reset it."},
    [MS_PATTERN_OVER_RESERVE] =
        {"over_reserve", "Reserved, but empty", "Segments of a pool held no block at all for several steps.",
         "Return them (empty_cache) after the phase that needed them, or lower the pool's limit."},
    [MS_PATTERN_FRAGMENTATION] =
        {"fragmentation", "Segments kept by a few blocks",
         "Segments of a pool that are mostly free cannot be returned, because small blocks are still in them.",
         "Allocate long-lived blocks before short-lived ones; expandable_segments:True joins the free parts."},
    [MS_PATTERN_SPLIT_WASTE] = {"split_waste", "Remainders too small to use",
                                "Free remainders next to blocks are smaller than every later request.",
                                "Round requests to fewer sizes (roundup_power2_divisions), or set max_split_size_mb."},
    [MS_PATTERN_STREAM_BLOCKED] =
        {"stream_blocked_free", "Freed, but not usable",
         "A pool took a new segment although a free range was large enough: another stream had not released it.",
         "Free on the stream that uses the block, wait for the other stream first, or use one stream."},
};

static const char *const class_names[] = {
#define X(name, text, title) text,
    MS_OWNER_CLASSES(X)
#undef X
};
static const char *const class_titles[] = {
#define X(name, text, title) title,
    MS_OWNER_CLASSES(X)
#undef X
};

const char *ms_owner_class_name(unsigned class)
{
    return class < MS_CLASS_COUNT ? class_names[class] : "unknown";
}

const char *ms_owner_class_title(unsigned class)
{
    return class < MS_CLASS_COUNT ? class_titles[class] : "Unknown";
}

static bool has_word(struct ms_text owner, const char *word)
{
    size_t word_b = strlen(word);
    const char *end = owner.s + owner.length_b;
    for (const char *at = owner.s; at < end;) {
        const char *stop = memchr(at, '@', (size_t)(end - at));
        stop = stop != NULL ? stop : end;
        if ((size_t)(stop - at) == word_b && memcmp(at, word, word_b) == 0) {
            return true;
        }
        at = stop + 1;
    }
    return false;
}

enum ms_owner_class ms_owner_class_of(const struct ms_block *block, struct ms_text owner)
{
    static const struct {
        const char *word;
        uint8_t class;
    } words[] = {
        {"weight", MS_CLASS_WEIGHT},     {"optimizer_state", MS_CLASS_OPTIMIZER},
        {"gradient", MS_CLASS_GRADIENT}, {"activation", MS_CLASS_ACTIVATION},
        {"ops", MS_CLASS_OPERATOR},
    };
    static const uint8_t by_type[MS_TYPE_COUNT] = {
        [MS_TYPE_HAL] = MS_CLASS_DRIVER,
        [MS_TYPE_PTA] = MS_CLASS_POOL,
        [MS_TYPE_PTA_WORKSPACE] = MS_CLASS_WORKSPACE,
        [MS_TYPE_ATB] = MS_CLASS_ATB,
        [MS_TYPE_MINDSPORE] = MS_CLASS_POOL,
        [MS_TYPE_HOST_PINNED] = MS_CLASS_PINNED,
        [MS_TYPE_HOST] = MS_CLASS_HOST,
    };
    bool labelled = block->type == MS_TYPE_PTA || block->type == MS_TYPE_MINDSPORE;
    for (size_t i = 0; labelled && owner.length_b != 0 && i < MS_COUNT_OF(words); i++) {
        if (has_word(owner, words[i].word)) {
            return words[i].class;
        }
    }
    return block->type < MS_TYPE_COUNT ? by_type[block->type] : MS_CLASS_POOL;
}
