/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of call stacks as parts, see calls.h:
 *   C       module(function+0xOFFSET) [0xADDRESS] at file:line      without unknown parts
 *   Python  file(line): function
 * Offsets and addresses are left out if there is a name, so that calls from several places of a function are one.
 * A line of any other form is taken as the name of a function. */
#include "memscope/model/calls.h"

#include "base/macros.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct ms_text part(const char *from, const char *to)
{
    return (struct ms_text){.s = from, .length_b = to > from ? (uint32_t)(to - from) : 0};
}

static const char *last_of(const char *from, const char *to, const char *word)
{
    size_t word_b = strlen(word);
    for (const char *at = to - word_b; to - from >= (ptrdiff_t)word_b && at >= from; at--) {
        if (memcmp(at, word, word_b) == 0) {
            return at;
        }
    }
    return NULL;
}

static uint32_t line_number(const char *from, const char *to)
{
    uint64_t number = 0;
    for (; from < to && *from >= '0' && *from <= '9' && number < UINT32_MAX / 10; from++) {
        number = number * 10 + (uint64_t)(*from - '0');
    }
    return from == to ? (uint32_t)number : 0;
}

static struct ms_call parse_python(const char *s, const char *end)
{
    const char *close = last_of(s, end, "): ");
    const char *open = close != NULL ? last_of(s, close, "(") : NULL;
    if (open == NULL) {
        return (struct ms_call){.function = part(s, end)};
    }
    return (struct ms_call){
        .function = part(close + 3, end), .file = part(s, open), .line = line_number(open + 1, close)};
}

static struct ms_call parse_c(const char *s, const char *end)
{
    struct ms_call call = {.function = part(s, end)};
    const char *address = last_of(s, end, " [0x");
    const char *after = address != NULL ? memchr(address, ']', (size_t)(end - address)) : NULL;
    if (after == NULL) {
        return call;
    }
    call.function = part(s, address);
    const char *open = memchr(s, '(', (size_t)(address - s));
    if (open != NULL && address[-1] == ')') {
        const char *offset = last_of(open, address, "+0x");
        const char *slash = last_of(s, open, "/");
        call.file = part(s, open);
        call.function = offset == NULL      ? part(open + 1, address - 1)
                        : offset > open + 1 ? part(open + 1, offset)
                                            : part(slash != NULL ? slash + 1 : s, address);
    }
    const char *colon = last_of(after, end, ":");
    if (end - after > 5 && memcmp(after, "] at ", 5) == 0) {
        call.file = part(after + 5, colon != NULL ? colon : end);
        call.line = colon != NULL ? line_number(colon + 1, end) : 0;
    }
    return call;
}

struct ms_call ms_call_parse(struct ms_text line, bool python)
{
    return (python ? parse_python : parse_c)(line.s, line.s + line.length_b);
}

bool ms_stack_line(struct ms_text *stack, struct ms_text *line)
{
    while (stack->length_b != 0) {
        const char *newline = memchr(stack->s, '\n', stack->length_b);
        uint32_t length_b = newline != NULL ? (uint32_t)(newline - stack->s) : stack->length_b;
        *line = (struct ms_text){.s = stack->s, .length_b = length_b};
        length_b += newline != NULL;
        stack->s += length_b;
        stack->length_b -= length_b;
        if (line->length_b != 0) {
            return true;
        }
    }
    return false;
}

int ms__calls_push(struct ms_calls *calls, struct ms_call call)
{
    if (calls->count == calls->room) {
        size_t room = calls->room != 0 ? calls->room * 2 : 32;
        struct ms_call *grown = realloc(calls->calls, room * sizeof(*grown));
        if (grown == NULL) {
            return -ENOMEM;
        }
        calls->calls = grown;
        calls->room = room;
    }
    calls->calls[calls->count++] = call;
    return 0;
}

int ms__calls_add(struct ms_calls *calls, struct ms_text stack, bool python)
{
    if (stack.s == NULL) {
        return 0;
    }
    const char *end = stack.s + stack.length_b;
    while (end > stack.s) { /* the last line is the outermost call */
        end -= end[-1] == '\n';
        const char *newline = end > stack.s ? memrchr(stack.s, '\n', (size_t)(end - stack.s)) : NULL;
        const char *start = newline != NULL ? newline + 1 : stack.s;
        int rc = end > start ? ms__calls_push(calls, ms_call_parse(part(start, end), python)) : 0;
        if (rc != 0) {
            return rc;
        }
        end = start;
    }
    return 0;
}

void ms_calls_free(struct ms_calls *calls)
{
    free(calls->calls);
    *calls = (struct ms_calls){0};
}

bool ms_call_is_plumbing(const char *s, size_t length_b)
{
    static const char *const libraries[] = {"libascend_kernel_hook.so",
                                            "libascend_leaks.so",
                                            "libleaks_ascend_hal_hook.so",
                                            "libascend_mstx_hook.so",
                                            "libatb_abi_0_hook.so",
                                            "libatb_abi_1_hook.so",
                                            "libnpupool.so",
                                            "libtorch_npu.so",
                                            "libc10",
                                            "libascendcl.so",
                                            "libruntime.so",
                                            "libascend_hal.so"};
    for (size_t i = 0; i < MS_COUNT_OF(libraries); i++) {
        if (length_b >= strlen(libraries[i]) && memcmp(s, libraries[i], strlen(libraries[i])) == 0) {
            return true;
        }
    }
    return false;
}
