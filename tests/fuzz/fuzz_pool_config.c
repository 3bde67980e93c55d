/* SPDX-License-Identifier: Apache-2.0 */
/* The option text of the caching allocator, which comes from the environment. The allocator must be able to use
 * whatever is accepted: every request gets at least its size. */
#include "npupool/npupool.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (text == NULL) {
        return 0;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    struct npool_config config;
    npool_config_default(&config);
    if (npool_config_parse(&config, text) == ACL_SUCCESS) {
        npool_caching *pool = npool_caching_create(&config);
        for (size_t request_b = 1; pool != NULL && request_b < (size_t)1 << 50; request_b = 3 * request_b + 1) {
            size_t rounded_b = npool_round_size(pool, request_b);
            if (rounded_b < request_b + 32 || npool_segment_size(pool, rounded_b) < rounded_b) {
                abort();
            }
        }
        npool_caching_destroy(pool);
    } else if (npool_last_error()[0] == '\0') {
        abort();
    }
    free(text);
    return 0;
}
