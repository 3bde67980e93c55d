/* SPDX-License-Identifier: Apache-2.0 */
/* Packs and checks single blocks. Only the compressor's memory survives from block to block. A block that does not
 * shrink is stored unpacked. */
#include "trace/block.h"

#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>

#include <stdlib.h>
#include <string.h>

struct ms_packer {
    ZSTD_CCtx *zstd;
};

struct ms_unpacker {
    ZSTD_DCtx *zstd;
};

#define LEVEL       1
#define HASH_LOG    11 /* of the compressor's table: 8 KiB fit the L1 cache, see docs/design/12-collector.md */
#define MATCH_B     7  /* shorter matches cost 10 ns per record and save 0.4 bytes */
#define TOO_SMALL_B 96 /* too small to pack; END blocks, rewritten in place, also stay unpacked */

struct ms_packer *ms_packer_new(void)
{
    struct ms_packer *packer = malloc(sizeof(*packer));
    if (packer != NULL && (packer->zstd = ZSTD_createCCtx()) == NULL) {
        free(packer);
        packer = NULL;
    }
    if (packer != NULL) {
        ZSTD_CCtx_setParameter(packer->zstd, ZSTD_c_compressionLevel, LEVEL);
        ZSTD_CCtx_setParameter(packer->zstd, ZSTD_c_minMatch, MATCH_B);
        ZSTD_CCtx_setParameter(packer->zstd, ZSTD_c_hashLog, HASH_LOG);
    }
    return packer;
}

void ms_packer_free(struct ms_packer *packer)
{
    if (packer != NULL) {
        ZSTD_freeCCtx(packer->zstd);
        free(packer);
    }
}

size_t ms_block_bound(size_t raw_b)
{
    return sizeof(struct ms_block_head) + ZSTD_compressBound(raw_b) + 8;
}

/* A fuzzer would never pass the checksums, so fuzzing builds accept any. */
static bool agree(uint64_t found, uint64_t expected)
{
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    (void)found;
    (void)expected;
    return true;
#else
    return found == expected;
#endif
}

static uint32_t head_check(const struct ms_block_head *head)
{
    const size_t from = offsetof(struct ms_block_head, version);
    return (uint32_t)XXH3_64bits((const char *)head + from, sizeof(*head) - from);
}

size_t ms_block_pack(struct ms_packer *packer, struct ms_block_head *head, const void *raw, size_t raw_b, void *to)
{
    char *packed = (char *)to + sizeof(*head);
    size_t packed_b = raw_b;
    head->packing = MS_PACKING_NONE;
    if (raw_b > TOO_SMALL_B) {
        size_t n = ZSTD_compress2(packer->zstd, packed, ZSTD_compressBound(raw_b), raw, raw_b);
        if (!ZSTD_isError(n) && n < raw_b) {
            head->packing = MS_PACKING_ZSTD;
            packed_b = n;
        }
    }
    if (head->packing == MS_PACKING_NONE && raw_b != 0) {
        memcpy(packed, raw, raw_b);
    }
    head->magic = MS_BLOCK_MAGIC;
    head->version = MS_BLOCK_VERSION;
    head->reserved = 0;
    head->raw_b = (uint32_t)raw_b;
    head->packed_b = (uint32_t)packed_b;
    head->check = XXH3_64bits(packed, packed_b);
    head->head_check = head_check(head);
    memcpy(to, head, sizeof(*head));
    size_t length_b = ms_block_length_b(head);
    memset(packed + packed_b, 0, length_b - sizeof(*head) - packed_b);
    return length_b;
}

const char *ms_block_check_head(const struct ms_block_head *head)
{
    if (head->magic != MS_BLOCK_MAGIC) {
        return "not a block";
    }
    if (!agree(head->head_check, head_check(head))) {
        return "the head of the block is damaged";
    }
    if (head->version != MS_BLOCK_VERSION) {
        return "written by a later version";
    }
    if (head->raw_b > MS_BLOCK_MAX_B || head->packed_b > MS_BLOCK_MAX_B + 1024 ||
        (head->packing == MS_PACKING_NONE && head->raw_b != head->packed_b)) {
        return "invalid length";
    }
    return NULL;
}

struct ms_unpacker *ms_unpacker_new(void)
{
    struct ms_unpacker *unpacker = malloc(sizeof(*unpacker));
    if (unpacker != NULL && (unpacker->zstd = ZSTD_createDCtx()) == NULL) {
        free(unpacker);
        unpacker = NULL;
    }
    return unpacker;
}

void ms_unpacker_free(struct ms_unpacker *unpacker)
{
    if (unpacker != NULL) {
        ZSTD_freeDCtx(unpacker->zstd);
        free(unpacker);
    }
}

const char *ms_block_unpack(struct ms_unpacker *unpacker, const struct ms_block_head *head, const void *packed,
                            void *raw)
{
    memset((char *)raw + head->raw_b, 0, MS_BLOCK_SLACK_B);
    if (!agree(XXH3_64bits(packed, head->packed_b), head->check)) {
        return "the content of the block is damaged";
    }
    switch (head->packing) {
    case MS_PACKING_NONE:
        if (head->raw_b != 0) {
            memcpy(raw, packed, head->raw_b);
        }
        return NULL;
    case MS_PACKING_ZSTD:
        return ZSTD_decompressDCtx(unpacker->zstd, raw, head->raw_b, packed, head->packed_b) == head->raw_b
                   ? NULL
                   : "the content of the block cannot be unpacked";
    default:
        return "unknown packing";
    }
}
