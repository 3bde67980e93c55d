/* SPDX-License-Identifier: Apache-2.0 */
/* dyno's output: for one host, the same lines as the originals on standard output, byte for byte, and reasons on
 * standard error; or one JSON object. */
#include "cli/dyno/cli.h"

#include <string.h>
#include <unistd.h>

void dyno_say(void *context, enum mon_say_level level, const char *text)
{
    static const char *const prefixes[] = {
        [MON_SAY_NOTE] = "", [MON_SAY_WARNING] = "WARNING: ", [MON_SAY_ERROR] = "ERROR: "};
    const struct dyno_run *run = context;
    if (level == MON_SAY_NOTE && (run->quiet || run->json || run->command->upstream)) {
        return;
    }
    fprintf(run->json || run->quiet ? stderr : stdout, "%s%s\n", prefixes[level], text);
}

void dyno_preamble(const struct dyno_run *run)
{
    bool plain = strcmp(dyno_global(run, "certs-dir"), MON_TLS_NO_CERTS) == 0;
    if (run->quiet || run->json || run->command->upstream) {
        return;
    }
    if (getuid() == 0) {
        puts("Security Warning: Do not run this tool as root. A user without privileges can do the same.");
    }
    puts(plain ? "Running in no-certificate mode" : "Running in certificate mode");
}

void dyno_print_config(const struct dyno_run *run)
{
    struct ms_buffer config = {0};
    if (run->command->config == NULL || run->json) {
        return;
    }
    dyno_config(run, run->cluster ? NULL : run->hosts.list[0].name, &config);
    printf("%s config = \n%.*s\n", run->command->config->title, (int)config.used, config.s);
    ms_buffer_free(&config);
}

void dyno_print_result(const struct dyno_run *run, const struct dyno_result *result)
{
    int length = (int)result->answer.used;
    if (result->answer.s != NULL) {
        if (run->command->upstream) {
            printf("response length = %d\n", length);
        }
        bool bare = !run->command->upstream && run->command->config == NULL;
        printf("%s%.*s\n", bare ? "" : "response = ", length, result->answer.s);
        if (run->command->upstream && run->command->config != NULL) {
            putchar('\n');
        }
        if (run->command->report != NULL && result->json != NULL) {
            run->command->report(run, result->json);
        }
        if (result->waited[0] != '\0' && result->status == DYNO_OK) {
            puts(result->waited);
        }
    }
    fflush(stdout);
    if (result->status == DYNO_CONNECT) {
        fprintf(stderr, "Couldn't connect to the server... %s\n", result->why);
    } else if (result->status == DYNO_FAILED) {
        fprintf(stderr, "Error: %s\n",
                result->why[0] != '\0' ? result->why : "the daemon could not execute the request");
    } else if (result->why[0] != '\0') {
        fprintf(stderr, "dyno: %s\n", result->why);
    }
}

const char *dyno_exit_word(enum dyno_exit status)
{
    switch (status) {
#define X(value, name, word, meaning)                                                                                  \
    case value:                                                                                                        \
        return word;
        DYNO_EXIT_TABLE(X)
#undef X
    }
    return "failed";
}

static json_t *result_json(const struct dyno_run *run, const struct dyno_result *result)
{
    json_t *object = json_pack(
        "{ss*sisssisf}", "host", result->host->name, "port", result->host->port != 0 ? result->host->port : run->port,
        "result", dyno_exit_word(result->status), "exit_code", (int)result->status, "seconds", result->seconds);
    if (result->json != NULL) {
        json_object_set(object, "response", result->json);
    }
    if (result->why[0] != '\0') {
        json_object_set_new(object, "message", json_string(result->why));
    }
    if (result->waited[0] != '\0') {
        json_object_set_new(object, "waited", json_string(result->waited));
    }
    return object;
}

void dyno_print_json(const struct dyno_run *run, const struct dyno_result *results)
{
    json_t *top = NULL;
    if (!run->cluster) {
        top = result_json(run, &results[0]);
    } else {
        json_t *hosts = json_array();
        int succeeded = 0;
        for (size_t i = 0; i < run->hosts.count; i++) {
            json_array_append_new(hosts, result_json(run, &results[i]));
            succeeded += results[i].status == DYNO_OK;
        }
        top = json_pack("{sisiso}", "asked", (int)run->hosts.count, "succeeded", succeeded, "hosts", hosts);
    }
    json_object_set_new(top, "command", json_string(run->command->name));
    if (run->command->config != NULL) {
        struct ms_buffer config = {0};
        dyno_config(run, run->cluster ? NULL : run->hosts.list[0].name, &config);
        json_object_set_new(top, "config", json_stringn(config.s, config.used));
        ms_buffer_free(&config);
    }
    json_dumpf(top, stdout, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(6));
    putchar('\n');
    json_decref(top);
}
