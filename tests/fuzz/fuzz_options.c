/* SPDX-License-Identifier: Apache-2.0 */
/* Arbitrary command lines: the resulting settings must survive a round trip through text, and config.json must be valid
 * JSON whatever they contain. */
#include "memscope/options/options.h"
#include "memscope/recording/project.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WORDS_MAX = 64, TEXT_MAX_B = 65536 };

static void say(const char *line)
{
    if (strchr(line, '\n') == NULL) {
        abort(); /* must be whole lines */
    }
}

/* ---- a JSON checker ---- */

static const char *value(const char *p, int depth);

static const char *blanks(const char *p)
{
    return p + strspn(p, " \t\r\n");
}

static const char *string(const char *p)
{
    if (*p++ != '"') {
        abort();
    }
    for (; *p != '"'; p++) {
        if ((unsigned char)*p < 0x20) {
            abort();
        }
        if (*p == '\\' && strchr("\"\\/bfnrtu", *++p) == NULL) {
            abort();
        }
    }
    return blanks(p + 1);
}

static const char *list(const char *p, char end, int depth)
{
    p = blanks(p + 1);
    while (*p != end) {
        if (end == '}') {
            p = string(p);
            if (*p++ != ':') {
                abort();
            }
        }
        p = value(blanks(p), depth + 1);
        if (*p == ',') {
            p = blanks(p + 1);
            if (*p == end) {
                abort();
            }
        } else if (*p != end) {
            abort();
        }
    }
    return blanks(p + 1);
}

static const char *value(const char *p, int depth)
{
    if (depth > 16) {
        abort();
    }
    if (*p == '{' || *p == '[') {
        return list(p, *p == '{' ? '}' : ']', depth);
    }
    if (*p == '"') {
        return string(p);
    }
    size_t length_b = strspn(p, "0123456789-+.eEaflnrstu");
    if (length_b == 0) {
        abort();
    }
    return blanks(p + length_b);
}

static void check_config_json(const struct ms_settings *settings)
{
    static char directory[] = "/dev/shm/fuzz_options.XXXXXX", text[TEXT_MAX_B];
    static int dirfd = -1;
    if (dirfd < 0 && (mkdtemp(directory) == NULL || (dirfd = open(directory, O_RDONLY | O_DIRECTORY)) < 0)) {
        exit(1);
    }
    if (ms_config_json_write(dirfd, settings) != 0) {
        return;
    }
    int fd = openat(dirfd, "config.json", O_RDONLY);
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    if (*value(blanks(text), 0) != '\0') {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ms_settings settings, copy;
    static struct ms_why why;
    static char out[TEXT_MAX_B];
    char *text = malloc(size + 1), *argv[WORDS_MAX + 2] = {"msmemscope"};
    if (text == NULL) {
        return 0;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    int argc = 1, program = 0;
    for (char *word = text; word < text + size && argc <= WORDS_MAX; word += strlen(word) + 1) {
        char *end = strchr(word, '\n');
        if (end != NULL) {
            *end = '\0';
        }
        argv[argc++] = word;
    }
    ms_settings_init(&settings);
    opterr = 0;
    if (ms_options_parse(argc, argv, &settings, &program, &why, say) == MS_OPTIONS_RUN) {
        if (program < 1 || program > argc) {
            abort();
        }
        size_t length_b = ms_options_format(&settings, out, sizeof(out));
        ms_settings_init(&copy);
        if (length_b >= sizeof(out) || ms_options_apply_text(&copy, out, &why) != 0) {
            abort();
        }
        check_config_json(&settings);
    }
    free(text);
    return 0;
}
