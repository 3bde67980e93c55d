/* SPDX-License-Identifier: Apache-2.0 */
/* C++ objects of ATB and Mki as seen by a hook written in C. The vendor's libraries own them: they are read, never
 * constructed. */
#ifndef ABI_ATB_H
#define ABI_ATB_H

#include <stddef.h>
#include <stdint.h>

/* ---- atb ---- */
enum { ATB_MAX_DIM = 8, ATB_SVECTOR_INLINE = 64 };

struct atb_dims {
    int64_t dims[ATB_MAX_DIM];
    uint64_t dimNum;
};

struct atb_tensor_desc {
    int32_t dtype;
    int32_t format;
    struct atb_dims shape;
};

struct atb_tensor {
    struct atb_tensor_desc desc;
    void *deviceData;
    void *hostData;
    uint64_t dataSize;
};

/* Elements are stored inline until there are more than ATB_SVECTOR_INLINE. */
struct atb_svector_tensor {
    uint64_t capacity;
    uint64_t size;
    struct atb_tensor storage[ATB_SVECTOR_INLINE + 1];
    struct atb_tensor *heap;
};

struct atb_svector_bool {
    uint64_t capacity;
    uint64_t size;
    uint8_t storage[ATB_SVECTOR_INLINE + 1];
    uint8_t *heap;
};

/* Up to the point where the two known versions of the pack differ. */
#define ATB_RUNNER_VARIANT_PACK_HEAD                                                                                   \
    struct atb_svector_tensor inTensors;                                                                               \
    struct atb_svector_tensor outTensors;                                                                              \
    struct atb_svector_bool isInTensorCanFree;                                                                         \
    struct atb_svector_bool isOutTensorNeedMalloc;                                                                     \
    uint8_t *hostTilingBuffer;                                                                                         \
    uint8_t *tilingBuffer;                                                                                             \
    uint64_t tilingBufferSize;                                                                                         \
    uint8_t *workspaceBuffer;                                                                                          \
    uint64_t workspaceBufferSize;                                                                                      \
    uint8_t *intermediateBuffer;                                                                                       \
    uint64_t intermediateBufferSize

struct atb_runner_variant_pack {
    ATB_RUNNER_VARIANT_PACK_HEAD;
    void *context;
};

struct atb_runner_variant_pack_v2 {
    ATB_RUNNER_VARIANT_PACK_HEAD;
    uint8_t *argsDeviceBuffer;
    uint8_t *argsHostBuffer;
    void *context;
    void *mstxMemRegister;
};

/* ---- Mki ---- */
enum { MKI_SVECTOR_INLINE = 48 };

struct mki_svector_i64 {
    int64_t storage[MKI_SVECTOR_INLINE + 1];
    uint64_t size;
};

struct mki_vector_i64 {
    int64_t *begin;
    int64_t *end;
    int64_t *capacity;
};

struct mki_tensor_desc {
    int32_t dtype;
    int32_t format;
    struct mki_svector_i64 dims;
    struct mki_vector_i64 strides;
    int64_t offset;
};

struct mki_tensor {
    struct mki_tensor_desc desc;
    void *data;
    uint64_t dataSize;
    void *hostData;
};

struct mki_svector_tensor {
    struct mki_tensor storage[MKI_SVECTOR_INLINE + 1];
    uint64_t size;
};

/* ---- std::string; both variants are returned through a hidden first argument ---- */
/* _GLIBCXX_USE_CXX11_ABI 1; data == buffer if the text is short. */
struct std_string_abi1 {
    char *data;
    size_t length;
    char buffer[16];
};

/* _GLIBCXX_USE_CXX11_ABI 0; the object is a pointer to the characters, which follow this header. */
struct std_string_abi0_head {
    size_t length;
    size_t capacity;
    int refcount;
};

struct std_string_abi0 {
    char *data;
};

#endif
