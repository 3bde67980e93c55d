/* SPDX-License-Identifier: Apache-2.0 */
/* See json.h. */
#include "memscope/render/json.h"

#include <assert.h>

static void begin(struct ms_json *json, const char *key)
{
    if (json->depth != 0) {
        if (json->filled[json->depth - 1]) {
            ms_buffer_char(json->out, ',');
        }
        json->filled[json->depth - 1] = true;
    }
    if (key != NULL) {
        ms_buffer_char(json->out, '"');
        ms_buffer_json(json->out, key, strlen(key));
        MS_BUFFER_TEXT(json->out, "\":");
    }
}

static void open_with(struct ms_json *json, const char *key, char opening, char closing)
{
    assert(json->depth < MS_JSON_DEPTH);
    begin(json, key);
    ms_buffer_char(json->out, opening);
    json->closing[json->depth] = closing;
    json->filled[json->depth] = false;
    json->depth++;
}

void ms_json_object(struct ms_json *json, const char *key)
{
    open_with(json, key, '{', '}');
}

void ms_json_array(struct ms_json *json, const char *key)
{
    open_with(json, key, '[', ']');
}

void ms_json_close(struct ms_json *json)
{
    assert(json->depth > 0);
    ms_buffer_char(json->out, json->closing[--json->depth]);
}

void ms_json_text(struct ms_json *json, const char *key, const char *text)
{
    begin(json, key);
    ms_buffer_char(json->out, '"');
    ms_buffer_json(json->out, text, strlen(text));
    ms_buffer_char(json->out, '"');
}

void ms_json_number(struct ms_json *json, const char *key, uint64_t number)
{
    begin(json, key);
    ms_buffer_u64(json->out, number);
}

void ms_json_signed(struct ms_json *json, const char *key, int64_t number)
{
    begin(json, key);
    if (number < 0) {
        ms_buffer_char(json->out, '-');
    }
    ms_buffer_u64(json->out, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
}

void ms_json_big(struct ms_json *json, const char *key, uint64_t number)
{
    begin(json, key);
    ms_buffer_char(json->out, '"');
    ms_buffer_u64(json->out, number);
    ms_buffer_char(json->out, '"');
}

void ms_json_hex(struct ms_json *json, const char *key, uint64_t number)
{
    begin(json, key);
    ms_buffer_char(json->out, '"');
    ms_buffer_hex(json->out, number);
    ms_buffer_char(json->out, '"');
}

void ms_json_bool(struct ms_json *json, const char *key, bool value)
{
    begin(json, key);
    if (value) {
        MS_BUFFER_TEXT(json->out, "true");
    } else {
        MS_BUFFER_TEXT(json->out, "false");
    }
}

void ms_json_null(struct ms_json *json, const char *key)
{
    begin(json, key);
    MS_BUFFER_TEXT(json->out, "null");
}
