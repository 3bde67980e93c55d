/* SPDX-License-Identifier: Apache-2.0 */
/* Records of msPTI clients. Packed, then rounded up to eight bytes: most 64-bit members are misaligned. */
#ifndef ABI_MSPTI_H
#define ABI_MSPTI_H

#include <stdint.h>

#define ABI_MSPTI_RECORD __attribute__((packed, aligned(8)))

struct mspti_process_thread {
    uint32_t processId;
    uint32_t threadId;
};

struct mspti_device_stream {
    uint32_t deviceId;
    uint32_t streamId;
};

union mspti_object {
    struct mspti_process_thread pt; /* on the host */
    struct mspti_device_stream ds;
};

typedef union mspti_object msptiObjectId __attribute__((aligned(8)));

typedef struct {
    int32_t kind;
} ABI_MSPTI_RECORD msptiActivity;

typedef struct {
    int32_t kind;
    int32_t flag;
    int32_t sourceKind;
    uint64_t timestamp;
    uint64_t id;
    union mspti_object objectId;
    const char *name;
    const char *domain;
} ABI_MSPTI_RECORD msptiActivityMarker;

typedef struct {
    int32_t kind;
    uint64_t start;
    uint64_t end;
    struct mspti_process_thread pt;
    uint64_t correlationId;
    const char *name;
} ABI_MSPTI_RECORD msptiActivityApi;

typedef struct {
    int32_t kind;
    uint64_t start;
    uint64_t end;
    struct mspti_device_stream ds;
    uint64_t correlationId;
    const char *type;
    const char *name;
} ABI_MSPTI_RECORD msptiActivityKernel;

typedef struct {
    int32_t kind;
    uint64_t start;
    uint64_t end;
    struct mspti_device_stream ds;
    double bandWidth; /* GB/s */
    const char *name;
    const char *commName;
} ABI_MSPTI_RECORD msptiActivityHccl;

typedef struct {
    int32_t kind;
    int32_t memoryOperationType;
    int32_t memoryKind;
    uint64_t correlationId;
    uint64_t start;
    uint64_t end;
    uint64_t address;
    uint64_t bytes;
    uint32_t processId;
    uint32_t deviceId;
    uint32_t streamId;
} ABI_MSPTI_RECORD msptiActivityMemory;

typedef struct {
    int32_t kind;
    uint32_t value;
    uint64_t bytes;
    uint64_t start;
    uint64_t end;
    uint32_t deviceId;
    uint32_t streamId;
    uint64_t correlationId;
    uint8_t isAsync;
} ABI_MSPTI_RECORD msptiActivityMemset;

typedef struct {
    int32_t kind;
    int32_t copyKind;
    uint64_t bytes;
    uint64_t start;
    uint64_t end;
    uint32_t deviceId;
    uint32_t streamId;
    uint64_t correlationId;
    uint8_t isAsync;
} ABI_MSPTI_RECORD msptiActivityMemcpy;

typedef struct {
    int32_t kind;
    int32_t externalKind;
    uint64_t externalId;
    uint64_t correlationId;
} ABI_MSPTI_RECORD msptiActivityExternalCorrelation;

typedef struct {
    int32_t kind;
    int32_t dataType;
    uint64_t count;
    struct mspti_device_stream ds;
    uint64_t start;
    uint64_t end;
    const char *algType;
    const char *name;
    const char *commName;
    uint64_t correlationId;
} ABI_MSPTI_RECORD msptiActivityCommunication;

/* Natural alignment. */
typedef struct {
    int32_t callbackSite;
    const char *functionName;
    const void *functionParams;
    void *functionReturnValue;
    const char *symbolName;
    uint64_t correlationId;
    uint64_t reserved1;
    uint64_t reserved2;
    uint64_t *correlationData;
} msptiCallbackData;

#endif
