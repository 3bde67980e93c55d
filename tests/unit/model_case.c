/* SPDX-License-Identifier: Apache-2.0 */
/* See model_case.h. */
#include "model_case.h"

#include "base/parse.h"
#include "memscope/analyze/fluctuation.h"
#include "memscope/analyze/inefficient_online.h"
#include "memscope/analyze/leaks.h"
#include "memscope/analyze/oom.h"
#include "memscope/export/chrome.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* ---- reading ---- */

static char *read_file(const char *path)
{
    FILE *f = fopen(path, "r");
    if (f == NULL) {
        return NULL;
    }
    char *text = NULL;
    size_t room = 0;
    if (getdelim(&text, &room, 0, f) < 0) {
        free(text);
        text = strdup("");
    }
    fclose(f);
    return text;
}

static uint64_t number(const char *text)
{
    uint64_t value = 0;
    if (ms_parse_u64(text, 0, UINT64_MAX, &value) != 0 && ms_parse_size(text, &value) != 0) {
        fprintf(stderr, "not a number: %s\n", text);
        abort();
    }
    return value;
}

static uint32_t device_of(const char *text)
{
    return strcmp(text, "cpu") == 0 ? MS_DEV_CPU : strcmp(text, "none") == 0 ? MS_DEV_UNKNOWN : (uint32_t)number(text);
}

static uint32_t word_bits(char *list, const char *const *words, const uint32_t *bits)
{
    uint32_t mask = 0;
    for (char *word = strtok(list, ","); word != NULL; word = strtok(NULL, ",")) {
        unsigned i = 0;
        while (words[i] != NULL && strcmp(words[i], word) != 0) {
            i++;
        }
        if (words[i] == NULL) {
            fprintf(stderr, "unknown word: %s\n", word);
            abort();
        }
        mask |= bits[i];
    }
    return mask;
}

static void parse_option(struct ms_model_options *options, char *word)
{
    static const char *const events[] = {"alloc", "free", "launch", "access", "traceback", "none", NULL};
    static const uint32_t event_bits[] = {MS_WANT_ALLOC,  MS_WANT_FREE,      MS_WANT_LAUNCH,
                                          MS_WANT_ACCESS, MS_WANT_TRACEBACK, 0};
    static const char *const levels[] = {"op", "kernel", NULL};
    static const uint32_t level_bits[] = {MS_WANT_OP, MS_WANT_KERNEL};
    static const char *const analyses[] = {"leaks", "decompose", "inefficient", "oom", "none", NULL};
    static const uint32_t analysis_bits[] = {1, 2, 4, 8, 0};
    char *value = strchr(word, '=');
    if (value != NULL) {
        *value++ = 0;
    }
    if (strcmp(word, "events") == 0) {
        options->events = word_bits(value, events, event_bits);
    } else if (strcmp(word, "level") == 0) {
        options->levels = word_bits(value, levels, level_bits);
    } else if (strcmp(word, "analysis") == 0) {
        options->analysis = word_bits(value, analyses, analysis_bits);
    } else if (strcmp(word, "oom") == 0) {
        options->oom_top_k = (uint32_t)number(value);
    } else if (strcmp(word, "events-only") == 0) {
        options->events_only = true;
    } else if (strcmp(word, "deferred") == 0) {
        options->deferred = true;
    } else if (strcmp(word, "steps") == 0) {
        for (char *step = strtok(value, ","); step != NULL; step = strtok(NULL, ",")) {
            options->steps[options->step_count++] = (uint32_t)number(step);
        }
    } else if (strcmp(word, "device") == 0) {
        options->all_npu = false;
        for (char *device = strtok(value, ","); device != NULL; device = strtok(NULL, ",")) {
            if (strcmp(device, "cpu") == 0) {
                options->cpu = true;
            } else if (strcmp(device, "npu") == 0) {
                options->all_npu = true;
            } else {
                options->npu_mask |= 1ull << number(device);
            }
        }
    } else {
        fprintf(stderr, "unknown option: %s\n", word);
        abort();
    }
}

static unsigned pool_of(const char *text)
{
    static const char *const pools[] = {"", "PTA", "PTA_WORKSPACE", "ATB", "MINDSPORE", "HOST", "HAL"};
    for (unsigned i = 1; i < sizeof(pools) / sizeof(pools[0]); i++) {
        if (strcmp(pools[i], text) == 0) {
            return i;
        }
    }
    fprintf(stderr, "unknown pool: %s\n", text);
    abort();
}

/* Next word of a line; "..." may contain blanks and \n \t \" \\. */
static char *next_word(char **at)
{
    char *s = *at;
    while (*s == ' ') {
        s++;
    }
    if (*s == 0) {
        return NULL;
    }
    char *word = s, *to = s;
    bool quoted = false;
    for (; *s != 0 && (quoted || *s != ' '); s++) {
        if (*s == '"') {
            quoted = !quoted;
        } else if (*s == '\\' && s[1] != 0) {
            s++;
            *to++ = *s == 'n' ? '\n' : *s == 't' ? '\t' : *s;
        } else {
            *to++ = *s;
        }
    }
    *at = *s != 0 ? s + 1 : s;
    *to = 0;
    return word;
}

static struct ms_text text_of(char *s)
{
    return (struct ms_text){.s = s, .length_b = (uint32_t)strlen(s)};
}

static void set_field(struct ms_event *e, const char *key, char *value)
{
    if (strcmp(key, "text") == 0) {
        e->text = text_of(value);
    } else if (strcmp(key, "text2") == 0) {
        e->text2 = text_of(value);
    } else if (strcmp(key, "dev") == 0) {
        e->device = device_of(value);
    } else if (strcmp(key, "pool") == 0) {
        e->pool = (uint8_t)pool_of(value);
    } else {
        uint64_t n = number(value);
        if (strcmp(key, "at") == 0) {
            e->time_ns = n;
        } else if (strcmp(key, "tid") == 0) {
            e->tid = e->stream = (uint32_t)n;
        } else if (strcmp(key, "stream") == 0) {
            e->stream_id = (int64_t)n;
        } else if (strcmp(key, "task") == 0) {
            e->task_id = (uint32_t)n;
        } else if (strcmp(key, "addr") == 0) {
            e->addr = n;
        } else if (strcmp(key, "size") == 0) {
            e->size_b = n;
        } else if (strcmp(key, "flag") == 0 || strcmp(key, "range") == 0 || strcmp(key, "offset") == 0 ||
                   strcmp(key, "process_used") == 0) {
            e->flag = n;
        } else if (strcmp(key, "start") == 0) {
            e->slice_start_ns = n;
        } else if (strcmp(key, "end") == 0) {
            e->slice_end_ns = n;
        } else if (strcmp(key, "value") == 0 || strcmp(key, "handle") == 0 || strcmp(key, "total") == 0) {
            e->value = n;
        } else if (strcmp(key, "type") == 0 || strcmp(key, "side") == 0 || strcmp(key, "function") == 0 ||
                   strcmp(key, "done") == 0) {
            e->type = (uint32_t)n;
        } else if (strcmp(key, "module") == 0) {
            e->module_id = (uint32_t)n;
        } else if (strcmp(key, "page") == 0) {
            e->page_type = (uint32_t)n;
        } else if (strcmp(key, "c") == 0) {
            e->c_stack = (uint32_t)n;
        } else if (strcmp(key, "py") == 0) {
            e->python_stack = (uint32_t)n;
        } else if (key[0] == 'm' && key[1] >= '0' && key[1] <= '5') {
            uint64_t *snapshot[] = {&e->snapshot.reserved_b,      &e->snapshot.max_reserved_b, &e->snapshot.allocated_b,
                                    &e->snapshot.max_allocated_b, &e->snapshot.total_b,        &e->snapshot.free_b};
            *snapshot[key[1] - '0'] = n;
        } else if (strcmp(key, "lost") == 0) {
            e->gap.lost = n;
        } else if (strcmp(key, "lost_alloc") == 0) {
            e->gap.lost_alloc = n;
        } else if (strcmp(key, "since") == 0) {
            e->gap.since_ns = n;
        } else {
            fprintf(stderr, "unknown field: %s\n", key);
            abort();
        }
    }
}

static int parse_event(struct model_case *c, char *line)
{
    char *at = line;
    char *kind = next_word(&at);
    struct ms_event *e = &c->events[c->event_count];
    const struct ms_event *last = c->event_count != 0 ? e - 1 : NULL;
    memset(e, 0, sizeof(*e));
    e->index = c->event_count;
    e->pid = 42;
    e->tid = e->stream = 42;
    e->device = MS_DEV_UNKNOWN;
    e->time_ns = last != NULL ? (last->time_ns / 1000 + 1) * 1000 : 1000000;
    e->text.s = e->text2.s = "";
    for (unsigned k = 1; k < MS_R_LIMIT; k++) {
        const struct ms_record_spec *spec = ms_record_spec(k);
        if (spec != NULL && strcasecmp(spec->name, kind) == 0) {
            e->kind = (uint8_t)k;
            e->order = spec->order;
        }
    }
    if (e->kind == 0) {
        fprintf(stderr, "%s: unknown kind of event: %s\n", c->path, kind);
        return -1;
    }
    for (char *word; (word = next_word(&at)) != NULL;) {
        char *value = strchr(word, '=');
        if (value == NULL) {
            fprintf(stderr, "%s: not key=value: %s\n", c->path, word);
            return -1;
        }
        *value = 0;
        set_field(e, word, value + 1);
    }
    return ++c->event_count < CASE_EVENTS_MAX ? 0 : -1;
}

int case_read(const char *path, struct model_case *out)
{
    *out = (struct model_case){.options = MS_MODEL_OPTIONS_DEFAULT};
    snprintf(out->path, sizeof(out->path), "%s", path);
    out->source = read_file(path);
    out->events = calloc(CASE_EVENTS_MAX, sizeof(*out->events));
    if (out->source == NULL || out->events == NULL) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return -1;
    }
    char *expected = strstr(out->source, "\n--- ");
    out->head = strndup(out->source, expected != NULL ? (size_t)(expected + 1 - out->source) : strlen(out->source));
    char *at = expected;
    if (expected != NULL) {
        *expected = 0;
    }
    while (at != NULL && out->section_count < CASE_SECTIONS_MAX) {
        struct case_section *section = &out->sections[out->section_count++];
        char *line = at + 5, *end = strchr(line, '\n');
        snprintf(section->name, sizeof(section->name), "%.*s", (int)strcspn(line, "\n"), line);
        if (end == NULL) {
            fprintf(stderr, "%s: nothing below --- %s\n", path, section->name);
            return -1;
        }
        at = strstr(end, "\n--- ");
        section->text = at == NULL ? strdup(end + 1) : strndup(end + 1, (size_t)(at - end));
        if (at == end) {
            section->text[0] = 0;
        }
    }
    char *save = NULL;
    for (char *line = strtok_r(out->source, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save)) {
        if (line[0] == '#' || line[0] == 0) {
            continue;
        }
        if (strncmp(line, "options ", 8) == 0) {
            char *rest = line + 8;
            for (char *word; (word = next_word(&rest)) != NULL;) {
                parse_option(&out->options, word);
            }
        } else if (parse_event(out, line) != 0) {
            return -1;
        }
    }
    return 0;
}

void case_free(struct model_case *c)
{
    for (size_t i = 0; i < c->section_count; i++) {
        free(c->sections[i].text);
    }
    free(c->events);
    free(c->source);
    free(c->head);
}

/* ---- running ---- */

static struct ms_text c_stack(void *self, uint32_t id)
{
    static char text[64];
    (void)self;
    int length = snprintf(text, sizeof(text), "/bin/prog(f%u+0x1) [0x%x]\n/bin/prog(main+0x2) [0x2]\n", id, id);
    return (struct ms_text){.s = text, .length_b = (uint32_t)length};
}

static struct ms_text python_stack(void *self, uint32_t id)
{
    static char text[64];
    (void)self;
    int length = snprintf(text, sizeof(text), "a \"b\".py(%u): f\n", id);
    return (struct ms_text){.s = text, .length_b = (uint32_t)length};
}

static void log_line(void *argument, int level, const char *line)
{
    fprintf(argument, "%d %s\n", level, line);
}

struct running {
    struct ms_model *model;
    struct ms_dump *dump;
    struct ms_oom_report *oom;
    struct ms_leaks *leaks;
    struct ms_fluctuation *fluctuation;
    struct ms_inefficient_online *inefficient;
    FILE *report, *log;
};

/* Analyses have no checkpoints: a split run checks the dump alone. */
static int start(struct running *r, const struct model_case *c, bool analyses)
{
    struct ms_model_options options = c->options;
    options.log = log_line;
    options.argument = r->log;
    if (ms_model_new(&options, &r->model) != 0) {
        return -1;
    }
    if (analyses) {
        struct ms_stack_source stacks = {.c_stack = c_stack, .python_stack = python_stack};
        struct ms_leaks_options leaks = {.model = r->model,
                                         .stacks = stacks,
                                         .hal = !options.deferred,
                                         .out = r->report,
                                         .log = log_line,
                                         .argument = r->log};
        struct ms_fluctuation_options fluctuation = {
            .model = r->model, .out = r->report, .log = log_line, .argument = r->log};
        struct ms_oom_options oom = {.model = r->model, .stacks = stacks, .out = r->report};
        if (ms_oom_report_new(&oom, &r->oom) != 0 || ms_leaks_new(&leaks, &r->leaks) != 0 ||
            ms_fluctuation_new(&fluctuation, &r->fluctuation) != 0) {
            return -1;
        }
        if ((c->options.analysis & MS_ANALYSIS_INEFFICIENT) != 0) {
            if (ms_inefficient_online_new(r->model, &r->inefficient) != 0) {
                return -1;
            }
            struct ms_consumer inefficient = ms_inefficient_online_consumer(r->inefficient);
            ms_model_add(r->model, &inefficient);
        }
        struct ms_consumer consumer = ms_oom_report_consumer(r->oom);
        ms_model_add(r->model, &consumer);
        consumer = ms_leaks_consumer(r->leaks);
        ms_model_add(r->model, &consumer);
        consumer = ms_fluctuation_consumer(r->fluctuation);
        ms_model_add(r->model, &consumer);
    }
    return 0;
}

static int add_dump(struct running *r, const struct model_case *c, enum ms_dump_format format, const char *dir)
{
    int dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct ms_dump_options options = {
        .dirfd = dirfd,
        .dir = dir,
        .format = format,
        .late = (c->options.analysis & (MS_ANALYSIS_DECOMPOSE | MS_ANALYSIS_INEFFICIENT)) != 0,
        .model = r->model,
        .stacks = {.c_stack = c_stack, .python_stack = python_stack},
        .time_ns = 1700000000000000000ull,
    };
    int rc = ms_dump_open(&options, &r->dump);
    close(dirfd);
    return rc;
}

int case_run(const struct model_case *c, enum ms_dump_format format, size_t split, struct case_result *out)
{
    memset(out, 0, sizeof(*out));
    const char *tmp = getenv("TMPDIR");
    snprintf(out->dir, sizeof(out->dir), "%s/model_case.XXXXXX", tmp != NULL ? tmp : "/tmp");
    if (mkdtemp(out->dir) == NULL) {
        perror(out->dir);
        return -1;
    }
    size_t report_b, log_b;
    struct running r = {.report = open_memstream(&out->report, &report_b), .log = open_memstream(&out->log, &log_b)};
    if (start(&r, c, split == SIZE_MAX) != 0 || add_dump(&r, c, format, out->dir) != 0) {
        return -1;
    }
    struct ms_consumer consumer = ms_dump_consumer(r.dump);
    ms_model_add(r.model, &consumer);
    char json[512];
    snprintf(json, sizeof(json), "%s/trace.json", out->dir);
    int json_fd = open(json, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    struct ms_chrome *chrome;
    if (json_fd < 0 || ms_chrome_open(json_fd, 4711, "prog \"x\"", &chrome) != 0) {
        return -1;
    }
    struct ms_consumer chrome_consumer = ms_chrome_consumer(chrome);
    ms_model_add(r.model, &chrome_consumer);
    int rc = 0;
    for (size_t i = 0; i < c->event_count && rc == 0; i++) {
        if (i == split) {
            void *saved;
            size_t saved_b;
            rc = ms_model_save(r.model, &saved, &saved_b);
            if (rc == -EAGAIN) {
                rc = 0;
            } else if (rc == 0) {
                struct ms_model *before = r.model;
                rc = start(&r, c, false) != 0 ? -1 : ms_model_restore(r.model, NULL, saved, saved_b);
                ms_model_add(r.model, &consumer);
                ms_model_free(before);
                free(saved);
            }
        }
        rc = rc != 0 ? rc : ms_model_feed(r.model, &c->events[i]);
    }
    rc = rc != 0 ? rc : ms_model_end(r.model);
    ms_model_stats(r.model, &out->stats);
    int close_rc = ms_dump_close(r.dump);
    int chrome_rc = ms_chrome_close(chrome);
    close_rc = close_rc != 0 ? close_rc : chrome_rc;
    close(json_fd);
    ms_oom_report_free(r.oom);
    ms_leaks_free(r.leaks);
    ms_fluctuation_free(r.fluctuation);
    ms_inefficient_online_free(r.inefficient);
    ms_model_free(r.model);
    fclose(r.report);
    fclose(r.log);
    return rc != 0 ? rc : close_rc;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    (void)status;
    (void)type;
    (void)ftw;
    return remove(path);
}

void case_result_free(struct case_result *result)
{
    if (result->dir[0] != 0) {
        nftw(result->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    }
    free(result->report);
    free(result->log);
}

char *case_actual(const struct case_result *result, const char *section)
{
    if (strcmp(section, "report") == 0) {
        return strdup(result->report);
    }
    if (strcmp(section, "log") == 0) {
        return strdup(result->log);
    }
    if (strcmp(section, "stats") == 0) {
        char *text = NULL;
        const struct ms_model_stats *s = &result->stats;
        if (asprintf(&text,
                     "rows %llu blocks %llu live %llu reordered %llu double %llu unmatched %llu ghosts %llu revived "
                     "%llu lost %llu uncertain %llu\n",
                     (unsigned long long)s->rows, (unsigned long long)s->blocks, (unsigned long long)s->live,
                     (unsigned long long)s->reordered, (unsigned long long)s->double_mallocs,
                     (unsigned long long)s->unmatched_frees, (unsigned long long)s->ghosts,
                     (unsigned long long)s->revived, (unsigned long long)s->lost,
                     (unsigned long long)s->uncertain_since_ns) < 0) {
            return NULL;
        }
        return text;
    }
    /* device_0: its dump; device_0/python_trace_43: that file */
    char directory[512], wanted[64] = "memscope_dump_";
    const char *slash = strchr(section, '/');
    snprintf(directory, sizeof(directory), "%s/%.*s/dump", result->dir,
             (int)(slash != NULL ? slash - section : (long)strlen(section)), section);
    if (slash != NULL) {
        snprintf(wanted, sizeof(wanted), "%s", slash + 1);
    }
    DIR *dir = opendir(directory);
    char *text = NULL;
    for (struct dirent *entry; dir != NULL && text == NULL && (entry = readdir(dir)) != NULL;) {
        if (strncmp(entry->d_name, wanted, strlen(wanted)) == 0) {
            char path[1024];
            snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
            text = read_file(path);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    if (text != NULL) {
        char *rows = strchr(text, '\n');
        memmove(text, rows != NULL ? rows + 1 : "", rows != NULL ? strlen(rows + 1) + 1 : 1);
    }
    return text;
}
