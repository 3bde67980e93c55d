/* SPDX-License-Identifier: Apache-2.0 */
/* acl-infer: generates text for many requests with a cache of keys and values. See README.md. */
#include "infer.h"
#include "../common/options.h"

#include <stdio.h>

enum { PROMPT_MAX = 16 };

#define AT(member) offsetof(struct infer_options, member)

static const struct option_spec specs[] = {
    {"requests", OPTION_INT, AT(requests), 1, 1000000, "N", 0, "requests to serve (24)"},
    {"slots", OPTION_INT, AT(slots), 1, 1024, "N", 0, "concurrent requests (4)"},
    {"max-tokens", OPTION_INT, AT(max_tokens), 1, 4096, "N", 0, "tokens that a request generates, at most (48)"},
    {"layers", OPTION_INT, AT(layers), 1, 256, "N", 0, "transformer layers (2)"},
    {"hidden", OPTION_INT, AT(hidden), 1, 16384, "N", 0, "width (64)"},
    {"heads", OPTION_INT, AT(heads), 1, 256, "N", 0, "attention heads (4)"},
    {"vocab", OPTION_INT, AT(vocab), 2, 1000000, "N", 0, "vocabulary size (64)"},
    {"seed", OPTION_INT, AT(seed), 0, INT64_MAX, "N", 0, "random seed of weights and requests (1)"},
    {"kernels", OPTION_TEXT, AT(kernels), 0, 0, "PATH", 0, "operator binary (the installed one)"},
    {"json", OPTION_FLAG, AT(json), 0, 0, NULL, 0, "one JSON object per line"},
    {"announce", OPTION_FLAG, AT(announce), 0, 0, NULL, 0, "report operators and tensor accesses even without a tool"},
    {"check", OPTION_FLAG, AT(check), 0, 0, NULL, 0, "compare with generation without a cache"},
    {"leak", OPTION_FLAG, AT(leak), 0, 0, NULL, 0, "defect: every fourth cache is never freed"},
    {"grow", OPTION_FLAG, AT(grow), 0, 0, NULL, 0, "defect: caches reserve ever more memory for the same use"},
};

int main(int argc, char **argv)
{
    program_name = "acl-infer";
    struct infer_options options = {
        .requests = 24, .slots = 4, .max_tokens = 48, .layers = 2, .hidden = 64, .heads = 4, .vocab = 64, .seed = 1};
    int ret = options_parse(program_name, "Serves text generation requests on an NPU, with a cache per request.", specs,
                            sizeof(specs) / sizeof(specs[0]), argc, argv, &options);
    if (ret != 0) {
        return ret < 0 ? 0 : ret;
    }
    const struct gpt_shape shape = {.layers = options.layers,
                                    .hidden = options.hidden,
                                    .heads = options.heads,
                                    .seq = PROMPT_MAX + options.max_tokens,
                                    .vocab = options.vocab};
    const char *wrong = gpt_check_shape(&shape);
    if (wrong != NULL) {
        fprintf(stderr, "%s: %s (%lld and %lld)\n", program_name, wrong, (long long)shape.hidden,
                (long long)shape.heads);
        return 2;
    }
    struct npu npu;
    struct gpt gpt;
    npu_open(&npu, 0, options.kernels, options.announce);
    gpt_create(&gpt, &npu, &shape, (uint64_t)options.seed);
    int status = serve(&npu, &gpt, &options);
    gpt_destroy(&gpt, &npu);
    npu_close(&npu);
    return status;
}
