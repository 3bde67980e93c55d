/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of a server: requests arrive, wait for a slot, process their prompt, produce a token per round, and leave. A
 * request is a prompt and a number of tokens to generate, both from a seeded random number generator, so that a run can
 * be repeated. */
#define MSTX_NO_IMPL
#include "mstx/ms_tools_ext.h"

#include "infer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    PAGE = 16,        /* tokens by which a cache grows */
    PROMPT_MAX = 16,  /* tokens */
    LEAK_EVERY = 4,   /* --leak: one request in this many keeps its cache */
    GROW_TOKENS = 64, /* --grow: tokens that each request adds to the reservation of the next one */
};

struct request {
    int64_t number; /* from 1; 0: the slot is empty */
    int64_t arrived, prompt, wanted;
    int64_t length; /* tokens so far */
    int32_t *tokens;
    struct cache cache;
};

struct planted {
    const char *kind;
    int64_t request, round, used_tokens, reserved_tokens;
    size_t size_b;
    uintptr_t address;
};

struct server {
    struct npu *npu;
    const struct gpt *gpt;
    const struct infer_options *options;
    struct request *slots;
    int64_t round, started, finished, generated;
    uint64_t random, checksum;
    struct planted *planted;
    size_t planted_count;
    double worst; /* --check: how far a chosen token was from the best one */
};

static uint64_t next_random(uint64_t *state)
{
    /* splitmix64 (Steele, Lea, Flood 2014) */
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void plant(struct server *server, const char *kind, const struct request *request)
{
    struct planted *more = realloc(server->planted, (server->planted_count + 1) * sizeof(*more));
    if (more == NULL) {
        fail("no host memory to record a defect");
    }
    server->planted = more;
    more[server->planted_count++] = (struct planted){.kind = kind,
                                                     .request = request->number,
                                                     .round = server->round,
                                                     .used_tokens = request->length,
                                                     .reserved_tokens = request->cache.capacity,
                                                     .size_b = cache_size_b(&request->cache),
                                                     .address = (uintptr_t)request->cache.keys[0]->data};
}

/* What a new request reserves: pages for its prompt; with the defect ever more. */
static int64_t first_capacity(const struct server *server, int64_t prompt)
{
    int64_t needed = (prompt + PAGE - 1) / PAGE * PAGE;
    return server->options->grow ? needed + GROW_TOKENS * (server->started + 1) : needed;
}

static void start_request(struct server *server, struct request *slot)
{
    const struct infer_options *options = server->options;
    *slot = (struct request){.number = server->started + 1, .arrived = server->round};
    slot->prompt = 1 + (int64_t)(next_random(&server->random) % PROMPT_MAX);
    slot->wanted = 1 + (int64_t)(next_random(&server->random) % (uint64_t)options->max_tokens);
    slot->tokens = calloc((size_t)(slot->prompt + slot->wanted), sizeof(int32_t));
    if (slot->tokens == NULL) {
        fail("no host memory for a request");
    }
    for (int64_t i = 0; i < slot->prompt; i++) {
        slot->tokens[i] = (int32_t)(next_random(&server->random) % (uint64_t)options->vocab);
    }
    cache_open(&slot->cache, server->npu, &server->gpt->shape, first_capacity(server, slot->prompt));
    server->started++;
    slot->length = slot->prompt;
}

/* Runs the tokens that are not in the cache yet and adds the most likely next token. */
static void advance(struct server *server, struct request *request)
{
    struct npu *npu = server->npu;
    int64_t fresh = request->length - request->cache.length;
    if (request->length > request->cache.capacity) {
        cache_grow(&request->cache, npu, (request->length - request->cache.capacity + PAGE - 1) / PAGE * PAGE);
    }
    struct tensor *logits = decode(npu, server->gpt, &request->cache, request->tokens + request->length - fresh, fresh);
    struct tensor *best = op_argmax(npu, logits);
    int32_t *host = calloc((size_t)fresh, sizeof(*host));
    if (host == NULL) {
        fail("no host memory for a token");
    }
    tensor_download(npu, best, host);
    request->tokens[request->length++] = host[fresh - 1];
    server->checksum = (server->checksum ^ (uint64_t)host[fresh - 1]) * 0x100000001b3u;
    server->generated++;
    free(host);
    tensor_free(npu, &best);
    tensor_free(npu, &logits);
}

/* Runs the whole sequence at once with an empty cache: every generated token must have been the best one. */
static void check_request(struct server *server, const struct request *request)
{
    struct npu *npu = server->npu;
    int64_t count = request->length - 1, vocab = server->options->vocab;
    struct cache cache;
    cache_open(&cache, npu, &server->gpt->shape, count);
    struct tensor *logits = decode(npu, server->gpt, &cache, request->tokens, count);
    float *host = malloc(logits->size_b);
    if (host == NULL) {
        fail("no host memory to check a request");
    }
    tensor_download(npu, logits, host);
    for (int64_t i = request->prompt - 1; i < count; i++) {
        const float *row = host + i * vocab;
        float largest = row[0];
        for (int64_t j = 1; j < vocab; j++) {
            largest = fmaxf(largest, row[j]);
        }
        server->worst = fmax(server->worst, (double)(largest - row[request->tokens[i + 1]]));
    }
    free(host);
    tensor_free(npu, &logits);
    cache_close(&cache, npu);
}

static void print_request(const struct server *server, const struct request *request)
{
    if (server->options->json) {
        printf("{\"request\": %" PRId64 ", \"prompt\": %" PRId64 ", \"generated\": %" PRId64 ", \"rounds\": %" PRId64
               ", \"cache\": %zu}\n",
               request->number, request->prompt, request->wanted, server->round - request->arrived + 1,
               cache_size_b(&request->cache));
    } else {
        printf("request %4" PRId64 "  prompt %3" PRId64 "  generated %3" PRId64 "  rounds %3" PRId64
               "  cache %8.1f KiB\n",
               request->number, request->prompt, request->wanted, server->round - request->arrived + 1,
               (double)cache_size_b(&request->cache) / 1024);
    }
}

static void finish_request(struct server *server, struct request *request)
{
    if (server->options->check) {
        check_request(server, request);
    }
    print_request(server, request);
    server->finished++;
    if (server->options->grow) {
        plant(server, "grow", request);
    }
    if (server->options->leak && request->number % LEAK_EVERY == 0) {
        plant(server, "leak", request);
        cache_abandon(&request->cache);
    } else {
        cache_close(&request->cache, server->npu);
    }
    free(request->tokens);
    *request = (struct request){0};
}

static void serve_round(struct server *server)
{
    const struct infer_options *options = server->options;
    mstxRangeId range = mstxRangeStartA("step start", NULL);
    /* A request arrives in two of three rounds, while there are any. */
    for (int64_t i = 0; i < options->slots && server->started < options->requests; i++) {
        if (server->slots[i].number == 0) {
            if (next_random(&server->random) % 3 != 0) {
                start_request(server, &server->slots[i]);
            }
            break;
        }
    }
    for (int64_t i = 0; i < options->slots; i++) {
        struct request *request = &server->slots[i];
        if (request->number != 0) {
            advance(server, request);
            if (request->length == request->prompt + request->wanted) {
                finish_request(server, request);
            }
        }
    }
    mstxRangeEnd(range);
}

static void print_planted(const struct server *server, const struct planted *planted)
{
    if (server->options->json) {
        printf("{\"planted\": \"%s\", \"device\": %d, \"request\": %" PRId64 ", \"step\": %" PRId64
               ", \"size\": %zu, \"address\": %" PRIuPTR ", \"used_tokens\": %" PRId64 ", \"reserved_tokens\": %" PRId64
               "}\n",
               planted->kind, server->npu->device, planted->request, planted->round, planted->size_b, planted->address,
               planted->used_tokens, planted->reserved_tokens);
    } else {
        printf("planted: kind=%s device=%d request=%" PRId64 " step=%" PRId64 " size=%zu address=0x%" PRIxPTR
               " used_tokens=%" PRId64 " reserved_tokens=%" PRId64 "\n",
               planted->kind, server->npu->device, planted->request, planted->round, planted->size_b, planted->address,
               planted->used_tokens, planted->reserved_tokens);
    }
}

static void print_summary(const struct server *server, double seconds)
{
    struct npool_stats stats;
    check_pool(npool_get_stats(server->npu->pool, server->npu->device, &stats), "npool_get_stats");
    if (server->options->json) {
        printf("{\"requests\": %" PRId64 ", \"tokens\": %" PRId64 ", \"rounds\": %" PRId64 ", \"checksum\": %" PRIu64
               ", \"allocated\": %" PRIu64 ", \"reserved\": %" PRIu64 ", \"peak\": %" PRIu64 ", \"seconds\": %.3f}\n",
               server->finished, server->generated, server->round, server->checksum, stats.allocated_bytes.current,
               stats.reserved_bytes.current, stats.allocated_bytes.peak, seconds);
    } else {
        printf("%" PRId64 " requests, %" PRId64 " tokens in %" PRId64 " rounds, %.2f s; checksum %016" PRIx64 "\n"
               "memory: allocated %.2f MiB, reserved %.2f MiB, peak %.2f MiB\n",
               server->finished, server->generated, server->round, seconds, server->checksum,
               (double)stats.allocated_bytes.current / 1048576, (double)stats.reserved_bytes.current / 1048576,
               (double)stats.allocated_bytes.peak / 1048576);
    }
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int serve(struct npu *npu, const struct gpt *gpt, const struct infer_options *options)
{
    struct server server = {
        .npu = npu, .gpt = gpt, .options = options, .random = (uint64_t)options->seed, .checksum = 0xcbf29ce484222325u};
    server.slots = calloc((size_t)options->slots, sizeof(*server.slots));
    if (server.slots == NULL) {
        fail("no host memory for %lld slots", (long long)options->slots);
    }
    double begin = now_s();
    while (server.finished < options->requests) {
        server.round++;
        serve_round(&server);
    }
    print_summary(&server, now_s() - begin);
    for (size_t i = 0; i < server.planted_count; i++) {
        print_planted(&server, &server.planted[i]);
    }
    free(server.planted);
    free(server.slots);
    if (options->check) {
        bool right = server.worst < 1e-3;
        printf("generation %s: a chosen token was at most %g below the best one\n", right ? "right" : "wrong",
               server.worst);
        return right ? 0 : 1;
    }
    return 0;
}
