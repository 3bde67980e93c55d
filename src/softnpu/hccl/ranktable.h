/* SPDX-License-Identifier: Apache-2.0 */
/* Rank tables: the JSON file that says which rank runs on which device of which server. */
#ifndef SOFTNPU_HCCL_RANKTABLE_H
#define SOFTNPU_HCCL_RANKTABLE_H

#include "softnpu/hccl/segment.h"

struct hccl_rank_entry {
    uint32_t device;      /* driver number on its server */
    uint64_t server_hash; /* of the server's name */
};

struct hccl_ranktable {
    uint32_t n;
    struct hccl_rank_entry rank[HCCL_MAX_RANKS];
};

/* The text may be any bytes. HCCL_E_PARA with an explanation unless it is a complete, consistent table. */
HcclResult hccl_ranktable_parse(const char *text, size_t size_b, struct hccl_ranktable *out, char why[HCCL_WHY_B]);
HcclResult hccl_ranktable_load(const char *path, struct hccl_ranktable *out, char why[HCCL_WHY_B]);

#endif
