/* SPDX-License-Identifier: Apache-2.0 */
/* config.json: settings under msMemScope's keys, sorted, indented by four blanks per level. */
#include "memscope/recording/project.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Length of the UTF-8 character at p; 0: invalid. Invalid bytes become U+FFFD, so that the file is JSON for any
 * path. */
static size_t utf8_length(const unsigned char *p)
{
    size_t n = p[0] < 0x80                   ? 1
               : p[0] >= 0xc2 && p[0] < 0xe0 ? 2
               : (p[0] & 0xf0) == 0xe0       ? 3
               : p[0] >= 0xf0 && p[0] < 0xf5 ? 4
                                             : 0;
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    bool overlong = (n == 3 && p[0] == 0xe0 && p[1] < 0xa0) || (n == 4 && p[0] == 0xf0 && p[1] < 0x90);
    bool beyond = (n == 3 && p[0] == 0xed && p[1] >= 0xa0) || (n == 4 && p[0] == 0xf4 && p[1] >= 0x90);
    return overlong || beyond ? 0 : n;
}

static void put_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (const unsigned char *p = (const unsigned char *)text; *p != '\0';) {
        size_t n = utf8_length(p);
        if (n == 0) {
            fputs("\\ufffd", out);
            p++;
        } else if (*p == '"' || *p == '\\') {
            fprintf(out, "\\%c", *p++);
        } else if (*p < 0x20) {
            fprintf(out, "\\u%04x", *p++);
        } else {
            fwrite(p, 1, n, out);
            p += n;
        }
    }
    fputc('"', out);
}

static void put_number(FILE *out, const char *key, uint64_t value)
{
    fprintf(out, "    \"%s\": %llu,\n", key, (unsigned long long)value);
}

static void put_bool(FILE *out, const char *key, bool value)
{
    fprintf(out, "    \"%s\": %s,\n", key, value ? "true" : "false");
}

static void put_settings(FILE *out, const struct ms_settings *s)
{
    const uint32_t events = MS_WANT_ALLOC | MS_WANT_FREE | MS_WANT_LAUNCH | MS_WANT_ACCESS;
    fprintf(out, "{\n    \"SelectedStepList\": {\n        \"stepCount\": %u,\n        \"stepIdList\": [\n",
            s->step_count);
    for (int i = 0; i < MS_STEPS_MAX; i++) {
        fprintf(out, "            %u%s\n", s->steps[i], i + 1 < MS_STEPS_MAX ? "," : "");
    }
    fputs("        ]\n    },\n", out);
    put_number(out, "analysisType", s->analysis);
    put_number(out, "cStackDepth", s->c_stack ? s->c_depth : 0);
    put_bool(out, "collectAllNpu", s->all_npus);
    put_bool(out, "collectCpu", s->cpu);
    put_number(out, "collectMode", s->collect_mode);
    put_number(out, "dataFormat", s->format);
    put_number(out, "dumpEventType", ms_settings_written(s) & events);
    put_bool(out, "enableCStack", s->c_stack);
    put_bool(out, "enableCompare", s->compare);
    put_bool(out, "enablePyStack", s->python_stack);
    put_number(out, "eventType", ms_settings_collected(s) & events);
    put_bool(out, "isEffective", true);
    put_number(out, "levelType", s->level);
    put_number(out, "logLevel", ms_settings_log_level(s));
    put_number(out, "npuSlots", s->npu_mask);
    put_number(out, "oomTopK", s->oom_top_k);
    fputs("    \"outputDir\": ", out);
    put_string(out, s->output);
    fputs(",\n", out);
    put_number(out, "pyStackDepth", s->python_stack ? s->python_depth : 0);
    fputs("    \"watchConfig\": {\n        \"end\": ", out);
    put_string(out, s->watch.end);
    fprintf(
        out,
        ",\n        \"fullContent\": %s,\n        \"isWatched\": %s,\n        \"outputId\": %u,\n        \"start\": ",
        s->watch.full_content ? "true" : "false", s->watch.on ? "true" : "false", s->watch.output_id);
    put_string(out, s->watch.start);
    fputs("\n    }\n}", out);
}

int ms_config_json_write(int dirfd, const struct ms_settings *settings)
{
    char *text = NULL;
    size_t text_b = 0;
    FILE *out = open_memstream(&text, &text_b);
    if (out == NULL) {
        return -ENOMEM;
    }
    put_settings(out, settings);
    if (fclose(out) != 0) {
        free(text);
        return -ENOMEM;
    }
    int rc = ms_project_write(dirfd, "config.json", text, text_b);
    free(text);
    return rc;
}
