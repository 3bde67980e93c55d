/* SPDX-License-Identifier: Apache-2.0 */
/* config.json: settings under msMemScope's keys, sorted, indented by four blanks per level. */
#include "memscope/recording/project.h"

#include "base/buffer.h"

#include <errno.h>
#include <string.h>

static void put_text(struct ms_buffer *out, const char *text)
{
    ms_buffer_add(out, text, strlen(text));
}

static void put_key(struct ms_buffer *out, const char *indent, const char *key)
{
    put_text(out, indent);
    ms_buffer_char(out, '"');
    put_text(out, key);
    put_text(out, "\": ");
}

static void put_number(struct ms_buffer *out, const char *key, uint64_t value)
{
    put_key(out, "    ", key);
    ms_buffer_u64(out, value);
    put_text(out, ",\n");
}

static void put_bool(struct ms_buffer *out, const char *indent, const char *key, bool value)
{
    put_key(out, indent, key);
    put_text(out, value ? "true,\n" : "false,\n");
}

static void put_string(struct ms_buffer *out, const char *indent, const char *key, const char *value, const char *end)
{
    put_key(out, indent, key);
    ms_buffer_char(out, '"');
    ms_buffer_json(out, value, strlen(value));
    ms_buffer_char(out, '"');
    put_text(out, end);
}

static void put_settings(struct ms_buffer *out, const struct ms_settings *s)
{
    const uint32_t events = MS_WANT_ALLOC | MS_WANT_FREE | MS_WANT_LAUNCH | MS_WANT_ACCESS;
    const char *top = "    ", *inner = "        ";
    put_text(out, "{\n    \"SelectedStepList\": {\n        \"stepCount\": ");
    ms_buffer_u64(out, s->step_count);
    put_text(out, ",\n        \"stepIdList\": [\n");
    for (int i = 0; i < MS_STEPS_MAX; i++) {
        put_text(out, "            ");
        ms_buffer_u64(out, s->steps[i]);
        put_text(out, i + 1 < MS_STEPS_MAX ? ",\n" : "\n");
    }
    put_text(out, "        ]\n    },\n");
    put_number(out, "analysisType", s->analysis);
    put_number(out, "cStackDepth", s->c_stack ? s->c_depth : 0);
    put_bool(out, top, "collectAllNpu", s->all_npus);
    put_bool(out, top, "collectCpu", s->cpu);
    put_number(out, "collectMode", s->collect_mode);
    put_number(out, "dataFormat", s->format);
    put_number(out, "dumpEventType", ms_settings_written(s) & events);
    put_bool(out, top, "enableCStack", s->c_stack);
    put_bool(out, top, "enableCompare", s->compare);
    put_bool(out, top, "enablePyStack", s->python_stack);
    put_number(out, "eventType", ms_settings_collected(s) & events);
    put_bool(out, top, "isEffective", true);
    put_number(out, "levelType", s->level);
    put_number(out, "logLevel", ms_settings_log_level(s));
    put_number(out, "npuSlots", s->npu_mask);
    put_number(out, "oomTopK", s->oom_top_k);
    put_string(out, top, "outputDir", s->output, ",\n");
    put_number(out, "pyStackDepth", s->python_stack ? s->python_depth : 0);
    put_text(out, "    \"watchConfig\": {\n");
    put_string(out, inner, "end", s->watch.end, ",\n");
    put_bool(out, inner, "fullContent", s->watch.full_content);
    put_bool(out, inner, "isWatched", s->watch.on);
    put_text(out, inner);
    put_text(out, "\"outputId\": ");
    ms_buffer_u64(out, s->watch.output_id);
    put_text(out, ",\n");
    put_string(out, inner, "start", s->watch.start, "\n    }\n}");
}

int ms_config_json_write(int dirfd, const struct ms_settings *settings)
{
    struct ms_buffer out = {0};
    put_settings(&out, settings);
    int rc = out.failed ? -ENOMEM : ms_project_write(dirfd, "config.json", out.s, out.used);
    ms_buffer_free(&out);
    return rc;
}
