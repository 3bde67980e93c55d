/* SPDX-License-Identifier: Apache-2.0 */
/* JSON writer: objects and arrays nest, commas are added automatically. The key is NULL for array elements. */
#ifndef MS_RENDER_JSON_H
#define MS_RENDER_JSON_H

#include "base/buffer.h"

#define MS_JSON_DEPTH 32u

struct ms_json {
    struct ms_buffer *out;
    unsigned depth;
    char closing[MS_JSON_DEPTH]; /* closing characters of open levels */
    bool filled[MS_JSON_DEPTH];  /* the level has an element */
};

void ms_json_object(struct ms_json *json, const char *key);
void ms_json_array(struct ms_json *json, const char *key);
void ms_json_close(struct ms_json *json); /* the innermost level */

void ms_json_text(struct ms_json *json, const char *key, const char *text);
void ms_json_number(struct ms_json *json, const char *key, uint64_t number);
void ms_json_signed(struct ms_json *json, const char *key, int64_t number);
void ms_json_big(struct ms_json *json, const char *key, uint64_t number); /* as a string: readers have 53 bits */
void ms_json_hex(struct ms_json *json, const char *key, uint64_t number); /* "0x12c0" */
void ms_json_bool(struct ms_json *json, const char *key, bool value);
void ms_json_null(struct ms_json *json, const char *key);

#endif
