/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of the tables in columns.h. */
#include "memscope/model/columns.h"

#include "base/macros.h"
#include "trace/records.h"

#include <stdio.h>

static const char *const event_names[] = {
#define X(name, text) text,
    MS_EVENTS(X)
#undef X
};

static const char *const type_names[] = {
#define X(event, name, text, meaning) text,
    MS_EVENT_TYPES(X)
#undef X
};

static const char *const attr_names[] = {
#define X(name, text) text,
    MS_ATTR_KEYS(X)
#undef X
};

#define NAME_OF(table, number) ((number) < MS_COUNT_OF(table) ? (table)[number] : "UNKNOWN")

const char *ms_event_name(unsigned event)
{
    return NAME_OF(event_names, event);
}

const char *ms_type_name(unsigned type)
{
    return NAME_OF(type_names, type);
}

const char *ms_attr_name(unsigned key)
{
    return NAME_OF(attr_names, key);
}

const char *ms_inefficient_name(unsigned type)
{
    static const char *const names[] = {
#define X(number, name, text) [number] = text,
        MS_INEFFICIENT_TYPES(X)
#undef X
    };
    return type < MS_COUNT_OF(names) && names[type] != NULL ? names[type] : "";
}

size_t ms_inefficient_text(uint8_t found, char out[MS_INEFFICIENT_TEXT_B])
{
    size_t length_b = 0;
    out[0] = '\0';
    for (; (found & 3) != 0; found >>= 2) {
        length_b += (size_t)snprintf(out + length_b, MS_INEFFICIENT_TEXT_B - length_b, "%s%s", length_b != 0 ? "," : "",
                                     ms_inefficient_name(found & 3));
    }
    return length_b;
}

const char *ms_gap_cause_name(unsigned cause)
{
    static const char *const names[MS_GAP_CAUSES] = {
#define X(number, name, title, meaning) [number] = title,
        MS_GAP_CAUSE_TABLE(X)
#undef X
    };
    return cause < MS_GAP_CAUSES && names[cause] != NULL ? names[cause] : "unknown";
}
