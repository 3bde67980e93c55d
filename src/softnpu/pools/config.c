/* SPDX-License-Identifier: Apache-2.0 */
/* The option text of the caching allocator: `name:value,name:value`, blanks anywhere, brackets around lists.
 *
 * One table describes syntax, destination and range of every option; parser and messages use it. A text is applied as a
 * whole or not at all. Stateless. */
#include "common.h"

#include "base/parse.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum option_kind {
    KIND_BOOL,
    KIND_MB,        /* whole number of MiB between min and max, stored in bytes */
    KIND_KB,        /* the same in KiB */
    KIND_FRACTION,  /* number in (0, max], max itself only if closed */
    KIND_DIVISIONS, /* power of two, or [size:power,...,>:power] */
    KIND_PAGE,      /* 1g */
};

struct pool_option {
    const char *name;
    enum option_kind kind;
    size_t offset;
    uint64_t min, max;
    const char *allowed; /* completes "must be ..." */
};

#define AT(member)  offsetof(struct npool_config, member)
#define MB_MAX      (NPOOL_SIZE_LIMIT / NPOOL_MIB)
#define ANY_SIZE_MB "a number of MiB"

static const struct pool_option options[] = {
    {"max_split_size_mb", KIND_MB, AT(max_split_size_b), 21, MB_MAX, "a number of MiB greater than 20"},
    {"garbage_collection_threshold", KIND_FRACTION, AT(garbage_collection_threshold), 0, 0,
     "a number greater than 0 and less than 1"},
    {"roundup_power2_divisions", KIND_DIVISIONS, AT(roundup_power2_divisions), 0, 0,
     "a power of two, or a list like [256:1,512:2,>:8] with powers of two on both sides"},
    {"expandable_segments", KIND_BOOL, AT(expandable_segments), 0, 0, "True or False"},
    {"pinned_use_background_threads", KIND_BOOL, AT(pinned_use_background_threads), 0, 0, "True or False"},
    {"large_segment_size_mb", KIND_MB, AT(large_segment_size_b), 20, MB_MAX, "a number of MiB, at least 20"},
    {"max_non_split_rounding_mb", KIND_MB, AT(max_non_split_rounding_b), 21, MB_MAX, "a number of MiB greater than 20"},
    {"pinned_max_round_threshold_mb", KIND_MB, AT(pinned_max_round_b), 1, MB_MAX, "a positive number of MiB"},
    {"pinned_max_cached_size_mb", KIND_MB, AT(pinned_max_cached_b), 0, MB_MAX, ANY_SIZE_MB},
    {"pin_memory_expandable_segments", KIND_BOOL, AT(pin_memory_expandable_segments), 0, 0, "True or False"},
    {"pinned_mem_register", KIND_BOOL, AT(pinned_mem_register), 0, 0, "True or False"},
    {"base_addr_aligned_kb", KIND_KB, AT(base_addr_align_b), 0, 16, "a number of KiB between 0 and 16"},
    {"page_size", KIND_PAGE, AT(page_1g), 0, 0, "1g"},
    {"segment_size_mb", KIND_MB, AT(large_segment_size_b), 20, 512, "a number of MiB between 20 and 512"},
    {"multi_stream_lazy_reclaim", KIND_BOOL, AT(multi_stream_lazy_reclaim), 0, 0, "True or False"},
    {"per_process_memory_fraction", KIND_FRACTION, AT(per_process_memory_fraction), 0, 1,
     "a number greater than 0 and not greater than 1"},
    {"pinned_reserve_segment_size_mb", KIND_MB, AT(pinned_reserve_segment_b), 0, MB_MAX, ANY_SIZE_MB},
    {"release_lock_on_npumalloc", KIND_BOOL, AT(release_lock_on_npumalloc), 0, 0, "True or False"},
    {"throw_on_npumalloc_oom", KIND_BOOL, AT(throw_on_npumalloc_oom), 0, 0, "True or False"},
};

void npool_config_default(struct npool_config *config)
{
    *config = (struct npool_config){
        .max_split_size_b = NPOOL_UNLIMITED,
        .max_non_split_rounding_b = 20 * NPOOL_MIB,
        .large_segment_size_b = 20 * NPOOL_MIB,
        .pinned_max_round_b = NPOOL_UNLIMITED,
        .pinned_max_cached_b = NPOOL_UNLIMITED,
        .per_process_memory_fraction = 1.0,
    };
}

static bool is_power_of_two(uint64_t value)
{
    return value != 0 && (value & (value - 1)) == 0;
}

static bool parse_fraction(const char *value, bool closed, double *out)
{
    char *end;
    double number = strtod(value, &end);
    if (end == value || *end != '\0' || !(number > 0.0) || (closed ? number > 1.0 : number >= 1.0)) {
        return false;
    }
    *out = number;
    return true;
}

/* Levels are powers of two in MiB. Sizes below the first listed level use its divisions, `>` applies to everything
 * above the last one, and unlisted sizes in between stay unchanged. */
static bool parse_divisions(char *value, uint32_t levels[NPOOL_ROUNDUP_LEVELS])
{
    uint64_t divisions;
    if (value[0] != '[') {
        if (ms_parse_u64(value, 1, 1u << 20, &divisions) != 0 || !is_power_of_two(divisions)) {
            return false;
        }
        for (size_t i = 0; i < NPOOL_ROUNDUP_LEVELS; i++) {
            levels[i] = (uint32_t)divisions;
        }
        return true;
    }
    char *close = strrchr(value, ']');
    if (close == NULL || close[1] != '\0') {
        return false;
    }
    *close = '\0';
    size_t next = 0;
    bool first = true, rest = false;
    char *position = NULL;
    for (char *entry = strtok_r(value + 1, ",", &position); entry != NULL; entry = strtok_r(NULL, ",", &position)) {
        char *colon = strchr(entry, ':');
        if (colon == NULL || rest) {
            return false;
        }
        *colon = '\0';
        if (ms_parse_u64(colon + 1, 1, 1u << 20, &divisions) != 0 || !is_power_of_two(divisions)) {
            return false;
        }
        size_t from, to;
        if (strcmp(entry, ">") == 0) {
            from = next;
            to = NPOOL_ROUNDUP_LEVELS;
            rest = true;
        } else {
            uint64_t size_mb;
            if (ms_parse_u64(entry, 1, MB_MAX, &size_mb) != 0 || !is_power_of_two(size_mb)) {
                return false;
            }
            size_t level = (size_t)__builtin_ctzll(size_mb);
            if (level >= NPOOL_ROUNDUP_LEVELS) {
                level = NPOOL_ROUNDUP_LEVELS - 1;
            }
            from = first ? 0 : level;
            to = next = level + 1;
        }
        first = false;
        for (size_t i = from; i < to; i++) {
            levels[i] = (uint32_t)divisions;
        }
    }
    return !first;
}

static bool apply(struct npool_config *config, const struct pool_option *option, char *value)
{
    void *at = (char *)config + option->offset;
    uint64_t number;
    switch (option->kind) {
    case KIND_BOOL:
        if (strcmp(value, "True") != 0 && strcmp(value, "False") != 0) {
            return false;
        }
        *(bool *)at = value[0] == 'T';
        return true;
    case KIND_MB:
    case KIND_KB:
        if (ms_parse_u64(value, option->min, option->max, &number) != 0) {
            return false;
        }
        *(size_t *)at = number * (option->kind == KIND_MB ? NPOOL_MIB : NPOOL_KIB);
        return true;
    case KIND_FRACTION:
        return parse_fraction(value, option->max == 1, at);
    case KIND_DIVISIONS:
        return parse_divisions(value, at);
    case KIND_PAGE:
        if (strcasecmp(value, "1g") != 0) {
            return false;
        }
        *(bool *)at = true;
        return true;
    }
    return false;
}

/* Terminates the option that starts at text and returns the next one: commas inside brackets do not separate. */
static char *cut_option(char *text)
{
    int depth = 0;
    for (char *p = text; *p != '\0'; p++) {
        depth += *p == '[' ? 1 : *p == ']' ? -1 : 0;
        if (*p == ',' && depth <= 0) {
            *p = '\0';
            return p + 1;
        }
    }
    return NULL;
}

static aclError parse_option(struct npool_config *config, char *text)
{
    char *colon = strchr(text, ':');
    if (colon == NULL) {
        return npool__fail(ACL_ERROR_INVALID_PARAM, "'%s' is not of the form name:value", text);
    }
    *colon = '\0';
    for (size_t i = 0; i < MS_COUNT_OF(options); i++) {
        if (strcmp(text, options[i].name) == 0) {
            char shown[64];
            strncpy(shown, colon + 1, sizeof(shown) - 1); /* parsing modifies the list */
            shown[sizeof(shown) - 1] = '\0';
            if (!apply(config, &options[i], colon + 1)) {
                return npool__fail(ACL_ERROR_INVALID_PARAM, "option %s: invalid value '%s', must be %s", text, shown,
                                   options[i].allowed);
            }
            return ACL_SUCCESS;
        }
    }
    return npool__fail(ACL_ERROR_INVALID_PARAM, "unknown option '%s'", text);
}

aclError npool_config_parse(struct npool_config *config, const char *text)
{
    if (config == NULL || text == NULL) {
        return npool__fail(ACL_ERROR_INVALID_PARAM, "npool_config_parse: NULL argument");
    }
    char *copy = malloc(strlen(text) + 1);
    if (copy == NULL) {
        return npool__fail(ACL_ERROR_BAD_ALLOC, "no host memory for the option text");
    }
    char *to = copy;
    for (const char *from = text; *from != '\0'; from++) {
        if (!isspace((unsigned char)*from)) {
            *to++ = *from;
        }
    }
    *to = '\0';
    struct npool_config result = *config;
    aclError ret = ACL_SUCCESS;
    for (char *option = *copy != '\0' ? copy : NULL; option != NULL && ret == ACL_SUCCESS;) {
        char *next = cut_option(option);
        ret = parse_option(&result, option);
        option = next;
    }
    free(copy);
    if (ret == ACL_SUCCESS) {
        *config = result;
    }
    return ret;
}

aclError npool_config_from_env(struct npool_config *config)
{
    if (config == NULL) {
        return npool__fail(ACL_ERROR_INVALID_PARAM, "npool_config_from_env: NULL argument");
    }
    static const char *const names[] = {"PYTORCH_NPU_ALLOC_CONF", "PYTORCH_ALLOC_CONF"};
    const char *own = getenv(names[0]), *common = getenv(names[1]);
    if (own != NULL && common != NULL) {
        return npool__fail(ACL_ERROR_INVALID_PARAM, "%s and %s are both set: set only one of them", names[0], names[1]);
    }
    struct npool_config result;
    npool_config_default(&result);
    const char *text = own != NULL ? own : common;
    if (text != NULL) {
        aclError ret = npool_config_parse(&result, text);
        if (ret != ACL_SUCCESS) {
            char why[256];
            strncpy(why, npool_last_error(), sizeof(why) - 1);
            why[sizeof(why) - 1] = '\0';
            return npool__fail(ret, "%s: %s", own != NULL ? names[0] : names[1], why);
        }
    }
    result.no_caching = getenv("PYTORCH_NO_NPU_MEMORY_CACHING") != NULL;
    *config = result;
    return ACL_SUCCESS;
}

aclError npool__config_take(struct npool_config *out, const struct npool_config *given)
{
    if (given == NULL) {
        return npool_config_from_env(out);
    }
    *out = *given;
    return ACL_SUCCESS;
}
