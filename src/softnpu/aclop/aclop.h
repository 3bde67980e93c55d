/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors and attributes of the single-operator interface, as the functions that execute operators read them. */
#ifndef SOFTNPU_ACLOP_ACLOP_H
#define SOFTNPU_ACLOP_ACLOP_H

#include "acl/acl_op.h"

#include <stdbool.h>

#define SNPU_DESC_MAX_DIMS     128 /* as in the vendor's model descriptions */
#define SNPU_DESC_UNKNOWN_RANK (-2)

struct snpu_shape {
    uint32_t count;
    int64_t dims[SNPU_DESC_MAX_DIMS];
};

/* A tensor descriptor. The logical view is what an operator computes with; storage is how the elements lie in memory. */
struct aclTensorDesc {
    aclDataType type;
    aclFormat format, storage_format;
    aclMemType placement;
    char *name, *dynamic_input;
    void *constant; /* a copy of the value of a constant input */
    size_t constant_b;
    size_t range_count, value_count;
    int64_t (*values)[ACL_TENSOR_VALUE_RANGE_NUM];
    bool stored;    /* storage was set */
    char zeroed[0]; /* a new descriptor is zero up to here */
    struct snpu_shape shape, storage;
    int64_t range[SNPU_DESC_MAX_DIMS][ACL_TENSOR_SHAPE_RANGE_NUM];
};

/* True if the pointer is a live descriptor. */
bool snpu_desc_alive(const aclTensorDesc *desc);

/* A second descriptor with the same contents, or NULL. */
aclTensorDesc *snpu_desc_copy(const aclTensorDesc *desc);

/* Number of elements; false if the shape is not known or the number does not fit. */
bool snpu_desc_elements(const aclTensorDesc *desc, uint64_t *count);

enum snpu_attr_kind {
    SNPU_ATTR_BOOL, /* uint8_t */
    SNPU_ATTR_INT,  /* int64_t */
    SNPU_ATTR_FLOAT,
    SNPU_ATTR_STRING, /* values point to char * */
    SNPU_ATTR_TYPE,   /* aclDataType */
    SNPU_ATTR_LIST_LIST_INT,
};

struct snpu_attr {
    struct snpu_attr *next;
    char *name;
    enum snpu_attr_kind kind;
    bool list;
    size_t count;        /* values */
    void *values;        /* elements of the kind */
    size_t *list_counts; /* SNPU_ATTR_LIST_LIST_INT: `count` lists, their numbers one after the other in values */
};

/* The attribute of this name, or NULL. attr may be NULL. */
const struct snpu_attr *snpu_attr_find(const aclopAttr *attr, const char *name);

bool snpu_attrs_alive(const aclopAttr *attr);

/* A second set with the same attributes, or NULL. */
aclopAttr *snpu_attrs_copy(const aclopAttr *attr);

/* One call of a single operator. The arrays belong to the caller. */
struct snpu_op_call {
    const char *function; /* the function that the program called, for messages */
    const char *type;
    int input_count, output_count;
    const aclTensorDesc *const *input_descs;
    const aclDataBuffer *const *inputs;
    const aclTensorDesc *const *output_descs;
    aclDataBuffer *const *outputs;
    const aclopAttr *attr;
};

#pragma GCC visibility push(default)
/* Checks the call; then queues the operator on the stream, or finds out only whether it exists (no buffers needed). */
aclError snpu_op_execute(const struct snpu_op_call *call, aclrtStream stream);
aclError snpu_op_find(const struct snpu_op_call *call);
#pragma GCC visibility pop

#endif
