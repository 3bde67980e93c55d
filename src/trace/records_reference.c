/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the section "Record kinds" of docs/format/trace.md from the tables of records.h. */
#include "base/macros.h"
#include "trace/records.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct field_text {
    const char *type, *name, *meaning;
};

static const struct payload_text {
    const char *name;
    struct field_text fields[10];
} payloads[] = {
#define F(type, name, to, meaning)                    {#type, #name, meaning},
#define R(type, name, meaning)                        {#type, #name, meaning},
#define X(number, kind, payload, order, arg, meaning) [number] = {#payload, {MS_FIELDS_##payload(F, R)}},
    MS_RECORDS(X)
#undef X
};

static const struct kind_text {
    const char *order, *arg, *meaning;
} kinds[MS_R_LIMIT] = {
#define X(number, kind, payload, order, arg, meaning) [number] = {#order, #arg, meaning},
    MS_RECORDS(X)
#undef X
};

static const char *const args[][2] = {
    {"NONE", "0"},      {"DEVICE", "device"}, {"POOL", "pool, device"}, {"FLAG", "flag of the call"}, {"VALUE", "*"},
    {"SLICE", "slice"}, {"ID", "id"},
};

static const char *arg_of(const char *arg)
{
    for (size_t i = 0; i < MS_COUNT_OF(args); i++) {
        if (strcmp(args[i][0], arg) == 0) {
            return args[i][1];
        }
    }
    return arg;
}

/* Several kinds share a payload; it is described where it first occurs. */
static bool is_first(unsigned number)
{
    for (unsigned i = 0; i < number; i++) {
        if (payloads[i].name != NULL && strcmp(payloads[i].name, payloads[number].name) == 0) {
            return false;
        }
    }
    return true;
}

int main(void)
{
    puts("| kind | name | order | arg | shape | payload | meaning |\n|---|---|---|---|---|---|---|");
    for (unsigned i = 0; i < MS_COUNT_OF(payloads); i++) {
        const struct ms_record_spec *spec = ms_record_spec(i);
        if (spec != NULL) {
            printf("| %u | %s | %s | %s | %s%s%s | %s | %s |\n", i, spec->name, kinds[i].order, arg_of(kinds[i].arg),
                   spec->fields != 0 ? "`" : "", spec->shape, spec->fields != 0 ? "`" : "", payloads[i].name,
                   kinds[i].meaning);
        }
    }
    puts("\n| payload | type | field | meaning |\n|---|---|---|---|");
    for (unsigned i = 0; i < MS_COUNT_OF(payloads); i++) {
        if (payloads[i].name != NULL && is_first(i)) {
            for (const struct field_text *field = payloads[i].fields; field->name != NULL; field++) {
                printf("| %s | `%s` | %s | %s |\n", payloads[i].name, field->type, field->name, field->meaning);
            }
        }
    }
    printf("\nPools:");
#define X(number, name) printf(" %u " #name, number);
    MS_POOLS(X)
#undef X
    puts(".\n\n| cause of a GAP | meaning |\n|---|---|");
#define X(number, name, title, meaning) puts("| " #number " " #name " | " meaning " |");
    MS_GAP_CAUSE_TABLE(X)
#undef X
    puts("\n| flag of WATCH | meaning |\n|---|---|");
#define X(value, name, meaning) puts("| " #value " " #name " | " meaning " |");
    MS_WATCH_FLAGS(X)
#undef X
    return 0;
}
